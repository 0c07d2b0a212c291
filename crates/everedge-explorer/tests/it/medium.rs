//! The contract of the media, on real files and on memory.

#![expect(clippy::disallowed_methods, reason = "files of somebody else")]

use everedge_live::Error;
use everedge_medium::{
    Access, MANIFEST, MediumKind, MeterReading, Region, Site, Volume, VolumeOptions,
};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use crate::small_disk::{SmallFileSystem, give_back, leave};

const EMULATED: MediumKind = MediumKind::Pmem { emulated: true };
const KINDS: [MediumKind; 3] = [MediumKind::Dram, EMULATED, MediumKind::File];
const ON_DISK: [MediumKind; 2] = [EMULATED, MediumKind::File];

fn create(directory: &Path, kind: MediumKind) -> Volume {
    Volume::create(&directory.join("graph"), VolumeOptions::new(kind)).expect("a volume")
}

fn bytes(region: &Region, offset: u64, len: u64) -> Vec<u8> {
    let words = region.words(offset, (len / 4) as usize);
    words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect()
}

fn persist(region: &Region, offset: u64, data: &[u8]) {
    region.store(offset, data);
    region.flush(Site::Block, offset..offset + data.len() as u64);
    region.drain(Site::Block).expect("a drain");
    region.fence(Site::Block).expect("a fence");
}

#[test]
fn stores_are_read_and_found_again() {
    for kind in ON_DISK {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("graph");
        {
            let volume = create(directory.path(), kind);
            let region = volume.create_region("log", 4096).expect("a region");
            persist(&region, 4, b"twelve bytes");
            region.grow(1 << 20).expect("space");
            persist(&region, (1 << 20) - 8, b"the end.");
            volume.publish("manifest", b"one").expect("published");
            volume.publish("manifest", b"two").expect("published");
        }
        let options = VolumeOptions::new(kind);
        let volume = Volume::open(&path, options, Access::Read).expect("opens");
        let region = volume.open_region("log").expect("a region");
        assert_eq!(region.len(), 1 << 20);
        assert_eq!(bytes(&region, 4, 12), b"twelve bytes");
        assert_eq!(region.load_u64((1 << 20) - 8), u64::from_le_bytes(*b"the end."));
        assert_eq!(volume.read("manifest", 3).expect("bytes"), b"two");
        assert!(matches!(volume.read("manifest", 2), Err(Error::Corruption { .. })));
        assert!(volume.disk_bytes().expect("a size") >= 1 << 20);
        assert!(matches!(region.shrink(8), Err(Error::ReadOnly { .. })));
        assert!(matches!(volume.publish("manifest", b""), Err(Error::ReadOnly { .. })));
    }
}

#[test]
fn what_a_reader_stores_stays_with_it() {
    for kind in ON_DISK {
        let directory = tempfile::tempdir().expect("a directory");
        let volume = create(directory.path(), kind);
        persist(&volume.create_region("log", 5000 * 8).expect("a region"), 8, b"original");
        let (path, options) = (volume.path().to_path_buf(), volume.options());
        drop(volume);
        let reader = Volume::open(&path, options, Access::Read).expect("opens");
        let region = reader.open_region("log").expect("a region");
        persist(&region, 8, b"changed!");
        region.grow(1 << 20).expect("memory");
        persist(&region, (1 << 20) - 8, b"the end.");
        assert_eq!(bytes(&region, 8, 8), b"changed!");
        assert_eq!(region.load_u64(40_960), 0);
        let again = reader.open_region("log").expect("a region");
        assert_eq!((again.len(), bytes(&again, 8, 8)), (40_000, b"original".to_vec()));
    }
}

#[test]
fn lengths_change_at_the_end_and_new_bytes_are_zero() {
    for kind in KINDS {
        let directory = tempfile::tempdir().expect("a directory");
        let region = create(directory.path(), kind).create_region("log", 0).expect("a region");
        let address = region.words(0, 0).as_ptr();
        region.grow(10_000).expect("space");
        region.store_words(0, &[u32::MAX; 2500]);
        region.shrink(4104).expect("shorter");
        assert_eq!(region.len(), 4104);
        region.grow(20_000).expect("space");
        assert_eq!(region.words(0, 0).as_ptr(), address);
        assert!(bytes(&region, 0, 4104).iter().all(|&byte| byte == 255), "{kind}");
        assert!(bytes(&region, 4104, 20_000 - 4104).iter().all(|&byte| byte == 0), "{kind}");
    }
}

