//! What the experiments of the papers measure: cases, and where they stand in a plot.

use anyhow::Result;
use everedge::{Compacting, Deleting, Division, Kernel, Merging};

use crate::arguments::Medium;
use crate::harness::{Case, Common, Configuration, Plan, Work};
use crate::measurements::recovery;

/// How often kernels run where merging is compared.
const MERGING_RUNS: u32 = 9;

/// A case and where it stands in the plot.
pub(crate) struct Point {
    /// The line that it is part of.
    pub(crate) series: String,
    /// Its position on the horizontal axis.
    pub(crate) x: f64,
    /// What is written there.
    pub(crate) label: String,
    pub(crate) case: Case,
}

/// What the experiments start from.
pub(crate) struct Setting<'a> {
    pub(crate) common: &'a Common,
    pub(crate) scale: u32,
    /// Ascending.
    pub(crate) threads: &'a [usize],
}

impl Setting<'_> {
    /// Returns what is not varied.
    pub(crate) fn base(&self) -> Configuration {
        let threads = self.threads.last().copied().unwrap_or(1);
        Configuration { scale: self.scale, threads, ..Configuration::default() }
    }

    /// Returns the base on each of these media.
    pub(crate) fn media(&self, media: &[Medium]) -> Vec<Configuration> {
        let on = |&medium: &Medium| Configuration { medium, ..self.base() };
        media.iter().map(on).collect()
    }

    /// Returns a line for each medium that survives, over values at their positions.
    pub(crate) fn lines<T: Clone>(
        &self,
        values: &[(f64, T)],
        set: impl Fn(&mut Configuration, T),
        label: impl Fn(&T) -> String,
    ) -> Vec<Point> {
        let media = self.media(&recovery::MEDIA);
        let line = |on: &Configuration| lines_of(on.medium.word(), on, values, &set, &label);
        media.iter().flat_map(line).collect()
    }

    /// Returns points over graphs up to the setting's, each four times as large as the one before.
    pub(crate) fn scales(&self) -> Vec<Point> {
        let mut scales: Vec<u32> = [4, 2, 0].map(|less| self.scale.saturating_sub(less)).into();
        scales.dedup();
        let values: Vec<(f64, u32)> = scales.into_iter().map(|s| (f64::from(s), s)).collect();
        self.lines(&values, |one, value| one.scale = value, u32::to_string)
    }

    /// Returns points over buffers that all have one size.
    pub(crate) fn fixed_buffers(&self, sizes: &[u32]) -> Vec<Point> {
        self.buffers("fixed", sizes, |one, size| one.options.adjacency.buffer_bytes_min = size)
    }

    /// Returns points over the largest size of buffers that grow.
    pub(crate) fn hierarchical_buffers(&self, sizes: &[u32]) -> Vec<Point> {
        self.buffers("hierarchical", sizes, |_, _| ())
    }

    /// Returns points over the largest size of buffers. None is wider, as in the paper.
    fn buffers(
        &self,
        series: &str,
        sizes: &[u32],
        set: impl Fn(&mut Configuration, u32),
    ) -> Vec<Point> {
        let point = |&size: &u32| {
            let mut one = self.base();
            one.options.adjacency.buffer_bytes_max = size;
            one.options.adjacency.wide_buffer_bytes = Some(size);
            set(&mut one, size);
            ingest(series.to_owned(), f64::from(size).log2(), size.to_string(), one)
        };
        sizes.iter().map(point).collect()
    }

    /// Returns the base with each way to divide archiving among threads.
    pub(crate) fn divisions(&self) -> Vec<Point> {
        let point = |(index, division): (usize, Division)| {
            let mut one = self.base();
            one.options.adjacency.division = division;
            ingest(division.to_string(), index as f64, division.to_string(), one)
        };
        let all = [Division::Fixed, Division::Dealt, Division::Stealing];
        all.into_iter().enumerate().map(point).collect()
    }

    /// Returns the base with deletion and compaction the naive way, on persistent memory.
    pub(crate) fn naive(&self) -> Point {
        let mut one = self.base();
        one.options.adjacency.compaction = Compacting::Naive;
        one.options.adjacency.deletion = Deleting::Naive;
        ingest("pmem, naive".to_owned(), 2.0, "pmem, naive".to_owned(), one)
    }

    /// Returns kernels over numbers of threads on a file, a line for each way to merge. Archived is
    /// from as few updates on as in the paper: lists are merged between two rounds.
    pub(crate) fn mergings(&self) -> Vec<Point> {
        let all = [Merging::Never, Merging::Always, Merging::Adaptive];
        let kernels = [Kernel::Bfs, Kernel::PageRank];
        let work = Work::Kernels(Plan::new(&kernels, Some(MERGING_RUNS)));
        let points = |merging: Merging| {
            self.threads.iter().map(move |&threads| {
                let mut configuration =
                    Configuration { medium: Medium::File, threads, ..self.base() };
                configuration.options.adjacency.merging = Some(merging);
                configuration.archive_from(1 << 16);
                Point {
                    series: merging.to_string(),
                    x: threads as f64,
                    label: threads.to_string(),
                    case: Case { work, configuration },
                }
            })
        };
        all.into_iter().flat_map(points).collect()
    }

    /// Returns points over the size of the pool, from a sixteenth of what is needed to twice it.
    ///
    /// # Errors
    /// If there is no such graph.
    pub(crate) fn pools(&self) -> Result<Vec<Point>> {
        let base = self.base();
        let needed = self.buffer_bytes_needed(&base)?;
        let shares = [("1/16", -4), ("1/8", -3), ("1/4", -2), ("1/2", -1), ("1", 0), ("2", 1)];
        let point = |(label, power): (&str, i32)| {
            let mut one = base.clone();
            let pool = needed as f64 * f64::from(power).exp2();
            one.options.adjacency.buffer_pool_bytes = pool as u64;
            ingest("pmem".to_owned(), f64::from(power), label.to_owned(), one)
        };
        Ok(shares.map(point).into())
    }

    /// Returns the bytes of the buffers of all vertices, if none is ever flushed before it is
    /// full: for each list the power of two that takes it, within the limits.
    fn buffer_bytes_needed(&self, configuration: &Configuration) -> Result<u64> {
        let generator = self.common.generator(configuration.scale)?;
        let mut degrees = vec![[0u32; 2]; generator.vertex_bound() as usize];
        for (u, v) in generator.edges(0..generator.edge_count()) {
            degrees[u as usize][0] += 1;
            degrees[v as usize][1] += 1;
        }
        let buffers = &configuration.options.adjacency;
        let (min, max) = (buffers.buffer_bytes_min.into(), buffers.buffer_bytes_max.into());
        let needed = |degree: u32| match degree {
            0 => 0,
            _ => (4 * u64::from(degree)).next_power_of_two().clamp(min, max),
        };
        Ok(degrees.as_flattened().iter().map(|&degree| needed(degree)).sum())
    }
}

