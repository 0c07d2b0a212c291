//! Vertices that paths go on from, the better ones sooner: a vertex that a better path reaches later is gone on from again.
//!
//! Source: Davidson et al., "Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths", IPDPS 2014: what is
//! beyond a border waits until nothing else is left. Difference: a query only says which of two values is better, so
//! the border is one of the values that wait.

use std::cmp::Ordering;
use std::collections::VecDeque;

use everedge_core::VertexId;

use super::bits::Bits;
use super::query::MonotoneQuery;

/// So few wait in the order in which they came: a kind of order costs more than going on from some again.
const UNORDERED_MAX: usize = 256;
/// So many values say where the border is; a quarter of them are on this side of it.
const SAMPLES: usize = 32;

/// Vertices to go on from, each once.
pub(crate) struct Waiting<Q: MonotoneQuery> {
    /// Those on this side of the border, in the order in which they came.
    near: VecDeque<VertexId>,
    /// Those beyond; some of them may be done already.
    far: Vec<VertexId>,
    /// The worst value on this side; without one, all are.
    border: Option<Q::Value>,
    is_waiting: Bits,
}

impl<Q: MonotoneQuery> Waiting<Q> {
    /// Returns room for ids below `bound`.
    pub(crate) fn new(bound: u32) -> Self {
        let is_waiting = Bits::none(bound as usize);
        Self { near: VecDeque::new(), far: Vec::new(), border: None, is_waiting }
    }

    /// Takes a vertex that has got a better value.
    #[inline]
    pub(crate) fn insert(&mut self, v: VertexId, (old, new): (Q::Value, Q::Value)) {
        let is_near = |value| self.border.is_none_or(|border| !Q::is_better(border, value));
        let is_new = self.is_waiting.insert(v as usize);
        if !is_near(new) {
            self.far.extend(is_new.then_some(v));
        } else if is_new || !is_near(old) {
            self.near.push_back(v);
        }
    }

    /// Returns the vertex that comes so many places after the next one, as far as that is known.
    #[inline]
    pub(crate) fn ahead(&self, places: usize) -> Option<VertexId> {
        self.near.get(places).copied()
    }

    /// Returns the next vertex.
    #[inline]
    pub(crate) fn pop(&mut self, values: &[Q::Value]) -> Option<VertexId> {
        if self.border.is_none() && self.near.len() > UNORDERED_MAX {
            self.far.extend(self.near.drain(..));
        }
        loop {
            match self.near.pop_front() {
                Some(v) if self.is_waiting.remove(v as usize) => return Some(v),
                Some(_) => {}
                None if self.far.is_empty() => {
                    self.border = None;
                    return None;
                }
                None => self.move_border(values),
            }
        }
    }

    /// Moves the border so that some are on this side.
    fn move_border(&mut self, values: &[Q::Value]) {
        self.far.retain(|&v| self.is_waiting.contains(v as usize));
        if self.far.len() <= UNORDERED_MAX {
            self.border = None;
            self.near.extend(self.far.drain(..));
            return;
        }
        let sampled = self.far.iter().step_by(self.far.len() / SAMPLES);
        let mut samples: Vec<Q::Value> = sampled.map(|&v| values[v as usize]).collect();
        samples.sort_by(|&a, &b| match (Q::is_better(a, b), Q::is_better(b, a)) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        });
        let border = samples[samples.len() / 4];
        self.border = Some(border);
        self.near
            .extend(self.far.extract_if(.., |&mut v| !Q::is_better(border, values[v as usize])));
    }
}
