//! Closeness and harmonic centrality: how near a vertex is to those that reach it.
//!
//! Both look at the distances *to* a vertex, along the direction of edges, each edge of length 1.
//! Of n vertices, r others reach a vertex:
//! ```text
//! closeness(v) = r / sum of distance(u, v) * r / (n - 1)    over u that reach v
//! harmonic(v)  = sum of 1 / distance(u, v)                  over u that reach v
//! ```
//! The second factor of closeness is small for a vertex that few others reach, so that vertices of
//! different components compare (the formula of Wasserman and Faust). A vertex that no other
//! reaches has 0 of both.
//!
//! With all vertices as sources scores are exact. With a sample of k of them, sums over the sources
//! and the number of those that reach a vertex are multiplied by how many more other vertices there
//! are than other sources: (n - 1) / k, or (n - 1) / (k - 1) for a source. Scores are then
//! estimates; sums of distances are off by at most a small part of the diameter for each vertex
//! with k = O(log n) sources.
//!
//! The searches of many sources go at once ([`many_searches`](crate::many_searches)).
//!
//! Source: Wasserman and Faust, "Social Network Analysis", 1994, §5.2; in-distances as in NetworkX;
//! Rochat, "Closeness Centrality Extended to Unconnected Graphs: the Harmonic Centrality Index",
//! ASNA 2009; Eppstein and Wang, "Fast Approximation of Centrality", J. Graph Algorithms and
//! Applications 2004 (the estimate; there of a connected graph).
//!
//! # Cost
//! A breadth-first search for each source; 512 of them, or up to 64 if there are no more, follow an
//! edge together where they come over it in the same step. 141 bytes for each id while they search,
//! 29 with up to 64 sources; and 24 for closeness, 16 for harmonic, the result among them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use crate::error::require;
use crate::frontier::vertices;
use crate::many_searches::{draw, search_from};
use crate::matrix::sum_of;
use crate::reversed::Reversed;
use crate::spots::{LIST_MAX, Spots, check_all, drawn};
use crate::{Error, Result, UNREACHED, bfs};

/// What rounding may do to a sum, for a sum of 1.
const ROUNDING: f64 = 1e-9;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
/// A spot check searches once more for so many sources.
const SOURCES_PER_SEARCH: usize = 1 << 9;
/// And so many times at most.
const SEARCHES_MAX: usize = 8;

/// From where [`closeness`] and [`harmonic`] search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosenessConfig {
    /// How many vertices to search from, above 0, each drawn at most once. `None`: all, so that
    /// scores are exact.
    pub source_count: Option<u32>,
    /// Which vertices are drawn: the same seed draws the same ones.
    pub seed: u64,
}

/// What [`closeness`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Closeness {
    /// `[vertex_bound]`: the closeness of each vertex, from 0 to 1 if it is exact; 0 for an id that
    /// is no vertex.
    pub score: Vec<f64>,
    /// `[vertex_bound]`: how many other vertices among the sources reach each vertex.
    pub reached_by: Vec<u32>,
    /// `[vertex_bound]`: the sum of their distances to it.
    pub distance_sum: Vec<u64>,
    /// The vertices that were searched from, in ascending order.
    pub sources: Vec<VertexId>,
    /// `[distance]`: how many pairs of a source and a vertex have this distance.
    pub pairs: Vec<u64>,
}

/// What [`harmonic`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Harmonic {
    /// `[vertex_bound]`: the harmonic centrality of each vertex, from 0 to one less than the
    /// vertices if it is exact; 0 for an id that is no vertex.
    pub score: Vec<f64>,
    /// The vertices that were searched from, in ascending order.
    pub sources: Vec<VertexId>,
    /// `[distance]`: how many pairs of a source and a vertex have this distance.
    pub pairs: Vec<u64>,
}

impl ClosenessConfig {
    fn check(&self) -> Result<()> {
        if self.source_count == Some(0) {
            let expected = "above 0";
            return Err(Error::BadParameter { name: "source_count", value: 0.0, expected });
        }
        Ok(())
    }

    fn sources(&self, view: &impl GraphView) -> Vec<VertexId> {
        match self.source_count {
            Some(count) => draw(view, count, self.seed),
            None => vertices(view),
        }
    }
}

/// How sums over sources become sums over all vertices.
struct Scale<'a> {
    sources: &'a [VertexId],
    others: f64,
}

impl<'a> Scale<'a> {
    fn new(view: &impl GraphView, sources: &'a [VertexId]) -> Self {
        Self { sources, others: f64::from(view.vertex_count()) - 1.0 }
    }

