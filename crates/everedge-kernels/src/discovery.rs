//! Breadth-first search that keeps the order in which vertices are discovered.
//!
//! Vertices wait in a queue, and the list of each is read from its beginning to its end: that is the order that programs with
//! queues give, and the one that their users know. [`bfs`](crate::bfs) is for depths alone: it takes vertices in any order
//! within a level, on all threads, and reads the lists of a large level from the other end.
//!
//! With weights, vertices are left in the order of their distance, and of those of one distance the one that had it first:
//! [`weighted_discovery`] against [`sssp`](crate::sssp), which gives distances alone.
//!
//! Source: Moore, "The Shortest Path Through a Maze", 1959; Dijkstra, "A Note on Two Problems in Connexion with Graphs", 1959.
//!
//! # Cost
//! The lists of the vertices that are reached, on one thread; with weights the logarithm of their number for each edge at worst. A
//! bit for each id and 12 bytes for each vertex that is reached; with weights 12 bytes for each id, 16 for each that is reached
//! and 24 for each edge that waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use everedge_core::{Bitmap, Direction, GraphView, VertexId, WeightedView, watch};

use crate::error::{check_vertex, require};
use crate::{Error, NO_PARENT, Result};

const KERNEL: &str = "discovery";
/// Vertices whose lists are read between two looks at whether the search was cancelled.
const WATCHED: usize = 1 << 12;

/// What a search reaches, in the order of discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// `[reached]`: the vertices that it reaches, the source first.
    pub order: Vec<VertexId>,
    /// `[reached]`: the vertex in whose list each was found, [`NO_PARENT`] of the source.
    pub parent: Vec<VertexId>,
    /// `[reached]`: how many edges away each is; it never falls.
    pub depth: Vec<u32>,
}

/// Searches `view` from `source` along the direction of edges or against it, up to `depth_max` edges away.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
///
/// # Panics
/// If it is to go against edges where in-neighbors are not kept.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions, Direction};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 3), (0, 1), (1, 2), (3, 2)], None, options);
/// let found = everedge_kernels::discovery(&g, 0, Direction::Out, u32::MAX)?;
/// assert_eq!((found.order, found.depth), (vec![0, 3, 1, 2], vec![0, 1, 1, 2]));
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn discovery(
    view: &impl GraphView,
    source: VertexId,
    direction: Direction,
    depth_max: u32,
) -> Result<Discovery> {
    check_vertex(view, source)?;
    let mut is_found = Bitmap::new(view.vertex_bound());
    is_found.insert(source);
    let mut found = Discovery { order: vec![source], parent: vec![NO_PARENT], depth: vec![0] };
    let mut place = 0;
    while let Some(&u) = found.order.get(place) {
        if place.is_multiple_of(WATCHED) {
            watch::check();
        }
        let depth = found.depth[place];
        if depth == depth_max {
            break;
        }
        view.load_ahead(direction, &found.order[place..]);
        let visit = |v| {
            if !is_found.contains(v) {
                is_found.insert(v);
                found.order.push(v);
                found.parent.push(u);
                found.depth.push(depth + 1);
            }
        };
        match direction {
            Direction::Out => view.out_neighbors(u).for_each(visit),
            Direction::In => view.in_neighbors(u).for_each(visit),
        }
        place += 1;
    }
    Ok(found)
}

/// Checks that `found` is what [`discovery`] finds.
///
/// It is if each vertex was found in the list of the first vertex of the order that lists it, and those of one list are in the
/// order of the list. Cost: the lists of what is reached.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_discovery(
    view: &impl GraphView,
    source: VertexId,
    direction: Direction,
    depth_max: u32,
    found: &Discovery,
) -> Result<()> {
    check_vertex(view, source)?;
    let Discovery { order, parent, depth } = found;
    let starts = order.first() == Some(&source) && parent.first() == Some(&NO_PARENT);
    let is_aligned = parent.len() == order.len() && depth.len() == order.len();
    require(KERNEL, starts && is_aligned && depth[0] == 0, || "the source is not first".into())?;
    let mut is_found = Bitmap::new(view.vertex_bound());
    is_found.insert(source);
    let mut next = 1;
    for (&u, &depth_u) in order.iter().zip(depth).filter(|(_, depth)| **depth < depth_max) {
        let neighbors: Vec<_> = match direction {
            Direction::Out => view.out_neighbors(u).collect(),
            Direction::In => view.in_neighbors(u).collect(),
        };
        for v in neighbors {
            if is_found.contains(v) {
                continue;
            }
            is_found.insert(v);
            let is_next = order.get(next) == Some(&v) && parent[next] == u;
            require(KERNEL, is_next && depth[next] == depth_u + 1, || {
                format!("{v} is not discovered from {u} in its turn")
            })?;
            next += 1;
        }
    }
    require(KERNEL, next == order.len(), || "more vertices than lists lead to".into())
}

