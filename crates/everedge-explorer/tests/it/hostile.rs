//! Hostile files: any word of any file holds any value, and every checksum fits it, as somebody leaves
//! it who can compute checksums. What comes of it is an error or another graph that hangs together;
//! never a panic, a signal, a loop without end or memory beyond all proportion.
//!
//! A recorded volume that is [planted](Plant::SkipChecksums) finds that all checksums match. That is
//! more than to compute them: those that cover each other in a chain fit as well.
//!
//! All is tried in children of the test, so that one that is killed is seen. `EVEREDGE_HOSTILE_STRIDE`
//! sets every how many changes one is tried (1: all), `EVEREDGE_HOSTILE_ONLY` a single one by its
//! number.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use everedge_core::{Direction, ListVisitor, VertexId, WeightedView};
use everedge_live::{Error, Result};
use everedge_medium::{Image, MANIFEST, Plant, Site, Volume};

use crate::adjacency_crash::PMEM;
use crate::adjacency_crash::subject::{Live, Store, shapes};
use crate::explorer::{History, Subject};
use crate::live::LiveGraph;
use crate::model::{Random, batch_of};
use everedge::Layout;

/// All files of words that a graph may have.
const FILES: [&str; 9] =
    ["log", "names", "shards", "blocks", "blocks.1", "arrays", "table", "undo", "rows"];
/// What a graph of a few thousand bytes may ask for at once: it may have the largest of all ids,
const ALLOCATION_BYTES: usize = 128 << 20;
/// and what the process may have.
const MEMORY_BYTES: u64 = 2 << 30;
/// A change that takes longer hangs, also where others keep the processors busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many ids are looked at at either end of a graph with more.
const IDS: u32 = 1 << 14;
/// Of so many changes one gets past opening at least.
const OPENED_SHARE: u64 = 2;
/// Only its check says that an entry of an edge log, which counted by itself, is older than its section's
/// header. If that check matches too, a graph with such entries does not open. So the checks of entries
/// stay as they are for half of the changes, and for a graph that is not changed.
const OLD_ENTRIES_DO_NOT_COUNT: Plant = Plant::SkipChecksumsBut(Site::DirectEdge);
const STRIDE: &str = "EVEREDGE_HOSTILE_STRIDE";
const ONLY: &str = "EVEREDGE_HOSTILE_ONLY";
const CHILD: &str = "EVEREDGE_HOSTILE_CHILD";

/// A graph whose files are changed, copy by copy.
struct Victim {
    name: String,
    layout: Layout,
    image: Image,
}

/// What is put in the place of something.
#[derive(Clone, Debug)]
enum Change {
    /// Of a word or two of a file.
    Words { file: &'static str, offset: u64, words: Vec<u32> },
    /// Of the manifest, in which one line is another.
    Manifest { line: String, text: String },
}

/// Returns graphs of every layout, with all that opening reads: closed ones, those of a process that
/// was killed, and one that was killed in a rebalance.
fn victims() -> Vec<Victim> {
    let mut victims = Vec::new();
    for (number, live) in shapes(PMEM, false).into_iter().enumerate() {
        let ways = match number % 4 {
            0 => vec![live.clone(), live.clone().split(), live.clone().direct()],
            1 => vec![live.clone().merging(), live.clone().blocks(), live.pma()],
            2 => vec![live.clone().wide(), live.ablated()],
            _ => vec![live.clone().naive(), live.clone().blocks(), live.pma()],
        };
        for (way, live) in ways.into_iter().enumerate() {
            victims.push(Victim::new(&live, (number + way) as u64, (number / 4 + way) % 2 == 0));
        }
    }
    let rebalanced = shapes(PMEM, false).into_iter().step_by(4).map(Live::pma);
    let count = victims.len();
    victims.extend(rebalanced.filter_map(|live| Victim::in_a_rebalance(&live)));
    assert!(victims.len() > count, "no graph that was killed in a rebalance");
    victims
}

impl Change {
    fn name(&self) -> String {
        match self {
            Self::Words { file, offset, words } => format!("{file} at {offset:#x}: {words:x?}"),
            Self::Manifest { line, .. } => format!("manifest: {line}"),
        }
    }
}

impl Victim {
    fn new(live: &Live, seed: u64, is_closed: bool) -> Self {
        let options = live.options();
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        live.run(seed, &volume, &mut History::new(recorder.clone())).expect("a history");
        let mut image = recorder.image_of_kill();
        let layout = options.layout;
        if is_closed {
            let (volume, recorder) = Volume::from_image(&image).expect("memory");
            Store::open(&volume, layout).expect("a graph").graph.close().expect("closed");
            image = recorder.image_of_kill();
        }
        let closed = if is_closed { " closed" } else { "" };
        Self { name: format!("{}{closed}", live.name()), layout, image }
    }

