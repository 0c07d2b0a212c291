//! Tests of sealed graphs from outside.

mod build;
mod equal;
mod failing;
