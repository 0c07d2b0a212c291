//! Radii: the largest distance to each vertex from any of some vertices, as an estimate of
//! eccentricities.
//!
//! 64 breadth-first searches go at once: a word for each vertex has a bit for each source that
//! reached it. A step passes the bits of the frontier on, and whose word changed is in the next
//! one. The last step that changed the word of a vertex is its distance from the farthest source,
//! so far: a lower bound of its eccentricity, and equal to it if every vertex is a source.
//!
//! Edges are followed in their direction: a radius is the length of the longest of the shortest
//! paths *to* a vertex.
//!
//! Source: Shun and Blelloch, "Ligra", PPoPP 2013, §5.3 (Radii), after Palmer, Gibbons and
//! Faloutsos, "ANF", KDD 2002. Differences: any number of sources, 64 at a time.
//!
//! # Cost
//! For 64 sources as many steps as the largest radius, and the edges of a vertex as often as its
//! word changes, which is how many different distances to the sources it has: few if the diameter
//! is small, but on a road network nearly as many as sources: there one search after the other takes
//! less time.
//! 20 bytes for each id, and a frontier of up to 4 bytes for each vertex.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use crate::error::require;
use crate::frontier::{EdgeMap, EdgeStep, Frontier};
use crate::many_searches::draw;
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result, UNREACHED, bfs};

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 12;
/// Sources that search at once.
const SOURCES_MAX: usize = u64::BITS as usize;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
/// Sources of which one is searched from once more by a spot check.
const SEARCHED_SOURCES_MIN: usize = 32;

/// From where [`radii`] searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadiiConfig {
    /// How many vertices to search from, above 0. If there are no more, the result is exact.
    pub source_count: u32,
    /// Which vertices are drawn: the same seed draws the same ones.
    pub seed: u64,
}

impl Default for RadiiConfig {
    /// As many sources as search at once.
    fn default() -> Self {
        Self { source_count: SOURCES_MAX as u32, seed: 0 }
    }
}

/// What [`radii`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Radii {
    /// `[vertex_bound]`: the number of edges of a shortest path from the farthest source that
    /// reaches the vertex, or [`UNREACHED`] if none does, and for an id that is no vertex.
    pub radius: Vec<u32>,
    /// The vertices that were searched from, in ascending order.
    pub sources: Vec<VertexId>,
}

impl Radii {
    /// Returns the largest radius: what the diameter is at least.
    pub fn diameter_min(&self) -> u32 {
        self.radius.iter().copied().filter(|&radius| radius != UNREACHED).max().unwrap_or(0)
    }
}

/// Finds for each vertex of `view` the largest distance to it from any of some vertices, which are
/// drawn at random, each at most once.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the number of sources is 0.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{RadiiConfig, radii};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 3)], None, CsrOptions::default());
/// let result = radii(&g, &RadiiConfig::default())?;
/// assert_eq!((result.diameter_min(), result.radius), (3, vec![3, 2, 2, 3]));
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn radii(view: &impl GraphView, config: &RadiiConfig) -> Result<Radii> {
    if config.source_count == 0 {
        let expected = "above 0";
        return Err(Error::BadParameter { name: "source_count", value: 0.0, expected });
    }
    let bound = view.vertex_bound() as usize;
    let sources = draw(view, config.source_count, config.seed);
    let search = Search {
        reached_by: par::collect(bound, |_| AtomicU64::new(0)),
        next: par::collect(bound, |_| AtomicU64::new(0)),
        radius: par::collect(bound, |_| AtomicU32::new(UNREACHED)),
    };
    for sources in sources.chunks(SOURCES_MAX) {
        par::among_threads(view.homes(), || search.run(view, sources));
    }
    Ok(Radii { radius: search.radius.into_iter().map(AtomicU32::into_inner).collect(), sources })
}

/// The searches from some sources, at most 64 at a time.
struct Search {
    /// Which sources reached each vertex up to the last step.
    reached_by: Vec<AtomicU64>,
    /// Which did so up to this step.
    next: Vec<AtomicU64>,
    /// The distance from the farthest source, also of searches before.
    radius: Vec<AtomicU32>,
}

/// Passes bits on.
struct Pass<'a> {
    search: &'a Search,
    /// The bits that some vertex got in the step before: no others are new to anybody.
    moving: u64,
}

impl EdgeStep for Pass<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.moving & !self.search.next[v as usize].load(Relaxed) != 0
    }

    #[inline]
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        let (next, reached_by) = (&self.search.next[v as usize], &self.search.reached_by);
        let new = reached_by[u as usize].load(Relaxed) & !next.load(Relaxed);
        // The first change of the step finds what was there before it.
        new != 0 && next.fetch_or(new, Relaxed) == reached_by[v as usize].load(Relaxed)
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        let (next, reached_by) = (&self.search.next[v as usize], &self.search.reached_by);
        let before = next.load(Relaxed);
        let after = before | reached_by[u as usize].load(Relaxed);
        next.store(after, Relaxed);
        after != before
    }
}

