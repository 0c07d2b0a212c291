//! Vertices whose ids lie far apart, numbered without gaps.
//!
//! Kernels keep arrays as long as the largest id. A graph of five vertices, one of them with the id
//! 2,147,483,000, would pay for two billion. Its vertices get *places* instead: 0 to 4, in the
//! order of their ids. A kernel runs on a [`Csr`](crate::Csr) of places
//! ([`Csr::compact`](crate::Csr::compact)), and each place has its id.
//!
//! # Layout
//! ```text
//! ids      3 | 7 | 9 | 2147483000                   the id of each place, ascending
//! starts   0 | 3 | 3 | 3 | 4                        the place of each span's first id, and the end
//! ```
//! A *span* is a range of 2^shift ids. There are about as many spans as vertices, so a span has few
//! of them.
//!
//! # Cost
//! 4 bytes for each vertex and 4 to 8 for each span. To find the place of an id: two neighboring
//! numbers, and a binary search among the ids of a span.

use std::ops::Range;

use crate::{GraphView, VertexId, par};

/// The longest range of ids that one thread looks through.
const GRAIN: u32 = 1 << 14;
/// Ranges in a piece of work: most layouts name short ones.
const RANGES: usize = 16;
/// Below so many ids arrays are short, however few the vertices are.
const IDS_MIN: u32 = 1 << 20;
/// Arrays by place pay for the copy of the graph from so many ids for each vertex on.
const IDS_PER_VERTEX: u32 = 8;

/// The vertices of a view, numbered without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbering {
    ids: Vec<VertexId>,
    starts: Vec<u32>,
    shift: u32,
}

impl Numbering {
    /// Returns whether the ids of `view` lie so far apart that kernels should run on places.
    ///
    /// # Example
    /// ```
    /// use everedge_core::{Csr, CsrOptions, Numbering};
    ///
    /// let g = Csr::from_edges(&[(0, 1), (1, 2_000_000)], None, CsrOptions::default());
    /// assert!(Numbering::pays(&g));
    /// assert_eq!(Numbering::of(&g).place(2_000_000), Some(2));
    /// ```
    pub fn pays(view: &impl GraphView) -> bool {
        Self::pays_for(view.vertex_bound(), view.vertex_count())
    }

    /// The same of so many vertices whose ids are below `bound`.
    pub fn pays_for(bound: VertexId, count: u32) -> bool {
        bound >= IDS_MIN && bound / IDS_PER_VERTEX >= count
    }

    /// Numbers the vertices of `view`.
    ///
    /// Cost: the ids in its [`vertex_ranges`](GraphView::vertex_ranges).
    pub fn of(view: &impl GraphView) -> Self {
        let ranges: Vec<_> = view.vertex_ranges().into_iter().flat_map(pieces).collect();
        let found = par::map_chunks(&ranges, RANGES, |ranges| {
            let ids = ranges.iter().cloned().flatten();
            ids.filter(|&v| view.is_vertex(v)).collect::<Vec<_>>()
        });
        Self::from_ids(found.concat())
    }

    /// Numbers `ids`, which are ascending.
    fn from_ids(ids: Vec<VertexId>) -> Self {
        let bound = ids.last().map_or(0, |&last| u64::from(last) + 1);
        let shift = (bound / (ids.len() as u64).max(1)).max(1).ilog2();
        let span_count = (bound >> shift) as usize + 1;
        let mut starts = vec![0_u32; span_count + 1];
        ids.iter().for_each(|&v| starts[(v >> shift) as usize + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Self { ids, starts, shift }
    }

    /// Returns the id of each place, ascending.
    pub fn ids(&self) -> &[VertexId] {
        &self.ids
    }

    /// Returns the place of `v`, if it is a vertex.
    #[inline]
    pub fn place(&self, v: VertexId) -> Option<u32> {
        let span = (v >> self.shift) as usize;
        let (start, end) = (*self.starts.get(span)?, *self.starts.get(span + 1)?);
        let ids = &self.ids[start as usize..end as usize];
        ids.binary_search(&v).ok().map(|place| start + place as u32)
    }
}

/// Cuts `range` into pieces of work.
fn pieces(range: Range<VertexId>) -> impl Iterator<Item = Range<VertexId>> {
    let end = range.end;
    range.step_by(GRAIN as usize).map(move |start| start..start.saturating_add(GRAIN).min(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, CsrOptions, MAX_VERTEX_ID, SplitMix64};

    #[test]
    fn every_vertex_has_its_place_and_no_other_id_has_one() {
        let mut random = SplitMix64::new(1);
        let far: Vec<_> = (0..1000).map(|_| random.below(1 << 31) as u32).collect();
        let sets = [vec![], vec![0], vec![MAX_VERTEX_ID], vec![0, 1, 2, 3], vec![0, MAX_VERTEX_ID]];
        for mut ids in sets.into_iter().chain([far]) {
            ids.sort_unstable();
            ids.dedup();
            let numbering = Numbering::from_ids(ids.clone());
            assert!(numbering.starts.len() <= 2 * ids.len() + 3, "{}", numbering.starts.len());
            for (place, &v) in (0..).zip(&ids) {
                assert_eq!(numbering.place(v), Some(place));
                for other in [v.wrapping_sub(1), v.wrapping_add(1)] {
                    assert_eq!(numbering.place(other).is_some(), ids.contains(&other), "{other}");
                }
            }
            assert_eq!(numbering.place(u32::MAX), None);
        }
    }

    #[test]
    fn only_large_gaps_pay() {
        let pays = |largest| {
            let ring: Vec<_> = (0..200_000).map(|v| (v, (v + 1) % 200_000)).collect();
            let edges = [&ring[..], &[(0, largest)]].concat();
            Numbering::pays(&Csr::from_edges(&edges, None, CsrOptions::default()))
        };
        assert!(!pays(200_000) && !pays(1_500_000) && pays(1_700_000));
    }
}
