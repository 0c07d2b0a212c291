//! Betweenness centrality: how many shortest paths lead over each vertex.
//!
//! The score of a vertex is the sum, over all pairs of a source and another vertex, of the part of
//! the shortest paths between them that lead over it, their ends not counted:
//! ```text
//! score(v) = sum of paths(s, t over v) / paths(s, t)    over s in sources, t != s, v != s, t
//! ```
//! For each source, a breadth-first search counts the shortest paths to every vertex, level by
//! level. Then the levels are gone through backwards. Each vertex has a *share*, what one path to
//! it is worth: a part of the vertex itself as an end of paths, and the shares of its successors,
//! the out-neighbors one level down. What leads over a vertex is as many shares as it has paths:
//! ```text
//! share(u) = 1 / paths(u) + sum of share(v)    over successors v
//! score(u) += paths(u) * sum of share(v)
//! ```
//! Successors are not kept: the shares of even and of odd levels are in two arrays. When those of
//! a level are added up, the array of the other levels holds something for no out-neighbor but the
//! successors, since the levels above come later. So an edge takes one read and no comparison.
//! Where a level has far more out-edges than the level below has in-edges, the shares go up over these
//! instead: mostly the one level with most edges of the graph, above a level with few.
//!
//! Parallel edges make several paths. Scores are not normalized, and each pair of an undirected
//! graph counts in both directions. They are the same for any number of threads: counts of paths
//! are exact up to 2^53, and where there are more, they are added up once more in the order of the
//! in-neighbors; everything else is added up in the order of out-neighbors, of the level below, and of sources.
//!
//! Source: Brandes, "A Faster Algorithm for Betweenness Centrality", J. Mathematical Sociology
//! 2001 (there with dependencies, here paths(u) * share(u) - 1); by levels as Madduri et al., "A
//! Faster Parallel Algorithm and Efficient Multithreaded Implementations for Evaluating Betweenness
//! Centrality on Massive Datasets", IPDPS 2009. Differences: shares instead of bits for successors;
//! the search pulls where that reads fewer edges ([`frontier`](crate::frontier)), and so does the way back. Lists
//! are read at their home as in XPGraph (ToS 2025, §4.2).
//!
//! # Cost
//! O(vertices + edges) that a source reaches, for each source. 36 bytes for each id: scores (the
//! result), depths, paths and two arrays of shares; 4 for each vertex that is reached, and for each level; and up to 4 for each id
//! while shares go up.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{Direction, GraphView, ListVisitor, SplitMix64, VertexId, par, watch};

use crate::error::{check_vertex, require};
use crate::frontier::{
    EdgeMap, EdgeStep, Frontier, edge_count_of, edge_counts_of, map_in_order, map_sources,
    push_grain,
};
use crate::one_hop::one_hop_sample;
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result, UNREACHED};

/// Vertices in a piece of work.
const GRAIN: usize = 64;
/// Vertices in a piece of work that takes little a vertex.
const LIGHT_GRAIN: usize = 1 << 12;
/// Shares go up where that takes so many times fewer edges: each is kept before it counts. Where lists are read from
/// a device, that takes longer, and those of the level below were mostly read by the search.
const UP: u64 = 4;
const UP_FROM_DEVICE: u64 = 1;
/// Of a level with fewer vertices edges are not counted.
const COUNTED_MIN: usize = 1 << 10;
/// Shares that go up are kept for one edge for so many ids, about, before they count.
const IDS_PER_KEPT: u32 = 4;
/// Vertices in a piece of work whose shares go up, at most.
const UP_GRAIN: usize = 1 << 10;
/// Parts of the ids, each of which takes its shares by itself.
const PARTS: u32 = 16;
/// Levels whose ends there is room for at first.
const ENDS_MORE: usize = 1 << 8;
/// Counts below this are exact in whatever order they are added up.
const EXACT_COUNT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
/// What rounding may do to a sum, for a sum of 1.
const ROUNDING: f64 = 1e-10;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
const KERNEL: &str = "betweenness";

