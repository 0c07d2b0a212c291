//! How much memory is free, for the budgets that nobody gives.

use std::fs;
use std::path::Path;

/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";
/// Taken for free where the system does not say.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// Returns the memory that the system, or the group of processes that this one is in, has free.
pub(crate) fn free_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let in_group = free_in_groups(&groups, GROUPS.as_ref()).unwrap_or(u64::MAX);
    kib.map_or(UNKNOWN_BYTES, |kib| kib << 10).min(in_group)
}

/// Returns what the control groups of a process, as `/proc/self/cgroup` names them, leave it of their limits; none if they have
/// none. `mount` is where groups are. A group is within the limits of those above it.
fn free_in_groups(groups: &str, mount: &Path) -> Option<u64> {
    let free = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let (root, version) = match controllers {
            "" => (mount.to_owned(), &VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mount.join("memory"), &VERSION_1)
            }
            _ => return None,
        };
        let group = root.join(group.trim_start_matches('/'));
        let groups = group.ancestors().take_while(|group| group.starts_with(&root));
        groups.filter_map(|group| free_in_group(group, version)).min()
    });
    free.min()
}

/// The files of a version of control groups.
struct Version {
    limit: &'static str,
    usage: &'static str,
    /// The pages of files that are in memory, in `memory.stat`.
    cached: [&'static str; 2],
}

const VERSION_2: Version = Version {
    limit: "memory.max",
    usage: "memory.current",
    cached: ["inactive_file ", "active_file "],
};

const VERSION_1: Version = Version {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: ["total_inactive_file ", "total_active_file "],
};

/// Returns what a group leaves of its limit, if it has one. The pages of files that it keeps in memory make room when others want it.
fn free_in_group(group: &Path, version: &Version) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(group.join(name)).ok()?.trim().parse().ok()
    };
    let limit = number(version.limit)?;
    let usage = number(version.usage).unwrap_or(0);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let of_line = |line: &str| {
        let value = version.cached.iter().find_map(|key| line.strip_prefix(key));
        value.and_then(|value| value.trim().parse::<u64>().ok())
    };
    let cached: u64 = stat.lines().filter_map(of_line).sum();
    Some(limit.saturating_sub(usage.saturating_sub(cached)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files of control groups")]
mod tests {
    use super::*;

    fn group(at: &Path, files: [(&str, &str); 3]) {
        fs::create_dir_all(at).unwrap();
        files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    }

    #[test]
    fn what_a_group_uses_is_not_free_but_its_pages_of_files_are() {
        let mount = tempfile::tempdir().unwrap();
        let mount = mount.path();
        let stat = "anon 500\nfile 400\nshmem 100\ninactive_file 200\nactive_file 100\n";
        group(
            &mount.join("job/inner"),
            [("memory.max", "max\n"), ("memory.current", "900\n"), ("memory.stat", stat)],
        );
        assert_eq!(free_in_groups("0::/job/inner\n", mount), None);
        let outer = [("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", stat)];
        group(&mount.join("job"), outer);
        assert_eq!(free_in_groups("0::/job/inner\n", mount), Some(400));
        fs::write(mount.join("job/inner/memory.max"), "650\n").unwrap();
        assert_eq!(free_in_groups("0::/job/inner\n", mount), Some(50));
        fs::write(mount.join("job/inner/memory.max"), "10\n").unwrap();
        assert_eq!(free_in_groups("0::/job/inner\n", mount), Some(0));
        assert_eq!(free_in_groups("0::/other\n", mount), None);
    }

    #[test]
    fn groups_of_version_1_are_read_too_also_where_the_path_is_that_of_the_host() {
        let mount = tempfile::tempdir().unwrap();
        let stat = "inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 50\n";
        let files = [
            ("memory.limit_in_bytes", "2000\n"),
            ("memory.usage_in_bytes", "1500\n"),
            ("memory.stat", stat),
        ];
        group(&mount.path().join("memory"), files);
        let groups = "5:cpu,cpuacct:/\n4:memory:/docker/abc\n";
        assert_eq!(free_in_groups(groups, mount.path()), Some(2000 - 1500 + 350));
        assert_eq!(free_in_groups("5:cpu,cpuacct:/\n", mount.path()), None);
    }
}
