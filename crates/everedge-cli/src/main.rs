//! The everedge command line.

fn main() {}
