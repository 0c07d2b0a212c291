//! Crashes of the edge log alone: batches, its tail, its anchors, and calls that fail.

use everedge_live::{Appended, Batch, Checkpoint, Error, Result};
use everedge_live::{EdgeLog, RING_OFFSET};
use everedge_medium::{MediumKind, Plant, Site, Volume};

use crate::explorer::{Exploration, History, Start, Subject, found, images_max};

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const SALT: u32 = 11;
const CAPACITY: u64 = 4096;
const OPERATION_COUNT: u64 = 24;
const LOG: &str = "log";
const MADE: &str = "made";
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A log whose records are read back: what it holds is the state.
struct LogSubject;

struct Store {
    log: EdgeLog,
    /// The edges that the log holds, by the sequence number of the first of each batch.
    batches: Vec<(u64, Vec<u32>)>,
}

impl Store {
    fn create(volume: &Volume) -> Result<Store> {
        let region = volume.create_region(LOG, RING_OFFSET)?;
        let log = EdgeLog::create(region, CAPACITY, false, SALT)?;
        volume.publish(MADE, b"made")?;
        Ok(Store { log, batches: Vec::new() })
    }

    fn open(volume: &Volume) -> Result<Option<Store>> {
        if !volume.contains(MADE)? {
            return Ok(None);
        }
        let log = EdgeLog::open(volume.open_region(LOG)?, false, SALT)?;
        let mut store = Store { log, batches: Vec::new() };
        store.take();
        Ok(Some(store))
    }

    /// Takes what the log holds, as a layout does.
    fn take(&mut self) {
        for record in self.log.take_records() {
            let mut edges = Vec::new();
            self.log.for_each_update(&record, 0..record.count, |_, u, v| edges.extend([u, v]));
            self.batches.push((record.sequence, edges));
        }
    }

    /// Appends a batch and makes room for it if the ring is full.
    fn append(&mut self, edges: &[(u32, u32)]) -> Result<()> {
        self.log.begin_writing()?;
        let batch = Batch::insertions(edges.iter().copied(), None)?;
        loop {
            match self.log.append(&batch, false)? {
                Appended::At { position, .. } => {
                    self.log.make_durable(position)?;
                    self.take();
                    return Ok(());
                }
                Appended::Full => self.free(0)?,
            }
        }
    }

    /// Frees all batches but the last `kept`.
    fn free(&mut self, kept: usize) -> Result<()> {
        self.log.begin_writing()?;
        let freed = self.batches.len().saturating_sub(kept);
        let next = self.batches.get(freed).map_or(self.log.next_sequence(), |batch| batch.0);
        self.log.free_before(next, Checkpoint { layout: [next, 0, 0] })?;
        self.batches.drain(..freed);
        Ok(())
    }
}

/// What a log says: its next sequence number, and what is left of its batches, in order. The tail may
/// have moved or not: only that is compared which comes after the state's own tail.
#[derive(Clone, Debug)]
struct State {
    next_sequence: u64,
    edges: Vec<u32>,
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let len = self.edges.len().min(other.edges.len());
        let last = |state: &State| state.edges[state.edges.len() - len..].to_vec();
        self.next_sequence == other.next_sequence && last(self) == last(other)
    }
}

impl State {
    fn after(mut self, edges: &[(u32, u32)]) -> State {
        self.next_sequence += edges.len() as u64;
        self.edges.extend(edges.iter().flat_map(|&(u, v)| [u, v]));
        self
    }
}

/// Returns the edges that operation `number` of a history appends.
fn edges(seed: u64, number: u64) -> Vec<(u32, u32)> {
    let random = (seed << 8 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let count = [1, 1, 2, 5, 14][(random % 5) as usize];
    (0..count).map(|i| ((random % 10_007) as u32, (number * 100 + i) as u32)).collect()
}

impl Subject for LogSubject {
    type State = State;
    type Store = Store;

    fn run(&self, seed: u64, volume: &Volume, history: &mut History<State>) -> Result<()> {
        let mut state = State { next_sequence: 0, edges: Vec::new() };
        history.begin(state.clone());
        let mut store = Store::create(volume)?;
        history.acknowledge();
        for number in 0..OPERATION_COUNT {
            match (seed + number) % 7 {
                2 => store.free(2)?,
                4 => store = Store::open(volume)?.ok_or_else(|| Error::invalid("gone"))?,
                _ => {
                    let edges = edges(seed, number);
                    state = state.after(&edges);
                    history.begin(state.clone());
                    store.append(&edges)?;
                    history.acknowledge();
                }
            }
        }
        Ok(())
    }

    fn recover(&self, volume: &Volume) -> Result<Option<Store>> {
        Store::open(volume)
    }

    fn state(&self, store: &Store) -> State {
        let (_, tail_sequence) = store.log.checkpoint();
        let held = store.batches.first().map_or(store.log.next_sequence(), |batch| batch.0);
        assert_eq!(held, tail_sequence, "the tail names the first update that is there");
        let edges = store.batches.iter().flat_map(|batch| batch.1.clone()).collect();
        State { next_sequence: store.log.next_sequence(), edges }
    }

    fn apply(&self, seed: u64, store: &mut Store, mut state: State) -> Result<State> {
        for number in 0..3 {
            let edges = edges(seed, number);
            store.append(&edges)?;
            state = state.after(&edges);
        }
        Ok(state)
    }
}

fn exploration(kind: MediumKind, plant: Option<Plant>) -> Exploration<'static, LogSubject> {
    Exploration {
        name: format!("log-{kind}"),
        subject: &LogSubject,
        kind,
        eadr: false,
        plant,
        images_max: images_max(),
        start: Start::New,
        kills: false,
    }
}

#[test]
fn every_image_recovers() {
    for kind in [PMEM, MediumKind::File] {
        println!("log {kind}: {:?}", exploration(kind, None).check());
    }
}

#[test]
fn every_planted_defect_is_found() {
    for kind in [PMEM, MediumKind::File] {
        for site in [Site::LogRecord, Site::LogAnchor] {
            for plant in [Plant::DropFlush(site), Plant::DropFence(site)] {
                let outcome = exploration(kind, Some(plant)).explore();
                println!("{:.160}", found(outcome, (plant, kind)));
            }
        }
    }
}

/// A call fails, the log is opened again and goes on, then the power goes.
#[test]
fn histories_go_on_after_every_failing_call() {
    for kind in [PMEM, MediumKind::File] {
        for errno in [EIO, ENOSPC] {
            for seed in 0..3 {
                let report = exploration(kind, None).go_on_after_failing_calls(seed, errno);
                let report = report.unwrap_or_else(|failure| panic!("{failure}"));
                println!("log {kind}, error {errno}: {report:?}");
            }
        }
    }
}

/// What a failed sync lost is read from the cache, and flushing does not write it.
#[test]
fn opening_that_only_flushes_what_it_believes_is_found() {
    let plants = [Plant::DropRewrite(Site::LogFound), Plant::DropFence(Site::LogFound)];
    for plant in plants {
        let outcome = (0..3).try_for_each(|seed| {
            let exploration = exploration(MediumKind::File, Some(plant));
            exploration.go_on_after_failing_calls(seed, EIO).map(drop)
        });
        println!("{:.200}", found(outcome, plant));
    }
}
