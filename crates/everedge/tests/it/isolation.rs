//! Transactions and tasks of many threads are isolated from each other: their recorded histories are checked.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use everedge::{
    Batch, Error, Graph, GraphOptions, Layout, MediumKind, Transaction, VertexId, View,
};
use everedge_core::SplitMix64;

use crate::history::{Kind, Record, check};

/// Registers: vertices, each with one edge, to its version.
const KEYS: u32 = 8;
const WRITERS: u32 = 4;
const READERS: u32 = 4;
/// A transaction changes so many registers at most.
const CHANGED_MAX: u32 = 3;
/// Transactions that are recorded of each layout, half of them of writers, unless the environment says how many.
const TRANSACTIONS: u32 = 34_000;
/// For each hundred of them it may take so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is wrong with those who use the graph.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    /// They commit without a look at what others did.
    CommitsUnchecked,
    /// They read a view from before.
    ReadsOld,
    /// They commit the first half of what they change before the rest.
    CommitsHalf,
}

fn graph(layout: Layout) -> Graph {
    let options = GraphOptions { layout, medium: MediumKind::Dram, ..GraphOptions::default() };
    Graph::create("isolated".as_ref(), &options, false).unwrap()
}

/// Returns the version of each register, which has one.
fn versions(view: &View) -> Result<Vec<VertexId>, String> {
    let version = |key: u32| match view.out_neighbors(key)[..] {
        [version] => Ok(version),
        ref found => Err(format!("register {key} has the versions {found:?}")),
    };
    (0..KEYS).map(version).collect()
}

/// A transaction that moves some registers on, and looks at one more.
fn write(
    graph: &Graph,
    fresh: &AtomicU32,
    random: &mut SplitMix64,
    start: Instant,
    defect: Option<Defect>,
) -> Result<Record, String> {
    let begun = start.elapsed();
    let mut transaction = graph.transaction().unwrap();
    let seen = versions(transaction.view())?;
    let first = random.below(KEYS.into()) as u32;
    let count = 1 + random.below(CHANGED_MAX.into()) as u32;
    let reads: Vec<_> = (first..=first + count).map(|key| key % KEYS).collect();
    let reads: Vec<_> = reads.into_iter().map(|key| (key, seen[key as usize])).collect();
    let mut writes = Vec::new();
    for (index, &(key, before)) in reads.iter().enumerate() {
        assert!(transaction.has_edge(key, before));
        if index < count as usize {
            let version = fresh.fetch_add(1, Relaxed);
            move_on(&mut transaction, key, before, version);
            writes.push((key, before, version));
        }
    }
    let is_committed = match defect {
        Some(Defect::CommitsUnchecked) => {
            graph.apply(&batch(&writes)).unwrap();
            true
        }
        Some(Defect::CommitsHalf) => {
            let (half, rest) = writes.split_at(writes.len() / 2);
            graph.apply(&batch(half)).unwrap();
            thread::yield_now();
            graph.apply(&batch(rest)).unwrap();
            true
        }
        _ => match transaction.commit() {
            Ok(changes) => {
                assert_eq!(changes.inserted, u64::from(count));
                true
            }
            Err(Error::Conflict { .. }) => false,
            Err(error) => panic!("{error}"),
        },
    };
    let kind = if is_committed { Kind::Committed } else { Kind::Refused };
    Ok(Record { kind, begun, ended: start.elapsed(), reads, writes })
}

fn move_on(transaction: &mut Transaction<&Graph>, key: u32, before: VertexId, version: VertexId) {
    assert!(transaction.delete(key, before).unwrap());
    assert!(!transaction.has_edge(key, before));
    assert!(transaction.insert(key, version, None).unwrap());
    assert!(transaction.has_edge(key, version));
}

fn batch(writes: &[(u32, VertexId, VertexId)]) -> Batch {
    let mut batch = Batch::new(false);
    for &(key, before, version) in writes {
        batch.delete(key, before).unwrap();
        batch.insert(key, version, 0.0).unwrap();
    }
    batch
}

