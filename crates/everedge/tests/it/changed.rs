//! A sealed graph with changes over it is the graph that the same updates make of a live one.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of a graph")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use everedge::{
    ChangeCounts, Changer, Chunks, Edge, Error, ExternalId, Graph, GraphOptions, IdKind, Kernel,
    MediumKind, SealOptions, Timeline, TimelineOptions, View, Watch,
};
use everedge_medium::{Access, Volume, VolumeOptions};

use crate::sealed::{answer, check_same};

const SEED: u64 = 0x5eed_2027;
/// Names that edges have before the graph is sealed, and in all.
const NAMES_BEFORE: u64 = 14;
const NAMES: u64 = 20;
/// How often a graph is opened to be changed before its changes are sealed, and how often that is done.
const ROUNDS: u64 = 3;
const SEALS: u64 = 2;

/// An edge with its weight.
type Weighted = ((u64, u64), f32);

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// Returns edges between names below `bound`, many of which come again.
    fn edges(&mut self, count: u64, bound: u64) -> Vec<Weighted> {
        let mut edge = || {
            let below = 1 + self.below(bound);
            let edge = (self.below(bound), self.below(below));
            (edge, [0.25, 0.5, 1.0][self.below(3) as usize])
        };
        (0..count).map(|_| edge()).collect()
    }
}

/// What a graph must hold.
struct Model {
    options: GraphOptions,
    edges: BTreeMap<(u64, u64), Vec<f32>>,
    vertices: BTreeSet<u64>,
}

impl Model {
    fn key(&self, (u, v): (u64, u64)) -> (u64, u64) {
        if self.options.directed { (u, v) } else { (u.min(v), u.max(v)) }
    }

    /// Returns how many edges are new.
    fn insert(&mut self, edges: &[Weighted]) -> u64 {
        let mut new = 0;
        for &((u, v), weight) in edges {
            self.vertices.extend([u, v]);
            let key = self.key((u, v));
            let weights = self.edges.entry(key).or_default();
            let is_there = self.options.simple && !weights.is_empty();
            if is_there {
                weights.clear();
            }
            weights.push(if self.options.weighted { weight } else { 1.0 });
            new += u64::from(!is_there);
        }
        new
    }

    /// Returns how many edges are deleted.
    fn delete(&mut self, edges: &[Weighted]) -> u64 {
        let mut deleted = 0;
        for &(edge, _) in edges {
            let key = self.key(edge);
            deleted += u64::from(self.edges.get_mut(&key).and_then(Vec::pop).is_some());
        }
        deleted
    }

    /// Returns all edges, sorted.
    fn sorted(&self) -> Vec<(String, String, f32)> {
        let of = |(&(u, v), weights): (&(u64, u64), &Vec<f32>)| {
            weights.iter().map(|&w| (name(u), name(v), w)).collect::<Vec<_>>()
        };
        sorted(self.edges.iter().flat_map(of).collect())
    }
}

/// What name `number` is called, in each kind of ids.
fn name(number: u64) -> String {
    (number * 3 + 1).to_string()
}

fn sorted(mut edges: Vec<(String, String, f32)>) -> Vec<(String, String, f32)> {
    edges.sort_by(|a, b| a.partial_cmp(b).unwrap());
    edges
}

