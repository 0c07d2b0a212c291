//! Sealings that are killed: what is there then is no graph or the whole one, and the next sealing makes it.
//!
//! A file, a live graph and a sealed graph with changes are sealed in turn, always to the same path, where each finds
//! what the one before has left. `EVEREDGE_KILLS` is the number of kills, [`KILLS`] unless given; a long run kills one
//! sealing for [`SHARE`] of them, and its edges have no room in memory.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use everedge::Chunks;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::kill::{SIGKILL, kills};
use crate::sealed::json;

const SEED: u64 = 0x5eed_2029;
const KILLS: u64 = 24;
const SHARE: u64 = 20;

/// Returns the edges of a sealed graph by the names of their ends, sorted.
fn edges(path: &Path) -> Vec<(u64, u64)> {
    let view = Chunks::open(path, None).unwrap().view(0).unwrap();
    let name = |v| view.name_of(v).to_string().parse::<u64>().unwrap();
    let names: Vec<u64> = (0..view.vertex_bound()).map(name).collect();
    let mut edges = Vec::new();
    let all = view.for_each_arc(|u, v, _| {
        edges.push((names[u as usize], names[v as usize]));
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(all, Ok(()));
    view.check_reads().unwrap();
    edges.sort_unstable();
    edges
}

/// What is sealed, and what it must come to.
struct Source {
    words: Vec<String>,
    expected: Vec<(u64, u64)>,
    /// How long a process lives that is not killed.
    life: Duration,
}

/// Seals, and kills that after `delay`. Returns whether it was killed, and how long it lived.
fn seal(words: &[String], chunks: &Path, delay: Duration) -> (bool, Duration) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_everedge"))
        .args(["seal", "--quiet"])
        .args(words)
        .arg(chunks)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while start.elapsed() < delay && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    let lived = start.elapsed();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let is_killed = status.signal() == Some(SIGKILL);
    assert!(is_killed || status.success(), "{words:?}: {status}");
    (is_killed, lived)
}

fn sources(home: &Path, scale: u32) -> Vec<Source> {
    json(home, &format!("generate kron {{}}/e.csv --scale {scale}"));
    json(home, "generate kron {}/more.csv --scale 9 --seed 2");
    json(home, "ingest {}/g {}/more.csv --ids text");
    json(home, "generate kron {}/extra.csv --scale 8 --seed 3");
    json(home, "seal {}/e.csv {}/changed");
    json(home, "ingest {}/changed {}/more.csv --delete");
    json(home, "ingest {}/changed {}/extra.csv");
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let file = vec!["--memory".into(), "130M".into(), at("e.csv")];
    let chunks = home.join("first");
    let source = |words: Vec<String>| {
        let (is_killed, life) = seal(&words, &chunks, Duration::from_secs(600));
        assert!(!is_killed);
        let expected = edges(&chunks);
        fs::remove_dir_all(&chunks).unwrap();
        Source { words, expected, life }
    };
    [file, vec![at("g")], vec![at("changed")]].into_iter().map(source).collect()
}

#[test]
fn killed_sealings_leave_no_graph_or_the_whole() {
    let asked = kills(KILLS);
    let (kills, scale) = if asked > KILLS { (asked.div_ceil(SHARE), 18) } else { (asked, 10) };
    let home = tempfile::tempdir().unwrap();
    let mut sources = sources(home.path(), scale);
    let chunks: PathBuf = home.path().join("c");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let (mut killed, mut none, mut whole) = (0, 0, 0);
    for round in 0.. {
        if killed >= kills {
            break;
        }
        let count = sources.len();
        let source = &mut sources[round % count];
        let delay = source.life.mul_f64(random.random_range(0.0..1.2));
        let (is_killed, lived) = seal(&source.words, &chunks, delay);
        killed += u64::from(is_killed);
        let place =
            format!("seed {SEED}, round {round}, {:?} killed after {lived:?}", source.words);
        match Chunks::open(&chunks, None) {
            Err(error) => {
                none += 1;
                assert!(is_killed, "{place}: {error}");
                assert!(error.to_string().contains("is not a graph"), "{place}: {error}");
            }
            Ok(_) => {
                whole += 1;
                let verified = Chunks::verify(&chunks).unwrap();
                assert!(verified.ok, "{place}: {:?}", verified.problems);
                assert!(edges(&chunks) == source.expected, "{place}: another graph");
                fs::remove_dir_all(&chunks).unwrap();
            }
        }
        if !is_killed {
            source.life = lived;
        }
    }
    for source in &sources {
        let (is_killed, _) = seal(&source.words, &chunks, Duration::from_secs(600));
        assert!(!is_killed && edges(&chunks) == source.expected, "{:?}", source.words);
        fs::remove_dir_all(&chunks).unwrap();
    }
    println!("kills={killed} none={none} whole={whole}");
    assert!(none > 0);
}
