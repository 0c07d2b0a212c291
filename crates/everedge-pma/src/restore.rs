//! Reading an array at opening: its headers. Its lists are looked at before the first change or view:
//! all that headers say of them is checked, and what memory keeps is made.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::array::{Array, IS_LOGGED, IS_WORN, Logged, Section};
use super::direct::{DirectEntry, find_direct};
use super::extent::Extent;
use super::header::{Header, Place, mix};
use super::rebalance::{damaged, newest};
use super::shape::Shape;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_medium::Site;

/// An array as it was found.
pub(super) struct Restored {
    pub array: Array,
    /// The vertices that each section names.
    pub vertices: Vec<u64>,
    /// Entries of edge logs that count by themselves.
    pub direct: Vec<DirectEntry>,
}

impl Array {
    /// Reads the headers of the array that lies in an extent.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub(super) fn read(extent: Arc<Extent>, shape: Shape, index: u32) -> Result<Restored> {
        let mut rows = Vec::with_capacity(shape.vertex_count() + 1);
        let (mut sections, mut vertices) = (Vec::new(), Vec::new());
        let mut direct = Vec::new();
        for number in 0..shape.section_count as usize {
            let (header, slot, crc) = newest(&extent, &shape, number)?;
            vertices.push(header.vertices);
            if header.log_count > shape.log_entries {
                let offset = shape.header_offset(number, slot);
                return Err(damaged(&extent, offset, "a section's header", "its size"));
            }
            find_direct(&extent, &shape, (number, crc), &header, &mut direct);
            sections.push(Section {
                stamp: header.stamp,
                slot: slot as u8,
                crc,
                epoch: header.epoch,
                anchored: header.anchored,
                direct: header.direct,
                sequence: header.sequence,
                sum: header.sum,
                used: used_words(&header, &shape),
                log_count: header.log_count as u16,
                tombstones: header.tombstones,
                loops: header.loops,
                ..Section::default()
            });
            rows.extend(header.places);
        }
        rows.push(Place { start: shape.capacity, len: 0 });
        let mut next = 0;
        for place in &rows {
            if place.start < next || place.len > shape.capacity || place.start > shape.capacity {
                let what = "the headers of an array's sections";
                return Err(damaged(&extent, 0, what, "lists in their order"));
            }
            next = place.start + place.len;
        }
        let (lists, worn) = (extent.hold_lists(&shape), FxHashMap::default());
        let (kept, is_checked) = (None, false);
        let array = Self { extent, lists, kept, shape, index, rows, sections, worn, is_checked };
        Ok(Restored { array, vertices, direct })
    }

    /// Makes durable again the headers that are newer than the last checkpoint, of which it was number
    /// `epoch`: a process that was killed, or whose sync failed, may have left them in caches only. What
    /// they count was durable before they were stored.
    ///
    /// # Errors
    /// If the device does not take it.
    pub(super) fn store_headers_again(&self, epoch: u32) -> Result<()> {
        let newer = self.sections.iter().enumerate().filter(|(_, section)| section.epoch == epoch);
        for (number, section) in newer {
            self.extent.store_header_again(&self.shape, number, section.slot.into())?;
        }
        Ok(())
    }

    /// Looks at all lists, if that was not done since opening.
    ///
    /// # Errors
    /// `Corruption` if they are not what their headers say.
    pub(super) fn check_lists(&mut self) -> Result<()> {
        if !self.is_checked {
            (0..self.sections.len()).try_for_each(|number| self.check_section(number))?;
            self.is_checked = true;
        }
        Ok(())
    }

    /// Finds out what memory keeps of a section, and checks what its header says.
    fn check_section(&mut self, number: usize) -> Result<()> {
        let locals = self.shape.locals(number..number + 1);
        let (extent, shape) = (self.extent.clone(), self.shape);
        let entry_words = shape.entry_words;
        let count = usize::from(self.sections[number].log_count);
        let first_vertex = self.first_vertex();
        let (mut sum, mut tombstone_count, mut loop_count) = (0u64, 0u32, 0i64);
        let mut with_tombstones = Vec::new();
        for local in locals.clone() {
            let Place { start, len } = self.rows[local];
            let words = extent.words(shape.words_range(start..start + len));
            let vertex = first_vertex + local as u32;
            let mut tombstones = 0;
            for (place, word) in (0..).zip(words) {
                let word = word.load(Relaxed);
                sum = sum.wrapping_add(mix(local, place, word));
                // Where there are weights, every other word is one.
                if place & (entry_words - 1) == 0 {
                    tombstones += u32::from(word & DELETION != 0);
                    loop_count += loops_in(word, vertex);
                }
            }
            if tombstones > 0 {
                tombstone_count += tombstones;
                with_tombstones.push(local);
            }
        }
        let mut heads = vec![Logged::default(); locals.len()];
        for (place, entry) in (1..).zip(extent.log(&shape, number, count)) {
            let local = entry.local();
            let damage = || {
                let offset = shape.log_range(number, place as usize - 1..place as usize).start;
                damaged(&extent, offset, "an entry of an edge log", "one of its section")
            };
            let logged = local.checked_sub(locals.start).and_then(|index| heads.get_mut(index));
            let logged = logged.ok_or_else(damage)?;
            if entry.previous() != logged.head {
                return Err(damage());
            }
            let before = self.rows[local].len + u32::from(logged.count) * entry_words;
            for (index, word) in (before..).zip(entry.words()) {
                sum = sum.wrapping_add(mix(local, index, word.load(Relaxed)));
            }
            *logged = Logged { head: place, count: logged.count + 1 };
            let neighbor = entry.words()[0].load(Relaxed);
            loop_count += loops_in(neighbor, first_vertex + local as u32);
            if neighbor & DELETION != 0 {
                tombstone_count += 1;
                with_tombstones.push(local);
            }
        }
        for (row, logged) in self.rows[locals.clone()].iter_mut().zip(&heads) {
            row.start |= if logged.count > 0 { IS_LOGGED } else { 0 };
        }
        let section = &mut self.sections[number];
        section.heads = (count > 0).then(|| heads.into());
        let is_counted =
            tombstone_count == section.tombstones && loop_count == i64::from(section.loops);
        if !extent.region.matches(Site::ListSum, section.sum, sum) || !is_counted {
            let start = self.rows[locals.start].start & !IS_LOGGED;
            let offset = shape.words_range(start..start).start;
            return Err(damaged(&extent, offset, "a section's lists", "their sum"));
        }
        for local in with_tombstones {
            self.rows[local].len |= IS_WORN;
            let degree = self.live_entries(local).len();
            self.worn.insert(local as u32, degree as u32);
        }
        Ok(())
    }
}

/// Returns the words of a section's lists, those in the edge log included.
fn used_words(header: &Header, shape: &Shape) -> u32 {
    let in_lists = header.places.iter().fold(0u32, |sum, place| sum.wrapping_add(place.len));
    in_lists.wrapping_add(header.log_count.wrapping_mul(shape.entry_words))
}

/// Returns what a word of a list adds to the self-loops of its vertex.
#[inline]
fn loops_in(word: u32, vertex: VertexId) -> i64 {
    // A tombstone takes one away that is there.
    i64::from(word == vertex) - i64::from(word == vertex | DELETION)
}
