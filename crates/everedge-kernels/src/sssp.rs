//! Single-source shortest paths: the smallest sum of weights on a path from a source.
//!
//! Delta-stepping keeps vertices in *buckets* by their tentative distance, `delta` wide, and
//! empties the buckets in order. Edges of a bucket are *relaxed* in parallel: each may lower the
//! distance of its end, which then goes into its new bucket, the same one if the weight is small.
//! Every thread has its own buckets, and goes on alone with what falls into the current one while
//! that is little.
//!
//! Distances are bits of `f64`: of numbers that are not negative, the bits have the same order as
//! the numbers, so a relaxation is an atomic minimum of integers.
//!
//! Source: Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm", J.
//! Algorithms 2003; buckets of threads as in the GAP Benchmark Suite (Beamer 2015), their fusion
//! after Zhang et al., "Optimizing Ordered Graph Algorithms with GraphIt", CGO 2020, §5.
//! Differences: only the next 4096 buckets are kept apart and what lies beyond them is one *far*
//! list, so that a wide range of weights does not ask for as many buckets. Where lists lie on
//! several NUMA nodes, each is read at its home (XPGraph, ToS 2025, §4.2), and buckets are not fused.
//!
//! # Cost
//! O(vertices + edges) expected for random weights and a good delta. 8 bytes for each id (the
//! result), and 4 for each vertex in a bucket; a vertex is in several if its distance was lowered.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use everedge_core::{Direction, VertexId, WeightedView, par};

use crate::error::{check_vertex, require};
use crate::frontier::map_sources;
use crate::{Error, Result};

/// Vertices in a piece of work.
const GRAIN: usize = 64;
/// Buckets that are kept apart; the far list begins behind them.
const NEAR_BUCKETS: u64 = 4096;
/// A thread empties the current bucket alone while it holds fewer vertices than this.
const FUSED_MAX: usize = 1000;
/// Vertices whose weights [`default_delta`] looks at.
const SAMPLED_VERTICES: u32 = 1024;
/// Edges that it looks at for each of them.
const SAMPLED_EDGES: usize = 64;

/// How [`sssp`] works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SsspConfig {
    /// The width of a bucket, above 0. `None` chooses it from a sample of the edges: see
    /// [`sssp`]. It decides the time, never the result.
    pub delta: Option<f64>,
}

/// What [`sssp`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sssp {
    /// `[vertex_bound]`: the length of a shortest path from the source; infinity for a vertex
    /// that none reaches and for an id that is no vertex.
    pub distance: Vec<f64>,
}

impl Sssp {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.distance.iter().filter(|distance| distance.is_finite()).count() as u32
    }

    /// Returns the largest distance that was reached.
    pub fn distance_max(&self) -> f64 {
        self.distance.iter().copied().filter(|distance| distance.is_finite()).fold(0.0, f64::max)
    }
}

/// The buckets of one thread.
#[derive(Default)]
struct Buckets {
    /// Bucket `first + i` at `i`, for the `first` that all threads share.
    near: Vec<Vec<VertexId>>,
    /// The vertices in buckets behind them.
    far: Vec<VertexId>,
}

impl Buckets {
    fn push(&mut self, v: VertexId, bucket: u64, first: u64) {
        let idx = bucket - first;
        if idx >= NEAR_BUCKETS {
            self.far.push(v);
            return;
        }
        let idx = idx as usize;
        if idx >= self.near.len() {
            self.near.resize_with(idx + 1, Vec::new);
        }
        self.near[idx].push(v);
    }

    /// Takes bucket `first + idx` if a thread should empty it alone.
    fn take_few(&mut self, idx: usize) -> Option<Vec<VertexId>> {
        let bucket = self.near.get_mut(idx)?;
        (1..FUSED_MAX).contains(&bucket.len()).then(|| std::mem::take(bucket))
    }
}

/// What relaxing an edge needs to know.
struct Relaxation<'a, V> {
    view: &'a V,
    distance: &'a [AtomicU64],
    buckets_per_unit: f64,
    /// The first edge, by its ends, that cannot be relaxed.
    bad_edge: Mutex<Option<(VertexId, VertexId, f32)>>,
}

