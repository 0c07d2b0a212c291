//! Minimum spanning forest: the lightest edges that keep connected what is connected.
//!
//! Directions and self-loops do not count. Edges are ordered by weight, then by their smaller end, then
//! by the larger: no two edges between different pairs are equal, so there is one forest only. Of
//! parallel edges the lightest counts.
//!
//! In each round every tree takes the lightest edge that leaves it; two trees that take the same one
//! take it once. Trees that edges join are one tree in the next round. A vertex remembers the lightest
//! edge that leaves its tree from it, and looks for another only when that one has both ends in the
//! tree. It is left out once there is none.
//!
//! Source: Borůvka, "O jistém problému minimálním", 1926; in parallel, with the trees of a round joined
//! by pointer jumping, as in Chung and Condon, "Parallel Implementation of Borůvka's Minimum Spanning
//! Tree Algorithm", IPPS 1996. Difference: edges are read from the view, never copied; what vertices
//! remember takes the place of lists that get shorter.
//!
//! # Cost
//! The first round reads every list; a list is read again when the edge remembered of it has gone into
//! a tree, at most once a round. There are at most log2(vertices) rounds, in practice fewer than ten. 24
//! bytes for each id, and 12 for each edge of the forest (the result).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Edge, GraphView, VertexId, WeightedView, par, watch};

use crate::both_ways::BothWays;
use crate::error::require;
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result, wcc};

/// Vertices in a piece of work.
const GRAIN: usize = 1 << 10;
/// Rounds, and rounds of pointer jumping, that are always enough: trees become half as many at least,
/// ways to a root half as long. Only where a failed read shows an edge at one of its ends they are not.
const ROUNDS_MAX: u32 = VertexId::BITS + 1;
/// What stands for a vertex where there is none.
const NONE: VertexId = VertexId::MAX;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
const KERNEL: &str = "spanning-forest";

/// What [`spanning_forest`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanningForest {
    /// The edges of the forest, ascending, each with its smaller end first.
    pub edges: Vec<Edge>,
    /// The weight of each of them.
    pub weights: Vec<f32>,
    /// The sum of the weights.
    pub total: f64,
}

/// How edges are ordered: by weight as [`ordered`] shows it, then by their ends.
type Key = (u32, VertexId, VertexId);

