//! What is whole of a damaged graph is exported, and what is lost is listed.

use serde_json::Value;

use crate::inputs::{Home, everedge, stats};

const VERTICES: u32 = 3 * 4096;

fn export(home: &Home, flags: &[&str]) -> std::process::Output {
    let mut command = everedge();
    command.arg("export").arg(home.graph()).arg(home.at("out.txt")).args(flags).output().unwrap()
}

/// Damages bytes of the lists one after the other until some of them, and not all, are lost.
fn damage(home: &Home) -> Value {
    for name in ["blocks", "arrays", "rows"] {
        let path = home.graph().join(name);
        let Ok(whole) = std::fs::read(&path) else { continue };
        for place in (0..whole.len()).step_by(1009).filter(|&place| whole[place] != 0) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x55;
            std::fs::write(&path, damaged).unwrap();
            let output = export(home, &["--salvage", "--json", "--quiet"]);
            let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
            if let Some(report) = report.filter(|report| report["problems"] != Value::from([(); 0]))
            {
                assert_eq!(output.status.code(), Some(1));
                return report;
            }
        }
        std::fs::write(&path, whole).unwrap();
    }
    panic!("no byte of {} is one of a list", home.graph().display());
}

#[test]
fn what_is_whole_is_exported_and_what_is_lost_is_listed() {
    for layout in ["adjacency", "pma"] {
        let home = Home::new();
        let edges: String = (0..VERTICES).map(|v| format!("{v} {}\n", v ^ 1)).collect();
        let file = home.file("edges.txt", edges);
        assert!(home.ingest(&file, &["--layout", layout]).status.success());
        let mut compact = everedge();
        assert!(compact.arg("compact").arg(home.graph()).output().unwrap().status.success());
        let whole = export(&home, &["--salvage", "--json"]);
        let report: Value = serde_json::from_slice(&whole.stdout).unwrap();
        assert!(whole.status.success() && report["problems"].as_array().unwrap().is_empty());
        assert_eq!(report["edges"], VERTICES);

        let report = damage(&home);
        assert!(report["problems"][0].as_str().unwrap().contains("the vertices from"), "{report}");
        let edges = report["edges"].as_u64().unwrap();
        assert!(edges >= u64::from(VERTICES) / 3 && edges < u64::from(VERTICES), "{report}");
        let said = export(&home, &["--salvage"]);
        assert!(String::from_utf8(said.stderr).unwrap().starts_with("lost: the vertices from"));
        let text = std::fs::read_to_string(home.at("out.txt")).unwrap();
        assert_eq!(text.lines().count() as u64, edges);
        // Without the word for it nothing is left out.
        assert_eq!(export(&home, &[]).status.code(), Some(1));
        // What the graph is does not depend on its lists.
        assert_eq!(stats(&home.graph())["edges"], VERTICES);
    }
}

/// Each edge has its ends in two shards, of which one is damaged at most: the list of the other has it.
#[test]
fn an_undirected_edge_is_salvaged_from_either_end() {
    for layout in ["adjacency", "pma"] {
        let home = Home::new();
        let ids = 1..VERTICES - 4096;
        let edges: String = ids.clone().map(|v| format!("{v} {}\n", v + 4096)).collect();
        let file = home.file("edges.txt", edges);
        assert!(home.ingest(&file, &["--layout", layout, "--undirected"]).status.success());
        let mut compact = everedge();
        assert!(compact.arg("compact").arg(home.graph()).output().unwrap().status.success());
        let expected = ids.len();

        let report = damage(&home);
        assert_eq!(report["edges"], expected, "{layout}: {report}");
        for format in ["edge-list", "matrix-market", "metis"] {
            let name = home.at("out.txt");
            let output = export(&home, &["--salvage", "--json", "--quiet", "--format", format]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{layout} {format}: {said}");
            let back = home.at(&format!("{format}-back"));
            let mut ingest = everedge();
            ingest.arg("ingest").arg(&back).arg(&name).args(["--format", format, "--undirected"]);
            let output = ingest.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{layout} {format}: {said}");
            assert_eq!(stats(&back)["edges"], expected, "{layout} {format}");
        }
    }
}
