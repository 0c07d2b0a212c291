//! Crash images and failing calls of a sealing: of a live graph, of files, and of a sealed graph with its changes.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use everedge::{
    Choices, Chosen, Chunks, GraphOptions, IdChoice, IdKind, IngestOptions, Progress, Result,
    SealFiles, SealOptions, SealReport, Watch,
};
use everedge_medium::{Image, ImageRule, MANIFEST, MediumKind, Recorder, Volume};

use super::{EIO, ENOSPC, MEMORY, draw, is_clear, live, name, picture_of, play, shapes, write_out};
use crate::explorer::is_at_length;
use crate::model::{Model, Picture, Random};

const EDGES: u64 = 300;

/// Lists in the index and in chunks of two sizes.
fn small_levels() -> SealOptions {
    SealOptions { list_bytes_max: [20, 4000, 5000, 6000], ..SealOptions::default() }
}

/// What is sealed.
enum Source {
    Live(Box<everedge::Graph>),
    /// Text, which is sealed without a live graph.
    File(PathBuf),
    /// A sealed graph that was changed.
    Changed(PathBuf),
}

/// A sealing, and what it must come to.
pub(super) struct Sealing {
    source: Source,
    pub(super) options: GraphOptions,
    pub(super) expected: Picture,
}

impl Sealing {
    /// Returns sealings of each source in each shape; files of the sources lie in `home`.
    pub(super) fn all(home: &Path) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, options) in shapes().into_iter().enumerate() {
            let (graph, model) = live(&options, EDGES);
            let expected = model.picture();
            if number % 2 == 0 {
                let file = home.join(format!("{number}.csv"));
                write_edges(&file, &model, &options);
                let source = Source::File(file);
                all.push(Self { source, options: options.clone(), expected: expected.clone() });
            }
            all.push(Self { source: Source::Live(Box::new(graph)), options, expected });
        }
        for options in shapes() {
            let path = home.join(format!("changed{}", all.len()));
            let (graph, mut model) = live(&options, 40);
            let view = graph.snapshot().expect("a view");
            Chunks::seal(&view, &path, &small_levels(), &Watch::new()).expect("sealed");
            let changer = Chunks::change(&path, false).expect("changes");
            let mut random = Random(7);
            for _ in 0..20 {
                let updates = draw(&mut random);
                play(&changer, &updates).expect("changed");
                model.apply(&updates);
            }
            changer.close().expect("closed");
            all.push(Self { source: Source::Changed(path), options, expected: model.picture() });
        }
        all
    }

    fn seal(&self, volume: &Volume) -> Result<SealReport> {
        let options = small_levels();
        match &self.source {
            Source::Live(graph) => {
                Chunks::seal_in(volume, &graph.snapshot()?, &options, &Watch::new())
            }
            Source::Changed(path) => {
                let view = Chunks::open(path, Some(MEMORY))?.view(0)?;
                Chunks::seal_in(volume, &view, &options, &Watch::new())
            }
            Source::File(file) => {
                self.of_file(file, |what, progress| Chunks::seal_files_in(volume, what, progress))
            }
        }
    }

    /// Seals at a path, as a user does.
    pub(super) fn seal_at(&self, path: &Path) -> Result<SealReport> {
        let options = small_levels();
        match &self.source {
            Source::Live(graph) => Chunks::seal(&graph.snapshot()?, path, &options, &Watch::new()),
            Source::Changed(changed) => {
                let view = Chunks::open(changed, Some(MEMORY))?.view(0)?;
                Chunks::seal(&view, path, &options, &Watch::new())
            }
            Source::File(file) => {
                self.of_file(file, |what, progress| Chunks::seal_files(path, what, progress))
            }
        }
    }

    fn of_file(
        &self,
        file: &Path,
        seal: impl FnOnce(
            &SealFiles<'_>,
            &mut (dyn FnMut(Progress) -> bool + Send),
        ) -> Result<SealReport>,
    ) -> Result<SealReport> {
        let GraphOptions { directed, weighted, simple, in_neighbors, ids, .. } = self.options;
        let mut chosen = Chosen::default();
        for (option, value) in [
            ("directed", directed),
            ("weighted", weighted),
            ("simple", simple),
            ("in-neighbors", in_neighbors),
        ] {
            chosen.choose(option, value.to_string()).expect("an option");
        }
        let choices = Choices { directed_fixed: true, weighted_fixed: true, meter: false };
        let (mut ingest, watch) = (IngestOptions::default(), Watch::new());
        ingest.input.ids = match ids {
            IdKind::Dense => IdChoice::Dense,
            IdKind::Integer => IdChoice::Integer,
            IdKind::Text => IdChoice::Text,
        };
        let what = SealFiles {
            files: &[file.to_owned().into()],
            ingest: &ingest,
            chosen: &chosen,
            choices,
            options: small_levels(),
            watch: &watch,
            memory: Some(200 << 20),
        };
        seal(&what, &mut |_| true)
    }

    /// Checks what is left of a sealing in a volume; returns whether it is the graph.
    fn check(&self, volume: &Volume, place: &str) -> bool {
        if !volume.contains(MANIFEST).expect("an answer") {
            let error = Chunks::open_in(volume.clone(), None, Some(MEMORY)).err().expect("none");
            assert!(error.to_string().contains(MANIFEST), "{place}: {error}");
            return false;
        }
        let chunks = Chunks::open_in(volume.clone(), None, Some(MEMORY));
        let chunks = chunks.unwrap_or_else(|error| panic!("{place}: {error}"));
        let found = chunks.view(0).and_then(|view| picture_of(&view, &self.options));
        let found = found.unwrap_or_else(|error| panic!("{place}: {error}"));
        found.assert_equals(&self.expected, place);
        true
    }
}