/// Returns the edges of a view by the names of their ends, as the model has them.
fn edges_of(view: &View, is_directed: bool) -> Vec<(String, String, f32)> {
    let mut edges = Vec::new();
    let all = view.for_each_arc(|u, v, weight| {
        let number = |v: u32| view.name_of(v).to_string().parse::<u64>().unwrap();
        // Of an undirected edge, which comes from both ends, that from the smaller.
        if is_directed || number(u) <= number(v) {
            edges.push((number(u).to_string(), number(v).to_string(), weight));
        }
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(all, Ok(()));
    view.check_reads().unwrap();
    sorted(edges)
}

/// Returns the numbers of edges in a live graph.
fn in_graph(graph: &Graph, edges: &[Weighted]) -> Vec<Edge> {
    let ends: Vec<u64> = edges.iter().flat_map(|&((u, v), _)| [u * 3 + 1, v * 3 + 1]).collect();
    let texts: Vec<String> = ends.iter().map(u64::to_string).collect();
    let ends = match graph.options().ids {
        IdKind::Dense => ends.into_iter().map(|id| id as u32).collect(),
        IdKind::Integer => graph.intern_integers(&ends).unwrap(),
        IdKind::Text => graph.intern_texts(texts.iter().map(String::as_str)).unwrap(),
    };
    ends.chunks(2).map(|ends| (ends[0], ends[1])).collect()
}

/// The same in a sealed graph that is changed.
fn in_changer(changer: &Changer, edges: &[Weighted]) -> Vec<Edge> {
    let ends: Vec<u64> = edges.iter().flat_map(|&((u, v), _)| [u * 3 + 1, v * 3 + 1]).collect();
    let texts: Vec<String> = ends.iter().map(u64::to_string).collect();
    let ends = match changer.options().ids {
        IdKind::Text => changer.intern_texts(texts.iter().map(String::as_str)).unwrap(),
        _ => changer.intern_integers(&ends).unwrap(),
    };
    ends.chunks(2).map(|ends| (ends[0], ends[1])).collect()
}

fn weights(edges: &[Weighted], is_weighted: bool) -> Option<Vec<f32>> {
    is_weighted.then(|| edges.iter().map(|&(_, weight)| weight).collect())
}

/// Returns a live graph in memory of the first edges.
fn live(options: &GraphOptions, edges: &[Weighted]) -> Graph {
    let options = GraphOptions { medium: MediumKind::Dram, ..options.clone() };
    let graph = Graph::create("changed".as_ref(), &options, false).unwrap();
    graph.insert(&in_graph(&graph, edges), weights(edges, options.weighted).as_deref()).unwrap();
    graph
}

fn seal(view: &View, path: &Path) {
    Chunks::seal(view, path, &SealOptions::default(), &Watch::new()).unwrap();
}

/// Returns the view of a sealed graph for a kernel, in the least memory that does.
fn in_least_memory(path: &Path, kernel: Kernel) -> View {
    let view = |memory| Chunks::open(path, Some(memory)).and_then(|chunks| chunks.view_for(kernel));
    let (mut least, mut told) = (1, String::new());
    // While only the size of the changes is known, it is a bound; then it is what would do.
    while let Err(refused) = view(least) {
        let refused = refused.to_string();
        let numbers = refused.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let more = numbers.max().unwrap();
        assert!(more > least && told != refused, "{refused}");
        (least, told) = (more, refused);
    }
    assert!(told.contains(" would do"), "{told}");
    assert!(view(least - 1).is_err(), "{told}");
    view(least).unwrap()
}

/// Compares a sealed graph with the model.
fn check(path: &Path, model: &Model, place: &str) {
    let chunks = Chunks::open(path, Some(64 << 20)).unwrap();
    let view = chunks.view(0).unwrap();
    let expected = model.sorted();
    assert!(edges_of(&view, model.options.directed) == expected, "{place}: other edges");
    let counts = (chunks.edge_count(), view.edge_count(), chunks.vertex_count());
    let (edges, vertices) = (expected.len() as u64, model.vertices.len() as u32);
    assert_eq!(counts, (edges, edges, vertices), "{place}");
    let mut degrees: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for &v in &model.vertices {
        degrees.insert(name(v), (0, 0));
    }
    for (u, v, _) in &expected {
        degrees.get_mut(u).unwrap().0 += 1;
        degrees.get_mut(v).unwrap().1 += 1;
        if !model.options.directed && u != v {
            degrees.get_mut(v).unwrap().0 += 1;
            degrees.get_mut(u).unwrap().1 += 1;
        }
    }
    let found =
        view.vertices().into_iter().zip(view.out_degrees().into_iter().zip(view.in_degrees()));
    let found: BTreeMap<String, (u32, u32)> =
        found.map(|(v, degrees)| (view.name_of(v).to_string(), degrees)).collect();
    assert_eq!(found, degrees, "{place}");
    for v in view.vertices() {
        assert_eq!(view.find(&view.name_of(v).to_string()), Some(v), "{place}");
    }
}

/// Compares the answers of kernels with those of a live graph.
fn check_kernels(path: &Path, live: &View) {
    for &kernel in Kernel::ALL {
        let sealed = in_least_memory(path, kernel);
        let (found, in_short) = answer(&sealed, kernel);
        let (expected, expected_in_short) = answer(live, kernel);
        check_same(kernel, (&found, &in_short), (&expected, &expected_in_short));
    }
}

/// Changes a sealed graph in batches, closes it now and then or not, seals it again, and holds it to the model.
fn play(options: &GraphOptions, seed: u64, with_kernels: bool) {
    let place = format!(
        "seed {seed}, directed={} simple={} weighted={} in={} ids={}",
        options.directed, options.simple, options.weighted, options.in_neighbors, options.ids
    );
    let home = tempfile::tempdir().unwrap();
    let mut path = home.path().join("0");
    let mut random = Random(seed);
    let first = random.edges(120, NAMES_BEFORE);
    let graph = live(options, &first);
    let mut model =
        Model { options: options.clone(), edges: BTreeMap::new(), vertices: BTreeSet::new() };
    model.insert(&first);
    // Names without a vertex, as a batch that was refused leaves them: later batches use some.
    let _ = in_graph(&graph, &[((NAMES_BEFORE + 1, NAMES - 1), 1.0)]);
    seal(&graph.snapshot().unwrap(), &path);
    check(&path, &model, &place);
    // A view shows parallel edges in any order, so once they are sealed with their weights the newest may be another one.
    let seals = if options.weighted && !options.simple { 1 } else { SEALS };
    for number in 1..=seals {
        for round in 0..ROUNDS {
            let place = format!("{place}, seal {number}, round {round}");
            let changer = Chunks::change(&path, false).unwrap();
            for _ in 0..1 + random.below(3) {
                change(&changer, &graph, (&mut model, &mut random), &place);
            }
            let is_in_use = |error: &Error| error.to_string().contains("in use");
            assert!(Chunks::open(&path, None).is_err_and(|error| is_in_use(&error)));
            assert!(Chunks::change(&path, false).is_err_and(|error| is_in_use(&error)));
            match round % 2 {
                0 => changer.close().unwrap(),
                _ => drop(changer),
            }
            check(&path, &model, &place);
        }
        let found = Chunks::verify(&path).unwrap();
        assert!(found.ok, "{place}: {:?}", found.problems);
        if with_kernels {
            check_kernels(&path, &graph.snapshot().unwrap());
        }
        let merged = home.path().join(number.to_string());
        seal(&Chunks::open(&path, None).unwrap().view(0).unwrap(), &merged);
        check(&merged, &model, &format!("{place}, sealed {number} times"));
        let chunks = Chunks::open(&merged, None).unwrap();
        assert!(chunks.change_counts().is_none() && chunks.options().ids == options.ids, "{place}");
        path = merged;
    }
    if with_kernels {
        check_kernels(&path, &graph.snapshot().unwrap());
    }
}

/// Applies a batch to a sealed graph, a live one and the model.
fn change(
    changer: &Changer,
    graph: &Graph,
    (model, random): (&mut Model, &mut Random),
    place: &str,
) {
    let (count, bound) = (1 + random.below(40), NAMES_BEFORE + 6 * random.below(2));
    let edges = random.edges(count, bound.min(NAMES));
    if random.below(2) == 0 {
        let weights = weights(&edges, model.options.weighted);
        graph.insert(&in_graph(graph, &edges), weights.as_deref()).unwrap();
        let changed = changer.insert(&in_changer(changer, &edges), weights.as_deref()).unwrap();
        assert_eq!(changed.inserted, model.insert(&edges), "{place}");
    } else {
        graph.delete(&in_graph(graph, &edges)).unwrap();
        let changes = changer.delete(&in_changer(changer, &edges)).unwrap();
        let deleted = model.delete(&edges);
        let expected = (deleted, edges.len() as u64 - deleted);
        assert_eq!((changes.deleted, changes.ignored_deletions), expected, "{place}");
    }
    let totals = (model.vertices.len() as u64, model.sorted().len() as u64);
    assert_eq!(changer.totals(), totals, "{place}");
}

#[test]
fn changes_are_those_of_a_plain_model() {
    for bits in 0..8 {
        let [directed, simple, weighted] = [1, 2, 4].map(|bit| bits & bit != 0);
        let ids = [IdKind::Dense, IdKind::Integer, IdKind::Text][bits % 3];
        let options = GraphOptions { directed, simple, weighted, ids, ..GraphOptions::default() };
        play(&options, SEED + bits as u64, true);
    }
    for (simple, ids) in [(true, IdKind::Text), (false, IdKind::Dense)] {
        let options = GraphOptions { in_neighbors: false, simple, ids, ..GraphOptions::default() };
        play(&options, SEED, false);
    }
}

/// Seals a small graph of text ids with weights at `path`, and changes it.
fn changed(path: &Path) -> Vec<(String, String, f32)> {
    let options = GraphOptions { ids: IdKind::Text, weighted: true, ..GraphOptions::default() };
    let first: Vec<Weighted> = (0..20).map(|i| ((i, i * i % 20), 0.5)).collect();
    seal(&live(&options, &first).snapshot().unwrap(), path);
    let changer = Chunks::change(path, false).unwrap();
    let more: Vec<Weighted> = (0..9).map(|i| ((30 + i, i), 2.0)).collect();
    changer.insert(&in_changer(&changer, &more), weights(&more, true).as_deref()).unwrap();
    changer.delete(&in_changer(&changer, &first[3..9])).unwrap();
    changer.close().unwrap();
    edges_of(&Chunks::open(path, None).unwrap().view(0).unwrap(), true)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn changes_of_another_graph_are_damage() {
    let home = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| home.path().join(name));
    changed(&one);
    changed(&other);
    fs::remove_dir_all(other.join("changes")).unwrap();
    copy(&one.join("changes"), &other.join("changes"));
    let errors =
        [Chunks::open(&other, None).err().unwrap(), Chunks::change(&other, false).err().unwrap()];
    for error in errors {
        let what = error.to_string();
        assert!(error.is_damage() && what.contains("changes/base"), "{what}");
        assert!(what.contains("put the directory back"), "{what}");
    }
    let found = Chunks::verify(&other).unwrap();
    assert!(!found.ok && found.problems[0].contains("changes/base"), "{found:?}");
    assert!(Chunks::verify(&one).unwrap().ok);
}

/// Whoever moves the directory and leaves a link must not lose what it holds in silence.
#[test]
fn a_link_to_no_changes_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let [path, far] = ["g", "far"].map(|name| home.path().join(name));
    let expected = changed(&path);
    fs::rename(path.join("changes"), &far).unwrap();
    std::os::unix::fs::symlink("../far", path.join("changes")).unwrap();
    let edges = || Chunks::open(&path, None).map(|chunks| edges_of(&chunks.view(0).unwrap(), true));
    assert_eq!(edges().unwrap(), expected);
    fs::rename(&far, home.path().join("further")).unwrap();
    for has_directory in [false, true] {
        if has_directory {
            fs::create_dir(&far).unwrap();
        }
        let errors = [
            edges().err().unwrap(),
            Chunks::change(&path, false).err().unwrap(),
            Chunks::verify(&path).unwrap_err(),
        ];
        for error in errors {
            let what = error.to_string();
            assert!(what.contains("g/changes") && what.contains("it is a link"), "{what}");
        }
    }
}

/// Gives a sealed graph some changes with a vertex that it has not.
fn with_new_vertex(path: &Path, name: u64) {
    let changer = Chunks::change(path, false).unwrap();
    changer.insert(&in_changer(&changer, &[((1, name), 1.0)]), None).unwrap();
    changer.close().unwrap();
}

#[test]
fn names_of_other_changes_are_damage() {
    let home = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| home.path().join(name));
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    seal(&live(&options, &[((1, 2), 1.0)]).snapshot().unwrap(), &one);
    copy(&one, &other);
    with_new_vertex(&one, 7);
    with_new_vertex(&other, 8);
    assert!(Chunks::verify(&one).unwrap().ok);
    fs::copy(other.join("changes/added"), one.join("changes/added")).unwrap();
    let found = Chunks::verify(&one).unwrap();
    assert!(!found.ok && found.problems[0].contains("changes/added"), "{found:?}");
    let error = Chunks::open(&one, None).err().unwrap();
    assert!(error.is_damage() && error.to_string().contains("changes/added"), "{error}");
}

