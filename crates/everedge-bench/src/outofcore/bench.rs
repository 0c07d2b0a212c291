//! What all parts share: the edges, how they were sealed, what the device can do; and processes that measure.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use everedge::Kernel;
use serde_json::json;

use super::Args;
use crate::arguments::Medium;
use crate::harness::figures::Row;
use crate::harness::process::Shared;
use crate::harness::{Case, Configuration, Plan, Sealed, Step, Work};
use crate::output::{Output, bytes, count};

/// Bytes of the file by which the device is measured: those of the sealed graph, within these bounds.
const DEVICE_BYTES: (u64, u64) = (64 << 20, 1 << 30);

/// What all parts share.
pub(super) struct Bench<'a> {
    pub(super) args: &'a Args,
    output: Output,
    shared: Shared<'a>,
    base: Configuration,
    /// Ascending.
    pub(super) threads: Vec<usize>,
    has_weights: bool,
    /// How the graph was sealed, with what that said.
    sealed: Vec<(Sealed, Row)>,
    device: Option<Row>,
}

impl<'a> Bench<'a> {
    /// Writes the edges, and seals them as usual.
    ///
    /// # Errors
    /// If a step fails.
    pub(super) fn prepare(args: &'a Args, output: Output) -> Result<Self> {
        let mut threads = args.threads.clone();
        threads.sort_unstable();
        threads.dedup();
        let base = Configuration {
            input: args.input.clone(),
            graph: args.graph,
            scale: args.scale,
            medium: Medium::File,
            threads: threads.last().copied().unwrap_or(1),
            ..Configuration::default()
        };
        if base.input.is_none() {
            base.graph.generator(base.scale, args.common.degree, 1)?;
        }
        let shared = Shared::prepare(&args.common)?;
        let (sealed, device) = (Vec::new(), None);
        let mut bench =
            Self { args, output, shared, base, threads, has_weights: false, sealed, device };
        bench.perform(Step::Edges)?;
        bench.seal(Sealed::usual(bench.directed()))?;
        Ok(bench)
    }

    pub(super) fn directed(&self) -> bool {
        !self.args.undirected
    }

    fn case(&self, step: Step) -> Case {
        Case { work: Work::Sealed(step), configuration: self.base.clone() }
    }

    fn perform(&self, step: Step) -> Result<Row> {
        self.shared.perform(&self.case(step))
    }

    /// Measures steps, each with what it is about and a number of threads. Returns a row for each.
    pub(super) fn measure(&self, steps: &[(Row, Step, usize)]) -> Result<Vec<Row>> {
        let cases: Vec<Case> = steps
            .iter()
            .map(|(_, step, threads)| {
                let configuration = Configuration { threads: *threads, ..self.base.clone() };
                Case { work: Work::Sealed(*step), configuration }
            })
            .collect();
        let measured = self.shared.measure(&cases, self.output)?;
        let rows = steps.iter().zip(measured).map(|((about, _, threads), measured)| {
            let mut row = Row::from_iter([("threads".to_owned(), json!(threads))]);
            row.extend(about.clone());
            row.extend(measured);
            row
        });
        Ok(rows.collect())
    }

    pub(super) fn most_threads(&self) -> usize {
        self.base.threads
    }

    /// Seals the graph, if it was not sealed so. Returns what that said.
    pub(super) fn seal(&mut self, sealed: Sealed) -> Result<&Row> {
        if sealed.weighted && !self.has_weights {
            self.perform(Step::WeightedEdges)?;
            self.has_weights = true;
        }
        let place = match self.sealed.iter().position(|(one, _)| *one == sealed) {
            Some(place) => place,
            None => {
                let row = self.perform(Step::Seal(sealed))?;
                self.sealed.push((sealed, row));
                self.sealed.len() - 1
            }
        };
        Ok(&self.sealed[place].1)
    }

    /// Seals the graph, if need be, and keeps the answers of kernels on a CSR of it. Returns their times.
    pub(super) fn answer(&mut self, sealed: Sealed, kernels: &[Kernel]) -> Result<Row> {
        self.seal(sealed)?;
        let plan = Plan::new(kernels, Some(self.args.runs)).directed(sealed.directed);
        self.perform(Step::Answer { sealed, plan })
    }

    /// Removes all sealed graphs but the usual one, and all answers.
    pub(super) fn forget(&mut self) -> Result<()> {
        let (usual, directory) = (Sealed::usual(self.directed()), self.shared.directory());
        let remove = |name: String| match std::fs::remove_dir_all(directory.join(name)) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e).context("cannot remove a graph"),
            _ => Ok(()),
        };
        for (sealed, _) in &self.sealed {
            remove(sealed.answers_name())?;
            if *sealed != usual {
                remove(sealed.name())?;
            }
        }
        self.sealed.retain(|(sealed, _)| *sealed == usual);
        Ok(())
    }

    /// Returns a number that sealing the graph as usual has said.
    fn usual(&self, key: &str) -> u64 {
        self.sealed.first().and_then(|(_, row)| row.get(key)?.as_u64()).unwrap_or(0)
    }

    /// Returns the size of a plain CSR: 4 bytes an edge, with weights 8, and 8 a vertex, for each direction.
    pub(super) fn csr_bytes(&self, weighted: bool) -> u64 {
        let (edges, vertices) = (self.usual("edges"), self.usual("vertices"));
        let edge_bytes = if weighted { 8 } else { 4 };
        // An undirected edge stands at both ends.
        let sides = if self.directed() { 2 } else { 1 };
        2 * edge_bytes * edges + sides * 8 * vertices
    }

    pub(super) fn budget(&self, percent: u32, weighted: bool) -> u64 {
        (u128::from(self.csr_bytes(weighted)) * u128::from(percent) / 100) as u64
    }

    /// Returns what the device can do, which is measured once.
    pub(super) fn device(&mut self) -> Result<&Row> {
        if self.device.is_none() {
            let (least, most) = DEVICE_BYTES;
            let bytes = self.usual("list_file_bytes").clamp(least, most);
            let measured = self.measure(&[(Row::new(), Step::Device { bytes }, 1)])?;
            self.device = measured.into_iter().next();
        }
        self.device.as_ref().context("the device was not measured")
    }

    /// Returns a line about the graph.
    pub(super) fn in_words(&self) -> String {
        let graph = match &self.base.input {
            Some(path) => format!("The edges of {}", path.display()),
            None => format!("Scale {}, degree {}", self.base.scale, self.args.common.degree),
        };
        format!(
            "{graph}: {} vertices and {} edges; {} as a CSR, {} sealed",
            count(self.usual("vertices")),
            count(self.usual("edges")),
            bytes(self.csr_bytes(false)),
            bytes(self.usual("disk_bytes")),
        )
    }

    /// Returns what the graph is and how large.
    pub(super) fn graph_row(&self) -> Row {
        let mut row = Row::new();
        match &self.base.input {
            Some(path) => _ = row.insert("input".to_owned(), json!(path)),
            None => {
                row.insert("graph".to_owned(), json!(self.base.graph));
                row.insert("scale".to_owned(), json!(self.base.scale));
                row.insert("degree".to_owned(), json!(self.args.common.degree));
            }
        }
        row.insert("directed".to_owned(), json!(self.directed()));
        for key in ["vertices", "edges", "disk_bytes"] {
            row.insert(key.to_owned(), json!(self.usual(key)));
        }
        row.insert("csr_bytes".to_owned(), json!(self.csr_bytes(false)));
        row
    }
}