    /// Returns how many more vertices other than `v` there are than sources other than `v`.
    fn at(&self, v: VertexId) -> f64 {
        let is_source = self.sources.binary_search(&v).is_ok();
        self.others / (self.sources.len() - usize::from(is_source)) as f64
    }

    /// Returns the closeness of `v`.
    fn closeness(&self, v: VertexId, reached_by: u32, distance_sum: u64) -> f64 {
        match reached_by {
            0 => 0.0,
            reached_by => {
                let count = f64::from(reached_by);
                count / distance_sum as f64 * (self.at(v) * count / self.others)
            }
        }
    }

    /// Returns the harmonic centrality of `v`, or an estimate, given the sum over the sources.
    fn harmonic(&self, v: VertexId, sum: f64) -> f64 {
        if sum == 0.0 { 0.0 } else { self.at(v) * sum }
    }
}

/// Finds the closeness of every vertex of `view`, or estimates it.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the number of sources is 0.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{ClosenessConfig, closeness};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2)], None, CsrOptions::default());
/// assert_eq!(closeness(&g, &ClosenessConfig::default())?.score, [2.0 / 3.0, 1.0, 2.0 / 3.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn closeness(view: &impl GraphView, config: &ClosenessConfig) -> Result<Closeness> {
    config.check()?;
    let bound = view.vertex_bound() as usize;
    let sources = config.sources(view);
    let reached_by = par::collect(bound, |_| AtomicU32::new(0));
    let distance_sum = par::collect(bound, |_| AtomicU64::new(0));
    let pairs = search_from(view, &sources, |v, distance, count| {
        if distance > 0 {
            let (reached_by, sum) = (&reached_by[v as usize], &distance_sum[v as usize]);
            let more = u64::from(distance) * u64::from(count);
            reached_by.store(reached_by.load(Relaxed) + count, Relaxed);
            sum.store(sum.load(Relaxed) + more, Relaxed);
        }
    });
    let reached_by: Vec<_> = reached_by.into_iter().map(AtomicU32::into_inner).collect();
    let distance_sum: Vec<_> = distance_sum.into_iter().map(AtomicU64::into_inner).collect();
    let scale = Scale::new(view, &sources);
    let score =
        par::collect(bound, |v| scale.closeness(v as VertexId, reached_by[v], distance_sum[v]));
    Ok(Closeness { score, reached_by, distance_sum, sources, pairs })
}

/// Finds the harmonic centrality of every vertex of `view`, or estimates it.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the number of sources is 0.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{ClosenessConfig, harmonic};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2)], None, CsrOptions::default());
/// assert_eq!(harmonic(&g, &ClosenessConfig::default())?.score, [1.5, 2.0, 1.5]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn harmonic(view: &impl GraphView, config: &ClosenessConfig) -> Result<Harmonic> {
    config.check()?;
    let bound = view.vertex_bound() as usize;
    let sources = config.sources(view);
    let sums = par::collect(bound, |_| AtomicU64::new(0.0_f64.to_bits()));
    let pairs = search_from(view, &sources, |v, distance, count| {
        if distance > 0 {
            let sum = &sums[v as usize];
            let more = f64::from(count) / f64::from(distance);
            sum.store((f64::from_bits(sum.load(Relaxed)) + more).to_bits(), Relaxed);
        }
    });
    let scale = Scale::new(view, &sources);
    let score = par::collect(bound, |v| {
        scale.harmonic(v as VertexId, f64::from_bits(sums[v].load(Relaxed)))
    });
    Ok(Harmonic { score, sources, pairs })
}

/// What searches of their own, one for each source, find at each vertex.
struct Found {
    reached_by: Vec<u32>,
    distance_sum: Vec<u64>,
    harmonic_sum: Vec<f64>,
}

impl Found {
    fn by_searches(view: &impl GraphView, sources: &[VertexId]) -> Result<Self> {
        let bound = view.vertex_bound() as usize;
        let (reached_by, distance_sum) = (vec![0; bound], vec![0; bound]);
        let mut found = Self { reached_by, distance_sum, harmonic_sum: vec![0.0; bound] };
        for &source in sources {
            for (v, depth) in bfs(view, source)?.depth.into_iter().enumerate() {
                if depth != UNREACHED && depth > 0 {
                    found.reached_by[v] += 1;
                    found.distance_sum[v] += u64::from(depth);
                    found.harmonic_sum[v] += 1.0 / f64::from(depth);
                }
            }
        }
        Ok(found)
    }
}