/// Says in a sealed graph's changes that their files have a version.
fn write_base(path: &Path, said: &str) {
    let manifest = fs::read_to_string(path.join("manifest.toml")).unwrap();
    let uuid = manifest.lines().find_map(|line| line.strip_prefix("uuid = ")).unwrap();
    let said = format!("{}{said}", uuid.trim_matches('"'));
    let base = format!("{said} {:08x}\n", crc32c::crc32c(said.as_bytes()));
    fs::write(path.join("changes/base"), base).unwrap();
}

#[test]
fn changes_of_version_1_are_read_and_go_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    seal(&live(&options, &[((1, 2), 1.0)]).snapshot().unwrap(), &path);
    let changer = Chunks::change(&path, false).unwrap();
    changer.insert(&in_changer(&changer, &[((1, 2), 1.0)]), None).unwrap();
    changer.close().unwrap();
    // No name has a checksum yet.
    write_base(&path, "");
    with_new_vertex(&path, 7);
    with_new_vertex(&path, 8);
    let chunks = Chunks::open(&path, None).unwrap();
    assert_eq!((chunks.vertex_count(), chunks.edge_count()), (4, 4));
    assert!(Chunks::verify(&path).unwrap().ok);
    // Names of version 1 are none of version 2.
    write_base(&path, " 2");
    assert!(Chunks::open(&path, None).err().unwrap().to_string().contains("changes/added"));
    write_base(&path, " 3");
    let error = Chunks::open(&path, None).err().unwrap().to_string();
    assert!(
        error.contains("changes/base` has format version 3, this build reads version 2"),
        "{error}"
    );
}

