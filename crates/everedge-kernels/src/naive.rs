//! The kernels once more, as plainly as possible: what the fast ones must be equal to.
//!
//! For tests, here and in crates that bring views of their own. One thread, no cleverness; they
//! read out-neighbors only, so that a view whose in-neighbors differ is found out.

use std::collections::VecDeque;

use everedge_core::{GraphView, VertexId};

use crate::UNREACHED;

/// Returns the depths of [`bfs`](crate::bfs()), by a queue.
pub fn bfs(view: &impl GraphView, source: VertexId) -> Vec<u32> {
    let mut depth = vec![UNREACHED; view.vertex_bound() as usize];
    depth[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for v in view.out_neighbors(u) {
            if depth[v as usize] == UNREACHED {
                depth[v as usize] = depth[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    depth
}
