//! From the ids of a file to vertices.

use everedge_core::VertexId;
use everedge_io::{IdChoice, Ids};
use everedge_live::{ExternalId, IdKind, Names};
use serde_json::Value;

use crate::{Error, Result};

/// Returns the vertices of a file's ids, making ids for new names, durably. Without names, ids are
/// vertices as they are.
///
/// # Errors
/// If the ids are of another kind than the names, or the medium is full.
pub(crate) fn vertices_of(names: Option<&Names>, ids: Ids) -> Result<Vec<VertexId>> {
    let wants = |what| named(names, what);
    match (ids, names) {
        (Ids::Dense(ids), None) => Ok(ids),
        (Ids::Dense(ids), Some(names)) => {
            let ids: Vec<u64> = ids.into_iter().map(u64::from).collect();
            Ok(names.intern_integers(&ids)?)
        }
        (Ids::Sparse(ids), _) => Ok(wants("mapped integers")?.intern_integers(&ids)?),
        (Ids::Text(texts), _) => Ok(wants("strings")?.intern_texts(texts.iter())?),
    }
}

/// Returns the names of vertices, if they have some; `what` they would be.
///
/// # Errors
/// `InvalidInput` if they have none.
pub(crate) fn named<'a>(names: Option<&'a Names>, what: &str) -> Result<&'a Names> {
    names.ok_or_else(|| Error::invalid(format!("the graph's ids are dense integers, not {what}")))
}

/// Returns how a file's ids are read where vertices are named so.
pub(crate) fn read_as(ids: IdKind) -> everedge_io::IdKind {
    match ids {
        IdKind::Dense => everedge_io::IdKind::Dense,
        IdKind::Integer => everedge_io::IdKind::Sparse,
        IdKind::Text => everedge_io::IdKind::Text,
    }
}

/// The same, as a choice of the caller.
pub(crate) fn chosen_as(ids: IdKind) -> IdChoice {
    match ids {
        IdKind::Dense => IdChoice::Dense,
        IdKind::Integer => IdChoice::Integer,
        IdKind::Text => IdChoice::Text,
    }
}

/// Returns the kind of names that holds the ids of some files, each guessed; `choice` says what they are
/// where there is no file.
pub(crate) fn widest(
    guesses: impl Iterator<Item = everedge_io::IdKind>,
    choice: IdChoice,
) -> IdKind {
    // A wider kind holds what a narrower one does.
    let breadth = |ids| match ids {
        everedge_io::IdKind::Dense => 0,
        everedge_io::IdKind::Sparse => 1,
        everedge_io::IdKind::Text => 2,
    };
    match guesses.max_by_key(|&ids| breadth(ids)) {
        None => kind_of(choice),
        Some(everedge_io::IdKind::Dense) => IdKind::Dense,
        Some(everedge_io::IdKind::Sparse) => IdKind::Integer,
        Some(everedge_io::IdKind::Text) => IdKind::Text,
    }
}

/// Returns the kind of ids that a choice fixes without a look at a file.
pub(crate) fn kind_of(choice: IdChoice) -> IdKind {
    match choice {
        IdChoice::Auto | IdChoice::Dense => IdKind::Dense,
        IdChoice::Integer => IdKind::Integer,
        // As text any id can be kept.
        IdChoice::Text | IdChoice::Mapped => IdKind::Text,
    }
}

/// Returns the kind of ids that a choice means where there are ids of a kind already.
pub(crate) fn kind_beside(choice: IdChoice, found: IdKind) -> IdKind {
    match (choice, found) {
        (IdChoice::Auto, _) | (IdChoice::Mapped, IdKind::Integer | IdKind::Text) => found,
        _ => kind_of(choice),
    }
}

/// Returns a name as JSON has it.
pub(crate) fn json_of(name: ExternalId) -> Value {
    match name {
        ExternalId::Integer(id) => id.into(),
        ExternalId::Text(id) => id.into(),
    }
}

/// Returns the name of a vertex: what its source called it.
pub(crate) fn name_of(names: Option<&Names>, v: VertexId) -> ExternalId {
    names.and_then(|names| names.name_of(v)).unwrap_or(ExternalId::Integer(v.into()))
}

/// Returns the vertex of a name, if there is one; without names, the number.
pub(crate) fn find(names: Option<&Names>, name: &str) -> Option<VertexId> {
    match names {
        Some(names) => names.id_of(name),
        None => name.parse().ok(),
    }
}