#[test]
fn changes_elsewhere_are_no_graph() {
    let home = tempfile::tempdir().unwrap();
    let [path, elsewhere] = ["g", "elsewhere"].map(|name| home.path().join(name));
    let expected = changed(&path);
    fs::rename(path.join("changes"), &elsewhere).unwrap();
    let options = GraphOptions::default();
    let refused = |says: &str| {
        let errors = [
            Graph::open(&elsewhere, false).err().unwrap(),
            Graph::open_read_only(&elsewhere).err().unwrap(),
            Graph::create(&elsewhere, &options, false).err().unwrap(),
            Graph::remove(&elsewhere).unwrap_err(),
            Timeline::open_read_only(&elsewhere).err().unwrap(),
        ];
        for error in errors {
            let what = error.to_string();
            assert!(matches!(error, Error::InvalidInput { .. }) && what.contains(says), "{what}");
            assert!(what.contains("move it back there, as `changes`"), "{what}");
        }
    };
    let manifest = fs::read_to_string(path.join("manifest.toml")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("uuid = ")).unwrap();
    refused(&format!("a sealed graph whose `manifest.toml` says `{line}`"));
    let base = fs::read(elsewhere.join("base")).unwrap();
    fs::write(elsewhere.join("base"), "gone").unwrap();
    refused("its damaged `base`");
    fs::write(elsewhere.join("base"), base).unwrap();
    fs::rename(&elsewhere, path.join("changes")).unwrap();
    assert!(edges_of(&Chunks::open(&path, None).unwrap().view(0).unwrap(), true) == expected);
}

