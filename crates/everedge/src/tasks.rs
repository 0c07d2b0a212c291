//! A queue of updates and queries, whose order is the order in which they count.
//!
//! Source: Weng et al., SMDG, TKDE 2026, §III-D: a query sees the updates that were given before it, all of them and no
//! other (*task-ordered snapshot*). There worker threads apply updates to vertices and queries skip what is newer
//! than they are. Here one thread commits the updates in their order, those that wait together in one batch, and takes a
//! snapshot where a query comes; worker threads compute on the snapshots, while it goes on.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;

use everedge_live::Batch;
use parking_lot::Mutex;

use crate::{Graph, Result, View};

/// So many tasks wait to be committed or frozen, and as many queries for a worker; whoever gives more waits for them.
const QUEUE: usize = 1 << 12;
/// Updates that are committed together, at most.
const JOINED_MAX: usize = 1 << 16;

/// Takes updates and queries; made by [`Graph::with_tasks`].
pub struct Tasks<'a> {
    queue: SyncSender<Task<'a>>,
}

/// What a task will have come to.
pub struct Answer<T>(Receiver<thread::Result<Result<T>>>);

type Query<'a> = Box<dyn FnOnce(Result<View>) + Send + 'a>;

enum Task<'a> {
    Update(Batch, Told<()>),
    Query(Query<'a>),
}

/// Tells the outcome of a task.
struct Told<T>(std::sync::mpsc::Sender<thread::Result<Result<T>>>);

impl Graph {
    /// Lets `give` hand updates and queries to this graph, of which each query sees the updates that were given
    /// before it, and no other. Queries run on as many `workers`, beside updates. Returns what `give` returned, when all
    /// tasks are done.
    ///
    /// ```
    /// use everedge::{Batch, Graph, GraphOptions, MediumKind};
    ///
    /// let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    /// let graph = Graph::create("example".as_ref(), &options, false)?;
    /// let counts = graph.with_tasks(2, |tasks| {
    ///     let count = |i: u32| {
    ///         tasks.update(Batch::insertions([(0, i)].into_iter(), None)?);
    ///         Ok(tasks.query(|view| view.edge_count()))
    ///     };
    ///     let answers: everedge::Result<Vec<_>> = (1..=3).map(count).collect();
    ///     answers?.into_iter().map(|answer| answer.wait()).collect::<everedge::Result<Vec<_>>>()
    /// })?;
    /// assert_eq!(counts, [1, 2, 3]);
    /// # Ok::<(), everedge::Error>(())
    /// ```
    pub fn with_tasks<'a, R>(&self, workers: usize, give: impl FnOnce(&Tasks<'a>) -> R) -> R {
        let (queue, tasks) = sync_channel(QUEUE);
        // Updates go on while queries wait for a worker.
        let (ready, queries) = sync_channel(QUEUE);
        let queries = Mutex::new(queries);
        thread::scope(|scope| {
            for _ in 0..workers.max(1) {
                scope.spawn(|| work(&queries));
            }
            scope.spawn(move || dispatch(self, &tasks, &ready));
            let tasks = Tasks { queue };
            give(&tasks)
        })
    }
}

impl<'a> Tasks<'a> {
    /// Gives a batch to be applied. Its answer says when it is durable, or why it is not; waiting for it is not needed
    /// for later queries to see it.
    pub fn update(&self, batch: Batch) -> Answer<()> {
        let (told, answer) = answer();
        self.give(Task::Update(batch, told));
        answer
    }

    /// Gives a question about the graph after all tasks that were given before.
    pub fn query<T: Send + 'a>(&self, ask: impl FnOnce(&View) -> T + Send + 'a) -> Answer<T> {
        let (told, answer) = answer();
        let run = move |view: Result<View>| told.run(|| view.map(|view| ask(&view)));
        self.give(Task::Query(Box::new(run)));
        answer
    }

    fn give(&self, task: Task<'a>) {
        // The other end goes only with this one, unless it panicked: then answers say so.
        let _ = self.queue.send(task);
    }
}

impl<T> Answer<T> {
    /// Waits until the task is done.
    ///
    /// # Errors
    /// Those of [`Graph::apply`] for an update, of [`Graph::snapshot`] for a query.
    ///
    /// # Panics
    /// If the task did.
    pub fn wait(self) -> Result<T> {
        match self.0.recv() {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => panic!("the thread of tasks has ended"),
        }
    }
}

impl<T> Told<T> {
    fn run(self, work: impl FnOnce() -> Result<T>) {
        // Whoever gave the task may not wait for it.
        let _ = self.0.send(catch_unwind(AssertUnwindSafe(work)));
    }
}

fn answer<T>() -> (Told<T>, Answer<T>) {
    let (sender, receiver) = channel();
    (Told(sender), Answer(receiver))
}

/// Answers queries until there will be no more.
fn work(queries: &Mutex<Receiver<(Query<'_>, Result<View>)>>) {
    loop {
        // Not held while the query runs.
        let next = queries.lock().recv();
        let Ok((query, view)) = next else { return };
        query(view);
    }
}

/// Commits updates and freezes views in the order of tasks.
fn dispatch<'a>(
    graph: &Graph,
    tasks: &Receiver<Task<'a>>,
    ready: &SyncSender<(Query<'a>, Result<View>)>,
) {
    let mut next = tasks.recv().ok();
    while let Some(task) = next.take() {
        match task {
            Task::Update(batch, told) => {
                let mut updates = vec![(batch, told)];
                let mut count = updates[0].0.len();
                while count < JOINED_MAX {
                    match tasks.try_recv() {
                        Ok(Task::Update(batch, told)) => {
                            count += batch.len();
                            updates.push((batch, told));
                        }
                        Ok(query) => {
                            next = Some(query);
                            break;
                        }
                        Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                    }
                }
                commit(graph, updates);
            }
            Task::Query(query) => {
                let view = graph.snapshot();
                if ready.send((query, view)).is_err() {
                    return;
                }
            }
        }
        next = next.or_else(|| tasks.recv().ok());
    }
}

/// Commits batches as one if that can be, else one after the other.
fn commit(graph: &Graph, updates: Vec<(Batch, Told<()>)>) {
    if let [(first, _), _, ..] = &updates[..] {
        let is_weighted = first.is_weighted();
        if updates.iter().all(|(batch, _)| batch.is_weighted() == is_weighted) {
            let mut joined = first.clone();
            updates[1..].iter().for_each(|(batch, _)| joined.append(batch));
            if graph.apply(&joined).is_ok() {
                updates.into_iter().for_each(|(_, told)| told.run(|| Ok(())));
                return;
            }
        }
    }
    updates.into_iter().for_each(|(batch, told)| told.run(|| graph.apply(&batch)));
}
