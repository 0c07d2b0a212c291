//! Commit and archiving of the `pma` layout.

mod calls;
mod core;
mod live;
mod phases;

pub(crate) use self::core::{Core, Layout, Pace};
pub(crate) use self::live::Live;
