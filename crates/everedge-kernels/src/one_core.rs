//! The k-core for one k: what is left when vertices with fewer than k neighbors are taken away until there are none.
//!
//! Most vertices of a core have many more than k neighbors in it, so most of their lists need not be read. A
//! vertex has *credit*: it has at least so many neighbors left. Counting its neighbors stops at a credit that will
//! mostly do; when a neighbor is taken away, the credit falls by one; when it falls below k, they are counted anew,
//! all of them this time. Vertices with fewer than k entries are out before a list is read.
//!
//! The graph is taken as simple and undirected, as for [`coreness`](crate::coreness). Where it is known to be so, degrees
//! are all that vertices have: nobody is counted, and only lists of those that are taken away are read.
//!
//! # Rounds
//! Those in doubt are counted, while nobody is taken away; those with fewer than k neighbors are taken away, while
//! nobody is counted: so each neighbor that goes after a count lowers the credit once, and answers depend on no order.
//!
//! # Cost
//! O(vertices + edges): every list at most three times, and of a core's vertices mostly an eighth. 4 bytes and two
//! bits for each id, and up to 3 bits for each id and thread.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{AtomicBitmap, Direction, GraphView, ListVisitor, VertexId, par};

use crate::frontier::{filter, joined, map_listed, retain, vertices, visit_out_edges};
use crate::kcore::Neighbors;

/// Vertices in a piece of work that reads their edges.
const GRAIN: u32 = 1 << 10;
/// Vertices in a piece of work of a round that has few of them.
const LISTED_GRAIN: usize = 64;
/// The first count of neighbors ends at one of so many.
const COUNTED_SHARE: u32 = 8;

/// Returns the vertices of the k-core of `view` in ascending order: of coreness `k` or more.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::kcore;
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 0), (2, 3)], None, CsrOptions::default());
/// assert_eq!(kcore(&g, 2), [0, 1, 2]);
/// ```
pub fn kcore(view: &impl GraphView, k: u32) -> Vec<VertexId> {
    par::among_threads(view.homes(), || OneCore::new(view, k).find())
}

/// Vertices that may be in the core.
struct OneCore<'v, V> {
    view: &'v V,
    /// Whether every list names each neighbor once, and not its vertex.
    is_simple: bool,
    k: u32,
    /// How many neighbors each vertex has left, at least; before its first count, its entries.
    credit: Vec<AtomicU32>,
    /// The vertices whose credit is all that they have left.
    exact: AtomicBitmap,
    /// The vertices that were taken away, or never had enough.
    gone: AtomicBitmap,
    threads: par::PerThread<Neighbors>,
}

impl<'v, V: GraphView> OneCore<'v, V> {
    fn new(view: &'v V, k: u32) -> Self {
        let bound = view.vertex_bound();
        let credit = par::collect(bound as usize, |_| AtomicU32::new(0));
        let core = Self {
            view,
            is_simple: !view.is_directed() && view.lists_are_distinct(),
            k,
            credit,
            exact: AtomicBitmap::new(bound),
            gone: AtomicBitmap::new(bound),
            threads: par::PerThread::new(|| Neighbors::new(bound)),
        };
        core.add_degrees(Direction::Out);
        if view.is_directed() {
            core.add_degrees(Direction::In);
        }
        core
    }

    fn add_degrees(&self, direction: Direction) {
        par::for_each_range(self.credit.len() as u32, GRAIN, |range| {
            self.view.for_each_degree(direction, range, |v, degree| {
                let sum = self.credit(v).saturating_add(degree);
                self.credit[v as usize].store(sum, Relaxed);
            });
        });
    }

    #[inline]
    fn credit(&self, v: VertexId) -> u32 {
        self.credit[v as usize].load(Relaxed)
    }

    fn find(&self) -> Vec<VertexId> {
        let mut left = vertices(self.view);
        let mut poor = filter(&left, |v| self.credit(v) < self.k);
        self.mark_gone(&poor);
        if !self.is_simple {
            drop(poor);
            poor = self.count_all();
            self.mark_gone(&poor);
        }
        while !poor.is_empty() {
            let doubtful = self.take_away(&poor);
            // Where degrees count neighbors, there is no doubt.
            poor = if self.is_simple { doubtful } else { self.count_listed(&doubtful) };
            self.mark_gone(&poor);
        }
        retain(&mut left, |v| !self.gone.contains(v));
        left
    }

