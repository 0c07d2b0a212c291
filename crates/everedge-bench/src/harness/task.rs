//! What one process is to do, and with which graph.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use everedge::{Edge, Graph, Kernel, Schedule, VertexId};
use serde::{Deserialize, Serialize};

use super::{Configuration, Step};

/// A measurement for a process of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) work: Work,
    pub(crate) degree: u32,
    /// Changes from trial to trial.
    pub(crate) seed: u64,
    /// Where the graph is put. Nothing is there yet.
    pub(crate) graph: PathBuf,
    pub(crate) configuration: Configuration,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    /// Batches into an empty graph.
    Ingest { meter: bool },
    /// Deletions of a share of the edges.
    Delete { share: f64, seed: u64 },
    /// Opening after a process has ended.
    Recover { end: End },
    /// What this process does until it ends.
    Write { end: End },
    /// Kernels on a snapshot and on a CSR.
    Kernels(Plan),
    /// Insertions and a kernel at once.
    Mixed,
    /// Insertions and deletions in random order.
    Churn,
    /// Updates and queries, each of the graph after the updates before it.
    Tasks(Stream),
    /// What views keep that are taken between updates.
    Versions(Stream),
    /// Versions, and kernels over all of them.
    Window(History),
    /// A step of measuring sealed graphs.
    Sealed(Step),
}

/// A stream of updates of one edge each, and queries between them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stream {
    pub(crate) updates: u32,
    pub(crate) queries: u32,
    /// Threads that answer queries.
    pub(crate) workers: u32,
    /// Whether it is measured, too, how long they take if updates and queries wait for each other.
    pub(crate) with_serial: bool,
    /// Whether nothing is deleted.
    pub(crate) only_inserts: bool,
    /// Of one kernel.
    pub(crate) plan: Plan,
}

impl Stream {
    /// Returns a stream of which half the updates are deletions, answered by one thread at once.
    pub(crate) fn new(kernel: Kernel, updates: u32, queries: u32) -> Self {
        let plan = Plan::new(&[kernel], Some(1));
        Self { updates, queries, workers: 1, with_serial: false, only_inserts: false, plan }
    }

    /// Returns the kernel that queries run.
    pub(crate) fn kernel(self) -> Kernel {
        self.plan.kernels().next().expect("a stream has one kernel")
    }
}

/// The versions of a measurement, and what is asked of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct History {
    /// Versions after the first one.
    pub(crate) versions: u16,
    /// Of the edges of the first one so many percent are added by each version, and as many deleted.
    pub(crate) percent: f64,
    pub(crate) plan: Plan,
    pub(crate) kept: Kept,
}

/// Where the versions of a measurement are kept, and how they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kept {
    /// In a timeline that is asked by each way.
    ByAllWays,
    /// In one that is asked by this way.
    ByWay(Way),
    /// In one of which what is deleted was looked for without indexes; it is asked as usual.
    WithoutIndexes,
    /// Nowhere: a live graph of the configuration's layout is asked after each version's changes.
    Live,
}

/// A way of asking versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// As usual: by halving, as long as that takes less time than each by itself.
    Usual,
    /// By halving the window.
    Halves,
    /// By the paper's lasting common graphs.
    Lasting,
    /// By those of parts of so many versions.
    PartsOf(u16),
    /// From what all have in common to each.
    FromCommon,
    /// By halving, once it is known which values never change.
    Bounds,
    /// Each by itself.
    ByItself,
}

impl Way {
    /// All that are measured; the first is the usual one, and the last shares nothing.
    pub(crate) const ALL: [Self; 9] = [
        Self::Usual,
        Self::Halves,
        Self::Lasting,
        Self::PartsOf(1),
        Self::PartsOf(2),
        Self::PartsOf(4),
        Self::FromCommon,
        Self::Bounds,
        Self::ByItself,
    ];

    /// Returns what it is called.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Usual => "usual".to_owned(),
            Self::Halves => "halves".to_owned(),
            Self::Lasting => "lasting".to_owned(),
            Self::PartsOf(versions) => format!("parts-of-{versions}"),
            Self::FromCommon => "from-common".to_owned(),
            Self::Bounds => "bounds".to_owned(),
            Self::ByItself => "by-itself".to_owned(),
        }
    }

    /// Returns in which order it reaches versions, if it shares anything.
    pub(crate) fn schedule(self) -> Option<Schedule> {
        match self {
            Self::Usual => Some(Schedule::Chosen),
            Self::Halves => Some(Schedule::Halves),
            Self::Lasting => Some(Schedule::Lasting),
            Self::PartsOf(versions) => Some(Schedule::TwoStages { versions }),
            Self::FromCommon => Some(Schedule::Each),
            Self::Bounds => Some(Schedule::Bounds),
            Self::ByItself => None,
        }
    }
}

/// How a writer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// Killed when all is acknowledged.
    Killed,
    /// By itself, after a clean close.
    Closed,
    /// Killed at some moment before.
    Early,
}

