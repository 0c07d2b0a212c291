//! Triangles and what else is counted among neighbors.

use std::collections::{BTreeMap, BTreeSet};

use everedge_core::{Edge, GraphView, VertexId};

use crate::{CdlpConfig, Similarity};

/// Returns the count of [`triangles`](crate::triangles()), by looking at all pairs of neighbors.
pub fn triangles(view: &impl GraphView) -> u64 {
    let neighbors = neighbor_sets(view);
    let mut count = 0;
    for (u, set) in (0..).zip(&neighbors) {
        for &v in set.range(u..) {
            count += set.range(v..).filter(|w| neighbors[v as usize].contains(w)).count() as u64;
        }
    }
    count
}

/// Returns the coefficients of [`lcc`](crate::lcc()), by looking at all pairs of neighbors.
pub fn lcc(view: &impl GraphView) -> Vec<f64> {
    let mut edges = BTreeSet::new();
    view.for_each_edge(|u, v| _ = edges.insert((u, v)));
    let coefficient = |set: BTreeSet<VertexId>| {
        let degree = set.len() as f64;
        let pairs = set.iter().flat_map(|&u| set.iter().map(move |&v| (u, v)));
        let edge_count = pairs.filter(|(u, v)| u != v && edges.contains(&(*u, *v))).count();
        if set.len() < 2 { 0.0 } else { edge_count as f64 / (degree * (degree - 1.0)) }
    };
    neighbor_sets(view).into_iter().map(coefficient).collect()
}

/// Returns the labels of [`cdlp`](crate::cdlp()), by counting for each vertex all labels that come
/// to it.
///
/// # Panics
/// If there are fewer labels than ids.
pub fn cdlp(view: &impl GraphView, labels: Option<&[u64]>, config: &CdlpConfig) -> Vec<u64> {
    let initial = |v: VertexId| labels.map_or(u64::from(v), |labels| labels[v as usize]);
    let initial_of = |v| if view.is_vertex(v) { initial(v) } else { u64::MAX };
    let mut label: Vec<_> = (0..view.vertex_bound()).map(initial_of).collect();
    for _ in 0..config.iterations_max {
        let mut counts = vec![BTreeMap::new(); label.len()];
        view.for_each_edge(|u, v| {
            *counts[u as usize].entry(label[v as usize]).or_insert(0) += 1;
            if view.is_directed() {
                *counts[v as usize].entry(label[u as usize]).or_insert(0) += 1;
            }
        });
        for (label, counts) in label.iter_mut().zip(&counts) {
            let most = counts.values().max();
            let most_frequent = counts.iter().find(|&(_, count)| Some(count) == most);
            *label = most_frequent.map_or(*label, |(&label, _)| label);
        }
    }
    label
}

/// Returns the scores of [`similarity`](crate::similarity()), from the sets of neighbors.
///
/// # Panics
/// If an end of a pair is not below the bound.
pub fn similarity(view: &impl GraphView, pairs: &[Edge], measure: Similarity) -> Vec<f64> {
    let neighbors = neighbor_sets(view);
    let degree = |v: VertexId| neighbors[v as usize].len() as f64;
    let score = |&(u, v): &Edge| {
        let [a, b] = [u, v].map(|v| &neighbors[v as usize]);
        let both = a.intersection(b).copied();
        match measure {
            Similarity::CommonNeighbors => both.count() as f64,
            Similarity::Jaccard => both.count() as f64 / a.union(b).count().max(1) as f64,
            Similarity::AdamicAdar => {
                both.filter(|&w| degree(w) > 1.0).map(|w| 1.0 / degree(w).ln()).sum()
            }
            Similarity::ResourceAllocation => both.map(|w| 1.0 / degree(w)).sum(),
            Similarity::PreferentialAttachment => degree(u) * degree(v),
        }
    };
    pairs.iter().map(score).collect()
}

/// Returns the neighbors of each vertex over edges either way, without itself.
fn neighbor_sets(view: &impl GraphView) -> Vec<BTreeSet<VertexId>> {
    let mut sets = vec![BTreeSet::new(); view.vertex_bound() as usize];
    view.for_each_edge(|u, v| {
        if u != v {
            sets[u as usize].insert(v);
            sets[v as usize].insert(u);
        }
    });
    sets
}
