//! A word where a mapped file fails: there is no call that could return an error.
#![expect(unsafe_code, reason = "a handler of a signal")]

use anyhow::{Context, Result};
use signal_hook::consts::SIGBUS;
use signal_hook::low_level;

const FAILED: &str = "everedge: a file that is in use can neither be read nor written any more (SIGBUS): its disk failed, \
    or somebody made it shorter; what was acknowledged is as durable as before, so look at the disk and then open \
    the graph again\n";

/// Says so before the process ends, from now on.
pub(crate) fn explain() -> Result<()> {
    let end = || {
        let _is_said = rustix::io::write(rustix::stdio::stderr(), FAILED.as_bytes());
        low_level::exit(1);
    };
    // SAFETY: two system calls, neither of which takes a lock or memory.
    unsafe { low_level::register(SIGBUS, end) }.context("cannot prepare for a disk that fails")?;
    Ok(())
}
