//! What commands print, and what happens when nobody takes it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_everedge");

fn everedge(words: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(words);
    command
}

/// A place with a graph in it.
struct Home {
    place: TempDir,
}

impl Home {
    /// Makes a graph of a file with this content.
    fn new(text: &str) -> Self {
        let home = Self { place: tempfile::tempdir().unwrap() };
        std::fs::write(home.path("edges.txt"), text).unwrap();
        let output = home.run(&["ingest", "graph", "edges.txt", "--quiet"]);
        assert!(output.status.success(), "{}", text_of(&output.stderr));
        home
    }

    /// A graph that is so large that its values do not fit into a pipe.
    fn large() -> Self {
        Self::new(&(0..50_000).map(|i| format!("{i} {}\n", i + 1)).collect::<String>())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = everedge(words);
        command.current_dir(self.place.path());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }
}

/// Returns what was written to standard error but for what was guessed of files.
fn complaints(output: &Output) -> String {
    let text = text_of(&output.stderr);
    text.lines().filter(|line| !line.starts_with("guessed: ")).map(|l| format!("{l}\n")).collect()
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every command, as it is called on a graph `graph` of a file `edges.txt`.
const COMMANDS: [&[&str]; 10] = [
    &["ingest", "graph", "edges.txt"],
    &["run", "pagerank", "graph"],
    &["compact", "graph"],
    &["stats", "graph"],
    &["report", "graph"],
    &["verify", "graph"],
    &["export", "graph", "out.csv"],
    &["generate", "kron", "kron.txt", "--scale", "4"],
    &["bench", "ingest", "--scale", "6", "--trials", "1", "--on", "1", "--medium", "dram"],
    &[
        "bench",
        "dgap",
        "--scale",
        "6",
        "--trials",
        "1",
        "--figure",
        "6",
        "--on",
        "1",
        "--pmem-directory",
        "pmem",
    ],
];

#[test]
fn with_json_every_command_prints_one_object_and_nothing_else() {
    let home = Home::new("1 2\n2 3\n3 1\n");
    for words in COMMANDS {
        let output = home.run(&[words, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text_of(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {}", text_of(&output.stdout)));
        assert!(found.is_object(), "{words:?}: {found}");
        assert_eq!(text_of(&output.stdout).lines().count(), 1, "{words:?}");
    }
}

#[test]
fn with_quiet_no_command_prints_anything() {
    let home = Home::new("1 2\n2 3\n3 1\n");
    for words in COMMANDS {
        let output = home.run(&[words, &["--quiet"]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text_of(&output.stderr));
        assert_eq!((text_of(&output.stdout), text_of(&output.stderr)), Default::default());
    }
}

#[test]
fn failures_leave_standard_output_empty_and_say_one_line() {
    let home = Home::new("1 2\n");
    let missing: [(&[&str], i32); 4] = [
        (&["stats", "nowhere", "--json"], 1),
        (&["run", "bfs", "graph", "--source", "77", "--json"], 1),
        (&["bench", "ingest", "--writers", "0", "--json"], 1),
        (&["run", "bfs", "--json"], 2),
    ];
    for (words, code) in missing {
        let output = home.run(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
        assert!(code == 2 || text_of(&output.stderr).lines().count() == 1, "{words:?}");
    }
}

#[test]
fn a_reader_that_goes_ends_a_command_without_a_word() {
    let home = Home::large();
    for words in COMMANDS.iter().filter(|words| words[0] != "bench") {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(words).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{words:?}: {}", text_of(&output.stderr));
        assert_eq!(complaints(&output), "", "{words:?}");
    }
    let mut child = home
        .command(&["run", "wcc", "graph", "--output", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "0 0\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text_of(&output.stderr)), (Some(141), String::new()));
}

#[test]
fn output_that_takes_no_more_is_an_error_in_one_line() {
    let home = Home::new("1 2\n2 3\n3 1\n");
    let more: [&[&str]; 3] = [
        &["stats", "graph", "--json"],
        &["run", "bfs", "graph", "--source", "1", "--output", "-"],
        &["ingest", "--help"],
    ];
    for words in COMMANDS.iter().chain(&more) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = home.command(words).stdout(full).output().unwrap();
        let error = complaints(&output);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{words:?}: {error}");
        assert!(error.contains("No space left"), "{words:?}: {error}");
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = home.command(&["stats", "nowhere"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

/// Runs the program in a shell, in words that may redirect its output.
fn in_shell(home: &Home, words: &str) -> Output {
    let script = format!("exec '{PROGRAM}' {words}");
    Command::new("sh").arg("-c").arg(script).current_dir(home.place.path()).output().unwrap()
}

#[test]
fn a_standard_output_that_is_not_open_is_an_error() {
    let home = Home::new("1 2\n2 3\n3 1\n");
    let commands = COMMANDS.map(|words| words.join(" "));
    let more = [
        "stats graph --json --quiet",
        "run wcc graph --output - --quiet",
        "export graph - --quiet",
        "report graph --output - --quiet",
        "ingest --help",
        "--version",
    ];
    for words in commands.iter().map(String::as_str).chain(more) {
        for closed in [">&-", "1</dev/null"] {
            let error = only_line(&in_shell(&home, &format!("{words} {closed}")));
            assert!(error.contains("standard output"), "{words}: {error}");
            assert!(error.contains("not open for writing"), "{words}: {error}");
        }
    }
    for name in ["out.csv", "report.html", "kron.txt"] {
        assert!(!home.path(name).exists(), "{name} was made by a command that failed");
    }
    for words in ["run wcc graph", "export graph out.csv", "ingest graph edges.txt"] {
        let output = in_shell(&home, &format!("{words} --quiet >&-"));
        assert!(output.status.success(), "{words}: {}", text_of(&output.stderr));
    }
    assert_eq!(
        text_of(&home.run(&["stats", "graph", "--json"]).stdout).matches("\"edges\":6").count(),
        1
    );
}

/// What is asked for by any name of standard output is all that is there.
#[test]
fn words_leave_standard_output_to_what_was_asked_for() {
    let home = Home::new("1 2\n2 3\n");
    let (edges, depths) = ("1 2\n2 3\n", "1 0\n2 1\n3 2\n");
    for (words, expected) in [
        ("export graph /dev/stdout", edges),
        ("export graph /dev/fd/1", edges),
        ("export graph /dev/fd/3 --format edge-list 3>&1", edges),
        ("run bfs graph --source 1 --output /dev/stdout", depths),
        ("run bfs graph --source 1 --output /dev/fd/3 3>&1", depths),
    ] {
        let output = in_shell(&home, words);
        assert!(output.status.success(), "{words}: {}", text_of(&output.stderr));
        assert_eq!(text_of(&output.stdout), expected, "{words}");
    }
    let output = in_shell(&home, "export graph /dev/fd/3 --format edge-list 3>&1");
    assert!(text_of(&output.stderr).starts_with("2 edges written to /dev/fd/3"));
    let output = in_shell(&home, "report graph --output /dev/stdout");
    assert!(text_of(&output.stdout).trim_end().ends_with("</html>"));
    std::fs::write(home.path("all.txt"), "0 1\n").unwrap();
    assert!(in_shell(&home, "export graph /dev/stdout >> all.txt").status.success());
    assert_eq!(std::fs::read_to_string(home.path("all.txt")).unwrap(), format!("0 1\n{edges}"));
    for words in ["export graph -", "run wcc graph --output /dev/stdout", "report graph --output -"]
    {
        let output = in_shell(&home, &format!("{words} --json"));
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(text_of(&output.stderr).contains("both want standard output"), "{words}");
    }
}

#[test]
fn a_file_in_no_directory_is_named_with_what_to_do() {
    let home = Home::new("1 2\n");
    for words in [
        "export graph no/where/out.csv",
        "run wcc graph --output no/where/out.csv",
        "report graph --output no/where/out.csv",
        "generate kron no/where/out.csv --scale 4",
    ] {
        let error = only_line(&home.run(&words.split(' ').collect::<Vec<_>>()));
        let expected = "cannot create `no/where/out.csv`: No such file or directory (os error 2); make the \
                        directory `no/where` first";
        assert!(error.contains(expected), "{words}: {error}");
    }
}

/// Runs the program in a shell that sets a limit first.
fn limited(home: &Home, limit: &str, words: &str) -> Output {
    let script = format!("ulimit {limit} && exec '{PROGRAM}' {words}");
    Command::new("sh").arg("-c").arg(script).current_dir(home.place.path()).output().unwrap()
}

/// Returns what a command says that fails, which is one line.
#[track_caller]
fn only_line(output: &Output) -> String {
    let error = text_of(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{} {error}", output.status);
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_no_half_file() {
    let home = Home::large();
    let output = limited(&home, "-f 8", "run wcc graph --output values.txt");
    let error = only_line(&output);
    assert!(error.contains("values.txt") && error.contains("too large"), "{error}");
    let names = home.place.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().contains("values")));
}

#[test]
fn a_limit_on_open_files_is_named_in_the_error() {
    let home = Home::new("1 2\n");
    let output = limited(&home, "-n 5", "stats graph");
    assert!(only_line(&output).contains("ulimit -n"));
}

#[test]
fn a_graph_that_cannot_be_made_leaves_no_directory() {
    let home = Home::new("1 2\n");
    std::fs::write(home.place.path().join("edges.txt"), "1 2\n").unwrap();
    for words in ["seal edges.txt made", "seal graph made", "ingest made edges.txt"] {
        for files in 4..16 {
            let output = limited(&home, &format!("-n {files}"), words);
            let is_there = home.place.path().join("made").exists();
            assert_eq!(is_there, output.status.success(), "{words} with {files} files");
            if is_there {
                std::fs::remove_dir_all(home.place.path().join("made")).unwrap();
            }
        }
    }
}

#[test]
fn a_graph_in_the_place_of_the_kernel_is_told() {
    let home = Home::new("1 2\n");
    let output = home.run(&["run", "graph", "bfs"]);
    let error = text_of(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("the kernel comes before the graph"), "{error}");
}

#[test]
fn threads_that_the_system_refuses_are_an_error() {
    let home = Home::new("1 2\n");
    let output = limited(&home, "-v 400000", "stats graph --threads 2000");
    let error = only_line(&output);
    assert!(error.contains("cannot start 2000 threads") && error.contains("--threads"), "{error}");
}

#[test]
fn values_go_to_standard_output_or_a_text_file() {
    let home = Home::new("1 2\n2 3\n");
    let bfs = ["run", "bfs", "graph", "--source", "1"];
    let run = |words: &[&str]| home.run(&[&bfs, words].concat());
    let output = run(&["--output", "-"]);
    assert_eq!(text_of(&output.stdout), "1 0\n2 1\n3 2\n");
    assert!(text_of(&output.stderr).contains("reached: 3"));
    assert!(!home.path("-").exists());
    assert!(run(&["--output", "-", "--quiet"]).stderr.is_empty());
    let output = run(&["--output", "-", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output.stderr).contains("write the values to a file"));
    let output = run(&["--output", "depths.xlsx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output.stderr).contains("name a file that ends in .csv"));
    assert!(run(&["--output", "depths.txt"]).status.success());
    assert_eq!(std::fs::read_to_string(home.path("depths.txt")).unwrap(), "1 0\n2 1\n3 2\n");
}

/// A table of another graph, read by its own reader, holds the values as weights of edges to them.
#[test]
fn values_are_written_as_tables() {
    let home = Home::new("1 2\n2 3\n5 1\n");
    let run = |words: &[&str]| {
        let output = home.run(words);
        assert!(output.status.success(), "{words:?}: {}", text_of(&output.stderr));
        text_of(&output.stdout).to_owned()
    };
    let read = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    let bfs = ["run", "bfs", "graph", "--source", "1", "--quiet", "--output"];
    run(&[&bfs[..], &["depths.csv"]].concat());
    assert_eq!(read("depths.csv"), "id,value\n1,0\n2,1\n3,2\n5,\n");
    run(&["run", "sssp", "graph", "--source", "1", "--quiet", "--output", "lengths.tsv"]);
    assert_eq!(read("lengths.tsv"), "id\tvalue\n1\t0\n2\t1\n3\t2\n5\tinf\n");
    run(&["run", "hits", "graph", "--quiet", "--output", "hits.csv"]);
    assert!(read("hits.csv").starts_with("id,hub,authority\n1,"), "{}", read("hits.csv"));
    run(&["run", "spanning-forest", "graph", "--quiet", "--output", "forest.csv"]);
    assert!(read("forest.csv").starts_with("src,dst") && read("forest.csv").lines().count() == 4);
    for name in ["depths.parquet", "depths.arrow"] {
        run(&[&bfs[..], &[name]].concat());
        let columns = ["--src", "id", "--dst", "value", "--skip-nulls", "--quiet"];
        let graph = format!("graph-of-{name}");
        run(&[&["ingest", &graph, name][..], &columns].concat());
        assert_eq!(run(&["export", &graph, "-", "--quiet"]), "1 0\n2 1\n3 2\n", "{name}");
    }
    run(&["ingest", "versions", "edges.txt", "--quiet"]);
    run(&["commit", "versions", "--quiet"]);
    run(&["window", "wcc", "versions", "--quiet", "--output", "window.csv.gz"]);
    let bytes = std::fs::read(home.path("window.csv.gz")).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text)
        .unwrap();
    assert_eq!(text, "version,id,value\n1,1,1\n1,2,1\n1,3,1\n1,5,1\n");
    // What is a list in each version has its version, too; of one without an answer there are no rows.
    std::fs::write(home.path("more.txt"), "3 1\n7 8\n").unwrap();
    run(&["ingest", "versions", "more.txt", "--quiet"]);
    run(&["commit", "versions", "--quiet"]);
    for (kernel, rows) in [
        ("bridges", "version,src,dst\n1,1,2\n1,1,5\n1,2,3\n2,1,5\n2,7,8\n"),
        ("articulation-points", "version,id\n1,1\n1,2\n2,1\n"),
        ("topological-order", "version,id\n1,5\n1,1\n1,2\n1,3\n"),
        ("bipartition", "version,id,value\n1,1,0\n1,2,1\n1,3,0\n1,5,1\n"),
    ] {
        run(&["window", kernel, "versions", "--quiet", "--output", "window.csv"]);
        assert_eq!(read("window.csv"), rows, "{kernel}");
        run(&["window", kernel, "versions", "--quiet", "--output", "window.parquet"]);
    }
    run(&["window", "bipartition", "versions", "--from", "2", "--quiet", "--output", "none.csv"]);
    assert_eq!(read("none.csv"), "version,id\n");
}

/// A table without rows has the columns of one with rows.
#[test]
fn an_empty_table_says_what_its_columns_hold() {
    let home = Home { place: tempfile::tempdir().unwrap() };
    std::fs::write(home.path("ring.csv"), "src,dst\na,b\nb,c\nc,a\n").unwrap();
    for words in [
        "ingest ring ring.csv --quiet",
        "run bridges ring --output bridges.parquet --quiet",
        "ingest bridges bridges.parquet --src src --dst dst --quiet",
    ] {
        let output = home.run(&words.split(' ').collect::<Vec<_>>());
        let said = text_of(&output.stderr);
        assert!(output.status.success() || said.contains("no edges"), "{words}: {said}");
    }
    let stats = home.run(&["run", "bridges", "ring", "--output", "bridges.arrow", "--quiet"]);
    assert!(stats.status.success());
    let bytes = std::fs::read(home.path("bridges.arrow")).unwrap();
    let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let types: Vec<String> =
        reader.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types, ["Utf8", "Utf8"]);
}

#[test]
fn ids_with_blanks_are_told_apart_in_values() {
    let home = Home { place: tempfile::tempdir().unwrap() };
    std::fs::write(home.path("towns.csv"), "src,dst\nNew York,Paris\nParis,\"a\nb\"\n").unwrap();
    let ingest = home.run(&["ingest", "graph", "towns.csv", "--ids", "map", "--quiet"]);
    assert!(ingest.status.success(), "{}", text_of(&ingest.stderr));
    let output = home.run(&["run", "bfs", "graph", "--source", "New York", "--output", "-"]);
    let mut lines: Vec<String> = text_of(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, [r#""New York" 0"#, r#""a\nb" 2"#, "Paris 1"]);
}

#[test]
fn help_has_what_users_need_and_leaves_experiments_to_bench() {
    let help = |words: &[&str]| text_of(&everedge(words).output().unwrap().stdout);
    let (short, long) = (help(&["ingest", "--help"]), help(&["ingest", "--help-all"]));
    assert_eq!(help(&["ingest", "-h"]), short);
    let bench = help(&["bench", "ingest", "--help"]);
    for word in ["--division", "--battery", "--fill"] {
        assert!(!short.contains(word) && !long.contains(word) && bench.contains(word), "{word}");
    }
    for word in ["--undirected", "--durability", "--src", "Graph:", "Durability:", "Input:"] {
        assert!(short.contains(word) && long.contains(word), "{word}");
    }
    assert!(short.lines().count() <= 50, "{short}");
    for word in ["--skip-nulls", "--batch", "--delimiter"] {
        assert!(!short.contains(word) && long.contains(word), "{word}");
    }
}

/// The most memory of a finished process as `wait4` returns it, if Python is there to ask.
#[test]
fn the_peak_of_memory_is_the_one_that_the_system_counts() {
    let home = Home::large();
    let script = "import os, subprocess, sys\n\
                  child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n\
                  text = child.stdout.read()\n\
                  usage = os.wait4(child.pid, 0)[2]\n\
                  print(usage.ru_maxrss * 1024)\n\
                  print(text.decode())\n";
    let measured = |words: &[&str]| {
        let mut python = Command::new("python3");
        python.args(["-c", script, PROGRAM]).args(words).arg("--json");
        let output = python.current_dir(home.place.path()).output().ok()?;
        let text = text_of(&output.stdout);
        let (system, report) = text.split_once('\n')?;
        let report: Value = serde_json::from_str(report).unwrap();
        Some((system.parse::<f64>().unwrap(), report["peak_rss_bytes"].as_f64().unwrap()))
    };
    let commands: [&[&str]; 2] =
        [&["ingest", "again", "edges.txt"], &["run", "pagerank", "graph", "--output", "ranks.txt"]];
    for words in commands {
        let Some((system, reported)) = measured(words) else {
            return println!("not run: there is no python3");
        };
        let ratio = reported / system;
        assert!((0.97..=1.03).contains(&ratio), "{words:?}: {reported} of {system}");
    }
}

#[test]
fn a_graph_stays_readable_when_the_reader_of_acknowledgements_goes() {
    let home = Home::large();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let words = ["ingest", "other", "edges.txt", "--acknowledge", "--batch", "100"];
    let output = home.command(&words).stdout(writer).output().unwrap();
    assert!(!output.status.success() && output.status.code() != Some(101), "{}", output.status);
    assert!(Path::new(&home.path("other")).exists());
    assert!(home.run(&["verify", "other"]).status.success());
}

/// Damage that opening finds, and damage that only the checks find.
#[test]
fn verify_reports_all_damage_as_its_answer() {
    for layout in ["adjacency", "pma"] {
        let home = Home::new("1 2\n2 3\n3 1\n");
        let made = home.run(&["ingest", "other", "edges.txt", "--layout", layout, "--quiet"]);
        assert!(made.status.success());
        let other = home.path("other");
        for name in ["manifest.toml", "table", "arrays", "blocks", "shards", "log"] {
            let path = other.join(name);
            let Ok(whole) = std::fs::read(&path) else { continue };
            for place in (0..whole.len().min(1 << 16)).step_by(997) {
                let mut damaged = whole.clone();
                damaged[place] ^= 0x55;
                std::fs::write(&path, damaged).unwrap();
                let output = home.run(&["verify", "other", "--json"]);
                let found: Value = serde_json::from_slice(&output.stdout)
                    .unwrap_or_else(|_| panic!("{name} {place}: {}", text_of(&output.stderr)));
                assert_eq!(output.status.code(), Some(i32::from(found["ok"] == false)));
                assert!(!text_of(&output.stdout).contains("run `everedge verify`"), "{found}");
            }
            std::fs::write(&path, whole).unwrap();
        }
    }
}

/// Both would be all of standard output.
#[test]
fn an_export_to_standard_output_and_json_exclude_each_other() {
    let home = Home::new("1 2\n");
    let output = home.run(&["export", "graph", "-", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output.stderr).contains("standard output"), "{}", text_of(&output.stderr));
    assert!(output.stdout.is_empty());
}

#[test]
fn what_cannot_be_is_refused_in_short() {
    let home = Home::new("1 2\n");
    let output = home.run(&["ingest", "graph", "edges.txt", "--batch", "0"]);
    assert_eq!(output.status.code(), Some(2));
    let output = home.run(&["ingest", "graph", "edges.txt", "--layout", "pma"]);
    let said = text_of(&output.stderr);
    assert!(said.contains("layout \"adjacency\", not \"pma\"") && said.len() < 250, "{said}");
    let output = home.run(&["ingest", "other", "edges.txt", "--emulate-pmem"]);
    assert!(text_of(&output.stderr).contains("give both"));
    let output = home.run(&["ingest", "other", "edges.txt", "--log-size", "1"]);
    assert!(text_of(&output.stderr).contains("the edge log takes 64 to"));
    assert!(!home.place.path().join("other").exists(), "nothing is left");
    let output = home.run(&["run", "bc", "graph", "--samples", "0"]);
    assert!(text_of(&output.stderr).contains("samples=0: it must be 1 or more"));
    let output = home.run(&["run", "pagerank", "graph", "--tolerance", "0"]);
    assert!(text_of(&output.stderr).contains("tolerance=0: it must be above 0"));
}

#[test]
fn shells_and_man_know_every_command() {
    let printed = |arguments: &[&str]| {
        let output = everedge(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let help = printed(&["--help"]);
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names: Vec<&str> = listed
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 15, "{names:?}");
    let manual = printed(&["manual"]);
    assert!(manual.starts_with(".ie") || manual.contains(".TH everedge 1"), "{manual}");
    for shell in ["bash", "zsh", "fish"] {
        let completions = printed(&["completions", shell]);
        for name in &names {
            assert!(completions.contains(name), "{shell}: {name}");
        }
        for word in ["emulate-pmem", "adjacency", "both", "parquet"] {
            assert!(completions.contains(word), "{shell}: {word}");
        }
        // Those of the other shells know no words of what comes by its place.
        assert!(shell != "zsh" || completions.contains("personalized-pagerank"));
    }
    for name in names {
        assert!(manual.contains(&format!("EVEREDGE {}", name.to_uppercase())), "{name}");
        assert!(printed(&["manual", name]).contains(".SH SYNOPSIS"), "{name}");
    }
    let refused = everedge(&["manual", "sing"]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("there is no command `sing`; `everedge --help` lists them"), "{said}");
}

/// A script that asks for an order, colors or values learns that there are none.
#[test]
fn no_file_is_written_where_a_kernel_has_found_no_values() {
    let home = Home::new("0 1\n1 2\n2 0\n");
    for kernel in ["topological-order", "bipartition", "triangles"] {
        let ran = home.run(&["run", kernel, "graph", "--output", "found.txt"]);
        assert_eq!(ran.status.code(), Some(1), "{kernel}");
        assert!(text_of(&ran.stdout).starts_with(kernel));
        assert!(complaints(&ran).contains("no values here that --output could write"), "{kernel}");
        assert!(!home.path("found.txt").exists());
    }
    let home = Home::new("0 1\n1 2\n");
    for kernel in ["topological-order", "bipartition"] {
        let ran = home.run(&["run", kernel, "graph", "--output", "found.txt"]);
        assert!(ran.status.success() && home.path("found.txt").exists());
    }
}
