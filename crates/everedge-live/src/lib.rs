//! What live layouts share: the edge log in which batches commit, the rounds in which they are
//! applied, the id map, and the options of every live graph.

mod archiving;
mod batch;
mod extents;
mod free_units;
mod log;
mod names;
mod options;
mod recovery;
mod space;
mod text_form;
mod verification;
mod waiting;

pub use archiving::*;
pub use batch::*;
pub use everedge_medium::{Error, Result, Volume};
pub use extents::Extents;
pub use log::*;
pub use names::{AnnouncedNames, ExternalId, HeldNames, NAMES, NameRef, Names};
pub use options::{
    Durability, GraphHead, GraphOptions, IdKind, LayoutName, LayoutOptions, medium_text,
};
pub use recovery::Recovery;
pub use space::{FILE_BYTES_MAX, OpenReserve, Room, Space, UNIT_BYTES};
pub use verification::{Verification, verify_view};
pub use waiting::Waiting;

/// The manifest of a live graph.
pub type Manifest<L> = everedge_medium::Manifest<GraphOptions<L>>;
