//! The page of `everedge bench kernels`.

use everedge::Kernel;
use serde_json::{Value, json};

use crate::harness::Common;
use crate::harness::figures::{Row, number};
use crate::harness::table::{self, Form};
use crate::machine::RunInfo;
use crate::output::count;
use crate::page::{Bar, BarPanel, BenchReport, Plot, Section};

/// Returns the page about all rows.
pub(crate) fn page(common: &Common, undirected: bool, run: RunInfo, rows: &[Row]) -> String {
    let varied = table::varied(rows);
    let mut sections: Vec<Section> = Vec::new();
    let same_options =
        |a: &Row, b: &Row| varied.iter().all(|option| a.get(option) == b.get(option));
    for (i, rows) in rows.chunk_by(same_options).enumerate() {
        let panels = [
            ratios("as ingested, time for one on the CSR", "ratio", rows),
            ratios("after a pause, time for one on the CSR", "paused_ratio", rows),
            ratios("compact, time for one on the CSR", "compact_ratio", rows),
        ];
        sections.push(Section {
            id: format!("ratio-{i}"),
            name: "Beside a CSR".to_owned(),
            title: match in_words(&varied, rows) {
                words if words.is_empty() => "Snapshots beside a CSR".to_owned(),
                words => format!("Snapshots beside a CSR: {words}"),
            },
            words: "Medians of each kernel on a snapshot of the graph as it was ingested, after a \
                    pause of two seconds and after it was compacted, for the median on a plain CSR \
                    of the same graph."
                .to_owned(),
            caption: "1 is as fast as on the CSR; less is better.".to_owned(),
            plot: Plot::Bars(panels.into()),
        });
    }
    for (i, (title, panel)) in scaling(rows).into_iter().enumerate() {
        sections.push(Section {
            id: format!("threads-{i}"),
            name: "Threads".to_owned(),
            title,
            words: "How many times as fast kernels are with more threads, on the CSR.".to_owned(),
            caption: "More is better.".to_owned(),
            plot: Plot::Bars(vec![panel]),
        });
    }
    let fact = |value: String, label: &str| (value, label.to_owned());
    let kernels: std::collections::BTreeSet<&str> =
        rows.iter().filter_map(|row| row["kernel"].as_str()).collect();
    let report = BenchReport {
        run,
        title: "Kernels on snapshots and on a CSR".to_owned(),
        lead: "A graph that can change beside one that never does: the same kernels on a snapshot \
               of a live graph and on a plain CSR of the same edges, in turn."
            .to_owned(),
        source: ("rules", "Beamer et al., The GAP Benchmark Suite, 2015: trials and sources"),
        facts: vec![
            fact(count(kernels.len() as u64), "kernels"),
            fact(if undirected { "undirected" } else { "directed" }.to_owned(), "graphs"),
            fact(common.degree.to_string(), "edges for each id"),
            match common.trials {
                1 => fact("1".to_owned(), "process of each configuration"),
                trials => fact(trials.to_string(), "processes of each configuration"),
            },
        ],
        sections,
    };
    report.render()
}

/// The options of these rows that differ from those of others.
fn in_words(varied: &[String], rows: &[Row]) -> String {
    let word = |key: &String| {
        let value = rows.first()?.get(key)?;
        let word = table::word(value, key);
        Some(match (key.as_str(), value.as_u64()) {
            ("threads", Some(1)) => "1 thread".to_owned(),
            ("threads", _) => format!("{word} threads"),
            ("medium" | "graph", _) => word,
            _ => format!("{} {word}", key.replace('_', " ")),
        })
    };
    varied.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

/// A figure of each kernel as a bar.
fn ratios(title: &str, key: &str, rows: &[Row]) -> BarPanel {
    let bar = |row: &Row| {
        let value = number(row, key)?;
        let name = row["kernel"].as_str().unwrap_or_default().to_owned();
        Some(Bar { names: vec![name], value, shown: Form::Ratio.show(value) })
    };
    panel(title, rows.iter().filter_map(bar).collect())
}

fn panel(title: &str, bars: Vec<Bar>) -> BarPanel {
    let full = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    BarPanel { title: title.to_owned(), full, bars }
}

/// For each number of threads above the least, how many times as fast kernels are: of each kernel
/// the first configuration.
fn scaling(rows: &[Row]) -> Vec<(String, BarPanel)> {
    let threads_of = |row: &Row| row["threads"].as_u64().unwrap_or_default();
    let mut all: Vec<u64> = rows.iter().map(threads_of).collect();
    all.sort_unstable();
    all.dedup();
    let seconds = |threads: u64, kernel: &Value| {
        let is_it = |row: &&Row| threads_of(row) == threads && row["kernel"] == *kernel;
        rows.iter().find(is_it).and_then(|row| number(row, "csr_seconds"))
    };
    let panel_of = |threads: u64| {
        let bar = |kernel: &Kernel| {
            let name = json!(kernel.name());
            let value = seconds(all[0], &name)? / seconds(threads, &name)?;
            let name = kernel.name().to_owned();
            Some(Bar { names: vec![name], value, shown: Form::Ratio.show(value) })
        };
        let title = format!("{threads} threads, times as fast as with {}", all[0]);
        let bars = Kernel::ALL.iter().filter_map(bar).collect();
        (format!("{threads} threads beside {}", all[0]), panel(&title, bars))
    };
    all.iter().skip(1).map(|&threads| panel_of(threads)).collect()
}
