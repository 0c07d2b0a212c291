//! Every version is the graph that its changes lead to, before and after opening anew.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{Csr, GraphView, SplitMix64, VertexId, WeightedView};
use everedge_kernels::{PageRankConfig, pagerank};
use everedge_medium::{Access, Error, MediumKind, Volume, VolumeOptions};
use everedge_timeline::{Changes, Depth, Timeline, TimelineOptions};

use crate::model::{Change, Model, changes, draw};

const SALT: u32 = 7;

fn options(number: u32) -> TimelineOptions {
    TimelineOptions {
        directed: number & 1 == 0,
        weighted: number & 2 != 0,
        in_neighbors: number & 4 == 0,
        simple: number & 8 != 0,
    }
}

/// A directory for a timeline.
pub(crate) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("timeline")
    }

    pub(crate) fn create(&self, options: &TimelineOptions) -> Timeline {
        let volume = Volume::create(&self.path(), VolumeOptions::new(MediumKind::File));
        Timeline::create(&volume.expect("a volume"), SALT, options.clone()).expect("a timeline")
    }

    pub(crate) fn open(
        &self,
        options: &TimelineOptions,
        access: Access,
    ) -> Result<Timeline, Error> {
        let volume = Volume::open(&self.path(), VolumeOptions::new(MediumKind::File), access)?;
        Timeline::open(&volume, SALT, options.clone())
    }
}

#[test]
fn every_version_is_what_its_changes_lead_to() {
    let ids: [Vec<VertexId>; 2] =
        [(0..12).collect(), vec![0, 1, 2, 4095, 4096, 9000, 12287, 12288, 20_000]];
    for number in 0..16 {
        for ids in &ids {
            let (options, home) = (options(number), Home::new());
            let mut random = SplitMix64::new(u64::from(number));
            let (mut model, mut models) = (Model::default(), Vec::new());
            let mut timeline = home.create(&options);
            for version in 0..12 {
                let drawn = draw(&mut random, ids, if version == 0 { 60 } else { 15 });
                let changes = changes(&drawn, &mut model, &options);
                let before = models.last().map_or(0, |model: &Model| model.edges.len()) as u64;
                let added = timeline.commit(changes, version, Some("a name")).expect("room");
                assert_eq!(added.number, version as u64 + 1);
                assert_eq!(before + added.additions - added.deletions, model.edges.len() as u64);
                assert_eq!(added.edges, model.edges.len() as u64);
                models.push(model.clone());
                if version == 6 {
                    drop(timeline);
                    timeline = home.open(&options, Access::Write).expect("it is whole");
                }
                if version == 8 {
                    let (before, window) = (timeline.at(2), timeline.window(1..=5));
                    timeline.rebase(4).expect("room");
                    models[1].check(
                        &before.expect("it was there"),
                        &options,
                        "of a dropped version",
                    );
                    let answered = AtomicUsize::new(0);
                    let source = models[4].vertices.first().copied().unwrap_or(0);
                    let run = window.expect("it was there").run::<Depth>(source, |_| {
                        answered.fetch_add(1, Relaxed);
                    });
                    assert!(run.is_err() || answered.into_inner() == 5);
                }
            }
            let check = |timeline: &Timeline| {
                let numbers: Vec<u64> = timeline.versions().iter().map(|v| v.number).collect();
                assert_eq!(numbers, (4..=12).collect::<Vec<_>>());
                assert!(timeline.at(3).is_err());
                for (number, model) in (1..).zip(&models).skip(3) {
                    let view = timeline.at(number).expect("it is there");
                    model.check(&view, &options, &format!("{options:?} version {number}"));
                    assert_eq!(view.version().name.as_deref(), Some("a name"));
                }
            };
            check(&timeline);
            drop(timeline);
            check(&home.open(&options, Access::Read).expect("it is whole"));
        }
    }
}

