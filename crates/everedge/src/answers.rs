//! What each kernel answers: a run that is timed, its verification, and the answer in short.

use std::time::Instant;

use everedge_core::{VertexId, WeightedView};
use everedge_kernels as kernels;
use everedge_kernels::{PageRankConfig, SsspConfig};
use serde_json::{Value, json};

use crate::kernel::{Kernel, Parameters};
use crate::{Error, Result, Values, View};

/// A kernel's answer.
pub(crate) struct Answer {
    /// The time of each trial, in seconds.
    pub trials: Vec<f64>,
    /// Iterations, of a kernel that has them.
    pub iterations: Option<u32>,
    pub summary: Value,
    pub values: Values,
}

/// A kernel on a view.
pub(crate) struct Question<'a, V> {
    pub view: &'a V,
    /// The view once more, for names.
    pub names: &'a View,
    pub parameters: &'a Parameters,
    /// How many leading vertices to name.
    pub top: usize,
    /// How often it runs.
    pub trials: usize,
    pub verifies: bool,
}

impl<V: WeightedView> Question<'_, V> {
    /// Runs `kernel`.
    pub(crate) fn answer(&self, kernel: Kernel, source: Option<VertexId>) -> Result<Answer> {
        let source = source.unwrap_or_default();
        match kernel {
            Kernel::OneHop => self.one_hop(source),
            Kernel::Bfs => self.bfs(source),
            Kernel::PageRank => self.pagerank(),
            Kernel::Wcc => self.wcc(),
            Kernel::Sssp => self.sssp(source),
        }
    }

    fn one_hop(&self, source: VertexId) -> Result<Answer> {
        let (neighbors, answer) = self.solve(
            || kernels::one_hop(self.view, source),
            |neighbors| kernels::verify_one_hop(self.view, source, neighbors),
        )?;
        let first: Vec<Value> =
            neighbors.iter().take(self.top).map(|&v| self.names.json_name(v)).collect();
        let summary = json!({ "count": neighbors.len(), "neighbors": first });
        Ok(Answer { summary, values: Values::Neighbors(neighbors), ..answer })
    }

    fn bfs(&self, source: VertexId) -> Result<Answer> {
        let (bfs, answer) = self.solve(
            || kernels::bfs(self.view, source),
            |bfs| kernels::verify_bfs(self.view, source, bfs),
        )?;
        let summary = json!({ "reached": bfs.reached_count(), "depth": bfs.depth_max() });
        Ok(Answer { summary, values: Values::Depth(bfs.depth), ..answer })
    }

    fn pagerank(&self) -> Result<Answer> {
        let config = self.pagerank_config();
        let (pagerank, answer) = self.solve(
            || kernels::pagerank(self.view, &config),
            |pagerank| kernels::verify_pagerank(self.view, &config, pagerank),
        )?;
        let summary = json!({
            "sum": pagerank.rank.iter().sum::<f64>(),
            "top": self.leaders(&pagerank.rank),
        });
        let iterations = Some(pagerank.iterations);
        Ok(Answer { iterations, summary, values: Values::Score(pagerank.rank), ..answer })
    }

    fn wcc(&self) -> Result<Answer> {
        let (wcc, answer) =
            self.solve(|| Ok(kernels::wcc(self.view)), |wcc| kernels::verify_wcc(self.view, wcc))?;
        let summary = json!({ "components": wcc.component_count(), "largest": wcc.largest() });
        Ok(Answer { summary, values: Values::Component(wcc.component), ..answer })
    }

    fn sssp(&self, source: VertexId) -> Result<Answer> {
        let config = SsspConfig { delta: self.parameters.delta };
        let (sssp, answer) = self.solve(
            || kernels::sssp(self.view, source, &config),
            |sssp| kernels::verify_sssp(self.view, source, sssp),
        )?;
        let summary = json!({ "reached": sssp.reached_count(), "max": sssp.distance_max() });
        Ok(Answer { summary, values: Values::Distance(sssp.distance), ..answer })
    }

    /// Runs a kernel as often as asked for and verifies its last result. The answer that comes with
    /// it has nothing but the times.
    fn solve<R>(
        &self,
        run: impl Fn() -> kernels::Result<R>,
        verify: impl Fn(&R) -> kernels::Result<()>,
    ) -> Result<(R, Answer)> {
        let mut trials = Vec::new();
        let mut timed = || {
            let start = Instant::now();
            let result = run();
            trials.push(start.elapsed().as_secs_f64());
            result
        };
        for _ in 1..self.trials {
            timed()?;
        }
        let result = timed()?;
        if self.verifies {
            verify(&result)?;
        }
        let (summary, values) = (Value::Null, Values::Neighbors(Vec::new()));
        Ok((result, Answer { trials, iterations: None, summary, values }))
    }

    fn pagerank_config(&self) -> PageRankConfig {
        let default = PageRankConfig::default();
        let Parameters { iterations, tolerance, damping, .. } = *self.parameters;
        let damping = damping.unwrap_or(default.damping);
        // Of the two only the one that is given ends it.
        let (iterations_max, tolerance) = match (iterations, tolerance) {
            (None, None) => (default.iterations_max, default.tolerance),
            _ => (iterations.unwrap_or(u32::MAX), tolerance.unwrap_or(0.0)),
        };
        PageRankConfig { damping, iterations_max, tolerance }
    }

    /// The names of the vertices of largest score with their scores, the smaller id first among
    /// equals.
    fn leaders(&self, score: &[f64]) -> Value {
        let mut order: Vec<VertexId> = (0..score.len() as u32).collect();
        let by_score = |u: &VertexId, v: &VertexId| {
            score[*v as usize].total_cmp(&score[*u as usize]).then(u.cmp(v))
        };
        if self.top < order.len() {
            order.select_nth_unstable_by(self.top, by_score);
            order.truncate(self.top);
        }
        order.sort_unstable_by(by_score);
        order.retain(|&v| score[v as usize] > 0.0);
        let row = |v: VertexId| json!([self.names.json_name(v), score[v as usize]]);
        order.into_iter().map(row).collect()
    }
}

impl View {
    pub(crate) fn json_name(&self, v: VertexId) -> Value {
        match self.name_of(v) {
            crate::ExternalId::Integer(id) => json!(id),
            crate::ExternalId::Text(id) => json!(id),
        }
    }

    /// Returns the vertex of that name, or the one of largest out-degree, the smallest of them.
    pub(crate) fn source(&self, name: Option<&str>) -> Result<VertexId> {
        if let Some(name) = name {
            let missing = || Error::invalid(format!("vertex `{name}` is not in the graph"));
            return self.find(name).ok_or_else(missing);
        }
        let degrees = self.out_degrees();
        let vertices = self.vertices().into_iter();
        vertices
            .max_by_key(|&v| (degrees[v as usize], std::cmp::Reverse(v)))
            .ok_or_else(|| Error::invalid("the graph has no vertices"))
    }
}
