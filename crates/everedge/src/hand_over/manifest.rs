//! What a directory holds that an export has made: `manifest.json`, written last and read first.
//!
//! Each file stands in it with its length and its CRC32C, and so does the manifest itself: what is damaged, missing, cut off
//! or not of the export is found before the first edge is taken in.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use everedge_core::par;
use everedge_io::Format;
use everedge_live::IdKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result};

/// The file of a directory that says what it holds.
pub(super) const MANIFEST: &str = "manifest.json";
/// The version of the form of a manifest.
const VERSION: u32 = 1;
/// Bytes of a file that are read at once.
const READ_BYTES: usize = 1 << 20;
/// A manifest that is longer is none.
const MANIFEST_BYTES_MAX: u64 = 1 << 28;

/// What a directory holds. Serializes to its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The version of this form.
    everedge_export: u32,
    /// How the files are laid out, by its name on the command line.
    pub(super) format: String,
    /// Whether edges have a direction; without, each stands once, from the end with the smaller id.
    pub(crate) directed: bool,
    /// Whether edges have weights.
    pub(crate) weighted: bool,
    /// What ids are: `dense`, `integer` or `text`.
    ids: String,
    /// The number of vertices.
    pub(crate) vertices: u64,
    /// The number of edges.
    pub(crate) edges: u64,
    /// All files but this one.
    pub(super) files: Vec<FileEntry>,
    /// The CRC32C of this manifest with an empty text in this place.
    crc32c: String,
}

/// A file of a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    /// Its path in the directory.
    pub(super) file: String,
    /// Rows, if it is a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<u64>,
    /// The smallest and the largest source of its edges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src: Option<[Value; 2]>,
    pub(super) bytes: u64,
    pub(super) crc32c: String,
}

/// What a graph is like of which there is a manifest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) format: Format,
    pub(super) directed: bool,
    pub(super) weighted: bool,
    pub(super) ids: IdKind,
    pub(super) vertices: u64,
}

impl Manifest {
    pub(super) fn new(shape: Shape, edges: u64, files: Vec<FileEntry>) -> Self {
        let manifest = Self {
            everedge_export: VERSION,
            format: shape.format.name().to_owned(),
            directed: shape.directed,
            weighted: shape.weighted,
            ids: shape.ids.to_string(),
            vertices: shape.vertices,
            edges,
            files,
            crc32c: String::new(),
        };
        let crc32c = hex(crc32c::crc32c(manifest.to_text().as_bytes()));
        Self { crc32c, ..manifest }
    }

