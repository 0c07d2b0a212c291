//! A full disk while a graph is sealed or a sealed one is changed.

use std::path::Path;

use everedge::{Chunks, Error, GraphOptions, IdKind, SealOptions, StorageError, Watch};

use super::sealing::Sealing;
use super::{MEMORY, VERTICES, insertions, live, picture_of, play};
use crate::explorer::is_at_length;
use crate::model::{Random, Update};
use crate::small_disk::{SmallFileSystem, give_back, leave};

const MEDIUM_MIB: u32 = 8;

/// Says that there is no room, how much was needed, and what to do.
pub(super) fn assert_is_full(error: &Error, path: &Path) {
    let what = error.to_string();
    assert!(matches!(error, Error::Storage(StorageError::NoSpace { .. })), "{what}");
    assert!(what.contains("no space for") && what.contains("bytes needed"), "{what}");
    assert!(what.contains(&path.display().to_string()), "{what}");
    assert!(what.contains("free") || what.contains("delete") || what.contains("move"), "{what}");
}

#[test]
fn a_sealing_without_room_leaves_nothing_and_is_done_when_there_is_some() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let (path, filler) = (home.path().join("g"), home.path().join("filler"));
    let elsewhere = tempfile::tempdir().expect("a directory");
    let mut refused = 0;
    for (number, sealing) in Sealing::all(elsewhere.path()).into_iter().enumerate() {
        let (refused_before, mut room) = (refused, 0);
        loop {
            leave(&filler, room);
            let Err(error) = sealing.seal_at(&path) else { break };
            assert_is_full(&error, &path);
            assert!(!path.exists(), "sealing {number}, {room} bytes: {:?}", names(&path));
            refused += 1;
            room += if is_at_length() { 4 << 10 } else { 16 << 10 };
        }
        assert!(refused > refused_before, "sealing {number} needs no room");
        let view = Chunks::open(&path, Some(MEMORY)).expect("sealed").view(0).expect("a view");
        let found = picture_of(&view, &sealing.options).expect("read");
        found.assert_equals(&sealing.expected, format!("sealing {number}, with room in the end"));
        drop(view);
        sealing.check_source("no room for a new one");
        give_back(&path);
    }
    println!("refused={refused}");
}

fn names(path: &Path) -> Vec<String> {
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn changes_without_room_lose_nothing_and_go_on_when_there_is_some() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let (path, filler) = (home.path().join("g"), home.path().join("filler"));
    for ids in [IdKind::Text, IdKind::Dense] {
        let options = GraphOptions { ids, ..GraphOptions::default() };
        let (graph, mut model) = live(&options, 60);
        let view = graph.snapshot().expect("a view");
        Chunks::seal(&view, &path, &SealOptions::default(), &Watch::new()).expect("sealed");
        let check = |model: &crate::model::Model, place: &str| {
            let chunks = Chunks::open(&path, Some(MEMORY));
            let view = chunks.and_then(|chunks| chunks.view(0));
            let view = view.unwrap_or_else(|error| panic!("{place}: {error}"));
            let found = picture_of(&view, &options).expect("read");
            found.assert_equals(&model.picture(), place);
        };
        // The changes themselves have no room at first.
        let (mut refused, mut room) = (0, 0);
        let changer = loop {
            leave(&filler, room);
            match Chunks::change(&path, false) {
                Ok(changer) => break changer,
                Err(error) => assert_is_full(&error, &path.join("changes")),
            }
            let left = names(&path.join("changes"));
            assert!(left.is_empty(), "{room} bytes of room leave {left:?}");
            check(&model, "changes had no room");
            refused += 1;
            room += if is_at_length() { 4 << 10 } else { 32 << 10 };
        };
        assert!(refused > 1, "{refused} creations were refused");
        let mut random = Random(5);
        let mut insert = |changer: &everedge::Changer, model: &mut crate::model::Model| {
            for fitted in 0.. {
                let updates = insertions(&mut random, 2000, VERTICES + 4 * fitted);
                match play(changer, &updates) {
                    Ok(()) => model.apply(&updates),
                    Err(error) => return error,
                }
            }
            unreachable!("a disk is full at some time")
        };
        leave(&filler, 2 << 20);
        let error = insert(&changer, &mut model);
        assert_is_full(&error, &path.join("changes"));
        let picture = model.picture();
        assert_eq!(changer.totals().1, picture.edge_count, "a batch that was refused counts");
        // What is there can be deleted.
        let deleted: Vec<Update> = (0..50).map(|i| Update::Delete(i % 10, i / 7)).collect();
        match play(&changer, &deleted) {
            Ok(()) => model.apply(&deleted),
            Err(error) => assert_is_full(&error, &path.join("changes")),
        }
        drop(changer);
        check(&model, "full");
        let changer = Chunks::change(&path, false).expect("it opens on a full disk");
        let error = insert(&changer, &mut model);
        assert_is_full(&error, &path.join("changes"));
        changer.close().expect("it closes on a full disk");
        check(&model, "closed while full");
        give_back(&filler);
        let changer = Chunks::change(&path, false).expect("changes");
        let more = insertions(&mut random, 500, VERTICES);
        play(&changer, &more).expect("there is room again");
        model.apply(&more);
        changer.close().expect("closed");
        check(&model, "there was room again");
        let verified = Chunks::verify(&path).expect("verified");
        assert!(verified.ok, "{:?}", verified.problems);
        give_back(&path);
    }
}
