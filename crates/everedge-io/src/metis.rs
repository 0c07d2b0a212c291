//! METIS graph files: undirected adjacency lists.
//!
//! Source: G. Karypis, "METIS: A Software Package", version 5.1.0, 2013, §4.1.1.
//! ```text
//! header = n m (fmt ncon?)?      fmt: three digits, for vertex sizes, vertex weights, edge weights
//! line i = size? weight{ncon} (neighbor edge_weight?)*         for i in 1 to n
//! ```
//! Lines that start with `%` are comments; an empty line is a vertex without neighbors. An edge
//! stands on the lines of both of its ends, with the same weight; it is read once, from the line of
//! the lower id. Vertices are 1 to n; sizes and weights of vertices are skipped.
//! Difference: empty lines may be missing at the end.
//!
//! A line can be longer than memory allows, so blocks are cut at any blank and parsed in turn.
//!
//! # Example
//! ```text
//! 3 2 001
//! 2 10 3 20
//! 1 10
//! 1 20
//! ```
//! is the edges {1, 2} of weight 10 and {1, 3} of weight 20.

use std::io::{Read, Write};

use everedge_core::VertexId;

use crate::blocks::Blocks;
use crate::error::{Fault, quote};
use crate::ids::{IdColumn, first_field, is_separator, parse_integer, take_integer};
use crate::lines::{check_declared, fields_of, line_end, lines_of, parse_vertex_count};
use crate::read::{Declared, Edges, Sink, check_counts, check_text, skip_mark};
use crate::rules::{Rules, check_number};
use crate::write::unwritable;
use crate::{Chunk, Error, Format, Id, Place, ReadOptions, ReadSummary, Result};

const COMMENT: u8 = b'%';

/// What the first line says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    vertex_count: VertexId,
    edge_count: u64,
    /// How many numbers stand before the neighbors of a vertex.
    skipped_columns: u64,
    /// Whether a weight follows each neighbor.
    pub(crate) has_weights: bool,
    bytes: usize,
}

/// Reads a METIS file.
pub(crate) fn read<C: IdColumn, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    options: &ReadOptions,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    skip_mark(&mut blocks)?;
    let header = parse_header(blocks.peek()?, options.weighted);
    let header = header.map_err(|fault| blocks.header_error(fault))?;
    blocks.skip(header.bytes);
    let mut body = Body::new(header, options);
    let mut summary = ReadSummary { bytes: blocks.offset(), ..ReadSummary::default() };
    while let Some(block) = blocks.next_batch(1, cut_at_blank).pop() {
        let edges = check_text(&block.bytes).and_then(|()| body.parse::<C>(&block.bytes));
        let edges = edges.map_err(|fault| block.error(fault))?;
        let chunk = edges.into_chunk(Place::Line(block.line), block.end_offset());
        let chunk = Chunk { is_pause: block.is_pause, ..chunk };
        summary.take(&chunk);
        sink(chunk)?;
    }
    blocks.finish()?;
    body.check_ends()?;
    let declared = Declared { vertices: Some(header.vertex_count), edges: Some(header.edge_count) };
    Ok(check_counts(summary, declared)?)
}

pub(crate) fn parse_header(head: &[u8], weighted: bool) -> Result<Header, Fault> {
    let is_header = |line: &[u8]| !line.is_empty() && line[0] != COMMENT;
    let header = lines_of(head).find(|(_, line)| is_header(line.trim_ascii()));
    let Some((place, line)) = header else {
        return Err(Fault::new(head.len(), "there is no line with the size of the graph"));
    };
    let header = parse_sizes(line).map_err(|fault| fault.after(place.start))?;
    if weighted && !header.has_weights {
        let fault = Fault::new(place.start, "the header says that edges have no weights");
        return Err(fault.hint("the graph keeps one for each edge"));
    }
    Ok(Header { bytes: place.end, ..header })
}

