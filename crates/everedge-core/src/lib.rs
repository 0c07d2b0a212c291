//! What every part of everedge shares: vertex ids and the view that a kernel reads.

mod view;

pub use view::{Edge, GraphView, MAX_VERTEX_ID, VertexId, WeightedView};
