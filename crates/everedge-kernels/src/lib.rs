//! Graph algorithms over any view, one a file, each with a verifier of its result.
//!
//! A kernel reads a [`GraphView`](everedge_core::GraphView) and returns arrays as long as the
//! view's `vertex_bound`, indexed by vertex; what stands there for ids that are not vertices is
//! documented with each result. Kernels use the threads of
//! [`par::with_threads`](everedge_core::par::with_threads) around the call, or all cores.
//!
//! # Write your own kernel
//! A kernel that goes from a set of vertices to the next one along edges is an [`EdgeStep`] and a
//! loop: it says what to do along an edge, and an [`EdgeMap`] takes the step from a [`Frontier`],
//! chooses push or pull and divides the work. There are four things to decide: what the state of
//! each vertex is, which vertices the step still wants, and how a push and a pull change the state.
//! A push does so beside others, so the state is atomic; a pull is alone on its vertex.
//!
//! `examples/own_kernel.rs` is such a kernel, from its state to its answer:
//! `cargo run --package everedge-kernels --example own_kernel`. It takes any view: a
//! [`Csr`](everedge_core::Csr), or what `AdjacencyGraph::snapshot` of `everedge-storage` returns
//! while writers go on. A kernel of another kind reads the view itself, in the loops of
//! [`par`](everedge_core::par).

mod bc;
mod best_paths;
mod bfs;
mod cdlp;
mod delta_pagerank;
mod error;
mod frontier;
mod kcore;
mod lcc;
pub mod naive;
mod one_hop;
mod oriented;
mod pagerank;
mod radii;
mod reversed;
mod scc;
mod ssnp;
mod sssp;
mod sswp;
mod triangles;
mod two_hop;
mod viterbi;
mod wcc;

pub use bc::{Betweenness, BetweennessConfig, Sources, betweenness, verify_betweenness};
pub use bfs::{Bfs, NO_PARENT, UNREACHED, bfs, verify_bfs};
pub use cdlp::{Cdlp, CdlpConfig, NO_LABEL, cdlp, verify_cdlp};
pub use delta_pagerank::{
    DeltaPageRank, DeltaPageRankConfig, delta_pagerank, verify_delta_pagerank,
};
pub use error::{Error, Result};
pub use frontier::{EdgeMap, EdgeStep, Frontier};
pub use kcore::{Coreness, coreness, kcore, verify_coreness, verify_kcore};
pub use lcc::{Lcc, lcc, verify_lcc};
pub use one_hop::{one_hop, one_hop_sample, one_hop_sum, verify_one_hop};
pub use pagerank::{PageRank, PageRankConfig, pagerank, verify_pagerank};
pub use radii::{Radii, RadiiConfig, radii, verify_radii};
pub use scc::{Scc, SccConfig, scc, verify_scc};
pub use ssnp::{Ssnp, ssnp, verify_ssnp};
pub use sssp::{Sssp, SsspConfig, sssp, verify_sssp};
pub use sswp::{Sswp, sswp, verify_sswp};
pub use triangles::{Triangles, triangles, verify_triangles};
pub use two_hop::{two_hop, two_hop_count, two_hop_sum, verify_two_hop};
pub use viterbi::{Viterbi, verify_viterbi, viterbi};
pub use wcc::{NO_COMPONENT, Wcc, verify_wcc, wcc};
