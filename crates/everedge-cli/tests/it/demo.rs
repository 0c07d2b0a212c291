//! `everedge demo` from start to end, twice, and where it must refuse.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn everedge(words: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_everedge"));
    Command::new(program).args(words).output().expect("the program starts")
}

fn json(words: &[&str]) -> Value {
    let output = everedge(words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn the_demo_runs_twice_and_leaves_a_page_and_a_graph() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("new/output");
    let shown = path.to_str().unwrap();
    for _ in 0..2 {
        let summary = json(&["demo", "--json", "--output", shown]);
        assert_eq!(summary["dependencies"], 309_496);
        assert_eq!(summary["ranking"][0][0], "libc6");
        let kills = summary["kills"].as_array().unwrap();
        assert_eq!(kills.len(), 5);
        for kill in kills {
            assert_eq!(kill["batches_lost"], 0);
            let batches = |key: &str| kill[key].as_u64().unwrap();
            assert!(batches("batches_acknowledged") >= 1);
            assert!(batches("batches_recovered") >= batches("batches_acknowledged"));
        }
        let page = std::fs::read_to_string(path.join("report.html")).unwrap();
        assert!(page.contains("60,586 packages") && page.contains("Every one of them was there"));
        assert!(!path.join("plug").exists());
        let graph = path.join("graph");
        let stats = json(&["stats", "--json", graph.to_str().unwrap()]);
        assert_eq!(stats["edges"], 309_496);
        assert_eq!(stats["vertices"], summary["packages"]);
    }
}

#[test]
fn a_directory_with_other_files_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("graph")).unwrap();
    let output = everedge(&["demo", "--output", place.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(line.contains("--output") && line.lines().count() == 1, "{line}");
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
}
