//! Tests of the command line as a process.

mod demo;
mod hostile;
mod kill;
mod reference;
