//! What every part of everedge shares: vertex ids, the view that a kernel reads, a plain CSR,
//! bitmaps, random numbers, memory for large arrays, and parallel loops, which run near the memory
//! that they read.

mod bitmap;
mod csr;
mod homes;
pub mod memory;
mod numbering;
pub mod par;
mod random;
mod threads;
mod view;
pub mod watch;

pub use bitmap::{AtomicBitmap, Bitmap};
pub use csr::{Csr, CsrOptions, ListsError, OutArrays};
pub use homes::{HOME_SPAN, Homes};
pub use numbering::Numbering;
pub use random::{SplitMix64, scramble};
pub use view::{
    Direction, Edge, GraphView, ListVisitor, MAX_VERTEX_ID, VertexId, Wanted, WeightedView,
    aligned_parts, visit_ahead,
};
