//! Which files a call takes.

use std::path::PathBuf;

use everedge::{Graph, GraphOptions, IngestOptions, MediumKind};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn directories_and_patterns_give_their_files() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::create_dir_all(at("day=2/_tmp")).unwrap();
    for (id, name) in
        ["a.csv", "b.csv", "day=2/d.tsv", "_SUCCESS", ".c.csv", "readme"].into_iter().enumerate()
    {
        let blank = if name.ends_with("csv") { ',' } else { '\t' };
        std::fs::write(at(name), format!("{id}{blank}100\n")).unwrap();
    }
    let taken = |paths: &[PathBuf]| {
        let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("files".as_ref(), &options, false).unwrap();
        graph.ingest(paths, &IngestOptions::default(), &mut |_| true).map(|_| {
            let mut sources = graph.snapshot().unwrap().edges().0;
            sources.sort_unstable();
            sources
        })
    };
    assert_eq!(taken(&[home.path().to_owned()]).unwrap(), [0, 1, 2]);
    assert_eq!(taken(&[at("*.csv"), at("d*"), at("readme")]).unwrap(), [0, 1, 2, 5]);
    assert!(taken(&[at("absent")]).unwrap_err().to_string().contains("absent"));
    for path in [at("*.tsv"), at("day=2/_tmp")] {
        assert!(taken(&[path]).is_err());
    }
}
