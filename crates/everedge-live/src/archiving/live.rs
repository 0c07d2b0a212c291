//! A live graph of any layout: batches in, frozen views out.

use std::sync::Arc;

use everedge_core::{Edge, GraphView, MAX_VERTEX_ID, VertexId};

use super::core::Core;
use super::followed::Since;
use super::frozen::Totals;
use super::layout::Layout;
use super::phases::Archiver;
use super::shard::SHARD_SPAN;
use super::shared::Shared;
use crate::batch::Batch;
use crate::{Error, Result, Verification, verify_view};

/// What updates have changed since a graph was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Edges that were inserted and not there already (a simple graph keeps one for a pair).
    pub inserted: u64,
    /// Edges that were deleted.
    pub deleted: u64,
    /// Deletions that found no edge.
    pub ignored_deletions: u64,
}

impl std::ops::Sub for Changes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            inserted: self.inserted - earlier.inserted,
            deleted: self.deleted - earlier.deleted,
            ignored_deletions: self.ignored_deletions - earlier.ignored_deletions,
        }
    }
}

/// What compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Runs that were written, each of a list of 256 vertices, or of one the naive way; in the
    /// `pma` layout arrays, each of a list of 4,096.
    pub runs: u64,
    /// Bytes of them.
    pub written_bytes: u64,
    /// Bytes of what they replace.
    pub freed_bytes: u64,
}

/// What deleting a vertex asks of a view.
pub trait LiveView: GraphView {
    /// Returns every edge that leaves or enters `v`, a self-loop once.
    fn edges_of(&self, v: VertexId) -> Vec<Edge>
    where
        Self: Sized,
    {
        let mut edges: Vec<Edge> = self.out_neighbors(v).map(|to| (v, to)).collect();
        if !self.is_directed() {
            return edges;
        }
        if self.has_in_neighbors() {
            edges.extend(self.in_neighbors(v).filter(|&from| from != v).map(|from| (from, v)));
        } else {
            self.for_each_edge(|from, to| {
                if to == v && from != v {
                    edges.push((from, v));
                }
            });
        }
        edges
    }
}

/// A live graph with its archiving thread.
pub struct Live<L: Layout> {
    /// What writers, readers and the archiving thread share.
    pub core: Arc<Core<L>>,
    archiver: Archiver<L>,
}

impl<L: Layout> Live<L> {
    /// Returns the graph; its thread starts when there is something to archive.
    pub fn new(core: Core<L>) -> Self {
        let core = Arc::new(core);
        let archiver = Archiver::new(core.clone());
        Self { core, archiver }
    }

