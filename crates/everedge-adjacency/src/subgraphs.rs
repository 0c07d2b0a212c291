//! Sub-graphs: the files of blocks, and which lists lie in which.
//!
//! Source: XPGraph §4.2 (NUMA-aware segregated graph storing): P sub-graphs, each in the memory of
//! one node; or out-lists in that of one and in-lists in that of another.
//! Difference: the paper deals out vertices one by one, v mod P. Here shards are dealt out, so that
//! runs stay pieces of a CSR, and all ids of a range that a thread takes lie on one node.
//!
//! # Invariants
//! - B1: blocks and runs of a list lie in the file of its sub-graph; places count lines in there.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{Homes, par};
use serde::{Deserialize, Serialize};

use super::FIRST_UNIT;
use crate::options::{GraphOptions, Manifest};
use everedge_live::text_form;
use everedge_live::{Error, Result};
use everedge_live::{FILE_BYTES_MAX, Space, UNIT_BYTES};
use everedge_medium::{Region, Site, Volume, numa_nodes};

/// The most sub-graphs that a graph can have.
pub(crate) const SUB_GRAPHS_MAX: usize = 8;
/// Spaces of a shard: its two lists may lie in two sub-graphs.
pub(crate) const SHARD_SPACES: usize = 2;
/// The file of each sub-graph.
pub(crate) const BLOCKS: [&str; SUB_GRAPHS_MAX] =
    ["blocks", "blocks.1", "blocks.2", "blocks.3", "blocks.4", "blocks.5", "blocks.6", "blocks.7"];

const MAGIC: u32 = u32::from_le_bytes(*b"BLKS");
const VERSION: u32 = 3;
const HEADER_WORDS: usize = 4;

/// What is divided among sub-graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Vertices, with all their lists, 4,096 consecutive ones at a time.
    #[default]
    Vertices,
    /// Lists: those of out-neighbors lie in one sub-graph, those of in-neighbors in another.
    Directions,
}

text_form!(Split, "split", Split::Vertices = "vertices", Split::Directions = "directions");

/// Which lists lie in which sub-graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    count: usize,
    split: Split,
}

impl Partition {
    /// Returns the partition of a graph with these options.
    ///
    /// # Errors
    /// `InvalidInput` if there can be no such one.
    pub(crate) fn new(options: &GraphOptions) -> Result<Self> {
        let (count, split) = (options.tuning.sub_graphs as usize, options.tuning.split);
        if !(1..=SUB_GRAPHS_MAX).contains(&count) {
            let what = format!("a graph has 1 to {SUB_GRAPHS_MAX} sub-graphs, not {count}");
            return Err(Error::InvalidInput { what });
        }
        if split == Split::Directions && (count, options.list_count()) != (2, 2) {
            return Err(Error::invalid(
                "split by directions a graph has 2 sub-graphs, is directed and keeps in-neighbors",
            ));
        }
        Ok(Self { count, split })
    }

    /// Returns the sub-graph of a list of the shard number `shard`.
    #[inline]
    pub(crate) fn sub_graph(self, shard: usize, list: usize) -> usize {
        match self.split {
            Split::Vertices => shard % self.count,
            Split::Directions => list,
        }
    }

    /// Returns which of its spaces a shard has for a list: one for each sub-graph that it is in.
    #[inline]
    pub(crate) fn slot(self, list: usize) -> usize {
        match self.split {
            Split::Vertices => 0,
            Split::Directions => list,
        }
    }

    fn file_names(self) -> &'static [&'static str] {
        &BLOCKS[..self.count]
    }

    /// Returns the sub-graph of each space of the shard number `shard`.
    pub(crate) fn of_slots(self, shard: usize) -> [usize; SHARD_SPACES] {
        std::array::from_fn(|slot| self.sub_graph(shard, slot))
    }
}

/// Where the memory of sub-graphs is: number p in that of the p-th NUMA node, or of the one that
/// comes around to p.
#[derive(Clone)]
pub(crate) struct Nodes {
    partition: Partition,
    homes: Option<Arc<Homes>>,
}

