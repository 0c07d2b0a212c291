//! Crash images and failing calls of changes: a history of batches on a sealed graph, and of the creation of its changes.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::ops::ControlFlow;

use everedge::{Changer, Chunks, Error, MediumKind};
use everedge_live::Result;
use everedge_medium::{Call, CallKind, ImageRule, MANIFEST, Plant, Recorder, Site, Volume};

use super::{
    EIO, ENOSPC, MEMORY, Sealed, draw, is_clear, picture_of, play, shapes, stored, write_out,
};
use crate::explorer::{Exploration, History, Start, Subject, images_max, is_at_length};
use crate::model::{Model, Picture, Random, Update};

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const FILE: MediumKind = MediumKind::File;
const BATCHES: u64 = 24;
/// Each shape checks so manieth part of the images.
const IMAGES_SHARE: u64 = 8;

/// A sealed graph that is changed.
struct Changing {
    sealed: Sealed,
    kind: MediumKind,
    number: usize,
}

/// What a crash has left, read.
struct Read {
    changes: Volume,
    picture: Picture,
}

impl Changing {
    fn all(kind: MediumKind) -> Vec<Self> {
        let numbered = shapes().into_iter().enumerate();
        numbered
            .map(|(number, options)| Self { sealed: Sealed::new(&options), kind, number })
            .collect()
    }

    fn open(&self, changes: &Volume) -> everedge::Result<Changer> {
        Chunks::change_in(&self.sealed.volume, changes.clone(), &stored(self.kind))
    }

    fn exploration(&self, images_max: u64) -> Exploration<'_, Self> {
        Exploration {
            name: format!("changes-{}-{}", self.kind, self.number),
            subject: self,
            kind: self.kind,
            eadr: false,
            plant: None,
            images_max,
            start: Start::New,
            kills: false,
        }
    }
}

/// Returns the error of the storage, which is all that a medium leads to.
fn storage(error: Error) -> everedge_live::Error {
    match error {
        Error::Storage(error) => error,
        other => panic!("not an error of the medium: {other}"),
    }
}

impl Subject for Changing {
    type State = Picture;
    type Store = Read;

    fn run(&self, seed: u64, volume: &Volume, history: &mut History<Picture>) -> Result<()> {
        let mut model = self.sealed.model.clone();
        let mut random = Random(seed << 8 | self.number as u64);
        let clear = |error: Error| {
            assert!(is_clear(&error), "{error}");
            storage(error)
        };
        history.begin(model.picture());
        let mut changer = self.open(volume).map_err(clear)?;
        history.acknowledge();
        for number in 0..BATCHES {
            if (seed + number) % 7 == 6 {
                changer.close().map_err(clear)?;
                changer = self.open(volume).map_err(clear)?;
            }
            let updates = draw(&mut random);
            let before = changer.totals();
            model.apply(&updates);
            history.begin(model.picture());
            play(&changer, &updates)
                .inspect_err(|_| assert_eq!(changer.totals(), before))
                .map_err(clear)?;
            history.acknowledge();
        }
        changer.close().map_err(clear)
    }

    fn recover(&self, changes: &Volume) -> Result<Option<Read>> {
        let picture = self.sealed.picture(changes).map_err(storage)?;
        if !changes.contains(MANIFEST)? {
            assert_eq!(picture, self.sealed.model.picture(), "changes that nobody has made");
            return Ok(None);
        }
        Ok(Some(Read { changes: changes.clone(), picture }))
    }

    fn state(&self, read: &Read) -> Picture {
        read.picture.clone()
    }

    fn apply(&self, seed: u64, read: &mut Read, state: Picture) -> Result<Picture> {
        let mut model = Model::of_picture(&self.sealed.options, &state);
        let mut random = Random(seed);
        let changer = self.open(&read.changes).map_err(storage)?;
        for _ in 0..3 {
            let updates = model.apply_determined(draw(&mut random));
            play(&changer, &updates).map_err(storage)?;
        }
        Ok(model.picture())
    }
}

#[test]
fn every_image_of_changes_is_a_prefix() {
    for kind in [FILE, PMEM] {
        for changing in Changing::all(kind) {
            for kills in [false, true] {
                let exploration = changing.exploration(images_max() / IMAGES_SHARE);
                let exploration = Exploration { kills, ..exploration };
                let name = exploration.name.clone();
                println!("{name} kills={kills}: {:?} violations=0", exploration.check());
            }
        }
    }
}

