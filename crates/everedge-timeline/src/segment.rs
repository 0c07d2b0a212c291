//! A segment: what one version changed, as it lies on the medium.
//!
//! Source: PIE §3.2: a base graph and a CSR of each delta, each written once, contiguously, and the
//! hybrid form of small ones. Differences: deletions are kept as the *places* of stored edges, found when
//! the version is committed, so that neither an opening nor a view searches for them; a delta has rows only for
//! the vertices that it names.
//!
//! ```text
//! header │ name │ new vertices │ ended vertices │ out-lists │ out-places │ in-lists │ in-places
//! lists:   rows │ sources │ ends │ neighbors │ weights        one of three forms (`lists.rs`)
//! places:  (segment, count) … │ offsets …                     of the edges that are gone, ascending
//! ```
//! All of it is words of 32 bits; the header says how many each part has, and its checksum. A segment begins
//! with a cache line.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::MAX_VERTEX_ID;
use everedge_medium::{Region, Site, crc_of_shared};

use super::Version;
use super::lists::{Form, Lists, NewLists};

/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 16;
const HEADER_WORDS: usize = 4 * LINE_WORDS;
const MAGIC: u32 = u32::from_le_bytes(*b"VERS");
/// The word from which on the header has a length and a checksum for each part.
const PARTS_START: usize = 20;
/// Parts of the lists and the places of one direction.
const LIST_PARTS: usize = 7;
const PART_COUNT: usize = 3 + 2 * LIST_PARTS;
/// Words of one (segment, count).
const GROUP_WORDS: usize = 3;
/// A name has at most so many bytes.
pub(crate) const NAME_BYTES_MAX: usize = 1 << 10;

/// A part of a segment.
#[derive(Clone, Copy)]
enum Part {
    Name,
    NewVertices,
    EndedVertices,
    Rows(usize),
    Sources(usize),
    Ends(usize),
    Neighbors(usize),
    Weights(usize),
    Groups(usize),
    Offsets(usize),
}

impl Part {
    fn number(self) -> usize {
        let of = |direction, part| 3 + direction * LIST_PARTS + part;
        match self {
            Part::Name => 0,
            Part::NewVertices => 1,
            Part::EndedVertices => 2,
            Part::Rows(direction) => of(direction, 0),
            Part::Sources(direction) => of(direction, 1),
            Part::Ends(direction) => of(direction, 2),
            Part::Neighbors(direction) => of(direction, 3),
            Part::Weights(direction) => of(direction, 4),
            Part::Groups(direction) => of(direction, 5),
            Part::Offsets(direction) => of(direction, 6),
        }
    }
}

/// Where an edge is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The number of the version that added it.
    pub version: u64,
    /// Its number among those that the version added, in the direction at hand.
    pub offset: u32,
}

/// What a version changes, in memory.
#[derive(Default)]
pub(crate) struct Delta {
    pub new_vertices: Vec<u32>,
    pub ended_vertices: Vec<u32>,
    /// By direction: out, then in where in-neighbors are kept.
    pub lists: [NewLists; 2],
    /// By direction, ascending: the edges that are gone.
    pub gone: [Vec<Place>; 2],
}

/// What the graph of a version has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub vertex_bound: u32,
    pub vertex_count: u32,
    pub edges: u64,
    /// Edges that are self-loops.
    pub loops: u64,
}

/// A segment that was found whole.
pub(crate) struct Segment {
    pub version: Version,
    pub totals: Totals,
    pub lists: [Lists; 2],
    /// How many words it has.
    pub words: u64,
    first_word: u64,
    parts: [Range<usize>; PART_COUNT],
}

/// Writes a segment from the word `first` of `region` on. Nothing of it is fenced.
pub(crate) fn write(
    region: &Region,
    salt: u32,
    first: u64,
    version: &Version,
    totals: &Totals,
    delta: &Delta,
) -> u64 {
    let name = padded(version.name.as_deref().unwrap_or_default().as_bytes());
    let places = delta.gone.each_ref().map(|gone| encode_places(gone));
    let mut parts: [&[u32]; PART_COUNT] = [&[]; PART_COUNT];
    let mut put = |part: Part, words| parts[part.number()] = words;
    put(Part::Name, &name[..]);
    put(Part::NewVertices, &delta.new_vertices[..]);
    put(Part::EndedVertices, &delta.ended_vertices[..]);
    for (direction, (lists, (groups, offsets))) in delta.lists.iter().zip(&places).enumerate() {
        put(Part::Rows(direction), &lists.rows[..]);
        put(Part::Sources(direction), &lists.sources[..]);
        put(Part::Ends(direction), &lists.ends[..]);
        put(Part::Neighbors(direction), &lists.neighbors[..]);
        put(Part::Weights(direction), &lists.weights[..]);
        put(Part::Groups(direction), &groups[..]);
        put(Part::Offsets(direction), &offsets[..]);
    }
    let len = HEADER_WORDS as u64 + parts.iter().map(|part| part.len() as u64).sum::<u64>();
    let forms = delta.lists.each_ref().map(|lists| lists.form);
    let header = encode_header(salt, version, totals, (len, forms), &parts);
    region.stream_words(Site::Version, 4 * first, &header);
    let mut offset = first + HEADER_WORDS as u64;
    for part in parts {
        region.stream_words(Site::Version, 4 * offset, part);
        offset += part.len() as u64;
    }
    len
}

