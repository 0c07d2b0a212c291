//! An open sealed graph: its files, and the caches that share its budget of memory.
//!
//! # Budget
//! Tables of pieces are counted first. What is left of the budget goes to the caches of the four sizes in
//! proportion to their files (ChunkGraph §3.2, "hierarchical chunk buffer size setting"), but each gets
//! the few frames that threads need at once. A budget that has no room for these is refused.
//!
//! # Errors
//! A view cannot fail. So the first error of a piece that was needed is kept ([`Store::check`]); from then on no list has
//! neighbors, and whoever asked for an answer returns the error instead. A read ahead that fails is none.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use everedge_core::{Direction, MAX_VERTEX_ID, VertexId, par};
use everedge_medium::{
    Error, MANIFEST, ReadBudget, ReadCounts, ReadQueue, ReadQueueOptions, Reader, Result, Volume,
};

use crate::cache::{Cache, File, Held, Purpose};
use crate::entry::{ENTRIES, Entry, LEVELS, PAGE_BYTES};
use crate::form::{CHECKSUM_BYTES, CHUNK_BYTES, Form, IDS, checked};
use crate::pieces::{FormFile, files_of_side};

/// Ids in a page of the file of ids.
pub(crate) const IDS_PER_PAGE: u32 = ((PAGE_BYTES - CHECKSUM_BYTES) / 4) as u32;
/// Frames that a thread may hold at once: an index page, a chunk, and those of a list within a list.
const FRAMES_PER_THREAD: usize = 3;

/// An open sealed graph.
pub struct Store {
    form: Form,
    salt: u32,
    queue: Arc<ReadQueue>,
    caches: [Cache; LEVELS],
    sides: Vec<Side>,
    ids: Reader,
    reads_ahead: AtomicBool,
    failed: AtomicBool,
    failure: OnceLock<Error>,
}

/// How many pieces of each kind were read since a graph was opened, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PiecesRead {
    /// Pages of the index.
    pub pages: u64,
    /// Chunks of each level.
    pub chunks: [u64; LEVELS],
    /// Pieces of lists that are longer than a chunk.
    pub long: u64,
}

/// Where the files of a direction are among those of the caches.
struct Side {
    /// In the first cache.
    index: usize,
    /// Each in the cache of its level.
    levels: [usize; LEVELS],
    /// In the last cache.
    pieces: usize,
}

impl Store {
    /// Opens the files of a sealed graph, of which at most `memory` bytes are held at once.
    ///
    /// Cost: nothing is read but the lengths of files.
    ///
    /// # Errors
    /// `InvalidInput` if the budget is too small, with the least that would do; `Corruption` if a file is
    /// shorter than the manifest says, `Io` if there is none.
    pub fn open(volume: &Volume, salt: u32, form: Form, memory: u64) -> Result<Arc<Self>> {
        check_form(volume, &form)?;
        let mut files: [Vec<File>; LEVELS] = [const { Vec::new() }; LEVELS];
        let mut sides = Vec::new();
        for side in 0..form.sides.len() {
            let mut places = [0; LEVELS + 2];
            for (place, of_side) in places.iter_mut().zip(files_of_side(&form, side)) {
                let file = of_side.open(volume)?;
                of_side.check_length(&file)?;
                let FormFile { name, pieces, level } = of_side;
                *place = files[level].len();
                files[level].push(File { file, name, pieces });
            }
            let [index, levels @ .., pieces] = places;
            sides.push(Side { index, levels, pieces });
        }
        let least = least_memory(&form);
        if memory < least {
            return Err(Error::InvalidInput {
                what: format!("{memory} bytes are too few to read the graph with: allow {least}"),
            });
        }
        let frames = frames_for(&files, memory, form.list_file_bytes());
        let queue = ReadQueue::new(&ReadQueueOptions::default())?;
        let mut files = files.into_iter();
        let mut caches = Vec::new();
        for (level, frame_count) in frames.into_iter().enumerate() {
            let files = files.next().unwrap_or_default();
            caches.push(Cache::new(queue.clone(), files, salt, (CHUNK_BYTES[level], frame_count))?);
        }
        let caches = caches.try_into().unwrap_or_else(|_| unreachable!("a cache for each level"));
        let ids = volume.open_reader(IDS)?;
        let (failed, failure) = (AtomicBool::new(false), OnceLock::new());
        let reads_ahead = AtomicBool::new(true);
        Ok(Arc::new(Self { form, salt, queue, caches, sides, ids, reads_ahead, failed, failure }))
    }

