//! Networks: undirected graphs with weights, of vertices or of groups of them.
//!
//! The kernels that find communities copy a view into a network, put its nodes into groups, and make
//! a network of these groups, again and again. The *links* of a node are its edges to other nodes,
//! those to the same one added up where they are side by side. The edges of a node to itself are its
//! *loop*. Its *strength* is the weight of its links and twice that of its loop.
//!
//! A directed edge counts as an undirected one: two vertices are linked by the weights of both
//! directions. Edges without weight are left out.
//!
//! # Cost
//! 4 bytes for each link, at both of its nodes, 12 unless all weigh 1, and as many again while a view is copied; 32 for
//! each node. Rows are made in parallel, each in a fixed order: a network is the same for any number of threads.

use std::ops::Range;

use everedge_core::{
    Direction, HOME_SPAN, SplitMix64, VertexId, WeightedView, memory, par, scramble, watch,
};

use crate::{Error, Result};

/// A node of a network.
pub(crate) type Node = u32;

/// Vertices whose links are made together.
const GRAIN: u32 = 1 << 10;
const _: () = assert!(HOME_SPAN.is_multiple_of(GRAIN));
/// Pieces of work into which groups are cut.
const GROUP_PIECES: u32 = 1 << 8;
/// Nodes in random order are at least so many runs,
const RUNS_MIN: u32 = 1 << 12;
/// of so many at most.
const RUN_MAX: u32 = 1 << 6;
/// So many places are loaded before the first of them is needed.
const AHEAD: usize = 1 << 6;

/// Calls `f(u, weight)` for the entries of the list of `v`; the weight is 1 unless edges are `weighted`.
///
/// # Errors
/// [`BadWeight`](Error::BadWeight) if a weight is negative or not finite.
#[inline]
pub(crate) fn for_each_edge_of(
    view: &impl WeightedView,
    direction: Direction,
    v: VertexId,
    weighted: bool,
    mut f: impl FnMut(VertexId, f64),
) -> Result<()> {
    if !weighted {
        match direction {
            Direction::Out => view.out_neighbors(v).for_each(|u| f(u, 1.0)),
            Direction::In => view.in_neighbors(v).for_each(|u| f(u, 1.0)),
        }
        return Ok(());
    }
    let mut bad = None;
    let mut see = |(u, weight): (VertexId, f32)| match weight.is_finite() && weight >= 0.0 {
        true => f(u, weight.into()),
        false => bad = bad.or(Some((u, weight))),
    };
    match direction {
        Direction::Out => view.out_edges(v).for_each(&mut see),
        Direction::In => view.in_edges(v).for_each(&mut see),
    }
    let Some((u, weight)) = bad else { return Ok(()) };
    let (src, dst) = if direction == Direction::Out { (v, u) } else { (u, v) };
    Err(Error::BadWeight { src, dst, weight, expected: "finite and 0 or more" })
}

/// Calls `f(u, weight)` for the entries of the lists of `v`, of both directions; a directed self-loop
/// comes twice.
///
/// # Errors
/// As [`for_each_edge_of`].
pub(crate) fn for_each_entry(
    view: &impl WeightedView,
    v: VertexId,
    weighted: bool,
    mut f: impl FnMut(VertexId, f64),
) -> Result<()> {
    for_each_edge_of(view, Direction::Out, v, weighted, &mut f)?;
    match view.is_directed() {
        true => for_each_edge_of(view, Direction::In, v, weighted, f),
        false => Ok(()),
    }
}

pub(crate) fn check_resolution(resolution: f64) -> Result<()> {
    if resolution.is_finite() && resolution >= 0.0 {
        return Ok(());
    }
    Err(Error::BadParameter {
        name: "resolution",
        value: resolution,
        expected: "finite and 0 or more",
    })
}

