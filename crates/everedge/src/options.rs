//! The options of a graph in any layout.

use everedge_adjacency::AdjacencyOptions;
use everedge_blocks::BlocksOptions;
use everedge_live::{Durability, IdKind, LayoutOptions, text_form};
use everedge_medium::{MediumKind, VolumeOptions};
use everedge_pma::PmaOptions;
use serde::{Deserialize, Serialize};

/// How a live graph keeps neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Vertex-buffered adjacency lists (XPGraph).
    #[default]
    Adjacency,
    /// Packed memory arrays: a CSR with gaps (DGAP).
    Pma,
    /// Sorted blocks with versions (SMDG).
    Blocks,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Adjacency, Self::Pma, Self::Blocks];
}

text_form!(
    Layout,
    "layout",
    Layout::Adjacency = "adjacency",
    Layout::Pma = "pma",
    Layout::Blocks = "blocks"
);

/// What is fixed when a graph is created. Of the options of layouts only those of its own count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphOptions {
    /// How neighbors are kept.
    pub layout: Layout,
    /// Where bytes live.
    #[serde(with = "everedge_live::medium_text")]
    pub medium: MediumKind,
    /// Whether the power-fail domain takes in the processor's caches, so that nothing is flushed.
    pub eadr: bool,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry an `f32` weight.
    pub weighted: bool,
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// Whether a directed graph keeps in-neighbors beside out-neighbors.
    pub in_neighbors: bool,
    /// What external ids are.
    pub ids: IdKind,
    /// When a call's updates are safe.
    pub durability: Durability,
    /// The bytes that the circular edge log may take.
    pub log_bytes: u64,
    /// Bytes set aside at creation for what the log will have to move elsewhere; if there are any,
    /// the log takes all its bytes at creation too. A close gives back what was not used.
    pub preallocate_bytes: u64,
    /// How the `adjacency` layout works.
    pub adjacency: AdjacencyOptions,
    /// How the `pma` layout works.
    pub pma: PmaOptions,
    /// How the `blocks` layout works.
    pub blocks: BlocksOptions,
}

impl Default for GraphOptions {
    fn default() -> Self {
        let of_any = everedge_live::GraphOptions::<AdjacencyOptions>::default();
        Self::new(Layout::default(), &of_any)
    }
}

impl GraphOptions {
    /// Returns options with what `of_any` says of any layout.
    fn new<L>(layout: Layout, of_any: &everedge_live::GraphOptions<L>) -> Self {
        Self {
            layout,
            medium: of_any.medium,
            eadr: of_any.eadr,
            directed: of_any.directed,
            weighted: of_any.weighted,
            simple: of_any.simple,
            in_neighbors: of_any.in_neighbors,
            ids: of_any.ids,
            durability: of_any.durability,
            log_bytes: of_any.log_bytes,
            preallocate_bytes: of_any.preallocate_bytes,
            adjacency: AdjacencyOptions::default(),
            pma: PmaOptions::default(),
            blocks: BlocksOptions::default(),
        }
    }

    /// Returns the options of an open graph.
    pub fn of_adjacency(options: &everedge_live::GraphOptions<AdjacencyOptions>) -> Self {
        Self { adjacency: options.tuning.clone(), ..Self::new(Layout::Adjacency, options) }
    }

    /// Returns the options of an open graph.
    pub fn of_pma(options: &everedge_live::GraphOptions<PmaOptions>) -> Self {
        Self { pma: options.tuning.clone(), ..Self::new(Layout::Pma, options) }
    }

    /// Returns the options of an open graph.
    pub fn of_blocks(options: &everedge_live::GraphOptions<BlocksOptions>) -> Self {
        Self { blocks: options.tuning.clone(), ..Self::new(Layout::Blocks, options) }
    }

    /// Returns the options of a graph in one layout, which works as `tuning` says.
    pub fn with<L: LayoutOptions>(&self, tuning: &L) -> everedge_live::GraphOptions<L> {
        everedge_live::GraphOptions {
            medium: self.medium,
            eadr: self.eadr,
            directed: self.directed,
            weighted: self.weighted,
            simple: self.simple,
            in_neighbors: self.in_neighbors,
            ids: self.ids,
            durability: self.durability,
            log_bytes: self.log_bytes,
            preallocate_bytes: self.preallocate_bytes,
            tuning: tuning.clone(),
            ..everedge_live::GraphOptions::default()
        }
    }

    /// Returns each option by its name, those of its own layout under `tuning`.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let json = match self.layout {
            Layout::Adjacency => serde_json::to_value(self.with(&self.adjacency)),
            Layout::Pma => serde_json::to_value(self.with(&self.pma)),
            Layout::Blocks => serde_json::to_value(self.with(&self.blocks)),
        };
        json.unwrap_or_default()
    }

    /// Returns what the medium needs to know.
    pub fn volume(&self, meter: bool) -> VolumeOptions {
        VolumeOptions { kind: self.medium, eadr: self.eadr, meter }
    }
}
