//! The tests of the storage crate that need only its public face.

mod adjacency_crash;
mod adjacency_parts;
mod battery;
mod damage;
mod disk;
mod explorer;
mod forked;
mod full;
mod going_on;
mod limits;
mod live;
mod log_crash;
mod medium;
mod merging;
mod model;
mod naive;
mod options;
mod pma_crash;
mod pma_full;
mod real_disk;
mod rounds;
mod soak;
mod streams;
mod sub_graphs;
mod unwinding;
mod writers_crash;
