//! A sealed graph: a directory that opens at once and is queried within a budget of memory.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use everedge_chunks::{
    ChangedView, Checked, ChunksView, Form, SealOptions, Store, least_memory, read_pieces,
};
use everedge_core::watch::{self, Watch};
use everedge_core::{VertexId, memory, par};
use everedge_live::{IdKind, Names};
use everedge_medium::{Access, Kind, MANIFEST, Manifest, MediumKind, Volume, VolumeOptions};
use serde::{Deserialize, Serialize};

use crate::any_view::{AnyView, with_view};
use crate::changes::{OpenChanges, ReadChanges, refuse_as_graph};
use crate::free_memory::free_memory;
use crate::graph::resolved;
use crate::naming::Naming;
use crate::run::on_threads;
use crate::{ChangeCounts, Error, ExternalId, Guessed, Kernel, Result, Stats, Verification, View};

/// What the program itself takes of a budget: its code, stacks, and buffers.
const PROGRAM_BYTES: u64 = 18 << 20;
/// Threads whose stacks and buffers are part of that.
const PROGRAM_THREADS: u64 = 8;
/// What each more takes: its stack, what the system keeps of it, and blocks of the allocator.
const THREAD_BYTES: u64 = 128 << 10;
/// Names that are copied at once.
const NAMES_AT_ONCE: u32 = 1 << 16;

/// What a sealed graph is made of, and what was fixed when it was sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunksOptions {
    /// Where bytes live: always a file.
    #[serde(with = "everedge_live::medium_text")]
    pub medium: MediumKind,
    /// As for all kinds of graphs; files that are sealed are only read.
    pub eadr: bool,
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// What the names of vertices were.
    pub ids: IdKind,
    /// Its files.
    pub form: Form,
}

/// A sealed graph, open for reading, with the changes that there were when it was opened.
pub struct Chunks {
    volume: Volume,
    manifest: Manifest<ChunksOptions>,
    changes: Option<ReadChanges>,
    /// What names take in memory.
    names_bytes: u64,
    memory: u64,
    reads_ahead: bool,
    open_time: std::time::Duration,
}

/// What sealing did. Serializes to the keys of `everedge seal --json`.
#[derive(Clone, Debug, Serialize)]
pub struct SealReport {
    /// The number of vertices.
    pub vertices: u64,
    /// The number of edges.
    pub edges: u64,
    /// How long it took.
    pub seconds: f64,
    /// Bytes of its directory.
    pub disk_bytes: u64,
    /// The least budget of memory that it can be asked with: for the neighbors of a vertex.
    pub least_memory_bytes: u64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// Of files, what was not said about them, and how it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guessed: Option<Guessed>,
}

/// Returns what the program takes of a budget on the threads that there are.
fn program_bytes() -> u64 {
    let more = (par::thread_count() as u64).saturating_sub(PROGRAM_THREADS);
    PROGRAM_BYTES + more * THREAD_BYTES
}

impl SealReport {
    pub(crate) fn new(
        volume: &Volume,
        (form, ids): (&Form, IdKind),
        start: Instant,
        guessed: Option<Guessed>,
    ) -> Result<Self> {
        let of_kernel = Kernel::OneHop.array_bytes(form.vertices.into(), form.edges);
        let of_names = Names::bytes_announced(volume, ids)?;
        Ok(Self {
            vertices: form.vertices.into(),
            edges: form.edges,
            seconds: start.elapsed().as_secs_f64(),
            disk_bytes: volume.disk_bytes()?,
            least_memory_bytes: least_memory(form) + program_bytes() + of_kernel + of_names,
            peak_rss_bytes: crate::peak_rss_bytes(),
            guessed,
        })
    }
}

impl Chunks {
    /// Seals the graph of a view into a new directory.
    ///
    /// The directory is a sealed graph once this returns; what is left of a sealing that ended before is taken away
    /// by the next one.
    ///
    /// Cost: 20 bytes of memory a vertex, and 4 for each name and its place in the new map; each list is read once for each
    /// direction. Where the ids of a live graph lie far apart, a copy of it in memory, as a CSR.
    ///
    /// # Errors
    /// If the directory exists and is not empty; `NoSpace` or `Io` if the medium fails, and then nothing
    /// is left of what it wrote; `PerhapsSealed` if that cannot be taken away; `Interrupted` if the watch was cancelled.
    pub fn seal(
        view: &View,
        path: &Path,
        options: &SealOptions,
        watch: &Watch,
    ) -> Result<SealReport> {
        let volume = create_outside(&resolved(path))?;
        Self::seal_in(&volume, view, options, watch).map_err(|error| undone(volume, error))
    }

