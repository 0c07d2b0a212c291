//! `everedge bench delete`: a share of a graph's edges, deleted in batches.

use std::time::Instant;

use anyhow::{Result, ensure};
use everedge::{Batch, Edge, Graph};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index;
use serde::Serialize;

use super::ingest;
use crate::harness::figures::{self, Row, number};
use crate::harness::table::{self, Column, Form};
use crate::harness::{Case, Common, Configuration, Lists, Task, Work, process};
use crate::output::Output;

/// Measure deleting edges.
///
/// The whole graph is ingested and archived first. Then a share of its edges, chosen and shuffled
/// by a seed, is deleted in batches. Time runs until all deletions are acknowledged, and on until
/// they are archived. Then the graph is compacted. It must have exactly the other edges after both.
/// Where several ways to delete or to compact are measured, ratios compare with the usual ways.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench delete --scale 20 --share 0.04 --medium pmem,file --on 2
  everedge bench delete --medium pmem --on 2 --deletion by-round,naive --compaction in-runs,naive")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The share of the edges that is deleted, from 0 to 1.
    #[arg(long, default_value_t = SHARE, value_parser = share)]
    share: f64,

    /// Chooses the edges.
    #[arg(long, default_value_t = SEED, value_name = "N")]
    seed: u64,

    #[command(flatten)]
    lists: Lists,
}

/// What the paper deletes.
pub(crate) const SHARE: f64 = 0.04;
pub(crate) const SEED: u64 = 1;

const DISK_COMPACTED: &str = "disk_bytes_compacted";
/// Options that ratios compare.
const WAYS: [&str; 2] = ["compaction", "deletion"];

const COLUMNS: [Column; 11] = [
    Column { key: "deleted", title: "deleted", form: Form::Count },
    Column { key: "acknowledged_per_second", title: "acknowledged/s", form: Form::PerSecond },
    Column { key: "archived_per_second", title: "archived/s", form: Form::PerSecond },
    Column { key: "archived_seconds", title: "deleting", form: Form::Seconds },
    Column { key: "compact_seconds", title: "compacting", form: Form::Seconds },
    Column { key: "total_seconds", title: "total", form: Form::Seconds },
    Column { key: "total_ratio", title: "to usual", form: Form::Ratio },
    Column { key: "disk_bytes_before", title: "disk before", form: Form::Bytes },
    Column { key: "disk_bytes_after", title: "after", form: Form::Bytes },
    Column { key: DISK_COMPACTED, title: "compact", form: Form::Bytes },
    Column { key: "disk_ratio", title: "to usual", form: Form::Ratio },
];

/// The figures of the deletions in one process.
#[derive(Debug, Serialize)]
struct Figures {
    /// Edges before.
    edges: u64,
    deleted: u64,
    /// Seconds from the first deletion until all are acknowledged.
    acknowledged_seconds: f64,
    /// Seconds until all are in the lists too.
    archived_seconds: f64,
    acknowledged_per_second: f64,
    archived_per_second: f64,
    /// Bytes of the graph on its medium, before the deletions and after them.
    disk_bytes_before: u64,
    disk_bytes_after: u64,
    #[serde(flatten)]
    compaction: Compaction,
}

/// What compaction took and left.
#[derive(Debug, Serialize)]
struct Compaction {
    compact_seconds: f64,
    /// Seconds of the deletions and of the compaction.
    total_seconds: f64,
    disk_bytes_compacted: u64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    let work = Work::Delete { share: args.share, seed: args.seed };
    let configurations = args.lists.configurations(&ingest::MEDIA)?;
    let case = |configuration| Case { work, configuration };
    let cases: Vec<Case> = configurations.into_iter().map(case).collect();
    let mut rows = process::measure(&args.common, &cases, output)?;
    compare(&mut rows)?;
    table::print(output, &args.common, &rows, (&[], &COLUMNS), None)
}

