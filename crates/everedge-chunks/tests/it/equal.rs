//! A sealed graph has the lists of the graph that was sealed, whatever the options and the budget are.

use std::cell::Cell;
use std::sync::Arc;

use everedge_chunks::{
    ChunksView, Form, LevelUse, Order, PiecesRead, SealOptions, Store, least_memory, seal,
};
use everedge_core::{
    Csr, CsrOptions, Direction, Edge, GraphView, ListVisitor, SplitMix64, VertexId, WeightedView,
    par,
};
use everedge_medium::{MediumKind, Volume, VolumeOptions};

pub(crate) const SALT: u32 = 7;

pub(crate) fn volume(directory: &tempfile::TempDir) -> Volume {
    let options = VolumeOptions { kind: MediumKind::File, eadr: false, meter: false };
    Volume::create(&directory.path().join("sealed"), options).unwrap()
}

/// Edges with some vertices of many neighbors.
pub(crate) fn edges(vertices: u64, count: usize, seed: u64) -> (Vec<Edge>, Vec<f32>) {
    let mut random = SplitMix64::new(seed);
    let mut vertex = || {
        let most = 1 << random.below(u64::from(vertices.ilog2()) + 1);
        random.below(most) as u32
    };
    let edges: Vec<Edge> = (0..count).map(|_| (vertex(), vertex())).collect();
    let weights = edges.iter().map(|&(u, v)| (u ^ v) as f32 / 4.0).collect();
    (edges, weights)
}

fn sealed(
    csr: &Csr,
    weighted: bool,
    options: &SealOptions,
    memory: impl Fn(&Form) -> u64,
) -> Arc<Store> {
    let directory = tempfile::tempdir().unwrap();
    let volume = volume(&directory);
    let form = seal(&volume, SALT, csr, weighted, options, |v| v).unwrap();
    let memory = memory(&form);
    Store::open(&volume, SALT, form, memory).unwrap()
}

type Neighbor = (VertexId, u32);

fn sorted(edges: impl Iterator<Item = (VertexId, f32)>) -> Vec<Neighbor> {
    let mut edges: Vec<_> = edges.map(|(v, weight)| (v, weight.to_bits())).collect();
    edges.sort_unstable();
    edges
}

/// Holds the lists of a sealed graph to those of the graph that was sealed.
pub(crate) fn check(csr: &Csr, store: &Arc<Store>) {
    let view = ChunksView::new(store.clone());
    let ids = store.all_ids().unwrap();
    let vertices = (0..csr.vertex_bound()).filter(|&v| csr.is_vertex(v)).count();
    assert_eq!(ids.len(), vertices);
    assert_eq!((view.vertex_count(), view.edge_count()), (csr.vertex_count(), csr.edge_count()));
    let id = |(v, weight): (VertexId, f32)| (ids[v as usize], weight);
    let plain = |v: VertexId| (v, 0.0);
    for (v, &at) in (0..).zip(&ids) {
        assert_eq!(store.id_of(v).unwrap(), at);
        assert_eq!(
            (view.out_degree(v), view.in_degree(v)),
            (csr.out_degree(at), csr.in_degree(at))
        );
        assert_eq!(
            sorted(view.out_neighbors(v).map(plain).map(id)),
            sorted(csr.out_neighbors(at).map(plain))
        );
        assert_eq!(
            sorted(view.in_neighbors(v).map(plain).map(id)),
            sorted(csr.in_neighbors(at).map(plain))
        );
        // Without weights, each is 1.
        assert_eq!(sorted(view.out_edges(v).map(id)), sorted(csr.out_edges(at)));
        assert_eq!(sorted(view.in_edges(v).map(id)), sorted(csr.in_edges(at)));
    }
    check_visits(&view);
    store.check().unwrap();
    let checked = everedge_chunks::check(store, false).unwrap();
    assert_eq!(checked.problems, [""; 0]);
}

/// Collects what it is shown of the vertices that it wants.
struct Collect {
    seen: Vec<(VertexId, Vec<VertexId>)>,
    each: u32,
}

impl ListVisitor for Collect {
    const STOPS_EARLY: bool = false;

    fn wants(&self, v: VertexId) -> bool {
        v.is_multiple_of(self.each)
    }

    fn visit(&mut self, v: VertexId, mut neighbors: impl Iterator<Item = VertexId>) {
        // One by one, and then the rest at once.
        let mut list: Vec<_> = neighbors.by_ref().take(v as usize % 7).collect();
        neighbors.for_each(|u| list.push(u));
        self.seen.push((v, list));
    }
}

