//! Graph algorithms over any view, one a file, each with two verifiers of its result: a full one,
//! and a *spot check* that costs a tenth of the kernel at most and finds what spoils many answers.
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
//! [`Csr`](everedge_core::Csr), or what `AdjacencyGraph::snapshot` of `everedge-adjacency` returns
//! while writers go on. A kernel of another kind reads the view itself, in the loops of
//! [`par`](everedge_core::par).

mod bc;
mod best_paths;
mod bfs;
mod biconnected;
mod bipartition;
mod both_ways;
mod cdlp;
mod closeness;
mod communities;
mod convergence;
mod delta_pagerank;
mod discovery;
mod eigenvector;
mod error;
mod frontier;
mod hits;
mod katz;
mod kcore;
mod label_propagation;
mod lcc;
mod leiden;
mod levels;
mod louvain;
mod many_searches;
mod matrix;
mod modularity;
mod moving;
pub mod naive;
mod network;
mod one_core;
mod one_hop;
mod oriented;
mod pagerank;
mod path;
mod personalized_pagerank;
mod radii;
mod reversed;
mod scc;
mod similarity;
mod spanning_forest;
mod spots;
mod ssnp;
mod sssp;
mod sswp;
pub mod supersteps;
mod topological_order;
mod triangles;
mod two_hop;
mod viterbi;
mod wcc;

pub use bc::{
    Betweenness, BetweennessConfig, Sources, betweenness, spot_check_betweenness,
    verify_betweenness,
};
pub use bfs::{Bfs, NO_PARENT, UNREACHED, bfs, spot_check_bfs, verify_bfs};
pub use biconnected::{Biconnected, biconnected, spot_check_biconnected, verify_biconnected};
pub use bipartition::{
    Bipartition, NO_COLOR, bipartition, spot_check_bipartition, verify_bipartition,
};
pub use cdlp::{Cdlp, CdlpConfig, NO_LABEL, cdlp, spot_check_cdlp, verify_cdlp};
pub use closeness::{
    Closeness, ClosenessConfig, Harmonic, closeness, harmonic, spot_check_closeness,
    spot_check_harmonic, verify_closeness, verify_harmonic,
};
pub use communities::{Communities, NO_COMMUNITY};
pub use delta_pagerank::{
    DeltaPageRank, DeltaPageRankConfig, delta_pagerank, spot_check_delta_pagerank,
    verify_delta_pagerank,
};
pub use discovery::{
    Discovery, WeightedDiscovery, discovery, verify_discovery, verify_weighted_discovery,
    weighted_discovery,
};
pub use eigenvector::{
    Eigenvector, EigenvectorConfig, eigenvector, spot_check_eigenvector, verify_eigenvector,
};
pub use error::{Error, Result};
pub use frontier::{EdgeMap, EdgeStep, Frontier};
pub use hits::{Hits, HitsConfig, hits, spot_check_hits, verify_hits};
pub use katz::{Katz, KatzConfig, katz, spot_check_katz, verify_katz};
pub use kcore::{
    Coreness, coreness, spot_check_coreness, spot_check_kcore, verify_coreness, verify_kcore,
};
pub use label_propagation::{
    LabelPropagation, LabelPropagationConfig, label_propagation, spot_check_label_propagation,
    verify_label_propagation,
};
pub use lcc::{Lcc, lcc, spot_check_lcc, verify_lcc};
pub use leiden::{LeidenConfig, leiden, spot_check_leiden, verify_leiden};
pub use louvain::{LouvainConfig, louvain, spot_check_louvain, verify_louvain};
pub use modularity::{
    Modularity, ModularityConfig, modularity, spot_check_modularity, verify_modularity,
};
pub use one_core::kcore;
pub use one_hop::{one_hop, one_hop_sample, one_hop_sum, spot_check_one_hop, verify_one_hop};
pub use pagerank::{
    PageRank, PageRankConfig, pagerank, pagerank_from, spot_check_pagerank, verify_pagerank,
};
pub use path::{Path, shortest_path, shortest_weighted_path, verify_path, verify_weighted_path};
pub use personalized_pagerank::{
    PersonalizedPageRankConfig, personalized_pagerank, spot_check_personalized_pagerank,
    verify_personalized_pagerank,
};
pub use radii::{Radii, RadiiConfig, radii, spot_check_radii, verify_radii};
pub use scc::{Scc, SccConfig, scc, spot_check_scc, verify_scc};
pub use similarity::{
    Similarity, most_similar, similarity, spot_check_most_similar, spot_check_similarity,
    verify_most_similar, verify_similarity,
};
pub use spanning_forest::{
    SpanningForest, spanning_forest, spot_check_spanning_forest, verify_spanning_forest,
};
pub use ssnp::{Ssnp, spot_check_ssnp, ssnp, verify_ssnp};
pub use sssp::{Sssp, SsspConfig, spot_check_sssp, sssp, verify_sssp};
pub use sswp::{Sswp, spot_check_sswp, sswp, verify_sswp};
pub use topological_order::{
    NO_LEVEL, TopologicalOrder, spot_check_topological_order, topological_order,
    verify_topological_order,
};
pub use triangles::{Triangles, spot_check_triangles, triangles, verify_triangles};
pub use two_hop::{spot_check_two_hop, two_hop, two_hop_count, two_hop_sum, verify_two_hop};
pub use viterbi::{Viterbi, spot_check_viterbi, verify_viterbi, viterbi};
pub use wcc::{NO_COMPONENT, Wcc, spot_check_wcc, verify_wcc, wcc};