impl Nodes {
    /// Looks at the system. On one node, or with one sub-graph, no thread is bound.
    pub(crate) fn of_system(partition: Partition) -> Self {
        let count = partition.count;
        let nodes = if count > 1 { numa_nodes() } else { Vec::new() }.into_iter().take(count);
        Self::new(partition, nodes.map(|node| node.cpus).collect())
    }

    fn new(partition: Partition, processors: Vec<Vec<usize>>) -> Self {
        Self { partition, homes: Homes::new(processors) }
    }

    /// Returns the nodes that threads are bound to, if they are.
    #[inline]
    pub(crate) fn homes(&self) -> Option<&Homes> {
        self.homes.as_deref()
    }

    /// Returns the node of a list of the shard number `shard`.
    pub(crate) fn home(&self, shard: usize, list: usize) -> usize {
        let node_count = self.homes().map_or(1, Homes::node_count);
        self.partition.sub_graph(shard, list) % node_count
    }

    /// Whether the lists of a shard are changed by threads of different nodes.
    pub(crate) fn divide_shards(&self) -> bool {
        self.homes.is_some() && self.partition.split == Split::Directions
    }
}

/// The space of all sub-graphs.
pub(crate) struct SubGraphs {
    pub partition: Partition,
    pub nodes: Nodes,
    spaces: Vec<Arc<Space>>,
}

impl SubGraphs {
    /// Returns empty sub-graphs in these files, one for each.
    pub(crate) fn new(partition: Partition, files: &[Region]) -> Self {
        let space = |file: &Region| Space::new(file.clone(), FIRST_UNIT, Vec::new());
        let mut sub_graphs =
            Self { partition, nodes: Nodes::of_system(partition), spaces: Vec::new() };
        sub_graphs.adopt(files.iter().map(space).collect());
        sub_graphs
    }

    /// Takes the space of each file.
    pub(crate) fn adopt(&mut self, spaces: Vec<Space>) {
        self.spaces = spaces.into_iter().map(Arc::new).collect();
    }

    /// Returns the space of the sub-graph number `sub_graph`.
    #[inline]
    pub(crate) fn space(&self, sub_graph: usize) -> &Arc<Space> {
        &self.spaces[sub_graph]
    }

    /// Returns the space of each sub-graph.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = &Arc<Space>> {
        self.spaces.iter()
    }

    /// After a block found no room: makes some, if there is some now.
    ///
    /// # Errors
    /// `NoSpace` if a medium is still full.
    pub(crate) fn make_room(&self) -> Result<()> {
        self.spaces.iter().try_for_each(|space| space.make_room())
    }

    /// Hands this thread's flushes over to whoever fences next.
    ///
    /// # Errors
    /// `Poisoned` after a failed fence.
    #[track_caller]
    pub(crate) fn drain(&self, site: Site) -> Result<()> {
        for space in &self.spaces {
            space.region().drain(site)?;
        }
        Ok(())
    }

    /// Makes all that was flushed durable.
    ///
    /// # Errors
    /// If a fence fails; it is not tried again.
    #[track_caller]
    pub(crate) fn fence(&self, site: Site) -> Result<()> {
        for space in &self.spaces {
            space.region().fence(site)?;
        }
        Ok(())
    }

    /// Gives the medium back what is past the last unit that was ever used.
    ///
    /// # Errors
    /// If the medium fails.
    pub(crate) fn shrink(&self) -> Result<()> {
        self.spaces.iter().try_for_each(|space| space.shrink())
    }
}

