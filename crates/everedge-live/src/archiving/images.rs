//! Images of shards: what an opening reads instead of building shards from the log.
//!
//! An image is what a shard is in memory, as words, with the sequence number up to which it is
//! complete. It lies in the layout's file, between what it names there. Its head is read by an opening, its body when the
//! shard is first asked for. The file `shards` has a row of 64 bytes for each shard that exists, with
//! two slots: one names the image that counts, the other is for the next one.
//!
//! ```text
//! shards: head │ row │ row │ …      row: slot │ slot      slot: check, shard, epoch, length,
//!                                                                place, sequence, checksum of head
//! image:  part │ part │ …           part: words in it, unit of the next part, words
//! words:  words of head, checksum of body, rest of head │ body
//! ```
//! An image is one part, or several where the medium is full and no free range is long enough.
//!
//! # Invariants
//! - M1: of a row that slot counts whose epoch is the largest that the log's anchor has reached.
//!   The anchor has the number of rows and the sum of the checks of all slots that count, so that
//!   a missing or damaged one is found.
//! - M2: an image that counts, and all that it names, is not overwritten before another image of
//!   its shard counts: it holds on to [`Extents`].
//! - M3: a shard has at most one new image in an epoch.
//!
//! # Recovery
//! A slot whose epoch the anchor has not reached is wiped before the next anchor is written, so
//! that it never counts. One that is further ahead than the next, or has updates that the log does not
//! know, proves that the log is an older one.

use std::any::Any;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{MAX_VERTEX_ID, par};
use everedge_medium::{Access, Region, Site, Volume, crc_of_shared};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::shard::SHARD_SPAN;
use super::shard_set::ShardSet;
use crate::extents::Extents;
use crate::space::{Space, UNIT_BYTES};
use crate::{Error, Result};

/// The file that says which images count.
pub const SHARDS: &str = "shards";

const MAGIC: u32 = u32::from_le_bytes(*b"IMGS");
const VERSION: u32 = 3;
/// The first words of an image are filled in when it is stored: those of its first part, how many its
/// head has, and the checksum of its body.
pub const IMAGE_HEAD_WORDS: usize = PART_WORDS + 2;
/// Before the words of a part: how many they are, and the unit of the next one.
const PART_WORDS: usize = 2;
/// After the last part.
const NO_UNIT: u32 = u32::MAX;
const UNIT_WORDS: usize = UNIT_BYTES as usize / 4;
const ROW_BYTES: u64 = 64;
const SLOT_WORDS: usize = 8;
const SLOT_BYTES: u64 = 4 * SLOT_WORDS as u64;
/// Every vertex is in one of so many shards.
const SHARDS_MAX: u64 = MAX_VERTEX_ID as u64 / SHARD_SPAN as u64 + 1;
/// The file of rows grows by so much, or by a share of what it has, if there is room for that.
const GROWTH_SHARE: u64 = 4;
const GROWTH_BYTES: u64 = 4096;

/// A slot in words.
type Slot = [u32; SLOT_WORDS];

/// What a slot says.
#[derive(Clone, Copy, Debug)]
struct Named {
    shard: usize,
    epoch: u32,
    words: usize,
    unit: u64,
    sequence: u64,
    checksum: u32,
}

impl Named {
    fn encode(&self, salt: u32, offset: u64) -> Slot {
        let mut slot = [
            0,
            self.shard as u32,
            self.epoch,
            self.words as u32,
            self.unit as u32,
            self.sequence as u32,
            (self.sequence >> 32) as u32,
            self.checksum,
        ];
        slot[0] = check_of(&slot, salt, offset);
        slot
    }

    fn decode(slot: &Slot) -> Self {
        Self {
            shard: slot[1] as usize,
            epoch: slot[2],
            words: slot[3] as usize,
            unit: slot[4].into(),
            sequence: u64::from(slot[5]) | u64::from(slot[6]) << 32,
            checksum: slot[7],
        }
    }
}

