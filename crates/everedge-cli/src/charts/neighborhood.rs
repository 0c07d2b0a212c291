//! The drawing of what stands around one vertex, in columns from left to right.
//!
//! Vertices with an edge to the center stand left of it, those that it has an edge to right of it, theirs further
//! right. One with both stands right, on a thick line. A column keeps the vertices with the most edges in the picture. Inside the columns, vertices are
//! ordered by the mean position of their neighbors, a few times over: fewer lines cross so.
//!
//! Source: Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of Hierarchical System
//! Structures", IEEE Trans. SMC 1981, barycenter step. Differences: layers are distances from the
//! center; edges inside a layer are drawn as arcs and do not take part in the ordering.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use everedge_bench::count;
use everedge_bench::page::{Anchor, Drawing, FONT, Path, lines, text_width};

use super::Neighborhood;

/// Vertices that a column shows.
const COLUMN_MAX: usize = 13;
/// Height of the box around a name of one line, in pixels.
const BOX_HEIGHT: f64 = 22.0;
/// Height of a line of text.
const LINE_HEIGHT: f64 = 14.0;
/// Space between two boxes of a column.
const GAP: f64 = 8.0;
/// Space between a name and its box, on both sides together.
const PADDING: f64 = 16.0;
/// Space between two columns, for the lines, at least; half of it in a narrow drawing.
const CHANNEL: f64 = 44.0;
/// How far right of its boxes the curve of an arc is pulled.
const ARC_PULL: f64 = 18.0;
/// Space that the arcs of the last column take.
const ARC_ROOM: f64 = 14.0;
/// Width below which the fourth column is left out.
const NARROW: f64 = 500.0;
/// Times that the order of the columns is improved.
const SWEEPS: usize = 6;
/// Index of the column that holds the center.
const CENTER: usize = 1;

/// What stands above the columns beside the center, from left to right.
pub(crate) struct Titles(pub(crate) [&'static str; 3]);

/// The columns that have a title.
const TITLED: [usize; 3] = [0, 2, 3];

/// The vertices of each column from top to bottom, and how many were left out.
struct Layers<'a> {
    columns: Vec<Vec<&'a str>>,
    left_out: Vec<usize>,
}

/// A box with a name, as placed in the drawing.
struct Place {
    column: usize,
    left: f64,
    right: f64,
    y: f64,
    /// The name, in one line or two.
    lines: Vec<String>,
}

impl Place {
    fn height(&self) -> f64 {
        BOX_HEIGHT + (self.lines.len() - 1) as f64 * LINE_HEIGHT
    }
}

/// Draws the neighborhood; with a small `width` without the neighbors of neighbors.
pub(crate) fn draw(width: f64, neighborhood: &Neighborhood, titles: &Titles) -> Drawing {
    let pairs = neighborhood.edges.iter().map(|(from, to)| (from.as_str(), to.as_str()));
    let pairs: Vec<(&str, &str)> = pairs.filter(|(from, to)| from != to).collect();
    let edges: BTreeSet<(&str, &str)> = pairs.iter().copied().collect();
    if edges.is_empty() {
        return Drawing::empty(width);
    }
    let column_count = if width < NARROW { 3 } else { 4 };
    let mut layers = Layers::around(&neighborhood.center, &pairs, column_count);
    let [before, after] = neighborhood.hidden;
    layers.left_out[0] += before;
    layers.left_out[CENTER + 1] += after;
    layers.untangle(&edges);
    let places = place(width, &layers);
    let row_height = row_height(&places);
    let rows = layers.columns.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let mut drawing = Drawing::new(width, 60.0 + rows * row_height);
    draw_edges(&mut drawing, &neighborhood.center, &edges, &places);
    draw_boxes(&mut drawing, &neighborhood.center, &places);
    draw_titles(&mut drawing, (width, row_height), &layers, (&places, titles));
    drawing
}

impl<'a> Layers<'a> {
    /// The columns by distance from the center, each cut to the vertices with the most edges.
    fn around(center: &'a str, pairs: &[(&'a str, &'a str)], column_count: usize) -> Self {
        let weights = weights(pairs);
        let mut seen = BTreeSet::from([center]);
        let columns = vec![Vec::new(); column_count];
        let mut layers = Layers { columns, left_out: vec![0; column_count] };
        layers.columns[CENTER].push(center);
        for column in [CENTER + 1, 0].into_iter().chain(CENTER + 2..column_count) {
            let found: BTreeSet<&str> = if column == 0 {
                pairs.iter().filter(|edge| edge.1 == center).map(|edge| edge.0).collect()
            } else {
                let sources = &layers.columns[column - 1];
                pairs.iter().filter(|edge| sources.contains(&edge.0)).map(|edge| edge.1).collect()
            };
            let mut found: Vec<&str> = found.difference(&seen).copied().collect();
            seen.extend(&found);
            found.sort_by_key(|name| weights.get(name).copied());
            layers.left_out[column] = found.len().saturating_sub(COLUMN_MAX);
            found.truncate(COLUMN_MAX);
            found.sort_unstable_by_key(|name| as_sorted(name));
            layers.columns[column] = found;
        }
        layers
    }

    /// Orders each column by the mean position of its neighbors in the column beside it.
    fn untangle(&mut self, edges: &BTreeSet<(&str, &str)>) {
        for sweep in 0..SWEEPS {
            for column in CENTER + 1..self.columns.len() {
                let towards = if sweep % 2 == 0 { column - 1 } else { column + 1 };
                if let Some(beside) = self.columns.get(towards).cloned() {
                    order_by_mean(&mut self.columns[column], &beside, edges);
                }
            }
        }
    }
}

/// For each vertex: how many edges it has, many first, and where it first occurs.
fn weights<'a>(pairs: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, (Reverse<usize>, usize)> {
    let mut weights = BTreeMap::new();
    for (position, (from, to)) in pairs.iter().enumerate() {
        for name in [*from, *to] {
            let (edge_count, _) = weights.entry(name).or_insert((Reverse(0), position));
            edge_count.0 += 1;
        }
    }
    weights
}