    /// Returns it as its file has it.
    pub(super) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a manifest is JSON");
        text.push('\n');
        text
    }

    /// Reads the manifest in a directory, if there is one that an export has written.
    ///
    /// # Errors
    /// `InvalidInput` if it is damaged or of a later version; `Io`.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(MANIFEST);
        if !path.is_file() {
            return Ok(None);
        }
        let at = |error| Error::io(&path, "read", error);
        let mut text = String::new();
        let file = open(&path)?.take(MANIFEST_BYTES_MAX);
        let is_text = { file }.read_to_string(&mut text);
        match is_text {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(damaged(&path, "it is no text"));
            }
            other => other.map_err(at)?,
        };
        if !text.contains("\"everedge_export\"") {
            return Ok(None);
        }
        #[derive(Deserialize)]
        struct OfVersion {
            everedge_export: u32,
        }
        let version: OfVersion =
            serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        if version.everedge_export != VERSION {
            return Err(Error::invalid(format!(
                "`{}` has version {}, and this program reads version {VERSION}: use the one that wrote it",
                path.display(),
                version.everedge_export
            )));
        }
        let manifest: Self =
            serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        let empty = Self { crc32c: String::new(), ..manifest.clone() };
        if hex(crc32c::crc32c(empty.to_text().as_bytes())) != manifest.crc32c {
            return Err(damaged(&path, "its checksum is that of other text"));
        }
        Ok(Some(manifest))
    }

    pub(super) fn format(&self) -> Option<Format> {
        Format::from_name(&self.format)
    }

    pub(crate) fn ids(&self) -> Option<IdKind> {
        let kinds = [IdKind::Dense, IdKind::Integer, IdKind::Text];
        kinds.into_iter().find(|kind| kind.to_string() == self.ids)
    }

    /// Returns the bytes of all files.
    pub(super) fn byte_count(&self) -> u64 {
        self.files.iter().map(|entry| entry.bytes).sum()
    }

    /// Checks that all files are there as they were written, and no others.
    ///
    /// # Errors
    /// `InvalidInput` names the first file that is not so.
    pub(super) fn check(&self, directory: &Path) -> Result<()> {
        if let Some(entry) = self.files.iter().find(|entry| !entry.is_inside()) {
            let file = &entry.file;
            return Err(damaged(
                &directory.join(MANIFEST),
                &format!("`{file}` lies outside of it"),
            ));
        }
        let is_shown = |path: &&PathBuf| !is_hidden(path.strip_prefix(directory).unwrap_or(path));
        if let Some(other) = self.others_in(directory)?.iter().find(is_shown) {
            return Err(Error::invalid(format!(
                "`{}` is not of the export in `{}`: move it away, or name the files to take in",
                other.display(),
                directory.display()
            )));
        }
        let checked = par::map_chunks(&self.files, 1, |entry| entry[0].check(directory));
        checked.into_iter().collect()
    }

    /// Returns the files in and below a directory that are not of the export.
    pub(super) fn others_in(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let files = self.files.iter().map(|entry| directory.join(&entry.file));
        let known: BTreeSet<PathBuf> = files.chain([directory.join(MANIFEST)]).collect();
        let (mut others, mut directories) = (Vec::new(), vec![directory.to_owned()]);
        while let Some(directory) = directories.pop() {
            let at = |error| Error::io(&directory, "read", error);
            for entry in directory.read_dir().map_err(at)? {
                let entry = entry.map_err(at)?;
                match entry.file_type().map_err(at)?.is_dir() {
                    true => directories.push(entry.path()),
                    false if known.contains(&entry.path()) => {}
                    false => others.push(entry.path()),
                }
            }
        }
        others.sort_unstable();
        Ok(others)
    }
}

impl FileEntry {
    /// Returns whether its path leads to a file of the directory.
    fn is_inside(&self) -> bool {
        Path::new(&self.file).components().all(|part| matches!(part, Component::Normal(_)))
    }

    fn check(&self, directory: &Path) -> Result<()> {
        let path = directory.join(&self.file);
        let shown = path.display();
        let again = "export the graph again, or copy the directory once more";
        let metadata = match path.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let what = format!("`{shown}` is missing, which `{MANIFEST}` names: {again}");
                return Err(Error::invalid(what));
            }
            other => other.map_err(|error| Error::io(&path, "examine", error))?,
        };
        if metadata.len() != self.bytes {
            let (found, expected) = (metadata.len(), self.bytes);
            return Err(Error::invalid(format!(
                "`{shown}` has {found} bytes, and had {expected} when it was written: {again}"
            )));
        }
        let found = hex(crc_of(&path)?);
        if found != self.crc32c {
            let expected = &self.crc32c;
            return Err(Error::invalid(format!(
                "`{shown}` is damaged: its CRC32C is {found}, and was {expected}: {again}"
            )));
        }
        Ok(())
    }
}

/// Returns whether a path leads to a hidden file, or a mark that another program has left.
fn is_hidden(path: &Path) -> bool {
    path.iter().any(|name| name.to_string_lossy().starts_with(['.', '_']))
}

/// Returns the CRC32C of a file.
fn crc_of(path: &Path) -> Result<u32> {
    let (mut file, mut crc) = (open(path)?, 0);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer).map_err(|error| Error::io(path, "read", error))? {
            0 => return Ok(crc),
            count => crc = crc32c::crc32c_append(crc, &buffer[..count]),
        }
    }
}

/// Returns a checksum as a manifest has it.
pub(super) fn hex(crc: u32) -> String {
    format!("{crc:08x}")
}

#[expect(clippy::disallowed_methods, reason = "a file of an export, read only")]
pub(super) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io(path, "open", error))
}

fn damaged(path: &Path, reason: &str) -> Error {
    let path = path.display();
    Error::invalid(format!(
        "`{path}` is damaged: {reason}; export the graph again, or copy it once more"
    ))
}
