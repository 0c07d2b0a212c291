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
    // What sealing says is what asking takes, with names.
    let least = json(home, "seal {}/e.txt {}/c")["least_memory_bytes"].as_u64().unwrap();
    json(home, &format!("run one-hop {{}}/c --source b --memory {least}"));
    let small = refused(home, &format!("run one-hop {{}}/c --source b --memory {}", least - 1));
    assert!(small.contains(&format!(" {least} would do")) && small.contains("names"), "{small}");
    let small = refused(home, "run pagerank {}/c --memory 1M");
    assert!(small.contains("is too small") && small.contains("would do (19M)"), "{small}");
    for (size, why) in [
        ("1.5", "`1.5` is no number"),
        ("2P", "`2P` is no number"),
        ("1..5G", "K, M, G or T"),
        (".5G", "K, M, G or T"),
        ("", "K, M, G or T"),
        ("99999999T", "`99999999T` is too large"),
    ] {
        let said = misused(home, &format!("run pagerank {{}}/c --memory {size}"));
        assert!(said.contains(why), "{size}: {said}");
    }
    for size in ["1T", "0.5GB", "64.25MiB", "70000kb", "67108864", "67108864B"] {
        json(home, &format!("run pagerank {{}}/c --memory {size}"));
    }
    for word in ["64M", "64 MiB", "0.0625g", "65536 KB"] {
        assert_eq!(everedge::size(word), Ok(64 << 20), "{word}");
    }
    assert_eq!(everedge::size("1.7M"), Ok(1_782_579));
    assert!(refused(home, "seal {}/e.txt {}/c").contains("holds a graph already"));
    for command in
        ["seal {}/e.txt {}/missing/d", "seal {}/c {}/missing/d", "ingest {}/missing/d {}/e.txt"]
    {
        let said = refused(home, command);
        assert!(said.contains("cannot find directory") && said.contains("/missing`"), "{said}");
    }
    assert!(refused(home, "commit {}/c").contains("sealed"));
    assert!(refused(home, "compact {}/c").contains("sealed"));
    assert!(refused(home, "run bfs {}/c --at 1").contains("no versions"));
    fs::write(home.join("bad.txt"), "a b\nb\n").unwrap();
    let bad = refused(home, "seal {}/bad.txt {}/d");
    assert!(bad.contains("bad.txt") && bad.contains("line 2"), "{bad}");
    assert!(!home.join("d").exists());
    let few = refused(home, "seal {}/e.txt {}/d --memory 1M");
    assert!(few.contains("(112M)") && !few.contains("--ids"), "{few}");
    let few = refused(home, "seal {}/e.txt {}/d --memory 112M");
    assert!(few.contains("2 edges of 3 vertices") && !few.contains("--ids"), "{few}");
    fs::write(home.join("far.txt"), "1 2\n2 2000000000\n").unwrap();
    let far = refused(home, "seal {}/far.txt {}/d --memory 200M --ids dense");
    assert!(far.contains("ids up to 2000000000") && far.contains("--ids integer"), "{far}");
    // The new directory is the last name, wherever options are.
    json(home, "seal {}/e.txt --memory 200M {}/f");
    assert!(misused(home, "seal {}/e.txt").contains("last a new directory"));
    assert!(misused(home, "seal {}/bad.txt {}/e.txt").contains("name one behind it"));
    assert!(misused(home, "seal {}/c {}/c {}/d").contains("/c CHUNKS` seals the graph"));
    // A directory that was there is there still, and as empty.
    fs::create_dir(home.join("d")).unwrap();
    refused(home, "seal {}/bad.txt {}/d");
    assert_eq!(home.join("d").read_dir().unwrap().count(), 0);
}

/// Lists that are longer than a bucket of edges usually is.
#[test]
fn hubs_are_sealed_in_buckets_of_their_own() {
    const NEIGHBORS: u32 = 300_000;
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // The first vertex, and one among others; one of them has the same neighbor many times.
    let edges: Vec<u8> = (1..=NEIGHBORS)
        .flat_map(|v| [(0, v), (v, 7), (7, 9)])
        .flat_map(|(u, v)| [u.to_le_bytes(), v.to_le_bytes()])
        .flatten()
        .collect();
    fs::write(home.join("e.bin"), edges).unwrap();
    let few = refused(home, "seal {}/e.bin {}/c --format binary --memory 122M --threads 2");
    assert!(few.contains("neighbors") && few.contains("would do"), "{few}");
    json(home, "seal {}/e.bin {}/c --format binary --memory 300M --threads 2");
    assert_eq!(json(home, "verify {}/c")["ok"], true);
    let found = json(home, "run bfs {}/c --source 0 --verify full");
    assert_eq!(found["result"]["reached"], NEIGHBORS + 1);
    assert_eq!(json(home, "stats {}/c")["edges"], 3 * NEIGHBORS);
}

