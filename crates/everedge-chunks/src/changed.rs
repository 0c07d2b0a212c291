//! A sealed graph with some edges more and less: what kernels see of a sealed graph that was changed.
//!
//! Lists that no change touches are those of the sealed graph, with its passes and what is read ahead, and cost a look at a bit. The others
//! are merged while they are shown; they stay in ascending order. Vertices that the sealed graph has not come after its own.

use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use std::vec;

use everedge_core::{Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView};
use everedge_medium::Error;

use crate::changes::{ChangeLists, Entry, OfVertex};
use crate::list::{Edges, Neighbors};
use crate::store::Store;
use crate::view::ChunksView;

/// A sealed graph, with what was added to it and without what was taken away.
#[derive(Clone)]
pub struct ChangedView {
    base: ChunksView,
    lists: Arc<ChangeLists>,
}

impl ChangedView {
    /// Returns the view of an open graph with changes.
    ///
    /// # Panics
    /// If they are changes of another graph, with another number of vertices.
    pub fn new(base: ChunksView, lists: Arc<ChangeLists>) -> Self {
        assert_eq!(base.vertex_bound(), lists.vertices_before(), "changes of another graph");
        Self { base, lists }
    }

    /// Returns the sealed graph.
    pub fn base(&self) -> &ChunksView {
        &self.base
    }

    /// Returns whether edges carry weights.
    pub fn is_weighted(&self) -> bool {
        self.base.is_weighted()
    }

    fn store(&self) -> &Store {
        self.base.store()
    }

    #[inline]
    fn changes(&self, direction: Direction, v: VertexId) -> OfVertex<'_> {
        self.lists.of(self.store().side(direction), v)
    }

    fn neighbors(&self, direction: Direction, v: VertexId) -> Merged<'_, Neighbors<'_>> {
        let list = match v < self.lists.vertices_before() {
            true => self.base.neighbors(direction, v),
            false => Neighbors::NONE,
        };
        Merged::new(self, v, self.changes(direction, v), list)
    }

    fn edges(&self, direction: Direction, v: VertexId) -> MergedEdges<'_> {
        let list = (v < self.lists.vertices_before())
            .then(|| Edges::of(self.store(), self.store().side(direction), v));
        MergedEdges {
            view: self,
            v,
            list: list.into_iter().flatten().peekable(),
            changes: self.changes(direction, v),
            parallel: Vec::new().into_iter(),
        }
    }

    #[inline]
    fn degree(&self, direction: Direction, v: VertexId) -> u32 {
        let before = match (v < self.lists.vertices_before(), direction) {
            (false, _) => 0,
            (true, Direction::Out) => self.base.out_degree(v),
            (true, Direction::In) => self.base.in_degree(v),
        };
        self.changes(direction, v).degree(before)
    }

    /// Cuts a range of vertices into those of the sealed graph and those that were added.
    fn parts(&self, range: Range<VertexId>) -> (Range<VertexId>, Range<VertexId>) {
        let before = self.lists.vertices_before();
        (range.start.min(before)..range.end.min(before), range.start.max(before)..range.end)
    }

    /// Says that an edge was taken away which the sealed graph has not.
    #[cold]
    fn fail(&self, v: VertexId) {
        let _ = self.store().fail::<()>(Error::Corruption {
            path: self.lists.path().to_owned(),
            offset: 0,
            what: format!("what was taken away from the list of vertex {v}"),
            expected: "edges of the sealed graph".into(),
            found: "one that it has not".into(),
        });
    }
}

impl GraphView for ChangedView {
    fn vertex_bound(&self) -> u32 {
        self.lists.vertices()
    }

    fn vertex_count(&self) -> u32 {
        self.lists.vertices()
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        v < self.lists.vertices()
    }

    fn edge_count(&self) -> u64 {
        let more = self.base.edge_count().saturating_add(self.lists.added_count());
        more.saturating_sub(self.lists.taken_count())
    }

    fn is_directed(&self) -> bool {
        self.base.is_directed()
    }

    fn has_in_neighbors(&self) -> bool {
        self.base.has_in_neighbors()
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.degree(Direction::Out, v)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.degree(Direction::In, v)
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(Direction::Out, v)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(Direction::In, v)
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let (sealed, added) = self.parts(range);
        if !sealed.is_empty() {
            let mut merging = Merging { view: self, direction, visitor: &mut *visitor };
            self.base.visit_neighbors(direction, sealed, &mut merging);
        }
        for part in Wanted::parts(added) {
            for (v, _) in Wanted::of(part, visitor).iter(0) {
                visitor.visit(v, self.neighbors(direction, v));
            }
        }
    }

    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let is_sealed = |v: &VertexId| *v < self.lists.vertices_before();
        for alike in vertices.chunk_by(|u, v| is_sealed(u) == is_sealed(v)) {
            if is_sealed(&alike[0]) {
                let mut merging = Merging { view: self, direction, visitor: &mut *visitor };
                self.base.visit_listed(direction, alike, &mut merging);
            } else {
                alike.iter().for_each(|&v| visitor.visit(v, self.neighbors(direction, v)));
            }
        }
    }

    fn reads_in_order(&self) -> bool {
        self.base.reads_in_order()
    }

    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        self.base.load_ahead(direction, vertices);
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let (sealed, added) = self.parts(range);
        self.base.for_each_degree(direction, sealed, |v, degree| {
            f(v, self.changes(direction, v).degree(degree));
        });
        added.for_each(|v| f(v, self.changes(direction, v).degree(0)));
    }
}

