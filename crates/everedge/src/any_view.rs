//! The one place where a kernel meets a layout: an enum of all views and a `match`.
//!
//! Kernels are compiled once for each view, with the `match` around them ([`with_view`]). What checks
//! their answers sees the enum itself, with a `match` for each list and some neighbors at a time: so it is
//! compiled once.

use std::ops::Range;

use arrayvec::ArrayVec;
use everedge_adjacency::Snapshot;
use everedge_blocks::BlocksSnapshot;
use everedge_chunks::{ChangedView, ChunksView, Store};
use everedge_core::{Csr, Direction, GraphView, Homes, ListVisitor, VertexId, WeightedView};
use everedge_pma::PmaSnapshot;
use everedge_timeline::VersionView;

/// A frozen view of any kind.
pub(crate) enum AnyView {
    /// A snapshot of a live graph in the `adjacency` layout.
    Adjacency(Snapshot),
    /// A snapshot of a live graph in the `pma` layout.
    Pma(PmaSnapshot),
    /// A snapshot of a live graph in the `blocks` layout.
    Blocks(BlocksSnapshot),
    /// A plain CSR copy.
    Csr(Csr),
    /// A version.
    Version(VersionView),
    /// A sealed graph.
    Chunks(ChunksView),
    /// A sealed graph that was changed.
    Changed(ChangedView),
}

/// Evaluates an expression with the view inside an [`AnyView`], compiled once for each kind.
macro_rules! with_view {
    ($any:expr, $view:ident => $body:expr) => {
        match $any {
            $crate::any_view::AnyView::Adjacency($view) => $body,
            $crate::any_view::AnyView::Pma($view) => $body,
            $crate::any_view::AnyView::Blocks($view) => $body,
            $crate::any_view::AnyView::Csr($view) => $body,
            $crate::any_view::AnyView::Version($view) => $body,
            $crate::any_view::AnyView::Chunks($view) => $body,
            $crate::any_view::AnyView::Changed($view) => $body,
        }
    };
}

pub(crate) use with_view;

impl AnyView {
    /// Returns whether edges carry weights.
    pub(crate) fn is_weighted(&self) -> bool {
        with_view!(self, view => view.is_weighted())
    }

    /// Returns whether both are vertices.
    pub(crate) fn are_vertices(&self, u: VertexId, v: VertexId) -> bool {
        let bound = self.vertex_bound();
        u.max(v) < bound && self.is_vertex(u) && self.is_vertex(v)
    }

    /// Returns up to which update it has a live graph.
    pub(crate) fn sequence(&self) -> Option<u64> {
        match self {
            Self::Adjacency(view) => Some(view.sequence()),
            Self::Pma(view) => Some(view.sequence()),
            Self::Blocks(view) => Some(view.sequence()),
            _ => None,
        }
    }

    /// Returns the files that it is read from while it is used, if it is of a sealed graph.
    pub(crate) fn store(&self) -> Option<&Store> {
        match self {
            Self::Chunks(view) => Some(view.store()),
            Self::Changed(view) => Some(view.base().store()),
            _ => None,
        }
    }
}

/// How many items of a list a fold takes at a time.
const SLICE: usize = 64;

/// An iterator of one of the views.
enum AnyIter<A, P, B, C, V, S, D> {
    Adjacency(A),
    Pma(P),
    Blocks(B),
    Csr(C),
    Version(V),
    Chunks(S),
    Changed(D),
}

/// Returns an iterator of whatever view there is.
macro_rules! iter_of {
    ($any:expr, $view:ident => $iter:expr) => {
        match $any {
            AnyView::Adjacency($view) => AnyIter::Adjacency($iter),
            AnyView::Pma($view) => AnyIter::Pma($iter),
            AnyView::Blocks($view) => AnyIter::Blocks($iter),
            AnyView::Csr($view) => AnyIter::Csr($iter),
            AnyView::Version($view) => AnyIter::Version($iter),
            AnyView::Chunks($view) => AnyIter::Chunks($iter),
            AnyView::Changed($view) => AnyIter::Changed($iter),
        }
    };
}

