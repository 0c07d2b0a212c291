//! What a power loss leaves: the files of a volume, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everedge_core::SplitMix64;

use super::VolumeOptions;

/// The content of a volume after a power loss at some point of a recorded trace.
///
/// Images share the bytes that were durable at their point, and each keeps what else happened to
/// persist, so an image costs as much memory as it has unfenced stores.
#[derive(Clone)]
pub struct Image {
    options: VolumeOptions,
    pub(super) files: Arc<Files>,
    /// What persisted beyond `files`, in order.
    pub(super) patches: Vec<Patch>,
    /// How many of the first patches a failed sync has lost: they are in the kernel's cache only,
    /// and clean.
    pub(super) lost_count: usize,
    /// The digest of files and patches.
    pub(super) content_digest: u64,
    pub(super) marks: Marks,
    pub(super) point: u64,
    pub(super) choice: u64,
}

/// The history as far as it had come.
#[derive(Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) begun: u64,
    pub(super) acknowledged: u64,
}

impl Image {
    pub(super) fn empty(options: VolumeOptions) -> Image {
        Image {
            options,
            files: Arc::default(),
            patches: Vec::new(),
            lost_count: 0,
            content_digest: 0,
            marks: Marks::default(),
            point: 0,
            choice: 0,
        }
    }

    /// Returns the number of the last operation that had begun; 0 if none.
    pub fn begun(&self) -> u64 {
        self.marks.begun
    }

    /// Returns the number of the last operation that was acknowledged; 0 if none.
    pub fn acknowledged(&self) -> u64 {
        self.marks.acknowledged
    }

    /// Returns the number of the crash point in its trace.
    pub fn point(&self) -> u64 {
        self.point
    }

    /// Returns the number of the image among those of its point.
    pub fn choice(&self) -> u64 {
        self.choice
    }

    /// Returns a hash of the content and the marks: images of one history with equal digests
    /// are taken to be the same.
    pub fn digest(&self) -> u64 {
        mix(self.content_digest, self.marks.begun, self.marks.acknowledged + 1)
    }

    /// Returns the files of which a failed sync has lost something that is still read.
    pub fn lost_files(&self) -> BTreeSet<Arc<str>> {
        let lost = self.patches[..self.lost_count].iter();
        let region = |patch: &Patch| self.files.regions.get(&patch.region);
        lost.filter_map(region).map(|region| region.name.clone()).collect()
    }

    /// Returns the pages of files, by number, that hold more than what is durable for sure.
    pub fn unfenced_pages(&self) -> BTreeSet<(Arc<str>, u64)> {
        const PAGE_BYTES: u64 = 4096;
        let name = |patch: &Patch| Some(self.files.regions.get(&patch.region)?.name.clone());
        let page = |patch: &Patch| Some((name(patch)?, patch.offset / PAGE_BYTES));
        self.patches.iter().filter_map(page).collect()
    }

    /// Returns this image with some files as another image of the same volume has them: what a reader has copied at that moment,
    /// beside what it finds later.
    #[must_use]
    pub fn with_files_of(&self, other: &Image, names: &[&str]) -> Image {
        let (mut files, others) = (self.to_files(), other.to_files());
        for (number, region) in &others.regions {
            if names.contains(&&*region.name) {
                Arc::make_mut(&mut files).regions.insert(*number, region.clone());
            }
        }
        Image { files, patches: Vec::new(), lost_count: 0, ..self.clone() }
    }

    /// Returns what was durable for sure, without a history.
    pub(super) fn fenced(&self) -> Image {
        Image { patches: Vec::new(), lost_count: 0, marks: Marks::default(), ..self.clone() }
    }

    /// Returns the medium that is to be recovered.
    pub(super) fn options(&self) -> VolumeOptions {
        self.options
    }

    /// Returns the files with the patches in them.
    pub(super) fn to_files(&self) -> Arc<Files> {
        let mut files = self.files.clone();
        for patch in &self.patches {
            Arc::make_mut(&mut files).apply(patch);
        }
        files
    }
}

/// Files by region number or name.
#[derive(Clone, Default)]
pub(super) struct Files {
    pub(super) regions: BTreeMap<u32, RegionImage>,
    pub(super) published: BTreeMap<Arc<str>, Arc<[u8]>>,
}

/// The bytes of a region.
#[derive(Clone)]
pub(super) struct RegionImage {
    pub(super) name: Arc<str>,
    /// Hash of the name, for digests.
    key: u64,
    pub(super) bytes: Arc<Vec<u8>>,
}

