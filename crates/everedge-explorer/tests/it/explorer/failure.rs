//! What the explorer says of an image that is not as it should be.

use std::fmt;

/// Which promise does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// Damage is reported though there is none.
    Refused,
    /// What is recovered is no state that the history allows.
    Wrong,
    /// Invariants do not hold: `verify` finds a problem, or the code panics.
    Unsound,
    /// What comes after the recovery is lost.
    Unusable,
    /// A recovery that is crashed comes to another state.
    Unstable,
}

/// A failed exploration.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// None if it is the exploration that went wrong.
    pub(crate) violation: Option<Violation>,
    what: String,
}

pub(crate) type Checked<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(violation: Violation, what: impl Into<String>) -> Self {
        Self { violation: Some(violation), what: what.into() }
    }

    /// Whether a promise does not hold.
    pub(crate) fn is_violation(&self) -> bool {
        self.violation.is_some()
    }

    /// Returns the same in other words.
    pub(crate) fn map(self, change: impl FnOnce(&str) -> String) -> Self {
        Self { what: change(&self.what), ..self }
    }
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self { violation: None, what }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.violation {
            Some(violation) => f.pad(&format!("{violation:?}: {}", self.what)),
            None => f.pad(&self.what),
        }
    }
}

/// Returns what was found of a planted defect.
///
/// # Panics
/// If nothing was, or if the exploration failed for another reason than the defect.
#[track_caller]
pub(crate) fn found<T>(outcome: Checked<T>, plant: impl fmt::Debug) -> Failure {
    match outcome {
        Ok(_) => panic!("{plant:?} is not found"),
        Err(failure) if failure.is_violation() => failure,
        Err(failure) => panic!("{plant:?} is not what was found: {failure}"),
    }
}
