//! Which vertices a shard owns, and which it shares with others.

use everedge_core::{AtomicBitmap, Bitmap, GraphView, VertexId};

use crate::error::bad_message;
use crate::frontier::vertices;
use crate::{Error, Result};

/// The part of a graph that a shard has: vertex v belongs to shard `v mod shards`.
#[derive(Clone, Debug)]
pub struct Part {
    shard: u32,
    /// The vertices that it owns, ascending.
    owned: Vec<VertexId>,
    /// The same, a bit for each id.
    is_owned: Bitmap,
    /// The ghosts that each shard owns, ascending.
    ghosts: Vec<Vec<VertexId>>,
    /// The own vertices that are ghosts on each shard, ascending: what it has told.
    mirrored: Vec<Vec<VertexId>>,
}

impl Part {
    /// Finds the own vertices and the ghosts among the vertices of `view`, one of `shards`. Cost: all ids once.
    ///
    /// # Errors
    /// [`BadParameter`](Error::BadParameter) if there is no such shard.
    pub fn of(view: &impl GraphView, shard: u32, shards: u32) -> Result<Self> {
        if shard >= shards {
            let expected = "below the number of shards";
            return Err(Error::BadParameter { name: "shard", value: shard.into(), expected });
        }
        let mut ghosts = vec![Vec::new(); shards as usize];
        vertices(view).into_iter().for_each(|v| ghosts[(v % shards) as usize].push(v));
        let owned = std::mem::take(&mut ghosts[shard as usize]);
        let mut is_owned = Bitmap::new(view.vertex_bound());
        owned.iter().for_each(|&v| is_owned.insert(v));
        Ok(Self { shard, owned, is_owned, mirrored: vec![Vec::new(); shards as usize], ghosts })
    }

    /// Returns the vertices that the shard owns, ascending.
    pub fn owned(&self) -> &[VertexId] {
        &self.owned
    }

    /// Returns how many shards there are.
    pub fn shard_count(&self) -> u32 {
        self.ghosts.len() as u32
    }

    /// Returns which shard it is.
    pub fn shard(&self) -> u32 {
        self.shard
    }

    /// Returns the ghosts that `shard` owns, ascending: it must be told them.
    pub fn ghosts(&self, shard: u32) -> &[VertexId] {
        &self.ghosts[shard as usize]
    }

    /// Takes in which own vertices are ghosts on `shard`, as it says.
    ///
    /// # Errors
    /// [`BadMessage`](Error::BadMessage) if they are not own vertices in ascending order: its graph is of another state than this one.
    pub fn set_mirrored(&mut self, shard: u32, vertices: Vec<VertexId>) -> Result<()> {
        let bound = self.is_owned.bound();
        let are_owned = vertices.iter().all(|&v| v < bound && self.is_owned.contains(v));
        if shard >= self.shard_count() || !are_owned || !vertices.is_sorted_by(|a, b| a < b) {
            return Err(bad_message(shard, "it names vertices that this shard does not own"));
        }
        self.mirrored[shard as usize] = vertices;
        Ok(())
    }

    /// Returns whether the shard owns `v`.
    #[inline]
    pub(super) fn owns(&self, v: VertexId) -> bool {
        self.is_owned.contains(v)
    }

    /// Returns the ids that the shard does not own.
    pub(super) fn others(&self) -> AtomicBitmap {
        self.is_owned.complement().into()
    }

    /// Returns the own vertices that are ghosts on each shard.
    pub(super) fn mirrored(&self) -> &[Vec<VertexId>] {
        &self.mirrored
    }

    /// Returns the ghosts of each shard, beside what that shard says about them.
    pub(super) fn said<'a>(
        &'a self,
        messages: &'a [&'a [u8]],
    ) -> impl Iterator<Item = (u32, &'a [VertexId], &'a [u8])> {
        let lists = (0..).zip(&self.ghosts).zip(messages);
        lists.map(|((shard, ghosts), message)| (shard, &ghosts[..], *message))
    }
}