/// Returns the history of so many transactions of writers and readers that do not wait for each other, or what one of
/// them found wrong at once.
fn history(layout: Layout, count: u32, defect: Option<Defect>) -> Result<Vec<Record>, String> {
    let graph = graph(layout);
    let initial: Vec<_> = (0..KEYS).map(|key| (key, KEYS + key)).collect();
    graph.insert(&initial, None).unwrap();
    let old = graph.snapshot().unwrap();
    let (fresh, left) = (AtomicU32::new(2 * KEYS), [count / 2; 2].map(AtomicU32::new));
    let start = Instant::now();
    let take = |side: usize| {
        let is_late = start.elapsed() > PATIENCE * (10 + count / 100);
        assert!(!is_late, "{left:?} of writers and readers are left");
        left[side].fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    };
    let write_all = |seed: u32| {
        let (mut records, mut random) = (Vec::new(), SplitMix64::new(seed.into()));
        while take(0) {
            records.push(write(&graph, &fresh, &mut random, start, defect)?);
        }
        Ok(records)
    };
    let read_all = || {
        let mut records = Vec::new();
        while take(1) {
            let begun = start.elapsed();
            let view = graph.snapshot().unwrap();
            let view = if defect == Some(Defect::ReadsOld) { &old } else { &view };
            let reads = (0..).zip(versions(view)?).collect();
            let ended = start.elapsed();
            records.push(Record { kind: Kind::Committed, begun, ended, reads, writes: Vec::new() });
        }
        Ok(records)
    };
    let mut records = vec![Record {
        kind: Kind::Committed,
        begun: Duration::ZERO,
        ended: Duration::ZERO,
        reads: Vec::new(),
        writes: initial.iter().map(|&(key, version)| (key, 0, version)).collect(),
    }];
    thread::scope(|scope| {
        let writers: Vec<_> =
            (0..WRITERS).map(|seed| scope.spawn(move || write_all(seed))).collect();
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read_all)).collect();
        let threads = writers.into_iter().chain(readers);
        let found: Vec<Result<_, String>> = threads.map(|thread| thread.join().unwrap()).collect();
        found.into_iter().try_for_each(|found| found.map(|found| records.extend(found)))
    })?;
    graph.close().unwrap();
    Ok(records)
}

fn asked() -> u32 {
    std::env::var("EVEREDGE_TRANSACTIONS").map_or(TRANSACTIONS, |count| count.parse().unwrap())
}

#[test]
fn transactions_are_as_if_one_came_after_the_other() {
    for layout in Layout::ALL {
        let start = Instant::now();
        let records = history(layout, asked(), None).unwrap();
        let count = |kind| records.iter().filter(|record| record.kind == kind).count();
        let (committed, refused) = (count(Kind::Committed), count(Kind::Refused));
        println!("{layout}: {committed} committed, {refused} refused, {:?}", start.elapsed());
        assert!(refused > 0, "{layout}: none came between");
        check(&records).unwrap_or_else(|violation| panic!("{layout}: {violation}"));
    }
}

#[test]
fn planted_defects_of_order_are_found() {
    let two_versions = "has the versions";
    for (defect, expected) in [
        (Defect::CommitsUnchecked, ["two transactions have changed", two_versions]),
        (Defect::ReadsOld, ["in a circle"; 2]),
        (Defect::CommitsHalf, [two_versions; 2]),
    ] {
        for layout in Layout::ALL {
            let found = history(layout, 4000, Some(defect)).and_then(|records| check(&records));
            let found = found.unwrap_err();
            let is_expected = expected.iter().any(|expected| found.contains(expected));
            assert!(is_expected, "{layout}: {found}");
        }
    }
}

/// A transaction sees neither half of a batch, nor less than what was acknowledged before it began.
#[test]
fn what_a_transaction_sees_does_not_change_until_it_ends() {
    for layout in Layout::ALL {
        let graph = graph(layout);
        graph.insert(&[(0, 1)], None).unwrap();
        let mut transaction = graph.transaction().unwrap();
        graph.insert(&[(0, 2), (5, 6)], None).unwrap();
        assert!(transaction.has_edge(0, 1) && !transaction.has_edge(0, 2));
        assert!(!transaction.has_edge(5, 6) && !transaction.has_edge(1 << 30, 6));
        assert!(transaction.insert(0, 3, None).unwrap());
        assert!(transaction.has_edge(0, 3) && !graph.snapshot().unwrap().has_edge(0, 3));
        let conflict = transaction.commit().unwrap_err().to_string();
        assert!(conflict.contains("another writer has changed the edge"), "{conflict}");
        assert!(!graph.snapshot().unwrap().has_edge(0, 3));
        // Nobody has touched what this one names.
        let mut transaction = graph.transaction().unwrap();
        assert!(transaction.delete(0, 2).unwrap() && !transaction.delete(0, 9).unwrap());
        graph.insert(&[(7, 8)], None).unwrap();
        let changes = transaction.commit().unwrap();
        assert_eq!((changes.inserted, changes.deleted, changes.ignored_deletions), (0, 1, 1));
        let view = graph.snapshot().unwrap();
        assert!(view.has_edge(7, 8) && !view.has_edge(0, 2));
    }
}

