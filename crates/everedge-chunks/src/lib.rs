//! A sealed graph: files that open at once and are read through a cache with a budget of memory.
//!
//! Source: Wang et al., "Efficient Large Graph Processing with Chunk-Based Graph Representation Model",
//! USENIX ATC 2024. Differences: see `docs/papers.md`.
//!
//! # Layout
//! ```text
//! ids       the id of each vertex, in the order in which vertices are numbered
//! out.index degree and place of each vertex's out-neighbors, 12 bytes; one or two neighbors stand there
//! out.4k    chunks with whole lists, of 4 KiB; out.32k, out.256k and out.2m with longer ones
//! out.long  pieces of lists that are longer than a chunk
//! in.…      the same of in-neighbors
//! ```
//! [`seal`] numbers the vertices of a view (`order.rs`) and writes the list of each (`codec.rs`, `pack.rs`); a
//! [`Builder`] does so with edges that come in any order, within a budget of memory (`build.rs`).
//! A [`Store`] is an open graph, whose [`ChunksView`] reads lists out of caches (`cache.rs`). A [`ChangedView`] has some edges
//! more and less (`changes.rs`).

mod ahead;
mod buckets;
mod build;
mod cache;
mod changed;
mod changes;
mod check;
mod codec;
mod cursor;
mod encode;
mod entry;
mod form;
mod fours;
mod group;
mod list;
mod order;
mod pack;
mod pass;
mod pieces;
mod seal;
mod spool;
mod store;
mod view;

pub use build::{BuildOptions, Builder};
pub use changed::ChangedView;
pub use changes::{Change, ChangeLists};
pub use check::{Checked, check};
pub use form::{Form, LevelUse, Order, SealOptions, SideForm};
pub use pieces::read_pieces;
pub use seal::seal;
pub use store::{PiecesRead, Store, least_memory};
pub use view::ChunksView;
