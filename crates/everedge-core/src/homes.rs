//! NUMA nodes as the homes of lists and of the threads that read and change them.
//!
//! Source: Wang et al., "XPGraph", ToS 2025, §4.2 ("CPU-binding based graph updating" and
//! "querying"). Differences: homes are those of ranges of [`HOME_SPAN`] vertices and not of single
//! ones, so that a loop over vertices is cut into pieces of one home without looking at each. A
//! thread of a pool is bound once and stays bound, where the paper binds before each computation:
//! a migration costs more than ten remote accesses. The loops are in [`par`](crate::par).
//!
//! # Concurrency
//! Shared by reference; a thread binds itself only. With at least as many threads as nodes, thread
//! i belongs to node i mod N for good. With fewer, thread i serves the nodes i, i + T, ... in turn.

use std::cell::Cell;
use std::sync::Arc;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::VertexId;

/// Vertices in an aligned range whose lists of one direction have the same home.
pub const HOME_SPAN: VertexId = 4096;

thread_local! {
    /// What this thread was last bound to.
    static BOUND: Cell<Option<CpuSet>> = const { Cell::new(None) };
}

/// The processors of each of several NUMA nodes.
#[derive(Debug)]
pub struct Homes {
    nodes: Vec<CpuSet>,
}

impl Homes {
    /// Takes the processors of each node; `None` if there are fewer than two nodes, because then
    /// everything is at home everywhere.
    ///
    /// Threads of a node without processors run anywhere, as do those that the system refuses to
    /// bind: where a thread runs decides the time that it takes, never what it does.
    ///
    /// # Example
    /// ```
    /// use everedge_core::Homes;
    ///
    /// assert!(Homes::new(vec![vec![0, 1, 2, 3]]).is_none());
    /// assert_eq!(Homes::new(vec![vec![0, 2], vec![1, 3]]).unwrap().node_count(), 2);
    /// ```
    pub fn new(nodes: Vec<Vec<usize>>) -> Option<Arc<Self>> {
        let set_of = |cpus: Vec<usize>| {
            let mut set = CpuSet::new();
            cpus.into_iter().filter(|&cpu| cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
            set
        };
        let nodes: Vec<_> = nodes.into_iter().map(set_of).collect();
        (nodes.len() > 1).then(|| Arc::new(Self { nodes }))
    }

    /// Returns how many nodes there are, two or more.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Binds this thread to `node`, unless it already is.
    pub(crate) fn bind(&self, node: usize) {
        let cpus = self.nodes[node];
        if BOUND.get() != Some(cpus) {
            // A refusal is noted too: asking again for each piece would cost more than it can win.
            _ = sched_setaffinity(None, &cpus);
            BOUND.set(Some(cpus));
        }
    }

    /// Returns the nodes that thread `thread_idx` of `thread_count` serves: each node has a thread.
    pub(crate) fn served_by(
        &self,
        thread_idx: usize,
        thread_count: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let node_count = self.nodes.len();
        (thread_idx % node_count..node_count).step_by(thread_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_is_no_home() {
        assert!(Homes::new(vec![]).is_none());
        assert!(Homes::new(vec![vec![0, 1]]).is_none());
    }

    #[test]
    fn processors_beyond_what_the_system_can_name_are_left_out() {
        let homes = Homes::new(vec![vec![1, usize::MAX], vec![CpuSet::MAX_CPU]]).unwrap();
        assert_eq!(homes.nodes.iter().map(CpuSet::count).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn every_node_is_served_and_threads_that_suffice_have_one_node_each() {
        for node_count in 2..7 {
            let homes = Homes::new(vec![vec![]; node_count]).unwrap();
            for thread_count in 1..20 {
                let served: Vec<Vec<_>> =
                    (0..thread_count).map(|i| homes.served_by(i, thread_count).collect()).collect();
                let mut times = vec![0; node_count];
                served.iter().flatten().for_each(|&node: &usize| times[node] += 1);
                assert!(times.iter().all(|&times| times >= 1), "{served:?}");
                if thread_count >= node_count {
                    assert!(served.iter().all(|nodes| nodes.len() == 1), "{served:?}");
                    assert!(times.iter().max().unwrap() - times.iter().min().unwrap() <= 1);
                } else {
                    assert!(times.iter().all(|&times| times == 1), "{served:?}");
                }
            }
        }
    }
}
