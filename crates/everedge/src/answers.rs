//! What each kernel answers: a run that is timed, its verification, and the answer in short.

use std::cmp::Reverse;
use std::time::Instant;

use everedge_core::{
    AtomicBitmap, Bitmap, Direction, GraphView, Numbering, VertexId, WeightedView, par,
};
use everedge_kernels as kernels;
use everedge_kernels::{
    BetweennessConfig, CdlpConfig, DeltaPageRankConfig, NO_COMPONENT, NO_LABEL, PageRankConfig,
    RadiiConfig, SccConfig, Sources, SsspConfig,
};
use serde_json::{Value, json};

use crate::any_view::AnyView;
use crate::id_map::json_of;
use crate::kernel::{Convention, Kernel, Parameters};
use crate::{Error, ExternalId, IdKind, Result, RunOptions, Values, Verify, View};

/// Vertices in a piece of work that takes little for each.
pub(crate) const GRAIN: u32 = 1 << 14;
/// Ranges of ids in a piece of such work: most layouts name short ones.
const RANGES: usize = 16;

/// A kernel's answer.
pub(crate) struct Answer {
    /// The time of each trial, in seconds.
    pub trials: Vec<f64>,
    /// The time of the verification, in seconds.
    pub verify_seconds: f64,
    /// Iterations, of a kernel that has them.
    pub iterations: Option<u32>,
    pub summary: Value,
    pub values: Values,
}

/// A kernel on a view.
pub(crate) struct Question<'a, V> {
    /// What the kernel sees: by places if there is a numbering.
    pub view: &'a V,
    /// The same, for what checks the answer.
    pub any: &'a AnyView,
    /// The view by ids, for names.
    pub names: &'a View,
    pub numbering: Option<&'a Numbering>,
    pub options: &'a RunOptions,
    /// What PageRank begins with, by id; none for equal ranks.
    pub ranks: &'a [f64],
}

