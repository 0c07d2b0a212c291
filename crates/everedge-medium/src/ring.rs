//! Reads that the kernel does many at a time, by io_uring.
//!
//! # Invariants
//! R1. The job of a read is in its slot from before the kernel is given the read until its completion
//!     is taken. So its descriptor stays open, its list of parts stays where it is, and its frames
//!     stay claimed, which are the parts.
//! R2. Whoever adds submissions holds `submissions`, and lets go of it when the kernel has taken them
//!     all, or takes none any more. Of these nobody tells the kernel again.
//! R3. One thread takes completions: that of [`Ring::serve`].
//! R4. There are as many slots as reads may be under way, and at least as many places for submissions
//!     and, with one more for the end, for completions.
#![expect(unsafe_code, reason = "the kernel writes to memory that reads name until they are done")]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use io_uring::{EnterFlags, IoUring, Probe, opcode, squeue, types};
use rustix::io::Errno;

use super::lock;
use super::reads::Job;

/// The number of the submission that ends the thread.
const END: u64 = u64::MAX;
/// How long a thread waits when the kernel has no memory for what it is asked for.
const PAUSE: Duration = Duration::from_micros(100);

/// Rings of submissions and completions, and the reads that the kernel has.
pub(super) struct Ring {
    uring: IoUring,
    /// Is held while submissions are added and handed to the kernel.
    submissions: Mutex<()>,
    slots: Mutex<Slots>,
    /// Whether the kernel takes no submissions any more.
    is_broken: AtomicBool,
}

/// The reads that the kernel has, by the number of their submission.
struct Slots {
    reads: Vec<Option<Read>>,
    free: Vec<usize>,
}

struct Read {
    job: Job,
    /// Points to the frames of the job.
    parts: Vec<libc::iovec>,
}

// SAFETY: the pointers are to frames that the job, which is `Send`, has claimed.
unsafe impl Send for Read {}

impl Ring {
    /// Asks the kernel for a ring in which so many reads may be under way.
    ///
    /// # Errors
    /// If the kernel has none, gives none to this process, or has none that reads into parts.
    pub(super) fn new(depth: u32) -> io::Result<Ring> {
        let uring = IoUring::builder().dontfork().build(depth)?;
        let mut probe = Probe::new();
        uring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Readv::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let reads = (0..depth).map(|_| None).collect();
        let slots = Mutex::new(Slots { reads, free: (0..depth as usize).collect() });
        Ok(Ring { uring, submissions: Mutex::new(()), slots, is_broken: AtomicBool::new(false) })
    }

    /// Hands reads to the kernel. Returns those that it does not take.
    pub(super) fn start(&self, jobs: Vec<Job>) -> Vec<Job> {
        let _submitting = lock(&self.submissions);
        if self.is_broken.load(Ordering::Relaxed) {
            return jobs;
        }
        let numbers: Vec<usize> = jobs.into_iter().map(|job| self.add(job)).collect();
        let left_count = self.submit();
        // The kernel takes them in their order, and never sees the others (R2).
        let left = &numbers[numbers.len() - left_count..];
        left.iter().filter_map(|&number| self.take(number)).collect()
    }

    /// Has [`serve`](Self::serve) return when all reads are done. Returns whether it will.
    pub(super) fn end(&self) -> bool {
        let _submitting = lock(&self.submissions);
        if self.is_broken.load(Ordering::Relaxed) {
            return false;
        }
        // SAFETY: it names no memory.
        unsafe { self.push(&opcode::Nop::new().build().user_data(END)) };
        self.submit() == 0
    }

    /// Has it take no more reads, as a kernel that refuses them.
    #[cfg(test)]
    pub(super) fn break_off(&self) {
        let _submitting = lock(&self.submissions);
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// Hands each read that is done to `finish`, with how many bytes were read.
    pub(super) fn serve(&self, mut finish: impl FnMut(Job, Result<usize, Errno>)) {
        let mut is_ending = false;
        while !is_ending || !lock(&self.slots).is_empty() {
            // SAFETY: no other thread takes completions (R3).
            let completions = unsafe { self.uring.completion_shared() };
            let completions: Vec<_> = completions.map(|c| (c.user_data(), c.result())).collect();
            if completions.is_empty() {
                self.wait();
            }
            for (number, outcome) in completions {
                is_ending |= number == END;
                if let Some(job) = self.take(number as usize) {
                    let read = usize::try_from(outcome);
                    finish(job, read.map_err(|_| Errno::from_raw_os_error(-outcome)));
                }
            }
        }
    }

    /// Waits for a completion, and mostly returns when there is one.
    fn wait(&self) {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: it submits nothing, and has no argument.
        let entered = unsafe { self.uring.submitter().enter::<()>(0, 1, flags, None) };
        if entered.is_err() {
            // A signal, or no memory: what is done is in the ring all the same.
            thread::sleep(PAUSE);
        }
    }

    /// Adds the submission of a read, whose slot it returns.
    fn add(&self, job: Job) -> usize {
        let mut slots = lock(&self.slots);
        let number = slots.free.pop().expect("a slot for each read under way (R4)");
        let read = slots.reads[number].insert(Read { job, parts: Vec::new() });
        read.parts = read.job.parts().map(part).collect();
        let fd = read.job.descriptor().expect("a file in memory is not read by the kernel");
        let (fd, count) = (types::Fd(fd.as_raw_fd()), read.parts.len() as u32);
        let readv = opcode::Readv::new(fd, read.parts.as_ptr(), count).offset(read.job.offset());
        // SAFETY: descriptor, list and frames stay until the completion is taken (R1).
        unsafe { self.push(&readv.build().user_data(number as u64)) };
        number
    }

    /// Adds a submission.
    ///
    /// # Safety
    /// The caller holds `submissions` (R2), and what it names stays until its completion is taken (R1).
    unsafe fn push(&self, entry: &squeue::Entry) {
        // SAFETY: nobody else has the queue: the caller holds `submissions`.
        let mut queue = unsafe { self.uring.submission_shared() };
        // SAFETY: the caller vouches for what it names.
        unsafe { queue.push(entry) }.expect("a place for each read under way (R4)");
    }

    /// Hands all submissions to the kernel. Returns how many it has not taken if it takes no more.
    fn submit(&self) -> usize {
        loop {
            let submitted = self.uring.submit();
            // SAFETY: nobody else has the queue: the caller holds `submissions` (R2).
            let left_count = unsafe { self.uring.submission_shared() }.len();
            match submitted.map_err(|e| Errno::from_io_error(&e)) {
                _ if left_count == 0 => return 0,
                Ok(_) => {}
                Err(Some(Errno::INTR | Errno::AGAIN | Errno::BUSY)) => thread::sleep(PAUSE),
                Err(_) => {
                    self.is_broken.store(true, Ordering::Relaxed);
                    return left_count;
                }
            }
        }
    }

    /// Takes a read that is done, or that the kernel has not taken.
    fn take(&self, number: usize) -> Option<Job> {
        let mut slots = lock(&self.slots);
        let read = slots.reads.get_mut(number)?.take()?;
        slots.free.push(number);
        Some(read.job)
    }
}

impl Slots {
    fn is_empty(&self) -> bool {
        self.free.len() == self.reads.len()
    }
}

fn part(bytes: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}