#[test]
fn regions_grow_while_they_are_read() {
    for kind in KINDS {
        let directory = tempfile::tempdir().expect("a directory");
        let region = create(directory.path(), kind).create_region("log", 4096).expect("a region");
        region.store_words(0, &[7; 1024]);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let words = region.words(0, 1024);
                while !is_done.load(Ordering::Relaxed) {
                    assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 7));
                }
            });
            (2..100).for_each(|pages| region.grow(pages * 4096).expect("space"));
            is_done.store(true, Ordering::Relaxed);
        });
    }
}

/// A creation finds another one unfinished that ends before its lock is free: what that made stays.
#[test]
fn a_creation_leaves_what_another_has_made_meanwhile() {
    for round in 0..10 {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("graph");
        std::fs::create_dir(&path).expect("a directory");
        let made = |name: &str| std::fs::File::create(path.join(name)).expect("a file");
        let lock = made("lock");
        lock.lock().expect("nobody has it");
        made("unfinished.tmp");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| Volume::create(&path, VolumeOptions::new(ON_DISK[0])));
            std::thread::sleep(std::time::Duration::from_millis(round));
            made("log");
            made("manifest.toml");
            drop(lock);
            let error = other.join().expect("no panic").err().expect("another has made it");
            let error = error.to_string();
            assert!(error.contains("holds a graph already") || error.contains("in use"), "{error}");
        });
        assert!(["lock", "log", "manifest.toml"].iter().all(|name| path.join(name).exists()));
    }
}

#[test]
fn a_second_handle_is_refused_with_the_holder() {
    for kind in ON_DISK {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("graph");
        let options = VolumeOptions::new(kind);
        let volume = create(directory.path(), kind);
        let region = volume.create_region("log", 8).expect("a region");
        drop(volume);
        for access in [Access::Read, Access::Write] {
            let refused = Volume::open(&path, options, access).err().expect("in use").to_string();
            let holder = "graph is in use by this process";
            assert!(refused.starts_with(holder), "{refused}");
        }
        drop(region);
        let reader = Volume::open(&path, options, Access::Read).expect("opens");
        let other = Volume::open(&path, options, Access::Read).expect("readers may be many");
        let refused = Volume::open(&path, options, Access::Write).err().expect("in use");
        assert!(refused.to_string().contains("by another process"), "{refused}");
        drop((reader, other));
        Volume::open(&path, options, Access::Write).expect("free again");
    }
}

#[test]
fn strangers_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    let options = VolumeOptions::new(MediumKind::File);
    let open = || Volume::open(&path, options, Access::Write);
    assert!(matches!(open(), Err(Error::NotAGraph { .. })), "absent");
    std::fs::create_dir(&path).expect("a directory");
    assert!(matches!(open(), Err(Error::NotAGraph { .. })), "empty");
    let volume = Volume::create(&path, options).expect("an empty directory will do");
    volume.publish(MANIFEST, b"a graph").expect("published");
    let again = Volume::create(&path, options);
    assert!(matches!(again, Err(Error::InvalidInput { .. })), "not empty");

    symlink("/etc/passwd", path.join("link")).expect("a link");
    std::os::unix::net::UnixListener::bind(path.join("socket")).expect("a socket");
    std::fs::create_dir(path.join("directory")).expect("a directory");
    for name in ["link", "socket", "directory"] {
        assert!(matches!(volume.read(name, 1 << 20), Err(Error::NotAGraph { .. })), "{name} read");
        assert!(volume.open_region(name).is_err(), "{name} mapped");
    }
    for name in ["", ".", "..", "../graph", "a/b", "lock", "log.tmp", "a\0b"] {
        let region = volume.create_region(name, 8);
        assert!(matches!(region, Err(Error::InvalidInput { .. })), "{name:?}");
    }
    symlink(&path, directory.path().join("way")).expect("a link");
    let linked = Volume::open(&directory.path().join("way"), options, Access::Read);
    assert!(matches!(linked, Err(Error::NotAGraph { .. })), "a link to a directory");
}