/// Checks that `result` has the closeness of every vertex of `view` for as many sources as `config`
/// says.
///
/// It has if the sources are different vertices, as many as asked for or all of them, a search from
/// each finds the same sums, and scores follow from these. Cost: a [`bfs`] from every source; 28
/// bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold; else as
/// [`closeness`].
pub fn verify_closeness(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Closeness,
) -> Result<()> {
    check_closeness(view, config, result)?;
    let found = Found::by_searches(view, &result.sources)?;
    check_all(view.vertex_bound(), |v| {
        let v = v as usize;
        let holds = result.reached_by[v] == found.reached_by[v]
            && result.distance_sum[v] == found.distance_sum[v];
        require("closeness", holds, || {
            let (count, sum) = (result.reached_by[v], result.distance_sum[v]);
            format!("{v} is reached by {count} with distances of {sum}, searches find others")
        })
    })
}

/// Checks that scores follow from the distances, that these have their sums over all vertices, and
/// that those of some vertices fit to their in-neighbors'; those of a few by a search of its own,
/// if there are 512 sources or more.
///
/// Misses wrong sums of vertices with few sources that leave the sum over all as it is. Cost: the
/// result once, one of 64 vertices, up to 256 edges of each, and a [`bfs`] for 512 sources, 8 at
/// most.
///
/// # Errors
/// As [`verify_closeness`].
pub fn spot_check_closeness(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Closeness,
) -> Result<()> {
    check_closeness(view, config, result)?;
    let Closeness { reached_by, distance_sum, sources, .. } = result;
    let of = |v: VertexId| {
        let own = u32::from(sources.binary_search(&v).is_ok());
        (reached_by[v as usize] + own, distance_sum[v as usize])
    };
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let (count, sum) = of(v);
        // Whoever reaches an in-neighbor is one step farther from v at most.
        let fits = |u: &VertexId| {
            let (count_before, sum_before) = of(*u);
            let is_near = sum <= sum_before + u64::from(count);
            count > count_before || count == count_before && is_near
        };
        let other = view.in_neighbors(v).take(LIST_MAX).find(|u| !fits(u));
        require("closeness", other.is_none(), || {
            format!(
                "{count} sources reach {v} with distances of {sum}, which {other:?} contradicts"
            )
        })
    })?;
    check_by_search(view, sources, |v, near| {
        let (count, sum) = (reached_by[v as usize], distance_sum[v as usize]);
        let found = (near.len() as u32, near.iter().map(|&depth| u64::from(depth)).sum());
        require("closeness", (count, sum) == found, || {
            format!("{v} is reached by {count} with distances of {sum}, a search finds {found:?}")
        })
    })
}

/// Calls `check` with some vertices and the distances to each from the sources, but for itself,
/// that reach it.
fn check_by_search(
    view: &impl GraphView,
    sources: &[VertexId],
    check: impl Fn(VertexId, &[u32]) -> Result<()>,
) -> Result<()> {
    let searches = (sources.len() / SOURCES_PER_SEARCH).min(SEARCHES_MAX);
    let ids = drawn(searches as u32, view.vertex_bound());
    for v in ids.filter(|&v| view.is_vertex(v)) {
        let depth = bfs(&Reversed(view), v)?.depth;
        let depths = sources.iter().map(|&source| depth[source as usize]);
        let near: Vec<_> = depths.filter(|&depth| depth != UNREACHED && depth > 0).collect();
        check(v, &near)?;
    }
    Ok(())
}

/// Checks all that needs no edges.
fn check_closeness(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Closeness,
) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("closeness", holds, property);
    let Closeness { score, reached_by, distance_sum, sources, pairs } = result;
    check_sources("closeness", view, config, sources)?;
    let (bound, lens) = (view.vertex_bound(), [score.len(), reached_by.len(), distance_sum.len()]);
    require(lens == [bound as usize; 3], &|| format!("{lens:?} values for {bound} ids"))?;
    let scale = Scale::new(view, sources);
    check_all(bound, |v| {
        let (score, count, sum) =
            (score[v as usize], reached_by[v as usize], distance_sum[v as usize]);
        let right = scale.closeness(v, count, sum);
        let is_possible = sum >= u64::from(count)
            && (count as usize) <= sources.len()
            && (view.is_vertex(v) || count == 0 && sum == 0);
        let holds = is_possible && (score - right).abs() <= ROUNDING * right;
        crate::error::require("closeness", holds, || {
            format!("{v} has closeness {score}, {count} others reach it with distances of {sum}")
        })
    })?;
    let counts: u64 = reached_by.iter().map(|&count| u64::from(count)).sum();
    require(counts == pairs.iter().skip(1).sum::<u64>(), &|| {
        format!("there are {counts} pairs of a vertex and another that reaches it, but {pairs:?}")
    })?;
    let sum: u64 = distance_sum.iter().sum();
    require(sum == (0..).zip(pairs).map(|(distance, count)| distance * count).sum(), &|| {
        format!("distances sum to {sum}, but there are {pairs:?} of each")
    })
}

