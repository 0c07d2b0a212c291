//! Synthetic graphs whose every edge can be made alone: Kronecker and uniform.
//!
//! Source: R. Murphy et al., "Introducing the Graph 500", 2010, §2.2, for the Kronecker graph, with
//! the parameters A = 0.57, B = C = 0.19; S. Beamer et al., "The GAP Benchmark Suite", 2015, §3,
//! which has both graphs and weights from 1 to 255. Differences:
//! - Random bits are a hash of the seed and the number of the edge, so any range of edges is made
//!   without the others, in parallel, and is the same for any number of threads.
//! - Four levels of the recursion are drawn at once, from an alias table of their 256 outcomes
//!   (M. Vose, "A Linear Algorithm for Generating Random Numbers with a Given Distribution", 1991).
//! - Vertex ids are permuted by a keyed bijection and not by a shuffled table, which would take
//!   4 bytes a vertex.
//!
//! # Cost
//! A Kronecker edge takes a table look-up for four levels, a uniform edge one hash; no memory.

use std::ops::Range;

use everedge_core::{Edge, SplitMix64, VertexId, par, scramble};

use crate::{Error, Result};

/// The probabilities in percent of the quadrants A, B, C and D of the adjacency matrix; the
/// quadrant's number is its bit of the source, then its bit of the destination.
const QUADRANT_PERCENT: [u64; 4] = [57, 19, 19, 5];

/// How many levels of the Kronecker recursion are drawn at once.
const DRAW_LEVELS: u32 = 4;
/// How many outcomes that has.
const OUTCOMES: usize = 1 << (2 * DRAW_LEVELS);
/// How many random bits a draw takes: 8 for a slot of the table and 24 for a point in it.
const DRAW_BITS: u32 = u32::BITS;

const SCALE_MAX: u32 = 31;
const WEIGHT_MAX: u64 = 255;

/// How many edges a parallel task makes.
const GRAIN_EDGES: usize = 1 << 14;

/// A synthetic graph of 2^scale ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    kind: Kind,
    scale: u32,
    degree: u32,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Kron,
    Uniform,
}

impl Generator {
    /// Describes a Kronecker graph of 2^`scale` ids and `degree`·2^`scale` edges.
    ///
    /// # Errors
    /// [`Error::Generator`] if `scale` is above 31 or `degree` is 0.
    ///
    /// # Example
    /// ```
    /// let graph = everedge_io::Generator::kron(10, 16, 1)?;
    /// assert_eq!(graph.edge_count(), 16 << 10);
    /// assert_eq!(graph.edges(100..200)[..], graph.edges(0..200)[100..]);
    /// # Ok::<(), everedge_io::Error>(())
    /// ```
    pub fn kron(scale: u32, degree: u32, seed: u64) -> Result<Self> {
        Self { kind: Kind::Kron, scale, degree, seed }.checked()
    }

    /// Describes a graph like [`kron`](Self::kron) whose sources and destinations are uniform.
    ///
    /// # Errors
    /// As for `kron`.
    pub fn uniform(scale: u32, degree: u32, seed: u64) -> Result<Self> {
        Self { kind: Kind::Uniform, scale, degree, seed }.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.scale > SCALE_MAX {
            return Err(Error::Generator("a scale of at most 31"));
        }
        if self.degree == 0 {
            return Err(Error::Generator("a degree of at least 1"));
        }
        Ok(self)
    }

