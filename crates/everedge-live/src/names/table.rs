//! Names in memory, both ways: by number, and numbers by name.

use std::hash::Hasher;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{MAX_VERTEX_ID, VertexId};
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use super::{Announced, Payload, Wake};
use crate::{Error, Result};

/// A name may be so long, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 1 << 16;

/// The names of a map.
pub(super) enum Table {
    Integer { by_id: Vec<u64>, ids: FxHashMap<u64, VertexId> },
    Text(TextTable),
}

/// Strings, one after the other in one buffer.
#[derive(Default)]
pub(super) struct TextTable {
    bytes: String,
    ends: Vec<usize>,
    ids: HashTable<VertexId>,
}

impl Table {
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Integer { by_id, .. } => by_id.len() as u32,
            Self::Text(texts) => texts.len(),
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let bytes = match self {
            Self::Text(TextTable { bytes, ends, ids }) => {
                bytes.capacity() + 8 * ends.capacity() + ids.allocation_size()
            }
            // So many places has a table of this capacity, for 7 of 8 are taken at most.
            Self::Integer { by_id, ids } => 8 * by_id.capacity() + 17 * (ids.capacity() * 8 / 7),
        };
        bytes as u64
    }

    /// Returns how many bytes the hash table takes that comes beside this one if it has no room for so many names.
    pub(super) fn growth_bytes(&self, names: usize) -> u64 {
        let (len, capacity, entry_bytes) = match self {
            Self::Text(TextTable { ids, .. }) => (ids.len(), ids.capacity(), size_of::<VertexId>()),
            Self::Integer { ids, .. } => (ids.len(), ids.capacity(), size_of::<(u64, VertexId)>()),
        };
        match len + names > capacity {
            true => table_bytes((len + names) as u64, entry_bytes),
            false => 0,
        }
    }

    pub(super) fn reserve(&mut self, more: &Announced) {
        let count = more.count as usize;
        match self {
            Self::Integer { by_id, ids } => {
                by_id.reserve_exact(count);
                ids.reserve(count);
            }
            Self::Text(TextTable { bytes, ends, ids }) => {
                bytes.reserve_exact(more.text_bytes as usize);
                ends.reserve_exact(count);
                ids.reserve(count, |_| unreachable!("the table is empty"));
            }
        }
    }

    pub(super) fn truncate(&mut self, len: u32) {
        match self {
            Self::Integer { by_id, ids } => {
                by_id.drain(len as usize..).for_each(|name| {
                    ids.remove(&name);
                });
            }
            Self::Text(texts) => texts.truncate(len),
        }
    }

    /// Integers are two words each; strings are their lengths, then their bytes, zero-filled to
    /// an even number of words.
    pub(super) fn encode(&self, first: u32) -> Vec<u32> {
        match self {
            Self::Integer { by_id, .. } => by_id[first as usize..]
                .iter()
                .flat_map(|&name| [name as u32, (name >> 32) as u32])
                .collect(),
            Self::Text(texts) => {
                let names = (first..texts.len()).filter_map(|id| texts.get(id));
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
            Self::Integer { by_id, ids } => {
                let mut wake = Wake { region: payload.region, start: payload.start };
                for ((number, pair), id) in payload.words.chunks_exact(2).enumerate().zip(before..)
                {
                    let [low, high] =
                        [&pair[0], &pair[1]].map(|word| u64::from(word.load(Relaxed)));
                    let name = low | high << 32;
                    by_id.push(name);
                    if ids.insert(name, id).is_some() {
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

impl TextTable {
    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn get(&self, id: VertexId) -> Option<&str> {
        let end = *self.ends.get(id as usize)?;
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        Some(&self.bytes[start..end])
    }

    pub(super) fn find(&self, name: &str) -> Option<VertexId> {
        self.ids.find(hash(name), |&id| self.get(id) == Some(name)).copied()
    }

    pub(super) fn decode(
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
            let known = self.len();
            if !self.intern(name).is_ok_and(|id| id == known) {
                return Err("a string that has an id already");
            }
            start += len;
            if wake.follow(payload.offset(first)) {
                payload.region.forget(payload.start..payload.offset(number));
            }
        }
        Ok(())
    }

    pub(super) fn intern(&mut self, name: &str) -> Result<VertexId> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        if name.len() > NAME_BYTES_MAX {
            let what = format!("an id has {} bytes, at most {NAME_BYTES_MAX} fit", name.len());
            return Err(Error::invalid(what));
        }
        check_count(self.ends.len() + 1)?;
        let id = self.len();
        self.bytes.push_str(name);
        self.ends.push(self.bytes.len());
        let Self { bytes, ends, ids } = self;
        ids.insert_unique(hash(name), id, |&id| {
            let start = if id == 0 { 0 } else { ends[id as usize - 1] };
            hash(&bytes[start..ends[id as usize]])
        });
        Ok(id)
    }

    pub(super) fn truncate(&mut self, len: u32) {
        for id in len..self.len() {
            let Some(hash) = self.get(id).map(hash) else { continue };
            if let Ok(entry) = self.ids.find_entry(hash, |&found| found == id) {
                entry.remove();
            }
        }
        self.ends.truncate(len as usize);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

pub(super) fn check_count(count: usize) -> Result<()> {
    if count <= MAX_VERTEX_ID as usize + 1 {
        return Ok(());
    }
    Err(Error::invalid(format!("more than {} different ids", MAX_VERTEX_ID as u64 + 1)))
}

pub(super) fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// Returns how many bytes a hash table takes that was made for so many entries: a power of two of places, of which
/// 7 of 8 are taken at most, and a byte more for each.
pub(super) fn table_bytes(count: u64, entry_bytes: usize) -> u64 {
    (count * 8 / 7).next_power_of_two() * (entry_bytes as u64 + 1)
}
