//! Sealing edges that come in any order, within a budget of memory.
//!
//! # Steps
//! 1. Edges are kept as they come (`spool.rs`), and degrees counted.
//! 2. Vertices are numbered by their in-neighbors, most first.
//! 3. Edges go, by their new numbers, into *buckets*: consecutive vertices whose edges fit into memory.
//! 4. Each bucket is read, its edges are grouped by vertex and sorted, and the lists are encoded and packed.
//!
//! # Cost
//! What does not fit into memory is written and read once as it comes, and once for each direction by buckets.
//! Memory: 12 bytes an id while edges come, 16 bytes a vertex and 4 an id after; the budget bounds the rest.

use std::mem;
use std::ops::Range;

use everedge_core::{Edge, VertexId, par, watch};
use everedge_medium::{Error, Result, Volume};

use crate::encode::{Encoded, NumberedLists, encode};
use crate::form::{Form, Order, SealOptions};
use crate::pack::Packer;
use crate::seal::write_ids;
use crate::spool::Spool;

/// Ids by which arrays grow.
const GROWTH: usize = 1 << 22;
/// Bytes of edges of a bucket that wait for a write.
const BUCKET_BUFFER_BYTES: usize = 128 << 10;
/// Buckets of a direction, at most.
const BUCKETS_MAX: u64 = 256;
/// Edges of a bucket that the processor's caches mostly hold.
const BUCKET_EDGES: u64 = 1 << 20;
/// Edges in a piece of work.
const GRAIN: usize = 1 << 16;
/// Bytes for chunks that are being filled, and for lists that are being encoded.
const FIXED_BYTES: u64 = 48 << 20;

/// What is sealed, and how.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry a weight.
    pub weighted: bool,
    /// Whether a pair keeps its last edge only.
    pub simple: bool,
    /// Whether a directed graph keeps in-neighbors.
    pub in_neighbors: bool,
    /// How lists are written; in the order of degrees or of ids.
    pub seal: SealOptions,
    /// Bytes of memory, about.
    pub memory: u64,
}

/// Seals edges that come in any order. Their ids are vertices: below 2^31, as readers of files see to.
pub struct Builder {
    volume: Volume,
    salt: u32,
    options: BuildOptions,
    edges: Spool,
    /// In- and out-degree of each id, each edge counted.
    degrees: [Vec<u32>; 2],
    /// Vertices that are named without an edge.
    declared: Vec<VertexId>,
}

impl Builder {
    /// Begins in the directory of a volume.
    ///
    /// # Errors
    /// `InvalidInput` if options cannot be.
    pub fn new(volume: &Volume, salt: u32, options: BuildOptions) -> Result<Self> {
        options.seal.check()?;
        if options.seal.order == Order::Steps {
            return Err(Error::InvalidInput {
                what: "order=steps needs the lists of a graph: seal a graph, or choose degree"
                    .into(),
            });
        }
        let kept = (options.memory / 4) as usize;
        let edges = Spool::new(volume, "edges".into(), options.weighted, kept);
        let (volume, degrees) = (volume.clone(), [Vec::new(), Vec::new()]);
        Ok(Self { volume, salt, options, edges, degrees, declared: Vec::new() })
    }

    /// Takes edges, and as many weights or none.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; `InvalidInput` if ids take more memory than there is.
    pub fn add(&mut self, edges: &[Edge], weights: &[f32]) -> Result<()> {
        let largest = edges.iter().map(|&(u, v)| u.max(v)).max();
        self.reserve(largest)?;
        for &(u, v) in edges {
            let [into, out] = &mut self.degrees;
            into[v as usize] = into[v as usize].saturating_add(1);
            out[u as usize] = out[u as usize].saturating_add(1);
        }
        self.edges.append(edges.iter().copied(), weights.iter().copied())
    }