/// Where the paths begin that [`betweenness`] looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// At every vertex: scores are exact.
    #[default]
    All,
    /// At vertices that have out-neighbors, drawn as by [`one_hop_sample`]: as in the GAP
    /// Benchmark Suite, each is as likely as any other and may be drawn more than once.
    Sample {
        /// How many are drawn.
        count: usize,
        /// The same seed draws the same ones.
        seed: u64,
    },
    /// At these vertices; one that occurs twice counts twice.
    Given(Vec<VertexId>),
}

/// What [`betweenness`] looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BetweennessConfig {
    /// Where paths begin.
    pub sources: Sources,
}

/// What [`betweenness`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Betweenness {
    /// `[vertex_bound]`: the score of each vertex; 0 for an id that is no vertex.
    pub score: Vec<f64>,
    /// The vertices that paths begin at.
    pub sources: Vec<VertexId>,
    /// What the scores must sum to: how many vertices lie between the ends of each path.
    between: f64,
    last: LastSearch,
}

/// What the search from the last source knew: what its scores were made of, for a spot check.
#[derive(Clone, Debug, Default, PartialEq)]
struct LastSearch {
    /// `[vertex_bound]`: [`UNREACHED`] if it did not get there.
    depth: Vec<u32>,
    /// `[vertex_bound]`: shortest paths to each vertex.
    paths: Vec<f64>,
    /// `[vertex_bound]`: the shares of vertices at even and at odd depths.
    share: [Vec<f64>; 2],
}

impl BetweennessConfig {
    fn sources(&self, view: &impl GraphView) -> Result<Vec<VertexId>> {
        match &self.sources {
            Sources::All => Ok((0..view.vertex_bound()).filter(|&v| view.is_vertex(v)).collect()),
            Sources::Sample { count, seed } => Ok(one_hop_sample(view, *count, *seed)),
            Sources::Given(sources) => {
                sources.iter().try_for_each(|&v| check_vertex(view, v))?;
                Ok(sources.clone())
            }
        }
    }
}

/// Numbers that many threads write, as their bits.
struct Numbers(Vec<AtomicU64>);

impl Numbers {
    fn zeros(bound: u32) -> Self {
        Self(par::collect(bound as usize, |_| AtomicU64::new(0.0_f64.to_bits())))
    }

    #[inline]
    fn get(&self, v: VertexId) -> f64 {
        f64::from_bits(self.0[v as usize].load(Relaxed))
    }

    #[inline]
    fn set(&self, v: VertexId, number: f64) {
        self.0[v as usize].store(number.to_bits(), Relaxed);
    }

    fn into_plain(self) -> Vec<f64> {
        self.0.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect()
    }

    /// Adds `number` while others may do so too; returns the sum.
    #[inline]
    fn add(&self, v: VertexId, number: f64) -> f64 {
        let slot = &self.0[v as usize];
        let mut bits = slot.load(Relaxed);
        loop {
            let sum = f64::from_bits(bits) + number;
            match slot.compare_exchange_weak(bits, sum.to_bits(), Relaxed, Relaxed) {
                Ok(_) => return sum,
                Err(changed) => bits = changed,
            }
        }
    }
}

/// Counts the paths to the vertices at one depth.
struct Count<'a> {
    depth: &'a [AtomicU32],
    paths: &'a Numbers,
    next_depth: u32,
    /// Whether no count is so large that it depends on the order of the additions.
    is_exact: AtomicBool,
}

impl EdgeStep for Count<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        // Depths above the next one are those of vertices that were not reached.
        self.depth[v as usize].load(Relaxed) >= self.next_depth
    }

    #[inline]
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        let depth = &self.depth[v as usize];
        let won = depth.load(Relaxed) == UNREACHED
            && depth.compare_exchange(UNREACHED, self.next_depth, Relaxed, Relaxed).is_ok();
        if self.paths.add(v, self.paths.get(u)) >= EXACT_COUNT {
            self.is_exact.store(false, Relaxed);
        }
        won
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        self.depth[v as usize].store(self.next_depth, Relaxed);
        self.paths.set(v, self.paths.get(v) + self.paths.get(u));
        true
    }
}

