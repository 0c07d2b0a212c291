//! The cache of the pieces of one size: which piece is in which frame, and which goes when room is needed.
//!
//! Source: ChunkGraph §3.2 (a buffer for each level of chunks) and §3.4 (hotness). Differences: the cache
//! keeps a budget of its own, where the paper's prototype maps files and leaves them to the kernel; an index
//! page is a piece like a chunk.
//!
//! # Replacement
//! A frame has a *heat* that a hit raises up to 3 and the hand of a clock lowers; the hand takes a cold frame. The
//! first hit does not count: it is what the piece was read for.
//!
//! A pass over all vertices reads each piece once. Were its pieces as good as others, a pass over more than
//! the memory would drive out all that the next pass begins with. So pieces that a pass reads go through a
//! few frames of their own, the oldest first, once all frames are in use: the others stay, and each pass reads
//! what has no room and little more, as an optimal cache would. Meanwhile the hand goes on, so slowly that what each
//! pass reads stays hot; where it finds a cold frame, which no pass reads any more, that one changes places with the
//! oldest of the pass.
//!
//! # Trails
//! Whoever asks for pieces one by one waits for each. So a piece that was not there is read with those after
//! it, the more the longer pieces were asked for one after the other, as an operating system reads ahead.
//!
//! # Neighbors
//! A device reads sixteen neighboring pages in little more time than one. So while there are frames that were never
//! used, and enough of a file was read here and there that more of it will be wanted, a piece is read with those around
//! it: they take nobody's place, and are read once at most.
//!
//! # Invariants
//! - K1: `table` names the frame that a piece was last put into, or [`NOWHERE`], [`COMING`] or [`NEVER`]. It may
//!   be outdated: only a pin tells. No piece becomes [`NEVER`] again.
//! - K2: whoever claims a frame takes the piece that it held before out of the table.
//!
//! # Concurrency
//! Any thread calls anything. A hit takes no lock. Whoever needs a frame takes the lock of `replacement`,
//! and reads after it let go.
//!
//! # Errors
//! A read that fails leaves its frames empty, and says no more: it may have been for pieces that nobody needs. Whoever needs
//! one of them reads it alone, and gets its error, if it has one.
//!
//! # Forks
//! A forked child finds what was in frames and reads nothing: threads of its parent may have held the lock, or have
//! been about to read what the child would wait for.

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use everedge_core::par;
use everedge_medium::{
    Claimed, DirectFile, Error, Frames, PieceCheck, Pinned, ReadQueue, ReadRequest, Result,
};
use parking_lot::Mutex;

use crate::form::checked;

/// No frame has the piece.
const NOWHERE: u32 = u32::MAX;
/// A thread is about to claim a frame for it.
const COMING: u32 = u32::MAX - 1;
/// The heat of a piece that was not looked at since it was read.
const FRESH: u8 = u8::MAX;
/// No frame has it, nor ever had.
const NEVER: u32 = u32::MAX - 2;
/// The heat of a piece that is often read.
const HEAT_MAX: u8 = 3;
/// Bytes of a read of consecutive pieces, at most.
const READ_BYTES_MAX: usize = 256 << 10;
/// Reads whose pieces the hand goes over at once for passes.
const STEP_READS: usize = 4;
/// Passes go through one of so many frames.
const PASS_SHARE: usize = 8;
/// Bytes of frames that passes go through for each thread, at most.
const PASS_BYTES_MAX: usize = 2 << 20;

/// Trails that are followed at once.
const TRAILS: usize = 16;
/// Bytes that are read at once along a trail, at most.
const TRAIL_BYTES_MAX: usize = 512 << 10;
/// One of so many frames, at most, is for what a trail reads at once.
const TRAIL_SHARE: u32 = 32;
/// Bytes that are read around a piece.
const AROUND_BYTES: usize = 64 << 10;
/// One of so many pieces of a file is read by itself before those around a piece are.
const AROUND_SHARE: u32 = 32;
/// Pieces that a trail may leave out.
const TRAIL_SLACK: u32 = 8;

/// What a piece is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A vertex here and there.
    Lookup,
    /// All vertices, one after the other.
    Pass,
}

