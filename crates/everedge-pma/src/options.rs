//! How the layout works: what changes speed and space, but never an answer.

use serde::{Deserialize, Serialize};

use everedge_live::Phases;
use everedge_live::text_form;
use everedge_live::{Error, LayoutOptions, Result};
use everedge_medium::MediumKind;

/// How the gaps of some sections are shared out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rebalancing {
    /// Where the sections lie, chunk by chunk, each saved in an undo log first. An array that a
    /// snapshot may read is written aside all the same.
    InPlace,
    /// The whole array is written to another place, which then becomes current.
    Aside,
    /// Where the sections lie, as a general transaction does it, to compare with: each list that
    /// moves, or chunk of a long one, is saved and waited for by itself, after a record that says
    /// that the rebalance begins. It is as safe as in place. Unlike PMDK, which allocates a journal
    /// for each transaction, it uses the same undo logs again.
    Transaction,
}

text_form!(
    Rebalancing,
    "way of rebalancing",
    Rebalancing::InPlace = "in-place",
    Rebalancing::Aside = "aside",
    Rebalancing::Transaction = "transaction"
);

/// Where the rows of vertices lie: where each list begins and how long it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VertexArray {
    /// In memory; opening makes them from the headers of sections.
    #[default]
    Memory,
    /// On the medium too, where each that changes is overwritten and flushed, to measure what that
    /// costs: nobody reads them there. They take 32 bytes for each id up to the largest.
    Medium,
}

text_form!(
    VertexArray,
    "place of the vertex array",
    VertexArray::Memory = "memory",
    VertexArray::Medium = "medium"
);

/// Whether a single edge is logged before it is stored where it stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFirst {
    /// It is, and a round moves it into the arrays.
    #[default]
    Yes,
    /// As in the paper, it is stored in the edge log of its section, and waited for there. It is as
    /// safe. One for which there is no room yet, of a new vertex, or of a pair of which a simple graph
    /// keeps one edge only, is logged all the same. So are batches.
    No,
}

text_form!(LogFirst, "answer", LogFirst::Yes = "yes", LogFirst::No = "no");

/// What is fixed when a graph in this layout is created.
pub(crate) type GraphOptions = everedge_live::GraphOptions<PmaOptions>;
/// The manifest of one.
pub(crate) type Manifest = everedge_live::Manifest<PmaOptions>;

/// The options of the `pma` layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PmaOptions {
    /// Updates in the log from which they are moved into the arrays: 1 to 2^24 make sense. Where
    /// logging goes on meanwhile, 2^22 are enough, or a sixteenth of the graph if that is more:
    /// opening after a crash replays what waited.
    pub archive_threshold: u64,
    /// Whether logging goes on meanwhile.
    pub phases: Phases,
    /// Vertices of a section: a power of two up to 64.
    pub section_vertices: u32,
    /// Bytes of the edge log of a section at most; small sections have less. 0 is none: then an
    /// insertion that finds no gap rebalances.
    pub edge_log_bytes: u32,
    /// Bytes that a rebalance in place saves at a time.
    pub undo_log_bytes: u32,
    /// How gaps are shared out anew. None is what suits the medium: aside on a file, where each
    /// step in place would wait for the device; in place elsewhere.
    pub rebalancing: Option<Rebalancing>,
    /// Where the rows of vertices lie.
    pub vertex_array: VertexArray,
    /// Whether a single edge is logged before it is stored where it stays.
    pub log_first: LogFirst,
    /// A new array is filled to so many percent; by a compaction or a large round of batches half way
    /// from there to `array_percent`.
    pub fill_percent: u32,
    /// A section may be filled to so many percent before its gaps are shared out anew.
    pub section_percent: u32,
    /// The same for a whole array; windows in between lie in between.
    pub array_percent: u32,
}

impl LayoutOptions for PmaOptions {
    const NAME: &'static str = "pma";
}

impl Default for PmaOptions {
    fn default() -> Self {
        Self {
            archive_threshold: 1 << 23,
            phases: Phases::Overlapped,
            section_vertices: 64,
            edge_log_bytes: 2048,
            undo_log_bytes: 2048,
            rebalancing: None,
            vertex_array: VertexArray::Memory,
            log_first: LogFirst::Yes,
            fill_percent: 80,
            section_percent: 99,
            array_percent: 96,
        }
    }
}

impl PmaOptions {
    /// Chooses what is left open as it suits the medium, and checks the rest.
    ///
    /// # Errors
    /// `InvalidInput` if an option is out of range.
    pub(crate) fn suit(&mut self, graph: &GraphOptions) -> Result<()> {
        let suitable = match graph.medium {
            MediumKind::File => Rebalancing::Aside,
            _ => Rebalancing::InPlace,
        };
        self.rebalancing.get_or_insert(suitable);
        self.check()
    }

    /// Whether gaps are shared out where they are.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.rebalancing, Some(Rebalancing::InPlace | Rebalancing::Transaction))
    }

    /// Refuses options that are out of range.
    ///
    /// # Errors
    /// `InvalidInput` that names the first.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { section_vertices, edge_log_bytes, undo_log_bytes, .. } = *self;
        let Self { fill_percent, section_percent, array_percent, .. } = *self;
        let is_in_order = fill_percent < array_percent && array_percent <= section_percent;
        let what = if !(section_vertices.is_power_of_two() && section_vertices <= 64) {
            format!("a section has 1 to 64 vertices, a power of two, not {section_vertices}")
        } else if edge_log_bytes > 1 << 19 {
            format!("an edge log takes at most {} bytes, not {edge_log_bytes}", 1 << 19)
        } else if edge_log_bytes == 0 && self.log_first == LogFirst::No {
            "edges that are not logged first need edge logs: edge-log is 0".into()
        } else if !(64..=1 << 20).contains(&undo_log_bytes) {
            format!("an undo log takes 64 to {} bytes, not {undo_log_bytes}", 1 << 20)
        } else if !(10..=100).contains(&fill_percent) || !is_in_order || section_percent > 100 {
            format!(
                "an array is filled to 10 percent or more, then to more, a section at most to 100: \
                 not {fill_percent}, {array_percent} and {section_percent}"
            )
        } else {
            return Ok(());
        };
        Err(Error::invalid(what))
    }
}
