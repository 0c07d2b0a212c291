//! Sealing edges that come in any order, within a budget of memory.
//!
//! # Steps
//! 1. Edges are kept as they come (`spool.rs`), and degrees counted.
//! 2. Vertices are numbered by their in-neighbors, most first.
//! 3. Edges go, by their new numbers, into *buckets*: consecutive vertices that fit into memory with their edges (`buckets.rs`).
//! 4. Each bucket is read, its edges are grouped by vertex and sorted (`group.rs`), and the lists are encoded and packed.
//!
//! # Cost
//! What does not fit into memory is written and read once as it comes, and once for each direction by buckets.
//! Memory: 12 bytes an id while edges come, a bit more if vertices are declared, and the names that the caller keeps
//! meanwhile; 20 bytes a vertex and 4 an id after. The budget bounds the rest.

use std::mem;

use everedge_core::{Bitmap, Edge, VertexId, par, watch};
use everedge_medium::{Error, Result, Volume};

use crate::buckets::{self, Bucket, Buckets, Cuts, Listed};
use crate::encode::{Encoded, Encoder, LIST_BYTES};
use crate::form::{Form, Order, SealOptions};
use crate::group::Group;
use crate::pack::Packer;
use crate::seal::write_ids;
use crate::spool::{Scratch, Spool};

/// Ids by which arrays grow.
const GROWTH: usize = 1 << 22;
/// Buckets of a direction, at most.
const BUCKETS_MAX: u64 = 256;
/// Edges of a bucket that the processor's caches mostly hold.
const BUCKET_EDGES: u64 = 1 << 18;
/// A vertex takes as much memory in a bucket as so many edges, at most: where its list begins while edges are grouped, and
/// its list as it is encoded and as it waits to be packed.
const VERTEX_EDGES: u64 = 2;
const _: () = assert!(2 * 4 + 2 * LIST_BYTES <= VERTEX_EDGES as usize * EDGE_COPIES * 4 * 2);
/// An edge is in memory as it was read, grouped and encoded.
const EDGE_COPIES: usize = 3;
/// So many edges are worth counting in-degrees beside out-degrees.
const COUNTED_BESIDE: usize = 1 << 13;
/// Edges that get numbers in a piece of work.
const GRAIN: usize = 1 << 16;
/// Bytes for chunks that are being filled, and for lists that are being encoded.
const FIXED_BYTES: u64 = 48 << 20;

/// Bytes for edges of buckets that wait for a write.
const BUFFERS_BYTES: u64 = 2 * BUCKETS_MAX * buckets::BUFFER_BYTES as u64;
/// What any sealing takes, whatever it seals.
const LEAST_BYTES: u64 = FIXED_BYTES + BUFFERS_BYTES;

