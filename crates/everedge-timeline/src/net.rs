//! What edge changes come to in the lists of each direction.
//!
//! The directions need nothing of each other: changes are sorted by list and neighbor for each of them. Equal edges are in
//! one order in both lists, so the same of them are found gone.

use everedge_core::{VertexId, par};

use super::TimelineOptions;
use super::changes::{EdgeChange, Kind};
use super::finder::Finder;
use super::lists::Entry;
use super::segment::{Found, Place, Wrong};
use super::tip::Tip;

/// Changes in a piece of work, or a few more.
pub(crate) const GRAIN: usize = 1 << 12;

/// What edge changes come to in the lists of one direction.
#[derive(Default)]
pub(crate) struct Net {
    /// In the order of lists and neighbors; equal ones in the order in which they came.
    pub entries: Vec<Entry>,
    /// Ascending.
    pub gone: Vec<Place>,
    pub added: Counted,
    pub deleted: Counted,
    /// Deletions that found no edge.
    pub missed: u64,
    /// Of the pair at hand: the weights of what is new,
    new_of_pair: Vec<u32>,
    /// and which of the stored edges are gone.
    gone_of_pair: Vec<usize>,
}

/// Edges, and those of them that are self-loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub edges: u64,
    pub loops: u64,
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

/// Returns what edge changes come to, by direction: out, then in where in-neighbors are kept.
///
/// # Errors
/// What of the stored edges cannot be so.
pub(crate) fn net_of_each_direction(
    edges: &[EdgeChange],
    (tip, indexed): (&Tip, bool),
    options: &TimelineOptions,
) -> Found<[Net; 2]> {
    let reversed = |change: &EdgeChange| EdgeChange { src: change.dst, dst: change.src, ..*change };
    // An edge without directions is in the lists of both ends.
    let of_ends = |change: &EdgeChange| {
        let other = (change.src != change.dst).then(|| reversed(change));
        [Some(*change), other].into_iter().flatten()
    };
    let net = |edges, direction| net_of(edges, (tip, indexed), direction, options);
    let (outward, inward) = par::join_if(
        edges.len() > GRAIN,
        || match options.directed {
            true => net(edges.to_vec(), 0),
            false => net(edges.iter().flat_map(of_ends).collect(), 0),
        },
        || match options.directed && options.in_neighbors {
            true => net(edges.iter().map(reversed).collect(), 1),
            false => Net::default(),
        },
    );
    let found = |net: &Net| (net.added, net.deleted);
    let lists = if options.directed { [1, 0] } else { [2, 1] };
    let in_lists =
        |counted: Counted| (lists[0] * counted.edges - lists[1] * counted.loops) as usize;
    let is_whole = in_lists(outward.added) == outward.entries.len()
        && in_lists(outward.deleted) == outward.gone.len()
        && (!options.directed || !options.in_neighbors || found(&outward) == found(&inward));
    match is_whole {
        true => Ok([outward, inward]),
        false => Err(Wrong::new("the lists of both ends of edges", "the same edges", "others")),
    }
}

/// Returns what the edge changes of one direction come to. Threads share them, a group of equal edges never.
fn net_of(
    mut edges: Vec<EdgeChange>,
    (tip, indexed): (&Tip, bool),
    direction: usize,
    options: &TimelineOptions,
) -> Net {
    // The other direction takes as many threads.
    let threads = match options.directed && options.in_neighbors {
        true => par::thread_count() / 2,
        false => par::thread_count(),
    };
    // A key without gaps is sorted in fewer steps.
    let bits = u32::BITS - edges.iter().map(|change| change.dst).max().unwrap_or(0).leading_zeros();
    let key = |change: &EdgeChange| u64::from(change.src) << bits | u64::from(change.dst);
    par::sort_by_key_among(threads, &mut edges, key);
    let asks = |change: &EdgeChange| options.simple || !change.inserts();
    // Before the loop: what it makes for all of them is made in loops of its own.
    let asked = edges.iter().filter(|change| asks(change)).count();
    let finder = Finder::new((tip, indexed), direction, asked);
    let nets = par::map_chunks(&pieces(&edges), 1, |pieces| {
        let (mut net, mut finder) = (Net::default(), finder.clone());
        let equal = || pieces[0].chunk_by(|a, b| a.ends() == b.ends());
        let asked = equal().filter(|equal| equal.iter().any(asks)).map(|equal| equal[0].ends());
        finder.look_ahead(&asked.collect::<Vec<_>>());
        for equal in equal() {
            net.take_equal(equal, &mut finder, (tip, direction), options);
        }
        net
    });
    drop(edges);
    let mut all = Net::default();
    all.entries.reserve_exact(nets.iter().map(|net| net.entries.len()).sum());
    all.gone.reserve_exact(nets.iter().map(|net| net.gone.len()).sum());
    for net in nets {
        all.entries.extend_from_slice(&net.entries);
        all.gone.extend_from_slice(&net.gone);
        all.added.join(net.added);
        all.deleted.join(net.deleted);
        all.missed += net.missed;
    }
    // Those of a version ascend already.
    par::sort_by_key_among(threads, &mut all.gone, |place| place.version);
    debug_assert!(all.gone.is_sorted());
    all
}

