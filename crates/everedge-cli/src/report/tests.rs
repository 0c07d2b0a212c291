//! The whole page, with full, empty and hostile findings.

use super::findings::{Communities, Community, Facts, Findings, Row};
use super::page::render;
use crate::charts::{Count, Neighborhood, Ranked};

/// Findings with a little of everything.
fn small(name: &str) -> Findings {
    let text = str::to_owned;
    let count = |value, count| Count { value, count };
    Findings {
        path: format!("graphs/{name}"),
        stats: Facts { directed: true, has_names: true, vertices: 3, edges: 2, ..Facts::default() },
        version: Some((2, format!("version 2, {name}"))),
        in_degrees: Some(vec![count(0, 2), count(2, 1)]),
        out_degrees: vec![count(0, 1), count(1, 2)],
        components: vec![count(3, 1), count(1, 4)],
        strong: Some(vec![count(1, 3)]),
        ranking: vec![Ranked { name: text(name), score: 0.5 }],
        communities: Communities {
            refused: None,
            count: 1,
            modularity: 0.25,
            largest: vec![Community { size: 3, members: vec![text(name), text("b")] }],
        },
        neighborhoods: vec![Neighborhood {
            center: text(name),
            edges: vec![(text("b"), text(name)), (text(name), text("c"))],
            hidden: [0, 7],
        }],
        rows: vec![Row {
            name: text(name),
            score: 0.5,
            out_degree: 0,
            in_degree: Some(2),
            community: Some(text(name)),
        }],
        versions: vec![(1, 1), (2, 2)],
        ..Findings::default()
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let page = render(&small("</script><script>alert(\"1\")</script>&'"));
    assert_eq!(page.matches("<script").count(), 1, "its own");
}

#[test]
fn the_page_loads_nothing() {
    let page = render(&small("a"));
    for word in ["http:", "https:", "url(", "src=", "@import", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn ids_are_unique() {
    let mut findings = small("a");
    findings.neighborhoods.push(findings.neighborhoods[0].clone());
    let page = render(&findings);
    let ids = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut ids: Vec<&str> = ids.collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn an_empty_graph_has_a_page_without_nonsense() {
    for findings in [Findings::default(), small("a")] {
        let page = render(&findings);
        for word in ["NaN", "inf\"", "-inf", "Infinity"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn lines_ask_for_the_version_that_is_shown() {
    let page = render(&small("a b"));
    assert!(page.contains("everedge run pagerank 'graphs/a b' --at 2 --top 15"), "the shell");
    assert!(
        page.contains(
            "graph = everedge.Timeline(&quot;graphs/a b&quot;, mode=&quot;r&quot;).at(2)"
        )
    );
    assert!(page.contains("everedge versions 'graphs/a b'<"), "it has no version to ask");
    assert!(page.contains("and 7 more"), "neighbors that no edge here names");
}

#[test]
fn shares_keep_three_digits_however_small_they_are() {
    let mut findings = small("a");
    for (share, shown) in [
        (1.0, "100 %"),
        (0.1771, "17.7 %"),
        (0.00123, "0.123 %"),
        (7.7e-6, "0.000770 %"),
        (0.0, "0 %"),
    ] {
        findings.rows[0].score = share;
        assert!(render(&findings).contains(&format!("<td>{shown}</td>")), "{shown}");
    }
}

#[test]
fn long_names_are_cut_in_their_middle_and_whole_on_hover() {
    let long = "organisation/department/components/modules/the-first-one";
    let page = render(&small(long));
    let (_, cell) = page.split_once("<td class=\"name\"").expect("a cell with a name");
    let (cell, _) = cell.split_once("</td>").expect("its end");
    assert!(cell.starts_with(&format!(" title=\"{long}\">organisation/")), "{cell}");
    assert!(cell.contains('…') && cell.ends_with("first-one"), "{cell}");
    let (_, option) = page.split_once("<option").expect("a neighborhood to choose");
    assert!(option.starts_with(&format!(" title=\"{long}\">organisation/")), "{option:.99}");
}

#[test]
fn only_names_stand_on_the_left_of_their_column() {
    let mut findings = small("a");
    findings.rows[0].community = None;
    findings.rows[0].in_degree = None;
    let page = render(&findings);
    assert!(page.contains("<td class=\"name\">a</td><td>50.0 %</td><td>0</td></tr>"));
    assert!(!page.contains("last-child, td"), "a column of numbers may be the last");
}