    /// Commits a batch.
    ///
    /// # Errors
    /// `NoSpace` or `InvalidInput`: the batch is then wholly absent. `Poisoned` after a failed fence.
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        self.commit(batch, false)
    }

    /// Commits the insertion of one edge.
    ///
    /// # Errors
    /// As [`Self::apply`].
    #[inline]
    pub fn insert_edge(&self, (src, dst): Edge, weight: Option<f32>) -> Result<()> {
        let is_valid = src.max(dst) <= MAX_VERTEX_ID && weight.is_none_or(f32::is_finite);
        if is_valid && L::store_edge(&self.core, (src, dst), weight)? {
            self.archiver.call(false);
            return Ok(());
        }
        if is_valid && let Some(is_due) = self.core.commit_edge((src, dst), weight)? {
            self.archiver.call(is_due);
            return Ok(());
        }
        self.insert_edge_as_batch((src, dst), weight)
    }

    /// Commits what is not committed as an edge, or is refused.
    #[inline(never)]
    fn insert_edge_as_batch(&self, (src, dst): Edge, weight: Option<f32>) -> Result<()> {
        let weights = weight.map(|weight| [weight]);
        let batch = Batch::insertions([(src, dst)].into_iter(), weights.as_ref().map(|w| &w[..]))?;
        self.apply(&batch)
    }

    /// Deletes the newest occurrence of each edge. Returns what that changed.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn delete(&self, edges: impl Iterator<Item = Edge>) -> Result<Changes> {
        let batch = Batch::deletions(edges, self.core.manifest.options.weighted)?;
        // Of what the log's lock guards, a forked child may never get hold.
        self.core.refuse_if_forked()?;
        let _alone = self.core.log.keep_others_out();
        let before = self.changes()?;
        self.commit(&batch, true)?;
        Ok(self.changes()? - before)
    }

    /// Deletes a vertex and its edges. Returns what that changed.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn delete_vertex(&self, v: VertexId) -> Result<Changes>
    where
        L::Snapshot: LiveView,
    {
        // Of what the log's lock guards, a forked child may never get hold.
        self.core.refuse_if_forked()?;
        let _alone = self.core.log.keep_others_out();
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

    /// Commits a batch if `check` allows it, which is shown the graph as it is then; not asked where nobody has
    /// written since the view of this `sequence`.
    ///
    /// # Errors
    /// As `check` and [`Self::apply`].
    pub fn apply_since<E: From<crate::Error>>(
        &self,
        batch: &Batch,
        sequence: u64,
        check: impl FnOnce(L::Snapshot) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        // Of what the log's lock guards, a forked child may never get hold.
        self.core.refuse_if_forked()?;
        let _alone = self.core.log.keep_others_out();
        if self.core.written() != sequence {
            check(self.snapshot()?)?;
        }
        Ok(self.commit(batch, true)?)
    }

    /// Returns a frozen view of all acknowledged batches.
    ///
    /// # Errors
    /// If they cannot be archived, or what the view would read is damaged.
    pub fn snapshot(&self) -> Result<L::Snapshot> {
        let mut archive = self.core.up_to_date()?;
        self.core.view(&mut archive)
    }

    /// Returns what all acknowledged batches have changed since this was called before, if `is_wanted` and it is
    /// known, and otherwise what the graph is now.
    ///
    /// Cost: what was acknowledged is archived. From now on what changes is kept in memory, see
    /// [`Followed`](super::Followed).
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn follow(&self, is_wanted: bool) -> Result<Since<L::Snapshot>> {
        let mut archive = self.core.up_to_date()?;
        self.core.refuse_damage(&archive)?;
        // Nobody stores more while this holds the archive.
        let stored_edges = self.core.layout.stored_edges();
        let options = &self.core.manifest.options;
        // A list is not always in the order in which its edges came.
        let is_unsure = options.weighted && !options.simple;
        match archive.follow(options, stored_edges).filter(|_| is_wanted) {
            Some(updates) if is_unsure && updates.has_deletions() => {
                Ok(Since::UpdatesOf(updates, self.core.view(&mut archive)?))
            }
            Some(updates) => Ok(Since::Updates(updates)),
            None => Ok(Since::View(self.core.view(&mut archive)?)),
        }
    }

    /// Returns a frozen view of what is whole of all acknowledged batches, and what is not: what the log
    /// has lost, and vertices whose lists are damaged, which have none.
    ///
    /// # Errors
    /// If they cannot be archived.
    pub fn salvage(&self) -> Result<(L::Snapshot, Vec<String>)> {
        let mut archive = self.core.up_to_date()?;
        let (snapshot, damage) = self.core.salvage(&mut archive)?;
        let problem = |(number, error): (usize, crate::Error)| {
            let (first, last) = (number * SHARD_SPAN, (number + 1) * SHARD_SPAN - 1);
            format!("the vertices from {first} to {last} have no neighbors here: {error}")
        };
        let lost = self.core.log.damage().into_iter().map(|error| error.to_string());
        Ok((snapshot, lost.chain(damage.into_iter().map(problem)).collect()))
    }

    /// Returns a number that was drawn for the graph when it was created.
    pub fn identity(&self) -> u32 {
        self.core.manifest.salt()
    }

    /// Returns what is known of all acknowledged batches together, without reading lists.
    ///
    /// # Errors
    /// If they cannot be archived, or some stay in the log because lists are damaged.
    pub fn totals(&self) -> Result<Totals> {
        let archive = self.core.up_to_date()?;
        self.core.refuse_damage(&archive)?;
        Ok(archive.totals(&self.core.manifest.options))
    }

    /// Checks all of the graph: by `verify_shard` those shards in which `find_damage` finds none, and then neighbors
    /// if nothing is damaged.
    ///
    /// # Errors
    /// If the log's tail cannot be archived, or memory is lacking.
    pub fn verify(
        &self,
        mut find_damage: impl FnMut(&mut Shared<L::Shard>) -> Vec<Error>,
        mut verify_shard: impl FnMut(&Shared<L::Shard>, &mut Verification),
    ) -> Result<Verification>
    where
        L::Snapshot: LiveView,
    {
        let mut report = Verification::default();
        let mut archive = self.core.up_to_date()?;
        for error in self.core.damage(&archive) {
            report.check_read(Err(error))?;
        }
        let mut whole = Vec::new();
        for shard in &mut archive.shards {
            let damage = find_damage(shard);
            whole.extend(damage.is_empty().then(|| shard.clone()));
            damage.into_iter().try_for_each(|error| report.check_read(Err(error)))?;
        }
        drop(archive);
        whole.iter().for_each(|shard| verify_shard(shard, &mut report));
        drop(whole);
        if report.problems.is_empty() {
            match self.snapshot() {
                Ok(view) => verify_view(&view, &mut report),
                Err(error) => report.check_read(Err(error))?,
            }
        }
        Ok(report)
    }

    /// Puts all lists in order, as a pause of the writers does, until somebody writes or `is_ended`.
    pub fn put_in_order(&self, is_ended: impl Fn() -> bool) {
        let mut written = self.core.written();
        self.core.put_in_order(&mut written, is_ended);
    }

    /// Makes all that was committed durable.
    ///
    /// # Errors
    /// If a fence fails; it is not tried again.
    pub fn sync(&self) -> Result<()> {
        self.core.refuse_if_failed()?;
        self.core.log.make_all_durable()
    }

    /// Returns what the updates since opening have changed.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn changes(&self) -> Result<Changes> {
        let archive = self.core.up_to_date()?;
        let outcome = archive.outcome();
        // Undirected edges are counted at both ends.
        let ends = if self.core.manifest.options.directed { 1 } else { 2 };
        Ok(Changes {
            inserted: outcome.inserted / ends,
            deleted: outcome.deleted / ends,
            ignored_deletions: outcome.ignored / ends,
        })
    }

    /// Ends the thread, saves everything and gives unused space back.
    ///
    /// # Errors
    /// If the medium fails; the next opening recovers then.
    pub fn close(mut self) -> Result<()> {
        self.archiver.end();
        self.core.close()
    }

    fn commit(&self, batch: &Batch, is_alone: bool) -> Result<()> {
        let is_due = self.core.commit(batch, is_alone)?;
        self.archiver.call(is_due);
        Ok(())
    }
}