/// Edges are found in lists of many chunks, and in any of more versions than a filter has bits.
#[test]
fn edges_are_found_in_long_lists_and_in_many_versions() {
    const IDS: u32 = 800;
    for number in [0, 1, 3, 8, 11] {
        let (options, home) = (options(number), Home::new());
        let mut random = SplitMix64::new(u64::from(number));
        let (mut model, mut models) = (Model::default(), Vec::new());
        let timeline = home.create(&options);
        let first = (0..3).flat_map(|hub| (0..IDS).map(move |v| Change::Insert(hub, v, 1.0)));
        let changes_of = |drawn: &[Change], model: &mut Model| changes(drawn, model, &options);
        let first: Vec<Change> = first.collect();
        timeline.commit(changes_of(&first, &mut model), 0, None).expect("room");
        for version in 1..150 {
            let drawn: Vec<Change> = (0..12)
                .map(|_| {
                    let at = random.below(model.edges.len() as u64) as usize;
                    match random.below(2) {
                        // Half of them are edges that a late version has added.
                        0 => {
                            let late = at.max(model.edges.len().saturating_sub(300));
                            let (src, dst, _) = model.edges[late];
                            Change::Delete(src, dst)
                        }
                        _ => {
                            let [hub, v] = [3, IDS].map(|n| random.below(n.into()) as u32);
                            Change::Insert(hub, v, random.below(3) as f32)
                        }
                    }
                })
                .collect();
            timeline.commit(changes_of(&drawn, &mut model), version, None).expect("room");
            models.push(model.clone());
        }
        for index in [60, 70, 148] {
            let view = timeline.at(index as u64 + 2).expect("it is there");
            models[index].check(&view, &options, &format!("{options:?} version {index}"));
        }
    }
}

/// What a graph is when it is committed is the version, however it came to be so.
#[test]
fn a_graph_is_committed_as_it_is() {
    let ids: Vec<VertexId> = vec![0, 1, 2, 5, 4095, 4096, 9000, 20_000];
    for number in 0..16 {
        let (options, homes) = (options(number), [Home::new(), Home::new()]);
        let [live, mut timeline] = homes.each_ref().map(|home| home.create(&options));
        let mut random = SplitMix64::new(u64::from(number) + 100);
        let (mut model, mut models) = (Model::default(), Vec::new());
        for time in 0..10 {
            for _ in 0..2 {
                let drawn = draw(&mut random, &ids, 12);
                live.commit(changes(&drawn, &mut model, &options), time, None).expect("room");
            }
            let newest = live.versions().last().map_or(0, |version| version.number);
            let graph = live.at(newest).expect("it is there");
            let before = timeline.versions().last().map_or(0, |version| version.edges);
            let version = match time {
                5 => timeline.commit_graph(&Csr::from_weighted_view(&graph), time, Some("a copy")),
                _ => timeline.commit_graph(&graph, time, None),
            };
            let version = version.expect("room");
            assert_eq!(before + version.additions - version.deletions, version.edges);
            models.push(model.clone());
            if time == 3 {
                drop(timeline);
                timeline = homes[1].open(&options, Access::Write).expect("it is whole");
            }
        }
        let unchanged = timeline.commit_graph(&timeline.at(10).expect("it is there"), 10, None);
        let unchanged = unchanged.expect("room");
        assert_eq!((unchanged.additions, unchanged.deletions), (0, 0));
        for (number, model) in (1..).zip(&models) {
            let view = timeline.at(number).expect("it is there");
            model.check(&view, &options, &format!("{options:?} version {number}"));
        }
    }
}

#[test]
fn kernels_run_on_a_version_as_on_a_copy_of_it() {
    let (options, home) = (options(0), Home::new());
    let timeline = home.create(&options);
    let mut random = SplitMix64::new(1);
    let ids: Vec<VertexId> = (0..300).collect();
    let mut model = Model::default();
    for version in 0..5 {
        let drawn = draw(&mut random, &ids, 2000);
        timeline.commit(changes(&drawn, &mut model, &options), version, None).expect("room");
    }
    for version in timeline.versions() {
        let view = timeline.at(version.number).expect("it is there");
        let copy = Csr::from_view(&view);
        let rank = |ranks: Vec<f64>| -> Vec<i64> {
            ranks.into_iter().map(|rank| (rank * 1e12) as i64 / 10).collect()
        };
        let [found, expected] = [
            pagerank(&view, &PageRankConfig::default()).expect("a rank").rank,
            pagerank(&copy, &PageRankConfig::default()).expect("a rank").rank,
        ]
        .map(rank);
        assert_eq!(found, expected);
        assert_eq!(copy.edge_count(), version.edges);
    }
}

#[test]
fn a_version_is_found_by_its_time() {
    let (options, home) = (options(0), Home::new());
    let timeline = home.create(&options);
    for time in [10, 20, 20, 30] {
        timeline.commit(Changes::new(), time, None).expect("room");
    }
    let number = |time| timeline.at_time(time).map(|view| view.version().number).ok();
    assert_eq!(
        [9, 10, 19, 20, 29, 30, 99].map(number),
        [None, Some(1), Some(1), Some(3), Some(3), Some(4), Some(4)]
    );
}

