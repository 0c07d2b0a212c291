//! Community detection by label propagation: vertices take over the label that most of their
//! neighbors have.
//!
//! In every iteration each vertex looks at the labels that its neighbors had before it, and takes
//! the most frequent one, of several the smallest; without neighbors it keeps its own. All edges
//! count, parallel ones too: in a directed graph a vertex counts as a neighbor for an edge to it
//! and again for one from it.
//!
//! A label is kept as its place among the initial ones, ascending, which compares as the label
//! does. A vertex looks again only if the label of a neighbor changed: once few change, they mark
//! their neighbors, and the others need not be looked at.
//!
//! Source: Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures
//! in large-scale networks", Physical Review E 2007; in the synchronous and deterministic form of
//! Iosup et al., "LDBC Graphalytics", PVLDB 2016 (CDLP). Differences: vertices whose neighbors did
//! not change are left out, and the iterations end when nothing changes. Lists are read at the home
//! of the out-neighbors (XPGraph, ToS 2025, §4.2).
//!
//! # Cost
//! Each iteration reads the edges of the vertices that look, and one label for each, at random.
//! 17 bytes for each id (the result among them), 12 more if initial labels are given, 4 for each
//! vertex whose label changes; on each thread up to 3 for each id, and 4 more for all threads if a vertex
//! has more neighbors than one of 32 ids.

use std::mem;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use everedge_core::{
    AtomicBitmap, Bitmap, Direction, GraphView, HOME_SPAN, ListVisitor, VertexId, par, watch,
};

use crate::error::require;
use crate::frontier::map_sources;
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result};

/// The label of an id that is no vertex.
pub const NO_LABEL: VertexId = VertexId::MAX;

/// Vertices in a piece of work.
const GRAIN: usize = 1 << 8;
const _: () = assert!((HOME_SPAN as usize).is_multiple_of(GRAIN));
/// Vertices of a list in a piece of work, and vertices whose neighbors' labels are taken before they
/// are counted: degrees vary by far, so pieces are small.
const LIST_GRAIN: usize = 64;
/// A thread keeps the labels of this many neighbors in a direction at most, or one for so many ids: lists that are longer are
/// gone through twice.
const KEPT_MIN: usize = 1 << 12;
const KEPT_SHARE: usize = 32;
/// Neighbors are marked if their edges are fewer than all edges divided by this.
const MARKED_PART: u64 = 4;
/// Labels in a piece of work that takes little for each.
const LABEL_GRAIN: usize = 1 << 12;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 32;
const KERNEL: &str = "cdlp";

/// How long labels are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CdlpConfig {
    /// Stop after this many iterations, or when no label changes.
    pub iterations_max: u32,
}

impl Default for CdlpConfig {
    /// What most graphs of LDBC Graphalytics prescribe.
    fn default() -> Self {
        Self { iterations_max: 10 }
    }
}

/// What [`cdlp`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdlp {
    /// `[vertex_bound]`: the vertex whose initial label is that of the community of each vertex (the
    /// smallest of several), or [`NO_LABEL`].
    pub label: Vec<VertexId>,
    /// How many iterations were done; if fewer than asked for, the last one changed no label.
    pub iterations: u32,
    /// The labels before the last iteration, for a spot check.
    before: Vec<VertexId>,
}

/// The place of a label among the different initial ones, ascending.
type Place = u32;

/// Finds communities of `view` by passing on labels, which are `labels[v]` at first or, without,
/// the numbers of the vertices. Labels of ids that are no vertices do not matter.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if there are not as many labels as ids.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{CdlpConfig, cdlp};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 0), (3, 4)], None, CsrOptions::default());
/// let labels = [70, 50, 60, 10, 20];
/// let config = CdlpConfig { iterations_max: 2 };
/// assert_eq!(cdlp(&g, Some(&labels), &config)?.label, [1, 1, 1, 3, 4]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn cdlp(view: &impl GraphView, labels: Option<&[u64]>, config: &CdlpConfig) -> Result<Cdlp> {
    check_labels(view, labels)?;
    let sorted = labels.map(sorted);
    let initial = initial_places(view, labels.zip(sorted.as_deref()));
    let owner = sorted.as_ref().map(|sorted| owners(view, &initial, sorted.len()));
    let mut new = initial.clone();
    let mut old = initial;
    let (mut active, tally) = (None, Mutex::default());
    let mut iterations = 0;
    while iterations < config.iterations_max {
        iterations += 1;
        watch::note(iterations.into(), config.iterations_max.into());
        let changed = iterate(view, active.as_ref(), &old, &mut new, &tally);
        mem::swap(&mut old, &mut new);
        if changed.vertices.is_empty() {
            break;
        }
        active = neighbors_of_few(view, &changed);
    }
    let [label, before] = [old, new].map(|places| into_owners(view, owner.as_deref(), places));
    Ok(Cdlp { label, iterations, before })
}

