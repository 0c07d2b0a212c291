//! Calls of the medium that fail, and what a power loss or a kill leaves of a sealing.

use std::ops::ControlFlow;
use std::sync::Arc;

use everedge_chunks::{
    BuildOptions, Builder, ChunksView, Form, Order, SealOptions, Store, least_memory, seal,
};
use everedge_core::{
    Csr, CsrOptions, Direction, Edge, GraphView, ListVisitor, SplitMix64, VertexId, par,
};
use everedge_medium::{
    Error, Image, ImageRule, Kind, MANIFEST, Manifest, MediumKind, Recorder, Result, Volume,
};

use crate::equal::{SALT, check, edges};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn graph() -> Csr {
    Csr::from_edges(
        &edges(500, 6000, 9).0,
        None,
        CsrOptions { directed: true, ..CsrOptions::default() },
    )
}

/// Small levels, so that lists lie in chunks of all sizes and in pieces.
fn options() -> SealOptions {
    SealOptions { list_bytes_max: [40, 200, 500, 900], ..SealOptions::default() }
}

/// Seals as a facade does: the manifest comes last.
fn seal_in(volume: &Volume, csr: &Csr, by_edges: bool) -> Result<()> {
    let manifest = Manifest::new(Kind::Chunks, ());
    let form = match by_edges {
        false => seal(volume, manifest.salt(), csr, false, &options(), |v| v)?,
        true => {
            let options = BuildOptions {
                directed: true,
                weighted: false,
                simple: false,
                in_neighbors: true,
                seal: options(),
                memory: 1 << 30,
            };
            let mut builder = Builder::new(volume, manifest.salt(), options)?;
            builder.add(&edges(500, 6000, 9).0, &[])?;
            builder.finish(|v| v, |v| v.to_string())?
        }
    };
    manifest.with_options(form).publish(volume)
}

fn open(volume: &Volume) -> Result<Arc<Store>> {
    let manifest = Manifest::<Form>::read(volume)?;
    let least = least_memory(&manifest.options);
    Store::open(volume, manifest.salt(), manifest.options.clone(), least)
}

#[test]
fn a_call_that_fails_ends_a_sealing() {
    let csr = graph();
    let mut failed = 0;
    for by_edges in [false, true] {
        for errno in [EIO, ENOSPC] {
            for n in 0.. {
                let (volume, recorder): (Volume, Recorder) =
                    Volume::recorded(MediumKind::File, false);
                recorder.fail_nth(n, errno, false);
                let sealed = seal_in(&volume, &csr, by_edges);
                if !recorder.has_failed() {
                    sealed.unwrap();
                    break;
                }
                failed += 1;
                let error = sealed.expect_err("a call has failed");
                assert!(matches!(error, Error::Io { .. } | Error::NoSpace { .. }), "{error}");
                recorder.stop_failing();
                assert!(
                    open(&volume).is_err(),
                    "call {n}: there is a graph though its sealing failed"
                );
            }
        }
    }
    println!("failing calls={failed}");
    assert!(failed > 100);
}

/// Every image of a sealing is no graph, or the whole one.
#[test]
fn every_image_is_none_or_the_whole() {
    let csr = graph();
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    seal_in(&volume, &csr, false).unwrap();
    let (mut images, mut whole) = (0, 0);
    let mut visit = |image: &Image| {
        let (volume, _) = Volume::from_image(image).unwrap();
        images += 1;
        if Manifest::<Form>::read(&volume).is_ok() {
            check(&csr, &open(&volume).unwrap());
            whole += 1;
        }
        ControlFlow::Continue(())
    };
    recorder.images(ImageRule { point_images_max: 64, seed: 1 }, &mut visit);
    recorder.images_of_kills(&mut visit);
    println!("images={images} whole={whole}");
    assert!(images > 10 && whole > 0 && whole < images, "{images} images, {whole} whole");
}

/// So many weighted edges have no room in this memory, neither as they come nor in buckets.
const SPOOLED_EDGES: u64 = 2_600_000;
const SPOOLED_MEMORY: u64 = 116 << 20;

/// Seals edges within a budget of memory; the manifest comes last.
fn seal_within(volume: &Volume, memory: u64) -> Result<()> {
    let options = BuildOptions {
        directed: true,
        weighted: true,
        simple: false,
        in_neighbors: true,
        seal: SealOptions::default(),
        memory,
    };
    let mut builder = Builder::new(volume, SALT, options)?;
    let mut random = SplitMix64::new(5);
    let mut left = SPOOLED_EDGES;
    while left > 0 {
        let count = left.min(1 << 16);
        let mut vertex = || random.below(20_000) as u32;
        let edges: Vec<Edge> = (0..count).map(|_| (vertex(), vertex())).collect();
        let weights: Vec<f32> = edges.iter().map(|&(u, v)| (u ^ v) as f32).collect();
        builder.add(&edges, &weights)?;
        left -= count;
    }
    let form = builder.finish(|v| v, |v| v.to_string())?;
    Manifest::new(Kind::Chunks, ()).with_options(form).publish(volume)
}