/// A file of pieces.
pub(crate) struct File {
    pub(crate) file: DirectFile,
    /// Its name, which is part of checksums.
    pub(crate) name: String,
    pub(crate) pieces: u32,
}

/// Pieces of one size, and the frames that hold some of them.
pub(crate) struct Cache {
    frames: Arc<Frames>,
    queue: Arc<ReadQueue>,
    files: Vec<File>,
    /// The first piece of each file.
    starts: Vec<u32>,
    table: Vec<AtomicU32>,
    /// The piece that each frame was last claimed for.
    claimed_for: Vec<AtomicU32>,
    heat: Vec<AtomicU8>,
    /// How often a piece of each file was put into a frame.
    placed: Vec<AtomicU32>,
    /// How many pieces of each file were ever read.
    touched: Vec<AtomicU32>,
    /// How many pieces were read beside the frames.
    beside: AtomicU64,
    /// How many frames were ever used.
    used: AtomicU32,
    replacement: Mutex<Replacement>,
    check: Arc<PieceCheck>,
}

struct Replacement {
    hand: u32,
    /// How far the hand is due to go for pieces that passes read, in frames. It goes over as many at once as some
    /// reads take: so what stays lies together, and so does what is read.
    turn: f64,
    /// How many of these are left.
    steps: usize,
    /// Frames that passes have read into, the oldest first, and some that were such.
    passed: VecDeque<u32>,
    /// By frame.
    states: Vec<State>,
    passed_count: usize,
    trails: [Trail; TRAILS],
    oldest_trail: usize,
}

/// Whether a frame is one of those that passes go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Other,
    /// It is, and waits among them.
    Passed,
    /// It is not, though it waits among them.
    Left,
}

/// Pieces that were wanted one after the other.
#[derive(Clone, Copy)]
struct Trail {
    /// The first piece that was not read.
    next: u32,
    /// How many were read at once.
    pieces: u32,
}

/// The bytes of a piece, as long as this is held.
pub(crate) enum Held<'a> {
    Frame(Pinned<'a>),
    /// Read beside the frames, which were all in use.
    Beside(Box<[u8]>),
}

impl Deref for Held<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Frame(pinned) => pinned,
            Self::Beside(bytes) => bytes,
        }
    }
}

impl Cache {
    /// Returns a cache of `frame_count` frames for the pieces of `files`.
    pub(crate) fn new(
        queue: Arc<ReadQueue>,
        files: Vec<File>,
        salt: u32,
        (piece_bytes, frame_count): (usize, usize),
    ) -> Result<Self> {
        let mut starts = vec![0_u32];
        for file in &files {
            let end = starts.last().and_then(|last| last.checked_add(file.pieces));
            let end = end.filter(|&end| end < NEVER).ok_or_else(|| Error::InvalidInput {
                what: format!("`{}` has more pieces than a cache can tell apart", file.name),
            })?;
            starts.push(end);
        }
        let pieces = starts.last().copied().unwrap_or(0) as usize;
        let frame_count = frame_count.min(pieces);
        let check = checker(&files, &starts, salt);
        let all = |count: usize, word: u32| (0..count).map(|_| AtomicU32::new(word)).collect();
        Ok(Self {
            frames: Frames::new(piece_bytes, frame_count)?,
            queue,
            placed: all(files.len(), 0),
            touched: all(files.len(), 0),
            beside: AtomicU64::new(0),
            files,
            starts,
            table: all(pieces, NEVER),
            claimed_for: all(frame_count, NOWHERE),
            heat: (0..frame_count).map(|_| AtomicU8::new(0)).collect(),
            used: AtomicU32::new(0),
            replacement: Mutex::new(Replacement {
                hand: 0,
                turn: 0.0,
                steps: 0,
                passed: VecDeque::new(),
                states: vec![State::Other; frame_count],
                passed_count: 0,
                trails: [Trail { next: NOWHERE, pieces: 0 }; TRAILS],
                oldest_trail: 0,
            }),
            check,
        })
    }

    /// Bytes of memory for each piece, beside frames.
    pub(crate) const PIECE_COST_BYTES: usize = 4;
    /// Bytes of memory for each frame, beside its own.
    pub(crate) const FRAME_COST_BYTES: usize = 15;

