//! Changing a sealed graph: batches of edges are added and taken away, over files that stay as they are.
//!
//! # Cost
//! Opening reads the number that each vertex had (8 bytes of memory a vertex), all names, and all changes so far (up to about 160
//! bytes each). A batch reads the lists of the sealed graph in which its edges may be: for deletions and in a `simple` graph those
//! of all sources, each once.
//!
//! # Concurrency
//! One handle at a time, as of a live graph. Its threads change the graph one after the other.

use std::path::{Path, PathBuf};

use everedge_chunks::{ChunksView, Store};
use everedge_core::{Direction, Edge, GraphView, MAX_VERTEX_ID, VertexId};
use everedge_io::Ids;
use everedge_live::{Batch, Changes, Names};
use everedge_medium::{Manifest, Volume};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::changes::{ChangeCounts, OpenChanges, damage, id_in_changes, options_for};
use crate::chunks::{Chunks, ChunksOptions, check_names, least_memory_for};
use crate::creation::check_alike;
use crate::files::{Sources, expand};
use crate::id_map::kind_beside;
use crate::ingest::ingest_with;
use crate::pairs::{ChangedPair, Made, Pair, Weights, changed, put};
use crate::taker::Taker;
use crate::{
    Choices, Chosen, Error, ExternalId, GraphOptions, IdKind, IngestOptions, IngestReport,
    Progress, Result,
};

/// The options of live graphs that a sealed graph has, too.
const OPTIONS: [&str; 4] = ["directed", "weighted", "simple", "in-neighbors"];
/// Memory for the lists that a batch looks through, if there is more.
const LOOK_UP_BYTES: u64 = 256 << 20;

/// A sealed graph, open to be changed.
///
/// The files that were sealed stay as they are: what is added and taken away stands beside them, as safe as in a live graph. Whoever opens
/// the graph sees both as one; sealing it once more makes new files of both.
pub struct Changer {
    changes: OpenChanges,
    sealed: ChunksView,
    names: Option<Names>,
    numbers: Numbers,
    /// What edges are like.
    options: GraphOptions,
    state: Mutex<State>,
}

/// The vertices of a sealed graph by the numbers that they had.
struct Numbers(Vec<(VertexId, VertexId)>);

/// All changes, as they are stored.
#[derive(Default)]
struct State {
    /// The weights of the edges that were added, in the order in which they came.
    added: FxHashMap<Edge, Vec<f32>>,
    /// Those of the edges that were taken away, in that order.
    taken: FxHashMap<Edge, Vec<f32>>,
    counts: ChangeCounts,
    /// The vertices that were added.
    vertices: FxHashSet<VertexId>,
    /// What was done since the opening.
    done: Changes,
}

impl Chunks {
    /// Opens a sealed graph to be changed; `meter` counts what the medium of the changes does.
    ///
    /// # Errors
    /// If there is no sealed graph, it or its changes are damaged, or somebody has the changes open.
    pub fn change(path: &Path, meter: bool) -> Result<Changer> {
        let (volume, manifest) = Self::open_files(path)?;
        Changer::open(&volume, manifest, meter)
    }

    /// Opens a sealed graph to be changed, with its changes in a volume that the caller has made, such as one that records what comes to its
    /// medium. If there are none yet, they are stored as `stored` says.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn change_in(sealed: &Volume, changes: Volume, stored: &GraphOptions) -> Result<Changer> {
        let manifest = Manifest::read(sealed)?;
        Changer::new(sealed, manifest, |manifest| {
            OpenChanges::open_or_create_in(changes, manifest, stored)
        })
    }

    /// Adds the edges of files to a sealed graph, or takes them away, as [`Graph::ingest_into`](crate::Graph::ingest_into) does with a live graph.
    ///
    /// # Errors
    /// As [`Self::change`] and [`Graph::ingest`](crate::Graph::ingest), and if the graph was made otherwise than the caller expects;
    /// `Unclosed` if all is done, and the changes cannot be closed.
    pub fn ingest_into(
        path: &Path,
        (chosen, choices): (&Chosen, Choices),
        files: &[PathBuf],
        ingest: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        let sources = expand(files, ingest)?;
        if let Some(other) = chosen.names().find(|name| !OPTIONS.contains(name)) {
            let path = path.display();
            return Err(Error::invalid(format!(
                "{other} is an option of live graphs, and `{path}` is a sealed one: leave it out"
            )));
        }
        let (volume, manifest) = Self::open_files(path)?;
        let ids = manifest.options.ids;
        let found = GraphOptions { ids, ..options_for(&manifest.options) };
        let ids = kind_beside(ingest.input.ids, ids);
        check_alike(&found, &GraphOptions { ids, ..chosen.apply(found.clone()) })?;
        Changer::open(&volume, manifest, choices.meter)?.ingest(&sources, ingest, progress)
    }
}

