//! Packing lists into chunks: each list whole in one chunk, of a size that suits it.
//!
//! Source: ChunkGraph §3.2 (four levels of chunks), §3.3 (combination, interleaved white space).
//! Differences: lists come in the order of their vertices' numbers. What a large list leaves of its
//! chunk is filled by the next small lists, not by those of the least important vertices: so the lists
//! of each level ascend by vertex, and a pass over all vertices reads each file from front to back.
//!
//! # Invariants
//! - P1: a list, with the bytes that a decoder may read after it, ends before its chunk's checksum does.
//! - P2: chunks of a level are written in ascending order.

use everedge_core::VertexId;
use everedge_medium::{Error, NewFile, Result, Volume};

use crate::codec::Code;
use crate::encode::Encoder;
use crate::entry::{ENTRIES, Entry, LEVELS, PAGE_BYTES};
use crate::form::{
    CHECKSUM_BYTES, CHUNK_BYTES, PIECE_HEAD_BYTES, SealOptions, SideForm, capacity, checksum,
    index_name, level_name, pieces_name,
};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;
/// Writes the lists of one direction.
pub(crate) struct Packer {
    code: Code,
    mini_max: u32,
    combined: bool,
    /// Whether no list so far names a vertex twice, or its own.
    pub(crate) are_distinct: bool,
    levels: Vec<Level>,
    pieces: PieceFile,
    piece_bytes: u64,
    index: Vec<Entry>,
    index_file: PieceFile,
}

/// The chunks of one size.
struct Level {
    file: PieceFile,
    list_bytes_max: usize,
    list_bytes: u64,
    /// What large lists are put into.
    open: Chunk,
    /// The one before it, whose room waits for small lists.
    left: Option<Chunk>,
}

/// A chunk that is being filled.
#[derive(Default)]
struct Chunk {
    number: u32,
    bytes: Vec<u8>,
    /// Whose lists it holds, and where.
    lists: Vec<(VertexId, u32)>,
}

impl Packer {
    pub(crate) fn new(
        volume: &Volume,
        (side, salt): (usize, u32),
        options: &SealOptions,
        (weighted, vertices): (bool, u32),
    ) -> Result<Self> {
        let levels = (0..LEVELS).map(|level| {
            let name = level_name(side, level);
            let file = PieceFile::create(volume, name, salt, CHUNK_BYTES[level])?;
            let list_bytes_max = options.list_bytes_max[level] as usize;
            Ok(Level { file, list_bytes_max, list_bytes: 0, open: Chunk::default(), left: None })
        });
        let piece_bytes = CHUNK_BYTES[LEVELS - 1];
        Ok(Self {
            code: if options.compressed { Code::Gaps } else { Code::Plain },
            mini_max: if options.minis { Entry::mini_max(weighted) } else { 0 },
            combined: options.combined,
            are_distinct: true,
            levels: levels.collect::<Result<_>>()?,
            pieces: PieceFile::create(volume, pieces_name(side), salt, piece_bytes)?,
            piece_bytes: 0,
            index: vec![Entry::NONE; vertices as usize],
            index_file: PieceFile::create(volume, index_name(side), salt, PAGE_BYTES)?,
        })
    }

    /// Returns how lists are to be encoded.
    pub(crate) fn encoder(&self) -> Encoder {
        let list_bytes_max = self.levels[LEVELS - 1].list_bytes_max;
        Encoder { code: self.code, mini_max: self.mini_max, list_bytes_max }
    }

    /// Puts the neighbors of `v` into the index.
    pub(crate) fn add_mini(&mut self, v: VertexId, entry: Entry) {
        self.index[v as usize] = entry;
    }

    /// Puts the encoded list of `v` into a chunk.
    pub(crate) fn add(&mut self, v: VertexId, degree: u32, list: &[u8]) -> Result<()> {
        let level = self.levels.iter().position(|level| list.len() <= level.list_bytes_max);
        let own = level.expect("a long list is no one's");
        if self.combined {
            // The largest first: what is left of it is the most.
            for level in (own..LEVELS).rev() {
                if let Some(left) = &mut self.levels[level].left
                    && let Some(offset) = left.add(v, list, CHUNK_BYTES[level])
                {
                    self.index[v as usize] = Entry::in_chunk(degree, level, left.number, offset);
                    self.levels[level].list_bytes += list.len() as u64;
                    return Ok(());
                }
            }
        }
        let level = &mut self.levels[own];
        level.list_bytes += list.len() as u64;
        let offset = match level.open.add(v, list, CHUNK_BYTES[own]) {
            Some(offset) => offset,
            None => {
                self.turn(own)?;
                let open = &mut self.levels[own].open;
                open.add(v, list, CHUNK_BYTES[own]).expect("an empty chunk has room for it")
            }
        };
        let chunk = self.levels[own].open.number;
        self.index[v as usize] = Entry::in_chunk(degree, own, chunk, offset);
        Ok(())
    }