    /// Returns what is left of a graph by a process that was killed in a rebalance.
    fn in_a_rebalance(live: &Live) -> Option<Self> {
        let options = live.options();
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        live.run(1, &volume, &mut History::new(recorder.clone())).expect("a history");
        let (name, layout) = (format!("{} in a rebalance", live.name()), options.layout);
        let mut found = None;
        recorder.images_of_kills(|image| {
            if is_in_a_rebalance(image) {
                let (name, image) = (name.clone(), image.clone());
                // Where an undo record is half written, only its checksum says so.
                found = Some(Self { name, layout, image }).filter(|v| v.find_problem().is_none());
            }
            match found {
                Some(_) => std::ops::ControlFlow::Break(()),
                None => std::ops::ControlFlow::Continue(()),
            }
        });
        found
    }

    /// Calls `visit` with each change of its files.
    fn for_each_change(&self, mut visit: impl FnMut(Change)) {
        let (volume, _recorder) = Volume::from_image(&self.image).expect("memory");
        for file in FILES {
            let Ok(region) = volume.open_region(file) else { continue };
            let count = (region.len() / 4) as usize;
            let words: Vec<u32> =
                region.words(0, count).iter().map(|word| word.load(Relaxed)).collect();
            let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 17);
            for at in 0..used.min(count) {
                let offset = 4 * at as u64;
                for words in values(&words, at, used) {
                    visit(Change::Words { file, offset, words });
                }
            }
        }
        let manifest = volume.read(MANIFEST, 1 << 20).expect("a manifest");
        let manifest = String::from_utf8(manifest).expect("text");
        let (_, text) = manifest.split_once('\n').expect("a checksum and more");
        for (at, line) in text.lines().enumerate() {
            for line in other_lines(line) {
                let mut lines: Vec<&str> = text.lines().collect();
                lines[at] = &line;
                let text = lines.join("\n") + "\n";
                let checksum = crc32c::crc32c(text.as_bytes());
                let text = format!("checksum = \"crc32c:{checksum:08x}\"\n{text}");
                visit(Change::Manifest { line: line.clone(), text });
            }
        }
    }

    /// Returns what is wrong with the graph before it is changed. If something is, a refused change proves
    /// nothing.
    fn find_problem(&self) -> Option<String> {
        let (volume, recorder) = Volume::from_image(&self.image).expect("memory");
        recorder.plant(OLD_ENTRIES_DO_NOT_COUNT);
        let look = || {
            let graph = LiveGraph::open(volume, self.layout)?;
            let problems = graph.verify()?.problems;
            let hangs_together = graph.snapshot()?.walk();
            Ok::<_, Error>((problems, hangs_together))
        };
        match look() {
            Ok((problems, true)) if problems.is_empty() => None,
            found => Some(format!("{}: {found:?}", self.name)),
        }
    }

    /// Lives with a change as a user does. Returns whether it got past opening.
    fn attempt(&self, number: u64, change: &Change) -> bool {
        let (volume, recorder) = Volume::from_image(&self.image).expect("memory");
        match change {
            Change::Words { file, offset, words } => {
                let region = volume.open_region(file).expect("a file");
                region.store_words(*offset, words);
            }
            Change::Manifest { text, .. } => {
                volume.publish(MANIFEST, text.as_bytes()).expect("a manifest");
            }
        }
        let is_all_skipped = number / 2 % 2 == 1;
        recorder.plant(match is_all_skipped {
            true => Plant::SkipChecksums,
            false => OLD_ENTRIES_DO_NOT_COUNT,
        });
        let is_compacted_first = number % 2 == 1;
        let read = catch_unwind(AssertUnwindSafe(|| self.read(&volume)));
        let _ = catch_unwind(AssertUnwindSafe(|| self.write(&volume, is_compacted_first)));
        let _ = catch_unwind(AssertUnwindSafe(|| self.read(&volume)));
        read.is_ok_and(|outcome| outcome.is_ok())
    }

