//! Delta PageRank: only what has changed enough is passed on.
//!
//! Beside its rank each vertex has a *residual*: what would be added to the rank by one more
//! iteration of [PageRank](crate::pagerank()). A step adds the residuals that are above a threshold
//! to their ranks and passes them on to the out-neighbors, where they become residuals, `damping`
//! times as large. Ranks start equal, as there; residuals may be negative. When none is above
//! `(1 - damping) * tolerance / n`, all ranks together are within `tolerance` of the limit, since
//! what is left to add shrinks by `damping` with every edge that it goes along.
//!
//! Few active vertices push along their out-edges; many are pulled over the in-edges of all. What
//! vertices without out-edges have to pass on goes to all vertices alike: it is kept as one number
//! that is part of every residual.
//!
//! Source: Zhang et al., "Maiter", TPDS 2014, §3 (accumulating changes; residuals as in push methods);
//! Shun and Blelloch, "Ligra", PPoPP 2013, §5.5 (PageRank-Delta). Differences from Ligra: what is below
//! the threshold is kept and not dropped, so that the answer has a bound; dangling vertices as in LDBC
//! Graphalytics.
//!
//! # Cost
//! Each step reads the residuals of all vertices, and the out-edges of those that are active or all
//! in-edges. 28 bytes for each id: the result, residuals, what is passed on, and degrees. Sums of a
//! push have no fixed order: the last digits of an answer are chance.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::{Direction, GraphView, HOME_SPAN, ListVisitor, VertexId, par, watch};

use crate::error::require;
use crate::frontier::{VertexSet, map_sources, push_grain};
use crate::pagerank::{change_at_spots, change_of_one_more, degrees};
use crate::spots::check_all;
use crate::{Error, Result};

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 10;
const _: () = assert!(HOME_SPAN.is_multiple_of(GRAIN));
/// Pull when more than the edges divided by this leave the active vertices: an addition of a push is
/// an atomic one at random.
const PUSH_SHARE: u64 = 10;
/// From so many steps on an iteration is a small part of them: later steps follow few edges.
const STEPS_PER_CHECK: u32 = 24;
const KERNEL: &str = "delta-pagerank";
/// The least part of a vertex's first rank that is still passed on: less comes of rounding.
const LEAST_SHARE: f64 = 1e-15;

/// How close the ranks of [`delta_pagerank`] come, and their damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeltaPageRankConfig {
    /// The part of its rank that a vertex passes on along its edges, from 0 to below 1.
    pub damping: f64,
    /// How far ranks may be from the limit, all differences added up; not so small that rounding, which residuals of equal
    /// ranks carry along, keeps them above the share of a vertex.
    pub tolerance: f64,
}

impl Default for DeltaPageRankConfig {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-4 }
    }
}

impl DeltaPageRankConfig {
    fn check(&self) -> Result<()> {
        let fail = |name, value, expected| Err(Error::BadParameter { name, value, expected });
        if !(0.0..1.0).contains(&self.damping) {
            return fail("damping", self.damping, "from 0 to below 1");
        }
        let share = (1.0 - self.damping) * self.tolerance;
        if share.is_nan() || share < LEAST_SHARE {
            let expected =
                "at least 1e-15 / (1 - damping): rounding keeps ranks from coming closer";
            return fail("tolerance", self.tolerance, expected);
        }
        Ok(())
    }

    /// The size from which on a residual is passed on.
    fn threshold(&self, vertex_count: u32) -> f64 {
        (1.0 - self.damping) * self.tolerance / f64::from(vertex_count)
    }
}

/// What [`delta_pagerank`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct DeltaPageRank {
    /// `[vertex_bound]`: the rank of each vertex, in sum within the tolerance of 1; 0 for an id that
    /// is no vertex.
    pub rank: Vec<f64>,
    /// How many steps were taken.
    pub iterations: u32,
}

/// Numbers that several threads add to.
struct Floats(Vec<AtomicU64>);

