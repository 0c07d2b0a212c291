//! Reads of pieces of files into frames, many at once.
//!
//! Source: Haas and Leis, "What Modern NVMe Storage Can Do, And How To Exploit It", PVLDB 16(9), 2023:
//! a device is read at its full rate only if many reads are under way, more than threads that wait for
//! one each can ask for. Differences: one ring for all threads, with one thread that takes completions.
//!
//! # Concurrency
//! Any thread starts reads. By io_uring it hands them to the kernel itself, and the thread
//! `everedge-reads` ends them. Elsewhere up to 32 threads read one after the other. The thread that
//! ends a read checks its pieces, publishes their frames and then counts the read as done, which wakes
//! whoever waits. Whoever waits looks at the number of completions before it looks at what it waits
//! for, so it misses none.
//!
//! # Forks
//! A forked child has none of these threads. It reads in the thread that starts a read, and refuses to
//! wait for what its parent was reading when it was forked.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::direct::DirectFile;
use super::frames::Claimed;
use super::process;
use super::ring::Ring;
use super::stream::ends_early;
use crate::{Error, Result};

const DEPTH_MAX: u32 = 4096;
const THREADS_MAX: u32 = 32;
/// The most parts that the kernel takes for one read.
const PARTS_MAX: usize = 1024;

/// How a queue reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadQueueOptions {
    /// How many reads may be under way at most, from 1 to 4,096.
    pub depth: u32,
    /// Whether the queue may use io_uring.
    pub uring: bool,
}

impl Default for ReadQueueOptions {
    fn default() -> Self {
        Self { depth: 64, uring: true }
    }
}

/// What reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadWay {
    /// The kernel, by io_uring.
    Uring,
    /// Threads that wait for a read each.
    Threads,
}

/// What a queue has read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// How many reads were started.
    pub reads: u64,
    /// How many bytes of files they were to read.
    pub read_bytes: u64,
    /// How many pieces were published.
    pub pieces: u64,
    /// How many reads were under way at once, at most.
    pub under_way_max: u32,
}

/// Is called with each piece and the bytes of its frame once they are read, before the piece is found:
/// for its checksum. It may change the bytes, and starts no reads.
pub type PieceCheck = dyn Fn(u32, &mut [u8]) -> Result<()> + Send + Sync;

/// Asks for consecutive pieces of a file, each as long as a frame. The last piece of the file may be shorter;
/// the rest of its frame is filled with zeros.
pub struct ReadRequest {
    /// The file.
    pub file: DirectFile,
    /// Where the first piece begins, in bytes. Reads go past the kernel's cache if it is a multiple of
    /// 4,096.
    pub offset: u64,
    /// The frames in the order of the file, each with the piece that it will hold.
    pub frames: Vec<(Claimed, u32)>,
    /// Checks each piece.
    pub check: Arc<PieceCheck>,
}

/// Reads pieces of files into frames, many at once.
pub struct ReadQueue {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
}

impl ReadQueue {
    /// Makes a queue, which reads by io_uring if it may and the kernel has it, and else by threads.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the depth is out of range; [`Error::Io`] if no thread can be started.
    pub fn new(options: &ReadQueueOptions) -> Result<Arc<ReadQueue>> {
        let depth = options.depth;
        if !(1..=DEPTH_MAX).contains(&depth) {
            let what = format!("{depth} reads at once are not from 1 to {DEPTH_MAX}");
            return Err(Error::invalid(what));
        }
        let ring = options.uring.then(|| Ring::new(depth).ok()).flatten();
        let thread_count = if ring.is_some() { 1 } else { depth.min(THREADS_MAX) };
        let way =
            ring.map_or_else(|| Way::Threads(Pool::default()), |ring| Way::Ring(Box::new(ring)));
        let (here, forked) = (Progress::default(), Progress::default());
        let core = Arc::new(Core { depth, way, process: process::current(), here, forked });
        let mut queue = ReadQueue { core, threads: Vec::new() };
        for _ in 0..thread_count {
            let core = queue.core.clone();
            let thread = thread::Builder::new().name("everedge-reads".into());
            match thread.spawn(move || core.serve()) {
                Ok(thread) => queue.threads.push(thread),
                // Fewer threads read as well.
                Err(_) if !queue.threads.is_empty() => break,
                Err(source) => {
                    let (path, operation) = (Path::new("everedge-reads").into(), "start thread");
                    return Err(Error::Io { path, operation, source });
                }
            }
        }
        Ok(Arc::new(queue))
    }

