//! The parts of the measurement: what each seals and asks, and what is shown of it.

use anyhow::Result;
use clap::ValueEnum;
use everedge::{Kernel, Order};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::harness::figures::{Row, number};
use crate::harness::table::{Column, Form};
use crate::harness::{Ask, Levels, Sealed, Step};

/// What is asked where something else than the kernel is varied: one that reads here and there, and one that reads all.
const TWO_KERNELS: [Kernel; 2] = [Kernel::Bfs, Kernel::PageRank];

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    Device,
    Kernels,
    Ablation,
    Fragments,
    Threads,
    Sealing,
    Levels,
    Order,
}

const SECONDS: Column = Column { key: "seconds", title: "time", form: Form::Seconds };
const READ: Column = Column { key: "read_bytes", title: "read", form: Form::Bytes };
const READS: Column = Column { key: "reads", title: "reads", form: Form::Count };
const PIECES: Column = Column { key: "pieces", title: "pieces", form: Form::Count };
const CHUNKS: Column = Column { key: "chunks", title: "chunks", form: Form::Count };
const MEMORY: Column = Column { key: "memory_bytes", title: "budget", form: Form::Bytes };
const PEAK: Column = Column { key: "peak_rss_bytes", title: "peak memory", form: Form::Bytes };
const DISK: Column = Column { key: "disk_bytes", title: "on the medium", form: Form::Bytes };

const OF_KERNELS: [Column; 11] = [
    Column { key: "csr_seconds", title: "on a CSR", form: Form::Seconds },
    SECONDS,
    READ,
    READS,
    PIECES,
    CHUNKS,
    Column { key: "bandwidth_share", title: "of bandwidth", form: Form::Share },
    Column { key: "reads_share", title: "of random reads", form: Form::Share },
    MEMORY,
    PEAK,
    Column { key: "least_memory_bytes", title: "least budget", form: Form::Bytes },
];
const OF_WAYS: [Column; 6] = [SECONDS, READ, READS, PIECES, CHUNKS, DISK];

