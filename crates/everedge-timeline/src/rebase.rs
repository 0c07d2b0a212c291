//! Moving the first version forward: the graph of a later one is written as whole lists into a file of its own,
//! and what still later ones have changed behind it.
//!
//! Source: PIE §3.2, the next check point. There the base is made anew between windows; here views and commits
//! go on beside it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{Edge, GraphView, VertexId, WeightedView};
use everedge_medium::Result;

use super::Version;
use super::file::{FIRST_WORD, File};
use super::finder::Finder;
use super::lists::{Form, NO_ROWS, ROW_SPAN};
use super::segment::{
    Delta, Found, ListSources, NewSegment, Place, Segment, Source, Totals, Wrong,
};
use super::tip::Tip;

/// Words of a piece in which lists are written.
const PIECE_WORDS: usize = 1 << 16;

/// How equal edges stand in lists: in both lists of an edge alike.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EqualEdges {
    /// As in the lists of the graph.
    AsTheyCame,
    /// By weight, for those of the graph do not say.
    ByWeight,
}

/// Writes a graph as the first version of a file. `head` is what is said of it, `list_count` how many directions
/// have lists.
pub(crate) fn write_base(
    file: &File,
    view: &impl WeightedView,
    head: (&Version, &Totals),
    (list_count, is_weighted): (usize, bool),
    equal: EqualEdges,
) -> Result<Tip> {
    let ids = view.vertex_ranges().into_iter().flatten();
    let vertices: Vec<u32> = ids.filter(|&v| view.is_vertex(v)).collect();
    let all = [0, 1].map(|direction| (direction < list_count).then_some(view));
    let shapes = [0, 1].map(|direction| Shape::of(all[direction], direction));
    let neighbors = [0, 1].map(|direction| {
        move |put: &mut dyn FnMut(&[u32])| {
            for_each_piece(all[direction], (direction, equal), |entry| entry.0, put)
        }
    });
    let weights = [0, 1].map(|direction| {
        move |put: &mut dyn FnMut(&[u32])| {
            for_each_piece(all[direction], (direction, equal), |entry| entry.1, put)
        }
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
            weights: match is_weighted {
                true => Source::Pieces(len, &weights[direction]),
                false => Source::Words(&[]),
            },
        }
    });
    let gone = Default::default();
    let segment = NewSegment::new(head, [&vertices, &[]], lists, &gone);
    let mut tip = Tip::default();
    push(file, &mut tip, &segment)?;
    Ok(tip)
}

/// Writes the versions of `old` behind the one number `index`, which is the first one of the file `next` and all
/// that `base` has. Returns all versions of the file.
pub(crate) fn move_later(
    (file, next): (&File, &File),
    base: Tip,
    old: &Tip,
    index: usize,
) -> Result<Tip> {
    let (past, mut tip) = (old.before(index + 1), base.of_first(1));
    let move_ = Move { old, index, past: past.as_ref().unwrap_or(old), base: &base };
    for segment in &old.segments()[index + 1..] {
        let delta = move_.delta(segment).map_err(|wrong| file.damaged(FIRST_WORD, wrong))?;
        push(next, &mut tip, &NewSegment::of(&segment.version, &segment.totals, &delta))?;
    }
    Ok(tip)
}

fn push(file: &File, tip: &mut Tip, segment: &NewSegment<'_>) -> Result<()> {
    let (words, segment) = file.append(segment)?;
    tip.push(words, Arc::new(segment)).map_err(|wrong| file.damaged(FIRST_WORD, wrong))
}

/// From the versions of one file to those of another.
struct Move<'a> {
    old: &'a Tip,
    /// Which of the old versions is the first one of the new ones.
    index: usize,
    /// What it has of the edges that the old ones stored.
    past: &'a Tip,
    /// What is stored of it in the new file.
    base: &'a Tip,
}

