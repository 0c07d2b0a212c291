//! Sealed graphs that are changed by the command line, and processes that are killed while they do it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use everedge::{Chunks, Edge};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::kill::{SIGKILL, kills};
use crate::sealed::{everedge, json, refused, text};

const SEED: u64 = 0x5eed_2028;
const KILLS: u64 = 40;
/// Edges of a batch.
const BATCH: u64 = 32;
/// Batches that a process is given.
const BATCHES_PER_ROUND: u64 = 64;
/// Edges that are sealed, and the vertices that they join; later ones join more.
const SEALED: u64 = 3000;
const VERTICES_SEALED: u32 = 200;
const VERTICES: u32 = 300;

#[test]
fn every_command_knows_of_changes() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    json(home, "generate kron {}/e.csv --scale 10");
    fs::write(home.join("more.csv"), "5,900000\n900000,7\n900001,900000\n5,900000\n").unwrap();
    fs::write(home.join("less.csv"), "900000,7\n5,900000\n1,900009\n").unwrap();
    let first = fs::read_to_string(home.join("e.csv")).unwrap();
    let gone: Vec<&str> = first.lines().skip(1).step_by(9).collect();
    fs::write(home.join("gone.csv"), format!("src,dst\n{}\n", gone.join("\n"))).unwrap();
    json(home, "ingest {}/g {}/e.csv");
    json(home, "seal {}/g {}/c");
    assert!(json(home, "stats {}/c").get("edges_added").is_none());
    fs::write(home.join("alone.v"), "900000\n900020\n").unwrap();
    for graph in ["c", "g"] {
        json(home, &format!("ingest {{}}/{graph} {{}}/alone.v"));
        let report = json(home, &format!("ingest {{}}/{graph} {{}}/more.csv"));
        assert_eq!((&report["edges_inserted"], &report["edges_deleted"]), (&4.into(), &0.into()));
        let report =
            json(home, &format!("ingest {{}}/{graph} {{}}/less.csv {{}}/gone.csv --delete"));
        let deleted = (gone.len() + 2) as u64;
        assert_eq!(
            (&report["edges_deleted"], &report["deletes_ignored"]),
            (&deleted.into(), &1.into())
        );
    }
    let [changed, live] = ["c", "g"].map(|graph| json(home, &format!("stats {{}}/{graph}")));
    for key in ["vertices", "edges", "directed", "simple", "weighted"] {
        assert_eq!(changed[key], live[key], "{key}");
    }
    assert_eq!(changed["kind"], "chunks");
    assert_eq!(
        (&changed["edges_added"], &changed["edges_taken_away"]),
        (&2.into(), &gone.len().into())
    );
    let said = text(&everedge(home, "stats {}/c").stdout);
    assert!(
        said.contains("since it was sealed, 2 edges were added and 1,821 taken away"),
        "{said}"
    );
    let checked = json(home, "verify {}/c");
    assert_eq!(checked["ok"], true, "{checked}");
    json(home, "seal {}/c {}/merged");
    let merged = json(home, "stats {}/merged");
    assert!(merged.get("edges_added").is_none() && merged["edges"] == live["edges"]);
    for graph in ["c", "merged"] {
        for kernel in ["bfs", "wcc", "kcore", "triangles", "sssp"] {
            let found = json(home, &format!("run {kernel} {{}}/{graph} --memory 40M"));
            let expected = json(home, &format!("run {kernel} {{}}/g"));
            assert_eq!(
                (&found["result"], &found["source"]),
                (&expected["result"], &expected["source"])
            );
        }
    }
    for graph in ["c", "merged", "g"] {
        json(home, &format!("run wcc {{}}/{graph} --output {{}}/wcc-{graph}"));
        json(home, &format!("export {{}}/{graph} {{}}/{graph}.bin"));
    }
    let edges = |name: &str| {
        let bytes = fs::read(home.join(name)).unwrap();
        let mut edges: Vec<_> = bytes.chunks(8).map(<[u8]>::to_vec).collect();
        edges.sort();
        edges
    };
    for graph in ["c", "merged"] {
        assert!(edges(&format!("{graph}.bin")) == edges("g.bin"), "{graph}");
        let [found, expected] =
            [graph, "g"].map(|g| fs::read(home.join(format!("wcc-{g}"))).unwrap());
        assert!(found == expected, "{graph}");
    }
}

