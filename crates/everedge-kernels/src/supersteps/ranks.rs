//! PageRank in supersteps, an iteration each.
//!
//! A shard pulls the ranks of its own vertices over their whole lists of in-neighbors, as one machine does; of a ghost it is told
//! what the ghost passes on along each edge. The lists are copied once, so that what is pulled lies close together: two
//! shards on one processor share its cache.

use everedge_core::{GraphView, par};

use super::lists::Lists;
use super::message::{Value, pack_all, unpack};
use super::{Part, PartValues, Said, Saved, Whole};
use crate::error::bad_message;
use crate::pagerank::{GRAIN, Quotient};
use crate::{PageRankConfig, Result};

#[derive(Debug)]
pub(super) struct Ranks<Q> {
    damping: f64,
    /// Of all shards.
    vertex_count: f64,
    lists: Lists,
    /// Of own vertices.
    out_degrees: Vec<u32>,
    /// Of own vertices.
    rank: Vec<f64>,
    /// What an own vertex or a ghost passes on along each edge.
    quotient: Vec<Q>,
}

impl<Q: Quotient + Value> Ranks<Q> {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        whole: Whole,
        config: PageRankConfig,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        config.check()?;
        let vertex_count = f64::from(whole.vertex_count);
        let rank = match saved.map(|saved| saved.values) {
            None => vec![1.0 / vertex_count; part.owned().len()],
            Some(PartValues::Real(ranks)) if ranks.len() == part.owned().len() => ranks.clone(),
            Some(_) => return Err(bad_message(part.shard(), "its values are not ranks")),
        };
        let lists = Lists::copy(view, part, |v| view.in_neighbors(v));
        let quotient = vec![Q::default(); lists.count()];
        let out_degrees = part.owned().iter().map(|&v| view.out_degree(v)).collect();
        let damping = config.damping;
        let mut ranks = Self { damping, vertex_count, lists, out_degrees, rank, quotient };
        let said = ranks.say(f64::INFINITY);
        Ok((ranks, said))
    }

    /// Sums of what is said: the ranks that have no edge to go, and by how much all ranks have changed.
    pub(super) fn step(
        &mut self,
        _: &impl GraphView,
        _: &Part,
        totals: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        for (shard, ghosts, message) in self.lists.said(messages) {
            let passed = &mut self.quotient[ghosts];
            unpack(shard, passed.len(), message, |place, of_ghost| passed[place] = of_ghost)?;
        }
        let dangling = totals.first().copied().unwrap_or(0.0);
        let shared = (1.0 - self.damping + self.damping * dangling) / self.vertex_count;
        let (lists, quotient, damping) = (&self.lists, &self.quotient[..], self.damping);
        let changes = par::map_chunks_mut(&mut self.rank, GRAIN, |first, ranks| {
            let mut change = 0.0;
            for (number, rank) in (first..).zip(ranks) {
                let pulled: f64 =
                    lists.of(number).iter().map(|&u| quotient[u as usize].into()).sum();
                let new = shared + damping * pulled;
                change += (new - *rank).abs();
                *rank = new;
            }
            change
        });
        Ok(self.say(changes.into_iter().sum()))
    }

    fn say(&mut self, change: f64) -> Said {
        let (rank, out_degrees) = (&self.rank, &self.out_degrees);
        let own = &mut self.quotient[..rank.len()];
        let dangling = par::map_chunks_mut(own, GRAIN, |first, quotients| {
            let mut dangling = 0.0;
            for (number, quotient) in (first..).zip(quotients) {
                match out_degrees[number] {
                    0 => dangling += rank[number],
                    degree => *quotient = Q::of(rank[number] / f64::from(degree)),
                }
            }
            dangling
        });
        let passed = |number: u32| self.quotient[number as usize];
        let messages = self.lists.mirrored().iter().map(|list| pack_all(list, passed)).collect();
        Said { messages, sums: vec![dangling.into_iter().sum(), change] }
    }

    pub(super) fn values(&self, _: &Part) -> PartValues {
        PartValues::Real(self.rank.clone())
    }
}
