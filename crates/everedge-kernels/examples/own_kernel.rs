//! A kernel of one's own: which of several hospitals is nearest to each town, and how far it is.
//!
//! The towns one road away from a hospital are reached first, from them those two roads away, and
//! so on. Of several hospitals that are equally near, a town gets the smallest one, whatever the
//! threads do: so the answer is the same each time.
//!
//! Run it with `cargo run --package everedge-kernels --example own_kernel`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Csr, CsrOptions, GraphView, VertexId, par};
use everedge_kernels::{EdgeMap, EdgeStep, Frontier};

/// Stands for the source and the distance of a vertex that no source reaches.
pub(crate) const NONE: u32 = u32::MAX;

/// 1. The state. Threads share it, so each vertex has atomics. Relaxed is enough: a step sees all
///    that the steps before it wrote.
struct Reach {
    /// The smallest of the nearest sources so far, or [`NONE`].
    source: Vec<AtomicU32>,
    /// How many edges away it is, or [`NONE`].
    distance: Vec<AtomicU32>,
    /// How far away the vertices are that the step reaches.
    next_distance: u32,
}

impl EdgeStep for Reach {
    // A smaller source may come with a later edge, so a pull reads all of them.
    const STOPS_EARLY: bool = false;

    /// 2. What the step wants: vertices that are not nearer. Those that it has just reached too,
    ///    for a smaller source may come from elsewhere.
    fn wants(&self, v: VertexId) -> bool {
        self.distance[v as usize].load(Relaxed) >= self.next_distance
    }

    /// 3. A push from `u` to `v`, while other threads push to `v`: one atomic operation decides.
    ///    The smallest source wins whoever is first, and only the first one finds [`NONE`].
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        let source = self.source[u as usize].load(Relaxed);
        self.distance[v as usize].store(self.next_distance, Relaxed);
        self.source[v as usize].fetch_min(source, Relaxed) == NONE
    }

    /// 4. A pull from `u` into `v`: no other thread changes `v`, so loads and stores do. It may say
    ///    of each edge that `v` is in the next frontier.
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        let source = self.source[u as usize].load(Relaxed);
        if source < self.source[v as usize].load(Relaxed) {
            self.source[v as usize].store(source, Relaxed);
        }
        self.distance[v as usize].store(self.next_distance, Relaxed);
        true
    }
}

/// Returns the nearest of `sources` (each named once) from which each vertex is reached, the
/// smallest of several, and how many edges away it is; both `[vertex_bound]`, or [`NONE`].
pub(crate) fn nearest(view: &impl GraphView, sources: &[VertexId]) -> (Vec<u32>, Vec<u32>) {
    let none = || par::collect(view.vertex_bound() as usize, |_| AtomicU32::new(NONE));
    let mut reach = Reach { source: none(), distance: none(), next_distance: 1 };
    for &v in sources {
        reach.source[v as usize].store(v, Relaxed);
        reach.distance[v as usize].store(0, Relaxed);
    }
    let mut edge_map = EdgeMap::new(view);
    let mut frontier = Frontier::from_list(sources.to_vec());
    while !frontier.is_empty() {
        frontier = edge_map.step(&mut frontier, &reach);
        reach.next_distance += 1;
    }
    let plain = |array: Vec<AtomicU32>| array.into_iter().map(AtomicU32::into_inner).collect();
    (plain(reach.source), plain(reach.distance))
}

/// Asks for the nearest hospital of each town.
pub(crate) fn main() {
    let roads = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (6, 7)];
    let towns = Csr::from_edges(&roads, None, CsrOptions::default());
    let (hospital, distance) = nearest(&towns, &[4, 0]);
    for v in 0..towns.vertex_bound() as usize {
        match hospital[v] {
            NONE => println!("town {v}: no way to a hospital"),
            nearest => println!("town {v}: hospital {nearest}, {} away", distance[v]),
        }
    }
    assert_eq!(hospital, [0, 0, 0, 4, 4, 4, NONE, NONE], "town 2 is as near to 4");
    assert_eq!(distance, [0, 1, 2, 1, 0, 1, NONE, NONE]);
}
