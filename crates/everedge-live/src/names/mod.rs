//! The id map: external ids, strings or sparse integers, to the dense ids that layouts use.
//!
//! Names are appended in frames, one for the new names of a batch, each fenced before the batch
//! that uses them is logged. The n-th name of the file belongs to the vertex id n.
//! `docs/format.md` §6 draws a frame.
//!
//! # Invariants
//! - N1: a name has one id, an id one name; ids have no gaps.
//! - N2: a frame's checksum continues that of the frame before it, so that what a torn frame left
//!   behind is never taken for a later one.
//!
//! # Cost
//! DRAM: 17 to 26 bytes a name ([`Names::bytes_announced`]), and the bytes of a string. Opening reads
//! the whole file, and keeps little of it in memory beside.
//!
//! # Recovery
//! Read to the first frame that is not whole; the last whole one is stored again and fenced, since a
//! process that was killed, or whose sync failed, may have left it in caches only. Those before it are
//! durable: each frame is fenced before the next one is stored. Names without an edge are no vertices; an edge
//! without a name proves damage ([`Names::check_covers`]).

mod places;
mod table;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::VertexId;
use parking_lot::{RwLock, RwLockReadGuard};

use self::places::Places;
use self::table::{Interned, Table};
use crate::options::IdKind;
use crate::{Error, Result};
use everedge_medium::{Region, Site, Volume, crc_of_shared};

/// The file of the id map.
pub const NAMES: &str = "names";
const FRAME_MAGIC: u32 = u32::from_le_bytes(*b"NAME");
const FRAME_HEADER_WORDS: usize = 4;
const FILE_BYTES_MIN: u64 = 4096;
const GROWTH_BYTES_MAX: u64 = 16 << 20;
/// Bytes of the file that opening has in memory at once.
const READ_BYTES: u64 = 1 << 20;

/// An id as its source wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExternalId {
    /// An integer.
    Integer(u64),
    /// A string.
    Text(String),
}

impl std::fmt::Display for ExternalId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(id) => id.fmt(f),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// The id map of one graph.
pub struct Names {
    region: Region,
    state: RwLock<State>,
}

/// What the headers of a map's frames say.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnnouncedNames {
    /// Names.
    pub count: u64,
    /// Bytes of texts, about; 0 of integers.
    pub text_bytes: u64,
    /// Bytes of memory that the map takes once it is open.
    pub memory_bytes: u64,
}

struct State {
    table: Table,
    /// Where the next frame goes.
    end: u64,
    /// The checksum of the last frame.
    checksum: u32,
}

impl Names {
    /// Creates the map of a new directory, or none if its ids are dense. `salt` is drawn from the identity
    /// of the directory.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the file cannot be made.
    pub fn create(volume: &Volume, ids: IdKind, salt: u32) -> Result<Option<Self>> {
        if ids == IdKind::Dense {
            return Ok(None);
        }
        Self::create_file(volume, NAMES, ids, salt).map(Some)
    }

