//! Best paths from a source by delta-stepping, for every kind of path that gets no better by
//! being longer.
//!
//! A [`PathAlgebra`] says what the value of a path is. Delta-stepping keeps vertices in *buckets* by
//! the best value of a path to them that is known, and empties the buckets from the best to the
//! worst. Edges of a bucket are *relaxed* in parallel: each may give its end a better value, which
//! then goes into its new bucket, the same one if the value is little worse. Every thread has its
//! own buckets, and goes on alone with what falls into the current one while that is little.
//!
//! Values are kept as *keys*: integers that have the order of the values, the best one first, so
//! that a relaxation is an atomic minimum.
//!
//! Source: Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm", J.
//! Algorithms 2003; buckets of threads as in the GAP Benchmark Suite (Beamer 2015), their fusion
//! after Zhang et al., "Optimizing Ordered Graph Algorithms with GraphIt", CGO 2020, §5; other
//! values than lengths after Mohri, "Semiring Frameworks and Algorithms for Shortest-Distance
//! Problems", J. Automata, Languages and Combinatorics 2002.
//! Differences: only the next 4096 buckets are kept apart and what lies beyond them is one *far*
//! list, so that a wide range of weights does not ask for as many buckets. Where lists lie on
//! several NUMA nodes, each is read at its home (XPGraph, ToS 2025, §4.2), and buckets are not fused.
//!
//! # Cost
//! O(vertices + edges) expected for random weights and good buckets. 8 bytes for each id (the
//! result) and three bits, and 4 bytes for each vertex in a bucket. A vertex is in several if its value
//! got better by more than a bucket, but buckets hold about twice the vertices at most; it is relaxed once for
//! all that it got better by meanwhile.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use everedge_core::{AtomicBitmap, Direction, VertexId, WeightedView, memory, par, watch};

use crate::error::{check_vertex, require};
use crate::frontier::{map_sources, push_grain, sort_for};
use crate::spots::{LIST_MAX, Spots};
use crate::{Error, Result};

/// How many edges later than it is found a better path is written down.
const FOUND_AHEAD: usize = 32;
/// How many vertices ahead the key of one is loaded.
const KEYS_AHEAD: usize = 16;
/// Buckets that are kept apart; the far list begins behind them.
const NEAR_BUCKETS: u64 = 4096;
/// A thread empties the current bucket alone while it holds fewer vertices than this.
const FUSED_MAX: usize = 1000;
/// Who waits in vain is left out when a thread has one of so many vertices waiting, its share of them.
const WAITING_SHARE: usize = 2;
/// So many may wait in any case.
const WAITING_MIN: usize = 1 << 10;
/// How finely [`octave_bucket`] cuts, a power of 2. Few vertices get better again within a bucket
/// then; more buckets would mostly be emptied for nothing.
const BUCKETS_PER_OCTAVE: u64 = 64;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
const _: () = assert!(BUCKETS_PER_OCTAVE.is_power_of_two());

/// A kind of path: what its value is, and which is better.
///
/// A path gets no better by one more edge, and of two paths the better one is not the worse of the
/// two after the same edge.
pub(crate) trait PathAlgebra: Sync {
    /// The kernel's name.
    const KERNEL: &'static str;
    /// The weights that a path can have, in words.
    const WEIGHTS: &'static str;
    /// The value of the path that has no edge; none is better.
    const IDENTITY: f64;
    /// The value of no path; all others are better.
    const UNREACHED: f64;

    /// Returns whether a path can have an edge of this weight.
    fn accepts(weight: f32) -> bool;

    /// Returns the value of a path with one more edge.
    fn extend(value: f64, weight: f32) -> f64;

    /// Returns the key of `value`: the better, the smaller.
    fn key(value: f64) -> u64;

    /// Returns the value of `key`.
    fn value(key: u64) -> f64;

    /// Returns the bucket of a value; that of a better one is not larger.
    fn bucket_of(&self, value: f64) -> u64;
}

