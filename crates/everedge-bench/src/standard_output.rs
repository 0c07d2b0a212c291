//! Standard output, or an error where there is none.
//!
//! Before `main` Rust opens `/dev/null` in the place of a closed descriptor, and what goes to one that takes no writes counts as
//! written. So a program cannot tell by then that its answer goes nowhere. This looks before.
#![expect(unsafe_code, reason = "a function that runs before main")]

use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{OFlags, fcntl_getfl};

/// Whether the program began with a standard output that takes writes.
static TAKES_WRITES: AtomicBool = AtomicBool::new(true);

// SAFETY: the loader calls what stands in this section, once and before `main`; `look` is of the type that it calls.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// One system call: nothing of the standard library is ready yet.
extern "C" fn look() {
    let flags = fcntl_getfl(rustix::stdio::stdout());
    let takes_writes = flags.is_ok_and(|flags| flags & OFlags::RWMODE != OFlags::RDONLY);
    TAKES_WRITES.store(takes_writes, Relaxed);
}

/// Returns standard output.
///
/// # Errors
/// If it was closed, or open for reading alone, when the program began.
pub fn standard_output() -> io::Result<Stdout> {
    match TAKES_WRITES.load(Relaxed) {
        true => Ok(io::stdout()),
        false => Err(io::Error::other("it is not open for writing")),
    }
}
