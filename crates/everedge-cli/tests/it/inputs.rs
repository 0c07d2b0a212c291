//! Small files of every kind through the command line: the graph that they give, or the one line
//! that says why there is none.

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// What a writer has to acknowledge is acknowledged in this time, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    pub(crate) fn graph(&self) -> PathBuf {
        self.at("graph")
    }

    pub(crate) fn ingest(&self, file: &Path, flags: &[&str]) -> std::process::Output {
        let mut command = everedge();
        command.arg("ingest").arg(self.graph()).arg(file).args(flags);
        command.output().unwrap()
    }
}

pub(crate) fn everedge() -> Command {
    Command::new(env!("CARGO_BIN_EXE_everedge"))
}

/// Returns the edges of a graph as `src dst weight`, sorted.
pub(crate) fn edges_of(graph: &Path) -> Vec<String> {
    let output = everedge().arg("export").arg(graph).arg("-").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    // Above ids that are text a comment names the columns.
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# src dst"));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

pub(crate) fn stats(graph: &Path) -> Value {
    let output = everedge().args(["stats", "--json"]).arg(graph).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn assert_refused(output: &std::process::Output, words: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "not one line: {error}");
    for word in words {
        assert!(error.contains(word), "`{word}` is missing in: {error}");
    }
}

/// What a file must give: its edges, or words of the error.
type Outcome = Result<&'static [&'static str], &'static str>;

const MATRIX: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n";
const ONE_ENTRY: &str = "%%MatrixMarket matrix coordinate pattern general\n6 6 1\n5 6\n";
const DIMACS: &str = "p sp 3 2\na 1 2 5\na 2 3 7\n";
const METIS: &str = "3 2\n2 3\n1\n1\n";
const COLUMNS: &str = "weight,from,to\n1.5,a,b\n";
const ITEMS: &str = "user_of,thing\nann,tea\n";

