//! Strongly connected components: which vertices reach each other along the direction of edges.
//!
//! Four steps, each of which takes components away and leaves the *live* vertices to the next:
//! - *Trim*: a vertex that no live edge enters, or none leaves, is a component of its own; without
//!   it, so may be its neighbors. Done at first and again after the second step.
//! - *Forward-backward*: what a pivot of large degree reaches, and what of this reaches it, is the
//!   component of the pivot: on most graphs the one that is larger than all the others.
//! - *Coloring*: every vertex gets the largest color of those that reach it. A vertex that keeps
//!   its own color is a root; its component is what reaches it among the vertices of that color.
//!   Vertices of different colors are in different components: the next round stays within them.
//! - *Tarjan's* search, by one thread, for what is then left.
//!
//! Source: Slota, Rajamanickam and Madduri, "BFS and Coloring-based Parallel Algorithms for
//! Strongly Connected Components and Related Problems", IPDPS 2014 (there called Multistep); trim
//! twice as in Hong, Rodia and Olukotun, "On Fast Parallel Detection of Strongly Connected
//! Components", SC 2013. The last step is that of Pearce, "A Space-Efficient Algorithm for Finding
//! Strongly Connected Components", IPL 2016, without recursion.
//! Differences: a vertex is trimmed as soon as its last live edge is, without rounds over all of
//! them. Colors are in random order and rounds stay within colors: then a vertex changes its color
//! O(log vertices) times in a round (Cohen, "Size-Estimation Framework with Applications to
//! Transitive Closure and Reachability", JCSS 1997) and there are O(log vertices) rounds, on long
//! chains of components as well.
//!
//! # Cost
//! Trim, forward-backward and Tarjan's search read every edge a few times; a coloring is expected to
//! read those of the live vertices O(log vertices) times. 20 bytes for each id: the result, counts
//! of edges or colors, and lists of live vertices; Tarjan's search needs an iterator for each vertex
//! of a path in what is left. Only forward-backward and coloring read lists at their home.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{AtomicBitmap, Direction, GraphView, VertexId, par, watch};

use crate::error::require;
use crate::frontier::{
    EdgeMap, EdgeStep, Frontier, filter, joined, map_sources, push_grain, vertices, visit_out_edges,
};
use crate::reversed::Reversed;
use crate::spots::{LIST_MAX, Spots, check_drawn, reached};
use crate::wcc::{check_names, component_count, largest, wcc};
use crate::{NO_COMPONENT, Result};

/// Vertices in a piece of work that reads their edges.
const GRAIN: usize = 64;
/// Vertices in a piece of work that does not.
const VERTEX_GRAIN: usize = 1 << 12;
/// A thread trims alone while it has fewer vertices to go on with than this.
const FUSED_MAX: usize = 1000;
/// Vertices that Tarjan's search is left by several threads, as in Multistep.
const SERIAL_MAX: u32 = 100_000;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
/// Vertices whose component a spot check searches for, and the edges that each search may follow.
const SEARCHES: u32 = 256;
const SEARCHED_EDGES: usize = 64;

/// How [`scc`] works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SccConfig {
    /// How many vertices are left to the search of one thread at most. `None`: 100,000, and all of
    /// them if there is one thread only. It decides the time, never the result.
    pub serial_max: Option<u32>,
}

/// What [`scc`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scc {
    /// `[vertex_bound]`: the smallest vertex of the component of each vertex, or
    /// [`NO_COMPONENT`] for an id that is no vertex.
    pub component: Vec<VertexId>,
}

impl Scc {
    /// Returns how many components there are.
    pub fn component_count(&self) -> u32 {
        component_count(&self.component)
    }

    /// Returns how many vertices the largest component has. Needs 4 bytes for each id.
    pub fn largest(&self) -> u32 {
        largest(&self.component)
    }
}

