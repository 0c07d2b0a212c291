//! A live graph of any layout: an enum and a `match`.

use std::time::Duration;

use everedge_adjacency::AdjacencyGraph;
use everedge_blocks::BlocksGraph;
use everedge_core::{Edge, VertexId};
use everedge_live::{
    Batch, Changes, Compaction, Manifest, Names, Recovery, Since, Totals, Verification,
};
use everedge_medium::{Kind, MediumKind, Volume};
use everedge_pma::{Mechanisms, PmaGraph};

use crate::any_view::AnyView;
use crate::options::{GraphOptions, Layout};
use crate::{Error, Result};

/// A live graph of any layout.
pub(crate) enum AnyLive {
    Adjacency(Box<AdjacencyGraph>),
    Pma(Box<PmaGraph>),
    Blocks(Box<BlocksGraph>),
}

/// Evaluates an expression with the graph inside an [`AnyLive`].
macro_rules! with_live {
    ($any:expr, $graph:ident => $body:expr) => {
        match $any {
            AnyLive::Adjacency($graph) => $body,
            AnyLive::Pma($graph) => $body,
            AnyLive::Blocks($graph) => $body,
        }
    };
}

impl AnyLive {
    /// Creates an empty graph, with an id map if its options ask for one.
    pub(crate) fn create(volume: Volume, options: &GraphOptions) -> Result<(Self, Option<Names>)> {
        if options.eadr && !matches!(options.medium, MediumKind::Pmem { .. }) {
            let what = format!("eadr is a kind of persistent memory, not of {}", options.medium);
            return Err(Error::invalid(what));
        }
        Ok(match options.layout {
            Layout::Adjacency => {
                let manifest = Manifest::new(Kind::Graph, options.with(&options.adjacency));
                let names = Names::create(&volume, options.ids, manifest.salt())?;
                (Self::Adjacency(AdjacencyGraph::create(volume, manifest)?.into()), names)
            }
            Layout::Pma => {
                let manifest = Manifest::new(Kind::Graph, options.with(&options.pma));
                let names = Names::create(&volume, options.ids, manifest.salt())?;
                (Self::Pma(PmaGraph::create(volume, manifest)?.into()), names)
            }
            Layout::Blocks => {
                let manifest = Manifest::new(Kind::Graph, options.with(&options.blocks));
                let names = Names::create(&volume, options.ids, manifest.salt())?;
                (Self::Blocks(BlocksGraph::create(volume, manifest)?.into()), names)
            }
        })
    }

    /// Opens a graph and its id map, if it has one.
    pub(crate) fn open(volume: Volume, layout: Layout) -> Result<(Self, Option<Names>)> {
        let live = match layout {
            Layout::Adjacency => Self::Adjacency(AdjacencyGraph::open(volume)?.into()),
            Layout::Pma => Self::Pma(PmaGraph::open(volume)?.into()),
            Layout::Blocks => Self::Blocks(BlocksGraph::open(volume)?.into()),
        };
        let names = with_live!(&live, graph => {
            let manifest = graph.manifest();
            Names::open(graph.volume(), manifest.options.ids, manifest.salt())
        })?;
        Ok((live, names))
    }

