//! What the sections of an array say: which are not what their headers say, and their next headers.
//!
//! A header counts what lists hold; `header.rs` says how it lies on the medium.

use super::array::{Array, Section};
use super::header::{Header, Moment, Place};
use super::lists::{HAS_TOMBSTONES, IS_LOGGED};

impl Array {
    /// Whether some lists are not what their section's header says.
    pub(super) fn is_dirty(&self) -> bool {
        self.sections.iter().any(|section| section.is_dirty || section.has_direct)
    }

    /// Notes that a list has seen an update that may change nothing. Where entries count by themselves
    /// the next header has to say so: after one of them, a replay of the update could change something.
    pub(super) fn note_seen(&mut self, local: usize) {
        if let Some(section) = self.sections.get_mut(self.shape.section_of(local)) {
            section.is_dirty = true;
        }
    }

    /// Writes headers of all sections that are not what their headers say; they hold all updates
    /// before `sequence`.
    pub(super) fn write_headers(&mut self, moment: Moment, sequence: u64, vertices: &[u64]) {
        for number in 0..self.sections.len() {
            let Section { is_dirty, has_direct, .. } = self.sections[number];
            if is_dirty || has_direct {
                self.write_next_header(moment, number, sequence, vertices);
            }
        }
    }

    /// Writes the next header of a section, which holds all updates before `sequence`.
    pub(super) fn write_next_header(
        &mut self,
        moment: Moment,
        number: usize,
        sequence: u64,
        vertices: &[u64],
    ) {
        let section = &mut self.sections[number];
        section.sequence = section.sequence.max(sequence);
        let stamp = section.stamp + 1;
        self.write_header(moment, number, stamp, vertices);
    }

    pub(super) fn write_header(
        &mut self,
        Moment { epoch, direct }: Moment,
        number: usize,
        stamp: u32,
        vertices: &[u64],
    ) {
        let locals = self.shape.locals(number..number + 1);
        let place =
            |row: &Place| Place { start: row.start & !IS_LOGGED, len: row.len & !HAS_TOMBSTONES };
        let bits = locals.len() as u32;
        let word = vertices.get(locals.start / 64).copied().unwrap_or(0);
        let section = &mut self.sections[number];
        section.anchored = section.anchored_at(epoch);
        let header = Header {
            stamp,
            sequence: section.sequence,
            epoch,
            anchored: section.anchored,
            vertices: word >> (locals.start % 64) & (u64::MAX >> (64 - bits)),
            sum: section.sum,
            log_count: section.log_count.into(),
            tombstones: section.tombstones,
            loops: section.loops,
            direct,
            places: self.lists.rows[locals].iter().map(place).collect(),
        };
        let slot = 1 - usize::from(section.slot);
        section.crc = self.extent.write_header(&self.shape, (number, slot), &header);
        (section.stamp, section.slot, section.epoch) = (stamp, slot as u8, epoch);
        section.direct = direct;
        (section.is_dirty, section.has_direct) = (false, false);
    }

    /// Marks the sections whose vertices have changed.
    pub(super) fn mark_vertices(&mut self, before: &[u64], after: &[u64]) {
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            let mut changed = before ^ after;
            while changed != 0 {
                let local = 64 * index + changed.trailing_zeros() as usize;
                changed &= changed - 1;
                if let Some(section) = self.sections.get_mut(self.shape.section_of(local)) {
                    section.is_dirty = true;
                }
            }
        }
    }
}
