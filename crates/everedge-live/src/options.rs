//! What is fixed when a live graph is created, whatever its layout.

use std::marker::PhantomData;

use everedge_medium::{MediumKind, VolumeOptions};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text_form;

/// When a call's updates are safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Each single insert is safe on return.
    Edge,
    /// Each batch is safe on return.
    #[default]
    Batch,
    /// Safe after `sync` or a clean close.
    None,
}

/// What external ids are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Integers below 2^31, used as they are.
    #[default]
    Dense,
    /// Any integers below 2^64, through the id map.
    Integer,
    /// Strings, through the id map.
    Text,
}

text_form!(
    Durability,
    "durability",
    Durability::Edge = "edge",
    Durability::Batch = "batch",
    Durability::None = "none"
);
text_form!(
    IdKind,
    "kind of ids",
    IdKind::Dense = "dense",
    IdKind::Integer = "integer",
    IdKind::Text = "text"
);

/// The options of one layout: what changes speed and space, but never an answer.
pub trait LayoutOptions:
    Clone + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync
{
    /// What the layout is called.
    const NAME: &'static str;
}

/// The name of a layout where it is written down; no other can be read as it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutName<L>(PhantomData<L>);

impl<L: LayoutOptions> Serialize for LayoutName<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(L::NAME)
    }
}

impl<'de, L: LayoutOptions> Deserialize<'de> for LayoutName<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match name == L::NAME {
            true => Ok(Self(PhantomData)),
            false => Err(D::Error::custom(format!("layout {name}, not {}", L::NAME))),
        }
    }
}

/// What is fixed when a graph is created; `L` are the options of its layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "L: LayoutOptions")]
pub struct GraphOptions<L> {
    /// How neighbors are kept.
    pub layout: LayoutName<L>,
    /// Where bytes live.
    #[serde(with = "medium_text")]
    pub medium: MediumKind,
    /// Whether the power-fail domain takes in the processor's caches, so that nothing is flushed.
    pub eadr: bool,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry an `f32` weight.
    pub weighted: bool,
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// Whether a directed graph keeps in-neighbors beside out-neighbors.
    pub in_neighbors: bool,
    /// What external ids are.
    pub ids: IdKind,
    /// When a call's updates are safe.
    pub durability: Durability,
    /// The bytes that the circular edge log may take.
    pub log_bytes: u64,
    /// Bytes set aside at creation for what the log will have to move elsewhere; if there are any,
    /// the log takes all its bytes at creation too. A close gives back what was not used.
    pub preallocate_bytes: u64,
    /// How the layout works.
    pub tuning: L,
}

impl<L: LayoutOptions> Default for GraphOptions<L> {
    fn default() -> Self {
        Self {
            layout: LayoutName(PhantomData),
            medium: MediumKind::File,
            eadr: false,
            directed: true,
            weighted: false,
            simple: false,
            in_neighbors: true,
            ids: IdKind::Dense,
            durability: Durability::Batch,
            log_bytes: 1 << 30,
            preallocate_bytes: 0,
            tuning: L::default(),
        }
    }
}

impl<L> GraphOptions<L> {
    /// Returns the lists that a vertex has: out- and in-neighbors, or one list.
    pub fn list_count(&self) -> usize {
        if self.directed && self.in_neighbors { 2 } else { 1 }
    }

    /// Returns the words of an entry of a list: a neighbor, and its weight if there are weights.
    pub fn entry_words(&self) -> usize {
        if self.weighted { 2 } else { 1 }
    }

    /// Returns what the medium needs to know.
    pub fn volume(&self, meter: bool) -> VolumeOptions {
        VolumeOptions { kind: self.medium, eadr: self.eadr, meter }
    }
}

/// What has to be known of a directory before it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphHead {
    /// What the layout of a live graph is called.
    pub layout: Option<String>,
    /// Where bytes live.
    #[serde(with = "medium_text")]
    pub medium: MediumKind,
    /// Whether the power-fail domain takes in the processor's caches.
    pub eadr: bool,
}

impl GraphHead {
    /// Returns what the medium needs to know.
    pub fn volume(&self, meter: bool) -> VolumeOptions {
        VolumeOptions { kind: self.medium, eadr: self.eadr, meter }
    }
}

/// `MediumKind` in words: `file`, `pmem`, `pmem-emulated`, `dram`.
pub mod medium_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use everedge_medium::MediumKind;

    const EMULATED: &str = "pmem-emulated";

    /// Writes the word.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(kind: &MediumKind, s: S) -> Result<S::Ok, S::Error> {
        match kind {
            MediumKind::Pmem { emulated: true } => s.serialize_str(EMULATED),
            other => s.collect_str(other),
        }
    }

    /// Reads the word.
    ///
    /// # Errors
    /// If it is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MediumKind, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            EMULATED => Ok(MediumKind::Pmem { emulated: true }),
            other => other.parse().map_err(D::Error::custom),
        }
    }
}
