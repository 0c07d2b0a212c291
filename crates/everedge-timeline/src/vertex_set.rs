//! The vertices of a graph: bits for each 4,096 ids one of which is or was a vertex, since ids may lie far apart. Graphs share
//! those that are the same.

use std::ops::Range;
use std::sync::Arc;

use everedge_core::VertexId;

use super::lists::ROW_SPAN;

/// Bits of a word.
const WORD_BITS: usize = u64::BITS as usize;

/// Which ids are vertices.
#[derive(Clone, Debug, Default)]
pub(crate) struct VertexSet {
    /// By id over 4,096.
    groups: Vec<Option<Arc<Group>>>,
}

type Group = [u64; ROW_SPAN / WORD_BITS];

impl VertexSet {
    /// Whether `v` is a vertex.
    #[inline]
    pub(crate) fn contains(&self, v: VertexId) -> bool {
        let [group, word, bit] = place(v);
        let held = self.groups.get(group).and_then(Option::as_ref);
        held.is_some_and(|words| words[word] >> bit & 1 == 1)
    }

    /// Makes `v` a vertex. Returns whether it was none.
    pub(crate) fn insert(&mut self, v: VertexId) -> bool {
        let [group, word, bit] = place(v);
        if self.groups.len() <= group {
            self.groups.resize(group + 1, None);
        }
        let words = self.groups[group].get_or_insert_with(|| Arc::new([0; ROW_SPAN / WORD_BITS]));
        let words = &mut Arc::make_mut(words)[word];
        let is_new = *words >> bit & 1 == 0;
        *words |= 1 << bit;
        is_new
    }

    /// Makes `v` no vertex any more. Returns whether it was one.
    pub(crate) fn remove(&mut self, v: VertexId) -> bool {
        let [group, word, bit] = place(v);
        let was_vertex = self.contains(v);
        if let (true, Some(words)) =
            (was_vertex, self.groups.get_mut(group).and_then(Option::as_mut))
        {
            Arc::make_mut(words)[word] &= !(1 << bit);
        }
        was_vertex
    }

    /// Returns how many vertices there are.
    pub(crate) fn len(&self) -> usize {
        let words = self.groups.iter().flatten().flat_map(|words| words.iter());
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Returns ranges of 4,096 ids that have a vertex, ascending.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<VertexId>> {
        let has_some = |words: &Arc<Group>| words.iter().any(|&word| word != 0);
        let groups = (0..).zip(&self.groups);
        let held = groups.filter(move |(_, words)| words.as_ref().is_some_and(has_some));
        let span = ROW_SPAN as VertexId;
        held.map(move |(group, _): (VertexId, _)| group * span..(group * span).saturating_add(span))
    }
}

/// Returns the group of an id, the word in it and the bit in that.
#[inline]
fn place(v: VertexId) -> [usize; 3] {
    let local = v as usize % ROW_SPAN;
    [v as usize / ROW_SPAN, local / WORD_BITS, local % WORD_BITS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_lie_far_apart_are_vertices() {
        let mut vertices = VertexSet::default();
        let before = vertices.clone();
        let ids = [0, 63, 64, 4095, 4096, 1 << 30];
        assert!(ids.iter().all(|&v| vertices.insert(v)) && !vertices.insert(64));
        assert!(ids.iter().all(|&v| vertices.contains(v)) && !vertices.contains(1));
        let kept = vertices.clone();
        assert!(vertices.remove(1 << 30) && !vertices.remove(1 << 30) && !vertices.remove(70_000));
        assert_eq!((before.len(), kept.len(), vertices.len()), (0, 6, 5));
        assert_eq!(vertices.ranges().collect::<Vec<_>>(), [0..4096, 4096..8192]);
        assert_eq!(kept.ranges().count(), 3);
    }
}
