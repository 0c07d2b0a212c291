//! The one thing a kernel sees: a frozen picture of a graph.

use std::ops::Range;

use crate::Homes;

/// Names a vertex and indexes arrays by vertex; at most [`MAX_VERTEX_ID`].
pub type VertexId = u32;

/// The largest vertex id. The bit above it marks tombstones, as in XPGraph and DGAP.
pub const MAX_VERTEX_ID: VertexId = (1 << 31) - 1;

/// An edge from its source to its destination.
pub type Edge = (VertexId, VertexId);

/// One end of the edges of a vertex. Of an undirected graph both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Edges that leave it.
    Out,
    /// Edges that enter it.
    In,
}

impl Direction {
    /// Returns the other one.
    #[inline]
    pub fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// A frozen picture of a graph: the same answers until it is dropped.
///
/// Ids run from 0 to [`vertex_bound`](Self::vertex_bound); those that no edge or call has named
/// are not vertices. They have no neighbors, and a kernel neither counts nor reports them.
/// A view never fails: what could fail was checked before it was handed out.
pub trait GraphView: Sync {
    /// Returns the length of an array indexed by vertex: every vertex id is below it.
    fn vertex_bound(&self) -> u32;

    /// Returns how many ids are vertices.
    fn vertex_count(&self) -> u32;

    /// Returns whether `v` is a vertex.
    fn is_vertex(&self, v: VertexId) -> bool;

    /// Returns ascending ranges of ids that hold every vertex: an id in none of them is no vertex.
    ///
    /// A layout that keeps nothing for whole ranges of ids leaves them out, so that the vertices
    /// are found in time proportional to what there is.
    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        std::iter::once(0..self.vertex_bound()).collect()
    }

    /// Returns the number of edges; an edge of an undirected graph counts once.
    fn edge_count(&self) -> u64;

    /// Returns whether edges have a direction. If not, in- and out-neighbors are the same.
    fn is_directed(&self) -> bool;

    /// Returns whether in-neighbors are kept. If not, asking for the in-degree or the in-neighbors of
    /// a vertex is a caller's bug; a [`Csr`](crate::Csr) copy of the view has them.
    fn has_in_neighbors(&self) -> bool {
        true
    }

    /// Returns how many times `out_neighbors` yields.
    fn out_degree(&self, v: VertexId) -> u32;

    /// Returns how many times `in_neighbors` yields.
    fn in_degree(&self, v: VertexId) -> u32;

    /// Returns the destinations of the edges that leave `v`, parallel edges one by one, in an
    /// order that the layout chooses.
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_;

    /// Returns the sources of the edges that enter `v`, parallel edges one by one.
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_;

    /// Returns how many edges lead from `u` to `v`, both of them vertices.
    ///
    /// Cost: the shorter one of their lists; where a layout keeps neighbors in order, a search in it.
    fn edges_between(&self, u: VertexId, v: VertexId) -> u32 {
        match reads_sources(self, u, v) {
            false => self.out_neighbors(u).filter(|&w| w == v).count() as u32,
            true => self.in_neighbors(v).filter(|&w| w == u).count() as u32,
        }
    }

    /// Returns whether an edge leads from `u` to `v`, both of them vertices.
    ///
    /// Cost: as [`edges_between`](Self::edges_between).
    fn has_edge(&self, u: VertexId, v: VertexId) -> bool {
        match reads_sources(self, u, v) {
            false => self.out_neighbors(u).any(|w| w == v),
            true => self.in_neighbors(v).any(|w| w == u),
        }
    }

