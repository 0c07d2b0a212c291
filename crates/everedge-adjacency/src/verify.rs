//! Checks every invariant of an open graph that can be checked without its history.

use everedge_core::VertexId;

use super::AdjacencyGraph;
use super::block::{self, NO_BLOCK};
use super::list::List;
use super::run::{self, SPAN};
use super::shard::{Shard, Tally};
use everedge_live::Result;
use everedge_live::{Verification, verify_mirror};

impl AdjacencyGraph {
    /// Checks block checksums and chains, degrees against scans, counts and sums, and that out-
    /// and in-neighbors mirror each other.
    ///
    /// Cost: every block is read twice; 16 bytes a vertex of memory.
    ///
    /// # Errors
    /// If the log's tail cannot be archived.
    pub fn verify(&self) -> Result<Verification> {
        let snapshot = self.snapshot()?;
        let mut report = Verification::default();
        for shard in snapshot.shards() {
            self.verify_shard(shard, &mut report);
        }
        if snapshot.has_in_neighbors() {
            verify_mirror(&snapshot, &mut report);
        }
        Ok(report)
    }

    fn verify_shard(&self, shard: &Shard, report: &mut Verification) {
        let mut tally = Tally::default();
        let mut degree_sum = 0;
        let places = &self.live.core.machinery.places;
        for (number, list) in shard.lists.iter().enumerate() {
            self.verify_runs(shard.first_vertex, number, list, &mut tally, report);
            for (local, entry) in list.table.entries().enumerate() {
                let vertex = shard.first_vertex + local as u32;
                let is_whole =
                    self.verify_chain(vertex, number, (list, entry.head), &mut tally, report);
                if !is_whole {
                    continue;
                }
                let entry_words = self.manifest().options.entry_words();
                let scanned = list.live(places, local, entry_words).len();
                report.check(scanned == entry.degree as usize, || {
                    format!(
                        "vertex {vertex}, list {number}: degree {}, {scanned} neighbors",
                        entry.degree
                    )
                });
                degree_sum += if number == 0 { u64::from(entry.degree) } else { 0 };
            }
        }
        report.check(tally == shard.tally, || {
            format!(
                "shard of vertex {}: {:?} expected, {tally:?} found",
                shard.first_vertex, shard.tally
            )
        });
        report.check(degree_sum == shard.degree_sum, || {
            format!("shard of vertex {}: degree sum {degree_sum}", shard.first_vertex)
        });
    }

    fn verify_runs(
        &self,
        first_vertex: VertexId,
        number: usize,
        list: &List,
        tally: &mut Tally,
        report: &mut Verification,
    ) {
        let region = list.blocks(&self.live.core.machinery.places);
        let salt = self.manifest().salt();
        let firsts = (first_vertex..).step_by(SPAN);
        for (first, span) in firsts.zip(&list.spans).filter(|(_, span)| span.run != NO_BLOCK) {
            let found = run::read(region, salt, span.run)
                .filter(|(header, _)| (header.first_vertex, header.list) == (first, number));
            report.check(found.is_some(), || {
                format!(
                    "{} at offset {}: no valid run of the vertices from {first} on, list {number}",
                    region.path().display(),
                    u64::from(span.run) * block::LINE_BYTES
                )
            });
            found.into_iter().for_each(|(_, checksum)| tally.add(checksum));
            let locals = (first - first_vertex) as usize..;
            let is_changed = locals.take(SPAN).any(|local| list.is_changed(local));
            report.check(!(span.is_pure && is_changed), || {
                format!("the run of the vertices from {first} on, list {number}, is not all")
            });
        }
    }

    fn verify_chain(
        &self,
        vertex: VertexId,
        number: usize,
        (list, head): (&List, u32),
        tally: &mut Tally,
        report: &mut Verification,
    ) -> bool {
        let region = list.blocks(&self.live.core.machinery.places);
        let salt = self.manifest().salt();
        let mut place = head;
        while place != NO_BLOCK {
            let found = block::read(region, salt, place)
                .filter(|(header, _)| (header.vertex, header.list) == (vertex, number));
            report.check(found.is_some(), || {
                format!(
                    "{} at offset {}: no valid block of vertex {vertex}, list {number}",
                    region.path().display(),
                    u64::from(place) * block::LINE_BYTES
                )
            });
            let Some((header, checksum)) = found else { return false };
            tally.add(checksum);
            place = header.previous;
        }
        true
    }
}