    /// Returns what the graph is made of.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Says whether all reads went well: what was answered since the first that did not is wrong.
    ///
    /// # Errors
    /// The first error of a read, each time.
    pub fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |error| Err(error.same()))
    }

    /// Returns how much was read for lists.
    pub fn counts(&self) -> ReadCounts {
        let mut counts = self.queue.counts();
        for (pieces, bytes) in self.caches.iter().map(Cache::beside) {
            counts.reads += pieces;
            counts.pieces += pieces;
            counts.read_bytes += bytes;
        }
        counts
    }

    /// Returns how many different pieces were read for lists.
    pub fn pieces_read(&self) -> PiecesRead {
        let mut read = PiecesRead::default();
        for Side { index, levels, pieces } in &self.sides {
            read.pages += self.caches[0].touched(*index);
            for ((sum, cache), &file) in read.chunks.iter_mut().zip(&self.caches).zip(levels) {
                *sum += cache.touched(file);
            }
            read.long += self.caches[LEVELS - 1].touched(*pieces);
        }
        read
    }

    /// Reads from now on only what is asked for, neither along a pass nor for a frontier: to measure what
    /// reading ahead is good for.
    pub fn stop_reading_ahead(&self) {
        self.reads_ahead.store(false, Ordering::Relaxed);
    }

    /// Returns whether pieces of a side are worth asking for before they are wanted.
    pub(crate) fn reads_ahead(&self, side: usize) -> bool {
        self.reads_ahead.load(Ordering::Relaxed) && !self.is_there(side)
    }

    /// Returns the id of a vertex, what the graph that was sealed called it.
    ///
    /// # Errors
    /// `Io` if it cannot be read, `Corruption` if it is damaged.
    pub fn id_of(&self, v: VertexId) -> Result<VertexId> {
        let page = self.read_ids(v / IDS_PER_PAGE)?;
        Ok(page[(v % IDS_PER_PAGE) as usize])
    }

    /// Returns the ids of all vertices, by number.
    ///
    /// # Errors
    /// As [`Self::id_of`].
    pub fn all_ids(&self) -> Result<Vec<VertexId>> {
        let mut ids = Vec::with_capacity(self.form.vertices as usize);
        for page in 0..self.form.vertices.div_ceil(IDS_PER_PAGE) {
            ids.extend(self.read_ids(page)?);
        }
        ids.truncate(self.form.vertices as usize);
        Ok(ids)
    }

    /// Reads a page of ids; keeps the first error.
    fn read_ids(&self, page: u32) -> Result<Vec<VertexId>> {
        self.page_of_ids(page).inspect_err(|error| _ = self.fail::<()>(error.same()))
    }

    fn page_of_ids(&self, page: u32) -> Result<Vec<VertexId>> {
        let mut bytes = vec![0; PAGE_BYTES];
        let offset = u64::from(page) * PAGE_BYTES as u64;
        self.ids.read_at(&ReadBudget::unlimited(), offset, &mut bytes)?;
        let content = checked(self.salt, (IDS, self.ids.path()), page, &bytes)?;
        let (words, _) = content.as_chunks::<4>();
        let ids: Vec<_> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        match ids.iter().position(|&id| id > MAX_VERTEX_ID) {
            None => Ok(ids),
            Some(at) => Err(Error::Corruption {
                path: self.ids.path().to_owned(),
                offset: offset + 4 * at as u64,
                what: format!("the id of vertex {}", page * IDS_PER_PAGE + at as u32),
                expected: format!("at most {MAX_VERTEX_ID}"),
                found: ids[at].to_string(),
            }),
        }
    }

    /// Returns the number of the side that keeps the neighbors of a direction.
    #[inline]
    pub(crate) fn side(&self, direction: Direction) -> usize {
        self.form.side(direction)
    }

    /// Returns whether each piece of a side was read and stays in its frame.
    fn is_there(&self, side: usize) -> bool {
        let Side { index, levels, pieces } = &self.sides[side];
        self.caches[0].is_there(*index)
            && self.caches.iter().zip(levels).all(|(cache, &file)| cache.is_there(file))
            && self.caches[LEVELS - 1].is_there(*pieces)
    }

    #[inline]
    pub(crate) fn cache(&self, level: usize) -> &Cache {
        &self.caches[level]
    }

    /// Returns the page of the index with the entry of `v`, as a piece of the first cache.
    #[inline]
    pub(crate) fn index_piece(&self, side: usize, v: VertexId) -> u32 {
        self.caches[0].start(self.sides[side].index) + v / ENTRIES
    }

    /// Returns a chunk as a piece of the cache of its level, if there is such a chunk.
    #[inline]
    pub(crate) fn chunk_piece(&self, side: usize, level: usize, chunk: u32) -> Option<u32> {
        let file = self.sides[side].levels[level];
        let cache = &self.caches[level];
        cache.has(file, chunk).then(|| cache.start(file) + chunk)
    }

    /// Returns a piece of a long list as one of the last cache, if there is such a piece.
    pub(crate) fn long_piece(&self, side: usize, piece: u32) -> Option<u32> {
        let file = self.sides[side].pieces;
        let cache = &self.caches[LEVELS - 1];
        cache.has(file, piece).then(|| cache.start(file) + piece)
    }

    /// Returns a piece, or none from the first error on.
    #[inline]
    pub(crate) fn get(&self, level: usize, piece: u32, purpose: Purpose) -> Option<Held<'_>> {
        match self.caches[level].get(piece, purpose) {
            Ok(held) => Some(held),
            Err(error) => self.fail(error),
        }
    }

    #[cold]
    pub(crate) fn fail<T>(&self, error: Error) -> Option<T> {
        let _ = self.failure.set(error);
        self.failed.store(true, Ordering::Release);
        None
    }

    /// Asks for pieces of each level that are in no frame.
    pub(crate) fn read_ahead(&self, pieces: [Vec<u32>; LEVELS], purpose: Purpose) {
        for (cache, mut pieces) in self.caches.iter().zip(pieces) {
            pieces.sort_unstable();
            pieces.dedup();
            cache.read_ahead(pieces.into_iter(), purpose);
        }
    }

    /// Asks for pages of the index of a side that are in no frame, as far as there are such pages.
    pub(crate) fn read_pages_ahead(&self, side: usize, pages: Range<u32>) {
        let first = self.caches[0].start(self.sides[side].index);
        let end = pages.end.min(self.form.page_count());
        let pieces = (pages.start.min(end)..end).map(|page| first + page);
        self.caches[0].read_ahead(pieces, Purpose::Pass);
    }

    /// Returns how many bytes of lists a thread's pass may read ahead.
    pub(crate) fn window_bytes(&self) -> usize {
        self.caches[0].pass_frames() * CHUNK_BYTES[0] / (2 * par::thread_count())
    }

    /// Says that what the index or a chunk holds cannot be, though its checksum is right.
    #[cold]
    pub(crate) fn fail_at<T>(&self, side: usize, v: VertexId) -> Option<T> {
        let file = self.caches[0].path(self.sides[side].index);
        self.fail(Error::Corruption {
            path: file.to_owned(),
            offset: u64::from(v / ENTRIES) * PAGE_BYTES as u64,
            what: format!("where the list of vertex {v} is"),
            expected: "a place in a file".into(),
            found: "one beyond its end".into(),
        })
    }

    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns the entry of `v`; that of no neighbors from the first error on.
    #[inline]
    pub(crate) fn entry(&self, side: usize, v: VertexId) -> Entry {
        if self.has_failed() {
            return Entry::NONE;
        }
        let page = self.get(0, self.index_piece(side, v), Purpose::Lookup);
        page.map_or(Entry::NONE, |page| Entry::read(&page, v % ENTRIES))
    }
}

