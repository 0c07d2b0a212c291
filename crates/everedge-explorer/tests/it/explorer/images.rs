//! The recorder's images of traces so short that all of them can be written down.

use everedge_medium::{ImageRule, Mark, MediumKind, Plant, Recorder, Region, Site, Volume};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const RULE: ImageRule = ImageRule { point_images_max: 4096, seed: 1 };

fn recorded(kind: MediumKind, eadr: bool, len: u64) -> (Volume, Region, Recorder) {
    let (volume, recorder) = Volume::recorded(kind, eadr);
    let region = volume.create_region("log", len).expect("a region");
    (volume, region, recorder)
}

/// Returns what the double words at `offsets` can hold after a crash once the operation 1 has
/// begun; `u64::MAX` beyond the end.
fn outcomes<const N: usize>(recorder: &Recorder, offsets: [u64; N]) -> BTreeSet<[u64; N]> {
    let mut outcomes = BTreeSet::new();
    recorder.images(RULE, |image| {
        if image.begun() == 1 {
            let (volume, _recorder) = Volume::from_image(image).expect("a volume");
            let region = volume.open_region("log").expect("a region");
            outcomes.insert(offsets.map(|offset| match offset < region.len() {
                true => region.load_u64(offset),
                false => u64::MAX,
            }));
        }
        ControlFlow::Continue(())
    });
    outcomes
}

fn store(region: &Region, offset: u64, value: u64) {
    region.store(offset, &value.to_le_bytes());
}

#[test]
fn a_line_keeps_a_prefix_and_lines_are_independent() {
    let (_volume, region, recorder) = recorded(PMEM, false, 128);
    recorder.mark(Mark::Begin(1));
    store(&region, 0, 1);
    store(&region, 64, 2);
    store(&region, 8, 3);
    let expected = [[0, 0, 0], [1, 0, 0], [1, 0, 3], [0, 2, 0], [1, 2, 0], [1, 2, 3]];
    assert_eq!(outcomes(&recorder, [0, 64, 8]), expected.into());
}

#[test]
fn a_fenced_line_stays_and_a_later_store_to_it_may_not() {
    let (_volume, region, recorder) = recorded(PMEM, false, 128);
    store(&region, 0, 1);
    region.flush(Site::Block, 0..8);
    store(&region, 0, 2);
    region.fence(Site::Block).expect("a fence");
    recorder.mark(Mark::Begin(1));
    assert_eq!(outcomes(&recorder, [0]), [[1], [2]].into());
}

#[test]
fn a_fence_takes_what_its_thread_flushed_or_others_drained() {
    for drains in [false, true] {
        let (_volume, region, recorder) = recorded(PMEM, false, 128);
        std::thread::scope(|scope| {
            let flush = || {
                store(&region, 0, 1);
                region.flush(Site::Block, 0..8);
                if drains {
                    region.drain(Site::Block).expect("a drain");
                }
            };
            scope.spawn(flush);
        });
        region.fence(Site::Block).expect("a fence");
        recorder.mark(Mark::Begin(1));
        let expected = if drains { [[1], [1]] } else { [[0], [1]] };
        assert_eq!(outcomes(&recorder, [0]), expected.into(), "drains: {drains}");
    }
}

#[test]
fn with_eadr_the_order_of_stores_is_kept() {
    let (_volume, region, recorder) = recorded(PMEM, true, 128);
    recorder.mark(Mark::Begin(1));
    store(&region, 64, 1);
    store(&region, 0, 2);
    assert_eq!(outcomes(&recorder, [64, 0]), [[1, 0], [1, 2]].into());
}

#[test]
fn a_file_is_torn_by_sectors_and_synced_whole() {
    let (_volume, region, recorder) = recorded(MediumKind::File, false, 1024);
    store(&region, 0, 1);
    store(&region, 512, 2);
    region.flush(Site::Block, 0..8);
    region.fence(Site::Block).expect("a fence");
    recorder.mark(Mark::Begin(1));
    store(&region, 0, 3);
    store(&region, 512, 4);
    store(&region, 64, 5);
    let torn = [[1, 2, 0], [3, 2, 0], [3, 2, 5], [1, 4, 0], [3, 4, 0], [3, 4, 5]];
    assert_eq!(outcomes(&recorder, [0, 512, 64]), torn.into());
}

#[test]
fn a_sector_that_was_never_synced_may_hold_garbage() {
    let (_volume, region, recorder) = recorded(MediumKind::File, false, 512);
    recorder.mark(Mark::Begin(1));
    store(&region, 0, 1);
    let outcomes = outcomes(&recorder, [0]);
    assert!(outcomes.is_superset(&[[0], [1]].into()) && outcomes.len() == 3, "{outcomes:?}");
}

#[test]
fn a_file_grows_before_it_is_written_there() {
    let (_volume, region, recorder) = recorded(PMEM, false, 64);
    recorder.mark(Mark::Begin(1));
    store(&region, 0, 1);
    region.grow(192).expect("space");
    store(&region, 128, 2);
    let absent = u64::MAX;
    let expected = [[0, absent], [1, absent], [0, 0], [1, 0], [0, 2], [1, 2]];
    assert_eq!(outcomes(&recorder, [0, 128]), expected.into());
}