impl<T: Copy, A, P, B, C, V, S, D> Iterator for AnyIter<A, P, B, C, V, S, D>
where
    A: Iterator<Item = T>,
    P: Iterator<Item = T>,
    B: Iterator<Item = T>,
    C: Iterator<Item = T>,
    V: Iterator<Item = T>,
    S: Iterator<Item = T>,
    D: Iterator<Item = T>,
{
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match self {
            Self::Adjacency(iter) => iter.next(),
            Self::Pma(iter) => iter.next(),
            Self::Blocks(iter) => iter.next(),
            Self::Csr(iter) => iter.next(),
            Self::Version(iter) => iter.next(),
            Self::Chunks(iter) => iter.next(),
            Self::Changed(iter) => iter.next(),
        }
    }

    /// Folds by the slice: what `f` is compiled for is a slice, not each kind of list.
    #[inline]
    fn fold<R, F: FnMut(R, T) -> R>(self, init: R, mut f: F) -> R {
        let mut sum = Some(init);
        let f: &mut dyn FnMut(&[T]) = &mut |items| {
            if let Some(before) = sum.take() {
                sum = Some(items.iter().copied().fold(before, &mut f));
            }
        };
        match self {
            Self::Adjacency(iter) => for_each_slice(iter, f),
            Self::Pma(iter) => for_each_slice(iter, f),
            Self::Blocks(iter) => for_each_slice(iter, f),
            Self::Csr(iter) => for_each_slice(iter, f),
            Self::Version(iter) => for_each_slice(iter, f),
            Self::Chunks(iter) => for_each_slice(iter, f),
            Self::Changed(iter) => for_each_slice(iter, f),
        }
        sum.expect("each slice leaves a sum")
    }
}

/// Shows `f` all items, some at a time.
fn for_each_slice<T: Copy>(iter: impl Iterator<Item = T>, f: &mut dyn FnMut(&[T])) {
    let mut slice = ArrayVec::<T, SLICE>::new();
    iter.for_each(|item| {
        if slice.is_full() {
            f(&slice);
            slice.clear();
        }
        slice.push(item);
    });
    f(&slice);
}

impl GraphView for AnyView {
    fn vertex_bound(&self) -> u32 {
        with_view!(self, view => view.vertex_bound())
    }

    fn vertex_count(&self) -> u32 {
        with_view!(self, view => view.vertex_count())
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        with_view!(self, view => view.is_vertex(v))
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        with_view!(self, view => view.vertex_ranges())
    }

    fn edge_count(&self) -> u64 {
        with_view!(self, view => view.edge_count())
    }

    fn is_directed(&self) -> bool {
        with_view!(self, view => view.is_directed())
    }

    fn has_in_neighbors(&self) -> bool {
        with_view!(self, view => view.has_in_neighbors())
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        with_view!(self, view => view.out_degree(v))
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        with_view!(self, view => view.in_degree(v))
    }

    #[inline]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        iter_of!(self, view => view.out_neighbors(v))
    }

    #[inline]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        iter_of!(self, view => view.in_neighbors(v))
    }

    fn edges_between(&self, u: VertexId, v: VertexId) -> u32 {
        with_view!(self, view => view.edges_between(u, v))
    }

    fn has_edge(&self, u: VertexId, v: VertexId) -> bool {
        with_view!(self, view => view.has_edge(u, v))
    }

    fn lists_are_distinct(&self) -> bool {
        with_view!(self, view => view.lists_are_distinct())
    }

    fn reads_in_order(&self) -> bool {
        with_view!(self, view => view.reads_in_order())
    }

    #[inline]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        with_view!(self, view => view.load_ahead(direction, vertices));
    }

    #[inline]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        with_view!(self, view => view.visit_listed(direction, vertices, visitor));
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        with_view!(self, view => view.visit_neighbors(direction, range, visitor));
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        f: impl FnMut(VertexId, u32),
    ) {
        with_view!(self, view => view.for_each_degree(direction, range, f));
    }

    fn homes(&self) -> Option<&Homes> {
        with_view!(self, view => view.homes())
    }

    #[inline]
    fn home(&self, v: VertexId, direction: Direction) -> usize {
        with_view!(self, view => view.home(v, direction))
    }
}

impl WeightedView for AnyView {
    #[inline]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        iter_of!(self, view => view.out_edges(v))
    }

    #[inline]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        iter_of!(self, view => view.in_edges(v))
    }

    fn out_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        iter_of!(self, view => view.out_edges_by_age(v))
    }

    fn in_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        iter_of!(self, view => view.in_edges_by_age(v))
    }

    fn weights_between(&self, u: VertexId, v: VertexId) -> Vec<f32> {
        with_view!(self, view => view.weights_between(u, v))
    }
}
