//! A shard: the neighbor lists of 4,096 consecutive vertices, updated by one thread at a time.
//!
//! # Invariants
//! - H1: `vertex_count` is the number of bits in `vertices`; `degree_sum` the sum of degrees in
//!   the first list, `loop_count` the self-loops in it.

use std::sync::{Arc, LazyLock};

use everedge_core::VertexId;
use everedge_live::{
    BITMAP_WORDS, DELETION, Effect, EmptyShard, Hold, Outcome, Part, Result, SHARD_SPAN,
    ShardTotals, Update,
};

use super::image::Unread;
use super::lpmb::{self, Context, ListMut, Scratch};
use super::merging::Change;
use super::pool::Pool;
use super::span::{SPAN, Span};
use super::versions::Version;

/// Lists are loaded into the cache so many vertices before they change, and their rows as many before that.
const WARM_AHEAD: usize = 8;
/// Lists are written anew in a pause if this share of them was changed.
const ORDER_SHARE: u64 = 8;
/// Spans of a shard.
pub(crate) const SPANS: usize = SHARD_SPAN / SPAN;

/// The spans of a list, which are shared until they change; none where all lists are empty.
pub(crate) type Spans = [Option<Arc<Span>>; SPANS];

/// The lists of one range of vertices; as `default` it has no room for any yet.
#[derive(Default)]
pub(crate) struct Shard {
    pub first_vertex: VertexId,
    /// All updates before this one were in it when the graph was opened.
    pub opened_sequence: u64,
    /// Since the graph was opened nobody has asked for its lists: they are still to be read.
    pub unread: Option<Unread>,
    /// The id after the largest that its lists named when they were read.
    pub neighbor_bound: u32,
    /// The id after the largest that has ended since the graph was opened: no view's bound is below it.
    pub ended_bound: VertexId,
    /// By list.
    pub lists: Vec<Arc<Spans>>,
    pub vertices: Vec<u64>,
    pub vertex_count: u32,
    pub degree_sum: u64,
    pub loop_count: u64,
    pub outcome: Outcome,
    /// Updates since its lists were last put in order.
    pub changed_count: u64,
    /// Which state of the lists this is, once there is room for some or an image.
    pub version: Option<Version>,
}

impl EmptyShard for Shard {
    fn empty() -> &'static Self {
        static EMPTY: LazyLock<Shard> = LazyLock::new(Shard::default);
        &EMPTY
    }
}

impl Shard {
    /// Makes room for the vertices of the shard number `number`, if there is none yet.
    pub(crate) fn materialize(&mut self, number: usize, list_count: usize, pool: &Arc<Pool>) {
        if self.vertices.is_empty() {
            self.first_vertex = (number * SHARD_SPAN) as u32;
            self.vertices = vec![0; BITMAP_WORDS];
        }
        if self.lists.is_empty() {
            self.lists = (0..list_count).map(|_| Arc::new([const { None }; SPANS])).collect();
            self.version.get_or_insert_with(|| Version::new(pool, number));
        }
    }

    /// Returns a copy that changes by itself; spans are copied when they change.
    pub(crate) fn copy(&self) -> Self {
        Self {
            unread: self.unread.clone(),
            lists: self.lists.clone(),
            vertices: self.vertices.clone(),
            version: self.version.as_ref().map(Version::next),
            ..*self
        }
    }

    #[inline]
    pub(crate) fn is_vertex(&self, local: usize) -> bool {
        self.vertices.get(local / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }

    /// Returns all spans that are there, with their list and number.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (usize, usize, &Span)> {
        self.lists.iter().enumerate().flat_map(|(list, spans)| {
            let spans = spans.iter().enumerate();
            spans.filter_map(move |(number, span)| Some((list, number, span.as_deref()?)))
        })
    }

    /// Whether so much was changed that it is worth while to write its lists anew in a pause.
    pub(crate) fn is_out_of_order(&self) -> bool {
        let entries = self.degree_sum * self.lists.len() as u64;
        self.unread.is_none() && self.changed_count * ORDER_SHARE > entries
    }

    /// Returns what it adds to the totals of a view.
    pub(crate) fn totals(&self) -> ShardTotals {
        ShardTotals {
            vertex_bound: self.vertex_bound(),
            vertex_count: self.vertex_count,
            degree_sum: self.degree_sum,
            loop_count: self.loop_count,
        }
    }

    /// Returns the id after the shard's last vertex, or 0 if it has none. What has ended counts until the
    /// graph is opened anew.
    fn vertex_bound(&self) -> u32 {
        let last = self.vertices.iter().rposition(|&word| word != 0);
        self.ended_bound.max(match last {
            Some(index) => {
                self.first_vertex + index as u32 * 64 + 64 - self.vertices[index].leading_zeros()
            }
            None => 0,
        })
    }

    /// Makes an id a vertex, or ends it.
    pub(crate) fn note_vertex(&mut self, local: usize, is_vertex: bool) {
        let (word, bit) = (&mut self.vertices[local / 64], 1 << (local % 64));
        match (*word & bit != 0, is_vertex) {
            (false, true) => self.vertex_count += 1,
            (true, false) => {
                self.vertex_count -= 1;
                self.ended_bound = self.ended_bound.max(self.first_vertex + local as u32 + 1);
            }
            _ => return,
        }
        *word ^= bit;
    }

