//! The coreness of every vertex in all versions of a window, from what any of them has to what each has.
//!
//! Coreness only falls when edges go. So the window is halved as in `schedule.rs`, the other way round: what any version
//! of a range has leads to what any of a half of it has, by taking edges away. A vertex whose coreness is k
//! has at least k neighbors of k or more; where one has fewer, its coreness falls to the largest number for which
//! that holds, and its neighbors are looked at.
//!
//! Source: Lü, Zhou, Zhang and Stanley, "The H-index of a network node and its relation to degree and coreness", Nature
//! Communications 2016: from any numbers that are not below coreness, this ends at coreness. Beyond PIE, whose
//! questions are monotone.
//!
//! # Cost
//! The kernel on all edges of the window; for each vertex whose coreness falls, the lists of its neighbors, in each half in
//! which it does. Memory: 8 bytes for each edge, 56 for a pair of neighbors that some versions lack, 8 bytes for each id
//! and level of halves.

use std::ops::Range;
use std::time::{Duration, Instant};

use everedge_core::{GraphView, VertexId, par, watch};
use everedge_kernels::coreness;

use super::lifetimes::Lifetimes;
use super::pairs::Pairs;
use super::view::VersionView;

/// Ids in a piece of work.
const GRAIN: usize = 1 << 10;

/// What is known of a vertex in what any of some versions has.
#[derive(Clone, Copy)]
struct Core {
    coreness: u32,
    /// Neighbors of as much coreness or more.
    support: u32,
}

/// Calls `answer` with the number of each of `count` versions, the coreness of its vertices, and how long it took, in
/// no order and possibly at the same time. `common` is what they have in common, with lists both ways.
pub(crate) fn answer_all(
    common: &VersionView,
    lifetimes: &Lifetimes,
    count: usize,
    answer: impl Fn(u16, &[u32], f64) + Sync + Send,
) {
    let start = Instant::now();
    let pairs = Pairs::new(common, lifetimes, count as u16);
    let coreness = coreness(&Union { pairs: &pairs, common }).coreness;
    let mut cores: Vec<Core> =
        coreness.into_iter().map(|coreness| Core { coreness, support: 0 }).collect();
    let shared: &[Core] = &cores;
    let last = count as u16 - 1;
    let run = Run { pairs: &pairs, answer };
    let supports = par::map_ranges(cores.len() as u32, GRAIN as u32, |range| {
        range.map(|v| run.support(v, (0, last), shared)).collect::<Vec<u32>>()
    });
    for (core, support) in cores.iter_mut().zip(supports.concat()) {
        core.support = support;
    }
    let some = (0..pairs.pairs.len() as u32).collect();
    let share = start.elapsed() / count as u32;
    run.halve((0, last), some, (cores, share));
}

/// Whether two vertices are neighbors in some version of a range, and whether in all.
fn in_range(stretches: &[(u16, u16)], (i, j): (u16, u16)) -> (bool, bool) {
    let is_in_some = stretches.iter().any(|&(start, end)| start <= j && end > i);
    let is_in_all = stretches.iter().any(|&(start, end)| start <= i && end > j);
    (is_in_some, is_in_all)
}

/// What any version of a window has, as a graph without directions.
struct Union<'a> {
    pairs: &'a Pairs,
    common: &'a VersionView,
}

impl GraphView for Union<'_> {
    fn vertex_bound(&self) -> u32 {
        self.common.vertex_bound()
    }

    fn vertex_count(&self) -> u32 {
        self.common.vertex_count()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.common.is_vertex(v)
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        self.common.vertex_ranges()
    }

    fn edge_count(&self) -> u64 {
        let ids = self.vertex_ranges().into_iter().flatten().filter(|&v| v < self.vertex_bound());
        ids.map(|v| self.pairs.always.list(v).iter().filter(|&&u| u >= v).count() as u64)
            .sum::<u64>()
            + self.pairs.pairs.len() as u64
    }

    fn is_directed(&self) -> bool {
        false
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        (self.pairs.always.list(v).len() + self.pairs.ends(v).len()) as u32
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.out_degree(v)
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        let others = self.pairs.ends(v).iter().map(|&(other, _)| other);
        self.pairs.always.list(v).iter().copied().chain(others)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.out_neighbors(v)
    }
}

struct Run<'a, A> {
    pairs: &'a Pairs,
    answer: A,
}

