//! Moving the first version forward: the graph of a later one is written as whole lists into a file of its own,
//! and what still later ones have changed behind it.
//!
//! Source: PIE §3.2, the next check point. There the base is made anew between windows; here views and commits
//! go on beside it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{GraphView, VertexId};
use everedge_medium::Result;

use super::file::{FIRST_WORD, File};
use super::finder::Finder;
use super::lists::{Form, NO_ROWS, ROW_SPAN};
use super::segment::{Delta, ListSources, NewSegment, Place, Segment, Source};
use super::tip::Tip;
use super::view::VersionView;

/// Words of a piece in which lists are written.
const PIECE_WORDS: usize = 1 << 16;

/// Writes the graph of a version as the first one of a file.
pub(crate) fn write_base(file: &File, view: &VersionView) -> Result<Tip> {
    let vertices: Vec<u32> = (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)).collect();
    let shapes = [0, 1].map(|direction| Shape::of(view, direction));
    let neighbors = [0, 1].map(|direction| {
        move |put: &mut dyn FnMut(&[u32])| for_each_piece(view, direction, |entry| entry.0, put)
    });
    let weights = [0, 1].map(|direction| {
        move |put: &mut dyn FnMut(&[u32])| for_each_piece(view, direction, |entry| entry.1, put)
    });
    let lists = [0, 1].map(|direction| {
        let Shape { rows, ends } = &shapes[direction];
        let len = ends.last().map_or(0, |&end| end as usize);
        ListSources {
            form: Form::Whole,
            rows,
            sources: &[],
            ends,
            neighbors: Source::Pieces(len, &neighbors[direction]),
            weights: match view.is_weighted() {
                true => Source::Pieces(len, &weights[direction]),
                false => Source::Words(&[]),
            },
        }
    });
    let gone = Default::default();
    let head = (view.version(), view.totals());
    let segment = NewSegment::new(head, [&vertices, &[]], lists, &gone);
    let mut tip = Tip::default();
    push(file, &mut tip, &segment)?;
    Ok(tip)
}

/// Writes the versions of `old` behind the one number `index`, which is the first one of the file and of `tip`.
/// Returns all versions of the file.
pub(crate) fn move_later(file: &File, mut tip: Tip, old: &Tip, index: usize) -> Result<Tip> {
    let past = old.before(index + 1);
    let past = past.as_ref().unwrap_or(old);
    let first = old.segments()[index].version.number;
    for segment in &old.segments()[index + 1..] {
        let mut delta: Delta = segment.to_delta(old.words());
        for direction in 0..2 {
            delta.gone[direction] = moved(segment, (old, past), &tip, (direction, first));
        }
        push(file, &mut tip, &NewSegment::of(&segment.version, &segment.totals, &delta))?;
    }
    Ok(tip)
}

fn push(file: &File, tip: &mut Tip, segment: &NewSegment<'_>) -> Result<()> {
    let (words, segment) = file.append(segment)?;
    tip.hold(words);
    tip.push(Arc::new(segment)).map_err(|wrong| file.damaged(FIRST_WORD, wrong))
}

/// Returns where the edges lie in `new` that `segment` takes away, where `first` is the number of its first
/// version and `past` is what that one has of the old versions.
fn moved(
    segment: &Segment,
    (old, past): (&Tip, &Tip),
    new: &Tip,
    (direction, first): (usize, u64),
) -> Vec<Place> {
    let (mut places, mut of_base) = (Vec::new(), Vec::new());
    let oldest = old.segments()[0].version.number;
    let found = segment.for_each_gone(old.words(), direction, |version, offsets| {
        let lists = &old.segments()[(version - oldest) as usize].lists[direction];
        let (mut sources, neighbors) =
            (lists.sources_of(old.words()), lists.neighbors(old.words()));
        for offset in offsets.iter().map(|offset| offset.load(Relaxed)) {
            let place = Place { version, offset };
            if version > first {
                places.push(place);
            } else {
                let neighbor = neighbors[offset as usize].load(Relaxed);
                of_base.push((sources.of(offset as usize), neighbor, place));
            }
        }
        Ok(())
    });
    found.expect("it was taken in before");
    of_base.sort_unstable();
    // Equal edges have kept their order.
    let (mut before, mut after) = (Finder::new(past, direction), Finder::base(new, direction));
    for (v, neighbor, place) in of_base {
        let all = before.find(v, neighbor, usize::MAX);
        let number = all.iter().position(|&other| other == place);
        let number = number.expect("the version has what a later one takes away");
        places.push(after.find(v, neighbor, usize::MAX)[number]);
    }
    places.sort_unstable();
    places
}

/// Which rows whole lists have, and where they end.
struct Shape {
    rows: Vec<u32>,
    ends: Vec<u32>,
}

impl Shape {
    fn of(view: &VersionView, direction: usize) -> Self {
        let (mut rows, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        if direction < view.list_count() {
            for first in (0..view.vertex_bound()).step_by(ROW_SPAN) {
                let ids = first..first.saturating_add(ROW_SPAN as u32).min(view.vertex_bound());
                let degrees: Vec<u32> = ids.map(|v| view.degree(v, direction)).collect();
                if degrees.iter().all(|&degree| degree == 0) {
                    rows.push(NO_ROWS);
                    continue;
                }
                rows.push(ends.len() as u32);
                let start = ends.len();
                for degree in degrees {
                    end += degree;
                    ends.push(end);
                }
                ends.resize(start + ROW_SPAN, end);
            }
        }
        Self { rows, ends }
    }
}

/// Calls `put` with all entries of one direction, in pieces.
fn for_each_piece(
    view: &VersionView,
    direction: usize,
    word: impl Fn(&(VertexId, u32)) -> u32,
    put: &mut dyn FnMut(&[u32]),
) {
    let (mut list, mut piece) = (Vec::new(), Vec::new());
    for v in 0..view.vertex_bound() {
        view.sorted_list(v, direction, &mut list);
        piece.extend(list.iter().map(&word));
        if piece.len() >= PIECE_WORDS {
            put(&piece);
            piece.clear();
        }
    }
    put(&piece);
}
