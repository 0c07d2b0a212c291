//! Names the process, so that a forked child does not write what its parent has open.
//!
//! A page that the kernel empties in a forked child holds the name: to compare it costs a load, not a
//! system call.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::map::Map;

/// Returns a number that no other process has had, its parents included.
#[inline]
pub(super) fn current() -> u64 {
    static PAGE: OnceLock<Option<Map>> = OnceLock::new();
    let page = PAGE.get_or_init(|| Map::wiped_on_fork().ok());
    // A kernel older than 4.14 has no such pages: the number of the process serves as well.
    let Some(page) = page else { return std::process::id().into() };
    let word = &page.double_words(0, 1)[0];
    match word.load(Ordering::Relaxed) {
        0 => name(word),
        name => name,
    }
}

/// Names this process.
#[cold]
fn name(word: &AtomicU64) -> u64 {
    let fresh = uuid::Uuid::new_v4().as_u64_pair().0;
    word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed)
        .map_or_else(|name| name, |_| fresh)
}
