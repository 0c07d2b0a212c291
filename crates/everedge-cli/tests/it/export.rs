//! What is exported comes back as the same graph, in every format and compressed.

use std::path::Path;

use assert_cmd::Command;

use crate::sealed::{json, text};

fn everedge(arguments: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everedge"));
    command.args(arguments).arg("--quiet");
    command
}

/// The edges of a graph as sorted lines.
fn edges_of(graph: &Path) -> Vec<String> {
    let file = graph.join("../lines.txt");
    everedge(&["export".as_ref(), graph, &file]).assert().success();
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn an_exported_graph_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let edges: String =
        (0..2000u32).map(|i| format!("{} {}\n", 1 + i * 7 % 501, 1 + i * i % 499)).collect();
    let file = home.path().join("edges.txt");
    std::fs::write(&file, edges).unwrap();
    let graph = home.path().join("graph");
    everedge(&["ingest".as_ref(), &graph, &file]).assert().success();
    let expected = edges_of(&graph);
    assert_eq!(expected.len(), 2000);
    for format in ["txt", "csv", "tsv", "mtx", "e", "bin", "parquet"] {
        for compression in ["", ".gz", ".zst"] {
            let file = home.path().join(format!("{format}-out.{format}{compression}"));
            let mut export = everedge(&["export".as_ref(), &graph, &file]);
            if format == "parquet" && !compression.is_empty() {
                let error = export.assert().code(1).get_output().stderr.clone();
                assert!(String::from_utf8_lossy(&error).contains("leave the ending out"));
                assert!(!file.exists());
                continue;
            }
            export.assert().success();
            let back = home.path().join(format!("{format}-back{compression}-graph"));
            everedge(&["ingest".as_ref(), &back, &file]).assert().success();
            assert!(edges_of(&back) == expected, "{}", file.display());
        }
    }
}

/// Files of a graph are not written over, nor is anything put beside them.
#[test]
fn an_export_into_a_graph_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("edges.txt");
    std::fs::write(&file, "1 2\n").unwrap();
    let graph = home.path().join("graph");
    everedge(&["ingest".as_ref(), &graph, &file]).assert().success();
    for name in ["log", "manifest.toml", "edges.txt"] {
        let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_everedge"));
        export.arg("export").arg(&graph).arg(graph.join(name)).args(["--format", "edge-list"]);
        let output = export.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {error}");
        assert!(error.contains("lies in a graph"), "{name}: {error}");
    }
    everedge(&["verify".as_ref(), &graph]).assert().success();
}

/// Who has lost the manifest is not told to remove the rest.
#[test]
fn a_graph_without_its_manifest_is_not_taken_for_an_unfinished_one() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("edges.txt");
    std::fs::write(&file, "1 2\n").unwrap();
    let graph = home.path().join("graph");
    everedge(&["ingest".as_ref(), &graph, &file]).assert().success();
    std::fs::remove_file(graph.join("manifest.toml")).unwrap();
    let outcome = everedge(&["ingest".as_ref(), &graph, &file]).assert().failure();
    let error = String::from_utf8_lossy(&outcome.get_output().stderr).into_owned();
    assert!(error.contains("without its `manifest.toml`"), "{error}");
    assert!(graph.join("log").exists());
}

/// A full device takes no byte of a binary file, whose few bytes are held back until the end.
#[test]
fn an_export_to_a_full_device_fails() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("edges.txt");
    std::fs::write(&file, "1 2\n").unwrap();
    let graph = home.path().join("graph");
    everedge(&["ingest".as_ref(), &graph, &file]).assert().success();
    for format in ["binary", "edge-list"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_everedge"));
        export.arg("export").arg(&graph).args(["-", "--format", format]).stdout(full);
        let output = export.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{format}: {error}");
        assert!(error.contains("No space left"), "{format}: {error}");
    }
}

/// Ids that look like names of columns, like nulls or like another format.
#[test]
fn odd_names_come_back() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("edges.jsonl");
    let ids = ["user", "item", "src", "dst", "a,b", "c;d", "weight", "007"];
    let edges: String = (0..ids.len())
        .map(|i| format!("{{\"a\":\"{}\",\"b\":\"{}\"}}\n", ids[i], ids[(i + 1) % ids.len()]))
        .collect();
    std::fs::write(&file, edges).unwrap();
    let graph = home.path().join("graph");
    everedge(&["ingest".as_ref(), &graph, &file]).assert().success();
    let expected = edges_of(&graph);
    for format in ["txt", "csv", "tsv", "jsonl", "parquet"] {
        let file = home.path().join(format!("out.{format}"));
        everedge(&["export".as_ref(), &graph, &file]).assert().success();
        let back = home.path().join(format!("{format}-graph"));
        everedge(&["ingest".as_ref(), &back, &file]).assert().success();
        assert_eq!(edges_of(&back), expected, "{format}");
    }
}

