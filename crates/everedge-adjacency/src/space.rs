//! Room for adjacency blocks: units handed to shards in extents, and lines inside them.

use std::ops::Range;
use std::sync::Arc;

use super::block::{LINE_BYTES, UNIT_LINES};
use everedge_live::{Extents, Result, Space, UNIT_BYTES};

/// A shard takes a quarter of what it has, but not more units than this, at a time.
const EXTENT_UNITS_MAX: u64 = 256;

// Blocks count lines inside units.
const _: () = assert!(UNIT_BYTES == LINE_BYTES * UNIT_LINES as u64);

/// The part of the space that one shard holds.
#[derive(Clone, Default)]
pub(crate) struct ShardSpace {
    /// All of its units: views of the shard hold on to them as well.
    pub extents: Option<Arc<Extents>>,
    /// The units from which the next blocks are cut.
    pub extent: Range<u64>,
    /// How many units blocks lie in.
    pub unit_count: u64,
    /// Places of one, two and three free lines, left over in units.
    pub leftovers: [Vec<u32>; UNIT_LINES as usize - 1],
    /// Rests of extents that were too short for a block.
    pub spare: Vec<Range<u64>>,
}

impl ShardSpace {
    /// Returns the place of `lines` free lines: inside one unit, or from the start of one on.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full, or was and has not been tried again.
    pub(crate) fn take(&mut self, space: &Arc<Space>, lines: u32) -> Result<u32> {
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

    fn take_extent(&mut self, space: &Arc<Space>, least: u64) -> Result<Range<u64>> {
        let wanted = (self.unit_count / 4).clamp(1, EXTENT_UNITS_MAX).max(least);
        self.extents.get_or_insert_with(|| Extents::new(space, Vec::new())).take(least, wanted)
    }

    /// Takes back the rest of a unit.
    fn give_back(&mut self, place: u32, lines: u32) {
        if lines > 0 {
            self.leftovers[lines as usize - 1].push(place);
        }
    }
}