    /// Starts reads and returns. If as many are under way as may be, it waits until there is room. A
    /// request of several frames is one read.
    ///
    /// What fails, here or later, is kept for whoever waits. The frames of a read that has failed are empty;
    /// if a check has failed, only the frame of its piece is.
    ///
    /// # Panics
    /// If frames of one request differ in size.
    pub fn start(&self, requests: Vec<ReadRequest>) {
        let core = &*self.core;
        let mut jobs = Vec::new();
        for mut job in requests.into_iter().flat_map(Job::of) {
            let begun = job.begin();
            if begun.is_ok() && !job.file.is_in_memory() && !core.is_forked() {
                jobs.push(job);
                continue;
            }
            core.take_room(1);
            let read = begun.and_then(|()| job.read_rest(0));
            core.finish(job, read);
        }
        let mut jobs = jobs.into_iter();
        while jobs.len() > 0 {
            let count = core.take_room(jobs.len());
            core.start(jobs.by_ref().take(count).collect());
        }
    }

    /// Waits until `is_there` returns true; it is asked again after each completion and each
    /// [`wake`](Self::wake).
    ///
    /// # Errors
    /// The first error of a read, until somebody [takes](Self::take_error) it: everybody who waits gets it.
    /// [`Error::InvalidInput`] in a forked child, if its parent was reading when it was forked.
    pub fn wait_until(&self, is_there: impl FnMut() -> bool) -> Result<()> {
        self.wait(is_there, |state| state.error.as_ref().map_or(Ok(()), |error| Err(error.same())))
    }

    fn wait(
        &self,
        mut is_there: impl FnMut() -> bool,
        check: impl Fn(&State) -> Result<()>,
    ) -> Result<()> {
        let progress = self.core.progress();
        let mut seen_count = progress.state.lock().done_count;
        loop {
            let is_there = is_there();
            let mut state = progress.state.lock();
            check(&state)?;
            if is_there {
                return Ok(());
            }
            while state.done_count == seen_count {
                if state.under_way == 0 && self.core.is_lost() {
                    return Err(Error::invalid(
                        "this process was forked while the graph was being read; open it here",
                    ));
                }
                progress.done.wait(&mut state);
            }
            seen_count = state.done_count;
        }
    }

    /// Waits like [`wait_until`](Self::wait_until), whatever reads have failed: who waits sees that its own frame
    /// is empty.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] in a forked child, if its parent was reading when it was forked.
    pub fn wait_whatever_fails(&self, is_there: impl FnMut() -> bool) -> Result<()> {
        self.wait(is_there, |_| Ok(()))
    }

    /// Returns whether this process was forked from the one that made the queue.
    pub fn is_forked(&self) -> bool {
        self.core.is_forked()
    }

    /// Has all who wait ask again: after something that they wait for has changed without a read.
    pub fn wake(&self) {
        let progress = self.core.progress();
        progress.state.lock().done_count += 1;
        progress.done.notify_all();
    }

    /// Takes the first error of a read.
    pub fn take_error(&self) -> Option<Error> {
        self.core.progress().state.lock().error.take()
    }

    /// Returns what reads.
    pub fn way(&self) -> ReadWay {
        match self.core.way {
            Way::Ring(_) => ReadWay::Uring,
            Way::Threads(_) => ReadWay::Threads,
        }
    }

    /// Returns what was read so far.
    pub fn counts(&self) -> ReadCounts {
        self.core.progress().state.lock().counts
    }
}

impl Drop for ReadQueue {
    /// Waits until reads under way are done: their frames are being written.
    fn drop(&mut self) {
        let threads = mem::take(&mut self.threads);
        if self.core.is_forked() {
            // The threads are the parent's.
            return mem::forget(threads);
        }
        let will_end = match &self.core.way {
            Way::Ring(ring) => ring.end(),
            Way::Threads(pool) => pool.end(),
        };
        let own = thread::current().id();
        // One of the threads may have held the queue last: it ends by itself.
        for thread in threads.into_iter().filter(|thread| will_end && thread.thread().id() != own) {
            thread.join().expect("a thread that reads does not panic");
        }
    }
}

