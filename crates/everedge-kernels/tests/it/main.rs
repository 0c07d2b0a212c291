//! Every kernel on small graphs of every kind: it verifies, and equals its naive twin.

mod bc;
mod bfs;
mod graphs;
mod homes;
mod one_hop;
mod pagerank;
mod ssnp;
mod sssp;
mod sswp;
mod two_hop;
mod viterbi;
mod wcc;
