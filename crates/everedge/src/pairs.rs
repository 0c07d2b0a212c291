//! What a batch changes of a sealed graph, pair by pair of vertices.

use everedge_core::Edge;
use everedge_live::Changes;
use rustc_hash::FxHashMap;

use crate::GraphOptions;

/// The edges of a pair while a batch is made.
pub(crate) struct Pair<'a> {
    /// Weights in the sealed graph, the newest last, without what was taken away.
    pub(crate) sealed: Vec<f32>,
    pub(crate) added: Weights<'a>,
    pub(crate) taken: Weights<'a>,
}

/// Weights while a batch is made, the newest last. A pair may have a million of them, and a batch change one.
#[derive(Default)]
pub(crate) struct Weights<'a> {
    /// Those of before the batch that stay.
    pub(crate) kept: &'a [f32],
    pub(crate) more: Vec<f32>,
}

/// How a batch changes weights: so many stay, and these come after them.
pub(crate) struct Changed {
    pub(crate) kept: usize,
    pub(crate) more: Vec<f32>,
}

/// How a batch changes a pair.
pub(crate) struct ChangedPair {
    pub(crate) edge: Edge,
    pub(crate) added: Changed,
    pub(crate) taken: Changed,
}

/// An update of the live graph.
pub(crate) struct Update {
    pub(crate) edge: Edge,
    pub(crate) weight: f32,
    /// Whether it concerns what was taken away, or what was added.
    pub(crate) is_taken: bool,
    pub(crate) is_deletion: bool,
}

/// What a batch changes.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) updates: Vec<Update>,
    pub(crate) done: Changes,
}

pub(crate) fn changed(pairs: FxHashMap<Edge, Pair<'_>>) -> Vec<ChangedPair> {
    let changed = |weights: Weights<'_>| Changed { kept: weights.kept.len(), more: weights.more };
    let of = |(edge, Pair { added, taken, .. }): (Edge, Pair<'_>)| ChangedPair {
        edge,
        added: changed(added),
        taken: changed(taken),
    };
    pairs.into_iter().map(of).collect()
}

/// Changes the weights of a pair, and keeps their number up.
pub(crate) fn put(
    pairs: &mut FxHashMap<Edge, Vec<f32>>,
    edge: Edge,
    changed: Changed,
    count: &mut u64,
) {
    let weights = pairs.entry(edge).or_default();
    *count -= weights.len() as u64;
    weights.truncate(changed.kept);
    weights.extend(changed.more);
    *count += weights.len() as u64;
    if weights.is_empty() {
        pairs.remove(&edge);
    }
}

impl<'a> Weights<'a> {
    pub(crate) fn of(pairs: &'a FxHashMap<Edge, Vec<f32>>, edge: Edge) -> Self {
        Self { kept: pairs.get(&edge).map_or(&[], Vec::as_slice), more: Vec::new() }
    }

    fn last(&self) -> Option<&f32> {
        self.more.last().or(self.kept.last())
    }

    fn push(&mut self, weight: f32) {
        self.more.push(weight);
    }

    fn pop(&mut self) -> Option<f32> {
        self.more.pop().or_else(|| {
            let (&last, kept) = self.kept.split_last()?;
            self.kept = kept;
            Some(last)
        })
    }

    fn pop_if(&mut self, holds: impl FnOnce(&f32) -> bool) -> Option<f32> {
        self.last().is_some_and(holds).then(|| self.pop()).flatten()
    }
}

impl Made {
    fn update(&mut self, (edge, weight): (Edge, f32), is_taken: bool, is_deletion: bool) {
        self.updates.push(Update { edge, weight, is_taken, is_deletion });
    }

    /// Inserts an edge as a live graph does.
    pub(crate) fn insert(
        &mut self,
        pair: &mut Pair<'_>,
        (edge, weight): (Edge, f32),
        options: &GraphOptions,
    ) {
        let is_there = pair.added.last().is_some() || !pair.sealed.is_empty();
        if options.simple && is_there {
            return self.replace(pair, (edge, weight));
        }
        self.done.inserted += 1;
        // What comes back as it was needs no change any more. Among parallel edges with weights its place in their order would be another.
        let comes_back = |taken: &f32| match (options.weighted, options.simple) {
            (false, _) => true,
            (true, simple) => simple && taken.to_bits() == weight.to_bits(),
        };
        if let Some(back) = pair.taken.pop_if(comes_back) {
            pair.sealed.push(back);
            return self.update((edge, weight), true, true);
        }
        pair.added.push(weight);
        self.update((edge, weight), false, false);
    }

    /// Gives the edge of a pair that has one at most another weight.
    pub(crate) fn replace(&mut self, pair: &mut Pair<'_>, (edge, weight): (Edge, f32)) {
        let is_it = |there: &f32| there.to_bits() == weight.to_bits();
        if pair.added.last().or(pair.sealed.last()).is_some_and(is_it) {
            return;
        }
        if pair.taken.pop_if(is_it).is_some() {
            // It gets the weight back that it had when it was sealed, and needs no change any more.
            pair.added = Weights::default();
            pair.sealed.push(weight);
            self.update((edge, weight), false, true);
            return self.update((edge, weight), true, true);
        }
        if let Some(before) = pair.sealed.pop() {
            pair.taken.push(before);
            self.update((edge, before), true, false);
        }
        // The live graph of the changes replaces weights itself.
        pair.added = Weights { kept: &[], more: vec![weight] };
        self.update((edge, weight), false, false);
    }

    /// Deletes the newest edge of a pair.
    pub(crate) fn delete(&mut self, pair: &mut Pair<'_>, edge: Edge) {
        if pair.added.pop().is_some() {
            self.done.deleted += 1;
            return self.update((edge, 0.0), false, true);
        }
        match pair.sealed.pop() {
            Some(weight) => {
                self.done.deleted += 1;
                pair.taken.push(weight);
                self.update((edge, weight), true, false);
            }
            None => self.done.ignored_deletions += 1,
        }
    }
}
