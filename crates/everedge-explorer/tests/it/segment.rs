//! What a killed process leaves in its segment: damaged, too small, read by several.

use everedge::GraphOptions;
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions};
use everedge_live::{Error, Phases, Result};
use everedge_medium::{Image, Mark, MediumKind, Recorder, Region, Volume};
use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use everedge_core::VertexId;

use crate::model::{Model, Picture, Random, Update, batch_of};

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const ENOSPC: i32 = 28;
/// The regions of a segment.
const REGIONS: [&str; 3] = ["index", "tables", "buffers"];
const HEADER_BYTES: u64 = 256;
const PAGE_BYTES: u64 = 4096;
/// Vertices of a shard, of which graphs here have several.
const SHARD_SPAN: u32 = 4096;

fn options(weighted: bool) -> GraphOptions {
    GraphOptions {
        medium: PMEM,
        weighted,
        log_bytes: 64 << 10,
        adjacency: AdjacencyOptions {
            archive_threshold: 10,
            phases: Phases::InTurn,
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    }
}

fn create(volume: &Volume, options: &GraphOptions) -> AdjacencyGraph {
    AdjacencyGraph::create(volume.clone(), crate::live::adjacency(options)).expect("a graph")
}

fn picture(graph: &AdjacencyGraph) -> Result<Picture> {
    let snapshot = graph.snapshot()?;
    Ok(Picture::of(&snapshot, &GraphOptions::of_adjacency(&graph.manifest().options)))
}

/// A graph, its recorder, and what it was after each batch.
struct Story {
    options: GraphOptions,
    volume: Volume,
    recorder: Recorder,
    graph: AdjacencyGraph,
    model: Model,
    states: Vec<Picture>,
}

impl Story {
    fn begin(options: GraphOptions) -> Self {
        let (volume, recorder) = Volume::recorded(options.medium, false);
        let graph = create(&volume, &options);
        let model = Model::new(&options);
        let states = vec![model.picture()];
        Self { options, volume, recorder, graph, model, states }
    }

    fn apply(&mut self, updates: &[Update]) {
        self.model.apply(updates);
        self.states.push(self.model.picture());
        let number = self.states.len() as u64 - 1;
        self.recorder.mark(Mark::Begin(number));
        self.graph.apply(&batch_of(updates, self.options.weighted)).expect("applied");
        self.recorder.mark(Mark::Acknowledged(number));
    }

    /// Whether the graph may be so after that kill.
    fn allows(&self, image: &Image, found: &Picture) -> bool {
        self.states[image.acknowledged() as usize..=image.begun() as usize].contains(found)
    }

    /// Returns what kills leave, at most so many of them.
    fn kills(&self, images_max: usize) -> Vec<Image> {
        let mut all = Vec::new();
        self.recorder.images_of_kills(|image| {
            if image.acknowledged() > 0 {
                all.push(image.clone());
            }
            ControlFlow::Continue(())
        });
        let step = all.len().div_ceil(images_max).max(1);
        all.into_iter().rev().step_by(step).collect()
    }

    /// Returns what kills leave that is taken over.
    fn taken_over(&self, images_max: usize) -> Vec<Image> {
        let is_taken_over = |image: &Image| {
            let (volume, _recorder) = Volume::from_killed(image).expect("memory");
            AdjacencyGraph::open(volume).expect("a graph").recovery().taken_over_shards > 0
        };
        self.kills(50).into_iter().filter(is_taken_over).step_by(2).take(images_max).collect()
    }
}

/// A few edges among vertices of some shards, many of them of one vertex.
fn updates(random: &mut Random, shards: u64, count: u64) -> Vec<Update> {
    let vertex = |random: &mut Random| {
        (random.below(12) + random.below(shards) * u64::from(SHARD_SPAN)) as VertexId
    };
    (0..count)
        .map(|_| {
            let from = if random.below(3) == 0 { 0 } else { vertex(random) };
            let (to, weight) = (vertex(random), random.below(9) as f32);
            match random.below(12) {
                0 => Update::Delete(from, to),
                _ => Update::Insert(from, to, weight),
            }
        })
        .collect()
}

fn story(options: GraphOptions, seed: u64) -> Story {
    let mut random = Random(seed);
    let mut story = Story::begin(options);
    for turn in 0..30 {
        let updates = updates(&mut random, 3, 12);
        story.apply(&updates);
        match turn {
            12 => drop(story.graph.compact().expect("compacted")),
            8 | 20 => story.graph.flush_all().expect("flushed"),
            _ => {}
        }
    }
    story
}

/// A way to damage a region.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip { offset: u64, bit: u32 },
    ZeroPage { offset: u64 },
    Cut { len: u64 },
    Grow { len: u64 },
}

fn word_at(region: &Region, offset: u64) -> u32 {
    region.words(offset, 1)[0].load(std::sync::atomic::Ordering::Relaxed)
}

