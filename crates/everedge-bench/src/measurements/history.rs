//! The versions of a measurement: what each of them changes, and a live graph that takes the changes.
//!
//! Source: the workload of PIE, §5: half of the edges are the first version, and each later one adds some of the
//! others and deletes as many of those that are there.

use std::time::Instant;

use anyhow::{Result, ensure};
use everedge::{Batch, Edge, Graph, GraphOptions, Kernel, Parameters, peak_rss_bytes};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::ingest;
use crate::harness::figures::Row;
use crate::harness::{Configuration, History, Task};

/// What versions are made of.
pub(super) struct Changes {
    /// The edges that there are now, at first those of the first version.
    pub there: Vec<Edge>,
    rest: std::vec::IntoIter<Edge>,
    random: Xoshiro256PlusPlus,
    /// How many edges each later version adds, and how many it deletes.
    pub each: usize,
    /// Whether edges have weights.
    pub weighted: bool,
}

impl Changes {
    /// Draws them from the edges of the task's graph, each pair once.
    ///
    /// # Errors
    /// If the graph has too few edges.
    pub(super) fn new(task: &Task, history: History) -> Result<Self> {
        let History { versions, percent, plan, .. } = history;
        let mut edges = task.edges()?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(task.seed);
        edges.retain(|(src, dst)| src != dst);
        edges.sort_unstable();
        edges.dedup();
        edges.shuffle(&mut random);
        let rest = edges.split_off(edges.len() / 2).into_iter();
        let base_edges = edges.len();
        let each = (base_edges as f64 * percent / 100.0) as usize;
        ensure!(
            each > 0 && each * usize::from(versions) <= rest.len().min(base_edges),
            "{versions} versions with {each} changes each are too few or too many for {base_edges} edges"
        );
        let weighted = plan.kernels().any(Kernel::reads_weights);
        Ok(Self { there: edges, rest, random, each, weighted })
    }

    /// Returns the edges that the next version adds and those that it deletes.
    pub(super) fn next(&mut self) -> [Vec<Edge>; 2] {
        let Self { there, rest, random, each, .. } = self;
        let came: Vec<Edge> = rest.take(*each).collect();
        let gone = |_| there.swap_remove(random.random_range(0..there.len()));
        let went = (0..*each).map(gone).collect();
        there.extend(&came);
        [came, went]
    }

    /// Returns the weight of an edge, if edges have any: above 0 and at most 1, so that every kernel allows it.
    pub(super) fn weight(&self, (src, dst): Edge) -> Option<f32> {
        let drawn = src.wrapping_mul(31).wrapping_add(dst) % 256;
        self.weighted.then(|| (drawn + 1) as f32 / 256.0)
    }
}

/// Has a live graph take the changes of each version, and asks it after each. Returns the figures.
///
/// # Errors
/// If the medium or a kernel fails, or the graph has too few edges.
pub(super) fn measure_live(task: &Task, history: History) -> Result<Row> {
    let mut changes = Changes::new(task, history)?;
    let Configuration { batch, writers, .. } = task.configuration;
    let weighted = changes.weighted;
    let options = GraphOptions { weighted, ..task.configuration.graph_options() };
    let graph = Graph::create(&task.graph, &options, false)?;
    let weights: Option<Vec<f32>> =
        changes.there.iter().map(|&edge| changes.weight(edge)).collect();
    let weights = weights.filter(|_| weighted);
    ingest::take(&graph, &changes.there, weights.as_deref(), [batch, writers])?;
    drop(weights);
    let (mut delta_seconds, mut asked) = (0.0, vec![0.0; history.plan.kernels().count()]);
    for _ in 0..history.versions {
        let [came, went] = changes.next();
        let mut batch = Batch::new(weighted);
        went.iter().try_for_each(|&(src, dst)| batch.delete(src, dst))?;
        let weight = |edge| changes.weight(edge).unwrap_or(1.0);
        came.iter().try_for_each(|&edge| batch.insert(edge.0, edge.1, weight(edge)))?;
        let start = Instant::now();
        graph.apply(&batch)?;
        let view = graph.snapshot()?;
        delta_seconds += start.elapsed().as_secs_f64();
        for (kernel, seconds) in history.plan.kernels().zip(&mut asked) {
            *seconds += view.run_unverified(kernel, &Parameters::default().into())?.seconds;
        }
    }
    let mut row = Row::new();
    row.insert("way".to_owned(), json!("live"));
    row.insert("versions".to_owned(), json!(history.versions));
    row.insert("percent".to_owned(), json!(history.percent));
    row.insert("delta_seconds".to_owned(), json!(delta_seconds));
    for (kernel, seconds) in history.plan.kernels().zip(asked) {
        row.insert(format!("{kernel}_seconds"), json!(seconds));
        row.insert(format!("{kernel}_whole_seconds"), json!(delta_seconds + seconds));
    }
    row.insert("peak_rss_bytes".to_owned(), json!(peak_rss_bytes()));
    Ok(row)
}
