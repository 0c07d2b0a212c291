//! Files of timed insertions and deletions as versions, and what is asked of them.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

/// Runs everedge, with words between blanks and `{}` for the directory.
fn everedge(home: &Path, words: &str) -> Output {
    let home = home.to_str().unwrap();
    let words = words.split(' ').map(|word| word.replace("{}", home));
    std::process::Command::new(env!("CARGO_BIN_EXE_everedge")).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns what it prints, of a run that goes well.
fn printed(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(home: &Path, words: &str) -> Value {
    serde_json::from_str(&printed(home, &format!("{words} --json --quiet"))).unwrap()
}

/// Returns what it says, of a run that fails.
fn refused(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert_eq!(output.status.code(), Some(1), "{words}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// A stream of four steps, on three days.
const STREAM: &str = "\
0 1000000000 + a b
0 1000000000 + b c
1 1000086400 + c d
2 1000086401 - b c
2 1000086401 + a d
3 1000172800 + b c
3 1000172800 - a b
";

fn stream() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_owned();
    std::fs::write(path.join("stream"), STREAM).unwrap();
    (home, path)
}

#[test]
fn each_step_is_a_version() {
    let (_home, home) = stream();
    let report = json(&home, "ingest {}/g {}/stream --commit-every step");
    assert_eq!((&report["insertions"], &report["deletions"]), (&5.into(), &2.into()));
    assert_eq!((&report["versions_added"], &report["edges"]), (&4.into(), &3.into()));
    let versions = &json(&home, "versions {}/g")["versions"];
    let edges: Vec<_> = versions.as_array().unwrap().iter().map(|v| &v["edges"]).collect();
    assert_eq!(edges, [2, 3, 3, 3]);
    assert_eq!(versions[3]["time"], "2001-09-11T01:46:40Z");
    let stats = json(&home, "stats {}/g");
    assert_eq!((&stats["kind"], &stats["versions"]), (&"timeline".into(), &4.into()));
    let window = json(&home, "window bfs {}/g --source a");
    let reached: Vec<_> =
        window["versions"].as_array().unwrap().iter().map(|v| &v["result"]["reached"]).collect();
    assert_eq!(reached, [3, 4, 3, 2]);
    let depths = printed(&home, "window bfs {}/g --source a --from 2 --to 3 --output -");
    let unreached = i64::MAX;
    let expected = format!("2 a 0\n2 b 1\n2 c 2\n2 d 3\n3 a 0\n3 b 1\n3 c {unreached}\n3 d 1\n");
    assert_eq!(depths, expected);
    printed(&home, "window cdlp {}/g --output {}/labels.txt");
    let labels = std::fs::read_to_string(home.join("labels.txt")).unwrap();
    assert!(
        labels.starts_with("1 a ") && labels.lines().last().unwrap().starts_with("4 "),
        "{labels}"
    );
    for (version, expected) in [("1", 3), ("2", 4), ("3", 3), ("4", 2), ("2001-09-10", 3)] {
        let words = format!("run bfs {{}}/g --source a --at {version}");
        assert_eq!(json(&home, &words)["result"]["reached"], expected, "{version}");
    }
    assert_eq!(printed(&home, "diff {}/g --from 1 --to 3"), "- b c\n+ a d\n+ c d\n");
    // What went and came again is no difference.
    assert_eq!(printed(&home, "diff {}/g --from 1"), "- a b\n+ a d\n+ c d\n");
    assert_eq!(printed(&home, "export {}/g - --at 1"), "# src dst\na b\nb c\n");
    assert!(json(&home, "verify {}/g")["ok"].as_bool().unwrap());
    let kinds = ["compact {}/g", "ingest {}/g {}/edges"];
    std::fs::write(home.join("edges"), "a b\n").unwrap();
    for words in kinds {
        assert!(refused(&home, words).contains("holds versions and no live graph"), "{words}");
    }
}

#[test]
fn versions_end_after_some_updates_or_some_time() {
    let (_home, home) = stream();
    for (every, expected) in [("3", 3), ("1d", 3), ("1s", 4), ("100", 1), ("2w", 1)] {
        let _ = std::fs::remove_dir_all(home.join("g"));
        let words = format!("ingest {{}}/g {{}}/stream --commit-every {every}");
        assert_eq!(json(&home, &words)["versions_added"], expected, "{every}");
        assert_eq!(json(&home, "stats {}/g")["edges"], 3, "{every}");
    }
    // Rows of one version may be in any order, and those of others not.
    let shuffled = "2 1000172800 + a d\n2 1000172700 + b d\n1 1000086400 + c d\n";
    std::fs::write(home.join("shuffled"), shuffled).unwrap();
    let words = "ingest {}/h {}/shuffled --commit-every 1d";
    let error = refused(&home, words);
    let expected =
        "an update of 2001-09-10T01:46:40Z comes after one of 2001-09-11T01:46:40Z: --sort brings";
    assert!(error.contains(expected), "{error}");
    assert!(!home.join("h").exists());
    let report = json(&home, &format!("{words} --allow-late"));
    assert_eq!((&report["versions"], &report["late_updates"]), (&1.into(), &2.into()));
    let report = json(&home, "ingest {}/sorted {}/shuffled --commit-every 1d --sort");
    assert_eq!((&report["versions"], &report["late_updates"]), (&2.into(), &0.into()));
    assert_eq!(printed(&home, "export {}/sorted - --at 1"), "# src dst\nc d\n");
    // More of the same is later than what is there.
    std::fs::write(home.join("more"), "4 900000000 + d a\n4 1100000000 - d a\n").unwrap();
    let report = json(&home, "ingest {}/g {}/more --commit-every 1");
    assert_eq!(report["missed_deletions"], 0);
    assert_eq!((&report["versions"], &report["late_updates"]), (&3.into(), &1.into()));
    // A deletion that finds no edge is told of.
    std::fs::write(home.join("gone"), "5 1100000001 - d a\n5 1100000001 + z a\n").unwrap();
    let report = json(&home, "ingest {}/g {}/gone --commit-every 1");
    assert_eq!((&report["deletions"], &report["missed_deletions"]), (&1.into(), &1.into()));
}

#[test]
fn weights_of_updates_are_kept_or_refused() {
    let (_home, home) = stream();
    let rows = "src,dst,time,op,weight\na,b,2024-05-29,+,2.5\nb,c,2024-05-30,+,4\n";
    std::fs::write(home.join("w.csv"), rows).unwrap();
    printed(&home, "ingest {}/g {}/w.csv --commit-every 1d --quiet");
    assert!(json(&home, "stats {}/g")["weighted"].as_bool().unwrap());
    let window = json(&home, "window sssp {}/g --source a");
    assert_eq!(window["versions"][1]["result"]["max"], 6.5);
    printed(&home, "ingest {}/h {}/stream --commit-every step --quiet");
    assert!(refused(&home, "ingest {}/h {}/w.csv --commit-every 1d").contains("--unweighted"));
    printed(&home, "ingest {}/i {}/w.csv --commit-every 1d --unweighted --quiet");
    assert!(!json(&home, "stats {}/i")["weighted"].as_bool().unwrap());
}

#[test]
fn a_stream_is_no_list_of_edges() {
    let (_home, home) = stream();
    assert!(refused(&home, "ingest {}/g {}/stream").contains("--commit-every"));
    assert!(!home.join("g").exists());
    let report = json(&home, "ingest {}/g {}/stream --src 3 --dst 4");
    assert_eq!(report["edges"], 7);
    assert!(refused(&home, "versions {}/g").contains("everedge commit"));
    assert!(refused(&home, "run wcc {}/g --at 1").contains("everedge commit"));
}

#[test]
fn what_cannot_be_is_refused() {
    let (_home, home) = stream();
    std::fs::write(home.join("bad"), format!("{STREAM}4 soon + a b\n")).unwrap();
    let error = refused(&home, "ingest {}/g {}/bad --commit-every step");
    assert!(error.contains("line 8") && error.contains("soon"), "{error}");
    assert!(!home.join("g").exists());
    for words in [
        "ingest {}/g {}/stream --commit-every 0",
        "ingest {}/g {}/stream --commit-every 1x",
        "ingest {}/g {}/stream --keep 2",
        "ingest {}/g {}/stream --commit-every 1 --keep 0",
    ] {
        assert_eq!(everedge(&home, words).status.code(), Some(2), "{words}");
    }
    printed(&home, "ingest {}/g {}/stream --commit-every step --quiet");
    for (words, expected) in [
        ("run wcc {}/g --at 5", "no version 5; there are from 1 to 4"),
        (
            "run wcc {}/g --at 1999-01-01",
            "no version is so early; the first is of 2001-09-09T01:46:40Z",
        ),
        ("run wcc {}/g --at monday", "no version is called `monday`"),
        ("window wcc {}/g --source a", "wcc has no parameters"),
        ("window one-hop {}/g --source a", "is no question of a window"),
        ("window sssp {}/g --source a --delta 2", "no parameter but `source`"),
        ("window bfs {}/g --source z", "vertex `z` is in no version"),
        ("window bfs {}/g --source a --from 3 --to 2", "from version 3 to 2"),
        ("ingest {}/g {}/stream --commit-every 1 --undirected", "made with other options"),
        ("ingest {}/g {}/stream --commit-every 1 --ids dense", "made with other options"),
        ("ingest {}/h {}/stream --commit-every 1 --layout pma", "option of live graphs"),
    ] {
        let error = refused(&home, words);
        assert!(error.contains(expected), "{words}: {error}");
    }
}

/// What a live graph is becomes a version; it goes on, and the version stays.
#[test]
fn a_live_graph_is_committed() {
    for options in
        ["", " --layout pma", " --undirected --weighted", " --simple --no-in --layout pma"]
    {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        std::fs::write(home.join("e.csv"), "src,dst,weight\na,b,1\nb,c,2\nc,d,3\na,b,4\n").unwrap();
        std::fs::write(home.join("more.csv"), "src,dst,weight\nd,e,5\na,b,4\n").unwrap();
        std::fs::write(home.join("gone.csv"), "src,dst\nb,c\n").unwrap();
        let weights = if options.contains("weighted") { "" } else { " --unweighted" };
        let ingest = |file: &str| format!("ingest {{}}/g {{}}/{file}{options}{weights} --quiet");
        printed(home, &ingest("e.csv"));
        assert!(refused(home, "versions {}/g").contains("everedge commit"), "{options}");
        let edges = json(home, "stats {}/g")["edges"].as_u64().unwrap();
        let first = json(home, "commit {}/g --name monday");
        assert_eq!((&first["version"], &first["additions"]), (&1.into(), &edges.into()));
        printed(home, &ingest("more.csv"));
        printed(home, "ingest {}/g {}/gone.csv --delete --quiet");
        let second = json(home, "commit {}/g");
        let now = json(home, "stats {}/g");
        assert_eq!(now["versions"], 2, "{options}");
        assert_eq!(second["edges"], now["edges"], "{options}");
        let unchanged = json(home, "commit {}/g --name still");
        assert_eq!((&unchanged["additions"], &unchanged["deletions"]), (&0.into(), &0.into()));
        let exported = |words: &str| {
            let mut lines: Vec<String> = printed(home, words).lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(exported("export {}/g -"), exported("export {}/g - --at 2"), "{options}");
        assert_eq!(exported("export {}/g -"), exported("export {}/g - --at still"), "{options}");
        let of_monday = json(home, "run bfs {}/g --source a --at monday");
        assert_eq!(of_monday["result"]["reached"], 4);
        assert_eq!(
            (&of_monday["version"]["version"], &of_monday["version"]["name"]),
            (&1.into(), &"monday".into())
        );
        assert!(json(home, "run bfs {}/g --source a").get("version").is_none());
        assert!(printed(home, "run bfs {}/g --source a --at 1").contains(": monday"));
        let window = json(home, "window bfs {}/g --source a");
        let reached: Vec<_> = window["versions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| &v["result"]["reached"])
            .collect();
        assert_eq!(reached, [4, 2, 2], "{options}");
        for kernel in ["wcc", "pagerank --tolerance 1e-9", "triangles", "kcore", "scc", "lcc", "bc"]
        {
            let window = json(home, &format!("window {kernel} {{}}/g"));
            for version in window["versions"].as_array().unwrap() {
                let number = &version["version"];
                let alone = json(home, &format!("run {kernel} {{}}/g --top 1 --at {number}"));
                let results = [&version["result"], &alone["result"]];
                let is_equal = match kernel.starts_with("pagerank") {
                    true => results[0]["top"][0][0] == results[1]["top"][0][0],
                    // What leads is said of one version, not of each of many.
                    false => {
                        let mut keys = results[0].as_object().unwrap().iter();
                        keys.all(|(key, value)| results[1][key] == *value)
                    }
                };
                assert!(is_equal, "{options}: {kernel} of {number}: {results:?}");
            }
        }
        assert!(printed(home, "diff {}/g --from monday --to 2").contains("- b c"), "{options}");
        assert!(json(home, "verify {}/g")["ok"].as_bool().unwrap(), "{options}");
        let numbers = |report: serde_json::Value| {
            let versions = report["versions"].as_array().unwrap().clone();
            versions.iter().map(|v| v["version"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(json(home, "versions {}/g --keep 2")), [2, 3], "{options}");
        assert!(refused(home, "run wcc {}/g --at monday").contains("no version is called"));
        printed(home, &ingest("more.csv"));
        assert!(refused(home, "commit {}/g --time 2001-01-01").contains("version 3 is of"));
        assert!(refused(home, "commit {}/g --time 2101-01-01").contains("is to come"));
        assert_eq!(json(home, "commit {}/g --keep 2")["version"], 4);
        assert_eq!(numbers(json(home, "versions {}/g --keep 9000w")), [3, 4], "{options}");
        assert_eq!(exported("export {}/g -"), exported("export {}/g - --at 4"), "{options}");
        assert!(json(home, "verify {}/g")["ok"].as_bool().unwrap(), "{options}");
    }
}

#[test]
fn damaged_versions_are_named_and_leave_the_live_graph() {
    let (_home, home) = stream();
    printed(&home, "ingest {}/g {}/stream --src 3 --dst 4 --quiet");
    printed(&home, "commit {}/g --quiet");
    let file = home.join("g/versions.0");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let verified = everedge(&home, "verify {}/g");
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("versions.0"), "{}", text(&verified.stdout));
    assert!(refused(&home, "run wcc {}/g --at 1").contains("versions.0"));
    assert_eq!(json(&home, "run wcc {}/g")["result"]["components"], 1);
}

#[test]
fn a_window_takes_memory_for_its_vertices_however_far_their_ids_lie_apart() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("edges"), "1 2\n2 100000000\n").unwrap();
    printed(home, "ingest {}/g {}/edges --ids dense");
    printed(home, "commit {}/g");
    printed(home, "commit {}/g");
    for (kernel, expected) in
        [("bfs", "reached"), ("wcc", "largest"), ("pagerank", "top"), ("triangles", "count")]
    {
        let report = json(home, &format!("window {kernel} {{}}/g"));
        assert_eq!(report["method"], "each", "{kernel}");
        let result = &report["versions"][1]["result"];
        assert!(result.get(expected).is_some(), "{kernel}: {result}");
        let bytes = report["peak_rss_bytes"].as_u64().unwrap();
        assert!(bytes < 128 << 20, "{kernel}: {bytes}");
    }
}

#[test]
fn paths_begin_at_the_same_vertex_in_all_versions_however_far_ids_lie_apart() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let ingest = |edges: &str| {
        std::fs::write(home.join("edges"), edges).unwrap();
        printed(home, "ingest {}/g {}/edges --ids dense");
        printed(home, "commit {}/g");
    };
    ingest("1 2\n1 3\n100000000 1\n");
    ingest("2 5\n2 6\n2 7\n2 8\n");
    let reached = |command: &str| {
        let report = json(home, command);
        assert_eq!(report["method"], "each");
        let of = |version: &Value| version["result"]["reached"].as_u64().unwrap();
        let versions = report["versions"].as_array().unwrap();
        (report["source"].clone(), versions.iter().map(of).collect::<Vec<_>>())
    };
    for kernel in ["bfs", "sssp", "sswp", "ssnp", "viterbi"] {
        // Vertex 2 has the largest out-degree in the last version, and reaches itself only in the first.
        assert_eq!(reached(&format!("window {kernel} {{}}/g")), (2.into(), vec![1, 5]), "{kernel}");
        let from_5 = reached(&format!("window {kernel} {{}}/g --source 5"));
        assert_eq!(from_5, (5.into(), vec![0, 1]), "{kernel}");
    }
}

#[test]
fn what_may_delete_is_not_taken_for_insertions_in_silence() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for text in [
        "src,dst,date,kind\na,b,2024-01-01,follow\na,b,2024-01-02,unfollow\n",
        "src,dst,date,is_deleted\na,b,2024-01-01,0\na,b,2024-01-02,1\n",
        "a,b,follow,2024-01-01\na,b,unfollow,2024-01-02\n",
    ] {
        std::fs::write(home.join("f.csv"), text).unwrap();
        let error = refused(home, "ingest {}/g {}/f.csv --commit-every 1d");
        assert!(error.contains("may say what is inserted and deleted"), "{error}");
        printed(home, "ingest {}/all {}/f.csv --commit-every 1d --insertions-only");
        std::fs::remove_dir_all(home.join("all")).unwrap();
    }
    for text in [
        "src,dst,date,kind\na,b,2024-01-01,added\na,b,2024-01-02,removed\n",
        "src,dst,date,type\na,b,2024-01-01,1\na,c,2024-01-02,7\n",
    ] {
        std::fs::write(home.join("f.csv"), text).unwrap();
        printed(home, "ingest {}/g {}/f.csv --commit-every 1d");
        std::fs::remove_dir_all(home.join("g")).unwrap();
    }
}

#[test]
fn each_version_of_a_stream_is_acknowledged_and_none_is_to_come() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let days: String = (1..=5).map(|day| format!("a,b{day},2024-01-0{day}\n")).collect();
    std::fs::write(home.join("f.csv"), format!("src,dst,date\n{days}")).unwrap();
    let lines = printed(home, "ingest {}/g {}/f.csv --commit-every 1d --acknowledge");
    assert!(lines.starts_with("1\n2\n3\n4\n5\n"), "{lines}");
    std::fs::write(home.join("f.csv"), "src,dst,date\na,b,2024-01-01\na,c,2204-01-01\n").unwrap();
    let error = refused(home, "ingest {}/h {}/f.csv --commit-every 1d");
    assert!(error.contains("2204") && error.contains("is to come"), "{error}");
}

#[test]
fn a_lost_file_of_versions_is_damage_and_nothing_is_committed_over_them() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("edges"), "1 2\n2 3\n").unwrap();
    printed(home, "ingest {}/g {}/edges");
    (0..3).for_each(|_| drop(printed(home, "commit {}/g")));
    let said = std::fs::read(home.join("g/versions")).unwrap();
    std::fs::remove_file(home.join("g/versions")).unwrap();
    for command in ["versions {}/g", "commit {}/g", "window wcc {}/g"] {
        let error = refused(home, command);
        assert!(error.contains("one beside `versions.0`"), "{command}: {error}");
    }
    let verified = everedge(home, "verify {}/g");
    assert_eq!(verified.status.code(), Some(1), "{}", text(&verified.stdout));
    std::fs::write(home.join("g/versions"), said).unwrap();
    assert_eq!(json(home, "versions {}/g")["versions"].as_array().unwrap().len(), 3);
    // A first commit that was cut short has left no version.
    for left in [vec![], vec![0; 4096], vec![7; 100], vec![7; 4096]] {
        for name in ["g/versions", "g/versions.0"] {
            std::fs::remove_file(home.join(name)).unwrap();
        }
        std::fs::write(home.join("g/versions.0"), left).unwrap();
        assert!(refused(home, "versions {}/g").contains("has no versions"));
        printed(home, "commit {}/g");
    }
}