/// Cuts sorted changes into pieces, none of them between equal edges.
fn pieces(edges: &[EdgeChange]) -> Vec<&[EdgeChange]> {
    let (mut pieces, mut rest) = (Vec::new(), edges);
    while rest.len() > GRAIN {
        let is_other = |at: &usize| rest[*at].ends() != rest[*at - 1].ends();
        let end = (GRAIN..rest.len()).find(is_other).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces.extend((!rest.is_empty()).then_some(rest));
    pieces
}

/// Returns an id that is no vertex, where some are new and some have ended, and has edges still, as far as lists
/// say: in-neighbors may have none.
pub(crate) fn first_with_edges(
    nets: &[Net; 2],
    tip: &Tip,
    [new, ended]: [&[VertexId]; 2],
) -> Option<VertexId> {
    let is_no_vertex = |v: &VertexId| match tip.vertices().contains(*v) {
        true => ended.binary_search(v).is_ok(),
        false => new.binary_search(v).is_err(),
    };
    let mut ends = nets[0].entries.iter().flat_map(|&(v, neighbor, _)| [v, neighbor]);
    let of_new_edge = ends.find(is_no_vertex);
    let has_stored = |&v: &VertexId| {
        nets.iter().enumerate().any(|(direction, Net { gone, .. })| {
            let mut lists = tip.segments().iter().zip(&tip.alive()[direction]);
            lists.any(|(segment, alive)| {
                let range = segment.lists[direction].range(tip.words(), v);
                let version = segment.version.number;
                let place = |at| Place { version, offset: at as u32 };
                alive.ones(range).map(place).any(|place| gone.binary_search(&place).is_err())
            })
        })
    };
    of_new_edge.or_else(|| ended.iter().copied().find(has_stored))
}

impl Net {
    /// Takes the changes of equal edges.
    fn take_equal(
        &mut self,
        changes: &[EdgeChange],
        finder: &mut Finder<'_>,
        (tip, direction): (&Tip, usize),
        options: &TimelineOptions,
    ) {
        let (v, neighbor) = changes[0].ends();
        // Of equal edges without weights it makes no difference which is gone.
        let clears = changes.iter().any(|change| change.kind == Kind::Clearing);
        let enough = match (options.simple, options.weighted || clears) {
            (true, _) => 1,
            (false, true) => usize::MAX,
            (false, false) => changes.len(),
        };
        let asks = options.simple || changes.iter().any(|change| !change.inserts());
        let stored = if asks { finder.find(v, neighbor, enough) } else { &[] };
        // The edges as they are after each change: some of the stored ones, the oldest, and new ones.
        let (new, gone) = (&mut self.new_of_pair, &mut self.gone_of_pair);
        let (mut kept, mut missed) = (stored.len(), 0);
        new.clear();
        for change in changes {
            match change.kind {
                Kind::Clearing => {
                    kept = 0;
                    new.clear();
                }
                Kind::Deletion if new.pop().is_some() => {}
                Kind::Deletion if kept > 0 => kept -= 1,
                Kind::Deletion => missed += 1,
                // It is there once; inserting it again replaces its weight.
                Kind::Insertion(weight) if options.simple && options.weighted => {
                    kept = 0;
                    new.clear();
                    new.push(weight);
                }
                Kind::Insertion(_) if options.simple && kept + new.len() > 0 => {}
                Kind::Insertion(weight) => new.push(weight),
            }
        }
        gone.clear();
        gone.extend(kept..stored.len());
        // A stored edge that came again is the one that was there.
        let weight = |index: usize| tip.weight(direction, stored[index]);
        match clears {
            // Nobody asks for the order of what was said after a clearing. There may be a million of a pair.
            true if options.weighted => {
                new.sort_unstable();
                gone.sort_by_key(|&index| weight(index));
                let mut come = std::mem::take(new).into_iter().peekable();
                gone.retain(|&index| {
                    while let Some(other) = come.next_if(|&other| other < weight(index)) {
                        new.push(other);
                    }
                    come.next_if_eq(&weight(index)).is_none()
                });
                gone.sort_unstable();
                new.extend(come);
            }
            true => {
                let count = new.len().min(gone.len());
                new.truncate(new.len() - count);
                gone.truncate(gone.len() - count);
            }
            false => {
                let is_same =
                    |pair: &(&u32, &usize)| !options.weighted || *pair.0 == weight(*pair.1);
                let count = new.iter().zip(&*gone).take_while(is_same).count();
                new.drain(..count);
                gone.drain(..count);
            }
        }
        // The list of the smaller end counts an edge without directions.
        if options.directed || v <= neighbor {
            self.added.add(new.len(), v == neighbor);
            self.deleted.add(gone.len(), v == neighbor);
            self.missed += missed;
        }
        self.entries.extend(new.iter().map(|&weight| (v, neighbor, weight)));
        self.gone.extend(gone.iter().map(|&index| stored[index]));
    }
}