/// Sorts a column by the mean share of the height at which its neighbors in `beside` stand.
fn order_by_mean(column: &mut [&str], beside: &[&str], edges: &BTreeSet<(&str, &str)>) {
    let count = column.len() as f64;
    let mean = |position: usize, name: &str| {
        let joined = |other: &str| edges.contains(&(name, other)) || edges.contains(&(other, name));
        let positions: Vec<usize> = (0..beside.len()).filter(|&i| joined(beside[i])).collect();
        if positions.is_empty() {
            return (position as f64 + 0.5) / count;
        }
        let sum: f64 = positions.iter().map(|&i| i as f64 + 0.5).sum();
        sum / positions.len() as f64 / beside.len() as f64
    };
    let means: BTreeMap<&str, f64> =
        column.iter().enumerate().map(|(position, name)| (*name, mean(position, name))).collect();
    column.sort_by(|a, b| {
        means[a].total_cmp(&means[b]).then_with(|| as_sorted(a).cmp(&as_sorted(b)))
    });
}

/// Returns what puts names in order: numbers as numbers, and before texts.
fn as_sorted(name: &str) -> (bool, u64, &str) {
    let number = name.parse();
    (number.is_err(), number.unwrap_or_default(), name)
}

/// Gives every name its box: columns as wide as their widest name, spread over the width. If there
/// is not room for all, the center keeps its width, up to a third, and the others shrink.
fn place<'a>(width: f64, layers: &Layers<'a>) -> BTreeMap<&'a str, Place> {
    let channels = layers.columns.iter().filter(|names| !names.is_empty()).count().max(2) - 1;
    let channel = if width < NARROW { CHANNEL / 2.0 } else { CHANNEL };
    let room = width - channel * channels as f64 - ARC_ROOM;
    let widths = column_widths(layers, room);
    let free = (room - widths.iter().sum::<f64>()).max(0.0) / channels as f64;
    let mut places = BTreeMap::new();
    let mut left = 1.0;
    for (column, names) in layers.columns.iter().enumerate() {
        if names.is_empty() {
            continue;
        }
        let right = left + widths[column];
        for name in names {
            let lines = lines(name, right - left - PADDING / 2.0);
            let longest = lines.iter().map(|line| text_width(line)).fold(0.0, f64::max);
            let own = (longest + PADDING).min(right - left);
            let (from, to) = match column {
                0 => (right - own, right),
                CENTER => (left, right),
                _ => (left, left + own),
            };
            places.insert(*name, Place { column, left: from, right: to, y: 0.0, lines });
        }
        left = right + channel + free;
    }
    let row_height = row_height(&places);
    let rows = layers.columns.iter().map(Vec::len).max().unwrap_or(0);
    for names in &layers.columns {
        let top = 25.0 + (rows - names.len() + 1) as f64 * row_height / 2.0;
        for (row, name) in names.iter().enumerate() {
            places.entry(name).and_modify(|place| place.y = top + row as f64 * row_height);
        }
    }
    places
}

