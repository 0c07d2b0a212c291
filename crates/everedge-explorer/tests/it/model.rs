//! The naive graph that every layout must equal, and random updates to drive both.

use everedge::GraphOptions;
use everedge_live::Batch;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use everedge_core::{Direction, ListVisitor, SplitMix64, VertexId, WeightedView, scramble};

/// Neighbors with the bits of their weights, sorted.
type Neighbors = Vec<(VertexId, u32)>;

/// What a view answers: for every vertex its out- and in-neighbors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) edge_count: u64,
    pub(crate) vertices: BTreeMap<VertexId, (Neighbors, Neighbors)>,
}

impl Picture {
    /// Panics at the first vertex in which the two differ.
    #[track_caller]
    pub(crate) fn assert_equals(&self, expected: &Picture, context: impl std::fmt::Display) {
        if let Some(difference) = self.difference(expected) {
            panic!("{context}: {difference}");
        }
    }

    /// Returns the first difference, if there is one.
    pub(crate) fn difference(&self, expected: &Picture) -> Option<String> {
        if self.edge_count != expected.edge_count {
            let (found, expected) = (self.edge_count, expected.edge_count);
            return Some(format!("{found} edges found, {expected} expected"));
        }
        let ids = self.vertices.keys().chain(expected.vertices.keys());
        ids.copied().find(|v| self.vertices.get(v) != expected.vertices.get(v)).map(|v| {
            let (found, expected) = (self.vertices.get(&v), expected.vertices.get(&v));
            format!("vertex {v}: {found:?} found, {expected:?} expected")
        })
    }

    /// Reads all of a view.
    pub(crate) fn of(view: &impl WeightedView, options: &GraphOptions) -> Self {
        let sorted = |edges: &mut dyn Iterator<Item = (VertexId, f32)>| {
            let mut neighbors: Neighbors =
                edges.map(|(to, weight)| (to, weight.to_bits())).collect();
            neighbors.sort_unstable();
            neighbors
        };
        let has_in = !options.directed || options.in_neighbors;
        let mut vertices = BTreeMap::new();
        for v in (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)) {
            let out = sorted(&mut view.out_edges(v));
            assert_eq!(out.len(), view.out_degree(v) as usize, "out-degree of {v}");
            assert_eq!(out.len(), view.out_neighbors(v).count(), "out-neighbors of {v}");
            let mut into = Vec::new();
            if has_in {
                into = sorted(&mut view.in_edges(v));
                assert_eq!(into.len(), view.in_degree(v) as usize, "in-degree of {v}");
            }
            vertices.insert(v, (out, into));
        }
        assert_eq!(vertices.len(), view.vertex_count() as usize, "vertex count");
        assert_shown(view, Direction::Out, vertices.iter().map(|(&v, lists)| (v, &lists.0)));
        if has_in {
            assert_shown(view, Direction::In, vertices.iter().map(|(&v, lists)| (v, &lists.1)));
        }
        Self { edge_count: view.edge_count(), vertices }
    }
}

/// Panics unless the view shows a visitor every vertex with these neighbors, and tells as many.
fn assert_shown<'a>(
    view: &impl WeightedView,
    direction: Direction,
    lists: impl Iterator<Item = (VertexId, &'a Neighbors)>,
) {
    /// The neighbors that each vertex is shown with.
    struct Shown(HashMap<VertexId, Option<Vec<VertexId>>>);
    impl ListVisitor for Shown {
        const STOPS_EARLY: bool = false;

        fn wants(&self, _: VertexId) -> bool {
            true
        }

        fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
            let mut neighbors: Vec<VertexId> = neighbors.collect();
            neighbors.sort_unstable();
            match self.0.get_mut(&v) {
                Some(shown) => assert!(shown.replace(neighbors).is_none(), "{v} is shown twice"),
                None => assert!(neighbors.is_empty(), "{v} is no vertex and has {neighbors:?}"),
            }
        }
    }
    let lists: Vec<_> = lists.collect();
    let nothing_shown = || Shown(lists.iter().map(|&(v, _)| (v, None)).collect());
    let (mut shown, mut shown_listed) = (nothing_shown(), nothing_shown());
    let listed: Vec<_> = lists.iter().map(|&(v, _)| v).rev().collect();
    view.visit_listed(direction, &listed, &mut shown_listed);
    let mut degrees = HashMap::new();
    // Between vertices that lie far apart there are thousands of ids that are none.
    for run in lists.chunk_by(|a, b| b.0 - a.0 < 100) {
        let ids = run[0].0..run[run.len() - 1].0 + 1;
        view.visit_neighbors(direction, ids.clone(), &mut shown);
        view.for_each_degree(direction, ids, |v, degree| {
            if degree > 0 || shown.0.contains_key(&v) {
                degrees.insert(v, degree as usize);
            }
        });
    }
    for (v, list) in lists {
        let expected: Vec<VertexId> = list.iter().map(|&(neighbor, _)| neighbor).collect();
        for shown in [&mut shown, &mut shown_listed] {
            let found = shown.0.remove(&v).flatten();
            assert_eq!(found.as_ref(), Some(&expected), "{direction:?}-neighbors shown of {v}");
        }
        assert_eq!(degrees.get(&v), Some(&expected.len()), "{direction:?}-degree told of {v}");
    }
}