    /// Creates a map in a file that is called `file`, beside that of the directory's own vertices.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_file(volume: &Volume, file: &str, ids: IdKind, salt: u32) -> Result<Self> {
        Ok(Self::empty(volume.create_region(file, FILE_BYTES_MIN)?, ids, salt))
    }

    /// Opens the map of a directory, if it has one.
    ///
    /// # Errors
    /// `Corruption` if a whole frame says what cannot be.
    pub fn open(volume: &Volume, ids: IdKind, salt: u32) -> Result<Option<Self>> {
        if ids == IdKind::Dense {
            return Ok(None);
        }
        Self::open_file(volume, NAMES, ids, salt).map(Some)
    }

    /// Returns how many bytes of memory [`Self::open`] will take, as the headers of frames say: neither names
    /// nor checksums are read.
    ///
    /// # Errors
    /// `Io` if there is no such file.
    pub fn bytes_announced(volume: &Volume, ids: IdKind) -> Result<u64> {
        match ids {
            IdKind::Dense => Ok(0),
            _ => Ok(Self::announced(volume, NAMES, ids)?.memory_bytes),
        }
    }

    /// Returns the same of a map in a file that is called `file`, and how many names it has.
    ///
    /// # Errors
    /// As [`Self::bytes_announced`].
    pub fn announced(volume: &Volume, file: &str, ids: IdKind) -> Result<AnnouncedNames> {
        let all = Announced::of(&volume.open_region(file)?, ids);
        let text_bytes = if ids == IdKind::Text { all.text_bytes } else { 0 };
        Ok(AnnouncedNames { count: all.count, text_bytes, memory_bytes: all.memory_bytes(ids) })
    }

    /// Opens a map that [`Self::create_file`] has made.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_file(volume: &Volume, file: &str, ids: IdKind, salt: u32) -> Result<Self> {
        let names = Self::empty(volume.open_region(file)?, ids, salt);
        let mut state = names.state.write();
        // What grew by doubling would take up to three times as much meanwhile.
        state.table.reserve(&Announced::of(&names.region, ids));
        let (mut last_start, mut wake) = (0, Wake::of(&names.region));
        loop {
            let start = state.end;
            if !names.read_frame(&mut state)? {
                break;
            }
            last_start = start;
            wake.follow(state.end);
        }
        names.region.rewrite(Site::NamesFound, last_start..state.end)?;
        names.region.fence(Site::NamesFound)?;
        drop(state);
        Ok(names)
    }

    fn empty(region: Region, ids: IdKind, salt: u32) -> Self {
        let table = match ids {
            IdKind::Text => Table::Text(Interned::default()),
            _ => Table::Integer(Interned::default()),
        };
        let state = State { table, end: 0, checksum: salt };
        Self { region, state: RwLock::new(state) }
    }

    /// Returns what the names are: integers or strings, also while there are none.
    pub fn kind(&self) -> IdKind {
        match &self.state.read().table {
            Table::Integer(_) => IdKind::Integer,
            Table::Text(_) => IdKind::Text,
        }
    }

    /// Returns how many names there are.
    pub fn len(&self) -> u32 {
        self.state.read().table.len()
    }

    /// Returns whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of a vertex, if it has one.
    pub fn name_of(&self, v: VertexId) -> Option<ExternalId> {
        match &self.state.read().table {
            Table::Integer(integers) => integers.names.get(v).map(ExternalId::Integer),
            Table::Text(texts) => texts.names.get(v).map(|text| ExternalId::Text(text.into())),
        }
    }

    /// Returns all names as they are now. Nobody adds one while they are held.
    pub fn held(&self) -> HeldNames<'_> {
        HeldNames(self.state.read())
    }

    /// Returns how many bytes of memory the map takes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes_while_adding(0)
    }

    /// Returns how many bytes of memory the map takes, at most, while so many names come: a table that grows is there twice.
    pub fn memory_bytes_while_adding(&self, names: usize) -> u64 {
        let table = &self.state.read().table;
        table.memory_bytes() + table.growth_bytes(names)
    }

    /// Returns the vertex of a name, if it is known. An integer map reads `name` as an integer.
    pub fn id_of(&self, name: &str) -> Option<VertexId> {
        match &self.state.read().table {
            Table::Integer(integers) => integers.find(name.parse().ok()?),
            Table::Text(texts) => texts.find(name),
        }
    }

    /// Returns the vertices of integer names, `None` for an unknown one.
    pub fn find_integers(&self, names: &[u64]) -> Vec<Option<VertexId>> {
        match &self.state.read().table {
            Table::Integer(integers) => integers.find_all(names.iter().copied()),
            Table::Text(_) => vec![None; names.len()],
        }
    }

    /// Returns the vertices of names; new names are durable on return.
    ///
    /// # Errors
    /// `InvalidInput` if this map keeps integers or a name is too long, `NoSpace` if the medium
    /// is full: then no name was added.
    pub fn intern_texts<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Vec<VertexId>> {
        let mut state = self.state.write();
        let Table::Text(texts) = &mut state.table else {
            return Err(Error::invalid("the graph's ids are integers, not strings"));
        };
        let known = texts.len();
        let outcome = texts.intern_all(names);
        self.kept(&mut state, known, outcome)
    }

    /// Returns the vertices of integer names; new names are durable on return.
    ///
    /// # Errors
    /// As [`Self::intern_texts`].
    pub fn intern_integers(&self, names: &[u64]) -> Result<Vec<VertexId>> {
        let mut state = self.state.write();
        let Table::Integer(integers) = &mut state.table else {
            return Err(Error::invalid("the graph's ids are strings, not integers"));
        };
        let known = integers.len();
        let outcome = integers.intern_all(names.iter().copied());
        self.kept(&mut state, known, outcome)
    }

    /// Checks that every id below `vertex_bound` has a name.
    ///
    /// # Errors
    /// `Corruption` if one has none: a frame that was durable is damaged.
    pub fn check_covers(&self, vertex_bound: u32) -> Result<()> {
        let state = self.state.read();
        let found = state.table.len();
        if found >= vertex_bound {
            return Ok(());
        }
        Err(Error::Corruption {
            path: self.region.path().to_owned(),
            offset: state.end,
            what: "names of external ids".into(),
            expected: format!("names for {vertex_bound} vertices"),
            found: format!("{found} before a damaged frame"),
        })
    }

    /// Keeps the names from `known` on if the call that added them and their frame succeed, or none of them.
    fn kept<T>(&self, state: &mut State, known: u32, outcome: Result<T>) -> Result<T> {
        let outcome = outcome.and_then(|ids| self.append_since(state, known).map(|()| ids));
        if outcome.is_err() {
            state.table.truncate(known);
        }
        outcome
    }

    /// Appends the names from `known` on as one frame and fences it.
    fn append_since(&self, state: &mut State, known: u32) -> Result<()> {
        if state.table.len() == known {
            return Ok(());
        }
        self.region.check_health()?;
        let payload = state.table.encode(known);
        let header = [FRAME_MAGIC, state.table.len() - known, payload.len() as u32];
        let mut checksum = crc32c::crc32c_append(state.checksum, bytemuck::cast_slice(&header));
        checksum = crc32c::crc32c_append(checksum, bytemuck::cast_slice(&payload));
        let mut frame = vec![header[0], header[1], header[2], checksum];
        frame.extend_from_slice(&payload);
        let end = state.end + 4 * frame.len() as u64;
        if end > self.region.len() {
            let ahead = (self.region.len() / 2).min(GROWTH_BYTES_MAX);
            let grow = |end: u64| self.region.grow(end.next_multiple_of(FILE_BYTES_MIN));
            match grow(end + ahead) {
                Err(Error::NoSpace { .. }) => grow(end)?,
                outcome => outcome?,
            }
        }
        self.region.store_words(state.end, &frame);
        self.region.flush(Site::Names, state.end..end);
        self.region.fence(Site::Names)?;
        state.end = end;
        state.checksum = checksum;
        Ok(())
    }

    /// Reads the frame at the end of what was read. Returns whether there was a whole one.
    fn read_frame(&self, state: &mut State) -> Result<bool> {
        let start = state.end;
        let Some(header) = header_at(&self.region, start) else { return Ok(false) };
        let payload = Payload::of(&self.region, start, &header);
        let checksum = crc32c::crc32c_append(state.checksum, bytemuck::cast_slice(&header[..3]));
        let checksum = payload.checksum(checksum);
        if !self.region.matches(Site::Names, header[3], checksum) {
            return Ok(false);
        }
        state.table.decode(header[1], &payload).map_err(|what| Error::Corruption {
            path: self.region.path().to_owned(),
            offset: start,
            what: "names of external ids".into(),
            expected: format!("{} new names", header[1]),
            found: what.into(),
        })?;
        state.end = payload.offset(payload.words.len());
        state.checksum = checksum;
        Ok(true)
    }
}