#[test]
fn files_are_the_owners_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let volume = create(directory.path(), MediumKind::File);
    let _region = volume.create_region("log", 8).expect("a region");
    volume.publish("manifest", b"").expect("published");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(volume.path()), 0o700);
    for name in ["log", "manifest", "lock"] {
        assert_eq!(mode(&volume.path().join(name)), 0o600, "{name}");
    }
}

#[test]
fn names_come_and_go() {
    for kind in KINDS {
        let directory = tempfile::tempdir().expect("a directory");
        let volume = create(directory.path(), kind);
        let region = volume.create_region("log", 8).expect("a region");
        assert!(volume.create_region("log", 8).is_err(), "{kind}: a name twice");
        assert!(volume.contains("log").expect("an answer"));
        volume.remove("log").expect("removed");
        assert!(!volume.contains("log").expect("an answer"));
        assert!(volume.open_region("log").is_err() && volume.remove("log").is_err());
        region.store_words(0, &[1, 2]);
        assert_eq!(region.load_u64(0), 1 | 2 << 32, "{kind}: a removed region stays usable");
    }
}

#[test]
fn persistent_memory_is_not_taken_on_trust() {
    let directory = tempfile::tempdir().expect("a directory");
    let volume = create(directory.path(), MediumKind::Pmem { emulated: false });
    match volume.create_region("log", 4096) {
        Err(Error::InvalidInput { what }) => assert!(what.contains("--emulate-pmem"), "{what}"),
        Ok(_) => println!("not checked: the temporary directory is on persistent memory"),
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_full_file_system_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(directory.path(), 1) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    for kind in ON_DISK {
        let path = directory.path().join(format!("graph-{kind}"));
        let volume = Volume::create(&path, VolumeOptions::new(kind)).expect("a volume");
        let region = volume.create_region("log", 64 << 10).expect("a region");
        region.store_words(0, &[7; 16 << 10]);
        let Err(Error::NoSpace { needed_bytes, available_bytes, .. }) = region.grow(2 << 20) else {
            panic!("{kind}: 2 MiB do not fit 1 MiB");
        };
        assert_eq!(needed_bytes, (2 << 20) - (64 << 10));
        assert!(available_bytes > 0 && available_bytes < 1 << 20, "{available_bytes}");
        let created = volume.create_region("blocks", 2 << 20);
        assert!(matches!(created, Err(Error::NoSpace { .. })), "{kind}");
        assert!(!volume.contains("blocks").expect("an answer"));
        let published = volume.publish("names", &vec![1; 2 << 20]);
        assert!(matches!(published, Err(Error::NoSpace { .. })), "{kind}");
        assert_eq!(region.len(), 64 << 10);
        assert_eq!(std::fs::metadata(region.path()).expect("a file").len(), 64 << 10);
        region.grow(128 << 10).expect("this much fits");
        region.fence(Site::Block).expect("not poisoned");
        drop((volume, region));
        give_back(&path);
    }
}

/// A creation that fails takes back what it has made, and nothing of what others have put there.
#[test]
fn an_undone_creation_leaves_what_others_have_put_there() {
    for (had_directory, has_other) in [(false, false), (false, true), (true, false), (true, true)] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("graph");
        if had_directory {
            std::fs::create_dir(&path).expect("a directory");
        }
        let volume = create(directory.path(), MediumKind::File);
        drop(volume.create_region("log", 4096).expect("a region"));
        volume.publish("names", b"some").expect("published");
        let unpublished = volume.create_file("ids").expect("a file");
        if has_other {
            std::fs::write(path.join("mine"), "x").expect("a file");
        }
        drop(unpublished);
        assert!(volume.undo_creation());
        assert_eq!(path.exists(), had_directory || has_other);
        let left = path.read_dir().into_iter().flatten().map(|entry| entry.expect("a file"));
        let left: Vec<_> = left.map(|file| file.file_name()).collect();
        assert_eq!(left, if has_other { &["mine"][..] } else { &[] }, "{had_directory}");
    }
}

