//! How anything is measured: many times, each time in a process of its own, in configurations that
//! take turns.
//!
//! `configuration` says what can be varied, `task` what one process is to do, `process` starts it,
//! `place` is where its graph lies, `figures` makes medians of what processes print, `table` shows
//! them.

mod configuration;
pub(crate) mod figures;
mod place;
pub(crate) mod process;
mod sealed;
pub(crate) mod table;
mod task;

pub(crate) use configuration::{BATCH, Common, Configuration, Lists};
pub(crate) use sealed::{Ask, Levels, Sealed, Step};
pub(crate) use task::{Case, End, History, Kept, Plan, Stream, Task, Way, Work};