/// Returns what it says, of a run that is used wrongly.
fn misused(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn what_is_for_files_is_refused_for_a_graph() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("e.txt"), "1 2\n2 3\n").unwrap();
    json(home, "ingest {}/g {}/e.txt");
    json(home, "seal {}/e.txt {}/c");
    let help = text(&everedge(home, "seal --help").stdout);
    let of_all = ["--at", "--plain", "--order", "--json", "--quiet", "--threads", "--help"];
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim_start().split(' ').find(|word| word.starts_with("--")))
        .filter(|option| help.contains(&format!("\n      {option}")) && !of_all.contains(option))
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options {
        let value = match option {
            "--memory" => " 1G",
            "--format" => " csv",
            "--ids" => " text",
            "--header" => " yes",
            "--delimiter" => " ;",
            "--src" | "--dst" | "--weight" => " 1",
            _ => "",
        };
        for graph in ["g", "c"] {
            let said = misused(home, &format!("seal {option}{value} {{}}/{graph} {{}}/new"));
            assert!(said.contains(option) && said.contains("is a graph"), "{option}: {said}");
            assert!(!home.join("new").exists());
        }
    }
    let said = misused(home, "seal {}/e.txt {}/g {}/new");
    assert!(said.contains("name it alone, or files alone"), "{said}");
    let said = misused(home, "seal {}/g {}/e.txt");
    assert!(said.contains("the last name is that of the new directory"), "{said}");
    let said = misused(home, "run bfs {}/g --memory 1G");
    assert!(said.contains("--memory is a budget for sealed graphs"), "{said}");
    json(home, "commit {}/g");
    misused(home, "run bfs {}/g --memory 1G --at 1");
}

#[test]
fn without_in_neighbors_it_says_what_runs_before_it_asks_for_a_budget() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    json(home, "generate kron {}/e.bin --scale 8");
    json(home, "seal {}/e.bin {}/c --no-in");
    json(home, "ingest {}/g {}/e.bin");
    let help = text(&everedge(home, "seal --help").stdout);
    assert!(help.contains("only one-hop and two-hop run"), "{help}");
    for kernel in everedge::Kernel::ALL {
        let words = format!("run {kernel} {{}}/c");
        if ["one-hop", "two-hop"].contains(&kernel.name()) {
            json(home, &words);
            continue;
        }
        for budget in ["", " --memory 1K"] {
            let said = refused(home, &format!("{words}{budget}"));
            assert!(said.contains("without --no-in") && !said.contains("budget"), "{said}");
        }
        // Where vertices have other numbers ties are broken otherwise.
        if kernel.depends_on_numbers() {
            continue;
        }
        let found = json(home, &format!("{words} --csr --verify full"));
        let expected = json(home, &format!("run {kernel} {{}}/g"));
        for key in ["reached", "depth", "components", "largest"] {
            assert_eq!(found["result"][key], expected["result"][key], "{kernel} {key}");
        }
        let small = refused(home, &format!("{words} --csr --memory 1K"));
        assert!(small.contains("is too small"), "{small}");
    }
}

/// What is wrong with a graph is said, and not that it holds no files of edges.
#[test]
fn a_graph_that_is_damaged_is_no_directory_of_files() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    json(home, "generate kron {}/k.csv --scale 6");
    json(home, "ingest {}/g {}/k.csv");
    json(home, "seal {}/g {}/s");
    for graph in ["g", "s"] {
        let manifest = home.join(graph).join("manifest.toml");
        let whole = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, whole.replacen("weighted", "weightad", 1)).unwrap();
        let said = refused(home, &format!("seal {{}}/{graph} {{}}/new"));
        assert!(said.contains("manifest.toml` is damaged"), "{said}");
        fs::remove_file(&manifest).unwrap();
        let said = refused(home, &format!("seal {{}}/{graph} {{}}/new"));
        assert!(said.contains("it holds no `manifest.toml`"), "{said}");
        fs::write(&manifest, whole).unwrap();
        json(home, &format!("seal {{}}/{graph} {{}}/of-{graph}"));
    }
}

/// Stacks of threads are part of a budget.
#[test]
fn a_budget_counts_many_threads() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    json(home, "generate kron {}/k.csv --scale 6");
    json(home, "seal {}/k.csv {}/s");
    let least = |threads: u64| {
        let said = refused(home, &format!("run one-hop {{}}/s --memory 1M --threads {threads}"));
        let least = said.split(" would do").next().unwrap().rsplit(' ').next().unwrap();
        least.parse::<u64>().unwrap()
    };
    assert!(least(200) > least(8) + 192 * (100 << 10));
    json(home, &format!("run one-hop {{}}/s --memory {} --threads 200", least(200)));
}
