//! Sealed graphs by the command line.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs everedge, with words between blanks and `{}` for the directory.
pub(crate) fn everedge(home: &Path, words: &str) -> Output {
    let home = home.to_str().unwrap();
    let words = words.split(' ').map(|word| word.replace("{}", home));
    Command::new(env!("CARGO_BIN_EXE_everedge")).args(words).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) fn json(home: &Path, words: &str) -> Value {
    let output = everedge(home, &format!("{words} --json --quiet"));
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns what it says, of a run that fails.
pub(crate) fn refused(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert_eq!(output.status.code(), Some(1), "{words}: {}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn a_graph_and_its_file_are_sealed_alike() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    json(home, "generate kron {}/e.csv.gz --scale 12");
    json(home, "ingest {}/g {}/e.csv.gz");
    let of_graph = json(home, "seal {}/g {}/c");
    let of_file = json(home, "seal {}/e.csv.gz {}/f --memory 300M");
    for key in ["vertices", "edges"] {
        assert_eq!(of_graph[key], of_file[key]);
    }
    assert_eq!(of_file["guessed"]["format"], "csv");
    for chunks in ["c", "f"] {
        let stats = json(home, &format!("stats {{}}/{chunks}"));
        assert_eq!((&stats["kind"], &stats["edges"]), (&"chunks".into(), &65_536.into()));
        assert_eq!(json(home, &format!("verify {{}}/{chunks}"))["ok"], true);
        for kernel in ["bfs", "wcc", "sssp", "kcore", "pagerank --tolerance 1e-10"] {
            let found = json(home, &format!("run {kernel} {{}}/{chunks} --memory 40M"));
            let expected = json(home, &format!("run {kernel} {{}}/g"));
            if kernel.starts_with("pagerank") {
                assert_eq!(found["result"]["top"][0][0], expected["result"]["top"][0][0]);
            } else {
                assert_eq!(found["result"], expected["result"], "{kernel}");
            }
            assert_eq!(found["source"], expected["source"], "{kernel}");
            let [read_bytes, reads] =
                ["read_bytes", "reads"].map(|key| found[key].as_u64().unwrap());
            assert!(read_bytes >= 4096 * reads && reads > 0);
        }
        json(home, &format!("run bfs {{}}/{chunks} --output {{}}/of-{chunks}"));
        json(home, &format!("export {{}}/{chunks} {{}}/{chunks}.bin"));
    }
    json(home, "run bfs {}/g --output {}/of-g");
    let depths = fs::read(home.join("of-g")).unwrap();
    assert!(fs::read(home.join("of-c")).unwrap() == depths);
    assert!(fs::read(home.join("of-f")).unwrap() == depths);
    let edges = |name: &str| {
        let bytes = fs::read(home.join(name)).unwrap();
        let mut edges: Vec<_> = bytes.chunks(8).map(<[u8]>::to_vec).collect();
        edges.sort();
        edges
    };
    json(home, "export {}/g {}/g.bin");
    assert!(edges("c.bin") == edges("g.bin") && edges("f.bin") == edges("g.bin"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("e.txt"), "a b\nb c\n").unwrap();
    json(home, "seal {}/e.txt {}/c");
    let small = refused(home, "run pagerank {}/c --memory 1M");
    assert!(small.contains("is too small") && small.contains("would do"), "{small}");
    assert!(refused(home, "seal {}/e.txt {}/c").contains("holds a graph already"));
    assert!(refused(home, "commit {}/c").contains("sealed"));
    assert!(refused(home, "compact {}/c").contains("sealed"));
    assert!(refused(home, "run bfs {}/c --at 1").contains("no versions"));
    fs::write(home.join("bad.txt"), "a b\nb\n").unwrap();
    let bad = refused(home, "seal {}/bad.txt {}/d");
    assert!(bad.contains("bad.txt") && bad.contains("line 2"), "{bad}");
    assert!(!home.join("d").exists());
}
