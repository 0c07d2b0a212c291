//! One question over all versions of a window, each answered from what it shares with others.
//!
//! Source: PIE §3.3 and §4.1, after CommonGraph (Afarin et al., ASPLOS 2023): the question is solved on the graph
//! that all versions have in common. From there every version is reached by adding edges only (`schedule.rs`), by
//! which no value gets worse.
//!
//! # Cost
//! The question on the common graph, then what `schedule.rs` says. Memory: a bit for each stored edge, and 24 bytes for each
//! edge that some versions have and others have not, or that the first version of the timeline has not.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use everedge_core::memory::prefetch;
use everedge_core::{GraphView, VertexId, par};
use everedge_kernels as kernels;
use parking_lot::Mutex;

use super::components::{self, Components};
use super::cores;
use super::lifetimes::{Lifetimes, Mortal};
use super::query::MonotoneQuery;
use super::schedule::{Growth, Run, Schedule};
use super::tip::Tip;
use super::triangles;
use super::vertex_set::VertexSet;
use super::view::{READ_AHEAD, VersionView};
use super::waiting::Waiting;
use super::{TimelineOptions, Version};

/// What a query finds in one version.
#[derive(Debug)]
pub struct Answer<'a, V> {
    /// The version.
    pub version: &'a Version,
    /// By id, for as many ids as the last version of the window has; those that are no vertices of this
    /// version have [`UNREACHED`](MonotoneQuery::UNREACHED).
    pub values: &'a [V],
    /// How long its own steps took, with its part of those that it shares with other versions.
    pub seconds: f64,
}

/// Edges whose ends' values are loaded into the cache at the same time.
const BLOCK: usize = 32;
/// How many edges the kernel of coreness reads in the time in which one is taken away.
const FALL_COST: u64 = 24;

/// Consecutive versions, made ready for queries.
pub struct Window {
    versions: Vec<Version>,
    /// The versions up to its last one, whatever becomes of them in the timeline.
    tip: Tip,
    /// The place of its first one among them.
    first: usize,
    options: TimelineOptions,
    common: VersionView,
    lifetimes: Lifetimes,
    /// By version, the ids that became vertices with it and that ended with it; none of the first one.
    vertex_changes: Vec<[Vec<VertexId>; 2]>,
    /// The vertices of the first version.
    vertices: VertexSet,
}

impl Window {
    /// Makes the versions from the number `first` of `tip` on to its last one ready.
    pub(crate) fn new(tip: Tip, first: usize, options: &TimelineOptions) -> Self {
        let (words, segments) = (tip.words(), tip.segments());
        let vertices = tip.vertices_of(first + 1);
        let (lifetimes, common) = par::join(
            || Lifetimes::new(words, segments, first),
            || VersionView::common(&tip, first, vertices.clone(), options),
        );
        let ids = |ids: &[AtomicU32]| ids.iter().map(|id| id.load(Relaxed)).collect();
        let later = segments[first + 1..]
            .iter()
            .map(|segment| [segment.new_vertices(words), segment.ended_vertices(words)].map(ids));
        let vertex_changes = std::iter::once([Vec::new(), Vec::new()]).chain(later).collect();
        let versions = segments[first..].iter().map(|segment| segment.version.clone()).collect();
        let options = options.clone();
        Self { versions, common, lifetimes, vertex_changes, vertices, tip, first, options }
    }

    /// Returns the graph of the version number `index` of the window.
    ///
    /// Cost: as [`Timeline::at`](super::Timeline::at).
    ///
    /// # Panics
    /// If there is no such version.
    pub fn at(&self, index: usize) -> VersionView {
        VersionView::new(&self.tip, self.first + index, &self.options)
    }

    /// Whether the version number `index` of the window is the same graph as the one before it there.
    pub fn is_as_before(&self, index: usize) -> bool {
        let Version { additions, deletions, .. } = self.versions[index];
        index > 0
            && additions + deletions == 0
            && self.vertex_changes[index].iter().all(Vec::is_empty)
    }

    /// Returns a number above every vertex id of its versions.
    pub fn vertex_bound(&self) -> VertexId {
        self.common.vertex_bound()
    }

