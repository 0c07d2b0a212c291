//! Checks every invariant of an open graph that can be checked without its history.

use everedge_core::GraphView;

use super::PmaGraph;
use super::array::Array;
use super::shard::Shard;
use everedge_live::Result;
use everedge_live::{Verification, verify_mirror};

impl PmaGraph {
    /// Checks the sums of all sections against their lists, degrees against scans, counts, and that
    /// out- and in-neighbors mirror each other.
    ///
    /// Cost: every array is read twice; 16 bytes a vertex of memory.
    ///
    /// # Errors
    /// If the log's tail cannot be archived.
    pub fn verify(&self) -> Result<Verification> {
        let snapshot = self.snapshot()?;
        let mut report = Verification::default();
        for shard in snapshot.shards() {
            verify_shard(shard, &mut report);
        }
        if snapshot.has_in_neighbors() {
            verify_mirror(&snapshot, &mut report);
        }
        Ok(report)
    }
}

fn verify_shard(shard: &Shard, report: &mut Verification) {
    let first = shard.first_vertex;
    for (side, array) in shard.arrays.iter().enumerate() {
        if let Some(array) = array {
            verify_array(first, side, array, report);
        }
    }
    let bound = shard.bound();
    let has_sections = shard.arrays[0].as_ref().map_or(0, Array::vertex_count) >= bound;
    report.check(has_sections, || format!("shard of vertex {first}: {bound} ids, fewer lists"));
    let degrees =
        |array: &Array| (0..array.vertex_count()).map(|v| u64::from(array.degree(v))).sum();
    let degree_sum: u64 = shard.arrays[0].as_ref().map_or(0, degrees);
    report.check(degree_sum == shard.degree_sum, || {
        format!("shard of vertex {first}: degree sum {degree_sum}, not {}", shard.degree_sum)
    });
}

fn verify_array(first: u32, side: usize, array: &Array, report: &mut Verification) {
    for number in 0..array.sections.len() {
        report.check(array.is_sum_right(number), || {
            format!(
                "{} at offset {}: section {number} of the vertices from {first} on, list {side}, \
                 does not have its sum",
                array.extent.region.path().display(),
                array.extent.offset()
            )
        });
    }
    for local in 0..array.vertex_count() {
        let (degree, scanned) = (array.degree(local) as usize, array.live_entries(local).len());
        report.check(degree == scanned, || {
            let vertex = first as usize + local;
            format!("vertex {vertex}, list {side}: degree {degree}, {scanned} neighbors")
        });
    }
}