    /// Seals the graph of a view in an empty volume that the caller has made, such as one that records what comes to
    /// its medium.
    ///
    /// # Errors
    /// As [`Self::seal`], but what was written is left.
    pub fn seal_in(
        volume: &Volume,
        view: &View,
        options: &SealOptions,
        watch: &Watch,
    ) -> Result<SealReport> {
        let start = Instant::now();
        let written = watch.run(|| write(view, volume, options));
        let (form, ids) = written.map_err(|_cancelled| Error::Interrupted)??;
        SealReport::new(volume, (&form, ids), start, None)
    }

    /// Opens a sealed graph, of which at most `memory` bytes are held at once, with the arrays of kernels and what the
    /// program itself takes; half of what the system has free unless given.
    ///
    /// Cost: does not depend on the number of edges that were sealed; changes are read, and stay in memory.
    ///
    /// # Errors
    /// If there is no sealed graph, it or its changes are damaged, or somebody changes it; `InvalidInput` if reading the changes alone
    /// takes more than `memory`.
    pub fn open(path: &Path, memory: Option<u64>) -> Result<Self> {
        Self::open_beside(path, memory, None)
    }

    /// Opens a sealed graph as [`Self::open`] does, for a kernel to run on it: what it cannot run, and a budget that is
    /// certainly too small, is refused before changes are read.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::check_kernel`].
    pub fn open_for(path: &Path, memory: Option<u64>, kernel: Kernel) -> Result<Self> {
        Self::open_beside(path, memory, Some(kernel))
    }

    fn open_beside(path: &Path, memory: Option<u64>, kernel: Option<Kernel>) -> Result<Self> {
        let start = Instant::now();
        let (volume, manifest) = Self::open_files(path)?;
        let form = &manifest.options.form;
        kernel.map_or(Ok(()), |kernel| check_kernel(kernel, form))?;
        let budget = Budget::new(memory, kernel);
        let changes = OpenChanges::for_reading(&volume, &manifest, |of_names| {
            // How many edges were taken away is not known yet.
            budget.check(form, of_names, form.edges)
        })?;
        Self::new((volume, manifest), changes, &budget, start)
    }

