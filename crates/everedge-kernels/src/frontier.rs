//! Frontiers, and the one place that decides whether a step pushes or pulls.
//!
//! A frontier is the set of vertices that a step starts from: a list while it is small, a bitmap
//! while it is large. The edge map takes a step along all edges that leave it and returns the
//! vertices that the step reached. It *pushes* over the out-edges of the frontier, or *pulls*
//! over the in-edges of all vertices that still want to be reached, which may stop early.
//!
//! Source: Shun and Blelloch, "Ligra", PPoPP 2013, §3 and §4 (`edgeMap`, there with an update, an
//! atomic update and a condition); Beamer, Asanović and Patterson, "Direction-Optimizing
//! Breadth-First Search", SC 2012, §4 (when to switch), with the thresholds of the GAP Benchmark
//! Suite (Beamer 2015). A kernel that reaches vertices again has Ligra's rule: how many edges are
//! unexplored then says nothing. Differences: the degrees of a frontier are added up when it is
//! used, and only if a pull may be due.
//!
//! Where lists lie on several NUMA nodes, each is read on a thread of its node: a pull by ranges of
//! vertices, a push after its list was classified. Source: Wang et al., "XPGraph", ToS 2025, §4.2
//! ("CPU-binding based graph querying").
//!
//! # Cost
//! Push: the edges of the frontier. Pull: a bit test for every in-edge looked at, of all vertices.
//! Memory: 4 bytes for each vertex of a list (8 if it is classified), or two bitmaps of one bit for
//! each id.

use std::borrow::Cow;
use std::mem;

use everedge_core::{
    AtomicBitmap, Bitmap, Direction, GraphView, HOME_SPAN, Homes, ListVisitor, VertexId, par,
};

/// Vertices of a list in a piece of work: degrees vary by far, so pieces are small.
const PUSH_GRAIN: usize = 64;
/// Edges of a piece of work where vertices have few of them.
const PUSH_EDGES: u64 = 1 << 12;
/// Pieces for each thread, if there are several, where there is little work.
const PIECES_PER_THREAD: usize = 2;
/// Words of a bitmap in a piece of work; 1024 vertices, as in GAP.
const PULL_GRAIN: usize = 16;
const _: () = assert!((HOME_SPAN as usize).is_multiple_of(64 * PULL_GRAIN));
/// Vertices in a piece of work that takes little a vertex, as to classify those of a list.
const CLASSIFIED_GRAIN: usize = 1 << 12;
/// Push to pull when the frontier's out-edges are more than the unexplored ones divided by this.
const ALPHA: u64 = 15;
/// The same for a pull that reads lists to their end.
const ALPHA_WHOLE: u64 = 3;
/// Edges are counted before a push when a guess is more than what is pulled divided by this.
const GUESS_MARGIN: u64 = 16;
/// The same while the frontier does not double in a step: its degrees are then like those before.
const GUESS_MARGIN_STEADY: u64 = 2;
/// Pull to push when the frontier shrinks below the number of vertices divided by this.
const BETA: u32 = 18;

/// Push to pull, if vertices are reached again, when the frontier and its out-edges are more than
/// all edges divided by this.
const GAMMA: u64 = 20;

/// Vertices that were added are kept as a bitmap if they are more than one id of so many.
const DENSE: u32 = 64;

/// Vertices are sparse if they are fewer than one of so many.
const SPARSE: usize = 256;

/// What a kernel does along an edge from `u`, in the frontier, to `v`.
///
/// [`EdgeMap::step`] calls it on many threads, either with pushes or with pulls alone, and it does
/// not say which: both must lead to the same answer. Parallel edges are shown one by one, and so is
/// a self-loop.
///
/// Source: Shun and Blelloch, "Ligra", PPoPP 2013, §3 (there functions `C`, and `F` in two forms).
pub trait EdgeStep: Sync {
    /// Whether a pull is done with a vertex at the first member of the frontier, so that it reads
    /// only a part of the edges. No answer depends on it, only when to pull.
    const STOPS_EARLY: bool;

    /// Returns whether `v` is still to be reached. A push asks before each edge to `v`. A pull asks
    /// before the first edge, and after each one that it took: at `false` it leaves the others out.
    fn wants(&self, v: VertexId) -> bool;

