//! Undo logs: what a rebalance in place is about to overwrite, one log for each thread.
//!
//! Source: DGAP §3 ④ and Figure 4. Differences: a log has two records, which are written in turn
//! under a checksum, so that one that is torn leaves the one before it; a record says which step of
//! which rebalance it belongs to, and the end of a rebalance is a record too. With
//! `Rebalancing::Transaction` the beginning is one as well, in the place of the journal that PMDK
//! allocates; ours is there already, and is used again.
//!
//! # Invariants
//! - U1: before words are overwritten, a record with what they were is durable.
//! - U2: the whole record with the larger serial holds. If it is of a step, that step was not done
//!   or in part, all before it are done, and none after it has begun.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::Mutex;

use super::header;
use super::options::{PmaOptions, Rebalancing};
use everedge_live::Result;
use everedge_medium::{Region, Site};

const MAGIC: u32 = u32::from_le_bytes(*b"UNDO");
const HEAD_WORDS: usize = 16;
/// The step of a record that ends a rebalance.
const END: u32 = u32::MAX;

/// A rebalance of some sections of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Job {
    /// The number of the array.
    pub index: u32,
    /// Where it lies.
    pub unit: u64,
    /// Its sections from this one on.
    pub first: u32,
    /// Up to that one.
    pub end: u32,
    /// The stamp of the headers that say what the lists were; later ones say what they are.
    pub stamp: u32,
    /// A local vertex that will have more words soon,
    pub wanted_by: u32,
    /// and how many.
    pub wanted: u32,
}

/// How rebalances are cut into steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The words that a step overwrites at most.
    pub capacity_words: u32,
    /// Whether each move is a step by itself.
    pub is_single: bool,
}

/// What a log holds of an interrupted rebalance.
pub(super) struct Interrupted {
    pub job: Job,
    /// The step to begin with.
    pub step: u32,
    /// Where the words lay, in the words of the array.
    pub start: u32,
    pub words: Vec<u32>,
}

/// All undo logs of a graph.
pub(super) struct UndoLogs {
    region: Region,
    salt: u32,
    cut: Cut,
    free: Mutex<Vec<Undo>>,
}

/// The log of one thread.
#[derive(Clone, Copy)]
struct Undo {
    number: u64,
    serial: u32,
}

impl UndoLogs {
    /// Returns the logs in a region; those that are there are free, once what they hold is done.
    pub(super) fn new(region: Region, salt: u32, options: &PmaOptions) -> Arc<Self> {
        let cut = Cut {
            capacity_words: options.undo_log_bytes / 4,
            is_single: options.rebalancing == Some(Rebalancing::Transaction),
        };
        let logs = Self { region, salt, cut, free: Mutex::default() };
        let count = logs.region.len() / logs.log_bytes();
        let serial = |number| (0..2).filter_map(|half| logs.read(number, half)).map(|r| r.0).max();
        let undo = |number| Undo { number, serial: serial(number).unwrap_or(0) };
        *logs.free.lock() = (0..count).map(undo).collect();
        Arc::new(logs)
    }

    /// Returns how rebalances are cut into steps; a step is what a record can save.
    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    /// Returns the words that a record can save.
    fn capacity_words(&self) -> usize {
        self.cut.capacity_words as usize
    }