/// Parallel edges, weights and edges without direction conflict as they should, and not otherwise.
#[test]
fn what_conflicts_is_an_edge_as_the_graph_has_it() {
    for layout in Layout::ALL {
        for bits in 0..8 {
            let (directed, simple, weighted) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
            let medium = MediumKind::Dram;
            let given = GraphOptions { layout, medium, ..GraphOptions::default() };
            let options = GraphOptions { directed, simple, weighted, ..given };
            let graph = Graph::create("conflicts".as_ref(), &options, false).unwrap();
            let insert = |edge, weight: f32| {
                graph.insert(&[edge], weighted.then_some(&[weight][..])).unwrap();
            };
            insert((1, 2), 1.0);
            let begin = |edge: (u32, u32)| {
                let mut transaction = graph.transaction().unwrap();
                transaction.insert(edge.0, edge.1, weighted.then_some(5.0)).unwrap();
                transaction
            };
            let conflicts = |transaction: Transaction<&Graph>| match transaction.commit() {
                Ok(_) => false,
                Err(Error::Conflict { .. }) => true,
                Err(error) => panic!("{error}"),
            };
            // The same weight again changes nothing in a simple graph.
            let transaction = begin((1, 2));
            insert((1, 2), 1.0);
            assert_eq!(conflicts(transaction), !simple, "{layout} {bits}");
            let transaction = begin((1, 2));
            insert((1, 2), 3.0);
            assert_eq!(conflicts(transaction), !simple || weighted, "{layout} {bits}");
            let transaction = begin((2, 1));
            insert((1, 2), 4.0);
            let is_same = !directed && (!simple || weighted);
            assert_eq!(conflicts(transaction), is_same, "{layout} {bits}");
        }
    }
}

/// Each query sees the updates that were given before it, all of them and no other.
#[test]
fn queries_see_the_updates_before_them() {
    const STEPS: u32 = 6_000;
    for layout in Layout::ALL {
        let graph = graph(layout);
        let is_ended = AtomicBool::new(false);
        let queries = graph.with_tasks(3, |tasks| {
            let mut random = SplitMix64::new(7);
            let (mut present, mut answers) = (Vec::new(), Vec::new());
            for step in 1..=STEPS {
                let mut batch = Batch::new(false);
                for _ in 0..random.below(3) {
                    if !present.is_empty() && random.below(3) == 0 {
                        let edge: (u32, u32) =
                            present.swap_remove(random.below(present.len() as u64) as usize);
                        batch.delete(edge.0, edge.1).unwrap();
                    } else {
                        let edge = (step % 17, 100 + answers.len() as u32 + step);
                        present.push(edge);
                        batch.insert(edge.0, edge.1, 0.0).unwrap();
                    }
                }
                tasks.update(batch);
                if random.below(2) == 0 {
                    let expected = present.len() as u64;
                    let last = present.last().copied();
                    let later = 102 + answers.len() as u32 + step;
                    answers.push(tasks.query(move |view| {
                        assert_eq!(view.edge_count(), expected);
                        assert!(last.is_none_or(|(u, v)| view.has_edge(u, v)));
                        // The next step inserts there.
                        assert!(!view.has_edge((step + 1) % 17, later));
                    }));
                }
            }
            let count = answers.len();
            answers.into_iter().for_each(|answer| answer.wait().unwrap());
            is_ended.store(true, Relaxed);
            count
        });
        assert!(is_ended.load(Relaxed) && queries > STEPS as usize / 3);
    }
}

#[test]
fn a_task_that_fails_says_so_and_the_others_go_on() {
    let graph = graph(Layout::Blocks);
    graph.with_tasks(1, |tasks| {
        let good = tasks.update(Batch::insertions([(0, 1)].into_iter(), None).unwrap());
        let weighted = Batch::insertions([(0, 2)].into_iter(), Some(&[1.0])).unwrap();
        let (bad, count) = (tasks.update(weighted), tasks.query(|view| view.edge_count()));
        good.wait().unwrap();
        assert!(matches!(bad.wait(), Err(Error::Storage(_))));
        assert_eq!(count.wait().unwrap(), 1);
        let panics = tasks.query(|_| panic!("planted"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| panics.wait())).is_err());
        assert_eq!(tasks.query(View::edge_count).wait().unwrap(), 1);
    });
}