/// Names are durable before a batch uses them: without one of the fences that see to it, some image has edges of nobody.
#[test]
fn names_of_changes_that_are_not_fenced_are_found() {
    let changing = Changing::all(FILE).swap_remove(0);
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(FILE, false);
    recorder.count_calls();
    changing.run(0, &volume, &mut History::new(recorder.clone())).expect("a history");
    let is_planted = |call: &Call| {
        // What is found is fenced for a crash that comes after a kill, which other tests lead to.
        let is_fence = call.kind() == CallKind::Fence && call.site() != Some(Site::NamesFound);
        is_fence && call.file().ends_with("everedge-live/src/names/mod.rs")
    };
    let calls: Vec<_> = recorder.calls().into_keys().filter(is_planted).collect();
    assert!(!calls.is_empty());
    for call in calls {
        let plant = Some(Plant::Drop(call));
        let exploration = Exploration { plant, ..changing.exploration(200) };
        let found = (0..8).find_map(|seed| exploration.hunt(seed, 16));
        println!("{call}: {:.160}", found.unwrap_or_else(|| panic!("{call} is not found")));
    }
}

#[test]
fn every_failing_call_of_changes_leaves_a_prefix() {
    let failures = [
        (0, FILE, EIO, false),
        (3, PMEM, ENOSPC, true),
        (1, FILE, ENOSPC, false),
        (2, PMEM, EIO, true),
    ];
    let count = if is_at_length() { failures.len() } else { 2 };
    let mut failing = 0;
    for (number, kind, errno, forever) in failures.into_iter().take(count) {
        let changing = Changing::all(kind).swap_remove(number);
        let exploration = changing.exploration(0);
        failing += exploration.check_failing_calls(number as u64, (errno, forever), forever);
    }
    println!("failing calls={failing} violations=0");
    assert!(failing > 100, "{failing} calls failed");
}

#[test]
fn changes_go_on_after_every_failing_call() {
    let failures = [(0, FILE, EIO), (1, PMEM, ENOSPC), (2, FILE, ENOSPC), (3, PMEM, EIO)];
    let count = if is_at_length() { failures.len() } else { 2 };
    for (number, kind, errno) in failures.into_iter().take(count) {
        let changing = Changing::all(kind).swap_remove(number);
        let report = changing.exploration(0).go_on_after_failing_calls(0, errno);
        let report = report.unwrap_or_else(|failure| panic!("error {errno}: {failure}"));
        assert!(report.images > 0);
        println!("changes go on after error {errno}: {report:?} violations=0");
    }
}

/// A call without room changes nothing, and the same handle does it when there is room again.
#[test]
fn a_handle_goes_on_after_a_call_without_room() {
    let mut refused = 0;
    for changing in Changing::all(FILE) {
        for n in (0..).step_by(if is_at_length() { 1 } else { 3 }) {
            let (volume, recorder): (Volume, Recorder) = Volume::recorded(FILE, false);
            let changer = changing.open(&volume).expect("changes");
            let (mut model, mut random) = (changing.sealed.model.clone(), Random(n));
            recorder.fail_nth(n, ENOSPC, false);
            for _ in 0..BATCHES {
                let updates = draw(&mut random);
                if let Err(error) = play(&changer, &updates) {
                    refused += 1;
                    assert!(is_clear(&error), "{error}");
                    // A sync without room is a failed sync.
                    if volume.check_health().is_err() {
                        break;
                    }
                    let again = play(&changer, &updates);
                    again.unwrap_or_else(|error| panic!("call {n}, then {error}"));
                }
                model.apply(&updates);
            }
            let has_failed = recorder.has_failed();
            recorder.stop_failing();
            // What goes on beside the batches may have failed without one of them.
            if volume.check_health().is_ok() {
                let picture = model.picture();
                let totals = (picture.vertices.len() as u64, picture.edge_count);
                assert_eq!(changer.totals(), totals, "call {n}");
                drop(changer);
                let found = changing.sealed.picture(&volume).expect("it opens");
                found.assert_equals(&picture, format!("call {n}"));
            }
            if !has_failed {
                break;
            }
        }
    }
    println!("refused batches={refused}");
    assert!(refused > 20, "{refused} batches were refused");
}

