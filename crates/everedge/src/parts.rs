//! What the kernels answer that divide a graph: communities, bridges, forests, orders and colors. They run on the
//! enum of views.

use everedge_core::{Edge, VertexId, WeightedView};
use everedge_kernels as kernels;
use everedge_kernels::{Communities, LabelPropagationConfig, LeidenConfig, LouvainConfig};
use serde_json::json;

use crate::answers::{Answer, Question};
use crate::kernel::Parameters;
use crate::{Result, Values};

impl<V: WeightedView> Question<'_, V> {
    pub(crate) fn louvain(&self) -> Result<Answer> {
        let default = LouvainConfig::default();
        let Parameters { resolution, seed, .. } = self.options.parameters;
        let config = LouvainConfig {
            resolution: resolution.unwrap_or(default.resolution),
            seed: seed.unwrap_or(default.seed),
            weighted: self.is_weighted(),
            ..default
        };
        let (found, answer) = self.solve(
            || kernels::louvain(self.any, &config),
            |found| kernels::spot_check_louvain(self.any, &config, found),
            |found| kernels::verify_louvain(self.any, &config, found),
        )?;
        Ok(self.communities(answer, found))
    }

    pub(crate) fn leiden(&self) -> Result<Answer> {
        let default = LeidenConfig::default();
        let Parameters { resolution, seed, .. } = self.options.parameters;
        let config = LeidenConfig {
            resolution: resolution.unwrap_or(default.resolution),
            seed: seed.unwrap_or(default.seed),
            weighted: self.is_weighted(),
            ..default
        };
        let (found, answer) = self.solve(
            || kernels::leiden(self.any, &config),
            |found| kernels::spot_check_leiden(self.any, &config, found),
            |found| kernels::verify_leiden(self.any, &config, found),
        )?;
        Ok(self.communities(answer, found))
    }

    fn communities(&self, answer: Answer, found: Communities) -> Answer {
        let summary = json!({
            "communities": found.community_count(),
            "largest": found.largest(),
            "modularity": found.modularity,
        });
        Answer { summary, values: self.components(found.community), ..answer }
    }

    pub(crate) fn label_propagation(&self) -> Result<Answer> {
        let default = LabelPropagationConfig::default();
        let seed = self.options.parameters.seed.unwrap_or(default.seed);
        let config = LabelPropagationConfig { weighted: self.is_weighted(), seed };
        let (found, answer) = self.solve(
            || kernels::label_propagation(self.any, &config),
            |found| kernels::spot_check_label_propagation(self.any, &config, found),
            |found| kernels::verify_label_propagation(self.any, &config, found),
        )?;
        let summary = json!({ "communities": found.community_count(), "largest": found.largest() });
        Ok(Answer { summary, values: self.components(found.community), ..answer })
    }

    fn biconnected(&self) -> Result<(kernels::Biconnected, Answer)> {
        self.solve(
            || Ok(kernels::biconnected(self.any)),
            |found| kernels::spot_check_biconnected(self.any, found),
            |found| kernels::verify_biconnected(self.any, found),
        )
    }

    pub(crate) fn bridges(&self) -> Result<Answer> {
        let (found, answer) = self.biconnected()?;
        let summary = json!({
            "count": found.bridges.len(),
            "components": found.component_count(),
            "largest": found.largest(),
        });
        let values = Values::Edges(self.edges(found.bridges), None);
        Ok(Answer { summary, values, ..answer })
    }

    pub(crate) fn articulation_points(&self) -> Result<Answer> {
        let (found, answer) = self.biconnected()?;
        let points = found.articulation_points;
        let summary = json!({ "count": points.len() });
        Ok(Answer { summary, values: self.list(points), ..answer })
    }

    pub(crate) fn spanning_forest(&self) -> Result<Answer> {
        let (forest, answer) = self.solve(
            || kernels::spanning_forest(self.any),
            |forest| kernels::spot_check_spanning_forest(self.any, forest),
            |forest| kernels::verify_spanning_forest(self.any, forest),
        )?;
        let summary = json!({ "count": forest.edges.len(), "total": forest.total });
        let weights = self.names.is_weighted().then_some(forest.weights);
        let values = Values::Edges(self.edges(forest.edges), weights);
        Ok(Answer { summary, values, ..answer })
    }

    pub(crate) fn topological_order(&self) -> Result<Answer> {
        let (found, answer) = self.solve(
            || Ok(kernels::topological_order(self.any)),
            |found| kernels::spot_check_topological_order(self.any, found),
            |found| kernels::verify_topological_order(self.any, found),
        )?;
        let summary = json!({ "acyclic": found.is_acyclic(), "cycle": self.named(&found.cycle) });
        let order = if found.is_acyclic() { found.order } else { Vec::new() };
        let Values::Vertices(order) = self.list(order) else { unreachable!("a list") };
        Ok(Answer { summary, values: Values::Order(order), ..answer })
    }

    pub(crate) fn bipartition(&self) -> Result<Answer> {
        let (found, answer) = self.solve(
            || Ok(kernels::bipartition(self.any)),
            |found| kernels::spot_check_bipartition(self.any, found),
            |found| kernels::verify_bipartition(self.any, found),
        )?;
        let is_bipartite = found.is_bipartite();
        let sides = [0, 1].map(|side| found.color.iter().filter(|&&color| color == side).count());
        let summary = json!({
            "bipartite": is_bipartite,
            "sides": sides,
            "odd_cycle": self.named(&found.odd_cycle),
        });
        let colors = || found.color.iter().map(|&color| color.into()).collect();
        let values = if is_bipartite { Values::Count(colors()) } else { Values::None };
        Ok(Answer { summary, values, ..answer })
    }

    /// Returns the names of vertices.
    fn named(&self, vertices: &[VertexId]) -> serde_json::Value {
        vertices.iter().map(|&v| self.names.json_name(self.id_at(v))).collect()
    }

    /// Returns the ids of edges that the kernel found.
    fn edges(&self, mut edges: Vec<Edge>) -> Vec<Edge> {
        edges.iter_mut().for_each(|(u, v)| (*u, *v) = (self.id_at(*u), self.id_at(*v)));
        edges
    }
}
