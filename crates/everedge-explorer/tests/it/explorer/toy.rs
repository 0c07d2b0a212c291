//! A store small enough to be seen right, and broken in every way to prove the explorer.
//!
//! The store is a list of numbers. `log` has two areas of checksummed records, of which `super`
//! names the live one by two slots that are written in turn; a compaction writes the list to the
//! other area and switches. Recovery ends with a compaction.

use super::{Exploration, History, Start, Subject, found, images_max};
use everedge_live::{Error, Result};
use everedge_medium::{MediumKind, Plant, Region, Site, Volume};

const AREA_BYTES: u64 = 2048;
const SLOT_BYTES: u64 = 64;
const OPERATION_COUNT: u64 = 12;
const LIST_LEN_MAX: usize = 24;

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };

struct Toy;

struct Store {
    log: Region,
    superblock: Region,
    generation: u32,
    next_record: u32,
    /// Where in the live area the next record goes.
    end: u64,
    list: Vec<u32>,
}

impl Store {
    fn create(volume: &Volume) -> Result<Store> {
        let superblock = volume.create_region("super", 2 * SLOT_BYTES)?;
        let log = volume.create_region("log", AREA_BYTES)?;
        let (generation, next_record, end) = (0, 1, 0);
        let mut store = Store { log, superblock, generation, next_record, end, list: Vec::new() };
        store.switch(2)?;
        volume.publish("toy", b"made")?;
        Ok(store)
    }

    fn open(volume: &Volume) -> Result<Option<Store>> {
        if !volume.contains("toy")? {
            return Ok(None);
        }
        let superblock = volume.open_region("super")?;
        let log = volume.open_region("log")?;
        let slots = [0, 1].map(|slot| read_slot(&superblock, slot));
        let newest = slots.into_iter().flatten().max();
        let no_slot = || Error::Corruption {
            path: superblock.path().to_owned(),
            offset: 0,
            what: "the slots".into(),
            expected: "a whole one".into(),
            found: "none".into(),
        };
        let (generation, next_record) = newest.ok_or_else(no_slot)?;
        let mut store =
            Store { log, superblock, generation, next_record, end: 0, list: Vec::new() };
        while let Some(values) = store.read_record() {
            store.take(&values);
        }
        store.compact()?;
        Ok(Some(store))
    }

    fn area(&self) -> u64 {
        u64::from(self.generation % 2) * AREA_BYTES
    }

    /// Returns the values of the record at the end, if it is whole.
    fn read_record(&mut self) -> Option<Vec<u32>> {
        let area_end = (self.area() + AREA_BYTES).min(self.log.len());
        let offset = self.area() + self.end;
        let room = area_end.saturating_sub(offset) / 4;
        let word = |i: u64| load(&self.log, offset + 4 * i);
        if room < 3 || word(0) != self.next_record || u64::from(word(1)) > room - 3 {
            return None;
        }
        let words: Vec<u32> = (0..2 + u64::from(word(1))).map(word).collect();
        let found = word(words.len() as u64);
        if !self.log.matches(Site::LogRecord, checksum(&words), found) {
            return None;
        }
        self.next_record += 1;
        self.end += record_bytes(words.len() - 2);
        Some(words[2..].to_vec())
    }

    /// Appends a value, or clears the list for an empty record.
    fn take(&mut self, values: &[u32]) {
        match values {
            [] => self.list.clear(),
            values => self.list.extend(values),
        }
    }

    fn append(&mut self, values: &[u32]) -> Result<()> {
        if self.end + record_bytes(values.len()) > AREA_BYTES {
            self.compact()?;
        }
        self.write_record(Site::LogRecord, self.area() + self.end, self.next_record, values)?;
        self.next_record += 1;
        self.end += record_bytes(values.len());
        self.take(values);
        Ok(())
    }

    fn write_record(&self, site: Site, offset: u64, number: u32, values: &[u32]) -> Result<()> {
        let mut words = vec![number, values.len() as u32];
        words.extend(values);
        words.push(checksum(&words));
        self.log.store_words(offset, &words);
        self.log.flush(site, offset..offset + 4 * words.len() as u64);
        self.log.fence(site)
    }

    /// Writes the list to the other area and makes that the live one.
    fn compact(&mut self) -> Result<()> {
        let area = u64::from((self.generation + 1) % 2) * AREA_BYTES;
        self.log.grow(area + AREA_BYTES)?;
        self.write_record(Site::Block, area, self.next_record, &self.list)?;
        self.switch(self.generation + 1)?;
        self.next_record += 1;
        self.end = record_bytes(self.list.len());
        Ok(())
    }

    fn switch(&mut self, generation: u32) -> Result<()> {
        let offset = u64::from(generation % 2) * SLOT_BYTES;
        let words = [generation, 0, self.next_record];
        self.superblock.store_words(offset, &[words[0], words[1], words[2], checksum(&words)]);
        self.superblock.flush(Site::LogAnchor, offset..offset + SLOT_BYTES);
        self.superblock.fence(Site::LogAnchor)?;
        self.generation = generation;
        Ok(())
    }
}

