//! Products with the adjacency matrix: sums over the edges of every vertex, which iterations of
//! centralities are made of.
//!
//! An entry of the matrix is how many edges lead from one vertex to another, or the sum of their
//! weights. The matrix is never built: each vertex pulls the numbers of its in- or out-neighbors,
//! so that no two threads write to the same place. A sum over a list is taken in the order of the
//! list, and one over all vertices in pieces of a fixed size: results are the same for any number
//! of threads. Lists are read at their home as in XPGraph (ToS 2025, §4.2).

use std::ops::Range;

use everedge_core::{Direction, HOME_SPAN, ListVisitor, VertexId, WeightedView, par};

use crate::frontier::VertexSet;
use crate::{Error, Result};

/// Vertices in a piece of work.
const GRAIN: usize = 1 << 10;
const _: () = assert!((HOME_SPAN as usize).is_multiple_of(GRAIN));
/// Numbers in a piece of work that reads no edges.
const NUMBER_GRAIN: usize = 1 << 14;

/// The adjacency matrix of a view.
pub(crate) struct Matrix<'v, V> {
    view: &'v V,
    vertices: VertexSet,
    /// Whether an edge counts its weight, and not 1.
    weighted: bool,
}

impl<'v, V: WeightedView> Matrix<'v, V> {
    /// Returns the matrix of `view`.
    ///
    /// # Errors
    /// [`BadWeight`](Error::BadWeight) with the first edge whose weight is negative or not a finite
    /// number, if weights count.
    pub(crate) fn new(view: &'v V, weighted: bool) -> Result<Self> {
        if weighted {
            check_weights(view)?;
        }
        Ok(Self::unchecked(view, weighted))
    }

    /// As [`new`](Self::new), without a look at the weights.
    pub(crate) fn unchecked(view: &'v V, weighted: bool) -> Self {
        Self { view, vertices: VertexSet::of(view), weighted }
    }

    /// Returns `number` for each vertex, and 0 for other ids.
    pub(crate) fn filled(&self, number: f64) -> Vec<f64> {
        par::collect(self.view.vertex_bound() as usize, |v| {
            if self.vertices.contains(v as VertexId) { number } else { 0.0 }
        })
    }

    /// Calls `f(v, sum, &mut result[v])` for each vertex, with the sum of the `numbers` at the
    /// other ends of its edges, each as often as the edge counts; returns the sum of what `f`
    /// returned. There is an `f` for each range of ids, which sees them in ascending order.
    pub(crate) fn pull<T, F>(
        &self,
        direction: Direction,
        numbers: &[T],
        result: &mut [f64],
        f: impl Fn(Range<VertexId>) -> F + Sync + Send,
    ) -> f64
    where
        T: Copy + Into<f64> + Sync,
        F: FnMut(VertexId, f64, &mut f64) -> f64,
    {
        let home_of = |first| self.view.home(first as VertexId, direction);
        let sums = par::map_chunks_mut_at_home(
            self.view.homes(),
            result,
            GRAIN,
            home_of,
            |first, result| {
                let range = first as VertexId..(first + result.len()) as VertexId;
                let (mut total, mut f) = (0.0, f(range.clone()));
                let see = |v, sum| total += f(v, sum, &mut result[v as usize - first]);
                match self.weighted {
                    true => self.pull_weighted(direction, range, numbers, see),
                    false => {
                        let mut pull = Pull { vertices: &self.vertices, numbers, see };
                        self.view.visit_neighbors(direction, range, &mut pull);
                    }
                }
                total
            },
        );
        sums.into_iter().sum()
    }

