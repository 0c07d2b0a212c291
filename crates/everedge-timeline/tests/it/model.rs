//! What a timeline must show, kept the plain way.

use std::collections::BTreeSet;
use std::ops::Range;

use everedge_core::{Direction, GraphView, ListVisitor, SplitMix64, VertexId, WeightedView};
use everedge_timeline::{Changes, TimelineOptions, VersionView};

/// A graph as edges in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub edges: Vec<(VertexId, VertexId, f32)>,
    pub vertices: BTreeSet<VertexId>,
}

/// A change, as a model and a timeline take it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    Insert(VertexId, VertexId, f32),
    Delete(VertexId, VertexId),
    End(VertexId),
}

impl Model {
    pub(crate) fn apply(&mut self, change: Change, options: &TimelineOptions) {
        let is = |a: (VertexId, VertexId), b: (VertexId, VertexId)| {
            a == b || !options.directed && a == (b.1, b.0)
        };
        match change {
            Change::Insert(src, dst, weight) => {
                self.vertices.extend([src, dst]);
                let weight = if options.weighted { weight } else { 1.0 };
                if options.simple {
                    self.edges.retain(|&(s, d, _)| !is((s, d), (src, dst)));
                }
                self.edges.push((src, dst, weight));
            }
            Change::Delete(src, dst) => {
                let newest = self.edges.iter().rposition(|&(s, d, _)| is((s, d), (src, dst)));
                newest.map(|at| self.edges.remove(at));
            }
            Change::End(v) => {
                self.edges.retain(|&(src, dst, _)| src != v && dst != v);
                self.vertices.remove(&v);
            }
        }
    }

    /// Holds a view to this graph.
    pub(crate) fn check(&self, view: &VersionView, options: &TimelineOptions, what: &str) {
        let bound = view.vertex_bound();
        let vertices: Vec<_> = (0..bound).filter(|&v| view.is_vertex(v)).collect();
        assert!(vertices.iter().eq(&self.vertices), "{what}: vertices");
        assert_eq!(view.vertex_count() as usize, self.vertices.len(), "{what}: vertex count");
        assert_eq!(view.edge_count() as usize, self.edges.len(), "{what}: edge count");
        let ranges = view.vertex_ranges();
        assert!(vertices.iter().all(|v| ranges.iter().any(|r| r.contains(v))), "{what}: ranges");
        let out = |v| -> Vec<_> {
            self.ends(options).filter(|&(src, _, _)| src == v).map(|(_, d, w)| (d, w)).collect()
        };
        let into = |v| -> Vec<_> {
            self.ends(options).filter(|&(_, dst, _)| dst == v).map(|(s, _, w)| (s, w)).collect()
        };
        for start in [0, 1, bound / 2, 4097] {
            for direction in [Direction::Out, Direction::In] {
                let range = start.min(bound)..bound;
                if direction == Direction::Out || view.has_in_neighbors() {
                    check_visits(view, direction, range, what);
                }
            }
        }
        for v in 0..bound + 2 {
            let found: Vec<_> = view.out_edges(v).collect();
            assert_eq!(sorted(found), sorted(out(v)), "{what}: out-edges of {v}");
            let found: Vec<_> = view.out_neighbors(v).collect();
            assert_eq!(found.len() as u32, view.out_degree(v), "{what}: degree of {v}");
            let mut folded = Vec::new();
            view.out_neighbors(v).for_each(|to| folded.push(to));
            assert_eq!(found, folded, "{what}: ways of reading {v}");
            if view.has_in_neighbors() {
                let found: Vec<_> = view.in_edges(v).collect();
                assert_eq!(found.len() as u32, view.in_degree(v), "{what}: in-degree of {v}");
                assert_eq!(sorted(found), sorted(into(v)), "{what}: in-edges of {v}");
            }
        }
    }

    /// Returns each edge, of an undirected graph at both ends.
    fn ends(
        &self,
        options: &TimelineOptions,
    ) -> impl Iterator<Item = (VertexId, VertexId, f32)> + use<'_> {
        let both = !options.directed;
        self.edges.iter().flat_map(move |&(src, dst, weight)| {
            let back = (both && src != dst).then_some((dst, src, weight));
            [(src, dst, weight)].into_iter().chain(back)
        })
    }
}

/// Is shown the lists of all ids that 3 does not divide.
#[derive(Default)]
struct Seen(Vec<(VertexId, Vec<VertexId>)>);

impl ListVisitor for Seen {
    const STOPS_EARLY: bool = false;

    fn wants(&self, v: VertexId) -> bool {
        !v.is_multiple_of(3)
    }

    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        self.0.push((v, neighbors.collect()));
    }
}

/// Holds the lists that a range shows to those of each vertex.
fn check_visits(view: &VersionView, direction: Direction, range: Range<VertexId>, what: &str) {
    let mut seen = Seen::default();
    view.visit_neighbors(direction, range.clone(), &mut seen);
    let list = |v| match direction {
        Direction::Out => view.out_neighbors(v).collect::<Vec<_>>(),
        Direction::In => view.in_neighbors(v).collect(),
    };
    let wanted = range.filter(|v| !v.is_multiple_of(3)).map(|v| (v, list(v)));
    // A list of no neighbors need not be shown.
    let expected: Vec<_> = wanted.filter(|(_, list)| !list.is_empty()).collect();
    seen.0.retain(|(_, list)| !list.is_empty());
    assert_eq!(seen.0, expected, "{what}: lists of a range");
}

fn sorted(mut edges: Vec<(VertexId, f32)>) -> Vec<(VertexId, f32)> {
    edges.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    edges
}

/// Draws changes of a small graph whose ids are those of `ids`.
pub(crate) fn draw(random: &mut SplitMix64, ids: &[VertexId], count: usize) -> Vec<Change> {
    let id = |random: &mut SplitMix64| ids[random.below(ids.len() as u64) as usize];
    let one = |random: &mut SplitMix64| {
        let (src, dst) = (id(random), id(random));
        match random.below(20) {
            0..11 => Change::Insert(src, dst, 0.5 + random.below(3) as f32),
            11..19 => Change::Delete(src, dst),
            _ => Change::End(src),
        }
    };
    (0..count).map(|_| one(random)).collect()
}

/// Gives changes to a timeline; a vertex that ends loses its edges first, of which `model` knows.
pub(crate) fn changes(list: &[Change], model: &mut Model, options: &TimelineOptions) -> Changes {
    let mut changes = Changes::new();
    for &change in list {
        match change {
            Change::Insert(src, dst, weight) => {
                let weight = options.weighted.then_some(weight);
                changes.insert(src, dst, weight).expect("a valid edge");
            }
            Change::Delete(src, dst) => changes.delete(src, dst).expect("a valid edge"),
            Change::End(v) => {
                let of = model.edges.iter().filter(|&&(src, dst, _)| src == v || dst == v);
                for &(src, dst, _) in of {
                    changes.delete(src, dst).expect("a valid edge");
                }
                changes.set_vertex(v, false).expect("a valid id");
            }
        }
        model.apply(change, options);
    }
    changes
}