/// Returns a number that is ordered as weights are; 0 and -0 are equal.
fn ordered(weight: f32) -> u32 {
    let bits = (weight + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

fn key(weight: f32, u: VertexId, v: VertexId) -> Key {
    (ordered(weight), u.min(v), u.max(v))
}

/// Finds the minimum spanning forest of `view`, as if its edges had no direction.
///
/// Weights may be negative or infinite.
///
/// # Errors
/// [`BadWeight`](Error::BadWeight) if a weight is not a number.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::spanning_forest;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (4, 3)];
/// let g = Csr::from_edges(&edges, Some(&[3.0, 1.0, 2.0, 5.0]), CsrOptions::default());
/// let forest = spanning_forest(&g)?;
/// assert_eq!((forest.edges, forest.total), (vec![(0, 2), (1, 2), (3, 4)], 8.0));
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn spanning_forest(view: &impl WeightedView) -> Result<SpanningForest> {
    par::among_threads(view.homes(), || found(view))
}

fn found(view: &impl WeightedView) -> Result<SpanningForest> {
    let bound = view.vertex_bound() as usize;
    let mut trees = Trees {
        root: par::collect(bound, |v| v as VertexId),
        taken: par::collect(bound, |_| AtomicU32::new(NONE)),
        next: par::collect(bound, |v| AtomicU32::new(v as VertexId)),
    };
    let mut nearest = par::collect(bound, |v| Nearest { v: v as VertexId, u: NONE, weight: 0.0 });
    let mut edges = Vec::new();
    for _ in 0..ROUNDS_MAX {
        trees.remember(view, &mut nearest)?;
        nearest.retain(|near| near.u != NONE);
        trees.take(&nearest);
        if nearest.is_empty() || !trees.join(&nearest, &mut edges) {
            break;
        }
        watch::note(edges.len() as u64, view.vertex_count().into());
    }
    par::sort_by_key(&mut edges, |&(u, v, _)| u64::from(u) << 32 | u64::from(v));
    let total = edges.iter().map(|&(_, _, weight)| f64::from(weight)).sum();
    let weights = edges.iter().map(|&(_, _, weight)| weight).collect();
    let edges = edges.into_iter().map(|(u, v, _)| (u, v)).collect();
    Ok(SpanningForest { edges, weights, total })
}

/// The lightest edge that leaves the tree of a vertex from it.
#[derive(Clone, Copy)]
struct Nearest {
    v: VertexId,
    /// The other end; [`NONE`] before one was sought, and if there is none.
    u: VertexId,
    weight: f32,
}

impl Nearest {
    fn key(&self) -> Key {
        key(self.weight, self.u, self.v)
    }
}

/// Trees of the forest that grows.
struct Trees {
    /// The tree of each vertex, named after one of its vertices.
    root: Vec<VertexId>,
    /// Which of what vertices remember a tree takes, by its place; [`NONE`] between two rounds.
    taken: Vec<AtomicU32>,
    /// The tree that a tree is joined with.
    next: Vec<AtomicU32>,
}

impl Trees {
    fn root(&self, v: VertexId) -> VertexId {
        self.root[v as usize]
    }

    /// Returns what the tree `root` takes.
    fn taken_by<'n>(&self, root: VertexId, nearest: &'n [Nearest]) -> Option<&'n Nearest> {
        nearest.get(self.taken[root as usize].load(Relaxed) as usize)
    }

    /// Finds the edges that vertices remember, where that is not known.
    fn remember(&self, view: &impl WeightedView, nearest: &mut [Nearest]) -> Result<()> {
        let checked = par::map_chunks_mut(nearest, GRAIN, |_, part| {
            part.iter_mut().try_for_each(|near| {
                let is_known = near.u != NONE && self.root(near.u) != self.root(near.v);
                if is_known { Ok(()) } else { self.seek(view, near) }
            })
        });
        checked.into_iter().collect()
    }

    fn seek(&self, view: &impl WeightedView, near: &mut Nearest) -> Result<()> {
        let (v, own) = (near.v, self.root(near.v));
        let (mut best, mut bad) = ((u32::MAX, NONE), None);
        near.u = NONE;
        for_each_edge(view, v, |u, weight| {
            bad = bad.or(weight.is_nan().then_some(u));
            // Of one vertex, the larger edge of the same weight has the larger other end.
            let found = (ordered(weight), u);
            if found < best && self.root(u) != own {
                (best, near.u, near.weight) = (found, u, weight);
            }
        });
        let Some(u) = bad else { return Ok(()) };
        let is_forward = view.out_edges(v).any(|(w, weight)| w == u && weight.is_nan());
        let (src, dst) = if is_forward { (v, u) } else { (u, v) };
        Err(Error::BadWeight { src, dst, weight: f32::NAN, expected: "numbers" })
    }

    /// Lets each tree take the lightest edge that one of its vertices remembers.
    fn take(&self, nearest: &[Nearest]) {
        par::for_each_range(nearest.len() as u32, GRAIN as u32, |range| {
            for place in range {
                let near = &nearest[place as usize];
                let taken = &self.taken[self.root(near.v) as usize];
                let is_lighter = |other: u32| {
                    nearest.get(other as usize).is_none_or(|other| near.key() < other.key())
                };
                let lighter = |other| is_lighter(other).then_some(place);
                // What is there already is lighter if it refuses.
                _ = taken.fetch_update(Relaxed, Relaxed, lighter);
            }
        });
    }

    /// Joins the trees that taken edges join, and adds these to `edges`; returns whether that is done.
    fn join(&mut self, nearest: &[Nearest], edges: &mut Vec<(VertexId, VertexId, f32)>) -> bool {
        let taken = par::map_ranges(nearest.len() as u32, GRAIN as u32, |range| {
            let is_taken = |place: &u32| {
                let root = self.root(nearest[*place as usize].v);
                self.taken[root as usize].load(Relaxed) == *place
            };
            range.filter(is_taken).collect::<Vec<_>>()
        });
        let taken = taken.concat();
        let joined = par::map_chunks(&taken, GRAIN, |places| {
            let mut joined = Vec::new();
            for &place in places {
                let near = &nearest[place as usize];
                let (own, other) = (self.root(near.v), self.root(near.u));
                let is_mutual = self.taken_by(other, nearest).map(Nearest::key) == Some(near.key());
                if !is_mutual || own > other {
                    self.next[own as usize].store(other, Relaxed);
                    joined.push((near.u.min(near.v), near.u.max(near.v), near.weight));
                }
            }
            joined
        });
        edges.extend(joined.into_iter().flatten());
        let roots: Vec<_> = taken.iter().map(|&i| self.root(nearest[i as usize].v)).collect();
        let is_done = self.jump(&roots);
        let Self { root, next, .. } = self;
        par::map_chunks_mut(root, GRAIN, |_, roots| {
            roots.iter_mut().for_each(|root| *root = next[*root as usize].load(Relaxed));
        });
        roots.iter().for_each(|&root| *self.taken[root as usize].get_mut() = NONE);
        is_done
    }

    /// Lets each of the trees `roots` point at the last one that it is joined with; returns whether
    /// there is one.
    fn jump(&self, roots: &[VertexId]) -> bool {
        let next = |root: VertexId| self.next[root as usize].load(Relaxed);
        let are_last = |_| {
            let changed = par::map_chunks(roots, GRAIN, |roots| {
                let mut changed = false;
                for &root in roots {
                    let (one, two) = (next(root), next(next(root)));
                    changed |= one != two;
                    self.next[root as usize].store(two, Relaxed);
                }
                changed
            });
            !changed.contains(&true)
        };
        (0..ROUNDS_MAX).any(are_last)
    }
}

