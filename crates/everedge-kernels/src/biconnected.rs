//! Bridges and articulation points: edges and vertices without which a graph falls apart.
//!
//! Directions do not count, nor do self-loops; parallel edges are no bridges. A breadth-first search
//! from one vertex of each weakly connected component makes a forest, in which vertices are numbered
//! in *preorder*: those below a vertex have the numbers after its own. `low` and `high` are the
//! smallest and the largest number next to what is below a vertex, over edges that are not the
//! forest's. So one look at them says where the edges lead that leave what is below a vertex:
//! - nowhere: the edge to its parent is a bridge;
//! - to its parent at most: that edge is a *fence*.
//!
//! What the other edges of the forest, and those between vertices of which none is below the other,
//! hold together is with the parent above it a *block*: a part that no vertex's loss splits. It is held
//! together with that parent itself where a vertex beside it leads out. A vertex of two blocks is an
//! articulation point.
//!
//! Source: Dong, Wang, Gu and Sun, "Provably Fast and Space-Efficient Parallel Biconnectivity", PPoPP
//! 2023 (FAST-BCC); preorder, low and high are those of Tarjan and Vishkin, "An Efficient Parallel
//! Biconnectivity Algorithm", SIAM Journal on Computing 1985. Differences: the forest is a
//! breadth-first search, whose levels give an order without an Euler tour; preorder is numbered by one
//! thread.
//!
//! # Cost
//! O(vertices + edges): [`wcc`](crate::wcc()), a breadth-first search, and every list once more, all in
//! parallel. 40 bytes for each id, and 8 for each block. Nothing recurs, so no graph is too deep.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Direction, Edge, GraphView, HOME_SPAN, VertexId, par, watch};

use crate::both_ways::BothWays;
use crate::error::{ids, require};
use crate::frontier::{EdgeMap, EdgeStep, Frontier};
use crate::spots::{LIST_MAX, Spots};
use crate::triangles::simple_neighbors;
use crate::wcc::{check_names, component_count, compress, largest, link};
use crate::{NO_COMPONENT, NO_PARENT, Result, wcc};

/// Ids in a piece of work.
const GRAIN: u32 = 1 << 11;
const _: () = assert!(HOME_SPAN.is_multiple_of(GRAIN));
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
const KERNEL: &str = "biconnected";

/// What [`biconnected`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Biconnected {
    /// `[vertex_bound]`: the smallest vertex of the part that each vertex is in if all bridges are
    /// taken away (the *2-edge-connected component*), or [`NO_COMPONENT`].
    pub component: Vec<VertexId>,
    /// The edges without which two vertices are no longer connected, ascending, each with its smaller
    /// end first.
    pub bridges: Vec<Edge>,
    /// The vertices without which two others are no longer connected, ascending.
    pub articulation_points: Vec<VertexId>,
    /// How many blocks there are: parts with an edge that no vertex's loss splits, as large as can be.
    pub block_count: u32,
}

impl Biconnected {
    /// Returns how many 2-edge-connected components there are.
    pub fn component_count(&self) -> u32 {
        component_count(&self.component)
    }

    /// Returns how many vertices the largest 2-edge-connected component has. Needs 4 bytes for each
    /// id.
    pub fn largest(&self) -> u32 {
        largest(&self.component)
    }
}

/// Finds the bridges and articulation points of `view`, as if its edges had no direction.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::biconnected;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)];
/// let found = biconnected(&Csr::from_edges(&edges, None, CsrOptions::default()));
/// assert_eq!((found.bridges, found.articulation_points), (vec![(2, 3)], vec![2, 3]));
/// assert_eq!((found.component, found.block_count), (vec![0, 0, 0, 3, 3], 3));
/// ```
pub fn biconnected(view: &impl GraphView) -> Biconnected {
    let view = &BothWays(view);
    let forest = Forest::of(view);
    let bound = view.vertex_bound() as usize;
    let block = par::collect(bound, |v| AtomicU32::new(v as VertexId));
    let reach = forest.reach_below(forest.reach(view, &block));
    let is_bridge = |v: VertexId| forest.has_parent(v) && forest.is_below(reach.of(v), v);
    let is_fence = |v: VertexId| forest.is_below(reach.of(v), forest.parent(v));

    par::for_each_range(forest.order.len() as u32, GRAIN, |range| {
        for &v in &forest.order[range.start as usize..range.end as usize] {
            if forest.has_parent(v) && !is_fence(v) {
                link(&block, v, forest.parent(v));
            }
        }
    });
    compress(&block);

    let mut bridges = Vec::new();
    let mut component = vec![NO_COMPONENT; bound];
    let mut blocks = Vec::new();
    for &v in &forest.order {
        let parent = forest.parent(v);
        component[v as usize] = v;
        if is_bridge(v) {
            bridges.push((v.min(parent), v.max(parent)));
        } else if forest.has_parent(v) {
            component[v as usize] = component[parent as usize];
        }
        let [own, above] = [v, parent].map(|v| block[v as usize].load(Relaxed));
        if own != above {
            blocks.push((parent, own));
        }
    }
    bridges.sort_unstable();
    blocks.sort_unstable();
    blocks.dedup();
    let of_parent = blocks.chunk_by(|a, b| a.0 == b.0);
    // What is not a root is in the block above it besides.
    let is_point = |list: &&[Edge]| list.len() > 1 || forest.has_parent(list[0].0);
    let articulation_points = of_parent.filter(is_point).map(|list| list[0].0).collect();
    let block_count = blocks.len() as u32;
    name_after_smallest(&mut component);
    Biconnected { component, bridges, articulation_points, block_count }
}

