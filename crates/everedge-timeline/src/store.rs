//! The file of versions: how one is added, and how all are found again.
//!
//! Source: PIE §3.2 (contiguous writes; a version counts from one 8-byte number on that is stored after a
//! fence; recovery rebuilds what is in memory).
//!
//! ```text
//! head: magic, format, check │ end: 8 bytes │ … │ version │ version │ …
//! ```
//! # Invariants
//! - V1: what lies before the end is durable, whole, and never changes.
//! - V2: the end is moved by one store, which is fenced before the version is acknowledged.
//!
//! After a crash the end is the old one or the new one. What lies behind it is overwritten by the next version.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use everedge_medium::{Access, Error, Region, Result, Site, Volume, crc_of_shared};
use parking_lot::{Mutex, RwLock};

use super::changes::Changes;
use super::lifetimes::VERSIONS_MAX;
use super::segment::{self, Delta, LINE_WORDS, NAME_BYTES_MAX, Segment, Totals, Wrong};
use super::tip::Tip;
use super::view::VersionView;
use super::window::Window;
use super::{TimelineOptions, Version};

/// The file that versions lie in.
pub const VERSIONS: &str = "versions";
const MAGIC: u32 = u32::from_le_bytes(*b"EVTL");
const FORMAT: u32 = 1;
const LINE_BYTES: u64 = 4 * LINE_WORDS as u64;
/// Where the end of all versions stands: a line of its own.
const END_OFFSET: u64 = LINE_BYTES;
/// Where the first version begins.
const FIRST_WORD: u64 = 4 * LINE_WORDS as u64;
/// The end counts cache lines; the rest of its 8 bytes is a check.
const END_BITS: u32 = 40;
/// The file grows by a quarter, but by so much at least and at most.
const GROWTH_BYTES: RangeInclusive<u64> = 4096..=64 << 20;

/// A durable history of versions of a graph.
pub struct Timeline {
    region: Region,
    salt: u32,
    options: TimelineOptions,
    /// Whoever adds a version holds it.
    writer: Mutex<()>,
    tip: RwLock<Tip>,
    is_base_checked: AtomicBool,
}

impl Timeline {
    /// Makes the file of versions, with none yet, in a volume. `salt` is drawn from the identity of the
    /// directory.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails.
    pub fn create(volume: &Volume, salt: u32, options: TimelineOptions) -> Result<Self> {
        let region = volume.create_region(VERSIONS, *GROWTH_BYTES.start())?;
        let mut head = [0; LINE_WORDS];
        (head[1], head[2]) = (MAGIC, FORMAT);
        head[0] = crc32c::crc32c_append(salt, bytemuck::cast_slice(&head[1..]));
        region.store_words(0, &head);
        region.store_words(END_OFFSET, &encode_end(salt, FIRST_WORD));
        region.flush(Site::VersionsHead, 0..END_OFFSET + 8);
        region.fence(Site::VersionsHead)?;
        Ok(Self::new(region, salt, options, Tip::default()))
    }

    /// Opens the file of versions of a volume.
    ///
    /// Cost: what all versions but the first one changed is read once.
    ///
    /// # Errors
    /// `Corruption` if it is damaged, `Version` if it is of another format; `Io` if there is none.
    pub fn open(volume: &Volume, salt: u32, options: TimelineOptions) -> Result<Self> {
        let region = volume.open_region(VERSIONS)?;
        let end = read_head(&region, salt)?;
        if volume.access() == Access::Write {
            // A process that was killed, or whose sync failed, may have left an end in caches only.
            region.rewrite(Site::VersionsFound, 0..2 * LINE_BYTES)?;
            region.fence(Site::VersionsFound)?;
        }
        let mut tip = Tip::default();
        if end > FIRST_WORD {
            let words = region.hold(0, end as usize);
            let mut first = FIRST_WORD;
            tip.hold(words.clone());
            while first < end {
                let damaged = |wrong: Wrong| damaged(&region, 4 * first, wrong);
                let segment = Segment::read(&words, salt, (first, end)).map_err(damaged)?;
                let expected = tip.segments().last().map(|last| last.version.number + 1);
                if expected.is_some_and(|expected| expected != segment.version.number) {
                    let found = segment.version.number.to_string();
                    let expected = expected.unwrap_or_default().to_string();
                    return Err(damaged(Wrong::new("a version's number", &expected, &found)));
                }
                segment.check_vertices(&words, salt).map_err(damaged)?;
                if !tip.is_empty() {
                    segment.check_lists(&words, salt).map_err(damaged)?;
                }
                let next = first + segment.words.next_multiple_of(LINE_WORDS as u64);
                tip.push(Arc::new(segment)).map_err(damaged)?;
                first = next;
            }
        }
        Ok(Self::new(region, salt, options, tip))
    }