/// Calls `f` with the other end and the weight of each edge of `v`, in both directions, without
/// self-loops.
fn for_each_edge(view: &impl WeightedView, v: VertexId, mut f: impl FnMut(VertexId, f32)) {
    let mut edge = |(u, weight): (VertexId, f32)| {
        if u != v {
            f(u, weight);
        }
    };
    view.out_edges(v).for_each(&mut edge);
    if view.is_directed() {
        view.in_edges(v).for_each(edge);
    }
}

/// Checks that `result` is the minimum spanning forest of `view`.
///
/// It is if its edges are edges of the view, make no cycle, and are as many as vertices without
/// components; and no edge of the view is smaller than the largest one on the way that the forest has
/// between its ends. Cost: every edge, with a way of O(log vertices) steps; 24 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold.
pub fn verify_spanning_forest(view: &impl WeightedView, result: &SpanningForest) -> Result<()> {
    check_form(view, result)?;
    let SpanningForest { edges, weights, .. } = result;
    let mut order: Vec<_> = (0..edges.len()).collect();
    let key_of = |i: usize| key(weights[i], edges[i].0, edges[i].1);
    order.sort_by_key(|&i| key_of(i));
    let mut ways = Ways::new(view.vertex_bound());
    for (rank, &i) in (0..).zip(&order) {
        let ((u, v), weight) = (edges[i], weights[i]);
        let mut lightest = None;
        for_each_edge(view, u, |w, weight| {
            let is_lighter = lightest.is_none_or(|other| ordered(weight) < ordered(other));
            lightest = if w == v && is_lighter { Some(weight) } else { lightest };
        });
        require(KERNEL, lightest == Some(weight), || {
            format!("between {u} and {v} the lightest edge is {lightest:?}, not {weight}")
        })?;
        require(KERNEL, ways.join(u, v, rank), || {
            format!("the edge of {u} and {v} is on a cycle")
        })?;
    }
    let expected = view.vertex_count() - wcc(view).component_count();
    require(KERNEL, edges.len() == expected as usize, || {
        format!("{} edges, not {expected}", edges.len())
    })?;
    check_all(view.vertex_bound(), |v| {
        let mut smaller = None;
        for_each_edge(view, v, |u, weight| {
            let on_way = ways.largest_between(u, v).map(|rank| key_of(order[rank as usize]));
            if on_way.is_some_and(|on_way| key(weight, u, v) < on_way) {
                smaller = Some((u, weight));
            }
        });
        require(KERNEL, smaller.is_none(), || {
            format!(
                "the edge of {v} and {smaller:?} is smaller than one that the forest has for it"
            )
        })
    })
}

