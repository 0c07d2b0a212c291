//! What is asked of single vertices: their edges, who is near, how one reaches another; and the part of a graph
//! that some vertices make up.

use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::str::FromStr;
use std::sync::Arc;

use everedge_core::watch::{self, Watch};
use everedge_core::{Csr, CsrOptions, Direction, Edge, GraphView, VertexId, WeightedView};
use everedge_kernels as kernels;
use everedge_kernels::{ModularityConfig, Path, Similarity};
use everedge_live::{ExternalId, IdKind, Names};
use everedge_medium::{MediumKind, Volume, VolumeOptions};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::any_view::AnyView;
use crate::{Error, Result, View};

/// Vertices whose edges are read between two looks at whether the search was cancelled.
const WATCHED: usize = 1 << 10;

/// The measures of similarity by name.
const MEASURES: [(&str, Similarity); 5] = [
    ("common-neighbors", Similarity::CommonNeighbors),
    ("jaccard", Similarity::Jaccard),
    ("adamic-adar", Similarity::AdamicAdar),
    ("resource-allocation", Similarity::ResourceAllocation),
    ("preferential-attachment", Similarity::PreferentialAttachment),
];

/// Returns the measure of similarity of a name.
///
/// # Errors
/// `InvalidInput` if there is none, with those that there are.
pub fn measure(name: &str) -> Result<Similarity> {
    let found = MEASURES.iter().find(|(known, _)| *known == name).map(|&(_, measure)| measure);
    found.ok_or_else(|| {
        let names = MEASURES.map(|(name, _)| name).join(", ");
        Error::invalid(format!("measure={name}: there are {names}"))
    })
}

/// Which edges of a vertex count. Without directions all of them do, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Along {
    /// Those that leave it.
    #[default]
    Out,
    /// Those that enter it.
    In,
    /// Those that leave it, and those that enter it.
    Both,
}

impl FromStr for Along {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "out" => Ok(Self::Out),
            "in" => Ok(Self::In),
            "both" => Ok(Self::Both),
            _ => Err(Error::invalid(format!("direction={text}: it must be out, in or both"))),
        }
    }
}

impl Along {
    fn directions(self, is_directed: bool) -> &'static [Direction] {
        match self {
            _ if !is_directed => &[Direction::Out],
            Self::Out => &[Direction::Out],
            Self::In => &[Direction::In],
            Self::Both => &[Direction::Out, Direction::In],
        }
    }
}

