//! The plain CSR beside a naive model of the same graph.

mod csr;
mod model;
