//! A small live graph with an id map, as the explorer drives it.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyOptions, Merging};
use everedge_blocks::BlocksOptions;
use everedge_live::{Durability, Error, IdKind, Names, Phases, Result};
use everedge_medium::{Image, MANIFEST, MediumKind, Volume};
use everedge_pma::{LogFirst, PmaOptions, Rebalancing};
use std::cell::RefCell;

use everedge_core::VertexId;

use crate::battery::{ablated, naive, split};
use crate::explorer::{History, Start, Subject};
use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, Update, batch_of};

const OPERATION_COUNT: u64 = 40;
const VERTEX_BOUND: u64 = 16;
/// Vertices of a wide graph are so many shards apart: two of them are a group of compaction.
const WIDE_STEP: VertexId = 2;
/// Names that a graph with an id map has from the start.
const FIRST_NAMES: usize = 6;

/// What a crash must leave: the graph and its names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) picture: Picture,
    pub(crate) names: Vec<String>,
}

/// An open graph.
pub(crate) struct Store {
    pub(crate) graph: LiveGraph,
    pub(crate) names: Option<Names>,
}

/// A graph of one shape; durability and kind of ids follow from shape and seed.
#[derive(Clone)]
pub(crate) struct Live {
    options: GraphOptions,
    number: u64,
    is_naive: bool,
    /// Whether it does without what makes the `pma` layout fast.
    is_ablated: bool,
    /// Whether the vertices are in two shards, which other threads flush.
    pub(crate) is_spread: bool,
    /// Whether the shards are sixteen and more, so that some are changed together.
    is_wide: bool,
    /// Whether it is killed, and leaves its segment, and not the power lost.
    pub(crate) is_killed: bool,
    /// Whether memory outlives the power.
    has_battery: bool,
    /// Whether it has sub-graphs.
    pub(crate) is_split: bool,
    pub(crate) start: Start,
}

/// Every combination of options that changes what is stored.
pub(crate) fn shapes(medium: MediumKind, eadr: bool) -> Vec<Live> {
    let mut shapes = Vec::new();
    for (directed, in_neighbors) in [(true, true), (true, false), (false, true)] {
        for bits in 0..4 {
            let options = GraphOptions {
                medium,
                eadr,
                directed,
                in_neighbors,
                weighted: bits & 1 != 0,
                simple: bits & 2 != 0,
                log_bytes: 1024,
                adjacency: AdjacencyOptions {
                    archive_threshold: 10,
                    phases: Phases::InTurn,
                    // Half of the graphs flush all whenever they archive.
                    buffer_pool_bytes: [1200, 1 << 20][shapes.len() % 2],
                    merging: Some(Merging::Never),
                    ..AdjacencyOptions::default()
                },
                ..GraphOptions::default()
            };
            let number = shapes.len() as u64;
            shapes.push(Live {
                options,
                number,
                is_naive: false,
                is_ablated: false,
                is_spread: false,
                is_wide: false,
                is_killed: false,
                has_battery: false,
                is_split: false,
                start: Start::New,
            });
        }
    }
    shapes
}

impl Live {
    pub(crate) fn options(&self) -> &GraphOptions {
        &self.options
    }

    /// Returns a graph whose histories go on from what a crash left.
    pub(crate) fn after(&self, start: Start) -> Live {
        Live { start, ..self.clone() }
    }

    /// Returns the same graph with deletion and compaction the naive way.
    pub(crate) fn naive(self) -> Live {
        Live { options: naive(self.options), is_naive: true, ..self }
    }

    /// Returns the same graph in sub-graphs, both of which its vertices are in.
    pub(crate) fn split(self) -> Live {
        Live { options: split(self.options), is_split: true, is_spread: true, ..self }
    }

    /// Returns the same graph with each vertex in a shard of its own, and more of them.
    pub(crate) fn wide(self) -> Live {
        Live { is_spread: true, is_wide: true, ..self }
    }

