//! The manifest: what a directory holds, and what was fixed when it was made.
//!
//! A small TOML text under a checksum, published as one whole file, last of all the files of a
//! new directory: without it a directory holds nothing. It names a kind and has the options of that
//! kind only. `docs/format.md` §2.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::volume::Volume;
use crate::{Error, Result};

/// The file that makes a directory a graph, a timeline or a sealed graph.
pub const MANIFEST: &str = "manifest.toml";
const MANIFEST_BYTES_MAX: u64 = 16 << 10;
const FORMAT: u32 = 6;
const CHECKSUM_KEY: &str = "checksum = \"crc32c:";

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A live graph.
    Graph,
    /// A history of versions.
    Timeline,
    /// A sealed graph.
    Chunks,
}

/// The identity and the fixed options of a directory; `O` are the options of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest<O> {
    /// The version of the on-disk format.
    pub format: u32,
    /// What the directory holds.
    pub kind: Kind,
    /// Names what is in it; every file carries a mark drawn from the name.
    pub uuid: String,
    /// What was chosen at creation.
    pub options: O,
}

impl<O: Serialize + DeserializeOwned> Manifest<O> {
    /// Returns a manifest with a new random identity.
    pub fn new(kind: Kind, options: O) -> Self {
        Self { format: FORMAT, kind, uuid: uuid::Uuid::new_v4().to_string(), options }
    }

    /// Returns the manifest of the same directory with other options.
    pub fn with_options<P>(self, options: P) -> Manifest<P> {
        Manifest { format: self.format, kind: self.kind, uuid: self.uuid, options }
    }

    /// Returns the start value of every checksum in the files, drawn from its identity.
    pub fn salt(&self) -> u32 {
        crc32c::crc32c(self.uuid.as_bytes())
    }

    /// Writes the manifest as one whole file.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; there is no manifest then.
    #[track_caller]
    pub fn publish(&self, volume: &Volume) -> Result<()> {
        volume.publish(MANIFEST, self.encode()?.as_bytes())
    }

    /// Reads and checks the manifest of an open volume.
    ///
    /// # Errors
    /// As [`Self::peek`].
    pub fn read(volume: &Volume) -> Result<Self> {
        let bytes = volume.read(MANIFEST, MANIFEST_BYTES_MAX)?;
        Self::decode(&bytes, &volume.path().join(MANIFEST))
    }

    /// Reads the manifest in the directory `path` without locking it.
    ///
    /// # Errors
    /// `NotAGraph` if there is none; `Version` if it is newer; `Corruption` if it is damaged.
    pub fn peek(path: &Path) -> Result<Self> {
        let bytes = crate::directory::read_file(path, MANIFEST, MANIFEST_BYTES_MAX)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        weighted: bool,
        log_bytes: u64,
    }

    fn manifest() -> Manifest<Options> {
        Manifest::new(Kind::Graph, Options { weighted: true, log_bytes: 1 << 30 })
    }

    fn decode(text: &str) -> Result<Manifest<Options>> {
        Manifest::decode(text.as_bytes(), Path::new("m"))
    }

    #[test]
    fn decodes_what_it_encodes() {
        let manifest = manifest();
        assert_eq!(decode(&manifest.encode().unwrap()).unwrap(), manifest);
    }

    #[test]
    fn any_flipped_byte_is_an_error() {
        let text = manifest().encode().unwrap();
        for index in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[index] ^= 0x11;
            let read = Manifest::<Options>::decode(&bytes, Path::new("m"));
            assert!(read.is_err(), "byte {index}");
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let newer = Manifest { format: FORMAT + 1, ..manifest() };
        let error = decode(&newer.encode().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Version { .. }), "{error}");
    }
}