/// Names each component, which has the name of one of its vertices, after its smallest.
fn name_after_smallest(component: &mut [VertexId]) {
    let mut smallest = vec![NO_COMPONENT; component.len()];
    for (v, name) in (0..).zip(component) {
        if *name != NO_COMPONENT {
            let smallest = &mut smallest[*name as usize];
            *smallest = v.min(*smallest);
            *name = *smallest;
        }
    }
}

/// A breadth-first search from the smallest vertex of each component.
struct Forest {
    /// The vertices, each after its parent.
    order: Vec<VertexId>,
    /// The parent of each vertex, of a root itself.
    parent: Vec<VertexId>,
    /// The preorder number of each vertex.
    first: Vec<u32>,
    /// The preorder number after those of the vertices below each, itself among them.
    end: Vec<u32>,
}

/// Of each vertex the smallest number that it reaches, and the one after the largest.
struct Reach(Vec<Range<u32>>);

impl Reach {
    fn of(&self, v: VertexId) -> Range<u32> {
        self.0[v as usize].clone()
    }
}

/// The reach of a vertex before it is looked at.
const NOWHERE: Range<u32> = Range { start: u32::MAX, end: 0 };

/// Gives vertices their parent.
struct Visit<'a>(&'a [AtomicU32]);

impl EdgeStep for Visit<'_> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.0[v as usize].load(Relaxed) == NO_PARENT
    }

    #[inline]
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        self.0[v as usize].compare_exchange(NO_PARENT, u, Relaxed, Relaxed).is_ok()
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        self.0[v as usize].store(u, Relaxed);
        true
    }
}

impl Forest {
    fn of<V: GraphView>(view: &BothWays<'_, V>) -> Self {
        let component = wcc(view.0).component;
        let bound = component.len();
        let is_root = |&(v, name): &(VertexId, &VertexId)| v == *name;
        let roots: Vec<_> = (0..).zip(&component).filter(is_root).map(|(v, _)| v).collect();
        let parent = par::collect(bound, |v| {
            let is_root = component[v] == v as VertexId;
            AtomicU32::new(if is_root { v as VertexId } else { NO_PARENT })
        });
        drop(component);
        let mut order = roots.clone();
        order.reserve(view.vertex_count() as usize - roots.len());
        let order = par::among_threads(view.homes(), || {
            let mut edge_map = EdgeMap::new(view);
            let mut frontier = Frontier::from_list(roots);
            while !frontier.is_empty() {
                watch::note(order.len() as u64, view.vertex_count().into());
                frontier = edge_map.step(&mut frontier, &Visit(&parent));
                order.extend(frontier.list());
            }
            order
        });
        let parent = parent.into_iter().map(AtomicU32::into_inner).collect();
        let mut forest = Self { order, parent, first: vec![0; bound], end: vec![0; bound] };
        forest.number();
        forest
    }

    /// Numbers the vertices in preorder.
    fn number(&mut self) {
        let Self { order, parent, first, end } = self;
        // At first, how many vertices are below each, itself among them.
        let count = &mut *end;
        for &v in order.iter().rev() {
            count[v as usize] += 1;
            if parent[v as usize] != v {
                count[parent[v as usize] as usize] += count[v as usize];
            }
        }
        let (mut next_root, mut next_below) = (0, vec![0; first.len()]);
        for &v in &*order {
            let above = parent[v as usize];
            let next = if above == v { &mut next_root } else { &mut next_below[above as usize] };
            first[v as usize] = *next;
            *next += end[v as usize];
            end[v as usize] = *next;
            next_below[v as usize] = first[v as usize] + 1;
        }
    }

