//! Finds where edges are stored that are asked for in ascending order.
//!
//! Each version has a place up to which its lists were read, from which the next edge is likely close: so a
//! delta is searched by as many steps as it has edges, not by a search from its middle for each.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use super::lists::{Form, Lists, gallop};
use super::segment::Place;
use super::tip::Tip;

/// Finds edges of one direction that the newest version has.
pub(crate) struct Finder<'a> {
    tip: &'a Tip,
    direction: usize,
    /// By segment.
    cursors: Vec<Cursor>,
    found: Vec<Place>,
}

/// Up to where the lists of a segment were read.
#[derive(Clone, Default)]
struct Cursor {
    /// Whose list it is.
    vertex: Option<VertexId>,
    /// The row of the list, or of the one after it, where there are rows for some vertices only.
    row: usize,
    /// What is left of the list.
    list: Range<usize>,
}

impl Cursor {
    /// Returns where `neighbor` stands in the list of `v`.
    fn find(
        &mut self,
        (lists, words): (&Lists, &[AtomicU32]),
        v: VertexId,
        neighbor: VertexId,
    ) -> Range<usize> {
        if self.vertex != Some(v) {
            self.vertex = Some(v);
            self.list = match lists.form {
                Form::Whole => lists.range(words, v),
                Form::Sparse | Form::Pairs => {
                    let sources = lists.sources(words);
                    self.row += gallop(&sources[self.row..], |source| source.load(Relaxed) < v);
                    lists.range_from(words, self.row, v)
                }
            };
        }
        let neighbors = lists.neighbors(words);
        let list = &neighbors[self.list.clone()];
        self.list.start += gallop(list, |other| other.load(Relaxed) < neighbor);
        let rest = &neighbors[self.list.clone()];
        let count = rest.iter().take_while(|other| other.load(Relaxed) == neighbor).count();
        self.list.start..self.list.start + count
    }
}

impl<'a> Finder<'a> {
    pub(crate) fn new(tip: &'a Tip, direction: usize) -> Self {
        let cursors = vec![Cursor::default(); tip.segments().len()];
        Self { tip, direction, cursors, found: Vec::new() }
    }

    /// Returns where the edges of the list of `v` to `neighbor` are stored, the oldest first; there are more only if
    /// there are `enough`. Neither `v` nor, for one `v`, `neighbor` is less than it was before.
    pub(crate) fn find(&mut self, v: VertexId, neighbor: VertexId, enough: usize) -> &[Place] {
        self.found.clear();
        let Self { tip, direction, cursors, found } = self;
        let alive = &tip.alive()[*direction];
        for ((segment, alive), cursor) in tip.segments().iter().zip(alive).zip(cursors) {
            if found.len() >= enough {
                break;
            }
            let lists = &segment.lists[*direction];
            let equal = cursor.find((lists, tip.words()), v, neighbor);
            let version = segment.version.number;
            found.extend(alive.ones(equal).map(|at| Place { version, offset: at as u32 }));
        }
        found
    }
}
