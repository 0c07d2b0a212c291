//! Damaged files: an error that names file and offset, or the graph as it was; never a panic, a
//! hang or a wrong answer. So it is each time somebody looks, and after a write.
//!
//! `EVEREDGE_DAMAGE_STRIDE` sets every how many bytes one is flipped (1: all).

use everedge::{GraphOptions, Layout};
use everedge_adjacency::AdjacencyOptions;
use everedge_blocks::BlocksOptions;
use everedge_live::{Error, IdKind, Phases};
use everedge_medium::{Access, MediumKind, Volume};
use everedge_pma::{PmaOptions, VertexArray};
use std::cell::Cell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::adjacency_crash::subject::{State, Store};
use crate::battery::{ablated, small};
use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, Update, batch_of};

/// The files of a graph.
fn files(options: &GraphOptions) -> Vec<&'static str> {
    let mut files = vec!["log", "names", "manifest.toml"];
    files.extend_from_slice(match options.layout {
        Layout::Adjacency => &["blocks", "shards"],
        Layout::Pma => &["arrays", "table", "undo"],
        Layout::Blocks => &["blocks", "shards"],
    });
    files.extend((options.pma.vertex_array == VertexArray::Medium).then_some("rows"));
    files
}

/// The unit in which parts of files are zeroed, swapped and copied.
const UNIT_BYTES: usize = 64;

/// A graph whose files are damaged, copy by copy.
struct Victim {
    home: TempDir,
    /// The states after each batch.
    states: Vec<State>,
    options: GraphOptions,
    is_closed: bool,
    /// Its files as they were.
    files: Vec<(&'static str, Vec<u8>)>,
    /// A batch that comes next, and what it leads to.
    next: (Vec<Update>, Picture),
    /// How often it was damaged.
    turn: Cell<usize>,
}

/// After each so manieth damage the graph is written to.
const WRITTEN_EVERY: usize = 8;

impl Victim {
    fn new(layout: Layout, is_closed: bool, shape: u64) -> Victim {
        let home = tempfile::tempdir().expect("a directory");
        let options = GraphOptions {
            medium: MediumKind::Pmem { emulated: true },
            ids: IdKind::Text,
            weighted: shape & 1 != 0,
            simple: shape & 2 != 0,
            directed: shape & 4 == 0,
            adjacency: AdjacencyOptions {
                archive_threshold: 60,
                phases: Phases::InTurn,
                ..AdjacencyOptions::default()
            },
            pma: PmaOptions { phases: Phases::InTurn, ..small(layout).pma },
            blocks: BlocksOptions { phases: Phases::InTurn, ..small(layout).blocks },
            ..small(layout)
        };
        let is_ablated = layout == Layout::Pma && shape & 6 == 6;
        let options = if is_ablated { ablated(options) } else { options };
        let volume = Volume::create(&home.path().join("g"), options.volume(false)).unwrap();
        let store = Store::create(&volume, &options).unwrap();
        let mut model = Model::new(&options);
        let names: Vec<String> = (0..12).map(|n| format!("name {n}")).collect();
        let mut states = vec![store.state()];
        for names in names.chunks(4) {
            store.names.as_ref().unwrap().intern_texts(names.iter().map(String::as_str)).unwrap();
            states.push(store.state());
        }
        let mut random = Random(shape);
        for round in 0..20 {
            let updates = random.updates(12, names.len() as u64, 4);
            model.apply(&updates);
            store.graph.apply(&batch_of(&updates, options.weighted)).unwrap();
            match round {
                8 => store.graph.flush_all().unwrap(),
                12 if shape & 1 == 0 => store.graph.compact().unwrap(),
                _ => {}
            }
            states.push(State { picture: model.picture(), names: names.clone() });
        }
        if is_closed {
            store.graph.close().unwrap();
        }
        let next = random.updates(12, names.len() as u64, 4);
        model.apply(&next);
        let mut victim = Victim {
            home,
            states,
            options,
            is_closed,
            files: Vec::new(),
            next: (next, model.picture()),
            turn: Cell::new(shape as usize),
        };
        let good = |name| (name, fs::read(victim.file(name)).unwrap());
        victim.files = files(&victim.options).into_iter().map(good).collect();
        victim
    }

    fn open(&self, access: Access) -> Result<LiveGraph, Error> {
        let path = self.home.path().join("g");
        let volume = Volume::open(&path, self.options.volume(false), access)?;
        LiveGraph::open(volume, self.options.layout)
    }

    /// Looks more than once at what is there: each time it is what it was. Returns whether damage is
    /// found.
    fn look_again(&self) -> bool {
        let Ok(graph) = self.open(Access::Read) else { return true };
        let is_found = graph.snapshot().is_err();
        assert_eq!(graph.snapshot().is_err(), is_found, "the second view");
        let verification = graph.verify();
        let is_named = verification.is_err() || !verification.unwrap().problems.is_empty();
        assert_eq!(is_named, is_found, "verification after views");
        let (_, problems) = graph.salvage().unwrap();
        assert_eq!(!problems.is_empty(), is_found, "what is salvaged: {problems:?}");
        drop(graph);
        let verification = self.open(Access::Read).unwrap().verify();
        let is_named = verification.is_err() || !verification.unwrap().problems.is_empty();
        assert_eq!(is_named, is_found, "verification before views");
        is_found
    }

