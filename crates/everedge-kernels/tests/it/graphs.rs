//! Small graphs of every kind that a kernel may meet.

use everedge_core::{Csr, CsrOptions, Edge, GraphView, SplitMix64, VertexId, WeightedView, par};

/// An edge with its weight.
type WeightedEdge = (VertexId, VertexId, f32);

/// Where the random graphs begin.
const SEEDS: std::ops::Range<u64> = 0..60;

/// A stream of random numbers.
pub(crate) struct Random(SplitMix64);

impl Random {
    /// Returns the stream of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0.below(bound.into()) as u32
    }
}

/// A graph with a name to print when a test fails.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) graph: Csr,
}

impl Case {
    /// Returns a few vertices, spread over the ids.
    pub(crate) fn sources(&self) -> impl Iterator<Item = VertexId> {
        let vertices = (0..self.graph.vertex_bound()).filter(|&v| self.graph.is_vertex(v));
        vertices.step_by(1 + self.graph.vertex_count() as usize / 4)
    }
}

/// Calls `check` on every kind of graph, each on one thread and on four.
pub(crate) fn for_each_case(check: impl Fn(&Case) + Sync) {
    for_each_case_on(&[1, 4], check);
}

/// Calls `check` on every kind of graph, each on as many threads as the numbers say.
pub(crate) fn for_each_case_on(thread_counts: &[usize], check: impl Fn(&Case) + Sync) {
    let mut cases = shapes();
    cases.extend(SEEDS.map(random));
    for &threads in thread_counts {
        par::with_threads(threads, || {
            for case in &cases {
                println!("{} on {threads} threads", case.name);
                check(case);
            }
        })
        .unwrap();
    }
}

/// Builds a graph from edges with weights.
pub(crate) fn graph(directed: bool, declared: &[VertexId], edges: &[WeightedEdge]) -> Csr {
    let pairs: Vec<Edge> = edges.iter().map(|&(u, v, _)| (u, v)).collect();
    let weights: Vec<f32> = edges.iter().map(|&(_, _, weight)| weight).collect();
    Csr::from_edges(&pairs, Some(&weights), CsrOptions { directed, declared })
}

/// Returns `graph` with `new(weight)` in place of each weight.
pub(crate) fn reweighted(graph: &Csr, new: impl Fn(f32) -> f32) -> Csr {
    let vertices: Vec<_> = (0..graph.vertex_bound()).filter(|&v| graph.is_vertex(v)).collect();
    let mut edges = Vec::new();
    for &u in &vertices {
        // An undirected edge is at both ends.
        let own = graph.out_edges(u).filter(|&(v, _)| graph.is_directed() || u <= v);
        edges.extend(own.map(|(v, weight)| (u, v, new(weight))));
    }
    self::graph(graph.is_directed(), &vertices, &edges)
}

/// Returns `graph` with weights that are finite.
pub(crate) fn finite(graph: &Csr) -> Csr {
    reweighted(graph, |weight| weight.min(f32::MAX))
}

/// Returns `graph` with edges that have no direction.
pub(crate) fn undirected(graph: &Csr) -> Csr {
    let vertices: Vec<_> = (0..graph.vertex_bound()).filter(|&v| graph.is_vertex(v)).collect();
    let mut edges = Vec::new();
    for &u in &vertices {
        let own = graph.out_edges(u).filter(|&(v, _)| graph.is_directed() || u <= v);
        edges.extend(own.map(|(v, weight)| (u, v, weight)));
    }
    self::graph(false, &vertices, &edges)
}

/// Graphs that were thought of, directed and undirected.
fn shapes() -> Vec<Case> {
    let path: Vec<_> = (0..500).map(|v| (v, v + 1, (v % 3) as f32)).collect();
    let star: Vec<_> = (1..3000).map(|v| (0, v, 1.5)).collect();
    let cycle_of_zeros = [(0, 1, 0.0), (1, 2, 0.0), (2, 0, 0.0), (2, 3, 0.5), (4, 5, 0.0)];
    let shapes: [(&str, &[VertexId], &[WeightedEdge]); 10] = [
        ("empty", &[], &[]),
        ("one vertex", &[0], &[]),
        ("only isolated vertices, with gaps", &[3, 9, 200], &[]),
        ("self-loop", &[], &[(2, 2, 1.0)]),
        ("parallel edges", &[], &[(0, 1, 3.0), (0, 1, 1.0), (1, 0, 2.0), (1, 1, 0.0), (1, 1, 0.0)]),
        ("two components and gaps", &[], &[(1, 5, 1.0), (5, 9, 0.25), (70, 64, 2.0)]),
        ("a cycle of zero weights", &[], &cycle_of_zeros),
        ("an edge that is no way", &[], &[(0, 1, f32::INFINITY), (0, 2, f32::MAX), (2, 3, 1e-30)]),
        ("path", &[], &path),
        ("star", &[], &star),
    ];
    let build = |directed| {
        shapes.map(|(name, declared, edges)| Case {
            name: format!("{name}, directed: {directed}"),
            graph: graph(directed, declared, edges),
        })
    };
    [build(true), build(false)].into_iter().flatten().collect()
}

/// A graph, sparse or dense, of even or very uneven degrees: most of up to 600 vertices, every
/// tenth of up to 8000, so that parallel loops are really cut.
fn random(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let bound = 1 + random.below(if seed.is_multiple_of(10) { 8000 } else { 600 });
    let edges_per_vertex = [1, 2, 8, 20][random.below(4) as usize];
    let edge_count = random.below(1 + bound * edges_per_vertex);
    let skewed = random.below(2) == 0;
    let zeros = random.below(3);
    let mut edges = Vec::new();
    for _ in 0..edge_count {
        let u = random.below(bound);
        let v = if skewed { random.below(1 + u) / 2 } else { random.below(bound) };
        let weight = if random.below(3) < zeros { 0.0 } else { random.below(1000) as f32 / 7.0 };
        edges.push((u, v, weight));
    }
    let declared: Vec<_> = (0..random.below(5)).map(|_| random.below(2 * bound)).collect();
    let directed = random.below(2) == 0;
    Case {
        name: format!("random graph of seed {seed}, directed: {directed}"),
        graph: graph(directed, &declared, &edges),
    }
}
