//! The experiments of XPGraph's paper that this machine can answer: a table drives them.
//!
//! Source: Wang et al., "Scalable and High-Performance Large-Scale Dynamic Graph Storage and
//! Processing System", ACM ToS 2025, §5. Differences: one Kronecker graph instead of eight data
//! sets, persistent memory is emulated on a tmpfs, and what is not varied is as everedge has it by
//! default; the paper archives from 2^16 updates on.

use super::setting::{bars, superscript};
use super::{ACKNOWLEDGED, ARCHIVED, Experiment, Paper, PlotKind};
use crate::arguments::Medium;
use crate::harness::table::{Column, Form};
use crate::harness::{End, Work};
use crate::measurements::{delete, recovery};

const MEMORY: Column =
    Column { key: "process_bytes", title: "memory beside the medium", form: Form::Bytes };

pub(crate) static PAPER: Paper = Paper {
    command: "xpgraph",
    title: "The experiments of XPGraph, on this machine",
    source: "Wang et al., XPGraph, ACM Transactions on Storage 2025, section 5",
    experiments: &EXPERIMENTS,
};

const EXPERIMENTS: [Experiment; 14] = [
    Experiment {
        name: "12",
        title: "Ingest on three media",
        words: "The whole graph in batches, each acknowledged; then until all of it is in the \
                lists. The paper compares systems, here are the media of one.",
        points: |setting| Ok(bars(setting.media(&[Medium::Dram, Medium::Pmem, Medium::File]))),
        shown: &[ACKNOWLEDGED, ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "13",
        title: "What the device reads and writes",
        words: "Bytes of the device during the ingest, by the meter's model: lines of 256 bytes \
                for pmem, pages of 4 KiB for a file, whose reads the page cache answers.",
        points: |setting| {
            let mut points = bars(setting.media(&recovery::MEDIA));
            points.iter_mut().for_each(|point| point.case.work = Work::Ingest { meter: true });
            Ok(points)
        },
        shown: &[
            Column { key: "media_written_bytes", title: "written", form: Form::Bytes },
            Column { key: "media_read_bytes", title: "read", form: Form::Bytes },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "15",
        title: "Deleting 4 % of the edges",
        words: "Edges chosen at random are deleted from the archived graph. A deletion is an \
                update of its own. A compaction drops both, and writes what was in buffers too. The \
                naive ways scan a list for each deletion, and write each list on new space.",
        points: |setting| {
            let mut points = bars(setting.media(&recovery::MEDIA));
            points.push(setting.naive());
            let work = Work::Delete { share: delete::SHARE, seed: delete::SEED };
            points.iter_mut().for_each(|point| point.case.work = work);
            Ok(points)
        },
        shown: &[
            ACKNOWLEDGED,
            ARCHIVED,
            Column { key: "compact_seconds", title: "compaction", form: Form::Seconds },
            Column { key: "disk_bytes_before", title: "disk before", form: Form::Bytes },
            Column { key: "disk_bytes_after", title: "disk after", form: Form::Bytes },
            Column { key: "disk_bytes_compacted", title: "disk compacted", form: Form::Bytes },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "17",
        title: "Opening after a kill",
        words: "The writer is killed when all is acknowledged. Time runs from opening to the \
                first snapshot, which must hold every acknowledged edge.",
        points: |setting| {
            let mut points = bars(setting.media(&recovery::MEDIA));
            let work = Work::Recover { end: End::Killed };
            points.iter_mut().for_each(|point| point.case.work = work);
            Ok(points)
        },
        shown: &[
            Column { key: "ingest_seconds", title: "ingest", form: Form::Seconds },
            Column { key: "open_seconds", title: "opening", form: Form::Seconds },
            Column { key: "open_ratio", title: "opening for one of ingest", form: Form::Ratio },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "19",
        title: "Vertex buffers of one size",
        words: "All vertices have buffers of the same size, in bytes. Larger ones are flushed \
                less often, and take more memory.",
        points: |setting| Ok(setting.fixed_buffers(&[16, 32, 64, 128, 256, 512])),
        shown: &[ARCHIVED, MEMORY],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "20",
        title: "Hierarchical vertex buffers",
        words: "Buffers that grow from 16 bytes up to a largest size, beside buffers that all \
                have that size: the same time for less memory is what the paper found.",
        points: |setting| {
            let sizes = [32, 64, 128, 256, 512];
            let mut points = setting.fixed_buffers(&sizes);
            points.extend(setting.hierarchical_buffers(&sizes));
            Ok(points)
        },
        shown: &[ARCHIVED, MEMORY],
        plot: PlotKind::Lines("largest buffer, bytes"),
    },
    Experiment {
        name: "21",
        title: "Division of work: time",
        words: "How archiving is divided among threads: 256 fixed ranges, consecutive ones to each \
                thread, ranges by the number of updates that are dealt to idle threads, or the \
                same ranges that idle threads take by themselves.",
        points: |setting| Ok(setting.divisions()),
        shown: &[ARCHIVED],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "22",
        title: "Division of work: balance",
        words: "How many updates the busiest thread has archived, for one of the mean.",
        points: |setting| Ok(setting.divisions()),
        shown: &[Column {
            key: "busiest_thread_ratio",
            title: "busiest thread to mean",
            form: Form::Ratio,
        }],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "24",
        title: "Merging by I/O concurrency",
        words: "Kernels on a file, and the ingest before, with more threads: lists are never \
                merged, always, or while the threads are fewer than what the device was measured \
                to need.",
        points: |setting| Ok(setting.mergings()),
        shown: &[
            Column { key: "bfs_seconds", title: "BFS", form: Form::Seconds },
            Column { key: "pagerank_seconds", title: "PageRank", form: Form::Seconds },
            ARCHIVED,
        ],
        plot: PlotKind::Lines("threads"),
    },
    Experiment {
        name: "25",
        title: "The pool of vertex buffers",
        words: "All buffers are flushed when they reach the size of the pool. What the graph \
                needs is the sum of the buffers that its degrees ask for.",
        points: |setting| setting.pools(),
        shown: &[ARCHIVED, MEMORY],
        plot: PlotKind::Lines("pool, as a share of what the graph needs"),
    },
    Experiment {
        name: "26",
        title: "Persistent memory and file",
        words: "The same ingest on both media, for graphs that become four times larger.",
        points: |setting| Ok(setting.scales()),
        shown: &[ARCHIVED],
        plot: PlotKind::Lines("scale of the graph"),
    },
    Experiment {
        name: "27",
        title: "Threads",
        words: "The same ingest with more threads.",
        points: |setting| {
            let numbers: Vec<(f64, usize)> =
                setting.threads.iter().map(|&n| (n as f64, n)).collect();
            Ok(setting.lines(&numbers, |one, value| one.threads = value, usize::to_string))
        },
        shown: &[ARCHIVED],
        plot: PlotKind::Lines("threads"),
    },
    Experiment {
        name: "28",
        title: "Archiving threshold",
        words: "How many updates stand in the log before they are archived. The more, the better \
                they are sorted by vertex.",
        points: |setting| {
            let powers: Vec<(f64, u64)> =
                (10..=24).step_by(2).map(|power| (f64::from(power), 1 << power)).collect();
            let label = |value: &u64| format!("2{}", superscript(value.trailing_zeros()));
            Ok(setting.lines(&powers, |one, value| one.archive_from(value), label))
        },
        shown: &[ACKNOWLEDGED, ARCHIVED],
        plot: PlotKind::Lines("updates from which the log is archived"),
    },
    Experiment {
        name: "table-3",
        title: "Where memory goes",
        words: "Log and blocks lie on the medium, buffers and the rest in memory. Where no \
                buffers are shown they are part of the rest.",
        points: |setting| Ok(bars(setting.media(&[Medium::Pmem]))),
        shown: &[
            Column { key: "log_bytes", title: "log", form: Form::Bytes },
            Column { key: "list_bytes", title: "blocks", form: Form::Bytes },
            Column { key: "buffer_bytes", title: "buffers", form: Form::Bytes },
            Column { key: "rest_bytes", title: "rest", form: Form::Bytes },
        ],
        plot: PlotKind::Parts,
    },
];
