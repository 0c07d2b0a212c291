//! A live graph, in external ids.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use everedge_core::{Edge, GraphView, VertexId};
use everedge_live::{Batch, Changes, GraphHead, Names, Recovery, Totals};
use everedge_medium::{Access, Kind, MANIFEST, Manifest, MeterReading, Volume, VolumeOptions};
use everedge_pma::Mechanisms;
use everedge_timeline::is_file as is_of_versions;
use parking_lot::Mutex;
use serde::Serialize;

use crate::any_live::AnyLive;
use crate::changes::refuse_as_graph;
use crate::commit::Versions;
use crate::error::without_advice;
use crate::id_map::{find, named};
use crate::options::{GraphOptions, Layout};
use crate::taker::find_integers;
use crate::{ChangeCounts, Error, Result, View};

/// A live, durable graph: a directory, open for writing or for reading.
///
/// Any number of threads may write and take snapshots. Call [`Graph::close`] at the end: it makes
/// the next opening faster; without it nothing acknowledged is lost.
pub struct Graph {
    pub(crate) live: AnyLive,
    options: GraphOptions,
    pub(crate) names: Option<Arc<Names>>,
    /// Whoever commits holds it.
    pub(crate) versions: Mutex<Versions>,
    open_time: Duration,
}

/// What a graph is and how large it is. Serializes to the keys of `everedge stats --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// `graph`, or `timeline` for versions.
    pub kind: &'static str,
    /// How neighbors are kept.
    pub layout: String,
    /// Where bytes live.
    pub medium: String,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry a weight.
    pub weighted: bool,
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// Vertices.
    pub vertices: u64,
    /// Edges; an undirected one counts once.
    pub edges: u64,
    /// Bytes that the directory takes on its medium.
    pub disk_bytes: u64,
    /// Committed versions.
    pub versions: u64,
    /// In the `blocks` layout, bytes of blocks that lists have given up, and that a view or what was last saved
    /// still reads; part of `disk_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_bytes: Option<u64>,
    /// Of a sealed graph that was changed, how many edges it has more and less than when it was sealed.
    #[serde(flatten)]
    pub changes: Option<ChangeCounts>,
}

/// What compaction did. Serializes to the keys of `everedge compact --json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compaction {
    /// Runs that were written, each of a list of 256 vertices, or of one the naive way; in the `pma`
    /// layout arrays, each of a list of 4,096.
    pub runs: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Bytes of what they replace, used again by what is written later.
    pub freed_bytes: u64,
    /// How long it took.
    pub seconds: f64,
}

/// The outcome of checking a graph. Serializes to the keys of `everedge verify --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// How many statements were checked.
    pub checks: u64,
    /// What is wrong: what, where, expected and found. After a thousand of them, the last says how many
    /// more there are.
    pub problems: Vec<String>,
    /// How many things are wrong.
    pub problem_count: u64,
}

impl Verification {
    /// Returns what an error says that ended the checks, if it is damage.
    ///
    /// # Errors
    /// The error, if it is another.
    pub fn of_damage(error: Error) -> Result<Self> {
        match error.damage() {
            Some(problem) => {
                Ok(Self { ok: false, checks: 1, problems: vec![problem], problem_count: 1 })
            }
            None => Err(error),
        }
    }
}

impl From<everedge_live::Verification> for Verification {
    fn from(found: everedge_live::Verification) -> Self {
        let (ok, checks) = (found.problems.is_empty(), found.checks);
        let problem_count = found.problem_count();
        let problems = found.problems.into_iter().map(without_advice).collect();
        Self { ok, checks, problems, problem_count }
    }
}

impl Verification {
    /// Adds what else was checked.
    pub(crate) fn add_all(&mut self, other: Self) {
        self.checks += other.checks;
        let unnamed = other.problem_count - other.problems.len() as u64;
        other.problems.into_iter().for_each(|problem| self.add(problem));
        self.problem_count += unnamed;
    }

