//! Limits of the process, creations that do not end, and forked children.
//!
//! What a limit or a fork changes is changed in a child: the test binary itself, run again.

use everedge_chunks::{BuildOptions, Builder, SealOptions};
use everedge_live::{Batch, EdgeLog, Error, RING_OFFSET};
use everedge_medium::{Lack, MANIFEST, MediumKind, Site, Volume, VolumeOptions};
use std::path::Path;
use std::process::Command;

use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

const CHILD: &str = "EVEREDGE_LIMITS_CHILD";

fn create(path: &Path, kind: MediumKind) -> Volume {
    Volume::create(path, VolumeOptions::new(kind)).expect("a volume")
}

/// Runs the test `name` of this binary as a child under `ulimit` with the directory to work in.
fn run_under(limit: &str, name: &str, path: &Path) {
    let program = std::env::current_exe().expect("this program");
    let command = format!("ulimit {limit} && exec \"$0\" --exact {name} --nocapture");
    let output = Command::new("sh")
        .args(["-c", &command])
        .arg(program)
        .env(CHILD, path)
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}\n{said}\n{complained}", output.status);
    assert!(said.contains("1 passed"), "{said}");
}

/// Returns the directory to work in if this is a child, else starts one.
pub(crate) fn in_child(limit: &str, name: &str) -> Option<std::path::PathBuf> {
    if let Some(path) = std::env::var_os(CHILD) {
        return Some(path.into());
    }
    let directory = tempfile::tempdir().expect("a directory");
    run_under(limit, name, directory.path());
    None
}

#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let name = "limits::a_file_that_may_not_grow_is_an_error";
    // In units of 512 or 1,024 bytes, as the shell counts.
    let Some(path) = in_child("-f 256", name) else { return };
    for kind in [MediumKind::File, MediumKind::Pmem { emulated: true }] {
        let volume = create(&path.join(kind.to_string()), kind);
        let region = volume.create_region("log", 64 << 10).expect("a small region");
        let error = region.grow(1 << 20).expect_err("a limit");
        assert!(matches!(error, Error::NoSpace { lack: Lack::FileSize, .. }), "{error}");
        assert!(error.to_string().contains("ulimit -f"), "{error}");
        let error = volume.create_region("blocks", 1 << 20).err().expect("a limit");
        assert!(matches!(error, Error::NoSpace { lack: Lack::FileSize, .. }), "{error}");
        let error = volume.publish("names", &vec![1; 1 << 20]).expect_err("a limit");
        assert!(matches!(error, Error::NoSpace { lack: Lack::FileSize, .. }), "{error}");
        let mut file = volume.create_file("chunks").expect("a file");
        let error = file.append(&vec![1; 1 << 20]).expect_err("a limit");
        assert!(matches!(error, Error::NoSpace { lack: Lack::FileSize, .. }), "{error}");
        file.append(b"small").and_then(|()| file.publish()).expect("that fits");
        region.store_words(0, &[1]);
        region.flush(Site::Block, 0..4);
        region.fence(Site::Block).expect("not poisoned");
    }
}

#[test]
fn a_sealing_through_many_buckets_opens_few_files() {
    let name = "limits::a_sealing_through_many_buckets_opens_few_files";
    let Some(path) = in_child("-n 64", name) else { return };
    let volume = create(&path.join("sealed"), MediumKind::File);
    let (directed, weighted, simple, in_neighbors) = (true, false, false, true);
    let (seal, memory) = (SealOptions::default(), 1 << 30);
    let options = BuildOptions { directed, weighted, simple, in_neighbors, seal, memory };
    let mut builder = Builder::new(&volume, 1, options).expect("enough").with_buckets(1000, 1000);
    let edges: Vec<_> = (0..100_000).map(|i| (i % 30_000, i * 7 % 30_000)).collect();
    builder.add(&edges, &[]).expect("room");
    assert_eq!(builder.finish(|v| v, |v| v.to_string()).expect("sealed").edges, 100_000);
}

