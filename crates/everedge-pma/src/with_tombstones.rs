//! Lists with tombstones: which of their entries are still edges.
//!
//! A tombstone takes away the newest equal neighbor before it, so lists are read from their newest
//! entry to the oldest one. Most have few tombstones at a time that have not met their edge yet: those
//! are looked for one by one, and only many are hashed. Buffers are used again for the next list.

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use everedge_live::DELETION;

/// So many tombstones are looked for one by one.
const FEW: usize = 16;

/// What reading lists with tombstones needs, for one list after the other.
#[derive(Default)]
pub(super) struct LiveReader {
    /// Neighbors with their weights as bits.
    edges: Vec<(VertexId, u32)>,
    tombstones: Tombstones,
}

impl LiveReader {
    /// Returns the entries that no tombstone took away, oldest first, of a list whose entries come
    /// newest first.
    pub(super) fn read(
        &mut self,
        newest_first: impl Iterator<Item = (u32, u32)>,
    ) -> &[(VertexId, u32)] {
        self.edges.clear();
        self.tombstones.clear();
        for (neighbor, weight) in newest_first {
            if neighbor & DELETION != 0 {
                self.tombstones.add(neighbor & !DELETION);
            } else if !self.tombstones.remove(neighbor) {
                self.edges.push((neighbor, weight));
            }
        }
        self.edges.reverse();
        &self.edges
    }

    /// Returns the edges that were read last.
    pub(super) fn into_edges(self) -> Vec<(VertexId, u32)> {
        self.edges
    }
}

/// The tombstones that have not met their edge yet.
#[derive(Default)]
struct Tombstones {
    few: Vec<VertexId>,
    /// The others, and how often each is there.
    many: FxHashMap<VertexId, u32>,
}

impl Tombstones {
    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    fn add(&mut self, neighbor: VertexId) {
        match self.few.len() < FEW {
            true => self.few.push(neighbor),
            false => *self.many.entry(neighbor).or_default() += 1,
        }
    }

    /// Takes one of a neighbor away. Returns whether there was one.
    #[inline]
    fn remove(&mut self, neighbor: VertexId) -> bool {
        if let Some(place) = self.few.iter().position(|&few| few == neighbor) {
            self.few.swap_remove(place);
            return true;
        }
        if self.many.is_empty() {
            return false;
        }
        let Some(count) = self.many.get_mut(&neighbor) else { return false };
        *count -= 1;
        if *count == 0 {
            self.many.remove(&neighbor);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies entries one after the other, as deletions are defined.
    fn applied(entries: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for &(neighbor, weight) in entries {
            match neighbor & DELETION {
                0 => edges.push((neighbor, weight)),
                _ => {
                    let equal = |edge: &(u32, u32)| edge.0 == neighbor & !DELETION;
                    edges.remove(edges.iter().rposition(equal).expect("an edge to delete"));
                }
            }
        }
        edges
    }

    #[test]
    fn what_lives_is_what_deletions_left() {
        let mut state = 1u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % bound) as u32
        };
        let mut reader = LiveReader::default();
        for round in 0..500u64 {
            let (mut entries, mut there) = (Vec::new(), Vec::new());
            for index in 0..random(200) {
                // Some rounds delete nearly all at last, so that many tombstones wait at a time.
                let deletes = round % 2 == 0 && index >= 100 || random(3) == 0;
                if deletes && !there.is_empty() {
                    let place = random(there.len() as u64) as usize;
                    entries.push((there.swap_remove(place) | DELETION, 0));
                } else {
                    let neighbor = random(1 + round);
                    there.push(neighbor);
                    entries.push((neighbor, index));
                }
            }
            let live = reader.read(entries.iter().rev().copied());
            assert_eq!(live, applied(&entries), "round {round}");
        }
    }
}