impl<A: Fn(u16, &[u32], f64) + Sync + Send> Run<'_, A> {
    /// Calls `f` with the neighbors of `v` in any version of a range.
    #[inline]
    fn for_each_neighbor(&self, v: VertexId, range: (u16, u16), mut f: impl FnMut(VertexId)) {
        self.pairs.always.list(v).iter().filter(|&&u| u != v).for_each(|&u| f(u));
        for &(u, number) in self.pairs.ends(v) {
            if in_range(&self.pairs.pairs[number as usize].stretches, range).0 {
                f(u);
            }
        }
    }

    fn support(&self, v: VertexId, range: (u16, u16), cores: &[Core]) -> u32 {
        let (mut support, own) = (0, cores[v as usize].coreness);
        self.for_each_neighbor(v, range, |u| {
            support += u32::from(cores[u as usize].coreness >= own)
        });
        support
    }

    /// Answers for the versions from `i` to `j`, from the cores of what any of them has, of which each has taken a part
    /// of the time. `some` are the pairs that some of them have.
    fn halve(&self, (i, j): (u16, u16), some: Vec<u32>, (cores, took): (Vec<Core>, Duration)) {
        if i == j {
            let coreness: Vec<u32> = cores.iter().map(|core| core.coreness).collect();
            return (self.answer)(i, &coreness, took.as_secs_f64());
        }
        let middle = i + (j - i) / 2;
        let half = |part: (u16, u16), mut cores: Vec<Core>| {
            watch::check();
            let start = Instant::now();
            let (mut left, mut gone) = (Vec::new(), Vec::new());
            for &number in &some {
                match in_range(&self.pairs.pairs[number as usize].stretches, part) {
                    (false, _) => gone.push(number),
                    // One that all have goes nowhere any more.
                    (true, true) => {}
                    (true, false) => left.push(number),
                }
            }
            self.take_away(part, &gone, &mut cores);
            let share = start.elapsed() / u32::from(part.1 - part.0 + 1);
            self.halve(part, left, (cores, took + share));
        };
        let copy = cores.clone();
        par::join(|| half((i, middle), cores), || half((middle + 1, j), copy));
    }

    /// Takes pairs away, which no version of a range has.
    fn take_away(&self, range: (u16, u16), gone: &[u32], cores: &mut [Core]) {
        let mut falling = Vec::new();
        for &number in gone {
            let pair = &self.pairs.pairs[number as usize];
            let [a, b] = [pair.hub, pair.other].map(|v| cores[v as usize].coreness);
            let lose = |(v, is_lost): (VertexId, bool)| {
                if is_lost {
                    lose_support(cores, v, &mut falling);
                }
            };
            [(pair.hub, b >= a), (pair.other, a >= b)].into_iter().for_each(lose);
        }
        let mut counts = Vec::new();
        while let Some(v) = falling.pop() {
            let before = cores[v as usize].coreness;
            let after = self.fallen(v, range, cores, &mut counts);
            cores[v as usize] = after;
            self.for_each_neighbor(v, range, |u| {
                let of_neighbor = cores[u as usize].coreness;
                if of_neighbor > after.coreness && of_neighbor <= before {
                    lose_support(cores, u, &mut falling);
                }
            });
        }
    }

    /// Returns what a vertex without enough support falls to. `counts` is used again.
    fn fallen(
        &self,
        v: VertexId,
        range: (u16, u16),
        cores: &[Core],
        counts: &mut Vec<u32>,
    ) -> Core {
        let before = cores[v as usize].coreness;
        counts.clear();
        counts.resize(before as usize, 0);
        self.for_each_neighbor(v, range, |u| {
            let coreness = cores[u as usize].coreness.min(before - 1);
            counts[coreness as usize] += 1;
        });
        let mut support = 0;
        for coreness in (0..before).rev() {
            support += counts[coreness as usize];
            if support >= coreness {
                return Core { coreness, support };
            }
        }
        unreachable!("nobody needs neighbors for a coreness of 0")
    }
}

/// Takes a neighbor from those that support `v`, and notes it if that leaves too few.
#[inline]
fn lose_support(cores: &mut [Core], v: VertexId, falling: &mut Vec<VertexId>) {
    let core = &mut cores[v as usize];
    core.support -= 1;
    if core.support + 1 == core.coreness {
        falling.push(v);
    }
}