/// Gives a graph type with a field `live` and a field `recovery` what all live graphs have.
#[macro_export]
macro_rules! live_graph {
    ($graph:ident, $snapshot:ident, $options:ident) => {
        impl $graph {
            /// Applies a batch. It is durable on return unless the graph's durability is `None`.
            ///
            /// # Errors
            /// `NoSpace` if the medium is full and `InvalidInput` if the batch does not fit the
            /// graph: the batch is then wholly absent. `Poisoned` after a failed fence.
            pub fn apply(&self, batch: &$crate::Batch) -> $crate::Result<()> {
                self.live.apply(batch)
            }

            /// Inserts edges as one batch.
            ///
            /// # Errors
            /// As [`Self::apply`].
            pub fn insert(
                &self,
                edges: &[everedge_core::Edge],
                weights: Option<&[f32]>,
            ) -> $crate::Result<()> {
                self.apply(&$crate::Batch::insertions(edges.iter().copied(), weights)?)
            }

            /// Inserts one edge, a batch of its own. It takes less than [`Self::insert`], and on
            /// persistent memory several writers do not wait for one another.
            ///
            /// # Errors
            /// As [`Self::apply`].
            #[inline]
            pub fn insert_edge(
                &self,
                edge: everedge_core::Edge,
                weight: Option<f32>,
            ) -> $crate::Result<()> {
                self.live.insert_edge(edge, weight)
            }

            /// Deletes the newest occurrence of each edge, as one batch. Returns what it changed.
            ///
            /// Cost: other writers wait; the lists of all sources (and destinations) are read once.
            ///
            /// # Errors
            /// As [`Self::apply`].
            pub fn delete(
                &self,
                edges: impl Iterator<Item = everedge_core::Edge>,
            ) -> $crate::Result<$crate::Changes> {
                self.live.delete(edges)
            }

            /// Deletes a vertex and its edges, both ways, as one batch. Returns what it changed.
            ///
            /// Cost: its lists; without in-neighbors the lists of all vertices.
            ///
            /// # Errors
            /// As [`Self::apply`].
            pub fn delete_vertex(
                &self,
                v: everedge_core::VertexId,
            ) -> $crate::Result<$crate::Changes> {
                self.live.delete_vertex(v)
            }

            /// Applies a batch if `check` allows it, which is shown the graph as it is then, while other
            /// writers wait; not asked where nobody has written since the view of this `sequence`.
            ///
            /// # Errors
            /// As `check` and [`Self::apply`].
            pub fn apply_since<E: From<$crate::Error>>(
                &self,
                batch: &$crate::Batch,
                sequence: u64,
                check: impl FnOnce($snapshot) -> std::result::Result<(), E>,
            ) -> std::result::Result<(), E> {
                self.live.apply_since(batch, sequence, check)
            }

            /// Returns a frozen view of all batches acknowledged so far. It never changes.
            ///
            /// # Errors
            /// If the log's tail cannot be archived.
            pub fn snapshot(&self) -> $crate::Result<$snapshot> {
                self.live.snapshot()
            }

            /// Returns what all batches acknowledged so far have changed since this was called before, if
            /// `is_wanted` and it is known, and otherwise what the graph is now.
            ///
            /// # Errors
            /// As [`Self::snapshot`].
            pub fn follow(&self, is_wanted: bool) -> $crate::Result<$crate::Since<$snapshot>> {
                self.live.follow(is_wanted)
            }

            /// Returns a frozen view of what is whole of the graph, and what is damaged: vertices whose
            /// lists are damaged, and 4,096 at a time with them, have no neighbors in it. An edge
            /// between one of them and another vertex may be in the other's list.
            ///
            /// # Errors
            /// If the log's tail cannot be archived, or what says where lists lie is damaged.
            pub fn salvage(&self) -> $crate::Result<($snapshot, Vec<String>)> {
                self.live.salvage()
            }

            /// Returns a number that was drawn for the graph when it was created.
            pub fn identity(&self) -> u32 {
                self.live.identity()
            }

            /// Returns what is known of all acknowledged batches together, without reading lists.
            ///
            /// # Errors
            /// If the log's tail cannot be archived, or stays in the log because lists are damaged.
            pub fn totals(&self) -> $crate::Result<$crate::Totals> {
                self.live.totals()
            }

            /// Puts lists that were changed in order, as a pause of the writers does by itself: they
            /// are read nearly as fast as a CSR then. What fails is tried again by a later pause.
            ///
            /// Cost: lists are written anew of which an eighth was changed. Others go on.
            /// It ends early, between two steps, when somebody writes or `is_ended`.
            pub fn put_in_order(&self, is_ended: impl Fn() -> bool) {
                self.live.put_in_order(is_ended);
            }

            /// Makes all that was applied durable, whatever the graph's durability.
            ///
            /// # Errors
            /// `Poisoned` or `Io` if the fence fails; it is not tried again.
            pub fn sync(&self) -> $crate::Result<()> {
                self.live.sync()
            }

            /// Returns what the updates since opening have changed.
            ///
            /// # Errors
            /// As [`Self::snapshot`].
            pub fn changes(&self) -> $crate::Result<$crate::Changes> {
                self.live.changes()
            }

            /// Moves everything that is logged into the lists, and makes it durable there, so that
            /// the log is empty.
            ///
            /// # Errors
            /// `NoSpace` if the medium is full; `Poisoned` as [`Self::apply`].
            pub fn flush_all(&self) -> $crate::Result<()> {
                self.live.core.flush_all()
            }

            /// Closes the graph: empties the log and gives unused space back. A snapshot that is held
            /// reads what the next handle would take for free: until the last one is dropped, opening
            /// again for writing is refused as `InUse`.
            ///
            /// # Errors
            /// If the medium fails; nothing acknowledged is lost then, and the next opening
            /// recovers.
            pub fn close(self) -> $crate::Result<()> {
                self.live.close()
            }

            /// Returns what was fixed at creation.
            pub fn manifest(&self) -> &$crate::Manifest<$options> {
                &self.live.core.manifest
            }

            /// Returns what opening found.
            pub fn recovery(&self) -> $crate::Recovery {
                self.recovery
            }

            /// Returns how long each of the first 4,096 rounds took.
            pub fn round_times(&self) -> Vec<std::time::Duration> {
                self.live.core.archive().round_times.clone()
            }

            /// Returns the volume that the graph lies on.
            pub fn volume(&self) -> &$crate::Volume {
                &self.live.core.volume
            }
        }
    };
}
