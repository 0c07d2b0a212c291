//! The undirected simple graph behind a view, every edge kept once, at its end of lower degree.
//!
//! Directions, self-loops and parallel edges are taken away. Vertices are renamed by descending
//! degree: *rank* 0 has the most neighbors. Each keeps a sorted list of its neighbors of smaller
//! rank, so that even hubs keep few: at most the square root of twice the number of edges.
//!
//! What hubs keep are hubs, that is, small numbers close to each other. A list that has no fewer
//! neighbors than there are words of one bit for each smaller rank is kept as such a *row* too.
//!
//! Source: Latapy, "Main-memory Triangle Computations for Very Large (Sparse (Power-Law)) Graphs",
//! Theoretical Computer Science 2008 (lists by descending degree); bits between hubs after Koohi
//! Esfahani, Kilpatrick and Vandierendonck, "LOTUS: Locality Optimizing Triangle Counting", PPoPP
//! 2022. Differences: each list has a row or not by its own length, not by a fixed number of hubs.
//!
//! # Cost
//! Every list of the view is read once, and the part that is kept is sorted. 4 bytes for each edge
//! and at most 8 for its row. 8 bytes for each id ([`Order`]), 4 more while it is made.

use everedge_core::{GraphView, VertexId, par};

/// The place of a vertex in the order by descending degree.
pub(crate) type Rank = u32;

/// Ranks in a piece of work: those of hubs take long.
const GRAIN: u32 = 64;
/// Ids in a piece of work that costs little an id.
const ID_GRAIN: usize = 1 << 12;
/// Bits in a word of a row.
const WORD_BITS: u32 = u64::BITS;

/// The vertices that have neighbors, by descending degree.
#[derive(Debug)]
pub(crate) struct Order {
    /// The vertex of each rank.
    vertex: Vec<VertexId>,
    /// `[vertex_bound]`: the rank of each of them, and anything for other ids.
    rank: Vec<Rank>,
}

impl Order {
    /// Sorts the vertices of `view`; those of one degree ascend. Parallel edges and both directions
    /// count: this decides the time of what follows, never its result.
    pub(crate) fn by_degree(view: &impl GraphView) -> Self {
        let mut degree = vec![0_u32; view.vertex_bound() as usize];
        let maxima = par::map_chunks_mut(&mut degree, ID_GRAIN, |first, degrees| {
            let first = first as VertexId;
            view.for_each_out_degree(first..first + degrees.len() as VertexId, |v, out_degree| {
                let in_degree = if view.is_directed() { view.in_degree(v) } else { 0 };
                degrees[(v - first) as usize] = out_degree.saturating_add(in_degree);
            });
            degrees.iter().copied().max().unwrap_or(0)
        });
        let degree_max = maxima.into_iter().max().unwrap_or(0);

        // A counting sort: first how many vertices have each degree, then where they begin.
        let mut next = vec![0; degree_max as usize + 1];
        degree.iter().for_each(|&degree| next[degree as usize] += 1);
        let mut rank_bound = 0;
        for next in next[1..].iter_mut().rev() {
            rank_bound += std::mem::replace(next, rank_bound);
        }
        let mut vertex = vec![0; rank_bound as usize];
        let mut rank = degree;
        for (v, rank) in (0..).zip(&mut rank).filter(|(_, degree)| **degree > 0) {
            let next = &mut next[*rank as usize];
            *rank = *next;
            vertex[*rank as usize] = v;
            *next += 1;
        }
        Self { vertex, rank }
    }

    /// Returns how many vertices have neighbors.
    pub(crate) fn rank_bound(&self) -> Rank {
        self.vertex.len() as Rank
    }
}

/// The neighbors of smaller rank of every rank.
#[derive(Debug)]
pub(crate) struct Oriented {
    /// Those of ranks `i * GRAIN..` at `i`.
    pieces: Vec<Piece>,
}

/// The lists of [`GRAIN`] ranks, and the rows of those that have one.
#[derive(Debug)]
struct Piece {
    lists: Runs<Rank>,
    rows: Runs<u64>,
}