/// An undirected graph with weights.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// Where the links of each node are.
    rows: Vec<Range<usize>>,
    targets: Vec<Node>,
    /// Of each link; 1 if there are none.
    weights: Option<Vec<f64>>,
    loops: Vec<f64>,
    strength: Vec<f64>,
    /// The strength of all nodes.
    total: f64,
    /// A sum over the entries of lists that is 0 if each is at both of its ends, surely enough.
    one_sided: u64,
}

impl Network {
    /// Copies `view`; each id is a node.
    ///
    /// # Errors
    /// [`BadWeight`](Error::BadWeight) if a weight is negative or not finite.
    pub(crate) fn of(view: &impl WeightedView, weighted: bool) -> Result<Self> {
        let bound = view.vertex_bound();
        let per_loop = if view.is_directed() { 0.5 } else { 1.0 };
        let rows_of = |range: Range<VertexId>| {
            let mut rows = Self::default();
            for v in range {
                let mut own_loop = 0.0;
                for_each_entry(view, v, weighted, |u, weight| match u == v {
                    true => own_loop += per_loop * weight,
                    false => rows.entry(v, u, weight),
                })?;
                rows.end_row(own_loop);
            }
            Ok(rows)
        };
        let home_of = |start| view.home(start, Direction::Out);
        let parts = par::map_ranges_at_home(view.homes(), bound, GRAIN, home_of, rows_of);
        let network = Self::joined(parts.into_iter().collect::<Result<_>>()?);
        match network.one_sided {
            0 => Ok(network),
            // A read has failed, so any answer will do; but on links of one side moves need not end.
            _ => Ok(Self::without_links(bound)),
        }
    }

    fn without_links(len: u32) -> Self {
        let zeros = vec![0.0; len as usize];
        let rows = vec![0..0; len as usize];
        Self { rows, loops: zeros.clone(), strength: zeros, ..Self::default() }
    }

    /// Makes the network whose nodes are the groups, in the memory of `spare` if it is large enough.
    pub(crate) fn of_groups(&self, groups: &Groups, spare: Self) -> Self {
        let count = groups.len();
        let grain = count.div_ceil(GROUP_PIECES).max(1);
        // A piece of groups has no more links than its members: so much room it gets, and what it leaves stays empty.
        let room = par::map_ranges(count, grain, |range| {
            let members = range.flat_map(|group| groups.members(group));
            members.map(|&v| self.row(v).len()).sum()
        });
        let len = room.iter().sum();
        let (mut targets, mut weights) = (spare.targets, spare.weights.unwrap_or_default());
        if targets.len().min(weights.len()) < len {
            (targets, weights) = (memory::zeros(len), memory::zeros(len));
        }
        let slots = Slot::cut(&mut targets, &mut weights, &room);
        let ranges = (0..count)
            .step_by(grain as usize)
            .map(|first| first..count.min(first.saturating_add(grain)));
        let threads = par::PerThread::new(|| Weights::new(0));
        let rows = par::map_tasks(ranges.zip(slots).collect(), |(range, mut slot)| {
            threads.with(|sums| {
                sums.reserve(count);
                range.map(|group| self.row_of(groups, group, sums, &mut slot)).collect::<Vec<_>>()
            })
        });
        let mut network = Self { targets, weights: Some(weights), ..Self::default() };
        for (row, own_loop, strength) in rows.into_iter().flatten() {
            network.rows.push(row);
            network.loops.push(own_loop);
            network.strength.push(strength);
        }
        network.total = network.strength.iter().sum();
        network
    }

    /// Puts the links of a group into a slot; returns where they are, its loop, and its strength.
    fn row_of(
        &self,
        groups: &Groups,
        group: u32,
        sums: &mut Weights,
        slot: &mut Slot<'_>,
    ) -> (Range<usize>, f64, f64) {
        let (begin, mut own_loop, mut linked) = (slot.end(), 0.0, 0.0);
        for &v in groups.members(group) {
            own_loop += self.loops[v as usize];
            let links = self.links_ahead(v, |u| memory::prefetch(&groups.of[u as usize..]));
            sums.add_all(links.map(|(u, weight)| (groups.of[u as usize], weight)), |_| ());
        }
        sums.take(|target, weight| match target == group {
            // Its links are at both of their nodes.
            true => own_loop += weight / 2.0,
            false => {
                linked += weight;
                slot.push(target, weight);
            }
        });
        (begin..slot.end(), own_loop, linked + 2.0 * own_loop)
    }

