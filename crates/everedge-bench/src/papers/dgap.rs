//! The experiments of DGAP's paper that this machine can answer: a table drives them.
//!
//! Source: Islam and Dai, "DGAP: Efficient Dynamic Graph Analysis on Persistent Memory", SC 2023,
//! §2.4 and §4. Differences: Kronecker and uniform graphs instead of six data sets; other layouts
//! and a CSR of everedge instead of other systems; time where the paper has edges a second;
//! persistent memory is emulated on a tmpfs. Figure 1(c) is of the device alone and left out.

use everedge::{Durability, GraphOptions, Kernel, Layout, Rebalancing, VertexArray};

use super::setting::{Point, Setting, ingest, lines_of, superscript};
use super::{ACKNOWLEDGED, ARCHIVED, Experiment, Paper, PlotKind};
use crate::arguments::{GraphKind, Medium};
use crate::harness::table::{Column, Form};
use crate::harness::{Configuration, Plan, Work};

/// Bytes of the log for an edge that is safe by itself, and of all of it at most. It is made whole
/// with the graph: its page faults are none of an insertion's.
const EDGE_LOG_BYTES: u64 = 64;
const LOG_BYTES_MAX: u64 = 1 << 30;
/// Bytes set aside for an edge in the arrays.
const EDGE_BYTES: u64 = 10;
/// Updates of a round where edge logs and rebalances are measured.
const SMALL_ROUND: u64 = 1 << 10;
/// How often kernels run.
const RUNS: u32 = 9;
const LAYOUTS: [Layout; 2] = [Layout::Pma, Layout::Adjacency];

pub(crate) static PAPER: Paper = Paper {
    command: "dgap",
    title: "The experiments of DGAP, on this machine",
    source: "Islam and Dai, DGAP, SC 2023, sections 2.4 and 4",
    experiments: &EXPERIMENTS,
};