/// The check of a slot covers its place. It is never 0, which is what no slot has.
fn check_of(slot: &Slot, salt: u32, offset: u64) -> u32 {
    let crc = crc32c::crc32c_append(salt, &offset.to_le_bytes());
    crc32c::crc32c_append(crc, bytemuck::cast_slice(&slot[1..])).max(1)
}

/// Returns how many units an image of so many words takes at most, in one part or in many.
pub fn image_units(words: usize) -> u64 {
    words.div_ceil(UNIT_WORDS - PART_WORDS) as u64
}

/// Returns the units of a part of so many words.
fn units_for(words: usize) -> u64 {
    (PART_WORDS + words).div_ceil(UNIT_WORDS) as u64
}

/// What an image holds on to: when it counts no more, and nobody else does, that is free.
pub type Hold = Arc<dyn Any + Send + Sync>;

/// What an image that counts holds on to.
struct Held {
    check: u32,
    /// What it names, then its own units.
    _holds: Vec<Hold>,
}

/// The row of a shard.
struct Row {
    offset: u64,
    /// The slot that counts, if one does, and the image that it names.
    current: Option<(usize, Held)>,
    /// An image that will count with the next anchor.
    next: Option<Held>,
}

impl State {
    /// Returns where the rows of all shards end that were named.
    fn end_of_named(&self) -> u64 {
        self.end + (self.named.count() - self.rows.len()) as u64 * ROW_BYTES
    }
}

#[derive(Default)]
struct State {
    rows: FxHashMap<usize, Row>,
    /// Where the next row goes.
    end: u64,
    /// Shards that have a row, or will have one when what is logged is saved.
    named: ShardSet,
    /// Of all slots that count: their number and the sum of their checks.
    count: u64,
    sum: u64,
    /// Shards with a next image.
    changed: Vec<usize>,
}

/// The images of one graph.
pub struct Images {
    directory: Region,
    /// Where images lie.
    region: Region,
    /// Its room; there is none before [`Images::adopt_space`].
    space: Option<Arc<Space>>,
    salt: u32,
    /// Before which an image held all updates when this was opened.
    sequence: u64,
    state: Mutex<State>,
    /// There is room for the rows of all shards of vertices below this one.
    roomy_bound: AtomicU32,
}

/// An image that counts, as opening finds it.
#[derive(Clone)]
pub struct FoundImage {
    /// The number of its shard.
    pub shard: usize,
    /// The shard holds all updates before this one in it, and no other.
    pub sequence: u64,
    /// Where its first part lies.
    pub offset: u64,
    /// Its units, and how many words it has in them: part by part.
    parts: Vec<(Range<u64>, usize)>,
    checksum: u32,
    check: u32,
}

/// Words of an image, as they lie on the medium or, of several parts, copied.
pub enum ImageWords<'a> {
    /// Those of one part.
    Mapped(&'a [AtomicU32]),
    /// Those of several.
    Copied(Vec<AtomicU32>),
}

impl std::ops::Deref for ImageWords<'_> {
    type Target = [AtomicU32];

    fn deref(&self) -> &[AtomicU32] {
        match self {
            Self::Mapped(words) => words,
            Self::Copied(words) => words,
        }
    }
}

/// Shards that cannot be read, by their numbers, and what is damaged.
pub type Unreadable = Vec<(usize, Error)>;

/// What the heads of images say.
pub struct Heads<H> {
    /// How many shards there are up to the last one that has an image.
    pub shard_count: usize,
    /// The images whose heads are whole, and what these say.
    pub whole: Vec<(FoundImage, H)>,
    /// The shards of the others.
    pub damaged: Unreadable,
}