/// Checks that `result` has the harmonic centrality of every vertex of `view` for as many sources
/// as `config` says.
///
/// It has if the sources are different vertices, as many as asked for or all of them, and a search
/// from each finds the same sums. Cost: a [`bfs`] from every source; 28 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold; else as
/// [`harmonic`].
pub fn verify_harmonic(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Harmonic,
) -> Result<()> {
    check_harmonic(view, config, result)?;
    let found = Found::by_searches(view, &result.sources)?;
    let scale = Scale::new(view, &result.sources);
    check_all(view.vertex_bound(), |v| {
        let right = scale.harmonic(v, found.harmonic_sum[v as usize]);
        check_score(v, result.score[v as usize], right)
    })
}

/// Checks that scores have their sum over all vertices, and those of a few vertices by a search of
/// its own, if there are 512 sources or more.
///
/// Misses wrong scores of few vertices that leave the sum as it is. Cost: the result once, and a
/// [`bfs`] for 512 sources, 8 at most.
///
/// # Errors
/// As [`verify_harmonic`].
pub fn spot_check_harmonic(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Harmonic,
) -> Result<()> {
    check_harmonic(view, config, result)?;
    let scale = Scale::new(view, &result.sources);
    check_by_search(view, &result.sources, |v, near| {
        let sum = near.iter().map(|&depth| 1.0 / f64::from(depth)).sum();
        check_score(v, result.score[v as usize], scale.harmonic(v, sum))
    })
}

fn check_score(v: VertexId, score: f64, right: f64) -> Result<()> {
    require("harmonic", (score - right).abs() <= ROUNDING * right, || {
        format!("{v} has score {score}, searches find {right}")
    })
}

/// Checks all that needs no edges.
fn check_harmonic(
    view: &impl GraphView,
    config: &ClosenessConfig,
    result: &Harmonic,
) -> Result<()> {
    let Harmonic { score, sources, pairs } = result;
    check_sources("harmonic", view, config, sources)?;
    let bound = view.vertex_bound();
    require("harmonic", score.len() == bound as usize, || {
        format!("{} scores for {bound} ids", score.len())
    })?;
    let scale = Scale::new(view, sources);
    let sum_at = |v: usize| if score[v] == 0.0 { 0.0 } else { score[v] / scale.at(v as VertexId) };
    let sums = par::collect(bound as usize, sum_at);
    check_all(bound, |v| {
        let sum = sums[v as usize];
        let most = if view.is_vertex(v) { sources.len() as f64 * (1.0 + ROUNDING) } else { 0.0 };
        require("harmonic", (0.0..=most).contains(&sum), || {
            format!("{v}, perhaps no vertex, has {sum} from {} sources", sources.len())
        })
    })?;
    let (sum, parts) = (sum_of(&sums, |sum| sum), (0..).zip(pairs).skip(1));
    let right: f64 = parts.map(|(distance, &count)| count as f64 / f64::from(distance)).sum();
    require("harmonic", (sum - right).abs() <= ROUNDING * right, || {
        format!("scores sum to {sum}, distances to {right}")
    })
}

/// Checks that the sources are different vertices, and as many as asked for or all of them.
fn check_sources(
    kernel: &'static str,
    view: &impl GraphView,
    config: &ClosenessConfig,
    sources: &[VertexId],
) -> Result<()> {
    config.check()?;
    let count = config.source_count.unwrap_or(u32::MAX).min(view.vertex_count());
    require(kernel, sources.len() == count as usize, || {
        format!("{} sources, not {count}", sources.len())
    })?;
    let are_vertices = sources.iter().all(|&v| v < view.vertex_bound() && view.is_vertex(v));
    require(kernel, are_vertices && sources.is_sorted_by(|u, v| u < v), || {
        "the sources are not different vertices in ascending order".to_owned()
    })
}