    /// Applies a part of a round to one list. A list past the last keeps no neighbors, only that
    /// its vertices are vertices.
    pub(crate) fn take(
        &mut self,
        context: &Context,
        list: usize,
        part: &Part,
        (is_directed, scratch): (bool, &mut Scratch),
    ) {
        let mut changes = Vec::new();
        self.changed_count += part.updates().len() as u64;
        for (run, (local, updates)) in part.runs().enumerate() {
            self.warm(list, [part.local(run + 2 * WARM_AHEAD), part.local(run + WARM_AHEAD)]);
            if updates.iter().any(|update| !update.is_deletion()) {
                self.note_vertex(local, true);
            }
            if list < self.lists.len() {
                changes.clear();
                changes.extend(updates.iter().map(|&update| change(update)));
                changes.sort_unstable();
                self.apply(context, (list, local), &changes, (is_directed, scratch));
            }
        }
    }

    /// Starts loading the row of one vertex, and the list of another, into the cache.
    #[inline]
    fn warm(&self, list: usize, [row, whole]: [Option<usize>; 2]) {
        let Some(spans) = self.lists.get(list) else { return };
        let span = |local: usize| spans[local / SPAN].as_deref();
        if let Some((span, local)) = row.and_then(|local| Some((span(local)?, local))) {
            span.warm_row(local % SPAN);
        }
        if let Some((span, local)) = whole.and_then(|local| Some((span(local)?, local))) {
            span.warm(local % SPAN);
        }
    }

    fn apply(
        &mut self,
        context: &Context,
        (list, local): (usize, usize),
        changes: &[Change],
        (is_directed, scratch): (bool, &mut Scratch),
    ) {
        let vertex = self.first_vertex + local as u32;
        let Self { lists, version, outcome, degree_sum, loop_count, .. } = self;
        let note = |effect| {
            if list > 0 {
                return;
            }
            let is_loop = |neighbor| neighbor == vertex;
            let ends = |neighbor| if is_loop(neighbor) && !is_directed { 2 } else { 1 };
            match effect {
                Effect::Ignored(neighbor) => outcome.ignored += ends(neighbor),
                Effect::Deleted(neighbor) => {
                    outcome.deleted += ends(neighbor);
                    *degree_sum -= 1;
                    *loop_count -= u64::from(is_loop(neighbor));
                }
                Effect::Inserted(neighbor) => {
                    outcome.inserted += ends(neighbor);
                    *degree_sum += 1;
                    *loop_count += u64::from(is_loop(neighbor));
                }
                Effect::Replaced => {}
            }
        };
        let span = own_span(context, &mut Arc::make_mut(&mut lists[list])[local / SPAN]);
        let version = version.as_ref().expect("a shard with room for lists");
        let local = local % SPAN;
        ListMut { context, span, local, version, scratch }.apply(changes, note);
    }

    /// Calls `f` with each list that has neighbors, for changing.
    ///
    /// # Errors
    /// The first of `f`.
    pub(crate) fn for_each_list_mut(
        &mut self,
        context: &Context,
        mut f: impl FnMut(ListMut) -> Result<()>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        let Some(version) = &self.version else { return Ok(()) };
        let spans = self.lists.iter_mut().flat_map(Arc::make_mut);
        for span in spans.filter(|span| span.is_some()) {
            let span = own_span(context, span);
            for local in (0..SPAN).filter(|&local| span.row(local).degree > 0).collect::<Vec<_>>() {
                f(ListMut { context, span, local, version, scratch: &mut scratch })?;
            }
        }
        Ok(())
    }

    /// Ends that blocks are the shard's own, before an image names them. Returns what the image is to hold.
    pub(crate) fn freeze(&mut self, context: &Context) -> Vec<Hold> {
        for spans in &mut self.lists {
            let has_own =
                |span: &Option<Arc<Span>>| span.as_ref().is_some_and(|span| span.has_own_blocks);
            if !spans.iter().any(has_own) {
                continue;
            }
            let spans = Arc::make_mut(spans).iter_mut();
            for span in spans.filter(|span| has_own(span)).flatten() {
                match Arc::get_mut(span) {
                    Some(span) => lpmb::freeze(context, span),
                    None => *span = Arc::new(frozen_copy(context, span)),
                }
            }
        }
        self.version = self.version.as_ref().map(Version::next);
        self.hold()
    }

    /// Returns what keeps the blocks that its lists name now.
    pub(crate) fn hold(&self) -> Vec<Hold> {
        self.version.iter().map(|version| Arc::new(version.clone()) as Hold).collect()
    }
}

/// Returns a span for changing; one that is shared, or not there, is copied first.
fn own_span<'a>(context: &Context, span: &'a mut Option<Arc<Span>>) -> &'a mut Span {
    let span = span.get_or_insert_default();
    if Arc::get_mut(span).is_none() {
        *span = Arc::new(frozen_copy(context, span));
    }
    Arc::get_mut(span).expect("a new copy is not shared")
}

fn frozen_copy(context: &Context, span: &Span) -> Span {
    span.note_replaced(context.pool);
    let mut copy = span.copy(context.entry_words);
    lpmb::freeze(context, &mut copy);
    copy
}

fn change(update: Update) -> Change {
    Change::new(update.neighbor() & !DELETION, update.index(), update.is_deletion())
}
