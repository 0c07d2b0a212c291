//! Crashes of long work: rounds that `pma` does in groups of shards, and compaction that does a group
//! of shards after the other. One history of each, with images around the borders of the groups.
//!
//! What is recovered is compared by its counts and by sums over its edges, one for each direction.

use everedge_adjacency::{AdjacencyOptions, Merging};
use everedge_core::{Edge, VertexId};
use everedge_live::{Batch, Phases};
use everedge_medium::{Image, ImageRule, Mark, MediumKind, Recorder, Volume};
use everedge_pma::PmaOptions;
use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::adjacency_crash::PMEM;
use crate::explorer::images_max;
use crate::live::LiveGraph;
use crate::model::Random;
use everedge::{GraphOptions, Layout};

/// Updates from which on a round is done in groups.
const GROUPED_UPDATES: usize = 1 << 20;
const SHARD_VERTICES: u64 = 4096;
/// One image of so many is checked, of those that the explorer would check of a small graph.
const SHARE: u64 = 800;

/// What a graph shows: its edges, and the sums over them by both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    edge_count: u64,
    outgoing: u64,
    incoming: u64,
}

impl Sums {
    fn add(&mut self, edge: Edge) {
        self.edge_count += 1;
        self.outgoing = self.outgoing.wrapping_add(mix(edge));
        self.incoming = self.incoming.wrapping_add(mix(edge));
    }

    fn take_away(&mut self, edge: Edge) {
        self.edge_count -= 1;
        self.outgoing = self.outgoing.wrapping_sub(mix(edge));
        self.incoming = self.incoming.wrapping_sub(mix(edge));
    }

    fn of(graph: &LiveGraph) -> Self {
        let view = graph.snapshot().expect("a snapshot");
        let mut sums = Self { edge_count: view.edge_count(), ..Self::default() };
        for v in 0..view.vertex_bound() {
            let outgoing = view.out_neighbors(v).into_iter().map(|to| mix((v, to)));
            let incoming = view.in_neighbors(v).into_iter().map(|from| mix((from, v)));
            sums.outgoing = outgoing.fold(sums.outgoing, u64::wrapping_add);
            sums.incoming = incoming.fold(sums.incoming, u64::wrapping_add);
        }
        sums
    }
}