/// Returns the least memory, in bytes, that a sealed graph of `form` can be read with.
pub fn least_memory(form: &Form) -> u64 {
    let mut counts = [0; LEVELS];
    for side in &form.sides {
        counts[0] += form.page_count() as usize;
        counts[LEVELS - 1] += side.pieces as usize;
        counts.iter_mut().zip(side.chunks).for_each(|(sum, chunks)| *sum += chunks as usize);
    }
    let tables = counts.iter().sum::<usize>() * Cache::PIECE_COST_BYTES;
    tables as u64 + frames_cost(&counts)
}

fn frames_min() -> usize {
    FRAMES_PER_THREAD * par::thread_count()
}

/// Divides a budget among the caches.
fn frames_for(files: &[Vec<File>; LEVELS], memory: u64, file_bytes: u64) -> [usize; LEVELS] {
    let counts =
        files.each_ref().map(|files| files.iter().map(|f| f.pieces as usize).sum::<usize>());
    let tables: u64 = counts.iter().map(|&n| (n * Cache::PIECE_COST_BYTES) as u64).sum();
    let mut left = memory.saturating_sub(tables);
    let mut frames = [0; LEVELS];
    // The largest pieces first: what rounding leaves goes to the small ones.
    let mut bytes_left = file_bytes;
    for level in (0..LEVELS).rev() {
        let frame_bytes = (CHUNK_BYTES[level] + Cache::FRAME_COST_BYTES) as u64;
        let level_bytes = counts[level] as u64 * CHUNK_BYTES[level] as u64;
        // What the smaller levels need at least is not shared.
        let kept = frames_cost(&counts[..level]);
        let shared = left.saturating_sub(kept);
        let share = u128::from(shared) * u128::from(level_bytes) / u128::from(bytes_left.max(1));
        let least = frames_min().min(counts[level]);
        frames[level] = ((share as u64 / frame_bytes) as usize).clamp(least, counts[level]);
        left = left.saturating_sub(frames[level] as u64 * frame_bytes);
        bytes_left -= level_bytes.min(bytes_left);
    }
    frames
}

/// Returns what the fewest frames cost that levels with so many pieces need.
fn frames_cost(counts: &[usize]) -> u64 {
    let of_level = |(level, &count): (usize, &usize)| {
        (count.min(frames_min()) * (CHUNK_BYTES[level] + Cache::FRAME_COST_BYTES)) as u64
    };
    counts.iter().enumerate().map(of_level).sum()
}

/// Checks what indexes rely on, whoever wrote the manifest.
fn check_form(volume: &Volume, form: &Form) -> Result<()> {
    let sides_max = if form.directed { 2 } else { 1 };
    let wrong = [
        ("the number of sides", sides_max, form.sides.len() as u64, !form.sides.is_empty()),
        ("the number of vertices", 1 << 31, form.vertices.into(), true),
        ("the number of edges", 1 << 48, form.edges, true),
    ];
    let is_wrong = |&(_, most, found, is_some): &(&str, u64, u64, bool)| found > most || !is_some;
    match wrong.into_iter().find(is_wrong) {
        None => Ok(()),
        Some((what, most, found, _)) => Err(Error::Corruption {
            path: volume.path().join(MANIFEST),
            offset: 0,
            what: what.into(),
            expected: format!("from 1 to {most}"),
            found: found.to_string(),
        }),
    }
}
