//! Edges on their way: in memory while they have room there, else in a file of the new directory.
//!
//! # Layout
//! An edge is two numbers of four bytes, or three with its weight. The file has no checksums: it is gone when
//! the sealing ends, and what a crash leaves of it is no graph.

use std::iter;

use everedge_core::Edge;
use everedge_medium::{NewFile, ReadBudget, Result, Volume};

/// Bytes that are read at once.
const READ_BYTES: usize = 3 << 21;

/// Edges that are kept in their order.
pub(crate) struct Spool {
    volume: Volume,
    name: String,
    /// Words of an edge.
    width: usize,
    /// What is not in the file.
    words: Vec<u32>,
    words_max: usize,
    file: Option<NewFile>,
    word_count: u64,
}

impl Spool {
    /// Returns an empty one, of which about `bytes_max` are kept in memory at most.
    pub(crate) fn new(volume: &Volume, name: String, width: usize, bytes_max: usize) -> Self {
        let (volume, words) = (volume.clone(), Vec::new());
        Self { volume, name, width, words, words_max: bytes_max / 4, file: None, word_count: 0 }
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
    pub(crate) fn append(&mut self, words: &[u32]) -> Result<()> {
        self.make_room(words.len())?;
        self.words.extend_from_slice(words);
        Ok(())
    }

    /// Appends edges without weights.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub(crate) fn append_edges(&mut self, edges: &[Edge]) -> Result<()> {
        self.make_room(2 * edges.len())?;
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
    pub(crate) fn append_weighted(&mut self, edges: &[Edge], weights: &[f32]) -> Result<()> {
        self.make_room(3 * edges.len())?;
        let weights = weights.iter().copied().chain(iter::repeat(1.0));
        let words = edges.iter().zip(weights).flat_map(|(&(u, v), w)| [u, v, w.to_bits()]);
        self.words.extend(words);
        Ok(())
    }

    /// Moves what is in memory to the file if so many more words have no room beside it.
    fn make_room(&mut self, words: usize) -> Result<()> {
        self.word_count += words as u64;
        match self.words.len() + words > self.words_max && !self.words.is_empty() {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Moves what is in memory to the file.
    fn write(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.volume.create_file(&self.name)?),
        };
        file.append(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        Ok(())
    }

    /// Calls `f` with the edges in their order, many at once, as words.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read(mut self, mut f: impl FnMut(&[u32]) -> Result<()>) -> Result<()> {
        if self.file.is_some() {
            self.write()?;
        }
        let Some(file) = self.file.take() else {
            let step = READ_BYTES / 4;
            return self.words.chunks(step).try_for_each(f);
        };
        self.words = Vec::new();
        file.publish()?;
        let reader = self.volume.open_reader(&self.name)?;
        let (len, budget) = (reader.len(), ReadBudget::unlimited());
        let mut words = vec![0_u32; READ_BYTES / 4];
        for offset in (0..len).step_by(READ_BYTES) {
            let bytes = (len - offset).min(READ_BYTES as u64) as usize;
            let words = &mut words[..bytes / 4];
            reader.read_at(&budget, offset, bytemuck::cast_slice_mut(words))?;
            f(words)?;
        }
        drop(reader);
        self.volume.remove(&self.name)
    }
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
            let mut spool = Spool::new(&volume, "edges".into(), width, bytes_max);
            for edges in edges.chunks(999) {
                let weights: Vec<f32> = edges.iter().map(|&(u, _)| u as f32).collect();
                match width {
                    2 => spool.append_edges(edges),
                    _ => spool.append_weighted(edges, &weights),
                }
                .unwrap();
            }
            assert_eq!(spool.len(), edges.len() as u64);
            let mut at = 0;
            let read = spool.read(|words| {
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
}