    /// Returns the same graph in the `pma` layout, with sections of two vertices. Every third has no
    /// edge logs, every fourth writes aside what it rebalances.
    pub(crate) fn pma(mut self) -> Live {
        self.options.layout = Layout::Pma;
        self.options.pma = PmaOptions {
            archive_threshold: [1, 6, 10, 40][self.number as usize % 4],
            phases: Phases::InTurn,
            section_vertices: 2,
            edge_log_bytes: if self.number % 3 == 2 { 0 } else { 64 },
            undo_log_bytes: 64,
            rebalancing: Some(match self.number % 4 {
                3 => Rebalancing::Aside,
                _ => Rebalancing::InPlace,
            }),
            ..PmaOptions::default()
        };
        self
    }

    /// Returns the same graph in the `blocks` layout, with blocks of 16 words. Every other graph has all lists
    /// in blocks.
    pub(crate) fn blocks(mut self) -> Live {
        self.options.layout = Layout::Blocks;
        self.options.blocks = BlocksOptions {
            archive_threshold: [1, 6, 10, 40][self.number as usize % 4],
            phases: Phases::InTurn,
            block_bytes: 64,
            shared_max: [1, 4][self.number as usize / 2 % 2],
            ..BlocksOptions::default()
        };
        self
    }

    /// Returns the same graph in the `pma` layout without edge logs, with transactions and with rows
    /// on the medium.
    pub(crate) fn ablated(self) -> Live {
        let live = self.pma();
        Live { options: ablated(live.options), is_ablated: true, ..live }
    }

    /// Returns the same graph in the `pma` layout, with single edges that go into the arrays without
    /// the log, and more of them.
    pub(crate) fn direct(self) -> Live {
        let mut live = self.pma();
        live.options.pma = PmaOptions {
            log_first: LogFirst::No,
            section_vertices: 4,
            edge_log_bytes: 200,
            ..live.options.pma
        };
        live
    }

    fn is_direct(&self) -> bool {
        self.options.pma.log_first == LogFirst::No
    }

    /// Returns the same graph with memory that outlives the power. It archives so often that its log
    /// is full of what is in buffers.
    pub(crate) fn with_battery(mut self) -> Live {
        self.options.adjacency.archive_threshold = 4;
        Live { has_battery: true, ..self }
    }

    /// Returns the same graph with lists that are merged by themselves.
    pub(crate) fn merging(mut self) -> Live {
        self.options.adjacency.merging = Some(Merging::Always);
        self
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.is_wide
    }

    pub(crate) fn name(&self) -> String {
        let GraphOptions { medium, eadr, .. } = self.options;
        let eadr = if eadr { "-eadr" } else { "" };
        let naive = if self.is_naive { "-naive" } else { "" };
        let direct = if self.is_direct() { "-direct" } else { "" };
        let ablated = if self.is_ablated { "-ablated" } else { "" };
        let is_merging = self.options.adjacency.merging == Some(Merging::Always);
        let merging = if is_merging { "-merging" } else { "" };
        let spread = match (self.is_wide, self.is_spread) {
            (true, _) => "-wide",
            (false, true) => "-spread",
            (false, false) => "",
        };
        let kills = if self.is_killed { "-kills" } else { "" };
        let battery = if self.has_battery { "-battery" } else { "" };
        let split = if self.is_split { "-split" } else { "" };
        let layout = self.options.layout;
        let start = match self.start {
            Start::New => "",
            Start::PowerLoss(_) => "-twice",
            Start::Kill(_) => "-killed",
        };
        format!(
            "{layout}-{medium}{eadr}{naive}{ablated}{direct}{merging}{spread}{kills}{battery}{split}{start}\
             -{}",
            self.number
        )
    }

    /// Returns the first seed with this durability.
    pub(crate) fn seed_of(&self, durability: Durability) -> u64 {
        let has_it = |seed: &u64| self.options_of(*seed).durability == durability;
        (0..3).find(has_it).expect("each of three has one of three")
    }

    fn options_of(&self, seed: u64) -> GraphOptions {
        let turn = self.number + seed;
        let durabilities = [Durability::Batch, Durability::None, Durability::Edge];
        let ids = [IdKind::Dense, IdKind::Text, IdKind::Dense, IdKind::Integer];
        GraphOptions {
            durability: durabilities[(turn % 3) as usize],
            // Names have no gaps, spread vertices do.
            adjacency: AdjacencyOptions {
                battery: self.has_battery,
                ..self.options.adjacency.clone()
            },
            ids: if self.is_spread { IdKind::Dense } else { ids[(turn / 3 % 4) as usize] },
            ..self.options.clone()
        }
    }

