//! The files of a timeline: one that versions lie in, and one that says which it is.
//!
//! ```text
//! versions       which number the file has that counts
//! versions.N     head: magic, format, check │ end: 8 bytes │ … │ version │ version │ …
//! ```
//! # Invariants
//! - V1: what lies before the end is durable, whole, and never changes.
//! - V2: the end is moved by one store, which is fenced before the version is acknowledged.
//! - V3: a file of another number than that which counts is no part of the timeline; the next opening for
//!   writing removes it.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;

use everedge_medium::{Access, Error, HeldWords, Region, Result, Site, Volume, crc_of_shared};

use super::segment::{LINE_WORDS, NewSegment, Segment, Wrong};

/// The file that says which file of versions counts.
pub const VERSIONS: &str = "versions";
const MAGIC: u32 = u32::from_le_bytes(*b"EVTL");
const FORMAT: u32 = 1;
const LINE_BYTES: u64 = 4 * LINE_WORDS as u64;
/// Where the end of all versions stands: a line of its own.
const END_OFFSET: u64 = LINE_BYTES;
/// Where the first version begins.
pub(crate) const FIRST_WORD: u64 = 4 * LINE_WORDS as u64;
/// The end counts cache lines; the rest of its 8 bytes is a check.
const END_BITS: u32 = 40;
/// The file grows by a quarter, but by so much at least and at most.
const GROWTH_BYTES: RangeInclusive<u64> = 4096..=64 << 20;
/// Who opens the file beside its writer tries so often.
const OPENINGS: u32 = 100;

/// A file of versions.
#[derive(Clone)]
pub(crate) struct File {
    region: Region,
    salt: u32,
    number: u64,
    /// Where the versions ended when the file was opened for reading: beside a writer, more may come.
    opened_end: Option<u64>,
}

impl File {
    /// Makes a file without versions. It counts when it is [published](Self::publish).
    pub(crate) fn create(volume: &Volume, salt: u32, number: u64) -> Result<Self> {
        let name = name(number);
        if volume.contains(&name)? {
            volume.remove(&name)?;
        }
        let region = volume.create_region(&name, *GROWTH_BYTES.start())?;
        let mut head = [0; LINE_WORDS];
        (head[1], head[2]) = (MAGIC, FORMAT);
        head[0] = crc32c::crc32c_append(salt, bytemuck::cast_slice(&head[1..]));
        region.store_words(0, &head);
        region.store_words(END_OFFSET, &encode_end(salt, FIRST_WORD));
        region.flush(Site::VersionsHead, 0..END_OFFSET + 8);
        region.fence(Site::VersionsHead)?;
        Ok(Self { region, salt, number, opened_end: None })
    }

    /// Lets it count, in the place of another.
    pub(crate) fn publish(&self, volume: &Volume) -> Result<()> {
        let mut words = [0, MAGIC, self.number as u32, (self.number >> 32) as u32];
        words[0] = crc32c::crc32c_append(self.salt, bytemuck::cast_slice(&words[1..]));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        volume.publish(VERSIONS, &bytes)
    }

    /// Opens the file that counts. If it is opened for writing, what it says is made durable again, and files
    /// are removed that do not count.
    pub(crate) fn open(volume: &Volume, salt: u32) -> Result<Self> {
        if volume.access() == Access::Read {
            return Self::open_to_read(volume, salt);
        }
        let number = read_number(volume, salt)?;
        let region = volume.open_region(&name(number))?;
        let file = Self { region, salt, number, opened_end: None };
        file.end()?;
        if volume.access() == Access::Write {
            // A process that was killed, or whose sync failed, may have left an end in caches only.
            file.region.rewrite(Site::VersionsFound, 0..2 * LINE_BYTES)?;
            file.region.fence(Site::VersionsFound)?;
            for other in [number.checked_sub(1), number.checked_add(1)].into_iter().flatten() {
                if volume.contains(&name(other))? {
                    volume.remove(&name(other))?;
                }
            }
        }
        Ok(file)
    }

    /// Opens the file that counts, which a writer beside may let grow, or replace by another, meanwhile.
    fn open_to_read(volume: &Volume, salt: u32) -> Result<Self> {
        let mut tries = 0;
        loop {
            let number = read_number(volume, salt)?;
            let opened = volume.open_region(&name(number)).and_then(|region| {
                let mut file = Self { region, salt, number, opened_end: None };
                file.opened_end = Some(file.end()?);
                Ok(file)
            });
            tries += 1;
            match opened {
                Err(_) if tries < OPENINGS => {}
                opened => return opened,
            }
        }
    }

