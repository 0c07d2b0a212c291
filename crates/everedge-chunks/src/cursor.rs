//! Reading entries and lists one after the other.

use everedge_core::{ListVisitor, VertexId};

use crate::cache::{Held, Purpose};
use crate::codec::Decoder;
use crate::entry::{ENTRIES, Entry, LEVELS, Place};
use crate::list::{Neighbors, decoder};
use crate::store::Store;

/// Reads entries and lists one after the other, and keeps the pieces that it read last.
pub(crate) struct Cursor<'a> {
    store: &'a Store,
    side: usize,
    purpose: Purpose,
    page: Option<(u32, Held<'a>)>,
    chunks: [Option<(u32, Held<'a>)>; LEVELS],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(store: &'a Store, side: usize, purpose: Purpose) -> Self {
        Self { store, side, purpose, page: None, chunks: [const { None }; LEVELS] }
    }

    /// Returns the store that it reads.
    pub(crate) fn store(&self) -> &'a Store {
        self.store
    }

    /// Returns the entry of `v`; that of no neighbors from the first error on.
    #[inline]
    pub(crate) fn entry(&mut self, v: VertexId) -> Entry {
        let piece = self.store.index_piece(self.side, v);
        if self.page.as_ref().is_none_or(|&(held, _)| held != piece) {
            self.page = None;
            if self.store.has_failed() {
                return Entry::NONE;
            }
            self.page = self.store.get(0, piece, self.purpose).map(|page| (piece, page));
        }
        self.page.as_ref().map_or(Entry::NONE, |(_, page)| Entry::read(page, v % ENTRIES))
    }

    /// Returns the first piece with the list of `v`, unless it stands in the index.
    pub(crate) fn piece_of(&mut self, v: VertexId) -> Option<(usize, u32)> {
        match self.entry(v).place(self.store.form().mini_max()) {
            Place::Mini(_) => None,
            Place::Chunk { level, chunk, .. } => {
                Some((level, self.store.chunk_piece(self.side, level, chunk)?))
            }
            Place::Super(first) => Some((LEVELS - 1, self.store.long_piece(self.side, first)?)),
        }
    }

    /// Calls `f` with each neighbor of `v` as it stands there, and its weight, 1 if the list has none.
    pub(crate) fn for_each_edge(&mut self, v: VertexId, f: impl FnMut(VertexId, f32)) {
        let entry = self.entry(v);
        let list = Neighbors::at(self.store, self.side, (v, entry), self.purpose);
        list.for_each_raw(self.store.form().weighted, f);
    }

    /// Shows the list of `v`.
    #[inline]
    pub(crate) fn visit(&mut self, v: VertexId, visitor: &mut impl ListVisitor) {
        let entry = self.entry(v);
        match self.in_chunk(entry) {
            Some(list) => visitor.visit(v, list),
            None => {
                let list = Neighbors::at(self.store, self.side, (v, entry), self.purpose);
                visitor.visit(v, list);
            }
        }
    }

    /// Returns a list that lies in a chunk, unless there is an error.
    #[inline]
    fn in_chunk(&mut self, entry: Entry) -> Option<InChunk<'_>> {
        let place = entry.place(self.store.form().mini_max());
        let Place::Chunk { level, chunk, offset } = place else { return None };
        let piece = self.store.chunk_piece(self.side, level, chunk)?;
        let kept = &mut self.chunks[level];
        if kept.as_ref().is_none_or(|&(held, _)| held != piece) {
            *kept = None;
            let held = self.store.get(level, piece, self.purpose);
            *kept = held.map(|held| (piece, held));
        }
        let (_, bytes) = kept.as_ref()?;
        let decoder = decoder(self.store, bytes, offset, entry.degree)?;
        Some(InChunk { bytes, decoder })
    }
}

/// Lists that were decoded before they are shown: so whoever sees them reads on without pause, as if they stood in
/// an array, and what it waits for itself is under way for several of them at once.
#[derive(Default)]
pub(crate) struct Decoded {
    ids: Vec<VertexId>,
    /// Whose lists they are, and where each ends.
    lists: Vec<(VertexId, usize)>,
}

impl Decoded {
    /// Ids that are decoded at once; no more than the processor's first cache has room for.
    const IDS: usize = 1 << 10;

    /// Shows the list of `v`, later unless it is long or seldom seen to its end.
    #[inline]
    pub(crate) fn add<T: ListVisitor>(
        &mut self,
        v: VertexId,
        cursor: &mut Cursor<'_>,
        visitor: &mut T,
    ) {
        if T::STOPS_EARLY {
            return cursor.visit(v, visitor);
        }
        let entry = cursor.entry(v);
        if entry.degree as usize > Self::IDS / 2 {
            self.show(visitor);
            return cursor.visit(v, visitor);
        }
        match cursor.in_chunk(entry) {
            Some(list) => list.decoder.append(list.bytes, &mut self.ids),
            None => {
                let (store, purpose) = (cursor.store, cursor.purpose);
                let list = Neighbors::at(store, cursor.side, (v, entry), purpose);
                list.for_each(|id| self.ids.push(id));
            }
        }
        self.lists.push((v, self.ids.len()));
        if self.ids.len() >= Self::IDS {
            self.show(visitor);
        }
    }

    /// Shows the lists that were not shown yet.
    pub(crate) fn show(&mut self, visitor: &mut impl ListVisitor) {
        let mut start = 0;
        for (v, end) in self.lists.drain(..) {
            visitor.visit(v, self.ids[start..end].iter().copied());
            start = end;
        }
        self.ids.clear();
    }
}

/// The neighbors of a vertex in a chunk that somebody else holds.
struct InChunk<'a> {
    bytes: &'a [u8],
    decoder: Decoder,
}

impl Iterator for InChunk<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        self.decoder.next(self.bytes)
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, f: F) -> B {
        self.decoder.fold(self.bytes, init, f)
    }
}