    /// Opens a sealed graph in a volume that the caller has opened, with the changes in another one, if there are some.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_in(volume: Volume, changes: Option<Volume>, memory: Option<u64>) -> Result<Self> {
        let start = Instant::now();
        let manifest = Manifest::read(&volume)?;
        let changes =
            changes.map(|changes| OpenChanges::open_in(changes, &manifest)).transpose()?;
        Self::new((volume, manifest), changes.flatten(), &Budget::new(memory, None), start)
    }

    fn new(
        (volume, manifest): (Volume, Manifest<ChunksOptions>),
        changes: Option<OpenChanges>,
        budget: &Budget,
        start: Instant,
    ) -> Result<Self> {
        let form = &manifest.options.form;
        let read = |changes: OpenChanges| {
            budget.check(form, changes.least_memory()?, changes.edge_count()?)?;
            changes.read(form)
        };
        let (changes, memory) = (changes.map(read).transpose()?, budget.memory);
        let names_bytes = Names::bytes_announced(&volume, manifest.options.ids)?;
        let (reads_ahead, open_time) = (true, start.elapsed());
        Ok(Self { volume, manifest, changes, names_bytes, memory, reads_ahead, open_time })
    }

    /// Opens the files that were sealed.
    pub(crate) fn open_files(path: &Path) -> Result<(Volume, Manifest<ChunksOptions>)> {
        let path = &*resolved(path);
        // Where there is no graph, it says so, and why.
        Manifest::<everedge_live::GraphHead>::peek(path)?;
        let volume = Volume::open(path, volume_options(), Access::Read)?;
        let manifest = Manifest::read(&volume)?;
        Ok((volume, manifest))
    }

    /// Has views read only what is asked for, neither along a pass nor for a frontier: to measure what reading
    /// ahead is good for.
    pub fn without_read_ahead(self) -> Self {
        Self { reads_ahead: false, ..self }
    }

    /// Returns the least budget, in bytes, that `kernel` can run with.
    pub fn least_memory(&self, kernel: Kernel) -> u64 {
        self.least_beside(kernel.array_bytes(self.vertex_count().into(), self.edge_count()))
    }

    fn least_beside(&self, kept_bytes: u64) -> u64 {
        let least = least_memory(&self.manifest.options.form).saturating_add(program_bytes());
        let parts = [least, self.changed_bytes(), self.names_bytes];
        parts.into_iter().fold(kept_bytes, u64::saturating_add)
    }

    /// Returns how much memory takes what was changed.
    fn changed_bytes(&self) -> u64 {
        self.changes().map_or(0, ReadChanges::memory_bytes)
    }

    /// Checks that a kernel can run on the graph itself, whatever the budget: nearly all need in-neighbors.
    ///
    /// # Errors
    /// `InvalidInput` if it cannot, with what would help.
    pub fn check_kernel(&self, kernel: Kernel) -> Result<()> {
        check_kernel(kernel, &self.manifest.options.form)
    }

    /// Returns whether a directory holds a sealed graph.
    ///
    /// # Errors
    /// If it holds no graph of any kind, or is damaged; `InvalidInput` if it holds the changes of a sealed graph.
    pub fn is_at(path: &Path) -> Result<bool> {
        let head = Manifest::<everedge_live::GraphHead>::peek(&resolved(path))?;
        let is_sealed = head.kind == Kind::Chunks;
        if !is_sealed {
            refuse_as_graph(path)?;
        }
        Ok(is_sealed)
    }

    /// Returns what it is made of, without changes.
    pub fn options(&self) -> &ChunksOptions {
        &self.manifest.options
    }

    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> u32 {
        self.changes().map_or(self.options().form.vertices, |changes| changes.lists.vertices())
    }

    /// Returns the number of edges; an undirected one counts once.
    pub fn edge_count(&self) -> u64 {
        let ChangeCounts { edges_added, edges_taken_away } =
            self.change_counts().unwrap_or_default();
        self.options().form.edges.saturating_add(edges_added).saturating_sub(edges_taken_away)
    }

    /// Returns how many edges there are more and less than when it was sealed; nothing if it was not changed.
    pub fn change_counts(&self) -> Option<ChangeCounts> {
        self.changes().map(ReadChanges::counts)
    }

    /// Returns the changes, if there are some.
    fn changes(&self) -> Option<&ReadChanges> {
        self.changes.as_ref().filter(|changes| !changes.lists.is_empty())
    }

    /// Returns the view that `kernel` is to run on, on the threads that there are: its arrays are part of the budget.
    ///
    /// # Errors
    /// `InvalidInput` if the budget is too small, with the least that would do.
    pub fn view_for(&self, kernel: Kernel) -> Result<View> {
        let arrays = kernel.array_bytes(self.vertex_count().into(), self.edge_count());
        self.view_beside(arrays, "the kernel's arrays")
    }

    /// As [`Self::view_for`], for a run on so many threads, of which each takes memory; 0 is one a core.
    ///
    /// # Errors
    /// As [`Self::view_for`], and if the system refuses the threads.
    pub fn view_on_threads(&self, kernel: Kernel, threads: usize) -> Result<View> {
        on_threads(threads, || self.view_for(kernel))?
    }

    /// Returns a view beside which so many bytes are kept free for an answer.
    ///
    /// # Errors
    /// As [`Self::view_for`].
    pub fn view(&self, kept_bytes: u64) -> Result<View> {
        self.view_beside(kept_bytes, "the answer")
    }

    fn view_beside(&self, kept_bytes: u64, for_what: &str) -> Result<View> {
        let start = Instant::now();
        let ChunksOptions { ids, form, .. } = &self.manifest.options;
        let salt = self.manifest.salt();
        let (of_names, of_changes) = (self.names_bytes, self.changed_bytes());
        let kept = [program_bytes(), of_changes, of_names]
            .into_iter()
            .fold(kept_bytes, u64::saturating_add);
        let least = self.least_beside(kept_bytes);
        if self.memory < least {
            let mut what = format!(
                "a budget of {} bytes is too small: {least} would do ({}), {kept_bytes} of them for {for_what}",
                self.memory,
                in_whole_units(least)
            );
            if of_names > 0 {
                what.push_str(&format!(" and {of_names} for the names of vertices"));
            }
            if of_changes > 0 {
                what.push_str(&format!(
                    " and {of_changes} for what was changed since the graph was sealed"
                ));
            }
            return Err(Error::invalid(what));
        }
        memory::return_arrays();
        let names = Names::open(&self.volume, *ids, salt)?;
        let store = Store::open(&self.volume, salt, form.clone(), self.memory - kept)?;
        check_names(names.as_ref(), &store)?;
        if !self.reads_ahead {
            store.stop_reading_ahead();
        }
        let sealed = ChunksView::new(store.clone());
        let (view, added) = match self.changes() {
            None => (AnyView::Chunks(sealed), Arc::default()),
            Some(ReadChanges { lists, names, .. }) => {
                (AnyView::Changed(ChangedView::new(sealed, lists.clone())), names.clone())
            }
        };
        let open_time = self.open_time + start.elapsed();
        let view = View::new(view, Naming::sealed(store, names, added), open_time);
        Ok(view.simple(self.manifest.options.simple))
    }

    /// Checks every byte, that lists are what they say, and that both directions say the same.
    ///
    /// # Errors
    /// Only if it cannot be read at all; what is wrong is in the outcome, and what of it cannot be read.
    pub fn verify(path: &Path) -> Result<Verification> {
        let mut found =
            Verification { ok: true, checks: 0, problems: Vec::new(), problem_count: 0 };
        for check in [check_sealed, check_changes] {
            let checked = Self::open_files(path)
                .and_then(|(volume, manifest)| check(&volume, &manifest, &mut found));
            found.take_damage(checked)?;
        }
        Ok(found)
    }

    /// Returns what the graph is and how large.
    ///
    /// # Errors
    /// If the operating system does not say how large its files are.
    pub fn stats(&self) -> Result<Stats> {
        let ChunksOptions { medium, simple, form, .. } = &self.manifest.options;
        Ok(Stats {
            kind: "chunks",
            layout: if form.compressed { "gaps" } else { "plain" }.to_owned(),
            medium: medium.to_string(),
            directed: form.directed,
            weighted: form.weighted,
            simple: *simple,
            vertices: self.vertex_count().into(),
            edges: self.edge_count(),
            disk_bytes: self.volume.disk_bytes()?
                + self.changes.as_ref().map_or(0, |c| c.disk_bytes),
            versions: 0,
            version_bytes: None,
            changes: self.change_counts(),
        })
    }
}

