//! What writers do, and what a crash may leave of it.

use everedge_core::VertexId;
use everedge_core::par::Threads;
use everedge_live::{Durability, Result};
use everedge_medium::{Image, Mark, Recorder};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, Update, batch_of};
use everedge::GraphOptions;

pub(super) const WRITERS_MAX: usize = 3;
/// Operations of a writer in a history.
const OPERATION_COUNT: usize = 30;
/// Vertices of a writer; the last so many of a graph are nobody's.
const OWN_VERTICES: u64 = 4;
pub(super) const VERTEX_COUNT: u64 = OWN_VERTICES * (WRITERS_MAX as u64 + 1);
/// Vertices lie in so many shards.
const SHARDS: VertexId = 3;
const SHARD_VERTICES: VertexId = 4096;
/// Bits of a mark in which a writer counts its operations.
const COUNT_BITS: usize = 16;
/// The bit of a mark that says that the graph exists.
pub(super) const CREATED: u64 = 1 << (COUNT_BITS * WRITERS_MAX);

/// How many operations of each writer.
pub(super) type Counts = [usize; WRITERS_MAX];

/// What a writer does in one call.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    InsertEdge(VertexId, VertexId, f32),
    Apply(Vec<Update>),
    Delete(Vec<(VertexId, VertexId)>),
}

impl Operation {
    pub(super) fn updates(&self) -> Vec<Update> {
        match self {
            Self::InsertEdge(u, v, weight) => vec![Update::Insert(*u, *v, *weight)],
            Self::Apply(updates) => updates.clone(),
            Self::Delete(edges) => edges.iter().map(|&(u, v)| Update::Delete(u, v)).collect(),
        }
    }

    pub(super) fn run(&self, graph: &LiveGraph, weighted: bool) -> Result<()> {
        match self {
            Self::InsertEdge(u, v, weight) => {
                graph.insert_edge((*u, *v), weighted.then_some(*weight))
            }
            Self::Apply(updates) => graph.apply(&batch_of(updates, weighted)),
            Self::Delete(edges) => graph.delete(edges.iter().copied()).map(drop),
        }
    }
}

pub(super) fn place(number: u64) -> VertexId {
    let number = number as VertexId;
    number / SHARDS + SHARD_VERTICES * (number % SHARDS)
}

/// Makes up the operations of one writer.
pub(super) struct Script {
    random: Random,
    writer: u64,
    /// Edges that were inserted and, as far as this knows, not deleted.
    edges: Vec<(VertexId, VertexId)>,
}

impl Script {
    pub(super) fn operations(seed: u64, writer: usize) -> Vec<Operation> {
        let random = Random(seed << 8 | writer as u64);
        let mut script = Script { random, writer: writer as u64, edges: Vec::new() };
        (0..OPERATION_COUNT).map(|_| script.operation()).collect()
    }

    fn operation(&mut self) -> Operation {
        match self.random.below(10) {
            0 => {
                let count = 1 + self.random.below(3);
                Operation::Delete((0..count).filter_map(|_| self.old_edge()).collect())
            }
            1..=2 => {
                let count = 2 + self.random.below(10);
                Operation::Apply((0..count).map(|_| self.update()).collect())
            }
            _ => {
                let (u, v, weight) = self.new_edge();
                Operation::InsertEdge(u, v, weight)
            }
        }
    }

    fn update(&mut self) -> Update {
        if self.random.below(3) == 0
            && let Some((u, v)) = self.old_edge()
        {
            return Update::Delete(u, v);
        }
        let (u, v, weight) = self.new_edge();
        Update::Insert(u, v, weight)
    }

    fn new_edge(&mut self) -> (VertexId, VertexId, f32) {
        let own = OWN_VERTICES * self.writer;
        let u = own + self.random.below(OWN_VERTICES);
        let other = self.random.below(OWN_VERTICES);
        let nobodys = OWN_VERTICES * WRITERS_MAX as u64;
        let v = other + if self.random.below(2) == 0 { own } else { nobodys };
        self.edges.push((place(u), place(v)));
        (place(u), place(v), self.random.below(1000) as f32 / 8.0)
    }

    fn old_edge(&mut self) -> Option<(VertexId, VertexId)> {
        let count = self.edges.len() as u64;
        (count > 0).then(|| self.edges.swap_remove(self.random.below(count) as usize))
    }
}

/// How many operations each writer has begun, how many have returned and how many are safe.
pub(super) struct Progress<'a> {
    recorder: &'a Recorder,
    /// Begun, returned and safe operations, as marks.
    counts: Mutex<[u64; 3]>,
    /// Whether what returns is safe.
    is_durable: bool,
    returned: AtomicUsize,
    /// Writers that have ended.
    ended: AtomicUsize,
}

