//! Large arrays: huge pages for what is read at random, filling by several threads, loading ahead, and memory that
//! goes back to the system.
//!
//! A page of 4 KiB covers so little that every read at random of an array of many megabytes looks
//! up its address in memory too. The kernel gives pages of 2 MiB where it is asked for them before
//! the first store, so an array asks when it is made.
#![expect(
    unsafe_code,
    reason = "advice on memory, prefetching, an array that several threads fill, and a C library's setting"
)]

use std::mem::size_of_val;

use bytemuck::Zeroable;

use crate::par;

/// The size and alignment of a huge page on x86-64, and the usual one elsewhere.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Returns an empty vector with room for `len` items, in huge pages where they fit.
pub(crate) fn with_room<T>(len: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(len);
    ask_for_huge_pages(items.spare_capacity_mut());
    items
}

/// Returns `f` of each index below `len`, in pieces of `grain`, in huge pages where they fit. If a piece
/// unwinds, what others made is not dropped.
pub(crate) fn collect<T: Send>(
    len: usize,
    grain: usize,
    f: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
    let mut items = with_room(len);
    par::map_chunks_mut(&mut items.spare_capacity_mut()[..len], grain, |first, places| {
        for (index, place) in (first..).zip(places) {
            place.write(f(index));
        }
    });
    // SAFETY: there is room for so many, and the loop has ended without a panic: each was written.
    unsafe { items.set_len(len) };
    items
}

/// Returns `len` zeros, in huge pages where they fit; pages that nothing is stored to take no memory.
pub fn zeros<T: Zeroable>(len: usize) -> Vec<T> {
    // The system gives pages of zeros, which nobody has to fill.
    let mut items = bytemuck::zeroed_vec(len);
    ask_for_huge_pages(&mut items);
    items
}

/// Asks for huge pages where `items` covers them whole. An answer is not needed: small pages serve
/// as well.
fn ask_for_huge_pages<T>(items: &mut [T]) {
    let bytes = size_of_val(items);
    let start = items.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(HUGE_PAGE_BYTES);
    let len = bytes.saturating_sub(skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    #[cfg(target_os = "linux")]
    if len > 0 {
        use rustix::mm::{Advice, madvise};
        // SAFETY: the range lies in `items`, which is borrowed, and whole pages of it are named;
        // this advice changes no byte.
        let _ = unsafe { madvise(start.add(skipped).cast(), len, Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = len;
}

/// Has arrays of a megabyte or more go back to the system when they are dropped, in the whole process.
///
/// The C library of GNU keeps them otherwise, once it has seen a few, in case others follow: then a process takes
/// more than its arrays, and no budget can be kept.
pub fn return_arrays() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it changes where blocks are put that are asked for later.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
}

/// Starts loading the first cache line of `items`, if there are any.
#[inline]
pub fn prefetch<T>(items: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(first) = items.first() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect but on the cache, and the address is of an item.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(first).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = items;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_every_length_hold_what_is_put_in() {
        for len in [0, 1, 1000, HUGE_PAGE_BYTES / 4, HUGE_PAGE_BYTES + 5] {
            let mut items = with_room::<u64>(len);
            assert!(items.is_empty() && items.capacity() >= len);
            items.extend(0..len as u64);
            assert_eq!(items.last().copied(), (len as u64).checked_sub(1));
            prefetch(&items);
            assert!(zeros::<u32>(len).iter().all(|&zero| zero == 0));
        }
        ask_for_huge_pages::<()>(&mut [(); 10]);
    }
}