impl Verification {
    fn add_checked(&mut self, checked: Checked) {
        self.checks += checked.checks;
        checked.problems.into_iter().for_each(|problem| self.add(problem));
    }
}

fn check_sealed(
    volume: &Volume,
    manifest: &Manifest<ChunksOptions>,
    found: &mut Verification,
) -> Result<()> {
    let ChunksOptions { ids, simple, form, .. } = &manifest.options;
    let salt = manifest.salt();
    let checked = open_store(volume, manifest)
        .and_then(|store| Ok((everedge_chunks::check(&store, *simple)?, store)));
    let store = match checked {
        Ok((checked, store)) => {
            found.add_checked(checked);
            Some(store)
        }
        Err(first) => {
            let mut pieces = everedge_live::Verification::default();
            read_pieces(volume, salt, form, |read| pieces.check_read(read))?;
            found.add_all(pieces.into());
            // An index may be wrong though no piece is damaged.
            found.take_damage(Err(first))?;
            None
        }
    };
    let names = Names::open(volume, *ids, salt)?;
    store.map_or(Ok(()), |store| check_names(names.as_ref(), &store))
}

/// Checks that it can be said what each vertex was called: its number is there and one that a vertex can have, and names, if
/// there are some, cover it.
///
/// Cost: 4 bytes a vertex are read.
pub(crate) fn check_names(names: Option<&Names>, store: &Store) -> Result<()> {
    let largest = store.all_ids()?.into_iter().max();
    names.map_or(Ok(()), |names| Ok(names.check_covers(largest.map_or(0, |id| id + 1))?))
}

