//! `neighbors`, `degree`, `path` and `similar`: what is asked of single vertices.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

fn everedge(home: &Path, words: &str) -> Output {
    let words = words.split(' ').map(|word| word.replace("{}", home.to_str().unwrap()));
    std::process::Command::new(env!("CARGO_BIN_EXE_everedge")).args(words).output().unwrap()
}

fn printed(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(home: &Path, words: &str) -> Value {
    serde_json::from_str(&printed(home, &format!("{words} --json"))).unwrap()
}

const ROADS: &str = "from,to,weight
ann,bob,1
bob,eve,1.5
ann,eve,4
eve,\"new york\",2
zoe,ann,1
";

/// A graph with names and weights.
fn roads() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("roads.csv"), ROADS).unwrap();
    printed(home.path(), "ingest {}/g {}/roads.csv --weighted");
    home
}

#[test]
fn edges_of_vertices_are_shown_in_their_direction() {
    let home = roads();
    let home = home.path();
    let lines = |words: &str| {
        let mut lines: Vec<String> = printed(home, words).lines().map(Into::into).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines("neighbors {}/g ann"), ["ann bob 1", "ann eve 4"]);
    assert_eq!(lines("neighbors {}/g ann --direction in"), ["zoe ann 1"]);
    assert_eq!(lines("neighbors {}/g ann eve --direction both").len(), 6);
    assert_eq!(lines("neighbors {}/g eve"), ["eve \"new york\" 2"]);
    assert_eq!(json(home, "neighbors {}/g zoe"), json!({ "edges": [["zoe", "ann", 1.0]] }));
    let near = printed(home, "neighbors {}/g zoe --hops 2");
    assert_eq!(near.lines().next(), Some("zoe 0"));
    assert_eq!(lines("neighbors {}/g zoe --hops 2"), ["ann 1", "bob 2", "eve 2", "zoe 0"]);
    let near = json(home, "neighbors {}/g eve --hops 1 --direction in");
    assert_eq!(near["vertices"].as_array().unwrap().len(), 3);
    std::fs::write(home.join("loop.txt"), "a a\na b\n").unwrap();
    for (name, option) in [("loop", ""), ("loop-out", " --no-in")] {
        printed(home, &format!("ingest {{}}/{name} {{}}/loop.txt{option}"));
        let both = lines(&format!("neighbors {{}}/{name} a --direction both"));
        assert_eq!(both, ["a a", "a b"]);
        assert_eq!(lines(&format!("neighbors {{}}/{name} a --direction in")), ["a a"]);
    }
    let refused = everedge(home, "neighbors {}/g ann tom");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("vertex `tom` is not in the graph"));
    let refused = everedge(home, "neighbors {}/g ann --direction up");
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn degrees_are_of_those_that_are_named_or_of_all() {
    let home = roads();
    let home = home.path();
    assert_eq!(printed(home, "degree {}/g eve ann"), "eve 1 2\nann 2 1\n");
    assert_eq!(json(home, "degree {}/g eve"), json!({ "degrees": [["eve", 1, 2]] }));
    let all = json(home, "degree {}/g --top 2");
    assert_eq!(
        (&all["vertices"], &all["max"], &all["isolated"]),
        (&5.into(), &3.into(), &0.into())
    );
    assert_eq!((&all["mean"], &all["median"]), (&2.0.into(), &2.0.into()));
    assert_eq!(all["top"], json!([["ann", 2, 1], ["eve", 1, 2]]));
    let words = printed(home, "degree {}/g");
    assert!(words.contains("5 vertices, 0 of them without an edge; degrees: mean 2.00"), "{words}");
    printed(home, "ingest {}/u {}/roads.csv --undirected");
    assert_eq!(printed(home, "degree {}/u eve"), "eve 3\n");
    // Degrees 3, 3, 1 and 1.
    std::fs::write(home.join("four.txt"), "1 2\n1 2\n1 3\n2 4\n").unwrap();
    printed(home, "ingest {}/four {}/four.txt --undirected");
    let words = printed(home, "degree {}/four");
    assert!(words.contains("mean 2.00, median 2, largest 3"), "{words}");
    printed(home, "ingest {}/out {}/roads.csv --no-in");
    assert_eq!(printed(home, "degree {}/out eve ann"), "eve 1 2\nann 2 1\n");
}

#[test]
fn a_path_is_the_lightest_or_that_of_the_fewest_edges() {
    let home = roads();
    let home = home.path();
    assert_eq!(printed(home, "path {}/g ann eve"), "ann\nbob\neve\n");
    assert_eq!(printed(home, "path {}/g ann eve --hops"), "ann\neve\n");
    let aside = everedge(home, "path {}/g ann eve").stderr;
    assert_eq!(String::from_utf8_lossy(&aside), "2 edges, length 2.5\n");
    let found = json(home, "path {}/g zoe eve");
    assert_eq!(found["vertices"], json!(["zoe", "ann", "bob", "eve"]));
    assert_eq!((&found["length"], &found["source"]), (&3.5.into(), &"zoe".into()));
    let none = everedge(home, "path {}/g eve zoe");
    assert!(none.status.code() == Some(3) && none.stdout.is_empty());
    assert_eq!(String::from_utf8_lossy(&none.stderr), "no path leads from eve to zoe\n");
    let none = everedge(home, "path {}/g eve zoe --json");
    assert_eq!(none.status.code(), Some(3));
    assert_eq!(serde_json::from_slice::<Value>(&none.stdout).unwrap()["length"], Value::Null);
    for (ends, code) in [("ann eve", 0), ("eve zoe", 3), ("eve tom", 1)] {
        let quiet = everedge(home, &format!("path {{}}/g {ends} --quiet"));
        assert_eq!((quiet.status.code(), quiet.stdout), (Some(code), Vec::new()), "{ends}");
    }
    printed(home, "seal {}/g {}/sealed");
    assert_eq!(printed(home, "path {}/sealed ann eve"), "ann\nbob\neve\n");
    printed(home, "commit {}/g --name first");
    assert_eq!(printed(home, "path {}/g ann eve --at first"), "ann\nbob\neve\n");
}

#[test]
fn similar_vertices_share_neighbors() {
    let home = roads();
    let home = home.path();
    let shown = printed(home, "similar {}/g zoe --measure common-neighbors");
    let mut lines: Vec<&str> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1.000000 bob", "1.000000 eve"]);
    let found = json(home, "similar {}/g ann --top 1");
    assert_eq!(found["similar"].as_array().unwrap().len(), 1);
    // Ids that lie far apart take no memory for those between them.
    std::fs::write(home.join("far.txt"), "5 2000000000\n2000000000 7\n7 5\n").unwrap();
    for (name, option) in [("far", ""), ("far-out", " --no-in")] {
        printed(home, &format!("ingest {{}}/{name} {{}}/far.txt --ids dense{option}"));
        let shown = printed(home, &format!("similar {{}}/{name} 5 --measure common-neighbors"));
        let mut lines: Vec<&str> = shown.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["1.000000 2000000000", "1.000000 7"]);
    }
    let wrong = everedge(home, "similar {}/g ann --measure looks");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("measure=looks: there are common"));
}