/// Where the power goes while the first changes are made, the sealed graph opens with none or all of it, and changes can be made.
#[test]
fn a_creation_of_changes_that_a_crash_ends_is_none_or_whole() {
    let changing = Changing { sealed: Sealed::new(&shapes()[0]), kind: FILE, number: 0 };
    let home = tempfile::tempdir().expect("a directory");
    let (path, expected) = (home.path().join("g"), changing.sealed.model.picture());
    write_out(&changing.sealed.volume, &path);
    let options = &changing.sealed.options;
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(FILE, false);
    let changer = changing.open(&volume).expect("changes");
    drop(changer);
    let (mut seen, mut file_sets) = (HashSet::new(), BTreeSet::new());
    let mut visit = |image: &everedge_medium::Image| {
        if !seen.insert(image.digest()) {
            return ControlFlow::Continue(());
        }
        let (volume, _) = Volume::from_image(image).expect("a volume");
        // Which files are there says how far the creation came; of each set a few are tried.
        let mut names = volume.names().expect("names");
        names.sort();
        if !file_sets.insert((names.clone(), image.digest() % 2)) {
            return ControlFlow::Continue(());
        }
        let changes = path.join("changes");
        write_out(&volume, &changes);
        let place = format!("{names:?}");
        let chunks = Chunks::open(&path, Some(MEMORY)).unwrap_or_else(|e| panic!("{place}: {e}"));
        let found = picture_of(&chunks.view(0).expect("a view"), options).expect("read");
        found.assert_equals(&expected, &place);
        assert_eq!(chunks.change_counts(), None, "{place}");
        drop(chunks);
        let verified = Chunks::verify(&path).expect("verified");
        assert!(verified.ok, "{place}: {:?}", verified.problems);
        let changer = Chunks::change(&path, false).unwrap_or_else(|e| panic!("{place}: {e}"));
        let mut model = changing.sealed.model.clone();
        let updates = [Update::Insert(3, 15, 0.5), Update::Insert(15, 14, 0.25)];
        model.apply(&updates);
        play(&changer, &updates).unwrap_or_else(|e| panic!("{place}: {e}"));
        changer.close().expect("closed");
        let chunks = Chunks::open(&path, Some(MEMORY)).expect("opens");
        let found = picture_of(&chunks.view(0).expect("a view"), options).expect("read");
        found.assert_equals(&model.picture(), &place);
        fs::remove_dir_all(changes).expect("removed");
        ControlFlow::Continue(())
    };
    recorder.images(ImageRule { point_images_max: 16, seed: 1 }, &mut visit);
    recorder.images_of_kills(&mut visit);
    let whole = file_sets.iter().filter(|(names, _)| names.iter().any(|n| n == MANIFEST)).count();
    println!("file sets={} whole={whole}", file_sets.len());
    assert!(whole > 0 && file_sets.len() > 5, "{file_sets:?}");
    // As far as a creation comes before it has a file.
    let changes = path.join("changes");
    fs::create_dir(&changes).expect("a directory");
    for name in ["", "lock", "unfinished.tmp"] {
        if !name.is_empty() {
            fs::write(changes.join(name), "").expect("written");
        }
        let chunks = Chunks::open(&path, Some(MEMORY)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(chunks.change_counts().is_none() && Chunks::verify(&path).expect("verified").ok);
    }
    Chunks::change(&path, false).expect("changes").close().expect("closed");
}

/// Each call of the first creation of changes fails once: nothing is there then, and the next one makes them.
#[test]
fn a_creation_of_changes_that_fails_leaves_none() {
    let changing = Changing { sealed: Sealed::new(&shapes()[0]), kind: FILE, number: 0 };
    for errno in [EIO, ENOSPC] {
        for n in 0.. {
            let (volume, recorder): (Volume, Recorder) = Volume::recorded(FILE, false);
            recorder.fail_nth(n, errno, false);
            let created = changing.open(&volume);
            if !recorder.has_failed() {
                created.expect("no call has failed");
                assert!(n > 5, "{n} calls");
                break;
            }
            recorder.stop_failing();
            if let Err(error) = created {
                assert!(is_clear(&error), "call {n}: {error}");
                let again = recorder.open_again(&volume).expect("opened again");
                let found = changing.sealed.picture(&again).expect("it opens");
                found.assert_equals(&changing.sealed.model.picture(), format!("call {n}"));
            }
        }
    }
}
