//! Kernels over a graph that is cut into shards, in supersteps.
//!
//! A shard *owns* the vertices that a rule gives it, and keeps every edge that has an end among them: so
//! it has the whole lists of its own vertices, and *ghosts*, the other ends, with those of their edges that lead here. A
//! vertex is *mirrored* on each shard where it is a ghost. In a superstep every shard takes in what the others say about its
//! ghosts, works on its own vertices, and says what has become of those that are mirrored elsewhere: nothing but
//! values, in the order of a list of vertices that both sides keep ([`Part`]). Who carries the messages is not known here.
//!
//! The local work is that of the kernels for one machine: the same edge maps, buckets and trees. Answers are the same, those of
//! PageRank up to rounding.
//!
//! Source: Valiant, "A Bridging Model for Parallel Computation", CACM 1990; Malewicz et al., "Pregel", SIGMOD 2010; ghosts as in
//! Low et al., "Distributed GraphLab", VLDB 2012, §4.1. Difference: a shard works until nothing changes any more by
//! what it knows, where that is right, and not one step along edges.
//!
//! # Cost
//! Messages: at most 8 bytes for each ghost in a superstep, and one byte; for components 8 bytes for each vertex that is shared.
//! Memory: searches and paths keep arrays as long as the largest id on the shard; ranks and cores keep arrays as long as it
//! has vertices, and a copy of the lists of its own. Besides 4 bytes for each ghost and each place where a vertex is mirrored.

mod components;
mod cores;
mod lists;
mod message;
mod part;
mod paths;
mod ranks;
mod search;

use everedge_core::{VertexId, WeightedView};

pub use part::Part;

use components::Components;
use cores::Cores;
use paths::Paths;
use ranks::Ranks;
use search::Search;

use crate::{PageRankConfig, Result};

/// What is asked of all shards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// The number of edges of a shortest path from a vertex to each.
    Bfs(VertexId),
    /// The length of a shortest path from a vertex to each.
    Sssp(VertexId),
    /// The rank of each vertex.
    PageRank(PageRankConfig),
    /// The smallest vertex of each weakly connected component.
    Wcc,
    /// The coreness of each vertex.
    Coreness,
}

/// What all shards together have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The number of vertices.
    pub vertex_count: u32,
    /// A number above all of them.
    pub vertex_bound: u32,
}

/// What a shard says at the end of a superstep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// To each shard, in their order; empty where there is nothing to say.
    pub messages: Vec<Vec<u8>>,
    /// What is added up over all shards: [`Run::step`] is told the sums.
    pub sums: Vec<f64>,
}

/// Values of the vertices that a shard owns, in their ascending order.
#[derive(Clone, Debug, PartialEq)]
pub enum PartValues {
    /// Depths, components or corenesses.
    Whole(Vec<u32>),
    /// Ranks or distances.
    Real(Vec<f64>),
}

/// How far a run had come at the end of a superstep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saved<'a> {
    /// The supersteps that it had done.
    pub steps: u32,
    /// What it had of the own vertices.
    pub values: &'a PartValues,
}

/// The work of a shard on a question, between supersteps.
#[derive(Debug)]
pub struct Run(State);

#[derive(Debug)]
enum State {
    Search(Search),
    Paths(Paths),
    Narrow(Ranks<f32>),
    Wide(Ranks<f64>),
    Components(Components),
    Cores(Cores),
}

/// Calls a method of whatever work it is.
macro_rules! with_state {
    ($state:expr, $work:ident => $call:expr) => {
        match $state {
            State::Search($work) => $call,
            State::Paths($work) => $call,
            State::Narrow($work) => $call,
            State::Wide($work) => $call,
            State::Components($work) => $call,
            State::Cores($work) => $call,
        }
    };
}

impl Run {
    /// Begins to answer a question, or goes on where an earlier run was at the end of a superstep. A run for components begins
    /// anew in any case.
    ///
    /// Returns the run, and what the shard says before the first superstep.
    ///
    /// # Errors
    /// [`BadParameter`](crate::Error::BadParameter) as the kernel of one machine; [`BadMessage`](crate::Error::BadMessage) if
    /// there are not as many values as own vertices, or not of their kind.
    pub fn begin<V: WeightedView>(
        question: Question,
        view: &V,
        part: &Part,
        whole: Whole,
        saved: Option<Saved<'_>>,
    ) -> Result<(Self, Said)> {
        let (state, said) = match question {
            Question::Bfs(source) => {
                let (search, said) = Search::begin(view, part, source, saved)?;
                (State::Search(search), said)
            }
            Question::Sssp(source) => {
                let (paths, said) = Paths::begin(view, part, source, saved)?;
                (State::Paths(paths), said)
            }
            Question::PageRank(config) if config.is_narrow() => {
                let (ranks, said) = Ranks::begin(view, part, whole, config, saved)?;
                (State::Narrow(ranks), said)
            }
            Question::PageRank(config) => {
                let (ranks, said) = Ranks::begin(view, part, whole, config, saved)?;
                (State::Wide(ranks), said)
            }
            Question::Wcc => {
                let (components, said) = Components::begin(view, part, whole);
                (State::Components(components), said)
            }
            Question::Coreness => {
                let (cores, said) = Cores::begin(view, part, saved)?;
                (State::Cores(cores), said)
            }
        };
        Ok((Self(state), said))
    }

    /// Does a superstep: `totals` are the sums of what all shards said last, `messages` what each of them said to this one.
    ///
    /// # Errors
    /// [`BadMessage`](crate::Error::BadMessage) if a message is not one of this question and of the vertices that both shards keep;
    /// [`BadWeight`](crate::Error::BadWeight) as [`sssp`](crate::sssp()).
    pub fn step<V: WeightedView>(
        &mut self,
        view: &V,
        part: &Part,
        totals: &[f64],
        messages: &[&[u8]],
    ) -> Result<Said> {
        with_state!(&mut self.0, work => work.step(view, part, totals, messages))
    }

    /// Returns what is known of the own vertices: the answer, once no shard has anything to say.
    pub fn values(&self, part: &Part) -> PartValues {
        with_state!(&self.0, work => work.values(part))
    }
}
