//! The bundled graph: which Debian package depends on which.
//!
//! The file says in its first lines where it comes from; `scripts/debian_graph.py` makes it.

use anyhow::{Context, Result, bail};

/// The name under which the demo leaves the file in its output.
pub(super) const FILE_NAME: &str = "debian-12-dependencies.tsv.zst";
/// The file: lines `package<TAB>package that it depends on`, compressed.
pub(super) const FILE: &[u8] = include_bytes!("../../data/debian-12-dependencies.tsv.zst");

/// The content of the file.
pub(super) struct Data {
    text: String,
}

impl Data {
    /// Decompresses the file.
    pub(super) fn load() -> Result<Self> {
        let bytes = zstd::decode_all(FILE).context("the bundled data is damaged")?;
        let text = String::from_utf8(bytes).context("the bundled data is damaged")?;
        Ok(Self { text })
    }

    /// Returns the edges in the order of the file.
    pub(super) fn edges(&self) -> Result<Vec<(&str, &str)>> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split_once('\t').context("the bundled data is damaged")).collect()
    }

    /// Says where the data comes from and what its edges are.
    pub(super) fn source(&self) -> Result<String> {
        let (origin, release) = (self.remark("origin")?, self.remark("release")?);
        Ok(format!("{origin}, release {release}; a recommendation counts as a dependency"))
    }

    /// Returns what a line `# key: value` says.
    fn remark(&self, key: &str) -> Result<&str> {
        let mut remarks = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let value = remarks.find_map(|remark| remark.strip_prefix(key)?.strip_prefix(": "));
        match value {
            Some(value) => Ok(value),
            None => bail!("the bundled data does not state its {key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_what_it_says() {
        let data = Data::load().unwrap();
        let edges = data.edges().unwrap();
        assert_eq!(edges.len().to_string(), data.remark("edges").unwrap());
        let mut distinct = edges.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), edges.len());
        assert!(data.source().unwrap().contains("Debian 12"));
        assert!(data.remark("nothing").is_err());
    }
}