fn load(region: &Region, offset: u64) -> u32 {
    region.words(offset, 1)[0].load(std::sync::atomic::Ordering::Relaxed)
}

/// Returns generation and first record of a slot, if it is whole.
fn read_slot(superblock: &Region, slot: u64) -> Option<(u32, u32)> {
    let [generation, pad, first_record, found] =
        [0, 1, 2, 3].map(|i| load(superblock, slot * SLOT_BYTES + 4 * i));
    let expected = checksum(&[generation, pad, first_record]);
    let is_whole = superblock.matches(Site::LogAnchor, expected, found);
    is_whole.then_some((generation, first_record))
}

fn checksum(words: &[u32]) -> u32 {
    words.iter().fold(1, |sum, word| (sum ^ word).wrapping_mul(0x9e37_79b1).rotate_left(13))
}

fn record_bytes(value_count: usize) -> u64 {
    (4 * (value_count as u64 + 3)).next_multiple_of(8)
}

/// Returns the values that operation `number` of a history appends; none to clear the list.
fn values(seed: u64, number: u64, list_len: usize) -> Vec<u32> {
    let random = (seed << 8 | number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let is_clearing = list_len > LIST_LEN_MAX;
    let count = if is_clearing { 0 } else { 1 + random % 20 };
    (0..count).map(|i| (random * 32 + i) as u32).collect()
}

fn after(mut list: Vec<u32>, values: &[u32]) -> Vec<u32> {
    match values {
        [] => list.clear(),
        values => list.extend(values),
    }
    list
}

impl Subject for Toy {
    type State = Vec<u32>;
    type Store = Store;

    fn run(&self, seed: u64, volume: &Volume, history: &mut History<Vec<u32>>) -> Result<()> {
        history.begin(Vec::new());
        let mut store = Store::create(volume)?;
        history.acknowledge();
        for number in 0..OPERATION_COUNT {
            let list = history.last().cloned().unwrap_or_default();
            let values = values(seed, number, list.len());
            history.begin(after(list, &values));
            store.append(&values)?;
            if number % 5 == 4 {
                store.compact()?;
            }
            history.acknowledge();
        }
        Ok(())
    }

    fn recover(&self, volume: &Volume) -> Result<Option<Store>> {
        Store::open(volume)
    }

    fn state(&self, store: &Store) -> Vec<u32> {
        store.list.clone()
    }

    fn apply(&self, seed: u64, store: &mut Store, mut state: Vec<u32>) -> Result<Vec<u32>> {
        for number in 0..3 {
            let values = values(seed, number, state.len());
            store.append(&values)?;
            state = after(state, &values);
        }
        Ok(state)
    }
}

fn exploration(kind: MediumKind, eadr: bool, plant: Option<Plant>) -> Exploration<'static, Toy> {
    let name = format!("toy-{kind}{}", if eadr { "-eadr" } else { "" });
    Exploration {
        name,
        subject: &Toy,
        kind,
        eadr,
        plant,
        images_max: images_max(),
        start: Start::New,
        kills: false,
    }
}

#[test]
fn every_image_recovers() {
    for (kind, eadr) in [(PMEM, false), (PMEM, true), (MediumKind::File, false)] {
        let report = exploration(kind, eadr, None).check();
        println!("{kind} eadr {eadr}: {report:?}");
    }
}

#[test]
fn every_planted_defect_is_found() {
    let sites = [Site::LogRecord, Site::LogAnchor, Site::Block];
    let plants =
        sites.into_iter().flat_map(|site| [Plant::DropFlush(site), Plant::DropFence(site)]);
    let checksums = [Site::LogRecord, Site::LogAnchor].map(Plant::SkipChecksum);
    for plant in plants.chain(checksums) {
        let outcome = exploration(PMEM, false, Some(plant)).explore();
        println!("{}", found(outcome, plant));
    }
    for site in sites {
        for plant in [Plant::DropFlush(site), Plant::DropFence(site)] {
            let outcome = exploration(MediumKind::File, false, Some(plant)).explore();
            println!("{}", found(outcome, plant));
        }
    }
}

#[test]
fn every_failing_call_leaves_a_prefix() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    for kind in [PMEM, MediumKind::File] {
        for (errno, forever) in [(EIO, false), (EIO, true), (ENOSPC, false), (ENOSPC, true)] {
            let check = |is_odd| {
                exploration(kind, false, None).check_failing_calls(3, (errno, forever), is_odd)
            };
            let calls = check(false) + check(true);
            assert!(calls > OPERATION_COUNT, "{calls} calls");
        }
    }
}

#[test]
fn histories_go_on_after_every_failing_call() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    for kind in [PMEM, MediumKind::File] {
        for errno in [EIO, ENOSPC] {
            let report = exploration(kind, false, None).go_on_after_failing_calls(3, errno);
            println!("toy {kind}: {:?}", report.unwrap_or_else(|failure| panic!("{failure}")));
        }
    }
}
