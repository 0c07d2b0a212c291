//! Kernels on a view that cannot read any more: from then on no list has neighbors, also one that had some a moment before.
//! Whoever runs the kernel returns the error of the read, so any answer will do, but no panic.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Csr, CsrOptions, Edge, GraphView, VertexId, WeightedView, par};
use everedge_kernels::{
    BetweennessConfig, CdlpConfig, ClosenessConfig, DeltaPageRankConfig, EigenvectorConfig,
    HitsConfig, KatzConfig, LabelPropagationConfig, LeidenConfig, LouvainConfig, ModularityConfig,
    PageRankConfig, PersonalizedPageRankConfig, RadiiConfig, SccConfig, Similarity, Sources,
    SsspConfig, betweenness, bfs, biconnected, bipartition, cdlp, closeness, coreness,
    delta_pagerank, eigenvector, harmonic, hits, katz, kcore, label_propagation, lcc, leiden,
    louvain, modularity, most_similar, one_hop, one_hop_sample, one_hop_sum, pagerank,
    personalized_pagerank, radii, scc, similarity, spanning_forest, spot_check_betweenness,
    spot_check_bfs, spot_check_biconnected, spot_check_bipartition, spot_check_cdlp,
    spot_check_closeness, spot_check_coreness, spot_check_delta_pagerank, spot_check_eigenvector,
    spot_check_harmonic, spot_check_hits, spot_check_katz, spot_check_kcore,
    spot_check_label_propagation, spot_check_lcc, spot_check_leiden, spot_check_louvain,
    spot_check_most_similar, spot_check_one_hop, spot_check_pagerank,
    spot_check_personalized_pagerank, spot_check_radii, spot_check_scc, spot_check_similarity,
    spot_check_spanning_forest, spot_check_ssnp, spot_check_sssp, spot_check_sswp,
    spot_check_topological_order, spot_check_triangles, spot_check_two_hop, spot_check_viterbi,
    spot_check_wcc, ssnp, sssp, sswp, topological_order, triangles, two_hop, viterbi, wcc,
};

use crate::graphs::Random;

/// Neighbors that one read gives.
const READ: usize = 64;

/// A graph of which so many reads more succeed.
struct Failing<'a> {
    graph: &'a Csr,
    left: AtomicU32,
}

impl Failing<'_> {
    fn reads(&self) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Returns what can be read of a list.
    fn read<T>(&self, list: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        let mut is_read = false;
        list.enumerate()
            .take_while(move |(place, _)| {
                is_read = if place.is_multiple_of(READ) { self.reads() } else { is_read };
                is_read
            })
            .map(|(_, item)| item)
    }
}

impl GraphView for Failing<'_> {
    fn vertex_bound(&self) -> u32 {
        self.graph.vertex_bound()
    }

    fn vertex_count(&self) -> u32 {
        self.graph.vertex_count()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.graph.is_vertex(v)
    }

    fn edge_count(&self) -> u64 {
        self.graph.edge_count()
    }

    fn is_directed(&self) -> bool {
        self.graph.is_directed()
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        if self.reads() { self.graph.out_degree(v) } else { 0 }
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        if self.reads() { self.graph.in_degree(v) } else { 0 }
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.read(self.graph.out_neighbors(v))
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.read(self.graph.in_neighbors(v))
    }
}

impl WeightedView for Failing<'_> {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.read(self.graph.out_edges(v))
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.read(self.graph.in_edges(v))
    }
}

