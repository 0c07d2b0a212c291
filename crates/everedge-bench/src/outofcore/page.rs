//! The page of `everedge bench outofcore`.

use super::Args;
use super::bench::Bench;
use super::parts::Part;
use crate::harness::figures::{Row, number};
use crate::harness::table::Column;
use crate::machine::RunInfo;
use crate::output::{bytes, count};
use crate::page::{Bar, BarPanel, BenchReport, Plot, Section};

/// What is in the table only, or part of another panel.
const UNDRAWN: [&str; 5] =
    ["csr_seconds", "memory_bytes", "least_memory_bytes", "chunk_bytes", "file_bytes"];

/// Returns the page about all parts, each with its rows.
pub(super) fn page(
    args: &Args,
    bench: &Bench<'_>,
    run: RunInfo,
    found: &[(Part, Vec<Row>)],
) -> String {
    let graph = bench.graph_row();
    let of_graph = |key: &str| graph.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let fact = |value: String, label: &str| (value, label.to_owned());
    let report = BenchReport {
        run,
        title: "Graphs larger than memory".to_owned(),
        lead: "A sealed graph is read piece by piece within a budget of memory. Every run is on empty caches in a \
               process of its own, and its answer is that of the same kernel on a CSR in memory."
            .to_owned(),
        source: ("paper", "Wang et al., ChunkGraph, USENIX ATC 2024, section 4"),
        facts: vec![
            fact(count(of_graph("edges")), "edges"),
            fact(bytes(of_graph("csr_bytes")), "as a plain CSR"),
            fact(bytes(of_graph("disk_bytes")), "sealed"),
            match u64::from(args.common.trials) * u64::from(args.runs) {
                1 => fact("1".to_owned(), "run of each kernel"),
                runs => fact(count(runs), "runs of each kernel; medians are shown"),
            },
        ],
        sections: found.iter().flat_map(|(part, rows)| sections(*part, rows)).collect(),
    };
    report.render()
}

/// Returns a section for each kernel of a part, or one.
fn sections(part: Part, rows: &[Row]) -> Vec<Section> {
    let rows: Vec<&Row> = match part {
        Part::Fragments => rows.iter().filter(|row| row["level"] == "all").collect(),
        _ => rows.iter().collect(),
    };
    let groups = rows.chunk_by(|a, b| a.get("kernel") == b.get("kernel"));
    groups.map(|rows| section(part, rows)).collect()
}

fn section(part: Part, rows: &[&Row]) -> Section {
    let word = |key: &str| rows.first().and_then(|row| row.get(key)?.as_str());
    let kernel = word("kernel");
    let is_there = |column: &&Column| rows.iter().any(|row| number(row, column.key).is_some());
    let is_drawn = |column: &&Column| !UNDRAWN.contains(&column.key);
    let shown = part.columns().iter().filter(is_drawn).filter(is_there);
    let threads = rows.first().and_then(|row| row.get("threads")?.as_u64()).unwrap_or(1);
    let threads = match part {
        Part::Threads => String::new(),
        _ if threads == 1 => " Measured with 1 thread.".to_owned(),
        _ => format!(" Measured with {threads} threads."),
    };
    Section {
        id: format!("{}-{}", part.name(), kernel.unwrap_or("all")),
        name: part.in_paper().to_owned(),
        title: match kernel {
            Some(kernel) => format!("{}: {kernel}", part.title()),
            None => part.title().to_owned(),
        },
        words: part.words().to_owned(),
        caption: format!("{}{threads}", caption(part)),
        plot: Plot::Bars(shown.map(|column| panel(column, rows)).collect()),
    }
}

fn caption(part: Part) -> &'static str {
    match part {
        Part::Device => "More is better.",
        Part::Kernels => "Less is better, but for the parts of what the device can do.",
        _ => "Less is better.",
    }
}

/// A figure of each row as a bar.
fn panel(column: &Column, rows: &[&Row]) -> BarPanel {
    let bar = |row: &&Row| {
        let name = row.get("way").and_then(|way| way.as_str()).unwrap_or("the medium").to_owned();
        match number(row, column.key) {
            Some(value) => Some(Bar { names: vec![name], value, shown: column.form.show(value) }),
            None if row.contains_key("refused") => {
                Some(Bar { names: vec![name], value: 0.0, shown: "refused".to_owned() })
            }
            None => None,
        }
    };
    let on_csr = rows.first().and_then(|row| number(row, "csr_seconds"));
    let on_csr = on_csr.filter(|_| column.key == "seconds").map(|value| {
        let name = "on a CSR in memory".to_owned();
        Bar { names: vec![name], value, shown: column.form.show(value) }
    });
    BarPanel::new(column.title, on_csr.into_iter().chain(rows.iter().filter_map(bar)).collect())
}
