//! What a person or a program sees, as in measurements.

pub(crate) use everedge_bench::{Output, bytes, complain, count, seconds};
