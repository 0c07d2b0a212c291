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
    /// These numbers, by vertex, once they were asked for.
    ids: OnceLock<Vec<VertexId>>,
}

impl From<Option<Arc<Names>>> for Naming {
    fn from(names: Option<Arc<Names>>) -> Self {
        Self::Kept(names)
    }
}

impl Naming {
    pub(crate) fn sealed(store: Arc<Store>, names: Option<Names>) -> Self {
        Self::Sealed(Arc::new(SealedNames { store, names, ids: OnceLock::new() }))
    }

    /// Returns the name of a vertex.
    pub(crate) fn name_of(&self, v: VertexId) -> ExternalId {
        match self {
            Self::Kept(names) => name_of(names.as_deref(), v),
            Self::Sealed(sealed) => name_of(sealed.names.as_ref(), sealed.id_of(v)),
        }
    }

    /// Returns the vertex of a name, if there may be one.
    pub(crate) fn find(&self, name: &str) -> Option<VertexId> {
        match self {
            Self::Kept(names) => find(names.as_deref(), name),
            Self::Sealed(sealed) => {
                let id = find(sealed.names.as_ref(), name)?;
                let at = sealed.ids().iter().position(|&other| other == id);
                at.map(|at| at as VertexId)
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
        let numbers = |_| (0..self.store.form().vertices).collect();
        self.ids.get_or_init(|| self.store.all_ids().unwrap_or_else(numbers))
    }
}