#[test]
fn what_changes_nothing_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    let edges = [((1, 2), 1.0)];
    seal(&live(&options, &edges).snapshot().unwrap(), &path);
    let new = [((2, 5), 1.0)];
    let tries: [&dyn Fn(&Changer); 4] = [
        &|_| {},
        &|changer| drop(changer.insert(&in_changer(changer, &new), Some(&[1.0])).unwrap_err()),
        &|changer| assert_eq!(changer.delete(&in_changer(changer, &new)).unwrap().deleted, 0),
        &|changer| {
            changer.delete(&in_changer(changer, &edges)).unwrap();
            changer.insert(&in_changer(changer, &edges), None).unwrap();
        },
    ];
    for change in tries {
        let changer = Chunks::change(&path, false).unwrap();
        change(&changer);
        changer.close().unwrap();
        assert!(!path.join("changes").exists());
    }
    let change = |change: &dyn Fn(&Changer)| {
        let changer = Chunks::change(&path, false).unwrap();
        change(&changer);
        changer.close().unwrap();
    };
    // What another handle has made stays, also once it holds nothing any more.
    change(&|changer| _ = changer.insert(&in_changer(changer, &new), None).unwrap());
    change(&|_| {});
    assert_eq!(Chunks::open(&path, None).unwrap().edge_count(), 2);
    change(&|changer| _ = changer.delete(&in_changer(changer, &new)).unwrap());
    assert!(path.join("changes").exists());
}

