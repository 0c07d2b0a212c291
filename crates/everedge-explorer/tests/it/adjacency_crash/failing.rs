//! Every call of the medium fails in turn.

use super::subject::{Live, shapes};
use super::{PMEM, exploration};
use crate::explorer::{IMAGES_DEFAULT, images_max};
use everedge_medium::MediumKind;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// One shape of so many is run for each failure, another for each; of fewer where more images are asked for.
const SHAPE_SHARE: usize = 37;
const SHAPE_SHARE_AT_LENGTH: usize = 2;

#[test]
fn every_failing_call_leaves_a_prefix() {
    check_calls_that_fail(EIO);
}

#[test]
fn every_call_without_room_leaves_a_prefix() {
    check_calls_that_fail(ENOSPC);
}

fn is_at_length() -> bool {
    images_max() > IMAGES_DEFAULT
}

fn check_calls_that_fail(errno: i32) {
    let share = if is_at_length() { SHAPE_SHARE_AT_LENGTH } else { SHAPE_SHARE };
    let (mut call_count, mut turn) = (0, errno as usize);
    for forever in [false, true] {
        for kind in [PMEM, MediumKind::File] {
            // Naive compaction takes space in which archiving then has to grow the file: if that
            // fails for another reason than a full medium, nothing is shown any more.
            let naive = shapes(kind, false).into_iter().map(Live::naive);
            let naive = naive.filter(|_| errno == ENOSPC);
            let pma = shapes(kind, false).into_iter().map(Live::pma);
            let all = shapes(kind, false).into_iter().chain(pma).chain(naive);
            for live in all.skip(turn % share).step_by(share) {
                println!("{} with error {errno}, for ever: {forever}", live.name());
                call_count +=
                    exploration(&live, None, 0).check_failing_calls(turn as u64, errno, forever);
            }
            turn += 3;
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
        call_count += exploration(&live, None, 0).check_failing_calls(turn as u64, errno, forever);
    }
    println!("failing calls={call_count} violations=0");
}
