//! Tests of the command line as a process.

mod hostile;
mod reference;