    /// Takes vertices, which may have no edge.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        self.reserve(vertices.iter().copied().max())?;
        self.declared.extend(vertices);
        Ok(())
    }

    /// Makes arrays by id long enough.
    fn reserve(&mut self, largest: Option<VertexId>) -> Result<()> {
        let Some(len) = largest.map(|largest| largest as usize + 1) else { return Ok(()) };
        if len <= self.degrees[0].len() {
            return Ok(());
        }
        let needed = 12 * len as u64 + FIXED_BYTES;
        if needed > self.options.memory {
            return Err(Error::InvalidInput {
                what: format!(
                    "ids up to {} take {needed} bytes of memory, more than the {} that are allowed; \
                     allow more, or number the vertices with --ids integer",
                    len - 1,
                    self.options.memory
                ),
            });
        }
        for degrees in &mut self.degrees {
            if len > degrees.capacity() {
                degrees.reserve_exact(len.next_multiple_of(GROWTH) - degrees.len());
            }
            degrees.resize(len, 0);
        }
        Ok(())
    }

    /// Writes the files of the sealed graph, all but the manifest. `id_of` says what a vertex is called.
    ///
    /// # Errors
    /// As [`Self::add`]; `InvalidInput` if a vertex has more edges than fit into memory.
    pub fn finish(mut self, id_of: impl Fn(VertexId) -> VertexId) -> Result<Form> {
        let ids = self.ordered();
        write_ids(&self.volume, self.salt, ids.iter().map(|&v| id_of(v)))?;
        let bound = self.degrees[0].len();
        let side_count = if self.options.directed && self.options.in_neighbors { 2 } else { 1 };
        let capacity = self.bucket_edges(bound as u64, ids.len() as u64)?;
        let ends: Vec<Vec<u32>> = (0..side_count)
            .map(|side| self.bucket_ends(&ids, side, capacity))
            .collect::<Result<_>>()?;
        drop(mem::take(&mut self.degrees));
        let mut numbers = vec![0; bound];
        (0..).zip(&ids).for_each(|(number, &id)| numbers[id as usize] = number);
        let vertices = ids.len() as u32;
        drop(ids);
        let edges_in = self.edges.len();
        let mut buckets = self.divide(&numbers, &ends)?;
        drop(numbers);
        let mut sides = Vec::new();
        let (mut ends_count, mut loops) = (0, 0);
        let (mut done, all) = (0, (side_count as u64) * u64::from(vertices));
        for (side, ends) in ends.iter().enumerate() {
            let BuildOptions { weighted, simple, seal, .. } = &self.options;
            let mut packer =
                Packer::new(&self.volume, (side, self.salt), seal, (*weighted, vertices))?;
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let ranges = starts.zip(ends).map(|(start, &end)| start..end);
            let mut tasks = ranges.zip(buckets.remove(0)).peekable();
            while tasks.peek().is_some() {
                // A bucket a thread.
                let some: Vec<_> = tasks.by_ref().take(par::thread_count()).collect();
                let shared = &packer;
                let groups = par::map_tasks(some, |(range, bucket)| {
                    let group = Group::new(range.clone(), bucket, (*weighted, *simple))?;
                    let counts = (group.neighbors.len() as u64, group.loops());
                    Ok((encode(&group, range, shared), counts))
                });
                for group in groups {
                    let (encoded, (neighbors, own)): (Encoded, _) = group?;
                    if side == 0 {
                        (ends_count, loops) = (ends_count + neighbors, loops + own);
                    }
                    done += encoded.len() as u64;
                    encoded.pack(&mut packer)?;
                    watch::note(done, all);
                }
            }
            sides.push(packer.finish()?);
        }
        let edges = match (self.options.simple, self.options.directed) {
            (false, _) => edges_in,
            (true, true) => ends_count,
            (true, false) => (ends_count + loops) / 2,
        };
        let BuildOptions { directed, weighted, seal, .. } = &self.options;
        Ok(Form::new(seal, (*directed, *weighted), (vertices, edges), sides))
    }

    /// Returns the ids of all vertices in the order in which they are numbered.
    fn ordered(&mut self) -> Vec<VertexId> {
        let [into, out] = &mut self.degrees;
        let mut is_declared = vec![false; if self.declared.is_empty() { 0 } else { into.len() }];
        mem::take(&mut self.declared).into_iter().for_each(|v| is_declared[v as usize] = true);
        let is_vertex =
            |v: usize| into[v] > 0 || out[v] > 0 || is_declared.get(v).copied().unwrap_or(false);
        let mut ids: Vec<VertexId> =
            (0..into.len()).filter(|&v| is_vertex(v)).map(|v| v as u32).collect();
        if !self.options.directed {
            // An edge is in the lists of both ends.
            into.iter_mut().zip(&*out).for_each(|(into, out)| *into = into.saturating_add(*out));
        }
        if self.options.seal.order == Order::Degree {
            par::sort_by_key(&mut ids, |&v| !into[v as usize]);
        }
        ids
    }

    /// Returns how many edges of a bucket fit into memory.
    fn bucket_edges(&self, bound: u64, vertices: u64) -> Result<u64> {
        let word_bytes = if self.options.weighted { 12 } else { 8 };
        // As they were read, grouped and encoded, on each thread.
        let edge_bytes = (5 * word_bytes / 2 * par::thread_count()) as u64;
        let buffers = 2 * BUCKETS_MAX * BUCKET_BUFFER_BYTES as u64;
        let kept = FIXED_BYTES + buffers + 4 * bound + 16 * vertices;
        let left = self.options.memory.saturating_sub(kept);
        let edges = left / edge_bytes;
        let least = (2 * self.edges.len()).div_ceil(BUCKETS_MAX).max(1);
        if edges >= least {
            return Ok(edges.min(least.max(BUCKET_EDGES)));
        }
        Err(Error::InvalidInput {
            what: format!(
                "{} bytes of memory are too few to seal {} edges: {} would do",
                self.options.memory,
                self.edges.len(),
                kept + least * edge_bytes
            ),
        })
    }

    /// Cuts the vertices of a side where their edges fill a bucket; returns the ends.
    fn bucket_ends(&self, ids: &[VertexId], side: usize, capacity: u64) -> Result<Vec<u32>> {
        let keys = match (self.options.directed, side) {
            (true, 0) => &self.degrees[1],
            _ => &self.degrees[0],
        };
        let (mut ends, mut sum) = (Vec::new(), 0);
        for (number, &id) in (0..).zip(ids) {
            let degree = u64::from(keys[id as usize]);
            if degree > capacity {
                return Err(Error::InvalidInput {
                    what: format!(
                        "vertex {id} has {degree} neighbors, and {} bytes of memory hold the list of \
                         {capacity}; allow more",
                        self.options.memory
                    ),
                });
            }
            if sum + degree > capacity {
                ends.push(number);
                sum = 0;
            }
            sum += degree;
        }
        ends.push(ids.len() as u32);
        Ok(ends)
    }

    /// Puts each edge, by the numbers of its ends, into the bucket of each list that it is in.
    fn divide(&mut self, numbers: &[VertexId], ends: &[Vec<u32>]) -> Result<Vec<Vec<Spool>>> {
        let BuildOptions { directed, weighted, memory, .. } = self.options;
        let volume = &self.volume;
        // They stay in memory if they have room there beside what a bucket needs; else each what it collects for a
        // write.
        let edge_bytes = if weighted { 12 } else { 8 };
        let stored = (if directed { ends.len() as u64 } else { 2 }) * self.edges.len() * edge_bytes;
        let bytes_max = match stored > memory / 4 {
            true => BUCKET_BUFFER_BYTES,
            false => memory as usize,
        };
        let bucket = |side: usize, at: usize| {
            Spool::new(volume, format!("bucket{side}.{at}"), weighted, bytes_max)
        };
        let mut buckets: Vec<Vec<Spool>> = (ends.iter().enumerate())
            .map(|(side, ends)| (0..ends.len()).map(|at| bucket(side, at)).collect())
            .collect();
        let none = Spool::new(volume, "none".into(), weighted, 0);
        let width = if weighted { 3 } else { 2 };
        mem::replace(&mut self.edges, none).read(|words| {
            let divided = par::map_chunks(words, width * GRAIN, |words| {
                let mut parts: Vec<Vec<Part>> = ends
                    .iter()
                    .map(|ends| ends.iter().map(|_| Part::default()).collect())
                    .collect();
                for edge in words.chunks(width) {
                    let (u, v) = (numbers[edge[0] as usize], numbers[edge[1] as usize]);
                    let weight = edge.get(2).map(|&bits| f32::from_bits(bits));
                    let mut put = |side: usize, u: u32, v: u32| {
                        let at = ends[side].partition_point(|&end| end <= u);
                        let part = &mut parts[side][at];
                        part.edges.push((u, v));
                        part.weights.extend(weight);
                    };
                    put(0, u, v);
                    if !directed && u != v {
                        put(0, v, u);
                    } else if directed && ends.len() > 1 {
                        put(1, v, u);
                    }
                }
                parts
            });
            for parts in divided {
                for (buckets, parts) in buckets.iter_mut().zip(parts) {
                    for (bucket, part) in buckets.iter_mut().zip(parts) {
                        bucket.append(part.edges.into_iter(), part.weights.into_iter())?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(buckets)
    }
}

/// Edges for a bucket.
#[derive(Default)]
struct Part {
    edges: Vec<Edge>,
    weights: Vec<f32>,
}

/// The edges of a bucket, grouped by vertex.
struct Group {
    first: u32,
    /// Where the neighbors of each vertex begin, and the end of the last.
    offsets: Vec<u32>,
    neighbors: Vec<VertexId>,
    weights: Vec<f32>,
}

impl Group {
    fn new(range: Range<u32>, bucket: Spool, (weighted, simple): (bool, bool)) -> Result<Self> {
        let width = if weighted { 3 } else { 2 };
        let mut words = Vec::with_capacity(width * bucket.len() as usize);
        bucket.read(|more| {
            words.extend(more);
            Ok(())
        })?;
        let mut group = Self::grouped(range, &words, width);
        drop(words);
        group.sort();
        if simple {
            group.keep_last();
        }
        Ok(group)
    }

    /// Groups edges in their order.
    fn grouped(range: Range<u32>, words: &[u32], width: usize) -> Self {
        let first = range.start;
        let at = |edge: &[u32]| (edge[0] - first) as usize;
        let mut offsets = vec![0_u32; range.len() + 1];
        words.chunks_exact(width).for_each(|edge| offsets[at(edge) + 1] += 1);
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut places = offsets.clone();
        let mut neighbors = vec![0; sum as usize];
        let mut weights = vec![0.0; if width == 3 { sum as usize } else { 0 }];
        for edge in words.chunks_exact(width) {
            let place = &mut places[at(edge)];
            neighbors[*place as usize] = edge[1];
            if let Some(&bits) = edge.get(2) {
                weights[*place as usize] = f32::from_bits(bits);
            }
            *place += 1;
        }
        Self { first, offsets, neighbors, weights }
    }

    /// Sorts each list; parallel edges stay in their order.
    fn sort(&mut self) {
        if self.weights.is_empty() {
            for ends in self.offsets.windows(2) {
                self.neighbors[ends[0] as usize..ends[1] as usize].sort_unstable();
            }
            return;
        }
        for ends in self.offsets.windows(2) {
            let range = ends[0] as usize..ends[1] as usize;
            let (ids, weights) = (&mut self.neighbors[range.clone()], &mut self.weights[range]);
            let mut edges: Vec<_> = ids.iter().copied().zip(weights.iter().copied()).collect();
            edges.sort_by_key(|&(v, _)| v);
            for ((id, weight), edge) in ids.iter_mut().zip(weights).zip(edges) {
                (*id, *weight) = edge;
            }
        }
    }

    /// Keeps the last of several edges of a pair.
    fn keep_last(&mut self) {
        let mut kept = 0;
        let mut start = 0;
        for at in 1..self.offsets.len() {
            let end = self.offsets[at] as usize;
            for i in start..end {
                if i + 1 < end && self.neighbors[i] == self.neighbors[i + 1] {
                    continue;
                }
                self.neighbors[kept] = self.neighbors[i];
                if !self.weights.is_empty() {
                    self.weights[kept] = self.weights[i];
                }
                kept += 1;
            }
            start = end;
            self.offsets[at] = kept as u32;
        }
        self.neighbors.truncate(kept);
        self.weights.truncate(kept);
    }

    /// Returns how many edges lead from a vertex to itself.
    fn loops(&self) -> u64 {
        let of = |(at, ends): (usize, &[u32])| {
            let list = &self.neighbors[ends[0] as usize..ends[1] as usize];
            let v = self.first + at as u32;
            (list.partition_point(|&u| u <= v) - list.partition_point(|&u| u < v)) as u64
        };
        self.offsets.windows(2).enumerate().map(of).sum()
    }

    fn range(&self, number: u32) -> Range<usize> {
        let at = (number - self.first) as usize;
        self.offsets[at] as usize..self.offsets[at + 1] as usize
    }
}

impl NumberedLists for Group {
    fn degree(&self, number: u32) -> u32 {
        self.range(number).len() as u32
    }

    fn copy(&self, number: u32, ids: &mut Vec<VertexId>, weights: &mut Vec<f32>) {
        let range = self.range(number);
        ids.extend(&self.neighbors[range.clone()]);
        weights.extend(self.weights.get(range).unwrap_or_default());
    }
}
