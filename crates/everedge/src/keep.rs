//! Which versions stay when old ones are let go.

use std::str::FromStr;

use everedge_timeline::Version;

use crate::updates::time_of;
use crate::{Error, Result, Timeline};

/// Which versions stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// So many, the newest ones.
    Versions(u64),
    /// The one that was the newest so many microseconds before the newest one, and all after it.
    Time(i64),
}

impl FromStr for Keep {
    type Err = Error;

    /// Reads a number of versions, or a time such as `30d`, `12h`, `30m`, `90s` or `2w`.
    fn from_str(word: &str) -> Result<Self> {
        let count = word.parse().ok().filter(|&count| count > 0).map(Self::Versions);
        count.or_else(|| time_of(word).map(Self::Time)).ok_or_else(|| {
            let what = format!(
                "`{word}`: a number of versions, or a time such as 30d, 12h, 30m, 90s or 2w"
            );
            Error::invalid(what)
        })
    }
}

impl Keep {
    /// Returns the number of the first version that stays; there are some.
    fn first_of(self, versions: &[Version]) -> u64 {
        let (first, newest) = (&versions[0], &versions[versions.len() - 1]);
        match self {
            Self::Versions(count) => {
                first.number.max((newest.number + 1).saturating_sub(count.max(1)))
            }
            Self::Time(time) => {
                let since = newest.time.saturating_sub(time);
                let then = versions.iter().rev().find(|version| version.time <= since);
                then.unwrap_or(first).number
            }
        }
    }
}

impl Timeline {
    /// Lets old versions go, and what only they had; numbers, times and names of the others stay. Returns how many
    /// went. Whoever reads any of them goes on.
    ///
    /// Cost: if some go, the lists of the oldest that stays are written anew, and what later ones have changed.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for both: nothing has changed then. `ReadOnly` if it is open for
    /// reading.
    pub fn keep(&self, keep: Keep) -> Result<u64> {
        let versions = self.versions();
        let Some(oldest) = versions.first() else { return Ok(0) };
        let first = keep.first_of(&versions);
        if first > oldest.number {
            self.versions.rebase(first)?;
        }
        Ok(first - oldest.number)
    }
}