impl Search {
    /// Searches from `sources`, one for each bit.
    fn run(&self, view: &impl GraphView, sources: &[VertexId]) {
        par::for_each_range(self.radius.len() as u32, GRAIN, |range| {
            for word in range.flat_map(|v| [&self.reached_by[v as usize], &self.next[v as usize]]) {
                word.store(0, Relaxed);
            }
        });
        for (bit, &source) in sources.iter().enumerate() {
            self.next[source as usize].store(1 << bit, Relaxed);
        }
        let mut edge_map = EdgeMap::reaching_again(view);
        let mut frontier = Frontier::from_list(sources.to_vec());
        for step in 0.. {
            let moving = AtomicU64::new(0);
            frontier.for_each(|v| {
                let new = self.end_step(v, step);
                if new & !moving.load(Relaxed) != 0 {
                    moving.fetch_or(new, Relaxed);
                }
            });
            if frontier.is_empty() {
                break;
            }
            let pass = Pass { search: self, moving: moving.into_inner() };
            frontier = edge_map.step(&mut frontier, &pass);
        }
    }

    /// Ends the step that changed the word of `v`; returns its new bits.
    fn end_step(&self, v: VertexId, step: u32) -> u64 {
        let radius = &self.radius[v as usize];
        let farthest = match radius.load(Relaxed) {
            UNREACHED => step,
            farthest => farthest.max(step),
        };
        radius.store(farthest, Relaxed);
        let (reached_by, next) =
            (&self.reached_by[v as usize], self.next[v as usize].load(Relaxed));
        let before = reached_by.load(Relaxed);
        reached_by.store(next, Relaxed);
        next & !before
    }
}

/// Checks that `result` has the radii of `view` for as many sources as `config` says.
///
/// It has if the sources are different vertices, as many as asked for or all of them, and no radius
/// is below the distance from any source, which is that of a search of its own, nor above all of
/// them. Cost: a [`bfs`] from every source; 12 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold.
pub fn verify_radii(view: &impl GraphView, config: &RadiiConfig, result: &Radii) -> Result<()> {
    check_sources(view, config, result)?;
    let require = |holds, property: &dyn Fn() -> String| require("radii", holds, property);
    let Radii { radius, sources } = result;
    let mut is_attained: Vec<_> = radius.iter().map(|&radius| radius == UNREACHED).collect();
    for &source in sources {
        for (v, depth) in bfs(view, source)?.depth.into_iter().enumerate() {
            let radius = radius[v];
            // Both say "unreached" with a number above all others.
            require(depth == UNREACHED || depth <= radius && radius != UNREACHED, &|| {
                format!("{v} has radius {radius}, but is {depth} away from {source}")
            })?;
            is_attained[v] |= depth == radius;
        }
    }
    match is_attained.iter().position(|is_attained| !is_attained) {
        Some(v) => require(false, &|| format!("no source is {} away from {v}", radius[v])),
        None => Ok(()),
    }
}

/// Checks that the radii of some vertices are no more than a step above those of their in-neighbors,
/// and that all are at least as far as one of the sources is, which a search of its own finds.
///
/// Misses radii that are too large everywhere, and those of few vertices. Cost: a [`bfs`], left out
/// if there are few sources, and one of 64 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_radii`].
pub fn spot_check_radii(view: &impl GraphView, config: &RadiiConfig, result: &Radii) -> Result<()> {
    check_sources(view, config, result)?;
    let Radii { radius, sources } = result;
    let of = |v: VertexId| radius[v as usize];
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let is_source = sources.binary_search(&v).is_ok();
        let reaching = view.in_neighbors(v).take(LIST_MAX).map(of).filter(|&r| r != UNREACHED);
        let most = reaching.max().map(|radius| radius + 1).or(is_source.then_some(0));
        let is_whole = view.in_degree(v) as usize <= LIST_MAX;
        let holds = match most {
            None => !is_whole || of(v) == UNREACHED,
            Some(most) => of(v) != UNREACHED && (!is_whole || of(v) <= most),
        };
        require("radii", holds, || {
            format!("{v} has radius {}, by its in-neighbors {most:?}", of(v))
        })
    })?;
    if sources.len() < SEARCHED_SOURCES_MIN {
        return Ok(());
    }
    let source = sources[sources.len() / 2];
    let depth = bfs(view, source)?.depth;
    check_all(view.vertex_bound(), |v| {
        let depth = depth[v as usize];
        require("radii", depth == UNREACHED || depth <= of(v) && of(v) != UNREACHED, || {
            format!("{v} has radius {}, but is {depth} away from {source}", of(v))
        })
    })
}

/// Checks that the sources are different vertices, and as many as asked for or all of them.
fn check_sources(view: &impl GraphView, config: &RadiiConfig, result: &Radii) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("radii", holds, property);
    let (Radii { radius, sources }, bound) = (result, view.vertex_bound());
    require(radius.len() == bound as usize, &|| format!("{} radii for {bound} ids", radius.len()))?;
    let source_count = view.vertex_count().min(config.source_count);
    require(sources.len() == source_count as usize, &|| {
        format!("{} sources, not {source_count}", sources.len())
    })?;
    require(sources.is_sorted_by(|u, v| u < v), &|| "sources are not ascending".to_owned())?;
    sources.iter().try_for_each(|&source| {
        require(view.is_vertex(source), &|| format!("the source {source} is not a vertex"))
    })
}