/// Makes the files of an empty graph.
///
/// # Errors
/// If the medium fails.
pub(crate) fn create_files(
    volume: &Volume,
    manifest: &Manifest,
    partition: Partition,
) -> Result<Arc<[Region]>> {
    let preallocate_bytes = manifest.options.preallocate_bytes;
    let create = |(number, name): (usize, &&str)| {
        let region = volume.create_region(name, UNIT_BYTES)?;
        region.store_words(0, &header(manifest.salt(), number));
        region.flush(Site::BlocksHeader, 0..4 * HEADER_WORDS as u64);
        region.fence(Site::BlocksHeader)?;
        if preallocate_bytes > 0 {
            let share = preallocate_bytes.div_ceil(partition.count as u64);
            let bytes = share.min(FILE_BYTES_MAX - UNIT_BYTES).next_multiple_of(UNIT_BYTES);
            region.grow(UNIT_BYTES + bytes)?;
        }
        Ok(region)
    };
    let files: Arc<[Region]> =
        partition.file_names().iter().enumerate().map(create).collect::<Result<_>>()?;
    if preallocate_bytes > 0 {
        // Memory is that of the node on which it is first touched.
        let nodes = Nodes::of_system(partition);
        let home = |&sub_graph: &usize| sub_graph % nodes.homes().map_or(1, Homes::node_count);
        let populate = |sub_graph: usize| files[sub_graph].populate(0..files[sub_graph].len());
        let sub_graphs = (0..files.len()).collect();
        par::map_tasks_at_home(nodes.homes(), sub_graphs, home, populate)
            .into_iter()
            .collect::<Result<()>>()?;
    }
    Ok(files)
}

/// Opens the files of a graph.
///
/// # Errors
/// `Corruption` if one is not what the manifest says; if the medium fails.
pub(crate) fn open_files(
    volume: &Volume,
    manifest: &Manifest,
    partition: Partition,
) -> Result<Arc<[Region]>> {
    let open = |(number, name): (usize, &&str)| {
        let region = volume.open_region(name)?;
        check_header(&region, manifest.salt(), number)?;
        Ok(region)
    };
    partition.file_names().iter().enumerate().map(open).collect()
}

fn header(salt: u32, sub_graph: usize) -> [u32; HEADER_WORDS] {
    let words = [MAGIC, VERSION | (sub_graph as u32) << 16, salt];
    let checksum = crc32c::crc32c_append(salt, bytemuck::cast_slice(&words));
    [words[0], words[1], words[2], checksum]
}

fn check_header(region: &Region, salt: u32, sub_graph: usize) -> Result<()> {
    let damaged = |found: String| Error::Corruption {
        path: region.path().to_owned(),
        offset: 0,
        what: "the header of the block file".into(),
        expected: format!("version {VERSION}, sub-graph {sub_graph} of graph {salt:08x}"),
        found,
    };
    if region.len() < UNIT_BYTES {
        return Err(damaged(format!("{} bytes", region.len())));
    }
    let words: Vec<u32> =
        region.words(0, HEADER_WORDS).iter().map(|word| word.load(Relaxed)).collect();
    // Every word is known, the checksum too, so that there is nothing to compute.
    match region.matches(Site::BlocksHeader, &header(salt, sub_graph)[..], &words) {
        true => Ok(()),
        false => Err(damaged(format!("{words:08x?}"))),
    }
}

#[cfg(test)]
mod tests {
    use everedge_core::{Direction, Edge, GraphView};

    use super::super::{AdjacencyGraph, AdjacencyOptions, Recovery};
    use super::*;
    use everedge_live::SHARD_SPAN;
    use everedge_medium::{MediumKind, VolumeOptions};

    /// Returns a graph in two sub-graphs, as if each of two processors were a node, if there are
    /// two.
    fn graph_on_two_nodes(split: Split) -> Option<AdjacencyGraph> {
        let all: Vec<usize> = numa_nodes().into_iter().flat_map(|node| node.cpus).collect();
        let &[first, second, ..] = &all[..] else {
            println!("skipped: there is one processor only");
            return None;
        };
        let adjacency = AdjacencyOptions { sub_graphs: 2, split, ..AdjacencyOptions::default() };
        let medium = MediumKind::Dram;
        let options = GraphOptions { medium, tuning: adjacency, ..GraphOptions::default() };
        let volume = Volume::create("two nodes".as_ref(), VolumeOptions::new(medium)).unwrap();
        let mut core = AdjacencyGraph::create_core(
            volume,
            Manifest::new(everedge_medium::Kind::Graph, options),
        )
        .unwrap();
        let sub_graphs = &mut core.layout.sub_graphs;
        sub_graphs.nodes = Nodes::new(sub_graphs.partition, vec![vec![first], vec![second]]);
        Some(AdjacencyGraph::assemble(core, Recovery::default()))
    }