/// What vertices that were added take is known before their names are read, and nothing else is far more than is counted.
#[test]
fn a_graph_with_many_new_vertices_is_asked_within_its_budget() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    everedge(home, "generate kron {}/k.bin --scale 10 --quiet");
    assert!(everedge(home, "seal {}/k.bin {}/k").status.success());
    let vertices = (0..400_000).map(|v| format!("{}\n", 100_000 + v)).collect::<String>();
    fs::write(home.join("new.v"), vertices).unwrap();
    let edges = (0..200_000).map(|e| format!("{} {}\n", 100_000 + 2 * e, 100_001 + 2 * e));
    fs::write(home.join("new.e"), edges.collect::<String>()).unwrap();
    assert!(everedge(home, "ingest {}/k {}/new.e").status.success());
    let mut memory = 19 << 20;
    let report = loop {
        let words = format!("run one-hop {{}}/k --memory {memory}");
        let output = everedge(home, &words);
        if output.status.success() {
            break json(home, &words);
        }
        let said = text(&output.stderr);
        assert!(said.contains("is too small"), "{said}");
        let numbers = said.split([' ', '\n']).filter_map(|word| word.parse::<u64>().ok());
        let least = numbers.max().unwrap();
        assert!(least > memory, "{said}");
        memory = least;
    };
    let peak = report["peak_rss_bytes"].as_u64().unwrap();
    println!("{peak} of {memory}");
    assert!(peak <= memory, "{peak} of {memory}");
}

#[test]
fn what_changes_cannot_be_is_said() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("e.txt"), "1 2\n2 3\n").unwrap();
    fs::write(home.join("text.txt"), "a b\n").unwrap();
    fs::write(home.join("bad.txt"), "4 5\n4\n").unwrap();
    json(home, "seal {}/e.txt {}/c");
    let before = json(home, "stats {}/c");
    // Nothing else gets the place of the changes, also before there are some.
    let inside = Command::new(env!("CARGO_BIN_EXE_everedge"))
        .args(["ingest", "changes", "../e.txt"])
        .current_dir(home.join("c"))
        .output()
        .unwrap();
    let said = text(&inside.stderr);
    assert!(
        said.contains("belongs to the sealed graph") && !home.join("c/changes").exists(),
        "{said}"
    );
    assert!(refused(home, "ingest {}/c {}/text.txt").contains("text.txt"));
    let bad = refused(home, "ingest {}/c {}/bad.txt");
    assert!(bad.contains("bad.txt") && bad.contains("line 2"), "{bad}");
    fs::write(home.join("nothing.txt"), "").unwrap();
    refused(home, "ingest {}/c {}/nothing.txt");
    assert!(!home.join("c/changes").exists());
    let other = refused(home, "ingest {}/c {}/e.txt --simple");
    assert!(other.contains("simple false, not true"), "{other}");
    let weighted = refused(home, "ingest {}/c {}/e.txt --weighted");
    assert!(weighted.contains("weighted false, not true"), "{weighted}");
    let layout = refused(home, "ingest {}/c {}/e.txt --layout pma");
    assert!(layout.contains("layout is an option of live graphs"), "{layout}");
    for key in ["vertices", "edges"] {
        assert_eq!(json(home, "stats {}/c")[key], before[key]);
    }
    let said = text(&everedge(home, "ingest {}/c {}/e.txt").stdout);
    assert!(said.contains("since it was sealed, 2 edges were added and 0 taken away"), "{said}");
    for command in ["ingest", "run bfs", "stats", "verify", "commit", "seal", "compact"] {
        let rest = match command {
            "ingest" => " {}/e.txt",
            "seal" => " {}/new",
            _ => "",
        };
        let said = refused(home, &format!("{command} {{}}/c/changes{rest}"));
        assert!(said.contains("belongs to the sealed graph"), "{command}: {said}");
    }
    let said = refused(home, "ingest {}/c/changes {}/e.txt --commit-every 1");
    assert!(said.contains("belongs to the sealed graph"), "{said}");
    // What was changed takes memory, too.
    let small = refused(home, "run pagerank {}/c --memory 1M");
    assert!(small.contains("for what was changed since the graph was sealed"), "{small}");
    for words in ["ingest {}/e.txt {}/c", "export {}/e.txt {}/c"] {
        let output = everedge(home, words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let said = text(&output.stderr);
        assert!(said.contains("and the graph comes before files"), "{words}: {said}");
    }
    fs::rename(home.join("c/changes"), home.join("moved")).unwrap();
    for command in ["ingest", "run bfs", "stats", "verify", "commit", "seal", "export", "versions"]
    {
        let rest = match command {
            "ingest" => " {}/e.txt",
            "seal" => " {}/new",
            "export" => " {}/new.txt",
            _ => "",
        };
        let said = refused(home, &format!("{command} {{}}/moved{rest}"));
        assert!(said.contains("holds the changes of a sealed graph whose"), "{command}: {said}");
        assert!(!said.contains("damaged"), "{command}: {said}");
    }
    fs::rename(home.join("moved"), home.join("c/changes")).unwrap();
    // The base alone is damaged now, and what says so is its file.
    let file = home.join("c/changes/base");
    let base = fs::read_to_string(&file).unwrap();
    fs::write(&file, base.replace(' ', "_")).unwrap();
    for command in ["run bfs", "stats", "ingest", "seal"] {
        let rest = match command {
            "ingest" => " {}/e.txt",
            "seal" => " {}/new",
            _ => "",
        };
        let said = refused(home, &format!("{command} {{}}/c{rest}"));
        assert!(said.contains("changes/base") && said.contains("damaged"), "{command}: {said}");
    }
    assert!(!home.join("new").exists());
    assert_eq!(everedge(home, "verify {}/c").status.code(), Some(1));
}

