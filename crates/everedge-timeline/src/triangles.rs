//! Triangles of all versions of a window, each looked at once.
//!
//! A triangle is in the versions that all three of its pairs have. Those of pairs that all versions have
//! are counted by the kernel. Any other is found from the first of its pairs that some versions lack, at
//! the end with fewer neighbors, and counts from where it appears to where it disappears. This goes beyond
//! PIE, whose questions are monotone.
//!
//! # Cost
//! The kernel on the common graph; for each pair that some versions lack the lists of its end with fewer
//! neighbors, and for each thousand of them those of the others. Memory: 24 bytes for such a pair and 8 for
//! each of its stretches, three bits for each id and thread.

use everedge_core::{GraphView, VertexId, par};
use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::lifetimes::{Lifetimes, Mortal};
use super::rows::Rows;
use super::view::VersionView;

/// Pairs in a piece of work.
const GRAIN: u32 = 1 << 10;

/// The versions from one on to before another one.
type Stretch = (u16, u16);

/// Two vertices that are neighbors in some versions, and perhaps, by other edges, in all.
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
    let scratch = par::PerThread::new(|| Scratch::new(common.vertex_bound()));
    let changes = par::map_ranges(pairs.pairs.len() as u32, GRAIN, |range| {
        let mut changes = Changes(vec![0; count + 1]);
        scratch.with(|scratch| pairs.count(range.start..range.end, common, scratch, &mut changes));
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

struct Pairs {
    /// By hub.
    pairs: Vec<Pair>,
    rows: Rows,
    /// By vertex: the other ends, and the numbers of the pairs.
    ends: Vec<(VertexId, u32)>,
}

/// What a thread marks; empty between pieces.
struct Scratch {
    /// The neighbors of a hub that it has in all versions.
    always: Bits,
    /// Those that it has in some.
    sometimes: Bits,
    /// The numbers of the pairs of the latter.
    numbers: FxHashMap<VertexId, u32>,
    /// Neighbors of the other end that were looked at.
    seen: Bits,
}

impl Scratch {
    fn new(bound: u32) -> Self {
        let empty = || {
            let mut bits = Bits::default();
            bits.grow(bound as usize);
            bits
        };
        let (always, sometimes, seen) = (empty(), empty(), empty());
        Self { always, sometimes, numbers: FxHashMap::default(), seen }
    }
}

impl Pairs {
    fn new(common: &VersionView, lifetimes: &Lifetimes, count: u16) -> Self {
        let rank = |v| (common.out_degree(v) + common.in_degree(v), v);
        let is_changed = |edge: &&Mortal| !edge.is_common(0, count - 1) && edge.src != edge.dst;
        let mut edges: Vec<_> = lifetimes
            .edges()
            .iter()
            .filter(is_changed)
            .map(|&Mortal { src, dst, appears, disappears, .. }| {
                let (hub, other) = if rank(src) < rank(dst) { (dst, src) } else { (src, dst) };
                (hub, other, (appears, disappears.min(count)))
            })
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
        Self { pairs, rows, ends }
    }

    fn ends(&self, v: VertexId) -> &[(VertexId, u32)] {
        &self.ends[self.rows.range(v)]
    }

    /// Counts the triangles of which the first pair that some versions lack has one of these numbers.
    fn count(
        &self,
        numbers: std::ops::Range<u32>,
        common: &VersionView,
        scratch: &mut Scratch,
        changes: &mut Changes,
    ) {
        let mut number = numbers.start;
        let pairs = &self.pairs[numbers.start as usize..numbers.end as usize];
        for of_hub in pairs.chunk_by(|a, b| a.hub == b.hub) {
            let hub = of_hub[0].hub;
            for v in neighbors(common, hub) {
                scratch.always.insert(v as usize);
            }
            for &(v, number) in self.ends(hub) {
                if !scratch.always.contains(v as usize) {
                    scratch.sometimes.insert(v as usize);
                    scratch.numbers.insert(v, number);
                }
            }
            for pair in of_hub {
                // Other edges make them neighbors in all versions.
                if !scratch.always.contains(pair.other as usize) {
                    self.count_from((number, pair), common, scratch, changes);
                }
                number += 1;
            }
            for v in neighbors(common, hub) {
                scratch.always.remove(v as usize);
            }
            for (v, _) in scratch.numbers.drain() {
                scratch.sometimes.remove(v as usize);
            }
        }
    }

    /// Counts the triangles of which a pair is the first that some versions lack; the neighbors of its hub are
    /// marked.
    fn count_from(
        &self,
        (number, pair): (u32, &Pair),
        common: &VersionView,
        Scratch { always, sometimes, numbers, seen }: &mut Scratch,
        changes: &mut Changes,
    ) {
        let stretches_of = |number: u32| &self.pairs[number as usize].stretches[..];
        // The pair of a vertex and the hub, if it is later.
        let later = |v: VertexId| {
            let is_marked = sometimes.contains(v as usize);
            is_marked.then(|| numbers[&v]).filter(|&third| third > number)
        };
        let mut whole = 0;
        for v in neighbors(common, pair.other) {
            if seen.insert(v as usize) {
                if always.contains(v as usize) {
                    whole += 1;
                } else if let Some(third) = later(v) {
                    changes.add(&both(&pair.stretches, stretches_of(third)), 1);
                }
            }
        }
        changes.add(&pair.stretches, whole);
        for &(v, second) in self.ends(pair.other) {
            if second > number && !seen.contains(v as usize) {
                let two = || both(&pair.stretches, stretches_of(second));
                if always.contains(v as usize) {
                    changes.add(&two(), 1);
                } else if let Some(third) = later(v) {
                    changes.add(&both(&two(), stretches_of(third)), 1);
                }
            }
        }
        for v in neighbors(common, pair.other) {
            seen.remove(v as usize);
        }
    }
}

/// Returns the neighbors of `v` both ways; some come twice.
fn neighbors(common: &VersionView, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
    let inward = common.is_directed().then(|| common.in_neighbors(v));
    common.out_neighbors(v).chain(inward.into_iter().flatten())
}
