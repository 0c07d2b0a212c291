//! What a live graph is becomes a version.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use everedge_core::{Edge, GraphView};
use everedge_live::{Followed, FollowedUpdate, Since};
use everedge_timeline::{Changes, Version};

use crate::any_view::with_view;
use crate::timeline::check_name;
use crate::{Error, Graph, Keep, Result, Timeline};

/// The versions of an open graph.
#[derive(Default)]
pub(crate) struct Versions {
    /// Once they were asked for.
    timeline: Option<Arc<Timeline>>,
    /// Whether the newest is what the graph was when it was last asked what has changed.
    is_followed: bool,
}

impl Graph {
    /// Makes what the graph is now a version, durably, with the time of now. Writers go on meanwhile: it is
    /// what a [`Self::snapshot`] shows that is taken during the call.
    ///
    /// Cost: the first version takes as many bytes as a CSR, later ones what has changed. What has changed since
    /// this handle last did is known, unless it is more than 2^20 updates and than a 16th of the edges, or edges
    /// were stored without the log; else all lists of the graph and of the version before are read and compared.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is a number or a date, which would mean another version; `NoSpace` on a full
    /// medium: no version was added then. `Poisoned` after a failed fence. As [`Self::snapshot`].
    pub fn commit(&self, name: Option<&str>) -> Result<Version> {
        self.refuse_if_forked()?;
        check_name(name)?;
        let mut versions = self.versions.lock();
        let timeline = match &versions.timeline {
            Some(timeline) => timeline.clone(),
            None => {
                let made = self.open_timeline(true)?.expect("it was made");
                versions.timeline.insert(made).clone()
            }
        };
        // Whatever fails from here on, the next commit compares.
        let since = self.live.follow(std::mem::take(&mut versions.is_followed))?;
        // A version has no edge that a crash could still take from the graph.
        self.sync()?;
        let newest = timeline.versions().last().map_or(i64::MIN, |version| version.time);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = (now.as_micros() as i64).max(newest);
        let version = match since {
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
        };
        versions.is_followed = true;
        Ok(version)
    }

    /// As [`Self::commit`]; then lets older versions go than those to keep.
    ///
    /// # Errors
    /// As that; `Committed` if the version is there and others could not be let go.
    pub fn commit_and_keep(&self, name: Option<&str>, keep: Option<Keep>) -> Result<Version> {
        let version = self.commit(name)?;
        let kept = match (keep, self.timeline()) {
            (Some(keep), Ok(Some(timeline))) => timeline.keep(keep).map(drop),
            (Some(_), Err(error)) => Err(error),
            _ => Ok(()),
        };
        let number = version.number;
        kept.map_err(|error| Error::Committed { version: number, source: Box::new(error) })?;
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