fn write_edges(file: &Path, model: &Model, options: &GraphOptions) {
    let header = if options.weighted { "src,dst,weight\n" } else { "src,dst\n" };
    let mut text = String::from(header);
    let mut edges: Vec<(u32, u32, f32)> = Vec::new();
    for (u, [out, _]) in model.lists_in_order() {
        let own = out.into_iter().filter(|&(v, _)| options.directed || u <= v);
        edges.extend(own.map(|(v, weight)| (u, v, weight)));
    }
    for (u, v, weight) in edges {
        let weight = if options.weighted { format!(",{weight}") } else { String::new() };
        text.push_str(&format!("{},{}{weight}\n", name(u), name(v)));
    }
    fs::write(file, text).expect("written");
}

fn recorded() -> (Volume, Recorder) {
    Volume::recorded(MediumKind::File, false)
}

/// Every image is no graph or the whole one, and where it is none, the next sealing makes it.
#[test]
fn every_image_of_a_sealing_is_none_or_the_whole() {
    let home = tempfile::tempdir().expect("a directory");
    let (mut images, mut whole, mut restarted) = (0, 0, 0);
    for (number, sealing) in Sealing::all(home.path()).into_iter().enumerate() {
        let (volume, recorder) = recorded();
        sealing.seal(&volume).expect("sealed");
        let (mut seen, mut file_sets) = (HashSet::new(), BTreeMap::new());
        let mut visit = |image: &Image| {
            if !seen.insert(image.digest()) {
                return ControlFlow::Continue(());
            }
            let (volume, _) = Volume::from_image(image).expect("a volume");
            images += 1;
            let place = format!("sealing {number}, {}/{}", image.point(), image.choice());
            if sealing.check(&volume, &place) {
                whole += 1;
                return ControlFlow::Continue(());
            }
            let mut names = volume.names().expect("names");
            names.sort();
            file_sets.entry(names).or_insert(volume);
            ControlFlow::Continue(())
        };
        let point_images_max = if is_at_length() { 1024 } else { 64 };
        recorder.images(ImageRule { point_images_max, seed: 1 }, &mut visit);
        recorder.images_of_kills(&mut visit);
        let step = if is_at_length() { 1 } else { 4 };
        for (names, volume) in file_sets.into_iter().skip(number % step).step_by(step) {
            let path = home.path().join("again");
            write_out(&volume, &path);
            let error = Chunks::open(&path, Some(MEMORY)).err().expect("no graph");
            let what = error.to_string();
            assert!(what.contains("is not a graph") && what.contains("again"), "{what}");
            sealing.seal_at(&path).unwrap_or_else(|error| panic!("{names:?}: {error}"));
            let view = Chunks::open(&path, Some(MEMORY)).expect("sealed").view(0).expect("a view");
            let found = picture_of(&view, &sealing.options).expect("read");
            found.assert_equals(&sealing.expected, format!("{names:?}"));
            assert!(!path.join("unfinished.tmp").exists(), "{names:?}");
            fs::remove_dir_all(&path).expect("removed");
            restarted += 1;
        }
        sealing.check_source(&format!("sealing {number}"));
    }
    println!("images={images} whole={whole} restarted={restarted} violations=0");
    assert!(images > 100 && whole >= 10 && restarted > 20, "{images}, {whole}, {restarted}");
}

impl Sealing {
    /// Checks that what is sealed once more stays as it is.
    pub(super) fn check_source(&self, place: &str) {
        if let Source::Changed(path) = &self.source {
            let view = Chunks::open(path, Some(MEMORY)).expect("the old one").view(0);
            let found = picture_of(&view.expect("a view"), &self.options).expect("read");
            found.assert_equals(&self.expected, place);
            assert!(Chunks::verify(path).expect("verified").ok, "{place}");
        }
    }
}

/// Each call fails once: a clear error, no graph, and the source stays.
#[test]
fn every_failing_call_of_a_sealing_leaves_none() {
    let home = tempfile::tempdir().expect("a directory");
    let (mut failing, mut none) = (0, 0);
    for (number, sealing) in Sealing::all(home.path()).into_iter().enumerate() {
        for errno in [EIO, ENOSPC] {
            let step = if is_at_length() { 1 } else { 3 };
            for n in (number as u64 % step..).step_by(step as usize) {
                let (volume, recorder) = recorded();
                recorder.fail_nth(n, errno, false);
                let sealed = sealing.seal(&volume);
                let has_failed = recorder.has_failed();
                recorder.stop_failing();
                let place = format!("sealing {number}, call {n} fails with {errno}");
                if !has_failed {
                    sealed.unwrap_or_else(|error| panic!("{place}: {error}"));
                    break;
                }
                failing += 1;
                let error = sealed.err().unwrap_or_else(|| panic!("{place}, and nobody says so"));
                assert!(is_clear(&error), "{place}: {error}");
                let again = recorder.open_again(&volume).expect("opened again");
                none += u64::from(!sealing.check(&again, &place));
                // A failed publication of the manifest alone may leave a graph, and the whole one.
                recorder.images(ImageRule { point_images_max: 4, seed: 1 }, |image| {
                    let (volume, _) = Volume::from_image(image).expect("a volume");
                    sealing.check(&volume, &place);
                    ControlFlow::Continue(())
                });
            }
        }
        sealing.check_source(&format!("sealing {number}"));
    }
    println!("failing calls={failing} none={none} violations=0");
    assert!(failing > 100 && none > 100, "{failing} failed, {none} left none");
}
