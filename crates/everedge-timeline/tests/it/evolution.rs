//! Real graphs that changed, with reference answers that nobody here wrote.
//!
//! They lie in a folder `shared/data` beside the repository and are not part of it: where the folder is absent
//! the tests say so and pass.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::PathBuf;

use everedge_core::{Edge, GraphView, VertexId};
use everedge_kernels::{self as kernels, PageRankConfig};
use everedge_medium::Access;
use everedge_timeline::{
    Changes, Depth, Distance, LargestWeight, Probability, Timeline, TimelineOptions, VersionView,
    Width,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::versions::Home;
use crate::windows::check;

/// How far apart PageRanks may be.
const RANK_TOLERANCE: f64 = 1e-9;

/// Edges as they are, of which versions are made.
struct Live {
    timeline: Timeline,
    edges: BTreeSet<Edge>,
    degrees: HashMap<VertexId, u32>,
    changes: Changes,
}

impl Live {
    fn new(timeline: Timeline) -> Self {
        let (edges, degrees, changes) = Default::default();
        Self { timeline, edges, degrees, changes }
    }

    fn insert(&mut self, edge: Edge) {
        if self.edges.insert(edge) {
            self.changes.insert(edge.0, edge.1, None).expect("a valid edge");
            *self.degrees.entry(edge.0).or_default() += 1;
            *self.degrees.entry(edge.1).or_default() += 1;
        }
    }

    /// Deletes an edge, and each of its ends that has no other.
    fn delete(&mut self, edge: Edge) {
        assert!(self.edges.remove(&edge));
        self.changes.delete(edge.0, edge.1).expect("a valid edge");
        for v in [edge.0, edge.1] {
            let degree = self.degrees.get_mut(&v).expect("it has an edge");
            *degree -= 1;
            if *degree == 0 {
                self.changes.set_vertex(v, false).expect("a valid id");
            }
        }
    }

    fn commit(&mut self, time: i64) {
        let changes = std::mem::take(&mut self.changes);
        self.timeline.commit(changes, time, None).expect("room");
    }
}

/// Returns the file of a data set, or says that it is not there.
fn file(name: &str) -> Option<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let path = PathBuf::from(folder).join(name);
    if !path.exists() {
        println!("{name} is not there");
    }
    path.exists().then_some(path)
}

fn text(name: &str) -> Option<String> {
    let (mut text, bytes) = (String::new(), std::fs::read(file(name)?).expect("a file"));
    match name.ends_with(".gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).map(drop),
        false => (&bytes[..]).read_to_string(&mut text).map(drop),
    }
    .expect("text");
    Some(text)
}

/// Holds a version to what is known of it.
fn check_answers(view: &VersionView, expected: &Value, what: &str) {
    let number = |key: &str| expected[key].as_u64().expect(key);
    let mut edges = Vec::new();
    view.for_each_edge(|src, dst| edges.push((src, dst)));
    edges.retain(|&(src, dst)| view.is_directed() || src <= dst);
    edges.sort_unstable();
    assert_eq!(edges.len() as u64, number("edges"), "{what}: edges");
    let lines: String = edges.iter().map(|(src, dst)| format!("{src} {dst}\n")).collect();
    let hash: String = Sha256::digest(lines).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, expected["sha256_sorted_edge_lines"], "{what}: edges");
    assert_eq!(u64::from(view.vertex_count()), number("vertices_with_degree"), "{what}: vertices");
    let wcc = kernels::wcc(view);
    let mut sizes: HashMap<VertexId, u64> = HashMap::new();
    for v in (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)) {
        *sizes.entry(wcc.component[v as usize]).or_default() += 1;
    }
    assert_eq!(sizes.len() as u64, number("wcc_count"), "{what}: components");
    assert_eq!(sizes.values().max(), Some(&number("wcc_largest")), "{what}: components");
    let source = expected["bfs"]["source"].as_u64().expect("a source") as VertexId;
    let bfs = kernels::bfs(view, source).expect("a vertex");
    let mut levels = vec![0; bfs.depth_max() as usize + 1];
    bfs.depth.iter().filter(|&&depth| depth != kernels::UNREACHED).for_each(|&depth| {
        levels[depth as usize] += 1;
    });
    assert_eq!(Value::from(levels), expected["bfs"]["level_counts"], "{what}: depths");
    let coreness = kernels::coreness(view).coreness;
    assert_eq!(coreness.into_iter().max().map(u64::from), Some(number("kcore_max")), "{what}");
    assert_eq!(kernels::triangles(view).count, number("triangles"), "{what}: triangles");
    let config =
        PageRankConfig { tolerance: 1e-12, iterations_max: 1000, ..PageRankConfig::default() };
    let rank = kernels::pagerank(view, &config).expect("it ends").rank;
    for row in expected["pagerank_top10"].as_array().expect("ranks") {
        let (v, expected) = (row[0].as_u64().expect("an id"), row[1].as_f64().expect("a rank"));
        assert!((rank[v as usize] - expected).abs() < RANK_TOLERANCE, "{what}: rank of {v}");
    }
}