/// Runs of items, one after the other.
#[derive(Debug)]
struct Runs<T> {
    /// Where each run begins, and where the last one ends.
    bounds: Vec<u32>,
    items: Vec<T>,
}

impl<T> Runs<T> {
    fn new() -> Self {
        Self { bounds: vec![0], items: Vec::new() }
    }

    /// Ends the run that begins after the last one, of the items that were added since.
    fn end(&mut self) {
        self.bounds.push(self.items.len() as u32);
    }

    #[inline]
    fn get(&self, i: u32) -> &[T] {
        let i = i as usize;
        &self.items[self.bounds[i] as usize..self.bounds[i + 1] as usize]
    }
}

impl Oriented {
    /// Keeps the neighbors of each vertex, over edges either way.
    pub(crate) fn new(view: &impl GraphView, order: &Order) -> Self {
        Self::from_lists(order, |u, list| {
            let v = order.vertex[u as usize];
            keep_smaller(order, u, view.out_neighbors(v), view.out_degree(v), list);
            if view.is_directed() {
                keep_smaller(order, u, view.in_neighbors(v), view.in_degree(v), list);
            }
            list.sort_unstable();
            list.dedup();
        })
    }

    /// Keeps what `fill(u, list)` puts into the empty `list`: smaller ranks than `u`, ascending.
    fn from_lists(order: &Order, fill: impl Fn(Rank, &mut Vec<Rank>) + Sync + Send) -> Self {
        let pieces = par::map_ranges(order.rank_bound(), GRAIN, |ranks| {
            let (mut lists, mut rows, mut list) = (Runs::new(), Runs::new(), Vec::new());
            for u in ranks {
                list.clear();
                fill(u, &mut list);
                let word_count = u.div_ceil(WORD_BITS) as usize;
                if word_count <= list.len() {
                    let begin = rows.items.len();
                    rows.items.resize(begin + word_count, 0);
                    insert_all(&mut rows.items[begin..], &list);
                }
                lists.items.extend_from_slice(&list);
                lists.end();
                rows.end();
            }
            Piece { lists, rows }
        });
        Self { pieces }
    }

    /// Returns the neighbors of `u` that have a smaller rank, in ascending order.
    #[inline]
    pub(crate) fn list(&self, u: Rank) -> &[Rank] {
        self.pieces[(u / GRAIN) as usize].lists.get(u % GRAIN)
    }

    /// Returns them as bits, for [`contains`]; empty if `u` has no row.
    #[inline]
    pub(crate) fn row(&self, u: Rank) -> &[u64] {
        self.pieces[(u / GRAIN) as usize].rows.get(u % GRAIN)
    }
}

/// Adds the ranks of `neighbors`, of which there are `degree`, that are smaller than `u` to `list`.
fn keep_smaller(
    order: &Order,
    u: Rank,
    neighbors: impl Iterator<Item = VertexId>,
    degree: u32,
    list: &mut Vec<Rank>,
) {
    let mut len = list.len();
    list.resize(len + degree as usize, 0);
    // Each is written, and written over unless it is smaller: a branch would be foreseen badly.
    for v in neighbors {
        let rank = order.rank[v as usize];
        list[len] = rank;
        len += usize::from(rank < u);
    }
    list.truncate(len);
}

/// Returns whether `v` is in `row`.
#[inline]
pub(crate) fn contains(row: &[u64], v: Rank) -> bool {
    row[(v / WORD_BITS) as usize] >> (v % WORD_BITS) & 1 == 1
}

/// Adds all of `list` to `row`.
pub(crate) fn insert_all(row: &mut [u64], list: &[Rank]) {
    list.iter().for_each(|&v| row[(v / WORD_BITS) as usize] |= 1 << (v % WORD_BITS));
}

/// Empties `row`, which has the members of `list`.
pub(crate) fn clear_all(row: &mut [u64], list: &[Rank]) {
    list.iter().for_each(|&v| row[(v / WORD_BITS) as usize] = 0);
}

/// Returns an empty row of all ranks.
pub(crate) fn empty_row(order: &Order) -> Vec<u64> {
    vec![0; order.rank_bound().div_ceil(WORD_BITS) as usize]
}
