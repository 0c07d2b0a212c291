//! Changes of a graph, and what they come to.
//!
//! A version keeps what its changes come to: an edge that is added and deleted between two versions leaves no
//! trace. A deletion takes the newest of equal edges away, as in a live graph, and is ignored where there is
//! none.

use everedge_core::{Edge, MAX_VERTEX_ID, VertexId, WeightedView, par};
use everedge_medium::{Error, Result};
use rustc_hash::FxHashMap;

use super::TimelineOptions;
use super::bits::Bits;
use super::finder::Finder;
use super::lists::{Entry, NO_ROWS, NewLists, ROW_SPAN};
use super::rows::counts_to_starts;
use super::segment::{Delta, Found, Place, Totals, Wrong};
use super::tip::Tip;

/// Changes in a piece of work, or a few more.
const GRAIN: usize = 1 << 10;

/// Changes, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    edges: Vec<EdgeChange>,
    /// Ids that became vertices or ended, each before the edge change of that number.
    vertices: Vec<(VertexId, bool, usize)>,
    /// Whether what is deleted is looked for in all versions and whole lists.
    without_indexes: bool,
}

#[derive(Clone, Copy, Debug)]
struct EdgeChange {
    src: VertexId,
    dst: VertexId,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// With the bits of the weight.
    Insertion(u32),
    Deletion,
    /// All of the pair go.
    Clearing,
}

impl EdgeChange {
    #[inline]
    fn ends(&self) -> Edge {
        (self.src, self.dst)
    }

    #[inline]
    fn inserts(&self) -> bool {
        matches!(self.kind, Kind::Insertion(_))
    }
}

impl Changes {
    /// Returns no changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has what is deleted looked for without the index of chunks and the filter of versions, for measurements.
    pub fn without_indexes(self) -> Self {
        Self { without_indexes: true, ..self }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.vertices.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.edges.len() + self.vertices.len()
    }

    /// Returns how many of them insert an edge.
    pub(crate) fn insertions(&self) -> usize {
        self.edges.iter().filter(|change| change.inserts()).count()
    }

    /// Inserts an edge, and makes its ends vertices. The weight is 1 if there is none.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`] or the weight not finite.
    pub fn insert(&mut self, src: VertexId, dst: VertexId, weight: Option<f32>) -> Result<()> {
        let weight = weight.unwrap_or(1.0);
        if !weight.is_finite() {
            return Err(invalid(format!("the weight {weight} is not finite")));
        }
        self.push(src, dst, Kind::Insertion(weight.to_bits()))
    }

