//! Tests of the timeline against a graph that is kept as a list of edges.

mod evolution;
mod model;
mod versions;
mod windows;
