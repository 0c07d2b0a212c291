//! Hostile input of each kind: one line that says what, where and what to do, exit code 1, and
//! the graph as it was.

use std::io::Write;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

fn everedge() -> Command {
    Command::new(env!("CARGO_BIN_EXE_everedge"))
}

/// A graph of three edges and a place for files.
struct Home {
    directory: TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        let good = home.file("good.txt", b"1 2\n2 3\n3 1\n");
        everedge().arg("ingest").arg(home.graph()).arg(good).assert().success();
        home
    }

    fn graph(&self) -> PathBuf {
        self.directory.path().join("graph")
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Takes `file` in, which must fail with one line that holds all of `words`, change nothing,
    /// and leave no new graph behind.
    fn refuses(&self, file: &Path, words: &[&str]) {
        let before = stats(&self.graph());
        assert_one_line(everedge().arg("ingest").arg(self.graph()).arg(file), words);
        assert_eq!(stats(&self.graph()), before, "the graph changed");
        let fresh = self.directory.path().join("fresh");
        assert_one_line(everedge().arg("ingest").arg(&fresh).arg(file), words);
        assert!(!fresh.exists(), "a failed first ingest left {}", fresh.display());
    }
}

fn stats(graph: &Path) -> String {
    let output = everedge().args(["stats", "--json"]).arg(graph).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn assert_one_line(command: &mut Command, words: &[&str]) {
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "not one line: {error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is missing in: {error}");
    }
}

#[test]
fn text_that_is_no_edge_list_names_the_line() {
    let home = Home::new();
    let negative = home.file("negative.txt", b"# fine\n5 6\n-7 8\n");
    home.refuses(&negative, &["negative.txt", "line 3"]);
    let text = home.file("text.txt", b"5 6\n7 8 many\n");
    home.refuses(&text, &["text.txt", "line 2"]);
    let missing = home.file("missing.txt", b"5 6\n7\n");
    home.refuses(&missing, &["missing.txt", "line 2"]);
    let zero = home.file("zero.txt", b"5 6\n7 8\0\n");
    home.refuses(&zero, &["zero.txt"]);
}

#[test]
fn an_id_of_two_to_the_31_is_sent_to_the_id_map() {
    let home = Home::new();
    let lines: String = (0..100_000).map(|i| format!("{i} {}\n", i + 1)).collect();
    let file = home.file("large.txt", format!("{lines}5 2147483648\n").as_bytes());
    let words = ["large.txt", "line 100001", "--ids integer"];
    home.refuses(&file, &words);
}

#[test]
fn an_empty_file_and_a_directory_are_named() {
    let home = Home::new();
    let empty = home.file("empty.txt", b"");
    home.refuses(&empty, &["empty.txt"]);
    let comments = home.file("comments.txt", b"# only\n# words\n");
    home.refuses(&comments, &["comments.txt", "no edges"]);
    let directory = home.directory.path().join("directory");
    std::fs::create_dir(&directory).unwrap();
    home.refuses(&directory, &["directory", "no file"]);
    home.refuses(&home.directory.path().join("absent.txt"), &["absent.txt"]);
}

#[test]
fn cut_and_damaged_compression_is_named() {
    let home = Home::new();
    let text: String = (0..50_000u64).map(|i| format!("{} {}\n", i, i * i % 49_999)).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let gz = encoder.finish().unwrap();
    let cut = home.file("cut.txt.gz", &gz[..gz.len() / 2]);
    home.refuses(&cut, &["cut.txt.gz", "cut off"]);
    let mut damaged = gz.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    let damaged = home.file("damaged.txt.gz", &damaged);
    home.refuses(&damaged, &["damaged.txt.gz"]);
}

#[test]
fn a_graph_without_its_lock_says_how_it_is_one_again() {
    let home = Home::new();
    let lock = home.graph().join("lock");
    std::fs::remove_file(&lock).unwrap();
    let missing = ["`lock` is missing", "make an empty one"];
    assert_one_line(everedge().arg("stats").arg(home.graph()), &missing);
    std::fs::write(&lock, "").unwrap();
    assert!(stats(&home.graph()).contains("\"edges\":3"));
}

