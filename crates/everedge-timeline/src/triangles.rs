//! Triangles of all versions of a window, each looked at once.
//!
//! A triangle is in the versions that all three of its pairs have. Those of pairs that all versions have
//! are counted by the kernel. Any other is found from the first of its pairs that some versions lack, at
//! the end with fewer neighbors, and counts from where it appears to where it disappears. This goes beyond
//! PIE, whose questions are monotone.
//!
//! # Cost
//! The kernel on the common graph; all of its lists once, sorted; for each pair that some versions lack the list of its
//! end with fewer neighbors, and for each thousand of them those of the others. Memory: 8 bytes for each edge of the
//! common graph, 56 for such a pair and its stretch, a byte for each id and thread.

use std::ops::Range;

use everedge_core::{GraphView, VertexId, par};
use rustc_hash::FxHashMap;

use super::lifetimes::Lifetimes;
use super::pairs::{Pair, Pairs, Stretch};
use super::view::VersionView;

/// Pairs in a piece of work.
const GRAIN: u32 = 1 << 10;

/// Returns how many triangles each of `count` versions has. `common` is what they have in common, with
/// lists both ways.
pub(crate) fn count(common: &VersionView, lifetimes: &Lifetimes, count: usize) -> Vec<u64> {
    let pairs = Pairs::new(common, lifetimes, count as u16);
    let bound = common.vertex_bound() as usize;
    let scratch =
        par::PerThread::new(|| Scratch { marks: vec![NONE; bound], numbers: FxHashMap::default() });
    let changes = par::map_ranges(pairs.pairs.len() as u32, GRAIN, |range| {
        let mut changes = Changes(vec![0; count + 1]);
        scratch.with(|scratch| pairs.count(range, scratch, &mut changes));
        changes.0
    });
    let mut triangles = everedge_kernels::triangles(common).count;
    let of_version = |version: usize| {
        let change: i64 = changes.iter().map(|changes| changes[version]).sum();
        triangles = triangles.wrapping_add_signed(change);
        triangles
    };
    (0..count).map(of_version).collect()
}

/// By version, how many triangles it has more than the one before.
struct Changes(Vec<i64>);

impl Changes {
    fn add(&mut self, stretches: &[Stretch], triangles: i64) {
        for &(start, end) in stretches {
            self.0[usize::from(start)] += triangles;
            self.0[usize::from(end)] -= triangles;
        }
    }
}

/// Returns the versions that are in both.
fn both(a: &[Stretch], b: &[Stretch]) -> Vec<Stretch> {
    let meet = |a: Stretch, b: Stretch| (a.0.max(b.0), a.1.min(b.1));
    let all = a.iter().flat_map(|&a| b.iter().map(move |&b| meet(a, b)));
    all.filter(|(start, end)| start < end).collect()
}

/// How a vertex is marked: as no neighbor of a hub, or as one in some versions, or in all.
const NONE: u8 = 0;
const SOMETIMES: u8 = 1;
const ALWAYS: u8 = 2;

/// What a thread marks; empty between hubs.
struct Scratch {
    /// By vertex.
    marks: Vec<u8>,
    /// The numbers of the pairs of the neighbors that the hub has in some versions.
    numbers: FxHashMap<VertexId, u32>,
}

impl Pairs {
    /// Counts the triangles of which the first pair that some versions lack has one of these numbers.
    fn count(&self, numbers: Range<u32>, scratch: &mut Scratch, changes: &mut Changes) {
        let pairs = &self.pairs[numbers.start as usize..numbers.end as usize];
        let mut number = numbers.start;
        for of_hub in pairs.chunk_by(|a, b| a.hub == b.hub) {
            let (always, sometimes) = (self.always.list(of_hub[0].hub), self.ends(of_hub[0].hub));
            always.iter().for_each(|&v| scratch.marks[v as usize] = ALWAYS);
            for &(v, number) in sometimes {
                scratch.marks[v as usize] = SOMETIMES;
                scratch.numbers.insert(v, number);
            }
            for pair in of_hub {
                self.count_from((number, pair), scratch, changes);
                number += 1;
            }
            always.iter().for_each(|&v| scratch.marks[v as usize] = NONE);
            sometimes.iter().for_each(|&(v, _)| scratch.marks[v as usize] = NONE);
            scratch.numbers.clear();
        }
    }

    /// Counts the triangles of which a pair is the first that some versions lack; the neighbors of its hub are
    /// marked.
    fn count_from(
        &self,
        (number, pair): (u32, &Pair),
        Scratch { marks, numbers }: &Scratch,
        changes: &mut Changes,
    ) {
        let stretches_of = |number: u32| &self.pairs[number as usize].stretches[..];
        let is_later = |third: &u32| *third > number;
        let mut whole = 0;
        for v in self.always.list(pair.other) {
            match marks[*v as usize] {
                NONE => {}
                ALWAYS => whole += 1,
                _ => {
                    if let Some(&third) = numbers.get(v).filter(|third| is_later(third)) {
                        changes.add(&both(&pair.stretches, stretches_of(third)), 1);
                    }
                }
            }
        }
        changes.add(&pair.stretches, whole);
        for (v, second) in self.ends(pair.other).iter().filter(|(_, second)| is_later(second)) {
            let two = || both(&pair.stretches, stretches_of(*second));
            match marks[*v as usize] {
                NONE => {}
                ALWAYS => changes.add(&two(), 1),
                _ => {
                    if let Some(&third) = numbers.get(v).filter(|third| is_later(third)) {
                        changes.add(&both(&two(), stretches_of(third)), 1);
                    }
                }
            }
        }
    }
}