impl Part {
    /// Returns what `--part` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Kernels => "kernels",
            Self::Ablation => "ablation",
            Self::Fragments => "fragments",
            Self::Threads => "threads",
            Self::Sealing => "sealing",
            Self::Levels => "levels",
            Self::Order => "order",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Device => "What the medium can do",
            Self::Kernels => "Kernels by budget",
            Self::Ablation => "What each technique is good for",
            Self::Fragments => "White space in chunks",
            Self::Threads => "Threads",
            Self::Sealing => "Sealing a file",
            Self::Levels => "Sizes of chunks",
            Self::Order => "Orders of vertices",
        }
    }

    /// Returns where the paper has it.
    pub(super) fn in_paper(self) -> &'static str {
        match self {
            Self::Device => "Section 4.1",
            Self::Kernels => "Figures 8, 9 and 15",
            Self::Ablation => "Figures 11 and 12, Table 3",
            Self::Fragments => "Tables 1, 4 and 5",
            Self::Threads => "Figure 16",
            Self::Sealing => "Figure 17",
            Self::Levels => "Section 3.2",
            Self::Order => "Section 3.3",
        }
    }

    /// Returns what is to be seen, in a sentence or two.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Device => {
                "Reads past the system's cache with 32 under way, of a file as large as the sealed graph."
            }
            Self::Kernels => {
                "Medians of runs on empty caches, each in a process whose memory is bounded. Pieces are pages of the \
                 index and chunks, each counted once."
            }
            Self::Ablation => {
                "I: one or two neighbors stand in the index. C: chunks of four sizes. L: vertices in the order of their \
                 in-neighbors, small lists in what large ones leave. A: what comes next is read ahead. At last gaps \
                 between neighbors instead of four bytes each; then all of these but one."
            }
            Self::Fragments => {
                "The part of all chunks that holds no list, by the way lists are laid out."
            }
            Self::Threads => "Medians of runs on empty caches.",
            Self::Sealing => {
                "From a file of edges to a sealed graph of both directions, within budgets; beside a CSR that is made \
                 of the same file in memory."
            }
            Self::Levels => {
                "A list goes into the smallest chunk whose threshold it does not pass: a quarter of the chunk, an eighth, \
                 as long as it fits (nearly the paper's thresholds), or chunks of one size only."
            }
            Self::Order => {
                "By in-neighbors, by two steps from each root for half or 95\u{a0}% of all vertices, or by ids."
            }
        }
    }

    /// Returns what is varied, beside the options of graphs.
    pub(super) fn varied(self) -> &'static [&'static str] {
        match self {
            Self::Device => &[],
            Self::Kernels => &["kernel", "budget_percent", "answer"],
            Self::Ablation | Self::Levels | Self::Order => &["kernel", "way", "answer"],
            Self::Fragments => &["way", "level"],
            Self::Threads => &["kernel", "answer"],
            Self::Sealing => &["way", "outcome"],
        }
    }

    /// Returns what is shown of it.
    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Self::Device => &[
                Column {
                    key: "random_reads_per_second",
                    title: "random reads/s",
                    form: Form::Count,
                },
                Column {
                    key: "sequential_bytes_per_second",
                    title: "in order, a second",
                    form: Form::Bytes,
                },
                Column { key: "file_bytes", title: "file", form: Form::Bytes },
            ],
            Self::Kernels => &OF_KERNELS,
            Self::Ablation | Self::Levels | Self::Order => &OF_WAYS,
            Self::Fragments => &[
                Column { key: "chunk_bytes", title: "chunk", form: Form::Bytes },
                Column { key: "chunks", title: "chunks", form: Form::Count },
                Column { key: "bytes", title: "bytes", form: Form::Bytes },
                Column { key: "white_bytes", title: "white", form: Form::Bytes },
                Column { key: "white_share", title: "white", form: Form::Share },
                Column { key: "csr_ratio", title: "to a CSR", form: Form::Ratio },
            ],
            Self::Threads => &[SECONDS, READ, READS],
            Self::Sealing => &[
                MEMORY,
                SECONDS,
                PEAK,
                Column { key: "written_bytes", title: "written", form: Form::Bytes },
                DISK,
            ],
        }
    }

    /// Measures it.
    ///
    /// # Errors
    /// If a step fails.
    pub(super) fn measure(self, bench: &mut Bench<'_>) -> Result<Vec<Row>> {
        let found = match self {
            Self::Device => Ok(vec![bench.device()?.clone()]),
            Self::Kernels => kernels(bench),
            Self::Ablation => by_way(bench, &techniques(bench.directed())),
            Self::Fragments => fragments(bench),
            Self::Threads => threads(bench),
            Self::Sealing => sealing(bench),
            Self::Levels => by_way(bench, &levels(bench.directed())),
            Self::Order => by_way(bench, &orders(bench.directed())),
        };
        bench.forget()?;
        found
    }
}

/// A way to seal and to ask.
struct Way {
    name: String,
    sealed: Sealed,
    reads_ahead: bool,
}

fn way(name: &str, sealed: Sealed) -> Way {
    Way { name: name.to_owned(), sealed, reads_ahead: true }
}

/// Returns the techniques of the paper, one after the other and all but one.
fn techniques(directed: bool) -> Vec<Way> {
    let naive = Sealed::naive(directed);
    let minis = Sealed { minis: true, ..naive };
    let levels = Sealed { levels: Levels::Usual, ..minis };
    let layout = Sealed { order: Order::Degree, combined: true, ..levels };
    let all = Sealed::usual(directed);
    let unread = |name, sealed| Way { reads_ahead: false, ..way(name, sealed) };
    vec![
        unread("naive", naive),
        unread("I", minis),
        unread("IC", levels),
        unread("ICL", layout),
        way("ICLA", layout),
        way("ICLA, gaps", all),
        way("all but I", Sealed { minis: false, ..all }),
        way("all but C", Sealed { levels: Levels::Only256K, ..all }),
        way("all but L", Sealed { order: Order::Ids, combined: false, ..all }),
        unread("all but A", all),
    ]
}