#[test]
fn too_little_address_space_is_not_the_disk() {
    let name = "limits::too_little_address_space_is_not_the_disk";
    let Some(path) = in_child("-v 2000000", name) else { return };
    let volume = create(&path.join("graph"), MediumKind::File);
    let region = volume.create_region("log", 4096).expect("less is reserved");
    let error = region.grow(4 << 30).expect_err("no addresses");
    assert!(matches!(error, Error::NoSpace { lack: Lack::Memory, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("ulimit -v") && !text.contains("move the graph"), "{text}");
    assert_eq!(region.len(), 4096);
    region.grow(8192).expect("room for this");
}

/// A sealed graph with changes maps six files and more.
#[test]
fn maps_leave_most_addresses_of_a_limit_to_others() {
    let name = "limits::maps_leave_most_addresses_of_a_limit_to_others";
    let Some(path) = in_child("-v 2000000", name) else { return };
    let volume = create(&path.join("graph"), MediumKind::File);
    let map = |number| volume.create_region(&format!("file-{number}"), 4096).expect("a region");
    let regions: Vec<_> = (0..6).map(map).collect();
    let mut heap: Vec<u8> = Vec::new();
    heap.try_reserve_exact(512 << 20).expect("addresses for the heap");
    for region in regions {
        region.grow(8 << 20).expect("addresses for a file that grows");
    }
    drop(heap);
    // Also a file that is longer than that part.
    let long = volume.create_region("long", 320 << 20).expect("a region");
    long.grow(328 << 20).expect("addresses for a file that grows");
}

/// What a writer acknowledges into files that nobody can open any more is lost: it says so.
#[test]
fn a_graph_that_was_removed_while_it_was_open_takes_nothing_more() {
    for layout in Layout::ALL {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("graph");
        let options = GraphOptions { layout, ..GraphOptions::default() };
        let volume = Volume::create(&path, options.volume(false)).expect("a volume");
        let graph = LiveGraph::create(volume, &options).expect("a graph");
        graph.insert(&[(1, 2)], None).expect("room");
        std::fs::remove_dir_all(&path).expect("removed");
        let refused = graph.flush_all().expect_err("it is not there");
        assert!(refused.to_string().contains("was removed while it was open"), "{refused}");
        assert!(matches!(graph.insert(&[(2, 3)], None), Err(Error::Poisoned { .. })));
        let refused = graph.close().expect_err("it is not there");
        assert!(refused.to_string().contains("was removed while it was open"), "{refused}");
    }
}

#[test]
fn a_creation_that_did_not_end_is_cleared_by_the_next() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    let options = VolumeOptions::new(MediumKind::File);
    let volume = create(&path, MediumKind::File);
    let region = volume.create_region("log", 4096).expect("a region");
    let refused = Volume::create(&path, options).err().expect("in use");
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    drop((volume, region));
    // Somebody looks what is there, and finds no graph.
    drop(Volume::open(&path, options, everedge_medium::Access::Write).expect("a directory"));

    let volume = create(&path, MediumKind::File);
    assert!(!volume.contains("log").expect("an answer"));
    let region = volume.create_region("log", 4096).expect("a region");
    volume.publish(MANIFEST, b"whole").expect("published");
    drop((volume, region));
    let refused = Volume::create(&path, options).err().expect("a graph");
    assert!(matches!(refused, Error::InvalidInput { .. }), "{refused}");
    let names = path.read_dir().expect("a directory").count();
    assert_eq!(names, 3, "lock, log and manifest");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what a creation leaves that found no room for more")]
fn a_directory_with_nothing_but_a_lock_is_taken_for_a_creation_that_did_not_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    std::fs::create_dir(&path).expect("a directory");
    let lock = std::fs::File::create(path.join("lock")).expect("a file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("locked");
    let refused = Volume::create(&path, VolumeOptions::new(MediumKind::File));
    assert!(matches!(refused, Err(Error::InUse { .. })), "somebody is at it");
    drop(lock);
    assert!(Volume::is_unfinished(&path));
    let volume = create(&path, MediumKind::File);
    volume.publish(MANIFEST, b"whole").expect("published");
    assert!(!Volume::is_unfinished(&path));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "files of somebody else")]
fn what_is_not_ours_is_not_cleared() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    std::fs::create_dir(&path).expect("a directory");
    std::fs::write(path.join("lock"), b"").expect("a file");
    std::fs::write(path.join("thesis.tex"), b"years").expect("a file");
    let refused = Volume::create(&path, VolumeOptions::new(MediumKind::File));
    assert!(matches!(refused, Err(Error::InvalidInput { .. })));
    assert!(path.join("thesis.tex").exists());
}