    /// Returns the bound of the ids: 2^scale. Not each id below it needs to have an edge.
    pub fn vertex_bound(&self) -> u32 {
        1 << self.scale
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> u64 {
        u64::from(self.degree) << self.scale
    }

    /// Returns the edges whose numbers are in `range`, made in parallel.
    ///
    /// # Panics
    /// If `range` ends after [`edge_count`](Self::edge_count).
    pub fn edges(&self, range: Range<u64>) -> Vec<Edge> {
        let mut edges = vec![(0, 0); range.end.saturating_sub(range.start) as usize];
        self.fill(range.start, &mut edges);
        edges
    }

    /// Overwrites `edges` with the edges from number `first` on, in parallel.
    ///
    /// # Panics
    /// If that is more than there are.
    pub fn fill(&self, first: u64, edges: &mut [Edge]) {
        assert!(
            first + edges.len() as u64 <= self.edge_count(),
            "only {} edges",
            self.edge_count()
        );
        let table = alias_table();
        par::map_chunks_mut(edges, GRAIN_EDGES, |start, piece| {
            let numbered = piece.iter_mut().zip(first + start as u64..);
            match self.kind {
                Kind::Kron => numbered.for_each(|(edge, i)| *edge = self.kron_edge(i, &table)),
                Kind::Uniform => numbered.for_each(|(edge, i)| *edge = self.uniform_edge(i)),
            }
        });
    }

    /// Returns the weights of the edges whose numbers are in `range`: whole, from 1 to 255.
    ///
    /// # Panics
    /// If `range` ends after [`edge_count`](Self::edge_count).
    pub fn weights(&self, range: Range<u64>) -> Vec<f32> {
        assert!(range.end <= self.edge_count(), "only {} edges", self.edge_count());
        let mut weights = vec![0.0; range.end.saturating_sub(range.start) as usize];
        let key = scramble(self.seed ^ WEIGHT_KEY);
        par::map_chunks_mut(&mut weights, GRAIN_EDGES, |start, piece| {
            for (weight, number) in piece.iter_mut().zip(range.start + start as u64..) {
                let random = scramble(key.wrapping_add(number.wrapping_mul(STRIDE))) >> 32;
                *weight = (1 + ((random * WEIGHT_MAX) >> 32)) as f32;
            }
        });
        weights
    }

    #[inline]
    fn uniform_edge(&self, number: u64) -> Edge {
        let random = self.random(number, 0);
        let mask = self.vertex_bound() - 1;
        (random as u32 & mask, (random >> 32) as u32 & mask)
    }

    /// Chooses one of four quadrants of the adjacency matrix, level by level.
    #[inline]
    fn kron_edge(&self, number: u64, table: &[Slot; OUTCOMES]) -> Edge {
        const DRAWS_PER_WORD: u32 = u64::BITS / DRAW_BITS;
        let draw_count = self.scale.div_ceil(DRAW_LEVELS);
        let (mut src, mut dst, mut random) = (0, 0, 0);
        for draw in 0..draw_count {
            if draw % DRAWS_PER_WORD == 0 {
                random = self.random(number, draw / DRAWS_PER_WORD);
            }
            let outcome = table[random as usize % OUTCOMES].draw(random as u32);
            random >>= DRAW_BITS;
            src = src << DRAW_LEVELS | outcome >> DRAW_LEVELS;
            dst = dst << DRAW_LEVELS | outcome & ((1 << DRAW_LEVELS) - 1);
        }
        let excess = draw_count * DRAW_LEVELS - self.scale;
        (self.permute(src >> excess), self.permute(dst >> excess))
    }

    /// Returns random bits for an edge; `word` counts the hashes that the edge takes.
    #[inline]
    fn random(&self, number: u64, word: u32) -> u64 {
        const WORDS_PER_EDGE: u64 = 4;
        let counter = number.wrapping_mul(WORDS_PER_EDGE).wrapping_add(u64::from(word));
        scramble(scramble(self.seed).wrapping_add(counter.wrapping_mul(STRIDE)))
    }

    /// Maps ids one to one, so that an id says nothing about its degree.
    ///
    /// Multiplying by an odd number and adding the high half to the low half can both be undone.
    #[inline]
    fn permute(&self, id: VertexId) -> VertexId {
        let (mask, half) = (self.vertex_bound() - 1, self.scale.div_ceil(2));
        let key = scramble(self.seed ^ PERMUTE_KEY);
        let mut id = id ^ (key as u32 & mask);
        for factor in [0x9e37_79b1_u32, (key >> 32) as u32 | 1, 0x85eb_ca77] {
            id = id.wrapping_mul(factor) & mask;
            id ^= id >> half;
        }
        id
    }
}

/// A slot of an alias table: an outcome of its own below the threshold, another from it on.
#[derive(Clone, Copy, Debug)]
struct Slot {
    threshold: u32,
    own: u32,
    alias: u32,
}

impl Slot {
    /// Returns the outcome of a draw whose low bits have chosen this slot.
    #[inline]
    fn draw(&self, random: u32) -> u32 {
        if random >> (2 * DRAW_LEVELS) < self.threshold { self.own } else { self.alias }
    }
}

/// Makes the table from which a draw takes the bits of four levels: those of the source, then
/// those of the destination.
///
/// All slots are equally likely. A slot whose own outcome is too rare to fill it is filled up by
/// one that is too frequent for its own.
fn alias_table() -> [Slot; OUTCOMES] {
    const FULL: u64 = 100_u64.pow(DRAW_LEVELS);
    const POINTS: u64 = 1 << (DRAW_BITS - 2 * DRAW_LEVELS);
    let mut share: [u64; OUTCOMES] = std::array::from_fn(|outcome| {
        let quadrant =
            |level: u32| (outcome >> (DRAW_LEVELS + level) & 1) << 1 | outcome >> level & 1;
        let percents = (0..DRAW_LEVELS).map(|level| QUADRANT_PERCENT[quadrant(level)]);
        OUTCOMES as u64 * percents.product::<u64>()
    });
    let mut table = std::array::from_fn(|own| Slot {
        threshold: POINTS as u32,
        own: own as u32,
        alias: own as u32,
    });
    let (mut rare, mut frequent): (Vec<usize>, Vec<usize>) =
        (0..OUTCOMES).partition(|&outcome| share[outcome] < FULL);
    while let (Some(slot), Some(&filler)) = (rare.pop(), frequent.last()) {
        table[slot].threshold = (share[slot] * POINTS / FULL) as u32;
        table[slot].alias = filler as u32;
        share[filler] -= FULL - share[slot];
        if share[filler] < FULL {
            frequent.pop();
            rare.push(filler);
        }
    }
    table
}

/// The step between the inputs of [`scramble`] for successive counters.
const STRIDE: u64 = SplitMix64::STEP;
const WEIGHT_KEY: u64 = 0x5745_4947_4854_5321;
const PERMUTE_KEY: u64 = 0x5045_524d_5554_4521;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutation_is_one_to_one() {
        for (scale, seed) in [(0, 1), (1, 2), (5, 3), (16, 4)] {
            let graph = Generator::kron(scale, 1, seed).unwrap();
            let mut ids: Vec<_> = (0..graph.vertex_bound()).map(|id| graph.permute(id)).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..graph.vertex_bound()), "scale {scale}, seed {seed}");
        }
    }

    #[test]
    fn quadrants_come_as_often_as_they_should() {
        let graph = Generator::kron(1, 1 << 20, 7).unwrap();
        let mut counts = [0_u32; 4];
        for (src, dst) in graph.edges(0..1 << 20) {
            counts[(graph.permute_back(src) * 2 + graph.permute_back(dst)) as usize] += 1;
        }
        for (count, probability) in counts.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
            let share = f64::from(count) / f64::from(1 << 20);
            assert!((share - probability).abs() < 0.002, "{share} is not {probability}");
        }
    }

    impl Generator {
        fn permute_back(&self, id: VertexId) -> VertexId {
            (0..self.vertex_bound()).find(|&from| self.permute(from) == id).unwrap()
        }
    }
}
