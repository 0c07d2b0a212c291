//! Files that are read and written in pieces: budgets, failing calls, crashes before publication.

use everedge_live::Error;
use everedge_medium::{ImageRule, Mark, MediumKind, ReadBudget, Recorder, Volume, VolumeOptions};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

const RULE: ImageRule = ImageRule { point_images_max: 64, seed: 1 };
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const PIECES: [&[u8]; 3] = [b"the first piece, ", b"the second", b" and the last"];

fn whole() -> Vec<u8> {
    PIECES.concat()
}

/// Writes the pieces as a new file.
fn write(volume: &Volume, name: &str) -> everedge_live::Result<()> {
    let mut file = volume.create_file(name)?;
    for piece in PIECES {
        file.append(piece)?;
    }
    assert_eq!(file.len(), whole().len() as u64);
    file.publish()
}

fn files(path: &Path) -> Vec<String> {
    let entries = path.read_dir().expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect()
}

#[test]
fn what_is_appended_and_published_is_read_in_pieces() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = VolumeOptions::new(MediumKind::File);
    let on_disk = Volume::create(&directory.path().join("graph"), options).expect("a volume");
    for volume in [on_disk, Volume::recorded(MediumKind::File, false).0] {
        write(&volume, "chunks").expect("a file");
        let reader = volume.open_reader("chunks").expect("a file");
        assert_eq!(reader.len(), whole().len() as u64);
        let budget = ReadBudget::unlimited();
        let mut bytes = [0; 10];
        reader.read_at(&budget, 17, &mut bytes).expect("bytes");
        assert_eq!((&bytes[..], budget.read_bytes()), (PIECES[1], 10));
        let end = reader.read_at(&budget, whole().len() as u64 - 4, &mut bytes);
        let Err(Error::Corruption { offset, .. }) = end else { panic!("beyond the end: {end:?}") };
        assert_eq!(offset, whole().len() as u64);
        assert!(reader.read_at(&budget, u64::MAX - 3, &mut bytes).is_err(), "far beyond");
        // Regions are files as well.
        let region = volume.create_region("region", 64).expect("a region");
        region.store(8, b"durable!");
        let reader = volume.open_reader("region").expect("a file");
        reader.read_at(&budget, 7, &mut bytes).expect("bytes");
        assert_eq!(&bytes, b"\0durable!\0");
    }
}

#[test]
fn a_budget_bounds_all_its_readers() {
    let (volume, _recorder) = Volume::recorded(MediumKind::File, false);
    write(&volume, "chunks").expect("a file");
    let reader = volume.open_reader("chunks").expect("a file");
    let (budget, mut bytes) = (ReadBudget::new(25), [0; 10]);
    reader.read_at(&budget, 0, &mut bytes).expect("10 of 25");
    reader.clone().read_at(&budget, 10, &mut bytes).expect("20 of 25");
    let refused = reader.read_at(&budget, 0, &mut bytes);
    let Err(Error::BudgetSpent { needed_bytes, left_bytes, .. }) = refused else {
        panic!("30 of 25: {refused:?}")
    };
    assert_eq!((needed_bytes, left_bytes, budget.read_bytes()), (10, 5, 20));
    reader.read_at(&budget, 0, &mut bytes[..5]).expect("25 of 25");
}

#[test]
fn what_is_not_published_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    let options = VolumeOptions::new(MediumKind::File);
    let volume = Volume::create(&path, options).expect("a volume");
    let before = files(&path);
    let mut file = volume.create_file("chunks").expect("a file");
    file.append(&[1; 100_000]).expect("space");
    assert!(volume.create_file("chunks").is_err(), "one at a time");
    assert!(!volume.contains("chunks").expect("an answer"));
    drop(file);
    assert_eq!(files(&path), before);
    volume.create_file("chunks").expect("free again").publish().expect("an empty file");
    assert_eq!(volume.open_reader("chunks").expect("a file").len(), 0);
}

