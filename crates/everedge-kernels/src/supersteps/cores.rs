//! Coreness in supersteps.
//!
//! Every vertex guesses its coreness, its number of neighbors at first. A guess of k that is not borne out by k neighbors with a
//! guess of at least k is lowered to what is, until all are. A shard lowers those of its own vertices by the guesses
//! that it was told of its ghosts, then says which of its own are lower than it said before.
//!
//! Source: Montresor, De Pellegrini and Miorandi, "Distributed k-Core Decomposition", IEEE TPDS 2013.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

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
    guess: Vec<AtomicU32>,
    /// What was said of own vertices.
    told: Vec<u32>,
    /// Own vertices whose guess is to be looked at.
    doubted: Vec<VertexId>,
}

impl Cores {
    pub(super) fn begin(
        view: &impl GraphView,
        part: &Part,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let bound = view.vertex_bound() as usize;
        let guess: Vec<_> = (0..bound).map(|_| AtomicU32::new(u32::MAX)).collect();
        match saved.map(|saved| saved.values) {
            None => {
                par::map_chunks(part.owned(), GRAIN, |owned| {
                    for &v in owned {
                        guess[v as usize].store(neighbor_count(view, v), Relaxed);
                    }
                });
            }
            Some(PartValues::Whole(guesses)) if guesses.len() == part.owned().len() => {
                for (&v, &known) in part.owned().iter().zip(guesses) {
                    guess[v as usize].store(known, Relaxed);
                }
            }
            Some(_) => return Err(bad_message(part.shard(), "its values are not corenesses")),
        }
        let mut cores = Self { guess, told: vec![u32::MAX; bound], doubted: part.owned().to_vec() };
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
        let is_doubted = AtomicBitmap::new(view.vertex_bound());
        self.doubted.iter().for_each(|&v| _ = is_doubted.give(v));
        let mut lowered = Vec::new();
        for (shard, ghosts, message) in part.said(messages) {
            unpack(shard, ghosts, message, |v, guess: u32| {
                self.guess[v as usize].store(guess, Relaxed);
                lowered.push((v, guess));
            })?;
        }
        let mut doubted = std::mem::take(&mut self.doubted);
        let lower = &*self;
        let found = par::map_chunks(&lowered, GRAIN, |lowered| {
            let doubt = |&(v, guess)| lower.doubt(view, part, &is_doubted, v, guess);
            lowered.iter().flat_map(doubt).collect::<Vec<_>>()
        });
        doubted.extend(joined(found));
        while !doubted.is_empty() {
            let found = par::map_chunks(&doubted, GRAIN, |doubted| {
                let mut counts = Vec::new();
                let mut found = Vec::new();
                for &v in doubted {
                    _ = is_doubted.take(v);
                    if let Some(guess) = lower.lower(view, v, &mut counts) {
                        found.extend(lower.doubt(view, part, &is_doubted, v, guess));
                    }
                }
                found
            });
            doubted = joined(found);
        }
        Ok(self.say(part))
    }

    /// Returns the own neighbors of `v` to look at since its guess is `guess`, each to one caller only.
    fn doubt<'a>(
        &'a self,
        view: &'a impl GraphView,
        part: &'a Part,
        is_doubted: &'a AtomicBitmap,
        v: VertexId,
        guess: u32,
    ) -> impl Iterator<Item = VertexId> + 'a {
        let back = view.is_directed().then(|| view.in_neighbors(v));
        let neighbors = view.out_neighbors(v).chain(back.into_iter().flatten());
        neighbors.filter(move |&w| {
            let is_lower = part.owns(w) && self.guess[w as usize].load(Relaxed) > guess;
            is_lower && !is_doubted.give(w)
        })
    }

    /// Lowers the guess of `v` if its neighbors do not bear it out; returns the new one then.
    fn lower(&self, view: &impl GraphView, v: VertexId, counts: &mut Vec<u32>) -> Option<u32> {
        let guess = self.guess[v as usize].load(Relaxed);
        counts.clear();
        counts.resize(guess as usize + 1, 0);
        for_each_neighbor(view, v, |w| {
            counts[self.guess[w as usize].load(Relaxed).min(guess) as usize] += 1;
        });
        let (mut least, mut bearing) = (guess, counts[guess as usize]);
        while bearing < least {
            least -= 1;
            bearing += counts[least as usize];
        }
        (least < guess).then(|| {
            self.guess[v as usize].store(least, Relaxed);
            least
        })
    }

    fn say(&mut self, part: &Part) -> Said {
        let guess = |v: VertexId| self.guess[v as usize].load(Relaxed);
        let is_news = |v: VertexId| guess(v) < self.told[v as usize];
        let say = |list: &Vec<VertexId>| pack(list, is_news, guess);
        let messages: Vec<_> = part.mirrored().iter().map(say).collect();
        let mut count = self.doubted.len();
        for &v in part.mirrored().iter().flatten() {
            let now = guess(v);
            count += usize::from(now < self.told[v as usize]);
            self.told[v as usize] = now;
        }
        Said { messages, sums: vec![count as f64] }
    }

    pub(super) fn values(&self, part: &Part) -> PartValues {
        let guess = |&v: &VertexId| self.guess[v as usize].load(Relaxed);
        PartValues::Whole(part.owned().iter().map(guess).collect())
    }
}

/// Returns how many other vertices are neighbors of `v`, whatever the direction.
fn neighbor_count(view: &impl GraphView, v: VertexId) -> u32 {
    let mut count = 0;
    for_each_neighbor(view, v, |_| count += 1);
    count
}

/// Calls `f` on each other vertex that is a neighbor of `v`, once.
fn for_each_neighbor(view: &impl GraphView, v: VertexId, f: impl FnMut(VertexId)) {
    match !view.is_directed() && view.lists_are_distinct() {
        true => view.out_neighbors(v).for_each(f),
        false => simple_neighbors(view, v).into_iter().for_each(f),
    }
}