    /// Returns the versions.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Returns the ids that are vertices of some version, ascending.
    pub fn vertices(&self) -> Vec<VertexId> {
        (0..self.common.vertex_bound()).filter(|&v| self.common.is_vertex(v)).collect()
    }

    /// Returns how many edges some versions have and others have not; one that goes and comes again counts each
    /// time.
    pub fn changed_edges(&self) -> usize {
        let last = self.last();
        let is_once = |edge: &&Mortal| self.common.is_directed() || edge.src <= edge.dst;
        let edges = self.lifetimes.edges().iter().filter(is_once);
        edges.filter(|edge| !edge.is_common(0, last)).count()
    }

    /// Returns the edges that the last version has and the first one has not, and those that only the first one
    /// has, each ascending; of an undirected graph with the smaller end first.
    pub fn difference(&self) -> [Vec<(VertexId, VertexId, f32)>; 2] {
        let last = self.last();
        let is_once = |edge: &&Mortal| self.common.is_directed() || edge.src <= edge.dst;
        let edges = |is_in: &dyn Fn(&Mortal) -> bool| {
            let edges = self.lifetimes.edges().iter().filter(is_once).filter(|edge| is_in(edge));
            let bits = edges.map(|edge| (edge.src, edge.dst, edge.weight.to_bits()));
            let mut edges: Vec<_> = bits.collect();
            edges.sort_unstable();
            edges
        };
        let came = edges(&|edge| edge.is_common(last, last) && edge.appears > 0);
        let went = edges(&|edge| edge.appears == 0 && !edge.is_common(last, last));
        // What went and came again is in both versions.
        [without(&came, &went), without(&went, &came)]
    }

