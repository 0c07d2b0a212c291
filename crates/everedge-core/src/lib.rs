//! What every part of everedge shares: vertex ids, the view that a kernel reads, a plain CSR,
//! bitmaps and parallel loops.

mod bitmap;
mod csr;
pub mod par;
mod view;

pub use bitmap::{AtomicBitmap, Bitmap};
pub use csr::{Csr, CsrOptions};
pub use view::{Edge, GraphView, ListVisitor, MAX_VERTEX_ID, VertexId, Wanted, WeightedView};
