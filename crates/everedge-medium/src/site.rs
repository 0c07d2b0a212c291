//! The places in the protocols where durability is asked for.

use std::fmt;

macro_rules! sites {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Where in a protocol a flush, a fence or a checksum test stands.
        ///
        /// A medium does the same at every site. A [`Recorder`](super::Recorder) counts on the
        /// names: a test plants a defect at one of them and expects the explorer to find it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Site {
            $($(#[$doc])* $name,)*
        }

        impl Site {
            /// Every site, in the order of declaration.
            pub const ALL: &'static [Site] = &[$(Site::$name,)*];
        }
    };
}

sites! {
    /// A record appended to the edge log.
    LogRecord,
    /// The header of a record.
    LogHeader,
    /// An anchor of the edge log: its durable pointers.
    LogAnchor,
    /// Anchor and records that opening the log found: a killed process may not have fenced them.
    LogFound,
    /// The head of the file of images.
    ImagesHead,
    /// An image of a shard.
    Image,
    /// The slot that names an image.
    Shard,
    /// How many slots count, and the sum of their checks.
    ShardSum,
    /// A slot that does not count is wiped.
    ShardWipe,
    /// The header of the block file.
    BlocksHeader,
    /// A block of a layout.
    Block,
    /// A run that compaction wrote.
    Run,
    /// The head of the file of arrays.
    ArraysHeader,
    /// An array that was written as a whole.
    Array,
    /// A new page of the table of arrays.
    TablePage,
    /// The word of the table that says where an array lies.
    Table,
    /// Words that were stored in the gap of a list.
    Word,
    /// An entry of the edge log of a section.
    EdgeLog,
    /// An entry of an edge log that counts by itself, for an edge that was not logged before.
    DirectEdge,
    /// A header of a section.
    SectionHeader,
    /// The sum over the headers of all sections.
    SectionSum,
    /// The sum over the lists of a section.
    ListSum,
    /// A row of the vertex array.
    VertexRow,
    /// A record of an undo log.
    Undo,
    /// The record that ends a rebalance.
    UndoEnd,
    /// Words that a rebalance moved.
    Move,
    /// Arrays and their table that opening found.
    ArraysFound,
    /// A free range of a file that is given back to the medium.
    GivenBack,
    /// The names of external ids.
    Names,
    /// Names that opening found.
    NamesFound,
    /// The head of the file of versions.
    VersionsHead,
    /// A version, as the file of versions has it.
    Version,
    /// Up to where versions count.
    VersionsEnd,
    /// Versions that opening found.
    VersionsFound,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