    /// Looks at all that is there.
    fn read(&self, volume: &Volume) -> Result<()> {
        let graph = LiveGraph::open(volume.clone(), self.layout)?;
        if let Some(names) = named(graph.names())? {
            let last = names.len().saturating_sub(1);
            let name = names.name_of(last).map(|name| name.to_string());
            name.map(|name| names.id_of(&name));
        }
        let verification = named(graph.verify());
        let viewed = named(graph.snapshot()).map(|view| view.walk());
        let (view, problems) = named(graph.salvage())?;
        view.walk();
        let is_viewed = viewed.is_ok();
        assert_eq!(problems.is_empty(), is_viewed, "{viewed:?}, and salvage finds {problems:?}");
        let is_sound = verification.is_ok_and(|found| found.problems.is_empty());
        let hangs_together = viewed.is_ok_and(|hangs_together| hangs_together);
        assert!(hangs_together || !is_sound, "verification finds nothing");
        Ok(())
    }

    /// Changes all that can be changed.
    fn write(&self, volume: &Volume, is_compacted_first: bool) -> Result<()> {
        let graph = LiveGraph::open(volume.clone(), self.layout)?;
        let options = graph.options();
        let mut random = Random(7);
        if is_compacted_first {
            let _ = named(graph.compact());
            graph.put_in_order();
        }
        let _ = named(graph.insert_edge((1, 2), options.weighted.then_some(0.5)));
        for _ in 0..3 {
            let updates = random.updates(12, 16, 3);
            let _ = named(graph.apply(&batch_of(&updates, options.weighted)));
        }
        let _ = named(graph.delete([(1, 2), (3, 4)].into_iter()));
        let _ = named(graph.delete_vertex(3));
        let _ = named(graph.snapshot()).map(|view| view.walk());
        let _ = named(graph.flush_all());
        let _ = named(graph.compact_vertex(1));
        let _ = named(graph.compact());
        let updates = random.updates(40, 16, 3);
        let _ = named(graph.apply(&batch_of(&updates, options.weighted)));
        graph.put_in_order();
        let _ = named(graph.snapshot()).map(|view| view.walk());
        if let Some(names) = named(graph.names())? {
            let _ = named(names.intern_texts(["7000", "7001"].into_iter()));
        }
        named(graph.close())
    }
}

/// What an error of a hostile file may be: it says where and what.
fn named<T>(outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome {
        let is_clear = matches!(
            error,
            Error::Corruption { .. }
                | Error::Version { .. }
                | Error::InvalidInput { .. }
                | Error::NoSpace { .. }
                | Error::Poisoned { .. }
                // A manifest that tells of an id map, of which there is no file.
                | Error::Io { .. }
        );
        assert!(is_clear, "{error:?}");
    }
    outcome
}

/// Returns what is put in the place of a line of a manifest.
fn other_lines(line: &str) -> Vec<String> {
    let Some((key, value)) = line.split_once(" = ") else { return vec![String::new()] };
    let values = [
        "0",
        "1",
        "2",
        "3",
        "-1",
        "64",
        "100",
        "65536",
        "2147483648",
        "4294967295",
        "4294967296",
        "1125899906842624",
        "9223372036854775807",
        "true",
        "false",
        "\"\"",
        "\"x\"",
        "1.5",
        "[]",
        "\"dense\"",
        "\"text\"",
        "\"integer\"",
        "\"pma\"",
        "\"adjacency\"",
        "\"dram\"",
        "\"file\"",
        "\"edge\"",
        "\"none\"",
        "\"always\"",
        "\"never\"",
        "\"no\"",
        "\"yes\"",
        "\"aside\"",
        "\"in_place\"",
        "\"transaction\"",
        "\"medium\"",
        "\"memory\"",
        "\"vertices\"",
        "\"directions\"",
        "\"naive\"",
    ];
    let others = values.into_iter().filter(|other| *other != value);
    others.map(|other| format!("{key} = {other}")).chain([String::new()]).collect()
}

