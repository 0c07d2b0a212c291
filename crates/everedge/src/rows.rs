//! Where a vertex stands in arrays by vertex.
//!
//! Mostly at its id. Where ids lie so far apart that such arrays would be many times longer than the
//! graph, kernels run on a compact copy ([`Numbering`]), and a vertex stands at its place among the
//! vertices in ascending order.

use everedge_core::{Csr, Numbering, VertexId, par};

use crate::View;
use crate::any_view::{AnyView, with_view};

impl View {
    /// Returns the length of arrays by vertex, such as [`Values`](crate::Values).
    pub fn row_count(&self) -> usize {
        match self.numbering() {
            Some(numbering) => numbering.ids().len(),
            None => self.vertex_bound() as usize,
        }
    }

    /// Returns where `v` stands in arrays by vertex, if it is a vertex of a graph whose ids lie far
    /// apart or below [`vertex_bound`](Self::vertex_bound) of another: at its id, or at its place
    /// among the vertices.
    pub fn row_of(&self, v: VertexId) -> Option<usize> {
        match self.numbering() {
            Some(numbering) => numbering.place(v).map(|place| place as usize),
            None => (v < self.vertex_bound()).then_some(v as usize),
        }
    }

    /// Returns what a [copy](Self::copy) calls a vertex: its row.
    pub(crate) fn place_of(&self, v: VertexId) -> VertexId {
        self.row_of(v).map_or(v, |row| row as VertexId)
    }

    /// Returns the id of a row.
    pub(crate) fn id_of_row(&self, row: u32) -> VertexId {
        self.numbering().map_or(row, |numbering| numbering.ids()[row as usize])
    }

    /// Returns the id of each row.
    pub(crate) fn row_ids(&self) -> impl Iterator<Item = VertexId> {
        let (listed, rest) = match self.numbering() {
            Some(numbering) => (numbering.ids(), 0..0),
            None => (&[][..], 0..self.vertex_bound()),
        };
        listed.iter().copied().chain(rest)
    }

    /// Returns the places of the vertices, if their ids lie far apart.
    pub(crate) fn numbering(&self) -> Option<&Numbering> {
        let numbering = self
            .numbering
            .get_or_init(|| Numbering::pays(&self.any).then(|| Numbering::of(&self.any)));
        numbering.as_ref()
    }

    /// Returns a copy of the graph as a CSR, by places if ids lie far apart; with its weights, if it
    /// has some, where they are wanted.
    pub(crate) fn copy(&self, wants_weights: bool) -> AnyView {
        let is_weighted = wants_weights && self.is_weighted();
        AnyView::Csr(with_view!(&self.any, view => match (self.numbering(), is_weighted) {
            (None, false) => Csr::from_view(view),
            (None, true) => Csr::from_weighted_view(view),
            (Some(numbering), false) => Csr::compact(view, numbering),
            (Some(numbering), true) => Csr::compact_weighted(view, numbering),
        }))
    }

    /// Returns the out-edges as a CSR by [row](Self::row_of): where those of each row begin, one more than rows, the rows
    /// that they lead to, and their weights; where there are none, 1 for each if `ones`. An undirected edge is one of both
    /// ends, a self-loop once.
    ///
    /// Cost: every out-edge, on all threads.
    pub fn csr_arrays(&self, ones: bool) -> (Vec<u64>, Vec<u32>, Option<Vec<f32>>) {
        let (starts, rows, weights) = with_view!(&self.any, view => {
            Csr::out_arrays_of(view, self.numbering(), self.is_weighted())
        });
        let weights = weights.or_else(|| ones.then(|| par::collect(rows.len(), |_| 1.0)));
        (starts, rows, weights)
    }
}