    /// Returns edges among the vertices of some shards, in turn.
    fn edges_in(shards: &[usize]) -> Vec<Edge> {
        let place = |i: usize| (shards[i % shards.len()] * SHARD_SPAN + i % SHARD_SPAN) as u32;
        (0..20_000).map(|i| (place(i), place(i + shards.len() * 7))).collect()
    }

    fn check(graph: &AdjacencyGraph, edges: &[Edge]) {
        let snapshot = graph.snapshot().unwrap();
        let mut found = Vec::new();
        snapshot.for_each_edge(|u, v| found.push((u, v)));
        let mut expected = edges.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert!(found == expected);
        assert_eq!(graph.verify().unwrap().problems, [""; 0]);
    }

    #[test]
    fn a_sub_graph_is_changed_by_threads_of_its_node() {
        par::with_threads(2, || {
            let Some(graph) = graph_on_two_nodes(Split::Vertices) else { return };
            let even = edges_in(&[0, 2]);
            graph.insert(&even, None).unwrap();
            graph.archive_all().unwrap();
            assert_eq!(graph.thread_shares(), [2 * even.len() as u64, 0]);
            let odd = edges_in(&[1, 3, 5]);
            graph.insert(&odd, None).unwrap();
            graph.archive_all().unwrap();
            assert_eq!(graph.thread_shares(), [2 * even.len() as u64, 2 * odd.len() as u64]);
            graph.compact().unwrap();
            check(&graph, &[even, odd].concat());
            let snapshot = graph.snapshot().unwrap();
            let homes: Vec<usize> = (0..4)
                .map(|shard| snapshot.home((shard * SHARD_SPAN) as u32, Direction::In))
                .collect();
            assert_eq!((homes, snapshot.homes().is_some()), (vec![0, 1, 0, 1], true));
        })
        .unwrap();
    }

    #[test]
    fn out_lists_are_changed_by_one_node_and_in_lists_by_the_other() {
        par::with_threads(2, || {
            let Some(graph) = graph_on_two_nodes(Split::Directions) else { return };
            let edges = edges_in(&[0, 1, 2, 3, 4]);
            graph.insert(&edges, None).unwrap();
            graph.archive_all().unwrap();
            assert_eq!(graph.thread_shares(), [edges.len() as u64; 2]);
            graph.flush_buffers().unwrap();
            graph.delete(edges.iter().copied().step_by(2)).unwrap();
            let left: Vec<Edge> = edges.iter().copied().skip(1).step_by(2).collect();
            check(&graph, &left);
            let snapshot = graph.snapshot().unwrap();
            assert_eq!(snapshot.home(9, Direction::Out), 0);
            assert_eq!(snapshot.home(9, Direction::In), 1);
        })
        .unwrap();
    }

    #[test]
    fn on_one_node_no_thread_is_bound() {
        let options = GraphOptions {
            tuning: AdjacencyOptions { sub_graphs: 4, ..AdjacencyOptions::default() },
            ..GraphOptions::default()
        };
        let partition = Partition::new(&options).unwrap();
        assert!(Nodes::new(partition, vec![vec![0, 1]]).homes().is_none());
        assert!(!Nodes::new(partition, vec![vec![0, 1]]).divide_shards());
        let of_shards: Vec<usize> = (0..6).map(|shard| partition.sub_graph(shard, 1)).collect();
        assert_eq!(of_shards, [0, 1, 2, 3, 0, 1]);
    }
}
