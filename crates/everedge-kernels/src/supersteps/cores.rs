//! Coreness in supersteps.
//!
//! Every vertex guesses its coreness, its number of neighbors at first. A guess of k that is not borne out by k neighbors with a
//! guess of at least k is lowered to what is, until all are. A shard lowers those of its own vertices by the guesses
//! that it was told of its ghosts, then says which of its own are lower than it said before.
//!
//! Lists are read once: the neighbors of own vertices, each once, are kept.
//!
//! Source: Montresor, De Pellegrini and Miorandi, "Distributed k-Core Decomposition", IEEE TPDS 2013. Difference: a guess is
//! looked at again only if a neighbor has stopped bearing it out, not whenever a neighbor's has changed.

use everedge_core::{AtomicBitmap, GraphView, VertexId, par};

use super::message::{pack, unpack};
use super::{Part, PartValues, Said, Saved};
use crate::Result;
use crate::error::bad_message;
use crate::frontier::joined;
use crate::triangles::simple_neighbors;

/// Vertices in a piece of work.
const GRAIN: usize = 64;

#[derive(Debug)]
pub(super) struct Cores {
    /// Of own vertices and of ghosts; of those that nothing was said of, more than any.
    guess: Vec<u32>,
    /// What was said of own vertices.
    told: Vec<u32>,
    /// Own vertices whose guess is to be looked at.
    doubted: Vec<VertexId>,
    /// The neighbors of each id that is owned, between two places.
    neighbors: Vec<VertexId>,
    starts: Vec<usize>,
}

/// A guess that was lowered.
#[derive(Clone, Copy)]
struct Lowered {
    vertex: VertexId,
    from: u32,
    to: u32,
}

impl Cores {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let bound = view.vertex_bound() as usize;
        let (starts, neighbors) = own_neighbors(view, part);
        let mut guess = vec![u32::MAX; bound];
        match saved.map(|saved| saved.values) {
            None => part.owned().iter().map(|&v| v as usize).for_each(|v| {
                guess[v] = (starts[v + 1] - starts[v]) as u32;
            }),
            Some(PartValues::Whole(guesses)) if guesses.len() == part.owned().len() => {
                part.owned().iter().zip(guesses).for_each(|(&v, &known)| guess[v as usize] = known);
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not corenesses")),
        }
        let (told, doubted) = (vec![u32::MAX; bound], part.owned().to_vec());
        let mut cores = Self { guess, told, doubted, neighbors, starts };
        let said = cores.say(part);
        Ok((cores, said))
    }