/// The buckets of one thread.
#[derive(Default)]
struct Buckets {
    /// Bucket `first + i` at `i`, for the `first` that all threads share.
    near: Vec<Vec<VertexId>>,
    /// The vertices in buckets behind them.
    far: Vec<VertexId>,
    /// The vertices of the bucket `relaxed_of` whose edges were relaxed, each once.
    relaxed: Vec<VertexId>,
    relaxed_of: u64,
    /// How many vertices wait in buckets, also in vain: they got better, and wait in another one since.
    waiting: usize,
    /// How many may, until those that wait in vain are left out.
    waiting_max: usize,
}

impl Buckets {
    fn push(&mut self, v: VertexId, bucket: u64, first: u64) {
        self.waiting += 1;
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
        let is_few = (1..FUSED_MAX).contains(&self.near.get(idx)?.len());
        is_few.then(|| self.take(idx))
    }

    /// Takes bucket `first + idx`.
    fn take(&mut self, idx: usize) -> Vec<VertexId> {
        let bucket = self.near.get_mut(idx).map(std::mem::take).unwrap_or_default();
        self.waiting -= bucket.len();
        bucket
    }

    /// Leaves out who waits in vain: of bucket `first + idx`, and of the far list with no index, those for which
    /// `waits` does not hold.
    fn clear(&mut self, waits: impl Fn(VertexId, Option<usize>) -> bool) {
        let near = self.near.iter_mut().enumerate().map(|(idx, list)| (Some(idx), list));
        for (idx, list) in near.chain([(None, &mut self.far)]) {
            list.retain(|&v| waits(v, idx));
            list.shrink_to(2 * list.len());
        }
        let lists = self.near.iter().chain([&self.far]);
        self.waiting = lists.map(Vec::len).sum();
    }
}

/// What relaxing an edge needs to know.
struct Relaxation<'a, V, A> {
    view: &'a V,
    algebra: &'a A,
    /// The key of the best known path to each vertex.
    best: &'a [AtomicU64],
    /// The vertices of the buckets before the current one: no path to them gets better. Half of all
    /// edges lead there, and a bit is more likely in a cache than a key.
    done: AtomicBitmap,
    /// The vertices whose edges were ever relaxed.
    relaxed: AtomicBitmap,
    /// The vertices whose value got better since their edges were relaxed. Each waits in the bucket of its value, or
    /// is about to: who makes it one of them puts it where its value is then, and who makes it better still puts it into
    /// another bucket if that changes.
    better: AtomicBitmap,
    /// The first edge, by its ends, that cannot be relaxed.
    bad_edge: Mutex<Option<(VertexId, VertexId, f32)>>,
}