    fn mark_gone(&self, poor: &[VertexId]) {
        par::map_chunks(poor, GRAIN as usize, |list| {
            list.iter().for_each(|&v| _ = self.gone.insert(v));
        });
    }

    /// Counts the neighbors of all vertices that are left, as far as will mostly do; returns those with too few.
    fn count_all(&self) -> Vec<VertexId> {
        let poor = par::map_ranges(self.credit.len() as u32, GRAIN, |range| {
            let mut poor = Vec::new();
            self.threads.with(|neighbors| {
                let mut count = Count { core: self, neighbors, is_first: true, poor: &mut poor };
                self.view.visit_neighbors(Direction::Out, range, &mut count);
            });
            poor
        });
        joined(poor)
    }

    /// Counts all neighbors of those in doubt that may have more than their credit; returns those with too few.
    fn count_listed(&self, doubtful: &[VertexId]) -> Vec<VertexId> {
        let poor = map_listed(self.view, doubtful, Direction::Out, LISTED_GRAIN, |list| {
            let (mut poor, list): (Vec<_>, Vec<_>) =
                list.iter().partition(|&&v| self.exact.contains(v));
            self.threads.with(|neighbors| {
                let mut count = Count { core: self, neighbors, is_first: false, poor: &mut poor };
                self.view.visit_listed(Direction::Out, &list, &mut count);
            });
            poor
        });
        joined(poor)
    }

    /// Lowers the credit of the neighbors of `poor`; returns those whose credit fell below k.
    fn take_away(&self, poor: &[VertexId]) -> Vec<VertexId> {
        // One call of all takes the last unit that is needed. What is in doubt may be taken more than it had: it is
        // counted before its credit is looked at again.
        let lowered = |v: VertexId| self.credit[v as usize].fetch_sub(1, Relaxed) == self.k;
        let doubtful = map_listed(self.view, poor, Direction::Out, LISTED_GRAIN, |list| {
            let mut doubtful = Vec::new();
            if self.is_simple {
                visit_out_edges(self.view, list, |_, v| {
                    if !self.gone.contains(v) && lowered(v) {
                        doubtful.push(v);
                    }
                });
                return doubtful;
            }
            self.threads.with(|neighbors| {
                for (i, &u) in list.iter().enumerate() {
                    self.view.load_ahead(Direction::Out, &list[i..]);
                    if self.view.is_directed() {
                        self.view.load_ahead(Direction::In, &list[i..]);
                    }
                    neighbors.for_each(
                        self.view,
                        u,
                        |v| !self.gone.contains(v),
                        |v| {
                            if lowered(v) {
                                doubtful.push(v);
                            }
                        },
                    );
                }
            });
            doubtful
        });
        joined(doubtful)
    }
}

/// Counts the neighbors that vertices have left.
struct Count<'a, 'v, V> {
    core: &'a OneCore<'v, V>,
    neighbors: &'a mut Neighbors,
    is_first: bool,
    /// Vertices with fewer than k.
    poor: &'a mut Vec<VertexId>,
}

impl<V: GraphView> ListVisitor for Count<'_, '_, V> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        !self.core.gone.contains(v)
    }

    #[inline]
    fn visit(&mut self, v: VertexId, outgoing: impl Iterator<Item = VertexId>) {
        let Self { core, neighbors, .. } = self;
        let enough = match self.is_first {
            true => core.k.saturating_mul(2).max(core.credit(v) / COUNTED_SHARE) as usize,
            false => usize::MAX,
        };
        let counts = |u| !core.gone.contains(u);
        neighbors.add_some(v, outgoing, counts, enough);
        if core.view.is_directed() && neighbors.len() < enough {
            neighbors.add_some(v, core.view.in_neighbors(v), counts, enough);
        }
        let count = neighbors.end();
        if count < enough {
            core.exact.insert(v);
        }
        core.credit[v as usize].store(count as u32, Relaxed);
        if count < core.k as usize {
            self.poor.push(v);
        }
    }
}