const CASES: &[(&str, &str, &[&str], Outcome)] = &[
    // Columns and headers.
    ("a.csv", COLUMNS, &["--unweighted"], Ok(&["a b"])),
    ("a.csv", COLUMNS, &["--src", "from"], Ok(&["a b 1.5"])),
    ("a.csv", COLUMNS, &["--dst", "to"], Ok(&["a b 1.5"])),
    ("a.csv", COLUMNS, &["--weighted"], Ok(&["a b 1.5"])),
    ("a.csv", COLUMNS, &["--weight", "weight"], Ok(&["a b 1.5"])),
    ("a.csv", COLUMNS, &["--src", "to", "--dst", "from"], Ok(&["b a 1.5"])),
    ("a.csv", COLUMNS, &["--src", "who"], Err("no column \"who\"")),
    ("a.tsv", "weight\tfrom\tto\n1.5\ta\tb\n", &["--dst", "to"], Ok(&["a b 1.5"])),
    ("a.txt", "w from to\n1.5 1 2\n", &["--weight", "w"], Ok(&["1 2 1.5"])),
    ("a.txt", "# w from to\n1.5 1 2\n", &["--src", "from"], Ok(&["1 2"])),
    ("a.txt", "5 1 2\n", &["--src", "1", "--dst", "2"], Ok(&["1 2"])),
    ("a.csv", ITEMS, &["--header", "yes"], Ok(&["ann tea"])),
    ("a.csv", ITEMS, &["--src", "user_of", "--dst", "thing"], Ok(&["ann tea"])),
    ("a.csv", "user,item\nann,tea\n", &[], Ok(&["ann tea"])),
    ("a.csv", "\"user\",\"item\"\nann,tea\n", &[], Ok(&["ann tea"])),
    ("a.tsv", "user\titem\nann\ttea\n", &[], Ok(&["ann tea"])),
    ("a.csv", "user,item\nann,tea\n", &["--header", "no"], Ok(&["ann tea", "user item"])),
    ("a.txt", "FromNodeId ToNodeId\n1 2\n", &[], Ok(&["1 2"])),
    ("a.csv", "1;2\n3;4\n", &[], Ok(&["1 2", "3 4"])),
    ("a.txt", "a|b\nc|d\n", &[], Ok(&["a b", "c d"])),
    ("a.csv", "a,x;b\nc,y;d\n", &["--delimiter", ";"], Ok(&["a,x b", "c,y d"])),
    // Numbers and nulls are no names.
    ("a.csv", "1,2,NULL\n3,4,1.5\n", &[], Ok(&["1 2", "3 4"])),
    ("a.txt", "1 2 NA\n3 4 1.5\n", &[], Ok(&["1 2", "3 4"])),
    ("a.tsv", "1\t2\t2020-01-01\n3\t4\t1.5\n", &["--ids", "dense"], Ok(&["1 2", "3 4"])),
    ("a.csv", "1,2,NULL\n3,4,1.5\n", &["--weighted"], Err("line 1: the weight is null")),
    ("a.csv", "1.0,2.0\n3.0,4.0\n", &[], Err("line 1: expected an integer id")),
    ("a.csv", "NULL,NULL\n3,4\n", &[], Err("line 1: an id is null; --skip-nulls")),
    ("a.csv", "NA,5\n3,4\n", &["--skip-nulls"], Ok(&["3 4"])),
    // Integers between blanks come before a comma.
    ("a.txt", "1 2 0,5\n2 3 1,5\n", &[], Err("line 1: expected a number, found \"0,5\"")),
    ("a.txt", "1, 2\n2 ,3\n", &[], Ok(&["1 2", "2 3"])),
    // Undirected files in directed graphs.
    ("a.mtx", MATRIX, &["--directed"], Ok(&["1 2", "2 1", "3 3"])),
    ("a.mtx", MATRIX, &[], Ok(&["1 2", "3 3"])),
    ("a.graph", METIS, &["--directed"], Ok(&["1 2", "1 3", "2 1", "3 1"])),
    // What ids are.
    ("a.csv", "001,2\n", &[], Ok(&["001 2"])),
    ("a.csv", "1,2\n", &["--ids", "text"], Ok(&["1 2"])),
    ("a.csv", "007,2\n", &["--ids", "integer"], Ok(&["7 2"])),
    ("a.csv", "1,2\n03,4\n", &["--ids", "map"], Ok(&["03 4", "1 2"])),
    ("a.csv", "1,2\nx,4\n", &["--ids", "dense"], Err("--ids text")),
    // What is no edge.
    ("a.jsonl", "{\"src\":1,\"dst\":2}\n", &[], Ok(&["1 2"])),
    ("a.txt", "{\"a\":\"x\",\"b\":\"1\"}\n", &[], Ok(&["x 1"])),
    ("a.json", "[{\"src\":1,\"dst\":2}]\n", &[], Err("array of JSON")),
    ("a.json", "{\n\"edges\": []\n}\n", &[], Err("an object of JSON")),
    ("a.txt", "// by hand\n1 2\n", &[], Err("line 1")),
    ("a.txt", "a b\n// by hand\n", &[], Err("line 2")),
    ("a.csv", "a, b\n", &[], Ok(&["a b"])),
    ("a.csv", "1,2\n3,NaN\n", &[], Err("line 2: an id is null; --skip-nulls")),
    ("a.csv", "a,b\nc,NULL\n", &[], Err("line 2")),
    ("a.csv", "a,b\nc,\n", &[], Err("line 2")),
    ("a.csv", "a,b\nc,NULL\nd,\n", &["--skip-nulls"], Ok(&["a b"])),
    // Weights.
    ("a.gr", DIMACS, &[], Ok(&["1 2 5", "2 3 7"])),
    ("a.gr", DIMACS, &["--unweighted"], Ok(&["1 2", "2 3"])),
    ("a.csv", "src,dst,weight\n1,2,0.1\n", &[], Ok(&["1 2 0.1"])),
    ("a.csv", "src,dst,rating\n1,2,3\n", &[], Ok(&["1 2"])),
    ("a.csv", "src,dst,rating\n1,2,3\n", &["--weight", "rating"], Ok(&["1 2 3"])),
    ("a.txt", "1 2 16777217\n", &["--weighted"], Err("--round-weights")),
    ("a.txt", "1 2 16777217\n", &["--weighted", "--round-weights"], Ok(&["1 2 16777216"])),
    ("a.txt", "1 2 1082040961\n", &[], Ok(&["1 2"])),
    ("a.csv", "src,dst,timestamp\n1,2,64\n", &["--weighted"], Err("--weight")),
    ("a.csv", "src,dst,timestamp\n1,2,64\n", &["--weight", "timestamp"], Ok(&["1 2 64"])),
    ("a.txt", "1 2\n", &["--weighted"], Err("--weight")),
    ("a.txt", "1 2 {}\n2 3 {'weight': 5.0}\n", &[], Err("line 1: the weight is null")),
    ("a.txt", "1 2 {}\n2 3 {'weight': 5.0}\n", &["--skip-nulls"], Ok(&["2 3 5"])),
    ("a.txt", "1 2 {}\n2 3 {'weight': 5.0}\n", &["--unweighted"], Ok(&["1 2", "2 3"])),
];