impl<V: WeightedView, A: PathAlgebra> Relaxation<'_, V, A> {
    fn bucket_of(&self, v: VertexId) -> u64 {
        self.algebra.bucket_of(self.value(v))
    }

    fn value(&self, v: VertexId) -> f64 {
        A::value(self.best[v as usize].load(Relaxed))
    }

    /// Relaxes the edges that leave those of `vertices` that are still in the bucket `current`.
    fn relax(&self, vertices: &[VertexId], current: u64, first: u64, buckets: &mut Buckets) {
        if buckets.relaxed_of != current {
            buckets.relaxed.drain(..).for_each(|v| _ = self.done.insert(v));
            buckets.relaxed_of = current;
        }
        // What was found lately: its keys are on their way into the cache.
        let mut found = [(0, A::UNREACHED); FOUND_AHEAD];
        let mut found_count = 0;
        for (i, &u) in vertices.iter().enumerate() {
            if buckets.waiting > buckets.waiting_max {
                self.clear(first, buckets);
            }
            self.view.load_ahead(Direction::Out, &vertices[i..]);
            if let Some(&ahead) = vertices.get(i + KEYS_AHEAD) {
                memory::prefetch(&self.best[ahead as usize..]);
            }
            if self.bucket_of(u) != current || !self.better.take(u) {
                continue;
            }
            let value = self.value(u);
            if self.relaxed.insert(u) {
                buckets.relaxed.push(u);
            }
            // A fold: a layout knows where the pieces of its lists end.
            self.view.out_edges(u).for_each(|(v, weight)| {
                if !A::accepts(weight) {
                    self.note_bad_edge(u, v, weight);
                } else if !self.done.contains(v) {
                    memory::prefetch(&self.best[v as usize..]);
                    let place = &mut found[found_count % FOUND_AHEAD];
                    let (v, value) = std::mem::replace(place, (v, A::extend(value, weight)));
                    self.improve(v, value, first, buckets);
                    found_count += 1;
                }
            });
        }
        found.into_iter().for_each(|(v, value)| self.improve(v, value, first, buckets));
    }

    /// Gives `v` this value, if it is better.
    #[inline]
    fn improve(&self, v: VertexId, value: f64, first: u64, buckets: &mut Buckets) {
        let slot = &self.best[v as usize];
        let key = A::key(value);
        if key >= slot.load(Relaxed) {
            return;
        }
        let before = slot.fetch_min(key, Relaxed);
        if key < before {
            if !self.better.give(v) {
                // Of its value now: another thread may have made it better still, and have relaxed its edges.
                return buckets.push(v, self.bucket_of(v), first);
            }
            // It waits, but where it was before: the far list is one bucket.
            let list_of = |bucket: u64| (bucket - first).min(NEAR_BUCKETS);
            let [old, new] = [A::value(before), value].map(|value| self.algebra.bucket_of(value));
            if list_of(old) != list_of(new) {
                buckets.push(v, new, first);
            }
        }
    }

    /// Leaves out who waits in vain in the buckets of a thread. Few more stay than there are vertices.
    #[cold]
    fn clear(&self, first: u64, buckets: &mut Buckets) {
        buckets.clear(|v, idx| {
            let bucket = self.bucket_of(v) - first;
            self.better.contains(v)
                && idx.map_or(bucket >= NEAR_BUCKETS, |idx| bucket == idx as u64)
        });
        buckets.waiting_max = buckets.waiting_max.max(2 * buckets.waiting);
    }

    #[cold]
    fn note_bad_edge(&self, u: VertexId, v: VertexId, weight: f32) {
        let mut bad_edge = self.bad_edge.lock().unwrap_or_else(PoisonError::into_inner);
        if bad_edge.is_none_or(|(a, b, _)| (u, v) < (a, b)) {
            *bad_edge = Some((u, v, weight));
        }
    }
}

/// Returns `[vertex_bound]`: the value of the best path of `view` from `source` to each vertex, along
/// the direction of the edges.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex, [`BadWeight`](Error::BadWeight) if
/// an edge that leaves a reached vertex has a weight that is not accepted (the first such edge).
pub(crate) fn best_paths<A: PathAlgebra>(
    view: &impl WeightedView,
    source: VertexId,
    algebra: &A,
) -> Result<Vec<f64>> {
    check_vertex(view, source)?;
    let unreached = A::key(A::UNREACHED);
    let best = par::collect(view.vertex_bound() as usize, |_| AtomicU64::new(unreached));
    best[source as usize].store(A::key(A::IDENTITY), Relaxed);
    improve(view, algebra, &best, &[source])?;
    Ok(best.into_iter().map(|key| A::value(key.into_inner())).collect())
}

/// Gives every vertex, in `best`, the key of the best path that begins with one to a vertex of `sources`, if it is better than what
/// it has. What the sources have is in `best`.
///
/// # Errors
/// [`BadWeight`](Error::BadWeight) as [`best_paths`].
pub(crate) fn improve<A: PathAlgebra>(
    view: &impl WeightedView,
    algebra: &A,
    best: &[AtomicU64],
    sources: &[VertexId],
) -> Result<()> {
    let bound = view.vertex_bound();
    let [done, relaxed, better] = [(); 3].map(|()| AtomicBitmap::new(bound));
    sources.iter().for_each(|&source| _ = better.give(source));
    let bad_edge = Mutex::new(None);
    let relaxation = Relaxation { view, algebra, best, done, relaxed, better, bad_edge };
    par::among_threads(view.homes(), || empty_buckets(&relaxation, sources));
    debug_assert!(
        (0..bound).all(|v| !relaxation.better.contains(v)),
        "somebody waits in no bucket"
    );
    let bad_edge = relaxation.bad_edge.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((src, dst, weight)) = bad_edge {
        return Err(Error::BadWeight { src, dst, weight, expected: A::WEIGHTS });
    }
    Ok(())
}

