//! A shortest path between two vertices, without a look at most of the graph.
//!
//! Two searches go towards each other: one from the source along edges, one from the target against them. Without
//! weights both go breadth first, and the side whose next step has fewer edges takes it; the first vertex that both
//! have met is on a shortest path. With weights both are Dijkstra's; they end when what is still to come from both
//! sides is no shorter than the best path that was met. Where in-neighbors are not kept, only the source searches.
//!
//! Source: Dijkstra 1959; Pohl, "Bi-directional Search", Machine Intelligence 6, 1971; the end by Nicholson, "Finding
//! the Shortest Route Between Two Points in a Network", Computer Journal 1966.
//!
//! # Cost
//! The lists of the vertices that are met: about the square root of what one search meets where degrees do not grow;
//! O(edges) at worst, O(edges log vertices) with weights. About 16 bytes for each vertex that is met, with weights 48.
//! One thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;

use everedge_core::{Direction, GraphView, VertexId, WeightedView, watch};
use rustc_hash::FxHashMap;

use crate::error::{check_vertex, require};
use crate::{Error, Result, SsspConfig, UNREACHED, bfs, sssp};

const KERNEL: &str = "path";
/// How far the length of a right path may be from the shortest, in parts of it: sums are rounded.
const ROUNDING: f64 = 1e-9;
/// Vertices that are left between two looks at whether the search was cancelled.
const WATCHED: usize = 1 << 12;

/// A path from one vertex to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The vertices on it, from the source to the target.
    pub vertices: Vec<VertexId>,
    /// The number of its edges, or the sum of their weights.
    pub length: f64,
}

/// Finds a path of the fewest edges from `source` to `target` along the direction of edges; `None` if there is none.
/// Of several it is one that the order of the lists decides.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if one of them is no vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 3), (0, 2)], None, options);
/// let path = everedge_kernels::shortest_path(&g, 0, 3)?.unwrap();
/// assert_eq!(path.vertices, [0, 2, 3]);
/// assert_eq!(everedge_kernels::shortest_path(&g, 3, 0)?, None);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn shortest_path(
    view: &impl GraphView,
    source: VertexId,
    target: VertexId,
) -> Result<Option<Path>> {
    check_ends(view, source, target)?;
    let mut sides = [source, target].map(Side::new);
    let mut frontiers = [vec![source], vec![target]];
    if source == target {
        return Ok(Some(Path { vertices: vec![source], length: 0.0 }));
    }
    while let Some(side) = next_side(view, &frontiers) {
        watch::check();
        let direction = [Direction::Out, Direction::In][side];
        let frontier = std::mem::take(&mut frontiers[side]);
        view.load_ahead(direction, &frontier);
        for u in frontier {
            let [here, there] = both(&mut sides, side);
            let mut meeting = None;
            for v in neighbors(view, direction, u) {
                if here.is_nearer(v, u, 0.0) {
                    if there.distance(v).is_some() {
                        meeting = Some(v);
                        break;
                    }
                    frontiers[side].push(v);
                }
            }
            if let Some(meeting) = meeting {
                let vertices = joined(&sides, meeting);
                let length = (vertices.len() - 1) as f64;
                return Ok(Some(Path { vertices, length }));
            }
        }
    }
    Ok(None)
}

