//! The table of readers: who reads a graph beside its writer, and how far back.
//!
//! The file `readers` has a place for each reader. A reader locks its place, which the system unlocks when the
//! process ends, however it ends, and stores there the number of the oldest state that it reads. The writer
//! does not use again what a state names that is pinned, and does not overwrite what a reader still copies of
//! the log.
//!
//! ```text
//! 0        magic, version        64      pins, 8 bytes a place
//! 8        places ever used      2048    log positions, 8 bytes a place
//! 16       changes in place
//! ```
//!
//! # Invariants
//! - T1: a reader pins all states before it looks for one; then it pins the one that it found.
//! - T2: the writer makes a state visible, then looks at pins, and then frees what only older ones name.
//!   Reader and writer have a fence between their two steps: one of them sees the other.
//! - T3: only who has locked a place changes it; but the writer takes a log position back from a reader that does
//!   not go on.
//! - T4: no file is cut while somebody reads, or opens to read.
//! - T5: the number of changes in place is odd while one goes on. Who copies what is changed in place copies it
//!   again if that number was odd, or is another one afterwards.
//!
//! # Concurrency
//! Locks belong to the open file (`F_OFD_SETLK`), so that a reader in the writer's own process counts, too.
//! `docs/format.md` draws the file; `everedge-live` says what a state is.
#![expect(unsafe_code, reason = "locks of a range that belong to an open file have no safe call")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::interrupted::retried;
use super::map::{Map, Source};
use super::pinning::{self, FIRST, NONE};
use super::{lock, process};
use crate::{Error, Result};

/// The name of the table's file.
pub(super) const READERS: &str = "readers";
/// Bytes of the file.
pub(super) const READERS_BYTES: u64 = 4096;

const MAGIC_AND_VERSION: u64 = u32::from_le_bytes(*b"RDRS") as u64 | 1 << 32;
/// Where the words of the table are.
const HEAD: u64 = 0;
const BOUND: u64 = 8;
const CHANGES: u64 = 16;
const PINS: u64 = 64;
const LOG_PINS: u64 = 2048;
/// So many may read at once.
const PLACES: u64 = 248;

/// Where nothing is pinned, this is the oldest.
const NOTHING: u64 = u64::MAX - FIRST;
/// So long a change in place waits at first for who copies what it changes, and so long at most; and it looks so often.
const COPY_TIME: Duration = Duration::from_millis(20);
const COPY_TIME_MAX: Duration = Duration::from_secs(5);
const COPY_PAUSE: Duration = Duration::from_micros(100);
/// In the place of a log position that the writer has taken back.
const TAKEN_BACK: u64 = u64::MAX;

/// What is locked of the file: its first byte while a reader enters or a file is cut, and the pin of each place.
#[derive(Clone, Copy)]
enum Lock {
    Shared,
    Exclusive,
    None,
}

/// The table, mapped.
struct Table {
    map: Map,
    /// None for a graph in memory, whose readers are tests.
    file: Option<OwnedFd>,
}

impl Table {
    fn in_memory() -> std::io::Result<Table> {
        Ok(Table { map: Map::new(&Source::Anonymous, READERS_BYTES, READERS_BYTES)?, file: None })
    }

    /// Maps a file of [`READERS_BYTES`]. Returns nothing if it is one of another version.
    fn of(file: OwnedFd, path: &Path, is_writer: bool) -> Result<Option<Table>> {
        let failed = |e| Error::io(path, "map", e);
        let source = Source::File { fd: std::os::fd::AsFd::as_fd(&file) };
        let map = Map::new(&source, READERS_BYTES, READERS_BYTES)
            .map_err(|e| failed(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        let table = Table { map, file: Some(file) };
        if is_writer {
            table.word(HEAD).store(MAGIC_AND_VERSION, Relaxed);
        }
        Ok((table.word(HEAD).load(Relaxed) == MAGIC_AND_VERSION).then_some(table))
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        &self.map.double_words(offset, 1)[0]
    }

    fn bound(&self) -> u64 {
        self.word(BOUND).load(SeqCst).min(PLACES)
    }

    /// Returns the smallest number that is pinned in the places from `first` on, or [`NOTHING`].
    fn oldest(&self, first: u64) -> u64 {
        // Before it is known how many places there are.
        fence(SeqCst);
        pinning::oldest(self.map.double_words(first, self.bound() as usize).iter())
    }

    /// Tries to lock some bytes, or waits for them. Returns whether nobody else has them.
    fn lock(&self, start: u64, len: u64, lock: Lock, waits: bool) -> rustix::io::Result<bool> {
        let Some(file) = &self.file else { return Ok(true) };
        let mut range = range_of(start, len, lock);
        let command = if waits { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
        let call = || {
            // SAFETY: the descriptor is open, and the kernel reads one `flock`.
            match unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut range) } {
                -1 => Err(last_error()),
                _ => Ok(()),
            }
        };
        match retried(call) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) if !waits => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Returns whether nobody else has locked one of these bytes.
    fn is_unlocked(&self, start: u64, len: u64) -> bool {
        let Some(file) = &self.file else { return self.oldest(PINS) == NOTHING };
        let mut range = range_of(start, len, Lock::Exclusive);
        // SAFETY: the descriptor is open, and the kernel reads and writes one `flock`.
        let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut range) };
        asked != -1 && range.l_type == libc::F_UNLCK as libc::c_short
    }
}

