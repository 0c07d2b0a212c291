//! Words and numbers of the command line.

use anyhow::Result;
use clap::ValueEnum;
use everedge::{Generator, MediumKind};
use serde::{Deserialize, Serialize};

/// Reads a word that the facade knows.
///
/// # Errors
/// If it does not know the word: what it knows.
pub fn parsed<T>(word: &str) -> Result<T, String>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    word.parse().map_err(|error: T::Err| error.to_string())
}

/// A medium by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// Files on an SSD.
    File,
    /// Persistent memory: a DAX file system, or any with --emulate-pmem.
    Pmem,
    /// Memory only; nothing survives.
    Dram,
}

impl Medium {
    /// Returns the medium; persistent memory is the real one or an emulated one.
    pub fn kind(self, emulated: bool) -> MediumKind {
        match self {
            Self::File => MediumKind::File,
            Self::Pmem => MediumKind::Pmem { emulated },
            Self::Dram => MediumKind::Dram,
        }
    }

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Pmem => "pmem",
            Self::Dram => "dram",
        }
    }
}

/// A kind of synthetic graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphKind {
    /// Graph500's Kronecker graph with GAP's parameters.
    Kron,
    /// Edges between ids that are all equally likely.
    Uniform,
}

impl GraphKind {
    /// Returns the description of a graph of this kind with `2^scale` ids.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn generator(self, scale: u32, degree: u32, seed: u64) -> Result<Generator> {
        Ok(match self {
            Self::Kron => Generator::kron(scale, degree, seed)?,
            Self::Uniform => Generator::uniform(scale, degree, seed)?,
        })
    }
}
