//! Checks of what shards point to on the medium: once after opening, and all of it on demand.

use std::sync::atomic::Ordering::Relaxed;

use everedge_live::{DELETION, Error, Result, SHARD_SPAN, Shared, Verification};
use everedge_medium::Region;

use super::AdjacencyGraph;
use super::block::{self, LINE_BYTES, NO_BLOCK};
use super::layout::Adjacency;
use super::list::{List, Places};
use super::run::{self, SPAN};
use super::shard::Shard;
use super::table::Entry;

impl AdjacencyGraph {
    /// Checks block checksums and chains, degrees against scans, counts and sums, that neighbors are
    /// vertices, and that out- and in-neighbors mirror each other. What is damaged is named, piece by
    /// piece; neighbors are compared only if nothing is.
    ///
    /// Cost: every block is read three times; 16 bytes a vertex of memory.
    ///
    /// # Errors
    /// If the log's tail cannot be archived, or memory is lacking.
    pub fn verify(&self) -> Result<Verification> {
        let layout = &self.live.core.layout;
        self.live.verify(
            |shard| layout.read_shared(shard).err().into_iter().collect(),
            |shard, report| verify_shard(layout, shard, report),
        )
    }
}

fn verify_shard(layout: &Adjacency, shard: &Shared<Shard>, report: &mut Verification) {
    let Adjacency { places, salt, .. } = layout;
    let mut block_count = 0;
    let problems_before = report.problem_count();
    let pieces = shard.for_each_piece(places, *salt, |piece| {
        block_count += piece.as_ref().map_or(0, |piece| u64::from(*piece == Piece::Block));
        report.check(piece.is_ok(), || piece.err().map_or_else(String::new, |e| e.to_string()));
        Ok(())
    });
    // Lists with damaged pieces cannot be read.
    if pieces.is_err() || report.problem_count() > problems_before {
        return;
    }
    if !shard.is_checked.load(Relaxed)
        && let Err(error) = shard.check_lists(layout)
    {
        return report.check(false, || error.to_string());
    }
    let mut found = Counts { blocks: block_count, ..Counts::default() };
    found.vertices = shard.vertices.iter().map(|word| u64::from(word.count_ones())).sum();
    for (number, list) in shard.lists.iter().enumerate() {
        verify_list(layout, shard, (number, list), &mut found, report);
    }
    let counts = [
        ("blocks", found.blocks, shard.block_count),
        ("vertices", found.vertices, shard.vertex_count.into()),
        ("neighbors", found.degree_sum, shard.degree_sum),
        ("self-loops", found.loops, shard.loop_count),
        ("tombstones", found.tombstones, shard.tombstone_count),
    ];
    report.check_counts(shard.first_vertex, &counts);
}

/// What a shard has, as scans count it.
#[derive(Default)]
struct Counts {
    blocks: u64,
    vertices: u64,
    degree_sum: u64,
    loops: u64,
    tombstones: u64,
}

fn verify_list(
    layout: &Adjacency,
    shard: &Shard,
    (number, list): (usize, &List),
    found: &mut Counts,
    report: &mut Verification,
) {
    let (places, entry_words) = (&layout.places, layout.options.entry_words());
    let first = shard.first_vertex;
    let mut words = Vec::new();
    let is_nothing = |local: usize, entry: Entry| {
        entry == Entry::default() && list.spans[local / SPAN].run == NO_BLOCK
    };
    let rows = list.table.entries().enumerate();
    for (local, entry) in rows.filter(|&(local, entry)| !is_nothing(local, entry)) {
        let vertex = first + local as u32;
        let live = list.live(places, local, entry_words);
        report.check(live.len() == entry.degree as usize, || {
            let (degree, scanned) = (entry.degree, live.len());
            format!("vertex {vertex}, list {number}: degree {degree}, {scanned} neighbors")
        });
        words.clear();
        list.gather(places, local, &mut words);
        let neighbors = words.iter().step_by(entry_words);
        found.tombstones += neighbors.filter(|&&word| word & DELETION != 0).count() as u64;
        if number == 0 {
            found.degree_sum += u64::from(entry.degree);
            found.loops += live.iter().filter(|edge| edge.0 == vertex).count() as u64;
        }
    }
    for (index, span) in list.spans.iter().enumerate().filter(|(_, span)| span.is_pure) {
        let is_changed = (index * SPAN..(index + 1) * SPAN).any(|local| list.is_changed(local));
        report.check(!is_changed, || {
            let vertex = first as usize + index * SPAN;
            format!("the run of the vertices from {vertex} on, list {number}, is not all")
        });
        debug_assert!(span.run != NO_BLOCK);
    }
}

/// What a list points to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Block,
    Run,
}

impl Shard {
    /// Looks at everything that its lists point to.
    ///
    /// # Errors
    /// `Corruption` for the first piece that is damaged or another's.
    pub(crate) fn check_pieces(&self, places: &Places, salt: u32) -> Result<()> {
        self.for_each_piece(places, salt, |piece| piece.map(drop))
    }

