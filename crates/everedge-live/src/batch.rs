//! A batch: the updates of one call, already in the form in which the edge log keeps them.
//!
//! An update is two words. The top bit of the first marks a deletion, as in XPGraph §3.3; the top
//! bit of the second marks an update of the vertex itself, whose second id is then 0.

use everedge_core::{Edge, MAX_VERTEX_ID, VertexId};

use crate::{Error, Result};

/// Marks a deletion in the first word of an update and a tombstone in a neighbor list.
pub const DELETION: u32 = 1 << 31;
/// Marks, in the second word, an update of the vertex itself.
pub const VERTEX: u32 = 1 << 31;

/// Updates that are applied in order, durable together and visible together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    updates: Vec<u32>,
    weights: Vec<f32>,
    weighted: bool,
    deletion_count: u64,
    vertex_update_count: u64,
    vertex_end_count: u64,
    vertex_bound: u32,
}

impl Batch {
    /// Returns an empty batch for a graph that is `weighted` or not.
    pub fn new(weighted: bool) -> Self {
        Self { weighted, ..Self::default() }
    }

    /// Returns a batch that inserts `edges`, with `weights` (one an edge) if the graph has them.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`], a weight is not a finite number, or
    /// the lengths differ.
    pub fn insertions(
        edges: impl ExactSizeIterator<Item = Edge>,
        weights: Option<&[f32]>,
    ) -> Result<Self> {
        let mut batch = Self::new(weights.is_some());
        let mut largest = 0;
        let words = edges.map(|(src, dst)| {
            largest = largest.max(src).max(dst);
            [src, dst]
        });
        batch.updates = words.collect::<Vec<_>>().into_flattened();
        if largest > MAX_VERTEX_ID {
            return Err(first_bad_edge(&batch.updates));
        }
        batch.vertex_bound = if batch.is_empty() { 0 } else { largest + 1 };
        if let Some(weights) = weights {
            check_weights(weights, batch.len())?;
            batch.weights.extend_from_slice(weights);
        }
        Ok(batch)
    }

    /// Returns a batch that deletes the newest occurrence of each of `edges`.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`].
    pub fn deletions(edges: impl Iterator<Item = Edge>, weighted: bool) -> Result<Self> {
        let mut batch = Self::new(weighted);
        for (src, dst) in edges {
            batch.delete(src, dst)?;
        }
        Ok(batch)
    }

    /// Inserts an edge; `weight` is kept only in a weighted batch.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`] or the weight is not a finite number.
    pub fn insert(&mut self, src: VertexId, dst: VertexId, weight: f32) -> Result<()> {
        check_weights(&[weight], 1)?;
        self.push(src, dst, 0, weight)
    }

