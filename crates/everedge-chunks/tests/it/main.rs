//! Tests of sealed graphs from outside.

mod equal;
