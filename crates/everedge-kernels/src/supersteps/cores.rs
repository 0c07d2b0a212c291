//! Coreness in supersteps.
//!
//! Every vertex guesses its coreness, its number of neighbors at first. A guess of k that is not borne out by k neighbors with a
//! guess of at least k is lowered to what is, until all are. A shard lowers those of its own vertices by the guesses
//! that it was told of its ghosts, then says which of its own are lower than it said before.
//!
//! Source: Montresor, De Pellegrini and Miorandi, "Distributed k-Core Decomposition", IEEE TPDS 2013. Difference: a guess is
//! looked at again only if a neighbor has stopped bearing it out, not whenever a neighbor's has changed.

use everedge_core::{AtomicBitmap, GraphView, VertexId, par};

use super::lists::Lists;
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
    /// Neighbors over edges either way, each once.
    lists: Lists,
    /// Of own vertices and of ghosts; of those that nothing was said of, more than any.
    guess: Vec<u32>,
    /// What was said of own vertices.
    told: Vec<u32>,
    /// Own vertices whose guess is to be looked at.
    doubted: Vec<u32>,
}

/// A guess that was lowered.
#[derive(Clone, Copy)]
struct Lowered {
    number: u32,
    from: u32,
    to: u32,
}

impl Cores {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let lists = Lists::copy(view, part, |v| simple_neighbors(view, v));
        let own_count = lists.own_count();
        let mut guess = match saved.map(|saved| saved.values) {
            None => (0..own_count).map(|number| lists.of(number).len() as u32).collect(),
            Some(PartValues::Whole(guesses)) if guesses.len() == own_count => guesses.clone(),
            Some(_) => return Err(bad_message(part.shard(), "its values are not corenesses")),
        };
        guess.resize(lists.count(), u32::MAX);
        let doubted = (0..own_count as u32).collect();
        let mut cores = Self { lists, guess, told: vec![u32::MAX; own_count], doubted };
        let said = cores.say();
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
        for (shard, ghosts, message) in self.lists.said(messages) {
            let vertices = part.ghosts(shard);
            let guesses = &mut self.guess[ghosts];
            unpack(shard, guesses.len(), message, |place, to: u32| {
                let from = std::mem::replace(&mut guesses[place], to);
                lowered.push((vertices[place], from, to));
            })?;
        }
        let is_doubted = AtomicBitmap::new(self.lists.own_count() as u32);
        let mut doubted = std::mem::take(&mut self.doubted);
        doubted.iter().for_each(|&own| _ = is_doubted.insert(own));
        // Of a ghost its own list here says whom it bears out.
        let found = par::map_chunks(&lowered, GRAIN, |lowered| {
            let doubt = |&(ghost, from, to): &(VertexId, u32, u32)| {
                let leaving = view.out_neighbors(ghost);
                let entering = view.is_directed().then(|| view.in_neighbors(ghost));
                let of_ghost = leaving.chain(entering.into_iter().flatten());
                let own = of_ghost.filter(|&w| part.owns(w)).map(|w| self.lists.number_of(w));
                self.no_longer_borne_out((from, to), own, &is_doubted)
            };
            lowered.iter().flat_map(doubt).collect()
        });
        doubted.extend(joined(found));
        while !doubted.is_empty() {
            // All guesses of a round are lowered by those before it, and only then is it seen whom that concerns.
            let lowered = joined(par::map_chunks(&doubted, GRAIN, |doubted| {
                let mut counts = Vec::new();
                doubted.iter().filter_map(|&own| self.lower(own, &mut counts)).collect()
            }));
            doubted.iter().for_each(|&own| _ = is_doubted.take(own));
            lowered.iter().for_each(|change| self.guess[change.number as usize] = change.to);
            let own_count = self.lists.own_count() as u32;
            doubted = joined(par::map_chunks(&lowered, GRAIN, |lowered| {
                let doubt = |change: &Lowered| {
                    let neighbors = self.lists.of(change.number as usize).iter().copied();
                    let own = neighbors.filter(|&number| number < own_count);
                    self.no_longer_borne_out((change.from, change.to), own, &is_doubted)
                };
                lowered.iter().flat_map(doubt).collect()
            }));
        }
        Ok(self.say())
    }

    /// Returns those of `own` whose guess a vertex bore out until its own was lowered, each to one caller only.
    fn no_longer_borne_out(
        &self,
        (from, to): (u32, u32),
        own: impl Iterator<Item = u32>,
        is_doubted: &AtomicBitmap,
    ) -> Vec<u32> {
        let borne_out = own.filter(|&number| {
            let guess = self.guess[number as usize];
            to < guess && guess <= from && is_doubted.insert(number)
        });
        borne_out.collect()
    }

    /// Returns how the guess of an own vertex is lowered, if its neighbors do not bear it out.
    fn lower(&self, number: u32, counts: &mut Vec<u32>) -> Option<Lowered> {
        let guess = self.guess[number as usize];
        counts.clear();
        counts.resize(guess as usize + 1, 0);
        for &neighbor in self.lists.of(number as usize) {
            counts[self.guess[neighbor as usize].min(guess) as usize] += 1;
        }
        let (mut least, mut bearing) = (guess, counts[guess as usize]);
        while bearing < least {
            least -= 1;
            bearing += counts[least as usize];
        }
        (least < guess).then_some(Lowered { number, from: guess, to: least })
    }

    fn say(&mut self) -> Said {
        let guess = |number: u32| self.guess[number as usize];
        let is_news = |number: u32| guess(number) < self.told[number as usize];
        let mirrored = self.lists.mirrored();
        let messages: Vec<_> = mirrored.iter().map(|list| pack(list, is_news, guess)).collect();
        let mut count = self.doubted.len();
        for &number in mirrored.iter().flatten() {
            let (now, told) = (self.guess[number as usize], &mut self.told[number as usize]);
            count += usize::from(now < *told);
            *told = now;
        }
        Said { messages, sums: vec![count as f64] }
    }

    pub(super) fn values(&self, _: &Part) -> PartValues {
        PartValues::Whole(self.guess[..self.lists.own_count()].to_vec())
    }
}