/// Returns what is put in the place of the word at `at`, and of the one after it.
fn values(words: &[u32], at: usize, used: usize) -> Vec<Vec<u32>> {
    let was = words[at];
    let other = words[(at * 7 + 16) % used.min(words.len())];
    let mut values = vec![0, 1, 2, u32::MAX, u32::MAX - 1, 0x7fff_ffff, 1 << 30, 0xffff];
    values.extend([was ^ 1 << 31, was ^ 1 << 16, was.wrapping_add(1), was.wrapping_sub(1)]);
    values.extend([was.wrapping_mul(2), was.wrapping_add(64), was.wrapping_add(4096), was << 8]);
    values.extend([other, was ^ 1 << 20]);
    let mut values: Vec<Vec<u32>> = values.into_iter().map(|value| vec![value]).collect();
    if at.is_multiple_of(2) && at + 1 < words.len() {
        let pairs = [[u32::MAX; 2], [0; 2], [u32::MAX, u32::MAX >> 1], [0, 1 << 16]];
        values.extend(pairs.map(|pair| pair.to_vec()));
    }
    values.sort_unstable();
    values.dedup();
    values.retain(|value| value[..] != words[at..at + value.len()]);
    values
}

/// Whether an undo log tells of a rebalance that is not done.
fn is_in_a_rebalance(image: &Image) -> bool {
    let (volume, _recorder) = Volume::from_image(image).expect("memory");
    let Ok(undo) = volume.open_region("undo") else { return false };
    let records = (0..undo.len() / 64).map(|line| undo.words(64 * line, 16));
    let mut newest = (0, true);
    for record in records.map(|words| [1, 2, 11, 13].map(|word: usize| words[word].load(Relaxed))) {
        let [magic, serial, step, saved] = record;
        if magic == u32::from_le_bytes(*b"UNDO") && serial > newest.0 {
            newest = (serial, step == u32::MAX || saved == 0);
        }
    }
    !newest.1
}

/// Reads all of a view, as kernels do, and holds it to what they rely on. Returns whether its neighbors
/// are vertices, which they do not rely on.
pub(crate) fn walk(view: &impl WeightedView) -> bool {
    struct Counted(Cell<u64>, VertexId);
    impl ListVisitor for Counted {
        const STOPS_EARLY: bool = false;

        fn wants(&self, _: VertexId) -> bool {
            true
        }

        fn visit(&mut self, _: VertexId, neighbors: impl Iterator<Item = VertexId>) {
            for neighbor in neighbors {
                assert!(neighbor < self.1, "the neighbor {neighbor} of {} ids", self.1);
                self.0.set(self.0.get() + 1);
            }
        }
    }
    let bound = view.vertex_bound();
    let first = 0..bound.min(IDS);
    let last = bound.saturating_sub(IDS).max(first.end)..bound;
    let mut directions = vec![Direction::Out];
    directions.extend(view.has_in_neighbors().then_some(Direction::In));
    let (mut vertices, mut edges, mut is_sound) = (0, 0, true);
    for ids in [first.clone(), last.clone()] {
        for direction in directions.iter().copied() {
            let mut counted = Counted(Cell::new(0), bound);
            view.visit_neighbors(direction, ids.clone(), &mut counted);
            let mut degrees = 0;
            view.for_each_degree(direction, ids.clone(), |_, degree| degrees += u64::from(degree));
            assert_eq!(counted.0.get(), degrees, "what is shown is no more than is told");
            counted.0.set(0);
            view.visit_listed(direction, &ids.clone().collect::<Vec<_>>(), &mut counted);
            assert_eq!(counted.0.get(), degrees, "what is shown one by one is as much");
        }
        for v in ids {
            vertices += u64::from(view.is_vertex(v));
            let degree = view.out_degree(v);
            assert_eq!(view.out_neighbors(v).count(), degree as usize, "the degree of {v}");
            assert_eq!(view.out_edges(v).count(), degree as usize, "the weighted degree of {v}");
            assert!(view.out_edges(v).all(|(_, weight)| weight.is_finite()), "a weight of {v}");
            is_sound &= degree == 0 || view.is_vertex(v);
            is_sound &= view.out_neighbors(v).all(|neighbor| view.is_vertex(neighbor));
            if view.has_in_neighbors() {
                let degree = view.in_degree(v);
                assert_eq!(view.in_neighbors(v).count(), degree as usize, "the in-degree of {v}");
                is_sound &= degree == 0 || view.is_vertex(v);
                is_sound &= view.in_neighbors(v).all(|neighbor| view.is_vertex(neighbor));
            }
            edges += u64::from(degree);
        }
    }
    if last.is_empty() {
        assert_eq!(vertices, u64::from(view.vertex_count()), "vertices");
        let mut shown = 0;
        view.for_each_edge(|_, _| shown += 1);
        is_sound &= shown == edges;
        assert!(!view.is_directed() || view.edge_count() == edges, "edges that are counted");
    }
    is_sound
}

