//! The one place where a kernel meets a layout: an enum of all views and a `match`.

use everedge_adjacency::Snapshot;
use everedge_core::{Csr, GraphView};
use everedge_pma::PmaSnapshot;

/// A frozen view of any kind.
pub(crate) enum AnyView {
    /// A snapshot of a live graph in the `adjacency` layout.
    Adjacency(Snapshot),
    /// A snapshot of a live graph in the `pma` layout.
    Pma(PmaSnapshot),
    /// A plain CSR copy.
    Csr(Csr),
}

/// Evaluates an expression with the view inside an [`AnyView`], compiled once for each kind.
macro_rules! with_view {
    ($any:expr, $view:ident => $body:expr) => {
        match $any {
            $crate::any_view::AnyView::Adjacency($view) => $body,
            $crate::any_view::AnyView::Pma($view) => $body,
            $crate::any_view::AnyView::Csr($view) => $body,
        }
    };
}

pub(crate) use with_view;

impl AnyView {
    /// Returns whether edges carry weights.
    pub(crate) fn is_weighted(&self) -> bool {
        with_view!(self, view => view.is_weighted())
    }

    /// Returns whether kernels can ask for in-neighbors.
    pub(crate) fn has_in_neighbors(&self) -> bool {
        with_view!(self, view => view.has_in_neighbors())
    }
}