/// The semantics of a live graph, in the plainest form.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    options: GraphOptions,
    vertices: BTreeSet<VertexId>,
    /// Edges by their ends, parallel ones in the order of insertion.
    edges: BTreeMap<(VertexId, VertexId), Vec<Inserted>>,
    edge_count: u64,
    /// Edges that were ever inserted.
    inserted_count: u64,
}

/// An edge as it was inserted.
#[derive(Clone, Copy, Debug)]
struct Inserted {
    number: u64,
    ends: (VertexId, VertexId),
    weight: f32,
}

/// An update of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Update {
    Insert(VertexId, VertexId, f32),
    Delete(VertexId, VertexId),
    AddVertex(VertexId),
}

impl Model {
    pub(crate) fn new(options: &GraphOptions) -> Self {
        Self {
            options: options.clone(),
            vertices: BTreeSet::new(),
            edges: BTreeMap::new(),
            edge_count: 0,
            inserted_count: 0,
        }
    }

    /// Returns a model that shows `picture`. The order of parallel edges is made up, so only
    /// [`apply_determined`](Self::apply_determined) may change it.
    pub(crate) fn of_picture(options: &GraphOptions, picture: &Picture) -> Self {
        let mut model = Self::new(options);
        for (&u, (out, _)) in &picture.vertices {
            model.vertices.insert(u);
            let own = out.iter().filter(|(v, _)| options.directed || u <= *v);
            own.for_each(|&(v, bits)| model.insert(u, v, f32::from_bits(bits)));
        }
        model
    }

    /// Applies the updates whose outcome does not depend on the order of parallel edges, and
    /// returns them.
    pub(crate) fn apply_determined(&mut self, updates: Vec<Update>) -> Vec<Update> {
        let mut applied = Vec::new();
        for update in updates {
            if self.is_determined(update) {
                self.apply(&[update]);
                applied.push(update);
            }
        }
        applied
    }

    fn is_determined(&self, update: Update) -> bool {
        let Update::Delete(u, v) = update else { return true };
        let parallel = self.edges.get(&self.key(u, v)).map_or(&[][..], Vec::as_slice);
        parallel.iter().all(|edge| edge.weight == parallel[0].weight)
    }

    pub(crate) fn apply(&mut self, updates: &[Update]) {
        for &update in updates {
            match update {
                Update::Insert(u, v, weight) => self.insert(u, v, weight),
                Update::Delete(u, v) => {
                    self.delete(u, v);
                }
                Update::AddVertex(v) => {
                    self.vertices.insert(v);
                }
            }
        }
    }

    pub(crate) fn delete_vertex(&mut self, v: VertexId) {
        self.vertices.remove(&v);
        self.edges.retain(|&(from, to), _| from != v && to != v);
        self.edge_count = self.edges.values().map(|parallel| parallel.len() as u64).sum();
    }

    /// Returns whether there was such an edge.
    pub(crate) fn delete(&mut self, u: VertexId, v: VertexId) -> bool {
        let key = self.key(u, v);
        let Some(parallel) = self.edges.get_mut(&key) else { return false };
        parallel.pop();
        if parallel.is_empty() {
            self.edges.remove(&key);
        }
        self.edge_count -= 1;
        true
    }

