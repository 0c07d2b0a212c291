//! The questions that the demo asks of a view, and their answers as the report wants them.

use std::collections::HashSet;
use std::convert::Infallible;

use anyhow::{Context, Result, bail};
use everedge::{Kernel, Parameters, RunOptions, Values, VertexId, View};

use super::report::{Met, RankChange, Reach, ReachLevel};
use crate::charts::{Count, Neighborhood, Ranked, counts};

/// Examples named for each depth of a search; the plot shows as many as fit.
const EXAMPLES: usize = 8;
/// Places at the top of the ranking in which changes are looked for.
const WATCHED: usize = 40;
/// Changes of the ranking that are shown.
const CHANGES: usize = 12;

/// The vertices of a view by PageRank.
pub(super) struct Ranking {
    /// By vertex; they sum to 1.
    scores: Vec<f64>,
    /// The best vertex first, among equals the smaller id.
    order: Vec<VertexId>,
}

impl Ranking {
    /// Runs PageRank.
    pub(super) fn of(view: &View) -> Result<Self> {
        let values = view.run(Kernel::PageRank, &RunOptions::default())?.values;
        let Values::Score(scores) = values else { bail!("PageRank gave no ranks") };
        let mut order = view.vertices();
        order.sort_by(|&u, &v| scores[v as usize].total_cmp(&scores[u as usize]).then(u.cmp(&v)));
        Ok(Self { scores, order })
    }

    /// Returns the first vertices with their scores.
    pub(super) fn top(&self, view: &View, count: usize) -> Vec<Ranked> {
        let ranked = |&v: &VertexId| Ranked { name: name(view, v), score: self.scores[v as usize] };
        self.order.iter().take(count).map(ranked).collect()
    }

    /// Returns what moved most among the first places of either ranking, in the order of `self`.
    /// A vertex that `later` lacks stands behind all others there.
    pub(super) fn changes(&self, later: &Ranking, view: &View) -> Vec<RankChange> {
        let (before, after) = (self.places(), later.places());
        let place = |places: &[u64], v: VertexId| match places.get(v as usize) {
            None | Some(0) => places.len() as u64,
            Some(&place) => place,
        };
        let heads = [&self.order, &later.order].map(|order| order.iter().take(WATCHED));
        let watched: HashSet<VertexId> = heads.into_iter().flatten().copied().collect();
        let change = |v| (place(&before, v), place(&after, v), v);
        let mut moves: Vec<(u64, u64, VertexId)> = watched.into_iter().map(change).collect();
        let distance =
            |(before, after, _): &(u64, u64, VertexId)| (*after as f64 / *before as f64).ln().abs();
        moves.sort_by(|a, b| distance(b).total_cmp(&distance(a)).then(a.cmp(b)));
        moves.truncate(CHANGES);
        moves.sort_unstable();
        let named = |(before, after, v)| RankChange { name: name(view, v), before, after };
        moves.into_iter().map(named).collect()
    }

    /// Places by vertex, from 1; 0 stands for none.
    fn places(&self) -> Vec<u64> {
        let mut places = vec![0; self.scores.len()];
        for (place, &v) in (1..).zip(&self.order) {
            places[v as usize] = place;
        }
        places
    }

    fn sort(&self, vertices: &mut [VertexId]) {
        let score = |v: VertexId| self.scores[v as usize];
        vertices.sort_by(|&u, &v| score(v).total_cmp(&score(u)).then(u.cmp(&v)));
    }
}

/// Returns how many weakly connected components have which size.
pub(super) fn components(view: &View) -> Result<Vec<Count>> {
    let values = view.run(Kernel::Wcc, &RunOptions::default())?.values;
    let Values::Component(component) = values else { bail!("no components") };
    let members = view.vertices().into_iter().map(|v| component[v as usize].into());
    Ok(counts(counts(members).into_iter().map(|members| members.count)))
}

/// Returns what a breadth-first search from `source` meets at each depth.
pub(super) fn reach(view: &View, source: &str, ranking: &Ranking) -> Result<Reach> {
    let from = Parameters { source: Some(source.to_owned()), ..Parameters::default() };
    let values = view.run(Kernel::Bfs, &from.into())?.values;
    let Values::Depth(depths) = values else { bail!("no depths") };
    let depth_of = |v: VertexId| depths[v as usize];
    let mut order = vec![(vertex(view, source)?, 0)];
    let mut is_met: HashSet<VertexId> = order.iter().map(|&(v, _)| v).collect();
    let mut from = 0;
    while let Some(&(v, _)) = order.get(from) {
        let mut next = view.out_neighbors(v);
        next.retain(|&u| depth_of(u) == depth_of(v) + 1 && is_met.insert(u));
        ranking.sort(&mut next);
        order.extend(next.into_iter().map(|u| (u, from)));
        from += 1;
    }
    let level = |met: &[(VertexId, usize)]| {
        let mut vertices: Vec<VertexId> = met.iter().map(|&(v, _)| v).collect();
        ranking.sort(&mut vertices);
        let examples = vertices.iter().take(EXAMPLES).map(|&v| name(view, v)).collect();
        ReachLevel { packages: vertices.len() as u64, examples }
    };
    let levels = order.chunk_by(|a, b| depth_of(a.0) == depth_of(b.0)).map(level).collect();
    let tree = order.iter().map(|&(v, from)| Met { name: name(view, v), from }).collect();
    Ok(Reach { source: source.to_owned(), levels, tree })
}

/// Returns the edges that touch `center` or leave its direct dependencies, between the
/// best-ranked vertices first.
pub(super) fn neighborhood(view: &View, center: &str, ranking: &Ranking) -> Result<Neighborhood> {
    let middle = vertex(view, center)?;
    let near: HashSet<VertexId> = view.out_neighbors(middle).into_iter().collect();
    let mut edges = edges_where(view, |u, v| u == middle || v == middle || near.contains(&u));
    let score =
        |&(u, v): &(VertexId, VertexId)| ranking.scores[u as usize] + ranking.scores[v as usize];
    edges.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.cmp(b)));
    let named = |(u, v)| (name(view, u), name(view, v));
    let edges = edges.into_iter().map(named).collect();
    Ok(Neighborhood { center: center.to_owned(), edges, hidden: [0; 2] })
}

/// Returns the edges for which `keep` holds, in ascending order of their sources.
pub(super) fn edges_where(
    view: &View,
    keep: impl Fn(VertexId, VertexId) -> bool,
) -> Vec<(VertexId, VertexId)> {
    let mut edges = Vec::new();
    let Ok(()) = view.for_each_arc(|u, v, _| {
        if keep(u, v) {
            edges.push((u, v));
        }
        Ok::<(), Infallible>(())
    });
    edges
}

/// Returns the vertex of a package.
pub(super) fn vertex(view: &View, name: &str) -> Result<VertexId> {
    view.find(name).with_context(|| format!("`{name}` is not in the graph"))
}

fn name(view: &View, v: VertexId) -> String {
    view.name_of(v).to_string()
}
