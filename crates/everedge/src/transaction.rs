//! Transactions: questions about edges and changes of edges that count as one.
//!
//! # Isolation
//! A transaction reads the graph as it was when it began, all that was acknowledged by then, and its own
//! changes. One that has changed something commits in one moment, durably, if all that it asked for or changed is then as
//! it was when it began; otherwise nothing of it is there. So transactions that read by [`Transaction::has_edge`],
//! [`Transaction::weight`] and [`Transaction::neighbors`] are serializable: those that change something in the order of
//! their commits, the others as of their beginning. What one reads from its [view](Transaction::view) besides
//! is a snapshot: whether that still holds is not looked at.

use std::ops::Deref;

use everedge_core::{Edge, GraphView, VertexId, WeightedView};
use everedge_live::{Batch, Changes};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::any_view::AnyView;
use crate::{Error, Graph, Result, View};

/// Questions and changes that count as one; made by [`Graph::transaction`]. Dropped without
/// [`commit`](Self::commit), it changes nothing.
///
/// Memory: its view, and about 48 bytes for each edge that it names.
pub struct Transaction<G: Deref<Target = Graph>> {
    graph: G,
    view: View,
    batch: Batch,
    pairs: FxHashMap<Edge, Pair>,
    /// Whose neighbors it has asked for.
    listed: FxHashSet<VertexId>,
    /// The neighbors of each vertex to which it has changed edges: without directions, of both ends.
    changed: FxHashMap<VertexId, Vec<VertexId>>,
    changes: Changes,
}