/// Returns chunks of several sizes.
fn levels(directed: bool) -> Vec<Way> {
    let usual = Sealed::usual(directed);
    Levels::ALL.map(|levels| way(levels.name(), Sealed { levels, ..usual })).into()
}

/// Returns vertices in several orders.
fn orders(directed: bool) -> Vec<Way> {
    let usual = Sealed::usual(directed);
    let steps = |reordered| Sealed { order: Order::Steps, reordered, ..usual };
    vec![
        way("degree", usual),
        way("steps, R = 0.5", steps(0.5)),
        way("steps, R = 0.95", steps(0.95)),
        way("ids", Sealed { order: Order::Ids, ..usual }),
    ]
}

/// What a row is about.
fn about<const N: usize>(words: [(&str, Value); N]) -> Row {
    words.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn kernels(bench: &mut Bench<'_>) -> Result<Vec<Row>> {
    let usual = Sealed { compressed: !bench.args.plain, ..Sealed::usual(bench.directed()) };
    let (weighted, plain): (Vec<Kernel>, Vec<Kernel>) =
        bench.args.kernel.iter().partition(|kernel| kernel.reads_weights());
    let mut on_csr = Row::new();
    for (sealed, kernels) in [(usual, &plain), (Sealed { weighted: true, ..usual }, &weighted)] {
        if !kernels.is_empty() {
            on_csr.extend(bench.answer(sealed, kernels)?);
        }
    }
    let mut steps = Vec::new();
    for &kernel in &bench.args.kernel {
        let sealed = Sealed { weighted: kernel.reads_weights(), ..usual };
        for &percent in &bench.args.budget {
            let memory = bench.budget(percent, sealed.weighted);
            let ask = Ask::new(sealed, kernel, bench.args.runs, memory);
            let about = about([
                ("kernel", json!(kernel.name())),
                ("way", json!(format!("{percent} %"))),
                ("budget_percent", json!(percent)),
                ("csr_seconds", json!(number(&on_csr, &format!("{kernel}_seconds")))),
            ]);
            steps.push((about, Step::Ask(ask), bench.most_threads()));
        }
    }
    let mut rows = bench.measure(&steps)?;
    let device = bench.device()?.clone();
    for row in &mut rows {
        let share = |key: &str, of: &str| {
            let each = number(row, key)? / number(row, "seconds")?;
            Some(each / number(&device, of)?)
        };
        let bandwidth = share("read_bytes", "sequential_bytes_per_second");
        let reads = share("reads", "random_reads_per_second");
        row.extend(about([("bandwidth_share", json!(bandwidth)), ("reads_share", json!(reads))]));
    }
    Ok(rows)
}

/// Returns those of two kernels that are asked for.
fn two_kernels(bench: &Bench<'_>) -> Vec<Kernel> {
    TWO_KERNELS.into_iter().filter(|kernel| bench.args.kernel.contains(kernel)).collect()
}

/// Asks the graph as it is sealed in each way, within the fixed budget.
fn by_way(bench: &mut Bench<'_>, ways: &[Way]) -> Result<Vec<Row>> {
    let kernels = two_kernels(bench);
    let (runs, memory) = (bench.args.runs, bench.budget(bench.args.fixed_budget, false));
    if kernels.is_empty() {
        return Ok(Vec::new());
    }
    for (place, way) in ways.iter().enumerate() {
        // Some differ only in how they are asked.
        if ways[..place].iter().all(|before| before.sealed != way.sealed) {
            bench.answer(way.sealed, &kernels)?;
        }
    }
    let mut steps = Vec::new();
    for &kernel in &kernels {
        for way in ways {
            let ask = Ask::new(way.sealed, kernel, runs, memory);
            let ask = ask.reads_ahead(way.reads_ahead);
            let disk_bytes = bench.seal(way.sealed)?.get("disk_bytes").cloned();
            let about = about([
                ("kernel", json!(kernel.name())),
                ("way", json!(way.name)),
                ("budget_percent", json!(bench.args.fixed_budget)),
                ("disk_bytes", json!(disk_bytes)),
            ]);
            steps.push((about, Step::Ask(ask), bench.most_threads()));
        }
    }
    bench.measure(&steps)
}

fn threads(bench: &mut Bench<'_>) -> Result<Vec<Row>> {
    let usual = Sealed::usual(bench.directed());
    let kernels = two_kernels(bench);
    bench.answer(usual, &kernels)?;
    let memory = bench.budget(bench.args.fixed_budget, false);
    let mut steps = Vec::new();
    for &kernel in &kernels {
        for &threads in &bench.threads {
            let ask = Ask::new(usual, kernel, bench.args.runs, memory);
            let words =
                if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
            let about = about([
                ("kernel", json!(kernel.name())),
                ("way", json!(words)),
                ("budget_percent", json!(bench.args.fixed_budget)),
            ]);
            steps.push((about, Step::Ask(ask), threads));
        }
    }
    bench.measure(&steps)
}

/// Returns the space of each level and of all, as the graph is sealed in several ways.
fn fragments(bench: &mut Bench<'_>) -> Result<Vec<Row>> {
    const LEVELS: [&str; 5] = ["4 KiB", "32 KiB", "256 KiB", "2 MiB", "long lists"];
    let csr_bytes = bench.csr_bytes(false) as f64;
    let mut rows = Vec::new();
    for compressed in [false, true] {
        for (name, order, combined) in [
            ("ids", Order::Ids, false),
            ("in order", Order::Degree, false),
            ("combined", Order::Ids, true),
            ("in order, combined", Order::Degree, true),
        ] {
            let sealed = Sealed { order, combined, compressed, ..Sealed::usual(bench.directed()) };
            let way = format!("{}, {name}", if compressed { "gaps" } else { "plain" });
            let threads = bench.most_threads();
            let said = bench.seal(sealed)?;
            let levels: Vec<Row> =
                serde_json::from_value(said.get("levels").cloned().unwrap_or_default())?;
            let sum =
                |key: &str| levels.iter().filter_map(|level| level[key].as_u64()).sum::<u64>();
            let total = about([
                ("chunks", json!(sum("chunks"))),
                ("bytes", json!(sum("bytes"))),
                ("list_bytes", json!(sum("list_bytes"))),
                ("white_bytes", json!(sum("white_bytes"))),
                // With the index and all else.
                ("disk_bytes", json!(said.get("disk_bytes"))),
                ("csr_ratio", json!(number(said, "disk_bytes").map(|disk| disk / csr_bytes))),
            ]);
            let named = LEVELS.into_iter().zip(levels.clone()).chain([("all", total)]);
            for (level, figures) in named {
                let mut row = about([
                    ("threads", json!(threads)),
                    ("way", json!(way)),
                    ("level", json!(level)),
                ]);
                row.extend(figures);
                let share = number(&row, "white_bytes").zip(number(&row, "bytes"));
                let share = share.filter(|&(_, bytes)| bytes > 0.0);
                row.insert(
                    "white_share".to_owned(),
                    json!(share.map(|(white, bytes)| white / bytes)),
                );
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn sealing(bench: &mut Bench<'_>) -> Result<Vec<Row>> {
    let directed = bench.directed();
    let threads = bench.most_threads();
    let mut steps = vec![
        (about([("way", json!("CSR in memory"))]), Step::Csr { directed }, threads),
        (
            about([("way", json!("enough memory"))]),
            Step::SealWithin { directed, memory: None },
            threads,
        ),
    ];
    for &percent in &bench.args.budget {
        let about =
            about([("way", json!(format!("{percent} %"))), ("budget_percent", json!(percent))]);
        let memory = Some(bench.budget(percent, false));
        steps.push((about, Step::SealWithin { directed, memory }, threads));
    }
    bench.measure(&steps)
}