impl Changer {
    fn open(volume: &Volume, manifest: Manifest<ChunksOptions>, meter: bool) -> Result<Self> {
        Self::new(volume, manifest, |manifest| OpenChanges::for_writing(volume, manifest, meter))
    }

    /// Opens the sealed files and then, if those are whole, the changes.
    fn new(
        volume: &Volume,
        manifest: Manifest<ChunksOptions>,
        open_changes: impl FnOnce(&Manifest<ChunksOptions>) -> Result<OpenChanges>,
    ) -> Result<Self> {
        let (salt, ids) = (manifest.salt(), manifest.options.ids);
        let form = manifest.options.form.clone();
        let names = Names::open(volume, ids, salt)?;
        let memory = least_memory_for(&form, LOOK_UP_BYTES);
        let store = Store::open(volume, salt, form, memory)?;
        check_names(names.as_ref(), &store)?;
        let changes = open_changes(&manifest)?;
        let stored = changes.stored()?;
        let before = store.form().vertices;
        let mut state = State::default();
        state.vertices.extend(stored.has_vertex.iter().map(|at| before + at));
        let options = GraphOptions { ids, ..options_for(&manifest.options) };
        let out = stored.sides.into_iter().next().unwrap_or_default();
        // Of an undirected edge, one end counts.
        for change in out.into_iter().filter(|c| options.directed || c.v <= c.neighbor) {
            let pairs = if change.is_taken { &mut state.taken } else { &mut state.added };
            pairs.entry((change.v, change.neighbor)).or_default().push(change.weight);
        }
        state.count();
        let (numbers, sealed) = (Numbers::new(store.all_ids()?), ChunksView::new(store));
        Ok(Self { changes, sealed, names, numbers, options, state: Mutex::new(state) })
    }

    /// Takes files in and closes the graph.
    ///
    /// # Errors
    /// As [`Chunks::ingest_into`].
    fn ingest(
        self,
        sources: &Sources,
        ingest: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        let outcome = ingest_with(&self, sources, ingest, progress, || {
            // A lock that is taken in one expression with others is held to its end.
            let done = self.state.lock().done;
            Ok((done, self.totals(), self.changes.graph.meter()))
        });
        let outcome = outcome.inspect(|_| {
            self.changes.graph.put_in_order(|| ingest.check_stop().is_err());
        });
        let counts = self.counts();
        let closed = self.close();
        let report = IngestReport { changes: Some(counts), ..outcome? };
        report.once_closed(closed, ingest)
    }

    /// Adds edges of numbers that [`Self::intern_texts`] and the like return, as one batch. Returns what it changed.
    ///
    /// # Errors
    /// As [`Graph::insert`](crate::Graph::insert); if the sealed graph is damaged where edges may be. The batch is then wholly absent.
    pub fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<Changes> {
        if self.options.weighted != weights.is_some() {
            let kept =
                if self.options.weighted { "weights: give one an edge" } else { "no weights" };
            return Err(Error::invalid(format!("the graph keeps {kept}")));
        }
        self.check(edges, weights)?;
        let mut state = self.state.lock();
        let has_to_look = self.options.simple;
        let mut pairs = self.pairs_of(&state, edges, has_to_look)?;
        let mut made = Made::default();
        for (at, &edge) in edges.iter().enumerate() {
            let (edge, weight) = (self.key(edge), weights.map_or(1.0, |weights| weights[at]));
            if let Some(pair) = pairs.get_mut(&edge) {
                made.insert(pair, (edge, weight), &self.options);
            }
        }
        let pairs = changed(pairs);
        self.commit(&mut state, pairs, made)
    }