/// Returns the height of a row: that of the highest box, and space.
fn row_height(places: &BTreeMap<&str, Place>) -> f64 {
    places.values().map(Place::height).fold(BOX_HEIGHT, f64::max) + GAP
}

fn column_widths(layers: &Layers<'_>, room: f64) -> Vec<f64> {
    let width = |names: &Vec<&str>| match names.is_empty() {
        true => 0.0,
        false => names.iter().map(|name| text_width(name) + PADDING).fold(40.0, f64::max),
    };
    let mut widths: Vec<f64> = layers.columns.iter().map(width).collect();
    let center = widths[CENTER].min(room / 3.0);
    let others = widths.iter().sum::<f64>() - widths[CENTER];
    let shrink = ((room - center) / others.max(1.0)).min(1.0);
    widths.iter_mut().for_each(|width| *width *= shrink);
    widths[CENTER] = center;
    widths
}

fn draw_edges(
    drawing: &mut Drawing,
    center: &str,
    edges: &BTreeSet<(&str, &str)>,
    places: &BTreeMap<&str, Place>,
) {
    for (from, to) in edges {
        let (Some(start), Some(end)) = (places.get(from), places.get(to)) else {
            continue;
        };
        let near = *from == center || *to == center;
        let is_mutual = near && edges.contains(&(*to, *from));
        let class = match near {
            true if is_mutual => "edge near both",
            true => "edge near",
            false => "edge",
        };
        let arrow = if is_mutual { '⇄' } else { '→' };
        let hover = format!("{from} {arrow} {to}");
        if start.column + 1 == end.column {
            drawing.path(class, &curve(start, end), &hover);
        } else if start.column == end.column
            && start.column > CENTER
            && (from < to || !edges.contains(&(*to, *from)))
        {
            drawing.path("edge inside", &arc(start, end), &hover);
        }
    }
}

/// From the right side of one box to the left side of a box in the next column.
fn curve(start: &Place, end: &Place) -> Path {
    let pull = (end.left - start.right) * 0.5;
    let pulls = [(start.right + pull, start.y), (end.left - pull, end.y)];
    Path::from((start.right, start.y)).curve(pulls, (end.left, end.y))
}

/// Around the right sides of two boxes of one column.
fn arc(start: &Place, end: &Place) -> Path {
    let out = start.right.max(end.right) + ARC_PULL;
    Path::from((start.right, start.y)).curve([(out, start.y), (out, end.y)], (end.right, end.y))
}

fn draw_boxes(drawing: &mut Drawing, center: &str, places: &BTreeMap<&str, Place>) {
    for (name, place) in places {
        let class = if *name == center { "box center" } else { "box" };
        let size = (place.right - place.left, place.height());
        let top = place.y - size.1 / 2.0;
        drawing.rect(class, (place.left, top), size, name);
        for (number, line) in place.lines.iter().enumerate() {
            let y = top + BOX_HEIGHT / 2.0 + FONT * 0.35 + number as f64 * LINE_HEIGHT;
            let middle = (place.left + place.right) / 2.0;
            drawing.cut_text("box-name", Anchor::Middle, (middle, y), line, name);
        }
    }
}