impl View {
    /// Returns the sources, destinations and weights (1 if there are none) of the edges of some vertices, those of one
    /// after the other; of each those that leave it first, and of both directions a self-loop once. Without directions the
    /// vertex that was asked for is the source.
    ///
    /// Cost: their edges; every edge if in-neighbors are asked for and not kept.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex.
    pub fn edges_of(
        &self,
        vertices: &[VertexId],
        along: Along,
    ) -> Result<(Vec<VertexId>, Vec<VertexId>, Vec<f32>)> {
        self.check_vertices(vertices)?;
        let directions = along.directions(self.is_directed());
        let into = match directions.contains(&Direction::In) && !self.any.has_in_neighbors() {
            true => Some(self.edges_into(vertices)),
            false => None,
        };
        let (mut src, mut dst, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |(u, v, weight)| {
            src.push(u);
            dst.push(v);
            weights.push(weight);
        };
        // A self-loop that leaves its vertex enters it, too.
        let is_new = |u, v| u != v || directions.len() == 1;
        for &v in vertices {
            for direction in directions {
                match (direction, &into) {
                    (Direction::Out, _) => {
                        self.any.out_edges(v).for_each(|(w, weight)| add((v, w, weight)))
                    }
                    (Direction::In, Some(into)) => {
                        let edges = into[&v].iter().filter(|&&(u, _)| is_new(u, v));
                        edges.for_each(|&(u, weight)| add((u, v, weight)));
                    }
                    (Direction::In, None) => {
                        let edges = self.any.in_edges(v).filter(|&(u, _)| is_new(u, v));
                        edges.for_each(|(u, weight)| add((u, v, weight)));
                    }
                }
            }
        }
        self.check_reads()?;
        Ok((src, dst, weights))
    }

    /// Returns the edges that enter some vertices, by a look at all edges.
    fn edges_into(&self, vertices: &[VertexId]) -> FxHashMap<VertexId, Vec<(VertexId, f32)>> {
        let mut into: FxHashMap<_, _> = vertices.iter().map(|&v| (v, Vec::new())).collect();
        let Ok(()) = self.for_each_arc(|u, v, weight| {
            if let Some(edges) = into.get_mut(&v) {
                edges.push((u, weight));
            }
            Ok::<(), Infallible>(())
        });
        into
    }

    /// Returns how many edges leave each of some vertices and how many enter it; without directions both are the number
    /// of its edges.
    ///
    /// Cost: one look for each; every edge if in-neighbors are not kept.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex.
    pub fn degrees_of(&self, vertices: &[VertexId]) -> Result<Vec<(u32, u32)>> {
        self.check_vertices(vertices)?;
        let entering: Box<dyn Fn(VertexId) -> u32> = match self.any.has_in_neighbors() {
            true => Box::new(|v| self.any.in_degree(v)),
            false => {
                let mut counts: FxHashMap<_, _> = vertices.iter().map(|&v| (v, 0)).collect();
                let Ok(()) = self.for_each_arc(|_, v, _| {
                    counts.entry(v).and_modify(|count| *count += 1);
                    Ok::<(), Infallible>(())
                });
                Box::new(move |v| counts[&v])
            }
        };
        let degrees = vertices.iter().map(|&v| (self.any.out_degree(v), entering(v))).collect();
        self.check_reads()?;
        Ok(degrees)
    }

    /// Returns the vertices up to so many `hops` away from some vertices, these among them with 0, each with its
    /// distance: in ascending order of distances, and then of ids.
    ///
    /// Cost: the edges of all that are nearer than `hops`, and about 32 bytes of memory for each that is found; for
    /// each hop every edge if in-neighbors are asked for and not kept.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex; `Interrupted` if the watch was cancelled.
    pub fn within(
        &self,
        vertices: &[VertexId],
        hops: u32,
        along: Along,
        watch: &Watch,
    ) -> Result<Vec<(VertexId, u32)>> {
        self.check_vertices(vertices)?;
        let mut seen: FxHashSet<VertexId> = vertices.iter().copied().collect();
        let mut frontier: Vec<_> = seen.iter().copied().collect();
        frontier.sort_unstable();
        let mut found: Vec<_> = frontier.iter().map(|&v| (v, 0)).collect();
        // A look at all edges is for as many vertices as can be.
        let is_listed = self.any.has_in_neighbors() || along == Along::Out;
        let piece_len = if is_listed { WATCHED } else { usize::MAX };
        let search = || {
            for hop in 1..=hops {
                let mut next = Vec::new();
                for piece in frontier.chunks(piece_len) {
                    watch::check();
                    let (src, dst, _) = self.edges_of(piece, along)?;
                    // One end of each is among those that were asked for.
                    next.extend(src.into_iter().chain(dst).filter(|&v| seen.insert(v)));
                }
                next.sort_unstable();
                found.extend(next.iter().map(|&v| (v, hop)));
                if next.is_empty() {
                    break;
                }
                frontier = next;
            }
            Ok(found)
        };
        watch.run(search).map_err(|_cancelled| Error::Interrupted)?
    }

    /// Returns a shortest path between two vertices along the direction of edges, if there is one: that of the
    /// smallest sum of weights, or of the fewest edges if they have none or `hops` only count.
    ///
    /// Cost: two searches that meet; see `everedge_kernels::shortest_path`.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex; `Kernel` if a weight is negative or not a number; `Interrupted` if the watch
    /// was cancelled.
    pub fn shortest_path(
        &self,
        source: VertexId,
        target: VertexId,
        hops: bool,
        watch: &Watch,
    ) -> Result<Option<Path>> {
        self.check_vertices(&[source, target])?;
        let search = || match hops || !self.is_weighted() {
            true => kernels::shortest_path(&self.any, source, target),
            false => kernels::shortest_weighted_path(&self.any, source, target),
        };
        let found = watch.run(search).map_err(|_cancelled| Error::Interrupted)?;
        self.check_reads()?;
        found.map_err(|error| Error::kernel(error, |v| self.name_of(v).to_string()))
    }

    /// Returns of each pair how similar its vertices are, directions, self-loops and parallel edges left aside.
    ///
    /// Cost: the lists of both ends; in a graph without in-neighbors a copy.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex; `Interrupted` if the watch was cancelled.
    pub fn similarity(
        &self,
        pairs: &[Edge],
        measure: Similarity,
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        for &(u, v) in pairs {
            self.check_vertices(&[u, v])?;
        }
        self.ask_both_ways(watch, |any, place| {
            let pairs: Vec<Edge> = pairs.iter().map(|&(u, v)| (place(u), place(v))).collect();
            kernels::similarity(any, &pairs, measure)
        })
    }

    /// Returns the vertices that share neighbors with one and are the most similar to it: `count` of them at most, with
    /// their scores, the largest first.
    ///
    /// Cost: the lists of its neighbors; in a graph without in-neighbors a copy.
    ///
    /// # Errors
    /// As [`Self::similarity`].
    pub fn most_similar(
        &self,
        v: VertexId,
        count: usize,
        measure: Similarity,
        watch: &Watch,
    ) -> Result<Vec<(VertexId, f64)>> {
        self.check_vertices(&[v])?;
        let found = self.ask_both_ways(watch, |any, place| {
            kernels::most_similar(any, place(v), count, measure)
        })?;
        Ok(found.into_iter().map(|(row, score)| (self.id_of_row(row), score)).collect())
    }

    /// Returns the modularity of a division of all vertices: the group of each is at its [`row_of`](Self::row_of). Weights
    /// count if the graph has some and they are wanted.
    ///
    /// Cost: every edge once.
    ///
    /// # Errors
    /// `InvalidInput` if there is not a group for each row; `Kernel` if the resolution or a weight is negative;
    /// `Interrupted` if the watch was cancelled.
    pub fn modularity(
        &self,
        groups: &[u32],
        resolution: f64,
        weighted: bool,
        watch: &Watch,
    ) -> Result<f64> {
        if groups.len() != self.row_count() {
            let (found, rows) = (groups.len(), self.row_count());
            return Err(Error::invalid(format!("{found} groups for {rows} rows of vertices")));
        }
        let config = ModularityConfig { resolution, weighted: weighted && self.is_weighted() };
        let copy = self.numbering().is_some().then(|| self.copy(true));
        let any = copy.as_ref().unwrap_or(&self.any);
        let ask = || kernels::modularity(any, groups, &config);
        let found = watch.run(ask).map_err(|_cancelled| Error::Interrupted)?;
        self.check_reads()?;
        let name = |row| self.name_of(self.id_of_row(row)).to_string();
        Ok(found.map_err(|error| Error::kernel(error, name))?.value)
    }

    /// Asks what looks at edges from both ends and keeps arrays by vertex. `ask` is given what it asks, and what tells the
    /// [row](Self::row_of) of a vertex, by which that has it.
    fn ask_both_ways<T>(
        &self,
        watch: &Watch,
        ask: impl FnOnce(&AnyView, &dyn Fn(VertexId) -> VertexId) -> kernels::Result<T>,
    ) -> Result<T> {
        let has_to = self.numbering().is_some() || !self.any.has_in_neighbors();
        let copy = has_to.then(|| self.copy(false));
        let any = copy.as_ref().unwrap_or(&self.any);
        let found = watch
            .run(|| ask(any, &|v| self.place_of(v)))
            .map_err(|_cancelled| Error::Interrupted)?;
        self.check_reads()?;
        let name = |row| self.name_of(self.id_of_row(row)).to_string();
        found.map_err(|error| Error::kernel(error, name))
    }

    /// Returns the graph of some vertices and the edges between them, as a view in memory: their names and weights are
    /// as here, their numbers are new.
    ///
    /// Cost: the edges of these vertices; 8 bytes, with weights 16, for each of those that stay, and about 64 for a
    /// vertex.
    ///
    /// # Errors
    /// `InvalidInput` if one is no vertex; `NoSpace` if there is no memory for the names; `Interrupted` if the watch was
    /// cancelled.
    pub fn subgraph(&self, vertices: &[VertexId], watch: &Watch) -> Result<View> {
        self.check_vertices(vertices)?;
        watch.run(|| self.part(vertices)).map_err(|_cancelled| Error::Interrupted)?
    }

    fn part(&self, vertices: &[VertexId]) -> Result<View> {
        let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        let mut ids = Vec::new();
        for &v in vertices {
            if let Entry::Vacant(place) = places.entry(v) {
                place.insert(ids.len() as VertexId);
                ids.push(v);
            }
        }
        let (mut edges, mut weights) = (Vec::new(), Vec::new());
        let is_directed = self.is_directed();
        for (place, &u) in (0..).zip(&ids) {
            if (place as usize).is_multiple_of(WATCHED) {
                watch::check();
            }
            for (v, weight) in self.any.out_edges_by_age(u) {
                // Without directions an edge stands in the lists of both ends.
                let other = places.get(&v).filter(|&&other| is_directed || place <= other);
                if let Some(&other) = other {
                    edges.push((place, other));
                    weights.push(weight);
                }
            }
        }
        self.check_reads()?;
        let options = CsrOptions {
            directed: is_directed,
            declared: &(0..ids.len() as u32).collect::<Vec<_>>(),
        };
        let weights = self.is_weighted().then_some(&weights[..]);
        let names = self.names_of(&ids)?;
        let csr = Csr::from_edges(&edges, weights, options);
        let view = View::new(AnyView::Csr(csr), Some(Arc::new(names)), self.open_time);
        Ok(view.simple(self.is_simple))
    }

    /// Returns a map in memory of the names of vertices, in their order.
    fn names_of(&self, vertices: &[VertexId]) -> Result<Names> {
        let kind = match self.id_kind() {
            IdKind::Text => IdKind::Text,
            IdKind::Integer | IdKind::Dense => IdKind::Integer,
        };
        let volume = Volume::create("subgraph".as_ref(), VolumeOptions::new(MediumKind::Dram))?;
        let names = Names::create_file(&volume, "names", kind, 0)?;
        let (mut texts, mut integers) = (Vec::new(), Vec::new());
        for &v in vertices {
            match self.name_of(v) {
                ExternalId::Text(name) => texts.push(name),
                ExternalId::Integer(id) => integers.push(id),
            }
        }
        self.check_reads()?;
        match kind {
            IdKind::Text => names.intern_texts(texts.iter().map(String::as_str))?,
            _ => names.intern_integers(&integers)?,
        };
        Ok(names)
    }

    /// Refuses what is no vertex.
    pub(crate) fn check_vertices(&self, vertices: &[VertexId]) -> Result<()> {
        let is_vertex = |v: VertexId| v < self.any.vertex_bound() && self.any.is_vertex(v);
        match vertices.iter().find(|&&v| !is_vertex(v)) {
            None => Ok(()),
            Some(v) => Err(Error::invalid(format!("vertex `{v}` is not in the graph"))),
        }
    }

    /// Returns the vertices of some names.
    ///
    /// # Errors
    /// `InvalidInput` that names the first that is no vertex.
    pub fn find_all<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<VertexId>> {
        let find = |name| {
            let missing = || Error::invalid(format!("vertex `{name}` is not in the graph"));
            self.find(name).ok_or_else(missing)
        };
        let found = names.into_iter().map(find).collect();
        self.check_reads()?;
        found
    }
}
