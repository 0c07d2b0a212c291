//! What a live graph is becomes a version.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use everedge_core::par::Alone;
use everedge_core::{Edge, GraphView};
use everedge_io::date_text;
use everedge_live::{Followed, FollowedUpdate, Since};
use everedge_timeline::{Changes, Version};

use crate::any_view::{AnyView, with_view};
use crate::timeline::check_name;
use crate::{Error, Graph, Keep, Result, Timeline};

/// How a version is made of what a live graph is. `default` gives it no name and the time of now, and keeps all older
/// ones; a text is a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// What it is called.
    pub name: Option<String>,
    /// The time that it shows, in microseconds since 1970; not before that of the newest version. If this is None, now, or
    /// that of the newest version if it is later.
    pub time: Option<i64>,
    /// Which older versions stay; all, if this is None.
    pub keep: Option<Keep>,
}

impl From<&str> for Commit {
    fn from(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }
}

/// The versions of an open graph.
#[derive(Default)]
pub(crate) struct Versions {
    /// Once they were asked for.
    timeline: Option<Arc<Timeline>>,
    /// Whether the newest is what the graph was when it was last asked what has changed.
    is_followed: bool,
}

impl Graph {
    /// Makes what the graph is now a version, durably; then lets older ones go than those to keep. Writers go on
    /// meanwhile: it is what a [`Self::snapshot`] shows that is taken during the call.
    ///
    /// Cost: the first version takes as many bytes as a CSR, later ones what has changed. What has changed since
    /// this handle last did is known, unless it is more than 2^20 updates and than a 16th of the edges, or edges
    /// were stored without the log; else all lists of the graph and of the version before are read and compared.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is a number or a date, which would mean another version, and for a time before
    /// that of the newest version or to come; `NoSpace` on a full medium: no version was added then. `Poisoned` after a failed
    /// fence. As [`Self::snapshot`]. `PerhapsCommitted` if the medium failed, and the version may be there; `Committed` if it is
    /// there and others could not be let go.
    pub fn commit(&self, commit: impl Into<Commit>) -> Result<Version> {
        let Commit { name, time, keep } = commit.into();
        let version = self.add_version(name.as_deref(), time)?;
        let kept = match (keep, self.timeline()) {
            (Some(keep), Ok(Some(timeline))) => timeline.keep(keep).map(drop),
            (Some(_), Err(error)) => Err(error),
            _ => Ok(()),
        };
        let number = version.number;
        kept.map_err(|error| Error::Committed { version: number, source: Box::new(error) })?;
        Ok(version)
    }

    fn add_version(&self, name: Option<&str>, time: Option<i64>) -> Result<Version> {
        self.refuse_if_forked()?;
        check_name(name)?;
        let (mut versions, _alone) = (self.versions.lock(), Alone::new());
        let timeline = match &versions.timeline {
            Some(timeline) => timeline.clone(),
            None => {
                let made = self.open_timeline(true)?.expect("it was made");
                versions.timeline.insert(made).clone()
            }
        };
        let time = time_for(timeline.versions.newest().as_ref(), time)?;
        // Whatever fails from here on, the next commit compares.
        let since = self.live.follow(std::mem::take(&mut versions.is_followed))?;
        // A version has no edge that a crash could still take from the graph.
        self.sync()?;
        let version = add(&timeline, since, (time, name)).map_err(|error| match error {
            Error::Storage(
                everedge_live::Error::Io { .. } | everedge_live::Error::Poisoned { .. },
            ) => Error::PerhapsCommitted { source: Box::new(error) },
            error => error,
        })?;
        versions.is_followed = true;
        Ok(version)
    }

    /// Returns the versions of the graph, if it was ever [committed](Self::commit).
    ///
    /// # Errors
    /// If they are damaged.
    pub fn timeline(&self) -> Result<Option<Arc<Timeline>>> {
        self.refuse_if_forked()?;
        let mut versions = self.versions.lock();
        if versions.timeline.is_none() {
            versions.timeline = self.open_timeline(false)?;
        }
        Ok(versions.timeline.clone())
    }

    fn open_timeline(&self, creates: bool) -> Result<Option<Arc<Timeline>>> {
        let of_graph = (self.options(), self.names.clone());
        Ok(Timeline::of_graph(self.live.volume(), of_graph, creates)?.map(Arc::new))
    }
}

/// Adds what a graph is, or what has changed of it, as a version.
fn add(
    timeline: &Timeline,
    since: Since<AnyView>,
    (time, name): (i64, Option<&str>),
) -> Result<Version> {
    Ok(match since {
        Since::Updates(updates) => {
            timeline.versions.commit(changes_of(&updates, &|_| false)?, time, name)?
        }
        Since::UpdatesOf(updates, view) => {
            let pair = |(src, dst): Edge| match view.is_directed() {
                true => (src, dst),
                false => (src.min(dst), src.max(dst)),
            };
            let pairs = pairs_of_deletions(&updates, pair);
            let is_read = |edge| pairs.binary_search(&pair(edge)).is_ok();
            let mut changes = changes_of(&updates, &is_read)?;
            with_view!(&view, view => changes.set_pairs(view, pairs)?);
            timeline.versions.commit(changes, time, name)?
        }
        Since::View(view) => {
            with_view!(&view, view => timeline.versions.commit_graph(view, time, name)?)
        }
    })
}

/// Returns what time it is, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64
}

/// Returns the time of a version that comes after `newest`: the one that was chosen, or now.
fn time_for(newest: Option<&Version>, chosen: Option<i64>) -> Result<i64> {
    let earliest = newest.map_or(i64::MIN, |version| version.time);
    let now = now();
    match (chosen, newest) {
        (None, _) => Ok(now.max(earliest)),
        (Some(time), _) if time > now => Err(Error::invalid(format!(
            "a version of {}: that is to come, and a version shows what was",
            date_text(time)
        ))),
        (Some(time), Some(newest)) if time < earliest => Err(Error::invalid(format!(
            "a version of {}: version {} is of {}, and times do not go back",
            date_text(time),
            newest.number,
            date_text(newest.time)
        ))),
        (Some(time), _) => Ok(time),
    }
}

/// Returns the pairs of which edges were deleted, ascending.
fn pairs_of_deletions(updates: &Followed, pair: impl Fn(Edge) -> Edge) -> Vec<Edge> {
    let deleted = updates.iter().filter_map(|update| match update {
        FollowedUpdate::Delete(edge) => Some(pair(edge)),
        _ => None,
    });
    let mut pairs: Vec<Edge> = deleted.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Returns updates of a live graph as changes of its newest version, without edges that will be read from the graph.
fn changes_of(updates: &Followed, is_read: &dyn Fn(Edge) -> bool) -> Result<Changes> {
    let mut changes = Changes::new();
    for update in updates.iter() {
        match update {
            FollowedUpdate::Insert(edge, _) if is_read(edge) => {
                // The ends stay vertices, whatever becomes of the edge.
                changes.set_vertex(edge.0, true)?;
                changes.set_vertex(edge.1, true)?;
            }
            FollowedUpdate::Insert((src, dst), weight) => changes.insert(src, dst, weight)?,
            FollowedUpdate::Delete(edge) if is_read(edge) => {}
            FollowedUpdate::Delete((src, dst)) => changes.delete(src, dst)?,
            FollowedUpdate::Add(v) => changes.set_vertex(v, true)?,
            FollowedUpdate::End(v) => changes.set_vertex(v, false)?,
        }
    }
    Ok(changes)
}
