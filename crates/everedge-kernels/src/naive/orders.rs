//! Twins of the kernels that order vertices or color them.

use everedge_core::{GraphView, VertexId};

use crate::{NO_COLOR, NO_LEVEL};

/// Returns the levels of [`topological_order`](crate::topological_order()): again and again those
/// whose in-neighbors all have one.
pub fn levels(view: &impl GraphView) -> Vec<u32> {
    let bound = view.vertex_bound() as usize;
    let (mut level, mut before) = (vec![NO_LEVEL; bound], vec![Vec::new(); bound]);
    view.for_each_edge(|u, v| before[v as usize].push(u));
    for step in 0.. {
        let is_next = |&v: &VertexId| {
            let has_level = |&u: &VertexId| level[u as usize] != NO_LEVEL;
            let is_left = level[v as usize] == NO_LEVEL && view.is_vertex(v);
            is_left && before[v as usize].iter().all(has_level)
        };
        let next: Vec<_> = (0..view.vertex_bound()).filter(is_next).collect();
        if next.is_empty() {
            break;
        }
        next.into_iter().for_each(|v| level[v as usize] = step);
    }
    level
}

/// Returns the colors of [`bipartition`](crate::bipartition()): component by component, and none
/// where they contradict each other.
pub fn bipartition(view: &impl GraphView) -> Vec<u8> {
    let bound = view.vertex_bound() as usize;
    let (mut color, mut neighbors) = (vec![NO_COLOR; bound], vec![Vec::new(); bound]);
    view.for_each_edge(|u, v| {
        neighbors[u as usize].push(v);
        neighbors[v as usize].push(u);
    });
    let mut is_seen = vec![false; bound];
    for start in (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)) {
        if is_seen[start as usize] {
            continue;
        }
        (is_seen[start as usize], color[start as usize]) = (true, 0);
        let (mut members, mut is_odd, mut next) = (vec![start], false, 0);
        while let Some(&u) = members.get(next) {
            next += 1;
            for &v in &neighbors[u as usize] {
                if !is_seen[v as usize] {
                    (is_seen[v as usize], color[v as usize]) = (true, 1 - color[u as usize]);
                    members.push(v);
                }
                is_odd |= color[v as usize] == color[u as usize];
            }
        }
        if is_odd {
            members.into_iter().for_each(|v| color[v as usize] = NO_COLOR);
        }
    }
    color
}