/// Returns the header of the frame at an offset, if there is one that fits in the file.
fn header_at(region: &Region, start: u64) -> Option<[u32; FRAME_HEADER_WORDS]> {
    if start + 4 * FRAME_HEADER_WORDS as u64 > region.len() {
        return None;
    }
    let words = region.words(start, FRAME_HEADER_WORDS);
    let header: [u32; FRAME_HEADER_WORDS] = std::array::from_fn(|i| words[i].load(Relaxed));
    let end = start + 4 * (FRAME_HEADER_WORDS as u64 + u64::from(header[2]));
    (header[0] == FRAME_MAGIC && end <= region.len()).then_some(header)
}

/// What the headers of a file's frames say, no more than the file has room for.
#[derive(Default)]
struct Announced {
    /// Names.
    count: u64,
    /// Bytes of texts, with what fills frames up.
    text_bytes: u64,
    /// Bytes of the file.
    file_bytes: u64,
}

impl Announced {
    fn of(region: &Region, ids: IdKind) -> Self {
        let (mut all, mut wake) = (Self::default(), Wake::of(region));
        while let Some([_, count, words, _]) = header_at(region, all.file_bytes) {
            let count = match ids {
                IdKind::Text => count.min(words),
                _ => words / 2,
            };
            all.count += u64::from(count);
            all.text_bytes += 4 * u64::from(words - count);
            all.file_bytes += 4 * (FRAME_HEADER_WORDS as u64 + u64::from(words));
            wake.follow(all.file_bytes);
        }
        all
    }