    /// Adds an entry of the list of `v` to its row, which was not ended yet.
    #[inline]
    fn entry(&mut self, v: Node, u: Node, weight: f64) {
        let of_pair = scramble(u64::from(v.min(u)) << 32 | u64::from(v.max(u)));
        let of_side = if v < u { of_pair } else { of_pair.wrapping_neg() };
        self.one_sided = self.one_sided.wrapping_add(of_side);
        if weight == 0.0 {
            return;
        }
        let begin = self.rows.last().map_or(0, |row| row.end);
        if self.targets.len() > begin && self.targets.last() == Some(&u) {
            if let Some(last) = self.weigh().last_mut() {
                *last += weight;
            }
            return;
        }
        if weight != 1.0 {
            self.weigh();
        }
        if let Some(weights) = &mut self.weights {
            weights.push(weight);
        }
        self.targets.push(u);
    }

    /// Returns the weights of links; from now on each has one.
    fn weigh(&mut self) -> &mut Vec<f64> {
        self.weights.get_or_insert_with(|| vec![1.0; self.targets.len()])
    }

    fn end_row(&mut self, own_loop: f64) {
        let begin = self.rows.last().map_or(0, |row| row.end);
        let linked = match &self.weights {
            Some(weights) => weights[begin..].iter().sum(),
            None => (self.targets.len() - begin) as f64,
        };
        self.rows.push(begin..self.targets.len());
        self.loops.push(own_loop);
        self.strength.push(linked + 2.0 * own_loop);
    }

    /// Puts rows one after the other.
    fn joined(mut parts: Vec<Self>) -> Self {
        let are_weighted = parts.iter().any(|part| part.weights.is_some());
        if are_weighted {
            parts.iter_mut().for_each(|part| _ = part.weigh());
        }
        let mut rows = Vec::with_capacity(parts.iter().map(|part| part.rows.len()).sum());
        let mut first = 0;
        for part in &parts {
            rows.extend(part.rows.iter().map(|row| first + row.start..first + row.end));
            first += part.targets.len();
        }
        let strength = column(&parts, |part| &part.strength);
        Self {
            rows,
            targets: column(&parts, |part| &part.targets),
            weights: are_weighted
                .then(|| column(&parts, |part| part.weights.as_deref().unwrap_or_default())),
            loops: column(&parts, |part| &part.loops),
            total: strength.iter().sum(),
            strength,
            one_sided: parts.iter().fold(0, |sum, part| sum.wrapping_add(part.one_sided)),
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns how many links there is memory for.
    pub(crate) fn room(&self) -> usize {
        self.targets.len()
    }

    fn row(&self, v: Node) -> Range<usize> {
        self.rows[v as usize].clone()
    }

    /// Returns the links of `v`.
    #[inline]
    pub(crate) fn links(&self, v: Node) -> impl Iterator<Item = (Node, f64)> + '_ {
        let row = self.row(v);
        let weights = self.weights.as_ref().map_or(&[][..], |weights| &weights[row.clone()]);
        let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
        self.targets[row].iter().enumerate().map(move |(i, &u)| (u, weight(i)))
    }

    /// Returns the links of `v`, where `load` begins to load what is kept of a node, some links before it comes.
    #[inline]
    pub(crate) fn links_ahead<'a>(
        &'a self,
        v: Node,
        load: impl Fn(Node) + 'a,
    ) -> impl Iterator<Item = (Node, f64)> + 'a {
        let targets = &self.targets[self.row(v)];
        targets.iter().take(AHEAD).for_each(|&u| load(u));
        let mut later = targets.iter().skip(AHEAD);
        self.links(v).inspect(move |_| {
            if let Some(&u) = later.next() {
                load(u);
            }
        })
    }

    pub(crate) fn strength(&self, v: Node) -> f64 {
        self.strength[v as usize]
    }

    /// Returns the weight that chance puts between two groups of these strengths.
    #[inline]
    pub(crate) fn expected(&self, a: f64, b: f64) -> f64 {
        a * b / self.total
    }

    /// Returns the modularity of a network whose nodes are the communities.
    pub(crate) fn modularity(&self, resolution: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let inside: f64 = self.loops.iter().map(|weight| 2.0 * weight / self.total).sum();
        let expected: f64 = self.strength.iter().map(|sum| (sum / self.total).powi(2)).sum();
        inside - resolution * expected
    }
}

