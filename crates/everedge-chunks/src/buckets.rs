//! Edges by *bucket*, the consecutive vertices that they leave: in memory while they have room there, else in
//! a scratch file of the new directory.

use std::mem;
use std::ops::Range;

use everedge_core::par;
use everedge_medium::{Result, Volume};

use crate::spool::{Moved, Scratch, Spool};

/// Bytes of edges of a bucket that wait for a write, at most.
pub(crate) const BUFFER_BYTES: usize = 128 << 10;
/// Edges that are divided at once.
const GRAIN: usize = 1 << 16;

/// Which vertices each bucket of a direction has.
pub(crate) struct Cuts {
    /// The end of each bucket.
    ends: Vec<u32>,
    /// The bucket of each vertex.
    bucket_of: Vec<u16>,
}

impl Cuts {
    /// Returns the buckets that end at `ends`, the last of which is the number of vertices.
    pub(crate) fn new(ends: Vec<u32>) -> Self {
        let mut bucket_of = Vec::with_capacity(ends.last().copied().unwrap_or_default() as usize);
        (0..).zip(&ends).for_each(|(bucket, &end)| bucket_of.resize(end as usize, bucket));
        Self { ends, bucket_of }
    }

    /// Returns the vertices of each bucket.
    fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| start..end)
    }
}

/// Which lists an edge is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// In that of its source.
    Source,
    /// In that of its target.
    Target,
    /// In those of both ends; a loop in one.
    Both,
}

impl Listed {
    /// Returns in how many lists an edge is.
    pub(crate) fn lists(self) -> u64 {
        if self == Self::Both { 2 } else { 1 }
    }
}

/// The edges of a direction by bucket.
pub(crate) struct Buckets {
    listed: Listed,
    cuts: Cuts,
    /// Words of an edge: the owner of the list, the neighbor, and the weight if there is one.
    width: usize,
    kept: Kept,
}

enum Kept {
    /// As they were divided, some at a time.
    Memory(Vec<Divided>),
    /// A spool for each bucket, and the file of all.
    File(Vec<Spool>, Scratch),
}

/// Some edges, those of each bucket side by side.
struct Divided {
    words: Vec<u32>,
    /// Where the words of each bucket end.
    ends: Vec<u32>,
}

/// What one bucket has.
pub(crate) struct Bucket<'a> {
    /// The vertices.
    pub(crate) range: Range<u32>,
    edges: Edges<'a>,
}

enum Edges<'a> {
    Memory(Vec<&'a [u32]>),
    File(Spool, Moved),
}

impl Buckets {
    /// Returns buckets without an edge. They go to a file of the volume but for `buffer_bytes` of each, or all stay in
    /// memory if that is none.
    pub(crate) fn new(
        (volume, name): (&Volume, &str),
        (listed, cuts): (Listed, Cuts),
        width: usize,
        buffer_bytes: Option<usize>,
    ) -> Self {
        let kept = match buffer_bytes {
            None => Kept::Memory(Vec::new()),
            Some(bytes) => {
                let spools = cuts.ends.iter().map(|_| Spool::new(width, bytes));
                Kept::File(spools.collect(), Scratch::new(volume, name))
            }
        };
        Self { listed, cuts, width, kept }
    }

    /// Takes edges, each as its words.
    ///
    /// # Errors
    /// As [`Spool::append`].
    pub(crate) fn add(&mut self, words: &[u32]) -> Result<()> {
        let divided = par::map_chunks(words, self.width * GRAIN, |words| match self.width {
            2 => self.divide::<2>(words),
            _ => self.divide::<3>(words),
        });
        match &mut self.kept {
            Kept::Memory(kept) => kept.extend(divided),
            Kept::File(spools, scratch) => {
                for divided in divided {
                    for (at, spool) in spools.iter_mut().enumerate() {
                        spool.append(divided.of(at), scratch)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts the edges of each bucket side by side.
    fn divide<const WIDTH: usize>(&self, words: &[u32]) -> Divided {
        let Cuts { ends, bucket_of } = &self.cuts;
        let bucket_of = |entry: &[u32; WIDTH]| usize::from(bucket_of[entry[0] as usize]);
        // Where the entries of each bucket are to begin, then where they end.
        let mut places = vec![0_u32; ends.len()];
        self.each_entry(words, |entry| places[bucket_of(&entry)] += 1);
        let mut sum = 0;
        for place in &mut places {
            sum += mem::replace(place, sum);
        }
        let mut words_divided = vec![0; WIDTH * sum as usize];
        let (divided, _) = words_divided.as_chunks_mut::<WIDTH>();
        self.each_entry(words, |entry| {
            let place = &mut places[bucket_of(&entry)];
            divided[*place as usize] = entry;
            *place += 1;
        });
        places.iter_mut().for_each(|place| *place *= WIDTH as u32);
        Divided { words: words_divided, ends: places }
    }

    /// Calls `f` for each list that an edge is in, with the owner of the list, the neighbor, and the weight.
    #[inline(always)]
    fn each_entry<const WIDTH: usize>(&self, words: &[u32], mut f: impl FnMut([u32; WIDTH])) {
        let (edges, _) = words.as_chunks::<WIDTH>();
        let reversed = |mut edge: [u32; WIDTH]| {
            edge.swap(0, 1);
            edge
        };
        match self.listed {
            Listed::Source => edges.iter().for_each(|&edge| f(edge)),
            Listed::Target => edges.iter().for_each(|&edge| f(reversed(edge))),
            Listed::Both => edges.iter().for_each(|&edge| {
                f(edge);
                if edge[0] != edge[1] {
                    f(reversed(edge));
                }
            }),
        }
    }

    /// Returns the buckets in the order of their vertices. The file goes with the last of them.
    ///
    /// # Errors
    /// As [`Scratch::take`].
    pub(crate) fn take(&mut self) -> Result<Vec<Bucket<'_>>> {
        let ranges = self.cuts.ranges();
        match &mut self.kept {
            Kept::Memory(kept) => {
                let edges = |at| Edges::Memory(kept.iter().map(|divided| divided.of(at)).collect());
                let bucket = |(at, range)| Bucket { range, edges: edges(at) };
                Ok(ranges.enumerate().map(bucket).collect())
            }
            Kept::File(spools, scratch) => {
                let moved = scratch.take()?;
                let edges = |spool| Edges::File(spool, moved.clone());
                let bucket = |(range, spool)| Bucket { range, edges: edges(spool) };
                Ok(ranges.zip(spools.drain(..)).map(bucket).collect())
            }
        }
    }
}

impl Divided {
    /// Returns the words of a bucket.
    fn of(&self, bucket: usize) -> &[u32] {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start as usize..self.ends[bucket] as usize]
    }
}

impl Bucket<'_> {
    /// Calls `f` with the vertices and the words of all edges, in the order in which they came.
    ///
    /// # Errors
    /// As [`Spool::read`].
    pub(crate) fn read<R>(self, f: impl FnOnce(Range<u32>, &[&[u32]]) -> R) -> Result<R> {
        let (spool, moved) = match self.edges {
            Edges::Memory(parts) => return Ok(f(self.range, &parts)),
            Edges::File(spool, moved) => (spool, moved),
        };
        let mut words = Vec::with_capacity(spool.words_len());
        spool.read(&moved, |more| {
            words.extend_from_slice(more);
            Ok(())
        })?;
        Ok(f(self.range, &[&words]))
    }
}
