//! One query over all versions of a window, each answered from what it shares with others.
//!
//! Source: PIE §3.3 and §4.1, after CommonGraph (Afarin et al., ASPLOS 2023): the query is solved on the graph
//! that all versions have in common. From there every version is reached by adding edges only, by which no value
//! gets worse.
//!
//! Difference: the window is halved. What versions `i..j` have in common leads to what each half has in common, by
//! adding the edges that only this half has:
//!
//! ```text
//!                    common 0..7
//!           common 0..3       common 4..7
//!      common 0..1  2..3     4..5   common 6..7
//!       0    1      2  3     4  5      6    7
//! ```
//! An edge that disappears in the middle is added once for each level, not once for each version; halves run
//! at the same time.
//!
//! # Cost
//! The query on the common graph; then for `n` versions `n/2 · log n` deltas and what they make better. Memory:
//! the values of a version for each level that is being worked on, and 24 bytes for each edge that some versions
//! have and others have not.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use everedge_core::{GraphView, VertexId, par, watch};
use everedge_kernels as kernels;
use parking_lot::Mutex;

use super::bits::Bits;
use super::lifetimes::{Lifetimes, Mortal, VERSIONS_MAX};
use super::query::MonotoneQuery;
use super::tip::Tip;
use super::view::{READ_AHEAD, VersionView};
use super::{TimelineOptions, Version};

/// In which order what versions have in common leads to what fewer of them have, and at last to each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The window is halved until a half is one version.
    #[default]
    Halves,
    /// What the first version and some later ones have in common, one less each time; from there to the last of
    /// them (PIE Figure 9).
    Lasting,
    /// The same for parts of so many versions, and in each part from what its versions have in common (PIE
    /// Figure 11).
    TwoStages {
        /// Versions of a part.
        versions: u16,
    },
    /// From what all have in common to each version.
    Each,
}

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

/// Consecutive versions, made ready for queries.
pub struct Window {
    versions: Vec<Version>,
    common: VersionView,
    lifetimes: Lifetimes,
    /// By version, the ids that became vertices with it and that ended with it; none of the first one.
    vertex_changes: Vec<[Vec<VertexId>; 2]>,
    /// The vertices of the first version.
    vertices: Bits,
}

impl Window {
    /// Makes the versions from the number `first` of `tip` on to its last one ready.
    pub(crate) fn new(tip: &Tip, first: usize, options: &TimelineOptions) -> Self {
        let (words, segments) = (tip.words(), tip.segments());
        let vertices = tip.vertices_of(first + 1);
        let (lifetimes, common) = par::join(
            || Lifetimes::new(words, segments, first),
            || VersionView::common(tip, first, vertices.clone(), options),
        );
        let ids = |ids: &[AtomicU32]| ids.iter().map(|id| id.load(Relaxed)).collect();
        let later = segments[first + 1..]
            .iter()
            .map(|segment| [segment.new_vertices(words), segment.ended_vertices(words)].map(ids));
        let vertex_changes = std::iter::once([Vec::new(), Vec::new()]).chain(later).collect();
        let versions = segments[first..].iter().map(|segment| segment.version.clone()).collect();
        Self { versions, common, lifetimes, vertex_changes, vertices }
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
        let last = self.versions.len() as u16 - 1;
        let is_once = |edge: &&Mortal| self.common.is_directed() || edge.src <= edge.dst;
        let edges = self.lifetimes.edges().iter().filter(is_once);
        edges.filter(|edge| !edge.is_common(0, last)).count()
    }

    /// Returns the edges that the last version has and the first one has not, and those that only the first one
    /// has, each ascending; of an undirected graph with the smaller end first.
    pub fn difference(&self) -> [Vec<(VertexId, VertexId, f32)>; 2] {
        let last = self.versions.len() as u16 - 1;
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
        self.run_by::<Q>(Schedule::Halves, source, answer)
    }

