//! Shortest paths in supersteps.
//!
//! A shard follows the paths that its ghosts begin as far as they lead within it, then says which of its own vertices are nearer
//! than it said before.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::{VertexId, WeightedView};

use super::message::{pack, unpack};
use super::{Part, PartValues, Said, Saved};
use crate::Result;
use crate::best_paths::improve;
use crate::error::bad_message;
use crate::sssp::{Length, default_delta};

#[derive(Debug)]
pub(super) struct Paths {
    algebra: Length,
    /// The bits of the shortest known distance of every id.
    best: Vec<AtomicU64>,
    /// What was said of own vertices that are mirrored; infinity of all others.
    told: Vec<f64>,
}

impl Paths {
    pub(super) fn begin(
        view: &impl WeightedView,
        part: &Part,
        source: VertexId,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let bound = view.vertex_bound() as usize;
        let unreached = f64::INFINITY.to_bits();
        let mut best: Vec<_> = (0..bound).map(|_| AtomicU64::new(unreached)).collect();
        let mut from = Vec::new();
        match saved.map(|saved| saved.values) {
            None if (source as usize) < bound && part.owns(source) => {
                best[source as usize] = AtomicU64::new(0.0_f64.to_bits());
                from.push(source);
            }
            None => {}
            Some(PartValues::Real(distances)) if distances.len() == part.owned().len() => {
                for (&v, &distance) in part.owned().iter().zip(distances) {
                    best[v as usize] = AtomicU64::new(distance.to_bits());
                }
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not distances")),
        }
        let algebra = Length::by(default_delta(view));
        improve(view, &algebra, &best, &from)?;
        let mut paths = Self { algebra, best, told: vec![f64::INFINITY; bound] };
        let said = paths.say(part);
        Ok((paths, said))
    }

    /// Sums of what is said: how many mirrored vertices are nearer than before.
    pub(super) fn step(
        &mut self,
        view: &impl WeightedView,
        part: &Part,
        _: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        let mut nearer = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts.len(), message, |place, distance: f64| {
                let v = ghosts[place];
                let best = self.best[v as usize].get_mut();
                if distance.to_bits() < *best {
                    *best = distance.to_bits();
                    nearer.push(v);
                }
            })?;
        }
        improve(view, &self.algebra, &self.best, &nearer)?;
        Ok(self.say(part))
    }

    fn say(&mut self, part: &Part) -> Said {
        let distance = |v: VertexId| f64::from_bits(self.best[v as usize].load(Relaxed));
        let is_news = |v: VertexId| distance(v) < self.told[v as usize];
        let say = |list: &Vec<VertexId>| pack(list, is_news, distance);
        let messages: Vec<_> = part.mirrored().iter().map(say).collect();
        let mut count = 0_u64;
        for &v in part.mirrored().iter().flatten() {
            let now = distance(v);
            count += u64::from(now < self.told[v as usize]);
            self.told[v as usize] = now;
        }
        Said { messages, sums: vec![count as f64] }
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        let distance = |&v: &VertexId| f64::from_bits(self.best[v as usize].load(Relaxed));
        PartValues::Real(part.owned().iter().map(distance).collect())
    }
}
