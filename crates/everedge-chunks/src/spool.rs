//! Edges on their way: in memory while they have room there, else in a scratch file of the new directory.
//!
//! # Layout
//! An edge is two numbers of four bytes, or three with its weight. Several spools may share a file: each has blocks there,
//! and keeps their places and checksums in memory. The file is never synced. It is gone when the sealing ends, and what a
//! crash leaves of it is no graph.

use std::{io, iter};

use everedge_core::Edge;
use everedge_medium::{Error, NewFile, ReadBudget, Reader, Result, Volume};

/// Words that are read at once, at most: of whole edges.
const BLOCK_WORDS: usize = 3 << 19;

/// A file to which spools move edges. There is none before the first does.
pub(crate) struct Scratch {
    volume: Volume,
    name: String,
    file: Option<NewFile>,
}

/// What spools have moved to a scratch file.
#[derive(Clone)]
pub(crate) struct Moved(Option<Reader>);

/// Words in a scratch file.
struct Block {
    offset: u64,
    words: u32,
    crc: u32,
}

impl Scratch {
    pub(crate) fn new(volume: &Volume, name: &str) -> Self {
        Self { volume: volume.clone(), name: name.into(), file: None }
    }

    fn append(&mut self, words: &[u32]) -> Result<Block> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.volume.create_file(&self.name)?),
        };
        let (offset, bytes) = (file.len(), bytemuck::cast_slice(words));
        file.append(bytes)?;
        Ok(Block { offset, words: words.len() as u32, crc: checksum(offset, bytes) })
    }

    /// Returns what was moved, and is empty.
    ///
    /// # Errors
    /// `Io` if the medium fails.
    pub(crate) fn take(&mut self) -> Result<Moved> {
        self.file.take().map(NewFile::read_back).transpose().map(Moved)
    }
}

/// Returns the checksum of a block, which holds its place, too.
fn checksum(offset: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(offset as u32, bytes)
}

