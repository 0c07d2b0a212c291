//! A live graph of any layout, as the tests of all layouts drive it.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions, Snapshot};
use everedge_blocks::{BlocksGraph, BlocksOptions, BlocksSnapshot};
use everedge_core::{Edge, GraphView, VertexId, WeightedView};
use everedge_live::{
    Batch, Changes, Followed, FollowedUpdate, Manifest, Names, Recovery, Result, Since,
    Verification,
};
use everedge_medium::{Kind, Volume};
use everedge_pma::{PmaGraph, PmaOptions, PmaSnapshot};

use crate::model::Picture;

/// An open graph.
pub(crate) enum LiveGraph {
    Adjacency(Box<AdjacencyGraph>),
    Pma(Box<PmaGraph>),
    Blocks(Box<BlocksGraph>),
}

/// A frozen view of one.
pub(crate) enum View {
    Adjacency(Box<Snapshot>),
    Pma(PmaSnapshot),
    Blocks(BlocksSnapshot),
}

macro_rules! with_graph {
    ($any:expr, $graph:ident => $body:expr) => {
        match $any {
            LiveGraph::Adjacency($graph) => $body,
            LiveGraph::Pma($graph) => $body,
            LiveGraph::Blocks($graph) => $body,
        }
    };
}

macro_rules! with_view {
    ($any:expr, $view:ident => $body:expr) => {
        match $any {
            View::Adjacency(view) => {
                let $view = &**view;
                $body
            }
            View::Pma($view) => $body,
            View::Blocks($view) => $body,
        }
    };
}

/// Returns the manifest of a new graph that is the same in every run.
pub(crate) fn adjacency(options: &GraphOptions) -> Manifest<AdjacencyOptions> {
    let options = options.with(&options.adjacency);
    Manifest { uuid: "a graph".into(), ..Manifest::new(Kind::Graph, options) }
}

/// Returns the manifest of a new graph that is the same in every run.
pub(crate) fn pma(options: &GraphOptions) -> Manifest<PmaOptions> {
    let options = options.with(&options.pma);
    Manifest { uuid: "a graph".into(), ..Manifest::new(Kind::Graph, options) }
}

/// Returns the manifest of a new graph that is the same in every run.
pub(crate) fn blocks(options: &GraphOptions) -> Manifest<BlocksOptions> {
    let options = options.with(&options.blocks);
    Manifest { uuid: "a graph".into(), ..Manifest::new(Kind::Graph, options) }
}

impl LiveGraph {
    /// Creates the id map of a graph that is to be created, if it has one.
    pub(crate) fn create_names(volume: &Volume, options: &GraphOptions) -> Result<Option<Names>> {
        Names::create(volume, options.ids, adjacency(options).salt())
    }

    pub(crate) fn create(volume: Volume, options: &GraphOptions) -> Result<Self> {
        Ok(match options.layout {
            Layout::Adjacency => {
                Self::Adjacency(Box::new(AdjacencyGraph::create(volume, adjacency(options))?))
            }
            Layout::Pma => Self::Pma(Box::new(PmaGraph::create(volume, pma(options))?)),
            Layout::Blocks => Self::Blocks(Box::new(BlocksGraph::create(volume, blocks(options))?)),
        })
    }

    /// Opens a graph, and has it read what an opening leaves to the first use.
    pub(crate) fn open(volume: Volume, layout: Layout) -> Result<Self> {
        let graph = match layout {
            Layout::Adjacency => Self::Adjacency(Box::new(AdjacencyGraph::open(volume)?)),
            Layout::Pma => Self::Pma(Box::new(PmaGraph::open(volume)?)),
            Layout::Blocks => Self::Blocks(Box::new(BlocksGraph::open(volume)?)),
        };
        graph.changes()?;
        Ok(graph)
    }

    /// Returns how many entries were stored in arrays without the log.
    pub(crate) fn stored_directly(&self) -> u64 {
        match self {
            Self::Adjacency(_) | Self::Blocks(_) => 0,
            Self::Pma(graph) => graph.mechanisms().stored_directly,
        }
    }

    pub(crate) fn apply(&self, batch: &Batch) -> Result<()> {
        with_graph!(self, graph => graph.apply(batch))
    }