    /// Deletes the newest edge from `src` to `dst`, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`].
    pub fn delete(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, Kind::Deletion)
    }

    /// Deletes all edges from `src` to `dst`.
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn clear(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, Kind::Clearing)
    }

    /// Makes the edges of some pairs those that a graph has.
    ///
    /// Cost: the lists of the sources.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn set_pairs(&mut self, graph: &impl WeightedView, mut pairs: Vec<Edge>) -> Result<()> {
        pairs.sort_unstable();
        pairs.dedup();
        for &(src, dst) in &pairs {
            self.clear(src, dst)?;
        }
        for of_source in pairs.chunk_by(|a, b| a.0 == b.0) {
            let src = of_source[0].0;
            if src >= graph.vertex_bound() || !graph.is_vertex(src) {
                continue;
            }
            for (dst, weight) in graph.out_edges(src) {
                if of_source.binary_search(&(src, dst)).is_ok() {
                    self.insert(src, dst, Some(weight))?;
                }
            }
        }
        Ok(())
    }

    /// Makes `v` a vertex, or ends it; its edges are to be deleted before, or the commit is refused.
    ///
    /// # Errors
    /// `InvalidInput` if it is above [`MAX_VERTEX_ID`].
    pub fn set_vertex(&mut self, v: VertexId, is_vertex: bool) -> Result<()> {
        check_id(v)?;
        self.vertices.push((v, is_vertex, self.edges.len()));
        Ok(())
    }

    fn push(&mut self, src: VertexId, dst: VertexId, kind: Kind) -> Result<()> {
        check_id(src.max(dst))?;
        self.edges.push(EdgeChange { src, dst, kind });
        Ok(())
    }

    /// Returns what the changes come to after `tip`.
    ///
    /// # Errors
    /// What of the stored edges cannot be so.
    pub(crate) fn net(self, tip: &Tip, options: &TimelineOptions) -> Found<NetChange> {
        let has_vertices = !self.vertices.is_empty();
        let (new_vertices, ended_vertices) = self.net_vertices(tip.vertices());
        let mut totals = tip.totals();
        totals.vertex_count += new_vertices.len() as u32;
        totals.vertex_count -= ended_vertices.len() as u32;
        let largest = new_vertices.last().map_or(0, |v| v + 1);
        totals.vertex_bound = totals.vertex_bound.max(largest);
        let indexed = !self.without_indexes;
        let net = net_edges(self.edges, (tip, indexed), options)?;
        let with_edges = match has_vertices {
            true => net.first_with_edges(tip, [&new_vertices, &ended_vertices]),
            false => None,
        };
        let Net { entries, gone, added, deleted, .. } = net;
        let left = |count: u64, added: u64, deleted| (count + added).checked_sub(deleted);
        let edges = left(totals.edges, added.edges, deleted.edges);
        let loops = left(totals.loops, added.loops, deleted.loops);
        let (Some(edges), Some(loops)) = (edges, loops) else {
            return Err(Wrong::new("the last version's count of edges", "all of them", "fewer"));
        };
        (totals.edges, totals.loops) = (edges, loops);
        let is_whole = tip.is_empty();
        let in_order = |(mut entries, mut gone): (Vec<Entry>, Vec<Place>)| {
            // Stable: equal edges stay in the order in which they came.
            match is_whole {
                true => entries = by_list(&entries),
                false => par::sort_by_key(&mut entries, |&(v, neighbor, _)| (v, neighbor)),
            }
            gone.sort_unstable();
            (NewLists::new(&entries, (options.weighted, is_whole)), gone)
        };
        let ([out_entries, in_entries], [out_gone, in_gone]) = (entries, gone);
        let (outward, inward) =
            par::join(|| in_order((out_entries, out_gone)), || in_order((in_entries, in_gone)));
        let (lists, gone) = ([outward.0, inward.0], [outward.1, inward.1]);
        let delta = Delta { new_vertices, ended_vertices, lists, gone };
        let (additions, deletions) = (added.edges, deleted.edges);
        Ok(NetChange { delta, totals, additions, deletions, with_edges })
    }

    /// Returns the ids that become vertices, and those that end.
    fn net_vertices(&self, vertices: &Bits) -> (Vec<VertexId>, Vec<VertexId>) {
        let insertions = || self.edges.iter().enumerate().filter(|(_, change)| change.inserts());
        if self.vertices.is_empty() {
            // Nothing ends: what is a vertex already stays one. Of 4,096 ids there are bits if one is new: ids may lie far
            // apart.
            let (mut found, mut new) = (FxHashMap::<usize, Bits>::default(), Vec::new());
            for v in insertions().flat_map(|(_, change)| [change.src, change.dst]) {
                let (group, local) = (v as usize / ROW_SPAN, v as usize % ROW_SPAN);
                if !vertices.contains(v as usize)
                    && found.entry(group).or_insert_with(|| Bits::none(ROW_SPAN)).insert(local)
                {
                    new.push(v);
                }
            }
            new.sort_unstable();
            return (new, Vec::new());
        }
        let said = self.vertices.iter().map(|&(v, is_vertex, at)| (v, 2 * at, is_vertex));
        let mut events: Vec<(VertexId, usize, bool)> = said.collect();
        for (at, change) in insertions() {
            events.extend([change.src, change.dst].map(|v| (v, 2 * at + 1, true)));
        }
        // Stable: of what was said of an id at one place, the last counts.
        events.sort_by_key(|&(v, at, _)| (v, at));
        let last = events.chunk_by(|a, b| a.0 == b.0).filter_map(|events| events.last());
        let changed = last.filter(|&&(v, _, is_vertex)| vertices.contains(v as usize) != is_vertex);
        let (new, ended): (Vec<_>, Vec<_>) = changed.partition(|(_, _, is_vertex)| *is_vertex);
        let ids = |events: Vec<&(VertexId, usize, bool)>| {
            events.into_iter().map(|event| event.0).collect()
        };
        (ids(new), ids(ended))
    }
}

