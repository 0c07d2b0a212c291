//! The plain CSR beside a naive model of the same graph, and loops on threads of several nodes.

mod csr;
mod homes;
mod model;