    /// Takes the newest occurrence of each edge away, as one batch. Returns what it changed; what is not there changes nothing and
    /// is counted.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn delete(&self, edges: &[Edge]) -> Result<Changes> {
        self.check(edges, None)?;
        let mut state = self.state.lock();
        let mut pairs = self.pairs_of(&state, edges, true)?;
        let mut made = Made::default();
        for &edge in edges {
            let edge = self.key(edge);
            if let Some(pair) = pairs.get_mut(&edge) {
                made.delete(pair, edge);
            }
        }
        let pairs = changed(pairs);
        self.commit(&mut state, pairs, made)
    }

    /// Makes vertices of numbers, as one batch.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn add_vertices(&self, vertices: &[VertexId]) -> Result<()> {
        let bound = self.before().saturating_add(self.changes.added.len());
        if let Some(v) = vertices.iter().find(|&&v| v >= bound) {
            return Err(Error::invalid(format!(
                "vertex {v}: numbers of vertices are below {bound}"
            )));
        }
        let mut state = self.state.lock();
        let new: Vec<VertexId> =
            vertices.iter().copied().filter(|v| self.is_new(&state, *v)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let ids: Vec<u64> = new.iter().map(|&v| id_in_changes(v, false)).collect();
        let mut batch = Batch::new(self.options.weighted);
        for x in self.changes.graph.intern_integers(&ids)? {
            batch.add_vertex(x)?;
        }
        self.changes.graph.apply(&batch)?;
        state.vertices.extend(new);
        Ok(())
    }

    /// Returns the numbers of strings, making some for new names, durably.
    ///
    /// # Errors
    /// If vertices are not called by strings, or the medium is full.
    pub fn intern_texts<'a>(
        &self,
        names: impl ExactSizeIterator<Item = &'a str> + Clone,
    ) -> Result<Vec<VertexId>> {
        if self.options.ids != IdKind::Text {
            return Err(Error::invalid("the graph's ids are integers, not strings"));
        }
        let found = self.find_texts(names.clone());
        let new: Vec<&str> =
            names.zip(&found).filter(|(_, found)| found.is_none()).map(|(name, _)| name).collect();
        self.numbered(found, || self.changes.added.intern_texts(new.into_iter()))
    }

    /// Returns the numbers of integers, making some for new names, durably.
    ///
    /// # Errors
    /// If vertices are called by strings; if they are called by numbers as they were and one is too large; or if the medium is full.
    pub fn intern_integers(&self, names: &[u64]) -> Result<Vec<VertexId>> {
        if self.options.ids == IdKind::Text {
            return Err(Error::invalid("the graph's ids are strings, not integers"));
        }
        let too_large = names.iter().find(|&&name| name > MAX_VERTEX_ID.into());
        if let (Some(name), None) = (too_large, &self.names) {
            return Err(Error::invalid(format!(
                "the id {name} is above {MAX_VERTEX_ID}, and the graph's ids are dense: seal one with `--ids integer`"
            )));
        }
        let found = self.find_integers(names);
        let is_new = |(_, found): &(&u64, &Option<VertexId>)| found.is_none();
        let new: Vec<u64> =
            names.iter().zip(&found).filter(is_new).map(|(&name, _)| name).collect();
        self.numbered(found, || self.changes.added.intern_integers(&new))
    }

    /// Returns the numbers of strings, `None` for an unknown one.
    pub fn find_texts<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Option<VertexId>> {
        let find = |name: &str| {
            let sealed = self.names.as_ref().and_then(|names| names.id_of(name));
            let sealed = sealed.and_then(|id| self.numbers.find(id));
            sealed.or_else(|| self.changes.added.id_of(name).map(|at| self.before() + at))
        };
        names.map(find).collect()
    }

    /// Returns the numbers of integers, `None` for an unknown one.
    pub fn find_integers(&self, names: &[u64]) -> Vec<Option<VertexId>> {
        if self.options.ids == IdKind::Text {
            let texts: Vec<String> = names.iter().map(u64::to_string).collect();
            return self.find_texts(texts.iter().map(String::as_str));
        }
        let ids = match &self.names {
            Some(map) => map.find_integers(names),
            None => names.iter().map(|&name| name.try_into().ok()).collect(),
        };
        let added = self.changes.added.find_integers(names);
        let number = |(id, added): (Option<VertexId>, Option<VertexId>)| {
            let sealed = id.and_then(|id| self.numbers.find(id));
            sealed.or_else(|| added.map(|at| self.before() + at))
        };
        ids.into_iter().zip(added).map(number).collect()
    }

    /// Returns what edges and the names of vertices are like.
    pub fn options(&self) -> &GraphOptions {
        &self.options
    }

    /// Returns how many edges the graph has more and less than when it was sealed.
    pub fn counts(&self) -> ChangeCounts {
        self.state.lock().counts
    }

    /// Returns how many vertices and edges the graph has.
    pub fn totals(&self) -> (u64, u64) {
        let state = self.state.lock();
        let ChangeCounts { edges_added, edges_taken_away } = state.counts;
        let vertices = u64::from(self.before()) + state.vertices.len() as u64;
        (vertices, (self.sealed.edge_count() + edges_added).saturating_sub(edges_taken_away))
    }

    /// Gives the graph up, so that it opens faster the next time. If nothing was changed, ever, no file says that something was.
    ///
    /// # Errors
    /// If the medium fails; nothing acknowledged is lost then.
    pub fn close(self) -> Result<()> {
        let State { added, taken, vertices, .. } = self.state.into_inner();
        self.changes.close(added.is_empty() && taken.is_empty() && vertices.is_empty())
    }

    fn before(&self) -> u32 {
        self.sealed.vertex_bound()
    }

    fn is_new(&self, state: &State, v: VertexId) -> bool {
        v >= self.before() && !state.vertices.contains(&v)
    }

    /// Fills in the numbers of names that `intern` makes new, in their order.
    fn numbered(
        &self,
        found: Vec<Option<VertexId>>,
        intern: impl FnOnce() -> everedge_live::Result<Vec<VertexId>>,
    ) -> Result<Vec<VertexId>> {
        let mut new = intern()?.into_iter().map(|at| self.before() + at);
        let numbers: Vec<VertexId> = found
            .into_iter()
            .map(|found| found.or_else(|| new.next()).unwrap_or_default())
            .collect();
        match numbers.iter().find(|&&v| v > MAX_VERTEX_ID) {
            None => Ok(numbers),
            Some(_) => Err(Error::invalid(format!(
                "more than {} different ids",
                u64::from(MAX_VERTEX_ID) + 1
            ))),
        }
    }

    /// Refuses edges of numbers that name no vertex, and weights that do not fit them.
    fn check(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        let bound = self.before().saturating_add(self.changes.added.len());
        if let Some(&(u, v)) = edges.iter().find(|&&(u, v)| u.max(v) >= bound) {
            return Err(Error::invalid(format!(
                "the edge {u} {v}: numbers of vertices are below {bound}"
            )));
        }
        let Some(weights) = weights else { return Ok(()) };
        if weights.len() != edges.len() {
            let what = format!("{} weights for {} edges", weights.len(), edges.len());
            return Err(Error::invalid(what));
        }
        match weights.iter().position(|weight| !weight.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let weight = weights[at];
                Err(Error::invalid(format!(
                    "weight {at} of the batch is {weight}, not a finite number"
                )))
            }
        }
    }

    /// Returns the edge by which a pair is known: the same for both directions if edges have none.
    fn key(&self, (u, v): Edge) -> Edge {
        if self.options.directed || u <= v { (u, v) } else { (v, u) }
    }

    /// Returns what there is of each pair of `edges`; of what was sealed only if `looks`.
    fn pairs_of<'a>(
        &self,
        state: &'a State,
        edges: &[Edge],
        looks: bool,
    ) -> Result<FxHashMap<Edge, Pair<'a>>> {
        let mut pairs: FxHashMap<Edge, Pair<'_>> = FxHashMap::default();
        for &edge in edges {
            let edge = self.key(edge);
            pairs.entry(edge).or_insert_with(|| Pair {
                sealed: Vec::new(),
                added: Weights::of(&state.added, edge),
                taken: Weights::of(&state.taken, edge),
            });
        }
        if !looks {
            return Ok(pairs);
        }
        let sealed = pairs.keys().filter(|(u, v)| *u.max(v) < self.before());
        // Of an undirected edge, the list of the larger end counts: mostly it is the shorter one, as vertices are numbered.
        let is_directed = self.options.directed;
        let source = |&(u, v): &Edge| if is_directed { u } else { v };
        let mut sources: Vec<VertexId> = sealed.map(source).collect();
        sources.sort_unstable();
        sources.dedup();
        self.sealed.for_each_edge_of(Direction::Out, &sources, |u, v, weight| {
            let edge = if is_directed { (u, v) } else { (v, u) };
            if let Some(pair) = pairs.get_mut(&edge) {
                pair.sealed.push(weight);
            }
        });
        self.sealed.store().check()?;
        for ((u, v), pair) in &mut pairs {
            for &weight in pair.taken.kept {
                let is_it = |other: &f32| other.to_bits() == weight.to_bits();
                let Some(place) =
                    pair.sealed.iter().rposition(is_it).filter(|_| u.max(v) < &self.before())
                else {
                    let what = format!("what was taken away from the list of vertex {u}");
                    let expected = "edges of the sealed graph";
                    return Err(damage(
                        self.changes.path(),
                        &what,
                        expected,
                        "one that it has not",
                    ));
                };
                pair.sealed.remove(place);
            }
        }
        Ok(pairs)
    }

    /// Makes the changes of a batch durable, and then known.
    fn commit(
        &self,
        state: &mut State,
        pairs: Vec<ChangedPair>,
        Made { updates, done }: Made,
    ) -> Result<Changes> {
        if !updates.is_empty() {
            let graph = &self.changes.graph;
            let ends = updates.iter().flat_map(|update| {
                let (u, v) = update.edge;
                [u, v].map(|end| id_in_changes(end, update.is_taken))
            });
            let ends = graph.intern_integers(&ends.collect::<Vec<_>>())?;
            let mut batch = Batch::new(self.options.weighted);
            for (update, ends) in updates.iter().zip(ends.chunks_exact(2)) {
                match update.is_deletion {
                    true => batch.delete(ends[0], ends[1])?,
                    false => batch.insert(ends[0], ends[1], update.weight)?,
                }
            }
            graph.apply(&batch)?;
        }
        let before = self.before();
        for ChangedPair { edge, added, taken } in pairs {
            if !added.more.is_empty() {
                state.vertices.extend([edge.0, edge.1].into_iter().filter(|&v| v >= before));
            }
            put(&mut state.added, edge, added, &mut state.counts.edges_added);
            put(&mut state.taken, edge, taken, &mut state.counts.edges_taken_away);
        }
        state.done.inserted += done.inserted;
        state.done.deleted += done.deleted;
        state.done.ignored_deletions += done.ignored_deletions;
        Ok(done)
    }
}

