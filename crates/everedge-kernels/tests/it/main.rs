//! Every kernel on small graphs of every kind: it verifies, and equals its naive twin.

mod bfs;
mod cdlp;
mod graphs;
mod homes;
mod lcc;
mod one_hop;
mod pagerank;
mod sssp;
mod triangles;
mod wcc;
