//! Every call of the medium fails in turn.

use super::subject::{Live, shapes};
use super::{PMEM, exploration};
use crate::explorer::is_at_length;
use everedge_live::Durability;
use everedge_medium::MediumKind;

const FILE: MediumKind = MediumKind::File;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// At length one shape of so many is run for each failure, another for each.
const SHAPE_SHARE: usize = 2;
/// What is safe on return is looked at more closely than what is not.
const DURABILITIES: [Durability; 4] =
    [Durability::Batch, Durability::Edge, Durability::None, Durability::Batch];

#[test]
fn every_failing_call_leaves_a_prefix() {
    check_calls_that_fail(EIO);
}

#[test]
fn every_call_without_room_leaves_a_prefix() {
    check_calls_that_fail(ENOSPC);
}

fn check_calls_that_fail(errno: i32) {
    let mut call_count = 0;
    let mut check = |live: &Live, seed: u64, forever: bool, is_odd: bool| {
        println!("{} seed {seed} with error {errno}, for ever: {forever}", live.name());
        let exploration = exploration(live, None, 0);
        call_count += exploration.check_failing_calls(seed, (errno, forever), is_odd);
    };
    let failures = [(false, PMEM), (false, FILE), (true, PMEM), (true, FILE)];
    for (turn, (forever, kind)) in failures.into_iter().enumerate() {
        let adjacency = shapes(kind, false);
        let pma = shapes(kind, false).into_iter().map(Live::pma);
        // Naive compaction takes space in which archiving then has to grow the file: if that
        // fails for another reason than a full medium, nothing is shown any more.
        let naive = shapes(kind, false).into_iter().map(Live::naive);
        let naive: Vec<_> = naive.filter(|_| errno == ENOSPC).collect();
        if is_at_length() {
            let blocks = shapes(kind, false).into_iter().map(Live::blocks);
            let all = adjacency.into_iter().chain(pma).chain(blocks).chain(naive);
            // Each medium meets all of them: one half once, the other for ever.
            let first = (errno as usize + turn + turn / 2) % SHAPE_SHARE;
            let some = all.skip(first).step_by(SHAPE_SHARE);
            some.for_each(|live| check(&live, errno as u64 + turn as u64, forever, false));
            continue;
        }
        // Each layout meets each failure and each durability, with other options each time.
        let at = (errno as usize + 5 * turn) % adjacency.len();
        let pma: Vec<_> = pma.collect();
        let (of_adjacency, of_pma) = (DURABILITIES[turn], DURABILITIES[3 - turn]);
        // So does it each half of the calls with each error, and each failure with one error or the other.
        let is_odd = (turn + usize::from(errno == EIO)) % 2 == 1;
        check(&adjacency[at], adjacency[at].seed_of(of_adjacency), forever, is_odd);
        check(&pma[at], pma[at].seed_of(of_pma), forever, !is_odd);
        let blocks = adjacency[at].clone().blocks();
        check(&blocks, blocks.seed_of(of_pma), forever, !is_odd);
        if let Some(naive) = naive.get(at).filter(|_| turn == 0) {
            check(naive, naive.seed_of(Durability::Batch), forever, true);
        }
    }
    println!("failing calls={call_count} violations=0");
}

/// A shape of each kind for each failure: histories of transactions have many fences.
#[test]
fn every_failing_call_leaves_a_prefix_with_rows_on_the_medium() {
    let mut call_count = 0;
    let failures = [(ENOSPC, true), (EIO, true), (ENOSPC, false)];
    let count = if is_at_length() { failures.len() } else { 2 };
    for (turn, (errno, forever)) in failures.into_iter().take(count).enumerate() {
        let kind = [PMEM, MediumKind::File][turn % 2];
        let live = shapes(kind, false).swap_remove(2 + 4 * turn).ablated();
        println!("{} with error {errno}, for ever: {forever}", live.name());
        let exploration = exploration(&live, None, 0);
        call_count += exploration.check_failing_calls(turn as u64, (errno, forever), turn == 0);
    }
    println!("failing calls={call_count} violations=0");
}
