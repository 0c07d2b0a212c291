//! Reads that fail, flipped bytes and cut files of a sealed graph and its changes: an error that names the file, or the right answer.
//!
//! `EVEREDGE_DAMAGE_STRIDE` sets every how many bytes one is flipped, at most [`FLIPS_AT_LENGTH`] of a file.

use std::fs;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use everedge::{
    Chunks, Error, Graph, GraphOptions, IdKind, Kernel, Parameters, SealOptions, StorageError,
    View, Watch,
};
use everedge_medium::{MediumKind, Recorder, Volume};

use super::{EIO, MEMORY, draw, live_of, play};
use crate::explorer::text;
use crate::model::{Random, Update};

/// The flips of a file: each change, and a long run.
const FLIPS: u64 = 10;
const FLIPS_AT_LENGTH: u64 = 4000;

/// Lists in chunks of each size, and in pieces.
fn all_levels() -> SealOptions {
    SealOptions { list_bytes_max: [60, 120, 180, 240], ..SealOptions::default() }
}

fn options() -> GraphOptions {
    GraphOptions { ids: IdKind::Text, ..GraphOptions::default() }
}

/// Returns a graph with lists in chunks of each size and in pieces.
fn graph() -> Graph {
    let degrees = [2, 7, 40, 50, 100, 110, 160, 220, 400, 1];
    let list = |(u, degree)| (0..degree).map(move |i| Update::Insert(u, i * 3 % 401, 1.0));
    live_of(&options(), &(0..).zip(degrees).flat_map(list).collect::<Vec<_>>()).0
}

/// Kernels that read both directions, each list, and the names of all vertices.
const KERNELS: [Kernel; 2] = [Kernel::PageRank, Kernel::Bfs];

fn answer(view: &View, kernel: Kernel) -> Result<Vec<u8>, Error> {
    let mut parameters = Parameters::default();
    if matches!(kernel, Kernel::Hits | Kernel::Eigenvector) {
        // They may not converge.
        (parameters.tolerance, parameters.iterations) = (Some(0.0), Some(3));
    }
    let report = view.run(kernel, &parameters.into())?;
    let mut lines = Vec::new();
    match report.values.write(view, &mut lines) {
        Ok(()) => Ok(lines),
        Err(error) => {
            let inner = error.into_inner().expect("memory does not fail");
            Err(*inner.downcast::<Error>().expect("an error of a read"))
        }
    }
}

fn answers(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let chunks = Chunks::open(path, Some(MEMORY))?;
    KERNELS.into_iter().map(|kernel| answer(&chunks.view_for(kernel)?, kernel)).collect()
}

/// Seals a graph with lists of all lengths, and changes it.
fn changed(path: &Path) {
    let view = graph().snapshot().expect("a view");
    Chunks::seal(&view, path, &all_levels(), &Watch::new()).expect("sealed");
    let changer = Chunks::change(path, false).expect("changes");
    let mut random = Random(3);
    for _ in 0..20 {
        play(&changer, &draw(&mut random)).expect("changed");
    }
    // Vertices that the sealed graph has not.
    let new: Vec<Update> = (0..200).map(|i| Update::Insert(i % 7, 500 + i, 1.0)).collect();
    play(&changer, &new).expect("changed");
    changer.close().expect("closed");
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in path.read_dir().expect("a directory").flatten().map(|entry| entry.path()) {
        match entry.is_dir() {
            true => files.extend(self::files(&entry)),
            false => files.push(entry),
        }
    }
    files.retain(|file| !file.ends_with("lock") && !file.ends_with("readers"));
    files.sort();
    files
}

/// Looks at a graph of which `file` is damaged. Returns whether that is found.
fn look(path: &Path, file: &Path, expected: &[Vec<u8>], place: &str) -> bool {
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    let found = catch_unwind(AssertUnwindSafe(|| answers(path)));
    let found = found.unwrap_or_else(|panic| panic!("{place}: a panic: {}", text(&*panic)));
    let verified = catch_unwind(AssertUnwindSafe(|| Chunks::verify(path)));
    let verified = verified.unwrap_or_else(|panic| panic!("{place}: a panic: {}", text(&*panic)));
    let is_reported = match &verified {
        Ok(verified) => !verified.ok,
        Err(_) => true,
    };
    match found {
        Ok(found) => assert!(found == expected, "{place}: a wrong answer"),
        Err(error) => {
            let what = error.to_string();
            let names = what.contains(&name) || what.contains("changes");
            let is_placed = match error {
                Error::Storage(StorageError::Corruption { .. }) => what.contains("at offset"),
                _ => true,
            };
            assert!(names && is_placed, "{place}: {what}");
            assert!(is_reported, "{place}: `verify` finds nothing, and a run {what}");
        }
    }
    is_reported
}