fn parse_sizes(line: &[u8]) -> Result<Header, Fault> {
    let fields: Vec<&[u8]> = fields_of(line).collect();
    let (vertices, edges, flags, weight_count) = match fields[..] {
        [vertices, edges] => (vertices, edges, &b"0"[..], &b"1"[..]),
        [vertices, edges, flags] => (vertices, edges, flags, &b"1"[..]),
        [vertices, edges, flags, weight_count] => (vertices, edges, flags, weight_count),
        _ => return Err(Fault::new(0, format!("expected N M [FMT], found {}", quote(line)))),
    };
    if flags.len() > 3 || flags.iter().any(|flag| !matches!(flag, b'0' | b'1')) {
        return Err(Fault::new(0, format!("{} is no METIS format code", quote(flags))));
    }
    let flag = |from_end: usize| flags.iter().rev().nth(from_end) == Some(&b'1');
    let weight_count = parse_integer(weight_count)?;
    let weights = if flag(1) { weight_count } else { 0 };
    Ok(Header {
        vertex_count: parse_vertex_count(vertices)?,
        edge_count: parse_integer(edges)?,
        skipped_columns: weights.saturating_add(u64::from(flag(2))),
        has_weights: flag(0),
        bytes: 0,
    })
}

/// Cuts after the last blank, which no number spans.
fn cut_at_blank(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|&byte| is_separator(byte)).map(|at| at + 1)
}

/// The place in the adjacency lists, kept from block to block.
#[derive(Debug)]
struct Body {
    header: Header,
    weighted: bool,
    /// Weights that are not kept may be any number.
    rules: Rules,
    /// The vertex whose line it is.
    vertex: u64,
    /// How many numbers of the line were read.
    column: u64,
    /// The neighbor whose weight comes next.
    neighbor: Option<u64>,
    in_comment: bool,
    /// Sums over the edges as the lines of their lower and of their higher ends have them.
    lower: EdgeSum,
    higher: EdgeSum,
}

/// A count and a checksum of edges that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct EdgeSum {
    count: u64,
    sum: u64,
}

