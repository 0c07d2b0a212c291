//! Numbers by the hashes of their names.
//!
//! A hash says where a search begins; the place after it is next, up to a free one. A place holds the hash
//! beside the number: a search compares hardly any name but the right one, and a table that grows reads none.
//!
//! # Cost
//! 9 to 18 bytes a number; both tables while it grows.

use everedge_core::{VertexId, memory};

/// A number, where its hash has led.
#[derive(Clone, Copy)]
struct Place {
    hash: u32,
    id: VertexId,
}

const FREE: Place = Place { hash: 0, id: VertexId::MAX };
/// A table has a power of two of places, so many at least.
const COUNT_MIN: usize = 8;

#[derive(Default)]
pub(super) struct Places {
    places: Vec<Place>,
    taken: usize,
}

impl Places {
    /// Returns how many bytes a table takes that was made for so many numbers.
    pub(super) fn bytes_for(numbers: u64) -> u64 {
        let count = (numbers * 8).div_ceil(7).next_power_of_two().max(COUNT_MIN as u64);
        if numbers == 0 { 0 } else { count * size_of::<Place>() as u64 }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.len() * size_of::<Place>()
    }

    /// Returns whether so many more numbers have room: 7 of 8 places are taken at most.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.taken + more <= self.places.len() / 8 * 7
    }

    pub(super) fn reserve(&mut self, more: usize) {
        if !self.has_room(more) {
            let bytes = Self::bytes_for((self.taken + more) as u64) as usize;
            self.rebuild(bytes / size_of::<Place>(), VertexId::MAX);
        }
    }

    /// Begins to load where the numbers of a hash are.
    pub(super) fn load_ahead(&self, hash: u32) {
        memory::prefetch(&self.places[self.start(hash)..]);
    }

    /// Returns the numbers of a hash, of which most have one or none.
    #[inline]
    pub(super) fn ids_of(&self, hash: u32) -> impl Iterator<Item = VertexId> {
        let (before, from) = self.places.split_at(self.start(hash));
        let taken = from.iter().chain(before).take_while(|place| place.id != FREE.id);
        taken.filter(move |place| place.hash == hash).map(|place| place.id)
    }

    pub(super) fn insert(&mut self, hash: u32, id: VertexId) {
        self.reserve(1);
        let (start, mask) = (self.start(hash), self.places.len() - 1);
        let mut places = (start..).map(|place| place & mask);
        let free = places.find(|&place| self.places[place].id == FREE.id);
        self.places[free.expect("one of eight is free")] = Place { hash, id };
        self.taken += 1;
    }

    /// Forgets the numbers from `end` on. Reads them all.
    pub(super) fn truncate(&mut self, end: VertexId) {
        self.rebuild(self.places.len(), end);
    }

    /// Moves the numbers below `end` to so many places.
    fn rebuild(&mut self, count: usize, end: VertexId) {
        let before = std::mem::replace(&mut self.places, vec![FREE; count]);
        self.taken = 0;
        // The number of a free place is the largest.
        let kept = before.iter().filter(|place| place.id < end);
        kept.for_each(|place| self.insert(place.hash, place.id));
    }

    fn start(&self, hash: u32) -> usize {
        hash as usize & self.places.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_hashes() {
        let mut places = Places::default();
        assert_eq!(places.ids_of(7).next(), None);
        // Two of each hash, many of which begin at the same places.
        let hash = |id: u32| (id / 2) << 20;
        for id in 0..5000 {
            places.insert(hash(id), id);
        }
        let found = |places: &Places, id: u32| places.ids_of(hash(id)).collect::<Vec<_>>();
        assert!((0..5000).all(|id| found(&places, id) == [id & !1, id | 1]));
        assert!(found(&places, 5000).is_empty());
        assert_eq!(places.memory_bytes() as u64, Places::bytes_for(5000));
        places.truncate(4001);
        assert!((0..4000).all(|id| found(&places, id) == [id & !1, id | 1]));
        assert_eq!(found(&places, 4000), [4000]);
        assert!(found(&places, 4002).is_empty());
    }
}
