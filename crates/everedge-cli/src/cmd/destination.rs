//! Where a command writes what it was asked for.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::error::ErrorKind;

use crate::output::Output;

/// What stands for standard output. A file of that name in `/dev` would be opened anew, and written from its beginning.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// A file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    StandardOutput,
    File(PathBuf),
}

impl From<OsString> for Destination {
    fn from(name: OsString) -> Self {
        match STANDARD_OUTPUT.iter().any(|word| name == *word) {
            true => Self::StandardOutput,
            false => Self::File(name.into()),
        }
    }
}

impl std::str::FromStr for Destination {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(OsString::from(name).into())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => f.write_str("standard output"),
            Self::File(path) => write!(f, "`{}`", path.display()),
        }
    }
}

impl Destination {
    /// Looks before the work whether what is written, such as `the edges`, leaves room for what else is printed.
    ///
    /// # Errors
    /// A wrong usage if both that and one JSON object are to be all of standard output.
    pub(crate) fn check(&self, what: &str, output: Output) -> Result<(), clap::Error> {
        if *self == Self::StandardOutput && output.json {
            let words = format!(
                "{what} and `--json` both want standard output for themselves; write {what} to a file\n"
            );
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, words));
        }
        Ok(())
    }

    /// Returns whether what is written there comes to where standard output goes, by whatever name. A finished file replaces
    /// another, so this is asked before it.
    pub(crate) fn is_standard_output(&self) -> bool {
        let Self::File(path) = self else { return true };
        let stdout = std::io::stdout();
        match (rustix::fs::stat(path), rustix::fs::fstat(stdout.as_fd())) {
            (Ok(file), Ok(stdout)) => (file.st_dev, file.st_ino) == (stdout.st_dev, stdout.st_ino),
            _ => false,
        }
    }
}
