//! Checking a sealed graph: every byte of it, and what its lists say together.
//!
//! Cost: each file is read once, within the budget of the store; a bit for each id.

use std::ops::Range;
use std::sync::Arc;

use everedge_core::{VertexId, par, scramble};
use everedge_medium::Result;

use crate::cache::Purpose;
use crate::cursor::Cursor;
use crate::entry::LEVELS;
use crate::store::Store;

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 12;

/// What was checked, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many things were checked.
    pub checks: u64,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

/// What the lists of one direction come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    /// Edges that were seen, and those from a vertex to itself.
    edges: u64,
    loops: u64,
    /// The same for both directions: the edges, in any order.
    hash: u64,
    /// Lists whose ids do not ascend below the number of vertices.
    unsound: u64,
    /// Neighbors that the list names a second time, and those that are the vertex itself.
    doubled: u64,
    own: u64,
    /// The first vertex with such a list.
    first_unsound: Option<VertexId>,
}

/// Checks all files of a sealed graph, in which a pair has one edge at most if it is `simple`.
///
/// # Errors
/// `Corruption` if a piece is damaged: the first that was read ([`read_pieces`](crate::read_pieces) reads all); `Io` if a file cannot be read.
pub fn check(store: &Arc<Store>, simple: bool) -> Result<Checked> {
    let mut checked = Checked::default();
    check_ids(store, &mut checked)?;
    let form = store.form();
    let sums: Vec<Sum> = (0..form.sides.len()).map(|side| sum_of(store, side)).collect();
    store.check()?;
    for (side, sum) in sums.iter().enumerate() {
        let name = if side == 0 { "out-neighbors" } else { "in-neighbors" };
        checked.checks += u64::from(form.vertices);
        if let Some(v) = sum.first_unsound {
            checked.problems.push(format!(
                "{} lists of {name} name no vertex or do not ascend, the first that of vertex {v}",
                sum.unsound
            ));
        }
        if simple && sum.doubled > 0 {
            checked.problems.push(format!(
                "the manifest says that a pair has one edge at most; {name} name a vertex twice {} times",
                sum.doubled
            ));
        }
        let repeated = sum.doubled + sum.own;
        if form.distinct && repeated > 0 {
            checked.problems.push(format!(
                "the manifest says that no list names a vertex twice or its own; {name} do {repeated} times"
            ));
        }
        // An edge without a direction is in two lists, but a loop in one.
        let ends = if form.directed { sum.edges } else { (sum.edges + sum.loops) / 2 };
        checked.checks += 1;
        if ends != form.edges {
            checked.problems.push(format!("expected {} edges, found {ends} as {name}", form.edges));
        }
    }
    if let [out, back] = sums[..] {
        checked.checks += 1;
        if out.hash != back.hash {
            checked
                .problems
                .push("the edges of out-neighbors are not those of in-neighbors".into());
        }
    } else if !form.directed && sums.iter().any(|sum| sum.hash != 0) {
        checked.problems.push("some edges are in the list of one end only".into());
    }
    Ok(checked)
}

/// Checks that no two vertices have an id.
fn check_ids(store: &Store, checked: &mut Checked) -> Result<()> {
    let mut ids = store.all_ids()?;
    par::sort_by_key(&mut ids, |&id| id);
    let twice = ids.windows(2).filter(|pair| pair[0] == pair[1]).count();
    checked.checks += ids.len() as u64;
    if twice > 0 || ids.len() != store.form().vertices as usize {
        checked.problems.push(format!("{twice} ids are those of two vertices"));
    }
    Ok(())
}

fn sum_of(store: &Arc<Store>, side: usize) -> Sum {
    let sums =
        par::map_ranges(store.form().vertices, GRAIN, |range| sum_of_range(store, side, range));
    sums.into_iter().fold(Sum::default(), |a, b| Sum {
        edges: a.edges + b.edges,
        loops: a.loops + b.loops,
        hash: a.hash.wrapping_add(b.hash),
        unsound: a.unsound + b.unsound,
        doubled: a.doubled + b.doubled,
        own: a.own + b.own,
        first_unsound: a.first_unsound.or(b.first_unsound),
    })
}

fn sum_of_range(store: &Arc<Store>, side: usize, range: Range<VertexId>) -> Sum {
    let form = store.form();
    let mut cursor = Cursor::new(store, side, Purpose::Pass);
    let mut pieces: [Vec<u32>; LEVELS] = [const { Vec::new() }; LEVELS];
    for v in range.clone() {
        if let Some((level, piece)) = cursor.piece_of(v) {
            pieces[level].push(piece);
        }
    }
    store.read_ahead(pieces, Purpose::Pass);
    let mut sum = Sum::default();
    for v in range {
        let (mut last, mut count, mut is_sound) = (0, 0, true);
        let degree = cursor.entry(v).degree;
        cursor.for_each_edge(v, |u, weight| {
            is_sound &= u >= last && u < form.vertices;
            let is_again = u == last && count > 0;
            sum.doubled += u64::from(is_again);
            sum.own += u64::from(u == v && !is_again);
            last = u;
            count += 1;
            sum.loops += u64::from(u == v);
            let hash = edge_hash(v, u, weight);
            sum.hash = match (form.directed, side) {
                (true, 0) => sum.hash.wrapping_add(hash),
                (true, _) => sum.hash.wrapping_add(edge_hash(u, v, weight)),
                // The two ends of an edge cancel each other out.
                (false, _) if v < u => sum.hash.wrapping_add(hash),
                (false, _) if v > u => sum.hash.wrapping_sub(edge_hash(u, v, weight)),
                (false, _) => sum.hash,
            };
        });
        sum.edges += count;
        if !is_sound || count != u64::from(degree) {
            sum.unsound += 1;
            sum.first_unsound = sum.first_unsound.or(Some(v));
        }
    }
    sum
}

fn edge_hash(u: VertexId, v: VertexId, weight: f32) -> u64 {
    scramble(scramble(u64::from(u) << 32 | u64::from(v)) ^ u64::from(weight.to_bits()))
}