    /// As [`Self::run`], by a schedule of choice, for measurements.
    ///
    /// # Errors
    /// As that.
    pub fn run_by<Q: MonotoneQuery>(
        &self,
        schedule: Schedule,
        source: VertexId,
        answer: impl Fn(Answer<'_, Q::Value>) + Sync + Send,
    ) -> kernels::Result<()> {
        let has_source = self.versions_with(source);
        let answer = |number: u16, State { values, seconds }: &State<Q::Value>| {
            let (version, seconds) = (&self.versions[usize::from(number)], *seconds);
            match has_source[usize::from(number)] {
                true => answer(Answer { version, values, seconds }),
                false => {
                    let values = &vec![Q::UNREACHED; values.len()];
                    answer(Answer { version, values, seconds });
                }
            }
        };
        let run = Run::<Q, _> {
            window: self,
            answer,
            values: Mutex::default(),
            queues: Mutex::default(),
        };
        let start = Instant::now();
        let values = run.solve_common(source)?;
        let (last, seconds) = (self.versions.len() as u16 - 1, start.elapsed().as_secs_f64());
        let state = State { values, seconds: seconds / self.versions.len() as f64 };
        match schedule {
            Schedule::Halves => run.halve((0, last), state),
            Schedule::Lasting => run.go_back((0, last), 0, state),
            Schedule::TwoStages { versions } => {
                run.go_back_by(last, versions.clamp(1, VERSIONS_MAX as u16), state);
            }
            Schedule::Each => {
                par::for_each_range(u32::from(last) + 1, 1, |version| {
                    run.answer_one((0, last), version.start as u16, run.copy(&state));
                });
            }
        }
        Ok(())
    }

    /// Returns for each version whether `v` is a vertex.
    fn versions_with(&self, v: VertexId) -> Vec<bool> {
        let mut is_vertex = self.vertices.contains(v as usize);
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

/// Where a query is: the values of what some versions have in common.
struct State<V> {
    values: Vec<V>,
    /// The part of each of these versions in the time that this took.
    seconds: f64,
}

/// A query as it runs over a window.
struct Run<'a, Q: MonotoneQuery, A> {
    window: &'a Window,
    answer: A,
    /// What steps are done with, for others to use: memory that is new costs more than what they do with it.
    values: Mutex<Vec<Vec<Q::Value>>>,
    queues: Mutex<Vec<Queue>>,
}

impl<Q: MonotoneQuery, A: Fn(u16, &State<Q::Value>) + Sync + Send> Run<'_, Q, A> {
    /// Solves the query on what all versions have in common.
    fn solve_common(&self, source: VertexId) -> kernels::Result<Vec<Q::Value>> {
        let Window { common, lifetimes, versions, .. } = self.window;
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
        let mut queue = Queue::new(bound);
        queue.insert(source);
        self.propagate((0, versions.len() as u16 - 1), &mut values, &mut queue);
        Ok(values)
    }

    /// Returns a copy of a state.
    fn copy(&self, state: &State<Q::Value>) -> State<Q::Value> {
        let mut values = self.values.lock().pop().unwrap_or_default();
        values.clear();
        values.extend_from_slice(&state.values);
        State { values, seconds: state.seconds }
    }

    /// Answers for a version, of which this is the state.
    fn finish(&self, version: u16, state: State<Q::Value>) {
        (self.answer)(version, &state);
        self.values.lock().push(state.values);
    }

    /// Answers for the versions from `i` to `j`, from the state of what they have in common.
    fn halve(&self, (i, j): (u16, u16), mut state: State<Q::Value>) {
        if i == j {
            return self.finish(i, state);
        }
        let middle = i + (j - i) / 2;
        let mut later = self.copy(&state);
        par::join(
            || {
                self.step((i, j), (i, middle), &mut state);
                self.halve((i, middle), state);
            },
            || {
                self.step((i, j), (middle + 1, j), &mut later);
                self.halve((middle + 1, j), later);
            },
        );
    }

    /// Answers for the versions from `j` back to `first`, from the state of what those from `i` to `j` have in
    /// common: what those from `i` to one less have is next.
    fn go_back(&self, (i, j): (u16, u16), first: u16, mut state: State<Q::Value>) {
        if j == first {
            return self.answer_one((i, j), j, state);
        }
        let copy = self.copy(&state);
        par::join(
            || self.answer_one((i, j), j, copy),
            || {
                self.step((i, j), (i, j - 1), &mut state);
                self.go_back((i, j - 1), first, state);
            },
        );
    }

    /// Answers for the versions from `j` back to the first one, `local` at a time: from what those of a part have
    /// in common with the first one to what they have in common.
    fn go_back_by(&self, j: u16, local: u16, mut state: State<Q::Value>) {
        let i = (j + 1).saturating_sub(local);
        let mut of_part = self.copy(&state);
        par::join(
            || {
                self.step((0, j), (i, j), &mut of_part);
                self.go_back((i, j), i, of_part);
            },
            || {
                if i > 0 {
                    self.step((0, j), (0, i - 1), &mut state);
                    self.go_back_by(i - 1, local, state);
                }
            },
        );
    }

    /// Answers for a version, from the state of what those from `i` to `j` have in common.
    fn answer_one(&self, common: (u16, u16), version: u16, mut state: State<Q::Value>) {
        self.step(common, (version, version), &mut state);
        self.finish(version, state);
    }

    /// Goes from the state of what the versions of one range have in common to that of what the versions of a part
    /// of it have: along the edges that come with it, and on from vertices that are better for it.
    fn step(&self, (i, j): (u16, u16), part: (u16, u16), state: &mut State<Q::Value>) {
        watch::check();
        let (start, values) = (Instant::now(), &mut state.values);
        let lifetimes = &self.window.lifetimes;
        let waiting = self.queues.lock().pop();
        let mut queue = waiting.unwrap_or_else(|| Queue::new(values.len() as u32));
        let appearing = lifetimes.appearing(i + 1..part.0 + 1);
        let staying = lifetimes.disappearing(part.1 + 1..j + 1);
        for edge in appearing.chain(staying).filter(|edge| edge.is_common(part.0, part.1)) {
            let value = values[edge.src as usize];
            if value != Q::UNREACHED {
                improve::<Q>(values, edge.dst, Q::along(value, edge.weight), &mut queue);
            }
        }
        self.propagate(part, values, &mut queue);
        self.queues.lock().push(queue);
        state.seconds += start.elapsed().as_secs_f64() / f64::from(part.1 - part.0 + 1);
    }

    /// Goes on from vertices that are better, over what all versions from `i` to `j` have in common, until none
    /// gets better any more.
    fn propagate(&self, (i, j): (u16, u16), values: &mut [Q::Value], queue: &mut Queue) {
        let Window { common, lifetimes, .. } = self.window;
        while let Some(v) = queue.pop() {
            let [row, list] = [2 * READ_AHEAD, READ_AHEAD].map(|places| queue.ahead(places));
            common.load_stored_ahead(0, row, list);
            lifetimes.load_ahead(row, list);
            let value = values[v as usize];
            let (stored, neighbors, weights) = common.stored(v);
            for at in stored {
                let weight = weights.get(at).map_or(1.0, |bits| f32::from_bits(bits.load(Relaxed)));
                let neighbor = neighbors[at].load(Relaxed);
                improve::<Q>(values, neighbor, Q::along(value, weight), queue);
            }
            for edge in lifetimes.of(v).iter().filter(|edge| edge.is_common(i, j)) {
                improve::<Q>(values, edge.dst, Q::along(value, edge.weight), queue);
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
    queue: &mut Queue,
) {
    let old = &mut values[v as usize];
    if Q::is_better(value, *old) {
        *old = value;
        queue.insert(v);
    }
}

/// Vertices to go on from, each once, in the order in which they came.
struct Queue {
    waiting: VecDeque<VertexId>,
    is_waiting: Bits,
}

impl Queue {
    fn new(bound: u32) -> Self {
        let mut is_waiting = Bits::default();
        is_waiting.grow(bound as usize);
        Self { waiting: VecDeque::new(), is_waiting }
    }

    #[inline]
    fn insert(&mut self, v: VertexId) {
        if self.is_waiting.insert(v as usize) {
            self.waiting.push_back(v);
        }
    }

    /// Returns the vertex that comes so many places after the next one.
    #[inline]
    fn ahead(&self, places: usize) -> Option<VertexId> {
        self.waiting.get(places).copied()
    }

    #[inline]
    fn pop(&mut self) -> Option<VertexId> {
        let v = self.waiting.pop_front()?;
        self.is_waiting.remove(v as usize);
        Some(v)
    }
}