impl<V: WeightedView> Relaxation<'_, V> {
    fn bucket_of(&self, distance: f64) -> u64 {
        // Rounds down, and stops at the largest number: the last bucket may be wide.
        (distance * self.buckets_per_unit) as u64
    }

    fn distance(&self, v: VertexId) -> f64 {
        f64::from_bits(self.distance[v as usize].load(Relaxed))
    }

    /// Relaxes the edges that leave `u`, unless `u` is no longer in the bucket `current`.
    fn relax(&self, u: VertexId, current: u64, first: u64, buckets: &mut Buckets) {
        let distance = self.distance(u);
        if self.bucket_of(distance) != current {
            return;
        }
        for (v, weight) in self.view.out_edges(u) {
            if weight.is_nan() || weight < 0.0 {
                self.note_bad_edge(u, v, weight);
                continue;
            }
            let new = distance + f64::from(weight);
            let slot = &self.distance[v as usize];
            let bits = new.to_bits();
            if bits < slot.load(Relaxed) && bits < slot.fetch_min(bits, Relaxed) {
                buckets.push(v, self.bucket_of(new), first);
            }
        }
    }

    #[cold]
    fn note_bad_edge(&self, u: VertexId, v: VertexId, weight: f32) {
        let mut bad_edge = self.bad_edge.lock().unwrap_or_else(PoisonError::into_inner);
        if bad_edge.is_none_or(|(a, b, _)| (u, v) < (a, b)) {
            *bad_edge = Some((u, v, weight));
        }
    }
}

/// Finds the shortest paths of `view` from `source` along the direction of its edges.
///
/// Without a delta in `config`, it is the mean weight of a sample of the edges divided by the mean
/// degree, as Meyer and Sanders advise for random weights; 1 if all weights of the sample are 0.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex,
/// [`BadWeight`](Error::BadWeight) if an edge that leaves a reached vertex has a weight that is
/// negative or not a number (the first such edge), [`BadParameter`](Error::BadParameter) if delta
/// is not a finite number above 0.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{SsspConfig, sssp};
///
/// let edges = [(0, 1), (0, 2), (2, 1)];
/// let g = Csr::from_edges(&edges, Some(&[5.0, 1.0, 2.5]), CsrOptions::default());
/// assert_eq!(sssp(&g, 0, &SsspConfig::default())?.distance, [0.0, 3.5, 1.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn sssp(view: &impl WeightedView, source: VertexId, config: &SsspConfig) -> Result<Sssp> {
    check_vertex(view, source)?;
    let delta = config.delta.unwrap_or_else(|| default_delta(view));
    if !(delta.is_finite() && delta > 0.0) {
        let expected = "a finite number above 0";
        return Err(Error::BadParameter { name: "delta", value: delta, expected });
    }
    let infinity = f64::INFINITY.to_bits();
    let distance: Vec<_> = (0..view.vertex_bound()).map(|_| AtomicU64::new(infinity)).collect();
    distance[source as usize].store(0.0_f64.to_bits(), Relaxed);
    let relaxation = Relaxation {
        view,
        distance: &distance,
        buckets_per_unit: delta.recip(),
        bad_edge: Mutex::new(None),
    };
    empty_buckets(&relaxation, source);
    let bad_edge = relaxation.bad_edge.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((src, dst, weight)) = bad_edge {
        return Err(Error::BadWeight { src, dst, weight });
    }
    let plain = |bits: AtomicU64| f64::from_bits(bits.into_inner());
    Ok(Sssp { distance: distance.into_iter().map(plain).collect() })
}

