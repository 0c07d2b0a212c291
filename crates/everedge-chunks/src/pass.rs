//! A pass over ascending vertices, and what it reads before it gets there.
//!
//! A thread that is shown range after range of a side goes on where it ended: what it has asked for ahead is kept with
//! the thread, of each side. It asks for the lists of the vertices that come next and that the visitor wants, until a
//! window of bytes is under way; neighboring chunks are one read.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use everedge_core::{ListVisitor, VertexId};

use crate::cache::Purpose;
use crate::cursor::Cursor;
use crate::entry::{ENTRIES, LEVELS};
use crate::form::CHUNK_BYTES;
use crate::store::Store;

/// Vertices that are looked through for wanted ones at once, at most.
const VERTICES_MAX: u32 = 1 << 16;
/// Pages of the index that are asked for at once, and as many before they are looked at.
const PAGES_AHEAD: u32 = 32;

thread_local! {
    /// What this thread has asked for ahead of the range that it was shown last, of each side.
    static STREAM: [RefCell<Option<Stream>>; 2] = const { [const { RefCell::new(None) }; 2] };
}

/// What was asked for ahead.
struct Stream {
    store: Weak<Store>,
    /// Where the range ended that was shown last.
    shown: VertexId,
    /// Up to where vertices were looked through.
    looked: VertexId,
    /// Up to where pages of the index were asked for.
    pages: u32,
    /// The vertices whose lists are under way, each with the bytes that are read for it.
    asked: VecDeque<(VertexId, usize)>,
    asked_bytes: usize,
}

/// Reads ahead of a range that is being shown.
pub(crate) struct Pass<'a> {
    cursor: Cursor<'a>,
    side: usize,
    range: Range<VertexId>,
    stream: Stream,
    window: usize,
    /// How many vertices there are.
    bound: VertexId,
}

impl<'a> Pass<'a> {
    /// Returns what reads ahead of `range`, or none if all is in memory or nothing is read ahead.
    pub(crate) fn new(store: &'a Arc<Store>, side: usize, range: Range<VertexId>) -> Option<Self> {
        if !store.reads_ahead(side) {
            return None;
        }
        let before = STREAM.with(|stream| stream[side].take()).filter(|stream| {
            let goes_on = (stream.shown..=stream.looked.max(stream.shown)).contains(&range.start);
            stream.store.as_ptr() == Arc::as_ptr(store) && goes_on
        });
        let stream = before.unwrap_or_else(|| Stream {
            store: Arc::downgrade(store),
            shown: range.start,
            looked: range.start,
            pages: 0,
            asked: VecDeque::new(),
            asked_bytes: 0,
        });
        let cursor = Cursor::new(store, side, Purpose::Pass);
        let (window, bound) = (store.window_bytes(), store.form().vertices);
        Some(Self { cursor, side, range, stream, window, bound })
    }

    /// Asks for more, if enough of what was asked for comes before `v`.
    #[inline]
    pub(crate) fn advance(&mut self, v: VertexId, visitor: &impl ListVisitor) {
        while let Some(&(first, bytes)) = self.stream.asked.front()
            && first < v
        {
            self.stream.asked.pop_front();
            self.stream.asked_bytes -= bytes;
        }
        // Short lists may not fill the window: then it is looked on when half of what was looked at is left.
        let is_near = self.stream.looked.saturating_sub(v) <= VERTICES_MAX / 2;
        if is_near && self.stream.asked_bytes <= self.window / 2 && self.stream.looked < self.bound
        {
            self.ask(v, visitor);
        }
    }

    #[cold]
    fn ask(&mut self, v: VertexId, visitor: &impl ListVisitor) {
        let store = self.cursor.store();
        let stream = &mut self.stream;
        let end = v.saturating_add(VERTICES_MAX).min(self.bound);
        let mut pieces: [Vec<u32>; LEVELS] = [const { Vec::new() }; LEVELS];
        let mut u = stream.looked.max(v);
        while u < end && stream.asked_bytes < self.window {
            if u / ENTRIES + PAGES_AHEAD >= stream.pages {
                let start = stream.pages.max(u / ENTRIES);
                stream.pages = start + PAGES_AHEAD;
                store.read_pages_ahead(self.side, start..stream.pages);
            }
            if visitor.wants(u)
                && let Some((level, piece)) = self.cursor.piece_of(u)
                && pieces[level].last() != Some(&piece)
                && store.cache(level).is_nowhere(piece)
            {
                pieces[level].push(piece);
                stream.asked.push_back((u, CHUNK_BYTES[level]));
                stream.asked_bytes += CHUNK_BYTES[level];
            }
            u += 1;
        }
        stream.looked = u;
        store.read_ahead(pieces, Purpose::Pass);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let stream = Stream {
            store: self.stream.store.clone(),
            shown: self.range.end,
            asked: std::mem::take(&mut self.stream.asked),
            ..self.stream
        };
        STREAM.with(|of_sides| of_sides[self.side].replace(Some(stream)));
    }
}
