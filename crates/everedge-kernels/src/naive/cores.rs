//! Twins of the kernels that find dense, connected or central parts.

use everedge_core::{GraphView, VertexId};

use crate::NO_COMPONENT;

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