    /// Returns how many bytes of memory a map of them takes while it is opened, and afterwards.
    fn memory_bytes(&self, ids: IdKind) -> u64 {
        let texts = if ids == IdKind::Text { self.text_bytes } else { 0 };
        let table = 8 * self.count + Places::bytes_for(self.count);
        texts + table + self.file_bytes.min(2 * READ_BYTES)
    }
}

/// What was read of a file and leaves memory, while frames are read one after the other.
struct Wake<'a> {
    region: &'a Region,
    start: u64,
}

impl<'a> Wake<'a> {
    fn of(region: &'a Region) -> Self {
        Self { region, start: 0 }
    }

    /// Follows what is read, up to `end`. Returns whether something has left memory.
    fn follow(&mut self, end: u64) -> bool {
        let is_far = end - self.start >= READ_BYTES;
        if is_far {
            self.region.forget(self.start..end);
            // More of the last page is read yet.
            self.start = end / FILE_BYTES_MIN * FILE_BYTES_MIN;
        }
        is_far
    }
}

/// The words of a frame after its header. What of them was read leaves memory soon after.
struct Payload<'a> {
    region: &'a Region,
    start: u64,
    words: &'a [AtomicU32],
}

impl<'a> Payload<'a> {
    fn of(region: &'a Region, frame: u64, header: &[u32; FRAME_HEADER_WORDS]) -> Self {
        let start = frame + 4 * FRAME_HEADER_WORDS as u64;
        Self { region, start, words: region.words(start, header[2] as usize) }
    }

    /// Returns where a word of it, or its end, is in the file.
    fn offset(&self, word: usize) -> u64 {
        self.start + 4 * word as u64
    }

    fn checksum(&self, mut checksum: u32) -> u32 {
        let mut wake = Wake { region: self.region, start: self.start };
        let piece = READ_BYTES as usize / 4;
        for (number, words) in self.words.chunks(piece).enumerate() {
            checksum = crc_of_shared(checksum, words);
            wake.follow(self.offset(number * piece + words.len()));
        }
        checksum
    }
}

/// All names of a map.
pub struct HeldNames<'a>(RwLockReadGuard<'a, State>);

/// A name where it is kept. The order is that of [`ExternalId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameRef<'a> {
    /// An integer.
    Integer(u64),
    /// A string.
    Text(&'a str),
}

impl HeldNames<'_> {
    /// Returns the name of a vertex, if it has one.
    pub fn get(&self, v: VertexId) -> Option<NameRef<'_>> {
        match &self.0.table {
            Table::Integer(integers) => integers.names.get(v).map(NameRef::Integer),
            Table::Text(texts) => texts.names.get(v).map(NameRef::Text),
        }
    }
}

