//! Checks every invariant of an open graph that can be checked without its history.

use super::PmaGraph;
use super::array::Array;
use super::shard::Shard;
use everedge_live::{DELETION, Result, Shared, Verification};

impl PmaGraph {
    /// Checks the sums of all sections against their lists, degrees against scans, counts, that
    /// neighbors are vertices, and that out- and in-neighbors mirror each other. What is damaged is named,
    /// section by section; neighbors are compared only if nothing is.
    ///
    /// Cost: every array is read three times; 16 bytes a vertex of memory.
    ///
    /// # Errors
    /// If the log's tail cannot be archived, or memory is lacking.
    pub fn verify(&self) -> Result<Verification> {
        let find_damage = |shard: &mut Shared<Shard>| match shard.is_checked() {
            true => Vec::new(),
            false => {
                let arrays = shard.make_mut().arrays.iter_mut().flatten();
                arrays.flat_map(Array::find_damage).collect()
            }
        };
        self.live.verify(find_damage, |shard, report| verify_shard(shard, report))
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
    let loops = |array: &Array| (0..array.vertex_count()).map(|v| array.loops(v)).sum();
    let bits = shard.vertices.iter().map(|word| u64::from(word.count_ones())).sum();
    let array = shard.arrays[0].as_ref();
    let counts = [
        ("vertices", bits, shard.vertex_count.into()),
        ("neighbors", array.map_or(0, degrees), shard.degree_sum),
        ("self-loops", array.map_or(0, loops), shard.loop_count),
    ];
    report.check_counts(shard.first_vertex, &counts);
}

fn verify_array(first: u32, side: usize, array: &Array, report: &mut Verification) {
    for number in 0..array.sections.len() {
        let problem = |what: &str| {
            format!(
                "{} at offset {}: section {number} of the vertices from {first} on, list {side}, \
                 does not have its {what}",
                array.extent.region.path().display(),
                array.extent.offset()
            )
        };
        report.check(array.is_sum_right(number), || problem("sum"));
        report.check(array.are_counts_right(number), || problem("counts"));
    }
    for local in 0..array.vertex_count() {
        let (degree, scanned) = (array.degree(local) as usize, array.live_entries(local).len());
        report.check(degree == scanned, || {
            let vertex = first as usize + local;
            format!("vertex {vertex}, list {side}: degree {degree}, {scanned} neighbors")
        });
    }
}

impl Array {
    /// Returns how often a vertex is its own neighbor.
    fn loops(&self, local: usize) -> u64 {
        let vertex = self.first_vertex() + local as u32;
        self.live_entries(local).iter().filter(|edge| edge.0 == vertex).count() as u64
    }

    /// Returns whether words, tombstones and self-loops of a section are as many as are counted.
    fn are_counts_right(&self, number: usize) -> bool {
        let (mut used, mut tombstones, mut loops) = (0, 0, 0);
        for local in self.shape.locals(number..number + 1) {
            let words = self.raw_words(local);
            used += words.len();
            let neighbors = words.iter().step_by(self.shape.entry_words as usize);
            tombstones += neighbors.filter(|&&word| word & DELETION != 0).count();
            loops += self.loops(local);
        }
        let section = &self.sections[number];
        let counted = (section.used as usize, section.tombstones as usize, section.loops.into());
        counted == (used, tombstones, loops)
    }
}
