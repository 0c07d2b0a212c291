//! A live graph that is one shard of a larger one.
//!
//! What carries messages between shards, and which machine has which, is not known here.

use std::sync::Arc;

use everedge_core::par::Foreground;
use everedge_core::watch::Watch;
use everedge_core::{GraphView, SplitMix64, VertexId, par, scramble};
use everedge_kernels::supersteps::{Part, PartValues, Question, Run, Said, Saved, Whole};
use everedge_live::IdKind;

use crate::any_view::AnyView;
use crate::run::on_threads;
use crate::{Error, Kernel, Parameters, Result, View};

/// A frozen view of a shard, which owns the vertices v with `v mod shards = shard` and has every edge of theirs.
pub struct Shard {
    view: Arc<View>,
    part: Part,
}

/// What a shard works on, from one superstep to the next.
pub struct ShardRun {
    run: Run,
    threads: usize,
    watch: Watch,
}

/// Evaluates an expression with the snapshot inside a view, compiled once for each layout.
macro_rules! with_live {
    ($any:expr, $view:ident => $body:expr) => {
        match $any {
            AnyView::Adjacency($view) => $body,
            AnyView::Pma($view) => $body,
            AnyView::Blocks($view) => $body,
            _ => unreachable!("a shard is a live graph, as `Shard::new` sees to"),
        }
    };
}

impl Shard {
    /// Finds which vertices of a view the shard owns. Cost: all ids once.
    ///
    /// # Errors
    /// `InvalidInput` if it is not of a live graph or its ids are not dense; `Kernel` if there is no such shard.
    pub fn new(view: Arc<View>, shard: u32, shards: u32) -> Result<Self> {
        if view.id_kind() != IdKind::Dense {
            return Err(Error::invalid(
                "the graph maps ids, and each shard would number them in its own way: make shards with \
                 --ids dense",
            ));
        }
        if view.any.sequence().is_none() {
            return Err(Error::invalid("a shard is a live graph: take a snapshot of one"));
        }
        let part = Part::of(&view.any, shard, shards).map_err(in_numbers)?;
        Ok(Self { view, part })
    }

    /// Returns the vertices that it owns, ascending.
    pub fn owned(&self) -> &[VertexId] {
        self.part.owned()
    }

    /// Returns the vertices of `shard` that edges lead to or from here, ascending.
    pub fn ghosts(&self, shard: u32) -> &[VertexId] {
        self.part.ghosts(shard)
    }

    /// Takes in which own vertices are ghosts on `shard`.
    ///
    /// # Errors
    /// `Kernel` if they are not own vertices in ascending order.
    pub fn set_mirrored(&mut self, shard: u32, vertices: Vec<VertexId>) -> Result<()> {
        self.part.set_mirrored(shard, vertices).map_err(in_numbers)
    }

    /// Returns the out-degrees of the own vertices, and their in-degrees.
    pub fn degrees(&self) -> (Vec<u32>, Vec<u32>) {
        let any = &self.view.any;
        self.owned().iter().map(|&v| (any.out_degree(v), any.in_degree(v))).unzip()
    }

    /// Begins to answer `kernel` with all other shards, or goes on where it was saved. Returns what is said to them first.
    ///
    /// # Errors
    /// `InvalidInput` if shards do not answer this kernel, or it lacks a parameter; `Kernel` if one is out of range;
    /// `Interrupted` if `watch` was cancelled.
    pub fn begin(
        &self,
        (kernel, parameters): (Kernel, &Parameters),
        whole: Whole,
        saved: Option<Saved<'_>>,
        threads: usize,
        watch: Watch,
    ) -> Result<(ShardRun, Said)> {
        parameters.check(kernel)?;
        let question = question(kernel, parameters)?;
        let (run, said) = watched(
            threads,
            &watch,
            || with_live!(&self.view.any, view => Run::begin(question, view, &self.part, whole, saved)),
        )?;
        Ok((ShardRun { run, threads, watch }, said))
    }

    /// Does a superstep of `run`: `totals` are the sums of what all shards said last, `messages` what each of them said to this one.
    ///
    /// # Errors
    /// `Kernel` if a message is not one of this question and of this state of the graph, or an edge has a weight that it cannot
    /// use; `Interrupted` if the watch was cancelled.
    pub fn step(&self, run: &mut ShardRun, totals: &[f64], messages: &[&[u8]]) -> Result<Said> {
        let ShardRun { run, threads, watch } = run;
        watched(
            *threads,
            watch,
            || with_live!(&self.view.any, view => run.step(view, &self.part, totals, messages)),
        )
    }