/// What a search by weights reaches, the nearest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedDiscovery {
    /// `[reached]`: the vertices that it reaches.
    pub order: Vec<VertexId>,
    /// `[reached]`: the vertex before each on a shortest path, [`NO_PARENT`] of a source.
    pub parent: Vec<VertexId>,
    /// `[reached]`: the length of a shortest path to each; it never falls.
    pub distance: Vec<f64>,
}

/// Searches `view` along its edges from the nearest of some vertices, by the sums of weights.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if a source is not a vertex; [`BadWeight`](Error::BadWeight) if an edge that it comes by has a
/// weight that is negative or not a number.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (0, 2), (2, 1)], Some(&[5.0, 1.0, 1.5]), options);
/// let found = everedge_kernels::weighted_discovery(&g, &[0])?;
/// assert_eq!((found.order, found.distance), (vec![0, 2, 1], vec![0.0, 1.0, 2.5]));
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn weighted_discovery(
    view: &impl WeightedView,
    sources: &[VertexId],
) -> Result<WeightedDiscovery> {
    let bound = view.vertex_bound();
    let mut is_settled = Bitmap::new(bound);
    let mut distance = vec![f64::INFINITY; bound as usize];
    let mut parent = vec![NO_PARENT; bound as usize];
    // Of numbers that are not negative the bits have the order of the numbers.
    let mut queue = BinaryHeap::new();
    for (turn, &source) in (0_u64..).zip(sources) {
        check_vertex(view, source)?;
        distance[source as usize] = 0.0;
        queue.push(Reverse((0_u64, turn, source)));
    }
    let mut turn = sources.len() as u64;
    let mut found = WeightedDiscovery::default();
    while let Some(Reverse((bits, _, u))) = queue.pop() {
        if is_settled.contains(u) {
            continue;
        }
        if found.order.len().is_multiple_of(WATCHED) {
            watch::check();
        }
        is_settled.insert(u);
        let distance_u = f64::from_bits(bits);
        found.order.push(u);
        found.parent.push(parent[u as usize]);
        found.distance.push(distance_u);
        for (v, weight) in view.out_edges(u) {
            if weight.is_nan() || weight < 0.0 {
                return Err(Error::BadWeight { src: u, dst: v, weight, expected: "0 or more" });
            }
            let new = distance_u + f64::from(weight);
            if new < distance[v as usize] {
                (distance[v as usize], parent[v as usize]) = (new, u);
                queue.push(Reverse((new.to_bits(), turn, v)));
                turn += 1;
            }
        }
    }
    Ok(found)
}

