//! Small disks, what fills them, and what gives their room back.

#![expect(clippy::disallowed_methods, reason = "files of somebody else")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A small tmpfs on a directory, until dropped.
pub(crate) struct SmallFileSystem<'a>(&'a Path);

impl SmallFileSystem<'_> {
    /// Mounts so many MiB and a page for the table of a graph's readers, or with 0 as many as there are; none without
    /// the right to.
    pub(crate) fn mount(path: &Path, size: u32) -> Option<SmallFileSystem<'_>> {
        let mut mount = Command::new("mount");
        let kib = if size == 0 { 0 } else { size * 1024 + 4 };
        mount.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(path);
        let is_mounted = mount.status().is_ok_and(|status| status.success());
        is_mounted.then_some(SmallFileSystem(path))
    }
}

impl Drop for SmallFileSystem<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "cannot unmount {:?}", self.0);
    }
}

/// Another program's file, which leaves so many bytes.
pub(crate) fn leave(filler: &Path, bytes: u64) {
    let mut file = fs::File::create(filler).expect("a file");
    while file.write_all(&[1; 4096]).is_ok() {}
    let len = file.metadata().expect("a length").len();
    file.set_len(len.saturating_sub(bytes)).expect("shorter");
}

/// Removes a file or a directory of a small disk, and waits until nothing takes room but what stays
/// there: a program that another test is starting holds the open files of this process, and with them
/// the room of those that are removed, until it runs.
pub(crate) fn give_back(path: &Path) {
    const PATIENCE: Duration = Duration::from_secs(10);
    match path.is_dir() {
        true => fs::remove_dir_all(path).expect("removed"),
        false => fs::remove_file(path).expect("removed"),
    }
    let (disk, begin) = (path.parent().expect("a disk"), Instant::now());
    let taken = || {
        let stat = rustix::fs::statvfs(disk).expect("its room");
        (stat.f_blocks - stat.f_bfree) * stat.f_frsize
    };
    while taken() > bytes_below(disk) {
        assert!(begin.elapsed() < PATIENCE, "{} is removed and its room not free", path.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns what a file, or all files of a directory, take of a disk.
fn bytes_below(path: &Path) -> u64 {
    let own = fs::symlink_metadata(path).expect("it is there");
    if !own.is_dir() {
        return 512 * own.blocks();
    }
    let names = fs::read_dir(path).expect("a directory");
    names.map(|entry| bytes_below(&entry.expect("a name").path())).sum()
}