/// Also one that has ended, as long as its volume is open. A volume that was opened is no creation.
#[test]
fn a_creation_that_has_ended_is_undone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    let create = || {
        let volume = create(directory.path(), MediumKind::File);
        drop(volume.create_region("log", 4096).expect("a region"));
        volume.publish(MANIFEST, b"some").expect("published");
        volume
    };
    assert!(create().undo_creation());
    assert!(!path.exists());
    // The mark of one that has not ended goes before all else: where it cannot be made, nothing goes.
    let volume = create();
    std::fs::create_dir(path.join("unfinished.tmp")).expect("in its place");
    assert!(!volume.undo_creation());
    assert!(
        path.join(MANIFEST).exists() && path.join("log").exists() && path.join("lock").exists()
    );
    let options = VolumeOptions::new(MediumKind::File);
    std::fs::remove_dir(path.join("unfinished.tmp")).expect("empty");
    assert!(!Volume::open(&path, options, Access::Write).expect("opens").undo_creation());
    assert!(path.join(MANIFEST).exists() && path.join("log").exists());
}

/// What `lock` says after its last writer has ended well.
const LOCK_TEXT: &str = "closed";

fn lock_text(path: &Path) -> String {
    std::fs::read_to_string(path.join("lock")).expect("a lock").trim().to_owned()
}

/// `lock` tells whether the last writer ended well; a handle for reading leaves it as it is.
#[test]
fn the_lock_says_whether_its_last_writer_ended() {
    for kind in ON_DISK {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, options) = (directory.path().join("graph"), VolumeOptions::new(kind));
        let own = std::process::id().to_string();
        let volume = create(directory.path(), kind);
        assert_eq!(lock_text(&path), own);
        drop(volume);
        assert_eq!(lock_text(&path), LOCK_TEXT);
        let volume = Volume::open(&path, options, Access::Write).expect("opens");
        assert_eq!(lock_text(&path), own);
        // As if the process had been killed.
        std::mem::forget(volume);
        assert_eq!(lock_text(&path), own);
        let refused = Volume::open(&path, options, Access::Read).err().expect("in use").to_string();
        assert!(refused.contains("in use by this process"), "{refused}");
    }
}

/// Files that are opened as what they are not are not read from the device.
#[test]
fn a_writer_that_did_not_end_is_remembered_until_its_files_are_read_from_the_device() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("graph");
    drop(create(directory.path(), MediumKind::File));
    std::fs::write(path.join("lock"), "1").expect("the text of a writer");
    let end = |kind, access| {
        drop(Volume::open(&path, VolumeOptions::new(kind), access).expect("opens"));
        lock_text(&path)
    };
    assert_eq!(end(MediumKind::File, Access::Read), "1");
    assert_eq!(end(EMULATED, Access::Write), "left");
    assert_eq!(end(MediumKind::File, Access::Write), LOCK_TEXT);
    assert_eq!(end(EMULATED, Access::Write), LOCK_TEXT);
}

#[test]
fn a_full_disk_with_no_room_for_the_process_id_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(directory.path(), 1) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = directory.path().join("graph");
    for kind in ON_DISK {
        drop(create(directory.path(), kind));
        let options = VolumeOptions::new(kind);
        let filler = directory.path().join("filler");
        // What a copy of the files may have left.
        for is_emptied in [false, true] {
            if is_emptied {
                let lock = std::fs::OpenOptions::new().write(true).open(path.join("lock"));
                lock.and_then(|lock| lock.set_len(0)).expect("emptied");
            }
            leave(&filler, 0);
            let volume = Volume::open(&path, options, Access::Write).expect("opens");
            let text = if is_emptied { String::new() } else { std::process::id().to_string() };
            assert_eq!(lock_text(&path), text);
            drop(volume);
            // Without its text the next writer does not take it for closed.
            assert_eq!(lock_text(&path), if is_emptied { "" } else { LOCK_TEXT });
            give_back(&filler);
        }
        give_back(&path);
    }
}

