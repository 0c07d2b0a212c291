//! What the tests share: reading into memory and telling errors apart.

use everedge_io::{Chunk, Error, Format, Ids, Place, ReadOptions, ReadSummary, read_edges};

/// All that a file gave.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<(String, String)>,
    pub(crate) weights: Vec<f32>,
    pub(crate) summary: ReadSummary,
}

impl Graph {
    /// Returns the edges as numbers.
    pub(crate) fn numbers(&self) -> Vec<(u64, u64)> {
        self.edges.iter().map(|(src, dst)| (src.parse().unwrap(), dst.parse().unwrap())).collect()
    }

    pub(crate) fn extend(&mut self, chunk: Chunk) {
        assert_eq!(chunk.src.len(), chunk.dst.len());
        if let Some(weights) = &chunk.weights {
            assert_eq!(weights.len(), chunk.src.len());
        }
        self.edges.extend(texts(&chunk.src).into_iter().zip(texts(&chunk.dst)));
        self.weights.extend(chunk.weights.into_iter().flatten());
    }
}

/// Returns ids of any kind as text.
pub(crate) fn texts(ids: &Ids) -> Vec<String> {
    match ids {
        Ids::Dense(ids) => ids.iter().map(ToString::to_string).collect(),
        Ids::Sparse(ids) => ids.iter().map(ToString::to_string).collect(),
        Ids::Text(ids) => ids.iter().map(str::to_owned).collect(),
    }
}

/// Reads all of `input`.
pub(crate) fn read(input: &[u8], options: &ReadOptions) -> Result<Graph, Error> {
    let mut graph = Graph::default();
    graph.summary = read_edges(input, options, |chunk| {
        graph.extend(chunk);
        Ok::<(), Error>(())
    })?;
    assert_eq!(graph.summary.edges, graph.edges.len() as u64);
    assert_eq!(graph.summary.bytes, input.len() as u64);
    Ok(graph)
}

/// Returns options to read weights.
pub(crate) fn weighted(format: Format) -> ReadOptions {
    ReadOptions { weighted: true, ..ReadOptions::new(format) }
}

/// Checks that reading `input` is a syntax error at `place` whose text contains `what`.
pub(crate) fn assert_refused(input: &[u8], options: &ReadOptions, place: Place, what: &str) {
    let shown = String::from_utf8_lossy(&input[..input.len().min(60)]);
    match read(input, options) {
        Err(Error::Syntax { place: found, what: text, hint }) => {
            assert_eq!(found, place, "{shown:?}: {text}");
            let text = format!("{text}; {}", hint.unwrap_or_default());
            assert!(text.contains(what), "{shown:?}: {text:?} does not contain {what:?}");
        }
        other => panic!("{shown:?} gave {other:?}"),
    }
}
