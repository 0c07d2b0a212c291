//! What leads an answer: the vertices of the largest values, the largest components, the first edges.

use std::cmp::Ordering;

use everedge_core::{VertexId, par};
use everedge_kernels::{NO_COMPONENT, UNREACHED};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answers::GRAIN;
use crate::{Kernel, Values, View};

impl View {
    /// Adds to the result of a kernel what leads its values: `top` has the farthest or highest vertices with their values,
    /// or the largest components with their sizes, `hubs` and `authorities` those of either; `edges`, `neighbors` and
    /// `vertices` the first of a list. Adds nothing if `count` is 0.
    ///
    /// Vertices that a search has not reached and values that are not finite are left out, as Python's `top` does; a 0 is a
    /// value like any other.
    pub(crate) fn add_top(
        &self,
        kernel: Kernel,
        values: &Values,
        count: usize,
        result: &mut Value,
    ) {
        if count == 0 {
            return;
        }
        let finite = |value: f64| value.is_finite().then_some(value);
        let (key, rows) = match values {
            Values::Depth(depths) => {
                let reached = |depth| (depth != UNREACHED).then_some(f64::from(depth));
                ("top", self.leaders(depths, count, reached))
            }
            Values::Distance(values) | Values::Score(values) => {
                ("top", self.leaders(values, count, finite))
            }
            Values::Component(component) => ("top", self.largest(component, count)),
            // Colors are no measure.
            Values::Count(_) if kernel == Kernel::Bipartition => return,
            Values::Count(counts) => {
                ("top", self.leaders(counts, count, |number| Some(number.into())))
            }
            Values::Order(vertices) | Values::Vertices(vertices) => {
                let names = vertices.iter().take(count).map(|&v| self.json_name(v));
                let key = if kernel == Kernel::OneHop { "neighbors" } else { "vertices" };
                (key, names.collect())
            }
            Values::Edges(edges, weights) => {
                let row = |(at, &(u, v)): (usize, &(VertexId, VertexId))| {
                    let mut row = vec![self.json_name(u), self.json_name(v)];
                    row.extend(weights.as_ref().map(|weights| json!(weights[at])));
                    Value::Array(row)
                };
                ("edges", edges.iter().enumerate().take(count).map(row).collect())
            }
            Values::Scores([hubs, authorities]) => {
                result["hubs"] = self.leaders(hubs, count, finite);
                ("authorities", self.leaders(authorities, count, finite))
            }
            Values::Label(_) | Values::None => return,
        };
        result[key] = rows;
    }

    /// Returns the names of the vertices of largest score with their values, the smaller id first among equals; `values`
    /// stand at the vertices' rows, and those without a score are left out.
    pub(crate) fn leaders<T: Copy + Serialize + Sync>(
        &self,
        values: &[T],
        count: usize,
        score: impl Fn(T) -> Option<f64> + Sync,
    ) -> Value {
        let score_at = |row: u32| score(values[row as usize]);
        let ids = self.naming.ids_before();
        let id = |row: u32| ids.map_or(row, |ids| ids[row as usize]);
        let by_score = |a: &(f64, u32), b: &(f64, u32)| {
            b.0.total_cmp(&a.0).then_with(|| id(a.1).cmp(&id(b.1)))
        };
        let leaders = par::map_ranges(values.len() as u32, GRAIN, |rows| {
            let scored = rows.filter_map(|row| Some((score_at(row)?, row)));
            first_of(scored, count, by_score)
        });
        let leaders = first_of(leaders.into_iter().flatten(), count, by_score);
        let named = |(_, row): (f64, u32)| {
            json!([self.json_name(self.id_of_row(row)), values[row as usize]])
        };
        leaders.into_iter().map(named).collect()
    }

    /// Returns the names of the largest components with how many vertices each has. Needs 4 bytes a vertex.
    pub(crate) fn largest(&self, component: &[VertexId], count: usize) -> Value {
        let mut sizes = vec![0_u32; component.len()];
        // Of most vertices the next one is in the same component: an addition waits for the one before.
        for alike in component.chunk_by(|u, v| u == v).filter(|alike| alike[0] != NO_COMPONENT) {
            if let Some(row) = self.row_of(alike[0]) {
                sizes[row] += alike.len() as u32;
            }
        }
        self.leaders(&sizes, count, |size| (size > 0).then_some(size.into()))
    }
}

/// Returns the first `count` items of an order. Needs room for twice as many.
fn first_of<T>(
    items: impl Iterator<Item = T>,
    count: usize,
    mut order: impl FnMut(&T, &T) -> Ordering,
) -> Vec<T> {
    let mut first = Vec::new();
    // What so many come before.
    let mut beyond = None;
    for item in items {
        if beyond.as_ref().is_some_and(|beyond| order(&item, beyond).is_ge()) {
            continue;
        }
        first.push(item);
        if first.len() / 2 > count {
            first.select_nth_unstable_by(count, &mut order);
            beyond = first.drain(count..).next();
        }
    }
    first.sort_unstable_by(order);
    first.truncate(count);
    first
}