    /// Adds something that is wrong.
    pub(crate) fn add(&mut self, problem: String) {
        (self.ok, self.problem_count) = (false, self.problem_count + 1);
        self.problems.push(problem);
    }

    /// Adds what an error says that ended the checks, if it is damage that is not among the problems yet. Beside other
    /// problems, a read that failed is one, too.
    ///
    /// # Errors
    /// The error, if it is another one.
    pub(crate) fn take_damage(&mut self, checked: Result<()>) -> Result<()> {
        let Err(error) = checked else { return Ok(()) };
        let is_unreadable = matches!(&error, Error::Storage(everedge_live::Error::Io { .. }));
        if !error.is_damage() && (self.ok || !is_unreadable) {
            return Err(error);
        }
        let problem = without_advice(error.to_string());
        if !self.problems.contains(&problem) {
            self.add(problem);
        }
        Ok(())
    }
}

impl Graph {
    /// Creates an empty graph in a new directory; `meter` counts what its medium does.
    ///
    /// # Errors
    /// If the directory exists and is not empty, the options do not go together, or the medium fails. Then
    /// nothing is left of a directory that was not there before.
    pub fn create(path: &Path, options: &GraphOptions, meter: bool) -> Result<Self> {
        let start = Instant::now();
        refuse_as_graph(path)?;
        let (path, is_new) = (&*resolved(path), !path.exists());
        let volume = Volume::create(path, options.volume(meter))?;
        let live = AnyLive::create(volume, options);
        if live.is_err() && is_new {
            Volume::remove_unfinished(path);
        }
        Ok(Self::new(live?, start))
    }

