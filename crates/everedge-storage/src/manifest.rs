//! The manifest: what was fixed when a graph was created.
//!
//! A small TOML text under a checksum, published as one whole file, last of all the files of a
//! new graph: a directory without it is not a graph. `docs/format.md` §2.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adjacency::AdjacencyOptions;
use crate::medium::{MediumKind, Volume, VolumeOptions};
use crate::pma::PmaOptions;
use crate::text_form::text_form;
use crate::{Error, Result};

/// The file that makes a directory a graph.
pub const MANIFEST: &str = "manifest.toml";
const MANIFEST_BYTES_MAX: u64 = 16 << 10;
const FORMAT: u32 = 2;
const CHECKSUM_KEY: &str = "checksum = \"crc32c:";

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

/// How a live graph keeps neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Vertex-buffered adjacency lists (XPGraph).
    #[default]
    Adjacency,
    /// Packed memory arrays: a CSR with gaps (DGAP).
    Pma,
}

text_form!(
    Durability,
    "durability",
    Durability::Edge = "edge",
    Durability::Batch = "batch",
    Durability::None = "none"
);
text_form!(Layout, "layout", Layout::Adjacency = "adjacency", Layout::Pma = "pma");
text_form!(
    IdKind,
    "kind of ids",
    IdKind::Dense = "dense",
    IdKind::Integer = "integer",
    IdKind::Text = "text"
);

/// What is fixed when a graph is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphOptions {
    /// How neighbors are kept.
    pub layout: Layout,
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
    #[serde(default)]
    pub preallocate_bytes: u64,
    /// How the `adjacency` layout works.
    #[serde(default)]
    pub adjacency: AdjacencyOptions,
    /// How the `pma` layout works.
    #[serde(default)]
    pub pma: PmaOptions,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            layout: Layout::Adjacency,
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
            adjacency: AdjacencyOptions::default(),
            pma: PmaOptions::default(),
        }
    }
}

impl GraphOptions {
    /// Returns the lists that a vertex has: out- and in-neighbors, or one list.
    pub(crate) fn list_count(&self) -> usize {
        if self.directed && self.in_neighbors { 2 } else { 1 }
    }

    /// Returns the words of an entry of a list: a neighbor, and its weight if there are weights.
    pub(crate) fn entry_words(&self) -> usize {
        if self.weighted { 2 } else { 1 }
    }

    /// Returns what the medium needs to know.
    pub fn volume(&self, meter: bool) -> VolumeOptions {
        VolumeOptions { kind: self.medium, eadr: self.eadr, meter }
    }
}

/// The identity and the fixed options of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the on-disk format.
    pub format: u32,
    /// Names this graph; every file of it carries the name.
    pub uuid: String,
    /// What was chosen at creation.
    pub options: GraphOptions,
}

impl Manifest {
    /// Returns a manifest with a new random identity.
    pub fn new(options: GraphOptions) -> Self {
        Self { format: FORMAT, uuid: uuid::Uuid::new_v4().to_string(), options }
    }

    /// Returns the start value of every checksum in the graph's files, drawn from its identity.
    pub(crate) fn salt(&self) -> u32 {
        crc32c::crc32c(self.uuid.as_bytes())
    }

    /// Writes the manifest as one whole file.
    pub(crate) fn publish(&self, volume: &Volume) -> Result<()> {
        volume.publish(MANIFEST, self.encode()?.as_bytes())
    }

    /// Reads and checks the manifest of an open volume.
    pub(crate) fn read(volume: &Volume) -> Result<Self> {
        let bytes = volume.read(MANIFEST, MANIFEST_BYTES_MAX)?;
        Self::decode(&bytes, &volume.path().join(MANIFEST))
    }

    /// Reads the manifest in the directory `path` without opening the graph.
    ///
    /// # Errors
    /// `NotAGraph` if there is none; `Version` if it is newer; `Corruption` if it is damaged.
    pub fn peek(path: &Path) -> Result<Self> {
        let bytes = crate::medium::read_file(path, MANIFEST, MANIFEST_BYTES_MAX)?;
        Self::decode(&bytes, &path.join(MANIFEST))
    }

    fn encode(&self) -> Result<String> {
        let body = toml::to_string(self)
            .map_err(|error| Error::InvalidInput { what: format!("the manifest: {error}") })?;
        Ok(format!("{CHECKSUM_KEY}{:08x}\"\n{body}", crc32c::crc32c(body.as_bytes())))
    }

    fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let damaged = |what: &str, expected: &str, found: String| Error::Corruption {
            path: path.to_owned(),
            offset: 0,
            what: what.into(),
            expected: expected.into(),
            found,
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|error| damaged("the manifest", "text", error.to_string()))?;
        let (checksum, body) =
            text.strip_prefix(CHECKSUM_KEY).and_then(|rest| rest.split_once("\"\n")).ok_or_else(
                || damaged("the manifest", "a checksum in its first line", "none".into()),
            )?;
        let computed = format!("{:08x}", crc32c::crc32c(body.as_bytes()));
        if checksum != computed {
            return Err(damaged("the manifest's checksum", &computed, checksum.into()));
        }
        let format = body.lines().find_map(|line| line.strip_prefix("format = ")?.parse().ok());
        if let Some(found) = format.filter(|&found: &u32| found != FORMAT) {
            return Err(Error::Version { path: path.to_owned(), found, supported: FORMAT });
        }
        toml::from_str(body)
            .map_err(|error| damaged("the manifest", "known keys", error.message().into()))
    }
}

/// `MediumKind` in words: `file`, `pmem`, `pmem-emulated`, `dram`.
mod medium_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use crate::medium::MediumKind;

    const EMULATED: &str = "pmem-emulated";

    pub(super) fn serialize<S: Serializer>(kind: &MediumKind, s: S) -> Result<S::Ok, S::Error> {
        match kind {
            MediumKind::Pmem { emulated: true } => s.serialize_str(EMULATED),
            other => s.collect_str(other),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MediumKind, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            EMULATED => Ok(MediumKind::Pmem { emulated: true }),
            other => other.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_encodes() {
        let manifest = Manifest::new(GraphOptions {
            medium: MediumKind::Pmem { emulated: true },
            ids: IdKind::Text,
            ..GraphOptions::default()
        });
        let text = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(text.as_bytes(), Path::new("m")).unwrap(), manifest);
    }

    #[test]
    fn options_that_an_older_graph_does_not_know_are_left_open() {
        let text = Manifest::new(GraphOptions::default()).encode().unwrap();
        assert!(!text.contains("merging") && !text.contains("io_threshold"), "{text}");
        let manifest = Manifest::decode(text.as_bytes(), Path::new("m")).unwrap();
        assert_eq!(manifest.options, GraphOptions::default());
    }

    #[test]
    fn any_flipped_byte_is_an_error() {
        let text = Manifest::new(GraphOptions::default()).encode().unwrap();
        for index in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[index] ^= 0x11;
            assert!(Manifest::decode(&bytes, Path::new("m")).is_err(), "byte {index}");
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let manifest = Manifest { format: FORMAT + 1, ..Manifest::new(GraphOptions::default()) };
        let text = manifest.encode().unwrap();
        let error = Manifest::decode(text.as_bytes(), Path::new("m")).unwrap_err();
        assert!(matches!(error, Error::Version { .. }), "{error}");
    }
}