impl State {
    fn count(&mut self) {
        let count =
            |pairs: &FxHashMap<Edge, Vec<f32>>| pairs.values().map(|w| w.len() as u64).sum();
        let (edges_added, edges_taken_away) = (count(&self.added), count(&self.taken));
        self.counts = ChangeCounts { edges_added, edges_taken_away };
    }
}

impl Numbers {
    fn new(ids: Vec<VertexId>) -> Self {
        let mut numbers: Vec<_> = ids.into_iter().zip(0..).collect();
        everedge_core::par::sort_by_key(&mut numbers, |&number| number);
        Self(numbers)
    }

    /// Returns the vertex that had a number, if there is one.
    fn find(&self, id: VertexId) -> Option<VertexId> {
        let place = self.0.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.0[place].1)
    }

    /// Returns the number that a vertex had.
    ///
    /// Cost: all are looked through.
    fn id_of(&self, v: VertexId) -> Option<VertexId> {
        self.0.iter().find(|&&(_, other)| other == v).map(|&(id, _)| id)
    }
}

impl Taker for Changer {
    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        self.insert(edges, weights).map(|_| ())
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.delete(edges).map(|_| ())
    }

    fn add_vertices(&self, vertices: &[VertexId]) -> Result<()> {
        self.add_vertices(vertices)
    }

    fn has_data(&self) -> bool {
        true
    }

    fn vertices_of(&self, ids: Ids) -> Result<Vec<VertexId>> {
        match ids {
            Ids::Dense(ids) => {
                let names: Vec<u64> = ids.into_iter().map(u64::from).collect();
                self.intern_integers(&names)
            }
            Ids::Sparse(ids) => self.intern_integers(&ids),
            Ids::Text(texts) => {
                let names: Vec<&str> = texts.iter().collect();
                self.intern_texts(names.into_iter())
            }
        }
    }

    fn known_vertices_of(&self, names: &Ids) -> Vec<Option<VertexId>> {
        match names {
            Ids::Dense(ids) => {
                let ids: Vec<u64> = ids.iter().copied().map(u64::from).collect();
                self.find_integers(&ids)
            }
            Ids::Sparse(ids) => self.find_integers(ids),
            Ids::Text(texts) => self.find_texts(texts.iter()),
        }
    }

    fn name_of(&self, v: VertexId) -> ExternalId {
        if let Some(at) = v.checked_sub(self.before()) {
            return self.changes.added.name_of(at).unwrap_or(ExternalId::Integer(v.into()));
        }
        crate::id_map::name_of(self.names.as_ref(), self.numbers.id_of(v).unwrap_or(v))
    }
}

