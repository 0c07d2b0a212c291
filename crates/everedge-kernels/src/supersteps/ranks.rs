//! PageRank in supersteps, an iteration each.
//!
//! A shard pulls the ranks of its own vertices over their whole lists of in-neighbors, as one machine does; of a ghost it is told
//! what the ghost passes on along each edge.

use everedge_core::{Direction, GraphView, VertexId, par};

use super::message::{Value, pack_all, unpack};
use super::{Part, PartValues, Said, Saved, Whole};
use crate::error::bad_message;
use crate::frontier::VertexSet;
use crate::pagerank::{GRAIN, Pull, Quotient, degrees, divide};
use crate::{PageRankConfig, Result};

#[derive(Debug)]
pub(super) struct Ranks<Q> {
    damping: f64,
    /// Of all shards.
    vertex_count: f64,
    owned: VertexSet,
    out_degrees: Vec<u32>,
    /// Of own vertices; 0 for all others.
    rank: Vec<f64>,
    /// What a vertex passes on along each edge.
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
        let bound = view.vertex_bound() as usize;
        let mut rank = vec![0.0; bound];
        match saved.map(|saved| saved.values) {
            None => part.owned().iter().for_each(|&v| rank[v as usize] = 1.0 / vertex_count),
            Some(PartValues::Real(ranks)) if ranks.len() == part.owned().len() => {
                part.owned().iter().zip(ranks).for_each(|(&v, &r)| rank[v as usize] = r);
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not ranks")),
        }
        let mut ranks = Self {
            damping: config.damping,
            vertex_count,
            owned: VertexSet::those(view.vertex_bound(), |v| part.owns(v)),
            out_degrees: degrees(view, Direction::Out),
            rank,
            quotient: vec![Q::default(); bound],
        };
        let said = ranks.say(view, part, f64::INFINITY);
        Ok((ranks, said))
    }

    /// Sums of what is said: the ranks that have no edge to go, and by how much all ranks have changed.
    pub(super) fn step(
        &mut self,
        view: &impl GraphView,
        part: &Part,
        totals: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        let quotient = &mut self.quotient;
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts, message, |v, passed| quotient[v as usize] = passed)?;
        }
        let dangling = totals.first().copied().unwrap_or(0.0);
        let shared = (1.0 - self.damping + self.damping * dangling) / self.vertex_count;
        let (vertices, quotient, damping) = (&self.owned, &self.quotient[..], self.damping);
        let changes = par::map_chunks_mut(&mut self.rank, GRAIN, |first, ranks| {
            let range = first as VertexId..(first + ranks.len()) as VertexId;
            let mut pull = Pull { vertices, quotient, shared, damping, first, ranks, change: 0.0 };
            view.visit_neighbors(Direction::In, range, &mut pull);
            pull.change
        });
        Ok(self.say(view, part, changes.into_iter().sum()))
    }

    fn say(&mut self, view: &impl GraphView, part: &Part, change: f64) -> Said {
        let dangling = divide(view, Some(&self.out_degrees), &self.rank, &mut self.quotient);
        let passed = |v: VertexId| self.quotient[v as usize];
        let messages = part.mirrored().iter().map(|list| pack_all(list, passed)).collect();
        Said { messages, sums: vec![dangling, change] }
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        PartValues::Real(part.owned().iter().map(|&v| self.rank[v as usize]).collect())
    }
}