/// What the queue shares with its threads.
struct Core {
    depth: u32,
    way: Way,
    /// The process that made the queue.
    process: u64,
    here: Progress,
    /// What a forked child has read: another thread of the parent may have had the lock of `here`.
    forked: Progress,
}

enum Way {
    Ring(Box<Ring>),
    Threads(Pool),
}

#[derive(Default)]
struct Progress {
    state: Mutex<State>,
    /// Is notified of every completion.
    done: Condvar,
    /// Is notified when there is room for some reads.
    room: Condvar,
}

#[derive(Default)]
struct State {
    under_way: u32,
    /// How many reads are done, and how often who waits was woken besides.
    done_count: u64,
    /// The first error, until it is taken.
    error: Option<Error>,
    counts: ReadCounts,
}

impl Core {
    fn is_forked(&self) -> bool {
        process::current() != self.process
    }

    fn progress(&self) -> &Progress {
        if self.is_forked() { &self.forked } else { &self.here }
    }

    /// Returns whether what is waited for may be what the parent was reading.
    fn is_lost(&self) -> bool {
        self.is_forked() && self.here.state.try_lock().is_none_or(|state| state.under_way > 0)
    }

    /// Takes room for some reads, at most `wanted`. If there is none, it waits for a quarter of all,
    /// which are then handed to the kernel in one call.
    fn take_room(&self, wanted: usize) -> usize {
        let progress = self.progress();
        let mut state = progress.state.lock();
        if state.under_way == self.depth {
            while self.depth - state.under_way < self.quarter() {
                progress.room.wait(&mut state);
            }
        }
        let count = (self.depth - state.under_way).min(u32::try_from(wanted).unwrap_or(u32::MAX));
        state.under_way += count;
        state.counts.reads += u64::from(count);
        state.counts.under_way_max = state.counts.under_way_max.max(state.under_way);
        count as usize
    }

    fn quarter(&self) -> u32 {
        (self.depth / 4).max(1)
    }

    fn start(&self, jobs: Vec<Job>) {
        match &self.way {
            Way::Threads(pool) => pool.start(jobs),
            Way::Ring(ring) => {
                for mut job in ring.start(jobs) {
                    let read = job.read_rest(0);
                    self.finish(job, read);
                }
            }
        }
    }

    /// Ends reads until the queue ends.
    fn serve(&self) {
        match &self.way {
            Way::Ring(ring) => ring.serve(|mut job, read| {
                let read = job.complete(read);
                self.finish(job, read);
            }),
            Way::Threads(pool) => {
                while let Some(mut job) = pool.next() {
                    let read = job.read_rest(0);
                    self.finish(job, read);
                }
            }
        }
    }

    /// Publishes what was read, and counts the read as done. Who sees a frame emptied by an error sees
    /// the error.
    fn finish(&self, job: Job, read: Result<()>) {
        let progress = self.progress();
        let keep = |error| {
            let mut state = progress.state.lock();
            state.error = state.error.take().or(Some(error));
        };
        let read_bytes = job.len() as u64;
        let pieces = match read {
            Ok(()) => job.publish(keep),
            Err(error) => {
                keep(error);
                drop(job);
                0
            }
        };
        let mut state = progress.state.lock();
        state.under_way -= 1;
        state.done_count += 1;
        state.counts.pieces += pieces;
        state.counts.read_bytes += read_bytes;
        let has_room = self.depth - state.under_way == self.quarter();
        drop(state);
        progress.done.notify_all();
        if has_room {
            progress.room.notify_all();
        }
    }
}

/// One read.
pub(super) struct Job {
    file: DirectFile,
    offset: u64,
    frames: Vec<(Claimed, u32)>,
    check: Arc<PieceCheck>,
}

impl Job {
    /// Makes one job of a request, or several if the kernel takes fewer parts.
    fn of(request: ReadRequest) -> Vec<Job> {
        let ReadRequest { file, mut offset, frames, check } = request;
        let mut jobs = Vec::new();
        let mut frames = frames.into_iter();
        while frames.len() > 0 {
            let frames: Vec<_> = frames.by_ref().take(PARTS_MAX).collect();
            let job = Job { file: file.clone(), offset, frames, check: check.clone() };
            offset += job.frames_bytes() as u64;
            jobs.push(job);
        }
        jobs
    }