/// Finds the strongly connected components of `view`; of an undirected graph, its components.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{NO_COMPONENT, SccConfig, scc};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(1, 4), (4, 3), (3, 1), (3, 2)], None, options);
/// assert_eq!(scc(&g, &SccConfig::default()).component, [NO_COMPONENT, 1, 2, 1, 1]);
/// ```
pub fn scc(view: &impl GraphView, config: &SccConfig) -> Scc {
    if !view.is_directed() {
        return Scc { component: wcc(view).component };
    }
    par::among_threads(view.homes(), || components(view, config))
}

fn components(view: &impl GraphView, config: &SccConfig) -> Scc {
    let components = Components::new(view);
    let mut live = vertices(view);
    let degrees = LiveDegrees::of_all(view);
    live = components.trim(live, &degrees);
    if let Some(pivot) = degrees.pivot(&live) {
        components.forward_backward(pivot);
    }
    live = components.live_of(&live);
    components.count_degrees(&live, &degrees);
    live = components.trim(live, &degrees);
    drop(degrees);
    let default_max = if par::thread_count() == 1 { u32::MAX } else { SERIAL_MAX };
    let serial_max = config.serial_max.unwrap_or(default_max);
    live = components.color_until(live, serial_max as usize);
    components.tarjan(&live);
    Scc { component: components.into_smallest() }
}

/// The components that were found so far.
struct Components<'v, V> {
    view: &'v V,
    /// A vertex of the component of each vertex, the same for all of them, or `NO_COMPONENT`
    /// while it is live.
    component: Vec<AtomicU32>,
}

/// The live edges of each vertex while some are trimmed.
struct LiveDegrees {
    incoming: Vec<AtomicU32>,
    outgoing: Vec<AtomicU32>,
}

impl LiveDegrees {
    /// Counts the edges of all vertices.
    fn of_all(view: &impl GraphView) -> Self {
        let bound = view.vertex_bound();
        let degrees = |direction| {
            let mut degrees = filled(bound, 0);
            par::map_chunks_mut(&mut degrees, VERTEX_GRAIN, |first, degrees| {
                let range = first as VertexId..(first + degrees.len()) as VertexId;
                let mut slots = degrees.iter_mut();
                view.for_each_degree(direction, range, |_, degree| {
                    if let Some(slot) = slots.next() {
                        *slot.get_mut() = degree;
                    }
                });
            });
            degrees
        };
        Self { incoming: degrees(Direction::In), outgoing: degrees(Direction::Out) }
    }

    /// Returns the vertex of `live` with the largest product of degrees, the smallest if there are
    /// several.
    fn pivot(&self, live: &[VertexId]) -> Option<VertexId> {
        let rank = |v| u64::from(load(&self.incoming, v)) * u64::from(load(&self.outgoing, v));
        let better = |a: (u64, VertexId), b: (u64, VertexId)| if b.0 > a.0 { b } else { a };
        let best = par::map_chunks(live, VERTEX_GRAIN, |list| {
            list.iter().map(|&v| (rank(v), v)).reduce(better)
        });
        best.into_iter().flatten().reduce(better).map(|(_, v)| v)
    }
}

/// Marks what the pivot reaches.
struct Forward<'a, V> {
    components: &'a Components<'a, V>,
    reached: &'a AtomicBitmap,
}

impl<V: GraphView> EdgeStep for Forward<'_, V> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        !self.reached.contains(v) && self.components.is_live(v)
    }

    #[inline]
    fn push(&self, _: VertexId, v: VertexId) -> bool {
        self.reached.insert(v)
    }

    #[inline]
    fn pull(&self, _: VertexId, v: VertexId) -> bool {
        self.reached.insert(v)
    }
}

/// Puts what reaches the pivot, of what it reaches, into its component.
struct Backward<'a, V> {
    components: &'a Components<'a, V>,
    reached: &'a AtomicBitmap,
    pivot: VertexId,
}

impl<V: GraphView> EdgeStep for Backward<'_, V> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.reached.contains(v) && self.components.is_live(v)
    }

    #[inline]
    fn push(&self, _: VertexId, v: VertexId) -> bool {
        self.components.claim(v, self.pivot)
    }

    #[inline]
    fn pull(&self, _: VertexId, v: VertexId) -> bool {
        self.components.claim(v, self.pivot)
    }
}

