//! Graphs on a real file system that fails: write-back that finds no room, and power cuts.
//!
//! ext4 lies on a loop device; where root and loop devices are missing the tests say that they were
//! not run. `EVEREDGE_DISK_LAYOUTS` names the layouts (`adjacency,pma`), `EVEREDGE_DISK_ROUNDS` how
//! often write-back fails for each of them, `EVEREDGE_DISK_CUTS` how often the power is cut.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use everedge::{GraphOptions, Layout};
use everedge_live::{Durability, Error, LOG};
use everedge_medium::{Access, MediumKind, Site, Volume};

use crate::disk::{Disk, count};
use crate::live::LiveGraph;
use crate::model::Random;

/// Edge number n is `n % SOURCES -> n / SOURCES`, so that what is there tells which edges are.
const SOURCES: u64 = 64;
/// What the test binary does as a child: `LAYOUT PATH FIRST`.
const CHILD: &str = "EVEREDGE_DISK_CHILD";

fn layouts() -> Vec<Layout> {
    let names = std::env::var("EVEREDGE_DISK_LAYOUTS").unwrap_or_else(|_| "adjacency,pma".into());
    let layout = |name: &str| match name {
        "adjacency" => Layout::Adjacency,
        "pma" => Layout::Pma,
        _ => panic!("EVEREDGE_DISK_LAYOUTS names no layout `{name}`"),
    };
    names.split(',').map(layout).collect()
}

fn options(layout: Layout) -> GraphOptions {
    GraphOptions { layout, medium: MediumKind::File, log_bytes: 1 << 20, ..GraphOptions::default() }
}

fn edges(first: u64, count: u64) -> impl ExactSizeIterator<Item = (u32, u32)> {
    (first as u32..(first + count) as u32)
        .map(|number| (number % SOURCES as u32, number / SOURCES as u32))
}

fn open(path: &Path, layout: Layout) -> Result<LiveGraph, String> {
    let volume = Volume::open(path, options(layout).volume(false), Access::Write);
    volume.and_then(|volume| LiveGraph::open(volume, layout)).map_err(|e| e.to_string())
}

/// Returns how many edges are there, which must be the first ones, each once.
fn whole_prefix(graph: &LiveGraph) -> Result<u64, String> {
    let view = graph.snapshot().map_err(|e| e.to_string())?;
    let mut numbers: Vec<u64> = (0..view.vertex_bound().min(SOURCES as u32))
        .flat_map(|u| view.out_neighbors(u).into_iter().map(move |v| (u, v)))
        .map(|(u, v)| u64::from(v) * SOURCES + u64::from(u))
        .collect();
    numbers.sort_unstable();
    let gap = numbers.iter().zip(0..).find(|(number, index)| **number != *index);
    match gap {
        None => Ok(numbers.len() as u64),
        Some((number, index)) => {
            Err(format!("edge {number} is where edge {index} should be, of {}", numbers.len()))
        }
    }
}

/// Opens a graph anew and checks that it has all acknowledged edges and that `verify` agrees.
fn check(path: &Path, layout: Layout, acknowledged: u64) -> Result<(), String> {
    let graph = open(path, layout)?;
    let found = whole_prefix(&graph)?;
    if found < acknowledged {
        return Err(format!("{found} of {acknowledged} acknowledged edges are there"));
    }
    let verified = graph.verify().map_err(|e| e.to_string())?;
    match verified.problems.is_empty() {
        true => Ok(()),
        false => Err(format!("{} problems: {:?}", verified.problems.len(), verified.problems)),
    }
}

/// The child: opens a graph, acknowledges on its output each batch that it has inserted, and goes on
/// until it is killed or an insertion fails.
#[test]
fn child() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let [layout, path, first] = order.split('\t').collect::<Vec<_>>()[..] else {
        panic!("{CHILD} is LAYOUT, PATH and FIRST")
    };
    let layout = if layout == "pma" { Layout::Pma } else { Layout::Adjacency };
    let graph = open(Path::new(path), layout).expect("a graph");
    let (mut next, mut random) = (first.parse::<u64>().expect("a number"), Random(7));
    let mut out = std::io::stdout().lock();
    // After the name of the test, with which the line begins.
    writeln!(out, "\n! {next}").expect("a parent");
    loop {
        let count = 1 + random.below(200);
        if graph.insert(&edges(next, count).collect::<Vec<_>>(), None).is_err() {
            break;
        }
        next += count;
        writeln!(out, "! {next}").expect("a parent");
        out.flush().expect("a parent");
    }
    std::process::exit(0);
}

/// Starts the child on a graph that has `first` edges. Returns it when it is writing.
fn start(path: &Path, layout: Layout, first: u64) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "real_disk::child", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{layout}\t{}\t{first}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with('!') {
        line.clear();
        let read = output.read_line(&mut line).expect("a pipe");
        assert!(read > 0, "the child ends before it writes: {:?}", child.wait());
    }
    (child, output)
}