#[test]
fn files_give_the_edges_that_they_mean_or_none() {
    for (name, text, flags, outcome) in CASES {
        let home = Home::new();
        let output = home.ingest(&home.file(name, text), flags);
        let case = format!("{name} {text:?} {flags:?}");
        match outcome {
            Ok(edges) => {
                let error = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{case}: {error}");
                assert_eq!(edges_of(&home.graph()), *edges, "{case}");
            }
            Err(word) => {
                assert_refused(&output, &[name, word]);
                assert!(!home.graph().exists(), "{case} left a graph");
            }
        }
    }
}

/// A null that is meant is an id, which blanks cannot hold and quotes can.
#[test]
fn a_null_may_be_an_id() {
    let home = Home::new();
    let file = home.file("a.csv", "a,b\nc,NULL\n");
    assert!(home.ingest(&file, &["--ids", "text"]).status.success());
    let export = |format: &str| {
        let mut export = everedge();
        export.arg("export").arg(home.graph()).args(["-", "--format", format]).output().unwrap()
    };
    assert_refused(&export("edge-list"), &["NULL", "csv"]);
    assert_eq!(export("csv").stdout, b"src,dst\na,b\nc,\"NULL\"\n");
}

#[test]
fn what_was_guessed_is_said() {
    let home = Home::new();
    let file = home.file("a.csv", COLUMNS);
    let output = home.ingest(&file, &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "guessed: csv with a header, src=from, dst=to, weight=weight, text ids, directed, weighted\n"
    );
    let other = home.at("other");
    let flags = ["--json", "--header", "yes", "--src", "from", "--ids", "text", "--unweighted"];
    let output = everedge().arg("ingest").arg(&other).arg(&file).args(flags).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({
        "format": "csv", "columns": {"dst": "to"}, "delimiter": ",",
        "weights_left_out": "weight", "directed": true,
    });
    assert_eq!(report["guessed"], expected);
    let silent = home.ingest(&file, &["--quiet"]);
    assert!(silent.stderr.is_empty() && silent.stdout.is_empty());
}

#[test]
fn a_late_id_that_is_no_integer_makes_mapped_ids_text() {
    let home = Home::new();
    let lines: String = (0..20_000).map(|i| format!("{i},{}\n", i + 1)).collect();
    let file = home.file("late.csv", lines + "x,7\n");
    assert_refused(&home.ingest(&file, &[]), &["late.csv", "line 20001", "--ids text"]);
    assert!(!home.graph().exists());
    assert!(home.ingest(&file, &["--ids", "map"]).status.success());
    let edges = edges_of(&home.graph());
    assert_eq!((edges.len(), edges.contains(&"x 7".to_owned())), (20_001, true));
}