/// Checks that `result` has ascending edges, no more than it may, and their total, and the lightest
/// edge of some vertices.
///
/// Misses edges that are no one's lightest. Cost: the result once, and one of 64 vertices, unless it has
/// more than 256 edges.
///
/// # Errors
/// As [`verify_spanning_forest`].
pub fn spot_check_spanning_forest(view: &impl WeightedView, result: &SpanningForest) -> Result<()> {
    check_form(view, result)?;
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        if BothWays(view).out_degree(v) as usize > LIST_MAX {
            return Ok(());
        }
        let mut lightest = ((u32::MAX, NONE), 0.0);
        for_each_edge(view, v, |u, weight| {
            let found = (ordered(weight), u);
            lightest = if found < lightest.0 { (found, weight) } else { lightest };
        });
        let ((_, u), weight) = lightest;
        let place = result.edges.binary_search(&(u.min(v), u.max(v)));
        let holds = u == NONE || place.is_ok_and(|place| result.weights[place] == weight);
        require(KERNEL, holds, || format!("the lightest edge of {v}, to {u}, is not in the forest"))
    })
}

/// Checks that edges are ascending pairs of vertices, fewer than these, and what they weigh together.
fn check_form(view: &impl WeightedView, result: &SpanningForest) -> Result<()> {
    let SpanningForest { edges, weights, total } = result;
    let is_pair = |&(u, v): &Edge| u < v && view.is_vertex(u) && view.is_vertex(v);
    let holds = edges.is_sorted_by(|a, b| a < b) && edges.iter().all(is_pair);
    require(KERNEL, holds, || "edges are not ascending pairs of vertices".to_owned())?;
    require(KERNEL, edges.len() == weights.len(), || {
        format!("{} weights of {} edges", weights.len(), edges.len())
    })?;
    require(KERNEL, edges.len() < view.vertex_count().max(1) as usize, || {
        format!("{} edges between {} vertices", edges.len(), view.vertex_count())
    })?;
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    require(KERNEL, sum == *total || sum.is_nan() && total.is_nan(), || {
        format!("a total of {total}, but weights of {sum}")
    })
}

/// Trees of joined vertices, of which each knows by which edge it was joined: those on the way up are
/// larger and larger, and few.
struct Ways {
    above: Vec<VertexId>,
    /// The rank of the edge that joined a tree with the one above; [`NONE`] of those above all.
    rank: Vec<u32>,
    /// How many vertices a tree has.
    count: Vec<u32>,
}

impl Ways {
    fn new(bound: u32) -> Self {
        let (rank, count) = (vec![NONE; bound as usize], vec![1; bound as usize]);
        Self { above: (0..bound).collect(), rank, count }
    }

    fn top(&self, mut v: VertexId) -> VertexId {
        while self.above[v as usize] != v {
            v = self.above[v as usize];
        }
        v
    }

    /// Joins the trees of `u` and `v` by an edge that is larger than all before; returns whether they
    /// were two.
    fn join(&mut self, u: VertexId, v: VertexId, rank: u32) -> bool {
        let (mut low, mut high) = (self.top(u), self.top(v));
        if self.count[low as usize] > self.count[high as usize] {
            (low, high) = (high, low);
        }
        if low != high {
            self.above[low as usize] = high;
            self.rank[low as usize] = rank;
            self.count[high as usize] += self.count[low as usize];
        }
        low != high
    }

    /// Returns the rank of the largest edge on the way between `u` and `v`, if there is a way.
    fn largest_between(&self, mut u: VertexId, mut v: VertexId) -> Option<u32> {
        let mut largest = None;
        while u != v {
            if self.rank[u as usize] > self.rank[v as usize] {
                (u, v) = (v, u);
            }
            if self.rank[u as usize] == NONE {
                return None;
            }
            largest = Some(self.rank[u as usize]);
            u = self.above[u as usize];
        }
        largest
    }
}