    fn frame_bytes(&self) -> usize {
        self.frames[0].0.frame_bytes()
    }

    fn frames_bytes(&self) -> usize {
        self.frames.len() * self.frame_bytes()
    }

    /// Returns how many bytes are to be read.
    fn len(&self) -> usize {
        let left = self.file.len().saturating_sub(self.offset);
        left.min(self.frames_bytes() as u64) as usize
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.descriptor(self.offset, 0)
    }

    /// Returns the bytes of each frame.
    pub(super) fn parts(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.frames.iter_mut().map(|(claimed, _)| claimed.bytes_mut())
    }

    /// Fails where a recorder was told to, and if a piece is not in the file.
    fn begin(&mut self) -> Result<()> {
        let frame_bytes = self.frame_bytes();
        let is_equal = self.frames.iter().all(|(claimed, _)| claimed.frame_bytes() == frame_bytes);
        assert!(is_equal, "frames of one request differ in size");
        self.file.next_read()?;
        let before_last = self.frames_bytes() - frame_bytes;
        match self.len() > before_last {
            true => Ok(()),
            false => Err(ends_early(self.file.path(), self.file.len(), frame_bytes)),
        }
    }

    /// Completes what the kernel has read.
    fn complete(&mut self, read: std::result::Result<usize, Errno>) -> Result<()> {
        match read {
            Ok(read_bytes) => self.read_rest(read_bytes),
            // A signal, no memory, a thread that has ended before its read was done, or a file system
            // that takes no direct reads.
            Err(Errno::INTR | Errno::AGAIN | Errno::CANCELED | Errno::FAULT | Errno::INVAL) => {
                self.read_rest(0)
            }
            Err(errno) => Err(self.file.error(self.offset, errno)),
        }
    }

    /// Reads in this thread what is not read yet.
    fn read_rest(&mut self, mut read_bytes: usize) -> Result<()> {
        let (file, offset, len) = (self.file.clone(), self.offset, self.len());
        while read_bytes < len {
            let mut parts: Vec<_> = self.parts().map(IoSliceMut::new).collect();
            let mut rest = &mut parts[..];
            IoSliceMut::advance_slices(&mut rest, read_bytes);
            let place = offset + read_bytes as u64;
            match file.read_parts(place, read_bytes, rest)? {
                0 => return Err(ends_early(file.path(), place, len - read_bytes)),
                more => read_bytes += more,
            }
        }
        Ok(())
    }

    /// Publishes the pieces that their check takes, and returns how many. The other frames are emptied
    /// after `keep` was called with the error.
    fn publish(mut self, keep: impl Fn(Error)) -> u64 {
        let (mut left, frame_bytes) = (self.len(), self.frame_bytes());
        let (mut offset, mut pieces) = (self.offset, 0);
        for (mut claimed, owner) in mem::take(&mut self.frames) {
            let bytes = claimed.bytes_mut();
            bytes[left.min(frame_bytes)..].fill(0);
            left -= left.min(frame_bytes);
            match self.check_piece(offset, owner, bytes) {
                Ok(()) => {
                    claimed.publish(owner);
                    pieces += 1;
                }
                Err(error) => keep(error),
            }
            offset += frame_bytes as u64;
        }
        pieces
    }

    /// Checks a piece. A check that panics is an error: others wait for the thread.
    fn check_piece(&self, offset: u64, owner: u32, bytes: &mut [u8]) -> Result<()> {
        let checked = catch_unwind(AssertUnwindSafe(|| (self.check)(owner, bytes)));
        checked.unwrap_or_else(|_| {
            let path = self.file.path().to_path_buf();
            let (what, found) = (format!("the check of piece {owner}"), "a panic".into());
            Err(Error::Corruption { path, offset, what, expected: "an answer".into(), found })
        })
    }
}

/// The reads that wait for a thread.
#[derive(Default)]
struct Pool {
    state: Mutex<PoolState>,
    /// Is notified of reads, and of the end.
    work: Condvar,
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    is_ending: bool,
}

