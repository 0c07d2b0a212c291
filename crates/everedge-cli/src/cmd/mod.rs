//! One command a file.

pub(crate) mod bench;
pub(crate) mod compact;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod ingest;
pub(crate) mod run;
pub(crate) mod stats;
pub(crate) mod tuning;
pub(crate) mod verify;

use clap::ValueEnum;
use everedge::Format;
use serde::{Deserialize, Serialize};

/// Reads a word that the facade knows.
pub(crate) fn parsed<T>(word: &str) -> Result<T, String>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    word.parse().map_err(|error: T::Err| error.to_string())
}

/// Reads a number of bytes with K, M or G for powers of 1,024.
pub(crate) fn size(word: &str) -> Result<u64, String> {
    let number = word.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match word[number.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("give a number and at most one of K, M, G".into()),
    };
    let number: u64 = number.parse().map_err(|_| "give a number and K, M or G")?;
    number.checked_mul(1 << shift).ok_or_else(|| "that is too large".into())
}

/// A file format by name, or `auto` to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatChoice(pub Option<Format>);

impl std::str::FromStr for FormatChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match (word, Format::from_name(word)) {
            ("auto", _) => Ok(Self(None)),
            (_, Some(format)) => Ok(Self(Some(format))),
            _ => {
                let names = Format::ALL.map(Format::name).join(", ");
                Err(format!("there are auto, {names}"))
            }
        }
    }
}

/// A medium by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Medium {
    /// Files on an SSD.
    File,
    /// Persistent memory: a DAX file system, or any with --emulate-pmem.
    Pmem,
    /// Memory only; nothing survives.
    Dram,
}