fn range_of(start: u64, len: u64, lock: Lock) -> libc::flock {
    let kind = match lock {
        Lock::Shared => libc::F_RDLCK,
        Lock::Exclusive => libc::F_WRLCK,
        Lock::None => libc::F_UNLCK,
    };
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start as libc::off_t,
        l_len: len as libc::off_t,
        // The kernel refuses another one for locks of open files.
        l_pid: 0,
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The writer's side of the table.
pub struct Pins {
    table: Table,
    /// The newest state that is visible.
    newest: AtomicU64,
    /// The newest state when it was last looked for readers that have ended.
    looked_at: AtomicU64,
    /// How many changes in place go on.
    changing: Mutex<u32>,
    /// How long the next change in place waits for who copies: twice as long after each that began in vain, half as long
    /// after another.
    patience: Mutex<Duration>,
}

/// While it is there, something is changed in place (T5).
pub struct Changing<'a>(&'a Pins);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let mut changing = lock(&self.0.changing);
        *changing -= 1;
        if *changing == 0 {
            self.0.end_changes();
        }
    }
}

impl Pins {
    pub(super) fn in_memory() -> std::io::Result<Pins> {
        Ok(Pins::new(Table::in_memory()?))
    }

    pub(super) fn of_file(file: OwnedFd, path: &Path) -> Result<Pins> {
        let table = Table::of(file, path, true)?;
        let pins = Pins::new(table.expect("a table whose head was just written"));
        // The last writer may have been killed in the middle of a change: nothing goes on now.
        if !pins.table.word(CHANGES).load(SeqCst).is_multiple_of(2) {
            pins.end_changes();
        }
        Ok(pins)
    }

    /// Makes the number of changes in place another even one.
    fn end_changes(&self) {
        let word = self.table.word(CHANGES);
        word.store((word.load(SeqCst) | 1).wrapping_add(1), SeqCst);
    }

    fn new(table: Table) -> Pins {
        let (newest, looked_at) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Pins { table, newest, looked_at, changing: Mutex::new(0), patience: Mutex::new(COPY_TIME) }
    }

    /// Says that the state `number` is visible, and no older one will be found from now on.
    pub fn note_newest(&self, number: u64) {
        self.newest.store(number, SeqCst);
    }

    /// Returns the number of the newest state: what is freed now is named by no state from this one on.
    pub fn newest(&self) -> u64 {
        self.newest.load(SeqCst)
    }

    /// Returns the number of the oldest state that somebody reads, or the largest there is.
    ///
    /// Cost: a load where nobody has ever read; a system call for each reader of an older state than the newest, once a state.
    pub fn oldest(&self) -> u64 {
        let (newest, oldest) = (self.newest(), self.table.oldest(PINS));
        if oldest >= newest || self.looked_at.swap(newest, SeqCst) == newest {
            return oldest;
        }
        self.forget_ended();
        self.table.oldest(PINS)
    }

    /// Returns whether somebody reads an older state than the newest: what is freed now may be named by it.
    pub fn are_older_read(&self) -> bool {
        self.oldest() < self.newest()
    }

    /// Returns the position in the log from which on somebody copies it, or the largest there is.
    pub fn oldest_position(&self) -> u64 {
        self.table.oldest(LOG_PINS)
    }