    /// Puts the neighbors of `v` into pieces of their own.
    pub(crate) fn add_long(
        &mut self,
        v: VertexId,
        ids: &[VertexId],
        weights: &[f32],
    ) -> Result<()> {
        let first = self.pieces.count;
        let room = capacity(CHUNK_BYTES[LEVELS - 1]) - PIECE_HEAD_BYTES;
        let mut start = 0;
        while start < ids.len() {
            let left = weights.get(start..).unwrap_or_default();
            let end = start + self.code.fitting(&ids[start..], left, room);
            let weights = weights.get(start..end).unwrap_or_default();
            let mut piece = ((end - start) as u32).to_le_bytes().to_vec();
            self.code.encode(&ids[start..end], weights, &mut piece);
            self.piece_bytes += piece.len() as u64;
            self.pieces.append(&piece)?;
            start = end;
        }
        self.index[v as usize] = Entry::in_pieces(ids.len() as u32, first);
        Ok(())
    }

    /// Begins a chunk of a level.
    fn turn(&mut self, level: usize) -> Result<()> {
        let number = self.levels[level].open.number + 1;
        let new = Chunk { number, ..Chunk::default() };
        let full = std::mem::replace(&mut self.levels[level].open, new);
        match self.levels[level].left.replace(full) {
            Some(done) => self.close(level, done),
            None => Ok(()),
        }
    }

    /// Writes a chunk. Every other one has its white space in front, so that the processor's cache does
    /// not keep the same part of all of them empty.
    fn close(&mut self, level: usize, chunk: Chunk) -> Result<()> {
        let Chunk { number, bytes, lists } = chunk;
        let room = capacity(CHUNK_BYTES[level]) - bytes.len();
        let shift = if number % 2 == 1 { room } else { 0 };
        for &(v, _) in lists.iter().filter(|_| shift > 0) {
            self.index[v as usize].shift(shift as u32);
        }
        let file = &mut self.levels[level].file;
        debug_assert_eq!(file.count, number);
        file.append(&[&vec![0; shift], &*bytes].concat())
    }

    /// Writes what is left, and makes the files count. Returns whether all lists are distinct, too.
    pub(crate) fn finish(mut self) -> Result<(SideForm, bool)> {
        for level in 0..LEVELS {
            if let Some(left) = self.levels[level].left.take() {
                self.close(level, left)?;
            }
            let open = std::mem::take(&mut self.levels[level].open);
            if !open.lists.is_empty() {
                self.close(level, open)?;
            }
        }
        let mut page = Vec::with_capacity(PAGE_BYTES);
        for entries in self.index.chunks(ENTRIES as usize) {
            page.clear();
            entries.iter().for_each(|entry| entry.write(&mut page));
            self.index_file.append(&page)?;
        }
        self.index_file.publish()?;
        let mut form = SideForm {
            pieces: self.pieces.count,
            piece_bytes: self.piece_bytes,
            ..SideForm::default()
        };
        self.pieces.publish()?;
        for (i, level) in self.levels.into_iter().enumerate() {
            form.chunks[i] = level.file.count;
            form.list_bytes[i] = level.list_bytes;
            level.file.publish()?;
        }
        Ok((form, self.are_distinct))
    }
}

impl Chunk {
    /// Appends a list, if there is room; returns where it begins.
    fn add(&mut self, v: VertexId, list: &[u8], chunk_bytes: usize) -> Option<usize> {
        let offset = self.bytes.len();
        if offset + list.len() > capacity(chunk_bytes) {
            return None;
        }
        self.bytes.extend(list);
        self.lists.push((v, offset as u32));
        Some(offset)
    }
}

/// A file of pieces of one size, each with its checksum at its end.
pub(crate) struct PieceFile {
    file: NewFile,
    name: String,
    salt: u32,
    piece_bytes: usize,
    count: u32,
    waiting: Vec<u8>,
}

impl PieceFile {
    pub(crate) fn create(
        volume: &Volume,
        name: String,
        salt: u32,
        piece_bytes: usize,
    ) -> Result<Self> {
        let file = volume.create_file(&name)?;
        let waiting = Vec::with_capacity(WRITE_BYTES.max(piece_bytes));
        Ok(Self { file, name, salt, piece_bytes, count: 0, waiting })
    }

    /// Appends a piece, filled up with zeros.
    pub(crate) fn append(&mut self, content: &[u8]) -> Result<()> {
        let start = self.waiting.len();
        self.waiting.extend(content);
        self.waiting.resize(start + self.piece_bytes - CHECKSUM_BYTES, 0);
        let crc = checksum(self.salt, &self.name, self.count, &self.waiting[start..]);
        self.waiting.extend(crc.to_le_bytes());
        self.count =
            self.count.checked_add(1).filter(|&count| count < PIECES_MAX).ok_or_else(|| {
                Error::InvalidInput {
                    what: format!("`{}` would have more than 2^30 pieces", self.name),
                }
            })?;
        match self.waiting.len() >= WRITE_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        self.file.append(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    pub(crate) fn publish(mut self) -> Result<()> {
        self.write()?;
        self.file.publish()
    }
}

/// Pieces that a file may have.
const PIECES_MAX: u32 = 1 << 30;