fn check_labels(view: &impl GraphView, labels: Option<&[u64]>) -> Result<()> {
    match labels.map(<[u64]>::len) {
        Some(count) if count != view.vertex_bound() as usize => Err(Error::BadParameter {
            name: "the number of labels",
            value: count as f64,
            expected: "the number of ids",
        }),
        _ => Ok(()),
    }
}

/// Returns the different labels, ascending.
fn sorted(labels: &[u64]) -> Vec<u64> {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

/// Returns the place of the initial label of each id; `labels` are beside the sorted ones.
fn initial_places(view: &impl GraphView, labels: Option<(&[u64], &[u64])>) -> Vec<Place> {
    let Some((labels, sorted)) = labels else {
        return (0..view.vertex_bound()).collect();
    };
    let mut places = vec![0; labels.len()];
    par::map_chunks_mut(&mut places, GRAIN, |first, places| {
        for (place, label) in places.iter_mut().zip(&labels[first..]) {
            *place = sorted.partition_point(|other| other < label) as Place;
        }
    });
    places
}

/// Returns the smallest vertex that has the label at each place at first.
fn owners(view: &impl GraphView, initial: &[Place], place_count: usize) -> Vec<VertexId> {
    let mut owner = vec![NO_LABEL; place_count];
    let vertices = (0..initial.len() as VertexId).rev().filter(|&v| view.is_vertex(v));
    for v in vertices {
        owner[initial[v as usize] as usize] = v;
    }
    owner
}

/// Puts the vertex that owns it in place of each label.
fn into_owners(
    view: &impl GraphView,
    owner: Option<&[VertexId]>,
    mut places: Vec<Place>,
) -> Vec<VertexId> {
    par::map_chunks_mut(&mut places, LABEL_GRAIN, |first, places| {
        for (v, place) in (first as VertexId..).zip(places) {
            *place = match view.is_vertex(v) {
                true => owner.map_or(*place, |owner| owner[*place as usize]),
                false => NO_LABEL,
            };
        }
    });
    places
}

/// Computes `new` from the `old` labels; only those of `active` can change, or of all if there is
/// none. Returns what changed.
fn iterate(
    view: &impl GraphView,
    active: Option<&Bitmap>,
    old: &[Place],
    new: &mut [Place],
    tally: &Mutex<Tally>,
) -> Changed {
    let threads = par::PerThread::new(<(Counter, [Labels; 2])>::default);
    let home_of = |first| view.home(first as VertexId, Direction::Out);
    let changed = par::map_chunks_mut_at_home(view.homes(), new, GRAIN, home_of, |first, new| {
        new.copy_from_slice(&old[first..first + new.len()]);
        threads.with(|(counter, labels)| {
            let mut step =
                Step { view, active, old, tally, counter, labels, changed: Changed::default() };
            let firsts = (first as VertexId..).step_by(LIST_GRAIN);
            firsts.zip(new.chunks_mut(LIST_GRAIN)).for_each(|(first, new)| step.take(first, new));
            step.changed
        })
    });
    changed.into_iter().fold(Changed::default(), |mut all, part| {
        all.vertices.extend(part.vertices);
        all.edges += part.edges;
        all
    })
}

/// What a thread does in an iteration.
struct Step<'a, V> {
    view: &'a V,
    active: Option<&'a Bitmap>,
    old: &'a [Place],
    tally: &'a Mutex<Tally>,
    counter: &'a mut Counter,
    /// Of out-neighbors and of in-neighbors.
    labels: &'a mut [Labels; 2],
    changed: Changed,
}