    /// Returns for each vertex its out- and in-neighbors with their weights, oldest first.
    pub(crate) fn lists_in_order(&self) -> BTreeMap<VertexId, [Vec<(VertexId, f32)>; 2]> {
        let mut lists: BTreeMap<_, [Vec<_>; 2]> =
            self.vertices.iter().map(|&v| (v, Default::default())).collect();
        let mut edges: Vec<Inserted> = self.edges.values().flatten().copied().collect();
        edges.sort_unstable_by_key(|edge| edge.number);
        for Inserted { ends: (u, v), weight, .. } in edges {
            let weight = if self.options.weighted { weight } else { 1.0 };
            let mut join = |a: VertexId, b: VertexId, list: usize| {
                lists.get_mut(&a).expect("an edge's end is a vertex")[list].push((b, weight));
            };
            join(u, v, 0);
            if self.options.directed {
                join(v, u, 1);
            } else {
                join(u, v, 1);
                if u != v {
                    join(v, u, 0);
                    join(v, u, 1);
                }
            }
        }
        lists
    }

    pub(crate) fn picture(&self) -> Picture {
        let weight_of = |weight: f32| if self.options.weighted { weight } else { 1.0 };
        let mut picture = Picture { edge_count: self.edge_count, ..Picture::default() };
        for &v in &self.vertices {
            picture.vertices.insert(v, Default::default());
        }
        let has_in = !self.options.directed || self.options.in_neighbors;
        for &Inserted { ends: (u, v), weight, .. } in self.edges.values().flatten() {
            let bits = weight_of(weight).to_bits();
            let mut join = |a: VertexId, b: VertexId, is_out: bool| {
                let lists = picture.vertices.get_mut(&a).expect("an edge's end is a vertex");
                if is_out { lists.0.push((b, bits)) } else { lists.1.push((b, bits)) }
            };
            join(u, v, true);
            if self.options.directed && has_in {
                join(v, u, false);
            }
            if !self.options.directed {
                join(u, v, false);
                if u != v {
                    join(v, u, true);
                    join(v, u, false);
                }
            }
        }
        for (out, into) in picture.vertices.values_mut() {
            out.sort_unstable();
            into.sort_unstable();
        }
        picture
    }

    fn insert(&mut self, u: VertexId, v: VertexId, weight: f32) {
        self.vertices.extend([u, v]);
        let parallel = self.edges.entry(self.key(u, v)).or_default();
        if self.options.simple
            && let Some(edge) = parallel.first_mut()
        {
            edge.weight = weight;
            return;
        }
        parallel.push(Inserted { number: self.inserted_count, ends: (u, v), weight });
        self.edge_count += 1;
        self.inserted_count += 1;
    }

    /// Returns by what an edge is found; an undirected one by its ends in either order.
    fn key(&self, u: VertexId, v: VertexId) -> (VertexId, VertexId) {
        if self.options.directed { (u, v) } else { (u.min(v), u.max(v)) }
    }
}

/// Turns updates into a batch.
pub(crate) fn batch_of(updates: &[Update], weighted: bool) -> Batch {
    let mut batch = Batch::new(weighted);
    for &update in updates {
        match update {
            Update::Insert(u, v, weight) => batch.insert(u, v, weight),
            Update::Delete(u, v) => batch.delete(u, v),
            Update::AddVertex(v) => batch.add_vertex(v),
        }
        .expect("updates are valid");
    }
    batch
}

/// SplitMix64: the same numbers from the same seed, everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SplitMix64::STEP);
        scramble(self.0)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Some updates among `vertex_bound` ids, of which every `delete_every`th or so deletes.
    pub(crate) fn updates(
        &mut self,
        count: u64,
        vertex_bound: u64,
        delete_every: u64,
    ) -> Vec<Update> {
        (0..count)
            .map(|_| {
                // Squaring favors small ids: some vertices grow long lists.
                let r = self.below(vertex_bound);
                let (u, v) = (r * r / vertex_bound, self.below(vertex_bound));
                let (u, v) = (u as VertexId, v as VertexId);
                match self.below(40) {
                    0 => Update::AddVertex(v),
                    _ if delete_every > 0 && self.below(delete_every) == 0 => Update::Delete(u, v),
                    _ => Update::Insert(u, v, self.below(1000) as f32 / 8.0),
                }
            })
            .collect()
    }
}
