//! The experiments of XPGraph's paper that this machine can answer: a table drives them.
//!
//! Source: Wang et al., "Scalable and High-Performance Large-Scale Dynamic Graph Storage and
//! Processing System", ACM ToS 2025, §5. Differences: one Kronecker graph instead of eight data
//! sets, persistent memory is emulated on a tmpfs, and what is not varied is as everedge has it by
//! default; the paper archives from 2^16 updates on.

use anyhow::Result;
use clap::ValueEnum;

use super::options::{Common, Configuration};
use super::process::{Case, Work};
use super::recovery::End;
use super::table::{Column, Form};
use super::{delete, recovery};
use crate::cmd::Medium;

/// A figure or a table of the paper.
pub(super) struct Experiment {
    /// How `--figure` calls it.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What is varied, and what is to be seen: a sentence or two.
    pub(super) words: &'static str,
    /// What is measured, in the order of the plot.
    pub(super) points: fn(&Setting<'_>) -> Result<Vec<Point>>,
    /// What is shown of it.
    pub(super) shown: &'static [Column],
    pub(super) plot: PlotKind,
}

/// How an experiment is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlotKind {
    /// A bar for each point.
    Bars,
    /// A line for each series; the word names the horizontal axis.
    Lines(&'static str),
    /// A bar for each figure of one point.
    Parts,
}

/// A case and where it stands in the plot.
pub(super) struct Point {
    /// The line that it is part of.
    pub(super) series: String,
    /// Its position on the horizontal axis.
    pub(super) x: f64,
    /// What is written there.
    pub(super) label: String,
    pub(super) case: Case,
}

/// What the experiments start from.
pub(super) struct Setting<'a> {
    pub(super) common: &'a Common,
    pub(super) scale: u32,
    /// Ascending.
    pub(super) threads: &'a [usize],
}

const ACKNOWLEDGED: Column =
    Column { key: "acknowledged_seconds", title: "time until acknowledged", form: Form::Seconds };
const ARCHIVED: Column =
    Column { key: "archived_seconds", title: "time until archived", form: Form::Seconds };
const MEMORY: Column =
    Column { key: "process_bytes", title: "memory beside the medium", form: Form::Bytes };

/// All experiments, in the order of the paper.
pub(super) const ALL: [Experiment; 11] = [
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
                update of its own: space grows until a compaction gives it back.",
        points: |setting| {
            let mut points = bars(setting.media(&recovery::MEDIA));
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
        words: "All vertices have buffers of the same size. Larger ones are flushed less often, \
                and take more memory.",
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
            Ok(setting.lines(&powers, |one, value| one.archive_threshold = value, label))
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
            Column { key: "block_bytes", title: "blocks", form: Form::Bytes },
            Column { key: "buffer_bytes", title: "buffers", form: Form::Bytes },
            Column { key: "rest_bytes", title: "rest", form: Form::Bytes },
        ],
        plot: PlotKind::Parts,
    },
];

/// Returns the experiment that `--figure` calls so.
pub(super) fn find(name: &str) -> Result<&'static Experiment, String> {
    static TABLE: &[Experiment] = &ALL;
    TABLE.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names = ALL.map(|experiment| experiment.name).join(", ");
        format!("there are {names}")
    })
}

impl Experiment {
    /// Returns how the paper calls it.
    pub(super) fn in_paper(&self) -> String {
        match self.name.strip_prefix("table-") {
            Some(number) => format!("Table {number}"),
            None => format!("Figure {}", self.name),
        }
    }
}