    /// Shows `visitor` the neighbors of those ids of `range` that it wants, in ascending order.
    ///
    /// As [`out_neighbors`](Self::out_neighbors) or [`in_neighbors`](Self::in_neighbors) of each;
    /// ids that are no vertices may be left out. A layout whose lists lie one after the other does
    /// with less work for each of them.
    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) where
        Self: Sized,
    {
        for part in Wanted::parts(range) {
            for (v, _) in Wanted::of(part, visitor).iter(0) {
                match direction {
                    Direction::Out => visitor.visit(v, self.out_neighbors(v)),
                    Direction::In => visitor.visit(v, self.in_neighbors(v)),
                }
            }
        }
    }

    /// Shows `visitor` the neighbors of each of `vertices`, in their order, whatever it wants.
    ///
    /// As [`out_neighbors`](Self::out_neighbors) or [`in_neighbors`](Self::in_neighbors) of each.
    /// Lists are loaded into the cache some places ahead.
    #[inline(always)]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) where
        Self: Sized,
    {
        for (i, &v) in vertices.iter().enumerate() {
            self.load_ahead(direction, &vertices[i..]);
            match direction {
                Direction::Out => visitor.visit(v, self.out_neighbors(v)),
                Direction::In => visitor.visit(v, self.in_neighbors(v)),
            }
        }
    }

    /// Returns whether it is known that no list names a vertex twice, or its own: then a degree is a number of
    /// neighbors.
    fn lists_are_distinct(&self) -> bool {
        false
    }

    /// Returns whether lists here and there are read with less work in ascending order of their vertices, as from
    /// a device. Whoever chooses the order had better sort then.
    fn reads_in_order(&self) -> bool {
        false
    }

    /// Starts loading what reading the neighbors of those `vertices` that are read next needs: the
    /// first one's are read now, those of the others in their order. Changes no answer.
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let _ = (direction, vertices);
    }

    /// Calls `f(v, degree)` for each id of `range`, in ascending order.
    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) where
        Self: Sized,
    {
        for v in range {
            match direction {
                Direction::Out => f(v, self.out_degree(v)),
                Direction::In => f(v, self.in_degree(v)),
            }
        }
    }

    /// Returns the NUMA nodes that the lists lie on, if those are several: whoever reads many lists
    /// then reads each on a thread of its node.
    fn homes(&self) -> Option<&Homes> {
        None
    }

    /// Returns the node where the out- or in-neighbors of `v` lie, below the node count of
    /// [`homes`](Self::homes). It is the same for all ids of an aligned range of
    /// [`HOME_SPAN`](crate::HOME_SPAN).
    fn home(&self, v: VertexId, direction: Direction) -> usize {
        let _ = (v, direction);
        0
    }

    /// Calls `f(src, dst)` for every edge in ascending order of `src`; an edge of an undirected
    /// graph comes once from each end, a self-loop once.
    fn for_each_edge(&self, mut f: impl FnMut(VertexId, VertexId))
    where
        Self: Sized,
    {
        for u in self.vertex_ranges().into_iter().flatten() {
            for v in self.out_neighbors(u) {
                f(u, v);
            }
        }
    }
}

/// Whether the sources of `v` are fewer than the destinations of `u`.
fn reads_sources(view: &(impl GraphView + ?Sized), u: VertexId, v: VertexId) -> bool {
    view.has_in_neighbors() && view.in_degree(v) < view.out_degree(u)
}

/// Is shown lists of neighbors, one after the other.
pub trait ListVisitor {
    /// Whether it seldom sees a list to its end. Then the beginnings of lists are worth loading
    /// ahead; lists that are read whole, one after the other, the processor foresees better.
    const STOPS_EARLY: bool;

    /// Returns whether to be shown the list of `v`. Asked before the lists of some ids are shown:
    /// what is seen of one of them does not change whether another is wanted. A view that reads ahead asks
    /// for ids beyond those that are shown, too; any id below its bound.
    fn wants(&self, v: VertexId) -> bool;

    /// Sees the neighbors of `v`.
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>);
}

/// The ids of a range that a visitor wants.
///
/// They are found before the first list is shown: that takes no branch that depends on the id, and
/// a layout can load lists into the cache some places ahead.
#[derive(Debug)]
pub struct Wanted {
    /// The first id of the range.
    first: VertexId,
    /// How far after it each wanted id is; the first `count` are valid.
    steps: [u8; Self::IDS_MAX],
    count: usize,
}

impl Wanted {
    /// How many ids a range may have.
    pub const IDS_MAX: usize = 256;

    /// Asks `visitor` for each id of `range`.
    ///
    /// # Panics
    /// If the range has more than [`IDS_MAX`](Self::IDS_MAX) ids.
    #[inline]
    pub fn of(range: Range<VertexId>, visitor: &impl ListVisitor) -> Self {
        assert!(range.len() <= Self::IDS_MAX, "{} ids", range.len());
        let (first, mut steps, mut count) = (range.start, [0; Self::IDS_MAX], 0);
        for v in range {
            steps[count % Self::IDS_MAX] = (v - first) as u8;
            count += usize::from(visitor.wants(v));
        }
        Self { first, steps, count }
    }

