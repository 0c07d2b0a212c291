//! Rebalancing in place: shares the gaps of some sections out anew, and merges their edge logs.
//!
//! Source: DGAP §3.1.4 and Figure 4; thresholds by level: Bender and Hu, TODS 2007. What is to be
//! moved follows from the headers of the sections, which stay as they were until all is moved: so
//! a rebalance that was interrupted is completed from its next step on.
//!
//! # Order
//! Lists that move to the left go first, in ascending order, then those that move to the right, in
//! descending order: no list is overwritten before it has moved. The entries of edge logs follow
//! at the end of their lists, where there are only gaps then.
//!
//! `Rebalancing::Transaction` stands for DGAP §4.4, Table 5, without undo logs: each list that moves
//! is a step by itself, a long one some, and a record of its own comes before the first. Difference:
//! a transaction of PMDK allocates a journal, and makes what it has changed durable at its end; ours
//! takes an undo log that is there, and each move is durable before the next is saved (R2).
//!
//! # Invariants
//! - R1: all that the headers of the window count is durable before the first step.
//! - R2: a step overwrites only what an undo log has saved; it is durable before the next is saved.
//!   Merging the edge logs is the last step, which saves nothing: it overwrites gaps only.
//! - R3: new headers come after everything that they count is durable; the log's end after them.

use std::ops::Range;

use super::extent::Extent;
use super::header::{self, Header, Place};
use super::shape::{Shape, spread};
use super::undo::{Cut, Interrupted, Job, UndoLog, UndoLogs};
use everedge_live::{Error, Result};
use everedge_medium::Site;

/// Words that go from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Move {
    from: u32,
    to: u32,
    len: u32,
}

/// Some moves of one step, and what they may overwrite.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    moves: Vec<Move>,
    span: Range<u32>,
}

/// Rebalances sections whose headers, with the job's stamp, are durable with all that they count.
pub(super) fn run(
    extent: &Extent,
    shape: &Shape,
    job: &Job,
    undo: &mut UndoLog<'_>,
    cut: Cut,
) -> Result<()> {
    let window = Window::read(extent, shape, job)?;
    if cut.is_single {
        undo.begin(job)?;
    }
    window.go_on(extent, shape, job, undo, (0, cut))
}

/// Completes the rebalances that a crash has interrupted. `find` returns the array that a job is of.
pub(super) fn complete(
    logs: &UndoLogs,
    find: impl Fn(&Job) -> Option<(Extent, Shape)>,
) -> Result<u64> {
    let mut count = 0;
    for (mut undo, interrupted) in logs.interrupted() {
        let Interrupted { job, step, start, words } = interrupted;
        let Some((extent, shape)) = find(&job) else {
            // Another array may come to lie there, to which it must not be done.
            undo.end(&job)?;
            continue;
        };
        let end = start.checked_add(words.len() as u32).filter(|&end| end <= shape.capacity);
        let is_inside = job.first < job.end && job.end <= shape.section_count;
        if end.is_none() || !is_inside {
            return Err(damaged(&extent, 0, "an undo log", "a place in its array"));
        }
        extent.store(Site::Move, shape.words_range(start..start).start, &words);
        extent.fence(Site::Move)?;
        let window = Window::read(&extent, &shape, &job)?;
        window.go_on(&extent, &shape, &job, &mut undo, (step, logs.cut()))?;
        count += 1;
    }
    Ok(count)
}

/// Some sections as their old headers tell it.
struct Window {
    /// Each with the slot that it is in.
    headers: Vec<(Header, usize)>,
    words: Range<u32>,
}

impl Window {
    fn read(extent: &Extent, shape: &Shape, job: &Job) -> Result<Self> {
        let sections = job.first as usize..job.end as usize;
        let old = |section: usize| {
            let slots = (0..2).filter_map(|slot| {
                extent.read_header(shape, section, slot).map(|(header, _)| (header, slot))
            });
            slots.into_iter().find(|(header, _)| header.stamp == job.stamp).ok_or_else(|| {
                let offset = shape.header_offset(section, 0);
                damaged(extent, offset, "a section's headers", "one from before a rebalance")
            })
        };
        let headers: Vec<(Header, usize)> = sections.clone().map(old).collect::<Result<_>>()?;
        let end = match sections.end < shape.section_count as usize {
            true => newest(extent, shape, sections.end)?.0.places[0].start,
            false => shape.capacity,
        };
        let window = Self { words: headers[0].0.places[0].start..end, headers };
        window.check(extent, shape, job)?;
        Ok(window)
    }