impl Floats {
    fn zeros(len: usize) -> Self {
        Self((0..len).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    fn get(&self, v: VertexId) -> f64 {
        f64::from_bits(self.0[v as usize].load(Relaxed))
    }

    #[inline]
    fn set(&self, v: VertexId, value: f64) {
        self.0[v as usize].store(value.to_bits(), Relaxed);
    }

    #[inline]
    fn add(&self, v: VertexId, value: f64) {
        let sum = |bits| Some((f64::from_bits(bits) + value).to_bits());
        // It never refuses.
        let _ = self.0[v as usize].fetch_update(Relaxed, Relaxed, sum);
    }
}

/// What is known of each vertex.
struct State<'a, V> {
    view: &'a V,
    vertices: VertexSet,
    /// `[vertex_bound]`: out-edges of each vertex.
    degrees: Vec<u32>,
    damping: f64,
    rank: Floats,
    /// The residual but for `everywhere`.
    residual: Floats,
    /// Part of every residual.
    everywhere: f64,
    /// What a vertex passes on along each of its out-edges; 0 if it is not active.
    share: Floats,
}

/// What one step takes up.
#[derive(Default)]
struct Taken {
    active: Vec<VertexId>,
    out_edges: u64,
    /// What vertices without out-edges pass on.
    dangling: f64,
}

impl<V: GraphView> State<'_, V> {
    /// Adds the residuals above `threshold` to their ranks.
    fn take(&self, threshold: f64) -> Taken {
        let pieces = par::map_ranges(self.view.vertex_bound(), GRAIN, |range| {
            let mut taken = Taken::default();
            for v in range {
                self.share.set(v, 0.0);
                let residual = self.residual.get(v) + self.everywhere;
                if residual.abs() <= threshold || !self.vertices.contains(v) {
                    continue;
                }
                self.rank.set(v, self.rank.get(v) + residual);
                self.residual.set(v, -self.everywhere);
                taken.active.push(v);
                let degree = self.degrees[v as usize];
                match degree {
                    0 => taken.dangling += residual,
                    degree => self.share.set(v, self.damping * residual / f64::from(degree)),
                }
                taken.out_edges += u64::from(degree);
            }
            taken
        });
        pieces.into_iter().fold(Taken::default(), |mut all, piece| {
            all.active.extend(piece.active);
            all.out_edges += piece.out_edges;
            all.dangling += piece.dangling;
            all
        })
    }

    /// Passes on along the out-edges of `active`.
    fn push(&self, active: &[VertexId]) {
        let grain = push_grain(self.view, active.len());
        map_sources(self.view, active, Direction::Out, grain, |active| {
            for &u in active {
                let share = self.share.get(u);
                self.view.out_neighbors(u).for_each(|v| self.residual.add(v, share));
            }
        });
    }

    /// Passes on over the in-edges of all vertices.
    fn pull(&self) {
        let (homes, bound) = (self.view.homes(), self.view.vertex_bound());
        let home_of = |first| self.view.home(first, Direction::In);
        par::map_ranges_at_home(homes, bound, GRAIN, home_of, |range| {
            self.view.visit_neighbors(Direction::In, range, &mut Pull(self));
        });
    }
}

/// Adds up what reaches a vertex.
struct Pull<'a, V>(&'a State<'a, V>);

impl<V: GraphView> ListVisitor for Pull<'_, V> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        // Nothing reaches an id that is no vertex.
        true
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let pulled: f64 = neighbors.map(|u| self.0.share.get(u)).sum();
        self.0.residual.set(v, self.0.residual.get(v) + pulled);
    }
}