impl<'v, V: GraphView> Components<'v, V> {
    fn new(view: &'v V) -> Self {
        Self { view, component: filled(view.vertex_bound(), NO_COMPONENT) }
    }

    #[inline]
    fn is_live(&self, v: VertexId) -> bool {
        load(&self.component, v) == NO_COMPONENT
    }

    /// Puts the vertex `v` into a component unless it is in one; returns whether this call did.
    #[inline]
    fn claim(&self, v: VertexId, component: VertexId) -> bool {
        let slot = &self.component[v as usize];
        slot.compare_exchange(NO_COMPONENT, component, Relaxed, Relaxed).is_ok()
    }

    /// Returns those of `list` that are live.
    fn live_of(&self, list: &[VertexId]) -> Vec<VertexId> {
        filter(list, |v| self.is_live(v))
    }

    /// Returns how many edges from and to other live vertices `v` has.
    fn live_degrees(&self, v: VertexId) -> (u32, u32) {
        let counts = |&u: &VertexId| u != v && self.is_live(u);
        let incoming = self.view.in_neighbors(v).filter(counts).count();
        (incoming as u32, self.view.out_neighbors(v).filter(counts).count() as u32)
    }

    /// Counts the edges of the `live` vertices among themselves.
    fn count_degrees(&self, live: &[VertexId], degrees: &LiveDegrees) {
        par::map_chunks(live, GRAIN, |list| {
            for &v in list {
                let (incoming, outgoing) = self.live_degrees(v);
                degrees.incoming[v as usize].store(incoming, Relaxed);
                degrees.outgoing[v as usize].store(outgoing, Relaxed);
            }
        });
    }

    /// Takes vertices without an edge in, or without one out, away from the live ones until there
    /// are none; returns the live ones.
    fn trim(&self, live: Vec<VertexId>, degrees: &LiveDegrees) -> Vec<VertexId> {
        let mut trimmed =
            filter(&live, |v| load(&degrees.incoming, v) == 0 || load(&degrees.outgoing, v) == 0);
        trimmed.iter().for_each(|&v| self.component[v as usize].store(v, Relaxed));
        while !trimmed.is_empty() {
            let trim_from = |list: &[VertexId]| self.trim_from(list.to_vec(), degrees);
            trimmed = joined(par::map_chunks(&trimmed, GRAIN, trim_from));
        }
        self.live_of(&live)
    }

    /// Takes away the edges of the vertices in `trimmed`, and of those that are trimmed thereby,
    /// unless they become many; returns those whose edges are still to be taken.
    fn trim_from(&self, mut trimmed: Vec<VertexId>, degrees: &LiveDegrees) -> Vec<VertexId> {
        let loses_last = |degrees: &[AtomicU32], v: VertexId| {
            let is_last = self.is_live(v) && degrees[v as usize].fetch_sub(1, Relaxed) == 1;
            is_last && self.claim(v, v)
        };
        let mut next = 0;
        while next < trimmed.len() && trimmed.len() - next < FUSED_MAX {
            if next == FUSED_MAX {
                trimmed.drain(..std::mem::take(&mut next));
            }
            let u = trimmed[next];
            // In the order in which they came: most lie close to each other, and are known ahead.
            self.view.load_ahead(Direction::Out, &trimmed[next..]);
            self.view.load_ahead(Direction::In, &trimmed[next..]);
            next += 1;
            let outgoing = self.view.out_neighbors(u);
            let losing = outgoing.filter(|&v| loses_last(&degrees.incoming, v));
            losing.for_each(|v| trimmed.push(v));
            let incoming = self.view.in_neighbors(u);
            let losing = incoming.filter(|&v| loses_last(&degrees.outgoing, v));
            losing.for_each(|v| trimmed.push(v));
        }
        trimmed.split_off(next)
    }

