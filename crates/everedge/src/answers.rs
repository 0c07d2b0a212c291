//! What each kernel answers: a run that is timed, its verification, and the answer in short.

use std::time::Instant;

use everedge_core::{VertexId, WeightedView};
use everedge_kernels as kernels;
use everedge_kernels::{
    BetweennessConfig, CdlpConfig, DeltaPageRankConfig, NO_LABEL, PageRankConfig, RadiiConfig,
    SccConfig, Sources, SsspConfig,
};
use serde_json::{Value, json};

use crate::kernel::{Kernel, Parameters};
use crate::{Error, ExternalId, IdKind, Result, Values, View};

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
        let start = source.unwrap_or_default();
        match kernel {
            Kernel::OneHop => self.one_hop(start),
            Kernel::TwoHop => self.two_hop(start),
            Kernel::Bfs => self.bfs(start),
            Kernel::PageRank => self.pagerank(),
            Kernel::DeltaPageRank => self.delta_pagerank(),
            Kernel::Wcc => self.wcc(),
            Kernel::Scc => self.scc(),
            Kernel::Betweenness => self.betweenness(source),
            Kernel::Sssp => self.sssp(start),
            Kernel::Sswp => self.sswp(start),
            Kernel::Ssnp => self.ssnp(start),
            Kernel::Viterbi => self.viterbi(start),
            Kernel::KCore => match self.parameters.k {
                None => self.coreness(),
                Some(k) => self.kcore(k),
            },
            Kernel::Radii => self.radii(),
            Kernel::Triangles => self.triangles(),
            Kernel::Lcc => self.lcc(),
            Kernel::Cdlp => self.cdlp(),
        }
    }

    fn one_hop(&self, source: VertexId) -> Result<Answer> {
        let (neighbors, answer) = self.solve(
            || kernels::one_hop(self.view, source),
            |neighbors| kernels::verify_one_hop(self.view, source, neighbors),
        )?;
        let summary = json!({ "count": neighbors.len(), "neighbors": self.first(&neighbors) });
        Ok(Answer { summary, values: Values::Vertices(neighbors), ..answer })
    }

    fn two_hop(&self, source: VertexId) -> Result<Answer> {
        let (vertices, answer) = self.solve(
            || kernels::two_hop(self.view, source),
            |vertices| kernels::verify_two_hop(self.view, source, vertices),
        )?;
        let summary = json!({ "count": vertices.len(), "vertices": self.first(&vertices) });
        Ok(Answer { summary, values: Values::Vertices(vertices), ..answer })
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
        Ok(self.ranked(answer, pagerank.rank, pagerank.iterations))
    }

    fn delta_pagerank(&self) -> Result<Answer> {
        let default = DeltaPageRankConfig::default();
        let config = DeltaPageRankConfig {
            damping: self.parameters.damping.unwrap_or(default.damping),
            tolerance: self.parameters.tolerance.unwrap_or(default.tolerance),
        };
        let (pagerank, answer) = self.solve(
            || kernels::delta_pagerank(self.view, &config),
            |pagerank| kernels::verify_delta_pagerank(self.view, &config, pagerank),
        )?;
        Ok(self.ranked(answer, pagerank.rank, pagerank.iterations))
    }

    fn ranked(&self, answer: Answer, rank: Vec<f64>, iterations: u32) -> Answer {
        let summary = json!({ "sum": rank.iter().sum::<f64>(), "top": self.leaders(&rank) });
        Answer { iterations: Some(iterations), summary, values: Values::Score(rank), ..answer }
    }

    fn wcc(&self) -> Result<Answer> {
        let (wcc, answer) =
            self.solve(|| Ok(kernels::wcc(self.view)), |wcc| kernels::verify_wcc(self.view, wcc))?;
        let summary = json!({ "components": wcc.component_count(), "largest": wcc.largest() });
        Ok(Answer { summary, values: Values::Component(wcc.component), ..answer })
    }

    fn scc(&self) -> Result<Answer> {
        let (scc, answer) = self.solve(
            || Ok(kernels::scc(self.view, &SccConfig::default())),
            |scc| kernels::verify_scc(self.view, scc),
        )?;
        let summary = json!({ "components": scc.component_count(), "largest": scc.largest() });
        Ok(Answer { summary, values: Values::Component(scc.component), ..answer })
    }

    fn betweenness(&self, source: Option<VertexId>) -> Result<Answer> {
        let Parameters { samples, seed, .. } = *self.parameters;
        let sources = match (source, samples) {
            (Some(source), None) => Sources::Given(vec![source]),
            (None, Some(count)) => {
                Sources::Sample { count: count as usize, seed: seed.unwrap_or_default() }
            }
            (None, None) => Sources::All,
            (Some(_), Some(_)) => {
                return Err(Error::invalid("bc starts at one source or at samples, not at both"));
            }
        };
        let config = BetweennessConfig { sources };
        let (betweenness, answer) = self.solve(
            || kernels::betweenness(self.view, &config),
            |betweenness| kernels::verify_betweenness(self.view, &config, betweenness),
        )?;
        let score = betweenness.score;
        let summary = json!({ "sources": betweenness.sources.len(), "top": self.leaders(&score) });
        Ok(Answer { summary, values: Values::Score(score), ..answer })
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

    fn sswp(&self, source: VertexId) -> Result<Answer> {
        let (sswp, answer) = self.solve(
            || kernels::sswp(self.view, source),
            |sswp| kernels::verify_sswp(self.view, source, sswp),
        )?;
        let summary = json!({ "reached": sswp.reached_count() });
        Ok(Answer { summary, values: Values::Distance(sswp.width), ..answer })
    }

    fn ssnp(&self, source: VertexId) -> Result<Answer> {
        let (ssnp, answer) = self.solve(
            || kernels::ssnp(self.view, source),
            |ssnp| kernels::verify_ssnp(self.view, source, ssnp),
        )?;
        let summary = json!({ "reached": ssnp.reached_count() });
        Ok(Answer { summary, values: Values::Distance(ssnp.largest_weight), ..answer })
    }

    fn viterbi(&self, source: VertexId) -> Result<Answer> {
        let (viterbi, answer) = self.solve(
            || kernels::viterbi(self.view, source),
            |viterbi| kernels::verify_viterbi(self.view, source, viterbi),
        )?;
        let summary = json!({ "reached": viterbi.reached_count() });
        Ok(Answer { summary, values: Values::Score(viterbi.probability), ..answer })
    }

    fn coreness(&self) -> Result<Answer> {
        let (coreness, answer) = self.solve(
            || Ok(kernels::coreness(self.view)),
            |coreness| kernels::verify_coreness(self.view, coreness),
        )?;
        let summary = json!({ "max": coreness.degeneracy() });
        Ok(Answer { summary, values: Values::Count(coreness.coreness), ..answer })
    }

    fn kcore(&self, k: u32) -> Result<Answer> {
        let (members, answer) = self.solve(
            || Ok(kernels::kcore(self.view, k)),
            |members| kernels::verify_kcore(self.view, k, members),
        )?;
        let summary = json!({ "count": members.len(), "vertices": self.first(&members) });
        Ok(Answer { summary, values: Values::Vertices(members), ..answer })
    }

    fn radii(&self) -> Result<Answer> {
        let default = RadiiConfig::default();
        let Parameters { samples, seed, .. } = *self.parameters;
        let config = RadiiConfig {
            source_count: samples.unwrap_or(default.source_count),
            seed: seed.unwrap_or(default.seed),
        };
        let (radii, answer) = self.solve(
            || kernels::radii(self.view, &config),
            |radii| kernels::verify_radii(self.view, &config, radii),
        )?;
        let summary = json!({ "sources": radii.sources.len(), "max": radii.diameter_min() });
        Ok(Answer { summary, values: Values::Depth(radii.radius), ..answer })
    }

    fn triangles(&self) -> Result<Answer> {
        let (triangles, answer) = self.solve(
            || Ok(kernels::triangles(self.view)),
            |triangles| kernels::verify_triangles(self.view, triangles),
        )?;
        Ok(Answer { summary: json!({ "count": triangles.count }), ..answer })
    }

    fn lcc(&self) -> Result<Answer> {
        let (lcc, answer) =
            self.solve(|| Ok(kernels::lcc(self.view)), |lcc| kernels::verify_lcc(self.view, lcc))?;
        let sum: f64 = lcc.coefficient.iter().sum();
        let mean = sum / f64::from(self.view.vertex_count().max(1));
        Ok(Answer {
            summary: json!({ "mean": mean }),
            values: Values::Score(lcc.coefficient),
            ..answer
        })
    }

    fn cdlp(&self) -> Result<Answer> {
        let default = CdlpConfig::default();
        let iterations_max = self.parameters.iterations.unwrap_or(default.iterations_max);
        let (config, labels) = (CdlpConfig { iterations_max }, self.names.labels());
        let (cdlp, answer) = self.solve(
            || kernels::cdlp(self.view, labels.as_deref(), &config),
            |cdlp| kernels::verify_cdlp(self.view, labels.as_deref(), &config, cdlp),
        )?;
        let mut labels: Vec<u64> =
            cdlp.label.iter().copied().filter(|&label| label != NO_LABEL).collect();
        labels.sort_unstable();
        labels.dedup();
        let (iterations, summary) = (Some(cdlp.iterations), json!({ "communities": labels.len() }));
        Ok(Answer { iterations, summary, values: Values::Label(cdlp.label), ..answer })
    }

    /// The names of the first of `vertices`.
    fn first(&self, vertices: &[VertexId]) -> Value {
        vertices.iter().take(self.top).map(|&v| self.names.json_name(v)).collect()
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
        let (summary, values) = (Value::Null, Values::None);
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
            ExternalId::Integer(id) => json!(id),
            ExternalId::Text(id) => json!(id),
        }
    }

    /// Returns the label that each vertex has before labels are passed on: the id that the user gave
    /// it, if that is a number that is not the vertex's.
    fn labels(&self) -> Option<Vec<u64>> {
        let label = |v| match self.name_of(v) {
            ExternalId::Integer(id) => id,
            ExternalId::Text(_) => v.into(),
        };
        (self.id_kind() == IdKind::Integer).then(|| (0..self.vertex_bound()).map(label).collect())
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
