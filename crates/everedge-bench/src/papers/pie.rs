//! The experiments of PIE's paper that this machine can answer: a table drives them.
//!
//! Source: Zhang et al., "PIE: Enabling Fast and Scalable Incremental Evolving Graph Analytics on Persistent
//! Memory", ICS 2025, §2.3 and §5. Differences: one Kronecker graph instead of six data sets, persistent memory is
//! emulated on a tmpfs, time where the paper has edges a second; live graphs, the two other papers' layouts, stand for the
//! other systems. Figure 5 and what Figure 17 says without detached views are of a design that writes common graphs to
//! the medium, which everedge has not; its vertex array is read where it lies, so that there is no cache to leave out.

use everedge::{Kernel, Layout};

use super::setting::{Point, Setting};
use super::{Experiment, Paper, PlotKind};
use crate::harness::table::{Column, Form};
use crate::harness::{Case, Configuration, End, History, Kept, Plan, Way, Work};
use crate::measurements::window::KERNELS;

/// The workload of the paper.
const VERSIONS: u16 = 12;
const PERCENT: f64 = 0.5;
/// Runs of a question.
const RUNS: u32 = 3;

/// Ways that the paper compares: its own first, then CommonGraph's from what all versions have in common, and each by
/// itself.
const WAYS: [(&str, Way); 4] = [
    ("halves", Way::Halves),
    ("two stages, W = 4", Way::PartsOf(4)),
    ("from common", Way::FromCommon),
    ("each by itself", Way::ByItself),
];
const LAYOUTS: [Layout; 3] = Layout::ALL;

const CHANGES: Column =
    Column { key: "delta_seconds", title: "changes of all versions taken in", form: Form::Seconds };
const BFS: Column =
    Column { key: "bfs_seconds", title: "BFS of all versions", form: Form::Seconds };
const SSSP: Column =
    Column { key: "sssp_seconds", title: "SSSP of all versions", form: Form::Seconds };

pub(crate) static PAPER: Paper = Paper {
    command: "pie",
    title: "The experiments of PIE, on this machine",
    source: "Zhang et al., PIE, ICS 2025, sections 2.3 and 5",
    experiments: &EXPERIMENTS,
};