/// The edges from one vertex to another.
struct Pair {
    before: u32,
    /// Their weights after what the transaction has changed, the newest last.
    now: Vec<f32>,
    is_changed: bool,
    /// Whether their weights were asked for.
    is_weighed: bool,
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
        let (pairs, listed, changed) = Default::default();
        Ok(Self { graph, view, batch, pairs, listed, changed, changes: Changes::default() })
    }

    /// Returns the graph as it was when the transaction began.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns whether an edge leads from `u` to `v`, after what the transaction has changed.
    ///
    /// Cost: as [`View::has_edge`], when it first names the two.
    pub fn has_edge(&mut self, u: VertexId, v: VertexId) -> bool {
        !self.pair(u, v).now.is_empty()
    }

    /// Returns the weight of the newest edge from `u` to `v`, after what the transaction has changed; 1 if edges have
    /// none.
    ///
    /// Cost: as [`Self::has_edge`].
    pub fn weight(&mut self, u: VertexId, v: VertexId) -> Option<f32> {
        let pair = self.pair(u, v);
        pair.is_weighed = true;
        pair.now.last().copied()
    }

    /// Returns the out-neighbors of a vertex after what the transaction has changed, parallel edges one by one, in
    /// ascending order; none of what is no vertex.
    ///
    /// Cost: its neighbors, now and at the commit.
    pub fn neighbors(&mut self, v: VertexId) -> Vec<VertexId> {
        self.listed.insert(v);
        let mut neighbors = neighbors(&self.view.any, v);
        for other in self.changed.get(&v).into_iter().flatten() {
            let pair = &self.pairs[&edge(&self.view, v, *other)];
            neighbors.retain(|neighbor| neighbor != other);
            neighbors.extend(std::iter::repeat_n(*other, pair.now.len()));
        }
        neighbors.sort_unstable();
        neighbors
    }

    /// Inserts an edge, with a weight if the graph has them. Returns whether it is one more: a simple graph keeps
    /// one for a pair.
    ///
    /// # Errors
    /// `InvalidInput` if an id or the weight is out of range, or if there is a weight and should be none;
    /// `ReadOnly` if the graph is open for reading only.
    pub fn insert(&mut self, u: VertexId, v: VertexId, weight: Option<f32>) -> Result<bool> {
        self.graph.live.check_writable()?;
        if weight.is_some() != self.batch.is_weighted() {
            let has = if self.batch.is_weighted() { "has weights" } else { "has no weights" };
            return Err(Error::invalid(format!("the edge {u} -> {v}: the graph {has}")));
        }
        self.batch.insert(u, v, weight.unwrap_or_default())?;
        let is_simple = self.graph.options().simple;
        let pair = self.change(u, v);
        let is_more = !is_simple || pair.now.is_empty();
        if !is_more {
            pair.now.clear();
        }
        pair.now.push(weight.unwrap_or(1.0));
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
    /// `InvalidInput` if an id is out of range; `ReadOnly` as [`Self::insert`].
    pub fn delete(&mut self, u: VertexId, v: VertexId) -> Result<bool> {
        self.graph.live.check_writable()?;
        if self.pair(u, v).now.is_empty() {
            self.changes.ignored_deletions += 1;
            return Ok(false);
        }
        self.batch.delete(u, v)?;
        self.change(u, v).now.pop();
        self.changes.deleted += 1;
        Ok(true)
    }

    /// Ends the transaction: its changes are durable, and visible to all, or none of them is there. Returns what
    /// they are.
    ///
    /// Cost: other writers wait. If some have written since it began, their updates are archived, and each edge that
    /// it named and each list that it asked for is looked for.
    ///
    /// # Errors
    /// [`Error::Conflict`] if an edge or a list is not as it was; otherwise as [`Graph::apply`].
    pub fn commit(self) -> Result<Changes> {
        if !self.batch.is_empty() {
            let sequence = self.view.any.sequence().expect("a view of a live graph");
            self.graph.live.apply_since(&self.batch, sequence, |now| self.check(now))?;
        }
        Ok(self.changes)
    }

    /// Refuses to commit if an edge that it named, or a list that it asked for, is not as it was.
    fn check(&self, now: &AnyView) -> Result<()> {
        let name = |v| self.view.name_of(v).to_string();
        let changed = self.pairs.iter().find(|&(&edge, pair)| !self.is_as_before(now, edge, pair));
        if let Some((&(u, v), _)) = changed {
            return Err(Error::Conflict { src: name(u), dst: name(v) });
        }
        for &u in &self.listed {
            if let Some(v) = first_difference(&neighbors(&self.view.any, u), &neighbors(now, u)) {
                return Err(Error::Conflict { src: name(u), dst: name(v) });
            }
        }
        Ok(())
    }

    fn is_as_before(&self, now: &AnyView, (u, v): Edge, pair: &Pair) -> bool {
        let found = weights(now, u, v);
        match pair.is_changed || pair.is_weighed {
            true => found == weights(&self.view.any, u, v),
            false => found.is_empty() == (pair.before == 0),
        }
    }

    fn pair(&mut self, u: VertexId, v: VertexId) -> &mut Pair {
        let (u, v) = edge(&self.view, u, v);
        self.pairs.entry((u, v)).or_insert_with(|| {
            let now = weights(&self.view.any, u, v);
            Pair { before: now.len() as u32, now, is_changed: false, is_weighed: false }
        })
    }

    /// As [`Self::pair`], which is changed then.
    fn change(&mut self, u: VertexId, v: VertexId) -> &mut Pair {
        if !self.pair(u, v).is_changed {
            self.changed.entry(u).or_default().push(v);
            if !self.view.is_directed() && u != v {
                self.changed.entry(v).or_default().push(u);
            }
        }
        let pair = self.pair(u, v);
        pair.is_changed = true;
        pair
    }
}

/// Returns what an edge is known by: without directions both ways are the same one.
fn edge(view: &View, u: VertexId, v: VertexId) -> Edge {
    if view.is_directed() { (u, v) } else { (u.min(v), u.max(v)) }
}

/// Returns the weights of the edges from `u` to `v`, the newest last; none where one of them is no vertex.
fn weights(view: &AnyView, u: VertexId, v: VertexId) -> Vec<f32> {
    if view.are_vertices(u, v) { view.weights_between(u, v) } else { Vec::new() }
}

/// Returns the out-neighbors of a vertex in ascending order; none of what is no vertex.
fn neighbors(view: &AnyView, v: VertexId) -> Vec<VertexId> {
    let mut neighbors = match view.are_vertices(v, v) {
        true => view.out_neighbors(v).collect(),
        false => Vec::new(),
    };
    neighbors.sort_unstable();
    neighbors
}

/// Returns the first of two sorted lists' entries that the other one has not, or not as often.
fn first_difference(before: &[VertexId], now: &[VertexId]) -> Option<VertexId> {
    let same = before.iter().zip(now).take_while(|(before, now)| before == now).count();
    before.get(same).into_iter().chain(now.get(same)).min().copied()
}