/// Adds up scores, source by source.
struct Brandes<'v, V> {
    view: &'v V,
    score: Numbers,
    /// Of the source at hand, as all that follows; [`UNREACHED`] between sources.
    depth: Vec<AtomicU32>,
    /// The number of shortest paths; 0 between sources.
    paths: Numbers,
    /// The shares of vertices at even and at odd depths; 0 between sources.
    share: [Numbers; 2],
}

/// The vertices that a search has reached, by depth: one list for all levels, of which a thin graph has as many as vertices.
#[derive(Default)]
struct Levels {
    members: Vec<VertexId>,
    /// Where each level ends.
    ends: Vec<u32>,
}

impl Levels {
    fn new(view: &impl GraphView) -> Self {
        Self { members: Vec::with_capacity(view.vertex_count() as usize), ends: Vec::new() }
    }

    fn push(&mut self, level: &[VertexId]) {
        self.members.extend_from_slice(level);
        if self.ends.len() == self.ends.capacity() {
            // A graph may have as many levels as vertices: the array grows by an eighth, not to twice as much.
            self.ends.reserve_exact(ENDS_MORE + self.ends.len() / 8);
        }
        self.ends.push(self.members.len() as u32);
    }

    /// Returns where the level at `depth` is; beyond the last one, nothing.
    fn range(&self, depth: usize) -> Range<usize> {
        let end_of =
            |depth: usize| self.ends.get(depth).map_or(self.members.len(), |&end| end as usize);
        depth.checked_sub(1).map_or(0, end_of)..end_of(depth)
    }

    /// Returns the level at `depth`, and the one below it.
    fn with_below(&mut self, depth: usize) -> (&[VertexId], &mut [VertexId]) {
        let (level, below) = (self.range(depth), self.range(depth + 1));
        let (above, rest) = self.members.split_at_mut(level.end);
        (&above[level], &mut rest[..below.len()])
    }
}

impl<'v, V: GraphView> Brandes<'v, V> {
    fn new(view: &'v V) -> Self {
        let bound = view.vertex_bound();
        Self {
            view,
            score: Numbers::zeros(bound),
            depth: par::collect(bound as usize, |_| AtomicU32::new(UNREACHED)),
            paths: Numbers::zeros(bound),
            share: [Numbers::zeros(bound), Numbers::zeros(bound)],
        }
    }

    /// Adds what the paths from `source` contribute to the scores; returns how many vertices lie
    /// between their ends.
    fn add_paths_from(&self, source: VertexId, is_last: bool) -> Result<f64> {
        let mut levels = self.count_paths(source);
        let vertices_at = |depth: u32| levels.range(depth as usize).len() as f64;
        let deepest = levels.ends.len() - 1;
        let between = (1..=deepest as u32).map(|d| f64::from(d - 1) * vertices_at(d)).sum();
        let mut is_finite = true;
        for depth in (1..=deepest).rev() {
            let (level, below) = levels.with_below(depth);
            is_finite &= match self.edges_up(level, below) {
                Some(edges) => {
                    self.push_up(below, &edges, depth);
                    self.take_pushed(level, depth)
                }
                None => self.add_shares(level, depth, !below.is_empty()),
            };
        }
        if !is_last {
            self.forget(&levels.members);
        }
        if is_finite { Ok(between) } else { Err(Error::TooManyPaths { from: source }) }
    }

    /// Counts the shortest paths from `source` to every vertex; returns the vertices at depth 0, 1
    /// and so on.
    fn count_paths(&self, source: VertexId) -> Levels {
        self.depth[source as usize].store(0, Relaxed);
        self.paths.set(source, 1.0);
        let mut edge_map = EdgeMap::new(self.view);
        let mut levels = Levels::new(self.view);
        let mut level = Frontier::single(source);
        while !level.is_empty() {
            let count = Count {
                depth: &self.depth,
                paths: &self.paths,
                next_depth: levels.ends.len() as u32 + 1,
                is_exact: AtomicBool::new(true),
            };
            let mut next = edge_map.step(&mut level, &count);
            if !count.is_exact.into_inner() {
                self.count_in_order(next.list());
            }
            levels.push(level.list());
            level = next;
        }
        levels
    }