fn options(directed: bool) -> TimelineOptions {
    TimelineOptions { directed, weighted: false, in_neighbors: true, simple: false }
}

/// Takes a stream in as 40 versions or so, one of which ends with each checkpoint.
fn check_stream(name: &str) {
    let path = format!("{name}-include-evolution/{name}-include-evolution");
    let Some(stream) = text(&format!("{path}.stream.gz")) else { return };
    let answers: Value =
        serde_json::from_str(&text(&format!("{path}.json")).expect("answers")).expect("JSON");
    let checkpoints = answers["checkpoints"].as_array().expect("checkpoints");
    let home = Home::new();
    let mut live = Live::new(home.create(&options(true)));
    let (step, mut latest) = (stream.lines().count() / 40, 0);
    let mut versions = Vec::new();
    for (number, line) in (1_u64..).zip(stream.lines()) {
        let [_, time, operation, src, dst] =
            line.split(' ').collect::<Vec<_>>()[..].try_into().expect("five fields");
        let id = |text: &str| text.parse().expect("an id");
        latest = latest.max(time.parse::<i64>().expect("a time"));
        match operation {
            "+" => live.insert((id(src), id(dst))),
            _ => live.delete((id(src), id(dst))),
        }
        let checkpoint = checkpoints.iter().find(|found| found["after_ops"] == number);
        if checkpoint.is_some() || number.is_multiple_of(step as u64) {
            live.commit(latest * 1_000_000);
            let version = live.timeline.versions().len() as u64;
            versions.extend(checkpoint.map(|expected| (version, expected)));
        }
    }
    assert_eq!(versions.len(), checkpoints.len());
    drop(live);
    let timeline = home.open(&options(true), Access::Read).expect("it is whole");
    for (version, expected) in versions {
        let view = timeline.at(version).expect("it is there");
        check_answers(&view, expected, &format!("{name}, version {version}"));
    }
    for source in [0, 5] {
        check::<Depth>(&timeline, source, name);
        check::<Distance>(&timeline, source, name);
        check::<Width>(&timeline, source, name);
        check::<LargestWeight>(&timeline, source, name);
        check::<Probability>(&timeline, source, name);
    }
}

#[test]
fn every_checkpoint_of_git_has_the_known_answers() {
    check_stream("git");
}

#[test]
fn every_checkpoint_of_rocksdb_has_the_known_answers() {
    check_stream("rocksdb");
}

#[test]
fn every_checkpoint_of_duckdb_has_the_known_answers() {
    check_stream("duckdb");
}

/// Each snapshot is a state of its own: a version is what differs from the one before.
#[test]
fn every_snapshot_of_autonomous_systems_has_the_known_answers() {
    let folder = "as-snapshots-1997-1998";
    let Some(answers) = text(&format!("{folder}/{folder}.json")) else { return };
    let answers: Value = serde_json::from_str(&answers).expect("JSON");
    let snapshots = answers["snapshots"].as_array().expect("snapshots");
    let home = Home::new();
    let mut live = Live::new(home.create(&options(false)));
    for (time, snapshot) in (0..).zip(snapshots) {
        let name = snapshot["file"].as_str().expect("a name");
        let lines = text(&format!("{folder}/{name}.gz")).expect("a file");
        let numbers = |line: &str| -> Vec<VertexId> {
            line.split([',', '\t', ' ']).filter_map(|field| field.parse().ok()).collect()
        };
        let edges: BTreeSet<Edge> = lines
            .lines()
            .filter_map(|line| <[VertexId; 2]>::try_from(numbers(line)).ok())
            .filter(|[a, b]| a != b)
            .map(|[a, b]| (a.min(b), a.max(b)))
            .collect();
        for edge in live.edges.clone().difference(&edges) {
            live.delete(*edge);
        }
        edges.into_iter().for_each(|edge| live.insert(edge));
        live.commit(time);
    }
    drop(live);
    let timeline = home.open(&options(false), Access::Read).expect("it is whole");
    for (version, expected) in (1..).zip(snapshots) {
        let view = timeline.at(version).expect("it is there");
        check_answers(&view, expected, &format!("autonomous systems, version {version}"));
    }
    check::<Depth>(&timeline, 701, folder);
    check::<Distance>(&timeline, 701, folder);
}
