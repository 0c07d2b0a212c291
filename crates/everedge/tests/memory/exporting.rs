//! An export takes memory for its threads and for vertices, however many edges there are.

use everedge::{Format, Watch, par};

use crate::{ALONE, graph, peak_of};

/// What a thread may have of edges and encoded rows.
const THREAD_BYTES: u64 = 60 << 20;
const VERTEX_BYTES: u64 = 16;
const VERTICES: u64 = 100_000;

#[test]
fn an_export_does_not_grow_with_the_edges() {
    let _alone = ALONE.lock();
    let home = tempfile::tempdir().unwrap();
    let peaks = [6_000_000, 12_000_000].map(|edges| {
        let view = graph(edges).snapshot().unwrap();
        [Format::Parquet, Format::Icebug, Format::GraphAr].map(|format| {
            let path = home.path().join(format.name());
            let export = || {
                view.export(&path, Some(format), &Watch::default()).unwrap();
            };
            let peak = par::with_threads(2, || peak_of(export)).unwrap();
            println!("{edges} edges as {format}: {peak} bytes at most");
            peak
        })
    });
    for (few, many) in peaks[0].into_iter().zip(peaks[1]) {
        assert!(many <= 2 * THREAD_BYTES + VERTEX_BYTES * VERTICES, "{many}");
        // Six million edges more take 48 MB in 8 bytes each. Which pieces wait for each other is a matter of chance, of up to 31 MB.
        assert!(many < few + (40 << 20), "{few} {many}");
    }
}