impl<V: WeightedView> Question<'_, V> {
    /// Runs `kernel`.
    pub(crate) fn answer(&self, kernel: Kernel, source: Option<VertexId>) -> Result<Answer> {
        let source = source.map(|v| self.place_of(v));
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
            Kernel::KCore => match self.options.parameters.k {
                None => self.coreness(),
                Some(k) => self.kcore(k),
            },
            Kernel::Radii => self.radii(),
            Kernel::Triangles => self.triangles(),
            Kernel::Lcc => self.lcc(),
            Kernel::Cdlp => self.cdlp(),
            Kernel::PersonalizedPageRank => self.personalized_pagerank(),
            Kernel::Hits => self.hits(),
            Kernel::Eigenvector => self.eigenvector(),
            Kernel::Katz => self.katz(),
            Kernel::Closeness => self.closeness(),
            Kernel::Harmonic => self.harmonic(),
            Kernel::Louvain => self.louvain(),
            Kernel::Leiden => self.leiden(),
            Kernel::LabelPropagation => self.label_propagation(),
            Kernel::Bridges => self.bridges(),
            Kernel::ArticulationPoints => self.articulation_points(),
            Kernel::SpanningForest => self.spanning_forest(),
            Kernel::TopologicalOrder => self.topological_order(),
            Kernel::Bipartition => self.bipartition(),
        }
    }

    fn one_hop(&self, source: VertexId) -> Result<Answer> {
        let (neighbors, answer) = self.solve(
            || kernels::one_hop(self.view, source),
            |neighbors| kernels::spot_check_one_hop(self.any, source, neighbors),
            |neighbors| kernels::verify_one_hop(self.any, source, neighbors),
        )?;
        let summary = json!({ "count": neighbors.len() });
        Ok(Answer { summary, values: self.list(neighbors), ..answer })
    }

    fn two_hop(&self, source: VertexId) -> Result<Answer> {
        let (vertices, answer) = self.solve(
            || kernels::two_hop(self.view, source),
            |vertices| kernels::spot_check_two_hop(self.any, source, vertices),
            |vertices| kernels::verify_two_hop(self.any, source, vertices),
        )?;
        let summary = json!({ "count": vertices.len() });
        Ok(Answer { summary, values: self.list(vertices), ..answer })
    }

    fn bfs(&self, source: VertexId) -> Result<Answer> {
        let (bfs, answer) = self.solve(
            || kernels::bfs(self.view, source),
            |bfs| kernels::spot_check_bfs(self.any, source, bfs),
            |bfs| kernels::verify_bfs(self.any, source, bfs),
        )?;
        let summary = json!({ "reached": bfs.reached_count(), "depth": bfs.depth_max() });
        Ok(Answer { summary, values: Values::Depth(bfs.depth), ..answer })
    }

    fn pagerank(&self) -> Result<Answer> {
        let config = self.pagerank_config();
        let ranks = if self.numbering.is_some() { &[] } else { self.ranks };
        let (pagerank, answer) = self.solve(
            || kernels::pagerank_from(self.view, &config, ranks),
            |pagerank| kernels::spot_check_pagerank(self.any, &config, pagerank),
            |pagerank| kernels::verify_pagerank(self.any, &config, pagerank),
        )?;
        Ok(self.ranked(answer, pagerank.rank, pagerank.iterations))
    }

    fn delta_pagerank(&self) -> Result<Answer> {
        let default = DeltaPageRankConfig::default();
        let config = DeltaPageRankConfig {
            damping: self.options.parameters.damping.unwrap_or(default.damping),
            tolerance: self.options.parameters.tolerance.unwrap_or(default.tolerance),
        };
        let (pagerank, answer) = self.solve(
            || kernels::delta_pagerank(self.view, &config),
            |pagerank| kernels::spot_check_delta_pagerank(self.any, &config, pagerank),
            |pagerank| kernels::verify_delta_pagerank(self.any, &config, pagerank),
        )?;
        Ok(self.ranked(answer, pagerank.rank, pagerank.iterations))
    }

    pub(crate) fn ranked(&self, answer: Answer, rank: Vec<f64>, iterations: u32) -> Answer {
        let summary = json!({ "sum": sum(&rank) });
        Answer { iterations: Some(iterations), summary, values: Values::Score(rank), ..answer }
    }

    fn wcc(&self) -> Result<Answer> {
        let (wcc, answer) = self.solve(
            || Ok(kernels::wcc(self.view)),
            |wcc| kernels::spot_check_wcc(self.any, wcc),
            |wcc| kernels::verify_wcc(self.any, wcc),
        )?;
        let summary = json!({ "components": wcc.component_count(), "largest": wcc.largest() });
        Ok(Answer { summary, values: self.components(wcc.component), ..answer })
    }

    fn scc(&self) -> Result<Answer> {
        let (scc, answer) = self.solve(
            || Ok(kernels::scc(self.view, &SccConfig::default())),
            |scc| kernels::spot_check_scc(self.any, scc),
            |scc| kernels::verify_scc(self.any, scc),
        )?;
        let summary = json!({ "components": scc.component_count(), "largest": scc.largest() });
        Ok(Answer { summary, values: self.components(scc.component), ..answer })
    }

    fn betweenness(&self, source: Option<VertexId>) -> Result<Answer> {
        let Parameters { samples, seed, .. } = self.options.parameters;
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
        let config = BetweennessConfig { sources: self.drawn(&sources) };
        let (betweenness, answer) = self.solve(
            || kernels::betweenness(self.view, &config),
            |betweenness| kernels::spot_check_betweenness(self.any, &config, betweenness),
            |betweenness| kernels::verify_betweenness(self.any, &config, betweenness),
        )?;
        let mut score = betweenness.score;
        let factor = self.betweenness_factor(&sources, &score);
        score.iter_mut().for_each(|score| *score *= factor);
        let summary = json!({ "sources": betweenness.sources.len() });
        Ok(Answer { summary, values: Values::Score(score), ..answer })
    }

    /// Draws a sample of a sealed graph by the numbers that vertices had before: it is the one of the graph that was sealed.
    fn drawn(&self, sources: &Sources) -> Sources {
        match sources {
            Sources::Sample { count, seed } if self.names.naming.ids_before().is_some() => {
                Sources::Given(self.names.sample_sources(*count, *seed))
            }
            sources => sources.clone(),
        }
    }

    /// Returns what makes a sum over ordered pairs a score of the convention.
    fn betweenness_factor(&self, sources: &Sources, score: &[f64]) -> f64 {
        let count = f64::from(self.view.vertex_count());
        let convention = self.options.parameters.convention.unwrap_or_default();
        // From one source, a pair is met once; from all, from both ends unless edges have directions.
        let ends = match sources {
            Sources::Given(_) => 1.0,
            _ if self.view.is_directed() => 1.0,
            _ => 2.0,
        };
        let scale = match sources {
            Sources::Sample { count, .. } => self.starting_count() / (*count as f64).max(1.0),
            _ => 1.0,
        };
        match convention {
            Convention::Pairs => scale / ends,
            Convention::NetworkX => scale / ((count - 1.0) * (count - 2.0)).max(1.0),
            Convention::Gap => {
                score.iter().copied().reduce(f64::max).filter(|m| *m > 0.0).map_or(1.0, f64::recip)
            }
        }
    }

    /// Returns how many vertices have out-edges.
    fn starting_count(&self) -> f64 {
        let counts = par::map_ranges(self.view.vertex_bound(), GRAIN, |range| {
            let mut count = 0_u32;
            self.view.for_each_degree(Direction::Out, range, |_, degree| {
                count += u32::from(degree > 0);
            });
            count
        });
        f64::from(counts.into_iter().sum::<u32>())
    }

    fn sssp(&self, source: VertexId) -> Result<Answer> {
        let config = SsspConfig { delta: self.options.parameters.delta };
        let (sssp, answer) = self.solve(
            || kernels::sssp(self.view, source, &config),
            |sssp| kernels::spot_check_sssp(self.any, source, sssp),
            |sssp| kernels::verify_sssp(self.any, source, sssp),
        )?;
        let summary = json!({ "reached": sssp.reached_count(), "max": sssp.distance_max() });
        Ok(Answer { summary, values: Values::Distance(sssp.distance), ..answer })
    }

    fn sswp(&self, source: VertexId) -> Result<Answer> {
        let (sswp, answer) = self.solve(
            || kernels::sswp(self.view, source),
            |sswp| kernels::spot_check_sswp(self.any, source, sswp),
            |sswp| kernels::verify_sswp(self.any, source, sswp),
        )?;
        let summary = json!({ "reached": sswp.reached_count() });
        Ok(Answer { summary, values: Values::Distance(sswp.width), ..answer })
    }

    fn ssnp(&self, source: VertexId) -> Result<Answer> {
        let (ssnp, answer) = self.solve(
            || kernels::ssnp(self.view, source),
            |ssnp| kernels::spot_check_ssnp(self.any, source, ssnp),
            |ssnp| kernels::verify_ssnp(self.any, source, ssnp),
        )?;
        let summary = json!({ "reached": ssnp.reached_count() });
        Ok(Answer { summary, values: Values::Distance(ssnp.largest_weight), ..answer })
    }

    fn viterbi(&self, source: VertexId) -> Result<Answer> {
        let (viterbi, answer) = self.solve(
            || kernels::viterbi(self.view, source),
            |viterbi| kernels::spot_check_viterbi(self.any, source, viterbi),
            |viterbi| kernels::verify_viterbi(self.any, source, viterbi),
        )?;
        let summary = json!({ "reached": viterbi.reached_count() });
        Ok(Answer { summary, values: Values::Score(viterbi.probability), ..answer })
    }

    fn coreness(&self) -> Result<Answer> {
        let (coreness, answer) = self.solve(
            || Ok(kernels::coreness(self.view)),
            |coreness| kernels::spot_check_coreness(self.any, coreness),
            |coreness| kernels::verify_coreness(self.any, coreness),
        )?;
        let summary = json!({ "max": coreness.degeneracy() });
        Ok(Answer { summary, values: Values::Count(coreness.coreness), ..answer })
    }

    fn kcore(&self, k: u32) -> Result<Answer> {
        let (mut members, answer) = self.solve(
            || Ok(kernels::kcore(self.view, k)),
            |members| kernels::spot_check_kcore(self.any, k, members),
            |members| kernels::verify_kcore(self.any, k, members),
        )?;
        // The first are those that the graph that was sealed names.
        if let Some(ids) = self.names.naming.ids_before() {
            members.sort_unstable_by_key(|&v| ids[v as usize]);
        }
        let summary = json!({ "count": members.len() });
        Ok(Answer { summary, values: self.list(members), ..answer })
    }

    fn radii(&self) -> Result<Answer> {
        let default = RadiiConfig::default();
        let Parameters { samples, seed, .. } = self.options.parameters;
        let config = RadiiConfig {
            source_count: samples.unwrap_or(default.source_count),
            seed: seed.unwrap_or(default.seed),
        };
        let (radii, answer) = self.solve(
            || kernels::radii(self.view, &config),
            |radii| kernels::spot_check_radii(self.any, &config, radii),
            |radii| kernels::verify_radii(self.any, &config, radii),
        )?;
        let summary = json!({ "sources": radii.sources.len(), "max": radii.diameter_min() });
        Ok(Answer { summary, values: Values::Depth(radii.radius), ..answer })
    }

    fn triangles(&self) -> Result<Answer> {
        let (triangles, answer) = self.solve(
            || Ok(kernels::triangles(self.view)),
            |triangles| kernels::spot_check_triangles(self.any, triangles),
            |triangles| kernels::verify_triangles(self.any, triangles),
        )?;
        Ok(Answer { summary: json!({ "count": triangles.count }), ..answer })
    }

    fn lcc(&self) -> Result<Answer> {
        let (lcc, answer) = self.solve(
            || Ok(kernels::lcc(self.view)),
            |lcc| kernels::spot_check_lcc(self.any, lcc),
            |lcc| kernels::verify_lcc(self.any, lcc),
        )?;
        let mean = sum(&lcc.coefficient) / f64::from(self.view.vertex_count().max(1));
        Ok(Answer {
            summary: json!({ "mean": mean }),
            values: Values::Score(lcc.coefficient),
            ..answer
        })
    }

    fn cdlp(&self) -> Result<Answer> {
        let default = CdlpConfig::default();
        let iterations_max = self.options.parameters.iterations.unwrap_or(default.iterations_max);
        let config = CdlpConfig { iterations_max };
        let labels = self.names.labels();
        let (cdlp, answer) = self.solve(
            || kernels::cdlp(self.view, labels.as_deref(), &config),
            |cdlp| kernels::spot_check_cdlp(self.any, labels.as_deref(), &config, cdlp),
            |cdlp| kernels::verify_cdlp(self.any, labels.as_deref(), &config, cdlp),
        )?;
        let owners = AtomicBitmap::new(self.view.vertex_bound());
        par::map_chunks(&cdlp.label, GRAIN as usize, |labels| {
            let others = labels.iter().filter(|&&owner| owner != NO_LABEL);
            others.filter(|&&owner| !owners.contains(owner)).for_each(|&v| _ = owners.insert(v));
        });
        let owner_of = |v: usize| match cdlp.label[v] {
            NO_LABEL => NO_COMPONENT,
            owner => self.id_at(owner),
        };
        let communities = par::collect(cdlp.label.len(), owner_of);
        let mut summary = json!({ "communities": Bitmap::from(owners).count() });
        if self.options.top_count() > 0 {
            summary["top"] = self.names.largest(&communities, self.options.top_count());
        }
        let are_texts = self.names.id_kind() == IdKind::Text;
        let label = |owner: VertexId| match &labels {
            _ if owner == NO_LABEL => u64::MAX,
            Some(labels) if !are_texts => labels[owner as usize],
            _ => self.id_at(owner).into(),
        };
        let values = Values::Label(par::collect(cdlp.label.len(), |v| label(cdlp.label[v])));
        Ok(Answer { iterations: Some(cdlp.iterations), summary, values, ..answer })
    }

    /// Returns what the kernel calls `v`.
    pub(crate) fn place_of(&self, v: VertexId) -> VertexId {
        self.numbering.and_then(|numbering| numbering.place(v)).unwrap_or(v)
    }

    /// Returns the id of what the kernel calls `place`.
    pub(crate) fn id_at(&self, place: VertexId) -> VertexId {
        self.numbering.map_or(place, |numbering| numbering.ids()[place as usize])
    }

    /// Returns the ids of vertices that the kernel found.
    pub(crate) fn list(&self, mut vertices: Vec<VertexId>) -> Values {
        vertices.iter_mut().for_each(|v| *v = self.id_at(*v));
        Values::Vertices(vertices)
    }

    /// Returns the ids of vertices that components are named after.
    pub(crate) fn components(&self, mut component: Vec<VertexId>) -> Values {
        if let Some(ids) = self.names.naming.ids_before() {
            name_by_smallest(&mut component, ids);
        }
        let named = component.iter_mut().filter(|root| **root != NO_COMPONENT);
        named.for_each(|root| *root = self.id_at(*root));
        Values::Component(component)
    }

    /// Runs a kernel as often as asked for and verifies its last result. The answer that comes with
    /// it has nothing but the times.
    pub(crate) fn solve<R>(
        &self,
        run: impl Fn() -> kernels::Result<R>,
        spot_check: impl Fn(&R) -> kernels::Result<()>,
        verify: impl Fn(&R) -> kernels::Result<()>,
    ) -> Result<(R, Answer)> {
        let name = |v| self.names.name_of(self.id_at(v)).to_string();
        let in_names = |error| Error::kernel(error, name);
        let mut trials = Vec::new();
        let mut timed = || {
            let start = Instant::now();
            let result = run();
            trials.push(start.elapsed().as_secs_f64());
            self.names.check_reads()?;
            result.map_err(in_names)
        };
        for _ in 1..self.options.trials {
            timed()?;
        }
        let result = timed()?;
        let start = Instant::now();
        let verified = match self.options.verify {
            Verify::None => Ok(()),
            Verify::Cheap => spot_check(&result),
            Verify::Full => verify(&result),
        };
        self.names.check_reads()?;
        verified.map_err(in_names)?;
        let verify_seconds = start.elapsed().as_secs_f64();
        let (summary, values) = (Value::Null, Values::None);
        Ok((result, Answer { trials, verify_seconds, iterations: None, summary, values }))
    }

    pub(crate) fn pagerank_config(&self) -> PageRankConfig {
        self.options.parameters.pagerank_config()
    }
}

