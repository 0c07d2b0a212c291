//! Loops at home: every piece runs once, on a thread of its node.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use everedge_core::Homes;
use everedge_core::par::{self, PerThread, Threads};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Nodes of one processor each.
struct Nodes {
    cpus: Vec<usize>,
    homes: Arc<Homes>,
}

impl Nodes {
    /// Makes `node_count` nodes, which share two processors of this system in turn; `None`, and
    /// there is nothing to see, if it allows fewer.
    fn new(node_count: usize) -> Option<Self> {
        let allowed = affinity();
        let two: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(2).collect();
        if two.len() < 2 {
            println!("skipped: one processor only");
            return None;
        }
        let cpus: Vec<_> = (0..node_count).map(|node| two[node % 2]).collect();
        let homes = Homes::new(cpus.iter().map(|&cpu| vec![cpu]).collect()).unwrap();
        Some(Self { cpus, homes })
    }

    /// Checks that this thread is bound to the processor of `node` and to no other.
    fn check_bound(&self, node: usize) {
        let bound = affinity();
        assert!(bound.is_set(self.cpus[node]) && bound.count() == 1, "node {node}: {bound:?}");
    }

    /// Runs a loop over `homes`, one task each, that checks where it runs.
    fn run(&self, homes: &[usize]) {
        let runs: Vec<_> = homes.iter().map(|_| AtomicUsize::new(0)).collect();
        let tasks: Vec<_> = homes.iter().copied().enumerate().collect();
        let places = par::map_tasks_at_home(
            Some(&self.homes),
            tasks,
            |&(_, home)| home,
            |(place, home)| {
                self.check_bound(home);
                runs[place].fetch_add(1, Relaxed);
                place
            },
        );
        assert!(places.into_iter().eq(0..homes.len()));
        assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1));
    }
}

fn affinity() -> CpuSet {
    sched_getaffinity(None).unwrap()
}

#[test]
fn every_piece_runs_once_and_at_home() {
    for (threads, node_count) in [(1, 2), (2, 2), (3, 2), (5, 2), (1, 5), (2, 5), (3, 4), (5, 5)] {
        let Some(nodes) = Nodes::new(node_count) else { return };
        par::with_threads(threads, || {
            println!("{threads} threads, {node_count} nodes");
            nodes.run(&[]);
            (0..node_count).for_each(|node| nodes.run(&[node]));
            nodes.run(&vec![node_count - 1; 30]);
            nodes.run(&(0..200).map(|i| i * i % node_count).collect::<Vec<_>>());
        })
        .unwrap();
    }
}

#[test]
fn ranges_and_chunks_are_those_of_the_loops_without_homes() {
    let Some(nodes) = Nodes::new(3) else { return };
    let homes = Some(&*nodes.homes);
    par::with_threads(2, || {
        for (bound, grain) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 7), (u32::MAX, 1 << 30)] {
            let home_of = |start: u32| (start / grain % 3) as usize;
            let ranges = par::map_ranges_at_home(homes, bound, grain, home_of, |range| {
                nodes.check_bound(home_of(range.start));
                range
            });
            assert_eq!(ranges, par::map_ranges(bound, grain, |range| range));
        }
        for (len, grain) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 7)] {
            let home_of = |first: usize| first / grain % 3;
            let (mut items, mut expected) = (vec![0; len], vec![0; len]);
            let add = |first: usize, chunk: &mut [usize]| {
                chunk.iter_mut().enumerate().for_each(|(i, item)| *item += first + i);
                (first, chunk.len())
            };
            let found =
                par::map_chunks_mut_at_home(homes, &mut items, grain, home_of, |first, chunk| {
                    nodes.check_bound(home_of(first));
                    add(first, chunk)
                });
            assert_eq!(found, par::map_chunks_mut(&mut expected, grain, add));
            assert_eq!(items, expected);
        }
    })
    .unwrap();
}

