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
//! 4 bytes for each link, at both of its nodes, 12 unless all weigh 1, and as many again while a network is made; 24
//! for each node. Rows are made in parallel, each in a fixed order: a network is the same for any number
//! of threads.

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
    /// Where the links of each node end.
    ends: Vec<usize>,
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
        let ends = vec![0; len as usize];
        Self { ends, loops: zeros.clone(), strength: zeros, ..Self::default() }
    }

    /// Makes the network of groups, where `group[v]` is the one of node `v`.
    pub(crate) fn of_groups(&self, groups: &Groups) -> Self {
        let count = groups.len();
        let threads = par::PerThread::new(|| Weights::new(0));
        let grain = count.div_ceil(GROUP_PIECES).max(1);
        let parts = par::map_ranges(count, grain, |range| {
            threads.with(|weights| {
                weights.reserve(count);
                let members = range.clone().flat_map(|group| groups.members(group));
                let mut rows = Self::with_room(members.map(|&v| self.row(v).len()).sum());
                for group in range {
                    let mut own_loop = 0.0;
                    for &v in groups.members(group) {
                        own_loop += self.loops[v as usize];
                        let of_group = |(u, weight)| (groups.of[u as usize], weight);
                        weights.add_all(self.links(v).map(of_group), |_| ());
                    }
                    weights.take(|target, weight| match target == group {
                        // Its links are at both of their nodes.
                        true => own_loop += weight / 2.0,
                        false => rows.link(target, weight),
                    });
                    rows.end_row(own_loop);
                }
                rows
            })
        });
        Self::joined(parts)
    }

    /// Returns a network without nodes yet, with room for so many links.
    fn with_room(links: usize) -> Self {
        let (targets, weights) = (Vec::with_capacity(links), Some(Vec::with_capacity(links)));
        Self { targets, weights, ..Self::default() }
    }

    /// Adds an entry of the list of `v` to its row.
    #[inline]
    fn entry(&mut self, v: Node, u: Node, weight: f64) {
        let of_pair = |a: Node, b: Node| scramble(u64::from(a) << 32 | u64::from(b));
        let difference = of_pair(v, u).wrapping_sub(of_pair(u, v));
        self.one_sided = self.one_sided.wrapping_add(difference);
        self.link(u, weight);
    }

    /// Adds a link to the row that was not ended yet.
    #[inline]
    fn link(&mut self, target: Node, weight: f64) {
        if weight == 0.0 {
            return;
        }
        let begin = self.ends.last().copied().unwrap_or(0);
        if self.targets.len() > begin && self.targets.last() == Some(&target) {
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
        self.targets.push(target);
    }

    /// Returns the weights of links; from now on each has one.
    fn weigh(&mut self) -> &mut Vec<f64> {
        self.weights.get_or_insert_with(|| vec![1.0; self.targets.len()])
    }

    fn end_row(&mut self, own_loop: f64) {
        let begin = self.ends.last().copied().unwrap_or(0);
        let linked = match &self.weights {
            Some(weights) => weights[begin..].iter().sum(),
            None => (self.targets.len() - begin) as f64,
        };
        self.ends.push(self.targets.len());
        self.loops.push(own_loop);
        self.strength.push(linked + 2.0 * own_loop);
    }

    /// Puts rows one after the other.
    fn joined(mut parts: Vec<Self>) -> Self {
        let are_weighted = parts.iter().any(|part| part.weights.is_some());
        if are_weighted {
            parts.iter_mut().for_each(|part| _ = part.weigh());
        }
        let mut ends = Vec::with_capacity(parts.iter().map(|part| part.ends.len()).sum());
        for part in &parts {
            let begin = ends.last().copied().unwrap_or(0);
            ends.extend(part.ends.iter().map(|end| begin + end));
        }
        let strength = column(&parts, |part| &part.strength);
        Self {
            ends,
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
        self.ends.len() as u32
    }

    fn row(&self, v: Node) -> Range<usize> {
        let begin = if v == 0 { 0 } else { self.ends[v as usize - 1] };
        begin..self.ends[v as usize]
    }

    /// Returns the links of `v`.
    #[inline]
    pub(crate) fn links(&self, v: Node) -> impl Iterator<Item = (Node, f64)> + '_ {
        let row = self.row(v);
        let weights = self.weights.as_ref().map_or(&[][..], |weights| &weights[row.clone()]);
        let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
        self.targets[row].iter().enumerate().map(move |(i, &u)| (u, weight(i)))
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
        let sums = par::collect(bound as usize, |_| 0.0);
        Self { sums, met: par::collect(bound as usize + 1, |_| 0), count: 0 }
    }

    /// Makes room for numbers below `bound`.
    pub(crate) fn reserve(&mut self, bound: u32) {
        if self.met.len() <= bound as usize {
            self.sums.resize(bound as usize, 0.0);
            self.met.resize(bound as usize + 1, 0);
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

    /// Adds weights above 0 by number. The places of some numbers are loaded at once, for one after the other they would
    /// wait for each other; `load` begins to load what else is kept of a number.
    #[inline]
    pub(crate) fn add_all(
        &mut self,
        mut weights: impl Iterator<Item = (u32, f64)>,
        load: impl Fn(u32),
    ) {
        let mut ahead = [(0, 0.0); AHEAD];
        loop {
            let mut count = 0;
            for (place, (number, weight)) in ahead.iter_mut().zip(&mut weights) {
                memory::prefetch(&self.sums[number as usize..]);
                load(number);
                *place = (number, weight);
                count += 1;
            }
            for &(number, weight) in &ahead[..count] {
                self.add(number, weight);
            }
            if count < AHEAD {
                return;
            }
        }
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

/// Returns the nodes of `network` that have links: runs of so many neighboring ones in random order.
pub(crate) fn shuffled(network: &Network, run: u32, random: &mut SplitMix64) -> Vec<Node> {
    let mut runs: Vec<_> = (0..network.len().div_ceil(run)).collect();
    for i in (1..runs.len()).rev() {
        runs.swap(i, random.below(i as u64 + 1) as usize);
        if i.is_multiple_of(1 << 16) {
            watch::check();
        }
    }
    let nodes = |i: u32| i * run..network.len().min((i * run).saturating_add(run));
    let has_links = |&v: &Node| !network.row(v).is_empty();
    runs.into_iter().flat_map(nodes).filter(has_links).collect()
}
