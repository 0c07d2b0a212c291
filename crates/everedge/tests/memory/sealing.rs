//! Sealing edges keeps to its budget, whatever the graph is like.

use everedge::{
    Choices, Chosen, Chunks, IdChoice, IngestOptions, InputChoices, MediumKind, SealFiles,
    SealOptions, Watch,
};
use everedge_chunks::{BuildOptions, Builder};
use everedge_core::Edge;
use everedge_medium::{Volume, VolumeOptions};

use crate::{ALONE, peak_of};

fn scattered(i: u32) -> u32 {
    i.wrapping_mul(0x9e37_79b1)
}

/// What a budget counts for buffers of the largest sealing, and none of these fills.
const UNUSED_BYTES: u64 = 40 << 20;

/// Edges by number.
type EdgeOf = fn(u32) -> Edge;

#[test]
fn sealing_keeps_to_its_budget() {
    let _alone = ALONE.lock();
    let graphs: [(&str, EdgeOf, u32, u64); 4] = [
        // Most vertices have no in-neighbor, and each has one out-neighbor.
        ("sources", |i| (1000 + i, i % 1000), 10_000_000, 370 << 20),
        ("leaves", |i| (i % 1000 * 10_000, i), 10_000_000, 370 << 20),
        ("hubs", |i| (i % 3, i / 6), 4_000_000, 240 << 20),
        ("scattered", |i| (scattered(i) >> 12, scattered(i ^ 0x5bd1) >> 13), 4_000_000, 200 << 20),
    ];
    let mut wrong = Vec::new();
    for (name, edge_of, edges, memory) in graphs {
        for weighted in [false, true] {
            for directed in [true, false] {
                let home = tempfile::tempdir().unwrap();
                let options = VolumeOptions::new(MediumKind::File);
                let volume = Volume::create(&home.path().join("sealed"), options).unwrap();
                let seal = SealOptions::default();
                let (simple, in_neighbors) = (false, true);
                let options =
                    BuildOptions { directed, weighted, simple, in_neighbors, seal, memory };
                let weights: Vec<f32> = (0..1000_u16).map(f32::from).collect();
                let weights = if weighted { &weights[..] } else { &[] };
                let taken = peak_of(|| {
                    let mut builder = Builder::new(&volume, 1, options).unwrap();
                    for first in (0..edges).step_by(1000) {
                        let edges: Vec<Edge> = (first..first + 1000).map(edge_of).collect();
                        builder.add(&edges, weights).unwrap();
                    }
                    builder.finish(|v| v, |v| v.to_string()).unwrap();
                });
                let words =
                    format!("{name} weighted={weighted} directed={directed}: {taken} of {memory}");
                println!("{words}");
                if taken > memory - UNUSED_BYTES {
                    wrong.push(words);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names that are numbers of 64 bits, and edges among them, of a file that has no room: the refusal keeps to the budget, too.
#[test]
#[expect(clippy::disallowed_methods, reason = "the file is to be sealed")]
fn names_that_have_no_room_are_refused_before_they_take_it() {
    let _alone = ALONE.lock();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("edges.txt");
    let lines = (0..1_000_000_u64).map(|i| format!("{} {}\n", (2 * i) << 32, (2 * i + 1) << 32));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let choose = InputChoices { ids: IdChoice::Integer, ..InputChoices::default() };
    let ingest = IngestOptions { input: choose, ..IngestOptions::default() };
    let mut refused = 0;
    let mut memory = 120 << 20;
    loop {
        let mut outcome = None;
        let taken = peak_of(|| {
            let what = SealFiles {
                files: &[file.clone().into()],
                ingest: &ingest,
                chosen: &Chosen::default(),
                choices: Choices::default(),
                options: SealOptions::default(),
                watch: &Watch::new(),
                memory: Some(memory),
            };
            outcome = Some(Chunks::seal_files(&home.path().join("sealed"), &what, &mut |_| true));
        });
        println!("{taken} of {memory}");
        assert!(taken < memory, "{taken} of {memory}");
        match outcome.unwrap() {
            Ok(report) => {
                break assert_eq!((report.vertices, report.edges), (2_000_000, 1_000_000));
            }
            Err(error) => {
                let what = error.to_string();
                // Where there is room for the names, there may be none yet for what comes after them.
                let is_of_names = what.contains("for the names of vertices");
                assert!(is_of_names || refused > 0, "{what}");
                let would_do = what.split(" would do").next().unwrap().rsplit(' ').next().unwrap();
                let would_do: u64 = would_do.parse().unwrap();
                assert!(would_do > memory, "{what}");
                (memory, refused) = (would_do, refused + 1);
            }
        }
    }
    assert!(refused > 0);
}