/// Finds a path of the smallest sum of weights from `source` to `target`; `None` if there is none. Without weights
/// each edge has length 1.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) as [`shortest_path`]; [`BadWeight`](Error::BadWeight) if an edge that it comes
/// by has a weight that is negative or not a number.
pub fn shortest_weighted_path(
    view: &impl WeightedView,
    source: VertexId,
    target: VertexId,
) -> Result<Option<Path>> {
    check_ends(view, source, target)?;
    let mut sides = [source, target].map(Side::new);
    // Of numbers that are not negative the bits have the order of the numbers.
    let mut queues = [source, target].map(|v| BinaryHeap::from([Reverse((0_u64, v))]));
    let (mut best, mut meeting) = (f64::INFINITY, None);
    if source == target {
        (best, meeting) = (0.0, Some(source));
    }
    for step in 0.. {
        if usize::is_multiple_of(step, WATCHED) {
            watch::check();
        }
        let nearest = queues.each_ref().map(|queue| {
            queue.peek().map_or(f64::INFINITY, |&Reverse((bits, _))| f64::from_bits(bits))
        });
        let side = usize::from(nearest[1] < nearest[0] && view.has_in_neighbors());
        // The other side has not left its end where it does not search.
        if nearest[side].is_infinite() || nearest[0] + nearest[1] >= best {
            break;
        }
        let Some(Reverse((bits, u))) = queues[side].pop() else { break };
        let (distance, direction) = (f64::from_bits(bits), [Direction::Out, Direction::In][side]);
        let [here, there] = both(&mut sides, side);
        if here.distance(u) != Some(distance) {
            continue;
        }
        for (v, weight) in edges(view, direction, u) {
            if weight.is_nan() || weight < 0.0 {
                let (src, dst) = if side == 0 { (u, v) } else { (v, u) };
                return Err(Error::BadWeight { src, dst, weight, expected: "0 or more" });
            }
            let new = distance + f64::from(weight);
            if here.is_nearer(v, u, new) {
                queues[side].push(Reverse((new.to_bits(), v)));
                let sum = new + there.distance(v).unwrap_or(f64::INFINITY);
                if sum < best {
                    (best, meeting) = (sum, Some(v));
                }
            }
        }
    }
    Ok(meeting.map(|meeting| {
        let vertices = joined(&sides, meeting);
        // Read again from the source on. An edge that is damaged in one list is missing there: the view says so.
        let length = length(view, &vertices).unwrap_or(best);
        Path { vertices, length }
    }))
}

fn check_ends(view: &impl GraphView, source: VertexId, target: VertexId) -> Result<()> {
    check_vertex(view, source)?;
    check_vertex(view, target)
}

/// Which vertices a search has met, from where and how far from its end; without weights distances are 0.
struct Side {
    met: FxHashMap<VertexId, (VertexId, f64)>,
    end: VertexId,
}

impl Side {
    fn new(end: VertexId) -> Self {
        Self { met: FxHashMap::from_iter([(end, (end, 0.0))]), end }
    }

    fn distance(&self, v: VertexId) -> Option<f64> {
        self.met.get(&v).map(|&(_, distance)| distance)
    }

    /// Meets a vertex over another one. Returns whether it is new or nearer than it was.
    fn is_nearer(&mut self, v: VertexId, before: VertexId, distance: f64) -> bool {
        match self.met.entry(v) {
            Entry::Occupied(met) if met.get().1 <= distance => false,
            met => {
                met.insert_entry((before, distance));
                true
            }
        }
    }

    /// Returns the vertices from `v` to the search's end, without `v`.
    fn way_from(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        let next = |v: &VertexId| (*v != self.end).then(|| self.met[v].0);
        std::iter::successors(Some(v), next).skip(1)
    }
}

/// Returns a side and the other one.
fn both(sides: &mut [Side; 2], side: usize) -> [&mut Side; 2] {
    let [source, target] = sides;
    if side == 0 { [source, target] } else { [target, source] }
}

/// Returns the way from the source over a vertex that both have met to the target.
fn joined(sides: &[Side; 2], meeting: VertexId) -> Vec<VertexId> {
    let mut vertices: Vec<_> = sides[0].way_from(meeting).collect();
    vertices.reverse();
    vertices.push(meeting);
    vertices.extend(sides[1].way_from(meeting));
    vertices
}

/// Returns the side whose step has fewer edges; none if one of them has come to its end.
fn next_side(view: &impl GraphView, frontiers: &[Vec<VertexId>; 2]) -> Option<usize> {
    if frontiers.iter().any(Vec::is_empty) {
        return None;
    }
    if !view.has_in_neighbors() {
        return Some(0);
    }
    let out: u64 = frontiers[0].iter().map(|&v| u64::from(view.out_degree(v))).sum();
    let mut into = frontiers[1].iter().map(|&v| u64::from(view.in_degree(v)));
    let is_less = into.try_fold(0, |sum, degree| Some(sum + degree).filter(|sum| *sum < out));
    Some(usize::from(is_less.is_some()))
}