    /// Finds the component of `pivot`.
    fn forward_backward(&self, pivot: VertexId) {
        let reached = AtomicBitmap::new(self.view.vertex_bound());
        reached.insert(pivot);
        search(self.view, pivot, &Forward { components: self, reached: &reached });
        self.claim(pivot, pivot);
        let backward = Backward { components: self, reached: &reached, pivot };
        search(&Reversed(self.view), pivot, &backward);
    }

    /// Colors the live vertices and takes away the components of the roots, until no more than
    /// `live_max` are left, which it returns.
    fn color_until(&self, mut live: Vec<VertexId>, live_max: usize) -> Vec<VertexId> {
        if live.len() <= live_max {
            return live;
        }
        let bound = self.view.vertex_bound();
        let (mut colors, mut last_colors) = (filled(bound, 0), filled(bound, 0));
        while live.len() > live_max {
            self.color(&live, &colors, &last_colors);
            live = self.live_of(&live);
            std::mem::swap(&mut colors, &mut last_colors);
        }
        live
    }

    /// Does one round, in `colors`, within the colors of the last one.
    fn color(&self, live: &[VertexId], colors: &[AtomicU32], last_colors: &[AtomicU32]) {
        par::map_chunks(live, VERTEX_GRAIN, |list| {
            list.iter().for_each(|&v| colors[v as usize].store(own_color(v), Relaxed));
        });
        spread(self.view, live.to_vec(), |u, v| {
            let color = load(colors, u);
            load(colors, v) < color
                && self.is_live(v)
                && load(last_colors, u) == load(last_colors, v)
                && colors[v as usize].fetch_max(color, Relaxed) < color
        });
        let roots = filter(live, |v| load(colors, v) == own_color(v) && self.claim(v, v));
        spread(&Reversed(self.view), roots, |u, v| {
            self.is_live(v)
                && load(colors, u) == load(colors, v)
                && self.claim(v, load(&self.component, u))
        });
    }

    /// Finds the components of `live` on this thread.
    ///
    /// A vertex on the path, or done but not yet in a component, has as `low` the smallest number
    /// of such a vertex that it was seen to reach. If that is its own one when it is done, it is
    /// the root of a component: of itself and of what was done since it was numbered.
    fn tarjan(&self, live: &[VertexId]) {
        let mut low = vec![0_u32; if live.is_empty() { 0 } else { self.component.len() }];
        let mut number = 0;
        let (mut path, mut done) = (Vec::new(), Vec::new());
        for &source in live {
            let mut next = Some(source).filter(|&v| self.is_live(v));
            loop {
                if let Some(v) = next.take() {
                    number += 1;
                    low[v as usize] = number;
                    path.push((v, number, self.view.out_neighbors(v)));
                }
                let Some((v, number_of_v, neighbors)) = path.last_mut() else { break };
                let (v, number_of_v) = (*v, *number_of_v);
                // Passed over at once: most edges lead to what has a component.
                if let Some(w) = neighbors.find(|&w| self.is_live(w)) {
                    match low[w as usize] {
                        0 => next = Some(w),
                        low_of_w => low[v as usize] = low[v as usize].min(low_of_w),
                    }
                    continue;
                }
                path.pop();
                done.push(v);
                if low[v as usize] == number_of_v {
                    while let Some(w) = done.pop_if(|w| low[*w as usize] >= number_of_v) {
                        self.component[w as usize].store(v, Relaxed);
                    }
                } else if let Some(&(u, ..)) = path.last() {
                    low[u as usize] = low[u as usize].min(low[v as usize]);
                }
            }
        }
    }

    /// Names every component after its smallest vertex.
    fn into_smallest(self) -> Vec<VertexId> {
        let smallest = filled(self.view.vertex_bound(), NO_COMPONENT);
        let mut component: Vec<_> = self.component.into_iter().map(AtomicU32::into_inner).collect();
        par::map_chunks_mut(&mut component, VERTEX_GRAIN, |first, names| {
            for (v, &mut name) in (first as VertexId..).zip(names) {
                if name != NO_COMPONENT && v < load(&smallest, name) {
                    smallest[name as usize].fetch_min(v, Relaxed);
                }
            }
        });
        par::map_chunks_mut(&mut component, VERTEX_GRAIN, |_, names| {
            for name in names.iter_mut().filter(|name| **name != NO_COMPONENT) {
                *name = load(&smallest, *name);
            }
        });
        component
    }
}