    /// Headers are whole, but may be those of a hostile file.
    fn check(&self, extent: &Extent, shape: &Shape, job: &Job) -> Result<()> {
        let mut next = self.words.start;
        let mut used = 0;
        let is_whole = |len: u32| len.is_multiple_of(shape.entry_words);
        let is_wanted =
            u64::from(job.wanted_by) < shape.vertex_count() as u64 && is_whole(job.wanted);
        for (header, _) in &self.headers {
            let is_ordered = header.places.iter().all(|place| {
                let is_next = place.start >= next && is_whole(place.start | place.len);
                next = place.start.saturating_add(place.len);
                is_next
            });
            let lens: u64 = header.places.iter().map(|place| u64::from(place.len)).sum();
            used += lens + u64::from(header.log_count) * u64::from(shape.entry_words);
            if !is_ordered || !is_wanted || header.log_count > shape.log_entries {
                return Err(damaged(extent, 0, "a section's header", "lists in their order"));
            }
        }
        let room = u64::from(self.words.end.saturating_sub(self.words.start));
        match next <= self.words.end && used + u64::from(job.wanted) <= room {
            true => Ok(()),
            false => Err(damaged(extent, 0, "a section's header", "room for its lists")),
        }
    }

    /// Rebalances from a step on, all before which is done.
    fn go_on(
        &self,
        extent: &Extent,
        shape: &Shape,
        job: &Job,
        undo: &mut UndoLog<'_>,
        (first_step, cut): (u32, Cut),
    ) -> Result<()> {
        let first_local = shape.locals(0..job.first as usize).end;
        let old: Vec<Place> =
            self.headers.iter().flat_map(|(header, _)| header.places.iter().copied()).collect();
        let mut new = old.clone();
        for (section, (header, _)) in (job.first as usize..).zip(&self.headers) {
            for entry in extent.log(shape, section, header.log_count as usize) {
                match new.get_mut(entry.local().wrapping_sub(first_local)) {
                    Some(place) => place.len += shape.entry_words,
                    None => return Err(damaged(extent, 0, "an edge log", "its own section's")),
                }
            }
        }
        let mut lens: Vec<u32> = new.iter().map(|place| place.len).collect();
        if let Some(len) = lens.get_mut((job.wanted_by as usize).wrapping_sub(first_local)) {
            *len += job.wanted;
        }
        for (place, start) in
            new.iter_mut().zip(spread(&lens, self.words.clone(), shape.entry_words))
        {
            place.start = start;
        }
        let steps = steps(&old, &new, cut);
        for (number, step) in (0..).zip(&steps).skip(first_step as usize) {
            let saved = extent.words(shape.words_range(step.span.clone()));
            undo.save(job, number, step.span.start, saved)?;
            for &Move { from, to, len } in &step.moves {
                let words = header::copy(extent.words(shape.words_range(from..from + len)));
                extent.store(Site::Move, shape.words_range(to..to).start, &words);
            }
            extent.fence(Site::Move)?;
        }
        // What follows may overwrite words that the last step has moved away.
        undo.save(job, steps.len() as u32, self.words.start, &[])?;
        self.merge_logs(extent, shape, job, &old, &new)?;
        self.write_headers(extent, shape, job, &new)?;
        undo.end(job)
    }

    /// Appends the entries of the edge logs to their lists, which have moved.
    fn merge_logs(
        &self,
        extent: &Extent,
        shape: &Shape,
        job: &Job,
        old: &[Place],
        new: &[Place],
    ) -> Result<()> {
        let first_local = shape.locals(0..job.first as usize).end;
        let ends = old.iter().zip(new).map(|(old, new)| new.start + old.len);
        let mut ends: Vec<u32> = ends.collect();
        for (section, (header, _)) in (job.first as usize..).zip(&self.headers) {
            for entry in extent.log(shape, section, header.log_count as usize) {
                let end = &mut ends[entry.local() - first_local];
                let start = shape.words_range(*end..*end).start;
                extent.store(Site::Move, start, &header::copy(entry.words()));
                *end += shape.entry_words;
            }
        }
        extent.fence(Site::Move)
    }

    fn write_headers(
        &self,
        extent: &Extent,
        shape: &Shape,
        job: &Job,
        new: &[Place],
    ) -> Result<()> {
        let places = new.chunks_exact(shape.section_vertices as usize);
        for ((section, (header, slot)), places) in
            (job.first as usize..).zip(&self.headers).zip(places)
        {
            let stamp = header.stamp + 1;
            let places = places.iter().copied().collect();
            let moved = Header { stamp, log_count: 0, places, ..header.clone() };
            extent.write_header(shape, (section, 1 - slot), &moved);
        }
        extent.fence(Site::SectionHeader)
    }
}

