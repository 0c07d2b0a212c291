//! Spot checks: what the cheap verifiers look at.
//!
//! A full verifier of a kernel costs as much as the kernel or more. A *spot check* costs a tenth of
//! it at most (on large graphs; on small ones a millisecond). It tests the sums and the bounds that
//! a linear pass finds, and at some vertices, drawn evenly over all ids, the equation that joins the
//! answer of a vertex to those of its neighbors. A fault of the kernel, which spoils many answers,
//! is found; a wrong answer of a single vertex is found only if that vertex or a neighbor is drawn.
//! As 1,024 ids are drawn at least, it misses wrong values at one vertex in 200, wherever they are, with
//! a probability of (1 - 1/200)^1024, less than one in a hundred. A full verifier misses none.
//! Of lists longer than [`LIST_MAX`] only the beginning is seen, and equations over whole lists are
//! left out there. The same graph has the same spots each time.

use std::ops::Range;

use everedge_core::{GraphView, SplitMix64, VertexId, par};
use rustc_hash::FxHashSet;

use crate::Result;

/// Entries of a list that a spot check looks at.
pub(crate) const LIST_MAX: usize = 256;
/// Ids in a piece, all of which are looked at.
const PIECE: u32 = 64;
/// Pieces that are drawn at least, if there are as many.
const PIECES_MIN: u32 = 16;
/// Ids in a piece of work of a pass over all of them.
const GRAIN: u32 = 1 << 12;
/// Drawn ids in a piece of work.
const DRAWN_GRAIN: usize = 16;
/// Every choice begins here.
const SEED: u64 = 0x0005_9075;

/// Ids that are drawn evenly, in short pieces.
#[derive(Debug)]
pub(crate) struct Spots {
    starts: Vec<VertexId>,
    bound: u32,
}

impl Spots {
    /// Draws one of `share` pieces of the ids below `bound`, but not fewer than [`PIECES_MIN`].
    pub(crate) fn one_of(share: u32, bound: u32) -> Self {
        let piece_count = bound.div_ceil(PIECE);
        let count = (piece_count / share).max(PIECES_MIN).min(piece_count);
        let starts = drawn(count, piece_count).map(|piece| piece * PIECE).collect();
        Self { starts, bound }
    }

    /// Calls `check` on each id; returns an error if there is one.
    pub(crate) fn check(&self, check: impl Fn(VertexId) -> Result<()> + Sync + Send) -> Result<()> {
        let checked = par::map_chunks(&self.starts, PIECES_MIN as usize, |starts| {
            starts.iter().try_for_each(|&start| self.piece(start).try_for_each(&check))
        });
        checked.into_iter().collect()
    }

    /// Adds up `f` of each id.
    pub(crate) fn sum(&self, f: impl Fn(VertexId) -> f64 + Sync + Send) -> f64 {
        let sums = par::map_chunks(&self.starts, PIECES_MIN as usize, |starts| {
            starts.iter().flat_map(|&start| self.piece(start)).map(&f).sum::<f64>()
        });
        sums.into_iter().sum()
    }

    fn piece(&self, start: VertexId) -> Range<VertexId> {
        start..start.saturating_add(PIECE).min(self.bound)
    }
}

/// Draws `count` different numbers below `bound`, ascending: one of each of as many equal parts.
pub(crate) fn drawn(count: u32, bound: u32) -> impl Iterator<Item = u32> {
    let count = u64::from(count.min(bound));
    let mut random = SplitMix64::new(SEED);
    (0..count).map(move |i| {
        let (start, end) = (i * u64::from(bound) / count, (i + 1) * u64::from(bound) / count);
        (start + random.below(end - start)) as u32
    })
}

/// Calls `check` on `count` ids of `view`, drawn evenly, that are vertices; returns an error if there
/// is one.
pub(crate) fn check_drawn(
    view: &impl GraphView,
    count: u32,
    check: impl Fn(VertexId) -> Result<()> + Sync + Send,
) -> Result<()> {
    let ids: Vec<_> = drawn(count, view.vertex_bound()).collect();
    let checked = par::map_chunks(&ids, DRAWN_GRAIN, |ids| {
        ids.iter().filter(|&&v| view.is_vertex(v)).try_for_each(|&v| check(v))
    });
    checked.into_iter().collect()
}

/// Calls `check` on every id below `bound`, in parallel; returns the error of the smallest, if there
/// is one.
pub(crate) fn check_all(
    bound: u32,
    check: impl Fn(VertexId) -> Result<()> + Sync + Send,
) -> Result<()> {
    let checked = par::map_ranges(bound, GRAIN, |mut range| range.try_for_each(&check));
    checked.into_iter().collect()
}

/// Returns what `start` reaches over `neighbors`, itself first, if following `edges_max` edges
/// finds all of it.
pub(crate) fn reached<I: Iterator<Item = VertexId>>(
    start: VertexId,
    edges_max: usize,
    neighbors: impl Fn(VertexId) -> I,
) -> Option<Vec<VertexId>> {
    let (mut seen, mut list) = (FxHashSet::from_iter([start]), vec![start]);
    let (mut next, mut left) = (0, edges_max);
    while let Some(&u) = list.get(next) {
        next += 1;
        for v in neighbors(u) {
            left = left.checked_sub(1)?;
            if seen.insert(v) {
                list.push(v);
            }
        }
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_are_spread_and_small_graphs_are_seen_whole() {
        for (share, bound) in [(64, 0), (64, 1), (64, 1000), (64, 1025), (64, 200_000), (2, 5000)] {
            let spots = Spots::one_of(share, bound);
            let ids: Vec<_> = spots.starts.iter().flat_map(|&start| spots.piece(start)).collect();
            assert!(ids.is_sorted_by(|u, v| u < v) && ids.iter().all(|&v| v < bound));
            assert!(ids.len() as u32 >= (bound / share).saturating_sub(PIECE).min(bound));
            assert!(bound > PIECE * PIECES_MIN || ids.len() as u32 == bound);
        }
        let numbers: Vec<_> = drawn(10, 1000).collect();
        assert!(
            (0..).zip(&numbers).all(|(i, v)| (i * 100..(i + 1) * 100).contains(v)),
            "{numbers:?}"
        );
        assert_eq!(drawn(7, 3).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn what_is_reached_is_found_or_given_up() {
        let ring = |v: VertexId| std::iter::once((v + 1) % 5);
        assert_eq!(reached(3, 5, ring), Some(vec![3, 4, 0, 1, 2]));
        assert_eq!(reached(3, 4, ring), None);
    }
}