impl Move<'_> {
    /// Returns what a later version changes, by places of the new file.
    fn delta(&self, segment: &Segment) -> Found<Delta> {
        let mut delta = segment.to_delta(self.old.words());
        for direction in 0..2 {
            delta.gone[direction] = self.places(segment, direction)?;
        }
        Ok(delta)
    }

    /// Returns where the edges lie in the new file that `segment` takes away.
    fn places(&self, segment: &Segment, direction: usize) -> Found<Vec<Place>> {
        let (mut places, mut of_base) = (Vec::new(), Vec::new());
        let (words, segments) = (self.old.words(), self.old.segments());
        let (oldest, first) = (&segments[0].version, &segments[self.index].version);
        segment.for_each_gone(words, direction, |version, offsets| {
            let lists = &segments[(version - oldest.number) as usize].lists[direction];
            let (mut sources, neighbors) = (lists.sources_of(words), lists.neighbors(words));
            for offset in offsets.iter().map(|offset| offset.load(Relaxed)) {
                let place = Place { version, offset };
                if version > first.number {
                    places.push(place);
                } else {
                    let neighbor = neighbors[offset as usize].load(Relaxed);
                    of_base.push((sources.of(offset as usize), neighbor, place));
                }
            }
            Ok(())
        })?;
        of_base.sort_unstable();
        let mut before = Finder::new((self.past, true), direction, of_base.len());
        let mut after = Finder::new((self.base, true), direction, of_base.len());
        let of_pairs = || of_base.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let pairs: Vec<Edge> = of_pairs().map(|equal| (equal[0].0, equal[0].1)).collect();
        before.look_ahead(&pairs);
        after.look_ahead(&pairs);
        for equal in of_pairs() {
            let (v, neighbor, _) = equal[0];
            let all_before = before.find(v, neighbor, usize::MAX);
            let all_after = after.find(v, neighbor, usize::MAX);
            for (_, _, place) in equal {
                // Equal edges have kept their order.
                let number = all_before.binary_search(place).ok();
                let place = number.and_then(|number| all_after.get(number).copied());
                places.push(place.ok_or_else(|| {
                    let what = format!("the list of vertex {v}");
                    Wrong::new(&what, &format!("vertex {neighbor} at its place"), "others")
                })?);
            }
        }
        places.sort_unstable();
        Ok(places)
    }
}

/// Which rows whole lists have, and where they end.
struct Shape {
    rows: Vec<u32>,
    ends: Vec<u32>,
}

impl Shape {
    /// Returns those of a graph, or of none.
    fn of(view: Option<&impl WeightedView>, direction: usize) -> Self {
        let (mut rows, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
        for (view, ids) in view.into_iter().flat_map(|view| spans(view).map(move |ids| (view, ids)))
        {
            let degrees: Vec<u32> = ids.clone().map(|v| degree(view, v, direction)).collect();
            if degrees.iter().all(|&degree| degree == 0) {
                continue;
            }
            rows.resize(ids.start as usize / ROW_SPAN, NO_ROWS);
            rows.push(ends.len() as u32);
            for degree in degrees {
                end += degree;
                ends.push(end);
            }
        }
        Self { rows, ends }
    }
}

/// Returns the whole spans of rows in which there are vertices, ascending.
pub(crate) fn spans(view: &impl GraphView) -> impl Iterator<Item = Range<VertexId>> {
    let span = ROW_SPAN as u32;
    let mut starts: Vec<u32> = Vec::new();
    for range in view.vertex_ranges().into_iter().filter(|range| !range.is_empty()) {
        starts.extend((range.start / span..=(range.end - 1) / span).map(|number| number * span));
    }
    starts.dedup();
    starts.into_iter().map(move |start| start..start + span)
}

fn degree(view: &impl GraphView, v: VertexId, direction: usize) -> u32 {
    match (v < view.vertex_bound(), direction) {
        (false, _) => 0,
        (true, 0) => view.out_degree(v),
        (true, _) => view.in_degree(v),
    }
}

/// Calls `put` with all entries of one direction of a graph, or of none, in pieces.
fn for_each_piece(
    view: Option<&impl WeightedView>,
    (direction, equal): (usize, EqualEdges),
    word: impl Fn(&(VertexId, u32)) -> u32,
    put: &mut dyn FnMut(&[u32]),
) {
    let (mut list, mut piece) = (Vec::new(), Vec::new());
    for (view, v) in view.into_iter().flat_map(|view| {
        let ids = spans(view).flatten().take_while(|&v| v < view.vertex_bound());
        ids.map(move |v| (view, v))
    }) {
        list.clear();
        match direction {
            0 => list.extend(view.out_edges(v).map(|(to, weight)| (to, weight.to_bits()))),
            _ => list.extend(view.in_edges(v).map(|(from, weight)| (from, weight.to_bits()))),
        }
        match equal {
            // Stable.
            EqualEdges::AsTheyCame => list.sort_by_key(|&(neighbor, _)| neighbor),
            EqualEdges::ByWeight => list.sort_unstable(),
        }
        piece.extend(list.iter().map(&word));
        if piece.len() >= PIECE_WORDS {
            put(&piece);
            piece.clear();
        }
    }
    put(&piece);
}
