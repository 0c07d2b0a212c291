//! What a sealed graph is made of: the options it was sealed with, and how large its files are.

use std::path::Path;
use std::str::FromStr;

use everedge_core::Direction;
use everedge_medium::Error;
use serde::{Deserialize, Serialize};

use crate::codec::Code;
use crate::entry::{ENTRIES, Entry, LEVELS, PAGE_BYTES};

/// Bytes of a chunk of each level; the last are the pieces of long lists, too.
pub(crate) const CHUNK_BYTES: [usize; LEVELS] = [4 << 10, 32 << 10, 256 << 10, 2 << 20];
/// Lists that a chunk has room for at least, unless told otherwise, but for the largest chunks. What is left of a chunk is
/// half a list on average.
const LISTS_MIN: usize = 4;
/// Bytes of a checksum, at the end of each chunk, page and piece.
pub(crate) const CHECKSUM_BYTES: usize = 4;
/// Bytes that a piece of a long list begins with: how many neighbors it holds.
pub(crate) const PIECE_HEAD_BYTES: usize = 4;

/// In which order vertices are numbered, and so in which order their lists lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By the number of in-neighbors, most first.
    #[default]
    Degree,
    /// From the vertices with the most in-neighbors on, each followed by what two steps reach
    /// (ChunkGraph §3.3).
    Steps,
    /// In the order of their ids.
    Ids,
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "degree" => Ok(Self::Degree),
            "steps" => Ok(Self::Steps),
            "ids" => Ok(Self::Ids),
            _ => Err(Error::InvalidInput {
                what: format!("order `{text}` is none of degree, steps, ids"),
            }),
        }
    }
}

/// How a graph is sealed.
#[derive(Clone, Debug, PartialEq)]
pub struct SealOptions {
    /// In which order vertices are numbered.
    pub order: Order,
    /// The part of all vertices that [`Order::Steps`] numbers by steps; the others follow by degree.
    pub reordered: f64,
    /// Whether lists are written as gaps of one to four bytes, instead of four bytes an id.
    pub compressed: bool,
    /// Whether one or two neighbors stand in the index.
    pub minis: bool,
    /// Whether small lists fill the room that large ones leave in their chunks.
    pub combined: bool,
    /// The longest list, in bytes, in chunks of 4 KiB, 32 KiB, 256 KiB and 2 MiB.
    pub list_bytes_max: [u32; LEVELS],
}

impl Default for SealOptions {
    fn default() -> Self {
        Self {
            order: Order::default(),
            reordered: 0.95,
            compressed: true,
            minis: true,
            combined: true,
            list_bytes_max: [0, 1, 2, 3].map(|level| match level < LEVELS - 1 {
                true => (CHUNK_BYTES[level] / LISTS_MIN) as u32,
                false => capacity(CHUNK_BYTES[level]) as u32,
            }),
        }
    }
}

impl SealOptions {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// `InvalidInput` if the bytes of lists do not ascend or do not fit into their chunks, or the part
    /// is none.
    pub fn check(&self) -> Result<(), Error> {
        let refused = |what: String| Err(Error::InvalidInput { what });
        if !(0.0..=1.0).contains(&self.reordered) {
            return refused(format!("reordered={}: it must be from 0 to 1", self.reordered));
        }
        if !self.list_bytes_max.is_sorted() {
            return refused("the longest lists of levels must ascend".into());
        }
        for (bytes, most) in self.list_bytes_max.iter().zip(CHUNK_BYTES.map(capacity)) {
            if *bytes as usize > most {
                return refused(format!("a list of {bytes} bytes does not fit into {most} bytes"));
            }
        }
        Ok(())
    }
}

/// Returns how many bytes of lists a chunk holds.
pub(crate) fn capacity(chunk_bytes: usize) -> usize {
    chunk_bytes - CHECKSUM_BYTES
}

/// What a sealed graph is made of. Stands in its manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry an `f32` weight.
    pub weighted: bool,
    /// The number of vertices.
    pub vertices: u32,
    /// The number of edges; one of an undirected graph counts once.
    pub edges: u64,
    /// The order that vertices are numbered in.
    pub order: Order,
    /// Whether lists are written as gaps.
    pub compressed: bool,
    /// Whether one or two neighbors stand in the index.
    pub minis: bool,
    /// Whether no list names a vertex twice, or its own.
    pub distinct: bool,
    /// The longest list of each level, in bytes.
    pub list_bytes_max: [u32; LEVELS],
    /// Out-neighbors; of a directed graph that keeps them, in-neighbors, too.
    pub sides: Vec<SideForm>,
}

/// The files of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideForm {
    /// Chunks of each level.
    pub chunks: [u32; LEVELS],
    /// Bytes of the lists in them.
    pub list_bytes: [u64; LEVELS],
    /// Pieces of lists that are longer than a chunk.
    pub pieces: u32,
    /// Bytes of these lists.
    pub piece_bytes: u64,
}