    /// Says that something is changed in place, until what is returned is dropped. Waits a moment for who just
    /// copies it, and then lets that begin anew: the next time for longer, so that large files are copied, too.
    pub fn change_in_place(&self) -> Changing<'_> {
        self.wait_for_copies();
        let mut changing = lock(&self.changing);
        *changing += 1;
        if *changing == 1 {
            self.table.word(CHANGES).fetch_add(1, SeqCst);
            fence(SeqCst);
        }
        Changing(self)
    }

    fn wait_for_copies(&self) {
        if self.oldest_position() == NOTHING {
            return;
        }
        let start = Instant::now();
        let mut patience = lock(&self.patience);
        let mut is_taken_back = false;
        while self.oldest_position() != NOTHING {
            if start.elapsed() > *patience {
                self.take_positions_back();
                is_taken_back = true;
            }
            sleep(COPY_PAUSE);
        }
        *patience = match is_taken_back {
            true => (*patience * 2).min(COPY_TIME_MAX),
            // That one reader had the time does not say that others have it.
            false => (*patience / 2).max(COPY_TIME),
        };
    }

    /// Takes all positions in the log back: who copies it begins anew.
    pub fn take_positions_back(&self) {
        for place in 0..self.table.bound() {
            let taken = |pinned: u64| (pinned != NONE).then_some(TAKEN_BACK);
            let _none = self.table.word(LOG_PINS + 8 * place).fetch_update(SeqCst, SeqCst, taken);
        }
    }

    /// Takes away the pins of readers that have ended.
    pub fn forget_ended(&self) {
        let table = &self.table;
        if table.file.is_none() {
            return;
        }
        for place in 0..table.bound() {
            let pin = table.word(PINS + 8 * place);
            let lock = |lock| table.lock(PINS + 8 * place, 8, lock, false);
            // Whoever takes the place meanwhile finds it locked, and another one.
            if pin.load(SeqCst) != NONE && matches!(lock(Lock::Exclusive), Ok(true)) {
                pinning::unpin(table.word(LOG_PINS + 8 * place));
                pinning::unpin(pin);
                let _unlocked = lock(Lock::None);
            }
        }
    }

    /// Does something that no reader may be there for, if none is: nobody enters meanwhile.
    pub(super) fn alone<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_entered = matches!(self.table.lock(HEAD, 1, Lock::Exclusive, false), Ok(true));
        let alone = is_entered && self.table.is_unlocked(PINS, 8 * PLACES);
        let done = alone.then(work);
        if is_entered {
            let _unlocked = self.table.lock(HEAD, 1, Lock::None, false);
        }
        done
    }

    /// Returns whether somebody reads beside this writer.
    pub fn are_some(&self) -> bool {
        !self.table.is_unlocked(PINS, 8 * PLACES)
    }

    /// Returns a place in the table of a recorded graph, which has no other process.
    ///
    /// # Panics
    /// If the table has a file.
    #[must_use]
    pub fn pin_in_memory(&self) -> PinInMemory<'_> {
        assert!(self.table.file.is_none(), "readers of a file lock a place");
        self.table.word(BOUND).store(1, SeqCst);
        pinning::pin_all(self.table.word(PINS));
        PinInMemory(self)
    }
}

/// What a test pins of a recorded graph.
pub struct PinInMemory<'a>(&'a Pins);

impl PinInMemory<'_> {
    /// Pins the states from this one on.
    pub fn pin(&self, number: u64) {
        pinning::pin(self.0.table.word(PINS), number);
    }
}

impl Drop for PinInMemory<'_> {
    fn drop(&mut self) {
        pinning::unpin(self.0.table.word(PINS));
    }
}

/// A reader's place in the table.
pub struct Pin {
    table: Table,
    place: u64,
    /// Who took it: what a forked child drops, its parent still has.
    process: u64,
}

impl Pin {
    /// Takes a place, and pins all states. Returns nothing if the table is one of another version.
    pub(super) fn take(file: OwnedFd, path: &Path) -> Result<Option<Pin>> {
        let failed = |e| Error::io(path, "lock", e);
        let Some(table) = Table::of(file, path, false)? else { return Ok(None) };
        // Where a file is being cut, until that is done.
        table.lock(HEAD, 1, Lock::Shared, true).map_err(failed)?;
        let mut place = 0;
        while !table.lock(PINS + 8 * place, 8, Lock::Exclusive, false).map_err(failed)? {
            place += 1;
            if place == PLACES {
                let holder = format!("{PLACES} readers, and there is no place for more");
                let path = path.parent().unwrap_or(path).to_owned();
                return Err(Error::InUse { path, holder });
            }
        }
        let pin = Pin { table, place, process: process::current() };
        pin.table.word(BOUND).fetch_max(place + 1, SeqCst);
        pinning::pin_all(pin.number());
        pin.table.lock(HEAD, 1, Lock::None, false).map_err(failed)?;
        Ok(Some(pin))
    }

    fn number(&self) -> &AtomicU64 {
        self.table.word(PINS + 8 * self.place)
    }

    fn log_position(&self) -> &AtomicU64 {
        self.table.word(LOG_PINS + 8 * self.place)
    }

    /// Pins all of the log, until a position is pinned that was found after this.
    pub fn pin_log(&self) {
        pinning::pin_all(self.log_position());
    }

    /// Pins the states from `number` on, which was found after older ones were pinned, and the log from `position`
    /// on.
    pub fn pin(&self, number: u64, position: u64) {
        pinning::pin(self.log_position(), position);
        pinning::pin(self.number(), number);
    }

    /// Says that the log is copied. Returns whether the writer has left all of it as it was.
    #[must_use]
    pub fn release_log(&self) -> bool {
        self.log_position().swap(NONE, SeqCst) != TAKEN_BACK
    }

