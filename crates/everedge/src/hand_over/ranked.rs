//! A view with its vertices in the order of their ids, and its edges sorted by both ends.
//!
//! A vertex's place in that order is its *rank*. Icebug and GraphAr call vertices by it; in Parquet the ids stand in its
//! place. Lists are read and sorted on all threads, some of them at a time.
//!
//! # Cost
//! 8 bytes of memory a vertex, and its id; the longest list, and 1 million edges a thread.

use std::ops::Range;

use everedge_core::{Direction, GraphView, VertexId, WeightedView, par, watch};
use everedge_io::{IdKind, Ids, TextIds};
use everedge_live::ExternalId;

use crate::{Error, Result, View};

/// Edges that one thread reads at a time.
const PIECE_ARCS: u64 = 1 << 17;
/// Pieces for each thread that are read before any is handed on.
const PIECES_AHEAD: usize = 4;
/// The rank of no vertex.
const NO_RANK: u32 = u32::MAX;

/// What to do with a damaged graph, whose lists may lead to what is no vertex.
const ONE_FILE: &str = "what is whole of a damaged graph is written to one file: name one that ends in .csv or .parquet";

/// Ids are in order, so that it would be the first.
const EMPTY_ID: &str = "an id is empty, which no format that is read may have";

/// Edges by rank, sorted by sources and then destinations; parallel edges are in the order of their age.
#[derive(Debug, Default)]
pub(super) struct Arcs {
    pub(super) src: Vec<u32>,
    pub(super) dst: Vec<u32>,
    /// As many, or none where edges have no weights.
    pub(super) weights: Vec<f32>,
}

impl Arcs {
    pub(super) fn len(&self) -> usize {
        self.src.len()
    }

    /// Appends some of other edges.
    pub(super) fn extend(&mut self, other: &Self, range: Range<usize>) {
        self.src.extend_from_slice(&other.src[range.clone()]);
        self.dst.extend_from_slice(&other.dst[range.clone()]);
        if !other.weights.is_empty() {
            self.weights.extend_from_slice(&other.weights[range]);
        }
    }
}

/// A view whose vertices are in the order of their ids.
pub(super) struct Ranked<'v> {
    pub(super) view: &'v View,
    /// The vertex of each rank.
    vertices: Vec<VertexId>,
    /// The rank of each row of the view.
    ranks: Vec<u32>,
    /// Whether a vertex of a larger number has a higher rank.
    is_in_order: bool,
    /// The id of each rank.
    pub(super) ids: Ids,
}

impl<'v> Ranked<'v> {
    /// # Errors
    /// `InvalidInput` if the view is of a damaged graph.
    pub(super) fn new(view: &'v View) -> Result<Self> {
        if !view.from_other_ends.is_empty() {
            return Err(Error::invalid(ONE_FILE));
        }
        let mut vertices = view.vertices();
        view.naming.sort(&mut vertices);
        let mut ranks = vec![NO_RANK; view.row_count()];
        for (rank, &v) in (0..).zip(&vertices) {
            if let Some(row) = view.row_of(v) {
                ranks[row] = rank;
            }
        }
        let ids = match (view.ids_of(&vertices), view.naming.numbers_before()) {
            // As a live graph calls them.
            (Ids::Sparse(ids), Some(_)) => {
                Ids::Dense(ids.into_iter().map(|id| id as u32).collect())
            }
            (ids, _) => ids,
        };
        view.check_reads()?;
        if let Ids::Text(texts) = &ids
            && texts.iter().next() == Some("")
        {
            return Err(Error::invalid(EMPTY_ID));
        }
        let is_in_order = vertices.is_sorted();
        Ok(Self { view, vertices, ranks, is_in_order, ids })
    }

    /// Returns the number of vertices.
    pub(super) fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Returns what ids are.
    pub(super) fn id_kind(&self) -> IdKind {
        match self.ids {
            Ids::Dense(_) => IdKind::Dense,
            Ids::Sparse(_) => IdKind::Sparse,
            Ids::Text(_) => IdKind::Text,
        }
    }

    /// Returns the id of a rank.
    pub(super) fn id(&self, rank: u32) -> ExternalId {
        let at = rank as usize;
        match &self.ids {
            Ids::Dense(ids) => ExternalId::Integer(ids[at].into()),
            Ids::Sparse(ids) => ExternalId::Integer(ids[at]),
            Ids::Text(ids) => ExternalId::Text(ids.get(at).to_owned()),
        }
    }