    /// Reaches `v` from `u` while others may reach it too; returns whether this call makes `v` a
    /// member of the next frontier, which only one call of a step does.
    fn push(&self, u: VertexId, v: VertexId) -> bool;

    /// Reaches `v` from `u` while nobody else reaches `v`; returns whether `v` is in the next
    /// frontier, for which one call of several is enough. Meanwhile `u` may be reached itself, if
    /// it is wanted.
    fn pull(&self, u: VertexId, v: VertexId) -> bool;
}

/// The vertices that a step starts from: a list while it is small, a bitmap while it is large.
///
/// Memory: 4 bytes a vertex of a list, a bit an id of a bitmap.
#[derive(Debug)]
pub struct Frontier {
    members: Members,
    count: u32,
}

#[derive(Debug)]
enum Members {
    Sparse(Vec<VertexId>),
    Dense(Bitmap),
}

/// Takes steps of a kernel and chooses how: by a push over the out-edges of the frontier, or by a
/// pull over the in-edges of all vertices that the step [wants](EdgeStep::wants).
///
/// The threads are those of [`par::with_threads`] around the call, and each step can be cancelled
/// by a [`Watch`](everedge_core::watch::Watch). What the threads of one step wrote, those of the
/// next one see. A kernel of many short steps takes them in
/// [`par::among_threads`], where a step begins at once.
///
/// Source: Shun and Blelloch, "Ligra", PPoPP 2013, §3 and §4 (`edgeMap`); Beamer, Asanović and
/// Patterson, "Direction-Optimizing Breadth-First Search", SC 2012, §4.
#[derive(Debug)]
pub struct EdgeMap<'v, V> {
    view: &'v V,
    /// Whether a vertex may be reached in several steps.
    reaches_again: bool,
    /// Stored edge ends; without those that a push has followed, if vertices are reached once.
    edges_unexplored: u64,
    traversal: Traversal,
    /// Size of the frontier before.
    last_count: u32,
    /// The edges that the last push followed.
    last_edges: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traversal {
    Push,
    Pull,
}

impl Frontier {
    /// Returns the frontier of one vertex.
    pub fn single(v: VertexId) -> Self {
        Self::from_list(vec![v])
    }

    /// Returns the frontier of the vertices in `list`, each named once.
    pub fn from_list(list: Vec<VertexId>) -> Self {
        Self { count: list.len() as u32, members: Members::Sparse(list) }
    }

    /// Adds vertices below `bound` that are no members, each named once. Many are kept as a bitmap from now on.
    pub(crate) fn add(&mut self, vertices: &[VertexId], bound: u32) {
        self.count += vertices.len() as u32;
        if self.count > bound / DENSE {
            self.bitmap(bound);
        }
        match &mut self.members {
            Members::Sparse(list) => list.extend_from_slice(vertices),
            Members::Dense(bitmap) => vertices.iter().for_each(|&v| bitmap.insert(v)),
        }
    }

    /// Returns the number of members.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Returns whether there is no member, which is when most kernels end.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Calls `f` on every member, in parallel.
    ///
    /// Cost: the members of a list, the ids of a bitmap.
    pub fn for_each(&self, f: impl Fn(VertexId) + Sync + Send) {
        match &self.members {
            Members::Sparse(list) => {
                par::map_chunks(list, CLASSIFIED_GRAIN, |list| list.iter().for_each(|&v| f(v)));
            }
            Members::Dense(bitmap) => {
                let bound = bitmap.bound();
                par::for_each_range(bound, CLASSIFIED_GRAIN as u32, |range| {
                    range.filter(|&v| bitmap.contains(v)).for_each(&f);
                });
            }
        }
    }

    /// Returns the sum of `f` of every member, called in parallel.
    pub(crate) fn sum(&self, f: impl Fn(VertexId) -> u64 + Sync + Send) -> u64 {
        let sums = match &self.members {
            Members::Sparse(list) => par::map_chunks(list, CLASSIFIED_GRAIN, |list| {
                list.iter().map(|&v| f(v)).sum::<u64>()
            }),
            Members::Dense(bitmap) => {
                par::map_ranges(bitmap.bound(), CLASSIFIED_GRAIN as u32, |range| {
                    range.filter(|&v| bitmap.contains(v)).map(&f).sum()
                })
            }
        };
        sums.into_iter().sum()
    }