/// The edge that comes `number`-th. Equal edges come again.
fn edge(number: u64) -> Edge {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ number);
    let bound = if number < SEALED { VERTICES_SEALED } else { VERTICES };
    (random.random_range(0..bound), random.random_range(0..bound))
}

/// A sealed graph that lives through the run, and what it must hold: the edges from the `deleted`-th on up to the `inserted`-th.
struct Victim {
    chunks: PathBuf,
    inserted: u64,
    deleted: u64,
    kills: u64,
    /// How long a process lives that is not killed.
    life: Duration,
}

impl Victim {
    fn new(home: &Path) -> Self {
        write(&home.join("sealed.bin"), 0..SEALED);
        json(home, "seal {}/sealed.bin {}/victim");
        let (chunks, life) = (home.join("victim"), Duration::from_secs(60));
        Self { chunks, inserted: SEALED, deleted: 0, kills: 0, life }
    }

    /// Lets a process change the graph, kills it so long after it has acknowledged some batches, and checks what it left.
    fn play(&mut self, (batches, delay): (u64, Duration), is_deletion: bool) {
        let file = self.chunks.with_extension("bin");
        let first = if is_deletion { self.deleted } else { self.inserted };
        let last = first + BATCHES_PER_ROUND * BATCH;
        write(&file, first..last);
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_everedge"))
            .args(["ingest", "--acknowledge", "--quiet", "--batch", &BATCH.to_string()])
            .args(is_deletion.then_some("--delete"))
            .args([&self.chunks, &file])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut out, mut said) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        for _ in 0..batches {
            out.read_line(&mut said).unwrap();
        }
        let waits = Instant::now();
        while waits.elapsed() < delay && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(50));
        }
        let lived = start.elapsed();
        child.kill().unwrap();
        out.read_to_string(&mut said).unwrap();
        match child.wait().unwrap() {
            status if status.signal() == Some(SIGKILL) => self.kills += 1,
            status => {
                assert!(status.success(), "{status}");
                self.life = lived;
            }
        }
        let acknowledged = said.matches('\n').count() as u64;
        let view = Chunks::open(&self.chunks, None).unwrap().view(0).unwrap();
        let count = view.edge_count();
        let before = self.inserted - self.deleted;
        let changed = if is_deletion { before - count } else { count - before };
        let place = format!("seed {SEED}, {} kills, deletion {is_deletion}", self.kills);
        assert_eq!(changed % BATCH, 0, "{place}: part of a batch");
        assert!(
            changed / BATCH >= acknowledged,
            "{place}: {changed} edges, {acknowledged} batches"
        );
        *(if is_deletion { &mut self.deleted } else { &mut self.inserted }) += changed;
        let mut expected: Vec<Edge> = (self.deleted..self.inserted).map(edge).collect();
        expected.sort_unstable();
        let mut found = Vec::with_capacity(expected.len());
        let all = view.for_each_arc(|u, v, _| {
            let name = |v| view.name_of(v).to_string().parse::<u32>().unwrap();
            found.push((name(u), name(v)));
            Ok::<(), std::convert::Infallible>(())
        });
        assert_eq!(all, Ok(()));
        found.sort_unstable();
        assert!(found == expected, "{place}: other edges");
    }
}