#[test]
fn what_cannot_be_a_version_is_refused_and_changes_nothing() {
    let (options, home) = (options(0), Home::new());
    let timeline = home.create(&options);
    assert!(timeline.at(1).err().is_some_and(|e| e.to_string().contains("no version yet")));
    let mut changes = Changes::new();
    assert!(changes.insert(1 << 31, 0, None).is_err());
    assert!(changes.insert(0, 1, Some(f32::NAN)).is_err());
    assert!(changes.is_empty());
    timeline.commit(Changes::new(), 5, None).expect("room");
    let early = timeline.commit(Changes::new(), 4, None).expect_err("earlier");
    assert!(early.to_string().contains("version 1 is of 5"), "{early}");
    let long = "x".repeat(2000);
    assert!(timeline.commit(Changes::new(), 6, Some(&long)).is_err());
    assert_eq!(timeline.versions().len(), 1);
    let there_are = timeline.at(2).err().expect("none").to_string();
    assert!(there_are.contains("from 1 to 1"), "{there_are}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what someone does to the files")]
fn what_is_whole_is_salvaged_and_all_damage_is_told() {
    let (options, home) = (options(0), Home::new());
    let timeline = home.create(&options);
    let path = |name: &str| home.path().join(name);
    // By version, the place of its last byte that is not 0.
    let mut ends = vec![0];
    for version in 1..=5 {
        let mut changes = Changes::new();
        (0..version).for_each(|v| changes.insert(v, 9, None).expect("ids"));
        changes.delete(0, 9).expect("ids");
        timeline.commit(changes, 0, None).expect("room");
        let bytes = std::fs::read(path("versions.0")).expect("a file");
        ends.push(bytes.iter().rposition(|&byte| byte != 0).expect("it has some"));
    }
    drop(timeline);
    let salvage = |damages: &[(&str, usize)]| {
        let whole = ["versions", "versions.0"].map(|name| std::fs::read(path(name)).expect("one"));
        for &(name, at) in damages {
            let mut bytes = std::fs::read(path(name)).expect("a file");
            bytes[at] ^= 1;
            std::fs::write(path(name), bytes).expect("room");
        }
        assert!(home.open(&options, Access::Read).is_err(), "{damages:?}");
        let kind = VolumeOptions::new(MediumKind::File);
        let volume = Volume::open(&home.path(), kind, Access::Read).expect("a volume");
        let (timeline, damage) =
            Timeline::salvage(&volume, SALT, options.clone()).expect("there are versions");
        let versions = timeline.versions().len();
        drop((timeline, volume));
        for (name, bytes) in ["versions", "versions.0"].iter().zip(whole) {
            std::fs::write(path(name), bytes).expect("room");
        }
        (versions, damage.len())
    };
    assert_eq!(salvage(&[("versions.0", ends[3]), ("versions.0", ends[5])]), (2, 2));
    assert_eq!(salvage(&[("versions.0", ends[4])]), (3, 1));
    assert_eq!(salvage(&[("versions", 9)]), (5, 1), "which file counts");
    assert_eq!(salvage(&[("versions.0", 70)]), (5, 1), "where versions end");
    assert_eq!(salvage(&[("versions.0", 5)]), (5, 1), "the head of the file");
    std::fs::remove_file(path("versions")).expect("a file");
    assert!(home.open(&options, Access::Read).is_err());
}

#[test]
fn a_vertex_that_ends_has_no_edges() {
    for number in 0..16 {
        let (options, home) = (options(number), Home::new());
        let timeline = home.create(&options);
        let ending = |v: VertexId| {
            let mut changes = Changes::new();
            changes.set_vertex(v, false).expect("an id");
            changes
        };
        let refused = |changes: Changes| {
            let error = timeline.commit(changes, 1, None).expect_err("it has edges").to_string();
            assert!(error.contains("ends and still has edges"), "{error}");
        };
        let mut at_once = Changes::new();
        at_once.insert(0, 10, None).expect("ids");
        at_once.set_vertex(10, false).expect("an id");
        refused(at_once);
        let mut changes = Changes::new();
        changes.insert(10, 5, None).expect("ids");
        changes.insert(0, 10, None).expect("ids");
        changes.insert(0, 11, None).expect("ids");
        timeline.commit(changes, 1, None).expect("room");
        refused(ending(10));
        if !options.directed || options.in_neighbors {
            refused(ending(11));
        }
        let mut changes = ending(10);
        changes.delete(10, 5).expect("ids");
        changes.delete(0, 10).expect("ids");
        timeline.commit(changes, 1, None).expect("room");
        drop(timeline);
        let timeline = home.open(&options, Access::Read).expect("it is whole");
        let newest = timeline.newest().expect("two versions");
        assert_eq!((newest.number, newest.vertices, newest.edges), (2, 3, 1), "{options:?}");
    }
}

