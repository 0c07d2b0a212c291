//! Room for adjacency blocks: units handed to shards in extents, and lines inside them.

use std::ops::Range;

use super::block::{LINE_BYTES, UNIT_LINES};
use everedge_live::Result;
use everedge_live::{Space, UNIT_BYTES};

/// A shard takes a quarter of what it has, but not more units than this, at a time.
const EXTENT_UNITS_MAX: u64 = 256;

// Blocks count lines inside units.
const _: () = assert!(UNIT_BYTES == LINE_BYTES * UNIT_LINES as u64);

/// The part of the space that one shard holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardSpace {
    extent: Range<u64>,
    unit_count: u64,
    /// Places of one, two and three free lines, left over in units.
    leftovers: [Vec<u32>; UNIT_LINES as usize - 1],
    spare: Vec<Range<u64>>,
}

impl ShardSpace {
    /// Returns the place of `lines` free lines inside one unit.
    pub(crate) fn take(&mut self, space: &Space, lines: u32) -> Result<u32> {
        let units = u64::from(lines.div_ceil(UNIT_LINES));
        for have in lines..UNIT_LINES {
            if let Some(place) = self.leftovers[have as usize - 1].pop() {
                self.give_back(place + lines, have - lines);
                return Ok(place);
            }
        }
        if self.extent.end - self.extent.start < units {
            let extent = match self.spare.pop_if(|spare| spare.end - spare.start >= units) {
                Some(extent) => extent,
                None => self.take_extent(space, units)?,
            };
            let rest = std::mem::replace(&mut self.extent, extent);
            if !rest.is_empty() {
                self.spare.push(rest);
            }
        }
        let place = self.extent.start as u32 * UNIT_LINES;
        self.extent.start += units;
        self.unit_count += units;
        self.give_back(place + lines, units as u32 * UNIT_LINES - lines);
        Ok(place)
    }

    /// Takes the next extent.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full, or was and has not been tried again.
    fn take_extent(&self, space: &Space, least: u64) -> Result<Range<u64>> {
        let wanted = (self.unit_count / 4).clamp(1, EXTENT_UNITS_MAX).max(least);
        space.take_units(least, wanted)
    }

    /// Takes back the rest of a unit.
    pub(crate) fn give_back(&mut self, place: u32, lines: u32) {
        if lines > 0 {
            self.leftovers[lines as usize - 1].push(place);
        }
    }

    /// Returns what was taken and never used.
    pub(crate) fn unused(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.spare.iter().cloned().chain([self.extent.clone()])
    }

    /// Returns what was taken and not yet used, but for odds and ends, and how many units are used.
    pub(crate) fn parts(&self) -> (&Range<u64>, u64) {
        (&self.extent, self.unit_count)
    }

    /// Returns the space of these parts; what else was free is found by the next opening after a
    /// close.
    pub(crate) fn restore(extent: Range<u64>, unit_count: u64) -> Self {
        Self { extent, unit_count, ..Self::default() }
    }

    /// Counts units found in use at recovery.
    pub(crate) fn adopt_units(&mut self, count: u64) {
        self.unit_count += count;
    }
}
