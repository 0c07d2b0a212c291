//! The experiments of SMDG's paper that this machine can answer: a table drives them.
//!
//! Source: Weng et al., "SMDG: Enhancing In-Memory Dynamic Graph Processing With Storage-Class Memory", TKDE 2026,
//! §IV. Differences: Kronecker and uniform graphs instead of six data sets; other layouts of everedge instead of
//! other systems; persistent memory is emulated on a tmpfs. Table II is `bench kernels`.

use everedge::{GraphOptions, Kernel, Layout};

use super::setting::{Point, Setting, lines_of};
use super::{ACKNOWLEDGED, ARCHIVED, Experiment, Paper, PlotKind};
use crate::arguments::GraphKind;
use crate::harness::table::{Column, Form};
use crate::harness::{Case, Configuration, End, Stream, Work};

const LAYOUTS: [Layout; 3] = [Layout::Blocks, Layout::Adjacency, Layout::Pma];
/// Edges of the batch that has all of a graph: as many as are given at once.
const BATCH: usize = 1 << 20;
/// Updates of a stream of tasks.
const UPDATES: u32 = 16_384;
const QUERIES: u32 = 8;

pub(crate) static PAPER: Paper = Paper {
    command: "smdg",
    title: "The experiments of SMDG, on this machine",
    source: "Weng et al., SMDG, TKDE 2026, section IV",
    experiments: &EXPERIMENTS,
};

const TOTAL: Column = Column { key: "total_seconds", title: "at once", form: Form::Seconds };
const SERIAL: Column =
    Column { key: "serial_seconds", title: "one after the other", form: Form::Seconds };
const MEMORY: Column = Column { key: "peak_rss_bytes", title: "peak memory", form: Form::Bytes };

