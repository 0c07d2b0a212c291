//! What frozen views of all layouts know of the graph as a whole.

use everedge_core::Direction;

use crate::GraphOptions;

/// What a shard adds to the totals of a view.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShardTotals {
    /// The id after its last vertex, or 0 if it has none.
    pub vertex_bound: u32,
    /// How many vertices it has.
    pub vertex_count: u32,
    /// The sum of degrees in its first list, self-loops once.
    pub degree_sum: u64,
    /// The self-loops in it.
    pub loop_count: u64,
}

/// The totals of a view.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// The id after the last vertex.
    pub vertex_bound: u32,
    /// How many ids are vertices.
    pub vertex_count: u32,
    /// How many edges there are; an undirected one counts once.
    pub edge_count: u64,
    /// How many updates were applied before the view was taken, and edges that were stored without the
    /// log.
    pub sequence: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry a weight.
    pub weighted: bool,
    in_list: Option<usize>,
}

impl Totals {
    /// Returns the totals of a graph of these shards.
    pub(super) fn of(
        options: &GraphOptions<impl Sized>,
        sequence: u64,
        shards: impl Iterator<Item = ShardTotals>,
    ) -> Self {
        let sum = shards.fold(ShardTotals::default(), |sum, shard| ShardTotals {
            vertex_bound: sum.vertex_bound.max(shard.vertex_bound),
            vertex_count: sum.vertex_count + shard.vertex_count,
            degree_sum: sum.degree_sum + shard.degree_sum,
            loop_count: sum.loop_count + shard.loop_count,
        });
        let ShardTotals { vertex_bound, vertex_count, degree_sum, loop_count } = sum;
        let has_in = !options.directed || options.in_neighbors;
        Self {
            vertex_bound,
            vertex_count,
            edge_count: if options.directed { degree_sum } else { (degree_sum + loop_count) / 2 },
            sequence,
            directed: options.directed,
            weighted: options.weighted,
            in_list: has_in.then(|| options.list_count() - 1),
        }
    }

    /// Returns whether in-neighbors are kept.
    pub fn has_in_neighbors(&self) -> bool {
        self.in_list.is_some()
    }

    /// Returns the list that a vertex has for a direction.
    ///
    /// # Panics
    /// If it is that of in-neighbors, and they are not kept.
    #[inline]
    pub fn list_of(&self, direction: Direction) -> usize {
        match direction {
            Direction::Out => 0,
            Direction::In => self.in_list.expect("the graph was created without in-neighbors"),
        }
    }
}

/// Gives a view with a field `totals` what does not depend on how it keeps lists.
#[macro_export]
macro_rules! frozen_view {
    ($snapshot:ident) => {
        impl $snapshot {
            /// Returns how many numbers of updates were given before this view was taken: one to each update,
            /// also to an edge that was stored without the log, and some to none, which writers of single
            /// edges had claimed.
            pub fn sequence(&self) -> u64 {
                self.totals.sequence
            }

            /// Returns whether edges carry a weight; without, [`WeightedView`] gives the weight 1.
            pub fn is_weighted(&self) -> bool {
                self.totals.weighted
            }
        }

        impl $crate::LiveView for $snapshot {}
    };
}