/// Notes the last number that the child acknowledged, until it ends.
fn follow(output: BufReader<ChildStdout>, last: &AtomicU64) {
    for line in output.lines().map_while(Result::ok) {
        if let Some(Ok(number)) = line.strip_prefix("! ").map(str::parse) {
            last.store(number, Relaxed);
        }
    }
}

/// Returns the last number that a child acknowledged that has ended.
fn acknowledged(output: BufReader<ChildStdout>, first: u64) -> u64 {
    let last = AtomicU64::new(first);
    follow(output, &last);
    last.into_inner()
}

fn create(path: &Path, layout: Layout) -> LiveGraph {
    create_with(path, &options(layout))
}

fn create_with(path: &Path, options: &GraphOptions) -> LiveGraph {
    let volume = Volume::create(path, options.volume(false)).expect("a volume");
    LiveGraph::create(volume, options).expect("a graph")
}

/// One round: write-back fails, space returns, the graph is opened, written and killed, and what is
/// in the page cache only is dropped.
fn write_back_fails(layout: Layout, round: u32) -> Result<bool, String> {
    let mut disk = Disk::new(48).expect("as before");
    let path = disk.path().join("graph");
    let mut random = Random(u64::from(round) << 8);
    // Every other round takes edge by edge, each safe on return.
    let durability = [Durability::Batch, Durability::Edge][round as usize % 2];
    let graph = create_with(&path, &GraphOptions { durability, ..options(layout) });
    let mut next = 0;
    let mut insert = |count: u64| {
        if durability == Durability::Batch {
            graph.insert(&edges(next, count).collect::<Vec<_>>(), None)?;
            next += count;
            return Ok(());
        }
        edges(next, count).try_for_each(|edge| {
            graph.insert_edge(edge, None)?;
            next += 1;
            Ok::<_, Error>(())
        })
    };
    for _ in 0..1 + random.below(4) {
        insert(1 + random.below(150)).expect("room");
    }
    disk.fill().expect("a full disk");
    // Places of the ring that the device has not had yet; it may take some.
    let has_failed = (0..64).any(|_| insert(1000).is_err());
    // A process that is killed, as far as the medium knows.
    drop(graph);
    disk.make_space().expect("space");

    let graph = open(&path, layout)?;
    let found = whole_prefix(&graph)?;
    if found < next {
        return Err(format!("{found} of {next} acknowledged edges are there"));
    }
    drop(graph);
    let (mut child, output) = start(&path, layout, found);
    std::thread::sleep(Duration::from_millis(20 + random.below(60)));
    child.kill().expect("a child");
    child.wait().expect("a child");
    let acknowledged = acknowledged(output, found);
    disk.remount().map_err(|e| e.to_string())?;
    check(&path, layout, acknowledged)?;
    Ok(has_failed)
}

/// Write-back of lists fails while the log is empty: in a compaction, which the next handle makes once
/// more, in the same places. Returns whether it failed.
fn compaction_fails(layout: Layout) -> Result<bool, String> {
    const COUNT: u64 = 60_000;
    let mut disk = Disk::new(48).expect("as before");
    let path = disk.path().join("graph");
    let mut graph = create(&path, layout);
    for (first, count) in [(0, COUNT / 2), (COUNT / 2, COUNT / 4), (COUNT / 4 * 3, COUNT / 4)] {
        graph.insert(&edges(first, count).collect::<Vec<_>>(), None).expect("room");
        graph.close().expect("closed");
        graph = open(&path, layout)?;
    }
    disk.fill().expect("a full disk");
    let has_failed = graph.compact().is_err();
    drop(graph);
    disk.make_space().expect("space");

    let graph = open(&path, layout)?;
    assert_eq!(graph.recovery().replayed_updates, 0, "the log is empty");
    graph.compact().map_err(|e| format!("compacted again: {e}"))?;
    drop(graph);
    disk.remount().map_err(|e| e.to_string())?;
    check(&path, layout, COUNT)?;
    Ok(has_failed)
}

/// Write-back fails, while the log is empty, in the part of the file of lists that the next handle stores
/// its lists to. Returns whether it failed.
fn lists_fail(layout: Layout) -> Result<bool, String> {
    const COUNT: u64 = 20_000;
    let mut disk = Disk::new(48).expect("as before");
    let path = disk.path().join("graph");
    let graph = create(&path, layout);
    graph.insert(&edges(0, COUNT).collect::<Vec<_>>(), None).expect("room");
    graph.close().expect("closed");
    disk.fill().expect("a full disk");
    let name = if layout == Layout::Pma { "arrays" } else { "blocks" };
    let has_failed = store_at_end(&path, layout, name)?;
    disk.make_space().expect("space");

    let graph = open(&path, layout)?;
    assert_eq!(graph.recovery().replayed_updates, 0, "the log is empty");
    graph.insert(&edges(COUNT, 3 * COUNT).collect::<Vec<_>>(), None).map_err(|e| e.to_string())?;
    graph.save_all().map_err(|e| format!("saved: {e}"))?;
    drop(graph);
    disk.remount().map_err(|e| e.to_string())?;
    check(&path, layout, 4 * COUNT)?;
    Ok(has_failed)
}