/// Which kernels a process measures, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// A bit for each of [`Kernel::ALL`].
    kernels: u64,
    /// How often each runs on each view; `None` is what GAP prescribes.
    runs: Option<u32>,
    pub(crate) directed: bool,
}

impl Plan {
    /// Plans some kernels on a directed graph.
    pub(crate) fn new(kernels: &[Kernel], runs: Option<u32>) -> Self {
        let is_wanted = |kernel: &Kernel| u64::from(kernels.contains(kernel));
        let bits = Kernel::ALL.iter().enumerate().map(|(i, kernel)| is_wanted(kernel) << i);
        Self { kernels: bits.fold(0, |all, bit| all | bit), runs, directed: true }
    }

    /// Sets whether edges have a direction.
    pub(crate) fn directed(self, directed: bool) -> Self {
        Self { directed, ..self }
    }

    /// Returns its kernels in the order of [`Kernel::ALL`].
    pub(crate) fn kernels(self) -> impl Iterator<Item = Kernel> {
        let all = Kernel::ALL.iter().copied().enumerate();
        all.filter(move |(i, _)| self.kernels >> i & 1 == 1).map(|(_, kernel)| kernel)
    }

    /// Returns how often a kernel runs on each view.
    pub(crate) fn runs_of(self, kernel: Kernel) -> u32 {
        self.runs.unwrap_or(match kernel {
            Kernel::Bfs | Kernel::Sssp => 64,
            Kernel::Triangles | Kernel::Lcc | Kernel::Cdlp => 3,
            _ => 16,
        })
    }
}

/// One line of the results: what is measured in which configuration.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) work: Work,
    pub(crate) configuration: Configuration,
}

impl Task {
    /// Returns the edges of the graph: generated, or those of its file.
    ///
    /// # Errors
    /// If there is no such graph, or the file cannot be read or holds no edge.
    pub(crate) fn edges(&self) -> Result<Vec<Edge>> {
        let Configuration { input, graph, scale, .. } = &self.configuration;
        let Some(path) = input else {
            let generator = graph.generator(*scale, self.degree, 1)?;
            return Ok(generator.edges(0..generator.edge_count()));
        };
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (pairs, rest) = bytes.as_chunks::<8>();
        ensure!(!bytes.is_empty(), "{} holds no edge", path.display());
        ensure!(rest.is_empty(), "{} has no whole number of pairs of 4 bytes", path.display());
        // The upper halves of small ids of 8 bytes.
        ensure!(
            pairs.iter().any(|pair| pair[4..] != [0; 4]),
            "every edge of {} ends at vertex 0: if its ids have 8 bytes, give them 4",
            path.display()
        );
        let id = |bytes: &[u8]| VertexId::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(pairs.iter().map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect())
    }

    /// Creates the empty graph.
    ///
    /// # Errors
    /// If the options contradict each other or the medium fails.
    pub(crate) fn create(&self, meter: bool) -> Result<Graph> {
        Ok(Graph::create(&self.graph, &self.configuration.graph_options(), meter)?)
    }

    /// Returns this program, about to do the task.
    ///
    /// # Errors
    /// If it cannot be found.
    pub(crate) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(["bench", "--single", &serde_json::to_string(self)?]);
        command.args(["--parent", &std::process::id().to_string()]);
        Ok(command)
    }

    /// Reads a task from the command line.
    ///
    /// # Errors
    /// If the word is none.
    pub(crate) fn read(word: &str) -> Result<Box<Self>, String> {
        serde_json::from_str(word).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file that a person made")]
    fn edges_come_from_the_file_that_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("edges.bin");
        let configuration = Configuration { input: Some(input.clone()), ..Default::default() };
        let graph = directory.path().join("graph");
        let task = Task { work: Work::Mixed, degree: 16, seed: 0, graph, configuration };
        std::fs::write(&input, [1, 0, 0, 0, 2, 1, 0, 0]).unwrap();
        assert_eq!(task.edges().unwrap(), [(1, 258)]);
        let of_eight_bytes = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        for bytes in [&[1, 0, 0, 0, 2][..], &[], &of_eight_bytes] {
            std::fs::write(&input, bytes).unwrap();
            assert!(task.edges().unwrap_err().to_string().contains("edges.bin"));
        }
    }

    #[test]
    fn a_plan_has_the_kernels_that_it_was_given() {
        let wanted = [Kernel::Bfs, Kernel::Cdlp];
        let plan = Plan::new(&wanted, None);
        assert_eq!(plan.kernels().collect::<Vec<_>>(), wanted);
        assert_eq!((plan.runs_of(Kernel::Bfs), plan.runs_of(Kernel::Wcc)), (64, 16));
        assert_eq!(Plan::new(Kernel::ALL, Some(2)).kernels().count(), Kernel::ALL.len());
    }
}