/// An aligned store of 4 or 8 bytes.
#[derive(Clone, Copy)]
pub(super) struct Patch {
    pub(super) region: u32,
    pub(super) offset: u64,
    len: u8,
    bytes: [u8; 8],
}

impl Patch {
    /// Splits a store into the units that persist at once.
    pub(super) fn split(region: u32, offset: u64, data: &[u8]) -> impl Iterator<Item = Patch> {
        let first_len = if offset.is_multiple_of(8) { 0 } else { data.len().min(4) };
        let (first, rest) = data.split_at(first_len);
        let first = (!first.is_empty()).then_some((offset, first));
        let rest = rest.chunks(8).zip((offset + first_len as u64..).step_by(8));
        first.into_iter().chain(rest.map(|(unit, offset)| (offset, unit))).map(
            move |(offset, unit)| {
                let mut bytes = [0; 8];
                bytes[..unit.len()].copy_from_slice(unit);
                Patch { region, offset, len: unit.len() as u8, bytes }
            },
        )
    }

    /// Returns the offset after its last byte.
    pub(super) fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }

    /// Returns the stored bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Stores into `bytes`, which begin at `start` in the region, and returns what that adds to
    /// the digest.
    pub(super) fn apply(&self, bytes: &mut [u8], start: u64, key: u64) -> u64 {
        let word = ((self.offset & !7) - start) as usize;
        let Some(word_bytes) = bytes.get_mut(word..word + 8) else { return 0 };
        let word_offset = self.offset & !7;
        let old = digest_words(key, word_offset, word_bytes);
        let within = (self.offset & 7) as usize;
        word_bytes[within..within + usize::from(self.len)].copy_from_slice(self.bytes());
        digest_words(key, word_offset, word_bytes).wrapping_sub(old)
    }
}

impl Files {
    /// Stores and returns what that adds to the digest. A removed region takes nothing.
    pub(super) fn apply(&mut self, patch: &Patch) -> u64 {
        match self.regions.get_mut(&patch.region) {
            Some(region) => {
                let bytes: &mut Vec<u8> = Arc::make_mut(&mut region.bytes);
                patch.apply(bytes, 0, region.key)
            }
            None => 0,
        }
    }
}

impl RegionImage {
    /// Makes an empty region.
    pub(super) fn new(name: Arc<str>) -> RegionImage {
        let key = digest_name(&name);
        RegionImage { name, key, bytes: Arc::default() }
    }

    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(super) fn digest(&self) -> u64 {
        digest_file(self.key, &self.bytes)
    }

    /// Returns the region as long as `other`, with its last bytes where that is longer.
    pub(super) fn with_tail_of(&self, other: &RegionImage) -> RegionImage {
        let shared = self.bytes.len().min(other.bytes.len());
        let bytes = [&self.bytes[..shared], &other.bytes[shared..]].concat();
        RegionImage { bytes: Arc::new(bytes), ..self.clone() }
    }

    /// Returns the region with another length; new bytes are zero.
    pub(super) fn resized(&self, len: u64) -> RegionImage {
        let mut bytes = self.bytes.to_vec();
        bytes.resize(len as usize, 0);
        RegionImage { bytes: Arc::new(bytes), ..self.clone() }
    }
}

/// Hashes a published file.
pub(super) fn digest_published(name: &str, bytes: &[u8]) -> u64 {
    digest_file(digest_name(name), bytes)
}

/// Hashes length and content. The sum of its words' hashes, so that a store changes it by
/// what it changes in one word.
fn digest_file(key: u64, bytes: &[u8]) -> u64 {
    let length = mix(key, u64::MAX, bytes.len() as u64 + 1);
    digest_words(key, 0, bytes).wrapping_add(length)
}

fn digest_words(key: u64, offset: u64, bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).zip((offset..).step_by(8));
    words.fold(0, |sum, (word, offset)| {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        sum.wrapping_add(mix(key, offset, u64::from_le_bytes(padded)))
    })
}

fn digest_name(name: &str) -> u64 {
    name.bytes().fold(SplitMix64::STEP, |hash, byte| scramble(hash ^ u64::from(byte)))
}

/// Hashes a value at a place; zero is 0, so that fresh bytes cost nothing.
fn mix(key: u64, offset: u64, value: u64) -> u64 {
    match value {
        0 => 0,
        _ => scramble(scramble(key ^ offset.rotate_left(32)).wrapping_add(value)),
    }
}

/// Scrambles a value, zero too.
pub(super) fn scramble(value: u64) -> u64 {
    everedge_core::scramble(value.wrapping_add(SplitMix64::STEP))
}