#[test]
fn several_files_directories_patterns_and_archives_are_one_ingest() {
    let home = Home::new();
    std::fs::create_dir(home.at("parts")).unwrap();
    home.file("parts/1.csv", "1,2\n");
    home.file("parts/2.txt", "3 4\n");
    home.file("parts/_SUCCESS", "");
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n6 6 1\n5 6\n";
    header.set_size(matrix.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, "m/m.mtx", matrix.as_bytes()).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive.into_inner().unwrap()).unwrap();
    home.file("m.tar.gz", gzip.finish().unwrap());
    let mut ingest = everedge();
    ingest.arg("ingest").arg(home.graph()).arg(home.at("parts")).arg(home.at("*.tar.gz"));
    let output = ingest.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(edges_of(&home.graph()), ["1 2", "3 4", "5 6"]);
    assert_refused(&home.ingest(&home.at("*.none"), &[]), &["no file matches"]);
}

/// Returns a tar archive of these files.
fn archive<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let bytes = bytes.as_ref();
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn all_graphs_of_an_archive_are_taken_and_the_others_said() {
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static str);
    let cases: [Case; 4] = [
        (&[("p0.csv", "1,2\n"), ("p1.csv", "3,4\n")], &["1 2", "3 4"], ""),
        (
            &[("readme.txt", "by hand\n"), ("q.v", "1\n2\n"), ("q.e", "1 2\n")],
            &["1 2"],
            "readme.txt",
        ),
        (&[("d/a.txt", "1 2\n"), ("d/b.png", "x")], &["1 2"], "d/b.png"),
        (&[("m/m_b.mtx", "x"), ("m/m.mtx", ONE_ENTRY)], &["5 6"], "m/m_b.mtx"),
    ];
    for (number, (files, edges, not_taken)) in cases.into_iter().enumerate() {
        let home = Home::new();
        let output = home.ingest(&home.file("a.tar", archive(files)), &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{number}: {said}");
        assert_eq!(edges_of(&home.graph()), edges, "{number}");
        assert_eq!(said.contains("not taken from"), !not_taken.is_empty(), "{number}: {said}");
        assert!(said.contains(not_taken), "{number}: {said}");
    }
    let home = Home::new();
    let bad = home.file("a.tar", archive(&[("p0.csv", "1,2\n"), ("p1.csv", "3,x\n5,6\n")]));
    assert_refused(&home.ingest(&bad, &["--ids", "dense"]), &["a.tar/p1.csv", "line 1"]);
    assert_refused(
        &home.ingest(&home.file("b.tar", archive(&[("readme.txt", "")])), &[]),
        &["b.tar"],
    );
}

#[test]
fn a_pipe_gives_one_graph_of_an_archive() {
    let home = Home::new();
    let one = archive(&[("readme.txt", "by hand\n"), ("p0.csv", "1,2\n3,4\n")]);
    let several = archive(&[("p0.csv", "1,2\n3,4\n"), ("p1.csv", "3,4\n")]);
    for (bytes, words) in [(one, None), (several, Some(["p0.csv, p1.csv", "to a file"]))] {
        let mut command = everedge();
        command.arg("ingest").arg(home.graph()).arg("-").stdin(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        match words {
            None => assert_eq!(edges_of(&home.graph()), ["1 2", "3 4"]),
            Some(words) => assert_refused(&output, &words),
        }
    }
}

/// A file in an archive may be compressed, and a pipe may pause anywhere in it.
#[test]
fn a_compressed_file_of_an_archive_comes_through_a_pipe() {
    let lines: String = (0..2000).map(|i| format!("{i},{}\n", i * i)).collect();
    for name in ["p0.csv.gz", "p0.csv.zst", "p0.csv.bz2", "p0.csv.xz"] {
        let home = Home::new();
        let mut member = everedge::OutputFile::create(&home.at(name)).unwrap();
        member.write_all(lines.as_bytes()).unwrap();
        member.put_in_place().unwrap();
        let bytes = archive(&[(name, std::fs::read(home.at(name)).unwrap())]);
        let mut stream = Stream::start(&home.graph(), &["--flush-every", "0.1"]);
        // Within the mark of the compression, and within what is compressed.
        for piece in [&bytes[..514], &bytes[514..1000], &bytes[1000..]] {
            stream.input.as_mut().unwrap().write_all(piece).unwrap();
            std::thread::sleep(Duration::from_millis(300));
        }
        drop(stream.input.take());
        let output = stream.child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name}: {said}");
        assert_eq!(edges_of(&home.graph()).len(), 2000, "{name}");
    }
}

