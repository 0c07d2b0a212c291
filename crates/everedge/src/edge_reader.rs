//! The edges of a view, some at a time: whoever reads them never holds all.

use std::iter::Flatten;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use everedge_core::{GraphView, VertexId, WeightedView};

use crate::{Result, View};

/// Edges as columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeColumns {
    /// The sources.
    pub src: Vec<VertexId>,
    /// The destinations.
    pub dst: Vec<VertexId>,
    /// The weights, 1 where edges have none.
    pub weights: Vec<f32>,
}

impl EdgeColumns {
    fn push(&mut self, (src, dst, weight): (VertexId, VertexId, f32)) {
        self.src.push(src);
        self.dst.push(dst);
        self.weights.push(weight);
    }
}

/// Reads the edges of a view in ascending order of sources, as [`View::edges`] returns them, or parallel ones in the order of their age.
pub struct EdgeReader {
    view: Arc<View>,
    /// Vertices whose lists are still to come.
    vertices: Flatten<IntoIter<Range<VertexId>>>,
    /// How many edges that only their other ends have were read.
    others_read: usize,
    /// Edges that were read and not returned, in front of which `returned` ones are.
    read: EdgeColumns,
    returned: usize,
    is_by_age: bool,
}

impl EdgeReader {
    /// Begins before the first edge.
    pub fn new(view: Arc<View>) -> Self {
        let vertices = view.any.vertex_ranges().into_iter().flatten();
        let (read, is_by_age) = (EdgeColumns::default(), false);
        Self { view, vertices, others_read: 0, read, returned: 0, is_by_age }
    }

    /// Begins before the first edge. Of parallel edges the oldest comes first: a graph that takes them in so deletes the same ones.
    pub fn by_age(view: Arc<View>) -> Self {
        Self { is_by_age: true, ..Self::new(view) }
    }

    /// Returns the next edges, `count` of them unless fewer are left; none at the end.
    ///
    /// Cost: these edges, and memory for the longest list among them.
    ///
    /// # Errors
    /// If a sealed graph cannot be read.
    pub fn next(&mut self, count: usize) -> Result<EdgeColumns> {
        let left = self.read.src.len() - self.returned;
        if left < count {
            self.drop_returned();
            while self.read.src.len() < count && self.read_list() {}
            self.view.check_reads()?;
        }
        let end = self.read.src.len().min(self.returned + count);
        let range = self.returned..end;
        self.returned = end;
        let EdgeColumns { src, dst, weights } = &self.read;
        Ok(EdgeColumns {
            src: src[range.clone()].to_vec(),
            dst: dst[range.clone()].to_vec(),
            weights: weights[range].to_vec(),
        })
    }

    fn drop_returned(&mut self) {
        let returned = std::mem::take(&mut self.returned);
        self.read.src.drain(..returned);
        self.read.dst.drain(..returned);
        self.read.weights.drain(..returned);
    }

    /// Reads the list of the next vertex; returns whether there was one.
    fn read_list(&mut self) -> bool {
        let directed = self.view.is_directed();
        let mut take = |arc: (VertexId, VertexId, f32)| {
            if directed || arc.0 <= arc.1 {
                self.read.push(arc);
            }
        };
        let vertex = self.vertices.next();
        let is_before = |arc: &&(VertexId, VertexId, f32)| vertex.is_none_or(|u| arc.0 <= u);
        let others = self.view.from_other_ends[self.others_read..].iter().take_while(is_before);
        self.others_read += others.copied().map(&mut take).count();
        let Some(u) = vertex else { return false };
        let any = &self.view.any;
        match self.is_by_age {
            true => any.out_edges_by_age(u).for_each(|(v, weight)| take((u, v, weight))),
            false => any.out_edges(u).for_each(|(v, weight)| take((u, v, weight))),
        }
        true
    }
}
