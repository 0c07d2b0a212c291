//! The neighbors of a vertex, one by one.

use everedge_core::VertexId;

use crate::cache::{Held, Purpose};
use crate::codec::Decoder;
use crate::entry::{Entry, LEVELS, Place};
use crate::form::PIECE_HEAD_BYTES;
use crate::store::Store;

/// Pieces of a long list that are read before they are wanted.
const PIECES_AHEAD: u32 = 4;

/// The neighbors of a vertex, and the memory that they lie in.
pub(crate) enum Neighbors<'a> {
    /// In the index.
    Mini { words: [u32; 2], next: u32, count: u32, id_max: u32 },
    /// In a chunk.
    Chunk(Held<'a>, Decoder),
    /// In pieces.
    Long(Long<'a>),
}

/// A list that is longer than a chunk.
pub(crate) struct Long<'a> {
    store: &'a Store,
    side: usize,
    /// Whose list it is.
    v: VertexId,
    purpose: Purpose,
    /// The piece after the one that is held.
    next: u32,
    /// Neighbors of the pieces after it.
    left: u32,
    held: Option<(Held<'a>, Decoder)>,
}

impl<'a> Neighbors<'a> {
    pub(crate) const NONE: Self = Self::Mini { words: [0; 2], next: 0, count: 0, id_max: 0 };

    /// Returns the neighbors of `v`; none from the first error on.
    pub(crate) fn of(store: &'a Store, side: usize, v: VertexId) -> Self {
        Self::at(store, side, (v, store.entry(side, v)), Purpose::Lookup)
    }

    /// The same, with its entry of the index.
    pub(crate) fn at(
        store: &'a Store,
        side: usize,
        (v, entry): (VertexId, Entry),
        purpose: Purpose,
    ) -> Self {
        let form = store.form();
        let count = entry.degree;
        match entry.place(form.mini_max()) {
            Place::Mini(words) => {
                Self::Mini { words, next: 0, count, id_max: form.vertices.saturating_sub(1) }
            }
            Place::Chunk { level, chunk, offset } => {
                let found = store.chunk_piece(side, level, chunk).and_then(|piece| {
                    let held = store.get(level, piece, purpose)?;
                    let decoder = decoder(store, &held, offset, count)?;
                    Some(Self::Chunk(held, decoder))
                });
                match found {
                    None if !store.has_failed() => store.fail_at(side, v).unwrap_or(Self::NONE),
                    found => found.unwrap_or(Self::NONE),
                }
            }
            Place::Super(first) => {
                Self::Long(Long { store, side, v, purpose, next: first, left: count, held: None })
            }
        }
    }
}

/// Returns the decoder of a list in a chunk or piece.
#[inline]
pub(crate) fn decoder(store: &Store, bytes: &[u8], offset: usize, count: u32) -> Option<Decoder> {
    let form = store.form();
    Decoder::new(form.code(), form.weighted, (offset, count), (bytes, form.vertices))
}

impl Neighbors<'_> {
    /// Calls `f` with each id as it stands there, though it may be no vertex, and its weight, 1 if the list has none.
    pub(crate) fn for_each_raw(self, weighted: bool, mut f: impl FnMut(VertexId, f32)) {
        match self {
            Self::Mini { words: [id, weight], count: 1, .. } if weighted => {
                f(id, f32::from_bits(weight));
            }
            Self::Mini { words, count, .. } => {
                words.iter().take(count as usize).for_each(|&id| f(id, 1.0));
            }
            Self::Chunk(held, decoder) => decoder.for_each_raw(&held, weighted, f),
            Self::Long(mut long) => {
                while long.turn() {
                    if let Some((held, decoder)) = &long.held {
                        decoder.for_each_raw(held, weighted, &mut f);
                    }
                }
            }
        }
    }
}

