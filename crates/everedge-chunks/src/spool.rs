//! Edges on their way: in memory while they have room there, else in a file of the new directory.
//!
//! # Layout
//! An edge is two numbers of four bytes, or three with its weight. The file has no checksums: it is gone when
//! the sealing ends, and what a crash leaves of it is no graph.

use everedge_core::Edge;
use everedge_medium::{NewFile, ReadBudget, Result, Volume};

/// Bytes that are read at once.
const READ_BYTES: usize = 3 << 21;

/// Edges that are kept in their order.
pub(crate) struct Spool {
    volume: Volume,
    name: String,
    words_each: usize,
    /// What is not in the file.
    words: Vec<u32>,
    words_max: usize,
    file: Option<NewFile>,
    count: u64,
}

impl Spool {
    /// Returns an empty one, of which at most `bytes_max` are kept in memory.
    pub(crate) fn new(volume: &Volume, name: String, weighted: bool, bytes_max: usize) -> Self {
        let words_each = if weighted { 3 } else { 2 };
        let words_max = (bytes_max / 4).max(words_each);
        let (volume, words) = (volume.clone(), Vec::new());
        Self { volume, name, words_each, words, words_max, file: None, count: 0 }
    }

    /// Returns how many edges it has.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Appends edges, and as many weights or none.
    pub(crate) fn append(
        &mut self,
        edges: impl Iterator<Item = Edge>,
        mut weights: impl Iterator<Item = f32>,
    ) -> Result<()> {
        for (u, v) in edges {
            if self.words.len() + self.words_each > self.words_max {
                self.write()?;
            }
            self.words.extend([u, v]);
            if self.words_each == 3 {
                self.words.push(weights.next().unwrap_or(1.0).to_bits());
            }
            self.count += 1;
        }
        Ok(())
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
        for (weighted, bytes_max) in [(false, 1 << 30), (false, 5000), (true, 5000), (true, 0)] {
            let edges = &edges[..if bytes_max == 0 { 100 } else { edges.len() }];
            let mut spool = Spool::new(&volume, "edges".into(), weighted, bytes_max);
            for edges in edges.chunks(999) {
                let weights = edges.iter().map(|&(u, _)| u as f32);
                spool.append(edges.iter().copied(), weights).unwrap();
            }
            assert_eq!(spool.len(), edges.len() as u64);
            let width = if weighted { 3 } else { 2 };
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