const EXPERIMENTS: [Experiment; 12] = [
    Experiment {
        name: "7",
        title: "Insertion of all edges at once",
        words: "Two graphs without directions, in batches of 1,048,576 edges, each looked for before it is \
                inserted.",
        points: |setting| Ok(insertions(setting, BATCH)),
        shown: &[ARCHIVED, MEMORY],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "8",
        title: "Insertion of one edge after the other",
        words: "The same, each edge durable when its call returns.",
        points: |setting| Ok(insertions(setting, 1)),
        shown: &[ACKNOWLEDGED, ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "9",
        title: "Insertions and deletions",
        words: "Ten times as many updates as the graph has edges, in random order: each edge of the graph is \
                inserted, and others come and go.",
        points: |setting| {
            let mut points = insertions(setting, 1 << 16);
            points.iter_mut().for_each(|point| point.case.work = Work::Churn);
            Ok(points)
        },
        shown: &[ARCHIVED, MEMORY],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "10",
        title: "PageRank and updates, one after the other and at once",
        words: "Updates of one edge each, and 8 times PageRank between them, each time of the graph after the \
                updates before it; at once, two of them.",
        points: |setting| Ok(mixed(setting, Kernel::PageRank)),
        shown: &[SERIAL, TOTAL],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "11",
        title: "Connected components and updates, one after the other and at once",
        words: "As Figure 10, with connected components.",
        points: |setting| Ok(mixed(setting, Kernel::Wcc)),
        shown: &[SERIAL, TOTAL],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "12",
        title: "More queries at once",
        words: "16,384 updates of one edge each, half of them deletions, with 8, 16 and 24 times PageRank, two \
                of them at once.",
        points: |setting| {
            let queries = [8, 16, 24].map(|count| (f64::from(count), count));
            let line = |(series, one): (String, Configuration)| {
                queries.map(|(x, count)| {
                    let stream = Stream { queries: count, workers: 2, ..stream(Kernel::PageRank) };
                    let label = count.to_string();
                    point((series.clone(), x, label), one.clone(), Work::Tasks(stream))
                })
            };
            Ok(layouts(setting).flat_map(line).collect())
        },
        shown: &[
            TOTAL,
            Column { key: "query_seconds", title: "a query", form: Form::Seconds },
            Column { key: "answer_seconds", title: "until its answer", form: Form::Seconds },
            MEMORY,
        ],
        plot: PlotKind::Lines("queries"),
    },
    Experiment {
        name: "13",
        title: "Insertions and 10 queries",
        words: "From a tenth to a half as many insertions as the graph has edges, of one edge each, and 10 times \
                PageRank.",
        points: |setting| {
            let edges = u64::from(setting.common.degree) << setting.scale;
            let line = |(series, one): (String, Configuration)| {
                (1..=5).map(move |tenths: u32| {
                    let updates = (edges * u64::from(tenths) / 10) as u32;
                    let base = stream(Kernel::PageRank);
                    let stream = Stream { updates, queries: 10, only_inserts: true, ..base };
                    let label = format!("{tenths}0 %");
                    let at = (series.clone(), f64::from(tenths), label);
                    let mut one = one.clone();
                    one.options.simple = false;
                    point(at, one, Work::Tasks(stream))
                })
            };
            Ok(layouts(setting).flat_map(line).collect())
        },
        shown: &[TOTAL],
        plot: PlotKind::Lines("insertions for 100 edges"),
    },
    Experiment {
        name: "14",
        title: "Versions, as queries end",
        words: "What 16 views keep of the blocks that 16,384 updates between them have replaced, as the views end \
                from the oldest on.",
        points: |setting| {
            let stream = Stream { queries: 16, ..stream(Kernel::PageRank) };
            let at = ("blocks".to_owned(), 0.0, "blocks".to_owned());
            Ok(vec![point(at, undirected(setting, Layout::Blocks), Work::Versions(stream))])
        },
        shown: &[
            Column { key: "version_bytes_none_ended", title: "none ended", form: Form::Bytes },
            Column { key: "version_bytes_quarter_ended", title: "4 ended", form: Form::Bytes },
            Column { key: "version_bytes_half_ended", title: "8 ended", form: Form::Bytes },
            Column {
                key: "version_bytes_three_quarters_ended",
                title: "12 ended",
                form: Form::Bytes,
            },
            Column { key: "version_bytes_all_ended", title: "all ended", form: Form::Bytes },
        ],
        plot: PlotKind::Parts,
    },
    Experiment {
        name: "15",
        title: "Recovery",
        words: "A writer is killed when all is acknowledged, and the graph is opened: beside the ingest.",
        points: |setting| {
            let named = layouts(setting).enumerate();
            let recover = |(index, (name, mut one)): (usize, (String, Configuration))| {
                // Whether all is there is told by the degrees of all edges that were given.
                (one.options.simple, one.options.directed) = (false, true);
                let work = Work::Recover { end: End::Killed };
                point((name.clone(), index as f64, name), one, work)
            };
            Ok(named.map(recover).collect())
        },
        shown: &[
            Column { key: "ingest_seconds", title: "ingest", form: Form::Seconds },
            Column { key: "open_seconds", title: "open", form: Form::Seconds },
            Column { key: "snapshot_seconds", title: "first view", form: Form::Seconds },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "16",
        title: "Threads",
        words: "Threads that move logged edges into lists.",
        points: |setting| {
            let threads = setting.threads.iter().map(|&number| (number as f64, number));
            let threads: Vec<(f64, usize)> = threads.collect();
            let set = |one: &mut Configuration, value| one.threads = value;
            let line = |(series, one): (String, Configuration)| {
                lines_of(&series, &one, &threads, set, usize::to_string)
            };
            Ok(layouts(setting).flat_map(line).collect())
        },
        shown: &[ARCHIVED],
        plot: PlotKind::Lines("threads"),
    },
    Experiment {
        name: "17",
        title: "Size of a block",
        words: "Bytes of a block, and the time of an insertion of all edges by one thread.",
        points: |setting| Ok(block_sizes(setting)),
        shown: &[ARCHIVED],
        plot: PlotKind::Lines("bytes of a block"),
    },
    Experiment {
        name: "18",
        title: "Memory by the size of a block",
        words: "In memory, and on the medium.",
        points: |setting| Ok(block_sizes(setting)),
        shown: &[
            Column { key: "process_bytes", title: "in memory", form: Form::Bytes },
            Column { key: "list_bytes", title: "blocks on the medium", form: Form::Bytes },
        ],
        plot: PlotKind::Lines("bytes of a block"),
    },
];

fn point(
    (series, x, label): (String, f64, String),
    configuration: Configuration,
    work: Work,
) -> Point {
    Point { series, x, label, case: Case { work, configuration } }
}

/// A graph as the paper has them: without directions, one edge for a pair.
fn undirected(setting: &Setting<'_>, layout: Layout) -> Configuration {
    let base = setting.base();
    let options = GraphOptions { layout, directed: false, simple: true, ..base.options };
    Configuration { options, ..base }
}

/// Returns a configuration in each layout, with its name.
fn layouts(setting: &Setting<'_>) -> impl Iterator<Item = (String, Configuration)> {
    LAYOUTS.into_iter().map(|layout| (layout.to_string(), undirected(setting, layout)))
}

/// Returns an ingest in such batches of both kinds of graph in each layout.
fn insertions(setting: &Setting<'_>, batch: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for (graph, word) in [(GraphKind::Kron, "Kronecker"), (GraphKind::Uniform, "uniform")] {
        for (layout, one) in layouts(setting) {
            let name = format!("{word}, {layout}");
            let one = Configuration { graph, batch, ..one };
            let at = (name.clone(), points.len() as f64, name);
            points.push(point(at, one, Work::Ingest { meter: false }));
        }
    }
    points
}

fn stream(kernel: Kernel) -> Stream {
    Stream::new(kernel, UPDATES, QUERIES)
}

/// Returns streams of few and many updates.
fn mixed(setting: &Setting<'_>, kernel: Kernel) -> Vec<Point> {
    let mut points = Vec::new();
    for updates in [UPDATES / 4, UPDATES] {
        let stream = Stream { updates, workers: 2, with_serial: true, ..stream(kernel) };
        let at = ("blocks".to_owned(), points.len() as f64, format!("{updates} updates"));
        points.push(point(at, undirected(setting, Layout::Blocks), Work::Tasks(stream)));
    }
    points
}

fn block_sizes(setting: &Setting<'_>) -> Vec<Point> {
    let sizes = [6, 7, 8, 9, 10].map(|power: u32| (f64::from(power), 1 << power));
    let set = |one: &mut Configuration, value| one.options.blocks.block_bytes = value;
    let one = Configuration { threads: 1, ..undirected(setting, Layout::Blocks) };
    lines_of("blocks", &one, &sizes, set, u32::to_string)
}