#[test]
fn published_files_are_old_or_new_and_marks_tell_when() {
    let (volume, recorder) = Volume::recorded(MediumKind::File, false);
    volume.publish("name", b"old").expect("published");
    recorder.mark(Mark::Acknowledged(1));
    volume.publish("name", b"new").expect("published");
    recorder.mark(Mark::Acknowledged(2));
    volume.remove("name").expect("removed");
    let mut found = BTreeSet::new();
    recorder.images(RULE, |image| {
        let (volume, _recorder) = Volume::from_image(image).expect("a volume");
        found.insert((image.acknowledged(), volume.read("name", 3).ok()));
        ControlFlow::Continue(())
    });
    let (old, new) = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    let expected = [(0, None), (1, old), (2, new), (2, None)];
    assert_eq!(found, expected.into());
}

#[test]
fn equal_images_have_equal_digests_however_they_came_to_be() {
    let mut digests = Vec::new();
    for order in [[0, 64], [64, 0]] {
        let (_volume, region, recorder) = recorded(PMEM, false, 128);
        for offset in order {
            store(&region, offset, 9);
            store(&region, offset, offset + 1);
            region.flush(Site::Block, offset..offset + 8);
            region.fence(Site::Block).expect("a fence");
        }
        let mut last = None;
        recorder.images(RULE, |image| {
            last = Some(image.digest());
            ControlFlow::Continue(())
        });
        digests.push(last.expect("an image"));
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_planted_checksum_test_lets_everything_pass() {
    let (_volume, region, recorder) = recorded(PMEM, false, 64);
    assert!(!region.matches(Site::Block, 1, 2));
    recorder.plant(Plant::SkipChecksum(Site::Block));
    assert!(region.matches(Site::Block, 1, 2));
    assert!(!region.matches(Site::LogRecord, 1, 2));
}

/// Stores `value` at the beginning and syncs, which fails with an error of the device.
fn lose(region: &Region, recorder: &Recorder, value: u64) {
    const EIO: i32 = 5;
    store(region, 0, value);
    region.flush(Site::Block, 0..8);
    recorder.fail_nth(0, EIO, false);
    region.fence(Site::Block).expect_err("a failed sync");
}

/// Returns a file of one sector that was synced, whose later content a failed sync lost, and the
/// handle that comes after.
fn lost_and_opened_again() -> (Volume, Region, Recorder) {
    let (volume, region, recorder) = recorded(MediumKind::File, false, 512);
    store(&region, 0, 1);
    region.flush(Site::Block, 0..8);
    region.fence(Site::Block).expect("a fence");
    lose(&region, &recorder, 2);
    assert!(region.fence(Site::Block).is_err() && region.grow(1024).is_err(), "poisoned");
    let volume = recorder.open_again(&volume).expect("another handle");
    let region = volume.open_region("log").expect("a region");
    assert_eq!(region.load_u64(0), 2, "the cache still returns what was lost");
    (volume, region, recorder)
}

#[test]
fn what_a_failed_sync_lost_is_read_and_never_written() {
    let (_volume, region, recorder) = lost_and_opened_again();
    region.flush(Site::Block, 0..512);
    region.fence(Site::Block).expect("a fence");
    recorder.mark(Mark::Begin(1));
    assert_eq!(outcomes(&recorder, [0]), [[1], [2]].into());
}

#[test]
fn what_is_stored_again_after_a_failed_sync_is_written() {
    let (_volume, region, recorder) = lost_and_opened_again();
    region.rewrite(Site::LogFound, 0..16).expect("stored again");
    region.fence(Site::LogFound).expect("a fence");
    recorder.mark(Mark::Begin(1));
    assert_eq!(outcomes(&recorder, [0]), [[2]].into());

    let (_volume, region, recorder) = lost_and_opened_again();
    recorder.plant(Plant::DropRewrite(Site::LogFound));
    region.rewrite(Site::LogFound, 0..16).expect("stored again");
    region.fence(Site::LogFound).expect("a fence");
    recorder.mark(Mark::Begin(1));
    assert_eq!(outcomes(&recorder, [0]), [[1], [2]].into(), "a flush alone writes nothing");
}

#[test]
fn a_process_killed_after_a_failed_sync_leaves_what_is_lost_to_be_read() {
    let (_volume, _region, recorder) = lost_and_opened_again();
    let mut last = None;
    recorder.images_of_kills(|image| {
        last = Some(image.clone());
        ControlFlow::Continue(())
    });
    let killed = last.expect("an image");
    for is_stored_again in [false, true] {
        let (volume, recorder) = Volume::from_killed(&killed).expect("a volume");
        let region = volume.open_region("log").expect("a region");
        assert_eq!(region.load_u64(0), 2);
        match is_stored_again {
            true => region.rewrite(Site::LogFound, 0..8).expect("stored again"),
            false => region.flush(Site::LogFound, 0..8),
        }
        region.fence(Site::LogFound).expect("a fence");
        recorder.mark(Mark::Begin(1));
        let expected = if is_stored_again { [[2], [2]] } else { [[1], [2]] };
        assert_eq!(outcomes(&recorder, [0]), expected.into());
    }
}

#[test]
fn a_file_whose_growth_was_not_synced_loses_what_waits() {
    const EIO: i32 = 5;
    let (volume, region, recorder) = recorded(MediumKind::File, false, 512);
    store(&region, 0, 1);
    // The call before the sync allocates.
    recorder.fail_nth(1, EIO, false);
    region.grow(1024).expect_err("a failed sync");
    assert!(matches!(region.fence(Site::Block), Err(everedge_live::Error::Poisoned { .. })));
    let volume = recorder.open_again(&volume).expect("another handle");
    let region = volume.open_region("log").expect("a region");
    region.flush(Site::Block, 0..8);
    region.fence(Site::Block).expect("a fence");
    recorder.mark(Mark::Begin(1));
    assert!(outcomes(&recorder, [0]).contains(&[0]), "a later sync writes nothing of it");
}