    /// Creates an empty graph in a volume that the caller has made, such as one that records what comes to its
    /// medium.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_in(volume: Volume, options: &GraphOptions) -> Result<Self> {
        Ok(Self::new(AnyLive::create(volume, options)?, Instant::now()))
    }

    /// Opens a graph for writing, alone; `meter` counts what its medium does.
    ///
    /// # Errors
    /// If there is no graph, another process has it open, or it is damaged.
    pub fn open(path: &Path, meter: bool) -> Result<Self> {
        refuse_as_graph(path)?;
        Self::open_inside(path, Access::Write, meter, |_| Ok(()))
    }

    /// Opens a graph for reading, as it is now: beside other readers, and beside a process that writes to it. All that
    /// was acknowledged before is in it; what comes after is in one that is opened after. Nothing of the graph is written.
    ///
    /// Cost: as an opening after a crash; in the layout `pma`, beside a writer, a copy of the graph in memory. As
    /// long as it is open, the writer uses no space again that it reads.
    ///
    /// # Errors
    /// If there is no graph, or it is damaged. [`InUse`](everedge_medium::Error::InUse) if 248 others read it, or somebody writes
    /// and this process may not write to the graph's table of readers, the file `readers`.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let start = Instant::now();
        refuse_as_graph(path)?;
        let (layout, volume) = Self::open_volume(path, false, Volume::open_beside_writer)?;
        Self::open_layout(volume, layout, start)
    }

    /// Opens the graph of a volume that the caller has opened.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_in(volume: Volume) -> Result<Self> {
        let head: Manifest<GraphHead> = Manifest::read(&volume)?;
        let layout = layout_of(&head, volume.path())?;
        Self::open_layout(volume, layout, Instant::now())
    }

    /// Opens a graph that may be the changes of a sealed one, unless `check` has an error for its volume.
    pub(crate) fn open_inside(
        path: &Path,
        access: Access,
        meter: bool,
        check: impl FnOnce(&Volume) -> Result<()>,
    ) -> Result<Self> {
        let start = Instant::now();
        let open = |path: &Path, options| Volume::open(path, options, access);
        let (layout, volume) = Self::open_volume(path, meter, open)?;
        check(&volume)?;
        Self::open_layout(volume, layout, start)
    }

    fn open_layout(volume: Volume, layout: Layout, start: Instant) -> Result<Self> {
        let graph = Self::new(AnyLive::open(volume, layout)?, start);
        if let Some(names) = &graph.names {
            // Damaged lists do not keep the others from use: who reads them learns of it.
            let bound = match graph.live.totals() {
                Err(error) if error.is_damage() => graph.live.salvage()?.0.vertex_bound(),
                totals => totals?.vertex_bound,
            };
            names.check_covers(bound)?;
        }
        Ok(Self { open_time: start.elapsed(), ..graph })
    }

    /// A link to a graph stands for it.
    fn open_volume(
        path: &Path,
        meter: bool,
        open: impl FnOnce(&Path, VolumeOptions) -> everedge_live::Result<Volume>,
    ) -> Result<(Layout, Volume)> {
        let path = &*resolved(path);
        let head: Manifest<GraphHead> = Manifest::peek(path)?;
        let layout = layout_of(&head, path)?;
        Ok((layout, open(path, head.options.volume(meter))?))
    }

    fn new((live, names): (AnyLive, Option<Names>), start: Instant) -> Self {
        let (options, names) = (live.options(), names.map(Arc::new));
        Self { live, options, names, versions: Mutex::default(), open_time: start.elapsed() }
    }

    /// Removes the directory of a graph that nobody has open.
    ///
    /// # Errors
    /// If it is not a graph, is in use, or holds files that are not the graph's.
    pub fn remove(path: &Path) -> Result<()> {
        refuse_as_graph(path)?;
        let open = |path: &Path, options| Volume::open(path, options, Access::Write);
        let (layout, volume) = Self::open_volume(path, false, open)?;
        for entry in volume.path().read_dir().into_iter().flatten().flatten() {
            if let Some(name) = entry.file_name().to_str().filter(|name| is_of_versions(name)) {
                volume.remove(name)?;
            }
        }
        Ok(volume.remove_all(AnyLive::files(layout))?)
    }

    /// Returns whether a directory holds the files of a graph but no manifest; what a creation leaves
    /// that was interrupted has a mark, and is not asked for.
    pub(crate) fn has_lost_manifest(path: &Path) -> bool {
        let is_ours = |name: &str| {
            ["lock", "readers"].contains(&name) || AnyLive::is_file(name) || is_of_versions(name)
        };
        let mut names = Vec::new();
        for entry in path.read_dir().into_iter().flatten().flatten() {
            names.push(entry.file_name().to_string_lossy().trim_end_matches(".tmp").to_owned());
        }
        let has = |name: &str| names.iter().any(|found| found == name);
        let is_lost = path.join(MANIFEST).try_exists().is_ok_and(|exists| !exists);
        has("lock") && is_lost && names.iter().all(|name| is_ours(name))
    }

    /// Inserts edges of dense ids as one batch.
    ///
    /// # Errors
    /// `InvalidInput` for ids or weights that do not fit the graph, `NoSpace` on a full medium:
    /// the batch is then wholly absent. `Poisoned` after a failed fence.
    pub fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        match (edges, weights) {
            (&[edge], None) => self.live.insert_edge(edge, None),
            (&[edge], Some(&[weight])) => self.live.insert_edge(edge, Some(weight)),
            _ => self.apply(&Batch::insertions(edges.iter().copied(), weights)?),
        }
    }

    /// Deletes the newest occurrence of each edge as one batch. Returns what it changed.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete(&self, edges: &[Edge]) -> Result<Changes> {
        self.live.delete(edges)
    }

    /// Deletes a vertex and its edges both ways. Returns what it changed.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete_vertex(&self, v: VertexId) -> Result<Changes> {
        self.live.delete_vertex(v)
    }

    /// Applies a batch of dense ids.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        self.live.apply(batch)
    }

    /// Returns the vertices of strings, making ids for new ones, durably.
    ///
    /// # Errors
    /// If the graph's ids are not strings, or the medium is full.
    pub fn intern_texts<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Vec<VertexId>> {
        Ok(named(self.names(), "strings")?.intern_texts(names)?)
    }

    /// Returns the vertices of integers, making ids for new ones, durably.
    ///
    /// # Errors
    /// If the graph's ids are not mapped integers, or the medium is full.
    pub fn intern_integers(&self, names: &[u64]) -> Result<Vec<VertexId>> {
        Ok(named(self.names(), "mapped integers")?.intern_integers(names)?)
    }

    /// Returns the vertices of strings, `None` for an unknown one.
    pub fn find_texts<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Option<VertexId>> {
        names.map(|name| find(self.names.as_deref(), name)).collect()
    }

    /// Returns the vertices of integers, `None` for an unknown one.
    pub fn find_integers(&self, names: &[u64]) -> Vec<Option<VertexId>> {
        find_integers(self.names(), self.options.ids, names)
    }

    /// Returns the names of its vertices, if they have some.
    pub(crate) fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// Returns a frozen view of all batches acknowledged so far.
    ///
    /// # Errors
    /// If the log's tail cannot be archived.
    pub fn snapshot(&self) -> Result<View> {
        let start = Instant::now();
        let any = self.live.snapshot()?;
        let view = View::new(any, self.names.clone(), self.open_time + start.elapsed());
        Ok(view.simple(self.options.simple))
    }

    /// Returns a frozen view of what is whole of a damaged graph, and what is not: vertices whose
    /// lists are damaged, and those up to 4,096 that share their checksums, have no out-edges in it.
    /// An undirected edge is lost only if the lists of both ends are: [`View::edges`],
    /// [`View::for_each_arc`] and exports show it from both ends otherwise. Nothing is damaged if nothing
    /// is listed.
    ///
    /// # Errors
    /// As [`Self::snapshot`], but for damaged lists.
    pub fn salvage(&self) -> Result<(View, Vec<String>)> {
        let start = Instant::now();
        let (any, problems) = self.live.salvage()?;
        let view = View::new(any, self.names.clone(), self.open_time + start.elapsed());
        let is_whole = problems.is_empty() || view.is_directed();
        let view = if is_whole { view } else { view.with_lost_ends() };
        Ok((view, problems.into_iter().map(without_advice).collect()))
    }

    /// A forked child may never get what another thread held at the fork.
    pub(crate) fn refuse_if_forked(&self) -> Result<()> {
        match self.live.volume().check_health() {
            Err(error @ everedge_live::Error::Forked) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Makes all that was applied durable, whatever the graph's durability.
    ///
    /// # Errors
    /// If the fence fails; it is not tried again.
    pub fn sync(&self) -> Result<()> {
        self.live.sync()
    }

    /// Returns how many updates the graph has taken since it was created, those of this call's moment: two handles that
    /// return the same number show the same graph.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn sequence(&self) -> Result<u64> {
        Ok(self.totals()?.sequence)
    }

    /// Returns a number that was drawn for the graph when it was created: another one has come to its place if it differs.
    pub fn identity(&self) -> u32 {
        self.live.identity()
    }

    /// Returns what is known of the graph as a whole, without reading lists.
    pub(crate) fn totals(&self) -> Result<Totals> {
        self.live.totals()
    }

    /// Puts lists that were changed in order, as a pause of the writers does by itself, until `is_ended`.
    pub(crate) fn put_in_order(&self, is_ended: impl Fn() -> bool) {
        self.live.put_in_order(is_ended);
    }

    /// Closes the graph: empties the log and gives unused space back.
    ///
    /// # Errors
    /// If the medium fails; nothing acknowledged is lost then.
    pub fn close(self) -> Result<()> {
        self.live.close()
    }

    /// Returns what the updates since opening have changed.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn changes(&self) -> Result<Changes> {
        self.live.changes()
    }

    /// Returns what the graph is and how large it is.
    ///
    /// Cost: what was logged is archived; lists are not read, so that damage in them is not found.
    ///
    /// # Errors
    /// As [`Self::sync`], if what is logged cannot be archived, or if the directory cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let totals = self.totals()?;
        let options = self.options();
        Ok(Stats {
            kind: "graph",
            layout: options.layout.to_string(),
            medium: options.medium.to_string(),
            directed: options.directed,
            weighted: options.weighted,
            simple: options.simple,
            vertices: totals.vertex_count.into(),
            edges: totals.edge_count,
            disk_bytes: self.live.volume().disk_bytes()?,
            versions: self.timeline()?.map_or(0, |timeline| timeline.versions().len() as u64),
            version_bytes: self.live.version_bytes(),
            changes: None,
        })
    }

    /// Writes every list that has changed anew, without what was deleted: sorted by neighbor and in
    /// the order of vertices, so that it is read as fast as a CSR. Readers and writers go on
    /// meanwhile; a crash leaves the old lists or the new ones.
    ///
    /// Cost: what changed since the last compaction is read and written once; a sixteenth of the
    /// graph in space.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for a part; the graph is then as before, in part
    /// compact. `Poisoned` after a failed fence.
    pub fn compact(&self) -> Result<Compaction> {
        let start = Instant::now();
        let done = self.live.compact()?;
        Ok(Compaction {
            runs: done.runs,
            written_bytes: done.written_bytes,
            freed_bytes: done.freed_bytes,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Returns how many updates each thread has archived, both ends of an edge counted.
    pub fn thread_shares(&self) -> Vec<u64> {
        self.live.thread_shares()
    }

    /// Returns how often each mechanism of the layout ran since the graph was opened, if the layout
    /// counts them: `pma` does.
    pub fn mechanisms(&self) -> Option<Mechanisms> {
        self.live.mechanisms()
    }

    /// Checks everything that can be checked without the graph's history. Damage that ends the checks
    /// early is a problem as any other.
    ///
    /// # Errors
    /// As [`Self::snapshot`], but for damage.
    pub fn verify(&self) -> Result<Verification> {
        let mut outcome = match self.live.verify() {
            Ok(found) => found.into(),
            Err(error) => Verification::of_damage(error)?,
        };
        let checked = self.timeline().and_then(|timeline| match timeline {
            Some(timeline) => timeline.check(&mut outcome),
            None => Ok(()),
        });
        let is_damaged = checked.is_err();
        outcome.take_damage(checked)?;
        if is_damaged {
            crate::Timeline::find_more_damage(self.live.volume().path(), &mut outcome);
        }
        Ok(outcome)
    }

    /// Returns what was fixed at creation.
    pub fn options(&self) -> &GraphOptions {
        &self.options
    }

    /// Returns what opening found.
    pub fn recovery(&self) -> Recovery {
        self.live.recovery()
    }

    /// Returns how long each of the first 4,096 rounds of archiving took.
    pub fn round_times(&self) -> Vec<Duration> {
        self.live.round_times()
    }

    /// Returns how long opening or creating took.
    pub fn open_time(&self) -> Duration {
        self.open_time
    }

    /// Returns what the medium did since opening, if that is counted.
    pub fn meter(&self) -> Option<MeterReading> {
        self.live.volume().meter()
    }
}

/// Returns the layout of a live graph.
fn layout_of(head: &Manifest<GraphHead>, path: &Path) -> Result<Layout> {
    match head.options.layout.as_ref().filter(|_| head.kind == Kind::Graph) {
        Some(layout) => Ok(layout.parse()?),
        None if head.kind == Kind::Chunks => Err(Error::invalid(format!(
            "`{}` is a sealed graph and not a live one: `everedge ingest` changes it, `everedge seal` makes new files of it",
            path.display()
        ))),
        None => {
            let path = path.display();
            Err(Error::invalid(format!("`{path}` holds versions and no live graph")))
        }
    }
}

/// Returns where a link leads, and any other path as it is.
pub(crate) fn resolved(path: &Path) -> Cow<'_, Path> {
    match path.is_symlink().then(|| path.canonicalize()) {
        Some(Ok(target)) => target.into(),
        _ => path.into(),
    }
}
