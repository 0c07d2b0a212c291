//! What the kernels answer that give vertices scores: centralities. They run on the enum of views, which is asked
//! once for a range of lists.

use everedge_core::{Direction, GraphView, VertexId, WeightedView, par};
use everedge_kernels as kernels;
use everedge_kernels::{
    ClosenessConfig, EigenvectorConfig, HitsConfig, KatzConfig, PersonalizedPageRankConfig,
};
use serde_json::json;

use crate::answers::{Answer, Question, sum};
use crate::kernel::Parameters;
use crate::{Result, Values};

/// The default alpha of Katz by the largest in-degree: what is below 1 leads to an answer.
const ALPHA_SHARE: f64 = 0.9;
/// The default of the most iterations of scores that converge, and of how much the last one may change.
const ITERATIONS_MAX: u32 = 1000;
const TOLERANCE: f64 = 1e-6;
/// Vertices in a piece of work that takes little for each.
const GRAIN: u32 = 1 << 14;

impl<V: WeightedView> Question<'_, V> {
    /// Whether weights count.
    pub(crate) fn is_weighted(&self) -> bool {
        self.options.parameters.weighted.unwrap_or(true) && self.names.is_weighted()
    }

    /// Returns the most iterations of scores that converge, and how much the last one may change.
    fn ends(&self) -> (u32, f64) {
        let Parameters { iterations, tolerance, .. } = self.options.parameters;
        (iterations.unwrap_or(ITERATIONS_MAX), tolerance.unwrap_or(TOLERANCE))
    }

    pub(crate) fn personalized_pagerank(&self) -> Result<Answer> {
        let sources = self.options.parameters.sources.clone().unwrap_or_default().0;
        let names = self.names.find_all(sources.iter().map(|(name, _)| name.as_str()))?;
        let weights = sources.iter().map(|(_, weight)| *weight);
        let config = PersonalizedPageRankConfig {
            pagerank: self.pagerank_config(),
            weighted: self.is_weighted(),
            starts: names.into_iter().map(|v| self.place_of(v)).zip(weights).collect(),
        };
        let (pagerank, answer) = self.solve(
            || kernels::personalized_pagerank(self.any, &config),
            |pagerank| kernels::spot_check_personalized_pagerank(self.any, &config, pagerank),
            |pagerank| kernels::verify_personalized_pagerank(self.any, &config, pagerank),
        )?;
        Ok(self.ranked(answer, pagerank.rank, pagerank.iterations))
    }

    pub(crate) fn hits(&self) -> Result<Answer> {
        let (iterations_max, tolerance) = self.ends();
        let config = HitsConfig { iterations_max, tolerance, weighted: self.is_weighted() };
        let (hits, answer) = self.solve(
            || kernels::hits(self.any, &config),
            |hits| kernels::spot_check_hits(self.any, &config, hits),
            |hits| kernels::verify_hits(self.any, &config, hits),
        )?;
        let summary = json!({});
        let values = Values::Scores([hits.hub, hits.authority]);
        Ok(Answer { iterations: Some(hits.iterations), summary, values, ..answer })
    }

    pub(crate) fn eigenvector(&self) -> Result<Answer> {
        let (iterations_max, tolerance) = self.ends();
        let config = EigenvectorConfig { iterations_max, tolerance, weighted: self.is_weighted() };
        let (eigenvector, answer) = self.solve(
            || kernels::eigenvector(self.any, &config),
            |found| kernels::spot_check_eigenvector(self.any, &config, found),
            |found| kernels::verify_eigenvector(self.any, &config, found),
        )?;
        let summary = json!({ "eigenvalue": eigenvector.eigenvalue });
        let values = Values::Score(eigenvector.score);
        Ok(Answer { iterations: Some(eigenvector.iterations), summary, values, ..answer })
    }

    pub(crate) fn katz(&self) -> Result<Answer> {
        let (iterations_max, tolerance) = self.ends();
        let default = KatzConfig::default();
        let Parameters { alpha, beta, .. } = self.options.parameters;
        let weighted = self.is_weighted();
        let config = KatzConfig {
            alpha: alpha.unwrap_or_else(|| ALPHA_SHARE / self.largest_sum(weighted).max(1.0)),
            beta: beta.unwrap_or(default.beta),
            iterations_max,
            tolerance,
            weighted,
            ..default
        };
        let (katz, answer) = self.solve(
            || kernels::katz(self.any, &config),
            |katz| kernels::spot_check_katz(self.any, &config, katz),
            |katz| kernels::verify_katz(self.any, &config, katz),
        )?;
        let summary = json!({ "alpha": config.alpha });
        let values = Values::Score(katz.score);
        Ok(Answer { iterations: Some(katz.iterations), summary, values, ..answer })
    }

    /// Returns the largest in-degree, or sum of the sizes of weights of in-edges: no eigenvalue is larger.
    fn largest_sum(&self, weighted: bool) -> f64 {
        let of_vertex = |v: VertexId| match weighted {
            true => self.any.in_edges(v).map(|(_, weight)| f64::from(weight.abs())).sum(),
            false => f64::from(self.any.in_degree(v)),
        };
        let largest = par::map_ranges(self.any.vertex_bound(), GRAIN, |range| {
            let mut largest = 0.0_f64;
            self.any.for_each_degree(Direction::In, range, |v, degree| {
                if degree > 0 {
                    largest = largest.max(of_vertex(v));
                }
            });
            largest
        });
        largest.into_iter().fold(0.0, f64::max)
    }

    fn closeness_config(&self) -> ClosenessConfig {
        let Parameters { samples, seed, .. } = self.options.parameters;
        ClosenessConfig { source_count: samples, seed: seed.unwrap_or_default() }
    }

    pub(crate) fn closeness(&self) -> Result<Answer> {
        let config = self.closeness_config();
        let (closeness, answer) = self.solve(
            || kernels::closeness(self.any, &config),
            |closeness| kernels::spot_check_closeness(self.any, &config, closeness),
            |closeness| kernels::verify_closeness(self.any, &config, closeness),
        )?;
        Ok(self.with_sources(answer, closeness.score, closeness.sources.len()))
    }

    pub(crate) fn harmonic(&self) -> Result<Answer> {
        let config = self.closeness_config();
        let (harmonic, answer) = self.solve(
            || kernels::harmonic(self.any, &config),
            |harmonic| kernels::spot_check_harmonic(self.any, &config, harmonic),
            |harmonic| kernels::verify_harmonic(self.any, &config, harmonic),
        )?;
        Ok(self.with_sources(answer, harmonic.score, harmonic.sources.len()))
    }

    fn with_sources(&self, answer: Answer, score: Vec<f64>, sources: usize) -> Answer {
        let mean = sum(&score) / f64::from(self.view.vertex_count().max(1));
        let summary = json!({ "sources": sources, "mean": mean });
        Answer { summary, values: Values::Score(score), ..answer }
    }
}
