//! The tests of the storage crate that need only its public face.

mod battery;
mod explorer;
mod medium;
mod model;
