//! Transactions: questions about edges and changes of edges that count as one.
//!
//! # Isolation
//! A transaction reads the graph as it was when it began, all that was acknowledged by then, and its own
//! changes. It commits in one moment, durably, if each edge that it asked for or changed is then as it was when it
//! began; otherwise nothing of it is there. So transactions that read by [`Transaction::has_edge`] are
//! serializable, in the order of their commits. What one reads from its [view](Transaction::view) besides is a
//! snapshot: whether that still holds is not looked at.

use std::ops::Deref;

use everedge_core::{Edge, GraphView, VertexId, WeightedView};
use everedge_live::{Batch, Changes};
use rustc_hash::FxHashMap;

use crate::any_view::AnyView;
use crate::{Error, Graph, Result, View};

/// Questions and changes that count as one; made by [`Graph::transaction`]. Dropped without
/// [`commit`](Self::commit), it changes nothing.
///
/// Memory: its view, and 24 bytes for each edge that it names.
pub struct Transaction<G: Deref<Target = Graph>> {
    graph: G,
    view: View,
    batch: Batch,
    pairs: FxHashMap<Edge, Pair>,
    changes: Changes,
}

/// How many edges there are from one vertex to another.
#[derive(Clone, Copy)]
struct Pair {
    before: u32,
    now: u32,
    is_changed: bool,
}

impl Graph {
    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn transaction(&self) -> Result<Transaction<&Self>> {
        Transaction::begin(self)
    }

    /// Does `work` in a transaction and commits it; begins anew as long as other writers come between. Returns
    /// what `work` returned last.
    ///
    /// ```
    /// use everedge::{Graph, GraphOptions, MediumKind};
    ///
    /// let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    /// let graph = Graph::create("example".as_ref(), &options, false)?;
    /// graph.insert(&[(0, 1)], None)?;
    /// // Moves an edge, unless somebody else has.
    /// let is_moved = graph.transact(|transaction| {
    ///     Ok(transaction.delete(0, 1)? && transaction.insert(0, 2, None).is_ok())
    /// })?;
    /// assert!(is_moved && graph.snapshot()?.has_edge(0, 2));
    /// # Ok::<(), everedge::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first of `work`; else as [`Transaction::commit`], but for conflicts.
    pub fn transact<R>(
        &self,
        mut work: impl FnMut(&mut Transaction<&Self>) -> Result<R>,
    ) -> Result<R> {
        loop {
            let mut transaction = self.transaction()?;
            let done = work(&mut transaction)?;
            match transaction.commit() {
                Err(Error::Conflict { .. }) => {}
                outcome => return outcome.map(|_| done),
            }
        }
    }
}

impl<G: Deref<Target = Graph>> Transaction<G> {
    /// Begins a transaction on a graph that it keeps open.
    ///
    /// # Errors
    /// As [`Graph::snapshot`].
    pub fn begin(graph: G) -> Result<Self> {
        let view = graph.snapshot()?;
        let batch = Batch::new(view.is_weighted());
        Ok(Self { graph, view, batch, pairs: FxHashMap::default(), changes: Changes::default() })
    }

    /// Returns the graph as it was when the transaction began.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns whether an edge leads from `u` to `v`, after what the transaction has changed.
    ///
    /// Cost: as [`View::has_edge`], when it first names the two.
    pub fn has_edge(&mut self, u: VertexId, v: VertexId) -> bool {
        self.pair(u, v).now > 0
    }