    /// Returns the number of a file's first piece.
    pub(crate) fn start(&self, file: usize) -> u32 {
        self.starts[file]
    }

    pub(crate) fn path(&self, file: usize) -> &Path {
        self.files[file].file.path()
    }

    /// Returns how many frames passes go through, once all are in use.
    pub(crate) fn pass_frames(&self) -> usize {
        let most = PASS_BYTES_MAX * par::thread_count() / self.frames.frame_bytes();
        (self.frames.count() / PASS_SHARE).min(most)
    }

    /// Returns how many pieces a thread may have asked for and not read yet.
    pub(crate) fn ahead_max(&self) -> usize {
        match self.frames.count() == self.table.len() {
            true => usize::MAX,
            false => (self.pass_frames() / (2 * par::thread_count())).max(1),
        }
    }

    /// Returns whether each piece of a file was read into a frame, where it stays.
    pub(crate) fn is_there(&self, file: usize) -> bool {
        self.frames.count() == self.table.len()
            && self.placed[file].load(Ordering::Relaxed) >= self.files[file].pieces
    }

    /// Returns how many pieces of a file were ever read.
    pub(crate) fn touched(&self, file: usize) -> u64 {
        self.touched[file].load(Ordering::Relaxed).into()
    }

    /// Returns how many pieces were read beside the frames, and their bytes.
    pub(crate) fn beside(&self) -> (u64, u64) {
        let pieces = self.beside.load(Ordering::Relaxed);
        (pieces, pieces * self.frames.frame_bytes() as u64)
    }

    /// Returns whether a file has the piece of this number.
    #[inline]
    pub(crate) fn has(&self, file: usize, number: u32) -> bool {
        number < self.files[file].pieces
    }

