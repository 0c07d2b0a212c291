//! The tests of the storage crate that need only its public face.

mod adjacency_crash;
mod adjacency_parts;
mod battery;
mod damage;
mod explorer;
mod full;
mod kept;
mod live;
mod medium;
mod merging;
mod model;
mod naive;
mod pma_crash;
mod pma_full;
mod rounds;
mod segment;
mod soak;
mod sub_graphs;