/// Memory as the system gives it, of which a change may ask for [`ALLOCATION_BYTES`] at once. Address space
/// is no measure: a region reserves far more than it has.
#[expect(unsafe_code, reason = "allocators are")]
mod allocator {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Limited;

    #[global_allocator]
    static ALLOCATOR: Limited = Limited;

    /// More bytes than this at once there are not.
    pub(super) static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

    // SAFETY: either the system's allocator does it, or nothing is allocated.
    unsafe impl GlobalAlloc for Limited {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            match layout.size() <= LIMIT.load(Relaxed) {
                // SAFETY: as the caller promises.
                true => unsafe { System.alloc(layout) },
                false => std::ptr::null_mut(),
            }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            match layout.size() <= LIMIT.load(Relaxed) {
                // SAFETY: as the caller promises.
                true => unsafe { System.alloc_zeroed(layout) },
                false => std::ptr::null_mut(),
            }
        }

        unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            match size <= LIMIT.load(Relaxed) {
                // SAFETY: as the caller promises.
                true => unsafe { System.realloc(start, layout, size) },
                false => std::ptr::null_mut(),
            }
        }

        unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(start, layout) };
        }
    }
}

/// Returns the bytes of memory that this process has.
fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").expect("what this process takes");
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    4096 * pages.expect("pages")
}

/// Calls `visit` with each `stride`th change of all graphs, by number.
fn for_each_change(victims: &[Victim], stride: u64, mut visit: impl FnMut(u64, &Victim, Change)) {
    let mut number: u64 = 0;
    for victim in victims {
        victim.for_each_change(|change| {
            // Every graph and every word gets another value in its turn.
            if number.is_multiple_of(stride) {
                visit(number, victim, change);
            }
            number += 1;
        });
    }
}

/// The number of the change that a child is at, and since when, in milliseconds.
static AT: AtomicU64 = AtomicU64::new(u64::MAX);
static SINCE_MS: AtomicU64 = AtomicU64::new(0);

/// Tries changes from number `first` on, and says what comes of them.
fn try_changes(first: u64, stride: u64) {
    say_panics();
    let start = Instant::now();
    end_if_it_hangs(start);
    let victims = victims();
    if first == 0 {
        let problems: Vec<_> = victims.iter().filter_map(Victim::find_problem).collect();
        assert!(problems.is_empty(), "unchanged: {problems:?}");
    }
    allocator::LIMIT.store(ALLOCATION_BYTES, Relaxed);
    let (mut tried, is_only) = (0, number_of(ONLY).is_some());
    for_each_change(&victims, stride, |number, victim, change| {
        if number < first || is_only && number > first {
            return;
        }
        SINCE_MS.store(start.elapsed().as_millis() as u64, Relaxed);
        AT.store(number, Relaxed);
        println!("AT {number} {} {}", victim.name, change.name());
        if victim.attempt(number, &change) {
            println!("OPENED");
        }
        tried += 1;
        let took_ms = start.elapsed().as_millis() as u64 - SINCE_MS.load(Relaxed);
        if took_ms > 20_000 {
            println!("SLOW {took_ms} ms");
        }
        AT.store(u64::MAX, Relaxed);
    });
    println!("DONE {tried}");
}

/// Whoever panics says where.
fn say_panics() {
    std::panic::set_hook(Box::new(|info| {
        let trace = std::backtrace::Backtrace::force_capture().to_string();
        let is_ours = |line: &&str| line.contains("crates/everedge-") && !line.contains("map.rs");
        let places = trace.lines().map(str::trim).filter(is_ours).take(6);
        let places: Vec<&str> = places.filter(|line| !line.contains("hostile.rs")).collect();
        let at = info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
        let text = info.payload_as_str().unwrap_or_default().replace('\n', " ");
        println!("PANIC {at} <- {} | {text}", places.join(" <- "));
    }));
}