/// A part of the arrays of links, and how much of it is used.
struct Slot<'a> {
    begin: usize,
    len: usize,
    targets: &'a mut [Node],
    weights: &'a mut [f64],
}

impl<'a> Slot<'a> {
    /// Cuts arrays into parts of so many links.
    fn cut(targets: &'a mut [Node], weights: &'a mut [f64], room: &[usize]) -> Vec<Self> {
        let (mut begin, mut rest) = (0, (targets, weights));
        let next = |&room: &usize| {
            let (targets, later_targets) = std::mem::take(&mut rest.0).split_at_mut(room);
            let (weights, later_weights) = std::mem::take(&mut rest.1).split_at_mut(room);
            rest = (later_targets, later_weights);
            begin += room;
            Self { begin: begin - room, len: 0, targets, weights }
        };
        room.iter().map(next).collect()
    }

    fn end(&self) -> usize {
        self.begin + self.len
    }

    #[inline]
    fn push(&mut self, target: Node, weight: f64) {
        self.targets[self.len] = target;
        self.weights[self.len] = weight;
        self.len += 1;
    }
}

/// Copies an array of each part into one, the parts by all threads.
fn column<T: Copy + Default + Send + Sync>(
    parts: &[Network],
    of: impl Fn(&Network) -> &[T],
) -> Vec<T> {
    let mut all = par::collect(parts.iter().map(|part| of(part).len()).sum(), |_| T::default());
    let mut rest = &mut all[..];
    let mut tasks = Vec::with_capacity(parts.len());
    for part in parts {
        let (place, behind) = rest.split_at_mut(of(part).len());
        tasks.push((place, of(part)));
        rest = behind;
    }
    par::for_each_task(tasks, |(place, own)| place.copy_from_slice(own));
    all
}

/// Calls `f` with each item; `load` begins to load what that needs of many items at once, for one after the other they
/// would wait for each other.
#[inline]
pub(crate) fn for_each_ahead<S: ?Sized, T: Copy + Default>(
    state: &mut S,
    mut items: impl Iterator<Item = T>,
    load: impl Fn(&S, T),
    mut f: impl FnMut(&mut S, T),
) {
    let mut ahead = [T::default(); AHEAD];
    loop {
        let mut count = 0;
        for (place, item) in ahead.iter_mut().zip(&mut items) {
            load(state, item);
            *place = item;
            count += 1;
        }
        ahead[..count].iter().for_each(|&item| f(state, item));
        if count < AHEAD {
            return;
        }
    }
}

/// Adds up weights by node, or by what else is a small number.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// 0 where nothing was added.
    sums: Vec<f64>,
    /// The first `count` are what was added; there is one place more than numbers.
    met: Vec<u32>,
    count: usize,
}

impl Weights {
    pub(crate) fn new(bound: u32) -> Self {
        let (sums, met) = (memory::zeros(bound as usize), memory::zeros(bound as usize + 1));
        Self { sums, met, count: 0 }
    }

    /// Makes room for numbers below `bound`, while there is nothing.
    pub(crate) fn reserve(&mut self, bound: u32) {
        if self.met.len() <= bound as usize {
            *self = Self::new(bound);
        }
    }