/// What changes come to.
pub(crate) struct NetChange {
    pub delta: Delta,
    /// What the graph has then.
    pub totals: Totals,
    /// Edges that are new.
    pub additions: u64,
    /// Edges that are gone.
    pub deletions: u64,
    /// A vertex that ends and has edges: nothing of this may be then.
    pub with_edges: Option<VertexId>,
}

/// What edge changes come to.
#[derive(Default)]
struct Net {
    /// By direction, in the order of sources.
    entries: [Vec<Entry>; 2],
    gone: [Vec<Place>; 2],
    /// By direction, what is gone from the list at the other end of an edge.
    gone_at_other_end: [Vec<OtherEnd>; 2],
    added: Counted,
    deleted: Counted,
    /// Which of the stored edges of the pair at hand are gone.
    gone_of_pair: Vec<usize>,
}

/// An edge in the list at its other end: whose list, the neighbor, the version that added it, and which of the equal
/// ones that it added.
type OtherEnd = (VertexId, VertexId, u64, u32);

/// Returns edges list by list, those of each in the order in which they are, that of their neighbors: where most lists
/// have some, for less than sorting takes. Memory: 4 bytes for each of 4,096 ids of which one has a list.
fn by_list(edges: &[Entry]) -> Vec<Entry> {
    let group_of = |&(v, ..): &Entry| v as usize / ROW_SPAN;
    let mut firsts = vec![NO_ROWS; edges.iter().map(group_of).max().map_or(0, |last| last + 1)];
    edges.iter().for_each(|edge| firsts[group_of(edge)] = 0);
    let held = firsts.iter_mut().filter(|first| **first != NO_ROWS);
    let count = (0..).zip(held).map(|(number, first)| *first = number * ROW_SPAN as u32).count();
    let row_of = |edge: &Entry| firsts[group_of(edge)] as usize + edge.0 as usize % ROW_SPAN;
    let mut next = vec![0; count * ROW_SPAN];
    edges.iter().for_each(|edge| next[row_of(edge)] += 1);
    let mut entries = vec![(0, 0, 0); counts_to_starts(&mut next)];
    for edge in edges {
        let next = &mut next[row_of(edge)];
        entries[*next as usize] = *edge;
        *next += 1;
    }
    debug_assert!(entries.is_sorted_by_key(|&(v, neighbor, _)| (v, neighbor)));
    entries
}