/// Checks that `found` is a search of `view` by weights from some vertices.
///
/// It is if distances never fall, each is that of the parent, which comes before, and an edge, and no edge makes one shorter or
/// leads to what was not reached. Cost: the lists of what is reached.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold.
pub fn verify_weighted_discovery(
    view: &impl WeightedView,
    sources: &[VertexId],
    found: &WeightedDiscovery,
) -> Result<()> {
    let WeightedDiscovery { order, parent, distance } = found;
    let is_aligned = parent.len() == order.len() && distance.len() == order.len();
    require(KERNEL, is_aligned && distance.is_sorted(), || "distances fall".into())?;
    let mut known = vec![f64::INFINITY; view.vertex_bound() as usize];
    for ((&v, &parent), &distance) in order.iter().zip(parent).zip(distance) {
        let is_new = known[v as usize].is_infinite();
        let is_right = match parent {
            NO_PARENT => distance == 0.0 && sources.contains(&v),
            _ => view.out_edges(parent).any(|(head, weight)| {
                head == v && known[parent as usize] + f64::from(weight) == distance
            }),
        };
        require(KERNEL, is_new && is_right, || format!("no edge leads to {v} at {distance}"))?;
        known[v as usize] = distance;
    }
    let are_reached = sources.iter().all(|&source| known[source as usize] == 0.0);
    require(KERNEL, are_reached, || "a source is missing".into())?;
    for &u in order {
        let nearer = view
            .out_edges(u)
            .find(|&(v, weight)| known[u as usize] + f64::from(weight) < known[v as usize]);
        require(KERNEL, nearer.is_none(), || format!("{nearer:?} is nearer through {u}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use everedge_core::{Csr, CsrOptions, SplitMix64};

    use super::*;

    /// Edges among `count` vertices, parallel ones and loops among them.
    fn graph(count: u64, edge_count: usize, directed: bool) -> Csr {
        let mut random = SplitMix64::new(count + edge_count as u64);
        let edges: Vec<_> = (0..edge_count)
            .map(|_| (random.below(count) as u32, random.below(count) as u32))
            .collect();
        let declared: Vec<_> = (0..count as u32).collect();
        Csr::from_edges(&edges, None, CsrOptions { directed, declared: &declared })
    }

    #[test]
    fn it_is_the_search_of_a_queue() {
        for (count, edge_count) in [(1, 0), (5, 4), (60, 90), (3000, 20_000)] {
            for directed in [false, true] {
                let g = graph(count, edge_count, directed);
                for direction in [Direction::Out, Direction::In] {
                    for depth_max in [0, 1, 3, u32::MAX] {
                        let found = discovery(&g, 0, direction, depth_max).unwrap();
                        verify_discovery(&g, 0, direction, depth_max, &found).unwrap();
                        let depths = match direction {
                            Direction::Out => crate::bfs(&g, 0).unwrap().depth,
                            Direction::In => {
                                crate::bfs(&crate::reversed::Reversed(&g), 0).unwrap().depth
                            }
                        };
                        let reached = depths
                            .iter()
                            .filter(|&&depth| depth <= depth_max && depth != crate::UNREACHED);
                        assert_eq!(reached.count(), found.order.len());
                        let is_depth = |(&v, &depth): (&u32, &u32)| depths[v as usize] == depth;
                        assert!(found.order.iter().zip(&found.depth).all(is_depth));
                    }
                }
            }
        }
    }

    #[test]
    fn the_verifier_notices_what_is_wrong() {
        let g = graph(60, 90, true);
        let right = discovery(&g, 0, Direction::Out, u32::MAX).unwrap();
        assert!(right.order.len() > 5);
        let spoil = |spoil: fn(&mut Discovery)| {
            let mut wrong = right.clone();
            spoil(&mut wrong);
            verify_discovery(&g, 0, Direction::Out, u32::MAX, &wrong)
        };
        assert!(spoil(|wrong| wrong.order.swap(1, 2)).is_err());
        assert!(spoil(|wrong| wrong.depth[3] += 1).is_err());
        assert!(spoil(|wrong| wrong.parent[4] = wrong.order[4]).is_err());
        assert!(spoil(|wrong| wrong.order.truncate(3)).is_err());
        let end = |wrong: &mut Discovery| {
            wrong.order.pop();
            wrong.parent.pop();
            wrong.depth.pop();
        };
        assert!(spoil(end).is_err());
        assert!(discovery(&g, 60, Direction::Out, 1).is_err());
    }

    #[test]
    fn distances_are_those_of_the_other_kernel() {
        for (count, edge_count) in [(5, 4), (60, 90), (3000, 20_000)] {
            let plain = graph(count, edge_count, true);
            let edges: Vec<_> = (0..count as u32)
                .flat_map(|u| plain.out_slice(u).iter().map(move |&v| (u, v)))
                .collect();
            let weights: Vec<_> = (0..edges.len()).map(|i| (i * 7 % 5) as f32 * 0.75).collect();
            let declared: Vec<_> = (0..count as u32).collect();
            let options = CsrOptions { directed: true, declared: &declared };
            let g = Csr::from_edges(&edges, Some(&weights), options);
            let found = weighted_discovery(&g, &[0]).unwrap();
            verify_weighted_discovery(&g, &[0], &found).unwrap();
            let right = crate::sssp(&g, 0, &crate::SsspConfig::default()).unwrap().distance;
            assert_eq!(
                right.iter().filter(|distance| distance.is_finite()).count(),
                found.order.len()
            );
            let is_right = |(&v, &distance): (&u32, &f64)| right[v as usize] == distance;
            assert!(found.order.iter().zip(&found.distance).all(is_right));
            let both = weighted_discovery(&g, &[0, 1]).unwrap();
            verify_weighted_discovery(&g, &[0, 1], &both).unwrap();
            assert!(both.order.len() >= found.order.len());
            let mut wrong = found.clone();
            *wrong.distance.last_mut().unwrap() += 1.0;
            assert!(verify_weighted_discovery(&g, &[0], &wrong).is_err());
            wrong = found.clone();
            _ = (wrong.order.pop(), wrong.parent.pop(), wrong.distance.pop());
            assert!(wrong.order.is_empty() || verify_weighted_discovery(&g, &[0], &wrong).is_err());
        }
        let g = Csr::from_edges(&[(0, 1)], Some(&[-1.0]), CsrOptions::default());
        assert!(matches!(weighted_discovery(&g, &[0]), Err(Error::BadWeight { .. })));
    }
}