/// Visits show each list that is wanted, in order, on several threads.
fn check_visits(view: &ChunksView) {
    let bound = view.vertex_bound();
    for direction in [Direction::Out, Direction::In] {
        let list = |v| match direction {
            Direction::Out => view.out_neighbors(v).collect::<Vec<_>>(),
            Direction::In => view.in_neighbors(v).collect(),
        };
        for each in [1, 13] {
            let seen = par::map_ranges(bound, 100, |range| {
                let mut collect = Collect { seen: Vec::new(), each };
                view.visit_neighbors(direction, range, &mut collect);
                collect.seen
            });
            let expected: Vec<_> =
                (0..bound).step_by(each as usize).map(|v| (v, list(v))).collect();
            assert!(seen.concat() == expected);
        }
        let listed: Vec<_> = (0..bound).rev().filter(|v| v % 3 != 1).collect();
        let seen = par::map_chunks(&listed, 700, |listed| {
            let mut collect = Collect { seen: Vec::new(), each: 1 };
            view.visit_listed(direction, listed, &mut collect);
            collect.seen
        });
        let expected: Vec<_> = listed.iter().map(|&v| (v, list(v))).collect();
        assert!(seen.concat() == expected);
    }
}

#[test]
fn every_list_is_there_whatever_the_options_are() {
    let (edges, weights) = edges(3000, 20_000, 1);
    let small = [40, 400, 3000, 20_000];
    for directed in [true, false] {
        for weighted in [false, true] {
            let weights = weighted.then_some(&weights[..]);
            let options = CsrOptions { directed, ..CsrOptions::default() };
            let csr = Csr::from_edges(&edges, weights, options);
            for order in [Order::Degree, Order::Steps, Order::Ids] {
                for (compressed, minis, combined) in [
                    (true, true, true),
                    (false, true, true),
                    (true, false, true),
                    (true, true, false),
                ] {
                    for list_bytes_max in [SealOptions::default().list_bytes_max, small] {
                        let options = SealOptions {
                            order,
                            compressed,
                            minis,
                            combined,
                            list_bytes_max,
                            ..SealOptions::default()
                        };
                        let store = sealed(&csr, weighted, &options, least_memory);
                        check(&csr, &store);
                    }
                }
            }
        }
    }
}

#[test]
fn every_budget_gives_the_same_lists() {
    let (edges, _) = edges(20_000, 400_000, 2);
    let csr = Csr::from_edges(&edges, None, CsrOptions::default());
    for part in [1.0, 0.5, 0.2, 0.05] {
        let memory =
            |form: &Form| ((form.list_file_bytes() as f64 * part) as u64).max(least_memory(form));
        let store = sealed(&csr, false, &SealOptions::default(), memory);
        check(&csr, &store);
    }
}

#[test]
fn pieces_that_are_read_again_count_once() {
    let (edges, _) = edges(20_000, 400_000, 3);
    let csr = Csr::from_edges(&edges, None, CsrOptions { directed: true, ..CsrOptions::default() });
    for memory in [least_memory, |_: &Form| 1 << 30] {
        for reads_ahead in [true, false] {
            let store = sealed(&csr, false, &SealOptions::default(), memory);
            if !reads_ahead {
                store.stop_reading_ahead();
            }
            assert_eq!(store.pieces_read(), PiecesRead::default());
            let view = ChunksView::new(store.clone());
            for _ in 0..2 {
                for direction in [Direction::Out, Direction::In] {
                    let mut collect = Collect { seen: Vec::new(), each: 1 };
                    view.visit_neighbors(direction, 0..view.vertex_bound(), &mut collect);
                }
            }
            let (read, counts, form) = (store.pieces_read(), store.counts(), store.form());
            let levels: Vec<u64> = form.levels().iter().map(|level| level.chunks).collect();
            assert_eq!(read.chunks, levels[..4]);
            assert_eq!(read.long, levels[4]);
            let pieces = read.pages + levels.iter().sum::<u64>();
            assert!(read.pages > 0 && counts.reads <= counts.pieces && counts.pieces >= pieces);
            let bytes = 4096 * read.pages + form.levels().iter().map(LevelUse::bytes).sum::<u64>();
            assert_eq!(bytes, form.list_file_bytes());
            assert!(counts.read_bytes >= bytes);
            if memory(form) == 1 << 30 {
                assert_eq!((counts.pieces, counts.read_bytes), (pieces, bytes));
            }
        }
    }
}

/// Counts the vertices that it is asked about.
struct Asked(Cell<u64>);

impl ListVisitor for Asked {
    const STOPS_EARLY: bool = false;

    fn wants(&self, _: VertexId) -> bool {
        self.0.set(self.0.get() + 1);
        true
    }

    fn visit(&mut self, _: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        neighbors.for_each(drop);
    }
}