const EXPERIMENTS: [Experiment; 10] = [
    Experiment {
        name: "4",
        title: "Changes and answers, by design",
        words: "Half of the edges are there; each of 12 versions adds 0.5\u{a0}% and deletes 0.5\u{a0}%. Versions are asked by \
                halving the window, from what all have in common, and each by itself; live graphs, which keep no \
                versions, take the same changes and are asked after each.",
        points: |setting| {
            let plan = Plan::new(&[Kernel::Sssp], Some(RUNS));
            let history = History { plan, ..usual(Way::Halves) };
            let mut points = by_way(setting, history, &WAYS);
            points.remove(1);
            points.extend(live(setting, history));
            Ok(points)
        },
        shown: &[CHANGES, SSSP],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "12",
        title: "Taking changes in",
        words: "12 versions of 0.5\u{a0}% additions and 0.5\u{a0}% deletions, each durable; a live graph then has them in its \
                lists, and has forgotten what was before.",
        points: |setting| {
            let history = unasked(usual(Way::Halves));
            let versions = by_way(setting, history, &[("versions", Way::Halves)]);
            Ok(versions.into_iter().chain(live(setting, history)).collect())
        },
        shown: &[CHANGES],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "13",
        title: "Taking changes in, by number of versions",
        words: "Each adds 0.5\u{a0}% and deletes 0.5\u{a0}%.",
        points: |setting| Ok(stores(setting, &numbers(), unasked)),
        shown: &[CHANGES],
        plot: PlotKind::Lines("versions"),
    },
    Experiment {
        name: "14",
        title: "Taking changes in, by their size",
        words: "12 versions that each add so many percent of the edges and delete as many.",
        points: |setting| Ok(stores(setting, &percents(), unasked)),
        shown: &[CHANGES],
        plot: PlotKind::Lines("percent"),
    },
    Experiment {
        name: "table-4",
        title: "Five questions of 12 versions",
        words: "The time of all 12 answers, once the window is ready.",
        points: |setting| {
            let plan = Plan::new(&KERNELS, Some(RUNS));
            Ok(by_way(setting, History { plan, ..usual(Way::Halves) }, &WAYS))
        },
        shown: &[
            BFS,
            SSSP,
            Column { key: "sswp_seconds", title: "widest paths (SSWP)", form: Form::Seconds },
            Column { key: "ssnp_seconds", title: "narrowest paths (SSNP)", form: Form::Seconds },
            Column { key: "viterbi_seconds", title: "Viterbi", form: Form::Seconds },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "15",
        title: "SSSP, by number of versions",
        words: "Each adds 0.5\u{a0}% and deletes 0.5\u{a0}%.",
        points: |setting| Ok(ways(setting, &numbers())),
        shown: &[SSSP],
        plot: PlotKind::Lines("versions"),
    },
    Experiment {
        name: "16",
        title: "SSSP, by size of changes",
        words: "12 versions that each add so many percent of the edges and delete as many.",
        points: |setting| Ok(ways(setting, &percents())),
        shown: &[SSSP],
        plot: PlotKind::Lines("percent"),
    },
    Experiment {
        name: "17",
        title: "What each part is good for",
        words: "Lasting common graphs alone, then in two stages with parts of 1, 2 and 4 versions; what everedge has \
                in their place, halves; and bounds, which first find out which values no version changes. What is deleted is \
                looked for with an index of chunks and a filter of versions, and at last without.",
        points: |setting| {
            let plan = Plan::new(&[Kernel::Bfs, Kernel::Sssp], Some(RUNS));
            let ways = [
                ("lasting", Way::Lasting),
                ("two stages, W = 1", Way::PartsOf(1)),
                ("W = 2", Way::PartsOf(2)),
                ("W = 4", Way::PartsOf(4)),
                ("halves", Way::Halves),
                ("bounds", Way::Bounds),
                ("each by itself", Way::ByItself),
            ];
            let mut points = by_way(setting, History { plan, ..usual(Way::Halves) }, &ways);
            let kept = Kept::WithoutIndexes;
            let name = "halves, no indexes";
            let history = History { plan, kept, ..usual(Way::Halves) };
            points.push(point(name, (7.0, name.to_owned()), history, setting.base()));
            Ok(points)
        },
        shown: &[CHANGES, BFS, SSSP],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "table-5",
        title: "Opening",
        words: "Of 12 versions after their last one; of a live graph of all edges, whose writer was killed when all \
                was acknowledged.",
        points: |setting| {
            let history = unasked(usual(Way::Halves));
            let mut points = by_way(setting, history, &[("versions", Way::Halves)]);
            points.extend(live(setting, history));
            points[1..]
                .iter_mut()
                .for_each(|point| point.case.work = Work::Recover { end: End::Killed });
            Ok(points)
        },
        shown: &[
            Column { key: "open_seconds", title: "opening", form: Form::Seconds },
            Column { key: "view_seconds", title: "the first view then", form: Form::Seconds },
        ],
        plot: PlotKind::Bars,
    },
    Experiment {
        name: "table-6",
        title: "Memory at most",
        words: "Of the process that takes the changes in and asks for SSSP, with the list of edges that they are drawn \
                from, of 8 bytes each; without what lies on the medium, but for pages of it that the process has read.",
        points: |setting| {
            let plan = Plan::new(&[Kernel::Sssp], Some(1));
            let history = History { plan, ..usual(Way::Halves) };
            let versions = by_way(setting, history, &WAYS);
            Ok(versions.into_iter().chain(live(setting, history)).collect())
        },
        shown: &[Column { key: "peak_rss_bytes", title: "memory", form: Form::Bytes }],
        plot: PlotKind::Bars,
    },
];

/// Returns the paper's versions, kept in a timeline that is asked in one way.
fn usual(way: Way) -> History {
    let plan = Plan::new(&[Kernel::Sssp], Some(RUNS));
    History { versions: VERSIONS, percent: PERCENT, plan, kept: Kept::ByWay(way) }
}

/// Returns the same versions, of which nothing is asked.
fn unasked(history: History) -> History {
    History { plan: Plan::new(&[], None), ..history }
}

/// A value that is varied: its position, what is written there, and the versions that it makes.
type Value = (f64, String, History);

/// Returns the paper's versions in several numbers.
fn numbers() -> Vec<Value> {
    let of = |versions: u16| {
        (f64::from(versions), versions.to_string(), History { versions, ..usual(Way::Halves) })
    };
    [8, 16, 24, 32, 40, 48].map(of).into()
}

/// Returns the paper's versions with changes of several sizes.
fn percents() -> Vec<Value> {
    let of =
        |percent: f64| (percent, percent.to_string(), History { percent, ..usual(Way::Halves) });
    [0.1, 0.25, 0.5, 0.75, 1.0].map(of).into()
}

/// Returns a bar for each way of asking.
fn by_way(setting: &Setting<'_>, history: History, ways: &[(&str, Way)]) -> Vec<Point> {
    let bar = |(index, &(name, way)): (usize, &(&str, Way))| {
        let history = History { kept: Kept::ByWay(way), ..history };
        point(name, (index as f64, name.to_owned()), history, setting.base())
    };
    ways.iter().enumerate().map(bar).collect()
}

/// Returns a bar for a live graph in each layout.
fn live(setting: &Setting<'_>, history: History) -> impl Iterator<Item = Point> {
    let history = History { kept: Kept::Live, ..history };
    of_layouts(setting).map(move |(name, one)| point(&name, (0.0, name.clone()), history, one))
}

/// Returns a line for versions, and one for a live graph in each layout, over values.
fn stores(setting: &Setting<'_>, values: &[Value], of: fn(History) -> History) -> Vec<Point> {
    let line = |name: &str, kept: Option<Kept>, one: &Configuration| -> Vec<Point> {
        let spot = |(x, label, history): &Value| {
            let kept = kept.unwrap_or(history.kept);
            point(name, (*x, label.clone()), History { kept, ..of(*history) }, one.clone())
        };
        values.iter().map(spot).collect()
    };
    let mut points = line("versions", None, &setting.base());
    points.extend(of_layouts(setting).flat_map(|(name, one)| line(&name, Some(Kept::Live), &one)));
    points
}

/// Returns a line for each way of asking over values.
fn ways(setting: &Setting<'_>, values: &[Value]) -> Vec<Point> {
    let line = |&(name, way): &(&'static str, Way)| {
        values.iter().map(move |(x, label, history)| {
            let history = History { kept: Kept::ByWay(way), ..*history };
            point(name, (*x, label.clone()), history, setting.base())
        })
    };
    WAYS.iter().flat_map(line).collect()
}

/// Returns the setting's base in each layout, with its name.
fn of_layouts(setting: &Setting<'_>) -> impl Iterator<Item = (String, Configuration)> {
    let base = setting.base();
    LAYOUTS.into_iter().map(move |layout| {
        let mut one = base.clone();
        one.options.layout = layout;
        (layout.to_string(), one)
    })
}

fn point(
    series: &str,
    (x, label): (f64, String),
    history: History,
    configuration: Configuration,
) -> Point {
    let case = Case { work: Work::Window(history), configuration };
    Point { series: series.to_owned(), x, label, case }
}
