//! A kernel's answer for each vertex, and its text form.

use std::io::{self, Write};

use everedge_core::{Edge, VertexId};
use everedge_io::Real;
use everedge_kernels::{NO_COMPONENT, UNREACHED};
use everedge_live::ExternalId;

use crate::word::Word;
use crate::{Kernel, View};

/// A kernel's answer, the value of each vertex at its [`View::row_of`]; what stands there for ids
/// that are not vertices has no meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Steps from the source; [`u32::MAX`] if unreached.
    Depth(Vec<u32>),
    /// A number of each vertex, such as its rank.
    Score(Vec<f64>),
    /// The smallest vertex of each vertex's component.
    Component(Vec<VertexId>),
    /// Lengths, or other values, of the best paths; infinite if unreached, with the other sign at
    /// the source of widest and narrowest paths.
    Distance(Vec<f64>),
    /// A number of each vertex, such as its coreness.
    Count(Vec<u32>),
    /// A label of each vertex: an id that the user gave, or a vertex where ids are texts.
    Label(Vec<u64>),
    /// Two numbers of each vertex, such as how good a hub it is and how good an authority.
    Scores([Vec<f64>; 2]),
    /// A list of vertices, not indexed.
    Vertices(Vec<VertexId>),
    /// Vertices whose order counts, not indexed.
    Order(Vec<VertexId>),
    /// A list of edges, with their weights if they have some, not indexed.
    Edges(Vec<Edge>, Option<Vec<f32>>),
    /// The answer says nothing of single vertices.
    None,
}

/// What an id that is no vertex has among depths, components and labels.
const NOTHING: u32 = u32::MAX;

impl Values {
    /// Returns an answer by row of a view as one by id, for so many ids; a list of vertices stays as it is.
    pub(crate) fn by_id(self, kernel: Kernel, view: &View, bound: usize) -> Self {
        fn placed<T: Copy>(values: Vec<T>, nothing: T, view: &View, bound: usize) -> Vec<T> {
            let mut placed = vec![nothing; bound];
            for (v, value) in view.row_ids().zip(values) {
                placed[v as usize] = value;
            }
            placed
        }
        match self {
            Self::Depth(values) => Self::Depth(placed(values, NOTHING, view, bound)),
            Self::Score(values) => Self::Score(placed(values, 0.0, view, bound)),
            Self::Component(values) => Self::Component(placed(values, NOTHING, view, bound)),
            Self::Distance(values) => {
                // A wide path is a good one.
                let unreached = match kernel {
                    Kernel::Sswp => f64::NEG_INFINITY,
                    _ => f64::INFINITY,
                };
                Self::Distance(placed(values, unreached, view, bound))
            }
            Self::Count(values) => Self::Count(placed(values, 0, view, bound)),
            Self::Label(values) => Self::Label(placed(values, u64::MAX, view, bound)),
            Self::Scores(scores) => {
                Self::Scores(scores.map(|values| placed(values, 0.0, view, bound)))
            }
            Self::Vertices(_) | Self::Order(_) | Self::Edges(..) | Self::None => self,
        }
    }

    /// Writes `id value` a line, as LDBC Graphalytics does: in ascending order of external ids,
    /// an unreached depth as 9223372036854775807, an unreached distance as `infinity`.
    ///
    /// A text id that is not one plain word is written as a JSON string, so that every line can be
    /// told apart. Two numbers of a vertex follow one another. A list of vertices is written as ids, one a line, an order in
    /// its own; edges as `source destination`, with the weight if they have one; nothing if there are no values.
    ///
    /// Cost: 4 bytes of memory a vertex, and of a sealed graph 4 more unless its vertices' numbers are there. Nobody adds a
    /// name while ids are sorted.
    ///
    /// # Errors
    /// If `out` fails; if the names of a sealed graph's vertices, which are read now, cannot be: then nothing is written.
    pub fn write(&self, view: &View, out: &mut impl Write) -> io::Result<()> {
        self.write_lines(view, "", |v| view.row_of(v).unwrap_or_default(), out)
    }

    /// Writes a line for each vertex of `view`, whose value stands at a place; `before` comes before each.
    pub(crate) fn write_lines(
        &self,
        view: &View,
        before: &str,
        place_of: impl Fn(VertexId) -> usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if let Self::Edges(edges, weights) = self {
            return write_edges(view, before, edges, weights.as_deref(), out);
        }
        let ids = self.ids(view)?;
        let is_named = view.id_kind() != crate::IdKind::Dense;
        for v in ids {
            match is_named {
                true => write!(out, "{before}{}", Word(&view.name_of(v)))?,
                false => write!(out, "{before}{v}")?,
            }
            self.write_value(place_of(v), v, is_named.then_some(view), out)?;
        }
        Ok(())
    }

    /// Returns the vertices that it says something of, in the order in which they are written.
    pub(crate) fn ids(&self, view: &View) -> io::Result<Vec<VertexId>> {
        let mut ids = match self {
            Self::Vertices(vertices) | Self::Order(vertices) => vertices.clone(),
            Self::None | Self::Edges(..) => Vec::new(),
            _ => view.vertices(),
        };
        if !matches!(self, Self::Order(_)) {
            view.naming.sort(&mut ids);
        }
        view.check_reads().map_err(io::Error::other)?;
        Ok(ids)
    }

    fn write_value(
        &self,
        row: usize,
        v: VertexId,
        names: Option<&View>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (id, v) = (v, row);
        match self {
            Self::Vertices(_) | Self::Order(_) | Self::Edges(..) | Self::None => writeln!(out),
            Self::Scores([first, second]) => {
                writeln!(out, " {} {}", Real(first[v]), Real(second[v]))
            }
            Self::Count(counts) => writeln!(out, " {}", counts[v]),
            Self::Label(labels) => match names {
                Some(names) if matches!(names.name_of(id), ExternalId::Text(_)) => {
                    writeln!(out, " {}", Word(&names.name_of(labels[v] as VertexId)))
                }
                _ => writeln!(out, " {}", labels[v]),
            },
            Self::Depth(depths) if depths[v] == UNREACHED => writeln!(out, " {}", i64::MAX),
            Self::Depth(depths) => writeln!(out, " {}", depths[v]),
            Self::Score(scores) => writeln!(out, " {}", Real(scores[v])),
            Self::Distance(distances) if distances[v].is_infinite() => {
                writeln!(out, " {}infinity", if distances[v] < 0.0 { "-" } else { "" })
            }
            Self::Distance(distances) => writeln!(out, " {}", Real(distances[v])),
            Self::Component(components) => match (components[v], names) {
                (NO_COMPONENT, _) => writeln!(out),
                (component, Some(names)) => writeln!(out, " {}", Word(&names.name_of(component))),
                (component, None) => writeln!(out, " {component}"),
            },
        }
    }
}

fn write_edges(
    view: &View,
    before: &str,
    edges: &[Edge],
    weights: Option<&[f32]>,
    out: &mut impl Write,
) -> io::Result<()> {
    for (place, &(u, v)) in edges.iter().enumerate() {
        write!(out, "{before}{} {}", Word(&view.name_of(u)), Word(&view.name_of(v)))?;
        match weights {
            Some(weights) => writeln!(out, " {}", weights[place])?,
            None => writeln!(out)?,
        }
    }
    view.check_reads().map_err(io::Error::other)
}