/// Returns what edge changes come to. Threads share them, a group of equal edges never.
///
/// # Errors
/// What of the stored edges cannot be so.
fn net_edges(
    mut edges: Vec<EdgeChange>,
    (tip, indexed): (&Tip, bool),
    options: &TimelineOptions,
) -> Found<Net> {
    if !options.directed {
        for change in &mut edges {
            (change.src, change.dst) = (change.src.min(change.dst), change.src.max(change.dst));
        }
    }
    par::sort_by_key(&mut edges, |change| u64::from(change.src) << 32 | u64::from(change.dst));
    let mut starts = vec![0];
    while let Some(next) = starts.last().map(|start| start + GRAIN).filter(|&at| at < edges.len()) {
        let is_same = |at: usize| edges[at].ends() == edges[at - 1].ends();
        starts.push((next..edges.len()).find(|&at| !is_same(at)).unwrap_or(edges.len()));
    }
    let ends = starts[1..].iter().copied().chain([edges.len()]);
    let pieces: Vec<&[EdgeChange]> = starts.iter().zip(ends).map(|(&s, e)| &edges[s..e]).collect();
    let asks = |change: &EdgeChange| options.simple || !change.inserts();
    // Before the loop: what it makes for all of them is made in loops of its own.
    let finder = Finder::new((tip, indexed), 0, edges.iter().filter(|change| asks(change)).count());
    let nets = par::map_chunks(&pieces, 1, |pieces| {
        let (mut net, mut finder) = (Net::default(), finder.clone());
        let (piece, mut done) = (pieces[0], 0);
        for equal in piece.chunk_by(|a, b| a.ends() == b.ends()) {
            finder.load_ahead(|places| {
                piece.get(done + places).filter(|change| asks(change)).map(EdgeChange::ends)
            });
            net.take_equal(equal, &mut finder, (tip, options));
            done += equal.len();
        }
        net
    });
    let mut all = nets.into_iter().fold(Net::default(), |mut all, net| {
        for direction in 0..2 {
            all.entries[direction].extend(&net.entries[direction]);
            all.gone[direction].extend(&net.gone[direction]);
            all.gone_at_other_end[direction].extend(&net.gone_at_other_end[direction]);
        }
        all.added.join(net.added);
        all.deleted.join(net.deleted);
        all
    });
    for direction in 0..2 {
        let gone = &mut all.gone_at_other_end[direction];
        par::sort_by_key(gone, |&end| end);
        let finder = Finder::new((tip, indexed), direction, gone.len());
        let oldest = tip.segments().first().map_or(0, |oldest| oldest.version.number);
        let places = par::map_chunks(gone, GRAIN, |gone| {
            let (mut finder, mut places) = (finder.clone(), Vec::with_capacity(gone.len()));
            for equal in gone.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
                let ((v, neighbor, version, _), done) = (equal[0], places.len());
                finder.load_ahead(|places| gone.get(done + places).map(|end| (end.0, end.1)));
                let found = finder.find_in((version - oldest) as usize, v, neighbor);
                for &(.., number) in equal {
                    places.push(found.get(number as usize).copied().ok_or_else(|| {
                        let what = format!("the list of vertex {v} at the other end of its edges");
                        Wrong::new(&what, &format!("one with vertex {neighbor}"), "none")
                    })?);
                }
            }
            Ok(places)
        });
        for places in places {
            all.gone[direction].extend(places?);
        }
    }
    Ok(all)
}

/// Edges, and those of them that are self-loops.
#[derive(Clone, Copy, Default)]
struct Counted {
    edges: u64,
    loops: u64,
}

impl Counted {
    fn add(&mut self, count: usize, are_loops: bool) {
        self.edges += count as u64;
        self.loops += if are_loops { count as u64 } else { 0 };
    }

    fn join(&mut self, other: Self) {
        self.edges += other.edges;
        self.loops += other.loops;
    }
}

impl Net {
    /// Returns an id that is no vertex, where some are new and some have ended, and has edges still, as far as lists
    /// say: in-neighbors may have none.
    fn first_with_edges(&self, tip: &Tip, [new, ended]: [&[VertexId]; 2]) -> Option<VertexId> {
        let is_no_vertex = |v: &VertexId| match tip.vertices().contains(*v as usize) {
            true => ended.binary_search(v).is_ok(),
            false => new.binary_search(v).is_err(),
        };
        let mut ends = self.entries[0].iter().flat_map(|&(v, neighbor, _)| [v, neighbor]);
        let of_new_edge = ends.find(is_no_vertex);
        let mut gone = self.gone.clone();
        gone.iter_mut().for_each(|places| places.sort_unstable());
        let has_stored = |&v: &VertexId| {
            (0..2).any(|direction| {
                let mut lists = tip.segments().iter().zip(&tip.alive()[direction]);
                lists.any(|(segment, alive)| {
                    let range = segment.lists[direction].range(tip.words(), v);
                    let version = segment.version.number;
                    let place = |at| Place { version, offset: at as u32 };
                    alive.ones(range).map(place).any(|p| gone[direction].binary_search(&p).is_err())
                })
            })
        };
        of_new_edge.or_else(|| ended.iter().copied().find(has_stored))
    }