    fn new(region: Region, salt: u32, options: TimelineOptions, tip: Tip) -> Self {
        let is_base_checked = AtomicBool::new(false);
        Self {
            region,
            salt,
            options,
            writer: Mutex::new(()),
            tip: RwLock::new(tip),
            is_base_checked,
        }
    }

    /// Returns what is fixed for all versions.
    pub fn options(&self) -> &TimelineOptions {
        &self.options
    }

    /// Returns the versions, ascending.
    pub fn versions(&self) -> Vec<Version> {
        self.tip.read().segments().iter().map(|segment| segment.version.clone()).collect()
    }

    /// Adds what `changes` come to as a version, which is durable on return. `time` is in microseconds since
    /// 1970, and not before that of the last version.
    ///
    /// Cost: the changes, sorted; a search for each stored edge that is deleted; two fences.
    ///
    /// # Errors
    /// `InvalidInput` if the name is longer than 1,024 bytes or the time before the last version's; `NoSpace`
    /// if the medium is full, and nothing has changed then; `Poisoned` after a failed fence.
    pub fn commit(&self, changes: Changes, time: i64, name: Option<&str>) -> Result<Version> {
        let _writer = self.writer.lock();
        let tip = self.tip.read();
        self.check(&tip, time, name)?;
        let change = changes.net(&tip, &self.options);
        let version = Version {
            number: tip.segments().last().map_or(1, |last| last.version.number + 1),
            time,
            name: name.map(str::to_owned),
            vertices: change.totals.vertex_count,
            edges: change.totals.edges,
            additions: change.additions,
            deletions: change.deletions,
        };
        drop(tip);
        self.append(&version, &change.totals, &change.delta)?;
        Ok(version)
    }

    /// Returns the graph of a version.
    ///
    /// Cost: a bit for each stored edge, and the edges that later versions than the first have added.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such version; `Corruption` if what it reads is damaged.
    pub fn at(&self, number: u64) -> Result<VersionView> {
        let tip = self.tip.read();
        let index = index_of(&tip, number)?;
        self.check_base(&tip)?;
        Ok(VersionView::new(&tip, index, &self.options))
    }

    /// Returns consecutive versions, ready for queries over all of them.
    ///
    /// Cost: a bit for each stored edge; 24 bytes for each edge that some of them have and others have not.
    ///
    /// # Errors
    /// As [`Self::at`]; `InvalidInput` if the window is empty or has more than 65,535 versions.
    pub fn window(&self, numbers: RangeInclusive<u64>) -> Result<Window> {
        let tip = self.tip.read();
        let [first, last] = [*numbers.start(), *numbers.end()];
        let (start, end) = (index_of(&tip, first)?, index_of(&tip, last)?);
        if start > end || end - start >= VERSIONS_MAX {
            let what = format!(
                "a window from version {first} to {last}: it has from 1 to {VERSIONS_MAX} versions"
            );
            return Err(Error::InvalidInput { what });
        }
        self.check_base(&tip)?;
        let past = tip.before(end + 1);
        Ok(Window::new(past.as_ref().unwrap_or(&tip), start, &self.options))
    }

    /// Returns the graph as it was at a time, in microseconds since 1970: of the last version that is not
    /// later.
    ///
    /// # Errors
    /// As [`Self::at`]; `InvalidInput` if all versions are later.
    pub fn at_time(&self, time: i64) -> Result<VersionView> {
        let number = {
            let tip = self.tip.read();
            let later = tip.segments().partition_point(|segment| segment.version.time <= time);
            let last = later.checked_sub(1).map(|index| tip.segments()[index].version.number);
            last.ok_or_else(|| Error::InvalidInput {
                what: format!(
                    "the time {time}, in microseconds since 1970: no version is so early"
                ),
            })?
        };
        self.at(number)
    }

    /// Looks at the lists of the first version once.
    fn check_base(&self, tip: &Tip) -> Result<()> {
        let (words, base) = (tip.words(), &tip.segments()[0]);
        if !self.is_base_checked.load(Acquire) {
            let damaged = |wrong: Wrong| damaged(&self.region, 4 * FIRST_WORD, wrong);
            base.check_lists(words, self.salt).map_err(damaged)?;
            self.is_base_checked.store(true, Release);
        }
        Ok(())
    }

