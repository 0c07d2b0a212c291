//! Every kernel on small graphs of every kind: it verifies, and equals its naive twin.

mod bc;
mod bfs;
mod bipartition;
mod cdlp;
mod closeness;
mod delta_pagerank;
mod eigenvector;
#[path = "../../examples/own_kernel.rs"]
mod example;
mod failing_reads;
mod graphs;
mod hits;
mod homes;
mod katz;
mod kcore;
mod lcc;
mod one_hop;
mod own_kernel;
mod pagerank;
mod path;
mod personalized_pagerank;
mod radii;
mod scc;
mod spot_checks;
mod ssnp;
mod sssp;
mod sswp;
mod topological_order;
mod triangles;
mod two_hop;
mod viterbi;
mod wcc;
