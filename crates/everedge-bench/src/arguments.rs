//! Words and numbers of the command line.

use std::ffi::OsStr;

use anyhow::Result;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, ValueEnum};
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

/// Reads a word by a function, and tells completions which words there are. The help says what they mean: the argument is to
/// hide them.
#[derive(Clone)]
pub struct Words<F> {
    words: Vec<&'static str>,
    read: F,
}

impl<F> Words<F> {
    /// Returns what reads one of `words` by `read`.
    pub fn new(words: impl IntoIterator<Item = &'static str>, read: F) -> Self {
        Self { words: words.into_iter().collect(), read }
    }
}

impl<F, T> TypedValueParser for Words<F>
where
    F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.words.iter().map(|word| PossibleValue::new(*word));
        (!self.words.is_empty()).then(|| Box::new(words) as Box<dyn Iterator<Item = _>>)
    }
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