    /// Calls `f` for each run and block of its lists; after a damaged block with the next list.
    fn for_each_piece(
        &self,
        places: &Places,
        salt: u32,
        mut f: impl FnMut(Result<Piece>) -> Result<()>,
    ) -> Result<()> {
        // Chains that are longer than all blocks together go in a circle, or meet. An image may count more
        // blocks than its files have lines.
        let lines = |list: &List| list.blocks(places).len() / LINE_BYTES;
        let mut left = self.block_count.min(self.lists.iter().map(lines).sum());
        for (number, list) in self.lists.iter().enumerate() {
            let region = list.blocks(places);
            let firsts = (self.first_vertex..).step_by(SPAN);
            for (first, span) in firsts.zip(&list.spans).filter(|(_, span)| span.run != NO_BLOCK) {
                let header = is_inside(region, span.run).then(|| run::read(region, salt, span.run));
                let header = header
                    .flatten()
                    .filter(|(header, _)| (header.first_vertex, header.list) == (first, number))
                    .filter(|(header, _)| span.unit_count() == header.units());
                let what = || format!("the run of the vertices from {first} on");
                f(header.map(|_| Piece::Run).ok_or_else(|| damaged(region, span.run, what())))?;
            }
            for local in 0..SHARD_SPAN {
                let blocks = (number, list, &mut left);
                self.for_each_block(blocks, (region, salt), local, &mut f)?;
            }
        }
        Ok(())
    }

    fn for_each_block(
        &self,
        (number, list, left): (usize, &List, &mut u64),
        (region, salt): (&Region, u32),
        local: usize,
        f: &mut impl FnMut(Result<Piece>) -> Result<()>,
    ) -> Result<()> {
        let vertex = self.first_vertex + local as u32;
        let (mut place, mut newest) = (list.entry(local).head, u64::MAX);
        while place != NO_BLOCK {
            let found = is_inside(region, place).then(|| block::read(region, salt, place));
            let found = found.flatten().filter(|(header, _)| {
                (header.vertex, header.list) == (vertex, number)
                    && header.sequence <= newest
                    && *left > 0
            });
            let Some((header, _)) = found else {
                let what = format!("the block of vertex {vertex}, list {number}");
                return f(Err(damaged(region, place, what)));
            };
            f(Ok(Piece::Block))?;
            (place, newest, *left) = (header.previous, header.sequence, *left - 1);
        }
        Ok(())
    }
}

fn is_inside(region: &Region, place: u32) -> bool {
    (u64::from(place) + 1) * LINE_BYTES <= region.len()
}

fn damaged(region: &Region, place: u32, what: String) -> Error {
    Error::Corruption {
        path: region.path().to_owned(),
        offset: u64::from(place) * LINE_BYTES,
        what,
        expected: "a whole one with a matching checksum".into(),
        found: "another".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{AdjacencyOptions, GraphOptions, Manifest};
    use everedge_live::{RoundContext, Update};
    use everedge_medium::{Kind, MediumKind, Volume, VolumeOptions};

    /// Returns a graph with edges among 16 vertices, some of them deleted.
    fn graph(path: &std::path::Path, directed: bool) -> AdjacencyGraph {
        let tuning = AdjacencyOptions { archive_threshold: 1, ..AdjacencyOptions::default() };
        let medium = MediumKind::Dram;
        let options = GraphOptions { medium, directed, tuning, ..GraphOptions::default() };
        let volume = Volume::create(path, VolumeOptions::new(medium)).unwrap();
        let graph = AdjacencyGraph::create(volume, Manifest::new(Kind::Graph, options)).unwrap();
        let edges: Vec<_> = (0..160).map(|i| (i % 16, i * 7 % 16)).collect();
        graph.insert(&edges, None).unwrap();
        graph.delete(edges.iter().copied().take(10)).unwrap();
        assert_eq!(graph.verify().unwrap().problems, [""; 0]);
        graph
    }

    /// Changes the first shard, and looks whether that is found.
    fn is_found(directed: bool, change: impl Fn(&Adjacency, &mut Shard)) -> bool {
        let home = tempfile::tempdir().unwrap();
        let graph = graph(&home.path().join("g"), directed);
        let core = &graph.live.core;
        let mut archive = core.up_to_date().unwrap();
        change(&core.layout, archive.own(&core.layout, 0).unwrap());
        drop(archive);
        !graph.verify().unwrap().problems.is_empty()
    }

    #[test]
    fn verification_compares_all_counts() {
        let changes: [fn(&mut Shard); 6] = [
            |shard| shard.vertex_count += 1,
            |shard| shard.degree_sum += 1,
            |shard| shard.loop_count += 1,
            |shard| shard.tombstone_count += 1,
            |shard| shard.block_count += 1,
            |shard| shard.vertices[0] &= !2,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert!(is_found(true, |_, shard| change(shard)), "change {number}");
        }
    }

    /// The lists of an undirected graph mirror themselves: an edge at one end only is found.
    #[test]
    fn verification_compares_both_ends() {
        for directed in [false, true] {
            let is_found = is_found(directed, |layout, shard| {
                let context = layout.context(&RoundContext {
                    first_sequence: 1000,
                    end_sequence: 1001,
                    is_replaying: false,
                    weights: &[],
                });
                shard.append_insertions(&context, 0, 3, &[Update::new(5, 0)]).unwrap();
            });
            assert!(is_found, "directed: {directed}");
        }
    }
}
