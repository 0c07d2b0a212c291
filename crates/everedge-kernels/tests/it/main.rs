//! Every kernel on small graphs of every kind: it verifies, and equals its naive twin.

mod bc;
mod bfs;
mod biconnected;
mod cdlp;
mod delta_pagerank;
#[path = "../../examples/own_kernel.rs"]
mod example;
mod failing_reads;
mod graphs;
mod homes;
mod kcore;
mod label_propagation;
mod lcc;
mod louvain;
mod modularity;
mod one_hop;
mod own_kernel;
mod pagerank;
mod radii;
mod scc;
mod similarity;
mod spanning_forest;
mod spot_checks;
mod ssnp;
mod sssp;
mod sswp;
mod triangles;
mod two_hop;
mod viterbi;
mod wcc;