/// What a file says, whatever the order of its edges: lines in order, of METIS those of its neighbors.
fn content(file: &Path, weighted: bool) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let mut lines: Vec<Vec<u8>> = match file.extension().and_then(|ending| ending.to_str()) {
        Some("bin") => bytes.chunks(8).map(<[u8]>::to_vec).collect(),
        _ => bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect(),
    };
    if file.extension().is_some_and(|ending| ending == "graph") {
        for line in &mut lines[1..] {
            let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
            let mut neighbors: Vec<_> = words.chunks(1 + usize::from(weighted)).collect();
            neighbors.sort_unstable();
            *line = neighbors.concat().join(&b' ');
        }
    } else {
        lines.sort_unstable();
    }
    lines
}

/// A sealed graph, also with changes over it, is written as the live graph that was sealed, in every format; what
/// the format cannot hold of one is refused of the other.
#[test]
fn a_sealed_graph_is_exported_as_what_was_sealed() {
    for (directed, weighted, ids) in [
        (true, true, "dense"),
        (false, true, "dense"),
        (false, false, "dense"),
        (false, true, "integer"),
        (true, false, "integer"),
        (false, false, "text"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let name = |number: u64| match ids {
            "text" => format!("v{number}"),
            "integer" => format!("{}", 1 + (number * 17 + 5) % 61),
            _ => number.to_string(),
        };
        let rows = |numbers: std::ops::Range<u64>, bound: u64| -> String {
            let edge = |i: u64| (i * 7 % bound, (i * i + 1 + i * 7 % bound) % bound);
            let edges = numbers.map(edge).filter(|(u, v)| u != v);
            let row = |(u, v)| {
                let weight = if weighted { format!(",{}", 1 + u % 5) } else { String::new() };
                format!("{},{}{weight}\n", name(u), name(v))
            };
            let header = if weighted { "a,b,weight\n" } else { "a,b\n" };
            [header.to_owned()].into_iter().chain(edges.map(row)).collect()
        };
        for (file, text) in [
            ("e.csv", rows(0..300, 50)),
            ("more.csv", rows(300..340, 58)),
            ("less.csv", rows(90..120, 50)),
        ] {
            std::fs::write(home.join(file), text).unwrap();
        }
        let kind = if directed { "--directed" } else { "--undirected" };
        json(home, &format!("ingest {{}}/live {{}}/e.csv --ids {ids} {kind}"));
        json(home, "seal {}/live {}/sealed");
        for round in ["new", "changed"] {
            let mut written = 0;
            for ending in ["txt", "csv", "tsv", "jsonl", "mtx", "graph", "e", "bin"] {
                let place = format!("{round} {directed} {weighted} {ids} {ending}");
                let [live, sealed] = ["live", "sealed"].map(|graph| {
                    let words = format!("export {{}}/{graph} {{}}/{graph}.{ending} --json");
                    let output = crate::sealed::everedge(home, &words);
                    let said =
                        text(&output.stdout) + &text(&output.stderr).replace("sealed.", "live.");
                    (output.status.code(), said)
                });
                assert_eq!(sealed, live, "{place}");
                if live.0 != Some(0) {
                    continue;
                }
                written += 1;
                for ending in
                    [ending, "v"].into_iter().filter(|&one| one == ending || ending == "e")
                {
                    let [live, sealed] = ["live", "sealed"]
                        .map(|graph| content(&home.join(graph).with_extension(ending), weighted));
                    assert!(sealed == live, "{place} {ending}");
                }
            }
            // METIS holds no directions, pairs of integers no weights, and neither nor Matrix Market holds strings.
            let refused = match ids {
                "text" => 3,
                _ => usize::from(directed) + usize::from(weighted),
            };
            assert_eq!(written, 8 - refused, "{round} {directed} {weighted} {ids}");
            for graph in ["live", "sealed"] {
                json(home, &format!("ingest {{}}/{graph} {{}}/more.csv"));
                json(home, &format!("ingest {{}}/{graph} {{}}/less.csv --delete"));
            }
        }
    }
}
