//! Graph algorithms over any view, one a file, each with a verifier of its result.
//!
//! A kernel reads a [`GraphView`](everedge_core::GraphView) and returns arrays as long as the
//! view's `vertex_bound`, indexed by vertex; what stands there for ids that are not vertices is
//! documented with each result. Kernels use the threads of
//! [`par::with_threads`](everedge_core::par::with_threads) around the call, or all cores.

mod bc;
mod best_paths;
mod bfs;
mod error;
mod frontier;
pub mod naive;
mod one_hop;
mod pagerank;
mod ssnp;
mod sssp;
mod sswp;
mod two_hop;
mod viterbi;
mod wcc;

pub use bc::{Betweenness, BetweennessConfig, Sources, betweenness, verify_betweenness};
pub use bfs::{Bfs, NO_PARENT, UNREACHED, bfs, verify_bfs};
pub use error::{Error, Result};
pub use one_hop::{one_hop, one_hop_sample, one_hop_sum, verify_one_hop};
pub use pagerank::{PageRank, PageRankConfig, pagerank, verify_pagerank};
pub use ssnp::{Ssnp, ssnp, verify_ssnp};
pub use sssp::{Sssp, SsspConfig, sssp, verify_sssp};
pub use sswp::{Sswp, sswp, verify_sswp};
pub use two_hop::{two_hop, two_hop_count, two_hop_sum, verify_two_hop};
pub use viterbi::{Viterbi, verify_viterbi, viterbi};
pub use wcc::{NO_COMPONENT, Wcc, verify_wcc, wcc};
