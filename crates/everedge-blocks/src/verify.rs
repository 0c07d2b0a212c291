//! Checks of all that shards are and point to, on demand.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_live::{Result, Shared, Verification};

use super::BlocksGraph;
use super::image::{Order, damaged_block, is_block_right};
use super::layout::Blocks;
use super::lpmb::{self, BlockRef};
use super::shard::Shard;
use super::span::{SPAN, Span};

impl BlocksGraph {
    /// Checks the checksums of blocks, the order of all lists, degrees against scans, counts and sums, that
    /// neighbors are vertices, and that out- and in-neighbors mirror each other. What is damaged is named,
    /// piece by piece; neighbors are compared only if nothing is.
    ///
    /// Cost: every block is read three times; 16 bytes a vertex of memory.
    ///
    /// # Errors
    /// If the log's tail cannot be archived, or memory is lacking.
    pub fn verify(&self) -> Result<Verification> {
        let layout = &self.live.core.layout;
        self.live.verify(
            |shard| layout.read_shared(shard).err().into_iter().collect(),
            |shard, report| verify_shard(layout, shard, report),
        )
    }
}

fn verify_shard(layout: &Blocks, shard: &Shared<Shard>, report: &mut Verification) {
    let (mut degree_sum, mut loops) = (0, 0);
    for (list, number, span) in shard.spans() {
        for local in 0..SPAN {
            let vertex = shard.first_vertex + (number * SPAN + local) as u32;
            let mut own = 0;
            verify_list(layout, span, (vertex, list, local), report, |neighbor| {
                own += u64::from(neighbor == vertex);
            });
            if list == 0 {
                degree_sum += u64::from(span.row(local).degree);
                loops += own;
            }
        }
    }
    let vertices = shard.vertices.iter().map(|word| u64::from(word.count_ones())).sum();
    let counts = [
        ("vertices", vertices, shard.vertex_count.into()),
        ("neighbors", degree_sum, shard.degree_sum),
        ("self-loops", loops, shard.loop_count),
    ];
    report.check_counts(shard.first_vertex, &counts);
}

fn verify_list(
    layout: &Blocks,
    span: &Span,
    (vertex, list, local): (u32, usize, usize),
    report: &mut Verification,
    mut see: impl FnMut(u32),
) {
    let (row, entry_words) = (span.row(local), layout.options.entry_words());
    let mut order = Order::new(layout.options.simple);
    if !row.is_in_blocks() {
        let holds = order.holds(span.entries(row, entry_words), entry_words, see);
        return report.check(holds, || format!("vertex {vertex}, list {list}: not in order"));
    }
    let mut sum = 0;
    for block in lpmb::blocks(span.table(row)) {
        let is_right = block.count > 0 && is_block_right(layout, &block, &mut order, &mut see);
        report.check(is_right, || damaged_block(layout.pool.region(), &block).to_string());
        sum += block.count;
    }
    report.check(sum == row.degree, || {
        format!("vertex {vertex}, list {list}: degree {}, {sum} neighbors", row.degree)
    });
}

impl Shard {
    /// Returns the id after the largest that its lists name.
    pub(crate) fn find_neighbor_bound(&self, context: &lpmb::Context) -> u32 {
        let last = |span: &Span, local: usize| {
            let row = span.row(local);
            let word = |words: &[AtomicU32]| {
                let last = words.len().checked_sub(context.entry_words)?;
                Some(words[last].load(Relaxed))
            };
            match row.is_in_blocks() {
                false => word(span.entries(row, context.entry_words)),
                true => lpmb::blocks(span.table(row)).next_back().and_then(|block: BlockRef| {
                    let offset = context.pool.offset(block.place);
                    let count = block.count as usize * context.entry_words;
                    word(context.pool.region().words(offset, count))
                }),
            }
        };
        let of_span = |span: &Span| (0..SPAN).filter_map(|local| last(span, local)).max();
        self.spans().filter_map(|(_, _, span)| of_span(span)).max().map_or(0, |last| last + 1)
    }
}
