//! A file system on a loop device, for tests of what the kernel really does. They need root.

#![expect(clippy::disallowed_methods, reason = "a disk is not a medium")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command. Returns what it printed, or an error with what it complained about.
fn run(program: &str, args: &[&str]) -> io::Result<String> {
    let output = Command::new(program).args(args).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().into()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// ext4 on a loop device, whose backing file lies on a tmpfs of its own.
pub(crate) struct Disk {
    home: tempfile::TempDir,
    device: Option<String>,
    is_mounted: bool,
}

impl Disk {
    /// Makes a disk of `mib`. There is room for all of it
    /// until it is filled. Returns why not where that
    /// needs rights or devices that there are not.
    pub(crate) fn new(mib: u32) -> io::Result<Disk> {
        let home = tempfile::tempdir()?;
        let mut disk = Disk { home, device: None, is_mounted: false };
        fs::create_dir(disk.backing())?;
        fs::create_dir(disk.path())?;
        let size = format!("size={}m", mib + 1);
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", text(&disk.backing())])?;
        let image = disk.image();
        File::create(&image)?.set_len(u64::from(mib) << 20)?;
        let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        // Smaller blocks, which so small a disk has otherwise, may share a page of its backing file.
        let block = ["-b", "4096", "-J", "size=4"];
        run("mkfs.ext4", &[&["-q", "-F", "-E", options][..], &block, &[text(&image)]].concat())?;
        // What is made of zeros only has no room yet.
        run("fallocate", &["--length", &format!("{mib}MiB"), text(&image)])?;
        let device = run("losetup", &["--find", "--show", text(&image)])?;
        let queue = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue");
        disk.device = Some(device);
        // A loop device takes a write for whole of which it could write a part: one page it writes
        // whole or not at all.
        fs::write(queue.join("max_sectors_kb"), "4")?;
        disk.mount()?;
        Ok(disk)
    }

    fn backing(&self) -> PathBuf {
        self.home.path().join("backing")
    }

    fn image(&self) -> PathBuf {
        self.backing().join("image")
    }

    /// Returns where the disk is mounted.
    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("disk")
    }

    /// Takes the room of free blocks away, so that what is written back to them from now on finds
    /// none; journal, tables and what is written already keep theirs.
    pub(crate) fn fill(&self) -> io::Result<()> {
        // Blocks that were free again since have room as well.
        run("sync", &["--file-system", text(&self.path())])?;
        run("fstrim", &[text(&self.path())])?;
        let mut ballast = File::create(self.backing().join("ballast"))?;
        let piece = vec![1; 1 << 16];
        while io::Write::write_all(&mut ballast, &piece).is_ok() {}
        Ok(())
    }

    /// Makes room again.
    pub(crate) fn make_space(&self) -> io::Result<()> {
        fs::remove_file(self.backing().join("ballast"))
    }

    /// Unmounts and mounts again: what is in the page cache only is gone.
    pub(crate) fn remount(&mut self) -> io::Result<()> {
        self.unmount()?;
        self.mount()
    }

    fn mount(&mut self) -> io::Result<()> {
        let device = self.device.as_deref().expect("a device");
        // What fails to be written is an error of the sync, not the end of the file system.
        let options = "errors=continue,data_err=ignore";
        run("mount", &["-o", options, device, text(&self.path())])?;
        self.is_mounted = true;
        Ok(())
    }

    fn unmount(&mut self) -> io::Result<()> {
        run("umount", &[text(&self.path())])?;
        self.is_mounted = false;
        Ok(())
    }

    /// Ends the file system at once, as a power loss does: the journal is not flushed.
    pub(crate) fn cut(&self) -> io::Result<()> {
        let root = File::open(self.path())?;
        shutdown::without_flushing_the_log(root.as_fd())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A test that fails leaves as little as it can; the first error is the one that counts.
        if self.is_mounted {
            let _ = run("umount", &["-l", text(&self.path())]);
        }
        if let Some(device) = &self.device {
            let _ = run("losetup", &["--detach", device]);
        }
        let _ = run("umount", &["-l", text(&self.backing())]);
    }
}

#[expect(unsafe_code, reason = "no library has the call that ends a file system")]
mod shutdown {
    use std::io;
    use std::os::fd::BorrowedFd;

    use rustix::ioctl::{Setter, ioctl, opcode};

    /// `EXT4_IOC_SHUTDOWN`: `_IOR('X', 125, u32)`, though it reads nothing from the kernel.
    const SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);
    const WITHOUT_FLUSHING_THE_LOG: u32 = 2;

    pub(super) fn without_flushing_the_log(root: BorrowedFd<'_>) -> io::Result<()> {
        // SAFETY: the call takes a pointer to a word, of which it reads the flag.
        unsafe { ioctl(root, Setter::<SHUTDOWN, u32>::new(WITHOUT_FLUSHING_THE_LOG)) }?;
        Ok(())
    }
}

/// Reads how often something is to be done from the environment.
pub(crate) fn count(variable: &str, default: u32) -> u32 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}