impl Damage {
    /// Damages of every kind in many places.
    fn all_of(name: &str, region: &Region, random: &mut Random) -> Vec<Self> {
        let mut all = Vec::new();
        let len = region.len();
        let header_bytes = if name == "index" { HEADER_BYTES } else { 0 };
        for offset in (0..header_bytes).step_by(4) {
            all.extend([0, 3, 9, 31].map(|bit| Self::Flip { offset, bit }));
        }
        let used: Vec<u64> =
            (header_bytes..len).step_by(4).filter(|&offset| word_at(region, offset) != 0).collect();
        for _ in 0..300.min(used.len() * 8) {
            let offset = used[random.below(used.len() as u64) as usize];
            all.push(Self::Flip { offset, bit: random.below(32) as u32 });
        }
        for _ in 0..60 {
            let offset = random.below(len.max(4) / 4) * 4;
            all.push(Self::Flip { offset, bit: random.below(32) as u32 });
        }
        let mut pages: Vec<u64> = used.iter().map(|offset| offset / PAGE_BYTES).collect();
        pages.dedup();
        all.extend(pages.iter().take(10).map(|page| Self::ZeroPage { offset: page * PAGE_BYTES }));
        all.extend([0, 8, len / 2 / 8 * 8, len - 8].map(|len| Self::Cut { len }));
        all.extend([8, PAGE_BYTES, 1 << 20].map(|more| Self::Grow { len: len + more }));
        all
    }

    fn apply(self, region: &Region) {
        match self {
            Self::Flip { offset, bit } => {
                region.store_words(offset, &[word_at(region, offset) ^ (1 << bit)]);
            }
            Self::ZeroPage { offset } => {
                let words = (region.len() - offset).min(PAGE_BYTES) as usize / 4;
                region.store_words(offset, &vec![0; words]);
            }
            Self::Cut { len } => region.shrink(len).expect("cut"),
            Self::Grow { len } => region.grow(len).expect("grown"),
        }
    }
}

/// What came of damaged segments.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    allowed: u64,
    taken_over: u64,
    refused: u64,
    wrong: u64,
    panics: u64,
}

fn check_damage(story: &Story, image: &Image, name: &str, damage: Damage, tally: &mut Tally) {
    let (volume, _recorder) = Volume::from_killed(image).expect("memory");
    damage.apply(&volume.open_region(name).expect("a region"));
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let graph = AdjacencyGraph::open(volume.clone())?;
        let verification = graph.verify()?;
        let first = picture(&graph)?;
        let (v, far) = (5, 2 * SHARD_SPAN + 20);
        graph.insert(&[(v, far); 20], story.options.weighted.then_some(&[1.0; 20]))?;
        let second = picture(&graph)?;
        let is_taken_over = graph.recovery().taken_over_shards > 0;
        graph.close()?;
        let third = picture(&AdjacencyGraph::open(volume.clone())?)?;
        let is_kept = second == third && second.edge_count == first.edge_count + 20;
        Ok((is_taken_over, is_kept && verification.problems.is_empty(), first))
    }));
    match checked {
        // The test's own view of the graph does not agree with itself.
        Err(panic) if is_of_picture(&*panic) => tally.wrong += 1,
        Err(_) => tally.panics += 1,
        Ok(Err(Error::Corruption { .. })) => tally.refused += 1,
        Ok(Err(error)) => panic!("{name} {damage:?}: {error}"),
        Ok(Ok((is_taken_over, is_sound, found))) if is_sound && story.allows(image, &found) => {
            tally.allowed += 1;
            tally.taken_over += u64::from(is_taken_over);
        }
        Ok(Ok(_)) => tally.wrong += 1,
    }
}

fn is_of_picture(panic: &(dyn Any + Send)) -> bool {
    let said = |text: &String| ["-degree of", "-neighbors of"].iter().any(|it| text.contains(it));
    panic.downcast_ref::<String>().is_some_and(said)
}

/// Whatever a byte says, nothing panics. What the index says is checked as a whole, a row as far as
/// that is free; what buffers hold is memory like any other, and a wrong neighbor in it stays one.
#[test]
fn a_damaged_segment_invents_nothing() {
    for (seed, weighted) in [(1, false), (2, true)] {
        let story = story(options(weighted), seed);
        let mut tallies = [Tally::default(); 3];
        for image in story.taken_over(2) {
            for (name, tally) in REGIONS.into_iter().zip(&mut tallies) {
                let (volume, _recorder) = Volume::from_killed(&image).expect("memory");
                let Ok(region) = volume.open_region(name) else { continue };
                let mut random = Random(seed + image.point());
                for damage in Damage::all_of(name, &region, &mut random) {
                    check_damage(&story, &image, name, damage, tally);
                }
            }
        }
        for (name, tally) in REGIONS.into_iter().zip(&tallies) {
            println!("damaged {name}, weighted {weighted}: {tally:?}");
            assert!(tally.allowed > 0);
            assert_eq!(tally.panics, 0, "{name}");
        }
        assert_eq!(tallies[0].wrong, 0, "index");
        assert!(tallies[1].wrong * 4 < tallies[1].allowed, "tables");
    }
}