/// Returns how many words a segment will have.
pub(crate) fn len(version: &Version, delta: &Delta) -> u64 {
    let name = version.name.as_deref().unwrap_or_default().len().div_ceil(4);
    let lists = |lists: &NewLists| {
        let NewLists { rows, sources, ends, neighbors, weights, .. } = lists;
        [rows, sources, ends, neighbors, weights].map(Vec::len).iter().sum::<usize>()
    };
    let places = |gone: &Vec<Place>| {
        let groups = gone.chunk_by(|a, b| a.version == b.version).count();
        gone.len() + GROUP_WORDS * groups
    };
    let words = HEADER_WORDS
        + name
        + delta.new_vertices.len()
        + delta.ended_vertices.len()
        + delta.lists.iter().map(lists).sum::<usize>()
        + delta.gone.iter().map(places).sum::<usize>();
    words as u64
}

fn encode_header(
    salt: u32,
    version: &Version,
    totals: &Totals,
    (len, forms): (u64, [Form; 2]),
    parts: &[&[u32]; PART_COUNT],
) -> [u32; HEADER_WORDS] {
    let mut words = [0; HEADER_WORDS];
    let mut put = |at: usize, number: u64| {
        (words[at], words[at + 1]) = (number as u32, (number >> 32) as u32);
    };
    put(4, version.number);
    put(6, version.time as u64);
    put(8, len);
    put(10, u64::from(totals.vertex_bound) | u64::from(totals.vertex_count) << 32);
    put(12, totals.edges);
    put(14, totals.loops);
    put(16, version.additions);
    put(18, version.deletions);
    words[1] = MAGIC;
    words[2] = forms[0] as u32 | (forms[1] as u32) << 8;
    words[3] = version.name.as_ref().map_or(u32::MAX, |name| name.len() as u32);
    for (part, pair) in parts.iter().zip(words[PARTS_START..].as_chunks_mut::<2>().0) {
        *pair = [part.len() as u32, crc(salt, part)];
    }
    words[0] = crc(salt, &words[1..]);
    words
}

/// Returns the words of bytes, and zeros.
fn padded(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    };
    bytes.chunks(4).map(word).collect()
}

fn encode_places(gone: &[Place]) -> (Vec<u32>, Vec<u32>) {
    let mut groups = Vec::new();
    for group in gone.chunk_by(|a, b| a.version == b.version) {
        let version = group[0].version;
        groups.extend([version as u32, (version >> 32) as u32, group.len() as u32]);
    }
    (groups, gone.iter().map(|place| place.offset).collect())
}

/// Returns the checksum of words in memory.
fn crc(salt: u32, words: &[u32]) -> u32 {
    crc32c::crc32c_append(salt, bytemuck::cast_slice(words))
}

impl Segment {
    /// Reads the header of the segment that begins with the word `first` of `words`, where the versions
    /// end before the word `end`. Its parts are not looked at.
    ///
    /// # Errors
    /// What there is wrong, as (what, expected, found).
    pub(crate) fn read(
        words: &[AtomicU32],
        salt: u32,
        (first, end): (u64, u64),
    ) -> Result<Self, Wrong> {
        let start = first as usize;
        let header = words.get(start..start + HEADER_WORDS).filter(|_| first < end);
        let header = header.ok_or_else(|| Wrong::new("a version", "a header", "the file's end"))?;
        let word = |at: usize| header[at].load(Relaxed);
        let (expected, found) = (word(0), crc_of_shared(salt, &header[1..]));
        if expected != found {
            let [expected, found] = [expected, found].map(|crc| format!("{crc:08x}"));
            return Err(Wrong::new("the checksum of a version's header", &expected, &found));
        }
        let number = |at: usize| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
        let mut offset = start + HEADER_WORDS;
        let parts = std::array::from_fn(|part| {
            let range = offset..offset + word(PARTS_START + 2 * part) as usize;
            offset = range.end;
            range
        });
        let len = number(8);
        let is_inside = len == (offset - start) as u64 && first + len <= end;
        if word(1) != MAGIC || !is_inside || offset > words.len() {
            return Err(Wrong::new("a version's header", "parts up to its end", "others"));
        }
        let totals = Totals {
            vertex_bound: word(10),
            vertex_count: word(11),
            edges: number(12),
            loops: number(14),
        };
        let name = match word(3) {
            u32::MAX => None,
            bytes => Some(read_name(&words[parts[0].clone()], bytes as usize)?),
        };
        let version = Version {
            number: number(4),
            time: number(6) as i64,
            name,
            vertices: totals.vertex_count,
            edges: totals.edges,
            additions: number(16),
            deletions: number(18),
        };
        let forms = [word(2) as u8, (word(2) >> 8) as u8];
        let lists = [0, 1].map(|direction| {
            let range = |part: Part| {
                let Range { start, end } = parts[part.number()].clone();
                start as u64..end as u64
            };
            Lists {
                form: Form::of(forms[direction]),
                rows: range(Part::Rows(direction)),
                sources: range(Part::Sources(direction)),
                ends: range(Part::Ends(direction)),
                neighbors: range(Part::Neighbors(direction)),
                weights: range(Part::Weights(direction)),
            }
        });
        let is_known = totals.vertex_bound <= MAX_VERTEX_ID + 1;
        if !is_known || lists.iter().any(|lists| !lists.fits()) {
            return Err(Wrong::new("a version's header", "lists of a known form", "others"));
        }
        Ok(Self { version, totals, lists, words: len, first_word: first, parts })
    }

