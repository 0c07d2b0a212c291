//! What the vertices of a view are called.
//!
//! A live graph or a timeline keeps names in a map ([`Names`]), or none where a vertex is called by its
//! number. A sealed graph numbers its vertices anew, and keeps for each the number it had before.

use std::sync::{Arc, OnceLock};

use everedge_chunks::Store;
use everedge_core::VertexId;
use everedge_live::{ExternalId, Names};

use crate::IdKind;
use crate::id_map::{find, name_of};

/// What the vertices of a view are called.
#[derive(Clone)]
pub(crate) enum Naming {
    /// As the graph's map says, or by number.
    Kept(Option<Arc<Names>>),
    /// As before they were sealed.
    Sealed(Arc<SealedNames>),
}

/// What the vertices of a sealed graph were called.
pub(crate) struct SealedNames {
    store: Arc<Store>,
    /// The names of the numbers that they had.
    names: Option<Names>,
    /// The names of vertices that were added, in the order of their numbers after those that were sealed.
    added: Arc<[ExternalId]>,
    /// The numbers that all of them had, by vertex, once they were asked for. Those that were added come after all names, or have
    /// the number that they are called by.
    ids: OnceLock<Vec<VertexId>>,
}

impl From<Option<Arc<Names>>> for Naming {
    fn from(names: Option<Arc<Names>>) -> Self {
        Self::Kept(names)
    }
}

impl Naming {
    pub(crate) fn sealed(
        store: Arc<Store>,
        names: Option<Names>,
        added: Arc<[ExternalId]>,
    ) -> Self {
        Self::Sealed(Arc::new(SealedNames { store, names, added, ids: OnceLock::new() }))
    }

    /// Returns the name of a vertex.
    pub(crate) fn name_of(&self, v: VertexId) -> ExternalId {
        match self {
            Self::Kept(names) => name_of(names.as_deref(), v),
            Self::Sealed(sealed) => sealed.name_of(v),
        }
    }

    /// Returns the vertex of a name, if there may be one.
    pub(crate) fn find(&self, name: &str) -> Option<VertexId> {
        match self {
            Self::Kept(names) => find(names.as_deref(), name),
            Self::Sealed(sealed) => sealed.find(name),
        }
    }

    /// Returns the name of a number that a vertex of a sealed graph had, or may have had.
    pub(crate) fn name_before(&self, id: VertexId) -> Option<ExternalId> {
        let Self::Sealed(sealed) = self else { return None };
        let names = sealed.names.as_ref()?;
        let added = || sealed.added.get((id - names.len()) as usize).cloned();
        if id < names.len() { names.name_of(id) } else { added() }
    }

    /// Returns a bound above all numbers that vertices of a sealed graph with names had, or may have had.
    pub(crate) fn name_bound_before(&self) -> VertexId {
        match self {
            Self::Kept(_) => 0,
            Self::Sealed(sealed) => {
                sealed.names.as_ref().map_or(0, Names::len) + sealed.added.len() as u32
            }
        }
    }

    /// Returns how many names there are, if there is a map.
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Kept(names) => names.as_deref().map_or(0, Names::len),
            Self::Sealed(_) => 0,
        }
    }

    /// Returns what names are: of a sealed graph with numbers for names, integers.
    pub(crate) fn kind(&self) -> IdKind {
        let names = match self {
            Self::Kept(None) => return IdKind::Dense,
            Self::Kept(names) => names.as_deref(),
            Self::Sealed(sealed) => sealed.names.as_ref(),
        };
        match (self, names.and_then(|names| names.name_of(0))) {
            (Self::Kept(_), None) => IdKind::Dense,
            (_, Some(ExternalId::Text(_))) => IdKind::Text,
            _ => IdKind::Integer,
        }
    }

    /// Returns the numbers that vertices had before they were sealed, if they are called by them.
    pub(crate) fn numbers_before(&self) -> Option<&[VertexId]> {
        match self {
            Self::Sealed(sealed) if sealed.names.is_none() => Some(sealed.ids()),
            _ => None,
        }
    }

    /// Returns the numbers that vertices had before they were sealed, if they were.
    pub(crate) fn ids_before(&self) -> Option<&[VertexId]> {
        match self {
            Self::Kept(_) => None,
            Self::Sealed(sealed) => Some(sealed.ids()),
        }
    }
}

impl SealedNames {
    fn name_of(&self, v: VertexId) -> ExternalId {
        let added = v.checked_sub(self.sealed_count()).and_then(|at| self.added.get(at as usize));
        added.cloned().unwrap_or_else(|| name_of(self.names.as_ref(), self.id_of(v)))
    }

    fn find(&self, name: &str) -> Option<VertexId> {
        let sealed = find(self.names.as_ref(), name)
            .and_then(|id| self.ids().iter().position(|&other| other == id));
        let added = || {
            let at = self.added.iter().position(|added| match added {
                ExternalId::Integer(id) => name.parse().is_ok_and(|name: u64| name == *id),
                ExternalId::Text(id) => id == name,
            });
            at.map(|at| self.sealed_count() as usize + at)
        };
        sealed.or_else(added).map(|at| at as VertexId)
    }

    /// Returns how many vertices were sealed.
    fn sealed_count(&self) -> u32 {
        self.store.form().vertices
    }

    /// Returns the number that a vertex had.
    fn id_of(&self, v: VertexId) -> VertexId {
        match self.ids.get() {
            Some(ids) => ids[v as usize],
            // The store keeps the error.
            None => self.store.id_of(v).unwrap_or(v),
        }
    }

    fn ids(&self) -> &[VertexId] {
        // The store keeps the error.
        let numbers = |_| (0..self.sealed_count()).collect();
        self.ids.get_or_init(|| {
            let mut ids = self.store.all_ids().unwrap_or_else(numbers);
            let first = self.names.as_ref().map_or(0, Names::len);
            ids.extend((first..).zip(&*self.added).map(|(number, name)| match name {
                ExternalId::Integer(id) if self.names.is_none() => *id as VertexId,
                _ => number,
            }));
            ids
        })
    }
}