impl Pool {
    fn start(&self, jobs: Vec<Job>) {
        let count = jobs.len();
        self.state.lock().jobs.extend(jobs);
        for _ in 0..count {
            self.work.notify_one();
        }
    }

    /// Waits for a read; returns none when the queue ends and all are taken.
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            match state.jobs.pop_front() {
                None if !state.is_ending => self.work.wait(&mut state),
                job => return job,
            }
        }
    }

    /// Has threads end when all reads are done.
    fn end(&self) -> bool {
        self.state.lock().is_ending = true;
        self.work.notify_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Frames, MediumKind, Volume, VolumeOptions};
    use super::*;

    const PAGE_BYTES: usize = 4096;

    /// A file of 20 pages, each filled with its number.
    fn file() -> (DirectFile, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&home.path().join("g"), options).unwrap();
        let bytes: Vec<u8> = (0..20).flat_map(|page| [page; PAGE_BYTES]).collect();
        volume.publish("f", &bytes).unwrap();
        (volume.open_direct("f").unwrap(), home)
    }

    fn request(
        file: &DirectFile,
        frames: &Arc<Frames>,
        pages: std::ops::Range<u32>,
    ) -> ReadRequest {
        let offset = u64::from(pages.start) * PAGE_BYTES as u64;
        let frames = pages.map(|page| (frames.claim(page).unwrap(), page)).collect();
        ReadRequest { file: file.clone(), offset, frames, check: Arc::new(|_, _| Ok(())) }
    }

    #[test]
    fn what_the_kernel_has_read_in_part_or_not_at_all_is_completed() {
        let (file, _home) = file();
        let frames = Frames::new(PAGE_BYTES, 20).unwrap();
        // The last would be whole, so nothing more is read.
        let whole = 6 * PAGE_BYTES;
        let parts = [0, 1, PAGE_BYTES, 3 * PAGE_BYTES - 1, whole - 512, whole].map(Ok);
        let errors = [Errno::INTR, Errno::AGAIN, Errno::CANCELED, Errno::FAULT, Errno::INVAL];
        for read in parts.into_iter().chain(errors.map(Err)) {
            let mut job = Job::of(request(&file, &frames, 5..11)).pop().unwrap();
            let bytes = job.parts().enumerate().flat_map(|(i, part)| {
                part.fill(5 + i as u8);
                part.iter_mut()
            });
            bytes.skip(read.unwrap_or(0)).for_each(|byte| *byte = 0xee);
            job.complete(read).unwrap();
            assert_eq!(job.publish(|error| panic!("{error}")), 6);
            for page in 5..11 {
                let pinned = frames.pin(page, page).expect("published");
                assert!(
                    pinned.iter().all(|&byte| byte == page as u8),
                    "page {page} after {read:?}"
                );
            }
        }
        let mut job = Job::of(request(&file, &frames, 5..11)).pop().unwrap();
        let error = job.complete(Err(Errno::IO)).unwrap_err().to_string();
        assert!(error.contains("g/f`") && error.contains("at offset 20480"), "{error}");
    }

    #[test]
    fn a_queue_goes_on_whose_ring_takes_no_more_reads() {
        let (file, _home) = file();
        let frames = Frames::new(PAGE_BYTES, 20).unwrap();
        let queue = ReadQueue::new(&ReadQueueOptions::default()).unwrap();
        let Way::Ring(ring) = &queue.core.way else {
            println!("this kernel gives no ring");
            return;
        };
        queue.start(vec![request(&file, &frames, 0..3)]);
        ring.break_off();
        queue.start(vec![request(&file, &frames, 3..4), request(&file, &frames, 4..9)]);
        let are_there = || (0..9).all(|page| frames.owner(page) == Some(page));
        queue.wait_until(are_there).unwrap();
        // Its thread stays: nothing ends it.
        drop(queue);
    }

    #[test]
    fn who_waits_gets_the_error_that_another_one_gets() {
        let io = std::io::Error::from_raw_os_error(5);
        let errors = [
            Error::Io { path: "f".into(), operation: "read", source: io },
            Error::invalid("what"),
            ends_early(Path::new("f"), 3, 7),
            Error::Forked,
        ];
        for error in errors {
            let same = error.same();
            assert_eq!(mem::discriminant(&same), mem::discriminant(&error));
            assert_eq!(same.to_string(), error.to_string());
        }
    }
}