impl WeightedView for ChangedView {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(Direction::Out, v)
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(Direction::In, v)
    }
}

/// Shows a visitor the lists of the sealed graph, merged with what has changed.
struct Merging<'a, V> {
    view: &'a ChangedView,
    direction: Direction,
    visitor: &'a mut V,
}

impl<V: ListVisitor> ListVisitor for Merging<'_, V> {
    const STOPS_EARLY: bool = V::STOPS_EARLY;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.visitor.wants(v)
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let changes = self.view.changes(self.direction, v);
        match changes.is_empty() {
            true => self.visitor.visit(v, neighbors),
            false => self.visitor.visit(v, Merged::new(self.view, v, changes, neighbors)),
        }
    }
}

/// The neighbors of a vertex, with those that were added and without those that were taken away.
struct Merged<'a, I: Iterator<Item = VertexId>> {
    view: &'a ChangedView,
    v: VertexId,
    changes: OfVertex<'a>,
    list: Peekable<I>,
}

impl<'a, I: Iterator<Item = VertexId>> Merged<'a, I> {
    fn new(view: &'a ChangedView, v: VertexId, changes: OfVertex<'a>, list: I) -> Self {
        Self { view, v, changes, list: list.peekable() }
    }
}

/// Takes the first of some changes if it is one of `neighbor`.
#[inline]
fn take_if<'a>(changes: &mut &'a [Entry], is_it: impl Fn(VertexId) -> bool) -> Option<&'a Entry> {
    let (first, rest) = changes.split_first().filter(|(first, _)| is_it(first.0))?;
    *changes = rest;
    Some(first)
}

impl<I: Iterator<Item = VertexId>> Iterator for Merged<'_, I> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        if self.changes.is_empty() {
            return self.list.next();
        }
        loop {
            let Some(&old) = self.list.peek() else {
                let new = take_if(&mut self.changes.added, |_| true);
                if new.is_none() && !self.changes.taken.is_empty() {
                    self.view.fail(self.v);
                }
                return new.map(|&(new, _)| new);
            };
            if let Some(&(new, _)) = take_if(&mut self.changes.added, |new| new < old) {
                return Some(new);
            }
            self.list.next();
            if take_if(&mut self.changes.taken, |gone| gone == old).is_none() {
                return Some(old);
            }
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        let Self { view, v, changes: OfVertex { mut added, mut taken }, list } = self;
        if added.is_empty() && taken.is_empty() {
            return list.fold(init, f);
        }
        let sum = list.fold(init, |mut sum, old| {
            while let Some(&(new, _)) = take_if(&mut added, |new| new < old) {
                sum = f(sum, new);
            }
            match take_if(&mut taken, |gone| gone == old) {
                Some(_) => sum,
                None => f(sum, old),
            }
        });
        if !taken.is_empty() {
            view.fail(v);
        }
        added.iter().fold(sum, |sum, &(new, _)| f(sum, new))
    }
}

/// The same with weights.
struct MergedEdges<'a> {
    view: &'a ChangedView,
    v: VertexId,
    changes: OfVertex<'a>,
    list: Peekable<std::iter::Flatten<std::option::IntoIter<Edges<'a>>>>,
    /// What is left of the parallel edges of the sealed graph that some were taken away from.
    parallel: vec::IntoIter<Entry>,
}

impl MergedEdges<'_> {
    /// Takes the edges to `neighbor` off the list, and keeps those that were not taken away. Of equal ones the last goes: the others
    /// stay in their order.
    fn keep_others(&mut self, neighbor: VertexId) {
        let mut parallel: Vec<Entry> =
            std::iter::from_fn(|| self.list.next_if(|&(old, _)| old == neighbor)).collect();
        while let Some(&(_, gone)) = take_if(&mut self.changes.taken, |gone| gone == neighbor) {
            match parallel.iter().rposition(|(_, weight)| weight.to_bits() == gone.to_bits()) {
                Some(place) => _ = parallel.remove(place),
                None => self.view.fail(self.v),
            }
        }
        self.parallel = parallel.into_iter();
    }
}

impl Iterator for MergedEdges<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(edge) = self.parallel.next() {
                return Some(edge);
            }
            if self.changes.is_empty() {
                return self.list.next();
            }
            let Some(&(old, _)) = self.list.peek() else {
                let new = take_if(&mut self.changes.added, |_| true);
                if new.is_none() && !self.changes.taken.is_empty() {
                    self.view.fail(self.v);
                }
                return new.copied();
            };
            if let Some(&edge) = take_if(&mut self.changes.added, |new| new < old) {
                return Some(edge);
            }
            match self.changes.taken.first() {
                Some(&(gone, _)) if gone == old => self.keep_others(old),
                _ => return self.list.next(),
            }
        }
    }
}
