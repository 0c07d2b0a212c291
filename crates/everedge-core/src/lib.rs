//! What every part of everedge shares: vertex ids, the view that a kernel reads, a plain CSR,
//! bitmaps, memory for large arrays, and parallel loops, which run near the memory that they read.

mod bitmap;
mod csr;
mod homes;
pub mod memory;
pub mod par;
mod view;
pub mod watch;

pub use bitmap::{AtomicBitmap, Bitmap};
pub use csr::{Csr, CsrOptions};
pub use homes::{HOME_SPAN, Homes};
pub use view::{
    Direction, Edge, GraphView, ListVisitor, MAX_VERTEX_ID, VertexId, Wanted, WeightedView,
};