    /// Returns the number of changes in place, which is odd while one goes on.
    pub fn changes(&self) -> u64 {
        fence(SeqCst);
        self.table.word(CHANGES).load(SeqCst)
    }

    /// Says that nothing of the graph is read any more.
    pub fn release(&self) {
        if self.process == process::current() {
            pinning::unpin(self.log_position());
            pinning::unpin(self.number());
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::sync::atomic::AtomicBool;

    use super::*;

    const NAME: &str = "readers";

    fn opened(home: &Path) -> OwnedFd {
        let file: File = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(home.join(NAME))
            .unwrap();
        file.set_len(READERS_BYTES).unwrap();
        file.into()
    }

    fn writer(home: &Path) -> Pins {
        let pins = Pins::of_file(opened(home), &home.join(NAME)).unwrap();
        pins.note_newest(7);
        pins
    }

    fn reader(home: &Path) -> Pin {
        Pin::take(opened(home), &home.join(NAME)).unwrap().unwrap()
    }

    #[test]
    fn what_is_pinned_is_the_oldest_until_its_reader_ends() {
        let home = tempfile::tempdir().unwrap();
        let pins = writer(home.path());
        assert_eq!((pins.oldest(), pins.oldest_position()), (NOTHING, NOTHING));
        let (first, second) = (reader(home.path()), reader(home.path()));
        assert_eq!(pins.oldest(), 0, "all, until they know better");
        first.pin_log();
        first.pin(5, 640);
        second.pin(7, 128);
        assert_eq!((pins.oldest(), pins.oldest_position()), (5, 128));
        assert!(second.release_log() && first.release_log());
        drop(first);
        assert_eq!((pins.oldest(), pins.oldest_position()), (7, NOTHING));
        // As if its process had been killed: the lock goes, and the pin stays.
        let Pin { table, .. } = &second;
        table.lock(PINS + 8, 8, Lock::None, false).unwrap();
        pins.note_newest(8);
        assert_eq!(pins.oldest(), NOTHING);
    }

    #[test]
    fn nobody_enters_while_a_file_is_cut_and_none_is_cut_while_somebody_reads() {
        let home = tempfile::tempdir().unwrap();
        let pins = writer(home.path());
        let pin = reader(home.path());
        assert!(pins.alone(|| ()).is_none() && pins.are_some());
        pin.release();
        assert!(pins.alone(|| ()).is_none(), "it may still map the end of a file");
        drop(pin);
        let entering = pins.alone(|| {
            let path = home.path().to_owned();
            let entering = std::thread::spawn(move || drop(reader(&path)));
            sleep(Duration::from_millis(20));
            assert!(!entering.is_finished());
            entering
        });
        entering.expect("nobody reads").join().unwrap();
    }

    #[test]
    fn a_change_that_a_killed_writer_has_left_holds_no_reader_up() {
        let home = tempfile::tempdir().unwrap();
        let killed = writer(home.path());
        std::mem::forget(killed.change_in_place());
        let pin = reader(home.path());
        assert!(!pin.changes().is_multiple_of(2));
        let left = pin.changes();
        let pins = writer(home.path());
        assert!(pin.changes().is_multiple_of(2) && pin.changes() != left);
        let changing = pins.change_in_place();
        assert!(!pin.changes().is_multiple_of(2));
        drop(changing);
        assert!(pin.changes().is_multiple_of(2));
    }

    #[test]
    fn a_reader_that_stands_still_holds_a_writer_up_once() {
        let home = tempfile::tempdir().unwrap();
        let pins = writer(home.path());
        let pin = reader(home.path());
        pin.pin_log();
        let start = Instant::now();
        (0..100).for_each(|_| drop(pins.change_in_place()));
        assert!(start.elapsed() < 20 * COPY_TIME, "{:?}", start.elapsed());
        assert!(!pin.release_log(), "what it has copied does not count");
    }

    /// However many changes there are, a reader gets the time that it needs to copy what is large.
    #[test]
    fn a_reader_that_was_held_up_gets_more_time() {
        let home = tempfile::tempdir().unwrap();
        let pins = writer(home.path());
        let pin = reader(home.path());
        let is_copied = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !is_copied.load(SeqCst) {
                    drop(pins.change_in_place());
                    sleep(COPY_TIME / 4);
                }
            });
            let start = Instant::now();
            loop {
                pin.pin_log();
                let changes = pin.changes();
                sleep(COPY_TIME * 8);
                let is_one_state = changes.is_multiple_of(2) && pin.changes() == changes;
                if pin.release_log() && is_one_state || start.elapsed() > COPY_TIME_MAX {
                    break;
                }
            }
            is_copied.store(true, SeqCst);
            assert!(start.elapsed() < COPY_TIME_MAX, "it never had the time");
        });
    }
}
