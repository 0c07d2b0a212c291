//! Every call of the medium fails in turn.

use everedge_storage::medium::MediumKind;

use super::subject::shapes;
use super::{PMEM, exploration};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn every_failing_call_leaves_a_prefix() {
    let mut call_count = 0;
    let failures = [(EIO, false), (EIO, true), (ENOSPC, false), (ENOSPC, true)];
    for (turn, (errno, forever)) in failures.into_iter().enumerate() {
        for kind in [PMEM, MediumKind::File] {
            for live in shapes(kind, false).iter().skip(turn % 3).step_by(5) {
                call_count +=
                    exploration(live, None, 0).check_failing_calls(turn as u64, errno, forever);
            }
        }
    }
    println!("failing calls={call_count} violations=0");
}