    pub(crate) fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        with_graph!(self, graph => graph.insert(edges, weights))
    }

    pub(crate) fn insert_edge(&self, edge: Edge, weight: Option<f32>) -> Result<()> {
        with_graph!(self, graph => graph.insert_edge(edge, weight))
    }

    pub(crate) fn delete(&self, edges: impl Iterator<Item = Edge>) -> Result<Changes> {
        with_graph!(self, graph => graph.delete(edges))
    }

    pub(crate) fn delete_vertex(&self, v: VertexId) -> Result<Changes> {
        with_graph!(self, graph => graph.delete_vertex(v))
    }

    pub(crate) fn snapshot(&self) -> Result<View> {
        Ok(match self {
            Self::Adjacency(graph) => View::Adjacency(Box::new(graph.snapshot()?)),
            Self::Pma(graph) => View::Pma(graph.snapshot()?),
            Self::Blocks(graph) => View::Blocks(graph.snapshot()?),
        })
    }

    /// Returns the updates since this was called before, if they are known.
    pub(crate) fn follow(&self) -> Result<Option<Vec<FollowedUpdate>>> {
        let listed = |updates: Followed| Some(updates.iter().collect());
        Ok(with_graph!(self, graph => match graph.follow(true)? {
            Since::Updates(updates) | Since::UpdatesOf(updates, _) => listed(updates),
            Since::View(_) => None,
        }))
    }

    /// Returns a view of what is whole, and what is not.
    pub(crate) fn salvage(&self) -> Result<(View, Vec<String>)> {
        Ok(match self {
            Self::Adjacency(graph) => {
                let (view, problems) = graph.salvage()?;
                (View::Adjacency(Box::new(view)), problems)
            }
            Self::Pma(graph) => {
                let (view, problems) = graph.salvage()?;
                (View::Pma(view), problems)
            }
            Self::Blocks(graph) => {
                let (view, problems) = graph.salvage()?;
                (View::Blocks(view), problems)
            }
        })
    }

    pub(crate) fn changes(&self) -> Result<Changes> {
        with_graph!(self, graph => graph.changes())
    }

    pub(crate) fn sync(&self) -> Result<()> {
        with_graph!(self, graph => graph.sync())
    }

    /// Empties the log; vertex buffers become blocks.
    pub(crate) fn flush_all(&self) -> Result<()> {
        match self {
            Self::Adjacency(graph) => graph.flush_buffers(),
            Self::Pma(graph) => graph.flush_all(),
            Self::Blocks(graph) => graph.flush_all(),
        }
    }

    /// Puts lists in order, as a pause of the writers does.
    pub(crate) fn put_in_order(&self) {
        with_graph!(self, graph => graph.put_in_order(|| false));
    }

    /// Empties the log, in the way that costs least.
    pub(crate) fn save_all(&self) -> Result<()> {
        with_graph!(self, graph => graph.flush_all())
    }

    pub(crate) fn compact(&self) -> Result<()> {
        with_graph!(self, graph => graph.compact().map(drop))
    }

    /// Compacts the lists around `v`, or all in a layout that cannot do less.
    pub(crate) fn compact_vertex(&self, v: VertexId) -> Result<()> {
        match self {
            Self::Adjacency(graph) => graph.compact_vertex(v).map(drop),
            Self::Pma(graph) => graph.compact().map(drop),
            Self::Blocks(graph) => graph.compact().map(drop),
        }
    }

    pub(crate) fn verify(&self) -> Result<Verification> {
        with_graph!(self, graph => graph.verify())
    }

    pub(crate) fn close(self) -> Result<()> {
        with_graph!(self, graph => graph.close())
    }

    pub(crate) fn options(&self) -> GraphOptions {
        match self {
            Self::Adjacency(graph) => GraphOptions::of_adjacency(&graph.manifest().options),
            Self::Pma(graph) => GraphOptions::of_pma(&graph.manifest().options),
            Self::Blocks(graph) => GraphOptions::of_blocks(&graph.manifest().options),
        }
    }

    /// Opens the id map, if there is one.
    pub(crate) fn names(&self) -> Result<Option<Names>> {
        with_graph!(self, graph => {
            let manifest = graph.manifest();
            Names::open(graph.volume(), manifest.options.ids, manifest.salt())
        })
    }

    pub(crate) fn recovery(&self) -> Recovery {
        with_graph!(self, graph => graph.recovery())
    }

    pub(crate) fn volume(&self) -> &Volume {
        with_graph!(self, graph => graph.volume())
    }
}

impl View {
    /// Reads all of it.
    pub(crate) fn picture(&self, options: &GraphOptions) -> Picture {
        with_view!(self, view => Picture::of(view, options))
    }

    /// Reads all of it, and holds it to what kernels rely on. Returns whether it hangs together.
    pub(crate) fn walk(&self) -> bool {
        with_view!(self, view => crate::hostile::walk(view))
    }

    pub(crate) fn edge_count(&self) -> u64 {
        with_view!(self, view => view.edge_count())
    }

    pub(crate) fn vertex_count(&self) -> u32 {
        with_view!(self, view => view.vertex_count())
    }

    pub(crate) fn vertex_bound(&self) -> u32 {
        with_view!(self, view => view.vertex_bound())
    }

    pub(crate) fn out_neighbors(&self, v: VertexId) -> Vec<VertexId> {
        with_view!(self, view => view.out_neighbors(v).collect())
    }

    pub(crate) fn in_neighbors(&self, v: VertexId) -> Vec<VertexId> {
        with_view!(self, view => view.in_neighbors(v).collect())
    }

    /// Returns neighbors and weights as the view gives them.
    pub(crate) fn out_edges(&self, v: VertexId) -> Vec<(VertexId, f32)> {
        with_view!(self, view => view.out_edges(v).collect())
    }

    /// The same of in-neighbors.
    pub(crate) fn in_edges(&self, v: VertexId) -> Vec<(VertexId, f32)> {
        with_view!(self, view => view.in_edges(v).collect())
    }
}