impl<V: GraphView> Step<'_, V> {
    /// Gives the vertices from `first` on their `new` labels: those with long lists one by one.
    fn take(&mut self, first: VertexId, new: &mut [Place]) {
        let vertices = first..first + new.len() as VertexId;
        let sides = [Direction::Out, Direction::In];
        let sides = &sides[..1 + usize::from(self.view.is_directed())];
        let have_room = sides.iter().zip(&mut *self.labels).all(|(&direction, labels)| {
            labels.take(self.view, direction, vertices.clone(), self.active, self.old)
        });
        if !have_room {
            return match new {
                [new] => self.tally(sides, first, new),
                new => {
                    let (some, others) = new.split_at_mut(new.len() / 2);
                    self.take(first, some);
                    self.take(first + some.len() as VertexId, others);
                }
            };
        }
        for (i, (v, new)) in vertices.zip(new).enumerate() {
            let [outgoing, incoming] = &*self.labels;
            let places = [outgoing.of(i), incoming.of(i)];
            let place = self.counter.most_frequent(places).unwrap_or(*new);
            self.put(v, new, place, places.map(<[Place]>::len).iter().sum::<usize>() as u64);
        }
    }

    /// Gives `v` its `new` label, of a list that is too long to be kept.
    fn tally(&mut self, sides: &[Direction], v: VertexId, new: &mut Place) {
        // A panic of another thread ends the kernel, so counts that it leaves do no harm.
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = |f: &mut dyn FnMut(Place)| {
            sides
                .iter()
                .for_each(|&side| neighbors_of(self.view, side, v, |u| f(self.old[u as usize])));
        };
        let (place, entries) = tally.most_frequent(self.old.len(), labels);
        self.put(v, new, place.unwrap_or(*new), entries);
    }

    fn put(&mut self, v: VertexId, new: &mut Place, place: Place, entries: u64) {
        if mem::replace(new, place) != place {
            self.changed.vertices.push(v);
            self.changed.edges += entries;
        }
    }
}

fn neighbors_of(view: &impl GraphView, direction: Direction, v: VertexId, f: impl FnMut(VertexId)) {
    match direction {
        Direction::Out => view.out_neighbors(v).for_each(f),
        Direction::In => view.in_neighbors(v).for_each(f),
    }
}

/// Counts labels of one vertex whose list is too long to be kept.
#[derive(Default)]
struct Tally {
    /// How often each label was met; all 0 between two vertices, and empty before the first.
    counts: Vec<u32>,
}

impl Tally {
    /// Returns the most frequent of `place_count` labels among those that `labels` calls its argument with, of several the
    /// smallest, and how many these are. It is asked twice. There is none if a read has failed since the list was found too
    /// long: a view then has no neighbors.
    fn most_frequent(
        &mut self,
        place_count: usize,
        labels: impl Fn(&mut dyn FnMut(Place)),
    ) -> (Option<Place>, u64) {
        self.counts.resize(place_count, 0);
        let (mut best, mut entries) = (0, 0);
        labels(&mut |place| {
            let count = &mut self.counts[place as usize];
            *count += 1;
            entries += 1;
            best = best.max(u64::from(*count) << 32 | u64::from(!place));
        });
        labels(&mut |place| self.counts[place as usize] = 0);
        ((entries > 0).then_some(!(best as u32)), entries)
    }
}

/// What an iteration changed.
#[derive(Default)]
struct Changed {
    /// The vertices that have another label, ascending.
    vertices: Vec<VertexId>,
    /// How many entries their lists have.
    edges: u64,
}

/// The labels at the other ends of the edges of some vertices in one direction.
#[derive(Default)]
struct Labels {
    places: Vec<Place>,
    /// Where those of each vertex end.
    ends: Vec<usize>,
}

impl Labels {
    /// Takes the `old` labels of the neighbors of those of `vertices` that are `active`, or of all
    /// if nothing is. Returns whether there was room for them.
    fn take(
        &mut self,
        view: &impl GraphView,
        direction: Direction,
        vertices: Range<VertexId>,
        active: Option<&Bitmap>,
        old: &[Place],
    ) -> bool {
        self.places.clear();
        self.ends.clear();
        let (first, count) = (vertices.start, vertices.len());
        let room = (old.len() / KEPT_SHARE).max(KEPT_MIN);
        view.visit_neighbors(
            direction,
            vertices,
            &mut Take { labels: self, first, active, old, room },
        );
        self.ends.resize(count, self.places.len());
        self.places.len() <= room
    }

