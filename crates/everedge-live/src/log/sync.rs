//! The atomics and fences of the window of lines, which its model replaces.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
pub(super) use std::thread::yield_now;

use std::sync::atomic::{AtomicBool, compiler_fence, fence};
use std::sync::{LazyLock, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{MembarrierCommand, membarrier};

/// Whether the system lets one thread have all others of this process take a fence, which a forked child
/// inherits.
static HAD_FENCE_OF_ALL: LazyLock<bool> =
    LazyLock::new(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok());
/// Whether that is still so.
static HAS_FENCE_OF_ALL: LazyLock<AtomicBool> = LazyLock::new(|| (*HAD_FENCE_OF_ALL).into());
/// When it was found that the process has forbidden itself the call since.
static FORBIDDEN: OnceLock<Instant> = OnceLock::new();
/// Longer than any store waits until others see it.
const UNTIL_SEEN: Duration = Duration::from_millis(1);

/// Of two threads, one of which has this fence between a store and a load, and the other
/// [`fence_of_all`], one loads what the other has stored. It costs nothing where the other can bear both.
#[inline]
pub(super) fn fence_of_writer() {
    match HAS_FENCE_OF_ALL.load(Ordering::Relaxed) {
        true => compiler_fence(Ordering::SeqCst),
        false => fence(Ordering::SeqCst),
    }
}

/// The other half of [`fence_of_writer`].
pub(super) fn fence_of_all() {
    fence(Ordering::SeqCst);
    let has_it = HAS_FENCE_OF_ALL.load(Ordering::Acquire);
    if has_it && membarrier(MembarrierCommand::PrivateExpedited).is_err() {
        HAS_FENCE_OF_ALL.store(false, Ordering::Release);
        FORBIDDEN.get_or_init(Instant::now);
    }
    // Writers relied on it until then.
    if *HAD_FENCE_OF_ALL && !HAS_FENCE_OF_ALL.load(Ordering::Acquire) {
        let since = FORBIDDEN.get().map_or(Duration::ZERO, Instant::elapsed);
        thread::sleep(UNTIL_SEEN.saturating_sub(since));
    }
}