impl EdgeSum {
    fn add(&mut self, low: u64, high: u64, weight: f32) {
        let edge = (low << 32 | high) ^ u64::from(weight.to_bits()).rotate_right(16);
        let mixed = edge.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.count += 1;
        self.sum = self.sum.wrapping_add((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    }
}

impl Body {
    fn new(header: Header, options: &ReadOptions) -> Self {
        Self {
            header,
            weighted: options.weighted,
            rules: Rules {
                round_weights: options.round_weights || !options.weighted,
                ..Rules::of(options)
            },
            vertex: 1,
            column: 0,
            neighbor: None,
            in_comment: false,
            lower: EdgeSum::default(),
            higher: EdgeSum::default(),
        }
    }

    fn parse<C: IdColumn>(&mut self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut edges = Edges::<C>::new(self.weighted);
        let mut at = 0;
        while at < block.len() {
            at = match block[at] {
                _ if self.in_comment => self.skip_comment(block, at),
                b'\n' => self.end_line(at)?,
                byte if is_separator(byte) => at + 1,
                COMMENT if self.column == 0 => self.skip_comment(block, at),
                _ => self.take_number(block, at, &mut edges)?,
            };
        }
        Ok(edges)
    }

    fn skip_comment(&mut self, block: &[u8], at: usize) -> usize {
        let end = line_end(block, at);
        self.in_comment = !block[..end].ends_with(b"\n");
        end
    }

    fn end_line(&mut self, at: usize) -> Result<usize, Fault> {
        let is_vertex = self.vertex <= u64::from(self.header.vertex_count);
        if self.neighbor.is_some() || (is_vertex && self.column < self.header.skipped_columns) {
            return Err(Fault::new(
                at,
                "the line ends where the header says that a weight follows",
            ));
        }
        self.vertex += 1;
        self.column = 0;
        Ok(at + 1)
    }

    /// Reads the number at `at`; returns where it ends.
    fn take_number<C: IdColumn>(
        &mut self,
        block: &[u8],
        at: usize,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        let field = first_field(&block[at..]);
        let taken = if self.column < self.header.skipped_columns {
            check_number(field)
        } else if let Some(neighbor) = self.neighbor.take() {
            self.rules.parse_weight(field).and_then(|weight| self.push(neighbor, weight, edges))
        } else {
            self.take_neighbor(field, edges)
        };
        self.column += 1;
        taken.map_err(|fault| fault.after(at))?;
        Ok(at + field.len())
    }

    fn take_neighbor<C: IdColumn>(
        &mut self,
        field: &[u8],
        edges: &mut Edges<C>,
    ) -> Result<(), Fault> {
        let (neighbor, _) = take_integer(field)?;
        check_declared(neighbor, self.header.vertex_count)?;
        if self.vertex > u64::from(self.header.vertex_count) {
            let what =
                format!("there are more than the {} lines declared", self.header.vertex_count);
            return Err(Fault::new(0, what));
        }
        if self.header.has_weights {
            self.neighbor = Some(neighbor);
            return Ok(());
        }
        self.push(neighbor, 1.0, edges)
    }

    /// Counts an edge at this end, and keeps it if it is the lower one.
    fn push<C: IdColumn>(
        &mut self,
        neighbor: u64,
        weight: f32,
        edges: &mut Edges<C>,
    ) -> Result<(), Fault> {
        if neighbor < self.vertex {
            self.higher.add(neighbor, self.vertex, weight);
            return Ok(());
        }
        if neighbor == self.vertex {
            return Err(Fault::new(0, format!("vertex {neighbor} is its own neighbor")));
        }
        self.lower.add(self.vertex, neighbor, weight);
        edges.src.push_number(self.vertex)?;
        edges.dst.push_number(neighbor)?;
        edges.weights.iter_mut().for_each(|weights| weights.push(weight));
        Ok(())
    }

    /// Checks at the end that each edge stood at both of its ends.
    fn check_ends(&self) -> Result<()> {
        let what = if self.neighbor.is_some() {
            "the file ends where the header says that a weight follows"
        } else if self.lower != self.higher {
            "an edge is missing at one of its ends, or has another weight there"
        } else {
            return Ok(());
        };
        let hint = Some("METIS lists each undirected edge twice; is the file complete?");
        Err(Error::Syntax { place: Place::Whole, what: what.to_owned(), hint })
    }
}

/// Writes adjacency lists from edges in ascending order of sources, from both ends.
pub(crate) struct AdjacencyWriter<W> {
    out: W,
    vertex_count: u64,
    weighted: bool,
    /// The vertex whose line is being written.
    vertex: u64,
    is_line_empty: bool,
    end_count: u64,
    edge_count: u64,
}

impl<W: Write> AdjacencyWriter<W> {
    pub(crate) fn new(
        mut out: W,
        vertex_count: u64,
        edge_count: u64,
        weighted: bool,
    ) -> Result<Self> {
        let code = if weighted { " 001" } else { "" };
        writeln!(out, "{vertex_count} {edge_count}{code}")?;
        let (vertex, is_line_empty, end_count) = (1, true, 0);
        Ok(Self { out, vertex_count, weighted, vertex, is_line_empty, end_count, edge_count })
    }

    pub(crate) fn write(&mut self, src: Id<'_>, dst: Id<'_>, weight: f32) -> Result<()> {
        let (Id::Number(src), Id::Number(dst)) = (src, dst) else {
            return Err(unwritable(Format::Metis, "its ids are integers"));
        };
        if src == dst {
            return Err(unwritable(Format::Metis, format!("vertex {src} is its own neighbor")));
        }
        if src < self.vertex {
            return Err(unwritable(Format::Metis, "sources must come in ascending order"));
        }
        self.end_lines_before(src)?;
        let blank = if self.is_line_empty { "" } else { " " };
        write!(self.out, "{blank}{dst}")?;
        if self.weighted {
            if weight < 1.0 || weight.fract() != 0.0 {
                let what = format!("the weight {weight} is not a positive integer");
                return Err(unwritable(Format::Metis, what));
            }
            write!(self.out, " {weight}")?;
        }
        self.is_line_empty = false;
        self.end_count += 1;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<W> {
        if self.end_count != 2 * self.edge_count {
            return Err(unwritable(Format::Metis, "each edge must come from both of its ends"));
        }
        self.end_lines_before(self.vertex_count + 1)?;
        Ok(self.out)
    }

    fn end_lines_before(&mut self, vertex: u64) -> Result<()> {
        while self.vertex < vertex {
            self.out.write_all(b"\n")?;
            self.vertex += 1;
            self.is_line_empty = true;
        }
        Ok(())
    }
}
