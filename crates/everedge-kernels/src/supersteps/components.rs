//! Weakly connected components: trees of a shard, joined over all shards.
//!
//! Every shard finds the components of its own graph. Then shards are joined in pairs: one says to the other in which component
//! each vertex is that other shards have, too. The one that listens is paired again, until one shard knows all
//! components. What it knows goes back the same way. The supersteps are twice the logarithm of the number of
//! shards, however long the paths of the graph are: labels that go from vertex to vertex would take as many as its diameter.
//!
//! # Cost
//! 4 bytes for each id of the whole graph, and for each vertex that was listened to.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use super::message::Value;
use super::{Part, PartValues, Said, Whole};
use crate::error::bad_message;
use crate::wcc::{compress, link, wcc};
use crate::{NO_COMPONENT, Result};

#[derive(Debug)]
pub(super) struct Components {
    /// Of every id of all shards one of its component with a smaller or the same id.
    component: Vec<AtomicU32>,
    /// Vertices that other shards have, too: own ones, ghosts, and what was listened to.
    shared: Vec<VertexId>,
    /// What was listened to, by the height of the pair: whom to tell, and of which vertices.
    listened: Vec<(u32, Vec<VertexId>)>,
    /// Supersteps that were done.
    steps: u32,
}

impl Components {
    pub(super) fn begin(view: &impl GraphView, part: &Part, whole: Whole) -> (Self, Said) {
        let local = wcc(view).component;
        let component = par::collect(whole.vertex_bound.max(view.vertex_bound()) as usize, |v| {
            let root = local.get(v).copied().filter(|&root| root != NO_COMPONENT);
            AtomicU32::new(root.unwrap_or(v as VertexId))
        });
        let ghosts = (0..part.shard_count()).flat_map(|shard| part.ghosts(shard));
        let mut shared: Vec<_> = ghosts.chain(part.mirrored().iter().flatten()).copied().collect();
        shared.sort_unstable();
        shared.dedup();
        let mut components = Self { component, shared, listened: Vec::new(), steps: 0 };
        let said = components.say(part);
        (components, said)
    }

    /// Sums of what is said: the supersteps that are left, of every shard.
    pub(super) fn step(
        &mut self,
        _: &impl GraphView,
        part: &Part,
        _: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        let height = height(part.shard_count());
        for (shard, message) in (0..).zip(messages).filter(|(_, message)| !message.is_empty()) {
            let bad = || bad_message(shard, "it names no components");
            if !message.len().is_multiple_of(2 * u32::BYTES) {
                return Err(bad());
            }
            let pairs = message.chunks_exact(2 * u32::BYTES);
            let pairs = pairs.map(|pair| (u32::get(&pair[..4]), u32::get(&pair[4..])));
            let mut told = Vec::with_capacity(pairs.len());
            for (v, root) in pairs {
                if v.max(root) as usize >= self.component.len() {
                    return Err(bad());
                }
                link(&self.component, v, root);
                told.push(v);
            }
            if self.steps < height {
                self.shared.extend_from_slice(&told);
                self.listened.push((shard, told));
            }
        }
        compress(&self.component);
        self.shared.sort_unstable();
        self.shared.dedup();
        self.steps += 1;
        Ok(self.say(part))
    }

    fn say(&mut self, part: &Part) -> Said {
        let (height, shard) = (height(part.shard_count()), part.shard());
        let mut messages = vec![Vec::new(); part.shard_count() as usize];
        if self.steps < height {
            let pair = 1 << self.steps;
            if shard % (2 * pair) == pair {
                messages[(shard - pair) as usize] = self.roots(&self.shared);
            }
        } else if self.steps < 2 * height {
            // Back, from the last pair to the first.
            let pair = 1 << (2 * height - 1 - self.steps);
            let of_pair = |(speaker, _): &&(u32, _)| *speaker == shard + pair;
            if let Some((speaker, told)) = self.listened.iter().find(of_pair) {
                messages[*speaker as usize] = self.roots(told);
            }
        }
        let left = (2 * height).saturating_sub(self.steps);
        Said { messages, sums: vec![left.into()] }
    }

    /// Says of each of `vertices` in which component it is.
    fn roots(&self, vertices: &[VertexId]) -> Vec<u8> {
        let mut message = Vec::with_capacity(2 * u32::BYTES * vertices.len());
        for &v in vertices {
            v.put(&mut message);
            self.component[v as usize].load(Relaxed).put(&mut message);
        }
        message
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        let root = |&v: &VertexId| self.component[v as usize].load(Relaxed);
        PartValues::Whole(part.owned().iter().map(root).collect())
    }
}

/// Returns how often shards pair up until one knows all.
fn height(shards: u32) -> u32 {
    shards.next_power_of_two().trailing_zeros()
}
