//! What is read before vertices here and there are visited one by one.
//!
//! A thread that is about to read the lists of some vertices asks for those that come next, up to a number of
//! them, and for more when half of these were read. Where it takes one piece of a list of vertices after another, it goes
//! on: what it has asked for is known by its place in memory. The pages of the index are asked for a step earlier than the
//! pieces with the lists, for the pages say where these are. Pieces are read in the order of their file, neighboring
//! ones at once.

use std::cell::Cell;

use everedge_core::VertexId;

use crate::cache::Purpose;
use crate::cursor::Cursor;
use crate::entry::LEVELS;
use crate::store::Store;

/// Vertices whose lists are asked for at once, at most.
const VERTICES_MAX: usize = 1 << 11;
/// Vertices are dense if they are one of so many.
const DENSE_SHARE: usize = 32;

thread_local! {
    /// What this thread has asked for, of each side.
    static ASKED: [Cell<Asked>; 2] = const { [const { Cell::new(Asked { seen: 0, end: 0, last: 0 }) }; 2] };
}

/// How far a thread has asked for the vertices of a list.
#[derive(Clone, Copy)]
struct Asked {
    /// Where in memory the vertex is that was to be read when the list was last looked at.
    seen: usize,
    /// Where those end that were asked for.
    end: usize,
    /// The last of them.
    last: VertexId,
}

/// Asks for what reading `vertices` one by one needs next, unless that was done. There may be more of them than are read
/// before the next call.
///
/// Another list in the same memory may be taken for the one before; then some of it is asked for late. Vertices that the
/// graph has not are passed over.
#[inline]
pub(crate) fn ask(store: &Store, side: usize, vertices: &[VertexId]) {
    let seen = vertices.as_ptr().addr();
    let mut asked = ASKED.with(|asked| asked[side].get());
    let count = asked.end.saturating_sub(seen) / size_of::<VertexId>();
    let goes_on = (asked.seen..=asked.end).contains(&seen)
        && (count == 0 || vertices.get(count - 1).is_none_or(|&v| v == asked.last));
    let count = if goes_on { count } else { 0 };
    asked.seen = seen;
    if count < vertices.len() && count <= VERTICES_MAX / 2 {
        let taken = ask_next(store, side, &vertices[count..], !goes_on);
        asked.end = seen + (count + taken) * size_of::<VertexId>();
        asked.last = vertices[count + taken - 1];
    }
    ASKED.with(|of_sides| of_sides[side].set(asked));
}

/// Asks for the pieces with the first lists of some, and for the pages of those after them; returns how many
/// lists these are.
#[cold]
fn ask_next(store: &Store, side: usize, vertices: &[VertexId], is_new: bool) -> usize {
    let count = vertices.len().min(VERTICES_MAX / 2);
    let (now, later) = vertices.split_at(count);
    if is_new {
        ask_pages(store, side, now);
    }
    ask_pages(store, side, &later[..later.len().min(VERTICES_MAX / 2)]);
    let pieces_max = [0, 1, 2, 3].map(|level| store.cache(level).ahead_max());
    let mut cursor = Cursor::new(store, side, Purpose::Lookup);
    let mut pieces: [Vec<u32>; LEVELS] = [const { Vec::new() }; LEVELS];
    let mut taken = 0;
    let vertices = store.form().vertices;
    for &v in now {
        taken += 1;
        if v < vertices
            && let Some((level, piece)) = cursor.piece_of(v)
            && store.cache(level).is_nowhere(piece)
        {
            pieces[level].push(piece);
            if pieces[level].len() >= pieces_max[level] {
                break;
            }
        }
    }
    // Lists that lie side by side are as good as a pass.
    let is_dense = |list: &[VertexId]| match list {
        [first, .., last] if last > first => (last - first) as usize <= DENSE_SHARE * list.len(),
        _ => false,
    };
    let purpose = if is_dense(&now[..taken]) { Purpose::Pass } else { Purpose::Lookup };
    store.read_ahead(pieces, purpose);
    taken
}

/// Asks for the pages of the index that have the entries of some vertices.
fn ask_pages(store: &Store, side: usize, vertices: &[VertexId]) {
    let there = vertices.iter().filter(|&&v| v < store.form().vertices);
    let mut pages: Vec<_> = there.map(|&v| store.index_piece(side, v)).collect();
    pages.retain(|&page| store.cache(0).is_nowhere(page));
    pages.sort_unstable();
    pages.dedup();
    store.cache(0).read_ahead(pages.into_iter(), Purpose::Lookup);
}
