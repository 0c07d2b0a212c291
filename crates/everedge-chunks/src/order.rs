//! The order in which vertices are numbered: those that are read together lie together.
//!
//! Source: ChunkGraph §3.3 ("reordering based chunk layout optimization"). Differences: a vertex gets
//! the number of its place in the order. So the order of the lists is that of the numbers; the paper's table
//! of positions and vertices is the file of ids, which only names and answers need; and the
//! arrays of kernels, which are indexed by number, have the vertices of many edges side by side.

use everedge_core::{Bitmap, Direction, GraphView, VertexId, par, watch};

use crate::form::{Order, SealOptions};

/// Ids in a piece of work.
const GRAIN: u32 = 1 << 12;

/// Returns the ids of the vertices of `view` in the order in which they are to be numbered.
pub(crate) fn ordered(view: &impl GraphView, options: &SealOptions) -> Vec<VertexId> {
    let mut ids = vertices_of(view);
    if options.order == Order::Ids {
        return ids;
    }
    // Stable: of vertices with as many neighbors the smaller id comes first.
    let degrees = in_degrees(view);
    par::sort_by_key(&mut ids, |&v| !degrees[v as usize]);
    match options.order {
        Order::Steps => by_steps(view, ids, options.reordered),
        _ => ids,
    }
}

fn vertices_of(view: &impl GraphView) -> Vec<VertexId> {
    let ranges = view.vertex_ranges();
    ranges.into_iter().flatten().filter(|&v| view.is_vertex(v)).collect()
}

/// Returns the in-degree of each id; the out-degree if in-neighbors are not kept.
fn in_degrees(view: &impl GraphView) -> Vec<u32> {
    let direction = if view.has_in_neighbors() { Direction::In } else { Direction::Out };
    let mut degrees = vec![0; view.vertex_bound() as usize];
    par::map_chunks_mut(&mut degrees, GRAIN as usize, |first, degrees| {
        let start = first as u32;
        view.for_each_degree(direction, start..start + degrees.len() as u32, |v, degree| {
            degrees[(v - start) as usize] = degree;
        });
    });
    degrees
}

/// Takes two steps from the first vertex of `ids` that is not in the order yet, until a part of them is.
fn by_steps(view: &impl GraphView, ids: Vec<VertexId>, part: f64) -> Vec<VertexId> {
    let enough = (part * ids.len() as f64).ceil() as usize;
    let mut seen = Bitmap::new(view.vertex_bound());
    let mut order = Vec::with_capacity(ids.len());
    for &root in &ids {
        if order.len() >= enough {
            break;
        }
        let start = order.len();
        take(&mut seen, &mut order, root);
        let mut step_start = start;
        for _ in 0..2 {
            let step_end = order.len();
            for i in step_start..step_end {
                watch::check();
                view.out_neighbors(order[i]).for_each(|v| take(&mut seen, &mut order, v));
            }
            step_start = step_end;
        }
    }
    for v in ids {
        take(&mut seen, &mut order, v);
    }
    order
}

/// Appends a vertex that was not seen before.
fn take(seen: &mut Bitmap, order: &mut Vec<VertexId>, v: VertexId) {
    if !seen.contains(v) {
        seen.insert(v);
        order.push(v);
    }
}

#[cfg(test)]
mod tests {
    use everedge_core::watch::Watch;
    use everedge_core::{Csr, CsrOptions};

    use super::*;

    #[test]
    fn steps_end_when_they_are_cancelled() {
        let csr = Csr::from_edges(&[(0, 1), (1, 2)], None, CsrOptions::default());
        let watch = Watch::new();
        assert_eq!(watch.run(|| by_steps(&csr, vec![0, 1, 2], 1.0)), Ok(vec![0, 1, 2]));
        watch.cancel();
        assert!(watch.run(|| by_steps(&csr, vec![0, 1, 2], 1.0)).is_err());
    }
}