    /// Returns the members as a bitmap of ids below `bound`; what keeps them stays as it is.
    pub(crate) fn shown(&self, bound: u32) -> Cow<'_, Bitmap> {
        match &self.members {
            Members::Dense(bitmap) => Cow::Borrowed(bitmap),
            Members::Sparse(list) => {
                let mut bitmap = Bitmap::new(bound);
                list.iter().for_each(|&v| bitmap.insert(v));
                Cow::Owned(bitmap)
            }
        }
    }

    /// Returns the members, in no particular order; from now on they are kept as a list.
    ///
    /// Cost: nothing for a list, the ids of a bitmap.
    pub fn list(&mut self) -> &[VertexId] {
        if let Members::Dense(bitmap) = &self.members {
            self.members = Members::Sparse(bitmap.iter().collect());
        }
        match &self.members {
            Members::Sparse(list) => list,
            Members::Dense(_) => unreachable!("it was made a list"),
        }
    }

    /// Returns the members; from now on they are kept as a bitmap.
    pub(crate) fn bitmap(&mut self, bound: u32) -> &Bitmap {
        if let Members::Sparse(list) = &self.members {
            let bitmap = AtomicBitmap::new(bound);
            par::map_chunks(list, PUSH_GRAIN, |list| {
                list.iter().for_each(|&v| _ = bitmap.insert(v));
            });
            self.members = Members::Dense(bitmap.into());
        }
        match &self.members {
            Members::Dense(bitmap) => bitmap,
            Members::Sparse(_) => unreachable!("it was made a bitmap"),
        }
    }
}

impl<'v, V: GraphView> EdgeMap<'v, V> {
    /// Returns the edge map of a kernel that reaches each vertex in one step at most.
    pub fn new(view: &'v V) -> Self {
        let ends_per_edge = if view.is_directed() { 1 } else { 2 };
        Self {
            view,
            reaches_again: false,
            edges_unexplored: view.edge_count() * ends_per_edge,
            traversal: Traversal::Push,
            last_count: 0,
            last_edges: u64::from(u32::MAX),
        }
    }

    /// Returns the edge map of a kernel that may reach a vertex in several steps.
    pub fn reaching_again(view: &'v V) -> Self {
        Self { reaches_again: true, ..Self::new(view) }
    }

    /// Takes `step` along the edges that leave `frontier`; returns the vertices that it reached.
    /// `frontier` keeps its members, but not always its form.
    ///
    /// Cost: a push reads the out-edges of the frontier, a pull in-edges of what is wanted and two
    /// bits an id; before, the out-degrees of a list are added up, unless it is far from being pulled.
    ///
    /// # Panics
    /// If a member is not below the view's `vertex_bound`; not every view notices. If the view
    /// keeps no in-neighbors.
    pub fn step<S: EdgeStep>(&mut self, frontier: &mut Frontier, step: &S) -> Frontier {
        if self.reaches_again {
            // A pull that stops early reads about as much from so large a frontier, whatever its degrees.
            let is_large = S::STOPS_EARLY && frontier.count > self.view.vertex_count() / BETA;
            let work = |map: &Self| u64::from(frontier.count) + map.edges_of(frontier);
            return match is_large || work(self) > self.edges_unexplored / GAMMA {
                true => self.pull(frontier, step),
                false => self.push(frontier.list(), step),
            };
        }
        let last_count = std::mem::replace(&mut self.last_count, frontier.count);
        if self.traversal == Traversal::Pull {
            let shrinks = frontier.count < last_count;
            if !shrinks || frontier.count > self.view.vertex_count() / BETA {
                return self.pull(frontier, step);
            }
            // After a pull one step is pushed in any case, or the choice could swing.
            self.traversal = Traversal::Push;
            return self.push(frontier.list(), step);
        }
        let list = frontier.list();
        let alpha = if S::STOPS_EARLY { ALPHA } else { ALPHA_WHOLE };
        let edges_max = self.edges_unexplored / alpha;
        // Counting is not worth it while edges would be far fewer if each had as many as lately.
        let guess = list.len() as u64 * (self.last_edges / u64::from(last_count.max(1)) + 1);
        let is_steady = list.len() < 2 * last_count as usize;
        let margin = if is_steady { GUESS_MARGIN_STEADY } else { GUESS_MARGIN };
        if guess > edges_max / margin && edge_count_of(self.view, Direction::Out, list) > edges_max
        {
            self.traversal = Traversal::Pull;
            return self.pull(frontier, step);
        }
        let reached = self.push(list, step);
        self.edges_unexplored -= self.last_edges;
        reached
    }

