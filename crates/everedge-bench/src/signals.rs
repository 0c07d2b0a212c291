//! Signals that ask for the end of a command.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What a shell adds to the number of a signal that has ended a program.
const KILLED: i32 = 128;

/// Returns what Ctrl-C and SIGTERM set from now on; the second one ends the process.
///
/// # Errors
/// If the system refuses the handler.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::default();
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, KILLED + signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