#[test]
fn damaged_changes_are_an_error_and_never_another_graph() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let expected = changed(&path);
    let changes = path.join("changes");
    let names: Vec<_> = changes.read_dir().unwrap().flatten().map(|entry| entry.path()).collect();
    let mut errors = BTreeMap::new();
    // What stands in the table of readers says nothing of the graph.
    let of_graph = |file: &PathBuf| !["lock", "readers"].iter().any(|name| file.ends_with(name));
    for file in names.into_iter().filter(of_graph) {
        let bytes = fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let last = bytes.iter().rposition(|&byte| byte != 0).unwrap_or_default();
        for at in (0..bytes.len().min(200)).step_by(7).chain([last]) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            fs::write(&file, damaged).unwrap();
            match Chunks::open(&path, None).and_then(|chunks| chunks.view(0)) {
                Ok(view) => assert!(edges_of(&view, true) == expected, "{name} at {at}"),
                Err(error) => {
                    assert!(error.to_string().contains("changes"), "{name} at {at}: {error}");
                    *errors.entry(name.clone()).or_insert(0) += 1;
                    // A version that this build does not know, and the like, are errors of the opening.
                    let found = Chunks::verify(&path);
                    assert!(found.is_err() || !found.unwrap().ok, "{name} at {at}");
                }
            }
        }
        fs::write(&file, &bytes).unwrap();
        fs::remove_file(&file).unwrap();
        let opened = Chunks::open(&path, None).and_then(|chunks| chunks.view(0));
        assert!(opened.is_err(), "{name} is gone");
        fs::write(&file, bytes).unwrap();
    }
    assert!(edges_of(&Chunks::open(&path, None).unwrap().view(0).unwrap(), true) == expected);
    for name in ["base", "added", "names", "manifest.toml", "blocks"] {
        assert!(errors.contains_key(name), "{name}: {errors:?}");
    }
}

#[test]
fn what_was_taken_away_and_never_was_there_is_found() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    changed(&path);
    // As nobody does: the live graph of the changes says that an edge was taken away from vertex 0 to 0 of weight 9.
    let elsewhere = home.path().join("elsewhere");
    fs::rename(path.join("changes"), &elsewhere).unwrap();
    let options = VolumeOptions::new(MediumKind::File);
    let graph = Graph::open_in(Volume::open(&elsewhere, options, Access::Write).unwrap()).unwrap();
    let ends = graph.intern_integers(&[1, 1]).unwrap();
    graph.insert(&[(ends[0], ends[1])], Some(&[9.0])).unwrap();
    graph.close().unwrap();
    fs::rename(&elsewhere, path.join("changes")).unwrap();
    let found = Chunks::verify(&path).unwrap();
    assert!(!found.ok && found.problems[0].contains("was taken away"), "{found:?}");
    let view = Chunks::open(&path, None).unwrap().view_for(Kernel::Sssp).unwrap();
    let error = view.run(Kernel::Sssp, &everedge::RunOptions::default()).unwrap_err();
    assert!(error.is_damage() && error.to_string().contains("changes"), "{error}");
}

