//! Histories of both layouts that go on after a failing call, once the graph was opened again.

use everedge_medium::MediumKind;

use crate::adjacency_crash::subject::{Live, shapes};
use crate::adjacency_crash::{PMEM, exploration};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn go_on(of_layout: fn(Live) -> Live) {
    let failures = [
        (1, PMEM, ENOSPC),
        (2, PMEM, ENOSPC),
        (6, MediumKind::File, EIO),
        (11, MediumKind::File, ENOSPC),
    ];
    for (number, kind, errno) in failures {
        let live = of_layout(shapes(kind, false).swap_remove(number));
        let report = exploration(&live, None, 0).go_on_after_failing_calls(0, errno);
        let report = report.unwrap_or_else(|failure| panic!("error {errno}: {failure}"));
        assert!(report.images > 0, "{}: no call failed", live.name());
        println!("{} goes on after error {errno}: {report:?} violations=0", live.name());
    }
}

#[test]
fn adjacency_goes_on_after_every_failing_call() {
    go_on(|live| live);
}

#[test]
fn pma_goes_on_after_every_failing_call() {
    go_on(Live::pma);
}
