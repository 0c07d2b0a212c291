//! Sealing edges keeps to its budget, whatever the graph is like.

use everedge::{MediumKind, SealOptions};
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
                    builder.finish(|v| v).unwrap();
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