    /// Opens for reading what there is, where that does not say which file counts or where its versions end: then the only
    /// file there is, and as far as it goes. Returns the word before which versions end, and what is damaged.
    ///
    /// # Errors
    /// As [`Self::open`], if several files may count.
    pub(crate) fn salvage(volume: &Volume, salt: u32) -> Result<(Self, u64, Option<Error>)> {
        let (number, damage) = match read_number(volume, salt) {
            Ok(number) => (number, None),
            Err(error) => match numbers(volume)?[..] {
                [only] => (only, Some(error)),
                _ => return Err(error),
            },
        };
        let region = volume.open_region(&name(number))?;
        let mut file = Self { region, salt, number, opened_end: None };
        match file.end() {
            Ok(end) => {
                file.opened_end = Some(end);
                Ok((file, end, damage))
            }
            Err(error @ Error::Corruption { .. }) => {
                let lines = file.region.len() / LINE_BYTES;
                let end = (lines * LINE_WORDS as u64).max(FIRST_WORD);
                Ok((file, end, damage.or(Some(error))))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the file that may take its place. What is left of the one before it goes.
    pub(crate) fn next(&self, volume: &Volume) -> Result<Self> {
        if let Some(before) = self.number.checked_sub(1).map(name)
            && volume.contains(&before)?
        {
            volume.remove(&before)?;
        }
        Self::create(volume, self.salt, self.number + 1)
    }

    /// Whether this is the file that counts.
    pub(crate) fn counts(&self, volume: &Volume) -> Result<bool> {
        Ok(read_number(volume, self.salt)? == self.number)
    }

    /// Removes the file, which does not count any more. Who reads it goes on.
    pub(crate) fn remove(&self, volume: &Volume) -> Result<()> {
        volume.remove(&name(self.number))
    }

    /// Returns the word before which the versions end.
    pub(crate) fn end(&self) -> Result<u64> {
        if let Some(end) = self.opened_end {
            return Ok(end);
        }
        let (least, len) = (4 * FIRST_WORD, self.region.len());
        if len < least {
            let [least, len] = [least, len].map(|bytes| format!("{bytes} bytes"));
            return Err(self.damaged(0, Wrong::new("the file of versions", &least, &len)));
        }
        let head = self.region.words(0, LINE_WORDS);
        let word = |at: usize| head[at].load(Relaxed);
        let (expected, found) = (word(0), crc_of_shared(self.salt, &head[1..]));
        if expected != found || word(1) != MAGIC {
            let [expected, found] = [expected, found].map(|crc| format!("{crc:08x}"));
            return Err(self.damaged(0, Wrong::new("the head of versions", &expected, &found)));
        }
        if word(2) != FORMAT {
            let path = self.region.path().to_owned();
            return Err(Error::Version { path, found: word(2), supported: FORMAT });
        }
        let end = self.region.load_u64(END_OFFSET);
        let (lines, check) = (end & ((1 << END_BITS) - 1), end >> END_BITS);
        let words = lines * LINE_WORDS as u64;
        let is_inside = words >= FIRST_WORD && 4 * words <= self.region.len();
        if check != end_check(self.salt, lines) || !is_inside {
            let wrong = Wrong::new("the end of versions", "one inside of the file", "another");
            return Err(self.damaged(END_OFFSET / 4, wrong));
        }
        Ok(words)
    }

    /// Writes a version behind the last one, and lets it count.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full, and nothing has changed then; `Poisoned` after a failed fence.
    pub(crate) fn append(&self, segment: &NewSegment<'_>) -> Result<(HeldWords, Segment)> {
        let first = self.end()?;
        let end = first + segment.len().next_multiple_of(LINE_WORDS as u64);
        if 4 * end > self.region.len() {
            let growth = (self.region.len() / 4).clamp(*GROWTH_BYTES.start(), *GROWTH_BYTES.end());
            let grow = |len: u64| self.region.grow(len.next_multiple_of(*GROWTH_BYTES.start()));
            match grow((4 * end).max(self.region.len() + growth)) {
                // There may be room for this version and not for what others will need.
                Err(Error::NoSpace { .. }) => grow(4 * end)?,
                grown => grown?,
            }
        }
        segment.write(&self.region, self.salt, first);
        self.region.fence(Site::Version)?;
        self.region.store_words(END_OFFSET, &encode_end(self.salt, end));
        self.region.flush(Site::VersionsEnd, END_OFFSET..END_OFFSET + 8);
        self.region.fence(Site::VersionsEnd)?;
        let words = self.words(end);
        let found = Segment::read(&words, self.salt, (first, end));
        Ok((words, found.map_err(|wrong| self.damaged(first, wrong))?))
    }

    /// Holds the words before `end`.
    pub(crate) fn words(&self, end: u64) -> HeldWords {
        self.region.hold(0, end as usize)
    }

    pub(crate) fn salt(&self) -> u32 {
        self.salt
    }

    /// Returns the error for what is wrong from the word `first` on.
    pub(crate) fn damaged(&self, first: u64, wrong: Wrong) -> Error {
        let Wrong { what, expected, found } = wrong;
        let (path, offset) = (self.region.path().to_owned(), 4 * first);
        Error::Corruption { path, offset, what, expected, found }
    }
}

/// Returns whether a volume has a timeline. A creation that did not come to its end is none.
///
/// # Errors
/// `Corruption` if files of versions are there, and not the one that says which of them counts.
pub fn is_there(volume: &Volume, salt: u32) -> Result<bool> {
    let mut names: Vec<String> = volume.names()?.into_iter().filter(|name| is_file(name)).collect();
    if names.iter().any(|name| name == VERSIONS) {
        return Ok(true);
    }
    if let [only] = &names[..]
        && *only == name(0)
        && has_no_version(volume, salt)?
    {
        return Ok(false);
    }
    names.sort_unstable();
    match names.first() {
        None => Ok(false),
        Some(other) => Err(Error::Corruption {
            path: volume.path().join(VERSIONS),
            offset: 0,
            what: "the file that says which file of versions counts".into(),
            expected: format!("one beside `{other}`"),
            found: "none".into(),
        }),
    }
}

/// Returns whether the first file of versions has none: a creation that did not come to its end leaves such a file, whatever
/// else stands in it.
fn has_no_version(volume: &Volume, salt: u32) -> Result<bool> {
    let region = volume.open_region(&name(0))?;
    let end = region.len() / LINE_BYTES * LINE_WORDS as u64;
    if end <= FIRST_WORD {
        return Ok(true);
    }
    let words = region.hold(0, end as usize);
    Ok(Segment::read(&words, salt, (FIRST_WORD, end)).is_err())
}

/// Returns the numbers of the files of versions that there are.
fn numbers(volume: &Volume) -> Result<Vec<u64>> {
    let names = volume.names()?;
    let number = |name: &String| name.strip_prefix(VERSIONS)?.strip_prefix('.')?.parse().ok();
    Ok(names.iter().filter_map(number).collect())
}

/// Returns whether a timeline has files of this name.
pub fn is_file(name: &str) -> bool {
    let number = name.strip_prefix(VERSIONS);
    number.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

fn name(number: u64) -> String {
    format!("{VERSIONS}.{number}")
}

/// Returns the number of the file that counts.
fn read_number(volume: &Volume, salt: u32) -> Result<u64> {
    const BYTES: u64 = 16;
    let bytes = volume.read(VERSIONS, BYTES)?;
    let word = |at: usize| {
        let bytes = bytes.get(4 * at..4 * at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let words = [0, 1, 2, 3].map(|at| word(at).unwrap_or_default());
    let found = crc32c::crc32c_append(salt, bytemuck::cast_slice(&words[1..]));
    if words[0] != found || words[1] != MAGIC {
        return Err(Error::Corruption {
            path: volume.path().join(VERSIONS),
            offset: 0,
            what: "the checksum of the number of the file of versions".into(),
            expected: format!("{:08x}", words[0]),
            found: format!("{found:08x}"),
        });
    }
    Ok(u64::from(words[2]) | u64::from(words[3]) << 32)
}

/// Returns the number that says before which word the versions end.
fn encode_end(salt: u32, words: u64) -> [u32; 2] {
    let lines = words / LINE_WORDS as u64;
    let end = lines | end_check(salt, lines) << END_BITS;
    [end as u32, (end >> 32) as u32]
}

fn end_check(salt: u32, lines: u64) -> u64 {
    let crc = crc32c::crc32c_append(salt, &lines.to_le_bytes());
    u64::from(crc) & ((1 << (u64::BITS - END_BITS)) - 1)
}