    /// Counts the paths to the vertices of `level` once more, each in the order of its in-neighbors.
    fn count_in_order(&self, level: &[VertexId]) {
        let depth = |v: VertexId| self.depth[v as usize].load(Relaxed);
        map_sources(self.view, level, Direction::In, GRAIN, |vertices| {
            for &v in vertices {
                let before = self.view.in_neighbors(v).filter(|&u| depth(u) == depth(v) - 1);
                self.paths.set(v, before.map(|u| self.paths.get(u)).sum());
            }
        });
    }

    /// Adds up the shares of the successors of a level, if it has any: they make the level's
    /// shares and scores. Returns whether all scores are finite.
    fn add_shares(&self, level: &[VertexId], depth: usize, has_successors: bool) -> bool {
        let (share, below) = (&self.share[depth % 2], &self.share[(depth + 1) % 2]);
        let grain = push_grain(self.view, level.len());
        let are_finite = map_sources(self.view, level, Direction::Out, grain, |vertices| {
            let mut shares = Shares { of: self, share, below, are_finite: true };
            match has_successors {
                true => self.view.visit_listed(Direction::Out, vertices, &mut shares),
                false => vertices.iter().for_each(|&u| shares.add(u, 0.0)),
            }
            shares.are_finite
        });
        are_finite.into_iter().all(|are_finite| are_finite)
    }

    /// Returns how many in-edges each [`GRAIN`] vertices of `below`, which it sorts, have, if these are far fewer than the
    /// out-edges of `level`, above it.
    fn edges_up(&self, level: &[VertexId], below: &mut [VertexId]) -> Option<Vec<u64>> {
        if below.is_empty() || level.len() < COUNTED_MIN || !self.view.has_in_neighbors() {
            return None;
        }
        if !below.is_sorted() {
            par::sort(below);
        }
        let up = edge_counts_of(self.view, Direction::In, below, GRAIN);
        let factor = if self.view.reads_in_order() { UP_FROM_DEVICE } else { UP };
        let down = edge_count_of(self.view, Direction::Out, level);
        (factor * up.iter().sum::<u64>() < down).then_some(up)
    }

    /// Adds the shares of `below`, ascending, to the vertices above it, at `depth`, that lead there: of each they are
    /// added up in the order of `below`. `edges` says how many lead to each [`GRAIN`] of these.
    fn push_up(&self, below: &[VertexId], edges: &[u64], depth: usize) {
        let (share, of_below) = (&self.share[depth % 2], &self.share[(depth + 1) % 2]);
        let bound = self.view.vertex_bound();
        let ids_each = bound.div_ceil(PARTS).max(1);
        let kept_max = u64::from(bound / IDS_PER_KEPT);
        let is_above = |u: VertexId| self.depth[u as usize].load(Relaxed) == depth as u32;
        for block in self.blocks(below, edges, kept_max) {
            if let &[v] = block
                && u64::from(self.view.in_degree(v)) > kept_max
            {
                let add = |u| share.set(u, share.get(u) + of_below.get(v));
                self.view.in_neighbors(v).filter(|&u| is_above(u)).for_each(add);
                continue;
            }
            let grain = (block.len() / PARTS as usize).clamp(1, UP_GRAIN);
            let kept = map_in_order(self.view, block, Direction::In, grain, |vertices| {
                let parts = vec![Vec::new(); PARTS as usize];
                let mut above = Above { is_above, ids_each, parts };
                self.view.visit_listed(Direction::In, vertices, &mut above);
                above.parts
            });
            par::for_each_range(PARTS, 1, |part| {
                let of_part = kept.iter().flat_map(|parts| &parts[part.start as usize]);
                of_part.for_each(|&(u, v)| share.set(u, share.get(u) + of_below.get(v)));
            });
        }
    }