    /// Returns the largest id, if ids are numbers.
    pub(super) fn largest(&self) -> Option<u64> {
        match &self.ids {
            Ids::Dense(ids) => ids.last().map(|&id| id.into()),
            Ids::Sparse(ids) => ids.last().copied(),
            Ids::Text(_) => None,
        }
    }

    /// Returns the bytes of the longest id.
    pub(super) fn id_bytes_max(&self) -> usize {
        match &self.ids {
            Ids::Dense(_) | Ids::Sparse(_) => 8,
            Ids::Text(ids) => ids.iter().map(str::len).max().unwrap_or(0),
        }
    }

    /// Calls `take` with all edges in their order, some at a time, while the next ones are read; an undirected edge comes
    /// once, from the end with the smaller rank.
    ///
    /// # Errors
    /// The first of `take`; if a sealed graph cannot be read.
    pub(super) fn for_each_arcs(&self, mut take: impl FnMut(Arcs) -> Result<()>) -> Result<()> {
        let mut pieces = self.pieces();
        let mut read_next = || {
            let round = pieces.by_ref().take(par::thread_count() * PIECES_AHEAD).collect();
            par::map_tasks(round, |ranks| self.read(ranks))
        };
        let (mut read, mut done) = (read_next(), 0);
        while !read.is_empty() {
            self.view.check_reads()?;
            watch::note(done, self.view.edge_count());
            let take = || {
                read.into_iter().try_for_each(|arcs| {
                    let arcs = arcs?;
                    done += arcs.len() as u64;
                    take(arcs)
                })
            };
            let (taken, next) = par::beside(take, &mut read_next);
            taken?;
            read = next;
        }
        self.view.check_reads()
    }

    /// Cuts the ranks so that each range has about as many edges.
    fn pieces(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let (first, mut arcs) = (start, 0);
            while start < self.len() && arcs < PIECE_ARCS {
                // A vertex without edges takes time, too.
                arcs += 1 + u64::from(self.view.any.out_degree(self.vertices[start]));
                start += 1;
            }
            (first < start).then_some(first..start)
        })
    }

    /// # Errors
    /// `InvalidInput` if an edge leads to what is no vertex.
    fn read(&self, ranks: Range<usize>) -> Result<Arcs> {
        let (any, directed) = (&self.view.any, self.view.is_directed());
        let is_weighted = self.view.is_weighted();
        let (mut arcs, mut list) = (Arcs::default(), Vec::new());
        let numbering = self.view.numbering();
        let row_of = |v| numbering.map_or(Some(v), |numbering| numbering.place(v));
        let rank_of = |v| {
            let rank = row_of(v).and_then(|row| self.ranks.get(row as usize));
            rank.copied().unwrap_or(NO_RANK)
        };
        // What is sorted. In order these are vertices: no rank is looked for of those that are left out, and the others lie side by side.
        let key_of = |v| if self.is_in_order { v } else { rank_of(v) };
        let rank_of_key = |key| if self.is_in_order { rank_of(key) } else { key };
        for rank in ranks.clone() {
            any.load_ahead(Direction::Out, &self.vertices[rank..ranks.end]);
            let (u, src, before) = (self.vertices[rank], rank as u32, arcs.dst.len());
            let own = key_of(u);
            let is_kept = |key: u32| directed || own <= key;
            // A loop by `for_each` is one over slices.
            if is_weighted {
                let edges = any.out_edges_by_age(u).map(|(v, weight)| (key_of(v), weight));
                edges.for_each(|edge| list.extend(is_kept(edge.0).then_some(edge)));
                list.sort_by_key(|&(key, _)| key);
                arcs.dst.extend(list.iter().map(|&(key, _)| rank_of_key(key)));
                arcs.weights.extend(list.drain(..).map(|(_, weight)| weight));
            } else {
                let keys = any.out_neighbors(u).map(key_of);
                keys.for_each(|key| arcs.dst.extend(is_kept(key).then_some(key)));
                let keys = &mut arcs.dst[before..];
                keys.sort_unstable();
                keys.iter_mut().for_each(|key| *key = rank_of_key(*key));
            }
            arcs.src.resize(arcs.dst.len(), src);
            if arcs.dst[before..].contains(&NO_RANK) {
                return Err(Error::invalid(ONE_FILE));
            }
        }
        Ok(arcs)
    }
}

/// Returns the ids of ranks as a column of text.
pub(super) fn texts_of(ids: &TextIds, ranks: impl Iterator<Item = u32>) -> TextIds {
    let mut texts = TextIds::default();
    ranks.for_each(|rank| texts.push(ids.get(rank as usize)));
    texts
}