/// What is in the chunks of one size, or in the pieces of long lists, of all directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelUse {
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// How many chunks there are.
    pub chunks: u64,
    /// Bytes of the lists in them.
    pub list_bytes: u64,
}

impl LevelUse {
    /// Returns the bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        self.chunks * self.chunk_bytes
    }

    /// Returns how many of them hold neither a list nor a checksum.
    pub fn white_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.chunks * CHECKSUM_BYTES as u64 + self.list_bytes)
    }
}

impl Form {
    /// Returns what was sealed with `options`: vertices and edges, whether edges have directions and weights, and
    /// whether lists are distinct.
    pub(crate) fn new(
        options: &SealOptions,
        (directed, weighted): (bool, bool),
        (vertices, edges): (u32, u64),
        (sides, distinct): (Vec<SideForm>, bool),
    ) -> Self {
        let SealOptions { order, compressed, minis, list_bytes_max, .. } = *options;
        Self {
            directed,
            weighted,
            vertices,
            edges,
            order,
            compressed,
            minis,
            distinct,
            list_bytes_max,
            sides,
        }
    }

    pub(crate) fn code(&self) -> Code {
        if self.compressed { Code::Gaps } else { Code::Plain }
    }

    /// Returns how many neighbors stand in the index.
    pub(crate) fn mini_max(&self) -> u32 {
        if self.minis { Entry::mini_max(self.weighted) } else { 0 }
    }

    /// Returns which side keeps the neighbors of a direction.
    #[inline]
    pub(crate) fn side(&self, direction: Direction) -> usize {
        usize::from(direction == Direction::In && self.directed)
    }

    /// Returns the pages of an index.
    pub(crate) fn page_count(&self) -> u32 {
        self.vertices.div_ceil(ENTRIES)
    }

    /// Returns what is in the chunks of each level, the smallest first, and last in the pieces of long lists.
    pub fn levels(&self) -> Vec<LevelUse> {
        let largest = CHUNK_BYTES[LEVELS - 1] as u64;
        let mut uses: Vec<LevelUse> = (CHUNK_BYTES.iter().map(|&bytes| bytes as u64))
            .chain([largest])
            .map(|chunk_bytes| LevelUse { chunk_bytes, ..LevelUse::default() })
            .collect();
        for side in &self.sides {
            let counts = side.chunks.iter().chain([&side.pieces]);
            let bytes = side.list_bytes.iter().chain([&side.piece_bytes]);
            for ((level, &chunks), &list_bytes) in uses.iter_mut().zip(counts).zip(bytes) {
                level.chunks += u64::from(chunks);
                level.list_bytes += list_bytes;
            }
        }
        uses
    }

    /// Returns the bytes of all files that lists are read from.
    pub fn list_file_bytes(&self) -> u64 {
        let pages = u64::from(self.page_count()) * PAGE_BYTES as u64;
        let chunks = |side: &SideForm| {
            side.chunks
                .iter()
                .zip(CHUNK_BYTES)
                .map(|(&n, bytes)| u64::from(n) * bytes as u64)
                .sum::<u64>()
        };
        let pieces = |side: &SideForm| u64::from(side.pieces) * CHUNK_BYTES[LEVELS - 1] as u64;
        self.sides.iter().map(|side| pages + chunks(side) + pieces(side)).sum()
    }
}

/// Returns the name of the file of a side that holds the index.
pub(crate) fn index_name(side: usize) -> String {
    format!("{}.index", SIDES[side])
}

/// Returns the name of the file of a side with the chunks of a level.
pub(crate) fn level_name(side: usize, level: usize) -> String {
    format!("{}.{}", SIDES[side], ["4k", "32k", "256k", "2m"][level])
}

/// Returns the name of the file of a side with the pieces of long lists.
pub(crate) fn pieces_name(side: usize) -> String {
    format!("{}.long", SIDES[side])
}

/// The file of the id of each vertex.
pub(crate) const IDS: &str = "ids";

const SIDES: [&str; 2] = ["out", "in"];

/// Returns the checksum of a chunk, page or piece: `bytes` without their checksum, and where they are.
pub(crate) fn checksum(salt: u32, file: &str, piece: u32, bytes: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(salt, file.as_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(crc, &piece.to_le_bytes()), bytes)
}

/// Returns what a chunk, page or piece of the file at `path` holds.
///
/// # Errors
/// `Corruption` if its checksum is another.
pub(crate) fn checked<'a>(
    salt: u32,
    (file, path): (&str, &Path),
    piece: u32,
    bytes: &'a [u8],
) -> Result<&'a [u8], Error> {
    let (content, found) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    let computed = checksum(salt, file, piece, content).to_le_bytes();
    if computed == found {
        return Ok(content);
    }
    let hex = |crc: &[u8]| crc.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    Err(Error::Corruption {
        path: path.to_owned(),
        offset: u64::from(piece) * bytes.len() as u64,
        what: format!("the checksum of {} bytes", bytes.len()),
        expected: hex(&computed),
        found: hex(found),
    })
}