#[cfg(test)]
mod tests {
    use everedge_chunks::SealOptions;
    use everedge_core::watch::Watch;
    use everedge_medium::{MediumKind, Recorder};

    use super::*;
    use crate::Graph;

    const EIO: i32 = 5;

    /// A failed sync does not say what is on the medium, whether something was acknowledged before or not.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of edges")]
    fn a_first_batch_whose_sync_fails_may_be_there() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("edges.txt");
        std::fs::write(&file, "0 1\n1 0\n").unwrap();
        let dram = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("sealed".as_ref(), &dram, false).unwrap();
        graph.insert(&[(0, 1)], None).unwrap();
        let (sealed, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        let view = graph.snapshot().unwrap();
        Chunks::seal_in(&sealed, &view, &SealOptions::default(), &Watch::new()).unwrap();
        let stored = GraphOptions { medium: MediumKind::File, ..dram };
        for (delete, expected) in [
            (false, "; the first edges of it may be in the graph: look before you repeat it"),
            (true, "; the first deletions of it may be done: look before you repeat it"),
        ] {
            let ingest = IngestOptions { delete, ..IngestOptions::default() };
            let sources = expand(std::slice::from_ref(&file), &ingest).unwrap();
            let (changes, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
            let changer = Chunks::change_in(&sealed, changes, &stored).unwrap();
            recorder.fail_nth(0, EIO, true);
            let error = changer.ingest(&sources, &ingest, &mut |_| true).unwrap_err();
            assert!(matches!(error, Error::Partly { edges: 0, .. }), "{error}");
            assert!(error.to_string().ends_with(expected), "{error}");
            let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
            let live = Graph::create_in(volume, &stored).unwrap();
            live.insert(&[(0, 1)], None).unwrap();
            recorder.fail_nth(0, EIO, true);
            let error = live.ingest_sources(&sources, &ingest, &mut |_| true).unwrap_err();
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }

    /// What was acknowledged would be there twice if somebody who reads the error did it again.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a file of edges")]
    fn an_ingest_that_is_done_and_cannot_close_says_that_all_of_it_is_there() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("edges.txt");
        std::fs::write(&file, "1 2\n2 3\n").unwrap();
        let stored = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("sealed".as_ref(), &stored, false).unwrap();
        graph.insert(&[(0, 1)], None).unwrap();
        let (sealed, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        let view = graph.snapshot().unwrap();
        Chunks::seal_in(&sealed, &view, &SealOptions::default(), &Watch::new()).unwrap();
        let (changes, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        let stored = GraphOptions { medium: MediumKind::File, ..stored };
        for (delete, expected) in [
            (false, "; all 2 edges are in the graph: do not add them again"),
            (true, "; all 2 deletions are done: do not repeat them"),
        ] {
            let again = recorder.open_again(&changes).unwrap();
            let changer = Chunks::change_in(&sealed, again, &stored).unwrap();
            let ingest = IngestOptions { delete, ..IngestOptions::default() };
            let sources = expand(std::slice::from_ref(&file), &ingest).unwrap();
            let mut fail_once_done = |progress: Progress| {
                if progress.edges == 2 {
                    recorder.fail_nth(0, EIO, true);
                }
                true
            };
            let error = changer.ingest(&sources, &ingest, &mut fail_once_done).unwrap_err();
            recorder.stop_failing();
            assert!(matches!(error, Error::Unclosed { edges: 2, .. }), "{error}");
            assert!(error.to_string().ends_with(expected), "{error}");
            let again = recorder.open_again(&changes).unwrap();
            let chunks = Chunks::open_in(sealed.clone(), Some(again), None).unwrap();
            assert_eq!(chunks.edge_count(), if delete { 1 } else { 3 });
        }
    }
}