/// Checks the changes of a sealed graph: that they are whole, and that they are changes of this graph.
fn check_changes(
    volume: &Volume,
    manifest: &Manifest<ChunksOptions>,
    found: &mut Verification,
) -> Result<()> {
    let changes = OpenChanges::for_reading(volume, manifest, |_| Ok(()))?;
    let Some(changes) = changes else { return Ok(()) };
    found.add_all(changes.graph.verify()?);
    let read = changes.read(&manifest.options.form)?;
    let view = ChunksView::new(open_store(volume, manifest)?);
    found.add_checked(read.lists.check(&view, manifest.options.simple)?);
    let naming = view_of(volume, manifest, &view)?;
    let twice = read.names.iter().filter(|name| naming.find(&name.to_string()).is_some());
    let twice: Vec<String> = twice.map(ExternalId::to_string).collect();
    // Where ids cannot be read, no name is that of a vertex.
    view.store().check()?;
    found.checks += read.names.len() as u64;
    for name in twice {
        found.add(format!(
            "`{name}` is the name of a vertex that was sealed and of one that was added"
        ));
    }
    Ok(())
}

fn view_of(
    volume: &Volume,
    manifest: &Manifest<ChunksOptions>,
    view: &ChunksView,
) -> Result<Naming> {
    let names = Names::open(volume, manifest.options.ids, manifest.salt())?;
    Ok(Naming::sealed(view.store().clone(), names, Arc::default()))
}

fn open_store(volume: &Volume, manifest: &Manifest<ChunksOptions>) -> Result<Arc<Store>> {
    let form = &manifest.options.form;
    let memory = least_memory_for(form, free_memory() / 2);
    Ok(Store::open(volume, manifest.salt(), form.clone(), memory)?)
}

/// Returns a budget that has room for so many bytes as one may be given: `19M`.
fn in_whole_units(bytes: u64) -> String {
    match bytes.div_ceil(1 << 20) {
        mib @ ..10_000 => format!("{mib}M"),
        _ => format!("{}G", bytes.div_ceil(1 << 30)),
    }
}

/// Returns so many bytes of memory, or what a sealed graph needs at least.
pub(crate) fn least_memory_for(form: &Form, memory: u64) -> u64 {
    memory.max(least_memory(form))
}

/// Checks that a kernel can run on a sealed graph of this form.
fn check_kernel(kernel: Kernel, form: &Form) -> Result<()> {
    match kernel.keeps_arrays() && !has_in_neighbors(form) {
        true => Err(lacks_in_neighbors(kernel)),
        false => Ok(()),
    }
}

/// Returns whether in-neighbors can be listed: those of undirected edges are the out-neighbors.
pub(crate) fn has_in_neighbors(form: &Form) -> bool {
    !form.directed || form.sides.len() > 1
}

/// Returns the error that a kernel needs in-neighbors, and a sealed graph has none.
pub(crate) fn lacks_in_neighbors(kernel: Kernel) -> Error {
    Error::invalid(format!(
        "{kernel} needs in-neighbors, and this graph was sealed without them (--no-in); one-hop and two-hop need none. Seal \
         the files again without --no-in, or run on a copy in memory with --csr"
    ))
}

/// How much memory a graph may take, and what for.
struct Budget {
    memory: u64,
    kernel: Option<Kernel>,
    /// Whether nobody has said how much, nor what for: then changes are read whatever they take.
    is_open: bool,
}

impl Budget {
    /// Half of what the system has free unless `memory` is given.
    fn new(memory: Option<u64>, kernel: Option<Kernel>) -> Self {
        let is_open = memory.is_none() && kernel.is_none();
        Self { memory: memory.unwrap_or_else(|| free_memory() / 2), kernel, is_open }
    }

    /// Refuses what reading changes, which takes `of_changes`, and the arrays of the kernel exceed in any case. Of all edges so
    /// many may have been taken away. What they take to the byte is known only when they are read.
    fn check(&self, form: &Form, of_changes: u64, taken_max: u64) -> Result<()> {
        let edges = form.edges.saturating_sub(taken_max);
        let arrays = |kernel: Kernel| kernel.array_bytes(form.vertices.into(), edges);
        let of_kernel = self.kernel.map_or(0, arrays);
        let least = [least_memory(form), program_bytes(), of_changes, of_kernel];
        let least = least.into_iter().fold(0, u64::saturating_add);
        if self.is_open || self.memory >= least {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a budget of {} bytes is too small: it takes {least} or more ({}), {of_changes} of them for what was changed since the \
             graph was sealed; sealing it once more makes a graph without changes",
            self.memory,
            in_whole_units(least)
        )))
    }
}