/// Returns the files of a sealed graph, all but the manifest, which names it.
fn files(volume: &Volume) -> Vec<(String, Vec<u8>)> {
    let mut names = volume.names().unwrap();
    names.retain(|name| name != MANIFEST);
    names.sort();
    names.into_iter().map(|name| (name.clone(), volume.read(&name, u64::MAX).unwrap())).collect()
}

/// A sealing whose edges go through files gives these no name, and is none or the whole graph wherever it ends.
#[test]
fn a_sealing_through_files_is_none_or_the_whole() {
    let is_at_length = std::env::var_os("EVEREDGE_EXPLORE_IMAGES").is_some();
    let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    seal_within(&volume, 1 << 30).unwrap();
    let expected = files(&volume);
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    seal_within(&volume, SPOOLED_MEMORY).unwrap();
    assert!(files(&volume) == expected, "other files with less memory");
    let rule = ImageRule { point_images_max: 8, seed: 1 };
    let mut count = 0;
    recorder.images(rule, |_| {
        count += 1;
        ControlFlow::Continue(())
    });
    let step = if is_at_length { 1 } else { (count / 24).max(1) };
    let (mut number, mut whole) = (0, 0);
    recorder.images(rule, |image| {
        number += 1;
        // Towards the end the manifest comes.
        if number % step != 0 && number + 8 < count {
            return ControlFlow::Continue(());
        }
        let (volume, _) = Volume::from_image(image).unwrap();
        let is_scratch = |name: &String| name.contains("buckets") || name == "edges";
        assert!(!volume.names().unwrap().iter().any(is_scratch), "image {number}");
        if volume.contains(MANIFEST).unwrap() {
            whole += 1;
            assert!(files(&volume) == expected, "image {number}: another graph");
        } else {
            assert!(open(&volume).is_err());
        }
        ControlFlow::Continue(())
    });
    println!("images={count} whole={whole}");
    assert!(whole > 0 && number > whole);
    let calls: Vec<u64> = match is_at_length {
        true => (0..400).step_by(3).collect(),
        false => vec![1, 30],
    };
    let mut errors = String::new();
    for n in calls {
        for errno in [EIO, ENOSPC] {
            let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
            recorder.fail_nth(n, errno, false);
            let sealed = seal_within(&volume, SPOOLED_MEMORY);
            assert_eq!(sealed.is_err(), recorder.has_failed(), "call {n}");
            recorder.stop_failing();
            if let Err(error) = sealed {
                assert!(matches!(error, Error::Io { .. } | Error::NoSpace { .. }), "{error}");
                assert!(open(&volume).is_err(), "call {n}");
                errors += &error.to_string();
            }
        }
    }
    assert!(errors.contains("edges") && errors.contains("buckets"), "{errors}");
}

/// Adds up the neighbors of all vertices.
struct Sum(u64);

impl ListVisitor for Sum {
    const STOPS_EARLY: bool = false;

    fn wants(&self, _: VertexId) -> bool {
        true
    }

    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        neighbors.for_each(|u| self.0 += u64::from(u) * 7 + u64::from(v));
    }
}

/// A pass and single lists, on several threads.
fn sum(store: &Arc<Store>) -> u64 {
    let view = ChunksView::new(store.clone());
    let sums = par::map_ranges(view.vertex_bound(), 64, |range| {
        let mut sum = Sum(0);
        for v in range.clone() {
            view.in_neighbors(v).for_each(|u| sum.0 += u64::from(u));
        }
        view.visit_neighbors(Direction::Out, range, &mut sum);
        sum.0
    });
    sums.into_iter().sum()
}

#[test]
fn a_read_that_fails_is_the_error_of_the_whole() {
    let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    let (edges, _) = edges(20_000, 200_000, 4);
    let csr = Csr::from_edges(&edges, None, CsrOptions::default());
    seal_in(&volume, &csr, false).unwrap();
    let store = open(&volume).unwrap();
    let expected = sum(&store);
    store.check().unwrap();
    let (mut failed, mut healed) = (0, 0);
    for n in (0..400).step_by(7) {
        let store = open(&volume).unwrap();
        recorder.fail_nth(n, EIO, true);
        let found = sum(&store);
        let has_failed = recorder.has_failed();
        recorder.stop_failing();
        match store.check() {
            Ok(()) => assert_eq!(found, expected, "call {n}"),
            Err(error) => {
                assert!(matches!(error, Error::Io { .. }), "{error}");
                // From then on, each look at it says so.
                assert!(store.check().is_err() && has_failed);
                failed += 1;
            }
        }
        if !has_failed {
            break;
        }
        // A read that fails once fails for what it was to read ahead, if at all.
        let store = open(&volume).unwrap();
        recorder.fail_nth(n, EIO, false);
        let found = sum(&store);
        recorder.stop_failing();
        healed += u64::from(store.check().is_ok_and(|()| found == expected));
    }
    assert!(failed > 10 && healed > failed / 2, "{failed} failed, {healed} healed");
}

