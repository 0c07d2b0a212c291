//! Calls of the medium that fail, and what a power loss or a kill leaves of a sealing.

use std::ops::ControlFlow;
use std::sync::Arc;

use everedge_chunks::{
    BuildOptions, Builder, ChunksView, Form, SealOptions, Store, least_memory, seal,
};
use everedge_core::{Csr, CsrOptions, Direction, GraphView, ListVisitor, VertexId, par};
use everedge_medium::{
    Error, Image, ImageRule, Kind, Manifest, MediumKind, Recorder, Result, Volume,
};

use crate::equal::{check, edges};

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
            builder.finish(|v| v)?
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
    let mut failed = 0;
    for n in (0..400).step_by(7) {
        let store = open(&volume).unwrap();
        recorder.fail_nth(n, EIO, false);
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
    }
    assert!(failed > 10, "{failed} failed");
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