#[test]
fn options_that_contradict_a_graph_are_refused() {
    let home = Home::new();
    let file = home.file("a.txt", "1 2\n");
    assert!(home.ingest(&file, &[]).status.success());
    for (flags, word) in [
        (&["--undirected"][..], "directed true"),
        (&["--weighted"], "weighted false"),
        (&["--weight", "0"], "weighted false"),
        (&["--simple"], "simple false"),
        (&["--layout", "pma"], "layout \"adjacency\""),
        (&["--ids", "text"], "ids \"dense\""),
        (&["--log-size", "1M"], "log_bytes"),
        (&["--archive-threshold", "77"], "archive_threshold"),
    ] {
        assert_refused(&home.ingest(&file, flags), &[word]);
    }
    let same = ["--directed", "--ids", "dense", "--layout", "adjacency", "--medium", "file"];
    assert!(home.ingest(&file, &same).status.success());
    assert_eq!(edges_of(&home.graph()), ["1 2", "1 2"]);
}

#[test]
fn a_call_that_takes_nothing_in_leaves_no_graph() {
    let home = Home::new();
    let file = home.file("a.txt", "1 2\n");
    assert_refused(&home.ingest(&file, &["--delete"]), &["no graph", "to delete from"]);
    assert!(!home.graph().exists());
    // An empty directory stays one.
    std::fs::create_dir(home.graph()).unwrap();
    assert_refused(&home.ingest(&home.file("bad.txt", "1 2\n3\n"), &[]), &["line 2"]);
    assert!(home.ingest(&home.file("empty.v", ""), &[]).status.success());
    assert_eq!(home.graph().read_dir().unwrap().count(), 0);
    assert!(home.ingest(&home.file("b.csv", "a,b\n"), &["--undirected"]).status.success());
    assert_eq!(stats(&home.graph())["directed"], false);
}

#[test]
fn an_export_is_whole_or_leaves_what_was_there() {
    let home = Home::new();
    assert!(home.ingest(&home.file("a.csv", "a b,c\n"), &[]).status.success());
    let old = home.file("out.txt", "old");
    let output = everedge().arg("export").arg(home.graph()).arg(&old).output().unwrap();
    assert_refused(&output, &["out.txt", "blank"]);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    let names = std::fs::read_dir(home.0.path()).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.starts_with(".everedge")), "{names:?}");
    let lines = home.at("out.jsonl");
    let output = everedge().arg("export").arg(home.graph()).arg(&lines).output().unwrap();
    assert!(output.status.success());
    assert_eq!(std::fs::read_to_string(&lines).unwrap(), "{\"src\":\"a b\",\"dst\":\"c\"}\n");
    let output = everedge().arg("export").arg(home.graph()).args(["-", "--format", "csv"]).output();
    assert_eq!(output.unwrap().stdout, b"src,dst\na b,c\n");
    assert!(!Path::new("-").exists());
}

/// A process that takes a pipe in and says what it acknowledges.
pub(crate) struct Stream {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    said: Receiver<String>,
}

