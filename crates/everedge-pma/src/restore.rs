//! Reading an array at opening: all that its headers, lists and edge logs say is checked.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::array::{Array, IS_LOGGED, IS_WORN, Logged, Section};
use super::extent::Extent;
use super::header::{Place, mix};
use super::rebalance::{damaged, newest};
use super::shape::Shape;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::SHARD_SPAN;

/// An array as it was found.
pub(super) struct Restored {
    pub array: Array,
    /// The vertices that each section names.
    pub vertices: Vec<u64>,
    /// How many self-loops its lists hold.
    pub loop_count: u64,
}

impl Array {
    /// Reads the array that lies in an extent, and checks all of it; `epoch` is the last checkpoint.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub(super) fn read(
        extent: Arc<Extent>,
        shape: Shape,
        index: u32,
        epoch: u32,
    ) -> Result<Restored> {
        let mut rows = Vec::with_capacity(shape.vertex_count() + 1);
        let (mut sections, mut vertices) = (Vec::new(), Vec::new());
        for number in 0..shape.section_count as usize {
            let (header, slot, crc) = newest(&extent, &shape, number)?;
            vertices.push(header.vertices);
            if header.log_count > shape.log_entries {
                let offset = shape.header_offset(number, slot);
                return Err(damaged(&extent, offset, "a section's header", "its size"));
            }
            sections.push(Section {
                stamp: header.stamp,
                slot: slot as u8,
                crc,
                // A header from before the checkpoint is the one that held then.
                anchored: if header.epoch == epoch { header.anchored } else { crc },
                sequence: header.sequence,
                sum: header.sum,
                log_count: header.log_count as u16,
                ..Section::default()
            });
            rows.extend(header.places);
        }
        rows.push(Place { start: shape.capacity, len: 0 });
        let mut next = 0;
        for place in &rows {
            if place.start < next || place.len > shape.capacity || place.start > shape.capacity {
                let what = "the headers of an array's sections";
                return Err(damaged(&extent, 0, what, "lists in their order"));
            }
            next = place.start + place.len;
        }
        let (worn, tombstone_count) = (FxHashMap::default(), 0);
        let (lists, kept) = (extent.hold_lists(&shape), None);
        let mut array =
            Self { extent, lists, kept, shape, index, rows, sections, worn, tombstone_count };
        let mut loop_count = 0;
        for number in 0..array.sections.len() {
            loop_count += array.restore_section(number)?;
        }
        Ok(Restored { array, vertices, loop_count: loop_count.max(0) as u64 })
    }

    /// Finds out what memory keeps of a section, and checks its sum. Returns how many self-loops
    /// there are, less the tombstones of such.
    fn restore_section(&mut self, number: usize) -> Result<i64> {
        let locals = self.shape.locals(number..number + 1);
        let (extent, shape) = (self.extent.clone(), self.shape);
        let entry_words = shape.entry_words;
        let count = usize::from(self.sections[number].log_count);
        let first_vertex = (self.index / 2) * SHARD_SPAN as u32;
        let (mut sum, mut used, mut loop_count) = (0u64, 0, 0);
        let mut with_tombstones = Vec::new();
        for local in locals.clone() {
            let Place { start, len } = self.rows[local];
            let words = extent.words(shape.words_range(start..start + len));
            let vertex = first_vertex + local as u32;
            let mut tombstones = 0;
            for (place, word) in (0..).zip(words) {
                let word = word.load(Relaxed);
                sum = sum.wrapping_add(mix(local, place, word));
                // Where there are weights, every other word is one.
                if place & (entry_words - 1) == 0 {
                    tombstones += u64::from(word & DELETION != 0);
                    loop_count += loops_in(word, vertex);
                }
            }
            used += len;
            if tombstones > 0 {
                self.tombstone_count += tombstones;
                with_tombstones.push(local);
            }
        }
        let mut heads = vec![Logged::default(); locals.len()];
        for (place, entry) in (1..).zip(extent.log(&shape, number, count)) {
            let local = entry.local();
            let damage = || {
                let offset = shape.log_range(number, place as usize - 1..place as usize).start;
                damaged(&extent, offset, "an entry of an edge log", "one of its section")
            };
            let logged = local.checked_sub(locals.start).and_then(|index| heads.get_mut(index));
            let logged = logged.ok_or_else(damage)?;
            if entry.previous() != logged.head {
                return Err(damage());
            }
            let before = self.rows[local].len + u32::from(logged.count) * entry_words;
            for (index, word) in (before..).zip(entry.words()) {
                sum = sum.wrapping_add(mix(local, index, word.load(Relaxed)));
            }
            *logged = Logged { head: place, count: logged.count + 1 };
            used += entry_words;
            let neighbor = entry.words()[0].load(Relaxed);
            loop_count += loops_in(neighbor, first_vertex + local as u32);
            if neighbor & DELETION != 0 {
                self.tombstone_count += 1;
                with_tombstones.push(local);
            }
        }
        for (row, logged) in self.rows[locals.clone()].iter_mut().zip(&heads) {
            row.start |= if logged.count > 0 { IS_LOGGED } else { 0 };
        }
        let section = &mut self.sections[number];
        section.used = used;
        section.heads = (count > 0).then(|| heads.into());
        if sum != section.sum {
            let start = self.rows[locals.start].start & !IS_LOGGED;
            let offset = shape.words_range(start..start).start;
            return Err(damaged(&extent, offset, "a section's lists", "their sum"));
        }
        for local in with_tombstones {
            self.rows[local].len |= IS_WORN;
            let degree = self.live_entries(local).len();
            self.worn.insert(local as u32, degree as u32);
        }
        Ok(loop_count)
    }
}

/// Returns what a word of a list adds to the self-loops of its vertex.
#[inline]
fn loops_in(word: u32, vertex: VertexId) -> i64 {
    // A tombstone takes one away that is there.
    i64::from(word == vertex) - i64::from(word == vertex | DELETION)
}