    /// Returns the smallest and the largest number next to each vertex, over edges that are not the
    /// forest's. Joins the `block`s of vertices of which none is below the other, and that have an
    /// edge.
    fn reach<V: GraphView>(&self, view: &BothWays<'_, V>, block: &[AtomicU32]) -> Reach {
        let mut reach = par::collect(self.first.len(), |_| NOWHERE);
        let home_of = |first| view.home(first as VertexId, Direction::Out);
        let reach_from = |first, reach: &mut [Range<u32>]| {
            for (v, reach) in (first as VertexId..).zip(reach) {
                if self.parent(v) != NO_PARENT {
                    *reach = self.reach_of(view, v, block);
                }
            }
        };
        par::map_chunks_mut_at_home(view.homes(), &mut reach, GRAIN as usize, home_of, reach_from);
        Reach(reach)
    }

    fn reach_of<V: GraphView>(
        &self,
        view: &BothWays<'_, V>,
        v: VertexId,
        block: &[AtomicU32],
    ) -> Range<u32> {
        let (mut reach, mut saw_parent) = (NOWHERE, false);
        let (first, end) = (self.first[v as usize], self.end[v as usize]);
        view.out_neighbors(v).for_each(|u| {
            if u == self.parent(v) && !std::mem::replace(&mut saw_parent, true) {
                return;
            }
            // The forest's other edges lead below, which is nowhere else.
            let number = self.first[u as usize];
            reach = reach.start.min(number)..reach.end.max(number + 1);
            let is_above = number < first && end <= self.end[u as usize];
            if number < first && !is_above {
                link(block, v, u);
            }
        });
        reach
    }

    /// Adds to the reach of each vertex that of the vertices below it.
    fn reach_below(&self, Reach(mut reach): Reach) -> Reach {
        for &v in self.order.iter().rev().filter(|&&v| self.has_parent(v)) {
            let Range { start, end } = reach[v as usize].clone();
            let above = &mut reach[self.parent(v) as usize];
            *above = above.start.min(start)..above.end.max(end);
        }
        Reach(reach)
    }

    fn parent(&self, v: VertexId) -> VertexId {
        self.parent[v as usize]
    }

    fn has_parent(&self, v: VertexId) -> bool {
        self.parent(v) != v
    }

    /// Returns whether all numbers of a range are those of vertices below `v`, or its own.
    fn is_below(&self, range: Range<u32>, v: VertexId) -> bool {
        range.is_empty()
            || self.first[v as usize] <= range.start && range.end <= self.end[v as usize]
    }
}

/// Checks that `result` has the bridges, articulation points and components of `view`.
///
/// They are found otherwise: a depth-first search leaves edges that lead up, and each of these makes a
/// *chain* with the edges of the search from its lower end to what is in a chain already. Edges in no
/// chain are bridges; the first chain of each block comes back to where it began.
///
/// Source: Schmidt, "A simple test on 2-vertex- and 2-edge-connectivity", Information Processing
/// Letters 2013. Cost: O(vertices + edges) on one thread; 8 bytes for each edge and 48 for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_biconnected(view: &impl GraphView, result: &Biconnected) -> Result<()> {
    check_names(KERNEL, view, &result.component)?;
    let lists: Vec<_> = ids(view.vertex_bound()).map(|v| simple_neighbors(view, v)).collect();
    let search = DepthFirst::of(&lists);
    let (is_in_chain, cycle_count) = search.chains(&lists);

    let mut component = vec![NO_COMPONENT; lists.len()];
    let (mut bridges, mut has_bridge) = (Vec::new(), vec![false; lists.len()]);
    let mut block_count: u32 = cycle_count.iter().sum();
    for &v in &search.order {
        let parent = search.parent[v as usize];
        component[v as usize] = if view.is_vertex(v) { v } else { NO_COMPONENT };
        if parent == v {
            continue;
        }
        if is_in_chain[v as usize] {
            component[v as usize] = component[parent as usize];
            continue;
        }
        block_count += 1;
        has_bridge[v as usize] = true;
        has_bridge[parent as usize] = true;
        match BothWays(view).edges_between(parent, v) {
            1 => bridges.push((v.min(parent), v.max(parent))),
            _ => component[v as usize] = component[parent as usize],
        }
    }
    name_after_smallest(&mut component);
    bridges.sort_unstable();
    let is_point = |v: &VertexId| {
        let is_root = search.parent[*v as usize] == *v;
        cycle_count[*v as usize] > u32::from(is_root)
            || has_bridge[*v as usize] && lists[*v as usize].len() > 1
    };
    let points: Vec<_> = ids(view.vertex_bound()).filter(is_point).collect();

    let wrong = (0..).zip(&component).find(|&(v, name)| result.component[v as usize] != *name);
    require(KERNEL, wrong.is_none(), || format!("{wrong:?} is not the component that was found"))?;
    require(KERNEL, bridges == result.bridges, || {
        format!("{} bridges, not the {} that were found", bridges.len(), result.bridges.len())
    })?;
    let found = &result.articulation_points;
    require(KERNEL, points == *found, || {
        format!("{} articulation points, not the {} that were found", points.len(), found.len())
    })?;
    require(KERNEL, block_count == result.block_count, || {
        format!("{block_count} blocks, not {}", result.block_count)
    })
}