/// Creates the directory of a sealed graph, unless it would lie among the files of another graph, which would take it
/// for its own.
pub(crate) fn create_outside(path: &Path) -> Result<Volume> {
    if path.exists() && !path.is_dir() {
        let path = path.display();
        return Err(Error::invalid(format!("`{path}` is a file: name a new directory")));
    }
    let parent = path.parent().filter(|parent| parent.join(MANIFEST).exists());
    match parent {
        None => Ok(Volume::create(path, volume_options())?),
        Some(graph) => Err(Error::invalid(format!(
            "`{}` lies in the directory of the graph `{}`: name one outside",
            path.display(),
            // A name without a directory lies in that of the process.
            std::path::absolute(graph.join(".")).unwrap_or_else(|_| graph.into()).display()
        ))),
    }
}

/// Takes away what a sealing has written that has failed. If the graph may be there all the same, the error says so.
pub(crate) fn undone(volume: Volume, error: Error) -> Error {
    let path = volume.path().to_owned();
    match volume.undo_creation() {
        true => error,
        false => Error::PerhapsSealed { path, source: Box::new(error) },
    }
}

pub(crate) fn volume_options() -> VolumeOptions {
    VolumeOptions { kind: MediumKind::File, eadr: false, meter: false }
}

/// Writes all files of a sealed graph, the manifest last; returns what it is made of, and what its names are.
fn write(view: &View, volume: &Volume, options: &SealOptions) -> Result<(Form, IdKind)> {
    // A sealed graph that is sealed again keeps the numbers that vertices had, and their names.
    let before = view.naming.ids_before();
    let are_numbers = view.naming.numbers_before().is_some();
    let ids = if are_numbers { IdKind::Dense } else { view.naming.kind() };
    let manifest = Manifest::new(Kind::Chunks, ());
    let salt = manifest.salt();
    let names = Names::create(volume, ids, salt)?;
    let named = names.map(|names| copy_names(view, &names)).transpose()?;
    // Where ids lie far apart, arrays by id would be far longer than the graph.
    let copy = view.numbering().is_some().then(|| view.copy(true));
    let any = copy.as_ref().unwrap_or(&view.any);
    let id_of = |v| {
        let v = view.numbering().map_or(v, |numbering| numbering.ids()[v as usize]);
        let id = before.map_or(v, |ids| ids[v as usize]);
        // Where ids cannot be read, the reads are checked before the graph counts.
        named.as_ref().and_then(|numbers| numbers.get(id as usize)).copied().unwrap_or(id)
    };
    let form = with_view!(any, any => {
        everedge_chunks::seal(volume, salt, any, view.is_weighted(), options, id_of)?
    });
    view.check_reads()?;
    let options = ChunksOptions {
        medium: MediumKind::File,
        eadr: false,
        simple: view.is_simple,
        ids,
        form: form.clone(),
    };
    manifest.with_options(options).publish(volume)?;
    Ok((form, ids))
}

/// Copies the names of all vertices. Returns the number of each in the new map: a name that had no vertex when the graph
/// was sealed, and was added to its changes since, is there twice, and in the new map once.
fn copy_names(view: &View, names: &Names) -> Result<Vec<VertexId>> {
    let bound = match view.naming.ids_before() {
        Some(_) => view.naming.name_bound_before(),
        None => view.name_bound(),
    };
    let name_of = |v| view.naming.name_before(v).unwrap_or_else(|| view.name_of(v));
    let mut numbers = Vec::with_capacity(bound as usize);
    for start in (0..bound).step_by(NAMES_AT_ONCE as usize) {
        watch::check();
        let end = start.saturating_add(NAMES_AT_ONCE).min(bound);
        let (mut integers, mut texts) = (Vec::new(), Vec::new());
        for v in start..end {
            match name_of(v) {
                ExternalId::Integer(id) => integers.push(id),
                ExternalId::Text(id) => texts.push(id),
            }
        }
        numbers.extend(match texts.is_empty() {
            true => names.intern_integers(&integers)?,
            false => names.intern_texts(texts.iter().map(String::as_str))?,
        });
    }
    Ok(numbers)
}
