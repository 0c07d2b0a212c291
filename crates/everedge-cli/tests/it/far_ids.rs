//! One large id among small ones costs no more memory than a small one.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Three edges, and one to an id that is a slip of the pen.
const EDGES: &str = "0 1\n1 2\n2 0\n0 2147483000\n";
/// What a process may take; without the large id it takes some 15 MiB.
const MEMORY_BYTES: u64 = 50_000_000;
/// What looks at every id takes some minutes in a build for tests.
const PATIENCE: Duration = Duration::from_secs(10);
const KERNELS: [&str; 17] = [
    "one-hop",
    "two-hop",
    "bfs",
    "pagerank",
    "delta-pagerank",
    "wcc",
    "scc",
    "bc",
    "sssp",
    "sswp",
    "ssnp",
    "viterbi",
    "kcore",
    "radii",
    "triangles",
    "lcc",
    "cdlp",
];

/// Runs a command, whose report says what memory it took.
fn run(home: &TempDir, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everedge"));
    let output = command.args(words).arg("--json").current_dir(home.path()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = report["peak_rss_bytes"].as_u64().unwrap();
    assert!(bytes < MEMORY_BYTES, "{words:?} takes {bytes} bytes");
}

fn every_kernel_takes_little(graph_options: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("edges.txt"), EDGES).unwrap();
    run(&home, &[&["ingest", "g", "edges.txt", "--ids", "dense"], graph_options].concat());
    for kernel in KERNELS {
        run(&home, &["run", kernel, "g"]);
        run(&home, &["run", kernel, "g", "--csr"]);
    }
    assert_verified(&home);
    let mut compact = Command::new(env!("CARGO_BIN_EXE_everedge"));
    assert!(compact.args(["compact", "g"]).current_dir(home.path()).status().unwrap().success());
    KERNELS.iter().for_each(|kernel| run(&home, &["run", kernel, "g"]));
    // What lies in order now, and one list with an edge more.
    std::fs::write(home.path().join("edges.txt"), "0 3\n").unwrap();
    run(&home, &["ingest", "g", "edges.txt"]);
    KERNELS.iter().for_each(|kernel| run(&home, &["run", kernel, "g"]));
}

/// Asserts that the graph is sound, which takes no time for each id.
fn assert_verified(home: &TempDir) {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_everedge"));
    let output = command.args(["verify", "g", "--quiet"]).current_dir(home.path()).output();
    assert!(output.unwrap().status.success());
    assert!(start.elapsed() < PATIENCE, "verified in {:?}", start.elapsed());
}

#[test]
fn memory_follows_what_is_there_in_adjacency() {
    every_kernel_takes_little(&["--layout", "adjacency"]);
}

#[test]
fn memory_follows_what_is_there_in_pma() {
    every_kernel_takes_little(&["--layout", "pma"]);
}

#[test]
fn memory_follows_what_is_there_without_in_neighbors() {
    every_kernel_takes_little(&["--layout", "adjacency", "--no-in"]);
}
