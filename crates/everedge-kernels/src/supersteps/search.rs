//! Breadth-first search in supersteps, a depth each.
//!
//! The frontier of a shard is what it has reached of its own vertices, and the ghosts that their owners have. Each edge is
//! followed where its end is owned.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use super::message::{pack, unpack};
use super::{Part, PartValues, Said, Saved};
use crate::error::bad_message;
use crate::{EdgeMap, EdgeStep, Frontier, Result, UNREACHED};

/// The depth of an id that the shard does not own: nobody reaches it here.
const ELSEWHERE: u32 = UNREACHED - 1;

#[derive(Debug)]
pub(super) struct Search {
    /// Of own vertices, or [`UNREACHED`]; [`ELSEWHERE`].
    depth: Vec<AtomicU32>,
    /// Own vertices at the depth that was reached last.
    reached: Frontier,
    last_depth: u32,
}

/// Gives own vertices their depth.
struct Visit<'a> {
    depth: &'a [AtomicU32],
    next_depth: u32,
}

impl EdgeStep for Visit<'_> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.depth[v as usize].load(Relaxed) == UNREACHED
    }

    #[inline]
    fn push(&self, _: VertexId, v: VertexId) -> bool {
        let depth = &self.depth[v as usize];
        depth.compare_exchange(UNREACHED, self.next_depth, Relaxed, Relaxed).is_ok()
    }

    #[inline]
    fn pull(&self, _: VertexId, v: VertexId) -> bool {
        self.depth[v as usize].store(self.next_depth, Relaxed);
        true
    }
}

impl Search {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        source: VertexId,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let mut depth = vec![ELSEWHERE; view.vertex_bound() as usize];
        part.owned().iter().for_each(|&v| depth[v as usize] = UNREACHED);
        let depth = depth.into_iter().map(AtomicU32::new).collect();
        let last_depth = saved.map_or(0, |saved| saved.steps);
        let reached = Frontier::from_list(Vec::new());
        let mut search = Self { depth, reached, last_depth };
        match saved.map(|saved| saved.values) {
            None if source < view.vertex_bound() && part.owns(source) => {
                search.depth[source as usize] = AtomicU32::new(0);
                search.reached = Frontier::single(source);
            }
            None => {}
            Some(PartValues::Whole(depths)) if depths.len() == part.owned().len() => {
                for (&v, &depth) in part.owned().iter().zip(depths) {
                    search.depth[v as usize] = AtomicU32::new(depth);
                }
                let at_last = part.owned().iter().zip(depths);
                let at_last = at_last.filter(|&(_, &depth)| depth == search.last_depth);
                search.reached = Frontier::from_list(at_last.map(|(&v, _)| v).collect());
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not depths")),
        }
        let said = search.say(part);
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
        let mut ghosts_reached = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts.len(), message, |place, ()| ghosts_reached.push(ghosts[place]))?;
        }
        self.reached.add(&ghosts_reached, view.vertex_bound());
        self.last_depth += 1;
        let visit = Visit { depth: &self.depth, next_depth: self.last_depth };
        let frontier = &mut self.reached;
        self.reached = par::among_threads(view.homes(), || {
            EdgeMap::reaching_again(view).step(frontier, &visit)
        });
        Ok(self.say(part))
    }

    fn say(&self, part: &Part) -> Said {
        let is_reached = |v: VertexId| self.depth[v as usize].load(Relaxed) == self.last_depth;
        let say = |list: &Vec<VertexId>| match self.reached.is_empty() {
            true => Vec::new(),
            false => pack(list, is_reached, |_| ()),
        };
        let messages = part.mirrored().iter().map(say).collect();
        Said { messages, sums: vec![self.reached.len().into()] }
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        let depth = |&v: &VertexId| self.depth[v as usize].load(Relaxed);
        PartValues::Whole(part.owned().iter().map(depth).collect())
    }
}
