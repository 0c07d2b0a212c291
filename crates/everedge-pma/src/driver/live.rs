//! A live graph of any layout: batches in, frozen views out.

use std::sync::Arc;

use everedge_core::{Edge, GraphView, MAX_VERTEX_ID, VertexId};

use super::core::{Core, Layout};
use super::phases::Archiver;
use everedge_live::{Batch, Changes, LiveView, Result};

/// A live graph with its archiving thread.
pub(crate) struct Live<L: Layout> {
    pub(crate) core: Arc<Core<L>>,
    archiver: Archiver<L>,
}

impl<L: Layout> Live<L> {
    pub(crate) fn new(core: Core<L>) -> Self {
        let core = Arc::new(core);
        let archiver = Archiver::new(core.clone());
        Self { core, archiver }
    }

    pub(crate) fn apply(&self, batch: &Batch) -> Result<()> {
        self.commit(batch, false)
    }

    pub(crate) fn insert_edge(&self, (src, dst): Edge, weight: Option<f32>) -> Result<()> {
        let is_valid = src.max(dst) <= MAX_VERTEX_ID && weight.is_none_or(f32::is_finite);
        if is_valid && let Some(is_due) = self.core.commit_edge((src, dst), weight)? {
            if is_due {
                self.archiver.call();
            }
            return Ok(());
        }
        let weights = weight.map(|weight| [weight]);
        let batch = Batch::insertions([(src, dst)].into_iter(), weights.as_ref().map(|w| &w[..]))?;
        self.apply(&batch)
    }

    pub(crate) fn delete(&self, edges: impl Iterator<Item = Edge>) -> Result<Changes> {
        let batch = Batch::deletions(edges, self.core.manifest.options.weighted)?;
        let _alone = self.core.machinery.log().keep_others_out();
        let before = self.changes()?;
        self.commit(&batch, true)?;
        Ok(self.changes()? - before)
    }

    pub(crate) fn delete_vertex(&self, v: VertexId) -> Result<Changes>
    where
        L::Snapshot: LiveView,
    {
        let _alone = self.core.machinery.log().keep_others_out();
        let before = self.changes()?;
        let snapshot = self.snapshot()?;
        if v >= snapshot.vertex_bound() || !snapshot.is_vertex(v) {
            return Ok(Changes::default());
        }
        let mut batch = Batch::new(self.core.manifest.options.weighted);
        for (src, dst) in snapshot.edges_of(v) {
            batch.delete(src, dst)?;
        }
        batch.end_vertex(v)?;
        drop(snapshot);
        self.commit(&batch, true)?;
        Ok(self.changes()? - before)
    }

    pub(crate) fn snapshot(&self) -> Result<L::Snapshot> {
        let archive = self.core.settled()?;
        Ok(self.core.machinery.snapshot(&archive))
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.core.refuse_if_failed()?;
        self.core.machinery.log().make_all_durable()
    }

    pub(crate) fn changes(&self) -> Result<Changes> {
        let archive = self.core.settled()?;
        let outcome = self.core.machinery.outcome(&archive);
        // Undirected edges are counted at both ends.
        let ends = if self.core.manifest.options.directed { 1 } else { 2 };
        Ok(Changes {
            inserted: outcome.inserted / ends,
            deleted: outcome.deleted / ends,
            ignored_deletions: outcome.ignored / ends,
        })
    }

    pub(crate) fn close(mut self) -> Result<()> {
        self.archiver.end();
        self.core.close()
    }

    fn commit(&self, batch: &Batch, is_alone: bool) -> Result<()> {
        if self.core.commit(batch, is_alone)? {
            self.archiver.call();
        }
        Ok(())
    }
}
