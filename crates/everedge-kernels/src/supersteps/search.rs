//! Breadth-first search in supersteps, a depth each.
//!
//! The frontier of a shard is what it has reached of its own vertices, and the ghosts that their owners have. Each edge is
//! followed where its end is owned. From a large frontier it is pulled, over copied lists if the part has some: two shards on one
//! processor share its cache.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{AtomicBitmap, Bitmap, GraphView, VertexId, par};

use super::lists::Lists;
use super::message::{pack, pack_few, unpack};
use super::{Part, PartValues, Said, Saved};
use crate::error::bad_message;
use crate::frontier::is_large;
use crate::{EdgeMap, EdgeStep, Frontier, Result, UNREACHED};

#[derive(Debug)]
pub(super) struct Search {
    /// The ids that nobody is to reach any more: vertices that are reached, and all that the shard does not own.
    done: AtomicBitmap,
    /// The depth of own vertex v at v divided by the number of shards, or [`UNREACHED`].
    depth: Vec<AtomicU32>,
    shards: u32,
    /// Own vertices at the depth that was reached last.
    reached: Reached,
    last_depth: u32,
    /// Whether it pulls over the lists that the part has.
    uses_lists: bool,
}

#[derive(Debug)]
enum Reached {
    Vertices(Frontier),
    /// By their numbers in lists.
    Numbers(Bitmap),
}

impl Reached {
    fn nothing() -> Self {
        Self::Vertices(Frontier::from_list(Vec::new()))
    }
}

/// Gives own vertices their depth.
struct Visit<'a> {
    search: &'a Search,
    next_depth: u32,
}

impl EdgeStep for Visit<'_> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        !self.search.done.contains(v)
    }

    #[inline]
    fn push(&self, _: VertexId, v: VertexId) -> bool {
        self.search.reach(v, self.next_depth)
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        self.push(u, v)
    }
}

impl Search {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        source: VertexId,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let (bound, shards) = (view.vertex_bound(), part.shard_count());
        let mut search = Self {
            done: part.others(),
            depth: (0..bound.div_ceil(shards)).map(|_| AtomicU32::new(UNREACHED)).collect(),
            shards,
            reached: Reached::nothing(),
            last_depth: saved.map_or(0, |saved| saved.steps),
            uses_lists: part.in_lists_of_search(view).is_some(),
        };
        match saved.map(|saved| saved.values) {
            None if source < bound && part.owns(source) => {
                search.reach(source, 0);
                search.reached = Reached::Vertices(Frontier::single(source));
            }
            None => {}
            Some(PartValues::Whole(depths)) if depths.len() == part.owned().len() => {
                let reached = || part.owned().iter().zip(depths).filter(|&(_, &d)| d != UNREACHED);
                reached().for_each(|(&v, &depth)| _ = search.reach(v, depth));
                let at_last = reached().filter(|&(_, &depth)| depth == search.last_depth);
                let at_last = Frontier::from_list(at_last.map(|(&v, _)| v).collect());
                search.reached = Reached::Vertices(at_last);
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not depths")),
        }
        let said = search.say(view, part);
        Ok((search, said))
    }

    /// Sums of what is said: how many vertices were reached.
    pub(super) fn step(
        &mut self,
        view: &impl GraphView,
        part: &Part,
        totals: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        self.last_depth += 1;
        let reached = totals.first().map_or(0, |&reached| reached as u32);
        match self.uses_lists && is_large(reached, view) {
            true => self.pull(part.in_lists(view), part, messages)?,
            false => self.follow(view, part, messages)?,
        }
        Ok(self.say(view, part))
    }

    /// Reaches own vertices along edges of the view.
    fn follow(&mut self, view: &impl GraphView, part: &Part, messages: &[&[u8]]) -> Result<()> {
        let mut ghosts_reached = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts.len(), message, |place, ()| ghosts_reached.push(ghosts[place]))?;
        }
        let mut frontier = match std::mem::replace(&mut self.reached, Reached::nothing()) {
            Reached::Vertices(frontier) => frontier,
            Reached::Numbers(numbers) => {
                let vertices = numbers.iter().map(|number| part.owned()[number as usize]);
                Frontier::from_list(vertices.collect())
            }
        };
        frontier.add(&ghosts_reached, view.vertex_bound());
        let visit = Visit { search: self, next_depth: self.last_depth };
        let reached = par::among_threads(view.homes(), || {
            EdgeMap::reaching_again(view).step(&mut frontier, &visit)
        });
        self.reached = Reached::Vertices(reached);
        Ok(())
    }

    /// Looks for a member of the frontier among the in-neighbors of every own vertex that is not reached.
    fn pull(&mut self, lists: &Lists, part: &Part, messages: &[&[u8]]) -> Result<()> {
        let (owned, count) = (part.owned(), lists.count() as u32);
        let own = |number: u32| owned.get(number as usize).copied();
        let mut frontier = match std::mem::replace(&mut self.reached, Reached::nothing()) {
            Reached::Numbers(numbers) => numbers,
            Reached::Vertices(mut vertices) => {
                let vertices = vertices.bitmap(part.bound());
                Bitmap::from_fn(count, |number| own(number).is_some_and(|v| vertices.contains(v)))
            }
        };
        for (shard, ghosts, message) in lists.said(messages) {
            let reached = |place, ()| frontier.insert((ghosts.start + place) as u32);
            unpack(shard, ghosts.len(), message, reached)?;
        }
        let is_reached = |number| {
            own(number).is_some_and(|v| {
                let mut neighbors = lists.of(number as usize).iter();
                !self.done.contains(v)
                    && neighbors.any(|&u| frontier.contains(u))
                    && self.reach(v, self.last_depth)
            })
        };
        self.reached = Reached::Numbers(Bitmap::from_fn(count, is_reached));
        Ok(())
    }

    fn say(&mut self, view: &impl GraphView, part: &Part) -> Said {
        fn told(lists: &[Vec<u32>], reached: &Bitmap) -> Vec<Vec<u8>> {
            lists.iter().map(|list| pack(list, |v| reached.contains(v), |_| ())).collect()
        }
        let (count, messages) = match &mut self.reached {
            Reached::Vertices(vertices) if !is_large(vertices.len(), view) => {
                let few = vertices.list();
                let told = part.mirrored().iter().map(|list| pack_few(list, few));
                (few.len() as u32, told.collect())
            }
            Reached::Vertices(vertices) => {
                (vertices.len(), told(part.mirrored(), vertices.bitmap(part.bound())))
            }
            Reached::Numbers(numbers) => {
                (numbers.count(), told(part.in_lists(view).mirrored(), numbers))
            }
        };
        Said { messages, sums: vec![count.into()] }
    }

    /// Gives `v` its depth; returns whether it had none.
    #[inline]
    fn reach(&self, v: VertexId, depth: u32) -> bool {
        let is_new = self.done.insert(v);
        if is_new {
            self.depth_of(v).store(depth, Relaxed);
        }
        is_new
    }

    fn depth_of(&self, v: VertexId) -> &AtomicU32 {
        &self.depth[(v / self.shards) as usize]
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        PartValues::Whole(part.owned().iter().map(|&v| self.depth_of(v).load(Relaxed)).collect())
    }
}
