//! Directories for other engines, from the command line: they come back, whole or not at all.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sealed::{everedge, json, refused, text};

/// Makes an undirected graph with weights, of so many edges.
fn make(home: &Path, edges: u32) {
    let row = |i: u32| format!("v{},v{},{}\n", i % 997, i.wrapping_mul(i) % 1999, i % 8);
    let rows: String = (0..edges).map(row).collect();
    fs::write(home.join("given.csv"), format!("src,dst,weight\n{rows}")).unwrap();
    json(home, "ingest {}/graph {}/given.csv --undirected");
}

/// The edges of a graph as sorted lines, each from its smaller end.
fn edges_of(home: &Path, graph: &str) -> Vec<String> {
    let output = everedge(home, &format!("export {{}}/{graph} - --format csv"));
    let rows = text(&output.stdout);
    let row = |line: &str| {
        let mut fields: Vec<_> = line.split(',').collect();
        fields[..2].sort_unstable();
        fields.join(",")
    };
    let mut rows: Vec<String> = rows.lines().skip(1).map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn directories_come_back_by_their_looks() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    make(home, 20_000);
    let expected = edges_of(home, "graph");
    assert_eq!(expected.len(), 20_000);
    for format in ["parquet", "icebug", "graphar"] {
        let words = format!("export {{}}/graph {{}}/{format} --format {format}");
        let written = json(home, &words);
        assert_eq!((&written["edges"], &written["vertices_left_out"]), (&20_000.into(), &0.into()));
        let taken = json(home, &format!("ingest {{}}/{format}-back {{}}/{format}"));
        assert_eq!(taken["edges_read"], 20_000);
        assert_eq!(taken["vertices"], written["vertices"]);
        let guessed = &taken["guessed"];
        assert_eq!(guessed["format"], format);
        assert_eq!((&guessed["directed"], &guessed["weighted"]), (&false.into(), &true.into()));
        assert!(edges_of(home, &format!("{format}-back")) == expected, "{format}");
        // A sealed graph is made of it, too.
        json(home, &format!("seal {{}}/{format} {{}}/{format}-sealed"));
        assert!(edges_of(home, &format!("{format}-sealed")) == expected, "{format}");
        let words = format!("ingest {{}}/versions {{}}/{format} --commit-every 1d");
        assert!(refused(home, &words).contains("no times"));
    }
}

#[test]
fn a_file_in_place_of_a_directory_says_so() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("a.csv"), "1,2\n").unwrap();
    let error = refused(home, "ingest {}/new {}/a.csv --format icebug");
    assert!(error.contains("it is a directory"), "{error}");
    json(home, "ingest {}/new {}/a.csv");
    let error = refused(home, "export {}/new - --format graphar");
    assert!(error.contains("it is a directory"), "{error}");
}

/// Killed at any time, an export is there whole or not at all.
#[test]
fn a_killed_export_is_whole_or_not_there() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    make(home, 400_000);
    let expected = edges_of(home, "graph");
    let mut whole = 0;
    for delay_ms in (0..400).step_by(25) {
        let mut export = Command::new(env!("CARGO_BIN_EXE_everedge"));
        export.arg("export").arg(home.join("graph")).arg(home.join("out"));
        let mut child = export.args(["--format", "parquet"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        let _ = child.kill();
        child.wait().unwrap();
        if home.join("out").exists() {
            json(home, &format!("ingest {{}}/back-{delay_ms} {{}}/out"));
            assert!(edges_of(home, &format!("back-{delay_ms}")) == expected, "{delay_ms} ms");
            fs::remove_dir_all(home.join("out")).unwrap();
            whole += 1;
        }
    }
    println!("{whole} exports of 16 were whole when they were killed");
}

/// A write that fails in the middle leaves nothing, and what was there stays.
#[test]
fn an_export_without_room_leaves_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    make(home, 300_000);
    json(home, "export {}/graph {}/out --format icebug");
    let program = env!("CARGO_BIN_EXE_everedge");
    let script = format!("ulimit -f 100; exec '{program}' export graph out --format parquet");
    let output = Command::new("bash").args(["-c", &script]).current_dir(home).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("part-00000.parquet") && error.contains("File too large"), "{error}");
    assert!(home.join("out/schema.cypher").exists());
    let names = home.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}