    /// Returns at `v` what [`pull`](Self::pull) adds up, if it has no more than `list_max`
    /// neighbors.
    pub(crate) fn pull_at<T: Copy + Into<f64>>(
        &self,
        direction: Direction,
        numbers: impl Fn(VertexId) -> T,
        v: VertexId,
        list_max: usize,
    ) -> Option<f64> {
        let degree = match direction {
            Direction::Out => self.view.out_degree(v),
            Direction::In => self.view.in_degree(v),
        };
        let times = |(u, weight): (VertexId, f32)| numbers(u).into() * f64::from(weight);
        let once = |u| numbers(u).into();
        (degree as usize <= list_max).then(|| match (self.weighted, direction) {
            (true, Direction::Out) => self.view.out_edges(v).map(times).sum(),
            (true, Direction::In) => self.view.in_edges(v).map(times).sum(),
            (false, Direction::Out) => self.view.out_neighbors(v).map(once).sum(),
            (false, Direction::In) => self.view.in_neighbors(v).map(once).sum(),
        })
    }

    #[inline]
    fn pull_weighted<T: Copy + Into<f64>>(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        numbers: &[T],
        mut see: impl FnMut(VertexId, f64),
    ) {
        let times = |(u, weight): (VertexId, f32)| numbers[u as usize].into() * f64::from(weight);
        let list: Vec<_> = range.filter(|&v| self.vertices.contains(v)).collect();
        for (i, &v) in list.iter().enumerate() {
            self.view.load_ahead(direction, &list[i..]);
            let sum: f64 = match direction {
                Direction::Out => self.view.out_edges(v).map(times).sum(),
                Direction::In => self.view.in_edges(v).map(times).sum(),
            };
            see(v, from_none(sum));
        }
    }
}

/// Returns a sum, which of no numbers is 0 and not -0 as that of an iterator.
#[inline]
fn from_none(sum: f64) -> f64 {
    sum + 0.0
}

/// Adds up numbers where edges count 1.
struct Pull<'a, T, F> {
    vertices: &'a VertexSet,
    numbers: &'a [T],
    see: F,
}

impl<T: Copy + Into<f64>, F: FnMut(VertexId, f64)> ListVisitor for Pull<'_, T, F> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.vertices.contains(v)
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let sum: f64 = neighbors.map(|u| self.numbers[u as usize].into()).sum();
        (self.see)(v, from_none(sum));
    }
}

/// Checks that all weights are finite and not negative; of several edges that are not, the error
/// names one that leaves the smallest vertex.
fn check_weights(view: &impl WeightedView) -> Result<()> {
    let home_of = |first| view.home(first, Direction::Out);
    let (homes, bound) = (view.homes(), view.vertex_bound());
    let checked = par::map_ranges_at_home(homes, bound, GRAIN as u32, home_of, |range| {
        let list: Vec<_> = range.collect();
        list.iter().enumerate().try_for_each(|(i, &src)| {
            view.load_ahead(Direction::Out, &list[i..]);
            let is_bad = |&(_, weight): &(VertexId, f32)| !weight.is_finite() || weight < 0.0;
            let expected = "finite and 0 or more";
            match view.out_edges(src).find(is_bad) {
                Some((dst, weight)) => Err(Error::BadWeight { src, dst, weight, expected }),
                None => Ok(()),
            }
        })
    });
    checked.into_iter().collect()
}

/// Returns the sum of `f` of all numbers.
pub(crate) fn sum_of(numbers: &[f64], f: impl Fn(f64) -> f64 + Sync + Send) -> f64 {
    let sums = par::map_chunks(numbers, NUMBER_GRAIN, |part| {
        part.iter().map(|&number| f(number)).sum::<f64>()
    });
    sums.into_iter().sum()
}

/// Calls `f(&mut number, other)` on the numbers at each place; returns the sum of what it returned.
pub(crate) fn join(
    numbers: &mut [f64],
    others: &[f64],
    f: impl Fn(&mut f64, f64) -> f64 + Sync + Send,
) -> f64 {
    let sums = par::map_chunks_mut(numbers, NUMBER_GRAIN, |first, part| {
        part.iter_mut().zip(&others[first..]).map(|(number, &other)| f(number, other)).sum::<f64>()
    });
    sums.into_iter().sum()
}

/// Divides all numbers by `divisor`.
pub(crate) fn divide(numbers: &mut [f64], divisor: f64) {
    par::map_chunks_mut(numbers, NUMBER_GRAIN, |_, part| {
        part.iter_mut().for_each(|number| *number /= divisor);
    });
}