fn filled(bound: u32, value: u32) -> Vec<AtomicU32> {
    (0..bound).map(|_| AtomicU32::new(value)).collect()
}

#[inline]
fn load(array: &[AtomicU32], v: VertexId) -> u32 {
    array[v as usize].load(Relaxed)
}

/// Takes `step` from `source` on until nothing more is reached.
fn search(view: &impl GraphView, source: VertexId, step: &impl EdgeStep) {
    let mut edge_map = EdgeMap::new(view);
    let mut frontier = Frontier::single(source);
    while !frontier.is_empty() {
        frontier = edge_map.step(&mut frontier, step);
    }
}

/// Calls `reach(u, v)` for the edges that leave `list`, and of each `v` for which it returned true,
/// until there is none.
fn spread(
    view: &impl GraphView,
    mut list: Vec<VertexId>,
    reach: impl Fn(VertexId, VertexId) -> bool + Sync + Send,
) {
    while !list.is_empty() {
        let grain = push_grain(view, list.len());
        let reached = map_sources(view, &list, Direction::Out, grain, |list| {
            let mut reached = Vec::new();
            visit_out_edges(view, list, |u, v| {
                if reach(u, v) {
                    reached.push(v);
                }
            });
            reached
        });
        list = joined(reached);
    }
}

/// The color of `v` before others reach it: another one for each vertex, in random order.
///
/// Source: Appleby, MurmurHash3, 2011 (there called fmix32).
fn own_color(v: VertexId) -> u32 {
    let v = (v ^ (v >> 16)).wrapping_mul(0x85eb_ca6b);
    let v = (v ^ (v >> 13)).wrapping_mul(0xc2b2_ae35);
    v ^ (v >> 16)
}

/// Checks that `result` has the strongly connected components of `view`.
///
/// It has if every component is named after its smallest vertex, within the component that vertex
/// reaches all of it and is reached from all of it, and the components can be put in an order in
/// which all edges between them lead ahead.
/// Cost: the out-edges four times, the in-edges once; 25 bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_scc(view: &impl GraphView, result: &Scc) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("scc", holds, property);
    let (component, bound) = (&result.component, view.vertex_bound());
    check_names("scc", view, component)?;
    let mut sizes = vec![0_usize; bound as usize];
    component.iter().filter(|&&root| root != NO_COMPONENT).for_each(|&v| sizes[v as usize] += 1);
    let is_root = |&v: &VertexId| component[v as usize] == v;
    let mut members = Members::new(component);
    for root in (0..bound).filter(is_root) {
        let size = sizes[root as usize];
        let reached = members.search(root, |v| view.out_neighbors(v)).len();
        require(reached == size, &|| format!("{root} reaches {reached} of its {size} vertices"))?;
    }
    members.seen.fill(false);
    for root in (0..bound).filter(is_root) {
        let size = sizes[root as usize];
        let reached = members.search(root, |v| view.in_neighbors(v)).len();
        require(reached == size, &|| format!("{reached} of the {size} of {root} reach it"))?;
    }
    let ordered = ordered_count(view, &mut members);
    let component_count = (0..bound).filter(is_root).count();
    require(ordered == component_count, &|| {
        format!("{} components are on cycles, or behind them", component_count - ordered)
    })
}