#[test]
fn a_directory_of_another_program_is_no_graph() {
    let home = Home::new();
    let other = home.directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("data.db"), b"not ours").unwrap();
    let file = home.file("edges.txt", b"1 2\n");
    assert_one_line(everedge().arg("ingest").arg(&other).arg(file), &["other", "not a graph"]);
    assert_one_line(everedge().arg("run").arg("bfs").arg(&other), &["other", "not a graph"]);
    assert_eq!(std::fs::read(other.join("data.db")).unwrap(), b"not ours");
}

#[test]
fn a_second_process_is_told_who_holds_the_graph() {
    let home = Home::new();
    let holder = everedge::Graph::open(&home.graph(), false).unwrap();
    let file = home.file("edges.txt", b"1 2\n");
    let pid = format!("process {}", std::process::id());
    let words = ["graph is in use", pid.as_str()];
    assert_one_line(everedge().arg("ingest").arg(home.graph()).arg(file), &words);
    // Who reads need not know.
    stats(&home.graph());
    drop(holder);
    stats(&home.graph());
}

#[test]
fn standard_input_is_looked_at_like_a_file() {
    let home = Home::new();
    let in_graph = |name: &str, input: Vec<u8>, arguments: &[&str]| {
        let graph = home.directory.path().join(name);
        let mut ingest = everedge();
        ingest.arg("ingest").arg(&graph).arg("-").args(arguments);
        ingest.write_stdin(input).assert().success();
        serde_json::from_str::<serde_json::Value>(&stats(&graph)).unwrap()
    };
    let named = in_graph("named", b"ann bob\n".to_vec(), &[]);
    assert_eq!(named["edges"], 1, "{named}");
    in_graph("mapped", b"ann bob\n".to_vec(), &["--ids", "map"]);
    let run = ["run", "bfs", "--source", "ann", "--json"];
    everedge().args(run).arg(home.directory.path().join("named")).assert().success();

    let matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n";
    let symmetric = in_graph("symmetric", matrix.into(), &[]);
    assert_eq!(symmetric["directed"], false, "{symmetric}");

    // More than is looked at, so that the rest follows what was looked at.
    let lines: String = (0..50_000).map(|i| format!("v{i} v{}\n", i + 1)).collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(lines.as_bytes()).unwrap();
    for (name, input) in [("long", lines.into_bytes()), ("gzip", gzip.finish().unwrap())] {
        let long = in_graph(name, input, &[]);
        assert_eq!((&long["edges"], &long["vertices"]), (&50_000.into(), &50_001.into()), "{long}");
    }

    let parquet = home.directory.path().join("parquet");
    let mut ingest = everedge();
    ingest.arg("ingest").arg(&parquet).arg("-").write_stdin("PAR1");
    assert_one_line(&mut ingest, &["name a file"]);
    assert!(!parquet.exists());
}

#[test]
fn wrong_usage_exits_2() {
    everedge().arg("run").assert().code(2);
    everedge().args(["run", "nonsense", "graph"]).assert().code(2);
}

/// A tmpfs of a few megabytes, unmounted at the end.
struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    fn new(size: &str) -> Option<Self> {
        let mount = tempfile::tempdir().unwrap();
        let size = format!("size={size}");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(mount.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if mounted {
            return Some(Self { mount });
        }
        println!("not run: this user may not mount a small tmpfs");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg(self.mount.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the small disk stays mounted");
    }
}

#[test]
fn a_full_disk_refuses_the_batch_and_keeps_the_rest() {
    let Some(disk) = SmallDisk::new("8m") else { return };
    let home = Home::new();
    let graph = disk.mount.path().join("graph");
    let first = home.file("first.txt", b"1 2\n2 3\n");
    everedge().arg("ingest").arg(&graph).arg(&first).assert().success();
    let before = stats(&graph);
    let lines: String = (0..2_000_000u32).map(|i| format!("{i} {}\n", i / 2)).collect();
    let large = home.file("large.txt", lines.as_bytes());
    let batch = ["--batch", "2000000"];
    let mut ingest = everedge();
    let ingest = ingest.arg("ingest").arg(&graph).arg(&large).args(batch);
    assert_one_line(ingest, &["no space", "bytes needed", "available"]);
    let without_bytes = |stats: String| stats.split(",\"disk_bytes\"").next().map(str::to_owned);
    assert_eq!(without_bytes(stats(&graph)), without_bytes(before));
    everedge().arg("verify").arg(&graph).assert().success();
    everedge().arg("ingest").arg("--delete").arg(&graph).arg(&first).assert().success();
}