/// Returns a line over values at their positions.
pub(crate) fn lines_of<T: Clone>(
    series: &str,
    base: &Configuration,
    values: &[(f64, T)],
    set: impl Fn(&mut Configuration, T),
    label: impl Fn(&T) -> String,
) -> Vec<Point> {
    let point = |(x, value): &(f64, T)| {
        let mut configuration = base.clone();
        set(&mut configuration, value.clone());
        ingest(series.to_owned(), *x, label(value), configuration)
    };
    values.iter().map(point).collect()
}

/// Returns an ingest for each medium.
pub(crate) fn bars(configurations: Vec<Configuration>) -> Vec<Point> {
    let point = |(index, one): (usize, Configuration)| {
        let word = one.medium.word().to_owned();
        ingest(word.clone(), index as f64, word, one)
    };
    configurations.into_iter().enumerate().map(point).collect()
}

pub(crate) fn ingest(series: String, x: f64, label: String, configuration: Configuration) -> Point {
    Point { series, x, label, case: Case { work: Work::Ingest { meter: false }, configuration } }
}

/// A number as an exponent is written.
pub(crate) fn superscript(number: u32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map(|digit| digits[digit as usize]);
    number.to_string().chars().filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_raised() {
        assert_eq!(superscript(10) + &superscript(4), "¹⁰⁴");
    }

    #[test]
    fn pools_are_shares_of_what_the_degrees_ask_for() {
        let common = Common {
            degree: 16,
            trials: 1,
            directory: "file".into(),
            pmem_directory: "pmem".into(),
        };
        let setting = Setting { common: &common, scale: 4, threads: &[1] };
        let pools = setting.pools().unwrap();
        let needed = setting.buffer_bytes_needed(&setting.base()).unwrap();
        // 256 edges both ways are 2 KiB; a buffer is at most twice what is in it.
        assert!((2048..4096).contains(&needed), "{needed}");
        let size = |point: &Point| point.case.configuration.options.adjacency.buffer_pool_bytes;
        let sizes: Vec<u64> = pools.iter().map(size).collect();
        assert_eq!(
            sizes,
            [16, 8, 4, 2, 1]
                .map(|part| needed / part)
                .into_iter()
                .chain([2 * needed])
                .collect::<Vec<_>>()
        );
    }
}