    /// Makes a log if there is none: a full medium has no room for the first.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    pub(super) fn provide(&self) -> Result<()> {
        self.take().map(drop)
    }

    /// Makes durable what records were found: a process that was killed, or whose sync failed, may
    /// have left them in caches only.
    pub(super) fn store_again(&self) -> Result<()> {
        self.region.rewrite(Site::ArraysFound, 0..self.region.len())?;
        self.region.fence(Site::ArraysFound)
    }

    /// Whether a rebalance was interrupted.
    pub(super) fn has_interrupted(&self) -> bool {
        let newest = |undo: &Undo| {
            let records = (0..2).filter_map(|half| self.read(undo.number, half));
            records.max_by_key(|record| record.0)
        };
        let free = self.free.lock();
        free.iter().filter_map(newest).any(|(_, interrupted)| interrupted.step != END)
    }

    /// Returns the rebalances that were interrupted, each with the log to go on with.
    pub(super) fn interrupted(&self) -> Vec<(UndoLog<'_>, Interrupted)> {
        let logs = std::mem::take(&mut *self.free.lock());
        let mut found = Vec::new();
        for undo in logs {
            let log = UndoLog { logs: self, undo };
            let records = (0..2).filter_map(|half| self.read(undo.number, half));
            if let Some((_, interrupted)) = records.max_by_key(|record| record.0)
                && interrupted.step != END
            {
                found.push((log, interrupted));
            }
        }
        found
    }

    /// Returns a log that no other thread uses.
    ///
    /// # Errors
    /// `NoSpace` if there is none and no room for another.
    pub(super) fn take(&self) -> Result<UndoLog<'_>> {
        let mut free = self.free.lock();
        let undo = match free.pop() {
            Some(undo) => undo,
            None => {
                let number = self.region.len() / self.log_bytes();
                self.region.grow((number + 1) * self.log_bytes())?;
                Undo { number, serial: 0 }
            }
        };
        Ok(UndoLog { logs: self, undo })
    }

    fn record_bytes(&self) -> u64 {
        (4 * (HEAD_WORDS + self.capacity_words()) as u64).next_multiple_of(64)
    }

    fn log_bytes(&self) -> u64 {
        2 * self.record_bytes()
    }

    fn offset(&self, number: u64, half: u32) -> u64 {
        number * self.log_bytes() + u64::from(half) * self.record_bytes()
    }

    /// Returns the record in a half of a log, if it is whole, after its serial.
    fn read(&self, number: u64, half: u32) -> Option<(u32, Interrupted)> {
        let offset = self.offset(number, half);
        let head = header::copy(self.region.words(offset, HEAD_WORDS));
        let len = head[13] as usize;
        // After the largest serial no other would come.
        if head[1] != MAGIC || head[2] == u32::MAX || len > self.capacity_words() {
            return None;
        }
        let words = header::copy(self.region.words(offset + 4 * HEAD_WORDS as u64, len));
        let checksum = self.checksum(offset, &head[1..], &words);
        let is_whole = self.region.matches(Site::Undo, head[0], checksum);
        is_whole.then(|| {
            let unit = u64::from(head[4]) | u64::from(head[5]) << 32;
            let job = Job {
                index: head[3],
                unit,
                first: head[6],
                end: head[7],
                stamp: head[8],
                wanted_by: head[9],
                wanted: head[10],
            };
            (head[2], Interrupted { job, step: head[11], start: head[12], words })
        })
    }

    fn checksum(&self, offset: u64, head: &[u32], words: &[u32]) -> u32 {
        let salt = crc32c::crc32c_append(self.salt, &offset.to_le_bytes());
        let crc = crc32c::crc32c_append(salt, bytemuck::cast_slice(head));
        crc32c::crc32c_append(crc, bytemuck::cast_slice(words))
    }
}

/// The log of the thread that rebalances.
pub(super) struct UndoLog<'a> {
    logs: &'a UndoLogs,
    undo: Undo,
}

impl UndoLog<'_> {
    /// Makes durable that a job begins, of which nothing is done yet.
    pub(super) fn begin(&mut self, job: &Job) -> Result<()> {
        self.write(Site::Undo, job, 0, (0, &[]))
    }

    /// Makes durable what some words are that a step of a job is about to overwrite (U1).
    pub(super) fn save(
        &mut self,
        job: &Job,
        step: u32,
        start: u32,
        words: &[AtomicU32],
    ) -> Result<()> {
        self.write(Site::Undo, job, step, (start, &header::copy(words)))
    }

    /// Makes durable that a job is done.
    pub(super) fn end(&mut self, job: &Job) -> Result<()> {
        self.write(Site::UndoEnd, job, END, (0, &[]))
    }

    #[track_caller]
    fn write(
        &mut self,
        site: Site,
        job: &Job,
        step: u32,
        (start, words): (u32, &[u32]),
    ) -> Result<()> {
        let logs = self.logs;
        self.undo.serial += 1;
        let Job { index, unit, first, end, stamp, wanted_by, wanted } = *job;
        let mut record = vec![0, MAGIC, self.undo.serial, index, unit as u32, (unit >> 32) as u32];
        record.extend([first, end, stamp, wanted_by, wanted, step, start, words.len() as u32]);
        record.resize(HEAD_WORDS, 0);
        let offset = logs.offset(self.undo.number, self.undo.serial % 2);
        record[0] = logs.checksum(offset, &record[1..], words);
        record.extend_from_slice(words);
        logs.region.store_words(offset, &record);
        logs.region.flush(site, offset..offset + 4 * record.len() as u64);
        logs.region.fence(site)
    }
}

impl Drop for UndoLog<'_> {
    fn drop(&mut self) {
        self.logs.free.lock().push(self.undo);
    }
}