/// Returns the whole header with the larger stamp, and its slot and checksum.
///
/// # Errors
/// `Corruption` if neither is whole.
pub(super) fn newest(
    extent: &Extent,
    shape: &Shape,
    section: usize,
) -> Result<(Header, usize, u32)> {
    let read =
        |slot| extent.read_header(shape, section, slot).map(|(header, crc)| (header, slot, crc));
    // Only a torn one has a larger stamp and is not whole.
    let later = usize::from(extent.stamp(shape, section, 1) > extent.stamp(shape, section, 0));
    read(later).or_else(|| read(1 - later)).ok_or_else(|| {
        let offset = shape.header_offset(section, 0);
        damaged(extent, offset, "a section's headers", "one of two with a matching checksum")
    })
}

/// Returns the error that says what is not as it should be.
pub(super) fn damaged(extent: &Extent, offset: u64, what: &str, expected: &str) -> Error {
    mismatch(extent, (offset, what), expected, "something else")
}

/// As [`damaged`]; also says what was found.
pub(super) fn mismatch(
    extent: &Extent,
    (offset, what): (u64, &str),
    expected: &str,
    found: &str,
) -> Error {
    Error::Corruption {
        path: extent.region.path().to_owned(),
        offset: extent.offset() + offset,
        what: what.into(),
        expected: expected.into(),
        found: found.into(),
    }
}

/// Cuts the way from the old places to the new ones into steps.
fn steps(old: &[Place], new: &[Place], cut: Cut) -> Vec<Step> {
    let capacity = cut.capacity_words;
    let pairs = || old.iter().zip(new);
    let mut steps = vec![Step::default()];
    let mut add = |part: Move| {
        let span = part.to..part.to + part.len;
        let last = steps.last_mut().expect("there is a first one");
        let joined = match last.moves.is_empty() {
            true => span.clone(),
            false => last.span.start.min(span.start)..last.span.end.max(span.end),
        };
        let is_joined = !cut.is_single && joined.end - joined.start <= capacity;
        if is_joined || last.moves.is_empty() {
            last.moves.push(part);
            last.span = joined;
        } else {
            steps.push(Step { moves: vec![part], span });
        }
    };
    for (old, new) in pairs().filter(|(old, new)| new.start < old.start) {
        for done in (0..old.len).step_by(capacity as usize) {
            let len = capacity.min(old.len - done);
            add(Move { from: old.start + done, to: new.start + done, len });
        }
    }
    for (old, new) in pairs().rev().filter(|(old, new)| new.start > old.start) {
        let mut rest = old.len;
        while rest > 0 {
            let len = capacity.min(rest);
            rest -= len;
            add(Move { from: old.start + rest, to: new.start + rest, len });
        }
    }
    steps.retain(|step| !step.moves.is_empty());
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies steps, and for each the first one, two … of its moves, then undoes and redoes it.
    fn apply(steps: &[Step], words: &mut [u32]) {
        let copy = |words: &mut [u32], part: &Move| {
            let Move { from, to, len } = *part;
            words.copy_within(from as usize..(from + len) as usize, to as usize);
        };
        for step in steps {
            let saved = words.to_vec();
            for torn in 0..=step.moves.len() {
                step.moves[..torn].iter().for_each(|part| copy(words, part));
                let span = step.span.start as usize..step.span.end as usize;
                words[span.clone()].copy_from_slice(&saved[span]);
                assert_eq!(words, saved, "a step overwrites no more than its span");
            }
            step.moves.iter().for_each(|part| copy(words, part));
        }
    }

    #[test]
    fn lists_arrive_whole_whatever_way_they_go() {
        let mut state = 1u64;
        let mut random = |bound: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % bound
        };
        for round in 0..300 {
            let lens: Vec<u32> = (0..12).map(|_| random(9)).collect();
            let used: u32 = lens.iter().sum();
            let mut scatter = |room: u32| -> Vec<Place> {
                let mut gaps: Vec<u32> = lens.iter().map(|_| random(room + 1)).collect();
                gaps.sort_unstable();
                let mut before = 0;
                let place = |(gap, &len): (u32, &u32)| {
                    before += len;
                    Place { start: before - len + gap, len }
                };
                gaps.into_iter().zip(&lens).map(place).collect()
            };
            let (old, new) = (scatter(20), scatter(20));
            let mut words = vec![0; used as usize + 20];
            let fill = |words: &mut [u32], places: &[Place]| {
                let cells = places.iter().flat_map(|place| place.start..place.start + place.len);
                cells.zip(1..).for_each(|(cell, mark)| words[cell as usize] = mark);
            };
            fill(&mut words, &old);
            let cut = Cut { capacity_words: [3, 8, 64][round % 3], is_single: round % 2 == 1 };
            let steps = steps(&old, &new, cut);
            let is_within = |step: &Step| step.span.end - step.span.start <= cut.capacity_words;
            assert!(steps.iter().all(is_within));
            assert!(steps.iter().all(|step| step.moves.len() == 1 || !cut.is_single));
            apply(&steps, &mut words);
            let mut expected = words.clone();
            fill(&mut expected, &new);
            assert_eq!(words, expected);
        }
    }
}