    /// Calls `answer` for each version of the window, in no order and possibly at the same time.
    ///
    /// # Errors
    /// [`NotAVertex`](kernels::Error::NotAVertex) if `source` is no vertex in any version;
    /// [`BadWeight`](kernels::Error::BadWeight) if the query does not allow the weight of an edge.
    pub fn run<Q: MonotoneQuery>(
        &self,
        source: VertexId,
        answer: impl Fn(Answer<'_, Q::Value>) + Sync + Send,
    ) -> kernels::Result<()> {
        self.run_by::<Q>(Schedule::default(), source, answer).map(|_| ())
    }

    /// As [`Self::run`], by a schedule of choice, for measurements. Returns how many versions were asked by themselves.
    ///
    /// # Errors
    /// As that.
    pub fn run_by<Q: MonotoneQuery>(
        &self,
        schedule: Schedule,
        source: VertexId,
        answer: impl Fn(Answer<'_, Q::Value>) + Sync + Send,
    ) -> kernels::Result<usize> {
        let has_source = self.versions_with(source);
        let answer = |number: u16, values: &mut [Q::Value], seconds: f64| {
            let version = &self.versions[usize::from(number)];
            if !has_source[usize::from(number)] {
                values.fill(Q::UNREACHED);
            }
            answer(Answer { version, values, seconds });
        };
        let paths =
            Paths::<Q> { window: self, source, spare: Mutex::default(), query: PhantomData };
        let start = Instant::now();
        let values = paths.solve_common()?;
        let changing = (schedule == Schedule::Bounds).then(|| paths.changing(&values));
        let run = Run::new(changing.as_ref().unwrap_or(&self.lifetimes), paths, answer);
        Ok(run.by(schedule, self.last(), values, start.elapsed()))
    }

    /// Finds the weakly connected components of each version, and calls `answer` for it as [`Self::run`] does: a vertex
    /// has the smallest one of its component, an id that is no vertex [`NO_COMPONENT`](kernels::NO_COMPONENT).
    pub fn components(&self, answer: impl Fn(Answer<'_, VertexId>) + Sync + Send) {
        let start = Instant::now();
        let common = components::of_common(&self.common);
        let answer = |number: u16, values: &mut [VertexId], seconds: f64| {
            let (start, version) = (Instant::now(), &self.versions[usize::from(number)]);
            components::name(values, &self.vertices_of(number));
            let seconds = seconds + start.elapsed().as_secs_f64();
            answer(Answer { version, values, seconds });
        };
        let run = Run::new(&self.lifetimes, Components, answer);
        run.by(Schedule::Halves, self.last(), common, start.elapsed());
    }

    /// Returns how many triangles each version has, or nothing where no lists of in-neighbors are kept.
    ///
    /// Cost: those of what all versions have in common are counted once; for each pair of neighbors that some
    /// versions lack, the lists of the end with fewer neighbors are read.
    pub fn triangles(&self) -> Option<Vec<u64>> {
        let count = |common| triangles::count(common, &self.lifetimes, self.versions.len());
        self.common.has_in_neighbors().then(|| count(&self.common))
    }

    /// Whether [`Self::coreness`] is expected to take less time than the kernel on each version: of 12 versions if no more
    /// than an eighth of the edges are in some and not in others, as measured on Kronecker graphs.
    pub fn coreness_pays(&self) -> bool {
        let versions = self.versions.len() as u64;
        let levels = u64::from(versions.next_power_of_two().ilog2());
        let taken_away = self.changed_edges() as u64 * levels;
        FALL_COST * taken_away <= versions * self.common.edge_count()
    }

    /// Finds the coreness of every vertex in each version, and calls `answer` for it as [`Self::run`] does; an id that is no
    /// vertex has 0. Does nothing and returns false where no lists of in-neighbors are kept.
    ///
    /// Cost: the kernel on what any version has; then the lists of vertices whose coreness falls where edges go.
    pub fn coreness(&self, answer: impl Fn(Answer<'_, u32>) + Sync + Send) -> bool {
        if !self.common.has_in_neighbors() {
            return false;
        }
        let answer = |number: u16, values: &[u32], seconds: f64| {
            answer(Answer { version: &self.versions[usize::from(number)], values, seconds });
        };
        cores::answer_all(&self.common, &self.lifetimes, self.versions.len(), answer);
        true
    }

    /// Returns the number of the last version in the window.
    fn last(&self) -> u16 {
        self.versions.len() as u16 - 1
    }

    /// Returns the vertices of a version.
    fn vertices_of(&self, number: u16) -> VertexSet {
        let mut vertices = self.vertices.clone();
        for [new, ended] in &self.vertex_changes[..=usize::from(number)] {
            new.iter().for_each(|&v| _ = vertices.insert(v));
            ended.iter().for_each(|&v| _ = vertices.remove(v));
        }
        vertices
    }

    /// Returns for each version whether `v` is a vertex.
    fn versions_with(&self, v: VertexId) -> Vec<bool> {
        let mut is_vertex = self.vertices.contains(v);
        let of = |[new, ended]: &[Vec<VertexId>; 2]| {
            is_vertex = match is_vertex {
                true => ended.binary_search(&v).is_err(),
                false => new.binary_search(&v).is_ok(),
            };
            is_vertex
        };
        self.vertex_changes.iter().map(of).collect()
    }
}

/// A query over paths, as it runs over a window.
struct Paths<'a, Q: MonotoneQuery> {
    window: &'a Window,
    source: VertexId,
    /// What steps are done with, for others to use.
    spare: Mutex<Vec<Waiting<Q>>>,
    query: PhantomData<fn(Q)>,
}

impl<Q: MonotoneQuery> Growth for Paths<'_, Q> {
    type Value = Q::Value;

    /// Along the edges that come, and on from vertices that are better for it.
    fn grow<'e>(
        &self,
        part: (u16, u16),
        edges: impl Iterator<Item = &'e Mortal>,
        values: &mut [Q::Value],
    ) {
        let spare = self.spare.lock().pop();
        let mut waiting = spare.unwrap_or_else(|| Waiting::new(values.len() as u32));
        let (mut edges, mut block) = (edges.peekable(), Vec::<&Mortal>::with_capacity(BLOCK));
        while edges.peek().is_some() {
            block.extend(edges.by_ref().take(BLOCK));
            block.iter().for_each(|edge| prefetch(&values[edge.dst as usize..]));
            for edge in block.drain(..) {
                let value = values[edge.src as usize];
                if value != Q::UNREACHED {
                    improve::<Q>(values, edge.dst, Q::along(value, edge.weight), &mut waiting);
                }
            }
        }
        self.propagate(part, values, &mut waiting);
        self.spare.lock().push(waiting);
    }

    fn alone(&self, version: u16) -> Option<Vec<Q::Value>> {
        let view = self.window.at(version.into());
        let bound = self.window.vertex_bound() as usize;
        if self.source >= view.vertex_bound() || !view.is_vertex(self.source) {
            return Some(vec![Q::UNREACHED; bound]);
        }
        // All weights of the window were looked at.
        let mut values = Q::solve(&view, self.source)?.ok()?;
        values.resize(bound, Q::UNREACHED);
        Some(values)
    }
}

/// The edges that some version of a window has, as those that all of a part have.
const ANY: (u16, u16) = (u16::MAX, 0);

impl<Q: MonotoneQuery> Paths<'_, Q> {
    /// Returns the lifetimes without the edges to vertices whose value is the same in all versions: what the best of
    /// all edges makes of it is what all versions have in common make of it.
    fn changing(&self, common: &[Q::Value]) -> Lifetimes {
        let lifetimes = &self.window.lifetimes;
        let mut best = common.to_vec();
        self.grow(ANY, lifetimes.edges().iter(), &mut best);
        lifetimes.of_those(|edge| best[edge.dst as usize] != common[edge.dst as usize])
    }

