//! Calls whose loss nothing shows, and why they are there all the same.

use everedge_medium::Plant;

use super::call_of;
use everedge::Layout;

/// A plant that is not found.
#[derive(Debug)]
pub(super) struct Harmless {
    /// The layout that it is harmless in; none for both.
    layout: Option<Layout>,
    /// How the plant's name begins: what is done to which kind of call.
    plant: &'static str,
    /// How the path of its source file ends.
    file: &'static str,
    /// How its function and line begin; empty for all of the file.
    line: &'static str,
    /// Why nothing shows it.
    pub(super) reason: Reason,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Reason {
    /// It is not needed for what is promised.
    Harmless(&'static str),
    /// It is needed only if threads meet, or crashes come, as they hardly do: some runs find it.
    Rare(&'static str),
}

impl Harmless {
    pub(super) fn is_of(&self, layout: Layout, plant: Plant, line: &str) -> bool {
        self.is_of_layout(layout)
            && plant.to_string().starts_with(self.plant)
            && call_of(plant).file().ends_with(self.file)
            && line.starts_with(self.line)
    }

    pub(super) fn is_of_layout(&self, layout: Layout) -> bool {
        self.layout.is_none_or(|own| own == layout)
    }

    pub(super) fn is_rare(&self) -> bool {
        matches!(self.reason, Reason::Rare(_))
    }

    /// Returns what to say of it.
    pub(super) fn text(&self) -> &'static str {
        match self.reason {
            Reason::Harmless(text) | Reason::Rare(text) => text,
        }
    }
}

const fn harmless(
    layout: Option<Layout>,
    [plant, file, line]: [&'static str; 3],
    reason: &'static str,
) -> Harmless {
    Harmless { layout, plant, file, line, reason: Reason::Harmless(reason) }
}

const fn rare(
    layout: Option<Layout>,
    [plant, file, line]: [&'static str; 3],
    reason: &'static str,
) -> Harmless {
    Harmless { layout, plant, file, line, reason: Reason::Rare(reason) }
}

const ADJACENCY: Option<Layout> = Some(Layout::Adjacency);
const PMA: Option<Layout> = Some(Layout::Pma);
const BLOCKS: Option<Layout> = Some(Layout::Blocks);

pub(super) const HARMLESS: &[Harmless] = &[
    harmless(
        None,
        ["without create", "", ""],
        "a graph is one once its manifest is there, whose publication syncs the directory",
    ),
    harmless(
        None,
        ["without resize", "log/room.rs", "restart_ring: self.region.shrink"],
        "a file that is longer than it has to be is used again",
    ),
    harmless(
        None,
        ["without resize", "src/space.rs", "shrink_leaving: "],
        "a file that is longer than it has to be is used again",
    ),
    rare(
        None,
        ["without fence LogAnchor", "log/room.rs", "grow_ring: self.change_anchor"],
        "the next fence of the log takes it along, unless another thread writes an anchor before",
    ),
    rare(
        None,
        ["too late fence LogAnchor", "log/room.rs", "grow_ring: self.change_anchor"],
        "the next fence of the log takes it along, unless another thread writes an anchor before",
    ),
    rare(
        None,
        ["", "log/line.rs", "close_window: if !holes.is_empty()"],
        "needs a crash after a window with claimed lines that nobody wrote; a test of the log has it",
    ),
    rare(
        None,
        ["without check LogHeader", "log/recovery.rs", "decode: "],
        "the checksum of a record covers its header; this one tells ids that spell a header apart",
    ),
    rare(
        None,
        ["", "log/mod.rs", "fence_found: "],
        "needed after a kill at one of few stores, or a failed sync; killed graphs show the site",
    ),
    rare(
        None,
        ["", "src/names/mod.rs", "open_file: "],
        "needed after a kill at one of few stores, or a failed sync; killed graphs show the site",
    ),
    rare(
        PMA,
        ["", "src/undo.rs", "store_again: "],
        "needed after a kill between the end of a rebalance and its fence",
    ),
    rare(
        PMA,
        ["", "src/table.rs", "store_again: "],
        "needed after a kill at one of few stores, or a failed sync; killed graphs show the site",
    ),
    rare(
        PMA,
        ["", "src/extent.rs", "store_headers_again: "],
        "needed after a kill at one of few stores, or a failed sync; killed graphs show the site",
    ),
    rare(
        None,
        ["", "log/anchor.rs", "wipe_torn: "],
        "two crashes have to tear the same anchor, each along the other line; a test of the log has them",
    ),
    rare(
        PMA,
        ["", "src/direct.rs", "recover: extent.region.rewrite"],
        "needed after a kill at one of few stores, or a failed sync; killed graphs show the site",
    ),
    rare(
        PMA,
        ["", "src/direct.rs", "recover: extent.region.wipe"],
        "needs another crash after one that tore an edge; more images show it",
    ),
    rare(
        PMA,
        ["", "src/direct.rs", "count_what_rounds_left: self.arrays().fence(Site::SectionHeader)"],
        "only what a round left makes it needed, and then a crash before the next save; more images show it",
    ),
    rare(
        PMA,
        [
            "too late fence Word",
            "src/array.rs",
            "rebalance: let has_failed = self.extent.fence(Site::Word)",
        ],
        "seen only where a crash comes between the two fences after a kill; ten times as many images show it",
    ),
    rare(
        PMA,
        ["", "src/undo.rs", "begin: self.write(Site::Undo"],
        "seen only where a crash comes between the two fences after a kill; ten times as many images show it",
    ),
    rare(
        PMA,
        ["", "src/rebalance.rs", "merge_logs: extent.fence"],
        "the next fence is that of the headers, before which the words have to be lost alone",
    ),
    rare(
        BLOCKS,
        ["", "archiving/images.rs", "open: directory.wipe"],
        "needed if the next save leaves out a shard that the one that crashed had saved",
    ),
    rare(
        BLOCKS,
        ["", "archiving/images.rs", "open: directory.drain"],
        "needed if another thread than the one that opened the graph makes the next save",
    ),
    harmless(
        BLOCKS,
        ["", "archiving/images.rs", "slot_for: self.directory.wipe"],
        "a slot checks itself, so that what a device leaves in a new one is none",
    ),
    rare(
        ADJACENCY,
        ["", "archiving/images.rs", "open: directory.wipe"],
        "needed if the next save leaves out a shard that the one that crashed had saved",
    ),
    rare(
        ADJACENCY,
        ["", "archiving/images.rs", "open: directory.drain"],
        "needed if another thread than the one that opened the graph makes the next save",
    ),
    harmless(
        None,
        ["too late fence LogAnchor", "log/mod.rs", "create: "],
        "nothing of a new graph counts before its manifest",
    ),
    harmless(
        ADJACENCY,
        ["too late fence ImagesHead", "archiving/images.rs", "create: "],
        "nothing of a new graph counts before its manifest",
    ),
    harmless(
        ADJACENCY,
        ["too late fence BlocksHeader", "src/subgraphs.rs", "create_files: "],
        "nothing of a new graph counts before its manifest",
    ),
    harmless(
        PMA,
        ["too late fence ArraysHeader", "src/lib.rs", "write_file_head: "],
        "nothing of a new graph counts before its manifest",
    ),
    rare(
        BLOCKS,
        ["without drain Block", "src/layout.rs", "drain: "],
        "needed where one thread freezes a block in a round and another one saves the shard; most runs find it",
    ),
    rare(
        BLOCKS,
        ["too late drain Block", "src/layout.rs", "drain: "],
        "needed where one thread freezes a block in a round and another one saves the shard; most runs find it",
    ),
    harmless(
        BLOCKS,
        ["too late fence ImagesHead", "archiving/images.rs", "create: "],
        "nothing of a new graph counts before its manifest",
    ),
    harmless(
        BLOCKS,
        ["too late fence BlocksHeader", "src/lib.rs", "write_file_head: "],
        "nothing of a new graph counts before its manifest",
    ),
    rare(
        PMA,
        ["without check Table", "src/table.rs", "is_valid: "],
        "where a wrong word leads there is no head of the array",
    ),
    rare(
        PMA,
        ["without resize", "src/undo.rs", "take: "],
        "the file has one log from the start; another is made while two threads rebalance",
    ),
    harmless(
        ADJACENCY,
        ["", "archiving/images.rs", "slot_for: self.directory.wipe"],
        "a slot checks itself, so that what a device leaves in a new one is none",
    ),
    rare(
        PMA,
        ["without check Array", "src/extent.rs", "read_head: "],
        "what a head says is held against the table, the options and the headers of sections too",
    ),
    rare(
        ADJACENCY,
        ["without drain Block", "src/layout.rs", "drain: self.sub_graphs.drain"],
        "needed if another thread flushes blocks than the one that fences them",
    ),
    rare(
        ADJACENCY,
        ["without drain Run", "src/compact.rs", "write: context.sub_graphs.drain"],
        "needed if another thread writes the runs than the one that fences them",
    ),
    harmless(
        ADJACENCY,
        ["", "src/naive.rs", "write: context.places.blocks[sub_graph].fence"],
        "there to be measured, as the naive way does: the save that follows fences all",
    ),
    harmless(
        ADJACENCY,
        ["without check ImagesHead", "archiving/images.rs", "open: "],
        "it tells whose file it is; no answer depends on what the head says",
    ),
    harmless(
        ADJACENCY,
        ["without check BlocksHeader", "src/subgraphs.rs", "check_header: "],
        "it tells whose file it is; no answer depends on what the header says",
    ),
    harmless(
        PMA,
        ["without check ArraysHeader", "src/lib.rs", "check_file_head: "],
        "it tells whose file it is; no answer depends on what the head says",
    ),
    harmless(
        BLOCKS,
        ["without check BlocksHeader", "src/lib.rs", "check_file_head: "],
        "it tells whose file it is; no answer depends on what the head says",
    ),
    harmless(
        BLOCKS,
        ["without check ImagesHead", "archiving/images.rs", "open: "],
        "it tells whose file it is; no answer depends on what the head says",
    ),
    rare(
        PMA,
        ["without resize", "src/rows.rs", "reserve: "],
        "there to be measured: nobody reads rows on the medium, and what grew too little grows again",
    ),
    harmless(
        PMA,
        ["", "src/rows.rs", "store: "],
        "there to be measured: nobody reads rows on the medium",
    ),
    harmless(
        PMA,
        ["", "src/layout.rs", "drain: self.rows"],
        "there to be measured: nobody reads rows on the medium",
    ),
    harmless(
        PMA,
        ["", "src/layout.rs", "save: rows.region().fence"],
        "there to be measured: nobody reads rows on the medium",
    ),
    rare(
        PMA,
        ["", "src/recovery.rs", "recover: region.fence(Site::ArraysFound)"],
        "needed if another thread rebalances in place before this one fences arrays",
    ),
    harmless(
        PMA,
        ["", "src/rebalance.rs", "complete: extent."],
        "the step that is then done saves the same words again",
    ),
    rare(
        PMA,
        ["without drain Array", "src/table.rs", "note_move: "],
        "needed if another thread writes the array than the one that fences it",
    ),
    rare(
        PMA,
        ["without flush TablePage", "src/table.rs", "reserve: self.region.flush"],
        "the first words of a page lie in the line of its mark; a later one hardly comes before them",
    ),
    rare(
        PMA,
        ["", "src/table.rs", "reserve: self.region.wipe"],
        "a page that is new on the medium mostly reads 0 anyway, and few histories need a second one",
    ),
    rare(
        PMA,
        ["", "src/table.rs", "reserve: self.region.fence"],
        "the first words of a page lie in the line of its mark; a later one hardly comes before them",
    ),
];
