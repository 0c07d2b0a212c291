//! Free units of a full medium, joined: arrays that grow leave places that are a little too short for
//! the next one.
//!
//! An array is moved into the longest free range if its own place and the free ones beside it make a
//! longer one. It is written without gaps, and becomes current, before the next is moved.

use std::sync::Arc;

use super::extent::Extent;
use super::layout::Pma;
use super::mechanisms::Why;
use super::shard::Shard;
use everedge_live::{Archive, Error, Result, Shared};

/// As many moves at a time: writers wait meanwhile.
const MOVES_MAX: usize = 8;

impl Pma {
    /// Moves arrays until `longest` units are free in one range, or no move helps.
    pub(super) fn join_free(&self, archive: &mut Archive<Self>, longest: u64) -> Result<()> {
        let space = self.room.space();
        // Those whose move made no range longer: they may have gone right beside where they were.
        let mut in_vain = Vec::new();
        for _ in 0..MOVES_MAX {
            let free = space.room();
            if free.longest >= longest {
                return Ok(());
            }
            let Some((number, side)) = self.best_move(&archive.shards, free.longest, &in_vain)
            else {
                return Ok(());
            };
            match self.move_array(archive, (number, side), Why::Room) {
                Err(Error::NoSpace { .. }) => return Ok(()),
                // Whoever asks for what is damaged is told: it stays where it is.
                Err(Error::Corruption { .. }) => {}
                moved => moved?,
            }
            match space.room().longest > free.longest {
                true => in_vain.clear(),
                false => in_vain.push((number, side)),
            }
        }
        Ok(())
    }

    /// Returns shard and side of the array that leaves the longest range, if that is longer than the
    /// one that it takes.
    fn best_move(
        &self,
        shards: &[Shared<Shard>],
        longest: u64,
        in_vain: &[(usize, usize)],
    ) -> Option<(usize, usize)> {
        let space = self.room.space();
        let arrays = shards.iter().enumerate().flat_map(|(number, shard)| {
            let sides = shard.arrays.iter().enumerate();
            sides.filter_map(move |(side, array)| Some((number, side, array.as_ref()?)))
        });
        // What a snapshot reads stays where it is.
        let can_move =
            |extent: &Arc<Extent>| extent.unit().is_some() && Arc::strong_count(extent) == 1;
        arrays
            .filter(|&(number, side, _)| !in_vain.contains(&(number, side)))
            .filter(|(.., array)| can_move(&array.extent) && array.shape.units() <= longest)
            .map(|(number, side, array)| (space.joined(array.extent.units()), number, side))
            .filter(|(joined, ..)| *joined > longest)
            .max()
            .map(|(_, number, side)| (number, side))
    }
}