/// Ranks the vertices of `view`.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the damping is not from 0 to below 1, or the tolerance so small that the
/// kernel would not end.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{DeltaPageRankConfig, delta_pagerank};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (2, 1), (1, 0)], None, options);
/// let rank = delta_pagerank(&g, &DeltaPageRankConfig::default())?.rank;
/// assert!(rank[1] > rank[0] && rank[0] > rank[2]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn delta_pagerank(
    view: &impl GraphView,
    config: &DeltaPageRankConfig,
) -> Result<DeltaPageRank> {
    config.check()?;
    let zeros = || Floats::zeros(view.vertex_bound() as usize);
    let (vertex_count, damping) = (f64::from(view.vertex_count()), config.damping);
    let mut state = State {
        view,
        vertices: VertexSet::of(view),
        degrees: degrees(view, Direction::Out),
        damping,
        rank: zeros(),
        residual: zeros(),
        // The first step takes equal ranks up and passes them on.
        everywhere: 1.0 / vertex_count,
        share: zeros(),
    };
    let mut taken = state.take(0.0);
    // What the next iteration of PageRank adds to equal ranks, but for what goes along edges.
    state.everywhere += (1.0 - damping) / vertex_count - 1.0 / vertex_count;
    let threshold = config.threshold(view.vertex_count());
    let mut iterations = 0;
    while !taken.active.is_empty() {
        state.everywhere += damping * taken.dangling / vertex_count;
        match taken.out_edges > view.edge_count() / PUSH_SHARE {
            true => state.pull(),
            false => state.push(&taken.active),
        }
        iterations += 1;
        watch::note(iterations.into(), 0);
        taken = state.take(threshold);
    }
    let rank = state.rank.0.into_iter().map(|bits| f64::from_bits(bits.into_inner())).collect();
    Ok(DeltaPageRank { rank, iterations })
}

/// Checks that `result` is within the tolerance of `config` of the PageRank of `view`.
///
/// It is if only vertices have a rank, and one more iteration of PageRank changes the ranks by no more
/// than `1 - damping` times the tolerance, all changes added up. Cost: every in-edge once, 8 bytes for
/// each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`BadParameter`](Error::BadParameter) as [`delta_pagerank`].
pub fn verify_delta_pagerank(
    view: &impl GraphView,
    config: &DeltaPageRankConfig,
    result: &DeltaPageRank,
) -> Result<()> {
    check_ranks(view, config, result)?;
    check_change(config, change_of_one_more::<f64>(view, config.damping, &result.rank))
}

/// Checks as [`verify_delta_pagerank`] does where there were so many steps that an iteration is a
/// small part of them; otherwise only at some vertices.
///
/// Misses, after fewer than 24 steps, most wrong ranks of few vertices. Cost: an iteration of
/// PageRank, or the ranks once and one of 256 vertices.
///
/// # Errors
/// As [`verify_delta_pagerank`].
pub fn spot_check_delta_pagerank(
    view: &impl GraphView,
    config: &DeltaPageRankConfig,
    result: &DeltaPageRank,
) -> Result<()> {
    if result.iterations >= STEPS_PER_CHECK {
        return verify_delta_pagerank(view, config, result);
    }
    check_ranks(view, config, result)?;
    check_change(config, change_at_spots(view, config.damping, &result.rank))
}

fn check_ranks(
    view: &impl GraphView,
    config: &DeltaPageRankConfig,
    result: &DeltaPageRank,
) -> Result<()> {
    config.check()?;
    let (rank, bound) = (&result.rank, view.vertex_bound());
    require(KERNEL, rank.len() == bound as usize, || {
        format!("{} ranks for {bound} ids", rank.len())
    })?;
    check_all(bound, |v| {
        let rank = rank[v as usize];
        require(KERNEL, rank.is_finite() && (view.is_vertex(v) || rank == 0.0), || {
            format!("{v}, perhaps no vertex, has rank {rank}")
        })
    })
}

fn check_change(config: &DeltaPageRankConfig, change: f64) -> Result<()> {
    /// What rounding may do to a sum of ranks.
    const ROUNDING: f64 = 1e-9;
    let most = (1.0 - config.damping) * config.tolerance + ROUNDING;
    require(KERNEL, change <= most, || {
        format!("one more iteration changes ranks by {change}, more than {most}")
    })
}