    /// Writes to what is there, and opens it again: what was acknowledged is there, and nothing else, or
    /// the damage is still found.
    fn write_and_open(&self, is_found: bool) {
        let Ok(graph) = self.open(Access::Write) else { return assert!(is_found) };
        let (updates, after) = &self.next;
        let outcome = graph.apply(&batch_of(updates, self.options.weighted));
        match self.turn.get() / WRITTEN_EVERY % 2 {
            0 => drop(graph.close()),
            _ => drop(graph),
        }
        let opened = self.open(Access::Write);
        let view = opened.and_then(|graph| graph.snapshot());
        match (&outcome, view) {
            (Ok(()), Ok(view)) => view.picture(&self.options).assert_equals(after, "after a write"),
            (Err(_), Ok(view)) => {
                let last = &self.states.last().expect("a state").picture;
                view.picture(&self.options).assert_equals(last, "after a refused write");
            }
            (Err(_), Err(_)) => assert!(is_found),
            (Ok(()), Err(error)) => panic!("acknowledged, and then: {error}"),
        }
    }

    /// Puts all files back that a write has changed.
    fn put_back(&self) {
        self.files.iter().for_each(|(name, good)| self.put(name, good));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("g").join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        put(&self.file(name), bytes);
    }

    /// Opens what is there.
    fn outcome(&self) -> Result<State, Error> {
        let path = self.home.path().join("g");
        let volume = Volume::open(&path, self.options.volume(false), Access::Read)?;
        Ok(Store::open(&volume, self.options.layout)?.state())
    }

    /// Whether the error says in which file something is wrong, and where in it.
    fn names_place(&self, error: &Error, name: &str, len: usize) -> bool {
        let (path, offset) = match error {
            Error::Corruption { path, offset, .. } => (path, *offset),
            Error::Version { path, .. } => (path, 0),
            _ => return false,
        };
        // All files are marked with a number that follows from the manifest. Without its newest anchor
        // the log is an older one, to which the others do not fit.
        let is_elsewhere = ["manifest.toml", "log"].contains(&name);
        is_elsewhere || path == &self.file(name) && offset <= len as u64
    }