/// Ends this process if it stays at one change for too long.
fn end_if_it_hangs(start: Instant) {
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(200));
            let took =
                start.elapsed().saturating_sub(Duration::from_millis(SINCE_MS.load(Relaxed)));
            if AT.load(Relaxed) != u64::MAX && took > PATIENCE {
                println!("HANG");
                std::process::abort();
            }
            if resident_bytes() > MEMORY_BYTES {
                println!("HUGE");
                std::process::abort();
            }
        }
    });
}

/// What children have said, by what it is about: how often, and the first change.
#[derive(Default)]
struct Findings {
    found: BTreeMap<String, (u64, String)>,
    tried: u64,
    /// Changes with which a graph opens.
    opened: u64,
}

impl Findings {
    /// Runs a child from change number `first` on. Returns the one with which it ended before its
    /// time.
    fn run(&mut self, first: u64, stride: u64) -> Option<u64> {
        let program = std::env::current_exe().expect("this program");
        let errors = tempfile::NamedTempFile::new().expect("a file");
        let mut child = Command::new(program)
            .args(["--exact", "hostile::hostile_words_are_refused_or_another_graph", "--nocapture"])
            .env(CHILD, first.to_string())
            .env(STRIDE, stride.to_string())
            .stdout(Stdio::piped())
            .stderr(errors.reopen().expect("a file"))
            .spawn()
            .expect("a child");
        let (mut at, mut is_done, mut last) = (String::new(), false, None);
        for line in BufReader::new(child.stdout.take().expect("its output")).split(b'\n') {
            let line = String::from_utf8_lossy(&line.expect("a line")).into_owned();
            if let Some(change) = line.strip_prefix("AT ") {
                at = change.to_owned();
                last = at.split(' ').next().and_then(|number| number.parse().ok());
                self.tried += 1;
            } else if line == "OPENED" {
                self.opened += 1;
            } else if let Some(what) = line.strip_prefix("PANIC ") {
                let layout = at.split(' ').nth(1).and_then(|name| name.split('-').next());
                let place = what.split('|').next().unwrap_or_default();
                self.note(
                    format!("{} {place}", layout.unwrap_or_default()),
                    format!("{what} at {at}"),
                );
            } else if ["SLOW", "HANG", "HUGE"].iter().any(|what| line.starts_with(what)) {
                self.note(format!("{} {}", &line[..4], at), at.clone());
            }
            is_done |= line.starts_with("DONE");
        }
        let status = child.wait().expect("a child");
        if is_done && status.success() {
            return None;
        }
        let complained = fs::read_to_string(errors.path()).unwrap_or_default();
        let complained: String = complained.chars().take(2000).collect();
        self.note(format!("KILLED {at}"), format!("{status}: {complained} at {at}"));
        last
    }

    fn note(&mut self, place: String, example: String) {
        self.found.entry(place).or_insert((0, example)).0 += 1;
    }
}

fn number_of(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().expect("a number"))
}

#[test]
fn hostile_words_are_refused_or_another_graph() {
    const KILLED_MAX: usize = 100;
    let stride = number_of(STRIDE).unwrap_or(4513);
    if let Some(first) = number_of(CHILD) {
        // On one thread all comes in the same order each time, and nobody waits for another.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        return pool.install(|| try_changes(first, stride));
    }
    let mut findings = Findings::default();
    let is_single = number_of(ONLY).is_some();
    match number_of(ONLY) {
        Some(only) => drop(findings.run(only, 1)),
        None => {
            let mut first = 0;
            for _ in 0..KILLED_MAX {
                let Some(last) = findings.run(first, stride) else { break };
                first = last + 1;
            }
        }
    }
    println!("changes={} opened={}", findings.tried, findings.opened);
    for (place, (count, example)) in &findings.found {
        println!("{count} x {place}\n    {example}");
    }
    assert!(findings.found.is_empty(), "{} places", findings.found.len());
    assert!(findings.tried > 0, "no change was tried");
    // Otherwise views and updates are hardly tried.
    let is_fair = is_single || OPENED_SHARE * findings.opened >= findings.tried;
    assert!(is_fair, "{} of {} changes were opened", findings.opened, findings.tried);
}