/// Queries that all workers are busy with keep no update waiting.
#[test]
fn updates_go_on_while_queries_wait() {
    let graph = graph(Layout::Blocks);
    let is_over = AtomicBool::new(false);
    graph.with_tasks(1, |tasks| {
        let wait = |view: &View| {
            while !is_over.load(Relaxed) {
                thread::yield_now();
            }
            view.edge_count()
        };
        let queries = [0; 8].map(|_| tasks.query(wait));
        tasks.update(Batch::insertions([(0, 1)].into_iter(), None).unwrap()).wait().unwrap();
        is_over.store(true, Relaxed);
        queries.into_iter().for_each(|query| assert_eq!(query.wait().unwrap(), 0));
    });
}

/// Transfers between accounts, whose balances are weights, leave their sum as it is.
#[test]
fn balances_add_up_for_whoever_looks() {
    const ACCOUNTS: u32 = 4;
    for layout in Layout::ALL {
        let options = GraphOptions {
            layout,
            medium: MediumKind::Dram,
            simple: true,
            weighted: true,
            ..GraphOptions::default()
        };
        let graph = Graph::create("bank".as_ref(), &options, false).unwrap();
        let accounts: Vec<_> = (0..ACCOUNTS).map(|account| (account, ACCOUNTS)).collect();
        graph.insert(&accounts, Some(&[100.0; ACCOUNTS as usize])).unwrap();
        let transfer = |from: u32, to: u32| {
            graph.transact(|transaction| {
                let [left, right] =
                    [from, to].map(|account| transaction.weight(account, ACCOUNTS).unwrap());
                transaction.insert(from, ACCOUNTS, Some(left - 1.0))?;
                assert_eq!(transaction.weight(from, ACCOUNTS), Some(left - 1.0));
                transaction.insert(to, ACCOUNTS, Some(right + 1.0))
            })
        };
        thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || {
                    let mut random = SplitMix64::new(seed);
                    for _ in 0..250 {
                        let from = random.below(ACCOUNTS.into()) as u32;
                        let to =
                            (from + 1 + random.below(u64::from(ACCOUNTS) - 1) as u32) % ACCOUNTS;
                        transfer(from, to).unwrap();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..250 {
                    let view = graph.snapshot().unwrap();
                    let balance = |account| f64::from(view.weight(account, ACCOUNTS).unwrap());
                    assert_eq!((0..ACCOUNTS).map(balance).sum::<f64>(), 400.0, "{layout}");
                }
            });
        });
    }
}

#[test]
fn neighbors_that_were_asked_for_are_still_the_same_at_the_commit() {
    for (layout, directed) in
        Layout::ALL.iter().flat_map(|layout| [(*layout, false), (*layout, true)])
    {
        let medium = MediumKind::Dram;
        let options = GraphOptions { layout, medium, directed, ..GraphOptions::default() };
        let graph = Graph::create("lists".as_ref(), &options, false).unwrap();
        graph.insert(&[(0, 1), (0, 2), (2, 2), (3, 0)], None).unwrap();
        let mut transaction = graph.transaction().unwrap();
        transaction.insert_all(&[(0, 4), (0, 1), (5, 0)], None).unwrap();
        assert!(transaction.delete(0, 2).unwrap());
        let expected = if directed { vec![1, 1, 4] } else { vec![1, 1, 3, 4, 5] };
        assert_eq!(transaction.neighbors(0), expected);
        assert_eq!(transaction.neighbors(2), [2]);
        assert!(transaction.neighbors(9).is_empty());
        graph.insert(&[(7, 8)], None).unwrap();
        transaction.commit().unwrap();
        let view = graph.snapshot().unwrap();
        let mut found = view.out_neighbors(0);
        found.sort_unstable();
        assert_eq!(found, expected, "{layout}");
        for other in [(0, 6), (9, 9)] {
            let mut transaction = graph.transaction().unwrap();
            transaction.neighbors(other.0);
            transaction.insert(1, 1, None).unwrap();
            graph.insert(&[other], None).unwrap();
            assert!(
                matches!(transaction.commit(), Err(Error::Conflict { .. })),
                "{layout} {other:?}"
            );
        }
        // One edge that is wrong keeps all of them out.
        let mut transaction = graph.transaction().unwrap();
        assert!(transaction.insert_all(&[(1, 3), (1, u32::MAX)], None).is_err());
        assert!(!transaction.has_edge(1, 3));
    }
}
