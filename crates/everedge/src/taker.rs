//! What takes the edges of files: a live graph, a sealed one that is changed, or the sealing of one.

use everedge_core::{Edge, VertexId};
use everedge_io::Ids;
use everedge_live::{Batch, ExternalId, IdKind, Names};

use crate::id_map::{find, name_of, vertices_of};
use crate::{Graph, GraphOptions, Result};

/// Takes edges and vertices, some at a time.
pub(crate) trait Taker: Sync {
    /// Returns what edges are like.
    fn options(&self) -> &GraphOptions;

    /// Returns the names of vertices, if they have some.
    fn names(&self) -> Option<&Names>;

    /// Takes edges, and as many weights if they have some.
    fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()>;

    /// Takes edges away.
    fn delete(&self, edges: &[Edge]) -> Result<()>;

    /// Makes vertices.
    fn add_vertices(&self, vertices: &[VertexId]) -> Result<()>;

    /// Returns whether it has taken something.
    fn has_data(&self) -> bool;

    /// Returns whether it had better take nothing of a short file before all of it is read: what is wrong with the file leaves
    /// nothing of it then.
    fn waits(&self) -> bool {
        true
    }

    /// Turns a file's ids into vertices, making ids for new names.
    fn vertices_of(&self, ids: Ids) -> Result<Vec<VertexId>> {
        vertices_of(self.names(), ids)
    }

    /// Turns a file's ids into vertices; those of unknown names are `None`.
    fn known_vertices_of(&self, names: &Ids) -> Vec<Option<VertexId>> {
        match (names, self.options().ids) {
            (Ids::Dense(ids), IdKind::Dense) => ids.iter().copied().map(Some).collect(),
            (Ids::Dense(ids), _) => {
                let ids: Vec<u64> = ids.iter().copied().map(u64::from).collect();
                find_integers(self.names(), self.options().ids, &ids)
            }
            (Ids::Sparse(ids), _) => find_integers(self.names(), self.options().ids, ids),
            (Ids::Text(texts), _) => texts.iter().map(|name| find(self.names(), name)).collect(),
        }
    }

    /// Returns the name of a vertex.
    fn name_of(&self, v: VertexId) -> ExternalId {
        name_of(self.names(), v)
    }
}

/// Returns the vertices of integers, if there are some; without names, the numbers themselves.
pub(crate) fn find_integers(
    names: Option<&Names>,
    kind: IdKind,
    integers: &[u64],
) -> Vec<Option<VertexId>> {
    match (names, kind) {
        (None, _) => integers.iter().map(|&name| name.try_into().ok()).collect(),
        (Some(map), IdKind::Text) => {
            integers.iter().map(|name| map.id_of(&name.to_string())).collect()
        }
        (Some(map), _) => map.find_integers(integers),
    }
}

impl Taker for Graph {
    fn options(&self) -> &GraphOptions {
        self.options()
    }

    fn names(&self) -> Option<&Names> {
        self.names()
    }

    fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        self.insert(edges, weights)
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.apply(&Batch::deletions(edges.iter().copied(), self.options().weighted)?)
    }

    fn add_vertices(&self, vertices: &[VertexId]) -> Result<()> {
        let mut batch = Batch::new(self.options().weighted);
        for &v in vertices {
            batch.add_vertex(v)?;
        }
        self.apply(&batch)
    }

    fn has_data(&self) -> bool {
        self.totals().is_ok_and(|totals| totals.vertex_count > 0)
    }
}