    fn place(&self, v: VertexId) -> VertexId {
        match (self.is_wide, self.is_spread) {
            // The most frequent come last, so that what comes first is missing for long.
            (true, _) => 4096 * WIDE_STEP * (VERTEX_BOUND as VertexId - 1 - v),
            (false, true) => v / 2 + 4096 * (v % 2),
            (false, false) => v,
        }
    }
}

impl Store {
    pub(crate) fn create(volume: &Volume, options: &GraphOptions) -> Result<Store> {
        let names = LiveGraph::create_names(volume, options)?;
        Ok(Store { graph: LiveGraph::create(volume.clone(), options)?, names })
    }

    pub(crate) fn open(volume: &Volume, layout: Layout) -> Result<Store> {
        let graph = LiveGraph::open(volume.clone(), layout)?;
        let names = graph.names()?;
        if let Some(names) = &names {
            names.check_covers(graph.snapshot()?.vertex_bound())?;
        }
        Ok(Store { graph, names })
    }

    pub(crate) fn state(&self) -> State {
        let verification = self.graph.verify().expect("a verification");
        assert!(verification.problems.is_empty(), "{:?}", verification.problems);
        let snapshot = self.graph.snapshot().expect("a snapshot");
        let picture = snapshot.picture(&self.graph.options());
        let names = self.names.iter().flat_map(|names| {
            (0..names.len()).filter_map(|v| names.name_of(v)).map(|name| name.to_string())
        });
        State { picture, names: names.collect() }
    }

    fn intern(&self, texts: &[String]) -> Result<()> {
        match (&self.names, self.graph.options().ids) {
            (None, _) => Ok(()),
            (Some(names), IdKind::Integer) => {
                let numbers: Vec<u64> =
                    texts.iter().map(|n| n.parse().expect("a number")).collect();
                names.intern_integers(&numbers).map(drop)
            }
            (Some(names), _) => names.intern_texts(texts.iter().map(String::as_str)).map(drop),
        }
    }
}

/// A history in the making.
struct Run<'a> {
    live: &'a Live,
    volume: &'a Volume,
    history: &'a mut History<State>,
    random: Random,
    model: Model,
    names: Vec<String>,
    store: Option<Store>,
    /// The states that an observer may see: the last acknowledged one and what came after it.
    possible: RefCell<Vec<State>>,
}