    /// Sums of what is said: how many guesses of mirrored vertices are lower than before, and how many guesses were not looked at
    /// yet.
    pub(super) fn step(
        &mut self,
        view: &impl GraphView,
        part: &Part,
        _: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        let mut lowered = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts, message, |vertex, to: u32| {
                let from = std::mem::replace(&mut self.guess[vertex as usize], to);
                lowered.push(Lowered { vertex, from, to });
            })?;
        }
        let is_doubted = AtomicBitmap::new(view.vertex_bound());
        let mut doubted = std::mem::take(&mut self.doubted);
        doubted.iter().for_each(|&v| _ = is_doubted.insert(v));
        // Of a ghost its own list here says whom it bears out.
        let found = par::map_chunks(&lowered, GRAIN, |lowered| {
            let doubt = |change: &Lowered| {
                let leaving = view.out_neighbors(change.vertex);
                let entering = view.is_directed().then(|| view.in_neighbors(change.vertex));
                let of_ghost = leaving.chain(entering.into_iter().flatten());
                let own = of_ghost.filter(|&w| part.owns(w));
                self.no_longer_borne_out(*change, own, &is_doubted)
            };
            lowered.iter().flat_map(doubt).collect()
        });
        doubted.extend(joined(found));
        while !doubted.is_empty() {
            // All guesses of a round are lowered by those before it, and only then is it seen whom that concerns.
            let lowered = joined(par::map_chunks(&doubted, GRAIN, |doubted| {
                let mut counts = Vec::new();
                doubted.iter().filter_map(|&v| self.lower(v, &mut counts)).collect()
            }));
            doubted.iter().for_each(|&v| _ = is_doubted.take(v));
            lowered.iter().for_each(|change| self.guess[change.vertex as usize] = change.to);
            doubted = joined(par::map_chunks(&lowered, GRAIN, |lowered| {
                let doubt = |change: &Lowered| {
                    let own = self.neighbors_of(change.vertex).iter().copied();
                    let own = own.filter(|&w| part.owns(w));
                    self.no_longer_borne_out(*change, own, &is_doubted)
                };
                lowered.iter().flat_map(doubt).collect()
            }));
        }
        Ok(self.say(part))
    }

    /// Returns those of `own` whose guess a vertex bore out until its own was lowered, each to one caller only.
    fn no_longer_borne_out(
        &self,
        change: Lowered,
        own: impl Iterator<Item = VertexId>,
        is_doubted: &AtomicBitmap,
    ) -> Vec<VertexId> {
        let borne_out = own.filter(|&w| {
            let guess = self.guess[w as usize];
            change.to < guess && guess <= change.from && is_doubted.insert(w)
        });
        borne_out.collect()
    }

    /// Returns how the guess of `v` is lowered, if its neighbors do not bear it out.
    fn lower(&self, v: VertexId, counts: &mut Vec<u32>) -> Option<Lowered> {
        let guess = self.guess[v as usize];
        counts.clear();
        counts.resize(guess as usize + 1, 0);
        for &w in self.neighbors_of(v) {
            counts[self.guess[w as usize].min(guess) as usize] += 1;
        }
        let (mut least, mut bearing) = (guess, counts[guess as usize]);
        while bearing < least {
            least -= 1;
            bearing += counts[least as usize];
        }
        (least < guess).then_some(Lowered { vertex: v, from: guess, to: least })
    }

    fn neighbors_of(&self, v: VertexId) -> &[VertexId] {
        &self.neighbors[self.starts[v as usize]..self.starts[v as usize + 1]]
    }

    fn say(&mut self, part: &Part) -> Said {
        let guess = |v: VertexId| self.guess[v as usize];
        let is_news = |v: VertexId| guess(v) < self.told[v as usize];
        let say = |list: &Vec<VertexId>| pack(list, is_news, guess);
        let messages: Vec<_> = part.mirrored().iter().map(say).collect();
        let mut count = self.doubted.len();
        for &v in part.mirrored().iter().flatten() {
            let (now, told) = (self.guess[v as usize], &mut self.told[v as usize]);
            count += usize::from(now < *told);
            *told = now;
        }
        Said { messages, sums: vec![count as f64] }
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        PartValues::Whole(part.owned().iter().map(|&v| self.guess[v as usize]).collect())
    }
}

/// Returns the other vertices that are neighbors of own ones over edges either way, each once, and where those of each id begin.
fn own_neighbors(view: &impl GraphView, part: &Part) -> (Vec<usize>, Vec<VertexId>) {
    let is_simple = !view.is_directed() && view.lists_are_distinct();
    let lists = par::map_chunks(part.owned(), GRAIN, |owned| {
        let (mut counts, mut all) = (Vec::with_capacity(owned.len()), Vec::new());
        for &v in owned {
            let before = all.len();
            match is_simple {
                true => all.extend(view.out_neighbors(v)),
                false => all.extend(simple_neighbors(view, v)),
            }
            counts.push(all.len() - before);
        }
        (counts, all)
    });
    let (counts, lists): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
    let mut starts = vec![0; view.vertex_bound() as usize + 1];
    part.owned().iter().zip(joined(counts)).for_each(|(&v, count)| starts[v as usize + 1] = count);
    let mut end = 0;
    starts.iter_mut().for_each(|start| {
        end += *start;
        *start = end;
    });
    (starts, joined(lists))
}
