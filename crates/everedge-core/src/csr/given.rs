//! A CSR of arrays that somebody else has made, and what is checked before they are believed.

use std::error::Error;
use std::fmt;

use super::{Adjacency, Csr, EDGE_GRAIN, VERTEX_GRAIN};
use crate::{Bitmap, MAX_VERTEX_ID, VertexId, par, scramble};

/// Why arrays are not the lists of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ListsError {
    /// There are more vertices than ids, or no offset at all.
    Length {
        /// How many offsets there are.
        offset_count: usize,
    },
    /// An offset is wrong.
    Offset {
        /// Its place.
        place: usize,
        /// The offset.
        offset: u64,
        /// How many neighbors there are.
        neighbor_count: usize,
    },
    /// A neighbor is no vertex.
    Neighbor {
        /// Its place.
        place: usize,
        /// The neighbor.
        neighbor: VertexId,
        /// How many vertices there are.
        vertex_count: u32,
    },
    /// There are not as many weights as neighbors.
    WeightCount {
        /// How many weights there are.
        weight_count: usize,
        /// How many neighbors there are.
        neighbor_count: usize,
    },
    /// A weight is not finite.
    Weight {
        /// Its place.
        place: usize,
        /// The weight.
        weight: f32,
    },
    /// An edge without a direction is in the list of one of its ends only, or has another weight there.
    OneSided,
}

impl fmt::Display for ListsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length { offset_count } => write!(
                f,
                "{offset_count} offsets: there must be one more than vertices, of which there are 2^31 at most"
            ),
            Self::Offset { place, offset, neighbor_count } => write!(
                f,
                "offset {place} is {offset}: offsets must begin with 0, never fall, and end with {neighbor_count}, the number of neighbors"
            ),
            Self::Neighbor { place, neighbor, vertex_count } => write!(
                f,
                "neighbor {place} is vertex {neighbor}: vertices are numbered from 0, and there are {vertex_count}"
            ),
            Self::WeightCount { weight_count, neighbor_count } => write!(
                f,
                "{weight_count} weights for {neighbor_count} neighbors: each neighbor must have one"
            ),
            Self::Weight { place, weight } => {
                write!(f, "weight {place} is {weight}: it must be a finite number")
            }
            Self::OneSided => f.write_str(
                "an edge without a direction must stand in the lists of both of its ends with the same weight, and some edge does not: add it to the other list, or make the graph directed",
            ),
        }
    }
}

impl Error for ListsError {}

impl Csr {
    /// Takes lists of out-neighbors as they are: those of vertex `v` are `neighbors[offsets[v]..offsets[v + 1]]`, with `weights`
    /// beside them. Every id from 0 to `offsets.len() - 1` is a vertex. Without directions an edge stands in the lists of both of
    /// its ends, a self-loop once.
    ///
    /// # Errors
    /// If the arrays are not that. Whether each edge stands in both lists is told by a sum of 64 bits.
    ///
    /// # Cost
    /// Every edge once, and of a directed graph as often as in [`Csr::from_edges`] for the lists of in-neighbors.
    ///
    /// # Example
    /// ```
    /// use everedge_core::{Csr, GraphView};
    ///
    /// let g = Csr::from_lists(vec![0, 2, 3, 4], vec![1, 2, 0, 0], None, false).unwrap();
    /// assert_eq!((g.vertex_count(), g.edge_count()), (3, 2));
    /// assert!(Csr::from_lists(vec![0, 1, 1], vec![1], None, false).is_err());
    /// ```
    pub fn from_lists(
        offsets: Vec<u64>,
        neighbors: Vec<VertexId>,
        weights: Option<Vec<f32>>,
        directed: bool,
    ) -> Result<Self, ListsError> {
        let outgoing = Adjacency { offsets, targets: neighbors, weights };
        let vertex_count = outgoing.check_lists()?;
        let arc_count = outgoing.targets.len() as u64;
        let (incoming, edge_count) = if directed {
            (Some(outgoing.reversed()), arc_count)
        } else {
            (None, (arc_count + outgoing.loops_of_both_ends(vertex_count)?) / 2)
        };
        let vertices = Bitmap::from_fn(vertex_count, |_| true);
        Ok(Self { outgoing, incoming, vertices, vertex_count, edge_count })
    }
}

impl Adjacency {
    /// Returns how many vertices there are, if the arrays hold I1 and I2 of the [CSR](super).
    fn check_lists(&self) -> Result<u32, ListsError> {
        let Self { offsets, targets, weights } = self;
        let neighbor_count = targets.len();
        let vertex_count = offsets.len().wrapping_sub(1);
        if vertex_count > MAX_VERTEX_ID as usize + 1 {
            return Err(ListsError::Length { offset_count: offsets.len() });
        }
        let is_wrong = |place: usize| match place {
            0 => offsets[0] != 0,
            _ => offsets[place] < offsets[place - 1],
        };
        let ends = offsets[vertex_count] == neighbor_count as u64;
        let wrong = (0..offsets.len()).find(|&place| is_wrong(place));
        if let Some(place) = wrong.or((!ends).then_some(vertex_count)) {
            return Err(ListsError::Offset { place, offset: offsets[place], neighbor_count });
        }
        let vertex_count = vertex_count as u32;
        if let Some(place) = place_of(targets, |&v| v >= vertex_count) {
            return Err(ListsError::Neighbor { place, neighbor: targets[place], vertex_count });
        }
        if let Some(weights) = weights {
            if weights.len() != neighbor_count {
                let weight_count = weights.len();
                return Err(ListsError::WeightCount { weight_count, neighbor_count });
            }
            if let Some(place) = place_of(weights, |weight| !weight.is_finite()) {
                return Err(ListsError::Weight { place, weight: weights[place] });
            }
        }
        Ok(vertex_count)
    }

    /// Returns how many self-loops there are, if each other edge stands in the lists of both of its ends.
    fn loops_of_both_ends(&self, vertex_count: u32) -> Result<u64, ListsError> {
        let parts = par::map_ranges(vertex_count, VERTEX_GRAIN as u32, |range| {
            let (mut sum, mut loop_count) = (0_u64, 0_u64);
            for u in range {
                for (v, weight) in self.edges(u) {
                    let pair = u64::from(u.min(v)) << 32 | u64::from(u.max(v));
                    let hash = scramble(scramble(pair) ^ u64::from(weight.to_bits()));
                    match u.cmp(&v) {
                        std::cmp::Ordering::Less => sum = sum.wrapping_add(hash),
                        std::cmp::Ordering::Equal => loop_count += 1,
                        std::cmp::Ordering::Greater => sum = sum.wrapping_sub(hash),
                    }
                }
            }
            (sum, loop_count)
        });
        let sum = parts.iter().fold(0_u64, |sum, part| sum.wrapping_add(part.0));
        match sum {
            0 => Ok(parts.iter().map(|part| part.1).sum()),
            _ => Err(ListsError::OneSided),
        }
    }
}

/// Returns the first place of an item for which `is_wrong`.
fn place_of<T: Sync>(items: &[T], is_wrong: impl Fn(&T) -> bool + Sync + Send) -> Option<usize> {
    let firsts = par::map_chunks(items, EDGE_GRAIN, |part| part.iter().position(&is_wrong));
    let found = firsts.iter().position(Option::is_some)?;
    firsts[found].map(|place| found * EDGE_GRAIN + place)
}