/// Stores something to blocks that a file has no room for on the device, where nobody looks for anything.
/// Returns whether the fence fails, as it should.
fn store_at_end(path: &Path, layout: Layout, name: &str) -> Result<bool, String> {
    let volume = Volume::open(path, options(layout).volume(false), Access::Write);
    let volume = volume.map_err(|e| e.to_string())?;
    let region = volume.open_region(name).map_err(|e| e.to_string())?;
    let end = region.len();
    region.grow(end + (4 << 20)).map_err(|e| e.to_string())?;
    region.store_words(end, &vec![7; 1 << 20]);
    region.flush(Site::Block, end..region.len());
    Ok(region.fence(Site::Block).is_err())
}

/// Write-back of the log fails where a record is that was never whole: nobody looks for it there, and the
/// next handle appends to these pages. Returns whether it failed.
fn torn_record_fails(layout: Layout) -> Result<bool, String> {
    let mut disk = Disk::new(48).expect("as before");
    let path = disk.path().join("graph");
    let graph = create(&path, layout);
    graph.insert(&edges(0, 1000).collect::<Vec<_>>(), None).expect("room");
    drop(graph);
    disk.fill().expect("a full disk");
    // What a large batch has of its words before its writer was killed.
    let has_failed = store_at_end(&path, layout, LOG)?;
    disk.make_space().expect("space");

    let graph = open(&path, layout)?;
    let mut acknowledged = whole_prefix(&graph)?;
    for _ in 0..400 {
        let edges: Vec<_> = edges(acknowledged, 50).collect();
        graph.insert(&edges, None).map_err(|e| format!("inserted again: {e}"))?;
        acknowledged += 50;
    }
    drop(graph);
    disk.remount().map_err(|e| e.to_string())?;
    check(&path, layout, acknowledged)?;
    Ok(has_failed)
}

fn is_possible() -> bool {
    match Disk::new(16) {
        Ok(_) => true,
        Err(why) => {
            println!("not run: a disk of its own needs root and loop devices: {why}");
            false
        }
    }
}

#[test]
fn what_a_failed_write_back_lost_is_written_again() {
    if !is_possible() {
        return;
    }
    let rounds = count("EVEREDGE_DISK_ROUNDS", 3);
    for layout in layouts() {
        let outcomes: Vec<_> = (0..rounds).map(|round| write_back_fails(layout, round)).collect();
        let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        let syncs = outcomes.iter().filter(|outcome| matches!(outcome, Ok(true))).count();
        println!("{layout}: rounds={rounds} failed_syncs={syncs} violations={}", failed.len());
        assert!(failed.is_empty(), "{layout}: {failed:?}");
        assert!(rounds == 0 || syncs > 0, "{layout}: no sync has failed");
    }
}

fn fails_each(
    what: &str,
    layouts: impl IntoIterator<Item = Layout>,
    fails: impl Fn(Layout) -> Result<bool, String>,
) {
    if !is_possible() {
        return;
    }
    for layout in layouts {
        let outcome = fails(layout);
        println!("{layout}: {what}: {outcome:?}");
        assert_eq!(outcome, Ok(true), "{layout}: {what}");
    }
}

#[test]
fn what_a_failed_compaction_lost_is_not_believed_to_be_there() {
    // An array of `pma` is compacted into a place that the device had before.
    fails_each("a compaction with an empty log", [Layout::Adjacency], compaction_fails);
}

#[test]
fn what_a_failed_sync_lost_of_lists_is_not_believed_to_be_there() {
    fails_each("lists", layouts(), lists_fail);
}

#[test]
fn what_a_failed_sync_lost_of_a_torn_record_is_not_believed_to_be_there() {
    fails_each("a torn record", layouts(), torn_record_fails);
}

#[test]
fn power_cuts_lose_nothing_acknowledged() {
    if !is_possible() {
        return;
    }
    let cuts = count("EVEREDGE_DISK_CUTS", 4);
    for layout in layouts() {
        let mut disk = Disk::new(256).expect("as before");
        let path = disk.path().join("graph");
        create(&path, layout).close().expect("closed");
        let (mut sum, mut random) = (0, Random(1));
        for cut in 0..cuts {
            let (mut child, output) = start(&path, layout, sum);
            let last = AtomicU64::new(sum);
            // A sync that the cut overtakes may be told that it went well: what counts was
            // acknowledged before.
            let acknowledged = std::thread::scope(|scope| {
                scope.spawn(|| follow(output, &last));
                std::thread::sleep(Duration::from_millis(5 + random.below(80)));
                let acknowledged = last.load(Relaxed);
                disk.cut().expect("a file system that ends");
                std::thread::sleep(Duration::from_millis(50));
                child.kill().expect("a child");
                child.wait().expect("a child");
                acknowledged
            });
            disk.remount().expect("a file system");
            let checked = check(&path, layout, acknowledged);
            checked.unwrap_or_else(|what| panic!("{layout}, power cut {cut}: {what}"));
            let graph = open(&path, layout).expect("a graph");
            sum = whole_prefix(&graph).expect("a prefix");
        }
        println!("{layout}: power cuts={cuts} edges={sum} violations=0");
    }
}
