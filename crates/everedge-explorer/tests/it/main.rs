//! The tests of the storage crate that need only its public face.

mod adjacency_crash;
mod adjacency_parts;
mod battery;
mod damage;
mod disk;
mod explorer;
mod full;
mod kept;
mod limits;
mod live;
mod log_crash;
mod medium;
mod merging;
mod model;
mod naive;
mod pma_crash;
mod real_disk;
mod rounds;
mod segment;
mod soak;
mod streams;
mod sub_graphs;