#[test]
fn a_creation_of_changes_that_was_interrupted_is_none() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions::default();
    seal(&live(&options, &[((1, 2), 1.0)]).snapshot().unwrap(), &path);
    let changes = path.join("changes");
    fs::create_dir(&changes).unwrap();
    for names in [&["lock"][..], &["lock", "unfinished.tmp", "base", "added", "log"]] {
        names.iter().for_each(|name| fs::write(changes.join(name), "").unwrap());
        let chunks = Chunks::open(&path, None).unwrap();
        assert!(chunks.change_counts().is_none() && chunks.edge_count() == 1);
        assert!(Chunks::verify(&path).unwrap().ok);
    }
    let changer = Chunks::change(&path, false).unwrap();
    changer.insert(&in_changer(&changer, &[((2, 5), 1.0)]), None).unwrap();
    assert_eq!(changer.totals(), (3, 2));
    changer.close().unwrap();
    let view = Chunks::open(&path, None).unwrap().view(0).unwrap();
    assert_eq!(view.name_of(2), ExternalId::Integer(16));
}

#[test]
fn names_that_no_batch_used_are_no_vertices() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    seal(&live(&options, &[((1, 2), 1.0)]).snapshot().unwrap(), &path);
    let changer = Chunks::change(&path, false).unwrap();
    // As a process that ends before its batch leaves them.
    changer.intern_texts(["nobody", "neither"].into_iter()).unwrap();
    changer.insert(&in_changer(&changer, &[((2, 5), 1.0)]), None).unwrap();
    changer.intern_texts(["nor"].into_iter()).unwrap();
    assert_eq!(changer.totals(), (3, 2));
    changer.close().unwrap();
    let view = Chunks::open(&path, None).unwrap().view_for(Kernel::Wcc).unwrap();
    let (found, in_short) = answer(&view, Kernel::Wcc);
    assert_eq!((found.len(), &in_short["components"]), (3, &1.into()));
    assert!(view.find("nobody").is_none() && view.find("nor").is_none());
    assert!(view.find(&name(5)) == Some(2) && view.vertex_bound() == 3);
    assert!(Chunks::verify(&path).unwrap().ok);
}

#[test]
fn a_name_that_had_no_vertex_and_got_one_is_sealed_once() {
    for ids in [IdKind::Integer, IdKind::Text] {
        let home = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| home.path().join(name));
        let graph = live(&GraphOptions { ids, ..GraphOptions::default() }, &[((1, 2), 1.0)]);
        let _ = in_graph(&graph, &[((5, 6), 1.0)]);
        seal(&graph.snapshot().unwrap(), &first);
        let changer = Chunks::change(&first, false).unwrap();
        // One that comes after both shows whether the numbers after them are still those of their names.
        let edges = [((1, 5), 1.0), ((5, 9), 1.0), ((9, 6), 1.0)];
        changer.insert(&in_changer(&changer, &edges), None).unwrap();
        changer.close().unwrap();
        let view = Chunks::open(&first, None).unwrap().view(0).unwrap();
        seal(&view, &second);
        assert!(Chunks::verify(&second).unwrap().ok, "{ids}");
        let again = Chunks::open(&second, None).unwrap().view(0).unwrap();
        assert_eq!(edges_of(&again, true), edges_of(&view, true), "{ids}");
        assert_eq!(again.vertex_count(), 5, "{ids}");
    }
}

#[test]
fn of_parallel_edges_the_last_goes_first_in_new_files_too() {
    let home = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| home.path().join(name));
    let options = GraphOptions { weighted: true, ..GraphOptions::default() };
    let edges = [0.25, 0.5, 0.25].map(|weight| ((1, 2), weight));
    seal(&live(&options, &edges).snapshot().unwrap(), &first);
    for (path, left) in [(&first, &[0.25, 0.5][..]), (&second, &[0.25])] {
        let changer = Chunks::change(path, false).unwrap();
        changer.delete(&in_changer(&changer, &edges[..1])).unwrap();
        changer.close().unwrap();
        let view = Chunks::open(path, None).unwrap().view(0).unwrap();
        let weights: Vec<f32> = edges_of(&view, true).iter().map(|edge| edge.2).collect();
        assert_eq!(weights, left);
        if path == &first {
            seal(&view, &second);
        }
    }
}

