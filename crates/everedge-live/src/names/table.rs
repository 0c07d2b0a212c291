//! Names in memory, both ways: by number, and numbers by name.

use std::hash::Hasher;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{MAX_VERTEX_ID, VertexId, memory};
use rustc_hash::FxHasher;

use super::places::Places;
use super::{Announced, Payload, Wake};
use crate::{Error, Result};

/// A name may be so long, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 1 << 16;
/// So many names are looked for at once: what each needs of memory is loaded while others are looked at.
const AT_ONCE: usize = 32;

/// The names of a map.
pub(super) enum Table {
    Integer(Interned<Integers>),
    Text(Interned<Texts>),
}

/// Names of one kind by number.
pub(super) trait Stored: Default {
    type Name<'a>: Copy;

    fn len(&self) -> usize;
    fn memory_bytes(&self) -> usize;
    fn reserve(&mut self, more: &Announced);
    fn hash(name: Self::Name<'_>) -> u32;
    /// Returns whether this is the name of a number.
    fn is(&self, id: VertexId, name: Self::Name<'_>) -> bool;
    /// Begins to load what says where a name is, and then the name.
    fn load_place_ahead(&self, id: VertexId);
    fn load_name_ahead(&self, id: VertexId);
    fn check(name: Self::Name<'_>) -> Result<()>;
    fn push(&mut self, name: Self::Name<'_>);
    fn truncate(&mut self, len: usize);
}

/// Names by number, and numbers by name.
#[derive(Default)]
pub(super) struct Interned<S> {
    pub(super) names: S,
    places: Places,
}

/// Integers, one after the other.
#[derive(Default)]
pub(super) struct Integers(Vec<u64>);

/// Strings, one after the other in one buffer.
#[derive(Default)]
pub(super) struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

/// Does the same with the names of either kind.
macro_rules! with_names {
    ($table:expr, $names:ident => $what:expr) => {
        match $table {
            Table::Integer($names) => $what,
            Table::Text($names) => $what,
        }
    };
}

impl Table {
    pub(super) fn len(&self) -> u32 {
        with_names!(self, names => names.len())
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        with_names!(self, names => names.names.memory_bytes() + names.places.memory_bytes()) as u64
    }

    /// Returns how many bytes the table of places takes that comes beside this one if it has no room for so many names.
    pub(super) fn growth_bytes(&self, more: usize) -> u64 {
        let places = with_names!(self, names => &names.places);
        match places.has_room(more) {
            true => 0,
            false => Places::bytes_for(u64::from(self.len()) + more as u64),
        }
    }

    pub(super) fn reserve(&mut self, more: &Announced) {
        with_names!(self, names => {
            names.names.reserve(more);
            names.places.reserve(more.count as usize);
        });
    }

    pub(super) fn truncate(&mut self, len: u32) {
        with_names!(self, names => names.truncate(len));
    }

    /// Integers are two words each; strings are their lengths, then their bytes, zero-filled to
    /// an even number of words.
    pub(super) fn encode(&self, first: u32) -> Vec<u32> {
        match self {
            Self::Integer(integers) => {
                let new = integers.names.0[first as usize..].iter();
                new.flat_map(|&name| [name as u32, (name >> 32) as u32]).collect()
            }
            Self::Text(texts) => {
                let names = (first..texts.len()).filter_map(|id| texts.names.get(id));
                let mut words: Vec<u32> = names.clone().map(|name| name.len() as u32).collect();
                let bytes: Vec<u8> = names.flat_map(str::bytes).collect();
                for chunk in bytes.chunks(4) {
                    let mut word = [0; 4];
                    word[..chunk.len()].copy_from_slice(chunk);
                    words.push(u32::from_le_bytes(word));
                }
                words.resize(words.len().next_multiple_of(2), 0);
                words
            }
        }
    }

    pub(super) fn decode(
        &mut self,
        count: u32,
        payload: &Payload<'_>,
    ) -> std::result::Result<(), &'static str> {
        let before = self.len();
        match self {
            Self::Integer(integers) => {
                let mut wake = Wake { region: payload.region, start: payload.start };
                for (number, pair) in payload.words.chunks_exact(2).enumerate() {
                    let [low, high] =
                        [&pair[0], &pair[1]].map(|word| u64::from(word.load(Relaxed)));
                    if !integers.adds(low | high << 32) {
                        return Err("an integer that has an id already");
                    }
                    wake.follow(payload.start + 8 * number as u64);
                }
            }
            Self::Text(texts) => texts.decode(count as usize, payload)?,
        }
        if before.checked_add(count) == Some(self.len()) {
            Ok(())
        } else {
            Err("another number of names")
        }
    }
}

impl<S: Stored> Interned<S> {
    pub(super) fn len(&self) -> u32 {
        self.names.len() as u32
    }

    pub(super) fn find(&self, name: S::Name<'_>) -> Option<VertexId> {
        self.find_hashed(name, S::hash(name))
    }

    /// Returns the numbers of names, `None` for an unknown one.
    pub(super) fn find_all<'a>(
        &self,
        names: impl Iterator<Item = S::Name<'a>>,
    ) -> Vec<Option<VertexId>> {
        let mut found = Vec::with_capacity(names.size_hint().0);
        for_some_at_once(names, |names| {
            let hashes = self.load_ahead(names);
            let pairs = names.iter().zip(hashes);
            found.extend(pairs.map(|(&name, hash)| self.find_hashed(name, hash)));
            Ok(())
        })
        .expect("a search does not fail");
        found
    }

    /// Returns the numbers of names; a new name gets the next one.
    ///
    /// # Errors
    /// `InvalidInput` if a name is too long, or there are too many: those before it have been added.
    pub(super) fn intern_all<'a>(
        &mut self,
        names: impl Iterator<Item = S::Name<'a>>,
    ) -> Result<Vec<VertexId>> {
        let mut ids = Vec::with_capacity(names.size_hint().0);
        for_some_at_once(names, |names| {
            let hashes = self.load_ahead(names);
            for (&name, hash) in names.iter().zip(hashes) {
                ids.push(self.intern_hashed(name, hash)?);
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// Adds a name. Returns whether it was new, and could be added.
    fn adds(&mut self, name: S::Name<'_>) -> bool {
        let known = self.len();
        self.intern_hashed(name, S::hash(name)).is_ok_and(|id| id == known)
    }

    pub(super) fn truncate(&mut self, len: u32) {
        if len < self.len() {
            self.names.truncate(len as usize);
            self.places.truncate(len);
        }
    }

    /// Begins to load what is compared with names. Returns their hashes.
    fn load_ahead(&self, names: &[S::Name<'_>]) -> [u32; AT_ONCE] {
        let mut hashes = [0; AT_ONCE];
        for (&name, hash) in names.iter().zip(&mut hashes) {
            *hash = S::hash(name);
            self.places.load_ahead(*hash);
        }
        let mut first = [None; AT_ONCE];
        for (hash, id) in hashes.iter().zip(&mut first).take(names.len()) {
            *id = self.places.ids_of(*hash).next();
            id.iter().for_each(|&id| self.names.load_place_ahead(id));
        }
        first.iter().flatten().for_each(|&id| self.names.load_name_ahead(id));
        hashes
    }

    #[inline]
    fn find_hashed(&self, name: S::Name<'_>, hash: u32) -> Option<VertexId> {
        self.places.ids_of(hash).find(|&id| self.names.is(id, name))
    }

    fn intern_hashed(&mut self, name: S::Name<'_>, hash: u32) -> Result<VertexId> {
        if let Some(id) = self.find_hashed(name, hash) {
            return Ok(id);
        }
        S::check(name)?;
        let id = self.len();
        if id > MAX_VERTEX_ID {
            let what = format!("more than {} different ids", u64::from(MAX_VERTEX_ID) + 1);
            return Err(Error::invalid(what));
        }
        self.names.push(name);
        self.places.insert(hash, id);
        Ok(id)
    }
}

/// Calls `f` with all items, some at once.
fn for_some_at_once<T>(
    mut items: impl Iterator<Item = T>,
    mut f: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let mut some = Vec::with_capacity(AT_ONCE);
    loop {
        some.clear();
        some.extend(items.by_ref().take(AT_ONCE));
        if some.is_empty() {
            return Ok(());
        }
        f(&some)?;
    }
}

impl Integers {
    pub(super) fn get(&self, id: VertexId) -> Option<u64> {
        self.0.get(id as usize).copied()
    }
}

impl Stored for Integers {
    type Name<'a> = u64;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn memory_bytes(&self) -> usize {
        8 * self.0.capacity()
    }

    fn reserve(&mut self, more: &Announced) {
        self.0.reserve_exact(more.count as usize);
    }

    fn hash(name: u64) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write_u64(name);
        hasher.finish() as u32
    }

    #[inline]
    fn is(&self, id: VertexId, name: u64) -> bool {
        self.get(id) == Some(name)
    }

    fn load_place_ahead(&self, id: VertexId) {
        memory::prefetch(&self.0[id as usize..]);
    }

    fn load_name_ahead(&self, _: VertexId) {}

    fn check(_: u64) -> Result<()> {
        Ok(())
    }

    fn push(&mut self, name: u64) {
        self.0.push(name);
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl Texts {
    pub(super) fn get(&self, id: VertexId) -> Option<&str> {
        let end = *self.ends.get(id as usize)?;
        Some(&self.bytes[self.start(id)..end])
    }

    fn start(&self, id: VertexId) -> usize {
        id.checked_sub(1).map_or(0, |before| self.ends[before as usize])
    }
}

impl Stored for Texts {
    type Name<'a> = &'a str;

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + 8 * self.ends.capacity()
    }

    fn reserve(&mut self, more: &Announced) {
        self.bytes.reserve_exact(more.text_bytes as usize);
        self.ends.reserve_exact(more.count as usize);
    }

    fn hash(name: &str) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        hasher.finish() as u32
    }

    #[inline]
    fn is(&self, id: VertexId, name: &str) -> bool {
        self.get(id) == Some(name)
    }

    fn load_place_ahead(&self, id: VertexId) {
        memory::prefetch(&self.ends[id as usize..]);
    }

    fn load_name_ahead(&self, id: VertexId) {
        memory::prefetch(&self.bytes.as_bytes()[self.start(id)..]);
    }

    fn check(name: &str) -> Result<()> {
        if name.len() <= NAME_BYTES_MAX {
            return Ok(());
        }
        let what = format!("an id has {} bytes, at most {NAME_BYTES_MAX} fit", name.len());
        Err(Error::invalid(what))
    }

    fn push(&mut self, name: &str) {
        self.bytes.push_str(name);
        self.ends.push(self.bytes.len());
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl Interned<Texts> {
    fn decode(
        &mut self,
        count: usize,
        payload: &Payload<'_>,
    ) -> std::result::Result<(), &'static str> {
        let lens = payload.words.get(..count).ok_or("a frame that is too short")?;
        let mut wake = Wake { region: payload.region, start: payload.offset(count) };
        let (mut start, mut copy) = (0_usize, Vec::new());
        for (number, len) in lens.iter().enumerate() {
            let len = len.load(Relaxed) as usize;
            let (first, end) = (count + start / 4, count + (start + len).div_ceil(4));
            let words = payload.words.get(first..end).ok_or("too few bytes")?;
            copy.clear();
            copy.extend(words.iter().map(|word| word.load(Relaxed)));
            let name = &bytemuck::cast_slice(&copy)[start % 4..][..len];
            let name = std::str::from_utf8(name).map_err(|_| "a name that is no text")?;
            if !self.adds(name) {
                return Err("a string that has an id already");
            }
            start += len;
            if wake.follow(payload.offset(first)) {
                payload.region.forget(payload.start..payload.offset(number));
            }
        }
        Ok(())
    }
}