#[test]
fn without_homes_the_calling_thread_runs_a_single_piece() {
    let here = std::thread::current().id();
    let run = |_| std::thread::current().id();
    assert_eq!(par::map_ranges_at_home(None, 5, 9, |_| 7, |_| run(())), [here]);
    assert_eq!(par::map_chunks_mut_at_home(None, &mut [0; 5], 9, |_| 7, |_, _| run(())), [here]);
    assert_eq!(par::map_tasks_at_home(None, vec![()], |()| 7, run), [here]);
    assert_eq!(par::map_tasks_at_home(None, vec![1, 2, 3], |_| 7, |task| task), [1, 2, 3]);
}

#[test]
fn a_thread_changes_its_node_only_if_threads_are_too_few() {
    let Some(nodes) = Nodes::new(4) else { return };
    for threads in [1, 2, 3, 4, 6] {
        par::with_threads(threads, || {
            let mut served = PerThread::new(Vec::new);
            par::map_tasks_at_home(
                Some(&nodes.homes),
                (0..400).collect(),
                |task| task % 4,
                |task| served.with(|served| served.push(task % 4)),
            );
            for served in served.iter_mut() {
                served.dedup();
                let mut distinct = served.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(served.len(), distinct.len(), "{threads} threads: {served:?}");
                assert!(served.len() <= 4_usize.div_ceil(threads), "{threads} threads: {served:?}");
            }
        })
        .unwrap();
    }
}

#[test]
fn a_panic_goes_on_and_the_threads_go_on_too() {
    let Some(nodes) = Nodes::new(2) else { return };
    for threads in [1, 2, 3] {
        par::with_threads(threads, || {
            let bad = AssertUnwindSafe(|| {
                par::map_ranges_at_home(
                    Some(&nodes.homes),
                    100,
                    1,
                    |start| start as usize % 2,
                    |range| assert_ne!(range.start, 33),
                )
            });
            assert!(catch_unwind(bad).is_err());
            nodes.run(&[0, 1, 1, 0]);
        })
        .unwrap();
    }
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn a_home_that_is_no_node_is_a_mistake() {
    let homes = Homes::new(vec![vec![], vec![]]).unwrap();
    par::map_ranges_at_home(Some(&homes), 5, 1, |_| 2, |range| range);
}

#[test]
fn loops_without_homes_work_after_it_and_leave_the_caller_unbound() {
    let Some(nodes) = Nodes::new(2) else { return };
    let before = affinity();
    par::with_threads(2, || {
        nodes.run(&[0, 1, 0, 1]);
        let sums = par::map_ranges(1000, 10, |range| range.sum::<u32>());
        assert_eq!(sums.into_iter().sum::<u32>(), 499_500);
        assert_eq!(par::join(|| 1, || 2), (1, 2));
        nodes.run(&[1, 0]);
    })
    .unwrap();
    assert_eq!(affinity(), before);
}

#[test]
fn a_loop_inside_a_loop_runs_to_its_end_and_moves_no_thread() {
    let Some(nodes) = Nodes::new(2) else { return };
    let homes = Some(&*nodes.homes);
    let inner = || par::map_ranges_at_home(homes, 20, 3, |_| 1, |range| range.len());
    for threads in [1, 2, 3] {
        par::with_threads(threads, || {
            let lengths = par::map_ranges(50, 1, |_| inner().iter().sum::<usize>());
            assert_eq!(lengths, [20; 50]);
            let home_of = |start| start as usize % 2;
            let lengths = par::map_ranges_at_home(homes, 50, 1, home_of, |range| {
                let range_count = inner().len();
                nodes.check_bound(home_of(range.start));
                range_count
            });
            assert_eq!(lengths, [7; 50]);
        })
        .unwrap();
    }
}

#[test]
fn loops_of_two_threads_on_the_same_threads_do_not_wait_for_each_other_for_ever() {
    let (Some(nodes), Some(others)) = (Nodes::new(2), Nodes::new(3)) else { return };
    par::with_threads(2, || {
        let threads = Threads::current();
        std::thread::scope(|scope| {
            for nodes in [&nodes, &others] {
                let threads = threads.clone();
                scope.spawn(move || {
                    threads.enter(|| (0..100).for_each(|_| nodes.run(&[0, 1, 0, 0, 1])));
                });
            }
        });
    })
    .unwrap();
}