    /// Returns the labels for the vertex number `i`.
    fn of(&self, i: usize) -> &[Place] {
        let end = self.ends.get(i).copied().unwrap_or(0);
        let start = if i == 0 { 0 } else { self.ends.get(i - 1).copied().unwrap_or(end) };
        &self.places[start..end]
    }
}

/// Takes the labels of the neighbors of active vertices, until there is one more than there is room for.
struct Take<'a> {
    labels: &'a mut Labels,
    first: VertexId,
    active: Option<&'a Bitmap>,
    old: &'a [Place],
    room: usize,
}

impl ListVisitor for Take<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.active.is_none_or(|active| active.contains(v))
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let Labels { places, ends } = &mut *self.labels;
        ends.resize((v - self.first) as usize, places.len());
        let (old, room) = (self.old, self.room);
        neighbors.for_each(|u| {
            if places.len() <= room {
                places.push(old[u as usize]);
            }
        });
    }
}

/// Returns the neighbors of what changed, unless finding them is as much work as looking at all.
fn neighbors_of_few(view: &impl GraphView, changed: &Changed) -> Option<Bitmap> {
    if changed.edges >= 2 * view.edge_count() / MARKED_PART {
        return None;
    }
    let marked = AtomicBitmap::new(view.vertex_bound());
    map_sources(view, &changed.vertices, Direction::Out, LIST_GRAIN, |list| {
        for &v in list {
            view.out_neighbors(v).for_each(|u| _ = marked.insert(u));
            if view.is_directed() {
                view.in_neighbors(v).for_each(|u| _ = marked.insert(u));
            }
        }
    });
    Some(marked.into())
}

/// Returns how many entries the lists of `v` have.
fn degree(view: &impl GraphView, v: VertexId) -> u64 {
    let in_degree = if view.is_directed() { view.in_degree(v) } else { 0 };
    u64::from(view.out_degree(v)) + u64::from(in_degree)
}

/// Finds the most frequent of some labels.
#[derive(Default)]
struct Counter {
    /// A hash table with linear probing, at least half of it empty: a label in the upper half of a
    /// slot, and how often it was met in the lower one.
    slots: Vec<u64>,
}

impl Counter {
    /// Returns the most frequent label, of several the smallest, if there is a label.
    fn most_frequent(&mut self, places: [&[Place]; 2]) -> Option<Place> {
        let &first = places[0].first().or(places[1].first())?;
        let all_equal = places.iter().all(|part| part.iter().all(|&place| place == first));
        Some(if all_equal { first } else { self.most_frequent_of_several(places) })
    }