/// A kernel and its spot check; what they find does not matter.
type Run = fn(&Failing<'_>);

const KERNELS: [(&str, Run); 33] = [
    ("one_hop", |g| _ = one_hop(g, 0).map(|found| spot_check_one_hop(g, 0, &found))),
    ("one_hop_sum", |g| _ = one_hop_sum(g, &one_hop_sample(g, 9, 1))),
    ("two_hop", |g| _ = two_hop(g, 0).map(|found| spot_check_two_hop(g, 0, &found))),
    ("bfs", |g| _ = bfs(g, 0).map(|found| spot_check_bfs(g, 0, &found))),
    ("wcc", |g| _ = spot_check_wcc(g, &wcc(g))),
    ("scc", |g| _ = spot_check_scc(g, &scc(g, &SccConfig::default()))),
    ("pagerank", |g| {
        let config = PageRankConfig::default();
        _ = pagerank(g, &config).map(|found| spot_check_pagerank(g, &config, &found));
    }),
    ("delta_pagerank", |g| {
        let config = DeltaPageRankConfig::default();
        _ = delta_pagerank(g, &config).map(|found| spot_check_delta_pagerank(g, &config, &found));
    }),
    ("personalized_pagerank", |g| {
        let starts = vec![(0, 1.0), (1, 2.0)];
        let config = PersonalizedPageRankConfig { weighted: true, starts, ..Default::default() };
        let found = personalized_pagerank(g, &config);
        _ = found.map(|found| spot_check_personalized_pagerank(g, &config, &found));
    }),
    ("hits", |g| {
        let config = HitsConfig { iterations_max: 5, tolerance: 0.0, weighted: false };
        _ = hits(g, &config).map(|found| spot_check_hits(g, &config, &found));
    }),
    ("eigenvector", |g| {
        let config = EigenvectorConfig { iterations_max: 5, tolerance: 0.0, weighted: true };
        _ = eigenvector(g, &config).map(|found| spot_check_eigenvector(g, &config, &found));
    }),
    ("katz", |g| {
        let config = KatzConfig { alpha: 1e-4, ..KatzConfig::default() };
        _ = katz(g, &config).map(|found| spot_check_katz(g, &config, &found));
    }),
    ("betweenness", |g| {
        let config = BetweennessConfig { sources: Sources::Sample { count: 2, seed: 1 } };
        _ = betweenness(g, &config).map(|found| spot_check_betweenness(g, &config, &found));
    }),
    ("sssp", |g| {
        let found = sssp(g, 0, &SsspConfig::default());
        _ = found.map(|found| spot_check_sssp(g, 0, &found));
    }),
    ("sswp", |g| _ = sswp(g, 0).map(|found| spot_check_sswp(g, 0, &found))),
    ("ssnp", |g| _ = ssnp(g, 0).map(|found| spot_check_ssnp(g, 0, &found))),
    ("viterbi", |g| _ = viterbi(g, 0).map(|found| spot_check_viterbi(g, 0, &found))),
    ("coreness", |g| {
        _ = spot_check_coreness(g, &coreness(g));
        _ = spot_check_kcore(g, 3, &kcore(g, 3));
    }),
    ("radii", |g| {
        let config = RadiiConfig::default();
        _ = radii(g, &config).map(|found| spot_check_radii(g, &config, &found));
    }),
    ("closeness", |g| {
        let config = ClosenessConfig { source_count: Some(9), seed: 3 };
        _ = closeness(g, &config).map(|found| spot_check_closeness(g, &config, &found));
    }),
    ("harmonic", |g| {
        let config = ClosenessConfig { source_count: Some(70), seed: 3 };
        _ = harmonic(g, &config).map(|found| spot_check_harmonic(g, &config, &found));
    }),
    ("topological_order", |g| _ = spot_check_topological_order(g, &topological_order(g))),
    ("bipartition", |g| _ = spot_check_bipartition(g, &bipartition(g))),
    ("triangles", |g| _ = spot_check_triangles(g, &triangles(g))),
    ("modularity", |g| {
        let community = vec![3; g.vertex_bound() as usize];
        _ = modularity(g, &community, &ModularityConfig::default());
    }),
    ("louvain", |g| {
        let config = LouvainConfig::default();
        _ = louvain(g, &config).map(|found| spot_check_louvain(g, &config, &found));
    }),
    ("leiden", |g| {
        let config = LeidenConfig::default();
        _ = leiden(g, &config).map(|found| spot_check_leiden(g, &config, &found));
    }),
    ("label_propagation", |g| {
        let config = LabelPropagationConfig::default();
        let found = label_propagation(g, &config);
        _ = found.map(|found| spot_check_label_propagation(g, &config, &found));
    }),
    ("biconnected", |g| _ = spot_check_biconnected(g, &biconnected(g))),
    ("spanning_forest", |g| {
        _ = spanning_forest(g).map(|found| spot_check_spanning_forest(g, &found));
    }),
    ("similarity", |g| {
        let pairs: Vec<_> = (1..g.vertex_bound().min(9)).map(|v| (0, v)).collect();
        for measure in [Similarity::Jaccard, Similarity::AdamicAdar] {
            let found = similarity(g, &pairs, measure);
            _ = found.map(|found| spot_check_similarity(g, &pairs, measure, &found));
            let found = most_similar(g, 0, 5, measure);
            _ = found.map(|found| spot_check_most_similar(g, 0, 5, measure, &found));
        }
    }),
    ("lcc", |g| _ = spot_check_lcc(g, &lcc(g))),
    ("cdlp", |g| {
        let config = CdlpConfig::default();
        let labels: Vec<u64> = (0..g.vertex_bound()).map(u64::from).rev().collect();
        let labels = Some(&labels[..]);
        _ = cdlp(g, labels, &config).map(|found| spot_check_cdlp(g, labels, &config, &found));
    }),
];

/// A vertex whose list is read twice, since it is too long to be kept, and vertices that have all kinds of lists.
fn graphs() -> Vec<(&'static str, Csr)> {
    let mut random = Random::new(7);
    let star = (1..4500).map(|v| (0, v));
    let mut skewed = |count: u32, bound: u32| -> Vec<Edge> {
        let mut end = || {
            let below = 1 + random.below(bound);
            random.below(below)
        };
        (0..count).map(|_| (end(), end())).collect()
    };
    let (some, more) = (skewed(400, 60), skewed(6000, 700));
    let mut graphs = Vec::new();
    for directed in [true, false] {
        let options = CsrOptions { directed, ..CsrOptions::default() };
        for (name, edges) in
            [("star", star.clone().collect()), ("few", some.clone()), ("many", more.clone())]
        {
            let weights: Vec<f32> =
                edges.iter().map(|&(u, v)| 0.5 + (u ^ v) as f32 / 1e6).collect();
            graphs.push((name, Csr::from_edges(&edges, Some(&weights), options)));
        }
    }
    graphs
}

#[test]
fn no_kernel_panics_where_lists_end_in_between() {
    for (name, graph) in &graphs() {
        for (kernel, run) in KERNELS {
            let whole = Failing { graph, left: AtomicU32::new(u32::MAX) };
            par::with_threads(1, || run(&whole)).unwrap();
            let reads = u32::MAX - whole.left.into_inner();
            println!("{kernel} of {name}: {reads} reads");
            // The first reads, some of the others, and the last ones. What is read first of a star is its long list, again and
            // again.
            let of_star = if *name == "star" { 700 } else { 0 };
            let step = (reads as usize / 40).max(1);
            let first = (0..reads.min(50)).chain((50..reads.min(of_star)).step_by(5));
            let last = reads.saturating_sub(50)..reads;
            for left in first.chain((0..reads).step_by(step)).chain(last) {
                let failing = Failing { graph, left: AtomicU32::new(left) };
                par::with_threads(1, || run(&failing)).unwrap();
            }
        }
    }
}
