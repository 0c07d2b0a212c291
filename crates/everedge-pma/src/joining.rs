//! Free units of a full medium, joined: arrays that grow leave places that are a little too short for
//! the next one.
//!
//! An array is moved into the longest free range if its own place and the free ones beside it make a
//! longer one. It is written without gaps, and becomes current, before the next is moved.

use std::sync::Arc;

use super::archive::{Archive, Machinery};
use super::build::Fill;
use super::mechanisms::Why;
use super::shard::{Additions, Context};
use everedge_live::{Error, Result};

/// As many moves at a time: writers wait meanwhile.
const MOVES_MAX: usize = 8;

impl Archive {
    /// Moves arrays until `longest` units are free in one range, or no move helps.
    pub(super) fn join_free(&mut self, machinery: &Machinery, longest: u64) -> Result<()> {
        let space = machinery.room.space();
        // Those whose move made no range longer: they may have gone right beside where they were.
        let mut in_vain = Vec::new();
        for _ in 0..MOVES_MAX {
            let free = space.room();
            if free.longest >= longest {
                return Ok(());
            }
            let Some((number, side)) = self.best_move(machinery, free.longest, &in_vain) else {
                return Ok(());
            };
            match self.move_array(machinery, (number, side), Why::Room) {
                Err(Error::NoSpace { .. }) => return Ok(()),
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
        machinery: &Machinery,
        longest: u64,
        in_vain: &[(usize, usize)],
    ) -> Option<(usize, usize)> {
        let space = machinery.room.space();
        let arrays = self.shards.iter().enumerate().flat_map(|(number, shard)| {
            let sides = shard.arrays.iter().enumerate();
            sides.filter_map(move |(side, array)| Some((number, side, array.as_ref()?)))
        });
        // What a snapshot reads stays where it is.
        let can_move = |extent: &Arc<super::extent::Extent>| {
            extent.unit().is_some() && Arc::strong_count(extent) == 1
        };
        arrays
            .filter(|&(number, side, _)| !in_vain.contains(&(number, side)))
            .filter(|(.., array)| can_move(&array.extent) && array.shape.units() <= longest)
            .map(|(number, side, array)| (space.joined(array.extent.units()), number, side))
            .filter(|(joined, ..)| *joined > longest)
            .max()
            .map(|(_, number, side)| (number, side))
    }

    /// Writes an array without gaps, into the shortest free range that is long enough.
    ///
    /// # Errors
    /// `NoSpace` if there is none: it is as before.
    pub(super) fn move_array(
        &mut self,
        machinery: &Machinery,
        (number, side): (usize, usize),
        why: Why,
    ) -> Result<()> {
        let sequence = self.next_sequence;
        let context = machinery.context(self, sequence..sequence, machinery.room.kept(0));
        let context = Context { spills: false, ..context };
        let shard = Arc::make_mut(&mut self.shards[number]);
        let vertices: &[u64] = if side == 0 { &shard.vertices } else { &[] };
        let array = shard.arrays[side].as_mut().expect("the array that was chosen");
        array.check_lists()?;
        let how = (why, Fill::Tight);
        array.rebuild(&context, &Additions::none(), (vertices, 0), how)?;
        self.note_change();
        Ok(())
    }
}