#[test]
fn changes_are_no_graph_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions::default();
    seal(&live(&options, &[((1, 2), 1.0)]).snapshot().unwrap(), &path);
    let inside = path.join("changes");
    let is_refused = |error: Option<Error>| {
        let what = error.expect("it is refused").to_string();
        assert!(
            what.contains(&format!("belongs to the sealed graph `{}`", path.display())),
            "{what}"
        );
    };
    // Before there are changes, and after.
    for edge in [(2, 5), (3, 5)] {
        is_refused(Graph::create(&inside, &options, false).err());
        is_refused(Timeline::create(&inside, &TimelineOptions::default(), false).err());
        let changer = Chunks::change(&path, false).unwrap();
        changer.insert(&in_changer(&changer, &[(edge, 1.0)]), None).unwrap();
        changer.close().unwrap();
        is_refused(Graph::open(&inside, false).err());
        is_refused(Graph::open_read_only(&inside).err());
        is_refused(Graph::remove(&inside).err());
        is_refused(Timeline::open(&inside, false).err());
        is_refused(Timeline::open_read_only(&inside).err());
    }
    let link = home.path().join("link");
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    assert!(Graph::open(&link, false).is_err());
    assert!(Chunks::verify(&path).unwrap().ok);
    assert_eq!(Chunks::open(&path, None).unwrap().edge_count(), 3);
}

#[test]
fn a_weight_that_is_set_back_is_no_change_any_more() {
    let home = tempfile::tempdir().unwrap();
    for directed in [true, false] {
        let path = home.path().join(directed.to_string());
        let options =
            GraphOptions { directed, weighted: true, simple: true, ..GraphOptions::default() };
        let first = [((1, 2), 0.5), ((2, 3), 0.25)];
        seal(&live(&options, &first).snapshot().unwrap(), &path);
        let set = |weight: f32| {
            let changer = Chunks::change(&path, false).unwrap();
            let edge = in_changer(&changer, &[((1, 2), weight)]);
            let done = changer.insert(&edge, Some(&[weight])).unwrap();
            assert_eq!((done.inserted, done.deleted), (0, 0));
            changer.close().unwrap();
            let chunks = Chunks::open(&path, None).unwrap();
            let edges = edges_of(&chunks.view(0).unwrap(), directed);
            assert_eq!(edges, [(name(1), name(2), weight), (name(2), name(3), 0.25)]);
            assert!(Chunks::verify(&path).unwrap().ok);
            chunks.change_counts()
        };
        let changed = Some(ChangeCounts { edges_added: 1, edges_taken_away: 1 });
        for (weight, expected) in [(0.75, changed), (1.0, changed), (0.5, None), (0.75, changed)] {
            assert_eq!(set(weight), expected, "{weight}");
        }
    }
}

#[test]
fn a_budget_that_is_too_small_for_changes_is_refused_before_they_are_read() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    changed(&path);
    // Who reads the changes meets the damage.
    let blocks = path.join("changes/blocks");
    let mut bytes = fs::read(&blocks).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[last] ^= 1;
    fs::write(&blocks, bytes).unwrap();
    let is_read = |opened: Result<Chunks, Error>| opened.err().unwrap().is_damage();
    assert!(is_read(Chunks::open(&path, None)));
    let refused = |opened: Result<Chunks, Error>| {
        let what = opened.err().unwrap().to_string();
        assert!(what.contains("is too small") && what.contains("for what was changed"), "{what}");
        what.split(' ').filter_map(|word| word.parse::<u64>().ok()).max().unwrap()
    };
    // Names are refused first, then changes by their number.
    let least_of_names = refused(Chunks::open(&path, Some(1 << 20)));
    let least = refused(Chunks::open(&path, Some(least_of_names)));
    assert!(least > least_of_names);
    assert_eq!(refused(Chunks::open(&path, Some(least - 1))), least);
    assert!(is_read(Chunks::open(&path, Some(least))));
    let least_of_kernel = refused(Chunks::open_for(&path, Some(least), Kernel::PageRank));
    assert!(is_read(Chunks::open_for(&path, Some(least_of_kernel), Kernel::PageRank)));
}