    /// Checks its name and its vertices.
    ///
    /// # Errors
    /// What there is wrong.
    pub(crate) fn check_vertices(&self, words: &[AtomicU32], salt: u32) -> Result<(), Wrong> {
        self.check_sums(words, salt, 0..Part::Rows(0).number())?;
        let are_ids = |part: Part| {
            let bound = self.totals.vertex_bound;
            self.part(words, part).iter().all(|id| id.load(Relaxed) < bound)
        };
        match are_ids(Part::NewVertices) && are_ids(Part::EndedVertices) {
            true => Ok(()),
            false => Err(self.wrong("vertices", "ids below its bound")),
        }
    }

    /// Checks its lists, and the places of what it takes away.
    ///
    /// Cost: each word once.
    ///
    /// # Errors
    /// What there is wrong.
    pub(crate) fn check_lists(&self, words: &[AtomicU32], salt: u32) -> Result<(), Wrong> {
        self.check_sums(words, salt, Part::Rows(0).number()..PART_COUNT)?;
        let bound = self.totals.vertex_bound;
        match self.lists.iter().all(|lists| lists.check(words, bound)) {
            true => Ok(()),
            false => Err(self.wrong("lists", "ascending rows, and neighbors below the bound")),
        }
    }

    fn check_sums(&self, words: &[AtomicU32], salt: u32, parts: Range<usize>) -> Result<(), Wrong> {
        let header = &words[self.first_word as usize..];
        for part in parts {
            let expected = header[PARTS_START + 2 * part + 1].load(Relaxed);
            let found = crc_of_shared(salt, &words[self.parts[part].clone()]);
            if expected != found {
                let [expected, found] = [expected, found].map(|crc| format!("{crc:08x}"));
                let what = format!("the checksum of version {}", self.version.number);
                return Err(Wrong::new(&what, &expected, &found));
            }
        }
        Ok(())
    }

    fn wrong(&self, part: &str, expected: &str) -> Wrong {
        Wrong::new(&format!("the {part} of version {}", self.version.number), expected, "others")
    }

    fn part<'a>(&self, words: &'a [AtomicU32], part: Part) -> &'a [AtomicU32] {
        &words[self.parts[part.number()].clone()]
    }

    /// Returns the ids that became vertices, ascending.
    pub(crate) fn new_vertices<'a>(&self, words: &'a [AtomicU32]) -> &'a [AtomicU32] {
        self.part(words, Part::NewVertices)
    }

    /// Returns the ids that ended being vertices, ascending.
    pub(crate) fn ended_vertices<'a>(&self, words: &'a [AtomicU32]) -> &'a [AtomicU32] {
        self.part(words, Part::EndedVertices)
    }

    /// Calls `f(version, offsets)` with the edges of each earlier version that this one takes away.
    ///
    /// # Errors
    /// What there is wrong.
    pub(crate) fn for_each_gone(
        &self,
        words: &[AtomicU32],
        direction: usize,
        mut f: impl FnMut(u64, &[AtomicU32]) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let mut offsets = self.part(words, Part::Offsets(direction));
        let (groups, _) = self.part(words, Part::Groups(direction)).as_chunks::<GROUP_WORDS>();
        for group in groups {
            let [low, high, count] = group.each_ref().map(|word| word.load(Relaxed));
            let of_group = offsets.split_at_checked(count as usize);
            let Some((of_group, rest)) = of_group else {
                let what = format!("what version {} takes away", self.version.number);
                return Err(Wrong::new(&what, "as many edges as it says", "fewer"));
            };
            f(u64::from(low) | u64::from(high) << 32, of_group)?;
            offsets = rest;
        }
        Ok(())
    }
}

fn read_name(words: &[AtomicU32], bytes: usize) -> Result<String, Wrong> {
    let all: Vec<u8> = words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
    let name = all.get(..bytes).and_then(|bytes| std::str::from_utf8(bytes).ok());
    name.map(str::to_owned).ok_or_else(|| Wrong::new("a version's name", "text", "other bytes"))
}

/// Something that cannot be so, before it is known in which file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl Wrong {
    pub(crate) fn new(what: &str, expected: &str, found: &str) -> Self {
        Self { what: what.into(), expected: expected.into(), found: found.into() }
    }
}