    /// Divides `below` into blocks to which at most `kept_max` edges lead, or which have one vertex. `edges` says how
    /// many lead to each [`GRAIN`] of them.
    fn blocks<'b>(
        &self,
        below: &'b [VertexId],
        edges: &[u64],
        kept_max: u64,
    ) -> Vec<&'b [VertexId]> {
        let (mut blocks, mut start, mut end, mut sum) = (Vec::new(), 0, 0, 0);
        let mut add = |vertices: usize, edges: u64| {
            if start < end && sum + edges > kept_max {
                blocks.push(&below[start..end]);
                (start, sum) = (end, 0);
            }
            (end, sum) = (end + vertices, sum + edges);
        };
        for (vertices, &edges) in below.chunks(GRAIN).zip(edges) {
            match edges <= kept_max {
                true => add(vertices.len(), edges),
                false => vertices.iter().for_each(|&v| add(1, self.view.in_degree(v).into())),
            }
        }
        blocks.push(&below[start..]);
        blocks
    }

    /// Makes the shares and scores of a level from what [`Self::push_up`] left there. Returns whether all scores are
    /// finite.
    fn take_pushed(&self, level: &[VertexId], depth: usize) -> bool {
        let (share, below) = (&self.share[depth % 2], &self.share[(depth + 1) % 2]);
        let are_finite = par::map_chunks(level, LIGHT_GRAIN, |vertices| {
            let mut shares = Shares { of: self, share, below, are_finite: true };
            vertices.iter().for_each(|&u| shares.add(u, share.get(u)));
            shares.are_finite
        });
        are_finite.into_iter().all(|are_finite| are_finite)
    }

    /// Makes ready for the next source.
    fn forget(&self, level: &[VertexId]) {
        par::map_chunks(level, LIGHT_GRAIN, |vertices| {
            for &v in vertices {
                self.depth[v as usize].store(UNREACHED, Relaxed);
                self.paths.set(v, 0.0);
                self.share.iter().for_each(|share| share.set(v, 0.0));
            }
        });
    }
}

/// Finds the in-neighbors of vertices that are one level above.
struct Above<F> {
    is_above: F,
    /// Ids of a part.
    ids_each: u32,
    /// In each part of the ids, an edge for each such neighbor.
    parts: Vec<Vec<(VertexId, VertexId)>>,
}

impl<F: Fn(VertexId) -> bool> ListVisitor for Above<F> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline(always)]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        neighbors.for_each(|u| {
            if (self.is_above)(u) {
                self.parts[(u / self.ids_each) as usize].push((u, v));
            }
        });
    }
}

/// Adds up the shares of the successors of vertices.
struct Shares<'a, 'v, V> {
    of: &'a Brandes<'v, V>,
    /// What is made.
    share: &'a Numbers,
    /// That of vertices a step deeper.
    below: &'a Numbers,
    are_finite: bool,
}

impl<V> Shares<'_, '_, V> {
    /// Takes the sum of the shares below `u`.
    #[inline]
    fn add(&mut self, u: VertexId, sum: f64) {
        let paths = self.of.paths.get(u);
        self.share.set(u, paths.recip() + sum);
        let score = self.of.score.get(u) + paths * sum;
        self.of.score.set(u, score);
        self.are_finite &= score.is_finite();
    }
}

impl<V: GraphView> ListVisitor for Shares<'_, '_, V> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline(always)]
    fn visit(&mut self, u: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        self.add(u, neighbors.map(|v| self.below.get(v)).sum());
    }
}

