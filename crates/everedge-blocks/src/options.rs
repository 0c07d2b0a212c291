//! How the layout works: what changes speed and space, but never an answer.

use serde::{Deserialize, Serialize};

use everedge_live::{Division, Error, LayoutOptions, Phases, Result};

/// What is fixed when a graph in this layout is created.
pub(crate) type GraphOptions = everedge_live::GraphOptions<BlocksOptions>;
/// The manifest of one.
pub(crate) type Manifest = everedge_live::Manifest<BlocksOptions>;

/// The options of the `blocks` layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlocksOptions {
    /// Updates in the log from which they are moved into the lists: 1 to 2^24 make sense.
    pub archive_threshold: u64,
    /// Whether logging goes on meanwhile.
    pub phases: Phases,
    /// How a round is divided among threads.
    pub division: Division,
    /// A round has a range of vertices for 2^b of its updates: b.
    pub division_bias: u32,
    /// Bytes of a block: a power of two from 64 to 1,024.
    pub block_bytes: u32,
    /// Lists of at most so many neighbors share the memory and the image of their span; longer ones
    /// have blocks.
    pub shared_max: u32,
    /// A window of eight blocks gets more of them where it would be filled to more than so many percent. A single
    /// block may be full, windows between them are filled to shares between.
    pub window_percent: u32,
    /// A window that gets more blocks, or fewer, is filled to so many percent.
    pub fill_percent: u32,
    /// A window that is filled to less than so many percent is spread with its neighbors.
    pub least_percent: u32,
}

impl LayoutOptions for BlocksOptions {
    const NAME: &'static str = "blocks";
}

impl Default for BlocksOptions {
    fn default() -> Self {
        Self {
            archive_threshold: 1 << 22,
            phases: Phases::Overlapped,
            division: Division::Stealing,
            division_bias: 0,
            block_bytes: 256,
            shared_max: 62,
            window_percent: 95,
            fill_percent: 85,
            least_percent: 25,
        }
    }
}

impl BlocksOptions {
    /// Refuses options that are out of range.
    ///
    /// # Errors
    /// `InvalidInput` that names the first.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { block_bytes, shared_max, .. } = *self;
        let Self { window_percent, fill_percent, least_percent, .. } = *self;
        let is_in_order = least_percent * 2 <= fill_percent && fill_percent < window_percent;
        let what = if !(block_bytes.is_power_of_two() && (64..=1024).contains(&block_bytes)) {
            format!("a block has 64 to 1024 bytes, a power of two, not {block_bytes}")
        } else if !(1..=1 << 16).contains(&shared_max) {
            format!("lists share memory up to 1 to 65536 neighbors, not {shared_max}")
        } else if !is_in_order || window_percent > 100 {
            format!(
                "a window is filled to at most 100 percent, to less when it is new, and to less than half \
                 of that before it shrinks: not {window_percent}, {fill_percent} and {least_percent}"
            )
        } else {
            return Ok(());
        };
        Err(Error::invalid(what))
    }
}