impl Stream {
    pub(crate) fn start(graph: &Path, flags: &[&str]) -> Self {
        let mut command = everedge();
        command.arg("ingest").arg(graph).args(["-", "--acknowledge"]).args(flags);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (says, said) = mpsc::channel();
        let mut lines = BufReader::new(output).lines();
        thread::spawn(move || lines.try_for_each(|line| says.send(line.unwrap())));
        Self { child, input, said }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the next acknowledgement.
    pub(crate) fn acknowledged(&mut self) -> u64 {
        let line = self.said.recv_timeout(PATIENCE).expect("an acknowledgement in time");
        line.parse().unwrap_or_else(|_| panic!("{line:?} is no number"))
    }

    /// Ends the input and waits for the process.
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn edges_of_a_pipe_are_acknowledged_while_it_is_open() {
    let home = Home::new();
    let mut stream = Stream::start(&home.graph(), &["--flush-every", "0.2"]);
    let start = Instant::now();
    stream.write("1 2\n2 3\n3");
    assert_eq!(stream.acknowledged(), 2);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    stream.write(" 4\n");
    assert_eq!(stream.acknowledged(), 3);
    stream.write("4 5");
    drop(stream.input.take());
    assert_eq!(stream.acknowledged(), 4);
    assert!(stream.child.wait().unwrap().success());
    assert_eq!(edges_of(&home.graph()), ["1 2", "2 3", "3 4", "4 5"]);
}

/// What a pipe holds does not depend on when it comes: its first two records decide.
#[test]
fn a_pause_changes_nothing() {
    for (first, then, edges) in [
        ("xxx,yyy\n", "1,2\n3,4\n", Ok(&["1 2", "3 4"][..])),
        ("100,200\n", "a,b\n", Ok(&["100 200", "a b"])),
        ("u,v\na,b\n", "v,w\n", Ok(&["a b", "v w"])),
        ("1,2\n3,4\n", "a,b\n", Err("--ids text")),
        ("7 8\n", "", Ok(&["7 8"])),
    ] {
        for pause in [0, 400] {
            let home = Home::new();
            let mut stream = Stream::start(&home.graph(), &["--flush-every", "0.1"]);
            stream.write(first);
            std::thread::sleep(Duration::from_millis(pause));
            stream.write(then);
            drop(stream.input.take());
            let output = stream.child.wait_with_output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            match edges {
                Ok(edges) => {
                    assert!(output.status.success(), "{first:?}: {error}");
                    assert_eq!(edges_of(&home.graph()), edges, "{first:?} {pause}");
                }
                Err(words) => assert!(error.contains(words), "{first:?} {pause}: {error}"),
            }
        }
    }
}

/// Lines that are shorter than the mark of a compression are edges like others.
#[test]
fn short_lines_of_a_pipe_are_acknowledged() {
    let home = Home::new();
    let mut stream = Stream::start(&home.graph(), &["--flush-every", "0.1", "--header", "no"]);
    stream.write("0 1\n");
    std::thread::sleep(Duration::from_millis(300));
    stream.write("1\t2\n");
    assert_eq!(stream.acknowledged(), 2);
    stream.write("2 3\n");
    assert_eq!(stream.acknowledged(), 3);
    drop(stream.input.take());
    assert!(stream.child.wait().unwrap().success());
}

#[test]
fn ctrl_c_keeps_what_a_pipe_has_given() {
    let home = Home::new();
    let mut stream = Stream::start(&home.graph(), &["--flush-every", "0.2"]);
    stream.write("1 2\n2 3\n");
    assert_eq!(stream.acknowledged(), 2);
    let pid = stream.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = stream.child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted in `-`; the 2 edges"), "{said}");
    assert_eq!(edges_of(&home.graph()), ["1 2", "2 3"]);
}

/// Nothing comes: a signal ends what waits for it.
#[test]
fn ctrl_c_ends_what_has_read_nothing_yet() {
    let home = Home::new();
    let pipe = home.at("edges.txt");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (file, number) in [(pipe.as_path(), 0), (Path::new("-"), 1)] {
        let graph = home.at(&format!("g{number}"));
        let mut command = everedge();
        command.arg("ingest").arg(&graph).arg(file).args(["--flush-every", "20"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _open = child.stdin.take();
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said, format!("everedge: interrupted in `{}`\n", file.display()));
        assert!(!graph.exists());
    }
    // One whose writer comes later is read like any other.
    let mut command = everedge();
    let child = command.arg("ingest").arg(home.graph()).arg(&pipe).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(&pipe, "1 2\n2 3\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(edges_of(&home.graph()).len(), 2);
}

#[test]
fn options_of_persistent_memory_are_refused_elsewhere() {
    let home = Home::new();
    let edges = home.file("edges.txt", "0 1\n");
    for flags in [&["--eadr"][..], &["--emulate-pmem"]] {
        let refused = home.ingest(&edges, flags);
        assert!(!refused.status.success() && !home.graph().exists(), "{flags:?}");
    }
    let emulated = ["--medium", "pmem", "--emulate-pmem"];
    assert!(home.ingest(&edges, &[&emulated[..], &["--eadr"]].concat()).status.success());
    let refused = home.ingest(&edges, &emulated[..2]);
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("\"pmem\" (emulated), not \"pmem\""), "{words}");
}

/// A silent pipe keeps no full batch waiting.
#[test]
fn a_full_batch_is_acknowledged_at_once() {
    let home = Home::new();
    let mut stream = Stream::start(&home.graph(), &["--flush-every", "3600", "--batch", "10"]);
    let lines = |ids: Range<u32>| ids.map(|i| format!("{i} {}\n", i + 1)).collect::<String>();
    stream.write(&lines(0..25));
    assert_eq!([stream.acknowledged(), stream.acknowledged()], [10, 20]);
    stream.write(&lines(25..31));
    assert_eq!(stream.acknowledged(), 30);
    drop(stream.input.take());
    assert_eq!(stream.acknowledged(), 31);
    assert!(stream.child.wait().unwrap().success());
}

#[test]
fn batches_of_a_fast_pipe_are_full() {
    let home = Home::new();
    let mut stream = Stream::start(&home.graph(), &["--flush-every", "60", "--batch", "1000"]);
    let lines: String = (0..300_000).map(|i| format!("{i} {}\n", i + 1)).collect();
    stream.write(&lines);
    drop(stream.input.take());
    for batch in 1..=300 {
        assert_eq!(stream.acknowledged(), 1000 * batch);
    }
    assert!(stream.child.wait().unwrap().success());
    assert_eq!(stats(&home.graph())["edges"], 300_000);
}

/// A column of operations says by its name what 1 and -1 are: deletions are not taken for edges.
#[test]
fn numbers_in_a_column_of_operations_are_no_edges() {
    let home = Home::new();
    for (name, content) in [
        ("a.csv", "src,dst,op\n1,2,1\n1,2,-1\n3,4,1\n"),
        ("a.tsv", "src\tdst\toperation\n1\t2\t+1\n1\t2\t-1\n"),
        ("a.jsonl", "{\"src\":1,\"dst\":2,\"op\":1}\n{\"src\":1,\"dst\":2,\"op\":-1}\n"),
        // Deletions may come long after what is looked at.
        ("ones.csv", "src,dst,op\n1,2,1\n3,4,1\n"),
    ] {
        let output = home.ingest(&home.file(name, content), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("insertions and deletions"), "{said}");
    }
    // Whoever names the ends takes all rows.
    let named = home.ingest(&home.at("a.csv"), &["--src", "src", "--dst", "dst"]);
    assert!(named.status.success(), "{}", String::from_utf8_lossy(&named.stderr));
}
