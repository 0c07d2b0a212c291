//! Work division: which thread archives which range of vertices.
//!
//! Source: XPGraph §4.1. A round of E updates is cut into 2^(log2 E − b) ranges of vertices, which
//! are dealt to the threads that have least, none beyond 95 % of the mean while another can take
//! it. The fixed division is that of GraphOne: 256 ranges, consecutive ones to each thread.
//! Differences: a range is at least one shard, which only one thread can change; and by default
//! nothing is dealt, an idle thread takes the next range by itself.

use serde::{Deserialize, Serialize};

use crate::text_form;

/// How a round is divided among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// Ranges by the number of updates; idle threads take them.
    #[default]
    Stealing,
    /// The same ranges, dealt before by the numbers of their updates.
    Dealt,
    /// 256 ranges, consecutive ones to each thread.
    Fixed,
}

text_form!(
    Division,
    "division",
    Division::Stealing = "stealing",
    Division::Dealt = "dealt",
    Division::Fixed = "fixed"
);

/// Ranges of the fixed division.
const FIXED_RANGES: usize = 256;

/// Returns the places in `busy` of the shards that each task takes; tasks are run by idle threads. `busy` are
/// those of `shard_count` shards, by number, that have updates, and how many each. Shards are taken by
/// ranges of numbers, of which there is one for every 2^bias updates.
pub(super) fn deal(
    (division, bias): (Division, u32),
    shard_count: usize,
    busy: &[(usize, u64)],
    thread_count: usize,
) -> Vec<Vec<usize>> {
    let total: u64 = busy.iter().map(|(_, updates)| updates).sum();
    let range_count = match division {
        Division::Fixed => FIXED_RANGES,
        _ => total.checked_shr(bias).unwrap_or(0).next_power_of_two() as usize,
    };
    let range_len = shard_count.div_ceil(range_count).max(1);
    let mut ranges: Vec<Vec<usize>> = Vec::new();
    let mut next = 0;
    for range in busy.chunk_by(|a, b| a.0 / range_len == b.0 / range_len) {
        ranges.push((next..next + range.len()).collect());
        next += range.len();
    }
    let mean = total.div_ceil(thread_count as u64);
    let of_range = |range: &[usize]| range.iter().map(|&place| busy[place].1).sum::<u64>();
    let mut tasks = vec![(0, Vec::new()); thread_count];
    match division {
        Division::Stealing => return ranges,
        Division::Dealt => {
            for range in ranges {
                let load = of_range(&range);
                let fits = |task: &&mut (u64, Vec<usize>)| 20 * (task.0 + load) <= 19 * mean;
                let idle = tasks.iter_mut().filter(fits).min_by_key(|task| task.0);
                let task = match idle {
                    Some(task) => task,
                    None => tasks.iter_mut().min_by_key(|task| task.0).expect("a thread"),
                };
                task.0 += load;
                task.1.extend(range);
            }
        }
        Division::Fixed => {
            let mut thread = 0;
            for range in ranges {
                if tasks[thread].0 >= mean && thread + 1 < thread_count {
                    thread += 1;
                }
                tasks[thread].0 += of_range(&range);
                tasks[thread].1.extend(range);
            }
        }
    }
    tasks.into_iter().map(|(_, shards)| shards).filter(|shards| !shards.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(division: Division, bias: u32, updates: &[u64], threads: usize) -> Vec<u64> {
        let busy: Vec<(usize, u64)> =
            (0..).zip(updates.iter().copied()).filter(|(_, count)| *count > 0).collect();
        let tasks = deal((division, bias), updates.len(), &busy, threads);
        let mut seen: Vec<usize> = tasks.concat();
        seen.sort_unstable();
        let places: Vec<usize> = (0..busy.len()).collect();
        assert_eq!(seen, places, "every shard with updates is taken once");
        tasks.iter().map(|task| task.iter().map(|&place| busy[place].1).sum()).collect()
    }

    #[test]
    fn dealing_is_more_even_than_the_fixed_division() {
        // Few shards of many updates, then many of few, as in a graph with hubs.
        let updates: Vec<u64> = (0..1000).map(|shard| 40_000 / (shard + 1)).collect();
        let worst = |division| *loads(division, 4, &updates, 4).iter().max().unwrap();
        let mean = updates.iter().sum::<u64>() / 4;
        assert!(worst(Division::Dealt) <= mean + mean / 100, "{}", worst(Division::Dealt));
        assert!(worst(Division::Fixed) > mean + mean / 10, "{}", worst(Division::Fixed));
    }

    #[test]
    fn ranges_are_as_many_as_the_bias_says() {
        let updates = [16; 64];
        assert_eq!(loads(Division::Stealing, 4, &updates, 2).len(), 64);
        assert_eq!(loads(Division::Stealing, 7, &updates, 2).len(), 8);
        assert_eq!(loads(Division::Dealt, 4, &updates, 2).len(), 2);
        assert_eq!(loads(Division::Stealing, 99, &updates, 2).len(), 1);
        assert_eq!(loads(Division::Stealing, 4, &[], 2).len(), 0);
        assert_eq!(loads(Division::Dealt, 4, &[0, 5, 0], 3), [5]);
        // Ranges of four shards, of which those without updates count.
        let updates = [8, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0, 17];
        assert_eq!(loads(Division::Stealing, 3, &updates, 2), [9, 2, 21]);
    }
}