impl<'a> From<&'a ExternalId> for NameRef<'a> {
    fn from(id: &'a ExternalId) -> Self {
        match id {
            ExternalId::Integer(id) => Self::Integer(*id),
            ExternalId::Text(id) => Self::Text(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::table::NAME_BYTES_MAX;
    use super::*;
    use everedge_medium::{MediumKind, VolumeOptions};

    const ENOSPC: i32 = 28;

    /// What the identity of a directory comes to.
    const SALT: u32 = 7;

    fn names(ids: IdKind) -> (Volume, Names) {
        let options = VolumeOptions::new(MediumKind::Dram);
        let volume = Volume::create("names".as_ref(), options).unwrap();
        let names = Names::create(&volume, ids, SALT).unwrap().unwrap();
        (volume, names)
    }

    #[test]
    fn names_are_found_again() {
        let (volume, names) = names(IdKind::Text);
        let first = names.intern_texts(["ä", "", "bc", "ä"].into_iter()).unwrap();
        assert_eq!(first, [0, 1, 2, 0]);
        let many: Vec<String> = (0..3000).map(|i| format!("name {i}")).collect();
        let ids = names.intern_texts(many.iter().map(String::as_str)).unwrap();
        drop(names);
        let names = Names::open(&volume, IdKind::Text, SALT).unwrap().unwrap();
        assert_eq!(names.len(), 3003);
        assert_eq!(names.id_of("bc"), Some(2));
        assert_eq!(names.id_of("none"), None);
        assert_eq!(names.name_of(ids[77]), Some(ExternalId::Text("name 77".into())));
        names.check_covers(3003).unwrap();
        assert!(names.check_covers(3004).is_err());
    }

    /// What opening takes is counted from what is kept, not from what the file is grown to.
    #[test]
    fn the_memory_that_names_take_is_known_before_they_are_read() {
        for ids in [IdKind::Text, IdKind::Integer] {
            let (volume, names) = names(ids);
            for part in 0..20_u64 {
                let numbers = (part * 1000..(part + 1) * 1000).map(|number| number * number);
                match ids {
                    IdKind::Text => {
                        let texts: Vec<String> = numbers.map(|n| format!("{n:0>60}")).collect();
                        drop(names.intern_texts(texts.iter().map(String::as_str)).unwrap());
                    }
                    _ => drop(names.intern_integers(&numbers.collect::<Vec<_>>()).unwrap()),
                }
            }
            let announced = Names::bytes_announced(&volume, ids).unwrap();
            drop(names);
            let names = Names::open(&volume, ids, SALT).unwrap().unwrap();
            let (taken, end) = (names.memory_bytes(), names.state.read().end);
            let read = end.min(2 * READ_BYTES);
            assert!((taken + read).abs_diff(announced) < 100, "{ids}: {taken}, {announced}");
        }
    }

    #[test]
    fn integers_are_found_again() {
        let (volume, names) = names(IdKind::Integer);
        assert_eq!(names.intern_integers(&[u64::MAX, 5, u64::MAX]).unwrap(), [0, 1, 0]);
        assert!(names.intern_texts(["5"].into_iter()).is_err());
        drop(names);
        let names = Names::open(&volume, IdKind::Integer, SALT).unwrap().unwrap();
        assert_eq!(names.id_of("5"), Some(1));
        assert_eq!(names.find_integers(&[u64::MAX, 6]), [Some(0), None]);
    }

    /// The first try to grow finds no room, a smaller one does.
    #[test]
    fn a_name_needs_no_more_room_than_its_own() {
        let (volume, recorder) = Volume::recorded(MediumKind::File, false);
        let names = Names::create(&volume, IdKind::Text, SALT).unwrap().unwrap();
        for number in 0..100 {
            // A frame of 1,024 bytes: its header, a length, the name.
            let (name, before) = (format!("{number:1004}"), names.region.len());
            if names.state.read().end == before {
                recorder.fail_nth(0, ENOSPC, false);
            }
            names.intern_texts([name.as_str()].into_iter()).unwrap();
            assert!(names.region.len() <= before + FILE_BYTES_MIN);
            recorder.stop_failing();
        }
        drop(names);
        assert_eq!(Names::open(&volume, IdKind::Text, SALT).unwrap().unwrap().len(), 100);
    }

    #[test]
    fn a_refused_call_adds_no_name() {
        let (_volume, names) = names(IdKind::Text);
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        assert!(names.intern_texts(["a", &long].into_iter()).is_err());
        assert_eq!((names.len(), names.id_of("a")), (0, None));
        assert_eq!(names.intern_texts(["b", "a"].into_iter()).unwrap(), [0, 1]);
    }
}