/// Whatever call for space fails: lists are whole, in shared memory or not, and a kill after it
/// loses nothing.
#[test]
fn a_segment_that_cannot_grow_is_given_up() {
    let mut taken_over = 0;
    for forever in [false, true] {
        'calls: for n in 0.. {
            let mut story = Story::begin(options(false));
            let mut random = Random(n);
            story.recorder.fail_nth(n, ENOSPC, forever);
            for turn in 0..12 {
                let updates = updates(&mut random, 12, 40);
                let before = story.model.clone();
                story.model.apply(&updates);
                match story.graph.apply(&batch_of(&updates, false)) {
                    Ok(()) => {}
                    Err(Error::NoSpace { .. }) => story.model = before,
                    // It was a sync that failed.
                    Err(Error::Poisoned { .. }) => continue 'calls,
                    Err(error) => panic!("call {n}, turn {turn}: {error}"),
                }
                if story.graph.volume().poisoned().is_some() {
                    continue 'calls;
                }
            }
            let expected = story.model.picture();
            let found = picture(&story.graph).expect("a picture");
            found.assert_equals(&expected, format!("call {n}"));
            let mut last = None;
            story.recorder.images_of_kills(|image| {
                last = Some(image.clone());
                ControlFlow::Continue(())
            });
            let (volume, _recorder) =
                Volume::from_killed(&last.expect("an image")).expect("memory");
            let graph = AdjacencyGraph::open(volume).expect("a graph");
            picture(&graph).expect("a picture").assert_equals(&expected, format!("killed, {n}"));
            taken_over += u64::from(graph.recovery().taken_over_shards > 0);
            if !story.recorder.has_failed() {
                break;
            }
        }
    }
    assert!(taken_over > 0);
}

/// A compaction that finds no room has copied shards that a snapshot shares. What it left says
/// where the copies are, also when the snapshot is gone and its memory is used again.
#[test]
fn a_compaction_without_room_leaves_no_word_of_memory_that_is_not_its() {
    let mut story = Story::begin(options(false));
    // Of so many shards, two are compacted together: the first, and one that is more than fits.
    let (one, other) = (0, 40 * SHARD_SPAN);
    story.apply(&[Update::Insert(one, one, 1.0), Update::Insert(other, other, 1.0)]);
    let vertices: Vec<VertexId> = (16..32).map(|span| span * 256).collect();
    let all = vertices.iter().flat_map(|&u| vertices.iter().map(move |&v| (u, v)));
    let edges: Vec<Update> = all.map(|(u, v)| Update::Insert(u, v, 1.0)).collect();
    (0..14).for_each(|_| story.apply(&edges));
    story.graph.flush_all().expect("flushed");
    let snapshot = story.graph.snapshot().expect("a snapshot");
    story.recorder.fail_nth(0, ENOSPC, true);
    let error = story.graph.compact().expect_err("there is no room");
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    story.recorder.fail_nth(u64::MAX, ENOSPC, false);
    assert!(story.graph.volume().poisoned().is_none());
    story.apply(&[Update::Insert(other, other, 1.0)]);
    story.graph.flush_all().expect("flushed");
    drop(snapshot);
    let first = story.states.len() as u64;
    for shard in 41..44 {
        let v = shard * SHARD_SPAN;
        story.apply(&(0..12).map(|to| Update::Insert(v + to, v, 1.0)).collect::<Vec<_>>());
    }
    let mut taken_over = Vec::new();
    for image in story.kills(2000).into_iter().filter(|image| image.begun() >= first) {
        let (volume, _recorder) = Volume::from_killed(&image).expect("memory");
        let graph = AdjacencyGraph::open(volume).expect("a graph");
        let found = picture(&graph).expect("a picture");
        assert!(story.allows(&image, &found), "point {}", image.point());
        taken_over.push(graph.recovery().taken_over_shards);
    }
    assert!(taken_over[0] > 0, "the last of all is taken over");
}

/// A snapshot reads the memory of a graph that is closed, and of which another has taken the place.
#[test]
fn a_snapshot_outlives_its_segment() {
    let Story { options, volume, recorder, graph, mut model, .. } = story(options(false), 7);
    let (snapshot, expected) = (graph.snapshot().expect("a snapshot"), model.picture());
    graph.close().expect("closed");
    let graph = AdjacencyGraph::open(volume).expect("a graph");
    let updates = updates(&mut Random(8), 3, 500);
    model.apply(&updates);
    graph.apply(&batch_of(&updates, false)).expect("applied");
    let next = picture(&graph).expect("a picture");
    next.assert_equals(&model.picture(), "the next graph");
    Picture::of(&snapshot, &options).assert_equals(&expected, "the snapshot");
    drop(snapshot);
    let mut last = None;
    recorder.images_of_kills(|image| {
        last = Some(image.clone());
        ControlFlow::Continue(())
    });
    let (volume, _recorder) = Volume::from_killed(&last.expect("an image")).expect("memory");
    let graph = AdjacencyGraph::open(volume).expect("a graph");
    assert_eq!(graph.recovery().taken_over_shards, 3, "the snapshot took nothing along");
    picture(&graph).expect("a picture").assert_equals(&model.picture(), "after a kill");
}
