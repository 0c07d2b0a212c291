//! Twins of the kernels that find dense, connected or central parts.

use std::collections::BTreeSet;

use everedge_core::{Edge, GraphView, VertexId};

use crate::{NO_COMPONENT, UNREACHED};

/// Returns the components of [`scc`](crate::scc()): what each vertex reaches of those without a
/// component, as far as it reaches the vertex.
pub fn scc(view: &impl GraphView) -> Vec<VertexId> {
    let bound = view.vertex_bound() as usize;
    let mut component = vec![NO_COMPONENT; bound];
    let (mut outgoing, mut incoming) = (vec![Vec::new(); bound], vec![Vec::new(); bound]);
    view.for_each_edge(|u, v| {
        outgoing[u as usize].push(v);
        incoming[v as usize].push(u);
    });
    let (mut reached, mut reaching) = (vec![NO_COMPONENT; bound], vec![NO_COMPONENT; bound]);
    for root in (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)) {
        if component[root as usize] != NO_COMPONENT {
            continue;
        }
        reach(root, &outgoing, &mut reached, |v| component[v as usize] == NO_COMPONENT);
        let members = reach(root, &incoming, &mut reaching, |v| reached[v as usize] == root);
        members.into_iter().for_each(|v| component[v as usize] = root);
    }
    component
}

/// Returns what `root` reaches over vertices that may be passed, and marks them with it.
fn reach(
    root: VertexId,
    neighbors: &[Vec<VertexId>],
    mark: &mut [VertexId],
    may_pass: impl Fn(VertexId) -> bool,
) -> Vec<VertexId> {
    mark[root as usize] = root;
    let (mut reached, mut stack) = (vec![root], vec![root]);
    while let Some(u) = stack.pop() {
        for &v in &neighbors[u as usize] {
            if mark[v as usize] != root && may_pass(v) {
                mark[v as usize] = root;
                reached.push(v);
                stack.push(v);
            }
        }
    }
    reached
}

/// Returns the coreness of [`coreness`](crate::coreness()), by taking away whatever has fewer than
/// k neighbors, for every k.
pub fn coreness(view: &impl GraphView) -> Vec<u32> {
    let mut neighbors = vec![BTreeSet::new(); view.vertex_bound() as usize];
    view.for_each_edge(|u, v| {
        if u != v {
            neighbors[u as usize].insert(v);
            neighbors[v as usize].insert(u);
        }
    });
    let mut coreness = vec![0; neighbors.len()];
    let mut left: Vec<_> = (0..view.vertex_bound()).collect();
    for k in 1.. {
        while let Some(place) = left.iter().position(|&v| neighbors[v as usize].len() < k) {
            let v = left.swap_remove(place);
            coreness[v as usize] = k as u32 - 1;
            for u in std::mem::take(&mut neighbors[v as usize]) {
                neighbors[u as usize].remove(&v);
            }
        }
        if left.is_empty() {
            break;
        }
    }
    coreness
}

/// Returns the radii of [`radii`](crate::radii()) for `sources`, by a search from each.
///
/// # Panics
/// If a source is not below the bound.
pub fn radii(view: &impl GraphView, sources: &[VertexId]) -> Vec<u32> {
    let mut radius = vec![UNREACHED; view.vertex_bound() as usize];
    for &source in sources {
        for (radius, depth) in radius.iter_mut().zip(super::bfs(view, source)) {
            if depth != UNREACHED && (*radius == UNREACHED || *radius < depth) {
                *radius = depth;
            }
        }
    }
    radius
}

/// Returns the bridges and articulation points of [`biconnected`](crate::biconnected()), by leaving
/// out each edge and each vertex.
pub fn biconnected(view: &impl GraphView) -> (Vec<Edge>, Vec<VertexId>) {
    let mut neighbors = vec![Vec::new(); view.vertex_bound() as usize];
    let mut add = |u: VertexId, v: VertexId| neighbors[u as usize].push(v);
    view.for_each_edge(|u, v| {
        add(u, v);
        if view.is_directed() {
            add(v, u);
        }
    });
    let connects = |from: VertexId, to: VertexId, may_pass: &dyn Fn(VertexId, VertexId) -> bool| {
        let (mut is_reached, mut stack) = (vec![false; neighbors.len()], vec![from]);
        while let Some(u) = stack.pop() {
            for &v in neighbors[u as usize].iter().filter(|&&v| may_pass(u, v)) {
                if !std::mem::replace(&mut is_reached[v as usize], true) {
                    stack.push(v);
                }
            }
            if is_reached[to as usize] {
                return true;
            }
        }
        from == to
    };
    let (mut bridges, mut points) = (Vec::new(), Vec::new());
    for (u, list) in (0..).zip(&neighbors) {
        let is_once = |v: &&VertexId| list.iter().filter(|other| other == v).count() == 1;
        for &v in list.iter().filter(|&&v| u < v).filter(is_once) {
            if !connects(u, v, &|a, b| (a, b) != (u, v) && (a, b) != (v, u)) {
                bridges.push((u, v));
            }
        }
        let mut others = list.iter().filter(|&&v| v != u);
        if let Some(&first) = others.next()
            && others.any(|&v| !connects(first, v, &|_, b| b != u))
        {
            points.push(u);
        }
    }
    bridges.sort_unstable();
    (bridges, points)
}