impl View {
    pub(crate) fn json_name(&self, v: VertexId) -> Value {
        json_of(self.name_of(v))
    }

    /// Returns the label that each vertex has before labels are passed on: the id that the user gave
    /// it, if that is a number that is not the vertex's; where ids are texts, the number that the vertex had
    /// before it was sealed.
    fn labels(&self) -> Option<Vec<u64>> {
        if let (IdKind::Text, Some(ids)) = (self.id_kind(), self.naming.ids_before()) {
            return Some(ids.iter().copied().map(u64::from).collect());
        }
        let label = |v| match self.name_of(v) {
            ExternalId::Integer(id) => id,
            ExternalId::Text(_) => v.into(),
        };
        (self.id_kind() == IdKind::Integer).then(|| self.row_ids().map(label).collect())
    }

    /// Returns the vertex of that name, or the one of largest out-degree, the smallest of them.
    pub(crate) fn source(&self, name: Option<&str>) -> Result<VertexId> {
        if let Some(name) = name {
            return self.find_all([name]).map(|found| found[0]);
        }
        largest_degree(&self.any, self.naming.ids_before())
            .ok_or_else(|| Error::invalid("the graph has no vertices"))
    }
}

/// Names each component after the vertex of it that had the smallest of `ids`.
fn name_by_smallest(component: &mut [VertexId], ids: &[VertexId]) {
    let mut smallest: Vec<VertexId> = (0..).take(component.len()).collect();
    for (v, &root) in (0..).zip(&*component) {
        if root != NO_COMPONENT && ids[v as usize] < ids[smallest[root as usize] as usize] {
            smallest[root as usize] = v;
        }
    }
    let named = component.iter_mut().filter(|root| **root != NO_COMPONENT);
    named.for_each(|root| *root = smallest[*root as usize]);
}

/// Returns the vertex of largest out-degree, the smallest of them: of `ids`, if vertices had some before.
fn largest_degree(view: &impl GraphView, ids: Option<&[VertexId]>) -> Option<VertexId> {
    let id = |v: VertexId| ids.map_or(v, |ids| ids[v as usize]);
    let bound = view.vertex_bound();
    let best_of = par::map_chunks(&view.vertex_ranges(), RANGES, |ranges| {
        let mut best: Option<(u32, Reverse<VertexId>, VertexId)> = None;
        for range in ranges {
            let range = range.start..range.end.min(bound);
            view.for_each_degree(Direction::Out, range, |v, degree| {
                let candidate = Some((degree, Reverse(id(v)), v));
                if candidate > best && view.is_vertex(v) {
                    best = candidate;
                }
            });
        }
        best
    });
    best_of.into_iter().flatten().max().map(|(.., v)| v)
}

/// Returns the sum of some numbers, the same for any number of threads.
pub(crate) fn sum(numbers: &[f64]) -> f64 {
    par::map_chunks(numbers, GRAIN as usize, |part| part.iter().sum::<f64>()).into_iter().sum()
}