    /// Inserts an edge, with a weight if the graph has them. Returns whether it is one more: a simple graph keeps
    /// one for a pair.
    ///
    /// # Errors
    /// `InvalidInput` if an id or the weight is out of range, or if there is a weight and should be none.
    pub fn insert(&mut self, u: VertexId, v: VertexId, weight: Option<f32>) -> Result<bool> {
        if weight.is_some() != self.batch.is_weighted() {
            let has = if self.batch.is_weighted() { "has weights" } else { "has no weights" };
            return Err(Error::invalid(format!("the edge {u} -> {v}: the graph {has}")));
        }
        self.batch.insert(u, v, weight.unwrap_or_default())?;
        let is_simple = self.graph.options().simple;
        let pair = self.pair(u, v);
        let is_more = !(is_simple && pair.now > 0);
        (pair.now, pair.is_changed) = (pair.now + u32::from(is_more), true);
        self.changes.inserted += u64::from(is_more);
        Ok(is_more)
    }

    /// Inserts edges as [`Self::insert`] does, all of them or, if one cannot be, none.
    ///
    /// # Errors
    /// As that, with the place of the first edge that is wrong.
    pub fn insert_all(&mut self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        Batch::insertions(edges.iter().copied(), weights)?;
        for (place, &(u, v)) in edges.iter().enumerate() {
            self.insert(u, v, weights.map(|weights| weights[place]))?;
        }
        Ok(())
    }

    /// Deletes the newest edge from `u` to `v`. Returns whether there was one.
    ///
    /// # Errors
    /// `InvalidInput` if an id is out of range.
    pub fn delete(&mut self, u: VertexId, v: VertexId) -> Result<bool> {
        let pair = self.pair(u, v);
        if pair.now == 0 {
            self.changes.ignored_deletions += 1;
            return Ok(false);
        }
        (pair.now, pair.is_changed) = (pair.now - 1, true);
        self.batch.delete(u, v)?;
        self.changes.deleted += 1;
        Ok(true)
    }

    /// Ends the transaction: its changes are durable, and visible to all, or none of them is there. Returns what
    /// they are.
    ///
    /// Cost: other writers wait. If some have written since it began, their updates are archived, and each edge that
    /// it named is looked for.
    ///
    /// # Errors
    /// [`Error::Conflict`] if an edge is not as it was; otherwise as [`Graph::apply`].
    pub fn commit(self) -> Result<Changes> {
        if !self.batch.is_empty() {
            let sequence = self.view.any.sequence().expect("a view of a live graph");
            self.graph.live.apply_since(&self.batch, sequence, |now| self.check(now))?;
        }
        Ok(self.changes)
    }

    /// Refuses to commit if an edge that it named is not as it was.
    fn check(&self, now: &AnyView) -> Result<()> {
        let changed = self.pairs.iter().find(|&(&edge, &pair)| !self.is_as_before(now, edge, pair));
        changed.map_or(Ok(()), |(&(u, v), _)| {
            let name = |v| self.view.name_of(v).to_string();
            Err(Error::Conflict { src: name(u), dst: name(v) })
        })
    }

    fn is_as_before(&self, now: &AnyView, (u, v): Edge, pair: Pair) -> bool {
        let count = count(now, u, v);
        if !pair.is_changed {
            return (count > 0) == (pair.before > 0);
        }
        // Of a list that was put in order meanwhile they are in another one.
        let weights = |view: &AnyView| {
            let mut weights = view.weights_between(u, v);
            weights.sort_by(f32::total_cmp);
            weights
        };
        let has_weights = pair.before > 0 && self.batch.is_weighted();
        count == pair.before && (!has_weights || weights(now) == weights(&self.view.any))
    }

    fn pair(&mut self, u: VertexId, v: VertexId) -> &mut Pair {
        // Without directions both are the same edge.
        let edge = if self.view.is_directed() { (u, v) } else { (u.min(v), u.max(v)) };
        self.pairs.entry(edge).or_insert_with(|| {
            let before = count(&self.view.any, u, v);
            Pair { before, now: before, is_changed: false }
        })
    }
}

/// Returns how many edges lead from `u` to `v`; none where one of them is no vertex.
fn count(view: &AnyView, u: VertexId, v: VertexId) -> u32 {
    if view.are_vertices(u, v) { view.edges_between(u, v) } else { 0 }
}