impl<'a> Progress<'a> {
    /// Starts where the graph exists and holds all vertices.
    pub(super) fn new(recorder: &'a Recorder, durability: Durability) -> Progress<'a> {
        recorder.mark(Mark::Begin(CREATED));
        recorder.mark(Mark::Acknowledged(CREATED));
        let (returned, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let is_durable = durability != Durability::None;
        Progress { recorder, counts: Mutex::new([CREATED; 3]), is_durable, returned, ended }
    }

    /// Runs the script of each writer on a thread of its own, up to the first operation that fails, and
    /// `beside` on this one.
    pub(super) fn of_all<E>(
        &self,
        scripts: &[Vec<Operation>],
        run: impl Fn(&Operation) -> std::result::Result<(), E> + Sync,
        beside: impl FnOnce(),
    ) {
        let (run, threads) = (&run, Threads::current());
        thread::scope(|scope| {
            for (writer, script) in scripts.iter().enumerate() {
                let threads = threads.clone();
                scope.spawn(move || {
                    threads.enter(|| {
                        for operation in script {
                            self.begin(writer);
                            if run(operation).is_err() {
                                break;
                            }
                            self.end(writer);
                        }
                        self.end_writer();
                    });
                });
            }
            beside();
        });
    }

    pub(super) fn begin(&self, writer: usize) {
        let mut counts = self.counts.lock();
        counts[0] += 1 << (COUNT_BITS * writer);
        self.recorder.mark(Mark::Begin(counts[0]));
    }

    /// The operation has returned.
    pub(super) fn end(&self, writer: usize) {
        let mut counts = self.counts.lock();
        counts[1] += 1 << (COUNT_BITS * writer);
        if self.is_durable {
            counts[2] = counts[1];
            self.recorder.mark(Mark::Acknowledged(counts[2]));
        }
        self.returned.fetch_add(1, Ordering::Relaxed);
    }

    /// The operation has returned and is safe, whatever others are.
    pub(super) fn end_safely(&self, writer: usize) {
        let mut counts = self.counts.lock();
        let one = 1 << (COUNT_BITS * writer);
        (counts[1], counts[2]) = (counts[1] + one, counts[2] + one);
        self.recorder.mark(Mark::Acknowledged(counts[2]));
    }

    /// Makes safe what has returned by now.
    pub(super) fn sync(&self, graph: &LiveGraph) -> Result<()> {
        let returned = self.marks()[1];
        graph.sync()?;
        self.is_safe(returned);
        Ok(())
    }

    /// Returns marks of what has begun, has returned and is safe.
    pub(super) fn marks(&self) -> [u64; 3] {
        *self.counts.lock()
    }

    /// What had returned at a mark is safe now.
    pub(super) fn is_safe(&self, returned: u64) {
        let mut counts = self.counts.lock();
        let both = [counts_of(counts[2]), counts_of(returned)];
        counts[2] = (0..WRITERS_MAX).fold(CREATED, |mark, writer| {
            mark + ((both[0][writer].max(both[1][writer]) as u64) << (COUNT_BITS * writer))
        });
        self.recorder.mark(Mark::Acknowledged(counts[2]));
    }

    fn end_writer(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many operations have returned, and how many writers have ended.
    pub(super) fn so_far(&self) -> (usize, usize) {
        (self.returned.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed))
    }
}

/// Returns how many operations of each writer a mark counts.
pub(super) fn counts_of(mark: u64) -> Counts {
    std::array::from_fn(|writer| (mark >> (COUNT_BITS * writer)) as usize % (1 << COUNT_BITS))
}

/// A history: what each writer does, and the order in which the medium saw it.
pub(super) struct Recorded {
    pub(super) recorder: Recorder,
    pub(super) scripts: Vec<Vec<Operation>>,
    /// Entries that were stored in arrays without the log.
    pub(super) stored_directly: u64,
    /// What the graph shows after so many operations of each writer.
    pub(super) pictures: HashMap<Counts, Picture>,
}

impl Recorded {
    pub(super) fn picture(&mut self, options: &GraphOptions, counts: Counts) -> &Picture {
        let scripts = &self.scripts;
        self.pictures.entry(counts).or_insert_with(|| {
            let mut model = Model::new(options);
            model.apply(&all_vertices());
            for (script, count) in scripts.iter().zip(counts) {
                script[..count].iter().for_each(|operation| model.apply(&operation.updates()));
            }
            model.picture()
        })
    }

    /// Returns whether a crash may leave what was found.
    pub(super) fn allows(
        &mut self,
        options: &GraphOptions,
        image: &Image,
        found: &Picture,
    ) -> std::result::Result<(), String> {
        let between = [image.acknowledged(), image.begun()].map(counts_of);
        self.fitting(options, between, found).map(drop)
    }

    /// Returns the fewest and the most operations of each writer after which a graph shows what was found, all
    /// that are safe among them, and none that has not begun.
    ///
    /// # Errors
    /// If it shows that after none.
    pub(super) fn fitting(
        &mut self,
        options: &GraphOptions,
        [safe, begun]: [Counts; 2],
        found: &Picture,
    ) -> std::result::Result<[Counts; 2], String> {
        let mut allowed = vec![[0; WRITERS_MAX]];
        for writer in 0..self.scripts.len() {
            let fitting = (safe[writer]..=begun[writer])
                .filter(|&count| {
                    let mut counts = [0; WRITERS_MAX];
                    counts[writer] = count;
                    let alone = self.picture(options, counts);
                    own_vertices(writer).all(|v| {
                        found.vertices.get(&v).map(|lists| &lists.0)
                            == alone.vertices.get(&v).map(|lists| &lists.0)
                    })
                })
                .collect::<Vec<_>>();
            allowed = fitting
                .into_iter()
                .flat_map(|count| {
                    allowed.iter().map(move |&counts| {
                        let mut counts: Counts = counts;
                        counts[writer] = count;
                        counts
                    })
                })
                .collect();
        }
        allowed.retain(|&counts| self.picture(options, counts) == found);
        match allowed[..] {
            // By writer, ascending.
            [fewest, .., most] => Ok([fewest, most]),
            [only] => Ok([only, only]),
            [] => {
                let difference = found.difference(self.picture(options, safe)).unwrap_or_default();
                Err(format!("none of {safe:?} to {begun:?}; of the first: {difference}"))
            }
        }
    }
}

/// Returns the vertices of a writer, whose out-edges nobody else changes.
fn own_vertices(writer: usize) -> impl Iterator<Item = VertexId> {
    let first = OWN_VERTICES * writer as u64;
    (first..first + OWN_VERTICES).map(place)
}

pub(super) fn all_vertices() -> Vec<Update> {
    (0..VERTEX_COUNT).map(|number| Update::AddVertex(place(number))).collect()
}
