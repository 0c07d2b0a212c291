//! The NUMA nodes of this system, and which of their processors the process may use.
//!
//! Linux describes each node in a directory `/sys/devices/system/node/node<number>`, whose file
//! `cpulist` names its processors, as in `0-3,8,10-11`. What is not there, or is written in another
//! way, is left out and never an error: it decides where threads run and memory lies, not what the
//! graph holds.
//!
//! Source: Wang et al., "XPGraph", ToS 2025, §4.2 ("a P-socket system").

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::directory::{names, open_directory};

const NODES_PATH: &str = "/sys/devices/system/node";
/// No list is longer: it names processors below [`CpuSet::MAX_CPU`].
const CPULIST_BYTES_MAX: u64 = 1 << 16;

/// A NUMA node with processors that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// What the system calls it; numbers may have gaps.
    pub number: u32,
    /// Its processors, in ascending order, at least one.
    pub cpus: Vec<usize>,
}

/// Returns the nodes of this system in ascending order of their numbers, without those that have no
/// processor for this process. Where the system tells nothing, all processors are one node.
pub fn numa_nodes() -> Vec<NumaNode> {
    let allowed = allowed_cpus();
    nodes_below(Path::new(NODES_PATH), |cpu| allowed.is_none_or(|set| set.is_set(cpu)))
}

/// Returns the processors that the process may use: those of its first thread, because threads that
/// run loops may be bound to fewer.
fn allowed_cpus() -> Option<CpuSet> {
    let first = rustix::process::getpid();
    sched_getaffinity(Some(first)).or_else(|_| sched_getaffinity(None)).ok()
}

/// Like [`numa_nodes`], for the description below `path`.
fn nodes_below(path: &Path, is_allowed: impl Fn(usize) -> bool) -> Vec<NumaNode> {
    let names = open_directory(path).and_then(|fd| names(&fd, path)).unwrap_or_default();
    let number_of = |name: &String| name.strip_prefix("node")?.parse().ok();
    let mut nodes = Vec::new();
    for (name, number) in names.iter().filter_map(|name| Some((name, number_of(name)?))) {
        let list = read_list(&path.join(name).join("cpulist")).unwrap_or_default();
        let cpus: Vec<_> =
            parse_cpulist(&list).into_iter().filter(|&cpu| is_allowed(cpu)).collect();
        if !cpus.is_empty() {
            nodes.push(NumaNode { number, cpus });
        }
    }
    nodes.sort_unstable_by_key(|node| node.number);
    if nodes.is_empty() {
        let cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| is_allowed(cpu)).collect();
        nodes.push(NumaNode { number: 0, cpus });
    }
    nodes
}

/// Reads a file whose length the system may not know before.
fn read_list(path: &Path) -> std::io::Result<String> {
    let fd = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut list = String::new();
    File::from(fd).take(CPULIST_BYTES_MAX).read_to_string(&mut list)?;
    Ok(list)
}

/// Returns the processors of a list, each once and in ascending order; what is neither a number nor
/// a range of numbers is left out, and so are numbers that no system call could name.
fn parse_cpulist(list: &str) -> Vec<usize> {
    let mut set = CpuSet::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            (first..=last.min(CpuSet::MAX_CPU - 1)).for_each(|cpu| set.set(cpu));
        }
    }
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Describes nodes as the system does, each by the name of its directory and its list.
    #[expect(clippy::disallowed_methods, reason = "these are no durable bytes")]
    fn described(nodes: &[(&str, &str)]) -> TempDir {
        let system = tempfile::tempdir().unwrap();
        for (name, list) in nodes {
            let path = system.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("cpulist"), list).unwrap();
        }
        system
    }

    fn node(number: u32, cpus: &[usize]) -> NumaNode {
        NumaNode { number, cpus: cpus.to_vec() }
    }

    #[test]
    fn lists_are_read_as_the_system_writes_them() {
        assert_eq!(parse_cpulist("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_cpulist("5"), [5]);
        assert_eq!(parse_cpulist("3,1-2,2"), [1, 2, 3]);
        assert_eq!(parse_cpulist("\n"), []);
    }

    #[test]
    fn what_is_no_list_is_left_out() {
        for list in ["", ",", "-", "--", "-3", "3-", "5-2", "a-b", "1-2-3", "0x1", "1.5", "\0", "²"]
        {
            assert_eq!(parse_cpulist(list), [], "{list:?}");
        }
        assert_eq!(parse_cpulist("1,x,3-,7-8 , 5"), [1, 5, 7, 8]);
        let all: Vec<_> = (2..CpuSet::MAX_CPU).collect();
        assert_eq!(parse_cpulist("2-18446744073709551615"), all);
        assert_eq!(parse_cpulist("1024,18446744073709551615,99999999999999999999"), []);
    }

    #[test]
    fn nodes_without_processors_for_this_process_are_left_out() {
        let system = described(&[
            ("node0", "0-1\n"),
            ("node1", "8\n"),
            ("node2", "2-5\n"),
            ("node3", "\n"),
            ("node10", "6-7\n"),
            ("nodes", "0"),
            ("node", "0"),
            ("cpu0", "0"),
        ]);
        std::fs::create_dir(system.path().join("node4")).unwrap();
        let found = nodes_below(system.path(), |cpu| [0, 1, 3, 4, 6].contains(&cpu));
        assert_eq!(found, [node(0, &[0, 1]), node(2, &[3, 4]), node(10, &[6])]);
    }

    #[test]
    fn nodes_are_in_the_order_of_their_numbers() {
        // Of so many, no file system lists the names so by chance.
        let names: Vec<_> = (0..20).map(|i| format!("node{}", i * 7 % 20)).collect();
        let system = described(&names.iter().map(|name| (&**name, "3")).collect::<Vec<_>>());
        let expected: Vec<_> = (0..20).map(|number| node(number, &[3])).collect();
        assert_eq!(nodes_below(system.path(), |_| true), expected);
    }

    #[test]
    fn without_a_description_all_processors_are_one_node() {
        let nowhere = Path::new("/nowhere/at/all");
        for path in [nowhere, described(&[]).path(), described(&[("node0", "?")]).path()] {
            assert_eq!(nodes_below(path, |cpu| cpu == 3 || cpu == 1), [node(0, &[1, 3])]);
        }
    }

    #[test]
    fn the_nodes_of_this_system_share_no_processor() {
        let (nodes, allowed) = (numa_nodes(), allowed_cpus().unwrap());
        assert!(nodes.iter().all(|node| !node.cpus.is_empty()), "{nodes:?}");
        assert!(nodes.windows(2).all(|pair| pair[0].number < pair[1].number), "{nodes:?}");
        let mut cpus: Vec<_> = nodes.iter().flat_map(|node| &node.cpus).collect();
        assert!(cpus.iter().all(|&&cpu| allowed.is_set(cpu)), "{nodes:?}");
        cpus.sort_unstable();
        assert!(cpus.windows(2).all(|pair| pair[0] < pair[1]), "{nodes:?}");
    }
}
