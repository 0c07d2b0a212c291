//! A frozen view of a graph, in external ids.

use std::convert::Infallible;
use std::sync::OnceLock;
use std::time::Duration;

use everedge_core::{Csr, Direction, GraphView, Numbering, VertexId, WeightedView};
use everedge_io::Ids;
use everedge_live::{ExternalId, IdKind};
use everedge_timeline::Version;

use crate::any_view::AnyView;
use crate::naming::Naming;
use crate::{Error, Result};

/// A frozen view of a graph, with the names of its vertices.
pub struct View {
    pub(crate) any: AnyView,
    pub(crate) naming: Naming,
    /// Whether a pair has one edge only.
    pub(crate) is_simple: bool,
    /// How long opening the graph took, and then this view of it: what a first view needs is read
    /// only then.
    pub(crate) open_time: Duration,
    /// The places of the vertices once they were asked for, if ids lie far apart.
    pub(crate) numbering: OnceLock<Option<Numbering>>,
    /// In a salvaged view of undirected edges those of vertices whose lists are lost, as the lists of
    /// their other ends have them: `(src, dst, weight)` in ascending order of `src`.
    pub(crate) from_other_ends: Vec<(VertexId, VertexId, f32)>,
}

impl View {
    pub(crate) fn new(any: AnyView, naming: impl Into<Naming>, open_time: Duration) -> Self {
        let (numbering, from_other_ends) = (OnceLock::new(), Vec::new());
        let (naming, is_simple) = (naming.into(), false);
        Self { any, naming, is_simple, open_time, numbering, from_other_ends }
    }

