//! The undirected simple graph behind a view, every edge kept once, at its end of lower degree.
//!
//! Directions, self-loops and parallel edges are taken away. Vertices are renamed by descending
//! degree: *rank* 0 has the most neighbors. Each keeps a sorted list of its neighbors of smaller
//! rank, so that even hubs keep few: at most the square root of twice the number of edges.
//!
//! What hubs keep are hubs, that is, small numbers close to each other. A list that has no fewer
//! neighbors than there are words of one bit for each smaller rank is kept as such a *row* too.
//!
//! What `u` and its neighbor `v` of smaller rank both keep is found with the members of `u` marked
//! with a bit each. Whichever is shortest is gone through, without a branch for what is found:
//! - the row of `v`, if it has one, word by word beside the marks;
//! - what `u` keeps before `v`, a bit of the row of `v` for each;
//! - the list of `v`, which is short if there is no row, a mark for each.
//!
//! Of a row and of a list only the part between the smallest and the largest of what `u` keeps before
//! `v` is gone through.
//!
//! Source: Latapy, "Main-memory Triangle Computations for Very Large (Sparse (Power-Law)) Graphs",
//! Theoretical Computer Science 2008 (lists by descending degree); bits between hubs after Koohi
//! Esfahani, Kilpatrick and Vandierendonck, "LOTUS: Locality Optimizing Triangle Counting", PPoPP
//! 2022. Differences: each list has a row or not by its own length, not by a fixed number of hubs.
//!
//! # Cost
//! Every list of the view is read once, in the order of ids, and the part that is kept is sorted. 4 bytes
//! for each edge, 4 more until all lists are read, and at most 8 for its row. 8 bytes for each id ([`Order`]).

use std::ops::Range;

use everedge_core::{Direction, GraphView, ListVisitor, VertexId, par};

/// The place of a vertex in the order by descending degree.
pub(crate) type Rank = u32;

/// Ranks whose lists lie together.
const GRAIN: u32 = 64;
/// Ids whose lists are read together.
const READ_GRAIN: u32 = 1 << 12;
/// What a task takes at most, in looks at an entry or a word of a row.
pub(crate) const TASK_COST: u64 = 1 << 20;
/// Ids in a piece of work that costs little an id.
const ID_GRAIN: usize = 1 << 12;
/// Bits in a word of a row.
const WORD_BITS: u32 = u64::BITS;
/// Words of a row that are gone through in the time of testing one bit.
const WORDS_PER_TEST: usize = 2;
/// A shorter list is gone through in the time of finding which part of it matters.
const CUT_MIN: usize = 24;

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
            let range = first..first + degrees.len() as VertexId;
            let mut add = |v: VertexId, count| {
                let degree = &mut degrees[(v - first) as usize];
                *degree = degree.saturating_add(count);
            };
            view.for_each_degree(Direction::Out, range.clone(), &mut add);
            if view.is_directed() {
                view.for_each_degree(Direction::In, range, add);
            }
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

    /// Returns how many vertices have neighbors; a self-loop makes a vertex its own.
    pub(crate) fn rank_bound(&self) -> Rank {
        self.vertex.len() as Rank
    }

    /// Returns `[vertex_bound]`: what `of_rank` says of the rank of each vertex; the default for ids
    /// without one.
    pub(crate) fn by_vertex<T: Default + Send>(
        &self,
        of_rank: impl Fn(Rank) -> T + Sync + Send,
    ) -> Vec<T> {
        par::collect(self.rank.len(), |v| {
            let rank = self.rank[v];
            let has_rank = self.vertex.get(rank as usize) == Some(&(v as VertexId));
            if has_rank { of_rank(rank) } else { T::default() }
        })
    }
}

/// Work for one thread: some ranks, or a part of the list of one.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    ranks: Range<Rank>,
    /// Places in the list, if it is one rank.
    places: Range<usize>,
}