    fn edges_of(&self, frontier: &Frontier) -> u64 {
        let members = match &frontier.members {
            Members::Sparse(list) => return edge_count_of(self.view, Direction::Out, list),
            Members::Dense(members) => members,
        };
        let sum_of = |range| {
            let mut sum = 0;
            self.view.for_each_degree(Direction::Out, range, |v, degree| {
                sum += if members.contains(v) { u64::from(degree) } else { 0 };
            });
            sum
        };
        par::map_ranges(members.bound(), CLASSIFIED_GRAIN as u32, sum_of).into_iter().sum()
    }

    fn push(&mut self, list: &[VertexId], step: &impl EdgeStep) -> Frontier {
        let grain = push_grain(self.view, list.len());
        let reached = map_sources(self.view, list, Direction::Out, grain, |list| {
            let (mut reached, mut edges) = (Vec::new(), 0_u64);
            visit_out_edges(self.view, list, |u, v| {
                edges += 1;
                if step.wants(v) && step.push(u, v) {
                    reached.push(v);
                }
            });
            (reached, edges)
        });
        let (reached, edges): (Vec<_>, Vec<_>) = reached.into_iter().unzip();
        self.last_edges = edges.into_iter().sum();
        let mut reached = joined(reached);
        sort_for(self.view, &mut reached);
        Frontier::from_list(reached)
    }

    fn pull(&self, frontier: &mut Frontier, step: &impl EdgeStep) -> Frontier {
        let bound = self.view.vertex_bound();
        let frontier = frontier.bitmap(bound);
        let mut reached = Bitmap::new(bound);
        let home_of = |first| self.view.home(first as u32 * 64, Direction::In);
        let words = reached.words_mut();
        let pull_words = |first, words: &mut [u64]| {
            let start = first as u32 * 64;
            let end = start.saturating_add(words.len() as u32 * 64).min(bound);
            let mut pull = Pull { frontier, step, start, words };
            self.view.visit_neighbors(Direction::In, start..end, &mut pull);
            pull.words.iter().map(|word| word.count_ones()).sum::<u32>()
        };
        let homes = self.view.homes();
        let counts = par::map_chunks_mut_at_home(homes, words, PULL_GRAIN, home_of, pull_words);
        Frontier { members: Members::Dense(reached), count: counts.into_iter().sum() }
    }
}

/// Returns how many neighbors the vertices of `list` have together.
pub(crate) fn edge_count_of(view: &impl GraphView, direction: Direction, list: &[VertexId]) -> u64 {
    edge_counts_of(view, direction, list, 16 * PUSH_GRAIN).into_iter().sum()
}

/// Returns how many neighbors the vertices of each piece of `list` have together; `grain` vertices are a piece.
pub(crate) fn edge_counts_of(
    view: &impl GraphView,
    direction: Direction,
    list: &[VertexId],
    grain: usize,
) -> Vec<u64> {
    let in_order = view.reads_in_order() && list.is_sorted();
    let degree_of = |v| match direction {
        Direction::Out => view.out_degree(v),
        Direction::In => view.in_degree(v),
    };
    let sum_of = |list: &[VertexId]| match list {
        // The degrees between them are read with theirs.
        [first, .., last] if in_order && (last - first) as usize / list.len() < SPARSE => {
            let (mut sum, mut left) = (0, list.iter().peekable());
            view.for_each_degree(direction, *first..*last + 1, |v, degree| {
                sum += left.next_if_eq(&&v).map_or(0, |_| u64::from(degree));
            });
            sum
        }
        list => list.iter().map(|&v| u64::from(degree_of(v))).sum(),
    };
    par::map_chunks(list, grain, sum_of)
}