    fn most_frequent_of_several(&mut self, places: [&[Place]; 2]) -> Place {
        let count = places[0].len() + places[1].len();
        let slot_count = 2 * count.next_power_of_two();
        self.slots.clear();
        self.slots.resize(slot_count, 0);
        let shift = u64::BITS - slot_count.ilog2();
        // The count, then the label upside down: the largest has the smallest label.
        let mut best = 0;
        for &place in places.into_iter().flatten() {
            let label = u64::from(place);
            // Fibonacci hashing (Knuth, TAOCP 3, §6.4).
            let mut idx = (label.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize;
            while self.slots[idx] != 0 && self.slots[idx] >> 32 != label {
                idx = (idx + 1) & (slot_count - 1);
            }
            let count = (self.slots[idx] & u64::from(u32::MAX)) + 1;
            self.slots[idx] = label << 32 | count;
            best = best.max(count << 32 | u64::from(!place));
        }
        !(best as u32)
    }
}

/// Checks that `result` has the labels of `view` that follow from `labels` and `config`.
///
/// Labels that were passed on some times bear no trace of it, so they are passed on once more, as
/// plainly as possible: every vertex sorts the labels of its neighbors. The iterations must be as
/// many as asked for, unless the last changed nothing. Cost: every iteration; 16 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`BadParameter`](Error::BadParameter) as [`cdlp`].
pub fn verify_cdlp(
    view: &impl GraphView,
    labels: Option<&[u64]>,
    config: &CdlpConfig,
    result: &Cdlp,
) -> Result<()> {
    check_form(view, labels, config, result)?;
    let bound = view.vertex_bound();
    let initial = |v: VertexId| labels.map_or(u64::from(v), |labels| labels[v as usize]);
    let mut label: Vec<_> = (0..bound).map(initial).collect();
    let mut is_stable = false;
    for _ in 0..result.iterations {
        require(KERNEL, !is_stable, || {
            "an iteration more after one that changed nothing".to_owned()
        })?;
        let new = par::map_ranges(bound, LABEL_GRAIN as u32, |range| {
            let next = |v| next_label(view, v, label[v as usize], |u| label[u as usize]);
            range.map(next).collect::<Vec<_>>()
        });
        let new = new.concat();
        is_stable = new == label;
        label = new;
    }
    require(KERNEL, is_stable || result.iterations == config.iterations_max, || {
        format!("labels still change after {} iterations", result.iterations)
    })?;
    check_all(bound, |v| {
        let (owner, expected) = (result.label[v as usize], label[v as usize]);
        let holds = !view.is_vertex(v) || initial(owner) == expected;
        require(KERNEL, holds, || format!("{v} has the label of {owner}, not {expected}"))
    })
}

/// Checks that the last iteration gave some vertices the label that most of their neighbors had
/// before it.
///
/// Misses faults of earlier iterations that the last does not repeat, and those of few vertices.
/// Cost: the labels once, and one of 32 vertices, unless it has more than 256 edges.
///
/// # Errors
/// As [`verify_cdlp`].
pub fn spot_check_cdlp(
    view: &impl GraphView,
    labels: Option<&[u64]>,
    config: &CdlpConfig,
    result: &Cdlp,
) -> Result<()> {
    check_form(view, labels, config, result)?;
    let Cdlp { label, before, iterations } = result;
    let is_early = *iterations < config.iterations_max;
    require(KERNEL, !is_early || label == before, || {
        format!("labels still change after {iterations} iterations")
    })?;
    let of = |owner: VertexId| labels.map_or(u64::from(owner), |labels| labels[owner as usize]);
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let degree = degree(view, v);
        if degree > LIST_MAX as u64 || !view.is_vertex(v) || *iterations == 0 {
            return Ok(());
        }
        let found = of(label[v as usize]);
        let expected = next_label(view, v, of(before[v as usize]), |u| of(before[u as usize]));
        require(KERNEL, found == expected, || format!("{v} has label {found}, not {expected}"))
    })
}

/// Checks that vertices, and only they, have the label of a vertex, and the number of iterations.
fn check_form(
    view: &impl GraphView,
    labels: Option<&[u64]>,
    config: &CdlpConfig,
    result: &Cdlp,
) -> Result<()> {
    check_labels(view, labels)?;
    let (label, bound) = (&result.label, view.vertex_bound());
    require(KERNEL, label.len() == bound as usize, || {
        format!("{} labels for {bound} ids", label.len())
    })?;
    require(KERNEL, result.iterations <= config.iterations_max, || {
        format!("{} iterations, at most {}", result.iterations, config.iterations_max)
    })?;
    check_all(bound, |v| {
        let owner = label[v as usize];
        let holds = match view.is_vertex(v) {
            true => owner < bound && view.is_vertex(owner),
            false => owner == NO_LABEL,
        };
        require(KERNEL, holds, || format!("{v}, perhaps no vertex, has the label of {owner}"))
    })
}

/// Returns the label that `v` takes over, if its own one is `own` and others have what `label` says.
fn next_label(
    view: &impl GraphView,
    v: VertexId,
    own: u64,
    label: impl Fn(VertexId) -> u64,
) -> u64 {
    let mut labels: Vec<_> = view.out_neighbors(v).map(&label).collect();
    if view.is_directed() {
        labels.extend(view.in_neighbors(v).map(&label));
    }
    labels.sort_unstable();
    let mut best = (0, own);
    for run in labels.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}
