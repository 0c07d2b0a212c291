//! Kernels over lists that lie on several NUMA nodes: the same answers, and each list is read on a
//! thread of its node only.

use std::sync::Arc;

use everedge_core::{Csr, Direction, GraphView, HOME_SPAN, Homes, VertexId, WeightedView, par};
use everedge_kernels::{
    BetweennessConfig, ClosenessConfig, EigenvectorConfig, HitsConfig, KatzConfig,
    ModularityConfig, PageRankConfig, PersonalizedPageRankConfig, Sources, SsspConfig, betweenness,
    bfs, bipartition, closeness, eigenvector, harmonic, hits, katz, modularity, one_hop_sum,
    pagerank, personalized_pagerank, sssp, sswp, topological_order, verify_bfs, wcc,
};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::graphs::{Random, for_each_case_on, graph};

/// Threads fewer than, as many as and more than nodes.
const THREAD_COUNTS: [usize; 4] = [1, 2, 3, 5];

/// How lists are divided.
#[derive(Clone, Copy, Debug)]
enum Split {
    /// Each range of vertices has a node.
    ByVertex,
    /// Out-lists are on one node, in-lists on the other.
    ByDirection,
}

/// A graph that says that its lists lie on two nodes.
struct Divided<'a> {
    graph: &'a Csr,
    homes: Arc<Homes>,
    /// The processor of each node; empty if the system allows fewer than two.
    cpus: Vec<usize>,
    split: Split,
}

impl<'a> Divided<'a> {
    fn new(graph: &'a Csr, split: Split) -> Self {
        let allowed = sched_getaffinity(None).unwrap();
        let two: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(2).collect();
        let (nodes, cpus) = match two[..] {
            [a, b] => (vec![vec![a], vec![b]], two),
            _ => (vec![two; 2], Vec::new()),
        };
        Self { graph, homes: Homes::new(nodes).unwrap(), cpus, split }
    }

    /// Checks that this thread is bound to the home of the list.
    fn check(&self, v: VertexId, direction: Direction) {
        if let Some(&cpu) = self.cpus.get(self.home(v, direction)) {
            let bound = sched_getaffinity(None).unwrap();
            assert!(bound.is_set(cpu) && bound.count() == 1, "{v} {direction:?}: {bound:?}");
        }
    }
}

impl GraphView for Divided<'_> {
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
        self.graph.out_degree(v)
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.graph.in_degree(v)
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.check(v, Direction::Out);
        self.graph.out_neighbors(v)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.check(v, Direction::In);
        self.graph.in_neighbors(v)
    }

    fn homes(&self) -> Option<&Homes> {
        Some(&self.homes)
    }

    fn home(&self, v: VertexId, direction: Direction) -> usize {
        match (self.split, direction) {
            (Split::ByVertex, _) => (v / HOME_SPAN) as usize % 2,
            // An undirected graph has its lists once.
            (Split::ByDirection, Direction::In) if self.is_directed() => 1,
            (Split::ByDirection, _) => 0,
        }
    }
}

impl WeightedView for Divided<'_> {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.check(v, Direction::Out);
        self.graph.out_edges(v)
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.check(v, Direction::In);
        self.graph.in_edges(v)
    }
}

/// Runs all kernels on `graph` as it is and divided, and compares.
fn compare(graph: &Csr, sources: impl Iterator<Item = VertexId>) {
    let sources: Vec<_> = sources.collect();
    for split in [Split::ByVertex, Split::ByDirection] {
        let view = Divided::new(graph, split);
        for &source in &sources {
            let found = bfs(&view, source).unwrap();
            assert_eq!(found.depth, bfs(graph, source).unwrap().depth, "{split:?}");
            verify_bfs(graph, source, &found).unwrap();
            // The default delta reads a sample of the lists from anywhere.
            let config = SsspConfig { delta: Some(20.0) };
            assert_eq!(sssp(&view, source, &config), sssp(graph, source, &config), "{split:?}");
            assert_eq!(sswp(&view, source), sswp(graph, source), "{split:?}");
        }
        let config = BetweennessConfig { sources: Sources::Given(sources.clone()) };
        assert_eq!(betweenness(&view, &config), betweenness(graph, &config), "{split:?}");
        let config = PageRankConfig { iterations_max: 5, ..PageRankConfig::default() };
        assert_eq!(pagerank(&view, &config), pagerank(graph, &config), "{split:?}");
        for weighted in [true, false] {
            let starts = sources.iter().map(|&v| (v, 1.0)).collect();
            let config = PersonalizedPageRankConfig { pagerank: config, weighted, starts };
            let of = |graph: &Csr| personalized_pagerank(graph, &config);
            assert_eq!(personalized_pagerank(&view, &config), of(graph), "{split:?}");
        }
        let config = HitsConfig { iterations_max: 3, tolerance: 0.0, weighted: false };
        assert_eq!(hits(&view, &config), hits(graph, &config), "{split:?}");
        let config = EigenvectorConfig { iterations_max: 3, tolerance: 0.0, weighted: true };
        assert_eq!(eigenvector(&view, &config), eigenvector(graph, &config), "{split:?}");
        let config = KatzConfig { iterations_max: 3, tolerance: 0.0, ..KatzConfig::default() };
        assert_eq!(katz(&view, &config), katz(graph, &config), "{split:?}");
        // The order of more sources is found by one thread, from anywhere.
        let config = ClosenessConfig { source_count: Some(64), seed: 0 };
        assert_eq!(closeness(&view, &config), closeness(graph, &config), "{split:?}");
        assert_eq!(harmonic(&view, &config), harmonic(graph, &config), "{split:?}");
        // A cycle is searched for by one thread, from anywhere.
        let order = topological_order(graph);
        if order.is_acyclic() {
            assert_eq!(topological_order(&view), order, "{split:?}");
        }
        let colors = bipartition(graph);
        if colors.is_bipartite() {
            assert_eq!(bipartition(&view), colors, "{split:?}");
        }
        assert_eq!(wcc(&view), wcc(graph), "{split:?}");
        let (config, community) = (ModularityConfig::default(), wcc(graph).component);
        let run = modularity(&view, &community, &config);
        assert_eq!(run, modularity(graph, &community, &config), "{split:?}");
        let sample: Vec<_> = sources.iter().cycle().copied().take(1000 * sources.len()).collect();
        assert_eq!(one_hop_sum(&view, &sample), one_hop_sum(graph, &sample), "{split:?}");
    }
}

#[test]
fn every_kernel_answers_as_without_homes() {
    for_each_case_on(&THREAD_COUNTS, |case| compare(&case.graph, case.sources().take(2)));
}

/// Larger than the other cases: both nodes have several ranges, frontiers are classified in several
/// pieces, and the search pushes and pulls.
#[test]
fn many_ranges_of_each_node_are_read_at_home() {
    let mut random = Random::new(7);
    let bound = 9 * HOME_SPAN + 100;
    let edges: Vec<_> = (0..4 * bound)
        .map(|_| (random.below(bound), random.below(bound), random.below(100) as f32))
        .collect();
    for directed in [true, false] {
        let graph = graph(directed, &[bound + 70], &edges);
        let threads = if directed { &THREAD_COUNTS[..] } else { &THREAD_COUNTS[2..3] };
        for &threads in threads {
            par::with_threads(threads, || compare(&graph, [0, bound / 2].into_iter())).unwrap();
        }
    }
}