    /// Returns the bytes of a piece; reads it if no frame holds it.
    ///
    /// # Errors
    /// `Io` if the device cannot read, `Corruption` if the piece is damaged.
    #[inline]
    pub(crate) fn get(&self, piece: u32, purpose: Purpose) -> Result<Held<'_>> {
        match self.find(piece) {
            Some(pinned) => Ok(Held::Frame(pinned)),
            None => self.load(piece, purpose),
        }
    }

    #[inline]
    fn find(&self, piece: u32) -> Option<Pinned<'_>> {
        let frame = self.table[piece as usize].load(Ordering::Acquire);
        if frame >= NEVER {
            return None;
        }
        let pinned = self.frames.pin(frame, piece)?;
        let heat = &self.heat[frame as usize];
        match heat.load(Ordering::Relaxed) {
            FRESH => heat.store(0, Ordering::Relaxed),
            degree if degree < HEAT_MAX => heat.store(degree + 1, Ordering::Relaxed),
            _ => {}
        }
        Some(pinned)
    }

    #[cold]
    fn load(&self, piece: u32, purpose: Purpose) -> Result<Held<'_>> {
        if self.queue.is_forked() {
            return Err(Error::Forked);
        }
        if self.is_nowhere(piece) {
            self.read_ahead(piece..self.trail_end(piece), purpose);
        }
        self.wait(piece)?;
        // None if all frames are in use, the read has failed, or the frame is another's already.
        self.find(piece).map_or_else(|| self.read_beside(piece), |pinned| Ok(Held::Frame(pinned)))
    }

    /// Returns the end of what is worth reading from a piece on that is in no frame: more than the piece where
    /// the last pieces were read one after the other.
    fn trail_end(&self, piece: u32) -> u32 {
        let mut replacement = self.replacement.lock();
        let Replacement { trails, oldest_trail: oldest, .. } = &mut *replacement;
        let pieces_max = (TRAIL_BYTES_MAX / self.frames.frame_bytes()) as u32;
        let pieces_max = pieces_max.min(self.frames.count() as u32 / TRAIL_SHARE).max(1);
        let found = trails.iter().position(|trail| {
            (trail.next..trail.next.saturating_add(trail.pieces + TRAIL_SLACK)).contains(&piece)
        });
        let pieces = match found {
            Some(found) => (2 * trails[found].pieces).min(pieces_max),
            None => 1,
        };
        let place = found.unwrap_or(*oldest);
        if found.is_none() {
            *oldest = (*oldest + 1) % TRAILS;
        }
        let file_end = self.starts[self.starts.partition_point(|&start| start <= piece)];
        let end = piece.saturating_add(pieces).min(file_end);
        trails[place] = Trail { next: end, pieces };
        end
    }

    /// Waits until a piece is there, or nobody reads it any more.
    fn wait(&self, piece: u32) -> Result<()> {
        let place = &self.table[piece as usize];
        self.queue.wait_whatever_fails(|| match place.load(Ordering::Acquire) {
            NOWHERE | NEVER => true,
            COMING => false,
            frame => self.frames.pin(frame, piece).is_some() || !self.frames.is_loading(frame),
        })?;
        // A frame that holds nothing is left by a read that failed, and one with another piece by a claim.
        let frame = place.load(Ordering::Acquire);
        if frame < NEVER
            && self.frames.pin(frame, piece).is_none()
            && !self.frames.is_loading(frame)
        {
            let (old, new) = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = place.compare_exchange(frame, NOWHERE, old, new);
        }
        Ok(())
    }

    /// Reads those of `pieces`, ascending, that are in no frame; returns when the reads have begun.
    /// Leaves out some if it finds no frames for them, and all in a forked child.
    pub(crate) fn read_ahead(&self, pieces: impl Iterator<Item = u32>, purpose: Purpose) {
        if self.queue.is_forked() {
            return;
        }
        let mut requests: Vec<ReadRequest> = Vec::new();
        let mut last = None;
        let pieces_max = self.read_pieces();
        let mut replacement = None;
        for piece in pieces.flat_map(|piece| self.around(piece)) {
            if !self.is_nowhere(piece) || !self.begin(piece) {
                continue;
            }
            let replacement = replacement.get_or_insert_with(|| self.replacement.lock());
            let Some(claimed) = self.claim(replacement, piece, purpose) else {
                self.give_up(piece);
                break;
            };
            match requests.last_mut() {
                Some(request)
                    if last == piece.checked_sub(1)
                        && request.frames.len() < pieces_max
                        && !self.starts.contains(&piece) =>
                {
                    self.place(piece, &claimed);
                    request.frames.push((claimed, piece));
                }
                _ => requests.push(self.request(piece, claimed)),
            }
            last = Some(piece);
        }
        drop(replacement);
        if !requests.is_empty() {
            self.queue.start(requests);
        }
    }

    /// Returns what is worth reading with a piece.
    fn around(&self, piece: u32) -> Range<u32> {
        let alone = piece..piece + 1;
        let len = (AROUND_BYTES / self.frames.frame_bytes()) as u32;
        let unused = self.frames.count() as u32 - self.used.load(Ordering::Relaxed);
        if len < 2 || unused < len || !self.is_nowhere(piece) {
            return alone;
        }
        let file = self.file_of(piece);
        if self.placed[file].load(Ordering::Relaxed) < self.files[file].pieces / AROUND_SHARE {
            return alone;
        }
        let (first, end) = (self.starts[file], self.starts[file + 1]);
        let start = first + (piece - first) / len * len;
        start..(start + len).min(end)
    }

    /// Returns how many pieces are one read, at most.
    fn read_pieces(&self) -> usize {
        (READ_BYTES_MAX / self.frames.frame_bytes()).max(1)
    }

    /// Returns whether no frame holds a piece or is about to.
    #[inline]
    pub(crate) fn is_nowhere(&self, piece: u32) -> bool {
        matches!(self.table[piece as usize].load(Ordering::Relaxed), NOWHERE | NEVER)
    }

    /// Returns whether the caller is the one to read a piece.
    fn begin(&self, piece: u32) -> bool {
        let place = &self.table[piece as usize];
        let (old, new) = (Ordering::AcqRel, Ordering::Relaxed);
        if place.compare_exchange(NOWHERE, COMING, old, new).is_ok() {
            return true;
        }
        let is_first = place.compare_exchange(NEVER, COMING, old, new).is_ok();
        if is_first {
            self.touched[self.file_of(piece)].fetch_add(1, Ordering::Relaxed);
        }
        is_first
    }

    fn give_up(&self, piece: u32) {
        self.table[piece as usize].store(NOWHERE, Ordering::Release);
        // Others may have seen that it was coming.
        self.queue.wake();
    }

    /// Claims a frame for a piece, and takes what it held out of the table.
    fn claim(
        &self,
        replacement: &mut Replacement,
        piece: u32,
        purpose: Purpose,
    ) -> Option<Claimed> {
        let count = self.frames.count() as u32;
        let unused = self.used.load(Ordering::Relaxed);
        if unused < count {
            self.used.store(unused + 1, Ordering::Relaxed);
            return self.frames.claim(unused);
        }
        if purpose == Purpose::Pass && replacement.passed_count >= self.pass_frames() {
            let pieces = self.files[self.file_of(piece)].pieces;
            replacement.turn += f64::from(count) / (2.0 * f64::from(pieces));
            if replacement.turn >= (STEP_READS * self.read_pieces()) as f64 {
                replacement.steps = STEP_READS * self.read_pieces();
                replacement.turn -= replacement.steps as f64;
            }
            while replacement.steps > 0 {
                replacement.steps -= 1;
                if replacement.states[replacement.hand as usize] == State::Passed {
                    self.advance(replacement);
                } else if let Some(claimed) = self.turn(replacement) {
                    replacement.pass(claimed.frame());
                    // The oldest one stays instead.
                    replacement.oldest_passed();
                    return Some(claimed);
                }
            }
            // What is pinned is being read; it goes to the end.
            for _ in 0..replacement.passed_count {
                let frame = replacement.oldest_passed()?;
                replacement.pass(frame);
                if let Some(claimed) = self.take(frame) {
                    return Some(claimed);
                }
            }
        }
        for _ in 0..u32::from(HEAT_MAX + 2) * count {
            if let Some(claimed) = self.turn(replacement) {
                replacement.keep(claimed.frame());
                if purpose == Purpose::Pass {
                    replacement.pass(claimed.frame());
                }
                return Some(claimed);
            }
        }
        None
    }

    /// Lowers the heat of the frame at the hand, or claims it if it is cold.
    fn turn(&self, replacement: &mut Replacement) -> Option<Claimed> {
        let frame = self.advance(replacement);
        let heat = &self.heat[frame as usize];
        let degree = heat.load(Ordering::Relaxed);
        if degree == 0 {
            return self.take(frame);
        }
        heat.store(if degree == FRESH { 0 } else { degree - 1 }, Ordering::Relaxed);
        None
    }

    /// Moves the hand on; returns the frame that it leaves.
    fn advance(&self, replacement: &mut Replacement) -> u32 {
        let frame = replacement.hand;
        replacement.hand = if frame + 1 == self.frames.count() as u32 { 0 } else { frame + 1 };
        frame
    }

    fn take(&self, frame: u32) -> Option<Claimed> {
        let claimed = self.frames.claim(frame)?;
        let before = self.claimed_for[frame as usize].load(Ordering::Acquire);
        if before != NOWHERE {
            let (old, new) = (Ordering::AcqRel, Ordering::Relaxed);
            let _ = self.table[before as usize].compare_exchange(frame, NOWHERE, old, new);
        }
        Some(claimed)
    }

    fn place(&self, piece: u32, claimed: &Claimed) {
        let frame = claimed.frame();
        self.claimed_for[frame as usize].store(piece, Ordering::Release);
        self.placed[self.file_of(piece)].fetch_add(1, Ordering::Relaxed);
        self.heat[frame as usize].store(FRESH, Ordering::Relaxed);
        self.table[piece as usize].store(frame, Ordering::Release);
    }

    fn request(&self, piece: u32, claimed: Claimed) -> ReadRequest {
        self.place(piece, &claimed);
        let (file, number) = self.locate(piece);
        ReadRequest {
            file: file.file.clone(),
            offset: u64::from(number) * self.frames.frame_bytes() as u64,
            frames: vec![(claimed, piece)],
            check: self.check.clone(),
        }
    }

    /// Returns which file a piece is of.
    fn file_of(&self, piece: u32) -> usize {
        self.starts.partition_point(|&start| start <= piece) - 1
    }

    fn locate(&self, piece: u32) -> (&File, u32) {
        let file = self.file_of(piece);
        (&self.files[file], piece - self.starts[file])
    }

    /// Reads a piece into memory of its own, where all frames are in use.
    fn read_beside(&self, piece: u32) -> Result<Held<'_>> {
        let (file, number) = self.locate(piece);
        self.beside.fetch_add(1, Ordering::Relaxed);
        let mut bytes = vec![0; self.frames.frame_bytes()].into_boxed_slice();
        file.file.read_at(u64::from(number) * bytes.len() as u64, &mut bytes)?;
        (self.check)(piece, &mut bytes)?;
        Ok(Held::Beside(bytes))
    }
}