/// Calls `f(u, v)` for the edges that leave each `u` of `list`, in its order.
#[inline(always)]
pub(crate) fn visit_out_edges(
    view: &impl GraphView,
    list: &[VertexId],
    f: impl FnMut(VertexId, VertexId),
) {
    view.visit_listed(Direction::Out, list, &mut EachEdge(f));
}

/// Sees every edge of the lists that it is shown.
struct EachEdge<F>(F);

impl<F: FnMut(VertexId, VertexId)> ListVisitor for EachEdge<F> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    // Always: a call a list would cost more than the few edges that most have.
    #[inline(always)]
    fn visit(&mut self, u: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        // A fold: a layout knows where the pieces of its lists end.
        neighbors.for_each(|v| (self.0)(u, v));
    }
}

/// Returns how many of `count` vertices in a piece of work that reads their edges are enough.
pub(crate) fn push_grain(view: &impl GraphView, count: usize) -> usize {
    let vertices = PUSH_EDGES * u64::from(view.vertex_count()) / view.edge_count().max(1);
    let share = match par::thread_count() {
        1 => count,
        threads => count / (PIECES_PER_THREAD * threads),
    };
    share.min(vertices as usize).max(PUSH_GRAIN)
}

/// Sorts vertices whose lists are read next, and leaves out those that are named before, if that makes
/// reading less work.
pub(crate) fn sort_for(view: &impl GraphView, list: &mut Vec<VertexId>) {
    if view.reads_in_order() {
        par::sort(list);
        list.dedup();
    }
}

/// Calls `f` on pieces of `list` of at most `grain` vertices, each at the home of their
/// out- or in-neighbors; returns the results in no particular order.
pub(crate) fn map_sources<R: Send>(
    view: &impl GraphView,
    list: &[VertexId],
    direction: Direction,
    grain: usize,
    f: impl Fn(&[VertexId]) -> R + Sync + Send,
) -> Vec<R> {
    let Some(homes) = view.homes() else {
        return map_listed(view, list, direction, grain, f);
    };
    let home_of = |v: VertexId| view.home(v, direction);
    let classified = classify(list, homes, &home_of);
    let pieces = classified.iter().flat_map(|list| list.chunks(grain)).collect();
    par::map_tasks_at_home(Some(homes), pieces, |piece: &&[VertexId]| home_of(piece[0]), f)
}

/// Returns the vertices of a list in lists whose members have the same home.
fn classify(
    list: &[VertexId],
    homes: &Homes,
    home_of: &(dyn Fn(VertexId) -> usize + Sync),
) -> Vec<Vec<VertexId>> {
    let classified = par::map_chunks(list, CLASSIFIED_GRAIN, |list| {
        let mut by_home = vec![Vec::new(); homes.node_count()];
        list.iter().for_each(|&v| by_home[home_of(v)].push(v));
        by_home
    });
    classified.into_iter().flatten().collect()
}

/// Calls `f` on pieces of `list` of at most `grain` vertices, each at the home of its lists; returns the results in the
/// order of the list. Vertices side by side should have the same home.
pub(crate) fn map_in_order<R: Send>(
    view: &impl GraphView,
    list: &[VertexId],
    direction: Direction,
    grain: usize,
    f: impl Fn(&[VertexId]) -> R + Sync + Send,
) -> Vec<R> {
    if view.homes().is_none() {
        return map_listed(view, list, direction, grain, f);
    }
    let home_of = |v: VertexId| view.home(v, direction);
    let at_home = list.chunk_by(|&u, &v| home_of(u) == home_of(v));
    let pieces = at_home.flat_map(|vertices| vertices.chunks(grain)).collect();
    par::map_tasks_at_home(view.homes(), pieces, |piece: &&[VertexId]| home_of(piece[0]), f)
}