/// Relaxes the edges of all buckets in order, beginning with those of `sources`.
fn empty_buckets(
    relaxation: &Relaxation<'_, impl WeightedView, impl PathAlgebra>,
    sources: &[VertexId],
) {
    let share = relaxation.best.len() / (WAITING_SHARE * par::thread_count());
    let waiting_max = share.max(WAITING_MIN);
    let mut threads = par::PerThread::new(|| Buckets { waiting_max, ..Buckets::default() });
    // What falls into a thread's buckets lies anywhere.
    let is_fused = relaxation.view.homes().is_none();
    let bucket_of = |&v: &VertexId| relaxation.bucket_of(v);
    let (mut first, mut idx) = (sources.iter().map(bucket_of).min().unwrap_or(0), 0);
    let (mut bucket, later): (Vec<_>, Vec<_>) =
        sources.iter().copied().partition(|v| bucket_of(v) == first);
    threads.with(|buckets| {
        later.into_iter().for_each(|v| buckets.push(v, relaxation.bucket_of(v), first));
    });
    while !bucket.is_empty() {
        let current = first + idx as u64;
        let grain = push_grain(relaxation.view, bucket.len());
        map_sources(relaxation.view, &bucket, Direction::Out, grain, |vertices| {
            threads.with(|buckets| {
                relaxation.relax(vertices, current, first, buckets);
                while is_fused && let Some(vertices) = buckets.take_few(idx) {
                    relaxation.relax(&vertices, current, first, buckets);
                }
            });
        });
        bucket.clear();
        let next_of = |buckets: &mut Buckets| {
            (idx..buckets.near.len()).find(|&idx| !buckets.near[idx].is_empty())
        };
        let next = match threads.iter_mut().filter_map(next_of).min() {
            Some(next) => next,
            None => {
                first = refill(relaxation, &mut threads, current);
                0
            }
        };
        idx = next;
        for buckets in threads.iter_mut().filter(|buckets| idx < buckets.near.len()) {
            bucket.append(&mut buckets.take(idx));
        }
        sort_for(relaxation.view, &mut bucket);
    }
}

/// Moves vertices from the far lists into near buckets, all of which are empty; returns what is
/// now the first bucket. Vertices that were in one up to `last` are done.
fn refill(
    relaxation: &Relaxation<'_, impl WeightedView, impl PathAlgebra>,
    threads: &mut par::PerThread<Buckets>,
    last: u64,
) -> u64 {
    for buckets in threads.iter_mut() {
        buckets.clear(|v, _| relaxation.bucket_of(v) > last);
    }
    let far = threads.iter_mut().flat_map(|buckets| &buckets.far);
    let first = far.map(|&v| relaxation.bucket_of(v)).min().unwrap_or(last);
    for buckets in threads.iter_mut() {
        for v in std::mem::take(&mut buckets.far) {
            buckets.waiting -= 1;
            buckets.push(v, relaxation.bucket_of(v), first);
        }
    }
    first
}