    /// Returns what `run` knows of the own vertices.
    pub fn values(&self, run: &ShardRun) -> PartValues {
        run.run.values(&self.part)
    }
}

/// Runs `work` on so many threads under a watch.
fn watched<R>(
    threads: usize,
    watch: &Watch,
    work: impl FnOnce() -> everedge_kernels::Result<R>,
) -> Result<R> {
    let _foreground = Foreground::new();
    let run = || watch.run(work);
    // To wake another thread takes longer than a short superstep.
    let done = if threads == 1 { par::on_this_thread(run) } else { on_threads(threads, run)? };
    done.map_err(|_cancelled| Error::Interrupted)?.map_err(in_numbers)
}

/// Says what is wrong; ids are dense, so that a vertex is called by its number.
fn in_numbers(error: everedge_kernels::Error) -> Error {
    Error::kernel(error, |v| v.to_string())
}

/// Returns what shards answer.
fn question(kernel: Kernel, parameters: &Parameters) -> Result<Question> {
    let source = || match parameters.source.as_deref().map(str::parse) {
        Some(Ok(source)) => Ok(source),
        _ => Err(Error::invalid(format!(
            "{kernel} of a graph in shards begins at `source`, a number"
        ))),
    };
    match kernel {
        Kernel::Bfs => source().map(Question::Bfs),
        Kernel::Sssp => source().map(Question::Sssp),
        Kernel::PageRank => Ok(Question::PageRank(parameters.pagerank_config())),
        Kernel::Wcc => Ok(Question::Wcc),
        Kernel::KCore => Ok(Question::Coreness),
        _ => Err(Error::invalid(format!(
            "a graph in shards does not answer {kernel}, only bfs, sssp, pagerank, wcc and kcore: \
             export it, and ask one machine"
        ))),
    }
}

/// Returns what tells edges from others: the same for the same ones in any order, and of others by chance once in 2^64.
///
/// # Panics
/// If the columns are not of one length.
pub fn edges_fingerprint(src: &[VertexId], dst: &[VertexId], weights: Option<&[f32]>) -> u64 {
    assert!(src.len() == dst.len() && weights.is_none_or(|weights| weights.len() == src.len()));
    let of = |number: u64| scramble(number.wrapping_add(SplitMix64::STEP));
    let edge = |i: usize| {
        let ends = of(u64::from(src[i]) << 32 | u64::from(dst[i]));
        weights.map_or(ends, |weights| of(ends ^ u64::from(weights[i].to_bits())))
    };
    (0..src.len()).map(edge).fold(0, u64::wrapping_add)
}

/// Edges by column: sources, destinations and, if they have some, weights.
pub type ShardColumns = (Vec<VertexId>, Vec<VertexId>, Option<Vec<f32>>);

/// Divides edges among so many shards, in their order: each goes to the owner of its source and to that of its destination, once
/// if they are the same.
///
/// # Panics
/// If the columns are not of one length.
///
/// # Example
/// ```
/// let parts = everedge::divided_by_owner(&[0, 1, 2], &[1, 3, 4], None, 2);
/// assert_eq!(parts[0], (vec![0, 2], vec![1, 4], None));
/// assert_eq!(parts[1], (vec![0, 1], vec![1, 3], None));
/// ```
pub fn divided_by_owner(
    src: &[VertexId],
    dst: &[VertexId],
    weights: Option<&[f32]>,
    shards: u32,
) -> Vec<ShardColumns> {
    assert!(src.len() == dst.len() && weights.is_none_or(|weights| weights.len() == src.len()));
    let room = 2 * src.len() / shards as usize;
    let column = || Vec::with_capacity(room);
    let mut parts: Vec<ShardColumns> = (0..shards)
        .map(|_| (column(), column(), weights.map(|_| Vec::with_capacity(room))))
        .collect();
    for (place, (&u, &v)) in src.iter().zip(dst).enumerate() {
        let (from, to) = (u % shards, v % shards);
        let both = [Some(from), (to != from).then_some(to)];
        for owner in both.into_iter().flatten() {
            let (sources, destinations, own_weights) = &mut parts[owner as usize];
            sources.push(u);
            destinations.push(v);
            if let (Some(own), Some(weights)) = (own_weights, weights) {
                own.push(weights[place]);
            }
        }
    }
    parts
}
