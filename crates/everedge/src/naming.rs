//! What the vertices of a view are called.
//!
//! A live graph or a timeline keeps names in a map ([`Names`]), or none where a vertex is called by its
//! number. A sealed graph numbers its vertices anew, and keeps for each the number it had before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use everedge_chunks::Store;
use everedge_core::VertexId;
use everedge_io::{Ids, TextIds};
use everedge_live::{ExternalId, HeldNames, NameRef, Names};

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
    /// Whether a vertex was looked for by its name: whoever looks for one has no need of an order.
    was_asked: AtomicBool,
    sorted: OnceLock<Sorted>,
}

/// The names of the vertices of a sealed graph, where they are kept.
pub(crate) struct HeldNaming<'a> {
    sealed: &'a SealedNames,
    ids: &'a [VertexId],
    names: Option<HeldNames<'a>>,
}

/// Where vertices are, sorted.
struct Sorted {
    /// All vertices by the numbers that they had.
    by_id: Vec<VertexId>,
    /// The places of those that were added, by their names.
    by_name: Vec<u32>,
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
        let (ids, sorted, was_asked) = (OnceLock::new(), OnceLock::new(), AtomicBool::new(false));
        Self::Sealed(Arc::new(SealedNames { store, names, added, ids, was_asked, sorted }))
    }

    /// Returns the name of a vertex.
    pub(crate) fn name_of(&self, v: VertexId) -> ExternalId {
        match self {
            Self::Kept(names) => name_of(names.as_deref(), v),
            Self::Sealed(sealed) => sealed.name_of(v),
        }
    }

    /// Returns the names of vertices as a column; what has no name is called by its number.
    pub(crate) fn ids_of(&self, vertices: &[VertexId]) -> Ids {
        match self {
            Self::Kept(None) => Ids::Dense(vertices.to_vec()),
            Self::Kept(Some(names)) => {
                let held = names.held();
                let name_of = |v| held.get(v).unwrap_or(NameRef::Integer(u64::from(v)));
                column(names.kind(), vertices, name_of)
            }
            Self::Sealed(sealed) => {
                let held = sealed.held();
                column(self.kind(), vertices, |v| held.name_of(v))
            }
        }
    }

    /// Sorts vertices by their names. The numbers that those of a sealed graph had are read then.
    pub(crate) fn sort(&self, vertices: &mut [VertexId]) {
        match self {
            Self::Kept(None) => vertices.sort_unstable(),
            Self::Kept(Some(names)) => {
                let names = names.held();
                let by = |v: &VertexId| names.get(*v).unwrap_or(NameRef::Integer((*v).into()));
                vertices.sort_unstable_by(|u, v| by(u).cmp(&by(v)));
            }
            Self::Sealed(sealed) => sealed.sort(vertices),
        }
    }

    /// Returns the names of a sealed graph where they are kept. The numbers that its vertices had are read then.
    pub(crate) fn held(&self) -> Option<HeldNaming<'_>> {
        match self {
            Self::Kept(_) => None,
            Self::Sealed(sealed) => Some(sealed.held()),
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

    /// Returns what names are, also while there are none: of a sealed graph with numbers for names, integers.
    pub(crate) fn kind(&self) -> IdKind {
        match self {
            Self::Kept(names) => names.as_deref().map_or(IdKind::Dense, Names::kind),
            Self::Sealed(sealed) => sealed.names.as_ref().map_or(IdKind::Integer, Names::kind),
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

impl HeldNaming<'_> {
    /// Returns the name of a vertex.
    pub(crate) fn name_of(&self, v: VertexId) -> NameRef<'_> {
        let id = self.ids[v as usize];
        let kept = || self.names.as_ref().and_then(|names| names.get(id));
        let number = || NameRef::Integer(id.into());
        self.sealed.added(v).map(NameRef::from).or_else(kept).unwrap_or_else(number)
    }
}

impl SealedNames {
    fn name_of(&self, v: VertexId) -> ExternalId {
        let sealed = || name_of(self.names.as_ref(), self.id_of(v));
        self.added(v).cloned().unwrap_or_else(sealed)
    }

    fn sort(&self, vertices: &mut [VertexId]) {
        if vertices.is_empty() {
            return;
        }
        let held = self.held();
        vertices.sort_unstable_by(|&u, &v| held.name_of(u).cmp(&held.name_of(v)));
    }

    fn held(&self) -> HeldNaming<'_> {
        let names = self.names.as_ref().map(Names::held);
        HeldNaming { sealed: self, ids: self.ids(), names }
    }

    /// Returns the name of a vertex that was added, if it is one.
    fn added(&self, v: VertexId) -> Option<&ExternalId> {
        v.checked_sub(self.sealed_count()).and_then(|at| self.added.get(at as usize))
    }

    /// Returns the vertex of a name.
    ///
    /// Cost: the first time, all numbers are looked through. Who asks again has them sorted, which takes 4 bytes of memory a vertex, and
    /// 4 for each that was added.
    fn find(&self, name: &str) -> Option<VertexId> {
        let is_first = !self.was_asked.swap(true, Ordering::Relaxed);
        let ids = self.ids();
        let sealed = find(self.names.as_ref(), name).and_then(|id| match is_first {
            true => ids.iter().position(|&other| other == id).map(|v| v as VertexId),
            false => found_in(&self.sorted().by_id, |&v| ids[v as usize].cmp(&id)),
        });
        sealed.or_else(|| self.find_added(name, is_first).map(|at| self.sealed_count() + at))
    }

    /// Returns which of the vertices that were added has a name.
    fn find_added(&self, name: &str, is_first: bool) -> Option<u32> {
        let name = match self.added.first()? {
            ExternalId::Integer(_) => ExternalId::Integer(name.parse().ok()?),
            ExternalId::Text(_) => ExternalId::Text(name.to_owned()),
        };
        match is_first {
            true => self.added.iter().position(|added| *added == name).map(|at| at as u32),
            false => found_in(&self.sorted().by_name, |&at| self.added[at as usize].cmp(&name)),
        }
    }

    fn sorted(&self) -> &Sorted {
        self.sorted.get_or_init(|| {
            let ids = self.ids();
            let mut by_id: Vec<VertexId> = (0..ids.len() as VertexId).collect();
            everedge_core::par::sort_by_key(&mut by_id, |&v| ids[v as usize]);
            let mut by_name: Vec<u32> = (0..self.added.len() as u32).collect();
            by_name.sort_unstable_by_key(|&at| &self.added[at as usize]);
            Sorted { by_id, by_name }
        })
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
            // The last page that was read has room for more.
            ids.shrink_to_fit();
            let first = self.names.as_ref().map_or(0, Names::len);
            ids.extend((first..).zip(&*self.added).map(|(number, name)| match name {
                ExternalId::Integer(id) if self.names.is_none() => *id as VertexId,
                _ => number,
            }));
            ids
        })
    }
}

/// Returns names of one kind as a column.
fn column<'a>(
    kind: IdKind,
    vertices: &[VertexId],
    name_of: impl Fn(VertexId) -> NameRef<'a>,
) -> Ids {
    let names = vertices.iter().map(|&v| name_of(v));
    if kind == IdKind::Text {
        let mut texts = TextIds::default();
        names.for_each(|name| match name {
            NameRef::Text(text) => texts.push(text),
            NameRef::Integer(number) => texts.push(&number.to_string()),
        });
        return Ids::Text(texts);
    }
    let number = |name| match name {
        NameRef::Integer(number) => number,
        NameRef::Text(_) => unreachable!("an id map keeps names of one kind"),
    };
    Ids::Sparse(names.map(number).collect())
}

/// Returns the one of some sorted numbers that `order` finds equal to what is looked for.
fn found_in(sorted: &[u32], order: impl FnMut(&u32) -> std::cmp::Ordering) -> Option<u32> {
    sorted.binary_search_by(order).ok().map(|place| sorted[place])
}