#[test]
fn a_forked_child_reads_and_does_not_write() {
    let name = "limits::a_forked_child_reads_and_does_not_write";
    // In a process with one thread at work, so that the child finds no lock held.
    let Some(path) = in_child("-c 0", name) else { return };
    for kind in [MediumKind::File, MediumKind::Pmem { emulated: true }] {
        let volume = create(&path.join(kind.to_string()), kind);
        let region = volume.create_region("log", RING_OFFSET).expect("a region");
        let log = EdgeLog::create(region.clone(), 4096, false, 1).expect("a log");
        let insert = |u: u32| {
            log.begin_writing()?;
            let batch = Batch::insertions([(u, u), (u, 0)].into_iter(), None)?;
            log.append(&batch, false)
        };
        insert(1).expect("in the parent");
        if log.takes_lines() {
            // Two writers of single edges, each of which has claimed lines that it has not written.
            let line = || log.append_line((3, 3), None).map(drop).expect("a line");
            line();
            std::thread::scope(|scope| drop(scope.spawn(line).join()));
        }
        let before = std::fs::read(region.path()).expect("bytes");
        let is_refused = || {
            let errors = [
                volume.check_health().err(),
                insert(2).err(),
                region.fence(Site::Block).err(),
                region.drain(Site::Block).err(),
                region.grow(1 << 20).err(),
                volume.publish("names", b"").err(),
                volume.create_region("blocks", 64).err(),
                volume.create_file("chunks").err(),
                volume.remove("log").err(),
                log.make_all_durable().err(),
            ];
            let is_clear = |error: &Option<Error>| matches!(error, Some(Error::Forked));
            let reads = log.untaken().1 == 2 && region.words(0, 1).len() == 1;
            errors.iter().all(is_clear) && reads
        };
        assert!(child::says(is_refused), "{kind}: every change is refused in a child");
        assert_eq!(std::fs::read(region.path()).expect("bytes"), before, "{kind}");
        let own = path.join(format!("own-{kind}"));
        assert!(child::says(|| {
            let volume = create(&own, kind);
            volume.publish("names", b"").is_ok()
        }));
        insert(3).expect("in the parent, as before");
        log.make_all_durable().expect("a fence");
    }
}

#[expect(unsafe_code, reason = "no safe call forks without running another program")]
pub(crate) mod child {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// For how long a child may run before it counts as hanging.
    const PATIENCE_S: u32 = 20;

    /// Returns what `check` returns in a forked child.
    pub(crate) fn says(check: impl FnOnce() -> bool) -> bool {
        // SAFETY: only this thread is at work, so that in the child nothing is held or half done.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no child");
        if child == 0 {
            // SAFETY: it changes this process only. The signal ends it if it hangs.
            unsafe { libc::alarm(PATIENCE_S) };
            let holds = catch_unwind(AssertUnwindSafe(check)).unwrap_or(false);
            // SAFETY: ends the child without running anything that is the parent's.
            unsafe { libc::_exit(i32::from(!holds)) };
        }
        let status = wait_for(child);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    fn wait_for(child: libc::pid_t) -> libc::c_int {
        let mut status = 0;
        // SAFETY: waits for a child of this process, and stores into a variable of this function.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(waited, child, "the child is waited for");
        status
    }

    /// A forked child that does nothing, until dropped.
    pub(crate) struct Idle(libc::pid_t);

    /// Forks a child that has all that this process has.
    pub(crate) fn idle() -> Idle {
        // SAFETY: the child takes no lock: it waits, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0, "no child");
        if child == 0 {
            // SAFETY: ends the child without running anything that is the parent's.
            unsafe {
                libc::sleep(PATIENCE_S);
                libc::_exit(0)
            };
        }
        Idle(child)
    }

    impl Drop for Idle {
        fn drop(&mut self) {
            // SAFETY: the child was not waited for yet, so that the number is its own.
            let killed = unsafe { libc::kill(self.0, libc::SIGKILL) };
            assert_eq!(killed, 0, "a child");
            wait_for(self.0);
        }
    }
}
