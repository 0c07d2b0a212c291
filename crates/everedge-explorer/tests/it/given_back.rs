//! Free ranges inside of files go back to the medium at a close, and are set aside again before they are used.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use everedge::{GraphOptions, Layout};
use everedge_live::{Space, UNIT_BYTES};
use everedge_medium::{Access, MediumKind, Volume, VolumeOptions};

use crate::live::LiveGraph;

const MEDIA: [MediumKind; 2] = [MediumKind::File, MediumKind::Pmem { emulated: true }];
const LONG: u64 = 4096;

fn taken_bytes(path: &Path) -> u64 {
    path.metadata().expect("a file").blocks() * 512
}

#[test]
fn a_long_free_range_takes_nothing_until_it_is_used_again() {
    for medium in MEDIA {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("g");
        let volume = Volume::create(&path, VolumeOptions::new(medium)).expect("a volume");
        let region = volume.create_region("blocks", 0).expect("room");
        let space = Space::new(region.clone(), 0, Vec::new());
        let [first, free, last] = [300, LONG, 300].map(|n| space.take_units(n, n).expect("room"));
        for units in [&first, &free, &last] {
            let words = vec![7; ((units.end - units.start) * UNIT_BYTES / 4) as usize];
            region.store_words(units.start * UNIT_BYTES, &words);
        }
        space.give_back([free.clone()]);
        let before = taken_bytes(&path.join("blocks"));
        space.shrink().and_then(|()| space.give_ranges_back()).expect("a medium that works");
        let after = taken_bytes(&path.join("blocks"));
        // A page at each end has other units.
        assert!(before - after >= LONG * UNIT_BYTES - 8192, "{medium}: {before}, then {after}");
        assert!(space.room().units < 64, "{medium}: what was given back is not free");

        // In the same handle, and as an opening finds it.
        let opened = || Space::of_used(region.clone(), 0, &mut [first.clone(), last.clone()]);
        for space in [space, opened().expect("sound")] {
            assert!(space.room().longest < LONG / 2, "{medium}: {:?}", space.room());
            let units = space.take_units(LONG / 2, LONG / 2).expect("room");
            assert!(free.start <= units.start && units.end <= free.end, "{medium}: {units:?}");
            let bytes = taken_bytes(&path.join("blocks"));
            assert!(bytes >= after + LONG / 2 * UNIT_BYTES - 8192, "{medium}: set aside");
            space.reserve(LONG / 4, 1).expect("room");
            assert!(space.room().units >= LONG / 4, "{medium}");
            space.give_back([units]);
            space.shrink().and_then(|()| space.give_ranges_back()).expect("a medium that works");
            let bytes = taken_bytes(&path.join("blocks"));
            // The file system may need a block to say where the rest of the file lies.
            assert!(bytes <= after + 4096, "{medium}: {after}, then {bytes}");
        }
        let kept = |units: &std::ops::Range<u64>| {
            region.words(units.start * UNIT_BYTES, 1)[0].load(std::sync::atomic::Ordering::Relaxed)
        };
        assert_eq!([kept(&first), kept(&last)], [7, 7], "{medium}");
    }
}

#[test]
fn a_graph_of_which_most_was_deleted_grows_again_into_what_it_gave_back() {
    for (layout, medium) in Layout::ALL.into_iter().flat_map(|l| MEDIA.map(|m| (l, m))) {
        let place = format!("{layout:?} on {medium}");
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("g");
        let options = GraphOptions { layout, medium, ..GraphOptions::default() };
        let of_medium = VolumeOptions::new(medium);
        let volume = Volume::create(&path, of_medium).expect("a volume");
        let edges: Vec<(u32, u32)> =
            (0..400_000u32).map(|i| (i % 5000, i.wrapping_mul(2_654_435_761) % 5000)).collect();
        let graph = LiveGraph::create(volume, &options).expect("a graph");
        graph.insert(&edges, None).expect("room");
        graph.close().expect("a medium that works");
        let open = || {
            let volume = Volume::open(&path, of_medium, Access::Write).expect("the graph");
            LiveGraph::open(volume, layout).expect("the graph")
        };
        let graph = open();
        for edges in edges[1000..].chunks(10_000) {
            graph.delete(edges.iter().copied()).expect("deletions");
        }
        graph.compact().expect("room");
        graph.close().expect("a medium that works");
        let graph = open();
        graph.insert(&edges[1000..], None).expect("room");
        assert_eq!(graph.snapshot().expect("a view").edge_count(), edges.len() as u64, "{place}");
        graph.close().expect("a medium that works");
        let report = open().verify().expect("a report");
        assert!(report.problems.is_empty(), "{place}: {:?}", report.problems);
    }
}