fn neighbors(
    view: &impl GraphView,
    direction: Direction,
    v: VertexId,
) -> impl Iterator<Item = VertexId> {
    let out = (direction == Direction::Out).then(|| view.out_neighbors(v));
    let into = (direction == Direction::In).then(|| view.in_neighbors(v));
    out.into_iter().flatten().chain(into.into_iter().flatten())
}

fn edges(
    view: &impl WeightedView,
    direction: Direction,
    v: VertexId,
) -> impl Iterator<Item = (VertexId, f32)> {
    let out = (direction == Direction::Out).then(|| view.out_edges(v));
    let into = (direction == Direction::In).then(|| view.in_edges(v));
    out.into_iter().flatten().chain(into.into_iter().flatten())
}

/// Returns the sum of the smallest weights between vertices that follow each other, if there is an edge each time.
fn length(view: &impl WeightedView, vertices: &[VertexId]) -> Option<f64> {
    let mut pairs = vertices.windows(2);
    pairs.try_fold(0.0, |sum, pair| {
        let weights = view.out_edges(pair[0]).filter(|edge| edge.0 == pair[1]);
        weights.map(|edge| edge.1).reduce(f32::min).map(|weight| sum + f64::from(weight))
    })
}

/// Checks that `result` is a shortest path of `view` from `source` to `target`, or none where there is none: it leads
/// along edges from one to the other, its length is theirs, and BFS reaches the target in as many steps.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold.
pub fn verify_path(
    view: &impl GraphView,
    source: VertexId,
    target: VertexId,
    result: Option<&Path>,
) -> Result<()> {
    let has_edges = |vertices: &[VertexId]| {
        let mut pairs = vertices.windows(2);
        let count = vertices.len() as f64 - 1.0;
        pairs.all(|pair| view.has_edge(pair[0], pair[1])).then_some(count)
    };
    check_way(view, (source, target), result, has_edges)?;
    let depth = bfs(view, source)?.depth[target as usize];
    let least = if depth == UNREACHED { f64::INFINITY } else { depth.into() };
    check_length(result, least)
}

/// Checks as [`verify_path`] does, with the sum of weights as length, against [`sssp`].
///
/// # Errors
/// As that; as [`sssp`].
pub fn verify_weighted_path(
    view: &impl WeightedView,
    source: VertexId,
    target: VertexId,
    result: Option<&Path>,
) -> Result<()> {
    check_way(view, (source, target), result, |vertices| length(view, vertices))?;
    check_length(result, sssp(view, source, &SsspConfig::default())?.distance[target as usize])
}

fn check_way(
    view: &impl GraphView,
    (source, target): (VertexId, VertexId),
    result: Option<&Path>,
    length: impl Fn(&[VertexId]) -> Option<f64>,
) -> Result<()> {
    check_ends(view, source, target)?;
    let Some(Path { vertices, length: told }) = result else { return Ok(()) };
    let ends = (vertices.first(), vertices.last());
    require(KERNEL, ends == (Some(&source), Some(&target)), || {
        format!("it has the ends {ends:?}")
    })?;
    let all_are = vertices.iter().all(|&v| v < view.vertex_bound() && view.is_vertex(v));
    require(KERNEL, all_are, || "it leads over what is no vertex".to_owned())?;
    let Some(length) = length(vertices) else {
        return require(KERNEL, false, || "it leads where no edge does".to_owned());
    };
    require(KERNEL, is_near(*told, length), || format!("its length is {told}, its edges' {length}"))
}

fn check_length(result: Option<&Path>, least: f64) -> Result<()> {
    let length = result.map_or(f64::INFINITY, |path| path.length);
    require(KERNEL, is_near(length, least), || format!("its length is {length}, the least {least}"))
}

fn is_near(length: f64, expected: f64) -> bool {
    length == expected || (length - expected).abs() <= ROUNDING * expected
}