    fn check(&self, tip: &Tip, time: i64, name: Option<&str>) -> Result<()> {
        let bytes = name.map_or(0, str::len);
        if bytes > NAME_BYTES_MAX {
            let what = format!("a version's name of {bytes} bytes; it may have {NAME_BYTES_MAX}");
            return Err(Error::InvalidInput { what });
        }
        match tip.segments().last().filter(|last| last.version.time > time) {
            None => Ok(()),
            Some(last) => {
                let (number, last) = (last.version.number, last.version.time);
                let what = format!(
                    "a version of the time {time}, in microseconds since 1970: version {number} is of {last}"
                );
                Err(Error::InvalidInput { what })
            }
        }
    }

    /// Writes a version behind the last one, and lets it count.
    fn append(&self, version: &Version, totals: &Totals, delta: &Delta) -> Result<()> {
        let first = read_head(&self.region, self.salt)?;
        let end = first + segment::len(version, delta).next_multiple_of(LINE_WORDS as u64);
        if 4 * end > self.region.len() {
            let growth = (self.region.len() / 4).clamp(*GROWTH_BYTES.start(), *GROWTH_BYTES.end());
            let len = (4 * end).max(self.region.len() + growth);
            self.region.grow(len.next_multiple_of(*GROWTH_BYTES.start()))?;
        }
        segment::write(&self.region, self.salt, first, version, totals, delta);
        self.region.fence(Site::Version)?;
        self.region.store_words(END_OFFSET, &encode_end(self.salt, end));
        self.region.flush(Site::VersionsEnd, END_OFFSET..END_OFFSET + 8);
        self.region.fence(Site::VersionsEnd)?;
        let words = self.region.hold(0, end as usize);
        let damaged = |wrong: Wrong| damaged(&self.region, 4 * first, wrong);
        let segment = Segment::read(&words, self.salt, (first, end)).map_err(damaged)?;
        let mut tip = self.tip.write();
        tip.hold(words);
        tip.push(Arc::new(segment)).map_err(damaged)
    }
}

/// Returns the place of a version among those that there are.
fn index_of(tip: &Tip, number: u64) -> Result<usize> {
    let first = tip.segments().first().map_or(0, |first| first.version.number);
    let index = number.checked_sub(first).map(|index| index as usize);
    index.filter(|&index| index < tip.segments().len()).ok_or_else(|| {
        let last = tip.segments().last().map_or(0, |last| last.version.number);
        let what = match tip.is_empty() {
            true => format!("version {number}: there is no version yet"),
            false => format!("version {number}: there are those from {first} to {last}"),
        };
        Error::InvalidInput { what }
    })
}

/// Returns the word before which the versions end.
fn read_head(region: &Region, salt: u32) -> Result<u64> {
    let head = region.words(0, LINE_WORDS);
    let word = |at: usize| head[at].load(Relaxed);
    let (expected, found) = (word(0), crc_of_shared(salt, &head[1..]));
    if expected != found || word(1) != MAGIC {
        let [expected, found] = [expected, found].map(|crc| format!("{crc:08x}"));
        return Err(damaged(region, 0, Wrong::new("the head of versions", &expected, &found)));
    }
    if word(2) != FORMAT {
        let path = region.path().to_owned();
        return Err(Error::Version { path, found: word(2), supported: FORMAT });
    }
    let end = region.load_u64(END_OFFSET);
    let (lines, check) = (end & ((1 << END_BITS) - 1), end >> END_BITS);
    let words = lines * LINE_WORDS as u64;
    if check != end_check(salt, lines) || words < FIRST_WORD || 4 * words > region.len() {
        let wrong = Wrong::new("the end of versions", "one inside of the file", "another");
        return Err(damaged(region, END_OFFSET, wrong));
    }
    Ok(words)
}

/// Returns the number that says before which word the versions end.
fn encode_end(salt: u32, words: u64) -> [u32; 2] {
    let lines = words / LINE_WORDS as u64;
    let end = lines | end_check(salt, lines) << END_BITS;
    [end as u32, (end >> 32) as u32]
}

fn end_check(salt: u32, lines: u64) -> u64 {
    u64::from(crc32c::crc32c_append(salt, &lines.to_le_bytes()))
        & ((1 << (u64::BITS - END_BITS)) - 1)
}

fn damaged(region: &Region, offset: u64, wrong: Wrong) -> Error {
    let Wrong { what, expected, found } = wrong;
    Error::Corruption { path: region.path().to_owned(), offset, what, expected, found }
}