impl Images {
    /// Makes the file of a graph without images; they will lie in `space`.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn create(volume: &Volume, salt: u32, space: &Arc<Space>) -> Result<Self> {
        let directory = volume.create_region(SHARDS, GROWTH_BYTES)?;
        let head = head(salt);
        directory.store_words(0, &head);
        directory.flush(Site::ImagesHead, 0..4 * head.len() as u64);
        directory.fence(Site::ImagesHead)?;
        Ok(Self {
            directory,
            region: space.region().clone(),
            space: Some(space.clone()),
            salt,
            sequence: 0,
            state: Mutex::new(State { end: ROW_BYTES, ..State::default() }),
            roomy_bound: AtomicU32::new(0),
        })
    }

    /// Opens the images in `region` that count: those up to `epoch`, of which there are `count`, whose
    /// checks add up to `sum`. They can be read now; when all units
    /// are known that are in use, theirs among them, comes [`adopt_space`](Self::adopt_space), and then
    /// each is to be [kept](Self::keep).
    ///
    /// # Errors
    /// `Corruption` if some are missing or damaged.
    pub fn open(
        (volume, region): (&Volume, &Region),
        salt: u32,
        (epoch, log_end): (u32, u64),
        [count, sum]: [u64; 2],
    ) -> Result<(Self, Vec<FoundImage>)> {
        let (directory, region) = (volume.open_region(SHARDS)?, region.clone());
        let damaged = |region: &Region, offset, what: &str, expected: String, found: String| {
            let path = region.path().to_owned();
            Error::Corruption { path, offset, what: what.into(), expected, found }
        };
        let bytes = directory.len();
        let is_known = |found| directory.matches(Site::ImagesHead, head(salt), found);
        if bytes < ROW_BYTES || !is_known(read(&directory, 0)) {
            let expected = format!("version {VERSION} with this graph's mark");
            return Err(damaged(&directory, 0, "the head of the file", expected, "another".into()));
        }
        let mut state = State { end: ROW_BYTES, ..State::default() };
        let (mut counting, mut wiped, mut latest) = (Vec::new(), Vec::new(), 0);
        // What follows the rows that there can be is not ours.
        let end = (bytes / ROW_BYTES * ROW_BYTES).min((1 + SHARDS_MAX) * ROW_BYTES);
        for offset in (ROW_BYTES..end).step_by(ROW_BYTES as usize) {
            let slots = [0, 1].map(|index| {
                let at = offset + index * SLOT_BYTES;
                let slot: Slot = read(&directory, at);
                let check = check_of(&slot, salt, at);
                let is_one = slot[0] != 0 && directory.matches(Site::Shard, slot[0], check);
                is_one.then_some((slot[0], Named::decode(&slot)))
            });
            let counts = |index: usize| slots[index].filter(|(_, named)| named.epoch <= epoch);
            let newest = (0..2).filter(|&index| counts(index).is_some());
            let newest = newest.max_by_key(|&index| counts(index).map(|(_, named)| named.epoch));
            for (index, slot) in slots.iter().enumerate() {
                let Some((_, later)) = slot.filter(|(_, named)| named.epoch > epoch) else {
                    continue;
                };
                // The next one only after an anchor that counts on this one.
                if later.epoch - epoch > 1 {
                    let expected = format!("at most {}, as the log says", epoch + 1);
                    let found = format!("{}: the log is an older one", later.epoch);
                    return Err(damaged(&directory, offset, "a checkpoint", expected, found));
                }
                latest = latest.max(later.sequence);
                wiped.push(offset + index as u64 * SLOT_BYTES);
            }
            let Some(index) = newest else { continue };
            let (check, named) = counts(index).expect("one that counts");
            state.end = offset + ROW_BYTES;
            state.count += 1;
            state.sum = state.sum.wrapping_add(check.into());
            let row =
                Row { offset, current: Some((index, Held { check, _holds: vec![] })), next: None };
            if named.shard as u64 >= SHARDS_MAX {
                let (expected, found) =
                    ("one of vertices".into(), format!("shard {}", named.shard));
                return Err(damaged(&directory, offset, "the shard of a row", expected, found));
            }
            latest = latest.max(named.sequence);
            state.named.add(named.shard);
            if state.rows.insert(named.shard, row).is_some() {
                let found = format!("two of shard {}", named.shard);
                return Err(damaged(&directory, offset, "rows", "one a shard".into(), found));
            }
            counting.push((check, named));
        }
        if !directory.matches(Site::ShardSum, [count, sum], [state.count, state.sum]) {
            let expected = format!("{count} images with the sum {sum:x}");
            let found = format!("{} with the sum {:x}", state.count, state.sum);
            return Err(damaged(&directory, ROW_BYTES, "rows of shards", expected, found));
        }
        // Those of all images together: a chain of parts that goes in a circle ends.
        let mut unit_count = region.len() / UNIT_BYTES;
        // Not before: an older slot in the place of a damaged one names what may be another's by now.
        let find = |(check, named): (u32, Named)| {
            let offset = named.unit * UNIT_BYTES;
            let parts = find_parts(&region, &named, &mut unit_count).map_err(|found| {
                let what = format!("the image of shard {}", named.shard);
                damaged(&region, offset, &what, format!("{} words", named.words), found)
            })?;
            let Named { shard, sequence, checksum, .. } = named;
            Ok(FoundImage { shard, sequence, offset, parts, checksum, check })
        };
        let found: Vec<FoundImage> = counting.into_iter().map(find).collect::<Result<_>>()?;
        // What images hold was durable in the log before: if it lacks that, nothing is written.
        let is_log_whole = latest <= log_end;
        for offset in wiped.into_iter().filter(|_| is_log_whole) {
            directory.wipe(Site::ShardWipe, offset..offset + SLOT_BYTES);
        }
        directory.drain(Site::ShardWipe)?;
        let (state, roomy_bound) = (Mutex::new(state), AtomicU32::new(0));
        let images =
            Self { directory, region, space: None, salt, sequence: latest, state, roomy_bound };
        Ok((images, found))
    }

    /// Returns the sequence number before which an image held all updates when this was opened.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns where the file is that names images.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// After opening: images are stored in `space` from now on.
    pub fn adopt_space(&mut self, space: &Arc<Space>) {
        self.space = Some(space.clone());
    }

    fn space(&self) -> &Arc<Space> {
        self.space.as_ref().expect("the space that was adopted")
    }

    /// Reads the heads of images, on all threads. Where nobody may write, those that are damaged keep nobody from the rest.
    ///
    /// # Errors
    /// Those of `read`: a writer would not know which units a damaged head names.
    pub fn read_heads<H: Send>(
        found: Vec<FoundImage>,
        access: Access,
        read: impl Fn(&FoundImage) -> Result<H> + Sync,
    ) -> Result<Heads<H>> {
        let mut heads = Heads { shard_count: 0, whole: Vec::new(), damaged: Vec::new() };
        let results = par::map_chunks(&found, 1, |found| read(&found[0]));
        for (image, result) in found.into_iter().zip(results) {
            heads.shard_count = heads.shard_count.max(image.shard + 1);
            match result {
                Ok(head) => heads.whole.push((image, head)),
                Err(error @ Error::Corruption { .. }) if access == Access::Read => {
                    heads.damaged.push((image.shard, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(heads)
    }

    /// Returns the head of an image, after a look at its checksum.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub fn read_head(&self, image: &FoundImage) -> Result<ImageWords<'_>> {
        let head_words = self.head_words(image)?;
        let head = self.words(image, 0..head_words);
        self.check(image, &head, image.checksum)?;
        Ok(self.words(image, 2..head_words))
    }

    /// Returns the body of an image, after a look at its checksum.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub fn read_body(&self, image: &FoundImage) -> Result<ImageWords<'_>> {
        let head_words = self.head_words(image)?;
        let body = self.words(image, head_words..image.word_count());
        let checksum = self.words(image, 1..2)[0].load(Relaxed);
        self.check(image, &body, checksum)?;
        Ok(body)
    }

    fn head_words(&self, image: &FoundImage) -> Result<usize> {
        let count = image.word_count();
        let words = if count < 2 { 0 } else { self.words(image, 0..1)[0].load(Relaxed) as usize };
        match (2..=count).contains(&words) {
            true => Ok(words),
            false => {
                let expected = format!("a head of at most {count} words");
                Err(self.damaged(image, expected, format!("{words} words")))
            }
        }
    }

    /// Returns some words of an image.
    fn words(&self, image: &FoundImage, range: Range<usize>) -> ImageWords<'_> {
        let region = &self.region;
        let (mut pieces, mut start) = (Vec::with_capacity(1), 0);
        for (units, count) in &image.parts {
            let (from, to) = (range.start.max(start), range.end.min(start + count));
            if from < to {
                let first = units.start * UNIT_BYTES + 4 * (PART_WORDS + from - start) as u64;
                pieces.push(region.words(first, to - from));
            }
            start += count;
        }
        match pieces[..] {
            [] => ImageWords::Mapped(&[]),
            [words] => ImageWords::Mapped(words),
            _ => {
                let copy = |word: &AtomicU32| AtomicU32::new(word.load(Relaxed));
                ImageWords::Copied(pieces.into_iter().flatten().map(copy).collect())
            }
        }
    }

    fn check(&self, image: &FoundImage, words: &[AtomicU32], checksum: u32) -> Result<()> {
        let found = crc_of_shared(self.salt, words);
        match self.region.matches(Site::Image, checksum, found) {
            true => Ok(()),
            false => {
                let expected = format!("checksum {checksum:08x}");
                Err(self.damaged(image, expected, format!("{found:08x}")))
            }
        }
    }

    fn damaged(&self, image: &FoundImage, expected: String, found: String) -> Error {
        Error::Corruption {
            path: self.region.path().to_owned(),
            offset: image.offset,
            what: format!("the image of shard {}", image.shard),
            expected,
            found,
        }
    }

    /// After opening: an image that counts holds on to its own units, which are returned, and to
    /// `holds`, which it names.
    pub fn keep(&self, image: &FoundImage, mut holds: Vec<Hold>) -> Arc<Extents> {
        let own = Extents::new(self.space(), image.units().collect());
        holds.push(own.clone());
        let mut state = self.state.lock();
        let row = state.rows.get_mut(&image.shard).expect("a row that was found");
        let slot = row.current.as_ref().map_or(0, |current| current.0);
        row.current = Some((slot, Held { check: image.check, _holds: holds }));
        own
    }

    /// Stores an image of a shard that is to count from `epoch` on; it names what is in `holds`. The first
    /// of its words are its head, in which [`IMAGE_HEAD_WORDS`] are filled in here.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full: [`Self::drop_next`] is to be called then.
    pub fn store(
        &self,
        shard: usize,
        (sequence, epoch): (u64, u32),
        (words, head_words): (&mut [u32], usize),
        mut holds: Vec<Hold>,
    ) -> Result<()> {
        let crc = |words: &[u32]| crc32c::crc32c_append(self.salt, bytemuck::cast_slice(words));
        (words[PART_WORDS], words[PART_WORDS + 1]) =
            ((head_words - PART_WORDS) as u32, crc(&words[head_words..]));
        let checksum = crc(&words[PART_WORDS..head_words]);
        let count = words.len() - PART_WORDS;
        let own = Extents::new(self.space(), Vec::new());
        let unit = self.store_parts(&own, words)?;
        self.region.drain(Site::Image)?;
        holds.push(own);
        let named = Named { shard, epoch, words: count, unit, sequence, checksum };
        let mut state = self.state.lock();
        let offset = self.slot_for(&mut state, shard)?;
        let slot = named.encode(self.salt, offset);
        self.directory.store_words(offset, &slot);
        self.directory.flush(Site::Shard, offset..offset + SLOT_BYTES);
        let row = state.rows.get_mut(&shard).expect("a row that was made");
        debug_assert!(row.next.is_none(), "one image in an epoch");
        row.next = Some(Held { check: slot[0], _holds: holds });
        state.changed.push(shard);
        drop(state);
        self.directory.drain(Site::Shard)
    }

    /// Stores the words of an image, before which there is room for the head of a part, in parts on
    /// units that `own` takes. Returns the unit of the first part.
    fn store_parts(&self, own: &Extents, words: &mut [u32]) -> Result<u64> {
        let mut units = Vec::with_capacity(1);
        let mut missing = words.len() - PART_WORDS;
        while missing > 0 {
            let part = own.take_some(units_for(missing))?;
            missing -= missing.min((part.end - part.start) as usize * UNIT_WORDS - PART_WORDS);
            units.push(part);
        }
        let mut start = 0;
        for (index, part) in units.iter().enumerate() {
            let next = units.get(index + 1).map_or(NO_UNIT, |next| next.start as u32);
            let words = &mut words[start..];
            let count = words.len().min((part.end - part.start) as usize * UNIT_WORDS);
            // What came before is stored already.
            (words[0], words[1]) = ((count - PART_WORDS) as u32, next);
            self.region.stream_words(Site::Image, part.start * UNIT_BYTES, &words[..count]);
            start += count - PART_WORDS;
        }
        Ok(units[0].start)
    }

    /// Returns where the next slot of a shard lies; a shard without a row gets one.
    fn slot_for(&self, state: &mut State, shard: usize) -> Result<u64> {
        if let Some(row) = state.rows.get(&shard) {
            let slot = row.current.as_ref().map_or(0, |(current, _)| 1 - current);
            return Ok(row.offset + slot as u64 * SLOT_BYTES);
        }
        let offset = state.end;
        self.make_rows(offset + ROW_BYTES)?;
        state.named.add(shard);
        // A device may leave anything in what was allocated and never written.
        self.directory.wipe(Site::ShardWipe, offset..offset + ROW_BYTES);
        state.rows.insert(shard, Row { offset, current: None, next: None });
        state.end += ROW_BYTES;
        Ok(offset)
    }

    /// Before updates are logged, whose ids are below `vertex_bound`: makes room for the rows of the shards
    /// that they name.
    ///
    /// Cost: all ids are looked at if the file has not room for all shards below the bound.
    ///
    /// # Errors
    /// `NoSpace` if the medium has none.
    pub fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()> {
        if vertex_bound <= self.roomy_bound.load(Relaxed) {
            return Ok(());
        }
        let mut state = self.state.lock();
        let shards = updates.iter().map(|word| (word & MAX_VERTEX_ID) as usize / SHARD_SPAN);
        let new: Vec<usize> = shards.filter(|&shard| state.named.add(shard)).collect();
        let made = self.make_rows(state.end_of_named());
        if made.is_err() {
            new.into_iter().for_each(|shard| state.named.remove(shard));
        }
        self.note_roomy(&state);
        made
    }

    /// After opening: these shards were named by what the log has.
    pub fn note_named(&self, shards: impl Iterator<Item = usize>) {
        let mut state = self.state.lock();
        shards.for_each(|shard| {
            state.named.add(shard);
        });
    }

    /// Lets the file have rows up to `end`, or some more if there is room for them.
    fn make_rows(&self, end: u64) -> Result<()> {
        if end <= self.directory.len() {
            return Ok(());
        }
        let grow = |end: u64| self.directory.grow(end.next_multiple_of(GROWTH_BYTES));
        match grow(end + end / GROWTH_SHARE) {
            Err(Error::NoSpace { .. }) => grow(end),
            outcome => outcome,
        }
    }

    /// Finds out below which vertex all shards may be named.
    fn note_roomy(&self, state: &State) {
        let free_rows = (self.directory.len() / ROW_BYTES * ROW_BYTES)
            .saturating_sub(state.end_of_named())
            / ROW_BYTES;
        let most = state.named.count() + free_rows as usize;
        // Those that lie behind it have rows as well.
        let (mut bound, mut before) = (most, usize::MAX);
        while bound < before {
            before = bound;
            bound = most - state.named.count_after(bound);
        }
        let vertex_bound = (bound * SHARD_SPAN).min(u32::MAX as usize) as u32;
        self.roomy_bound.store(vertex_bound, Relaxed);
    }

    /// Makes all slots durable that were stored; the layout fences the file that images lie in.
    ///
    /// # Errors
    /// If a fence fails; it is not tried again.
    pub fn fence(&self) -> Result<()> {
        self.directory.fence(Site::Shard)
    }

    /// Returns what the anchor is to say that makes the stored images count: how many count then,
    /// and the sum of their checks.
    pub fn totals(&self) -> [u64; 2] {
        let state = self.state.lock();
        let (mut count, mut sum) = (state.count, state.sum);
        for row in state.changed.iter().map(|shard| &state.rows[shard]) {
            let before = row.current.as_ref().map(|(_, held)| held.check);
            let after = row.next.as_ref().map_or(0, |held| held.check);
            count += u64::from(before.is_none());
            sum = sum.wrapping_sub(before.unwrap_or(0).into()).wrapping_add(after.into());
        }
        [count, sum]
    }

    /// After the anchor was written: the stored images count, and what they replace is free.
    pub fn adopt_next(&self) {
        let [count, sum] = self.totals();
        let mut state = self.state.lock();
        (state.count, state.sum) = (count, sum);
        let mut replaced = Vec::new();
        for shard in std::mem::take(&mut state.changed) {
            let row = state.rows.get_mut(&shard).expect("a row");
            let slot = row.current.as_ref().map_or(0, |(current, _)| 1 - current);
            if let Some(next) = row.next.take() {
                replaced.extend(row.current.replace((slot, next)));
            }
        }
        drop(state);
    }

    /// Wipes what was stored since the last anchor: it will not count.
    pub fn drop_next(&self) {
        let mut state = self.state.lock();
        for shard in std::mem::take(&mut state.changed) {
            let row = state.rows.get_mut(&shard).expect("a row");
            row.next = None;
            let slot = row.current.as_ref().map_or(0, |(current, _)| 1 - current);
            let offset = row.offset + slot as u64 * SLOT_BYTES;
            self.directory.wipe(Site::ShardWipe, offset..offset + SLOT_BYTES);
        }
        // After a failed fence nothing is written any more.
        let _drained = self.directory.drain(Site::ShardWipe);
    }
}

impl FoundImage {
    /// Returns its units.
    pub fn units(&self) -> impl Iterator<Item = Range<u64>> {
        self.parts.iter().map(|(units, _)| units.clone())
    }

    fn word_count(&self) -> usize {
        self.parts.iter().map(|(_, count)| count).sum()
    }
}

/// Returns the parts of an image, or what is wrong with them. Its units are taken from `units_left`:
/// those that no image before it has.
fn find_parts(
    images: &Region,
    named: &Named,
    units_left: &mut u64,
) -> std::result::Result<Vec<(Range<u64>, usize)>, String> {
    let (mut parts, mut found, mut unit) = (Vec::with_capacity(1), 0, named.unit);
    while found < named.words {
        if (unit + 1) * UNIT_BYTES > images.len() {
            return Err(format!("{found} words before the end of the file"));
        }
        let [count, next]: [u32; PART_WORDS] = read(images, unit * UNIT_BYTES);
        let units = unit..unit + units_for(count as usize);
        if count == 0 || units.end * UNIT_BYTES > images.len() {
            return Err(format!("{count} words in a part"));
        }
        let left = units_left.checked_sub(units.end - units.start);
        *units_left = left.ok_or("more units in images than in the file")?;
        found += count as usize;
        parts.push((units, count as usize));
        unit = next.into();
    }
    match found == named.words {
        true => Ok(parts),
        false => Err(format!("{found} words")),
    }
}

fn head(salt: u32) -> [u32; 4] {
    let words = [MAGIC, VERSION, salt];
    [MAGIC, VERSION, salt, crc32c::crc32c_append(salt, bytemuck::cast_slice(&words))]
}

fn read<const N: usize>(region: &Region, offset: u64) -> [u32; N] {
    let words = region.words(offset, N);
    std::array::from_fn(|index| words[index].load(Relaxed))
}

#[cfg(test)]
mod tests;