impl Long<'_> {
    /// Moves on to the next piece; returns false at the end.
    fn turn(&mut self) -> bool {
        self.held = None;
        if self.left == 0 || self.store.has_failed() {
            return false;
        }
        let (store, side) = (self.store, self.side);
        let last = LEVELS - 1;
        let ahead = (self.next..self.next.saturating_add(PIECES_AHEAD))
            .map_while(|at| store.long_piece(side, at));
        if store.reads_ahead(side) {
            store.cache(last).read_ahead(ahead, self.purpose);
        }
        let piece = store.long_piece(side, self.next).and_then(|piece| {
            let held = store.get(last, piece, self.purpose)?;
            let count = held.first_chunk().map_or(0, |&count| u32::from_le_bytes(count));
            let count = count.min(self.left);
            let decoder = decoder(store, &held, PIECE_HEAD_BYTES, count).filter(|_| count > 0)?;
            Some((count, (held, decoder)))
        });
        match piece {
            None if store.has_failed() => false,
            None => store.fail_at(side, self.v).unwrap_or(false),
            Some((count, held)) => {
                (self.next, self.left) = (self.next + 1, self.left - count);
                self.held = Some(held);
                true
            }
        }
    }

    /// Folds what is left of the piece that is held, and the pieces after it.
    #[inline]
    fn fold_with<B>(mut self, init: B, mut fold: impl FnMut(Decoder, &[u8], B) -> B) -> B {
        let mut sum = init;
        loop {
            if let Some((held, decoder)) = &self.held {
                sum = fold(*decoder, held, sum);
            }
            if !self.turn() {
                return sum;
            }
        }
    }

    fn next_with<T>(&mut self, next: impl Fn(&mut Decoder, &[u8]) -> Option<T>) -> Option<T> {
        loop {
            if let Some((held, decoder)) = &mut self.held
                && let Some(found) = next(decoder, held)
            {
                return Some(found);
            }
            if !self.turn() {
                return None;
            }
        }
    }
}

impl Iterator for Neighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        match self {
            Self::Mini { words, next, count, id_max } => {
                let id = (*next < *count).then(|| words[*next as usize % 2].min(*id_max));
                *next += 1;
                id
            }
            Self::Chunk(held, decoder) => decoder.next(held),
            Self::Long(long) => long.next_with(Decoder::next),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        match self {
            Self::Mini { words, next, count, id_max } => {
                (next..count).map(|i| words[i as usize % 2].min(id_max)).fold(init, f)
            }
            Self::Chunk(held, decoder) => decoder.fold(&held, init, f),
            Self::Long(long) => {
                long.fold_with(init, |decoder, held, sum| decoder.fold(held, sum, &mut f))
            }
        }
    }
}

/// The neighbors of a vertex with the weights of the edges to them, 1 if there are none.
pub(crate) struct Edges<'a> {
    neighbors: Neighbors<'a>,
    weighted: bool,
}

impl<'a> Edges<'a> {
    pub(crate) fn of(store: &'a Store, side: usize, v: VertexId) -> Self {
        Self { neighbors: Neighbors::of(store, side, v), weighted: store.form().weighted }
    }
}

impl Iterator for Edges<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        if !self.weighted {
            return Some((self.neighbors.next()?, 1.0));
        }
        match &mut self.neighbors {
            Neighbors::Mini { words, next, count, id_max } => {
                let edge =
                    (*next < *count).then(|| (words[0].min(*id_max), f32::from_bits(words[1])));
                *next += 1;
                edge
            }
            Neighbors::Chunk(held, decoder) => decoder.next_edge(held),
            Neighbors::Long(long) => long.next_with(Decoder::next_edge),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, mut f: F) -> B {
        if !self.weighted {
            return self.neighbors.fold(init, |sum, v| f(sum, (v, 1.0)));
        }
        match self.neighbors {
            Neighbors::Mini { words: [v, weight], next, count, id_max } => {
                let edge = (v.min(id_max), f32::from_bits(weight));
                (next..count).fold(init, |sum, _| f(sum, edge))
            }
            Neighbors::Chunk(held, decoder) => decoder.fold_edges(&held, init, f),
            Neighbors::Long(long) => {
                long.fold_with(init, |decoder, held, sum| decoder.fold_edges(held, sum, &mut f))
            }
        }
    }
}
