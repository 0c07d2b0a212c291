//! Defects that a test plants in a recorded volume, to see them found.
//!
//! The unit is a [`Call`]: one place in the code at which the medium is asked to make something
//! durable, or whether something is whole. A recorder notes which calls come, so that a test can
//! plant a defect in each that runs. A function that only hands on is `#[track_caller]`: its
//! callers are the calls.

use std::fmt;
use std::panic::Location;

use super::Site;

/// What a call asks the medium for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// [`Region::flush`](super::Region::flush), also as a part of a call that stores and flushes.
    Flush,
    /// [`Region::drain`](super::Region::drain).
    Drain,
    /// [`Region::fence`](super::Region::fence).
    Fence,
    /// The storing of [`Region::rewrite`](super::Region::rewrite); its flush is a call by itself.
    Rewrite,
    /// The zeros of [`Region::wipe`](super::Region::wipe); their flush is a call by itself.
    Wipe,
    /// [`Region::matches`](super::Region::matches).
    Check,
    /// A new file.
    Create,
    /// Another length of a file.
    Resize,
    /// The whole content of a file.
    Publish,
    /// A removed file.
    Remove,
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallKind::Flush => "flush",
            CallKind::Drain => "drain",
            CallKind::Fence => "fence",
            CallKind::Rewrite => "rewrite",
            CallKind::Wipe => "wipe",
            CallKind::Check => "check",
            CallKind::Create => "create",
            CallKind::Resize => "resize",
            CallKind::Publish => "publish",
            CallKind::Remove => "remove",
        })
    }
}

/// A call of the medium in the code that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    // The cheapest to compare first.
    line: u32,
    column: u32,
    kind: CallKind,
    site: Option<Site>,
    file: &'static str,
}

impl Call {
    pub(super) fn new(
        kind: CallKind,
        site: impl Into<Option<Site>>,
        at: &'static Location<'static>,
    ) -> Call {
        let (line, column, file) = (at.line(), at.column(), at.file());
        Call { line, column, kind, site: site.into(), file }
    }

    /// Returns what it asks for.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// Returns the site that it names; none for a change of names or lengths.
    pub fn site(&self) -> Option<Site> {
        self.site
    }

    /// Returns the file in which it stands, as the compiler was given it.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// Returns the line in which it stands.
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { line, column, kind, site, file } = self;
        let site = site.map_or(String::new(), |site| format!(" {site}"));
        write!(f, "{kind}{site} {file}:{line}:{column}")
    }
}

/// A defect of the medium, planted to see it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plant {
    /// Flushes at the site do nothing.
    DropFlush(Site),
    /// Fences and drains at the site do nothing; what was flushed waits for a fence elsewhere.
    DropFence(Site),
    /// The same of one region only, by number in the order in which they were made.
    DropFenceOf(Site, u32),
    /// Nothing is stored again at the site, only flushed.
    DropRewrite(Site),
    /// Every checksum at the site is found to match.
    SkipChecksum(Site),
    /// None is: what the site wrote is never read back.
    FailChecksum(Site),
    /// Every checksum is found to match, as if whoever changed the files had computed them.
    SkipChecksums,
    /// The same of all sites but one: there a checksum also says what is too old to count.
    SkipChecksumsBut(Site),
    /// The call does nothing. A check finds that all is well; a change of names or lengths is made,
    /// but not synced.
    Drop(Call),
    /// The call comes too late: a fence after what its thread stores and flushes next, a published
    /// file's bytes after its name.
    Delay(Call),
}

impl Plant {
    /// Whether a call at a site of a region is to be left out.
    pub(super) fn drops(self, call: &Call, region: u32) -> bool {
        let at = |site: Site| call.site == Some(site);
        let is_fence = matches!(call.kind, CallKind::Fence | CallKind::Drain);
        match self {
            Plant::DropFlush(site) => call.kind == CallKind::Flush && at(site),
            Plant::DropFence(site) => is_fence && at(site),
            Plant::DropFenceOf(site, of) => is_fence && at(site) && of == region,
            Plant::DropRewrite(site) => call.kind == CallKind::Rewrite && at(site),
            Plant::Drop(dropped) => dropped == *call,
            _ => false,
        }
    }

    /// Returns what a check is to find, if that does not depend on the bytes.
    pub(super) fn outcome_of(self, check: &Call) -> Option<bool> {
        match self {
            Plant::SkipChecksum(site) if check.site == Some(site) => Some(true),
            Plant::SkipChecksums => Some(true),
            Plant::SkipChecksumsBut(site) if check.site != Some(site) => Some(true),
            Plant::FailChecksum(site) if check.site == Some(site) => Some(false),
            Plant::Drop(dropped) if dropped == *check => Some(true),
            _ => None,
        }
    }
}

impl fmt::Display for Plant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plant::Drop(call) => write!(f, "without {call}"),
            Plant::Delay(call) => write!(f, "too late {call}"),
            _ => write!(f, "{self:?}"),
        }
    }
}
