//! What a graph has that a version has not, and the other way round.

use everedge_core::{GraphView, VertexId, WeightedView, par};
use everedge_medium::Result;

use super::changes::Changes;
use super::lists::ROW_SPAN;
use super::rebase::spans;
use super::view::VersionView;

/// Spans of ids whose lists are compared in a piece of work.
const SPANS: usize = 16;

/// A list: neighbors and the bits of weights, in order.
type List = Vec<(VertexId, u32)>;

/// Returns the changes that make a version what a graph is.
///
/// Cost: all lists of both are read, sorted by neighbor.
///
/// # Errors
/// `InvalidInput` if the graph has a weight that is not finite.
pub(crate) fn changes_to(version: &VersionView, graph: &impl WeightedView) -> Result<Changes> {
    // Most ids may be none of either.
    let mut starts: Vec<VertexId> =
        spans(version).chain(spans(graph)).map(|span| span.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let pieces = par::map_chunks(&starts, SPANS, |starts| {
        let (mut edges, mut vertices) = (Vec::new(), Vec::new());
        let (mut old, mut new) = (List::new(), List::new());
        for v in starts.iter().flat_map(|&start| start..start + ROW_SPAN as u32) {
            let was = v < version.vertex_bound() && version.is_vertex(v);
            let is = v < graph.vertex_bound() && graph.is_vertex(v);
            if was != is {
                vertices.push((v, is));
            }
            list_of(version, (v, was), &mut old);
            list_of(graph, (v, is), &mut new);
            if old != new {
                compare(v, (&old, &new), &mut edges);
            }
        }
        (edges, vertices)
    });
    let mut changes = Changes::new();
    for &(src, dst, weight) in pieces.iter().flat_map(|(edges, _)| edges) {
        match weight {
            Some(weight) => changes.insert(src, dst, Some(weight))?,
            None => changes.clear(src, dst)?,
        }
    }
    // A vertex ends after its edges.
    for &(v, is_vertex) in pieces.iter().flat_map(|(_, vertices)| vertices) {
        changes.set_vertex(v, is_vertex)?;
    }
    Ok(changes)
}

/// An edge that is inserted, or all of a pair that are cleared, which have no weight here.
type Change = (VertexId, VertexId, Option<f32>);

/// Puts the out-edges of `v` into `list`, if it is a vertex: of an undirected graph those from the smaller end.
fn list_of(view: &impl WeightedView, (v, is_vertex): (VertexId, bool), list: &mut List) {
    list.clear();
    if is_vertex {
        let is_ours = |&(to, _): &(VertexId, f32)| view.is_directed() || v <= to;
        list.extend(view.out_edges(v).filter(is_ours).map(|(to, weight)| (to, weight.to_bits())));
        // By weight, too: in which order equal edges came, a live graph does not say.
        list.sort_unstable();
    }
}

/// Adds what makes the list `old` of a vertex the list `new`: where a pair differs, all of its edges come anew, and
/// those that were there count as such.
fn compare(src: VertexId, (old, new): (&List, &List), changes: &mut Vec<Change>) {
    let mut old = old.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut new = new.chunk_by(|a, b| a.0 == b.0).peekable();
    let next = |group: Option<&&[(VertexId, u32)]>| group.map_or(VertexId::MAX, |group| group[0].0);
    loop {
        let dst = next(old.peek()).min(next(new.peek()));
        let [was, is] = [
            old.next_if(|group| group[0].0 == dst).unwrap_or_default(),
            new.next_if(|group| group[0].0 == dst).unwrap_or_default(),
        ];
        if was.is_empty() && is.is_empty() {
            return;
        }
        if was != is {
            changes.extend((!was.is_empty()).then_some((src, dst, None)));
            changes.extend(is.iter().map(|&(_, bits)| (src, dst, Some(f32::from_bits(bits)))));
        }
    }
}
