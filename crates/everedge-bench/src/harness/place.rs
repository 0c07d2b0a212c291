//! Where the graph of a measurement lies, and that nothing of it stays.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Common, Configuration};
use crate::arguments::Medium;

/// How the directory of a process's graph begins; its number follows.
const PREFIX: &str = "graph-";

/// The directories of all media that are measured. Dropping it removes what is in them.
pub(crate) struct Places {
    pmem: Option<Place>,
    file: Option<Place>,
}

impl Places {
    /// Makes the directories for the media of `configurations`.
    ///
    /// # Errors
    /// If a directory cannot be made.
    pub(crate) fn prepare<'a>(
        common: &Common,
        configurations: impl Iterator<Item = &'a Configuration> + Clone,
    ) -> Result<Self> {
        let needs = |medium| configurations.clone().any(|one| one.medium == medium);
        let place = |medium, home: &Path, option: &str| {
            let make = || {
                let shown = home.display();
                Place::prepare(home).with_context(|| {
                    format!("cannot use `{shown}` for graphs; choose another one with {option}")
                })
            };
            needs(medium).then(make).transpose()
        };
        Ok(Self {
            pmem: place(Medium::Pmem, &common.pmem_directory, "--pmem-directory")?,
            file: place(Medium::File, &common.directory, "--directory")?,
        })
    }

    /// Returns the directory for the next graph on this medium; there is nothing there yet.
    pub(crate) fn graph(&self, medium: Medium) -> PathBuf {
        let place = self.of(medium);
        place.map_or_else(|| PathBuf::from("dram"), |place| place.graph.clone())
    }

    /// Removes the graph on this medium, whatever a measurement left of it.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) fn clear(&self, medium: Medium) -> Result<()> {
        self.of(medium).map_or(Ok(()), Place::clear)
    }

    fn of(&self, medium: Medium) -> Option<&Place> {
        match medium {
            Medium::Dram => None,
            Medium::Pmem => self.pmem.as_ref(),
            Medium::File => self.file.as_ref(),
        }
    }
}

/// A directory in a home that may be the user's.
struct Place {
    home: PathBuf,
    /// Whether the home was made here and goes with the graph.
    is_new: bool,
    graph: PathBuf,
}

impl Place {
    fn prepare(home: &Path) -> Result<Self> {
        let is_new = !home.exists();
        std::fs::create_dir_all(home)?;
        sweep(home)?;
        let graph = home.join(format!("{PREFIX}{}", std::process::id()));
        Ok(Self { home: home.to_owned(), is_new, graph })
    }

    fn clear(&self) -> Result<()> {
        if !self.graph.exists() {
            return Ok(());
        }
        let shown = self.graph.display();
        std::fs::remove_dir_all(&self.graph)
            .with_context(|| format!("cannot remove `{shown}`, which a measurement left"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            crate::output::complain(&error);
        }
        if self.is_new {
            // Another measurement may have its graph here by now.
            std::fs::remove_dir(&self.home).ok();
        }
    }
}

/// Removes graphs of measurements that were killed.
fn sweep(home: &Path) -> Result<()> {
    for entry in home.read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let number = number.and_then(|number| number.parse::<u32>().ok());
        if number.is_some_and(|number| !Path::new("/proc").join(number.to_string()).exists()) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_measurement_left_is_swept_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        // Processes have smaller numbers.
        let left = home.path().join(format!("{PREFIX}{}", u32::MAX));
        let (other, alive) = (home.path().join("graph"), home.path().join(format!("{PREFIX}1")));
        for path in [&left, &other, &alive] {
            std::fs::create_dir(path).unwrap();
        }
        let place = Place::prepare(home.path()).unwrap();
        assert!(!left.exists() && other.exists() && alive.exists());
        std::fs::create_dir(&place.graph).unwrap();
        let graph = place.graph.clone();
        drop(place);
        assert!(!graph.exists() && home.path().exists());
    }

    #[test]
    fn a_home_that_was_made_goes_again() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("new");
        drop(Place::prepare(&home).unwrap());
        assert!(!home.exists());
    }
}