const EXPERIMENTS: [Experiment; 10] = [
    Experiment {
        name: "1a",
        title: "What the device writes for a byte of edges",
        words: "By the meter's model, lines of 256 bytes, log included: with edge logs and without, \
                each edge safe by itself or a batch, in rounds of 1,024 updates. The paper found 7 \
                without.",
        points: |setting| {
            let mut points = Vec::new();
            for (durability, batch) in [(Durability::Edge, 1), (Durability::Batch, 1 << 16)] {
                for edge_log in [2048, 0] {
                    let mut one = Configuration { batch, ..small_rounds(setting) };
                    one.options.durability = durability;
                    one.options.pma.edge_log_bytes = edge_log;
                    let logs = if edge_log == 0 { "no edge logs" } else { "edge logs" };
                    points.push((format!("{logs}, {durability}"), one));
                }
            }
            let mut points = named(points);
            points.iter_mut().for_each(|point| point.case.work = Work::Ingest { meter: true });
            Ok(points)
        },
        shown: &[Column {
            key: "media_written_ratio",
            title: "written for a byte",
            form: Form::Ratio,
        }],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "1b",
        title: "Insertion in memory and on persistent memory",
        words: "Without edge logs, as mutable CSRs were before, in rounds of 1,024 updates: in \
                memory, which keeps nothing, and on persistent memory, where an interrupted \
                rebalance is completed after a crash.",
        points: |setting| {
            let mut one = small_rounds(setting);
            one.options.pma.edge_log_bytes = 0;
            let dram = Configuration { medium: Medium::Dram, ..one.clone() };
            Ok(named([("dram".to_owned(), dram), ("pmem".to_owned(), one)]))
        },
        shown: &[ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "5",
        title: "Archiving threshold",
        words: "Batches of edges, and how many stand in the log before they are archived. The \
                paper varies it for XPGraph, whose layout is adjacency.",
        points: |setting| {
            let powers: Vec<(f64, u64)> =
                (12..=24).step_by(2).map(|power| (f64::from(power), 1 << power)).collect();
            let set = |one: &mut Configuration, value| one.archive_from(value);
            let label = |value: &u64| format!("2{}", superscript(value.trailing_zeros()));
            Ok(layouts(batches(setting))
                .flat_map(|(series, one)| lines_of(&series, &one, &powers, set, label))
                .collect())
        },
        shown: &[ARCHIVED],
        plot: PlotKind::Lines("updates from which the log is archived"),
    },
    Experiment {
        name: "6",
        title: "Insertion by one writer",
        words: "Two graphs in both layouts, each edge safe by itself.",
        points: |setting| {
            let mut points = Vec::new();
            for graph in [GraphKind::Kron, GraphKind::Uniform] {
                for (layout, one) in layouts(edges(setting)) {
                    let word = if graph == GraphKind::Kron { "Kronecker" } else { "uniform" };
                    points.push((format!("{word}, {layout}"), Configuration { graph, ..one }));
                }
            }
            Ok(named(points))
        },
        shown: &[ACKNOWLEDGED, ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "table-3",
        title: "Writers",
        words: "Threads that insert, each edge safe when its call returns.",
        points: |setting| {
            let numbers = threads(setting);
            let set = |one: &mut Configuration, value| one.writers = value;
            Ok(layouts(edges(setting))
                .flat_map(|(series, one)| lines_of(&series, &one, &numbers, set, usize::to_string))
                .collect())
        },
        shown: &[ACKNOWLEDGED, ARCHIVED],
        plot: PlotKind::Lines("writers"),
    },
    Experiment {
        name: "7",
        title: "PageRank and connected components beside a CSR",
        words: "On a snapshot of the graph as it was ingested, for one on a plain CSR of it.",
        points: |setting| Ok(kernels(setting, &[Kernel::PageRank, Kernel::Wcc])),
        shown: &[
            Column { key: "pagerank_ratio", title: "PageRank", form: Form::Ratio },
            Column { key: "wcc_ratio", title: "connected components", form: Form::Ratio },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "8",
        title: "BFS and betweenness beside a CSR",
        words: "On a snapshot of the graph as it was ingested, for one on a plain CSR of it.",
        points: |setting| Ok(kernels(setting, &[Kernel::Bfs, Kernel::Betweenness])),
        shown: &[
            Column { key: "bfs_ratio", title: "BFS", form: Form::Ratio },
            Column { key: "bc_ratio", title: "betweenness", form: Form::Ratio },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "table-4",
        title: "Kernels with more threads",
        words: "On a snapshot of the graph as it was ingested.",
        points: |setting| {
            let all = [Kernel::PageRank, Kernel::Bfs, Kernel::Betweenness, Kernel::Wcc];
            let numbers = threads(setting);
            let set = |one: &mut Configuration, value| one.threads = value;
            let mut points: Vec<Point> = layouts(batches(setting))
                .flat_map(|(series, one)| lines_of(&series, &one, &numbers, set, usize::to_string))
                .collect();
            let work = Work::Kernels(Plan::new(&all, Some(RUNS)));
            points.iter_mut().for_each(|point| point.case.work = work);
            Ok(points)
        },
        shown: &[
            Column { key: "pagerank_seconds", title: "PageRank", form: Form::Seconds },
            Column { key: "bfs_seconds", title: "BFS", form: Form::Seconds },
            Column { key: "bc_seconds", title: "betweenness", form: Form::Seconds },
            Column { key: "wcc_seconds", title: "connected components", form: Form::Seconds },
        ],
        plot: PlotKind::Lines("threads"),
    },
    Experiment {
        name: "table-5",
        title: "What each part is good for",
        words: "In rounds of 1,024 updates. Without edge logs, with a transaction for each list \
                that a rebalance moves, and with the vertex array on the medium too. The paper \
                found 4.5, 4.6 and 7.0 times as long.",
        points: |setting| {
            let all = small_rounds(setting);
            let mut no_logs = all.clone();
            no_logs.options.pma.edge_log_bytes = 0;
            let mut no_undo = no_logs.clone();
            no_undo.options.pma.rebalancing = Some(Rebalancing::Transaction);
            let mut no_placement = no_undo.clone();
            no_placement.options.pma.vertex_array = VertexArray::Medium;
            Ok(named([
                ("everedge".to_owned(), all),
                ("no edge logs".to_owned(), no_logs),
                ("nor undo logs".to_owned(), no_undo),
                ("nor vertices in memory".to_owned(), no_placement),
            ]))
        },
        shown: &[ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "9",
        title: "Size of edge logs",
        words: "Bytes of the edge log of a section at most, in rounds of 1,024 updates. The larger \
                they are, the less often gaps are shared out anew, and the more room they take.",
        points: |setting| {
            let powers = [6, 8, 10, 11, 12, 14];
            let sizes = powers.map(|power| (f64::from(power), 1 << power));
            let set = |one: &mut Configuration, value| one.options.pma.edge_log_bytes = value;
            let mut one = small_rounds(setting);
            // What is set aside would hide what they take.
            one.options.preallocate_bytes = 0;
            Ok(lines_of("pma", &one, &sizes, set, u32::to_string))
        },
        shown: &[
            ARCHIVED,
            Column { key: "list_bytes", title: "arrays with their edge logs", form: Form::Bytes },
        ],
        plot: PlotKind::Lines("bytes of an edge log"),
    },
];

/// Insertion as the paper has it: each edge is safe by itself, and out-neighbors only.
fn edges(setting: &Setting<'_>) -> Configuration {
    let count = u64::from(setting.common.degree) << setting.scale;
    let base = setting.base();
    let options = GraphOptions {
        layout: Layout::Pma,
        durability: Durability::Edge,
        in_neighbors: false,
        log_bytes: (2 * EDGE_LOG_BYTES * count).min(LOG_BYTES_MAX),
        preallocate_bytes: EDGE_BYTES * count,
        ..base.options
    };
    Configuration { batch: 1, options, ..base }
}

/// The same in rounds so small that lists go into gaps and edge logs: larger ones write arrays
/// anew.
fn small_rounds(setting: &Setting<'_>) -> Configuration {
    let mut one = edges(setting);
    one.archive_from(SMALL_ROUND);
    one
}

/// Batches in both directions.
fn batches(setting: &Setting<'_>) -> Configuration {
    let mut one = setting.base();
    one.options.layout = Layout::Pma;
    one
}

/// Returns a configuration in each layout, with its name.
fn layouts(one: Configuration) -> impl Iterator<Item = (String, Configuration)> {
    LAYOUTS.into_iter().map(move |layout| {
        let mut one = one.clone();
        one.options.layout = layout;
        (layout.to_string(), one)
    })
}

/// Returns the setting's numbers of threads, at their positions.
fn threads(setting: &Setting<'_>) -> Vec<(f64, usize)> {
    setting.threads.iter().map(|&number| (number as f64, number)).collect()
}

/// Returns kernels on a snapshot in each layout.
fn kernels(setting: &Setting<'_>, kernels: &[Kernel]) -> Vec<Point> {
    let mut points = named(layouts(batches(setting)));
    let work = Work::Kernels(Plan::new(kernels, Some(RUNS)));
    points.iter_mut().for_each(|point| point.case.work = work);
    points
}

/// Returns an ingest for each configuration, as bars with these names.
fn named(all: impl IntoIterator<Item = (String, Configuration)>) -> Vec<Point> {
    let point = |(index, (name, one)): (usize, (String, Configuration))| {
        ingest(name.clone(), index as f64, name, one)
    };
    all.into_iter().enumerate().map(point).collect()
}
