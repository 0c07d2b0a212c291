//! The whole page, with full, empty and hostile reports.

use super::*;

/// A report with a little of everything.
fn small() -> DemoReport {
    let text = |name: &str| name.to_owned();
    let count = |value, count| Count { value, count };
    let level = |packages, name| ReachLevel { packages, examples: vec![text(name)] };
    let acks = (1..=20).map(|i| Ack { ms: f64::from(i) * 1.5, edges: u64::from(i as u32) * 100 });
    DemoReport {
        source: text("a test"),
        packages: 4,
        dependencies: 3,
        ranking: vec![Ranked { name: text("libc6"), score: 0.5 }],
        in_degrees: vec![count(0, 2), count(1, 1), count(2, 1)],
        out_degrees: vec![count(1, 3)],
        reach: Reach { source: text("app"), levels: vec![level(1, "app"), level(2, "libc6")] },
        neighborhood: Neighborhood {
            center: text("app"),
            edges: vec![(text("app"), text("libc6")), (text("suite"), text("app"))],
        },
        components: vec![count(4, 1), count(2, 3)],
        deletion: Deletion {
            what: text("every dependency on libc6"),
            edges_deleted: 2,
            changes: vec![RankChange { name: text("libc6"), before: 1, after: 3 }],
        },
        crashes: vec![CrashRound {
            acks: acks.collect(),
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
            CrashRound { acks: vec![Ack::default()], ..CrashRound::default() },
            CrashRound { kill_ms: f64::NAN, recovery_ms: f64::INFINITY, ..CrashRound::default() },
        ],
        ..DemoReport::default()
    }
}

/// Checks that every element is closed in order, and that `<` and `>` only stand in tags.
fn check_tags(page: &str) -> Result<(), String> {
    const VOID: [&str; 1] = ["meta"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(start) = rest.find(['<', '>']) {
        let tag = rest[start..].strip_prefix('<').ok_or("a bare >")?;
        let end = tag.find('>').ok_or("a tag without end")?;
        let (tag, after) = (&tag[..end], &tag[end + 1..]);
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.contains('<') || name.is_empty() || tag.matches('"').count() % 2 == 1 {
            return Err(format!("a broken tag: <{tag}>"));
        }
        if tag.starts_with('/') {
            let last = open.pop();
            (last == Some(name)).then_some(()).ok_or(format!("</{name}> closes {last:?}"))?;
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = after;
    }
    if open.is_empty() { Ok(()) } else { Err(format!("never closed: {open:?}")) }
}

#[test]
fn the_checker_sees_broken_pages() {
    let check = |body: &str| check_tags(&format!("<!DOCTYPE html>{body}"));
    assert_eq!(check("<p class=\"a\">x<br/></p>"), Ok(()));
    for broken in ["<p>", "<p></b>", "a > b", "<p a=\"></p>", "a < b"] {
        assert!(check(broken).is_err(), "{broken}");
    }
}

#[test]
fn pages_are_well_formed_and_hold_no_nan() {
    for report in [small(), zeros(), DemoReport::default()] {
        let page = render(&report);
        assert_eq!(check_tags(&page), Ok(()));
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
    report.neighborhood.center = evil.to_owned();
    report.neighborhood.edges.push((evil.to_owned(), "x".to_owned()));
    report.deletion.what = evil.to_owned();
    report.deletion.changes[0].name = evil.to_owned();
    report.ingest.medium = evil.to_owned();
    report.run.command = evil.to_owned();
    let page = render(&report);
    assert_eq!(check_tags(&page), Ok(()));
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

/// A page of the benchmark with a little of everything, and with numbers that are not finite.
fn bench() -> BenchReport {
    let text = |name: &str| name.to_owned();
    let spot = |x, y| Spot { x, y, label: text("<1>"), hover: text("a & b") };
    let bar = |value| Bar { name: text("<pmem>"), value, shown: text("1 s") };
    let line = |spots| Line { label: text("\"fixed\""), spots };
    let panel = |lines| LinePanel { title: text("time, s"), x_title: text("threads"), lines };
    let section = |id: &str, plot| Section {
        id: text(id),
        name: text("Figure 1"),
        title: text("<title>"),
        words: text("</p>"),
        caption: text("<!--"),
        plot,
    };
    let bars = vec![BarPanel {
        title: text("time"),
        full: 1.0,
        bars: vec![bar(1.0), bar(f64::NAN), bar(0.0)],
    }];
    let spots = vec![spot(1.0, 2.0), spot(2.0, f64::INFINITY)];
    BenchReport {
        facts: vec![(text("<b>"), text("&"))],
        sections: vec![
            section("a", Plot::Bars(bars)),
            section("b", Plot::Lines(vec![panel(vec![line(spots), line(Vec::new())])])),
            section("c", Plot::Lines(Vec::new())),
            section("d", Plot::Bars(Vec::new())),
        ],
        ..BenchReport::default()
    }
}

#[test]
fn the_page_of_the_benchmark_is_well_formed_with_a_plot_for_each_section() {
    for report in [bench(), BenchReport::default()] {
        let page = render_bench(&report);
        assert_eq!(check_tags(&page), Ok(()));
        assert_eq!(page.matches("<figure>").count(), report.sections.len());
        for word in ["NaN", "inf\"", "Infinity", "<script", "http:", "https:", "url(", "src="] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