#[test]
fn ranks_stay_where_nothing_has_changed() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let edges: String = (0..300).map(|v| format!("{v} {}\n{v} {}\n", v * 7 % 300, v / 2)).collect();
    std::fs::write(home.join("edges"), edges).unwrap();
    printed(home, "ingest {}/g {}/edges --ids dense");
    (0..3).for_each(|_| drop(printed(home, "commit {}/g")));
    let report = json(home, "window pagerank {}/g");
    assert_eq!(report["method"], "from-before");
    let result = |index: usize| &report["versions"][index]["result"];
    assert_eq!([result(1), result(2)], [result(0), result(0)]);
    let error = refused(home, "window triangles {}/g --output {}/values");
    assert!(error.contains("nothing of each vertex"), "{error}");
}

#[test]
fn versions_before_a_damaged_one_are_exported() {
    let (_home, home) = stream();
    printed(&home, "ingest {}/g {}/stream --commit-every step");
    let path = home.join("g/versions.0");
    let whole = std::fs::read(&path).unwrap();
    let end = whole.iter().rposition(|&byte| byte != 0).unwrap();
    let is_lost = |place: &usize| {
        let mut damaged = whole.clone();
        damaged[*place] ^= 0x55;
        std::fs::write(&path, damaged).unwrap();
        !everedge(&home, "versions {}/g").status.success()
    };
    assert!((0..=end).rev().any(|place| is_lost(&place)), "no byte is one of a version");
    assert!(refused(&home, "export {}/g - --at 1").contains("damaged"));
    let salvaged = everedge(&home, "export {}/g - --at 1 --salvage");
    assert_eq!(text(&salvaged.stdout), "# src dst\na b\nb c\n");
    assert_eq!(salvaged.status.code(), Some(1));
    let lost = text(&salvaged.stderr);
    assert!(lost.starts_with("lost: all versions after 3: "), "{lost}");
    let newest = everedge(&home, "export {}/g - --salvage");
    assert_eq!(text(&newest.stdout), "# src dst\na b\na d\nc d\n");
    let error = refused(&home, "export {}/g - --at 4 --salvage");
    assert!(error.contains("there are from 1 to 3; lost: all versions after 3"), "{error}");
}