/// A depth-first search of all ids.
struct DepthFirst {
    /// The ids in preorder.
    order: Vec<VertexId>,
    /// Where each is in the order.
    number: Vec<u32>,
    /// The parent of each, of a root itself.
    parent: Vec<VertexId>,
}

impl DepthFirst {
    fn of(lists: &[Vec<VertexId>]) -> Self {
        let mut search = Self {
            order: Vec::with_capacity(lists.len()),
            number: vec![0; lists.len()],
            parent: vec![NO_PARENT; lists.len()],
        };
        let mut path = Vec::new();
        for root in ids(lists.len() as u32) {
            search.reach(root, root, &mut path);
            while let Some((u, next)) = path.pop() {
                if let Some(&v) = lists[u as usize].get(next) {
                    path.push((u, next + 1));
                    search.reach(v, u, &mut path);
                }
            }
        }
        search
    }

    /// Goes to `v` from `parent`, unless it was reached before.
    fn reach(&mut self, v: VertexId, parent: VertexId, path: &mut Vec<(VertexId, usize)>) {
        if self.parent[v as usize] == NO_PARENT {
            self.parent[v as usize] = parent;
            self.number[v as usize] = self.order.len() as u32;
            self.order.push(v);
            path.push((v, 0));
        }
    }

    /// Returns whether the edge from each id to its parent is in a chain, and how many chains that
    /// begin at each come back to it.
    fn chains(&self, lists: &[Vec<VertexId>]) -> (Vec<bool>, Vec<u32>) {
        let (mut is_in_chain, mut cycle_count) = (vec![false; lists.len()], vec![0; lists.len()]);
        for &v in &self.order {
            watch::check();
            let is_below = |w: &&VertexId| self.number[**w as usize] > self.number[v as usize];
            let is_other = |w: &&VertexId| self.parent[**w as usize] != v;
            for &w in lists[v as usize].iter().filter(is_below).filter(is_other) {
                let mut u = w;
                while u != v && !std::mem::replace(&mut is_in_chain[u as usize], true) {
                    u = self.parent[u as usize];
                }
                cycle_count[v as usize] += u32::from(u == v);
            }
        }
        (is_in_chain, cycle_count)
    }
}

/// Checks that bridges and articulation points are ascending, and at some vertices that bridges are
/// the edges that join two components, that a component of several vertices has two edges at each, and
/// that a vertex between two components is an articulation point.
///
/// Misses bridges that are none, and the other way round, where components say the same; points that
/// are no end of a bridge; and faults at few vertices. Cost: the result once, and one of 64 vertices, unless
/// it has more than 256 edges.
///
/// # Errors
/// As [`verify_biconnected`].
pub fn spot_check_biconnected(view: &impl GraphView, result: &Biconnected) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require(KERNEL, holds, property);
    let Biconnected { component, bridges, articulation_points, .. } = result;
    check_names(KERNEL, view, component)?;
    let are_ascending = bridges.is_sorted_by(|a, b| a < b)
        && bridges.iter().all(|(u, v)| u < v)
        && articulation_points.is_sorted_by(|u, v| u < v);
    require(are_ascending, &|| "bridges or points are not ascending".to_owned())?;
    let view = &BothWays(view);
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        if view.out_degree(v) as usize > LIST_MAX || !view.is_vertex(v) {
            return Ok(());
        }
        let own = component[v as usize];
        let (mut inside, mut bridge_count) = (0, 0);
        for u in view.out_neighbors(v).filter(|&u| u != v) {
            let is_bridge = bridges.binary_search(&(u.min(v), u.max(v))).is_ok();
            require(is_bridge == (component[u as usize] != own), &|| {
                format!("{u} and {v} are in components {} and {own}", component[u as usize])
            })?;
            inside += u32::from(!is_bridge);
            bridge_count += u32::from(is_bridge);
        }
        let is_alone = own == v && inside == 0;
        require(is_alone || inside > 1, &|| format!("{v} has {inside} edges inside {own}"))?;
        let is_point = articulation_points.binary_search(&v).is_ok();
        let must_be = bridge_count > 0 && bridge_count + inside > 1;
        require(is_point || !must_be, &|| format!("{v} is no articulation point"))
    })
}