    /// Refuses to write if the graph is open for reading only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        Ok(with_live!(self, graph => graph.volume().check_writable())?)
    }

    /// Returns every file that a graph in a layout can have.
    pub(crate) fn files(layout: Layout) -> &'static [&'static str] {
        match layout {
            Layout::Adjacency => &AdjacencyGraph::FILES,
            Layout::Pma => &PmaGraph::FILES,
            Layout::Blocks => &BlocksGraph::FILES,
        }
    }

    /// Returns whether a graph in some layout can have a file of this name.
    pub(crate) fn is_file(name: &str) -> bool {
        Layout::ALL.iter().any(|&layout| Self::files(layout).contains(&name))
    }

    pub(crate) fn snapshot(&self) -> Result<AnyView> {
        Ok(match self {
            Self::Adjacency(graph) => AnyView::Adjacency(graph.snapshot()?),
            Self::Pma(graph) => AnyView::Pma(graph.snapshot()?),
            Self::Blocks(graph) => AnyView::Blocks(graph.snapshot()?),
        })
    }

    pub(crate) fn follow(&self, is_wanted: bool) -> Result<Since<AnyView>> {
        Ok(match self {
            Self::Adjacency(graph) => graph.follow(is_wanted)?.map(AnyView::Adjacency),
            Self::Pma(graph) => graph.follow(is_wanted)?.map(AnyView::Pma),
            Self::Blocks(graph) => graph.follow(is_wanted)?.map(AnyView::Blocks),
        })
    }

    pub(crate) fn identity(&self) -> u32 {
        with_live!(self, graph => graph.identity())
    }

    pub(crate) fn totals(&self) -> Result<Totals> {
        Ok(with_live!(self, graph => graph.totals())?)
    }

    /// Returns what is whole of the graph, and what is damaged.
    pub(crate) fn salvage(&self) -> Result<(AnyView, Vec<String>)> {
        Ok(match self {
            Self::Adjacency(graph) => {
                let (view, problems) = graph.salvage()?;
                (AnyView::Adjacency(view), problems)
            }
            Self::Pma(graph) => {
                let (view, problems) = graph.salvage()?;
                (AnyView::Pma(view), problems)
            }
            Self::Blocks(graph) => {
                let (view, problems) = graph.salvage()?;
                (AnyView::Blocks(view), problems)
            }
        })
    }

    pub(crate) fn apply(&self, batch: &Batch) -> Result<()> {
        Ok(with_live!(self, graph => graph.apply(batch))?)
    }

    /// Applies a batch if `check` allows it, which is shown the graph as it is then; not asked where nobody
    /// has written since the view of this sequence.
    pub(crate) fn apply_since(
        &self,
        batch: &Batch,
        sequence: u64,
        check: impl FnOnce(&AnyView) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Adjacency(graph) => {
                graph.apply_since(batch, sequence, |view| check(&AnyView::Adjacency(view)))
            }
            Self::Pma(graph) => {
                graph.apply_since(batch, sequence, |view| check(&AnyView::Pma(view)))
            }
            Self::Blocks(graph) => {
                graph.apply_since(batch, sequence, |view| check(&AnyView::Blocks(view)))
            }
        }
    }

    pub(crate) fn insert_edge(&self, edge: Edge, weight: Option<f32>) -> Result<()> {
        Ok(with_live!(self, graph => graph.insert_edge(edge, weight))?)
    }

    pub(crate) fn delete(&self, edges: &[Edge]) -> Result<Changes> {
        Ok(with_live!(self, graph => graph.delete(edges.iter().copied()))?)
    }

    pub(crate) fn delete_vertex(&self, v: VertexId) -> Result<Changes> {
        Ok(with_live!(self, graph => graph.delete_vertex(v))?)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        Ok(with_live!(self, graph => graph.sync())?)
    }

    pub(crate) fn put_in_order(&self, is_ended: impl Fn() -> bool) {
        with_live!(self, graph => graph.put_in_order(is_ended));
    }

    pub(crate) fn close(self) -> Result<()> {
        Ok(with_live!(self, graph => graph.close())?)
    }

    pub(crate) fn changes(&self) -> Result<Changes> {
        Ok(with_live!(self, graph => graph.changes())?)
    }

    pub(crate) fn compact(&self) -> Result<Compaction> {
        Ok(with_live!(self, graph => graph.compact())?)
    }

    pub(crate) fn verify(&self) -> Result<Verification> {
        Ok(with_live!(self, graph => graph.verify())?)
    }

    pub(crate) fn thread_shares(&self) -> Vec<u64> {
        match self {
            Self::Adjacency(graph) => graph.thread_shares(),
            Self::Pma(_) | Self::Blocks(_) => Vec::new(),
        }
    }

    pub(crate) fn mechanisms(&self) -> Option<Mechanisms> {
        match self {
            Self::Adjacency(_) | Self::Blocks(_) => None,
            Self::Pma(graph) => Some(graph.mechanisms()),
        }
    }

    /// Returns the bytes that only views and what was last saved still read, if the layout counts them.
    pub(crate) fn version_bytes(&self) -> Option<u64> {
        match self {
            Self::Adjacency(_) | Self::Pma(_) => None,
            Self::Blocks(graph) => Some(graph.version_bytes()),
        }
    }

    /// Returns what was fixed at creation.
    pub(crate) fn options(&self) -> GraphOptions {
        match self {
            Self::Adjacency(graph) => GraphOptions::of_adjacency(&graph.manifest().options),
            Self::Pma(graph) => GraphOptions::of_pma(&graph.manifest().options),
            Self::Blocks(graph) => GraphOptions::of_blocks(&graph.manifest().options),
        }
    }

    pub(crate) fn recovery(&self) -> Recovery {
        with_live!(self, graph => graph.recovery())
    }

    pub(crate) fn round_times(&self) -> Vec<Duration> {
        with_live!(self, graph => graph.round_times())
    }

    pub(crate) fn volume(&self) -> &Volume {
        with_live!(self, graph => graph.volume())
    }
}