/// Ingests the graph, deletes from it and returns the figures.
///
/// # Errors
/// If the medium fails, or the graph has another number of edges at the end.
pub(crate) fn measure(task: &Task, share: f64, seed: u64) -> Result<Row> {
    let graph = task.create(false)?;
    let edges = task.edges()?;
    let total = edges.len() as u64;
    let Configuration { batch, writers, .. } = task.configuration;
    ingest::take(&graph, &edges, None, [batch, writers])?;
    let chosen = chosen(&edges, share, seed);
    drop(edges);
    let deleted = chosen.len() as u64;
    let disk_bytes_before = graph.stats()?.disk_bytes;
    let start = Instant::now();
    for batch in chosen.chunks(batch) {
        graph.apply(&Batch::deletions(batch.iter().copied(), false)?)?;
    }
    let acknowledged_seconds = start.elapsed().as_secs_f64();
    drop(graph.snapshot()?);
    let archived_seconds = start.elapsed().as_secs_f64();
    let disk_bytes_after = graph.stats()?.disk_bytes;
    check(&graph, total - deleted, "the deletions")?;
    let compaction = compact(&graph, archived_seconds)?;
    check(&graph, total - deleted, "the compaction")?;
    figures::row(&Figures {
        edges: total,
        deleted,
        acknowledged_seconds,
        archived_seconds,
        acknowledged_per_second: deleted as f64 / acknowledged_seconds,
        archived_per_second: deleted as f64 / archived_seconds,
        disk_bytes_before,
        disk_bytes_after,
        compaction,
    })
}

/// Compacts the graph, and says what it takes on its medium then.
fn compact(graph: &Graph, archived_seconds: f64) -> Result<Compaction> {
    let compact_seconds = graph.compact()?.seconds;
    Ok(Compaction {
        compact_seconds,
        total_seconds: archived_seconds + compact_seconds,
        disk_bytes_compacted: graph.stats()?.disk_bytes,
    })
}

/// Says of each row, if there are several ways, how much more time and space it takes than the
/// row that has the usual ways and all else alike.
fn compare(rows: &mut [Row]) -> Result<()> {
    if !table::varied(rows).iter().any(|key| WAYS.contains(&key.as_str())) {
        return Ok(());
    }
    let usual = Configuration::default().row()?;
    let all = rows.to_vec();
    for row in rows {
        let is_usual = |other: &&Row| {
            usual.iter().all(|(key, value)| match WAYS.contains(&key.as_str()) {
                true => other.get(key) == Some(value),
                false => other.get(key) == row.get(key),
            })
        };
        let Some(base) = all.iter().find(is_usual) else { continue };
        for (ratio, key) in [("total_ratio", "total_seconds"), ("disk_ratio", DISK_COMPACTED)] {
            if let (Some(of), Some(to)) = (number(row, key), number(base, key)) {
                row.insert(ratio.to_owned(), (of / to).into());
            }
        }
    }
    Ok(())
}

fn check(graph: &Graph, expected: u64, after: &str) -> Result<()> {
    let found = graph.snapshot()?.edge_count();
    ensure!(found == expected, "the graph has {found} edges after {after}, not {expected}");
    Ok(())
}

/// Returns a share of the edges, each of them at most once, in pseudo-random order.
fn chosen(edges: &[Edge], share: f64, seed: u64) -> Vec<Edge> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let wanted = (edges.len() as f64 * share).round() as usize;
    index::sample(&mut random, edges.len(), wanted).iter().map(|at| edges[at]).collect()
}

fn share(word: &str) -> Result<f64, String> {
    let share = word.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "give a number from 0 to 1, such as 0.04".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_compared_with_the_usual_ones_on_the_same_medium() {
        let row = |medium: &str, compaction: &str, seconds: f64| {
            let mut row = Configuration::default().row().unwrap();
            row.insert("medium".into(), medium.into());
            row.insert("compaction".into(), compaction.into());
            row.insert("total_seconds".into(), seconds.into());
            row
        };
        let mut rows =
            [row("pmem", "in-runs", 2.0), row("pmem", "naive", 5.0), row("file", "naive", 1.0)];
        compare(&mut rows).unwrap();
        let ratios = rows.each_ref().map(|row| number(row, "total_ratio"));
        assert_eq!(ratios, [Some(1.0), Some(2.5), None]);
        let mut same = [row("pmem", "in-runs", 2.0), row("file", "in-runs", 3.0)];
        compare(&mut same).unwrap();
        assert!(same.iter().all(|row| !row.contains_key("total_ratio")));
    }

    #[test]
    fn the_share_is_exact_and_no_edge_is_chosen_twice() {
        let edges: Vec<Edge> = (0..1_000).map(|u| (u, u + 1)).collect();
        for share in [0.0, 0.04, 0.5, 1.0] {
            let mut found = chosen(&edges, share, 7);
            assert_eq!(found.len(), (1_000.0 * share) as usize);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), (1_000.0 * share) as usize);
        }
        assert_ne!(chosen(&edges, 0.04, 1), chosen(&edges, 0.04, 2));
    }
}