    /// Returns the wanted ids in ascending order, each with the one `places` after it.
    #[inline]
    pub fn iter(&self, places: usize) -> impl Iterator<Item = (VertexId, Option<VertexId>)> {
        let steps = &self.steps[..self.count];
        let id = |step: &u8| self.first + VertexId::from(*step);
        let ahead = move |place: usize| steps.get(place + places).map(id);
        steps.iter().enumerate().map(move |(place, step)| (id(step), ahead(place)))
    }

    /// Cuts `range` where an id is a multiple of [`IDS_MAX`](Self::IDS_MAX).
    #[inline]
    pub fn parts(range: Range<VertexId>) -> impl Iterator<Item = Range<VertexId>> {
        aligned_parts::<{ Self::IDS_MAX }>(range)
    }
}

/// Cuts `range` where an id is a multiple of `LEN`, a power of two.
#[inline]
pub fn aligned_parts<const LEN: usize>(
    range: Range<VertexId>,
) -> impl Iterator<Item = Range<VertexId>> {
    const { assert!(LEN.is_power_of_two()) };
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = range.end.min((start | (LEN as u32 - 1)).saturating_add(1));
        let part = start..end;
        start = end;
        (!part.is_empty()).then_some(part)
    })
}

/// How many lists after one that is read the next one is found.
const FIND_AHEAD: usize = 8;

/// Calls `visit(v, list)` for each of `vertices`, with what `find` found of it some places before,
/// and `load` as many places before that: so a list is on its way into the cache when it is read.
#[inline(always)]
pub fn visit_ahead<T: Copy>(
    vertices: &[VertexId],
    nothing: T,
    (load, find): (impl Fn(VertexId), impl Fn(VertexId) -> T),
    mut visit: impl FnMut(VertexId, T),
) {
    let mut found = [nothing; FIND_AHEAD];
    for (place, &v) in found.iter_mut().zip(vertices) {
        *place = find(v);
    }
    for (i, &v) in vertices.iter().enumerate() {
        if let Some(&ahead) = vertices.get(i + 2 * FIND_AHEAD) {
            load(ahead);
        }
        let place = &mut found[i % FIND_AHEAD];
        let list = *place;
        if let Some(&ahead) = vertices.get(i + FIND_AHEAD) {
            *place = find(ahead);
        }
        visit(v, list);
    }
}

/// A view whose edges carry a weight.
pub trait WeightedView: GraphView {
    /// Returns the destination and weight of each edge that leaves `v`.
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_;

    /// Returns the source and weight of each edge that enters `v`.
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_;

    /// Returns what [`out_edges`](Self::out_edges) does, the edges of a pair in the order in which they came: the newest
    /// is the last. A layout that shows lists in another order overrides this and
    /// [`in_edges_by_age`](Self::in_edges_by_age).
    fn out_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.out_edges(v)
    }

    /// Returns what [`in_edges`](Self::in_edges) does in that order.
    fn in_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.in_edges(v)
    }

    /// Returns the weights of the edges from `u` to `v`, both of them vertices, in the order in which they came.
    ///
    /// Cost: as [`edges_between`](GraphView::edges_between).
    fn weights_between(&self, u: VertexId, v: VertexId) -> Vec<f32> {
        let weight_of = |end| move |(w, weight): (VertexId, f32)| (w == end).then_some(weight);
        match reads_sources(self, u, v) {
            false => self.out_edges_by_age(u).filter_map(weight_of(v)).collect(),
            true => self.in_edges_by_age(v).filter_map(weight_of(u)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wants every third id.
    struct Third;

    impl ListVisitor for Third {
        const STOPS_EARLY: bool = false;

        fn wants(&self, v: VertexId) -> bool {
            v.is_multiple_of(3)
        }

        fn visit(&mut self, _: VertexId, _: impl Iterator<Item = VertexId>) {}
    }

    #[test]
    fn wanted_ids_of_all_parts_come_in_order_and_ahead() {
        for range in [0..0, 5..6, 0..256, 250..260, 3..1000, u32::MAX - 300..u32::MAX] {
            let mut found = Vec::new();
            for part in Wanted::parts(range.clone()) {
                let wanted = Wanted::of(part, &Third);
                let (ids, ahead): (Vec<_>, Vec<_>) = wanted.iter(5).unzip();
                let expected = ids.iter().copied().skip(5).map(Some);
                assert!(expected.chain([None; 5]).take(ids.len()).eq(ahead));
                found.extend(ids);
            }
            assert!(range.clone().filter(|v| v.is_multiple_of(3)).eq(found), "{range:?}");
        }
    }
}
