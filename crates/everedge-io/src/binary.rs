//! Binary edges: pairs of little-endian 32-bit integers, with nothing before, between or after.
//!
//! Source: the input of XPGraph and GraphOne (there 4-byte ids in text order, `bin` files).
//!
//! # Example
//! ```text
//! 01 00 00 00  02 00 00 00  02 00 00 00  00 01 00 00
//! ```
//! is the edges 1→2 and 2→256.

use crate::error::Fault;
use crate::ids::IdColumn;
use crate::read::{Declared, Edges, Grammar, Opened};
use crate::survey::Sample;
use crate::{IdChoice, IdKind, ReadOptions, Result};

const ID_BYTES: usize = 4;
const EDGE_BYTES: usize = 2 * ID_BYTES;
/// So many edges that all lead to vertex 0 are probably none, also if their count is odd.
const ZERO_PAIRS: usize = 4;
/// So many edges that all lead to one other vertex are probably none.
const SAME_PAIRS: usize = 8;

/// A binary file has no header, and no weights.
pub(crate) fn open(_: &[u8], options: &ReadOptions) -> Result<Opened<Pairs>, Fault> {
    if options.weighted {
        let fault = Fault::new(0, "a binary file has no weights");
        return Err(fault.hint("the graph keeps one for each edge"));
    }
    Ok(Opened { grammar: Pairs, header_bytes: 0, declared: Declared::default() })
}

/// Refuses what begins like pairs of 64-bit integers, which is what NumPy writes unless told otherwise:
/// every second word is the same, and is 0 if ids are below 2^32.
pub(crate) fn refuse_wide(head: &[u8]) -> Result<(), Fault> {
    let (pairs, _) = head.as_chunks::<EDGE_BYTES>();
    let Some(first) = pairs.first() else { return Ok(()) };
    let word = &first[ID_BYTES..];
    let is_wide = match word {
        [0, 0, 0, 0] => pairs.len() >= ZERO_PAIRS || head.len().is_multiple_of(2 * EDGE_BYTES),
        _ => pairs.len() >= SAME_PAIRS,
    };
    let are_same = || pairs.iter().all(|pair| pair[ID_BYTES..] == *word);
    if !is_wide || !are_same() || pairs.iter().all(|pair| *pair == [0; EDGE_BYTES]) {
        return Ok(());
    }
    let fault = Fault::new(0, "these are 64-bit integers, or edges that all lead to one vertex");
    Err(fault
        .hint("write 32-bit ones (NumPy: astype('<u4')), or say --format binary for such edges"))
}

/// Says what the ids of pairs are, by those that `head` has.
pub(crate) fn ids(head: &[u8], choice: IdChoice) -> IdKind {
    let mut sample = Sample::default();
    for &id in head.as_chunks::<ID_BYTES>().0 {
        sample.add_number(u32::from_le_bytes(id).into());
    }
    sample.ids(choice)
}

#[derive(Debug)]
pub(crate) struct Pairs;

impl Grammar for Pairs {
    const IS_TEXT: bool = false;

    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        let whole = bytes.len() - bytes.len() % EDGE_BYTES;
        (whole > 0).then_some(whole)
    }

    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut edges = Edges::<C>::new(false);
        let (pairs, rest) = block.as_chunks::<EDGE_BYTES>();
        for (idx, [s0, s1, s2, s3, d0, d1, d2, d3]) in pairs.iter().enumerate() {
            let (src, dst) = ([*s0, *s1, *s2, *s3], [*d0, *d1, *d2, *d3]);
            for (column, id) in [(&mut edges.src, src), (&mut edges.dst, dst)] {
                let id = u64::from(u32::from_le_bytes(id));
                column.push_number(id).map_err(|fault| fault.after(idx * EDGE_BYTES))?;
            }
        }
        if !rest.is_empty() {
            let what = format!("{} bytes are left over, fewer than an edge has", rest.len());
            return Err(Fault::new(block.len() - rest.len(), what));
        }
        Ok(edges)
    }
}