    /// Solves the query on what all versions have in common.
    fn solve_common(&self) -> kernels::Result<Vec<Q::Value>> {
        let (Window { common, lifetimes, .. }, source) = (self.window, self.source);
        let bound = common.vertex_bound();
        if source >= bound || !common.is_vertex(source) {
            return Err(kernels::Error::NotAVertex { vertex: source });
        }
        if let Some(edge) = lifetimes.find(|edge| !Q::accepts(edge.weight)) {
            let (src, dst, weight) = (edge.src, edge.dst, edge.weight);
            return Err(kernels::Error::BadWeight { src, dst, weight, expected: Q::WEIGHTS });
        }
        if let Some(solved) = Q::solve(common, source) {
            return solved;
        }
        let mut values = vec![Q::UNREACHED; bound as usize];
        values[source as usize] = Q::SOURCE;
        let mut waiting = Waiting::new(bound);
        waiting.insert(source, (Q::UNREACHED, Q::SOURCE));
        self.propagate((0, self.window.last()), &mut values, &mut waiting);
        Ok(values)
    }

    /// Goes on from vertices that are better, over what all versions from `i` to `j` have in common, until none
    /// gets better any more.
    fn propagate(&self, (i, j): (u16, u16), values: &mut [Q::Value], waiting: &mut Waiting<Q>) {
        let Window { common, lifetimes, .. } = self.window;
        while let Some(v) = waiting.pop(values) {
            let [row, list] = [2 * READ_AHEAD, READ_AHEAD].map(|places| waiting.ahead(places));
            common.load_stored_ahead(0, row, list);
            lifetimes.load_ahead(row, list);
            let value = values[v as usize];
            let (stored, neighbors, weights) = common.stored(v);
            for at in stored {
                let weight = weights.get(at).map_or(1.0, |bits| f32::from_bits(bits.load(Relaxed)));
                let neighbor = neighbors[at].load(Relaxed);
                improve::<Q>(values, neighbor, Q::along(value, weight), waiting);
            }
            for edge in lifetimes.of(v).iter().filter(|edge| edge.is_common(i, j)) {
                improve::<Q>(values, edge.dst, Q::along(value, edge.weight), waiting);
            }
        }
    }
}

/// Returns those of some edges that others are not, one for one; both ascend.
fn without(
    edges: &[(VertexId, VertexId, u32)],
    others: &[(VertexId, VertexId, u32)],
) -> Vec<(VertexId, VertexId, f32)> {
    let mut others = others.iter().peekable();
    let is_left = |edge: &&(VertexId, VertexId, u32)| {
        while others.next_if(|other| other < edge).is_some() {}
        others.next_if(|other| other == edge).is_none()
    };
    let left = edges.iter().filter(is_left);
    left.map(|&(src, dst, bits)| (src, dst, f32::from_bits(bits))).collect()
}

/// Gives `v` a value if it is better.
#[inline]
fn improve<Q: MonotoneQuery>(
    values: &mut [Q::Value],
    v: VertexId,
    value: Q::Value,
    waiting: &mut Waiting<Q>,
) {
    let old = values[v as usize];
    if Q::is_better(value, old) {
        values[v as usize] = value;
        waiting.insert(v, (old, value));
    }
}