    /// Deletes the newest occurrence of an edge; if there is none, nothing changes.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`].
    pub fn delete(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, DELETION, 0.0)?;
        self.deletion_count += 1;
        Ok(())
    }

    /// Makes `v` a vertex, if it is not one yet.
    ///
    /// # Errors
    /// `InvalidInput` if the id is above [`MAX_VERTEX_ID`].
    pub fn add_vertex(&mut self, v: VertexId) -> Result<()> {
        self.push(v, v, 0, 0.0)?;
        self.mark_last_as_vertex_update();
        Ok(())
    }

    /// Ends the vertex `v`. Its edges must have been deleted by earlier updates of this batch.
    pub fn end_vertex(&mut self, v: VertexId) -> Result<()> {
        self.push(v, v, DELETION, 0.0)?;
        self.mark_last_as_vertex_update();
        self.vertex_end_count += 1;
        Ok(())
    }

    /// Appends the updates of another batch for the same graph.
    pub fn append(&mut self, later: &Self) {
        debug_assert_eq!(self.weighted, later.weighted);
        self.updates.extend_from_slice(&later.updates);
        self.weights.extend_from_slice(&later.weights);
        self.deletion_count += later.deletion_count;
        self.vertex_update_count += later.vertex_update_count;
        self.vertex_end_count += later.vertex_end_count;
        self.vertex_bound = self.vertex_bound.max(later.vertex_bound);
    }

    fn mark_last_as_vertex_update(&mut self) {
        if let Some(last) = self.updates.last_mut() {
            *last = VERTEX;
        }
        self.vertex_update_count += 1;
    }

    fn push(&mut self, src: VertexId, dst: VertexId, mark: u32, weight: f32) -> Result<()> {
        if src.max(dst) > MAX_VERTEX_ID {
            return Err(first_bad_edge(&[src, dst]));
        }
        self.updates.extend_from_slice(&[src | mark, dst]);
        if self.weighted {
            self.weights.push(weight);
        }
        self.vertex_bound = self.vertex_bound.max(src.max(dst) + 1);
        Ok(())
    }

    /// Returns the number of updates.
    pub fn len(&self) -> usize {
        self.updates.len() / 2
    }

    /// Returns whether there is no update.
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    /// Returns whether every insertion carries a weight.
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Returns the number of edge deletions.
    pub fn deletion_count(&self) -> u64 {
        self.deletion_count
    }

    /// Returns the number of edge insertions.
    pub fn insertion_count(&self) -> u64 {
        self.len() as u64 - self.deletion_count - self.vertex_update_count
    }

    /// Returns a number above every id in the batch.
    pub fn vertex_bound(&self) -> u32 {
        self.vertex_bound
    }

    /// Returns whether there is nothing but deletions of edges and vertices.
    pub fn only_takes_away(&self) -> bool {
        self.deletion_count + self.vertex_end_count == self.len() as u64
    }

    /// Returns the number of updates of vertices themselves.
    pub fn vertex_update_count(&self) -> u64 {
        self.vertex_update_count
    }

    /// Returns the updates, two words each.
    pub fn updates(&self) -> &[u32] {
        &self.updates
    }

    /// Returns the weights, one an update, or none.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }
}

fn first_bad_edge(ids: &[u32]) -> Error {
    let is_bad = |edge: &[u32]| edge.iter().any(|&id| id > MAX_VERTEX_ID);
    let index = ids.chunks(2).position(is_bad).unwrap_or(0);
    Error::InvalidInput {
        what: format!(
            "edge {index} of the batch, {} -> {}, has an id above {MAX_VERTEX_ID}; \
             give such ids through an id map (--ids map)",
            ids[2 * index],
            ids[2 * index + 1],
        ),
    }
}

fn check_weights(weights: &[f32], edge_count: usize) -> Result<()> {
    if weights.len() != edge_count {
        let what = format!("{} weights for {edge_count} edges", weights.len());
        return Err(Error::InvalidInput { what });
    }
    match weights.iter().position(|weight| !weight.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::InvalidInput {
            what: format!("weight {index} of the batch is {}, not a finite number", weights[index]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_kind_of_update() {
        let mut batch = Batch::new(true);
        batch.insert(3, 7, 1.5).unwrap();
        batch.delete(3, 7).unwrap();
        batch.add_vertex(9).unwrap();
        assert_eq!((batch.len(), batch.insertion_count(), batch.deletion_count()), (3, 1, 1));
        assert_eq!(batch.vertex_bound(), 10);
        assert_eq!(batch.updates(), &[3, 7, 3 | DELETION, 7, 9, VERTEX]);
        assert_eq!(batch.weights(), &[1.5, 0.0, 0.0]);

        let mut both = Batch::insertions([(0, 11)].into_iter(), Some(&[2.0])).unwrap();
        both.append(&batch);
        assert_eq!((both.len(), both.insertion_count(), both.deletion_count()), (4, 2, 1));
        assert_eq!((both.vertex_bound(), both.vertex_update_count()), (12, 1));
        assert_eq!(both.updates(), [&[0, 11][..], batch.updates()].concat());
        assert_eq!(both.weights(), &[2.0, 1.5, 0.0, 0.0]);
    }

    #[test]
    fn refuses_ids_and_weights_out_of_range() {
        let edges = [(0, 1), (1, MAX_VERTEX_ID + 1)];
        let message = Batch::insertions(edges.into_iter(), None).unwrap_err().to_string();
        assert!(message.contains("edge 1 of the batch"), "{message}");
        assert!(Batch::insertions([(0, 1)].into_iter(), Some(&[f32::NAN])).is_err());
        assert!(Batch::insertions([(0, 1)].into_iter(), Some(&[])).is_err());
        assert!(Batch::new(false).delete(u32::MAX, 0).is_err());
    }
}
