//! What sealing and kernels on a sealed graph allocate is what a budget counts for them.
//!
//! In a program of its own, for its allocator counts: other tests at the same time would be counted, too.
#![expect(unsafe_code, reason = "an allocator that counts")]

mod changes;
mod exporting;
mod sealing;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use everedge::{
    Chunks, Graph, GraphOptions, Kernel, MediumKind, Parameters, RunOptions, SealOptions, Watch,
};

/// Counts what is allocated, and the most that ever was.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    let now = ALLOCATED.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: the system's allocator does all but the counting.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large blocks move without a copy beside them.
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        add(size);
        // SAFETY: as the caller says.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A test that counts holds it.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns how many bytes `f` allocates at once, at most.
fn peak_of(f: impl FnOnce()) -> u64 {
    let before = ALLOCATED.load(Relaxed);
    PEAK.store(before, Relaxed);
    f();
    (PEAK.load(Relaxed) - before) as u64
}

/// What of the budget is for the program itself.
const PROGRAM_BYTES: u64 = 18 << 20;
/// Of it, what tasks, tables of threads, answers in short and the like may allocate.
const BESIDE_BYTES: u64 = 128 << 10;

/// A graph of 100,000 vertices on a long path, with so many more edges, which lead to hubs.
fn graph(skewed_edges: u32) -> Graph {
    const VERTICES: u32 = 100_000;
    let options =
        GraphOptions { medium: MediumKind::Dram, weighted: true, ..GraphOptions::default() };
    let graph = Graph::create("memory".as_ref(), &options, false).unwrap();
    let mut state = 1_u64;
    let mut random = |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    let skewed = (0..skewed_edges).map(|_| {
        let below = VERTICES >> random(10);
        (random(VERTICES), random(below))
    });
    let edges: Vec<(u32, u32)> = skewed.chain((1..VERTICES).map(|v| (v - 1, v))).collect();
    let weights: Vec<f32> = edges.iter().map(|_| 1.0 / (1 + random(100)) as f32).collect();
    graph.insert(&edges, Some(&weights)).unwrap();
    graph
}

/// A graph of a root, 20,000 vertices that it leads to and that lead back, and 64 hubs that all of these lead to: shares of
/// paths go up from the hubs.
fn hubs() -> Graph {
    const LEAVES: u32 = 20_000;
    const HUBS: u32 = 64;
    let options =
        GraphOptions { medium: MediumKind::Dram, weighted: true, ..GraphOptions::default() };
    let graph = Graph::create("hubs".as_ref(), &options, false).unwrap();
    let leaves = 1..=LEAVES;
    let to_hubs = leaves.clone().flat_map(|v| (0..HUBS).map(move |hub| (v, LEAVES + 1 + hub)));
    let edges: Vec<(u32, u32)> = leaves.flat_map(|v| [(0, v), (v, 0)]).chain(to_hubs).collect();
    graph.insert(&edges, Some(&vec![1.0; edges.len()])).unwrap();
    graph
}

/// Returns what a kernel is run with: what it takes most with, as far as that depends on it.
fn parameters(kernel: Kernel) -> Parameters {
    let mut parameters = Parameters::default();
    match kernel {
        Kernel::Betweenness => parameters.set("source", "0").unwrap(),
        Kernel::PageRank => parameters.set("tolerance", "1e-9").unwrap(),
        Kernel::Hits | Kernel::Eigenvector | Kernel::Katz => {
            parameters.set("tolerance", "0").unwrap();
            parameters.set("iterations", "3").unwrap();
        }
        Kernel::Closeness | Kernel::Harmonic => parameters.set("samples", "600").unwrap(),
        _ => {}
    }
    parameters
}

/// Returns how much a kernel allocates beyond what the view has, with its check and the writing of its answer, and how much
/// of the least budget is for that.
fn taken_and_counted(path: &std::path::Path, kernel: Kernel) -> (u64, u64) {
    let chunks = Chunks::open(path, Some(1 << 30)).unwrap();
    let of_lists = everedge_chunks::least_memory(&chunks.options().form) + PROGRAM_BYTES;
    let counted = chunks.least_memory(kernel) - of_lists;
    let view = chunks.view_for(kernel).unwrap();
    let taken = peak_of(|| {
        let report = view.run(kernel, &RunOptions::from(parameters(kernel))).unwrap();
        report.values.write(&view, &mut std::io::sink()).unwrap();
    });
    (taken, counted)
}

#[test]
fn kernels_allocate_what_the_budget_counts_for_them() {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    let skewed = |edges| move || graph(edges);
    let graphs: [(&str, &dyn Fn() -> Graph); 3] =
        [("skewed", &skewed(400_000)), ("a path", &skewed(0)), ("hubs", &hubs)];
    for (name, graph) in graphs {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sealed");
        {
            let view = graph().snapshot().unwrap();
            Chunks::seal(&view, &path, &SealOptions::default(), &Watch::new()).unwrap();
        }
        for threads in [1, 4] {
            everedge::par::with_threads(threads, || {
                for &kernel in Kernel::ALL {
                    let (taken, counted) = taken_and_counted(&path, kernel);
                    let words = format!(
                        "{kernel} of {name} on {threads}: {taken} taken, {counted} counted"
                    );
                    println!("{words}");
                    if taken > counted + BESIDE_BYTES {
                        wrong.push(words);
                    }
                }
            })
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