#[test]
fn a_file_system_that_does_not_say_how_much_is_free_is_not_full() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(directory.path(), 0) else {
        println!("not run: mounting a tmpfs without a limit needs more rights");
        return;
    };
    let volume = create(directory.path(), MediumKind::File);
    let region = volume.create_region("log", 4096).expect("a region");
    assert_eq!(region.free_bytes(), u64::MAX);
}

#[test]
fn a_failed_sync_poisons_for_ever() {
    const EIO: i32 = 5;
    for kind in ON_DISK {
        let (volume, recorder) = Volume::recorded(kind, false);
        let region = volume.create_region("log", 4096).expect("a region");
        recorder.fail_nth(0, EIO, false);
        region.store_words(0, &[1]);
        region.flush(Site::Block, 0..4);
        assert!(matches!(region.fence(Site::Block), Err(Error::Io { .. })), "{kind}");
        assert!(recorder.has_failed());
        let first = volume.check_health().expect_err("poisoned").to_string();
        assert!(first.contains("Input/output error"), "{first}");
        assert!(matches!(region.fence(Site::Block), Err(Error::Poisoned { .. })));
        assert!(matches!(region.drain(Site::Block), Err(Error::Poisoned { .. })));
        assert!(matches!(region.grow(8192), Err(Error::Poisoned { .. })));
        assert!(matches!(volume.publish("a", b""), Err(Error::Poisoned { .. })));
        assert_eq!(region.load_u64(0), 1, "reading goes on");
    }
}

#[test]
fn the_meter_counts_what_was_done() {
    let directory = tempfile::tempdir().expect("a directory");
    for kind in KINDS {
        let options = VolumeOptions { meter: true, ..VolumeOptions::new(kind) };
        let path = directory.path().join(kind.to_string());
        let volume = Volume::create(&path, options).expect("a volume");
        let region = volume.create_region("log", 1 << 20).expect("a region");
        persist(&region, 0, &[1; 8192]);
        region.store_words(0x8000, &[1, 2]);
        region.fence(Site::Block).expect("a fence");
        let (media_read_bytes, media_written_bytes) = match kind {
            MediumKind::File => (0, 3 * 4096),
            _ => (256, 8192 + 256),
        };
        let expected = MeterReading {
            stored_bytes: 8200,
            flushes: 1,
            fences: 3,
            media_read_bytes,
            media_written_bytes,
        };
        assert_eq!(volume.meter(), Some(expected), "{kind}");
    }
    assert_eq!(create(directory.path(), EMULATED).meter(), None);
}

#[test]
fn kinds_are_read_as_they_are_written() {
    for kind in [MediumKind::Dram, MediumKind::Pmem { emulated: false }, MediumKind::File] {
        assert_eq!(kind.to_string().parse::<MediumKind>().expect("a kind"), kind);
    }
    assert!("ssd".parse::<MediumKind>().is_err());
}

#[test]
#[should_panic(expected = "beyond the region")]
fn words_beyond_the_end_are_a_bug_of_the_caller() {
    let volume = Volume::create(Path::new("dram"), VolumeOptions::new(MediumKind::Dram));
    volume.expect("a volume").create_region("log", 64).expect("a region").words(60, 2);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    /// Stores of every alignment and length equal a copy into a vector, whichever call makes them.
    #[test]
    fn stores_equal_copies(stores in prop::collection::vec(
        (0_usize..60, prop::collection::vec(any::<u32>(), 0..40), any::<bool>()), 1..20))
    {
        let volume = Volume::create(Path::new("dram"), VolumeOptions::new(MediumKind::Dram));
        let region = volume.expect("a volume").create_region("log", 400).expect("a region");
        let mut model = vec![0_u8; 400];
        for (word, words, as_words) in stores {
            let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            match as_words {
                true => region.store_words(4 * word as u64, &words),
                false => region.store(4 * word as u64, &data),
            }
            model[4 * word..4 * word + data.len()].copy_from_slice(&data);
        }
        prop_assert_eq!(bytes(&region, 0, 400), model);
    }
}
