//! The whole page, with full, empty and hostile reports.

use super::page::render;
use super::report::*;
use crate::charts::{Count, Neighborhood, Ranked};

/// A report with a little of everything.
fn small() -> DemoReport {
    let text = |name: &str| name.to_owned();
    let count = |value, count| Count { value, count };
    let level = |packages, name| ReachLevel { packages, examples: vec![text(name)] };
    DemoReport {
        source: text("a test"),
        packages: 4,
        dependencies: 3,
        ranking: vec![Ranked { name: text("libc6"), score: 0.5 }],
        in_degrees: vec![count(0, 2), count(1, 1), count(2, 1)],
        out_degrees: vec![count(1, 3)],
        reach: Reach {
            source: text("app"),
            levels: vec![level(1, "app"), level(2, "libc6")],
            tree: ["app", "libc6", "zlib1g"].map(|name| Met { name: text(name), from: 0 }).to_vec(),
        },
        neighborhood: Neighborhood {
            center: text("app"),
            edges: vec![(text("app"), text("libc6")), (text("suite"), text("app"))],
            ..Neighborhood::default()
        },
        components: vec![count(4, 1), count(2, 3)],
        deletion: Deletion {
            what: text("every dependency on libc6"),
            edges_deleted: 2,
            changes: vec![RankChange { name: text("libc6"), before: 1, after: 3 }],
        },
        crashes: vec![CrashRound {
            batches_acknowledged: 20,
            edges_acknowledged: 2_000,
            kill_ms: 31.0,
            recovery_ms: 4.0,
            batches_recovered: 21,
            batches_lost: 0,
        }],
        ..DemoReport::default()
    }
}

/// A report whose lists hold zeros, empty names and numbers that are not finite.
fn zeros() -> DemoReport {
    let count = vec![Count::default()];
    DemoReport {
        ranking: vec![
            Ranked { score: f64::NAN, ..Ranked::default() },
            Ranked { score: 0.1, ..Ranked::default() },
        ],
        in_degrees: count.clone(),
        out_degrees: count.clone(),
        reach: Reach { levels: vec![ReachLevel::default()], ..Reach::default() },
        neighborhood: Neighborhood {
            edges: vec![(String::new(), String::new())],
            ..Neighborhood::default()
        },
        components: count,
        ingest: Ingest { seconds: f64::NAN, edges_per_second: f64::INFINITY, ..Ingest::default() },
        deletion: Deletion { changes: vec![RankChange::default()], ..Deletion::default() },
        crashes: vec![
            CrashRound::default(),
            CrashRound { kill_ms: f64::NAN, recovery_ms: f64::INFINITY, ..CrashRound::default() },
        ],
        ..DemoReport::default()
    }
}

#[test]
fn pages_hold_no_nan() {
    for report in [small(), zeros(), DemoReport::default()] {
        let page = render(&report);
        for word in ["NaN", "inf\"", "-inf", "Infinity"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let evil = "</title><script>alert(\"1\")</script>&'";
    let mut report = small();
    report.source = evil.to_owned();
    report.ranking[0].name = evil.to_owned();
    report.reach.source = evil.to_owned();
    report.reach.levels[0].examples[0] = evil.to_owned();
    report.reach.tree[0].name = evil.to_owned();
    report.neighborhood.center = evil.to_owned();
    report.neighborhood.edges.push((evil.to_owned(), "x".to_owned()));
    report.deletion.what = evil.to_owned();
    report.deletion.changes[0].name = evil.to_owned();
    report.ingest.medium = evil.to_owned();
    report.run.command = evil.to_owned();
    let page = render(&report);
    assert!(!page.contains("<script"));
}

#[test]
fn the_page_loads_nothing() {
    let page = render(&small());
    for word in ["http:", "https:", "url(", "src=", "@import", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn ids_are_unique() {
    let page = render(&small());
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert!(all > 0);
    assert_eq!(ids.len(), all);
}

#[test]
fn equal_reports_give_equal_pages() {
    assert_eq!(render(&small()), render(&small()));
}

#[test]
fn losses_are_not_hidden() {
    let mut report = small();
    let page = render(&report);
    assert!(page.contains("Every one of them was there") && page.contains("class=\"kept\""));
    report.crashes[0].batches_lost = 2;
    let page = render(&report);
    assert!(page.contains("2 of them were missing") && page.contains("2 lost"));
    assert!(page.contains("class=\"lost\""));
}
