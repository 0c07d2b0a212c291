//! The steps of `everedge bench outofcore`: what a process does in a directory that all of them share.

use everedge::{Kernel, Order, SealOptions};
use serde::{Deserialize, Serialize};

use super::Plan;

/// What one process does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Writes the edges to a file.
    Edges,
    /// The same with weights.
    WeightedEdges,
    /// Seals the file for other steps.
    Seal(Sealed),
    /// Runs kernels on a CSR in memory, and keeps their answers.
    Answer { sealed: Sealed, plan: Plan },
    /// Runs a kernel on a sealed graph.
    Ask(Ask),
    /// Reads a file of so many bytes as fast as can be.
    Device { bytes: u64 },
    /// Seals the file within so many bytes of memory, or enough.
    SealWithin { directed: bool, memory: Option<u64> },
    /// Makes a CSR of the file, in memory.
    Csr { directed: bool },
}

/// A kernel on a sealed graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ask {
    pub(crate) sealed: Sealed,
    /// A plan of one kernel.
    plan: Plan,
    /// The budget, in bytes.
    pub(crate) memory: u64,
    /// Whether lists are read before they are wanted.
    pub(crate) reads_ahead: bool,
}

impl Ask {
    pub(crate) fn new(sealed: Sealed, kernel: Kernel, runs: u32, memory: u64) -> Self {
        Self { sealed, plan: Plan::new(&[kernel], Some(runs)), memory, reads_ahead: true }
    }

    /// Sets whether lists are read before they are wanted.
    pub(crate) fn reads_ahead(self, reads_ahead: bool) -> Self {
        Self { reads_ahead, ..self }
    }

    pub(crate) fn kernel(self) -> Kernel {
        self.plan.kernels().next().expect("it was made with one")
    }

    pub(crate) fn runs(self) -> u32 {
        self.plan.runs_of(self.kernel())
    }
}

/// How a graph is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) directed: bool,
    pub(crate) weighted: bool,
    pub(crate) order: Order,
    /// What part of vertices an order by steps numbers by steps.
    pub(crate) reordered: f64,
    pub(crate) compressed: bool,
    pub(crate) minis: bool,
    pub(crate) combined: bool,
    pub(crate) levels: Levels,
}

/// Which list goes into chunks of which size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Levels {
    /// Lists up to a quarter of their chunk, but for the largest.
    Usual,
    /// Up to half of that.
    Half,
    /// The smallest chunk that has room for a list: nearly the paper's thresholds.
    Full,
    /// All in chunks of 256 KiB, but for what is longer.
    Only256K,
    /// All in chunks of 2 MiB.
    Only2M,
}

impl Levels {
    /// All, the usual one first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Usual, Self::Half, Self::Full, Self::Only256K, Self::Only2M];

    /// Returns what it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Half => "half thresholds",
            Self::Full => "full chunks",
            Self::Only256K => "256 KiB only",
            Self::Only2M => "2 MiB only",
        }
    }

    /// Returns the longest list of each level, in bytes.
    fn list_bytes_max(self) -> [u32; 4] {
        let usual = SealOptions::default().list_bytes_max;
        // A chunk ends with a checksum of 4 bytes.
        let full = [4 << 10, 32 << 10, 256 << 10, 2 << 20].map(|bytes| bytes - 4);
        match self {
            Self::Usual => usual,
            Self::Half => usual.map(|bytes| bytes / 2),
            Self::Full => full,
            Self::Only256K => [0, 0, full[2], full[2]],
            Self::Only2M => [0, 0, 0, full[3]],
        }
    }
}

impl Sealed {
    /// Returns how graphs are sealed unless told.
    pub(crate) fn usual(directed: bool) -> Self {
        let SealOptions { order, reordered, compressed, minis, combined, .. } =
            SealOptions::default();
        let levels = Levels::Usual;
        Self { directed, weighted: false, order, reordered, compressed, minis, combined, levels }
    }

    /// Returns the paper's starting point: four bytes a neighbor, by ids, in chunks of one size.
    pub(crate) fn naive(directed: bool) -> Self {
        Self {
            order: Order::Ids,
            compressed: false,
            minis: false,
            combined: false,
            levels: Levels::Only256K,
            ..Self::usual(directed)
        }
    }

    pub(crate) fn options(self) -> SealOptions {
        SealOptions {
            order: self.order,
            reordered: self.reordered,
            compressed: self.compressed,
            minis: self.minis,
            combined: self.combined,
            list_bytes_max: self.levels.list_bytes_max(),
        }
    }

    /// Returns the name of its directory.
    pub(crate) fn name(self) -> String {
        let word = |is_so: bool, word: &'static str| if is_so { word } else { "" };
        let words = [
            "sealed",
            word(self.directed, "directed"),
            word(self.weighted, "weighted"),
            match self.order {
                Order::Degree => "degree",
                Order::Steps => "steps",
                Order::Ids => "ids",
            },
            word(self.compressed, "gaps"),
            word(self.minis, "minis"),
            word(self.combined, "combined"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let levels = self.levels.name().replace(' ', "-");
        format!("{}-{}-{levels}", words.join("-"), (100.0 * self.reordered) as u32)
    }

    /// Returns the name of the directory with the answers of kernels.
    pub(crate) fn answers_name(self) -> String {
        format!("answers-{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_that_are_sealed_in_several_ways_have_directories_of_their_own() {
        let usual = Sealed::usual(true);
        let mut all = vec![usual, Sealed::naive(true), Sealed::usual(false)];
        all.extend([0.5, 0.9].map(|reordered| Sealed { order: Order::Steps, reordered, ..usual }));
        all.extend(Levels::ALL[1..].iter().map(|&levels| Sealed { levels, ..usual }));
        all.push(Sealed { weighted: true, ..usual });
        all.iter().for_each(|sealed| sealed.options().check().unwrap());
        let mut names: Vec<String> = all.iter().map(|sealed| sealed.name()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
        assert_eq!(usual.options(), SealOptions::default());
    }

    #[test]
    fn an_ask_is_of_one_kernel() {
        let ask = Ask::new(Sealed::usual(true), Kernel::Wcc, 2, 1);
        assert_eq!((ask.kernel(), ask.runs()), (Kernel::Wcc, 2));
    }
}