/// Calls `f` on pieces of `list` of at most `grain` vertices, wherever their lists lie, which are loaded ahead also
/// beyond a piece; returns the results in order.
pub(crate) fn map_listed<R: Send>(
    view: &impl GraphView,
    list: &[VertexId],
    direction: Direction,
    grain: usize,
    f: impl Fn(&[VertexId]) -> R + Sync + Send,
) -> Vec<R> {
    let reads_ahead = view.reads_in_order();
    par::map_ranges(list.len() as u32, grain as u32, |range| {
        let (start, end) = (range.start as usize, range.end as usize);
        if reads_ahead {
            view.load_ahead(direction, &list[start..]);
        }
        f(&list[start..end])
    })
}

/// Returns the vertices of `view`, ascending.
pub(crate) fn vertices(view: &impl GraphView) -> Vec<VertexId> {
    let vertices = par::map_ranges(view.vertex_bound(), CLASSIFIED_GRAIN as u32, |range| {
        let mut vertices = Vec::with_capacity(range.len());
        vertices.extend(range.filter(|&v| view.is_vertex(v)));
        vertices
    });
    joined(vertices)
}

/// Joins lists, and gives the memory of each back once it is copied; the only one that is not empty is the result.
pub(crate) fn joined<T>(mut lists: Vec<Vec<T>>) -> Vec<T> {
    lists.retain(|list| !list.is_empty());
    if let [list] = &mut lists[..] {
        return mem::take(list);
    }
    let mut all = Vec::with_capacity(lists.iter().map(Vec::len).sum());
    lists.into_iter().for_each(|list| all.extend(list));
    all
}

/// The vertices of a view, for a kernel that asks for each id again and again.
pub(crate) struct VertexSet {
    /// None if every id is one.
    bits: Option<Bitmap>,
}

impl VertexSet {
    pub(crate) fn of(view: &impl GraphView) -> Self {
        let bound = view.vertex_bound();
        let has_others = view.vertex_count() < bound;
        Self { bits: has_others.then(|| Bitmap::from_fn(bound, |v| view.is_vertex(v))) }
    }

    #[inline]
    pub(crate) fn contains(&self, v: VertexId) -> bool {
        self.bits.as_ref().is_none_or(|bits| bits.contains(v))
    }
}

/// Returns those of `list` for which `holds`, in the same order.
pub(crate) fn filter(
    list: &[VertexId],
    holds: impl Fn(VertexId) -> bool + Sync + Send,
) -> Vec<VertexId> {
    let kept_of = |list: &[VertexId]| {
        let mut kept = list.to_vec();
        kept.retain(|&v| holds(v));
        kept.shrink_to_fit();
        kept
    };
    joined(par::map_chunks(list, CLASSIFIED_GRAIN, kept_of))
}

/// Leaves out of `list` those for which `holds` does not, and takes no memory for it.
pub(crate) fn retain(list: &mut Vec<VertexId>, holds: impl Fn(VertexId) -> bool + Sync + Send) {
    let counts = par::map_chunks_mut(list, CLASSIFIED_GRAIN, |_, piece| {
        let mut count = 0;
        for i in 0..piece.len() {
            let v = piece[i];
            piece[count] = v;
            count += usize::from(holds(v));
        }
        count
    });
    let mut end = 0;
    for (start, count) in (0..).step_by(CLASSIFIED_GRAIN).zip(counts) {
        list.copy_within(start..start + count, end);
        end += count;
    }
    list.truncate(end);
}

/// Finds which vertices are reached from a member of the frontier.
struct Pull<'a, S> {
    frontier: &'a Bitmap,
    step: &'a S,
    /// The vertex of the first bit of `words`.
    start: VertexId,
    words: &'a mut [u64],
}

impl<S: EdgeStep> ListVisitor for Pull<'_, S> {
    const STOPS_EARLY: bool = S::STOPS_EARLY;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.step.wants(v)
    }

    // Always: a call a list would cost more than the first edge, which most pulls end at.
    #[inline(always)]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let mut reached = false;
        for u in neighbors {
            if self.frontier.contains(u) {
                reached |= self.step.pull(u, v);
                if !self.step.wants(v) {
                    break;
                }
            }
        }
        let bit = v - self.start;
        self.words[bit as usize / 64] |= u64::from(reached) << (bit % 64);
    }
}
