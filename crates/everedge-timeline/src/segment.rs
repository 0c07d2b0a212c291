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
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use everedge_core::MAX_VERTEX_ID;
use everedge_medium::{Region, Site, crc_of_long, crc_of_shared};

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

/// What a part of a segment is written from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Words(&'a [u32]),
    /// So many words, which come in pieces.
    Pieces(usize, &'a Pieces<'a>),
}

/// Hands words over, a piece at a time.
pub(crate) type Pieces<'a> = dyn Fn(&mut dyn FnMut(&[u32])) + 'a;

impl Source<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Pieces(len, _) => *len,
        }
    }
}

/// The lists of one direction, to be written.
pub(crate) struct ListSources<'a> {
    pub form: Form,
    pub rows: &'a [u32],
    pub sources: &'a [u32],
    pub ends: &'a [u32],
    pub neighbors: Source<'a>,
    pub weights: Source<'a>,
}

impl NewLists {
    fn to_be_written(&self) -> ListSources<'_> {
        ListSources {
            form: self.form,
            rows: &self.rows,
            sources: &self.sources,
            ends: &self.ends,
            neighbors: Source::Words(&self.neighbors),
            weights: Source::Words(&self.weights),
        }
    }
}

/// A segment, to be written.
pub(crate) struct NewSegment<'a> {
    version: &'a Version,
    totals: &'a Totals,
    forms: [Form; 2],
    name: Vec<u32>,
    places: [(Vec<u32>, Vec<u32>); 2],
    vertices: [&'a [u32]; 2],
    lists: [ListSources<'a>; 2],
}

impl<'a> NewSegment<'a> {
    /// Prepares what a version changes.
    pub(crate) fn of(version: &'a Version, totals: &'a Totals, delta: &'a Delta) -> Self {
        let vertices = [&delta.new_vertices[..], &delta.ended_vertices];
        let lists = delta.lists.each_ref().map(NewLists::to_be_written);
        Self::new((version, totals), vertices, lists, &delta.gone)
    }

    /// Prepares a version; `vertices` are those that are new and those that end.
    pub(crate) fn new(
        (version, totals): (&'a Version, &'a Totals),
        vertices: [&'a [u32]; 2],
        lists: [ListSources<'a>; 2],
        gone: &[Vec<Place>; 2],
    ) -> Self {
        let name = padded(version.name.as_deref().unwrap_or_default().as_bytes());
        let forms = lists.each_ref().map(|lists| lists.form);
        let places = gone.each_ref().map(|gone| encode_places(gone));
        Self { version, totals, forms, name, places, vertices, lists }
    }

    /// Returns its parts in their order.
    fn parts(&self) -> [Source<'_>; PART_COUNT] {
        let mut parts = [const { Source::Words(&[]) }; PART_COUNT];
        let mut put = |part: Part, source| parts[part.number()] = source;
        put(Part::Name, Source::Words(&self.name));
        put(Part::NewVertices, Source::Words(self.vertices[0]));
        put(Part::EndedVertices, Source::Words(self.vertices[1]));
        for (direction, (lists, (groups, offsets))) in
            self.lists.iter().zip(&self.places).enumerate()
        {
            put(Part::Rows(direction), Source::Words(lists.rows));
            put(Part::Sources(direction), Source::Words(lists.sources));
            put(Part::Ends(direction), Source::Words(lists.ends));
            put(Part::Neighbors(direction), lists.neighbors);
            put(Part::Weights(direction), lists.weights);
            put(Part::Groups(direction), Source::Words(groups));
            put(Part::Offsets(direction), Source::Words(offsets));
        }
        parts
    }

    /// Returns how many words it will have.
    pub(crate) fn len(&self) -> u64 {
        let parts = self.parts();
        HEADER_WORDS as u64 + parts.iter().map(|part| part.len() as u64).sum::<u64>()
    }

    /// Writes it from the word `first` of `region` on, from front to back but for its header. Nothing of it is
    /// fenced.
    pub(crate) fn write(&self, region: &Region, salt: u32, first: u64) {
        let mut offset = first + HEADER_WORDS as u64;
        let sums = self.parts().map(|part| {
            let (len, mut sum) = (part.len() as u32, salt);
            let mut put = |words: &[u32]| {
                region.stream_words(Site::Version, 4 * offset, words);
                offset += words.len() as u64;
                sum = crc(sum, words);
            };
            match part {
                Source::Words(words) => put(words),
                Source::Pieces(_, pieces) => pieces(&mut put),
            }
            [len, sum]
        });
        let totals = (self.totals, offset - first, self.forms);
        let header = encode_header(salt, self.version, totals, &sums);
        region.stream_words(Site::Version, 4 * first, &header);
    }
}

fn encode_header(
    salt: u32,
    version: &Version,
    (totals, len, forms): (&Totals, u64, [Form; 2]),
    parts: &[[u32; 2]; PART_COUNT],
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
    words[PARTS_START..PARTS_START + 2 * PART_COUNT].copy_from_slice(parts.as_flattened());
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
    pub(crate) fn read(words: &[AtomicU32], salt: u32, (first, end): (u64, u64)) -> Found<Self> {
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
    pub(crate) fn check_vertices(&self, words: &[AtomicU32], salt: u32) -> Found<()> {
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
    pub(crate) fn check_lists(&self, words: &[AtomicU32], salt: u32) -> Found<()> {
        self.check_sums(words, salt, Part::Rows(0).number()..PART_COUNT)?;
        let bound = self.totals.vertex_bound;
        match self.lists.iter().all(|lists| lists.check(words, bound)) {
            true => Ok(()),
            false => Err(self.wrong("lists", "ascending rows, and ids below the bound")),
        }
    }

    /// Checks the checksums of parts, and that neighbors are below the bound and weights finite.
    fn check_sums(&self, words: &[AtomicU32], salt: u32, parts: Range<usize>) -> Found<()> {
        let header = &words[self.first_word as usize..];
        for part in parts {
            let expected = header[PARTS_START + 2 * part + 1].load(Relaxed);
            let are_values = AtomicBool::new(true);
            let look = |words: &[u32]| {
                if !self.are_values(part, words) {
                    are_values.store(false, Relaxed);
                }
            };
            let found = crc_of_long(salt, &words[self.parts[part].clone()], &look);
            if expected != found {
                let [expected, found] = [expected, found].map(|crc| format!("{crc:08x}"));
                let what = format!("the checksum of version {}", self.version.number);
                return Err(Wrong::new(&what, &expected, &found));
            }
            if !are_values.into_inner() {
                return Err(self.wrong("lists", "neighbors below the bound, and finite weights"));
            }
        }
        Ok(())
    }

    /// Whether words of a part are what they may be, if they are neighbors or weights.
    fn are_values(&self, part: usize, words: &[u32]) -> bool {
        let is =
            |of: fn(usize) -> Part| [0, 1].map(|direction| of(direction).number()).contains(&part);
        // No loop ends early: those are turned into instructions for several words at a time.
        if is(Part::Neighbors) {
            // The sign of a number that is negative, or above the last one.
            let last = self.totals.vertex_bound.max(1) - 1;
            words.iter().fold(0, |all, &id| all | id | last.wrapping_sub(id)) >> 31 == 0
        } else if is(Part::Weights) {
            words.iter().fold(true, |all, &bits| all & f32::from_bits(bits).is_finite())
        } else {
            true
        }
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

    /// Returns what it changes, but for the edges that it takes away.
    pub(crate) fn to_delta(&self, words: &[AtomicU32]) -> Delta {
        let copy = |words: &[AtomicU32]| words.iter().map(|word| word.load(Relaxed)).collect();
        let lists = [0, 1].map(|direction| NewLists {
            form: self.lists[direction].form,
            rows: copy(self.part(words, Part::Rows(direction))),
            sources: copy(self.part(words, Part::Sources(direction))),
            ends: copy(self.part(words, Part::Ends(direction))),
            neighbors: copy(self.part(words, Part::Neighbors(direction))),
            weights: copy(self.part(words, Part::Weights(direction))),
        });
        let [new_vertices, ended_vertices] =
            [self.new_vertices(words), self.ended_vertices(words)].map(copy);
        Delta { new_vertices, ended_vertices, lists, gone: Default::default() }
    }

    /// Calls `f(version, offsets)` with the edges of each earlier version that this one takes away.
    ///
    /// # Errors
    /// What there is wrong.
    pub(crate) fn for_each_gone(
        &self,
        words: &[AtomicU32],
        direction: usize,
        mut f: impl FnMut(u64, &[AtomicU32]) -> Found<()>,
    ) -> Found<()> {
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

fn read_name(words: &[AtomicU32], bytes: usize) -> Found<String> {
    let all: Vec<u8> = words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect();
    let name = all.get(..bytes).and_then(|bytes| std::str::from_utf8(bytes).ok());
    name.map(str::to_owned).ok_or_else(|| Wrong::new("a version's name", "text", "other bytes"))
}

/// What was found, or what cannot be so.
pub(crate) type Found<T> = Result<T, Wrong>;

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
