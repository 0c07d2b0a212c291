//! Synthetic graphs whose every edge can be made alone: Kronecker and uniform.
//!
//! Source: R. Murphy et al., "Introducing the Graph 500", 2010, §2.2, for the Kronecker graph, with
//! the parameters A = 0.57, B = C = 0.19; S. Beamer et al., "The GAP Benchmark Suite", 2015, §3,
//! which has both graphs and weights from 1 to 255. Differences:
//! - Random bits are a hash of the seed and the number of the edge, so any range of edges is made
//!   without the others, in parallel, and is the same for any number of threads.
//! - A level of the recursion takes 16 random bits, four levels a hash; its probabilities are
//!   multiples of 2^-16.
//! - Vertex ids are permuted by a keyed bijection and not by a shuffled table, which would take
//!   4 bytes a vertex.
//!
//! # Cost
//! A Kronecker edge takes about one step for each level, a uniform edge one hash; no memory.

use std::ops::Range;

use everedge_core::{Edge, VertexId, par};

use crate::{Error, Result};

/// The probabilities of the quadrants A, A + B and A + B + C, times 2^16.
const KRON_A: u64 = 37_356;
const KRON_AB: u64 = 49_807;
const KRON_ABC: u64 = 62_259;

/// How many random bits a level of the Kronecker recursion takes.
const LEVEL_BITS: u32 = 16;
/// How many levels a hash gives bits for.
const LEVELS_PER_HASH: u32 = u64::BITS / LEVEL_BITS;

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
        par::map_chunks_mut(edges, GRAIN_EDGES, |start, piece| {
            for (edge, number) in piece.iter_mut().zip(first + start as u64..) {
                *edge = self.edge(number);
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
        let key = mix(self.seed ^ WEIGHT_KEY);
        par::map_chunks_mut(&mut weights, GRAIN_EDGES, |start, piece| {
            for (weight, number) in piece.iter_mut().zip(range.start + start as u64..) {
                let random = mix(key.wrapping_add(number.wrapping_mul(STRIDE))) >> 32;
                *weight = (1 + ((random * WEIGHT_MAX) >> 32)) as f32;
            }
        });
        weights
    }

    #[inline]
    fn edge(&self, number: u64) -> Edge {
        match self.kind {
            Kind::Kron => self.kron_edge(number),
            Kind::Uniform => {
                let random = self.random(number, 0);
                let mask = self.vertex_bound() - 1;
                (random as u32 & mask, (random >> 32) as u32 & mask)
            }
        }
    }

    /// Chooses one of four quadrants of the adjacency matrix, level by level.
    #[inline]
    fn kron_edge(&self, number: u64) -> Edge {
        let (mut src, mut dst) = (0, 0);
        for first_level in (0..self.scale).step_by(LEVELS_PER_HASH as usize) {
            let mut random = self.random(number, first_level / LEVELS_PER_HASH);
            for _ in first_level..self.scale.min(first_level + LEVELS_PER_HASH) {
                let point = random & ((1 << LEVEL_BITS) - 1);
                random >>= LEVEL_BITS;
                let is_lower = point >= KRON_AB;
                let is_right = ((point >= KRON_A) ^ is_lower) | (point >= KRON_ABC);
                src = src << 1 | u32::from(is_lower);
                dst = dst << 1 | u32::from(is_right);
            }
        }
        (self.permute(src), self.permute(dst))
    }

    /// Returns random bits for an edge; `word` counts the hashes that the edge takes.
    #[inline]
    fn random(&self, number: u64, word: u32) -> u64 {
        const WORDS_PER_EDGE: u64 = SCALE_MAX.div_ceil(LEVELS_PER_HASH) as u64;
        let counter = number.wrapping_mul(WORDS_PER_EDGE).wrapping_add(u64::from(word));
        mix(mix(self.seed).wrapping_add(counter.wrapping_mul(STRIDE)))
    }

    /// Maps ids one to one, so that an id says nothing about its degree.
    ///
    /// Multiplying by an odd number and adding the high half to the low half can both be undone.
    #[inline]
    fn permute(&self, id: VertexId) -> VertexId {
        let (mask, half) = (self.vertex_bound() - 1, self.scale.div_ceil(2));
        let key = mix(self.seed ^ PERMUTE_KEY);
        let mut id = id ^ (key as u32 & mask);
        for factor in [0x9e37_79b1_u32, (key >> 32) as u32 | 1, 0x85eb_ca77] {
            id = id.wrapping_mul(factor) & mask;
            id ^= id >> half;
        }
        id
    }
}

/// The step between the inputs of [`mix`] for successive counters: 2^64 over the golden ratio.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;
const WEIGHT_KEY: u64 = 0x5745_4947_4854_5321;
const PERMUTE_KEY: u64 = 0x5045_524d_5554_4521;

/// Scrambles 64 bits: the output function of SplitMix64.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014, with the constants of D. Stafford's variant 13.
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

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