impl Replacement {
    /// Makes a frame one of those of passes, the youngest unless it waits there already.
    fn pass(&mut self, frame: u32) {
        let state = std::mem::replace(&mut self.states[frame as usize], State::Passed);
        self.passed_count += usize::from(state != State::Passed);
        if state == State::Other {
            self.passed.push_back(frame);
        }
    }

    /// Makes a frame none of those of passes.
    fn keep(&mut self, frame: u32) {
        let state = &mut self.states[frame as usize];
        if *state == State::Passed {
            *state = State::Left;
            self.passed_count -= 1;
        }
    }

    /// Takes the oldest frame out of those of passes.
    fn oldest_passed(&mut self) -> Option<u32> {
        loop {
            let frame = self.passed.pop_front()?;
            let state = std::mem::replace(&mut self.states[frame as usize], State::Other);
            if state == State::Passed {
                self.passed_count -= 1;
                return Some(frame);
            }
        }
    }
}

/// Returns what checks a piece that was read.
fn checker(files: &[File], starts: &[u32], salt: u32) -> Arc<PieceCheck> {
    let named: Vec<_> = files.iter().map(|f| (f.name.clone(), f.file.path().to_owned())).collect();
    let starts = starts.to_vec();
    Arc::new(move |piece, bytes| {
        let file = starts.partition_point(|&start| start <= piece) - 1;
        let (name, path) = &named[file];
        let number = piece - starts[file];
        checked(salt, (name, path), number, bytes).map(drop)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;
    use std::sync::Barrier;
    use std::thread;

    use everedge_medium::{MediumKind, ReadQueueOptions, Volume, VolumeOptions};

    use super::*;
    use crate::pack::PieceFile;

    const SALT: u32 = 3;
    const PIECE_BYTES: usize = 4096;

    /// A cache of so many frames for files of so many pieces, each of which begins with its number in its file.
    fn cache(pieces: &[u32], frame_count: usize, uring: bool) -> (Cache, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&home.path().join("v"), options).unwrap();
        let file = |(at, &pieces): (usize, &u32)| {
            let name = format!("f{at}");
            let mut file = PieceFile::create(&volume, name.clone(), SALT, PIECE_BYTES).unwrap();
            (0..pieces).for_each(|piece| file.append(&piece.to_le_bytes()).unwrap());
            file.publish().unwrap();
            File { file: volume.open_direct(&name).unwrap(), name, pieces }
        };
        let files = pieces.iter().enumerate().map(file).collect();
        let options = ReadQueueOptions { uring, ..ReadQueueOptions::default() };
        let queue = ReadQueue::new(&options).unwrap();
        (Cache::new(queue, files, SALT, (PIECE_BYTES, frame_count)).unwrap(), home)
    }

    impl Cache {
        /// Reads pieces one after the other as a pass does.
        fn pass(&self, pieces: Range<u32>) {
            for first in pieces.clone().step_by(8) {
                let window = first..(first + 8).min(pieces.end);
                self.read_ahead(window.clone(), Purpose::Pass);
                window.for_each(|piece| drop(self.get(piece, Purpose::Pass).unwrap()));
            }
        }

        /// Returns how many pieces `f` has read.
        fn reads_of(&self, f: impl FnOnce()) -> u64 {
            let pieces = || self.queue.counts().pieces + self.beside().0;
            let before = pieces();
            f();
            pieces() - before
        }
    }

    const FRAMES: u32 = 1024;

    /// Returns how many of so many pieces a pass may read: what has no room, and little more.
    fn reads_max(pieces: u32) -> u64 {
        u64::from(pieces - FRAMES + FRAMES * 15 / 100)
    }

    #[test]
    fn each_pass_reads_what_has_no_room_and_little_more() {
        let (cache, _home) = cache(&[2048], FRAMES as usize, true);
        for number in 0..10 {
            let reads = cache.reads_of(|| cache.pass(0..2048));
            assert!(number < 2 || reads <= reads_max(2048), "pass {number}: {reads}");
        }
    }

    /// The hand finds what no pass reads any more, and passes get its frames.
    #[test]
    fn passes_get_the_frames_of_what_is_no_longer_read() {
        let (cache, _home) = cache(&[1536, 1024], FRAMES as usize, true);
        (0..3).for_each(|_| cache.pass(1536..2560));
        for number in 0..10 {
            let reads = cache.reads_of(|| cache.pass(0..1536));
            assert!(number < 5 || reads <= reads_max(1536), "pass {number}: {reads}");
        }
    }

    #[test]
    fn what_is_looked_up_again_and_again_stays_while_passes_go_through() {
        let (cache, _home) = cache(&[2048], FRAMES as usize, true);
        let look_up = || {
            for _ in 0..4 {
                let hot = (0..2048).step_by(20);
                hot.for_each(|piece| drop(cache.get(piece, Purpose::Lookup).unwrap()));
            }
        };
        for number in 0..10 {
            let looked_up = cache.reads_of(look_up);
            let passed = cache.reads_of(|| cache.pass(0..2048));
            assert!(number < 2 || looked_up <= 5, "before pass {number}: {looked_up}");
            assert!(number < 2 || passed <= reads_max(2048), "pass {number}: {passed}");
        }
    }

    /// Cuts a file where a piece begins, or changes a byte of it.
    fn damage(file: &std::fs::File, piece: u64, cuts: bool) {
        let offset = piece * PIECE_BYTES as u64;
        match cuts {
            true => file.set_len(offset).unwrap(),
            false => file.write_all_at(&[9], offset).unwrap(),
        }
    }

    /// All who wait for a piece get its error; then its frame serves others, and the piece itself once it is readable.
    #[test]
    fn a_read_that_fails_fails_for_all_who_wait_and_frees_its_frame() {
        for uring in [true, false] {
            for cuts in [true, false] {
                let (cache, home) = cache(&[64], 1, uring);
                let file = OpenOptions::new().write(true).open(home.path().join("v/f0")).unwrap();
                let content = std::fs::read(home.path().join("v/f0")).unwrap();
                for _ in 0..20 {
                    damage(&file, 55, cuts);
                    let start = Barrier::new(8);
                    thread::scope(|scope| {
                        for _ in 0..8 {
                            scope.spawn(|| {
                                start.wait();
                                let error = cache.get(55, Purpose::Lookup).err().expect("damaged");
                                assert!(matches!(error, Error::Corruption { .. }), "{error}");
                                assert!(error.to_string().contains("v/f0"), "{error}");
                            });
                        }
                    });
                    for piece in [7, 55] {
                        file.write_all_at(&content, 0).unwrap();
                        let held = cache.get(piece, Purpose::Lookup).unwrap();
                        assert!(matches!(held, Held::Frame(_)), "piece {piece} has no frame");
                        assert_eq!(held[..4], piece.to_le_bytes());
                    }
                    cache.get(8, Purpose::Lookup).unwrap();
                }
            }
        }
    }

    /// Pieces that are read with a damaged one are none the worse for it.
    #[test]
    fn an_error_ahead_is_an_error_only_for_who_needs_the_piece() {
        for uring in [true, false] {
            for cuts in [true, false] {
                let (cache, home) = cache(&[64], 32, uring);
                let file = OpenOptions::new().write(true).open(home.path().join("v/f0")).unwrap();
                damage(&file, 55, cuts);
                cache.read_ahead(48..56, Purpose::Pass);
                for _ in 0..2 {
                    for piece in (48..55).chain([3]) {
                        let held = cache.get(piece, Purpose::Pass).unwrap();
                        assert_eq!(held[..4], piece.to_le_bytes());
                    }
                    assert!(cache.get(55, Purpose::Pass).is_err());
                }
            }
        }
    }
}
