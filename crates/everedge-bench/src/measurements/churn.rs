//! A stream of insertions and deletions over a graph: half of them each, ten times as many as the graph has edges.
//!
//! Source: the *graphlog* of Teseo (De Leo and Boncz, PVLDB 2021), which SMDG's Figure 9 uses. Every edge of the
//! graph is inserted once; the others come and go, and at the end the graph has its edges and no other.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use everedge::{Batch, Edge};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashSet;
use serde::Serialize;

use super::ingest::{distinct, named, other_seed};
use crate::harness::figures::{self, Row};
use crate::harness::{Configuration, Task};

/// Updates for each edge of the graph.
const UPDATES_PER_EDGE: usize = 10;

/// What is measured of a stream.
#[derive(Debug, Serialize)]
struct Figures {
    updates: u64,
    archived_seconds: f64,
    updates_per_second: f64,
    peak_rss_bytes: u64,
    disk_bytes: u64,
}

/// Gives the graph a stream of updates.
///
/// # Errors
/// If the medium fails, or the graph has other edges at the end.
pub(crate) fn measure(task: &Task) -> Result<Row> {
    let Configuration { graph: kind, scale, batch, ref options, .. } = task.configuration;
    ensure!(options.simple, "a stream has each edge once at a time; give --simple");
    let mut edges = distinct(task.edges()?, options.directed);
    let others = (edges.len() * (UPDATES_PER_EDGE - 1)).div_ceil(2);
    let more = kind.generator(scale, (others >> scale).max(1) as u32 + 1, other_seed(task))?;
    let others = more.edges(0..more.edge_count());
    let stream = stream(&mut edges, others, options.directed, task.seed)?;
    let batches: Vec<Batch> = stream.chunks(batch).map(of_updates).collect::<Result<_>>()?;
    drop(stream);

    let graph = task.create(false)?;
    let before = everedge::peak_rss_bytes();
    let start = Instant::now();
    batches.iter().try_for_each(|batch| graph.apply(batch))?;
    let found = graph.snapshot()?.edge_count();
    let archived_seconds = start.elapsed().as_secs_f64();
    ensure!(found == edges.len() as u64, "{found} edges at the end, not {}", edges.len());
    let updates = batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
    figures::row(&Figures {
        updates,
        archived_seconds,
        updates_per_second: updates as f64 / archived_seconds,
        peak_rss_bytes: everedge::peak_rss_bytes() - before.min(everedge::peak_rss_bytes()),
        disk_bytes: graph.stats()?.disk_bytes,
    })
}

/// An insertion, or a deletion.
type Update = (Edge, bool);

/// Mixes the insertion of all `edges` with others that come and go; puts `edges` in another order.
///
/// # Errors
/// If the others are too few.
fn stream(edges: &mut [Edge], others: Vec<Edge>, directed: bool, seed: u64) -> Result<Vec<Update>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for place in (1..edges.len()).rev() {
        edges.swap(place, random.random_range(0..=place));
    }
    let kept: FxHashSet<Edge> = edges.iter().copied().collect();
    let wanted = edges.len() * UPDATES_PER_EDGE;
    let mut others = others.into_iter().map(|edge| named(edge, directed)).cycle();
    let (mut stream, mut there, mut left) = (Vec::new(), Vec::new(), &edges[..]);
    let mut is_there = FxHashSet::default();
    while stream.len() + there.len() + left.len() < wanted {
        // About as many are there, beside those that stay, as the graph will have.
        if !there.is_empty() && random.random_range(0..edges.len()) < there.len() {
            let gone = there.swap_remove(random.random_range(0..there.len()));
            is_there.remove(&gone);
            stream.push((gone, false));
        } else if random.random_range(0..wanted / 2) < edges.len()
            && let Some((&next, rest)) = left.split_first()
        {
            left = rest;
            stream.push((next, true));
        } else {
            let is_new = |edge: &Edge| !kept.contains(edge) && !is_there.contains(edge);
            let next = others.by_ref().take(1 << 20).find(is_new);
            let next = next.context("the graph is so dense that few other edges are left")?;
            is_there.insert(next);
            there.push(next);
            stream.push((next, true));
        }
    }
    stream.extend(left.iter().map(|&edge| (edge, true)));
    stream.extend(there.into_iter().map(|edge| (edge, false)));
    Ok(stream)
}

fn of_updates(updates: &[Update]) -> Result<Batch> {
    let mut batch = Batch::new(false);
    for &((u, v), is_insertion) in updates {
        match is_insertion {
            true => batch.insert(u, v, 0.0)?,
            false => batch.delete(u, v)?,
        }
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_with_the_edges_of_the_graph() {
        let draw = |seed| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            move || (random.random_range(0..300), random.random_range(0..300))
        };
        let mut first = draw(1);
        let mut edges = distinct((0..2000).map(|_| first()).collect(), false);
        let mut other = draw(2);
        let others = (0..20_000).map(|_| other()).collect();
        let stream = stream(&mut edges, others, false, 3).unwrap();
        assert!(stream.len().abs_diff(edges.len() * UPDATES_PER_EDGE) <= 1);
        let mut there = FxHashSet::default();
        for &(edge, is_insertion) in &stream {
            let is_right = if is_insertion { there.insert(edge) } else { there.remove(&edge) };
            assert!(is_right, "{edge:?}");
        }
        assert_eq!(there, edges.iter().copied().collect());
        let deletions = stream.iter().filter(|update| !update.1).count();
        assert!((0.4..0.5).contains(&(deletions as f64 / stream.len() as f64)));
    }
}
