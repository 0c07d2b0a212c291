//! Breadth-first search in supersteps, a depth each.
//!
//! The frontier of a shard is what it has reached of its own vertices, and the ghosts that their owners have. Each edge is
//! followed where its end is owned.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{AtomicBitmap, GraphView, VertexId, par};

use super::message::{pack, pack_few, unpack};
use super::{Part, PartValues, Said, Saved};
use crate::error::bad_message;
use crate::{EdgeMap, EdgeStep, Frontier, Result, UNREACHED};

/// Vertices are few if they are fewer than one own vertex of so many: then each is looked for.
const FEW: usize = 64;

#[derive(Debug)]
pub(super) struct Search {
    /// The ids that nobody is to reach any more: vertices that are reached, and all that the shard does not own.
    done: AtomicBitmap,
    /// The depth of own vertex v at v divided by the number of shards, or [`UNREACHED`].
    depth: Vec<AtomicU32>,
    shards: u32,
    /// Own vertices at the depth that was reached last.
    reached: Frontier,
    last_depth: u32,
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
            reached: Frontier::from_list(Vec::new()),
            last_depth: saved.map_or(0, |saved| saved.steps),
        };
        match saved.map(|saved| saved.values) {
            None if source < bound && part.owns(source) => {
                search.reach(source, 0);
                search.reached = Frontier::single(source);
            }
            None => {}
            Some(PartValues::Whole(depths)) if depths.len() == part.owned().len() => {
                let reached = || part.owned().iter().zip(depths).filter(|&(_, &d)| d != UNREACHED);
                reached().for_each(|(&v, &depth)| _ = search.reach(v, depth));
                let at_last = reached().filter(|&(_, &depth)| depth == search.last_depth);
                search.reached = Frontier::from_list(at_last.map(|(&v, _)| v).collect());
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not depths")),
        }
        let said = search.say(part, bound);
        Ok((search, said))
    }

    /// Sums of what is said: how many vertices were reached.
    pub(super) fn step(
        &mut self,
        view: &impl GraphView,
        part: &Part,
        _: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        let bound = view.vertex_bound();
        let mut ghosts_reached = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts.len(), message, |place, ()| ghosts_reached.push(ghosts[place]))?;
        }
        let mut frontier = std::mem::replace(&mut self.reached, Frontier::from_list(Vec::new()));
        frontier.add(&ghosts_reached, bound);
        self.last_depth += 1;
        let visit = Visit { search: self, next_depth: self.last_depth };
        let reached = par::among_threads(view.homes(), || {
            EdgeMap::reaching_again(view).step(&mut frontier, &visit)
        });
        self.reached = reached;
        Ok(self.say(part, bound))
    }

    fn say(&mut self, part: &Part, bound: u32) -> Said {
        let count = self.reached.len();
        let messages = if (count as usize) < part.owned().len() / FEW {
            let few = self.reached.list();
            part.mirrored().iter().map(|list| pack_few(list, few)).collect()
        } else {
            let reached = self.reached.shown(bound);
            let say = |list: &Vec<VertexId>| pack(list, |v| reached.contains(v), |_| ());
            part.mirrored().iter().map(say).collect()
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