impl Run<'_> {
    fn store(&self) -> &Store {
        self.store.as_ref().expect("the graph is open")
    }

    fn graph(&self) -> &LiveGraph {
        &self.store().graph
    }

    fn options(&self) -> GraphOptions {
        self.graph().options()
    }

    fn begin(&mut self) {
        let state = State { picture: self.model.picture(), names: self.names.clone() };
        self.possible.borrow_mut().push(state.clone());
        self.history.begin(state);
    }

    fn acknowledge(&self) {
        self.history.acknowledge();
        let mut possible = self.possible.borrow_mut();
        let older = possible.len() - 1;
        possible.drain(..older);
    }

    /// After a failed call: the handle shows a possible state, and refuses writes if it said so.
    fn check_failed(&self) {
        let Some(store) = &self.store else { return };
        // The first snapshot may be what meets the failing call.
        let _ = store.graph.snapshot();
        let found = store.state();
        let possible = self.possible.borrow();
        assert!(possible.contains(&found), "after a failure {found:?}, expected {possible:?}");
        if store.graph.volume().check_health().is_err() {
            let error =
                store.graph.apply(&batch_of(&[Update::AddVertex(0)], self.options().weighted));
            assert!(matches!(error, Err(Error::Poisoned { .. })), "{error:?}");
        }
    }

    /// Acknowledges an operation that is safe on return.
    fn end(&self) {
        if self.options().durability != Durability::None {
            self.acknowledge();
        }
    }

    fn operate(&mut self) -> Result<()> {
        match self.random.below(25) {
            0 => self.delete_vertex(),
            1 => self.apply_hub(),
            2 => self.apply(150),
            3 => self.flush_all(),
            4 => self.reopen(false),
            5 => self.reopen(true),
            6 => self.sync(),
            7 => self.graph().snapshot().map(drop),
            8 | 9 => self.intern(),
            20 => self.graph().compact(),
            21 => self.graph().compact_vertex(self.live.place(0)),
            22..=24 => self.insert_edge(),
            14..=19 if self.live.is_direct() => self.insert_edge(),
            10..=13 => self.apply(3),
            _ => {
                let count = 1 + self.random.below(12);
                self.apply(count)
            }
        }
    }

    /// Ids that may be used: all, or those that have a name.
    fn vertex_bound(&self) -> u64 {
        if self.store().names.is_some() { self.names.len() as u64 } else { VERTEX_BOUND }
    }

    fn apply(&mut self, count: u64) -> Result<()> {
        let updates = self.random.updates(count, self.vertex_bound(), 3);
        self.apply_updates(updates)
    }

    fn insert_edge(&mut self) -> Result<()> {
        let bound = self.vertex_bound();
        let mut vertex = || self.live.place(self.random.below(bound) as VertexId);
        let (u, v) = (vertex(), vertex());
        let weight = self.random.below(1000) as f32 / 8.0;
        self.model.apply(&[Update::Insert(u, v, weight)]);
        self.begin();
        self.graph().insert_edge((u, v), self.options().weighted.then_some(weight))?;
        self.end();
        Ok(())
    }

    /// Fills lists up to whole blocks.
    fn apply_hub(&mut self) -> Result<()> {
        let bound = self.vertex_bound();
        let count = 30 + self.random.below(40);
        let updates = (0..count)
            .map(|_| {
                let weight = self.random.below(100) as f32;
                Update::Insert(0, self.random.below(bound.min(3)) as VertexId, weight)
            })
            .collect();
        self.apply_updates(updates)
    }

    fn apply_updates(&mut self, updates: Vec<Update>) -> Result<()> {
        let mut updates: Vec<Update> = updates.into_iter().map(|u| spread(self.live, u)).collect();
        match &self.live.start {
            Start::New => self.model.apply(&updates),
            _ => updates = self.model.apply_determined(updates),
        }
        self.begin();
        self.graph().apply(&batch_of(&updates, self.options().weighted))?;
        self.end();
        Ok(())
    }

    fn delete_vertex(&mut self) -> Result<()> {
        let v = self.live.place(self.random.below(self.vertex_bound()) as VertexId);
        self.model.delete_vertex(v);
        self.begin();
        self.graph().delete_vertex(v)?;
        self.end();
        Ok(())
    }

    fn intern(&mut self) -> Result<()> {
        if self.store().names.is_none() || self.names.len() as u64 >= VERTEX_BOUND {
            return Ok(());
        }
        // Names are durable at once, whatever the graph is: the order is one only after a sync.
        self.sync()?;
        let texts = names_from(self.names.len(), 1 + self.random.below(4) as usize);
        self.names.extend_from_slice(&texts);
        self.begin();
        self.store().intern(&texts)?;
        self.end();
        Ok(())
    }

    fn flush_all(&mut self) -> Result<()> {
        self.graph().flush_all()?;
        self.acknowledge();
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.graph().sync()?;
        self.acknowledge();
        Ok(())
    }

    /// Closes the graph, or drops it as a killed process does, and opens it again.
    fn reopen(&mut self, close: bool) -> Result<()> {
        let store = self.store.take().expect("the graph is open");
        if close {
            store.graph.close()?;
            self.acknowledge();
        }
        self.store = Some(Store::open(self.volume, self.live.options.layout)?);
        Ok(())
    }
}

/// Returns names, which are numbers as well.
fn names_from(first: usize, count: usize) -> Vec<String> {
    (first..first + count).map(|n| format!("{}", 1000 + 37 * n)).collect()
}