    #[inline]
    fn add(&mut self, number: u32, weight: f64) {
        let sum = &mut self.sums[number as usize];
        // Without a branch: nobody foresees which numbers are new.
        self.met[self.count] = number;
        self.count += usize::from(*sum == 0.0);
        *sum += weight;
    }

    /// Adds weights above 0 by number; `load` begins to load what else is kept of a number.
    #[inline]
    pub(crate) fn add_all(
        &mut self,
        weights: impl Iterator<Item = (u32, f64)>,
        load: impl Fn(u32),
    ) {
        let load = |this: &Self, (number, _): (u32, f64)| {
            memory::prefetch(&this.sums[number as usize..]);
            load(number);
        };
        for_each_ahead(self, weights, load, |this, (number, weight)| this.add(number, weight));
    }

    #[inline]
    pub(crate) fn of(&self, number: u32) -> f64 {
        self.sums[number as usize]
    }

    /// Calls `f` with each number and the sum of its weights, in the order in which they came, and
    /// forgets them.
    #[inline]
    pub(crate) fn take(&mut self, mut f: impl FnMut(u32, f64)) {
        for &number in &self.met[..std::mem::take(&mut self.count)] {
            f(number, std::mem::take(&mut self.sums[number as usize]));
        }
    }
}

/// Nodes in groups, and the nodes of each group one after the other.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The group of each node.
    pub(crate) of: Vec<u32>,
    /// Where each group begins in `members`, and where the last one ends.
    bounds: Vec<u32>,
    members: Vec<Node>,
}

impl Groups {
    /// Names the groups that `of` puts nodes into by the order of their smallest node.
    pub(crate) fn new(mut of: Vec<u32>) -> Self {
        let mut names = vec![u32::MAX; of.iter().max().map_or(0, |&most| most as usize + 1)];
        let mut bounds = vec![0];
        for group in &mut of {
            let name = &mut names[*group as usize];
            if *name == u32::MAX {
                *name = bounds.len() as u32 - 1;
                bounds.push(0);
            }
            *group = *name;
            bounds[*name as usize + 1] += 1;
        }
        for i in 1..bounds.len() {
            bounds[i] += bounds[i - 1];
        }
        let (mut next, mut members) = (bounds.clone(), vec![0; of.len()]);
        for (v, &group) in (0..).zip(&of) {
            let place = &mut next[group as usize];
            members[*place as usize] = v;
            *place += 1;
        }
        Self { of, bounds, members }
    }

    pub(crate) fn len(&self) -> u32 {
        self.bounds.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn members(&self, group: u32) -> &[Node] {
        let place = |i: u32| self.bounds[i as usize] as usize;
        &self.members[place(group)..place(group + 1)]
    }
}

/// Returns the nodes of `network` that have links, in random order as [`in_random_order`].
pub(crate) fn shuffled(network: &Network, run: u32, random: &mut SplitMix64) -> Vec<Node> {
    let mut nodes = in_random_order(network.len(), run, random);
    nodes.retain(|&v| !network.row(v).is_empty());
    nodes
}

/// Returns the numbers below `count`: runs of so many neighboring ones in random order.
pub(crate) fn in_random_order(count: u32, run: u32, random: &mut SplitMix64) -> Vec<u32> {
    let mut runs: Vec<_> = (0..count.div_ceil(run)).collect();
    for i in (1..runs.len()).rev() {
        runs.swap(i, random.below(i as u64 + 1) as usize);
        if i.is_multiple_of(1 << 16) {
            watch::check();
        }
    }
    let numbers = |i: u32| i * run..count.min((i * run).saturating_add(run));
    runs.into_iter().flat_map(numbers).collect()
}

/// Returns how long runs of so many nodes may be: links of neighboring ones are near each other, but order is to be random.
pub(crate) fn run_of(count: u32) -> u32 {
    (count / RUNS_MIN).clamp(1, RUN_MAX)
}