/// Returns where a file is damaged: at both ends, and evenly between.
fn places(len: u64) -> Vec<u64> {
    let stride = std::env::var("EVEREDGE_DAMAGE_STRIDE").ok();
    let stride = stride.map(|text| text.parse::<u64>().expect("a number").max(1));
    let most = if stride.is_some() { FLIPS_AT_LENGTH } else { FLIPS };
    let step = (len / most).max(stride.unwrap_or(1));
    // An odd step comes by each place of a word and of a page.
    let mut places: Vec<u64> = (0..len).step_by(step as usize | 1).collect();
    places.extend(len.checked_sub(1));
    places.dedup();
    places
}

#[test]
fn flipped_bytes_are_an_error_or_the_right_answer() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    changed(&path);
    let expected = answers(&path).expect("whole");
    let (mut flipped, mut found) = (0, 0);
    for file in files(&path) {
        let bytes = fs::read(&file).expect("bytes");
        let open = fs::OpenOptions::new().write(true).open(&file).expect("a file");
        let mut found_here = 0;
        let places = places(bytes.len() as u64);
        for &at in &places {
            let bit = 1 << (at % 8);
            open.write_all_at(&[bytes[at as usize] ^ bit], at).expect("written");
            let place = format!("{}, byte {at}, bit {bit}", file.display());
            let is_found = look(&path, &file, &expected, &place);
            // Each byte of the sealed files is under a checksum; of the changes, room that is not used yet is not.
            let is_sealed = file.parent() == Some(&path) && !file.ends_with("names");
            assert!(is_found || !is_sealed, "{place}: nobody finds it");
            found_here += u64::from(is_found);
            open.write_all_at(&bytes[at as usize..=at as usize], at).expect("written");
        }
        flipped += places.len() as u64;
        found += found_here;
    }
    assert!(answers(&path).expect("whole again") == expected);
    println!("flipped={flipped} found={found} wrong=0 panics=0");
}

#[test]
fn cut_and_missing_files_are_an_error_or_the_right_answer() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    changed(&path);
    let expected = answers(&path).expect("whole");
    let mut cuts = 0;
    for file in files(&path) {
        let bytes = fs::read(&file).expect("bytes");
        let len = bytes.len();
        let is_sealed = file.parent() == Some(&path) && !file.ends_with("names");
        let mut lengths =
            vec![0, 1, len / 3, len / 2 + 1, len.saturating_sub(4096), len.saturating_sub(1)];
        lengths.retain(|&cut| cut < len);
        lengths.dedup();
        for cut in lengths {
            fs::write(&file, &bytes[..cut]).expect("written");
            let place = format!("{} cut at {cut} of {len}", file.display());
            let is_found = look(&path, &file, &expected, &place);
            assert!(is_found || !is_sealed, "{place}: nobody finds it");
            cuts += 1;
        }
        // Too long is as wrong.
        fs::write(&file, [&bytes[..], &[0; 4096]].concat()).expect("written");
        look(&path, &file, &expected, &format!("{} with 4096 zeros more", file.display()));
        fs::remove_file(&file).expect("removed");
        let place = format!("{} is gone", file.display());
        // Without its manifest a directory of changes holds none, if it is marked as begun only.
        assert!(look(&path, &file, &expected, &place), "{place}: nobody finds it");
        fs::write(&file, &bytes).expect("written");
    }
    assert!(answers(&path).expect("whole again") == expected);
    println!("cuts={cuts} wrong=0 panics=0");
}

/// Each read of a run fails once: the run's error says so, and names the file; never a wrong answer.
#[test]
fn a_read_that_fails_ends_the_run_with_its_file() {
    let view = graph().snapshot().expect("a view");
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    Chunks::seal_in(&volume, &view, &all_levels(), &Watch::new()).expect("sealed");
    // What is read first is a sync of the names, which poisons a handle that writes.
    let open = || {
        let volume = recorder.open_again(&volume).expect("opened again");
        Chunks::open_in(volume, None, Some(MEMORY)).expect("sealed")
    };
    let mut failed = 0;
    for &kernel in Kernel::ALL {
        let expected = answer(&open().view_for(kernel).expect("a view"), kernel).expect("read");
        for n in 0.. {
            // Each look at a graph reads it anew.
            let chunks = open();
            recorder.fail_nth(n, EIO, false);
            let outcome = chunks.view_for(kernel).and_then(|view| answer(&view, kernel));
            let has_failed = recorder.has_failed();
            recorder.stop_failing();
            match outcome {
                // What was read ahead and failed may be read again when it is wanted.
                Ok(found) => {
                    assert!(found == expected, "{kernel}: a wrong answer, read {n} failed")
                }
                Err(error) => {
                    let what = error.to_string();
                    assert!(has_failed, "{kernel}: {what}");
                    let is_io = matches!(error, Error::Storage(StorageError::Io { .. }));
                    assert!(is_io && what.contains("recorded/"), "{kernel}, read {n}: {what}");
                    failed += 1;
                }
            }
            if !has_failed {
                break;
            }
        }
    }
    println!("failed reads={failed} wrong=0");
    assert!(failed > 100, "{failed} reads failed");
}