impl Setting<'_> {
    fn base(&self) -> Configuration {
        let threads = self.threads.last().copied().unwrap_or(1);
        Configuration { scale: self.scale, threads, ..Configuration::default() }
    }

    fn media(&self, media: &[Medium]) -> Vec<Configuration> {
        let on = |&medium: &Medium| Configuration { medium, ..self.base() };
        media.iter().map(on).collect()
    }

    /// Returns a line for each medium that survives, over values at their positions.
    fn lines<T: Clone>(
        &self,
        values: &[(f64, T)],
        set: impl Fn(&mut Configuration, T),
        label: impl Fn(&T) -> String,
    ) -> Vec<Point> {
        let mut points = Vec::new();
        for on in self.media(&recovery::MEDIA) {
            for (x, value) in values {
                let mut configuration = on.clone();
                set(&mut configuration, value.clone());
                let series = word_of(on.medium);
                points.push(ingest(series, *x, label(value), configuration));
            }
        }
        points
    }

    fn scales(&self) -> Vec<Point> {
        let mut scales: Vec<u32> = [4, 2, 0].map(|less| self.scale.saturating_sub(less)).into();
        scales.dedup();
        let values: Vec<(f64, u32)> = scales.into_iter().map(|s| (f64::from(s), s)).collect();
        self.lines(&values, |one, value| one.scale = value, u32::to_string)
    }

    fn fixed_buffers(&self, sizes: &[u32]) -> Vec<Point> {
        self.buffers("fixed", sizes, |one, size| one.buffer_min = size)
    }

    fn hierarchical_buffers(&self, sizes: &[u32]) -> Vec<Point> {
        self.buffers("hierarchical", sizes, |_, _| ())
    }

    /// Returns points over the largest size of buffers. None is wider, as in the paper.
    fn buffers(
        &self,
        series: &str,
        sizes: &[u32],
        set: impl Fn(&mut Configuration, u32),
    ) -> Vec<Point> {
        let point = |&size: &u32| {
            let mut one =
                Configuration { buffer_max: size, wide_buffer: Some(size), ..self.base() };
            set(&mut one, size);
            ingest(series.to_owned(), f64::from(size).log2(), size.to_string(), one)
        };
        sizes.iter().map(point).collect()
    }

    /// Returns points over the size of the pool, from a sixteenth of what is needed to twice it.
    fn pools(&self) -> Result<Vec<Point>> {
        let base = self.base();
        let needed = self.buffer_bytes_needed(&base)?;
        let shares = [("1/16", -4), ("1/8", -3), ("1/4", -2), ("1/2", -1), ("1", 0), ("2", 1)];
        let point = |(label, power): (&str, i32)| {
            let buffer_pool = (needed as f64 * f64::from(power).exp2()) as u64;
            let one = Configuration { buffer_pool, ..base.clone() };
            ingest("pmem".to_owned(), f64::from(power), label.to_owned(), one)
        };
        Ok(shares.map(point).into())
    }

    /// Returns the bytes of the buffers of all vertices, if none is ever flushed before it is
    /// full: for each list the power of two that takes it, within the limits.
    fn buffer_bytes_needed(&self, configuration: &Configuration) -> Result<u64> {
        let generator = self.common.generator(configuration.scale)?;
        let mut degrees = vec![[0u32; 2]; generator.vertex_bound() as usize];
        for (u, v) in generator.edges(0..generator.edge_count()) {
            degrees[u as usize][0] += 1;
            degrees[v as usize][1] += 1;
        }
        let needed = |degree: u32| match degree {
            0 => 0,
            _ => {
                let (min, max) = (configuration.buffer_min, configuration.buffer_max);
                (4 * u64::from(degree)).next_power_of_two().clamp(min.into(), max.into())
            }
        };
        Ok(degrees.as_flattened().iter().map(|&degree| needed(degree)).sum())
    }
}

/// Returns a point for each medium.
fn bars(configurations: Vec<Configuration>) -> Vec<Point> {
    let point = |(index, one): (usize, Configuration)| {
        let word = word_of(one.medium);
        ingest(word.clone(), index as f64, word, one)
    };
    configurations.into_iter().enumerate().map(point).collect()
}

fn ingest(series: String, x: f64, label: String, configuration: Configuration) -> Point {
    Point { series, x, label, case: Case { work: Work::Ingest { meter: false }, configuration } }
}

fn word_of(medium: Medium) -> String {
    medium.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A number as an exponent is written.
fn superscript(number: u32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map(|digit| digits[digit as usize]);
    number.to_string().chars().filter_map(digit).collect()
}
