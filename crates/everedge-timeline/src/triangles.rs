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

use super::lifetimes::{Lifetimes, Mortal};
use super::lists::{NO_ROWS, ROW_SPAN};
use super::rows::Rows;
use super::view::VersionView;

/// Pairs in a piece of work.
const GRAIN: u32 = 1 << 10;

/// The versions from one on to before another one.
type Stretch = (u16, u16);

/// Two vertices that are neighbors in some versions and not in all.
struct Pair {
    /// The end with more neighbors.
    hub: VertexId,
    other: VertexId,
    /// When they are, apart and ascending.
    stretches: Vec<Stretch>,
}

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

/// The neighbors both ways that all versions have in common: ascending, each once.
struct Always {
    /// By id over 4,096: the number of its lists, or none.
    firsts: Vec<u32>,
    /// For 4,096 ids: where their lists end, and the lists.
    lists: Vec<(Vec<u32>, Vec<VertexId>)>,
}

impl Always {
    fn new(common: &VersionView) -> Self {
        let ranges = common.vertex_ranges();
        let mut firsts = Vec::new();
        for (number, range) in (0..).zip(&ranges) {
            firsts.resize(range.start as usize / ROW_SPAN, NO_ROWS);
            firsts.push(number);
        }
        let of_range = |ranges: &[Range<VertexId>]| {
            let (mut ends, mut lists, mut list) = (Vec::new(), Vec::new(), Vec::new());
            for v in ranges.iter().cloned().flatten() {
                if v < common.vertex_bound() {
                    list.extend(common.out_neighbors(v));
                    if common.is_directed() {
                        list.extend(common.in_neighbors(v));
                    }
                    // Two ascending runs, mostly.
                    list.sort();
                    list.dedup();
                    lists.append(&mut list);
                }
                ends.push(lists.len() as u32);
            }
            (ends, lists)
        };
        Self { firsts, lists: par::map_chunks(&ranges, 1, of_range) }
    }

    fn list(&self, v: VertexId) -> &[VertexId] {
        let (group, local) = (v as usize / ROW_SPAN, v as usize % ROW_SPAN);
        let Some(&first) = self.firsts.get(group).filter(|&&first| first != NO_ROWS) else {
            return &[];
        };
        let (ends, lists) = &self.lists[first as usize];
        let start = if local == 0 { 0 } else { ends[local - 1] };
        &lists[start as usize..ends[local] as usize]
    }
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

struct Pairs {
    always: Always,
    /// By hub.
    pairs: Vec<Pair>,
    rows: Rows,
    /// By vertex: the other ends, and the numbers of the pairs.
    ends: Vec<(VertexId, u32)>,
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
    fn new(common: &VersionView, lifetimes: &Lifetimes, count: u16) -> Self {
        let always = Always::new(common);
        let rank = |v| (always.list(v).len(), v);
        let is_changed = |edge: &&Mortal| !edge.is_common(0, count - 1) && edge.src != edge.dst;
        let mut edges: Vec<_> = lifetimes
            .edges()
            .iter()
            .filter(is_changed)
            .map(|&Mortal { src, dst, appears, disappears, .. }| {
                let (hub, other) = if rank(src) < rank(dst) { (dst, src) } else { (src, dst) };
                (hub, other, (appears, disappears.min(count)))
            })
            // Other edges may make them neighbors in all versions.
            .filter(|(hub, other, _)| always.list(*other).binary_search(hub).is_err())
            .collect();
        edges.sort_unstable();
        let mut pairs: Vec<Pair> = Vec::new();
        for (hub, other, (start, end)) in edges {
            match pairs.last_mut().filter(|pair| (pair.hub, pair.other) == (hub, other)) {
                None => pairs.push(Pair { hub, other, stretches: vec![(start, end)] }),
                Some(pair) => match pair.stretches.last_mut().filter(|last| start <= last.1) {
                    Some(last) => last.1 = last.1.max(end),
                    None => pair.stretches.push((start, end)),
                },
            }
        }
        let mut rows = Rows::default();
        pairs.iter().flat_map(|pair| [pair.hub, pair.other]).for_each(|v| rows.count(v, 1));
        let mut ends = vec![(0, 0); rows.begin()];
        for (number, pair) in (0..).zip(&pairs) {
            ends[rows.next(pair.hub)] = (pair.other, number);
            ends[rows.next(pair.other)] = (pair.hub, number);
        }
        Self { always, pairs, rows, ends }
    }

    fn ends(&self, v: VertexId) -> &[(VertexId, u32)] {
        &self.ends[self.rows.range(v)]
    }

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
