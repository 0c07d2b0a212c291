//! Twins of the kernels that iterate with the adjacency matrix, or add up distances.

use everedge_core::{GraphView, VertexId, WeightedView};

use crate::{EigenvectorConfig, HitsConfig, KatzConfig, PersonalizedPageRankConfig, UNREACHED};

/// Calls `f(u, v, weight)` for every edge; the weight is 1 unless weights count.
fn for_each_edge(view: &impl WeightedView, weighted: bool, mut f: impl FnMut(usize, usize, f64)) {
    for u in 0..view.vertex_bound() {
        for (v, weight) in view.out_edges(u) {
            f(u as usize, v as usize, if weighted { weight.into() } else { 1.0 });
        }
    }
}

/// Returns the ranks of [`personalized_pagerank`](crate::personalized_pagerank()), pushed from each
/// vertex to its neighbors.
pub fn personalized_pagerank(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
) -> Vec<f64> {
    let mut start = vec![0.0; view.vertex_bound() as usize];
    config.starts.iter().for_each(|&(v, weight)| start[v as usize] += weight);
    if config.starts.is_empty() {
        (0..).zip(&mut start).for_each(|(v, s)| *s = f64::from(u8::from(view.is_vertex(v))));
    }
    let sum: f64 = start.iter().sum();
    start.iter_mut().for_each(|s| *s /= sum);
    let mut leaving = vec![0.0; start.len()];
    for_each_edge(view, config.weighted, |u, _, weight| leaving[u] += weight);
    let (mut rank, damping) = (start.clone(), config.pagerank.damping);
    for _ in 0..config.pagerank.iterations_max {
        let stays = rank.iter().zip(&leaving).filter(|(_, leaving)| **leaving == 0.0);
        let dangling: f64 = stays.map(|(rank, _)| rank).sum();
        let started = 1.0 - damping + damping * dangling;
        let mut new: Vec<f64> = start.iter().map(|start| started * start).collect();
        for_each_edge(view, config.weighted, |u, v, weight| {
            if leaving[u] > 0.0 {
                new[v] += damping * rank[u] * weight / leaving[u];
            }
        });
        let change: f64 = rank.iter().zip(&new).map(|(old, new)| (new - old).abs()).sum();
        rank = new;
        if change < config.pagerank.tolerance {
            break;
        }
    }
    rank
}

/// Returns the sums over in-edges of what their sources have; with `turned`, over out-edges of what
/// their destinations have.
fn sums(view: &impl WeightedView, weighted: bool, numbers: &[f64], turned: bool) -> Vec<f64> {
    let mut sums = vec![0.0; numbers.len()];
    for_each_edge(view, weighted, |u, v, weight| {
        let (from, to) = if turned { (v, u) } else { (u, v) };
        sums[to] += weight * numbers[from];
    });
    sums
}

/// Returns `number` for each vertex, and 0 for other ids.
fn of_vertices(view: &impl WeightedView, number: f64) -> Vec<f64> {
    (0..view.vertex_bound()).map(|v| if view.is_vertex(v) { number } else { 0.0 }).collect()
}

/// Divides numbers by `divisor` unless it is 0.
fn divided(numbers: Vec<f64>, divisor: f64) -> Vec<f64> {
    let divisor = if divisor == 0.0 { 1.0 } else { divisor };
    numbers.into_iter().map(|number| number / divisor).collect()
}

fn length(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number * number).sum::<f64>().sqrt()
}

/// Returns hubs and authorities of [`hits`](crate::hits()) after all iterations.
pub fn hits(view: &impl WeightedView, config: &HitsConfig) -> (Vec<f64>, Vec<f64>) {
    let next = |numbers: &[f64], turned| {
        let sums = sums(view, config.weighted, numbers, turned);
        let total = sums.iter().sum();
        divided(sums, total)
    };
    let mut authority = of_vertices(view, 1.0 / f64::from(view.vertex_count()));
    for _ in 0..config.iterations_max {
        authority = next(&next(&authority, true), false);
    }
    (next(&authority, true), authority)
}

/// Returns the scores of [`eigenvector`](crate::eigenvector()) after all iterations.
pub fn eigenvector(view: &impl WeightedView, config: &EigenvectorConfig) -> Vec<f64> {
    let mut score = of_vertices(view, 1.0 / f64::from(view.vertex_count()).sqrt());
    for _ in 0..config.iterations_max {
        let sums = sums(view, config.weighted, &score, false);
        let kept = length(&sums) / 4.0;
        if kept > 0.0 {
            let next: Vec<_> = sums.iter().zip(&score).map(|(sum, old)| sum + kept * old).collect();
            let length = length(&next);
            score = divided(next, length);
        }
    }
    score
}

/// Returns the scores of [`katz`](crate::katz()) after all iterations.
pub fn katz(view: &impl WeightedView, config: &KatzConfig) -> Vec<f64> {
    let own = of_vertices(view, config.beta);
    let mut score = own.clone();
    for _ in 0..config.iterations_max {
        let sums = sums(view, config.weighted, &score, false);
        score = own.iter().zip(sums).map(|(own, sum)| own + config.alpha * sum).collect();
    }
    let divisor = if config.normalized { length(&score) } else { 1.0 };
    divided(score, divisor)
}

/// Returns the distances, above 0, from those `sources` that reach each vertex, by a search from
/// each.
fn distances(view: &impl GraphView, sources: &[VertexId]) -> Vec<Vec<f64>> {
    let mut distances = vec![Vec::new(); view.vertex_bound() as usize];
    for &source in sources {
        for (distances, depth) in distances.iter_mut().zip(super::bfs(view, source)) {
            if depth != 0 && depth != UNREACHED {
                distances.push(f64::from(depth));
            }
        }
    }
    distances
}

/// Returns how many vertices other than `v` there are, and how many sources.
fn others(view: &impl GraphView, sources: &[VertexId], v: usize) -> (f64, f64) {
    let is_other = |&&source: &&VertexId| source as usize != v;
    (f64::from(view.vertex_count()) - 1.0, sources.iter().filter(is_other).count() as f64)
}

/// Returns the scores of [`closeness`](crate::closeness()) for `sources`.
///
/// # Panics
/// If a source is not below the bound.
pub fn closeness(view: &impl GraphView, sources: &[VertexId]) -> Vec<f64> {
    let score = |(v, distances): (usize, Vec<f64>)| {
        let (_, drawn) = others(view, sources, v);
        let reaching = distances.len() as f64 / drawn;
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        if distances.is_empty() { 0.0 } else { reaching / mean }
    };
    distances(view, sources).into_iter().enumerate().map(score).collect()
}

/// Returns the scores of [`harmonic`](crate::harmonic()) for `sources`.
///
/// # Panics
/// If a source is not below the bound.
pub fn harmonic(view: &impl GraphView, sources: &[VertexId]) -> Vec<f64> {
    let score = |(v, distances): (usize, Vec<f64>)| {
        let (vertices, drawn) = others(view, sources, v);
        let sum: f64 = distances.iter().map(|distance| 1.0 / distance).sum();
        if distances.is_empty() { 0.0 } else { sum * vertices / drawn }
    };
    distances(view, sources).into_iter().enumerate().map(score).collect()
}