impl Moved {
    fn read(&self, block: &Block, words: &mut Vec<u32>) -> Result<()> {
        let Block { offset, crc, .. } = *block;
        words.resize(block.words as usize, 0);
        let reader = self.0.as_ref().expect("a block is in a file");
        let bytes = bytemuck::cast_slice_mut(words);
        let is_whole = match reader.read_at(&ReadBudget::unlimited(), offset, bytes) {
            Ok(()) => checksum(offset, bytes) == crc,
            // The file ends before.
            Err(Error::Corruption { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_whole {
            return Ok(());
        }
        // There is no graph yet that could be verified.
        let what = format!(
            "the {} bytes at offset {offset} are not those that were written; seal again",
            bytes.len()
        );
        let source = io::Error::new(io::ErrorKind::InvalidData, what);
        Err(Error::Io { path: reader.path().to_owned(), operation: "read back", source })
    }
}

/// Edges that are kept in their order.
pub(crate) struct Spool {
    /// Words of an edge.
    width: usize,
    blocks: Vec<Block>,
    /// What is in no block.
    words: Vec<u32>,
    words_max: usize,
    word_count: u64,
}

impl Spool {
    /// Returns an empty one, of which about `bytes_max` are kept in memory at most.
    pub(crate) fn new(width: usize, bytes_max: usize) -> Self {
        let (blocks, words) = (Vec::new(), Vec::new());
        Self { width, blocks, words, words_max: bytes_max / 4, word_count: 0 }
    }

    /// Keeps about `bytes_max` in memory at most from the next edges on.
    pub(crate) fn limit(&mut self, bytes_max: usize) {
        self.words_max = bytes_max / 4;
    }

    /// Returns how many edges it has.
    pub(crate) fn len(&self) -> u64 {
        self.word_count / self.width as u64
    }

    /// Returns how many words they have.
    pub(crate) fn words_len(&self) -> usize {
        self.word_count as usize
    }

    /// Appends edges, each as its words.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails.
    pub(crate) fn append(&mut self, words: &[u32], scratch: &mut Scratch) -> Result<()> {
        self.make_room(words.len(), scratch)?;
        if words.len() > self.words_max {
            return move_to(scratch, words, &mut self.blocks);
        }
        self.words.extend_from_slice(words);
        Ok(())
    }

    /// Appends edges without weights.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub(crate) fn append_edges(&mut self, edges: &[Edge], scratch: &mut Scratch) -> Result<()> {
        self.make_room(2 * edges.len(), scratch)?;
        let start = self.words.len();
        self.words.resize(start + 2 * edges.len(), 0);
        let (words, _) = self.words[start..].as_chunks_mut();
        words.iter_mut().zip(edges).for_each(|(words, &(u, v))| *words = [u, v]);
        Ok(())
    }

    /// Appends edges with weights, 1 where none is left.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub(crate) fn append_weighted(
        &mut self,
        edges: &[Edge],
        weights: &[f32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.make_room(3 * edges.len(), scratch)?;
        let weights = weights.iter().copied().chain(iter::repeat(1.0));
        let words = edges.iter().zip(weights).flat_map(|(&(u, v), w)| [u, v, w.to_bits()]);
        self.words.extend(words);
        Ok(())
    }

    /// Moves what is in memory to the file if so many more words have no room beside it.
    fn make_room(&mut self, more: usize, scratch: &mut Scratch) -> Result<()> {
        self.word_count += more as u64;
        if self.words.len() + more > self.words_max {
            move_to(scratch, &self.words, &mut self.blocks)?;
            self.words.clear();
            self.words.shrink_to(self.words_max);
        }
        let needed = self.words.len() + more;
        if needed > self.words.capacity() && needed <= self.words_max {
            let capacity = (2 * self.words.capacity()).clamp(needed, self.words_max);
            self.words.reserve_exact(capacity - self.words.len());
        }
        Ok(())
    }

    /// Calls `f` with the edges in their order, many at once, as words. `moved` is what was moved to its file.
    ///
    /// # Errors
    /// `Io` if the file cannot be read, or holds other bytes than were written.
    pub(crate) fn read(self, moved: &Moved, mut f: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        let mut words = Vec::new();
        for block in &self.blocks {
            moved.read(block, &mut words)?;
            f(&words)?;
        }
        self.words.chunks(BLOCK_WORDS).try_for_each(f)
    }
}

/// Moves words to a file, in blocks.
fn move_to(scratch: &mut Scratch, words: &[u32], blocks: &mut Vec<Block>) -> Result<()> {
    for words in words.chunks(BLOCK_WORDS) {
        blocks.push(scratch.append(words)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use everedge_medium::{MediumKind, VolumeOptions};

    use super::*;

    #[test]
    fn edges_come_back_in_their_order_from_memory_and_from_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let options = VolumeOptions { kind: MediumKind::File, eadr: false, meter: false };
        let volume = Volume::create(&directory.path().join("v"), options).unwrap();
        let edges: Vec<Edge> = (0..1_000_000).map(|i| (i, i * 7 % 1000)).collect();
        for (width, bytes_max) in [(2, 1 << 30), (2, 5000), (3, 5000), (3, 0)] {
            let mut scratch = Scratch::new(&volume, "edges");
            let mut spool = Spool::new(width, bytes_max);
            for edges in edges.chunks(999) {
                let weights: Vec<f32> = edges.iter().map(|&(u, _)| u as f32).collect();
                match width {
                    2 => spool.append_edges(edges, &mut scratch),
                    _ => spool.append_weighted(edges, &weights, &mut scratch),
                }
                .unwrap();
            }
            assert_eq!(spool.len(), edges.len() as u64);
            let mut at = 0;
            let read = spool.read(&scratch.take().unwrap(), |words| {
                for (edge, &(u, v)) in words.chunks_exact(width).zip(&edges[at..]) {
                    let weight = (u as f32).to_bits();
                    assert_eq!(edge, &[u, v, weight][..width]);
                    at += 1;
                }
                Ok(())
            });
            read.unwrap();
            assert_eq!(at, edges.len());
        }
    }

    /// Whatever happens to the file, whoever reads it back gets the edges or an error that names it.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test that damages a file")]
    fn a_damaged_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let options = VolumeOptions { kind: MediumKind::File, eadr: false, meter: false };
        let volume = Volume::create(&directory.path().join("v"), options).unwrap();
        let edges: Vec<Edge> = (0..10_000).map(|i| (i, i + 1)).collect();
        let path = directory.path().join("v/some.tmp");
        type Damage = fn(&mut Vec<u8>);
        let damages: [Damage; 4] = [
            |bytes| bytes[7000] ^= 4,
            |bytes| bytes.truncate(79_992),
            |bytes| bytes.clear(),
            // Two blocks of the same length.
            |bytes| bytes.rotate_left(8000),
        ];
        for damage in damages {
            let mut scratch = Scratch::new(&volume, "some");
            let mut spool = Spool::new(2, 8000);
            for edges in edges.chunks(1000) {
                spool.append_edges(edges, &mut scratch).unwrap();
            }
            spool.limit(0);
            spool.append(&[0, 1], &mut scratch).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            damage(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            let error = spool.read(&scratch.take().unwrap(), |_| Ok(())).unwrap_err();
            let said = error.to_string();
            assert!(matches!(error, Error::Io { .. }) && said.contains("v/some"), "{said}");
            // The directory is taken away when a sealing fails.
            assert!(!said.contains("everedge verify"), "{said}");
            assert!(!path.exists());
        }
    }
}