/// It has no name, its room is free when nobody reads it, and nothing of it is synced.
#[test]
fn scratch_is_read_back_and_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    let options = VolumeOptions::new(MediumKind::File);
    let on_disk = Volume::create(&path, options).expect("a volume");
    let before = files(&path);
    let (recorded, recorder) = Volume::recorded(MediumKind::File, false);
    for volume in [on_disk, recorded] {
        let mut file = volume.create_file("scratch").expect("a file");
        PIECES.iter().try_for_each(|piece| file.append(piece)).expect("space");
        let reader = file.read_back().expect("a reader");
        assert_eq!(reader.len(), whole().len() as u64);
        assert!(!volume.contains("scratch").expect("an answer"));
        let mut bytes = vec![0; whole().len()];
        reader.clone().read_at(&ReadBudget::unlimited(), 0, &mut bytes).expect("bytes");
        assert_eq!(bytes, whole());
        let end = reader.read_at(&ReadBudget::unlimited(), 1, &mut bytes);
        assert!(matches!(end, Err(Error::Corruption { .. })), "{end:?}");
        drop(reader);
        volume.create_file("scratch").expect("free again");
    }
    assert_eq!(files(&path), before);
    assert_eq!(recorder.event_count(), 0);
}

/// Returns what crashes leave of the file, each with the operations acknowledged by then.
fn outcomes(recorder: &Recorder) -> BTreeSet<(u64, Option<Vec<u8>>)> {
    let mut outcomes = BTreeSet::new();
    recorder.images(RULE, |image| {
        let (volume, _recorder) = Volume::from_image(image).expect("a volume");
        outcomes.insert((image.acknowledged(), volume.read("chunks", 1 << 20).ok()));
        ControlFlow::Continue(())
    });
    outcomes
}

#[test]
fn a_crash_shows_no_part_of_a_file() {
    let (volume, recorder) = Volume::recorded(MediumKind::File, false);
    write(&volume, "chunks").expect("a file");
    recorder.mark(Mark::Acknowledged(1));
    let mut file = volume.create_file("chunks").expect("a file");
    file.append(b"new").expect("space");
    // A crash may come here as well.
    recorder.mark(Mark::Begin(2));
    drop(volume.create_region("other", 64).expect("a region"));
    file.publish().expect("published");
    recorder.mark(Mark::Acknowledged(2));
    let (old, new) = (Some(whole()), Some(b"new".to_vec()));
    let found = outcomes(&recorder);
    let expected = [(0, None), (1, old), (2, new.clone())];
    let possible = [expected.to_vec(), vec![(1, new), (0, Some(whole()))]].concat();
    assert!(found.is_superset(&expected.into()), "{found:?}");
    assert!(found.iter().all(|outcome| possible.contains(outcome)), "{found:?}");
}

#[test]
fn every_failing_call_leaves_the_old_file() {
    for errno in [EIO, ENOSPC] {
        for n in 0.. {
            let (volume, recorder) = Volume::recorded(MediumKind::File, false);
            write(&volume, "chunks").expect("a file");
            recorder.mark(Mark::Acknowledged(1));
            recorder.fail_nth(n, errno, false);
            let mut outcome = volume.create_file("chunks").and_then(|mut file| {
                file.append(b"new")?;
                file.publish()
            });
            let has_failed = recorder.has_failed();
            if has_failed {
                outcome.expect_err("a call has failed");
                let content = volume.read("chunks", 1 << 20).expect("the old file");
                assert_eq!(content, whole(), "call {n}");
                recorder.stop_failing();
                let volume = recorder.open_again(&volume).expect("another handle");
                outcome = write(&volume, "chunks");
            }
            outcome.expect("no call fails");
            if !has_failed {
                assert!(n >= 4, "{n} calls");
                break;
            }
        }
    }
}

#[test]
fn a_read_can_fail() {
    let (volume, recorder) = Volume::recorded(MediumKind::File, false);
    write(&volume, "chunks").expect("a file");
    let reader = volume.open_reader("chunks").expect("a file");
    let (budget, mut bytes) = (ReadBudget::new(4), [0; 4]);
    recorder.fail_nth(0, EIO, false);
    assert!(matches!(reader.read_at(&budget, 0, &mut bytes), Err(Error::Io { .. })));
    reader.read_at(&budget, 0, &mut bytes).expect("the next one");
    assert_eq!(&bytes, b"the ");
    assert!(volume.check_health().is_ok(), "a failed read loses nothing");
}
