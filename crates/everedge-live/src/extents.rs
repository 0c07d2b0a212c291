//! Units that belong to somebody, until nobody refers to them.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Result;
use crate::space::Space;

/// Units that belong to somebody: when the last one who refers to them is gone, they are free.
///
/// A shard refers to the units that its lists lie in, and so does each snapshot that shares the
/// shard and the image on the medium that names them. So units are used again only when no view
/// reads them and no opening would look for them.
pub struct Extents {
    space: Arc<Space>,
    units: Mutex<Vec<Range<u64>>>,
}

impl Extents {
    /// Returns units of `space` that were taken.
    pub fn new(space: &Arc<Space>, units: Vec<Range<u64>>) -> Arc<Self> {
        Arc::new(Self { space: space.clone(), units: Mutex::new(units) })
    }

    /// Takes more units, `wanted` or at least `least`.
    ///
    /// # Errors
    /// As [`Space::take_units`].
    pub fn take(&self, least: u64, wanted: u64) -> Result<Range<u64>> {
        let taken = self.space.take_units(least, wanted)?;
        let mut units = self.units.lock();
        match units.last_mut() {
            Some(last) if last.end == taken.start => last.end = taken.end,
            _ => units.push(taken.clone()),
        }
        Ok(taken)
    }

    /// Takes more units, `wanted` or those of the shortest free range.
    ///
    /// # Errors
    /// As [`Space::take_some`].
    pub fn take_some(&self, wanted: u64) -> Result<Range<u64>> {
        let taken = self.space.take_some(wanted)?;
        self.units.lock().push(taken.clone());
        Ok(taken)
    }

    /// Returns all units, in the order in which they were taken.
    pub fn units(&self) -> Vec<Range<u64>> {
        self.units.lock().clone()
    }

    /// Returns where the farthest of them ends.
    pub fn end(&self) -> u64 {
        self.units.lock().iter().map(|range| range.end).max().unwrap_or(0)
    }

    /// Returns how many units there are.
    pub fn count(&self) -> u64 {
        self.units.lock().iter().map(|range| range.end - range.start).sum()
    }
}

impl Drop for Extents {
    fn drop(&mut self) {
        self.space.give_back(self.units.get_mut().drain(..));
    }
}
