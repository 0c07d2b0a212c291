//! Who is whose neighbor in a window, directions, self-loops and parallel edges left aside: in all versions, or in some.

use std::ops::Range;

use everedge_core::{GraphView, VertexId, par};

use super::lifetimes::{Lifetimes, Mortal};
use super::lists::{NO_ROWS, ROW_SPAN};
use super::rows::Rows;
use super::view::VersionView;

/// The versions from one on to before another one.
pub(crate) type Stretch = (u16, u16);

/// Two vertices that are neighbors in some versions and not in all.
pub(crate) struct Pair {
    /// The end with more neighbors.
    pub hub: VertexId,
    pub other: VertexId,
    /// When they are, apart and ascending.
    pub stretches: Vec<Stretch>,
}

/// The neighbors both ways that all versions have in common: ascending, each once.
pub(crate) struct Always {
    /// By id over 4,096: the number of its lists, or none.
    firsts: Vec<u32>,
    /// For 4,096 ids: where their lists end, and the lists.
    lists: Vec<(Vec<u32>, Vec<VertexId>)>,
}

impl Always {
    fn new(common: &VersionView) -> Self {
        let ranges = common.vertex_ranges();
        let mut firsts = Vec::new();
        for (number, range) in (0..).zip(&ranges) {
            firsts.resize(range.start as usize / ROW_SPAN, NO_ROWS);
            firsts.push(number);
        }
        let of_range = |ranges: &[Range<VertexId>]| {
            let (mut ends, mut lists, mut list) = (Vec::new(), Vec::new(), Vec::new());
            for v in ranges.iter().cloned().flatten() {
                if v < common.vertex_bound() {
                    list.extend(common.out_neighbors(v));
                    if common.is_directed() {
                        list.extend(common.in_neighbors(v));
                    }
                    // Two ascending runs, mostly.
                    list.sort();
                    list.dedup();
                    lists.append(&mut list);
                }
                ends.push(lists.len() as u32);
            }
            (ends, lists)
        };
        Self { firsts, lists: par::map_chunks(&ranges, 1, of_range) }
    }

    pub(crate) fn list(&self, v: VertexId) -> &[VertexId] {
        let (group, local) = (v as usize / ROW_SPAN, v as usize % ROW_SPAN);
        let Some(&first) = self.firsts.get(group).filter(|&&first| first != NO_ROWS) else {
            return &[];
        };
        let (ends, lists) = &self.lists[first as usize];
        let start = if local == 0 { 0 } else { ends[local - 1] };
        &lists[start as usize..ends[local] as usize]
    }
}

/// The neighbors of a window.
pub(crate) struct Pairs {
    pub always: Always,
    /// By hub.
    pub pairs: Vec<Pair>,
    rows: Rows,
    /// By vertex: the other ends, and the numbers of the pairs.
    ends: Vec<(VertexId, u32)>,
}

impl Pairs {
    /// Finds them. `common` is what `count` versions have in common, with lists both ways.
    pub(crate) fn new(common: &VersionView, lifetimes: &Lifetimes, count: u16) -> Self {
        let always = Always::new(common);
        let rank = |v| (always.list(v).len(), v);
        let is_changed = |edge: &&Mortal| !edge.is_common(0, count - 1) && edge.src != edge.dst;
        let mut edges: Vec<_> = lifetimes
            .edges()
            .iter()
            .filter(is_changed)
            .map(|&Mortal { src, dst, appears, disappears, .. }| {
                let (hub, other) = if rank(src) < rank(dst) { (dst, src) } else { (src, dst) };
                (hub, other, (appears, disappears.min(count)))
            })
            // Other edges may make them neighbors in all versions.
            .filter(|(hub, other, _)| always.list(*other).binary_search(hub).is_err())
            .collect();
        edges.sort_unstable();
        let mut pairs: Vec<Pair> = Vec::new();
        for (hub, other, (start, end)) in edges {
            match pairs.last_mut().filter(|pair| (pair.hub, pair.other) == (hub, other)) {
                None => pairs.push(Pair { hub, other, stretches: vec![(start, end)] }),
                Some(pair) => match pair.stretches.last_mut().filter(|last| start <= last.1) {
                    Some(last) => last.1 = last.1.max(end),
                    None => pair.stretches.push((start, end)),
                },
            }
        }
        let mut rows = Rows::default();
        pairs.iter().flat_map(|pair| [pair.hub, pair.other]).for_each(|v| rows.count(v, 1));
        let mut ends = vec![(0, 0); rows.begin()];
        for (number, pair) in (0..).zip(&pairs) {
            ends[rows.next(pair.hub)] = (pair.other, number);
            ends[rows.next(pair.other)] = (pair.hub, number);
        }
        Self { always, pairs, rows, ends }
    }

    /// Returns the other ends of the pairs of `v`, and their numbers.
    pub(crate) fn ends(&self, v: VertexId) -> &[(VertexId, u32)] {
        &self.ends[self.rows.range(v)]
    }
}
