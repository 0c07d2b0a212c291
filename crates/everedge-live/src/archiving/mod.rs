//! What layouts share that take their updates from the edge log: batches are logged, a round of
//! them at a time is divided among shards of 4,096 vertices, and each shard is changed by one
//! thread.
//!
//! Source: XPGraph, ToS 2025, §3.4 and §4.1: logging, buffering and the division of work. What a
//! layout makes of a shard's updates is its own: it implements [`Layout`].
//!
//! # Concurrency
//! Any number of writers and readers. The log orders batches, and lets one writer keep the others
//! out; the archive is held by whoever archives. Lock order: archive, then those inside the log and
//! the layout.

mod archive;
mod calls;
#[cfg(test)]
mod calls_model;
mod core;
mod damage;
mod deal;
mod divide;
mod due;
mod followed;
mod frozen;
mod image_reader;
mod images;
mod layout;
mod live;
mod neighbors;
mod order;
mod phases;
mod pieces;
mod round;
mod shard;
mod shard_set;
mod shared;
mod sizes;
mod sync;

pub use self::archive::Archive;
pub use self::core::{Core, Held};
pub use self::divide::{Part, SIDES};
pub use self::due::Pass;
pub use self::followed::{Followed, FollowedUpdate, Since};
pub use self::frozen::{ShardTotals, Totals};
pub use self::image_reader::ImageReader;
pub use self::images::{
    FoundImage, Heads, Hold, IMAGE_HEAD_WORDS, ImageWords, Images, SHARDS, Unreadable, image_units,
};
pub use self::layout::{Layout, Pace, Parts, RoundContext, Taken, Wait};
pub use self::live::{Live, LiveView};
pub use self::neighbors::{are_weights, live_bound};
pub use self::pieces::{fold_edges, fold_pairs, fold_words};
pub use self::shard::{
    BITMAP_WORDS, Effect, Outcome, Rules, SHARD_SPAN, Update, loops_in, resolve,
};
pub use self::shard_set::ShardSet;
pub use self::shared::{EmptyShard, Shared, present};
pub use self::sizes::ShardSizes;

pub use self::deal::Division;
pub use self::live::{Changes, Compaction};
pub use self::phases::Phases;