    /// Checks what opening gives while the file `name` holds `bytes`.
    fn check(&self, name: &str, good: &[u8], bytes: &[u8], what: &str) -> bool {
        self.put(name, bytes);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.outcome()));
        let looks = catch_unwind(AssertUnwindSafe(|| {
            let is_found = self.look_again();
            self.turn.set(self.turn.get() + 1);
            if self.turn.get().is_multiple_of(WRITTEN_EVERY) {
                self.write_and_open(is_found);
                self.put_back();
            }
        }));
        self.put(name, good);
        assert!(looks.is_ok(), "{what}: a second look or a write");
        match outcome {
            Err(_) => panic!("{what}: a panic"),
            Ok(Err(error)) => {
                let text = error.to_string();
                assert!(self.names_place(&error, name, good.len()), "{what}: {text}");
                true
            }
            Ok(Ok(state)) => {
                let last = self.states.last().expect("a state");
                assert!(state == *last, "{what}: a wrong answer: {state:?}, not {last:?}");
                false
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "damage comes from outside")]
fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

fn stride() -> usize {
    match std::env::var("EVEREDGE_DAMAGE_STRIDE") {
        Ok(text) => text.parse().expect("EVEREDGE_DAMAGE_STRIDE is a number"),
        Err(_) => 37,
    }
}

/// The part of a file that is not all zeros.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// Where the last record of the log begins: damage there cannot be told from a torn write.
fn last_record(log: &[u8]) -> usize {
    // The mark of a header, with or without updates of vertices.
    let is_header = |at: &usize| matches!(log[*at + 4..], [0xe2 | 0xe3, 0xc4, 0xb7, 0xff, ..]);
    (8192..log.len())
        .step_by(8)
        .filter(is_header)
        .max_by_key(|&at| sequence(log, at))
        .unwrap_or(log.len())
}

fn sequence(log: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(log[at + 16..at + 24].try_into().unwrap())
}

/// Calls `damage` with closed and crashed graphs, and each of their files: name, content and where
/// the part ends in which damage must be found.
fn for_each_file(mut damage: impl FnMut(&Victim, &str, Vec<u8>, usize)) {
    for shape in 0..16 {
        let layout = if shape < 8 { Layout::Adjacency } else { Layout::Pma };
        let is_closed = shape % 2 == 0;
        let victim = Victim::new(layout, is_closed, shape % 8);
        for name in files(&victim.options) {
            let good = fs::read(victim.file(name)).unwrap();
            let end = match name == "log" && !is_closed {
                true => last_record(&good),
                false => used(&good),
            };
            damage(&victim, name, good, end);
        }
    }
}

#[test]
fn flipped_bytes_are_found_or_dead() {
    let (mut flips, mut found) = (0, 0);
    for_each_file(|victim, name, good, end| {
        let mut bytes = good.clone();
        for at in (flips % stride()..end).step_by(stride()) {
            let mask = 1 << (at % 8);
            bytes[at] ^= mask;
            let what = format!("{:?}, {name} flipped at {at}", victim.options);
            found += u64::from(victim.check(name, &good, &bytes, &what));
            flips += 1;
            bytes[at] ^= mask;
        }
    });
    println!("flips={flips} errors={found} wrong=0");
    assert!(100 * found >= 23 * flips as u64, "{found} of {flips} are found");
}

#[test]
fn cut_files_are_found() {
    let (mut cuts, mut found) = (0, 0);
    for_each_file(|victim, name, good, end| {
        let step = if stride() == 1 { 1 } else { good.len() / 40 + 1 };
        for len in (cuts % step..good.len()).step_by(step) {
            let what = format!("{:?}, {name} cut to {len}", victim.options);
            let is_found = victim.check(name, &good, &good[..len], &what);
            // What no checkpoint counts on yet may be cut off, the log has what it says; and what is
            // free, which a close leaves less than a page of. Undo logs say nothing, unless a
            // rebalance was interrupted; rows say nothing.
            let is_last_page = len + 4096 >= good.len();
            let is_repaired = match name {
                "blocks" => !victim.is_closed,
                "arrays" => !victim.is_closed || is_last_page,
                _ => ["undo", "rows"].contains(&name),
            };
            assert!(is_found || len >= end || is_repaired, "{what}");
            found += u64::from(is_found);
            cuts += 1;
        }
    });
    println!("cuts={cuts} errors={found} wrong=0");
    assert!(100 * found >= 49 * cuts as u64, "{found} of {cuts} are found");
}

#[test]
fn zeroed_swapped_and_copied_units_are_found_or_dead() {
    let (mut changes, mut found) = (0, 0);
    for_each_file(|victim, name, good, end| {
        let unit_count = end / UNIT_BYTES;
        for unit in (0..unit_count).step_by(stride() / 4 + 1) {
            let range = unit * UNIT_BYTES..(unit + 1) * UNIT_BYTES;
            let other = (unit * 7 + 1) % unit_count * UNIT_BYTES;
            for kind in ["zeroed", "swapped", "copied"] {
                let mut bytes = good.clone();
                match kind {
                    "zeroed" => bytes[range.clone()].fill(0),
                    _ => bytes.copy_within(other..other + UNIT_BYTES, range.start),
                }
                if kind == "swapped" {
                    bytes[other..other + UNIT_BYTES].copy_from_slice(&good[range.clone()]);
                }
                let what = format!("{:?}, {name} {kind} at {range:?}", victim.options);
                found += u64::from(victim.check(name, &good, &bytes, &what));
                changes += 1;
            }
        }
    });
    println!("units={changes} errors={found} wrong=0");
    assert!(100 * found >= 31 * changes, "{found} of {changes} are found");
}

/// Nothing tells a damaged last record from a torn one: the batch is dropped, wholly.
#[test]
fn a_damaged_last_record_is_dropped_wholly() {
    let victim = Victim::new(Layout::Adjacency, false, 0);
    let good = fs::read(victim.file("log")).unwrap();
    let (start, end) = (last_record(&good), used(&good));
    let before_last = &victim.states[victim.states.len() - 2];
    for at in start..end {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        victim.put("log", &bytes);
        assert_eq!(victim.outcome().unwrap(), *before_last, "flipped at {at}");
    }
}

/// A file that somebody put back from a copy of the directory as it was.
#[test]
fn an_older_log_is_refused() {
    for layout in Layout::ALL {
        let home = tempfile::tempdir().expect("a directory");
        let (path, options) = (home.path().join("g"), small(layout));
        let volume = Volume::create(&path, options.volume(false)).unwrap();
        let mut graph = LiveGraph::create(volume, &options).unwrap();
        let mut random = Random(1);
        let mut older = Vec::new();
        for round in 0..4 {
            for _ in 0..3 {
                let updates = random.updates(12, 20, 4);
                graph.apply(&batch_of(&updates, options.weighted)).unwrap();
                graph.flush_all().unwrap();
            }
            graph.close().unwrap();
            older.push(fs::read(path.join("log")).unwrap());
            if round == 3 {
                break;
            }
            let volume = Volume::open(&path, options.volume(false), Access::Write).unwrap();
            graph = LiveGraph::open(volume, options.layout).unwrap();
        }
        for (round, log) in older.iter().enumerate().take(3) {
            put(&path.join("log"), log);
            let volume = Volume::open(&path, options.volume(false), Access::Read).unwrap();
            let opened = LiveGraph::open(volume, options.layout);
            let outcome = opened.and_then(|graph| graph.snapshot().map(drop));
            let found = matches!(outcome, Err(Error::Corruption { .. }));
            assert!(found, "{layout}, the log of round {round}: {outcome:?}");
        }
    }
}