/// How many edges the buckets of a direction have. A vertex counts as [`VERTEX_EDGES`] more.
struct BucketEdges {
    /// Of several vertices, at most.
    usual: u64,
    /// Of any bucket so far.
    largest: u64,
    /// Bytes beside a bucket.
    kept: u64,
    edge_bytes: u64,
}

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
    /// What of them has no room in memory.
    scratch: Scratch,
    /// Bytes of edges that stay in memory, at most, as they came and by bucket.
    kept_bytes: u64,
    /// Edges of a bucket of several vertices, about.
    bucket_edges: u64,
    /// In- and out-degree of each id, each edge counted.
    degrees: [Vec<u32>; 2],
    /// Vertices that are named without an edge.
    declared: Bitmap,
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
        if options.memory < LEAST_BYTES {
            return Err(Error::InvalidInput {
                what: format!(
                    "{} bytes of memory are too few to seal anything: it takes {LEAST_BYTES} ({}M) for buffers, \
                     and 20 for each vertex and 4 for each id beside; allow more",
                    options.memory,
                    LEAST_BYTES.div_ceil(1 << 20)
                ),
            });
        }
        let kept_bytes = options.memory / 4;
        Ok(Self {
            volume: volume.clone(),
            salt,
            edges: Spool::new(options.width(), kept_bytes as usize),
            scratch: Scratch::new(volume, "edges"),
            kept_bytes,
            bucket_edges: BUCKET_EDGES,
            degrees: [Vec::new(), Vec::new()],
            declared: Bitmap::new(0),
            options,
        })
    }

    /// Makes buckets smaller, and keeps fewer edges in memory: so a small graph is sealed as a large one is, to test that.
    #[must_use]
    pub fn with_buckets(mut self, bucket_edges: u64, kept_bytes: u64) -> Self {
        self.bucket_edges = self.bucket_edges.min(bucket_edges);
        self.kept_bytes = self.kept_bytes.min(kept_bytes);
        self.edges.limit(self.kept_bytes as usize);
        self
    }

    /// Takes edges, and as many weights or none.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; `InvalidInput` if ids take more memory than there is.
    pub fn add(&mut self, edges: &[Edge], weights: &[f32]) -> Result<()> {
        let largest = edges.iter().map(|&(u, v)| u.max(v)).max();
        self.reserve(largest)?;
        let Self { degrees: [into, out], edges: kept, scratch, .. } = self;
        let weighted = self.options.weighted;
        let is_long = edges.len() >= COUNTED_BESIDE;
        let ((), is_kept) = par::join_if(
            is_long,
            || edges.iter().for_each(|&(_, v)| count(into, v)),
            || {
                edges.iter().for_each(|&(u, _)| count(out, u));
                match weighted {
                    true => kept.append_weighted(edges, weights, scratch),
                    false => kept.append_edges(edges, scratch),
                }
            },
        );
        is_kept
    }

    /// Takes vertices, which may have no edge.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_vertices(&mut self, vertices: &[VertexId]) -> Result<()> {
        let largest = vertices.iter().copied().max();
        self.reserve(largest)?;
        self.declared.grow(largest.map_or(0, |largest| largest + 1));
        vertices.iter().for_each(|&v| self.declared.insert(v));
        Ok(())
    }

    /// Checks that the names of so many vertices, which take `bytes` of the caller's memory while edges come, have room in the
    /// budget beside what was taken so far.
    ///
    /// # Errors
    /// `InvalidInput` if they have not, with what would do.
    pub fn check_names(&self, vertices: u32, bytes: u64) -> Result<()> {
        let of_edges = 4 * self.edges.words_len() as u64;
        let needed = FIXED_BYTES + 12 * u64::from(vertices) + bytes;
        // A fourth of the budget holds edges, if there are so many.
        if needed + of_edges.min(self.options.memory / 4) <= self.options.memory {
            return Ok(());
        }
        let would_do = needed + of_edges.min(needed.div_ceil(3));
        Err(Error::InvalidInput {
            what: format!(
                "{} bytes of memory are too few to seal what was read so far: {would_do} would do for that ({}M), {bytes} of them for \
                 the names of vertices; allow more, or call vertices by small numbers (dense ids), which need no names",
                self.options.memory,
                would_do.div_ceil(1 << 20)
            ),
        })
    }

    /// Makes arrays by id long enough.
    fn reserve(&mut self, largest: Option<VertexId>) -> Result<()> {
        let Some(len) = largest.map(|largest| largest as usize + 1) else { return Ok(()) };
        if len <= self.degrees[0].len() {
            return Ok(());
        }
        self.check_ids(len)?;
        // Chunks and lists come later: half of their bytes is what edges that are being read take.
        let left = self.options.memory.saturating_sub(FIXED_BYTES / 2 + 12 * len as u64);
        self.edges.limit(self.kept_bytes.min(left) as usize);
        for degrees in &mut self.degrees {
            if len > degrees.capacity() {
                degrees.reserve_exact(len.next_multiple_of(GROWTH) - degrees.len());
            }
            degrees.resize(len, 0);
        }
        Ok(())
    }

    /// Refuses ids below `len` if they take more memory than there is, while edges come or after. Of few ids this is not known
    /// before all edges are there.
    fn check_ids(&self, len: usize) -> Result<()> {
        let bound = len as u64;
        let needed = FIXED_BYTES + (12 * bound).max(BUFFERS_BYTES + 4 * bound);
        if needed <= self.options.memory || 12 * bound <= BUFFERS_BYTES {
            return Ok(());
        }
        let used = self.degrees[0].iter().zip(&self.degrees[1]).filter(|&(&i, &o)| i > 0 || o > 0);
        let other_way = match used.count() < len / 2 {
            true => ", or number the vertices with --ids integer",
            false => "",
        };
        Err(Error::InvalidInput {
            what: format!(
                "ids up to {}, the largest so far, take {needed} bytes of memory, more than the {} that are allowed; allow more{other_way}",
                len - 1,
                self.options.memory
            ),
        })
    }

    /// Writes the files of the sealed graph, all but the manifest. `id_of` says what a vertex is called there, `name_of` what its
    /// user calls it.
    ///
    /// # Errors
    /// As [`Self::add`]; `InvalidInput` if a vertex has more edges than fit into memory.
    pub fn finish(
        mut self,
        id_of: impl Fn(VertexId) -> VertexId,
        name_of: impl Fn(VertexId) -> String,
    ) -> Result<Form> {
        let ids = self.ordered();
        write_ids(&self.volume, self.salt, ids.iter().map(|&v| id_of(v)))?;
        let bound = self.degrees[0].len();
        let sides: &[_] = match (self.options.directed, self.options.in_neighbors) {
            (true, true) => &[Listed::Source, Listed::Target],
            (true, false) => &[Listed::Source],
            (false, _) => &[Listed::Both],
        };
        let longest = self.longest(&ids, sides);
        let mut edges = self.bucket_edges(bound as u64, ids.len() as u64, longest, name_of)?;
        let cuts = sides.iter().map(|&listed| {
            let ends = self.bucket_ends(&ids, listed, &mut edges);
            (listed, Cuts::new(ends))
        });
        let cuts = cuts.collect::<Vec<_>>();
        drop(mem::take(&mut self.degrees));
        let mut numbers = vec![0; bound];
        (0..).zip(&ids).for_each(|(number, &id)| numbers[id as usize] = number);
        let vertices = ids.len() as u32;
        drop(ids);
        let edges_in = self.edges.len();
        let all_buckets = self.divide(&numbers, cuts, &edges)?;
        drop(numbers);
        let (mut packed, mut distinct) = (Vec::new(), true);
        let (mut ends_count, mut loops) = (0, 0);
        let (mut done, all) = (0, (sides.len() as u64) * u64::from(vertices));
        for (side, mut buckets) in all_buckets.into_iter().enumerate() {
            let BuildOptions { weighted, seal, .. } = &self.options;
            let mut packer =
                Packer::new(&self.volume, (side, self.salt), seal, (*weighted, vertices))?;
            let encoder = packer.encoder();
            let mut buckets = buckets.take()?.into_iter();
            let mut waiting = Vec::new();
            // What was encoded is packed while the next is: a bucket a thread.
            loop {
                let some: Vec<_> = buckets.by_ref().take(par::thread_count()).collect();
                if some.is_empty() && waiting.is_empty() {
                    break;
                }
                let pack = || {
                    mem::take(&mut waiting).into_iter().try_for_each(|encoded: Encoded| {
                        done += encoded.len() as u64;
                        encoded.pack(&mut packer)
                    })
                };
                let encode = || par::map_tasks(some, |bucket| self.encode(bucket, encoder));
                let (is_packed, encoded) = par::join(pack, encode);
                is_packed?;
                watch::note(done, all);
                for encoded in encoded {
                    let (encoded, neighbors, own) = encoded?;
                    if side == 0 {
                        (ends_count, loops) = (ends_count + neighbors, loops + own);
                    }
                    waiting.push(encoded);
                }
            }
            let (side, is_distinct) = packer.finish()?;
            packed.push(side);
            distinct &= is_distinct;
        }
        let edges = match (self.options.simple, self.options.directed) {
            (false, _) => edges_in,
            (true, true) => ends_count,
            (true, false) => (ends_count + loops) / 2,
        };
        let BuildOptions { directed, weighted, seal, .. } = &self.options;
        Ok(Form::new(seal, (*directed, *weighted), (vertices, edges), (packed, distinct)))
    }

    /// Encodes the lists of a bucket; returns how many neighbors and loops they have, too.
    fn encode(&self, bucket: Bucket<'_>, encoder: Encoder) -> Result<(Encoded, u64, u64)> {
        let (width, simple) = (self.options.width(), self.options.simple);
        bucket.read(|range, parts| {
            let group = Group::new(range.clone(), parts, width, simple);
            (encoder.encode(&group, range), group.len(), group.loops())
        })
    }

    /// Returns the ids of all vertices in the order in which they are numbered.
    fn ordered(&mut self) -> Vec<VertexId> {
        let [into, out] = &mut self.degrees;
        let declared = mem::replace(&mut self.declared, Bitmap::new(0));
        let is_vertex = |v: usize| into[v] > 0 || out[v] > 0 || declared.contains(v as VertexId);
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

    /// Returns in what is listed how many neighbors each id has.
    fn keys(&self, listed: Listed) -> &[u32] {
        let [into, out] = &self.degrees;
        if listed == Listed::Source { out } else { into }
    }

    /// Returns the vertex with the longest list of all sides, and how many neighbors it has.
    fn longest(&self, ids: &[VertexId], sides: &[Listed]) -> Option<(VertexId, u64)> {
        let of_side = |&listed: &Listed| {
            let keys = self.keys(listed);
            ids.iter().map(|&id| (id, keys[id as usize].into())).max_by_key(|&(_, degree)| degree)
        };
        sides.iter().filter_map(of_side).max_by_key(|&(_, degree)| degree)
    }

    /// Returns how many edges a bucket has, which has room for the longest list.
    fn bucket_edges(
        &self,
        bound: u64,
        vertices: u64,
        longest: Option<(VertexId, u64)>,
        name_of: impl Fn(VertexId) -> String,
    ) -> Result<BucketEdges> {
        // On each thread.
        let edge_bytes = (EDGE_COPIES * 4 * self.options.width() * par::thread_count()) as u64;
        let kept = LEAST_BYTES + 4 * bound + 20 * vertices;
        let left = self.options.memory.saturating_sub(kept);
        let edges = left / edge_bytes;
        let all = 2 * (self.edges.len() + VERTEX_EDGES * vertices);
        let least = all.div_ceil(BUCKETS_MAX).max(1);
        let (hub, degree) = longest.unwrap_or_default();
        let largest = degree + VERTEX_EDGES;
        if edges >= least.max(largest) {
            let usual = edges.min(least.max(self.bucket_edges));
            return Ok(BucketEdges { usual, largest: 0, kept, edge_bytes });
        }
        let memory = self.options.memory;
        let would_do = kept + least.max(largest) * edge_bytes;
        let what = match edges >= least {
            true => format!(
                "vertex `{}` has {degree} neighbors, and {memory} bytes of memory hold the list of {}: {would_do} would do",
                name_of(hub),
                edges.saturating_sub(VERTEX_EDGES)
            ),
            false => format!(
                "{memory} bytes of memory are too few to seal {} edges of {vertices} vertices: {would_do} would do",
                self.edges.len()
            ),
        };
        Err(Error::InvalidInput { what })
    }

    /// Cuts the vertices of a side where their edges fill a bucket; returns the ends. A vertex with more has one of its own.
    fn bucket_ends(&self, ids: &[VertexId], listed: Listed, edges: &mut BucketEdges) -> Vec<u32> {
        let keys = self.keys(listed);
        let (mut ends, mut sum) = (Vec::new(), 0);
        for (number, &id) in (0..).zip(ids) {
            let size = u64::from(keys[id as usize]) + VERTEX_EDGES;
            if sum > 0 && sum + size > edges.usual {
                ends.push(number);
                sum = 0;
            }
            sum += size;
            edges.largest = edges.largest.max(sum);
        }
        ends.push(ids.len() as u32);
        ends
    }

    /// Puts each edge, by the numbers of its ends, into the bucket of each list that it is in.
    fn divide(
        &mut self,
        numbers: &[VertexId],
        cuts: Vec<(Listed, Cuts)>,
        edges: &BucketEdges,
    ) -> Result<Vec<Buckets>> {
        let width = self.options.width();
        // They stay in memory if they have room there beside the edges as they came and what a bucket needs.
        let lists: u64 = cuts.iter().map(|(listed, _)| listed.lists()).sum();
        let bytes = lists * self.edges.len() * (4 * width as u64);
        let is_kept = bytes <= self.kept_bytes
            && edges.kept + edges.largest * edges.edge_bytes + bytes <= self.options.memory;
        let buffer_bytes =
            (!is_kept).then_some(buckets::BUFFER_BYTES.min(self.kept_bytes as usize));
        let mut all: Vec<Buckets> = (["out.buckets", "in.buckets"].into_iter().zip(cuts))
            .map(|(name, cuts)| Buckets::new((&self.volume, name), cuts, width, buffer_bytes))
            .collect();
        let moved = self.scratch.take()?;
        let mut numbered = Vec::new();
        mem::replace(&mut self.edges, Spool::new(width, 0)).read(&moved, |words| {
            numbered.clear();
            numbered.extend_from_slice(words);
            par::map_chunks_mut(&mut numbered, width * GRAIN, |_, words| {
                for edge in words.chunks_exact_mut(width) {
                    edge[..2].iter_mut().for_each(|end| *end = numbers[*end as usize]);
                }
            });
            all.iter_mut().try_for_each(|buckets| buckets.add(&numbered))
        })?;
        Ok(all)
    }
}

/// Counts an edge at one of its ends.
fn count(degrees: &mut [u32], v: VertexId) {
    let degree = &mut degrees[v as usize];
    *degree = degree.saturating_add(1);
}

impl BuildOptions {
    /// Returns the words of an edge: its ends, and its weight if it has one.
    fn width(&self) -> usize {
        if self.weighted { 3 } else { 2 }
    }
}