fn mix((u, v): Edge) -> u64 {
    let mixed = (u64::from(u) << 32 | u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// A history in the making.
struct Big {
    graph: LiveGraph,
    recorder: Recorder,
    random: Random,
    vertex_count: u64,
    edges: Vec<Edge>,
    sums: Sums,
    /// `states[n - 1]`: after the operation n.
    states: Vec<Sums>,
}

impl Big {
    fn new(options: &GraphOptions, shards: u64) -> Self {
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        let graph = LiveGraph::create(volume, options).expect("a graph");
        let (random, edges, states) = (Random(7), Vec::new(), Vec::new());
        let vertex_count = SHARD_VERTICES * shards;
        Self { graph, recorder, random, vertex_count, edges, sums: Sums::default(), states }
    }

    /// Runs what leads to the sums at hand.
    fn operate(&mut self, run: impl FnOnce(&LiveGraph) -> everedge_live::Result<()>) {
        self.states.push(self.sums);
        let number = self.states.len() as u64;
        self.recorder.mark(Mark::Begin(number));
        run(&self.graph).expect("an operation");
        self.recorder.mark(Mark::Acknowledged(number));
    }

    /// Inserts and deletes, together, so many edges, and lets them become part of the lists.
    fn apply(&mut self, insertions: usize, deletions: usize) {
        let mut batch = Batch::new(false);
        for _ in 0..deletions {
            let place = self.random.below(self.edges.len() as u64) as usize;
            let edge = self.edges.swap_remove(place);
            self.sums.take_away(edge);
            batch.delete(edge.0, edge.1).expect("a vertex");
        }
        for _ in 0..insertions {
            let mut vertex = || self.random.below(self.vertex_count) as VertexId;
            let edge = (vertex(), vertex());
            self.edges.push(edge);
            self.sums.add(edge);
            batch.insert(edge.0, edge.1, 1.0).expect("a vertex");
        }
        self.operate(|graph| {
            graph.apply(&batch)?;
            graph.snapshot().map(drop)
        });
    }

    /// Checks images of all that was recorded after the operation `first` had begun; returns how
    /// many.
    fn check(&self, options: &GraphOptions, first: u64) -> u64 {
        assert_eq!(Sums::of(&self.graph), self.sums, "{options:?}");
        let wanted = (images_max() / SHARE).max(4);
        let rule = ImageRule { point_images_max: 4, seed: 1 };
        let mut seen = HashSet::new();
        self.recorder.images(rule, |image| {
            if image.begun() >= first {
                seen.insert(image.digest());
            }
            ControlFlow::Continue(())
        });
        assert!(seen.len() > 4, "{} images", seen.len());
        let (step, mut number, mut images) = ((seen.len() as u64).div_ceil(wanted), 0, 0);
        self.recorder.images(rule, |image| {
            if seen.remove(&image.digest()) {
                number += 1;
                if number % step == 0 {
                    images += 1;
                    self.check_image(image, options);
                }
            }
            ControlFlow::Continue(())
        });
        images
    }

    fn check_image(&self, image: &Image, options: &GraphOptions) {
        let place = format!("{options:?}, point {}, choice {}", image.point(), image.choice());
        let (volume, _recorder) = Volume::from_image(image).expect("memory");
        let open = || match LiveGraph::open(volume.clone(), options.layout) {
            Ok(graph) => graph,
            Err(error) => panic!("{place}: {error}"),
        };
        let graph = open();
        let found = Sums::of(&graph);
        let allowed = &self.states[image.acknowledged() as usize - 1..image.begun() as usize];
        assert!(allowed.contains(&found), "{place}: {found:?}, not one of {allowed:?}");
        assert_eq!(graph.verify().expect("a verification").problems, [""; 0], "{place}");
        // What was recovered takes more, and compaction.
        let mut expected = found;
        let edges: Vec<Edge> = (0..50).map(|v| (v * 997 % 4096, v)).collect();
        edges.iter().for_each(|&edge| expected.add(edge));
        graph.insert(&edges, None).expect("room");
        graph.compact().expect("room");
        drop(graph);
        assert_eq!(Sums::of(&open()), expected, "{place}, after more");
    }
}

/// A round of 2^20 updates and more is done in groups of shards, and each group's arrays become
/// current before the next begins.
#[test]
fn every_image_of_a_grouped_round_recovers() {
    for medium in [PMEM, MediumKind::File] {
        let options = GraphOptions {
            layout: Layout::Pma,
            medium,
            log_bytes: 64 << 20,
            pma: PmaOptions {
                archive_threshold: GROUPED_UPDATES as u64,
                phases: Phases::InTurn,
                ..PmaOptions::default()
            },
            ..GraphOptions::default()
        };
        let mut big = Big::new(&options, 20);
        big.apply(300_000, 0);
        big.apply(GROUPED_UPDATES, 30_000);
        let images = big.check(&options, 2);
        println!("pma {medium}, grouped round: images={images} violations=0");
    }
}

/// Of 64 shards, four are compacted together.
#[test]
fn every_image_of_a_compaction_in_groups_recovers() {
    for (layout, medium) in [
        (Layout::Adjacency, PMEM),
        (Layout::Adjacency, MediumKind::File),
        (Layout::Pma, PMEM),
        (Layout::Pma, MediumKind::File),
    ] {
        let options = GraphOptions {
            layout,
            medium,
            log_bytes: 16 << 20,
            adjacency: AdjacencyOptions {
                archive_threshold: 1 << 16,
                phases: Phases::InTurn,
                merging: Some(Merging::Never),
                compact_percent: 100,
                ..AdjacencyOptions::default()
            },
            pma: PmaOptions {
                archive_threshold: 1 << 16,
                phases: Phases::InTurn,
                ..PmaOptions::default()
            },
            ..GraphOptions::default()
        };
        let mut big = Big::new(&options, 64);
        big.apply(150_000, 0);
        big.apply(20_000, 40_000);
        big.operate(LiveGraph::compact);
        let images = big.check(&options, 3);
        println!("{layout} {medium}, compaction in groups: images={images} violations=0");
    }
}