/// Writes above each column what it is, and below how many vertices were left out of it.
fn draw_titles(
    drawing: &mut Drawing,
    (width, row_height): (f64, f64),
    layers: &Layers<'_>,
    (places, titles): (&BTreeMap<&str, Place>, &Titles),
) {
    for (column, title) in TITLED.into_iter().zip(titles.0) {
        let names = layers.columns.get(column).map_or(&[][..], Vec::as_slice);
        let Some(first) = names.first().and_then(|name| places.get(name)) else {
            continue;
        };
        // At the boxes' side to the center, as far as the picture has room for the words there.
        let place = |words: &str| match column {
            0 if first.right < text_width(words) => (Anchor::Start, 0.0),
            0 => (Anchor::End, first.right),
            _ if first.left + text_width(words) > width => (Anchor::End, width),
            _ => (Anchor::Start, first.left),
        };
        let (anchor, x) = place(title);
        drawing.text("title", anchor, (x, first.y - row_height / 2.0 - 7.0), title);
        if layers.left_out[column] > 0 {
            let below = first.y + (names.len() as f64 - 0.5) * row_height + 9.0;
            let more = format!("and {} more", count(layers.left_out[column] as u64));
            let (anchor, x) = place(&more);
            drawing.text("note", anchor, (x, below), &more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set<'a>(pairs: &[(&'a str, &'a str)]) -> BTreeSet<(&'a str, &'a str)> {
        pairs.iter().copied().collect()
    }

    #[test]
    fn columns_are_distances_from_the_center() {
        let edges = [
            ("app", "c"),
            ("c", "x"),
            ("c", "y"),
            ("x", "z"),
            ("y", "x"),
            ("y", "w"),
            // From here it is one edge to the center, and two from there.
            ("z", "c"),
        ];
        let layers = Layers::around("c", &edges, 4);
        assert_eq!(layers.columns, [vec!["app", "z"], vec!["c"], vec!["x", "y"], vec!["w"]]);
        assert_eq!(layers.left_out, [0; 4]);
    }

    #[test]
    fn a_column_keeps_the_vertices_with_the_most_edges() {
        let names: Vec<String> = (0..COLUMN_MAX + 2).map(|i| format!("p{i:02}")).collect();
        let mut edges: Vec<(&str, &str)> = names.iter().map(|name| ("c", name.as_str())).collect();
        edges.push((&names[14], "far"));
        let layers = Layers::around("c", &edges, 4);
        assert_eq!(layers.left_out[2], 2);
        assert!(layers.columns[2].contains(&"p14"));
        assert!(!layers.columns[2].contains(&"p13"));
    }

    #[test]
    fn ordering_removes_a_crossing() {
        let edges = [("c", "a"), ("c", "b"), ("a", "y"), ("b", "x")];
        let mut layers = Layers::around("c", &edges, 4);
        layers.untangle(&set(&edges));
        let position = |column: usize, name| layers.columns[column].iter().position(|n| *n == name);
        assert_eq!(position(2, "a"), position(3, "y"));
        assert_eq!(position(2, "b"), position(3, "x"));
    }

    #[test]
    fn numbers_stand_in_their_order() {
        let edges = ["10", "9", "x", "100", "1"].map(|name| ("c", name));
        let mut layers = Layers::around("c", &edges, 4);
        layers.untangle(&set(&edges));
        assert_eq!(layers.columns[2], ["1", "9", "10", "100", "x"]);
    }

    #[test]
    fn boxes_of_one_column_do_not_overlap() {
        let edges = [("c", "a"), ("c", "b"), ("a", "b"), ("b", "d")];
        for width in [360.0, 720.0] {
            let layers = Layers::around("c", &edges, 4);
            let places = place(width, &layers);
            assert!((places["a"].y - places["b"].y).abs() >= BOX_HEIGHT);
            assert!(places.values().all(|place| place.left >= 0.0 && place.right <= width));
            assert!(places["c"].right + CHANNEL * 0.45 <= places["a"].left);
        }
    }
}