fn write(file: &Path, edges: std::ops::Range<u64>) {
    let bytes = edges.map(edge).flat_map(|(u, v)| [u.to_le_bytes(), v.to_le_bytes()]).flatten();
    fs::write(file, bytes.collect::<Vec<u8>>()).unwrap();
}

#[test]
fn killed_processes_lose_no_change_that_they_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let mut victim = Victim::new(home.path());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut round = 0;
    while victim.kills < kills(KILLS) {
        let life = victim.life.min(Duration::from_millis(400));
        let when = match round % 4 {
            // While it makes the changes or opens them, recovers, or closes.
            0 => (0, life.mul_f64(random.random_range(0.0..1.2))),
            _ => {
                let batches = random.random_range(0..BATCHES_PER_ROUND);
                (batches, Duration::from_micros(random.random_range(0..400)))
            }
        };
        let is_deletion = victim.inserted - victim.deleted > SEALED && random.random_bool(0.6);
        victim.play(when, is_deletion);
        round += 1;
    }
    let found = Chunks::verify(&victim.chunks).unwrap();
    assert!(found.ok, "{:?}", found.problems);
    println!("kills={} changed_edges={}", victim.kills, victim.inserted - SEALED + victim.deleted);
}

/// As in a live graph, whose lists are in several blocks; also in one that was changed, and sealed again.
#[test]
fn a_deletion_takes_the_newest_edge_of_a_pair() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let edges = |first: u32| (first..first + 40).map(|i| format!("1,2,{i}\n")).collect::<String>();
    fs::write(home.join("p.csv"), format!("src,dst,weight\n{}", edges(1))).unwrap();
    fs::write(home.join("more.csv"), format!("src,dst,weight\n{}", edges(41))).unwrap();
    fs::write(home.join("c.csv"), "src,dst\n1,2\n").unwrap();
    let weights = |graph: &str| {
        let exported = text(&everedge(home, &format!("export {{}}/{graph} -")).stdout);
        let edges = exported.lines().filter(|line| !line.starts_with('#'));
        let mut weights: Vec<u32> =
            edges.map(|edge| edge.rsplit(' ').next().unwrap().parse().unwrap()).collect();
        weights.sort_unstable();
        weights
    };
    json(home, "ingest {}/g {}/p.csv --weighted --directed");
    json(home, "seal {}/g {}/s");
    json(home, "ingest {}/s {}/c.csv --delete");
    assert_eq!(weights("s"), (1..40).collect::<Vec<_>>());
    json(home, "seal {}/g {}/t");
    json(home, "ingest {}/t {}/more.csv");
    json(home, "ingest {}/t {}/c.csv --delete");
    json(home, "seal {}/t {}/u");
    json(home, "ingest {}/u {}/c.csv --delete");
    assert_eq!(weights("u"), (1..79).collect::<Vec<_>>());
}