#[test]
fn all_of_very_many_equal_edges_may_go() {
    const COUNT: u32 = 100_000;
    for number in [0, 1] {
        let (options, home) = (options(number), Home::new());
        let timeline = home.create(&options);
        let change = |change: &dyn Fn(&mut Changes) -> Result<(), Error>, count: u32| {
            let mut changes = Changes::new();
            (0..count).try_for_each(|_| change(&mut changes)).expect("ids");
            timeline.commit(changes, 1, None).expect("room")
        };
        change(&|changes| changes.insert(3, 7, None), COUNT);
        change(&|changes| changes.insert(3, 8, None), 1);
        assert_eq!(change(&|changes| changes.delete(3, 7), COUNT).edges, 1);
        timeline.rebase(2).expect("room");
        let edges = [2, 3].map(|number| timeline.at(number).expect("a version").edge_count());
        assert_eq!(edges, [u64::from(COUNT) + 1, 1], "{options:?}");
    }
}

/// Of a pair whose edges are set anew, those go that are not said again: here the first and the last, whose weights do not
/// ascend.
#[test]
fn edges_of_a_pair_are_set_whatever_their_weights() {
    for number in [2, 3] {
        let (options, home) = (options(number), Home::new());
        let timeline = home.create(&options);
        let insert = |changes: &mut Changes, weights: &[f32]| {
            weights.iter().for_each(|&weight| changes.insert(1, 2, Some(weight)).expect("an id"));
        };
        let mut first = Changes::new();
        insert(&mut first, &[9.0, 4.0, 7.0, 1.0]);
        timeline.commit(first, 0, None).expect("room");
        let mut again = Changes::new();
        again.clear(1, 2).expect("an id");
        insert(&mut again, &[7.0, 4.0]);
        let version = timeline.commit(again, 1, None).expect("room");
        assert_eq!((version.additions, version.deletions), (0, 2), "{options:?}");
        let [came, went] = timeline.window(1..=2).expect("two versions").difference();
        assert_eq!((came, went), (vec![], vec![(1, 2, 1.0), (1, 2, 9.0)]), "{options:?}");
        drop(timeline);
        let view =
            home.open(&options, Access::Read).expect("it is whole").at(2).expect("it is there");
        let mut weights: Vec<f32> = view.out_edges(1).map(|(_, weight)| weight).collect();
        weights.sort_by(f32::total_cmp);
        assert_eq!(weights, [4.0, 7.0], "{options:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what someone does to the file")]
fn damage_is_found_and_named() {
    let (options, home) = (options(2), Home::new());
    let mut random = SplitMix64::new(5);
    let mut model = Model::default();
    let timeline = home.create(&options);
    for version in 0..3 {
        let drawn = draw(&mut random, &[0, 1, 2, 3], 20);
        timeline.commit(changes(&drawn, &mut model, &options), version, Some("v")).expect("room");
    }
    drop(timeline);
    let path = home.path().join("versions.0");
    let whole = std::fs::read(&path).expect("a file");
    let used = whole.iter().rposition(|&byte| byte != 0).expect("something") + 1;
    let (mut refused, mut harmless) = (0, 0);
    for at in (0..used).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).expect("room");
        let opened = home.open(&options, Access::Read);
        let read = opened.and_then(|timeline| {
            (1..=3).try_for_each(|number| {
                timeline.at(number).map(|view| {
                    (0..view.vertex_bound()).for_each(|v| view.out_edges(v).for_each(|_| ()));
                })
            })
        });
        match read {
            Ok(()) => harmless += 1,
            Err(Error::Corruption { .. } | Error::Version { .. }) => refused += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    // Between the end and the first version, and behind each version, nothing is used.
    assert!(harmless < 64 * 8, "{harmless} of {used} bytes, {refused} refused");
    for len in (0..used).step_by(8) {
        std::fs::write(&path, &whole[..len]).expect("room");
        let opened = home.open(&options, Access::Read).map(drop);
        assert!(matches!(opened, Err(Error::Corruption { .. })), "{len} bytes: {opened:?}");
    }
}

/// Words of a header; where its lengths and checksums begin, and how many there are.
const HEADER_WORDS: usize = 64;
const PARTS_START: usize = 20;
const PART_COUNT: usize = 17;

/// Gives each version in a file the checksums of what it says, as far as it can be followed.
fn seal(words: &mut [u32], end: usize) {
    let crc = |words: &[u32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        crc32c::crc32c_append(SALT, &bytes)
    };
    let mut first = 64;
    while first + HEADER_WORDS < end {
        let mut start = first + HEADER_WORDS;
        for part in 0..PART_COUNT {
            let at = first + PARTS_START + 2 * part;
            let Some(of_part) = words.get(start..start.saturating_add(words[at] as usize)) else {
                break;
            };
            (words[at + 1], start) = (crc(of_part), start + of_part.len());
        }
        words[first] = crc(&words[first + 1..first + HEADER_WORDS]);
        first = start.next_multiple_of(16);
    }
}

/// Whoever knows the identity can compute checksums.
#[test]
#[expect(clippy::disallowed_methods, reason = "what someone does to the file")]
fn whatever_a_file_says_is_refused_or_read() {
    let numbers = [0, 1, 2, 5, 4096, 1 << 16, u32::MAX / 2, u32::MAX];
    for number in [0, 3, 5] {
        let (options, home) = (options(number), Home::new());
        let mut random = SplitMix64::new(9);
        let mut model = Model::default();
        let timeline = home.create(&options);
        for version in 0..3 {
            let drawn = draw(&mut random, &[0, 1, 2, 3, 5000], 12);
            timeline.commit(changes(&drawn, &mut model, &options), version, None).expect("room");
        }
        drop(timeline);
        let path = home.path().join("versions.0");
        let whole: Vec<u32> = std::fs::read(&path)
            .expect("a file")
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("a word")))
            .collect();
        let pointer = std::fs::read(home.path().join("versions")).expect("a file");
        let end = whole.iter().rposition(|&word| word != 0).expect("something") + 1;
        let (mut refused, mut taken) = (0, 0);
        // Rows have many ends: some of them do.
        for at in (64..end).filter(|at| *at < 64 + HEADER_WORDS + 40 || at.is_multiple_of(7)) {
            let new = numbers[random.below(numbers.len() as u64) as usize];
            let is_bound = whole[at] == model_bound(&model) && at % 16 == 10;
            let mut words = whole.clone();
            words[at] = if is_bound { new.min(1 << 16) } else { new };
            seal(&mut words, end);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            std::fs::write(&path, &bytes).expect("room");
            std::fs::write(home.path().join("versions"), &pointer).expect("room");
            match use_all(&home, &options) {
                Ok(()) => taken += 1,
                Err(Error::Corruption { .. } | Error::InvalidInput { .. }) => refused += 1,
                Err(error) => panic!("word {at}: {error}"),
            }
        }
        assert!(refused > 100 && taken > 0, "{refused} refused, {taken} taken");
    }
}

fn model_bound(model: &Model) -> u32 {
    model.vertices.last().map_or(0, |v| v + 1)
}

/// Reads all versions, asks a window, adds a version, and lets old ones go.
fn use_all(home: &Home, options: &TimelineOptions) -> Result<(), Error> {
    let timeline = home.open(options, Access::Read)?;
    for version in timeline.versions() {
        let view = timeline.at(version.number)?;
        view.vertex_ranges().into_iter().flatten().for_each(|v| view.out_edges(v).for_each(drop));
        pagerank(&view, &PageRankConfig::default()).expect("ranks");
    }
    let numbers: Vec<u64> = timeline.versions().iter().map(|version| version.number).collect();
    if let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) {
        let _ = timeline.window(first..=last)?.run::<Depth>(0, |_| ());
    }
    drop(timeline);
    let timeline = home.open(options, Access::Write)?;
    let mut changes = Changes::new();
    for (src, dst) in (0..6).flat_map(|src| (0..6).map(move |dst| (src, dst))) {
        changes.delete(src, dst)?;
    }
    timeline.commit(changes, i64::MAX, None)?;
    numbers.get(1).map_or(Ok(()), |&number| timeline.rebase(number))
}