/// Whoever wrote a manifest, what it says that cannot be is damage.
#[test]
fn a_form_that_cannot_be_is_refused() {
    let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    seal_in(&volume, &graph(), false).unwrap();
    let manifest = Manifest::<Form>::read(&volume).unwrap();
    let (salt, form) = (manifest.salt(), manifest.options);
    let side = form.sides[0].clone();
    let changes: [&dyn Fn(&mut Form); 7] = [
        &|form| form.sides.clear(),
        &|form| form.sides.push(side.clone()),
        &|form| form.directed = false,
        &|form| form.vertices = u32::MAX,
        &|form| form.vertices += 1000,
        &|form| form.edges = u64::MAX,
        &|form| form.sides[1].chunks[0] += 1,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut form = form.clone();
        change(&mut form);
        let opened = Store::open(&volume, salt, form, 1 << 30).map(|_| ());
        let error = opened.err().unwrap_or_else(|| panic!("change {i} was taken"));
        assert!(matches!(error, Error::Corruption { .. }), "change {i}: {error}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test damages a file")]
fn a_list_without_its_pieces_is_named_by_its_vertex() {
    let directory = tempfile::tempdir().unwrap();
    let volume = crate::equal::volume(&directory);
    // The vertices with long lists come last, so none has the number of its piece.
    let edges: Vec<Edge> =
        edges(500, 20_000, 9).0.into_iter().map(|(u, v)| (511 - u, 511 - v)).collect();
    let csr = Csr::from_edges(&edges, None, CsrOptions { directed: true, ..CsrOptions::default() });
    let options = SealOptions { order: Order::Ids, ..options() };
    let mut form = seal(&volume, SALT, &csr, false, &options, |v| v).unwrap();
    assert!(form.sides[0].pieces > 1);
    form.sides[0].pieces = 0;
    std::fs::write(volume.path().join("out.long"), "").unwrap();
    let (least, mut failed) = (least_memory(&form), 0);
    for v in 0..form.vertices {
        let store = Store::open(&volume, SALT, form.clone(), least).unwrap();
        ChunksView::new(store.clone()).out_neighbors(v).for_each(drop);
        if let Err(error) = store.check() {
            let what = error.to_string();
            assert!(what.contains(&format!("where the list of vertex {v} is")), "{what}");
            failed += 1;
        }
    }
    assert!(failed > 1, "{failed}");
}

#[test]
fn an_id_that_no_vertex_can_have_is_damage() {
    let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    let form = seal(&volume, SALT, &graph(), false, &options(), |v| v | 1 << 31).unwrap();
    let store = Store::open(&volume, SALT, form.clone(), least_memory(&form)).unwrap();
    for error in [store.all_ids().unwrap_err(), everedge_chunks::check(&store, false).unwrap_err()]
    {
        let what = error.to_string();
        assert!(what.contains("ids") && what.contains("the id of vertex 0"), "{what}");
    }
}

#[test]
fn a_pair_of_a_simple_graph_that_has_two_edges_is_found() {
    let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
    let edges = [(0, 1), (0, 1), (2, 2), (2, 2), (1, 0)];
    let options = CsrOptions { directed: true, ..CsrOptions::default() };
    let csr = Csr::from_edges(&edges, None, options);
    let form = seal(&volume, SALT, &csr, false, &SealOptions::default(), |v| v).unwrap();
    let store = Store::open(&volume, SALT, form.clone(), least_memory(&form)).unwrap();
    assert_eq!(everedge_chunks::check(&store, false).unwrap().problems, [""; 0]);
    let found = everedge_chunks::check(&store, true).unwrap().problems;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|problem| problem.contains("a vertex twice 2 times")), "{found:?}");
}

#[test]
fn names_that_have_no_room_in_the_budget_are_refused_with_what_would_do() {
    let build = |memory: u64, bytes: u64| {
        let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        let options = BuildOptions {
            directed: true,
            weighted: false,
            simple: false,
            in_neighbors: true,
            seal: SealOptions::default(),
            memory,
        };
        let mut builder = Builder::new(&volume, SALT, options)?;
        builder.add(&edges(500, 6000, 9).0, &[])?;
        builder.check_names(512, bytes)?;
        builder.finish(|v| v, |v| v.to_string()).map(|_| ())
    };
    build(120 << 20, 60 << 20).unwrap();
    let what = build(120 << 20, 80 << 20).unwrap_err().to_string();
    let would_do = what.split(" would do").next().unwrap().rsplit(' ').next().unwrap();
    let would_do: u64 = would_do.parse().unwrap();
    build(would_do, 80 << 20).unwrap();
    assert!(build(would_do - 1, 80 << 20).is_err());
}
