//! `everedge report`: a page about any kind of graph.

use std::path::Path;
use std::process::Output;

fn everedge(home: &Path, words: &str) -> Output {
    let words = words.split(' ').map(|word| word.replace("{}", home.to_str().unwrap()));
    std::process::Command::new(env!("CARGO_BIN_EXE_everedge"))
        .args(words)
        .current_dir(home)
        .output()
        .unwrap()
}

fn done(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(home: &Path, words: &str) -> String {
    let output = everedge(home, words);
    assert_eq!(output.status.code(), Some(1), "{words}");
    String::from_utf8(output.stderr).unwrap()
}

fn page(home: &Path) -> String {
    std::fs::read_to_string(home.join("report.html")).unwrap()
}

/// Three friends, of whom `ann` knows all, and a pair apart.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let friends = "from,to\nann,bob\nbob,cleo\nann,cleo\ncleo,ann\nyan,zoe\n";
    std::fs::write(home.path().join("friends.csv"), friends).unwrap();
    std::fs::write(home.path().join("roads.txt"), "1 2\n2 3\n3 1\n7 8\n").unwrap();
    home
}

#[test]
fn a_directed_graph_with_names_has_all_sections() {
    let home = home();
    let home = home.path();
    done(home, "ingest g friends.csv --quiet");
    let said = done(home, "report g --around zoe");
    assert!(
        said.starts_with("report.html: 5 vertices, 5 edges, 2 components, 2 communities"),
        "{said}"
    );
    let page = page(home);
    for words in [
        "<h1>g</h1>",
        "everedge run pagerank g --top 15",
        "everedge.pagerank(graph).top(15)",
        "everedge neighbors g zoe",
        "graph.neighbors(&quot;zoe&quot;)",
        "<option>zoe</option><option>cleo</option>",
        "edges from it",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<h2>Versions</h2>"));
    let summary: serde_json::Value =
        serde_json::from_str(&done(home, "report g --output other.html --json")).unwrap();
    assert_eq!(summary["components"], 2);
    assert_eq!(summary["ranking"][0][0], "cleo");
    assert!(home.join("other.html").exists());
}

#[test]
fn an_undirected_graph_of_numbers_has_no_directions() {
    let home = home();
    let home = home.path();
    done(home, "ingest g roads.txt --undirected --quiet");
    done(home, "report g");
    let page = page(home);
    assert!(page.contains("its neighbors") && page.contains("graph.neighbors(1)"));
    assert!(!page.contains("edges to it") && !page.contains("<th>enter</th>"));
}

#[test]
fn versions_are_drawn_and_one_of_them_can_be_asked() {
    let home = home();
    let home = home.path();
    done(home, "ingest g friends.csv --quiet");
    done(home, "commit g --name first --quiet");
    std::fs::write(home.join("more.csv"), "from,to\nann,zoe\n").unwrap();
    done(home, "ingest g more.csv --quiet");
    done(home, "commit g --name second --quiet");
    assert!(done(home, "report g").contains("6 edges, 1 component,"));
    assert!(page(home).contains("<h2>Versions</h2>"));
    assert!(done(home, "report g --at first").contains("5 edges, 2 components"));
    assert!(page(home).contains("This is version 1, first.") && page(home).contains(".at(1)"));
}

#[test]
fn sealed_graphs_and_those_without_an_edge_have_a_page() {
    let home = home();
    let home = home.path();
    done(home, "ingest g friends.csv --quiet");
    done(home, "seal g chunks --quiet");
    done(home, "report chunks");
    assert!(page(home).contains("<option>cleo</option>"));
    std::fs::write(home.join("loop.txt"), "0 0\n").unwrap();
    done(home, "ingest alone loop.txt --quiet --drop-self-loops");
    done(home, "report alone");
    assert!(page(home).contains("0 takes 100 % of all visits."));
}

#[test]
fn ids_may_lie_far_apart() {
    let home = home();
    let home = home.path();
    std::fs::write(home.join("far.txt"), "5 2000000000\n2000000000 7\n7 5\n").unwrap();
    done(home, "ingest far far.txt --ids dense --format edge-list");
    let said = done(home, "report far");
    assert!(said.starts_with("report.html: 3 vertices, 3 edges, 1 component"), "{said}");
    assert!(page(home).contains("<td class=\"name\">2000000000</td>"));
}

/// Vertices with edges both ways take no place from those that only lead to the center.
#[test]
fn all_neighbors_of_a_hub_are_drawn_or_counted() {
    let home = home();
    let home = home.path();
    let both: String = (0..100).map(|i| format!("h,b{i}\nb{i},h\n")).collect();
    let before: String = (0..70).map(|i| format!("i{i},h\n")).collect();
    std::fs::write(home.join("hub.csv"), format!("source,target\n{both}{before}")).unwrap();
    done(home, "ingest hub hub.csv --quiet");
    done(home, "report hub --around h");
    let page = page(home);
    assert!(page.contains("and 87 more"), "of those behind");
    assert!(page.contains("and 57 more"), "of those before");
    let piped = done(home, "report hub --output -");
    assert!(piped.starts_with("<!DOCTYPE html>"), "{piped:.40}");
}

/// Louvain takes no negative weights; all else does.
#[test]
fn a_graph_without_communities_has_a_page() {
    let home = home();
    let home = home.path();
    std::fs::write(home.join("signed.csv"), "from,to,weight\n-x,b,-1\nb,-x,2\n").unwrap();
    done(home, "ingest signed signed.csv --weighted");
    let said = done(home, "report signed --around=-x");
    assert!(said.contains("1 component, no communities"), "{said}");
    let page = page(home);
    assert!(page.contains("weights must be finite and 0 or more"));
    assert!(!page.contains("run louvain") && !page.contains("everedge.louvain"), "they fail too");
    assert!(page.contains("everedge neighbors signed -- -x"));
    done(home, "neighbors signed -- -x");
    done(home, "seal signed.csv sealed --weighted --no-in");
    let said = refused(home, "report sealed");
    assert!(said.contains("seal it again without --no-in"), "{said}");
}

#[test]
fn what_cannot_be_is_said_before_the_work() {
    let home = home();
    let home = home.path();
    done(home, "ingest g friends.csv --quiet");
    assert!(refused(home, "report g --around tom").contains("vertex `tom` is not in the graph"));
    assert!(refused(home, "report g --output {}").contains("is a directory"));
    assert!(refused(home, "report nothing").contains("nothing"));
    assert!(!home.join("report.html").exists(), "a page that failed leaves no file");
}