/// Checks that components are named after one of their vertices, that some vertices have an edge
/// from and one to their component if it is larger, and that the component of others, from which or
/// to which little leads, is what a search finds.
///
/// Misses large components that are taken together or apart, and faults at few vertices. Cost: the
/// result once, one of 64 vertices, up to 256 edges of each, and searches along 64 edges from 256.
///
/// # Errors
/// As [`verify_scc`].
pub fn spot_check_scc(view: &impl GraphView, result: &Scc) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("scc", holds, property);
    let (component, bound) = (&result.component, view.vertex_bound());
    check_names("scc", view, component)?;
    Spots::one_of(SHARE, bound).check(|v| {
        let is_inside = |u: VertexId| u != v && component[u as usize] == component[v as usize];
        let lead_out =
            view.out_degree(v) as usize > LIST_MAX || view.out_neighbors(v).any(is_inside);
        let lead_in = view.in_degree(v) as usize > LIST_MAX || view.in_neighbors(v).any(is_inside);
        let is_alone = component[v as usize] == v || !view.is_vertex(v);
        require(is_alone || lead_out && lead_in, &|| {
            format!("{v} is with {}, but no edges lead there and back", component[v as usize])
        })
    })?;
    check_drawn(view, SEARCHES, |v| {
        let own = small_component(v, |u| view.out_neighbors(u))
            .or_else(|| small_component(v, |u| view.in_neighbors(u)));
        let Some((own, others)) = own else { return Ok(()) };
        let (root, smallest) = (component[v as usize], own.iter().min());
        let is_whole = own.iter().all(|&u| component[u as usize] == root)
            && others.iter().all(|&u| component[u as usize] != root);
        require(is_whole && smallest == Some(&root), &|| {
            format!("{v} is in component {root}, a search finds {} vertices", own.len())
        })
    })
}

/// Returns what `v` reaches over `neighbors`, if that is little: what reaches `v` in turn, and the
/// others.
fn small_component<I: Iterator<Item = VertexId>>(
    v: VertexId,
    neighbors: impl Fn(VertexId) -> I,
) -> Option<(Vec<VertexId>, Vec<VertexId>)> {
    let mut others = reached(v, SEARCHED_EDGES, &neighbors)?;
    let mut own = vec![others.swap_remove(0)];
    loop {
        let returns = |u: &mut VertexId| neighbors(*u).any(|w| own.contains(&w));
        let found: Vec<_> = others.extract_if(.., returns).collect();
        if found.is_empty() {
            return Some((own, others));
        }
        own.extend(found);
    }
}

/// Returns how many components come in an order in which edges lead ahead, beginning with those
/// that none enters.
fn ordered_count(view: &impl GraphView, members: &mut Members<'_>) -> usize {
    let component = members.component;
    let mut entering = vec![0_u64; component.len()];
    let leaves = |u: VertexId, v: VertexId| component[u as usize] != component[v as usize];
    view.for_each_edge(|u, v| {
        entering[component[v as usize] as usize] += u64::from(leaves(u, v));
    });
    let is_first = |&v: &VertexId| component[v as usize] == v && entering[v as usize] == 0;
    let mut ready: Vec<_> = (0..component.len() as u32).filter(is_first).collect();
    members.seen.fill(false);
    let mut count = 0;
    while let Some(root) = ready.pop() {
        count += 1;
        for u in members.search(root, |v| view.out_neighbors(v)) {
            for v in view.out_neighbors(u).filter(|&v| leaves(u, v)) {
                let root = component[v as usize];
                entering[root as usize] -= 1;
                if entering[root as usize] == 0 {
                    ready.push(root);
                }
            }
        }
    }
    count
}

/// Finds the vertices of a component that can be reached within it.
struct Members<'a> {
    component: &'a [VertexId],
    seen: Vec<bool>,
}

impl<'a> Members<'a> {
    fn new(component: &'a [VertexId]) -> Self {
        Self { component, seen: vec![false; component.len()] }
    }

    /// Returns what `root` reaches over `neighbors` in its component, itself first.
    fn search<I: Iterator<Item = VertexId>>(
        &mut self,
        root: VertexId,
        neighbors: impl Fn(VertexId) -> I,
    ) -> Vec<VertexId> {
        self.seen[root as usize] = true;
        let mut reached = vec![root];
        let mut next = 0;
        while let Some(&u) = reached.get(next) {
            watch::check();
            next += 1;
            for v in neighbors(u).filter(|&v| self.component[v as usize] == root) {
                if !std::mem::replace(&mut self.seen[v as usize], true) {
                    reached.push(v);
                }
            }
        }
        reached
    }
}