/// Relaxes the edges of all buckets in order, beginning with `source` alone in the first.
fn empty_buckets(relaxation: &Relaxation<'_, impl WeightedView>, source: VertexId) {
    let mut threads = par::PerThread::new(Buckets::default);
    // What falls into a thread's buckets lies anywhere.
    let is_fused = relaxation.view.homes().is_none();
    let mut bucket = vec![source];
    let (mut first, mut idx) = (0, 0);
    while !bucket.is_empty() {
        let current = first + idx as u64;
        map_sources(relaxation.view, &bucket, Direction::Out, GRAIN, |vertices| {
            threads.with(|buckets| {
                vertices.iter().for_each(|&u| relaxation.relax(u, current, first, buckets));
                while is_fused && let Some(vertices) = buckets.take_few(idx) {
                    vertices.iter().for_each(|&u| relaxation.relax(u, current, first, buckets));
                }
            });
        });
        bucket.clear();
        let next_of = |buckets: &mut Buckets| {
            (idx..buckets.near.len()).find(|&idx| !buckets.near[idx].is_empty())
        };
        idx = match threads.iter_mut().filter_map(next_of).min() {
            Some(next) => next,
            None => {
                first = refill(relaxation, &mut threads, current);
                0
            }
        };
        for buckets in threads.iter_mut().filter(|buckets| idx < buckets.near.len()) {
            bucket.append(&mut buckets.near[idx]);
        }
    }
}

/// Moves vertices from the far lists into near buckets, all of which are empty; returns what is
/// now the first bucket. Vertices that were in one up to `last` are done.
fn refill(
    relaxation: &Relaxation<'_, impl WeightedView>,
    threads: &mut par::PerThread<Buckets>,
    last: u64,
) -> u64 {
    let bucket_of = |v| relaxation.bucket_of(relaxation.distance(v));
    for buckets in threads.iter_mut() {
        buckets.far.retain(|&v| bucket_of(v) > last);
    }
    let far = threads.iter_mut().flat_map(|buckets| &buckets.far);
    let first = far.map(|&v| bucket_of(v)).min().unwrap_or(last);
    for buckets in threads.iter_mut() {
        for v in std::mem::take(&mut buckets.far) {
            buckets.push(v, bucket_of(v), first);
        }
    }
    first
}

/// Chooses the delta that [`sssp`] documents.
fn default_delta(view: &impl WeightedView) -> f64 {
    let bound = view.vertex_bound();
    let step = bound.div_ceil(SAMPLED_VERTICES).max(1) as usize;
    let sample = (0..bound).step_by(step);
    let weights = sample.flat_map(|v| view.out_edges(v).take(SAMPLED_EDGES)).map(|edge| edge.1);
    let (sum, count) = weights
        .filter(|weight| weight.is_finite() && *weight >= 0.0)
        .fold((0.0, 0.0), |(sum, count), weight| (sum + f64::from(weight), count + 1.0));
    let ends_per_edge = if view.is_directed() { 1.0 } else { 2.0 };
    let degree = ends_per_edge * view.edge_count() as f64 / f64::from(view.vertex_count());
    let delta = sum / count / degree.max(1.0);
    if delta > 0.0 { delta } else { 1.0 }
}

/// Checks that `result` has the lengths of shortest paths of `view` from `source`.
///
/// It has if the source has distance 0, no edge is a shorter way to its end, and every reached
/// vertex can be reached over edges that are exactly as long as the distances of their ends
/// differ. Cost: the edges of the reached vertices once, 5 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex.
pub fn verify_sssp(view: &impl WeightedView, source: VertexId, result: &Sssp) -> Result<()> {
    check_vertex(view, source)?;
    let require = |holds, property: &dyn Fn() -> String| require("sssp", holds, property);
    let (distance, bound) = (&result.distance, view.vertex_bound());
    require(distance.len() == bound as usize, &|| {
        format!("{} distances for {bound} ids", distance.len())
    })?;
    let of = |v: VertexId| distance.get(v as usize).copied().unwrap_or(f64::INFINITY);
    require(of(source) == 0.0, &|| format!("the source has distance {}", of(source)))?;
    let mut seen = vec![false; bound as usize];
    seen[source as usize] = true;
    let mut stack = vec![source];
    while let Some(u) = stack.pop() {
        for (v, weight) in view.out_edges(u) {
            let way = of(u) + f64::from(weight);
            require(of(v) <= way, &|| format!("{v} is at {}, but by {u} the way is {way}", of(v)))?;
            let on_path = way.is_finite() && of(v) == way;
            if on_path && !std::mem::replace(&mut seen[v as usize], true) {
                stack.push(v);
            }
        }
    }
    for v in (0..bound).filter(|&v| !seen[v as usize]) {
        require(of(v) == f64::INFINITY, &|| format!("no path to {v} is as short as {}", of(v)))?;
    }
    Ok(())
}
