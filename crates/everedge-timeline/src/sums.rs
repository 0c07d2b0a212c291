//! What the lists of each version come to, in one pass over what all of them stored.

use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{VertexId, par, scramble};

use super::TimelineOptions;
use super::lifetimes::{for_each_edge, weight_of};
use super::tip::Tip;

/// What the lists of a version come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Twice its edges, as lists have them.
    pub ends: u64,
    /// Hashes of its edges added up, as one end's lists have them and as the other's do: they are equal. The ends are
    /// source and destination, or the smaller and the larger one; self-loops of undirected edges are left out.
    pub by_end: [u64; 2],
}

impl Sums {
    /// Adds what a list of `v` holds, or takes it away.
    fn count(
        &mut self,
        (directed, direction): (bool, usize),
        (v, neighbor, weight): (VertexId, VertexId, f32),
        adds: bool,
    ) {
        let of_sources = match directed {
            true => direction == 0,
            false => v <= neighbor,
        };
        let (src, dst) = if of_sources { (v, neighbor) } else { (neighbor, v) };
        let is_lone = !directed && v == neighbor;
        let ends = match (directed, direction) {
            (true, 0) => 2,
            (true, _) => 0,
            (false, _) => 1 + u64::from(is_lone),
        };
        let hash = match is_lone {
            true => 0,
            false => {
                let ends = scramble(u64::from(src) << 32 | u64::from(dst));
                scramble(ends ^ u64::from(weight.to_bits()))
            }
        };
        let add = |sum: &mut u64, number: u64| {
            *sum = if adds { sum.wrapping_add(number) } else { sum.wrapping_sub(number) };
        };
        add(&mut self.ends, ends);
        add(&mut self.by_end[usize::from(!of_sources)], hash);
    }

    fn join(&mut self, other: &Self) {
        self.ends = self.ends.wrapping_add(other.ends);
        for (sum, other) in self.by_end.iter_mut().zip(other.by_end) {
            *sum = sum.wrapping_add(other);
        }
    }
}

/// Returns what each version comes to, ascending.
pub(crate) fn sums(tip: &Tip, options: &TimelineOptions) -> Vec<Sums> {
    if tip.is_empty() {
        return Vec::new();
    }
    let (words, segments) = (tip.words(), tip.segments());
    let first = segments[0].version.number;
    let has_in_lists = options.directed && options.in_neighbors;
    let change_of = |index: usize| {
        let (segment, mut change) = (&segments[index], Sums::default());
        for direction in 0..1 + usize::from(has_in_lists) {
            let place = (options.directed, direction);
            let lists = &segment.lists[direction];
            let (neighbors, weights) = (lists.neighbors(words), lists.weights(words));
            lists.for_each(words, |v, range| {
                for at in range {
                    let edge = (v, neighbors[at].load(Relaxed), weight_of(weights.get(at)));
                    change.count(place, edge, true);
                }
            });
            let gone = segment.for_each_gone(words, direction, |version, places| {
                let lists = &segments[(version - first) as usize].lists[direction];
                for_each_edge(words, lists, places, |v, neighbor, weight| {
                    change.count(place, (v, neighbor, weight), false);
                });
                Ok(())
            });
            gone.expect("it was taken in before");
        }
        change
    };
    let changes = par::map_ranges(segments.len() as u32, 1, |at| change_of(at.start as usize));
    let mut sum = Sums::default();
    let join = |change: &Sums| {
        sum.join(change);
        match options.directed && !has_in_lists {
            true => Sums { by_end: [sum.by_end[0]; 2], ..sum },
            false => sum,
        }
    };
    changes.iter().map(join).collect()
}