/// Adds up, for the sources of `config`, what part of the shortest paths leads over each vertex of
/// `view`, along the direction of its edges.
///
/// Source: Brandes 2001; see the module for what counts how.
///
/// Cost: for each source, the edges that it reaches at most twice. All vertices as sources take
/// time quadratic in the graph; a sample of some hundred ranks the largest scores well.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if a given source is not a vertex,
/// [`TooManyPaths`](Error::TooManyPaths) if the paths between two vertices cannot be counted.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{BetweennessConfig, betweenness};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 3)], None, CsrOptions::default());
/// assert_eq!(betweenness(&g, &BetweennessConfig::default())?.score, [0.0, 4.0, 4.0, 0.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn betweenness(view: &impl GraphView, config: &BetweennessConfig) -> Result<Betweenness> {
    let sources = config.sources(view)?;
    let brandes = Brandes::new(view);
    let mut between = 0.0;
    for (done, &source) in (1..).zip(&sources) {
        watch::note(done - 1, sources.len() as u64);
        let is_last = done == sources.len() as u64;
        between += par::among_threads(view.homes(), || brandes.add_paths_from(source, is_last))?;
    }
    let last = LastSearch {
        depth: brandes.depth.into_iter().map(AtomicU32::into_inner).collect(),
        paths: brandes.paths.into_plain(),
        share: brandes.share.map(Numbers::into_plain),
    };
    Ok(Betweenness { score: brandes.score.into_plain(), sources, between, last })
}

/// Checks that `result` has the betweenness of `view` for the sources of `config`.
///
/// It has if no score is negative, ids that paths cannot lead over have none, and the scores,
/// weighted with a random number for each vertex, sum to what all shortest paths collect of these
/// numbers on their way. That is found without scores: what paths to a vertex collect is the mean,
/// by number of paths, of what they did up to the vertex before. A wrong score changes the sum,
/// and is found if it is wrong by more than 10^-10 of the sum.
/// Cost: a search from each source on one thread; 28 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold; otherwise as
/// [`betweenness`].
pub fn verify_betweenness(
    view: &impl GraphView,
    config: &BetweennessConfig,
    result: &Betweenness,
) -> Result<()> {
    check_form(view, config, result)?;
    check_all(view.vertex_bound(), |v| check_between(view, result, v))?;
    let (Betweenness { score, sources, .. }, bound) = (result, view.vertex_bound());
    let mut random = SplitMix64::new(0);
    // From 1 to 2^31.
    let toll: Vec<_> = (0..bound).map(|_| 1.0 + (random.next_u64() >> 33) as f64).collect();
    let sum: f64 = score.iter().zip(&toll).map(|(score, toll)| score * toll).sum();
    let mut expected = 0.0;
    for &source in sources {
        expected += collected(view, source, &toll);
    }
    require(KERNEL, (sum - expected).abs() <= ROUNDING * expected, || {
        format!("weighted scores sum to {sum}, shortest paths collect {expected}")
    })
}

/// Checks that no score is negative, scores sum to the vertices between the ends of all paths, and at
/// some vertices that paths can lead over those with a score, and that the last search counted depths,
/// paths and shares as their neighbors' say.
///
/// Misses scores exchanged between vertices by a search that is not the last, and faults at few
/// vertices. Cost: the scores once, and one of 64 vertices, unless it has more than 256 edges.
///
/// # Errors
/// As [`verify_betweenness`].
pub fn spot_check_betweenness(
    view: &impl GraphView,
    config: &BetweennessConfig,
    result: &Betweenness,
) -> Result<()> {
    check_form(view, config, result)?;
    let Betweenness { score, between, .. } = result;
    let sum: f64 =
        par::map_chunks(score, LIGHT_GRAIN, |part| part.iter().sum::<f64>()).iter().sum();
    require(KERNEL, is_near(sum, *between), || {
        format!("scores sum to {sum}, between the ends of paths are {between} vertices")
    })?;
    let Some(&source) = result.sources.last() else { return Ok(()) };
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| check_at(view, source, result, v))
}