/// Checks that `values` are those of the best paths of `view` from `source`.
///
/// They are if the source has that of the path without edges, no edge makes a better path to its
/// end, and every other vertex that has a value can be reached over edges that make, of the value
/// of the one end, exactly that of the other. Cost: the edges of the reached vertices once, 5 bytes
/// for each id.
pub(crate) fn verify_best_paths<A: PathAlgebra>(
    view: &impl WeightedView,
    source: VertexId,
    values: &[f64],
) -> Result<()> {
    check_vertex(view, source)?;
    let require = |holds, property: &dyn Fn() -> String| require(A::KERNEL, holds, property);
    let bound = view.vertex_bound();
    require(values.len() == bound as usize, &|| {
        format!("{} values for {bound} ids", values.len())
    })?;
    let of = |v: VertexId| values.get(v as usize).copied().unwrap_or(A::UNREACHED);
    require(of(source) == A::IDENTITY, &|| format!("the source has the value {}", of(source)))?;
    let mut seen = vec![false; bound as usize];
    seen[source as usize] = true;
    let mut stack = vec![source];
    while let Some(u) = stack.pop() {
        watch::check();
        for (v, weight) in view.out_edges(u) {
            let way = A::extend(of(u), weight);
            require(A::key(of(v)) <= A::key(way), &|| {
                format!("{v} has the value {}, but by {u} it is {way}", of(v))
            })?;
            let on_path = way != A::UNREACHED && of(v) == way;
            if on_path && !std::mem::replace(&mut seen[v as usize], true) {
                stack.push(v);
            }
        }
    }
    for v in (0..bound).filter(|&v| !seen[v as usize]) {
        require(of(v) == A::UNREACHED, &|| format!("no path to {v} has the value {}", of(v)))?;
    }
    Ok(())
}

/// Checks at some vertices that no edge makes a better path to its end, and that an edge makes
/// exactly their value.
///
/// Misses values that justify each other in a circle of edges that add nothing, and those of few
/// vertices. Cost: one of 64 vertices, up to 256 edges of each.
pub(crate) fn spot_check_best_paths<A: PathAlgebra>(
    view: &impl WeightedView,
    source: VertexId,
    values: &[f64],
) -> Result<()> {
    check_vertex(view, source)?;
    let require = |holds, property: &dyn Fn() -> String| require(A::KERNEL, holds, property);
    let bound = view.vertex_bound();
    require(values.len() == bound as usize, &|| {
        format!("{} values for {bound} ids", values.len())
    })?;
    let of = |v: VertexId| values[v as usize];
    require(of(source) == A::IDENTITY, &|| format!("the source has the value {}", of(source)))?;
    Spots::one_of(SHARE, bound).check(|v| {
        if of(v) == A::UNREACHED {
            return Ok(());
        }
        let holds = view.is_vertex(v) && !of(v).is_nan();
        require(holds, &|| format!("{v}, perhaps no vertex, has the value {}", of(v)))?;
        for (w, weight) in view.out_edges(v).take(LIST_MAX) {
            let way = A::extend(of(v), weight);
            require(A::key(of(w)) <= A::key(way), &|| {
                format!("{w} has the value {}, but by {v} it is {way}", of(w))
            })?;
        }
        let is_made = v == source
            || view.in_degree(v) as usize > LIST_MAX
            || view.in_edges(v).any(|(u, weight)| A::extend(of(u), weight) == of(v));
        require(is_made, &|| format!("no edge to {v} makes its value {}", of(v)))
    })
}

/// Returns a bucket for `key`, the bits of a number in either direction: the numbers between a power
/// of 2 and the next are in [`BUCKETS_PER_OCTAVE`] buckets of equal width.
#[inline]
pub(crate) fn octave_bucket(key: u64) -> u64 {
    // The sign, the exponent and the first bits behind it.
    key >> (f64::MANTISSA_DIGITS - 1 - BUCKETS_PER_OCTAVE.ilog2())
}

/// Returns an integer of the same order as `number`, which is not NaN, and not negative zero.
#[inline]
pub(crate) fn ordered_bits(number: f64) -> u64 {
    let bits = number.to_bits();
    bits ^ if bits >> 63 == 0 { 1 << 63 } else { u64::MAX }
}

/// Returns the number that [`ordered_bits`] made `bits` of.
#[inline]
pub(crate) fn from_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(bits ^ if bits >> 63 == 1 { 1 << 63 } else { u64::MAX })
}