/// What was looked through ahead is not looked through again after a range of the other side.
#[test]
fn sides_may_be_shown_in_turn() {
    let (edges, _) = edges(200_000, 2_000_000, 4);
    let csr = Csr::from_edges(&edges, None, CsrOptions { directed: true, ..CsrOptions::default() });
    let half = |form: &Form| form.list_file_bytes() / 2;
    let view = ChunksView::new(sealed(&csr, false, &SealOptions::default(), half));
    let (mut asked, bound) = (Asked(Cell::new(0)), view.vertex_bound());
    for first in (0..bound).step_by(64) {
        for direction in [Direction::Out, Direction::In] {
            view.visit_neighbors(direction, first..(first + 64).min(bound), &mut asked);
        }
    }
    // Of each side once ahead, and once before the list is shown.
    assert!(asked.0.get() <= 4 * u64::from(bound), "{} for {bound} vertices", asked.0.get());
}

#[test]
fn what_lists_leave_of_chunks_is_counted() {
    let (edges, _) = edges(20_000, 400_000, 4);
    let csr = Csr::from_edges(&edges, None, CsrOptions::default());
    let white = |combined| {
        let options = SealOptions { combined, ..SealOptions::default() };
        let levels = sealed(&csr, false, &options, least_memory).form().levels();
        for level in &levels {
            assert!(level.list_bytes + 4 * level.chunks + level.white_bytes() == level.bytes());
        }
        levels.iter().map(LevelUse::white_bytes).sum::<u64>()
    };
    assert!(white(true) < white(false));
}

/// Shows each list backwards, as a live graph may.
struct Backwards(Csr);

impl GraphView for Backwards {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }

    fn vertex_count(&self) -> u32 {
        self.0.vertex_count()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.0.is_vertex(v)
    }

    fn edge_count(&self) -> u64 {
        self.0.edge_count()
    }

    fn is_directed(&self) -> bool {
        self.0.is_directed()
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        self.0.out_degree(v)
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.0.in_degree(v)
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.out_edges(v).map(|(u, _)| u)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.in_edges(v).map(|(u, _)| u)
    }
}

impl WeightedView for Backwards {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let mut edges: Vec<_> = self.0.out_edges(v).collect();
        edges.reverse();
        edges.into_iter()
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let mut edges: Vec<_> = self.0.in_edges(v).collect();
        edges.reverse();
        edges.into_iter()
    }

    fn out_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.0.out_edges(v)
    }

    fn in_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.0.in_edges(v)
    }
}

/// A deletion takes the newest of a pair's edges.
#[test]
fn edges_of_a_pair_are_sealed_in_the_order_in_which_they_came() {
    // Among others, two edges of a pair; and many of another one, in one list more than a chunk holds.
    let mut edges: Vec<Edge> = (0..40).map(|i| (0, 10 + i)).collect();
    edges[7] = (0, 1);
    edges[31] = (0, 1);
    edges.extend(vec![(2, 3); 3000]);
    let weights: Vec<f32> = (0..edges.len()).map(|i| i as f32).collect();
    for directed in [true, false] {
        let options = CsrOptions { directed, ..CsrOptions::default() };
        let csr = Csr::from_edges(&edges, Some(&weights), options);
        let ages: Vec<f32> = (40..3040).map(|i| i as f32).collect();
        let copy = Csr::from_weighted_view(&Backwards(csr.clone()));
        assert_eq!(
            (copy.weights_between(0, 1), copy.weights_between(2, 3)),
            (vec![7.0, 31.0], ages.clone())
        );
        let directory = tempfile::tempdir().unwrap();
        let volume = volume(&directory);
        let seals = SealOptions { order: Order::Ids, ..SealOptions::default() };
        let form = seal(&volume, SALT, &Backwards(csr), true, &seals, |v| v).unwrap();
        let memory = least_memory(&form);
        let store = Store::open(&volume, SALT, form, memory).unwrap();
        let ids = store.all_ids().unwrap();
        let number = |id: VertexId| ids.iter().position(|&other| other == id).unwrap() as VertexId;
        let view = ChunksView::new(store);
        for (u, v, expected) in [(0, 1, vec![7.0, 31.0]), (2, 3, ages)] {
            let (u, v) = (number(u), number(v));
            let of = |end: VertexId| move |&(w, _): &(VertexId, f32)| w == end;
            let weights =
                |list: Vec<(VertexId, f32)>| list.into_iter().map(|e| e.1).collect::<Vec<_>>();
            assert_eq!(weights(view.out_edges(u).filter(of(v)).collect()), expected);
            assert_eq!(weights(view.in_edges(v).filter(of(u)).collect()), expected);
        }
    }
}
