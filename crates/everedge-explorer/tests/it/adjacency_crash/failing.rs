//! Every call of the medium fails in turn.

use super::subject::{Live, shapes};
use super::{PMEM, exploration};
use everedge_medium::MediumKind;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn every_failing_call_leaves_a_prefix() {
    let mut call_count = 0;
    let failures = [(EIO, false), (EIO, true), (ENOSPC, false), (ENOSPC, true)];
    for (turn, (errno, forever)) in failures.into_iter().enumerate() {
        for kind in [PMEM, MediumKind::File] {
            // Naive compaction takes space in which archiving then has to grow the file: if that
            // fails for another reason than a full medium, nothing is shown any more.
            let naive = shapes(kind, false).into_iter().map(Live::naive);
            let naive = naive.filter(|_| errno == ENOSPC);
            let pma = shapes(kind, false).into_iter().map(Live::pma);
            let all = shapes(kind, false).into_iter().chain(pma).chain(naive);
            for live in all.skip(turn % 3).step_by(5) {
                println!("{} with error {errno}, for ever: {forever}", live.name());
                call_count +=
                    exploration(&live, None, 0).check_failing_calls(turn as u64, errno, forever);
            }
        }
    }
    println!("failing calls={call_count} violations=0");
}

/// A shape of each kind for each failure: histories of transactions have many fences.
#[test]
fn every_failing_call_leaves_a_prefix_with_rows_on_the_medium() {
    let mut call_count = 0;
    let failures = [(ENOSPC, true), (ENOSPC, false), (EIO, true)];
    for (turn, (errno, forever)) in failures.into_iter().enumerate() {
        for kind in [PMEM, MediumKind::File] {
            let live = shapes(kind, false).swap_remove(2 + 4 * turn).ablated();
            println!("{} with error {errno}, for ever: {forever}", live.name());
            call_count +=
                exploration(&live, None, 0).check_failing_calls(turn as u64, errno, forever);
        }
    }
    println!("failing calls={call_count} violations=0");
}