    /// Returns a view of lists of neighbors, whose vertices are called by their numbers, as [`Csr::from_lists`] takes them: a
    /// graph of another program becomes one that kernels can be asked of, without a graph of our own in between.
    ///
    /// # Errors
    /// `InvalidInput` if they are not the lists of a graph.
    ///
    /// # Example
    /// ```
    /// use everedge::{Kernel, RunOptions, View};
    ///
    /// let view = View::from_csr(vec![0, 2, 2, 3], vec![1, 2, 0], None, true)?;
    /// let report = view.run(Kernel::Scc, &RunOptions::default())?;
    /// assert_eq!(report.result["components"], 2);
    /// # Ok::<(), everedge::Error>(())
    /// ```
    pub fn from_csr(
        offsets: Vec<u64>,
        neighbors: Vec<VertexId>,
        weights: Option<Vec<f32>>,
        directed: bool,
    ) -> Result<Self> {
        let csr = Csr::from_lists(offsets, neighbors, weights, directed)
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Self::new(AnyView::Csr(csr), None, Duration::ZERO))
    }

    /// Says whether a pair has one edge only.
    pub(crate) fn simple(self, is_simple: bool) -> Self {
        Self { is_simple, ..self }
    }

    /// Returns which version it is of, unless it is of a live graph.
    pub fn version(&self) -> Option<&Version> {
        match &self.any {
            AnyView::Version(view) => Some(view.version()),
            _ => None,
        }
    }

    /// Returns a number above every vertex id.
    pub fn vertex_bound(&self) -> u32 {
        self.any.vertex_bound()
    }

    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> u32 {
        self.any.vertex_count()
    }

    /// Returns the number of edges; an undirected one counts once.
    pub fn edge_count(&self) -> u64 {
        if self.from_other_ends.is_empty() {
            return self.any.edge_count();
        }
        let mut count = 0;
        let Ok(()) = self.for_each_arc(|u, v, _| {
            count += u64::from(u <= v);
            Ok::<(), Infallible>(())
        });
        count
    }

    /// Returns whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.any.is_directed()
    }

    /// Returns whether edges carry a weight.
    pub fn is_weighted(&self) -> bool {
        self.any.is_weighted()
    }

    /// Returns the vertices in ascending order of their dense ids.
    pub fn vertices(&self) -> Vec<VertexId> {
        let ids = self.any.vertex_ranges().into_iter().flatten();
        let mut vertices = Vec::with_capacity(self.any.vertex_count() as usize);
        vertices.extend(ids.filter(|&v| self.any.is_vertex(v)));
        vertices
    }

    /// Returns the out-degree of each vertex, at its [`row_of`](Self::row_of).
    pub fn out_degrees(&self) -> Vec<u32> {
        self.row_ids().map(|v| self.any.out_degree(v)).collect()
    }

    /// Draws `count` vertices that have out-edges, each as likely as any other and possibly more than
    /// once; none if no vertex has any. The same `seed` draws the same ones, also of a sealed graph and of the graph that was
    /// sealed.
    pub fn sample_sources(&self, count: usize, seed: u64) -> Vec<VertexId> {
        let drawn = everedge_kernels::one_hop_sample(&self.any, count, seed);
        let Some(ids) = self.naming.ids_before() else { return drawn };
        // Each vertex stands for its place among those that may be drawn, by the numbers that they have now; the vertex at
        // that place by the numbers that they had is the one that the other graph draws.
        let vertices = 0..self.any.vertex_bound();
        let now: Vec<VertexId> = vertices.filter(|&v| self.any.out_degree(v) > 0).collect();
        let mut before = now.clone();
        before.sort_unstable_by_key(|&v| ids[v as usize]);
        let place = |v: VertexId| now.binary_search(&v).ok();
        drawn.into_iter().map(|v| place(v).map_or(v, |place| before[place])).collect()
    }

    /// Returns the in-degree of each vertex, at its [`row_of`](Self::row_of).
    pub fn in_degrees(&self) -> Vec<u32> {
        if !self.any.has_in_neighbors() {
            let mut degrees = vec![0; self.row_count()];
            let Ok(()) = self.for_each_arc(|_, v, _| {
                self.row_of(v).into_iter().for_each(|row| degrees[row] += 1);
                Ok::<(), Infallible>(())
            });
            return degrees;
        }
        self.row_ids().map(|v| self.any.in_degree(v)).collect()
    }

    /// Returns the out-neighbors of a vertex, parallel edges one by one.
    pub fn out_neighbors(&self, v: VertexId) -> Vec<VertexId> {
        self.any.out_neighbors(v).collect()
    }

    /// Returns whether an edge leads from `u` to `v`; none does where one of them is no vertex.
    ///
    /// Cost: the shorter one of their lists; in the `blocks` layout a search in it.
    pub fn has_edge(&self, u: VertexId, v: VertexId) -> bool {
        self.any.are_vertices(u, v) && self.any.has_edge(u, v)
    }

    /// Returns the weight of the newest edge from `u` to `v`, if there is one; 1 if edges have none.
    ///
    /// Cost: as [`Self::has_edge`].
    pub fn weight(&self, u: VertexId, v: VertexId) -> Option<f32> {
        self.any.are_vertices(u, v).then(|| self.any.weights_between(u, v).pop()).flatten()
    }

    /// Returns the in-neighbors of a vertex, parallel edges one by one.
    ///
    /// Cost: every edge if in-neighbors are not kept.
    pub fn in_neighbors(&self, v: VertexId) -> Vec<VertexId> {
        if self.any.has_in_neighbors() {
            return self.any.in_neighbors(v).collect();
        }
        let mut sources = Vec::new();
        let Ok(()) = self.for_each_arc(|u, neighbor, _| {
            sources.extend((neighbor == v).then_some(u));
            Ok::<(), Infallible>(())
        });
        sources
    }

    /// Returns the name of a vertex: what its source called it.
    pub fn name_of(&self, v: VertexId) -> ExternalId {
        self.naming.name_of(v)
    }

    /// Returns the names of vertices as a column: integers, or text in one allocation. What has no name is called by its
    /// number.
    ///
    /// Cost: each name; the first time, 4 bytes for each vertex of a sealed graph are read.
    pub fn ids_of(&self, vertices: &[VertexId]) -> Ids {
        self.naming.ids_of(vertices)
    }

    /// Returns a bound above all vertices and all that have a name: what is whole of a damaged graph may
    /// lead to vertices that are not.
    pub(crate) fn name_bound(&self) -> u32 {
        self.naming.len().max(self.any.vertex_bound())
    }

    /// Returns the vertex with this name, if the view has it.
    pub fn find(&self, name: &str) -> Option<VertexId> {
        let v = self.naming.find(name)?;
        (v < self.any.vertex_bound() && self.any.is_vertex(v)).then_some(v)
    }

    /// Returns what the names of vertices are.
    pub fn id_kind(&self) -> IdKind {
        self.naming.kind()
    }

    /// Returns a copy as a plain CSR, in memory. [`Self::run`] makes the copies that it needs itself.
    ///
    /// # Errors
    /// `InvalidInput` if ids lie so far apart that the copy, whose arrays are as long as the largest
    /// id, would be many times as large as the graph.
    pub fn to_csr(&self) -> Result<View> {
        if self.numbering().is_some() {
            return Err(Error::invalid(format!(
                "a CSR would be as long as the largest id, {}, for {} vertices: ingest the graph \
                 with `--ids integer`, which numbers them without gaps",
                self.vertex_bound() - 1,
                self.vertex_count()
            )));
        }
        let from_other_ends = self.from_other_ends.clone();
        let copy = View::new(self.copy(true), self.naming.clone(), self.open_time);
        let copy = copy.simple(self.is_simple);
        Ok(View { from_other_ends, ..copy })
    }

    /// Returns the sources, destinations and weights of all edges in ascending order of sources;
    /// an undirected edge comes once, from its smaller end. The weight is 1 if there are none.
    pub fn edges(&self) -> (Vec<VertexId>, Vec<VertexId>, Vec<f32>) {
        let (mut src, mut dst, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        // At once, for arrays that grow take up to twice as much; as far as there is room, for a damaged graph may claim any number.
        let count = usize::try_from(self.edge_count()).unwrap_or(usize::MAX);
        let _grow = src.try_reserve_exact(count).and_then(|()| dst.try_reserve_exact(count));
        let _grow = weights.try_reserve_exact(count);
        let directed = self.is_directed();
        let Ok(()) = self.for_each_arc(|u, v, weight| {
            if directed || u <= v {
                src.push(u);
                dst.push(v);
                weights.push(weight);
            }
            Ok::<(), Infallible>(())
        });
        (src, dst, weights)
    }

    /// Calls `f(src, dst, weight)` for every edge in ascending order of `src`; an undirected edge
    /// comes once from each end, a self-loop once. The weight is 1 if there are none.
    ///
    /// # Errors
    /// The first that `f` returns; it is not called again.
    pub fn for_each_arc<E>(
        &self,
        mut f: impl FnMut(VertexId, VertexId, f32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut others = self.from_other_ends.iter().copied().peekable();
        for u in self.any.vertex_ranges().into_iter().flatten() {
            while let Some((src, dst, weight)) = others.next_if(|&(src, ..)| src <= u) {
                f(src, dst, weight)?;
            }
            for (v, weight) in self.any.out_edges(u) {
                f(u, v, weight)?;
            }
        }
        others.try_for_each(|(src, dst, weight)| f(src, dst, weight))
    }

    /// Calls `f` as [`Self::for_each_arc`] does, but for sources in ascending order of their names; of a damaged graph, in
    /// the order of their numbers.
    ///
    /// Cost: the names of all vertices, and 4 bytes of memory each; lists of a sealed graph are read here and there.
    pub(crate) fn for_each_arc_by_name<E>(
        &self,
        mut f: impl FnMut(VertexId, VertexId, f32) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.from_other_ends.is_empty() {
            return self.for_each_arc(f);
        }
        let mut vertices = self.vertices();
        self.naming.sort(&mut vertices);
        for (at, &u) in vertices.iter().enumerate() {
            self.any.load_ahead(Direction::Out, &vertices[at..]);
            for (v, weight) in self.any.out_edges(u) {
                f(u, v, weight)?;
            }
        }
        Ok(())
    }

    /// Adds the edges of lists that are lost, as the lists of their other ends have them.
    pub(crate) fn with_lost_ends(self) -> Self {
        Self { from_other_ends: self.arcs_of_lost_ends(), ..self }
    }

    /// Returns the edges that one end's list lacks and the other's has: in a whole graph there are none,
    /// as an undirected edge stands in the lists of both ends.
    ///
    /// Cost: 16 bytes for each edge and end, which are sorted.
    fn arcs_of_lost_ends(&self) -> Vec<(VertexId, VertexId, f32)> {
        let mut ends = Vec::new();
        let Ok(()) = self.for_each_arc(|u, v, weight| {
            if u != v {
                ends.push((u.min(v), u.max(v), weight.to_bits(), u < v));
            }
            Ok::<(), Infallible>(())
        });
        ends.sort_unstable();
        let mut arcs = Vec::new();
        for same in ends.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
            let (low, high, bits, _) = same[0];
            let from_low = same.iter().filter(|&&(.., is_from_low)| is_from_low).count();
            let from_high = same.len() - from_low;
            let (src, dst) = if from_low < from_high { (low, high) } else { (high, low) };
            let arc = (src, dst, f32::from_bits(bits));
            arcs.extend(std::iter::repeat_n(arc, from_low.abs_diff(from_high)));
        }
        arcs.sort_by_key(|&(src, ..)| src);
        arcs
    }
}