impl Task {
    /// Returns each rank with the places of its list in `graph` that are gone through.
    pub(crate) fn parts(&self, graph: &Oriented) -> impl Iterator<Item = (Rank, Range<usize>)> {
        let (start, end) = (self.places.start, self.places.end);
        self.ranks.clone().map(move |u| (u, start..end.min(graph.list(u).len())))
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

impl Piece {
    /// Keeps what `fill(u, list)` puts into the empty `list`.
    fn new(ranks: Range<Rank>, fill: impl Fn(Rank, &mut Vec<Rank>)) -> Self {
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
        Self { lists, rows }
    }
}

impl Oriented {
    /// Keeps the neighbors of each vertex, over edges either way.
    pub(crate) fn new(view: &impl GraphView, order: &Order) -> Self {
        let directions: &[Direction] =
            if view.is_directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        Self::from_sides(view, order, directions, |sides, list| {
            sides.iter().for_each(|ranks| list.extend_from_slice(ranks));
        })
    }

    /// Keeps the neighbors of each vertex that edges lead to and from.
    pub(crate) fn mutual(view: &impl GraphView, order: &Order) -> Self {
        let directions = [Direction::Out, Direction::In];
        Self::from_sides(view, order, &directions, |sides, list| {
            let mut sources = sides[1].to_vec();
            sources.sort_unstable();
            list.extend(sides[0].iter().filter(|&w| sources.binary_search(w).is_ok()));
        })
    }

    /// Keeps what `join(sides, list)` puts into the empty `list` of each vertex, each rank once; `sides` are the
    /// smaller ranks among its neighbors in each of the directions.
    ///
    /// Lists of a view are read in the order of ids, in which they lie; what is kept of them is short.
    fn from_sides(
        view: &impl GraphView,
        order: &Order,
        directions: &[Direction],
        join: impl Fn(&[&[Rank]], &mut Vec<Rank>) + Sync + Send,
    ) -> Self {
        let kept = par::map_ranges(view.vertex_bound(), READ_GRAIN, |ids| {
            let sides: Vec<Side> = directions
                .iter()
                .map(|&direction| Side::read(view, order, direction, &ids))
                .collect();
            let (mut kept, mut list) = (Runs::new(), Vec::new());
            for place in 0..ids.len() {
                let lists: [&[Rank]; 2] = std::array::from_fn(|side| {
                    sides.get(side).map_or(&[][..], |side| side.list(place))
                });
                list.clear();
                join(&lists[..sides.len()], &mut list);
                list.sort_unstable();
                list.dedup();
                kept.items.extend_from_slice(&list);
                kept.end();
            }
            kept
        });
        let pieces = par::map_ranges(order.rank_bound(), GRAIN, |ranks| {
            Piece::new(ranks, |u, list| {
                let v = order.vertex[u as usize];
                list.extend_from_slice(kept[(v / READ_GRAIN) as usize].get(v % READ_GRAIN));
            })
        });
        Self { pieces }
    }

    /// Divides what to go through, if each rank looks at what every member of its list shares with
    /// those before it. The list of a hub, which takes long, is of several tasks; about `cost_max` is
    /// what each takes at most.
    pub(crate) fn tasks(&self, cost_max: u64) -> Vec<Task> {
        let firsts = (0..).step_by(GRAIN as usize);
        let tasks = firsts.zip(&self.pieces).flat_map(|(first, piece)| {
            let ranks = first..first + piece.lists.bounds.len() as Rank - 1;
            let cost: u64 = ranks.clone().map(|u| self.cost(u)).sum();
            let (whole, parts) = match cost <= cost_max {
                true => (Some(Task { ranks, places: 0..usize::MAX }), 0..0),
                false => (None, ranks),
            };
            whole.into_iter().chain(parts.flat_map(move |u| self.parts_of(u, cost_max)))
        });
        tasks.collect()
    }

    /// Cuts the list of `u` into tasks.
    fn parts_of(&self, u: Rank, cost_max: u64) -> impl Iterator<Item = Task> {
        let len = self.list(u).len();
        let part_len = len.div_ceil(self.cost(u).div_ceil(cost_max).max(1) as usize).max(1);
        let starts = (0..len).step_by(part_len);
        starts.map(move |start| Task { ranks: u..u + 1, places: start..start + part_len })
    }

    /// Returns about how many looks the list of `u` takes.
    fn cost(&self, u: Rank) -> u64 {
        let len = self.list(u).len() as u64;
        len * (1 + (len / 2).min(u64::from(u / WORD_BITS)))
    }

    /// Returns the neighbors of `u` that have a smaller rank, in ascending order.
    #[inline]
    pub(crate) fn list(&self, u: Rank) -> &[Rank] {
        self.pieces[(u / GRAIN) as usize].lists.get(u % GRAIN)
    }

    /// Returns them as bits; empty if `u` has no row.
    #[inline]
    fn row(&self, u: Rank) -> &[u64] {
        self.pieces[(u / GRAIN) as usize].rows.get(u % GRAIN)
    }

    /// Returns how many neighbors of `v` are in `marks`, whose members below `v` are `before`.
    pub(crate) fn count_common(&self, v: Rank, before: &[Rank], marks: &[u64]) -> u64 {
        let count = |list: &[Rank], row| list.iter().map(|&w| u64::from(contains(row, w))).sum();
        match Shortest::of(self.list(v), self.row(v), before) {
            Shortest::List(list) => count(list, marks),
            Shortest::Before(row) => count(before, row),
            Shortest::Row(row, first) => {
                let words = row.iter().zip(&marks[first..]);
                words.map(|(a, b)| u64::from((a & b).count_ones())).sum()
            }
        }
    }

    /// Adds `weight` to those of `sums` whose rank is a neighbor of `v` and in `marks`, as for
    /// [`count_common`](Self::count_common); returns how many these are.
    pub(crate) fn add_to_common(
        &self,
        v: Rank,
        before: &[Rank],
        marks: &[u64],
        weight: u32,
        sums: &mut [u32],
    ) -> u64 {
        let mut add = |list: &[Rank], row: &[u64]| {
            let mut count = 0;
            for &w in list {
                let found = u32::from(contains(row, w));
                sums[w as usize] += found * weight;
                count += u64::from(found);
            }
            count
        };
        match Shortest::of(self.list(v), self.row(v), before) {
            Shortest::List(list) => add(list, marks),
            Shortest::Before(row) => add(before, row),
            Shortest::Row(row, first) => {
                let mut count = 0;
                let sums = sums[first * WORD_BITS as usize..].chunks_mut(WORD_BITS as usize);
                for ((a, b), sums) in row.iter().zip(&marks[first..]).zip(sums) {
                    let mut both = a & b;
                    count += u64::from(both.count_ones());
                    while both != 0 {
                        sums[both.trailing_zeros() as usize] += weight;
                        both &= both - 1;
                    }
                }
                count
            }
        }
    }
}

/// What to go through to find what two lists share.
enum Shortest<'a> {
    /// The neighbors of `v`, looking at the marks.
    List(&'a [Rank]),
    /// The members below `v`, looking at its row, which this is.
    Before(&'a [u64]),
    /// The words of the row of `v` from this place on, beside those of the marks.
    Row(&'a [u64], usize),
}

impl<'a> Shortest<'a> {
    #[inline]
    fn of(list: &'a [Rank], row: &'a [u64], before: &[Rank]) -> Self {
        let (Some(&smallest), Some(&largest)) = (before.first(), before.last()) else {
            return Self::List(&[]);
        };
        if row.is_empty() {
            return Self::List(within(list, smallest, largest));
        }
        let (first, last) = ((smallest / WORD_BITS) as usize, (largest / WORD_BITS) as usize);
        if last - first >= WORDS_PER_TEST * before.len() {
            Self::Before(row)
        } else {
            Self::Row(&row[first..=last], first)
        }
    }
}

/// Returns the part of `list` from `smallest` to `largest`, or more if it is short.
#[inline]
fn within(list: &[Rank], smallest: Rank, largest: Rank) -> &[Rank] {
    if list.len() < CUT_MIN {
        return list;
    }
    let list = &list[..list.partition_point(|&w| w <= largest)];
    &list[list.partition_point(|&w| w < smallest)..]
}

/// Returns how many entries the lists of `v` have.
pub(crate) fn listed_degree(view: &impl GraphView, v: VertexId) -> u64 {
    let in_degree = if view.is_directed() { view.in_degree(v) } else { 0 };
    u64::from(view.out_degree(v)) + u64::from(in_degree)
}

/// The smaller ranks in lists of one direction, one list after the other.
struct Side<'a> {
    order: &'a Order,
    first: VertexId,
    /// Where the list of each id starts.
    starts: Vec<usize>,
    /// The first `count` are valid.
    ranks: Vec<Rank>,
    count: usize,
}

impl<'a> Side<'a> {
    /// Reads the lists of some ids.
    fn read(
        view: &impl GraphView,
        order: &'a Order,
        direction: Direction,
        ids: &Range<VertexId>,
    ) -> Self {
        let (starts, ranks) = (Vec::new(), Vec::new());
        let mut side = Self { order, first: ids.start, starts, ranks, count: 0 };
        view.visit_neighbors(direction, ids.clone(), &mut side);
        side.end_before(ids.end + 1);
        side
    }

    /// Returns what is kept of the list of the id at a place.
    fn list(&self, place: usize) -> &[Rank] {
        &self.ranks[self.starts[place]..self.starts[place + 1]]
    }

    /// The lists of ids below `v` end here.
    fn end_before(&mut self, v: VertexId) {
        self.starts.resize((v - self.first) as usize, self.count);
    }
}

impl ListVisitor for Side<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline(always)]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        self.end_before(v + 1);
        let u = self.order.rank[v as usize];
        // Each is written, and written over unless it is smaller: a branch would be foreseen badly.
        neighbors.for_each(|v| {
            let rank = self.order.rank[v as usize];
            if self.count == self.ranks.len() {
                self.ranks.resize(2 * self.count + READ_GRAIN as usize, 0);
            }
            self.ranks[self.count] = rank;
            self.count += usize::from(rank < u);
        });
    }
}

/// Returns whether `v` is in `row`.
#[inline]
fn contains(row: &[u64], v: Rank) -> bool {
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