/// Checks the lengths, the sources, and the signs of scores.
fn check_form(
    view: &impl GraphView,
    config: &BetweennessConfig,
    result: &Betweenness,
) -> Result<()> {
    let (score, bound) = (&result.score, view.vertex_bound());
    require(KERNEL, score.len() == bound as usize, || {
        format!("{} scores for {bound} ids", score.len())
    })?;
    let has_sources = result.sources == config.sources(view)?;
    require(KERNEL, has_sources, || "paths begin at other vertices".to_string())?;
    check_all(bound, |v| {
        let score = score[v as usize];
        require(KERNEL, score >= 0.0, || format!("{v} has score {score}"))
    })
}

/// Checks that a vertex has a score only if paths may lead over it.
fn check_between(view: &impl GraphView, result: &Betweenness, v: VertexId) -> Result<()> {
    let score = result.score[v as usize];
    let may_lead = || view.out_degree(v) > 0 && view.in_degree(v) > 0;
    require(KERNEL, score == 0.0 || may_lead(), || {
        format!("{v} has score {score}, and no paths lead over it")
    })
}

/// Checks what the last search, from `source`, counted at `v`, unless its lists are long.
fn check_at(
    view: &impl GraphView,
    source: VertexId,
    result: &Betweenness,
    v: VertexId,
) -> Result<()> {
    check_between(view, result, v)?;
    let LastSearch { depth, paths, share } = &result.last;
    let depth_of = |u: VertexId| depth[u as usize];
    let depth_v = depth_of(v);
    let mut seen = view.out_neighbors(v).take(LIST_MAX);
    let skipped = seen.find(|&w| depth_v != UNREACHED && depth_of(w) > depth_v + 1);
    require(KERNEL, skipped.is_none() && (depth_v == 0) == (v == source), || {
        format!("{v} is at depth {depth_v}, its neighbor {skipped:?} further than one more")
    })?;
    let is_long = view.in_degree(v).max(view.out_degree(v)) as usize > LIST_MAX;
    if v == source || depth_v == UNREACHED || is_long {
        return Ok(());
    }
    let before = view.in_neighbors(v).filter(|&u| depth_of(u) == depth_v - 1);
    let path_count: f64 = before.map(|u| paths[u as usize]).sum();
    let after = view.out_neighbors(v).filter(|&w| depth_of(w) == depth_v + 1);
    let shares: f64 = after.map(|w| share[(depth_v as usize + 1) % 2][w as usize]).sum();
    let (paths, share) = (paths[v as usize], share[depth_v as usize % 2][v as usize]);
    let score = result.score[v as usize];
    let part = path_count * shares;
    let has_part = match result.sources.len() {
        1 => is_near(score, part),
        _ => score >= part * (1.0 - ROUNDING),
    };
    let holds = is_near(paths, path_count) && is_near(share, paths.recip() + shares) && has_part;
    require(KERNEL, holds, || {
        format!(
            "{v} has {paths} paths, share {share} and score {score}, not {path_count}, {shares}"
        )
    })
}

/// Whether two sums differ by rounding only.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// Returns the mean of what shortest paths from `source` to a vertex collect at the vertices
/// between, added up for all vertices.
fn collected(view: &impl GraphView, source: VertexId, toll: &[f64]) -> f64 {
    let bound = view.vertex_bound() as usize;
    let mut depth = vec![UNREACHED; bound];
    let (mut paths, mut mean) = (vec![0.0; bound], vec![0.0; bound]);
    (depth[source as usize], paths[source as usize]) = (0, 1.0);
    let mut queue = vec![source];
    let mut next = 0;
    while let Some(&u) = queue.get(next) {
        watch::check();
        next += 1;
        // Every path to it is known: the vertices before came earlier.
        let passed = mean[u as usize] + if u == source { 0.0 } else { toll[u as usize] };
        for v in view.out_neighbors(u).map(|v| v as usize) {
            if depth[v] == UNREACHED {
                depth[v] = depth[u as usize] + 1;
                queue.push(v as VertexId);
            }
            if depth[v] == depth[u as usize] + 1 {
                paths[v] += paths[u as usize];
                mean[v] += (passed - mean[v]) * (paths[u as usize] / paths[v]);
            }
        }
    }
    mean.iter().sum()
}