    /// Takes the changes of equal edges.
    fn take_equal(
        &mut self,
        changes: &[EdgeChange],
        finder: &mut Finder<'_>,
        (tip, options): (&Tip, &TimelineOptions),
    ) {
        let (src, dst) = changes[0].ends();
        // Of equal edges without weights it makes no difference which is gone.
        let clears = changes.iter().any(|change| change.kind == Kind::Clearing);
        let enough = match (options.simple, options.weighted || clears) {
            (true, _) => 1,
            (false, true) => usize::MAX,
            (false, false) => changes.len(),
        };
        let asks = options.simple || changes.iter().any(|change| !change.inserts());
        let stored = if asks { finder.find(src, dst, enough) } else { &[] };
        // The edges as they are after each change: some of the stored ones, the oldest, and new ones.
        let (mut kept, mut new) = (stored.len(), Vec::new());
        for change in changes {
            match change.kind {
                Kind::Clearing => (kept, new) = (0, Vec::new()),
                Kind::Deletion if new.pop().is_none() => kept = kept.saturating_sub(1),
                Kind::Deletion => {}
                // It is there once; inserting it again replaces its weight.
                Kind::Insertion(weight) if options.simple && options.weighted => {
                    (kept, new) = (0, vec![weight]);
                }
                Kind::Insertion(_) if options.simple && kept + new.len() > 0 => {}
                Kind::Insertion(weight) => new.push(weight),
            }
        }
        // A stored edge that came again is the one that was there.
        let is_same =
            |weight: u32, index: usize| !options.weighted || weight == tip.weight(0, stored[index]);
        let gone = &mut self.gone_of_pair;
        gone.clear();
        gone.extend(kept..stored.len());
        match clears {
            // Nobody asks for the order of what was said after a clearing. There may be a million of a pair.
            true if options.weighted => {
                let weight = |index: usize| tip.weight(0, stored[index]);
                new.sort_unstable();
                gone.sort_unstable_by_key(|&index| weight(index));
                let mut come = std::mem::take(&mut new).into_iter().peekable();
                gone.retain(|&index| {
                    while let Some(other) = come.next_if(|&other| other < weight(index)) {
                        new.push(other);
                    }
                    come.next_if_eq(&weight(index)).is_none()
                });
                new.extend(come);
            }
            true => {
                let count = new.len().min(gone.len());
                new.truncate(new.len() - count);
                gone.truncate(gone.len() - count);
            }
            false => {
                let same = new.iter().zip(&*gone).take_while(|(w, index)| is_same(**w, **index));
                let count = same.count();
                new.drain(..count);
                gone.drain(..count);
            }
        }
        if gone.is_empty() && new.is_empty() {
            return;
        }
        self.added.add(new.len(), src == dst);
        self.deleted.add(gone.len(), src == dst);
        let entry = |v, neighbor| move |&weight: &u32| (v, neighbor, weight);
        self.entries[0].extend(new.iter().map(entry(src, dst)));
        self.gone[0].extend(gone.iter().map(|&index| stored[index]));
        if let Some(direction) = other_end(options, src, dst) {
            self.entries[direction].extend(new.iter().map(entry(dst, src)));
            self.gone_at_other_end[direction].extend(gone.iter().map(|&index| {
                let version = stored[index].version;
                let first = stored.partition_point(|other| other.version < version);
                (dst, src, version, (index - first) as u32)
            }));
        }
    }
}

/// Returns the direction of the list in which an edge is once more, of its other end.
fn other_end(options: &TimelineOptions, src: VertexId, dst: VertexId) -> Option<usize> {
    match options.directed {
        true => options.in_neighbors.then_some(1),
        false => (src != dst).then_some(0),
    }
}

fn check_id(v: VertexId) -> Result<()> {
    match v <= MAX_VERTEX_ID {
        true => Ok(()),
        false => Err(invalid(format!("the id {v} is above {MAX_VERTEX_ID}"))),
    }
}

fn invalid(what: String) -> Error {
    Error::InvalidInput { what }
}