fn spread(live: &Live, update: Update) -> Update {
    match update {
        Update::Insert(u, v, weight) => Update::Insert(live.place(u), live.place(v), weight),
        Update::Delete(u, v) => Update::Delete(live.place(u), live.place(v)),
        Update::AddVertex(v) => Update::AddVertex(live.place(v)),
    }
}

impl Subject for Live {
    type State = State;
    type Store = Store;

    fn run(&self, seed: u64, volume: &Volume, history: &mut History<State>) -> Result<()> {
        let mut run = match &self.start {
            Start::New => self.begin(seed, volume, history)?,
            Start::PowerLoss(image) | Start::Kill(image) => {
                self.go_on(seed, image, volume, history)?
            }
        };
        for _ in 0..OPERATION_COUNT {
            run.operate().inspect_err(|_| run.check_failed())?;
        }
        Ok(())
    }

    fn recover(&self, volume: &Volume) -> Result<Option<Store>> {
        if volume.contains(MANIFEST)? {
            Store::open(volume, self.options.layout).map(Some)
        } else {
            Ok(None)
        }
    }

    fn state(&self, store: &Store) -> State {
        store.state()
    }

    fn apply(&self, seed: u64, store: &mut Store, state: State) -> Result<State> {
        let options = &store.graph.options();
        let State { picture, mut names } = state;
        let mut model = Model::of_picture(options, &picture);
        let mut random = Random(seed);
        if store.names.is_some() {
            let texts = names_from(names.len(), 2);
            names.extend_from_slice(&texts);
            store.intern(&texts)?;
        }
        let bound = if store.names.is_some() { names.len() as u64 } else { VERTEX_BOUND };
        for count in [3, 1 + random.below(10), 40, 3] {
            let updates = random.updates(count, bound, 3).into_iter().map(|u| spread(self, u));
            let updates = model.apply_determined(updates.collect());
            store.graph.apply(&batch_of(&updates, options.weighted))?;
            match random.below(6) {
                0 | 1 => store.graph.flush_all()?,
                2 => store.graph.compact()?,
                _ => {}
            }
        }
        Ok(State { picture: model.picture(), names })
    }

    fn sync(&self, store: &Store) -> Result<()> {
        store.graph.sync()
    }
}

impl Live {
    fn begin<'a>(
        &'a self,
        seed: u64,
        volume: &'a Volume,
        history: &'a mut History<State>,
    ) -> Result<Run<'a>> {
        let options = self.options_of(seed);
        let (model, names) = (Model::new(&options), Vec::new());
        history.begin(State { picture: model.picture(), names: Vec::new() });
        let store = Some(Store::create(volume, &options)?);
        history.acknowledge();
        let random = Random(seed << 8 | self.number);
        let possible = RefCell::new(vec![history.last().expect("a state").clone()]);
        let mut run = Run { live: self, volume, history, random, model, names, store, possible };
        if run.store().names.is_some() {
            run.names = names_from(0, FIRST_NAMES);
            run.begin();
            run.store().intern(&run.names)?;
            run.end();
        }
        Ok(run)
    }

    /// Goes on with what a crash left. What another recovery of it finds is acknowledged: after
    /// a power loss at once, after a kill when it was opened.
    fn go_on<'a>(
        &'a self,
        seed: u64,
        image: &Image,
        volume: &'a Volume,
        history: &'a mut History<State>,
    ) -> Result<Run<'a>> {
        let (other, _recorder) = Volume::from_image(image)?;
        let state = Store::open(&other, self.options.layout)?.state();
        let is_killed = matches!(self.start, Start::Kill(_));
        let killed_store =
            if is_killed { Some(Store::open(volume, self.options.layout)?) } else { None };
        history.begin(state.clone());
        history.acknowledge();
        let store = killed_store.map_or_else(|| Store::open(volume, self.options.layout), Ok)?;
        let model = Model::of_picture(&store.graph.options(), &state.picture);
        let (random, names) = (Random(seed << 8 | self.number), state.names);
        let possible = RefCell::new(vec![history.last().expect("a state").clone()]);
        Ok(Run { live: self, volume, history, random, model, names, store: Some(store), possible })
    }
}
