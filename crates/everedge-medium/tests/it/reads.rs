//! Reads into frames: by both ways, from files of all kinds, also where something fails.
#![expect(unsafe_code, reason = "forks a child")]

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use everedge_core::SplitMix64;
use everedge_medium::{
    DirectFile, Error, Frames, MediumKind, PieceCheck, ReadQueue, ReadQueueOptions, ReadRequest,
    ReadWay, Recorder, Result, Volume, VolumeOptions,
};

const PAGE_BYTES: usize = 4096;
const EIO: i32 = 5;
/// An odd length of some MiB.
const FILE_BYTES: usize = (5 << 20) + 1234;

fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words.take(len.div_ceil(8)).flatten().take(len).collect()
}

fn queue(depth: u32, uring: bool) -> Arc<ReadQueue> {
    let queue = ReadQueue::new(&ReadQueueOptions { depth, uring }).expect("a queue");
    if !uring {
        assert_eq!(queue.way(), ReadWay::Threads);
    }
    queue
}

/// Returns queues of all ways and of some depths.
fn queues() -> Vec<Arc<ReadQueue>> {
    [1, 3, 64].into_iter().flat_map(|depth| [queue(depth, true), queue(depth, false)]).collect()
}

/// A volume on a file system, with its directory.
fn on_disk(place: &Path) -> (Volume, tempfile::TempDir) {
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let options = VolumeOptions::new(MediumKind::File);
    (Volume::create(&directory.path().join("graph"), options).expect("a volume"), directory)
}

/// Returns volumes on a disk, on the file system of shared memory, and in memory.
fn volumes() -> Vec<(Volume, Option<tempfile::TempDir>)> {
    let places = [std::env::temp_dir(), "/dev/shm".into()];
    let on_disk = places.iter().filter(|place| place.is_dir()).map(|place| on_disk(place));
    let on_disk = on_disk.map(|(volume, directory)| (volume, Some(directory)));
    on_disk.chain([(Volume::recorded(MediumKind::File, false).0, None)]).collect()
}

fn publish(volume: &Volume, bytes: &[u8]) -> DirectFile {
    volume.publish("pieces", bytes).expect("a file");
    volume.open_direct("pieces").expect("a file")
}

fn no_check() -> Arc<PieceCheck> {
    Arc::new(|_, _| Ok(()))
}

/// Asks for consecutive pieces, from `first` on, into frames from `frame` on.
fn request(
    frames: &Arc<Frames>,
    file: &DirectFile,
    frame: u32,
    first: u32,
    count: u32,
) -> ReadRequest {
    let claim = |i| {
        let mut claimed = frames.claim(frame + i).expect("a free frame");
        // What an earlier piece has left.
        claimed.bytes_mut().fill(0xee);
        (claimed, first + i)
    };
    let offset = u64::from(first) * frames.frame_bytes() as u64;
    ReadRequest {
        file: file.clone(),
        offset,
        frames: (0..count).map(claim).collect(),
        check: no_check(),
    }
}

/// Waits until a frame holds a piece whole.
fn wait(queue: &ReadQueue, frames: &Frames, frame: u32, owner: u32) -> Result<()> {
    queue.wait_until(|| frames.pin(frame, owner).is_some())
}

/// Asserts that a frame holds a piece of the file and zeros behind it.
fn assert_piece(frames: &Frames, frame: u32, piece: u32, bytes: &[u8]) {
    let pinned = frames.pin(frame, piece).expect("a whole piece");
    let start = piece as usize * frames.frame_bytes();
    let bytes = &bytes[start..bytes.len().min(start + frames.frame_bytes())];
    assert!(pinned[..bytes.len()] == *bytes, "piece {piece} in frame {frame}");
    assert!(pinned[bytes.len()..].iter().all(|&byte| byte == 0), "zeros behind piece {piece}");
}

#[test]
fn pieces_are_those_of_the_file() {
    let bytes = random_bytes(1, FILE_BYTES);
    for (volume, _directory) in volumes() {
        let file = publish(&volume, &bytes);
        println!("{}: direct {}", file.path().display(), file.is_direct());
        assert_eq!(file.len(), FILE_BYTES as u64);
        for (seed, frame_bytes) in [(1, PAGE_BYTES), (2, 5 * PAGE_BYTES)] {
            let pieces = FILE_BYTES.div_ceil(frame_bytes) as u32;
            for queue in queues() {
                let frames = Frames::new(frame_bytes, 256).expect("frames");
                let mut random = SplitMix64::new(seed);
                for _ in 0..4 {
                    read_some(&queue, &frames, &file, &bytes, pieces, &mut random);
                }
                assert_eq!(queue.take_error().map(|e| e.to_string()), None);
            }
        }
    }
}

/// Reads pieces by requests of one and of several frames, and compares them.
fn read_some(
    queue: &ReadQueue,
    frames: &Arc<Frames>,
    file: &DirectFile,
    bytes: &[u8],
    pieces: u32,
    random: &mut SplitMix64,
) {
    let (mut requests, mut wanted, mut frame) = (Vec::new(), Vec::new(), 0);
    let before = queue.counts();
    while frame < frames.count() as u32 {
        let free = frames.count() as u32 - frame;
        // Often the last piece, which is short.
        let first = (random.below(u64::from(pieces) + 8) as u32).min(pieces - 1);
        let most = if random.below(2) == 0 { 1 } else { 20 };
        let count = (1 + random.below(most) as u32).min(pieces - first).min(free);
        requests.push(request(frames, file, frame, first, count));
        wanted.extend((0..count).map(|i| (frame + i, first + i)));
        frame += count;
    }
    let reads = requests.len() as u64;
    queue.start(requests);
    let are_there = || wanted.iter().all(|&(frame, piece)| frames.pin(frame, piece).is_some());
    queue.wait_until(are_there).expect("whole pieces");
    for (frame, piece) in wanted {
        assert_piece(frames, frame, piece, bytes);
    }
    // The last read is counted after its pieces are found.
    queue.wait_until(|| queue.counts().pieces == before.pieces + 256).expect("counted");
    let counts = queue.counts();
    assert_eq!(counts.reads, before.reads + reads);
    assert!(counts.read_bytes - before.read_bytes <= 256 * frames.frame_bytes() as u64);
    assert!((1..=64).contains(&counts.under_way_max));
}

#[test]
fn no_more_reads_are_under_way_than_may_be() {
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &random_bytes(1, FILE_BYTES));
    for (depth, uring) in [(1, true), (1, false), (7, true), (7, false)] {
        let (queue, frames) = (queue(depth, uring), Frames::new(PAGE_BYTES, 100).expect("frames"));
        thread::scope(|scope| {
            for part in 0..4 {
                let (queue, frames, file) = (&queue, &frames, &file);
                scope.spawn(move || {
                    let numbers = 25 * part..25 * (part + 1);
                    queue.start(numbers.clone().map(|i| request(frames, file, i, i, 1)).collect());
                    for i in numbers {
                        wait(queue, frames, i, i).expect("whole pieces");
                    }
                });
            }
        });
        let counts = queue.counts();
        assert!(counts.under_way_max <= depth, "{counts:?} at depth {depth}");
        assert_eq!(counts.reads, 100);
    }
    for depth in [0, 1 << 20] {
        let refused = ReadQueue::new(&ReadQueueOptions { depth, uring: true }).err();
        assert!(matches!(refused, Some(Error::InvalidInput { .. })), "{refused:?}");
    }
}

#[test]
fn a_check_sees_the_last_piece_with_zeros_behind_it() {
    let bytes = random_bytes(1, 2 * PAGE_BYTES + 1000);
    for (volume, _directory) in volumes() {
        let file = publish(&volume, &bytes);
        for queue in queues() {
            let frames = Frames::new(PAGE_BYTES, 4).expect("frames");
            let seen = Arc::new(AtomicU32::new(0));
            let mut last = request(&frames, &file, 1, 1, 2);
            let (seen_by_check, expected) = (seen.clone(), bytes.clone());
            last.check = Arc::new(move |piece, frame: &mut [u8]| {
                let mut padded = expected[piece as usize * PAGE_BYTES..].to_vec();
                padded.resize(PAGE_BYTES.max(padded.len()), 0);
                assert!(frame == &padded[..PAGE_BYTES], "piece {piece}");
                seen_by_check.fetch_add(piece, Ordering::Relaxed);
                Ok(())
            });
            queue.start(vec![last]);
            wait(&queue, &frames, 2, 2).expect("a short piece");
            assert_eq!(seen.load(Ordering::Relaxed), 1 + 2);
            // There is no piece behind it.
            for first in [2, 3, u32::MAX] {
                queue.start(vec![request(&frames, &file, 0, first - 1, 2)]);
                let found = wait(&queue, &frames, 1, first);
                match first {
                    2 => found.expect("the last piece"),
                    _ => assert!(matches!(found, Err(Error::Corruption { .. })), "{found:?}"),
                }
                let _ = queue.take_error();
                drop((frames.claim(0), frames.claim(1)));
            }
        }
    }
}

#[test]
fn small_reads_are_of_any_place_and_length() {
    let bytes = random_bytes(1, 3 * PAGE_BYTES + 77);
    for (volume, _directory) in volumes() {
        let file = publish(&volume, &bytes);
        for (offset, len) in [(0, 1), (4095, 3), (4097, 5000), (8192, PAGE_BYTES + 77)] {
            let mut buffer = vec![0; len];
            file.read_at(offset as u64, &mut buffer).expect("bytes");
            assert!(buffer == bytes[offset..][..len], "{len} bytes from {offset} on");
        }
        let beyond = file.read_at(bytes.len() as u64 - 3, &mut [0; 4]);
        assert!(matches!(beyond, Err(Error::Corruption { .. })), "{beyond:?}");
    }
}

#[test]
fn pieces_may_begin_at_any_byte_and_be_more_than_the_kernel_takes_at_once() {
    let bytes = random_bytes(1, 2500 * PAGE_BYTES);
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &bytes);
    let is_direct = file.is_direct();
    for queue in queues() {
        for shift in [0, 1000] {
            let frames = Frames::new(PAGE_BYTES, 2300).expect("frames");
            let mut long = request(&frames, &file, 0, 0, 2300);
            long.offset = shift as u64;
            queue.start(vec![long]);
            for frame in 0..2300 {
                wait(&queue, &frames, frame, frame).expect("whole pieces");
                assert_piece(&frames, frame, frame, &bytes[shift..]);
            }
            assert_eq!(file.is_direct(), is_direct, "it stays as it was");
        }
        queue.start(vec![ReadRequest {
            file: file.clone(),
            offset: 0,
            frames: vec![],
            check: no_check(),
        }]);
        assert_eq!(queue.counts().reads, 6);
    }
}

#[test]
fn a_read_that_fails_is_seen_by_all_who_wait_and_then_the_queue_goes_on() {
    let bytes = random_bytes(1, 8 * PAGE_BYTES);
    for n in 0..4 {
        let (volume, recorder): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        let file = publish(&volume, &bytes);
        for queue in queues() {
            let frames = Frames::new(PAGE_BYTES, 8).expect("frames");
            recorder.fail_nth(n, EIO, false);
            queue.start((0..4).map(|i| request(&frames, &file, 2 * i, 2 * i, 2)).collect());
            let n = n as u32;
            for frame in 0..8 {
                let error = wait(&queue, &frames, frame, frame).expect_err("one has failed");
                assert!(matches!(error, Error::Io { operation: "read", .. }), "{error}");
                assert!(error.to_string().contains("pieces"), "{error}");
                assert_eq!(frames.owner(frame).is_none(), frame / 2 == n, "frame {frame}");
            }
            assert!(queue.take_error().is_some() && queue.take_error().is_none());
            queue.start(vec![request(&frames, &file, 2 * n, 2 * n, 2)]);
            wait(&queue, &frames, 2 * n + 1, 2 * n + 1).expect("it goes on");
            assert_piece(&frames, 2 * n + 1, 2 * n + 1, &bytes);
            // A small read is such a call, too.
            recorder.fail_nth(0, EIO, false);
            assert!(file.read_at(0, &mut [0; 8]).is_err());
            recorder.fail_nth(0, EIO, false);
            assert!(volume.open_direct("pieces").is_err());
            recorder.stop_failing();
        }
    }
}

#[test]
fn a_check_that_fails_keeps_its_piece_from_being_found() {
    let bytes = random_bytes(1, 8 * PAGE_BYTES);
    for (volume, _directory) in volumes() {
        let file = publish(&volume, &bytes);
        for queue in queues() {
            let frames = Frames::new(PAGE_BYTES, 8).expect("frames");
            let mut bad = request(&frames, &file, 0, 0, 4);
            let fails = |piece: u32| Error::InvalidInput { what: format!("piece {piece} is bad") };
            let frames_of_check = frames.clone();
            bad.check = Arc::new(move |piece, _| {
                assert!(frames_of_check.pin(piece, piece).is_none(), "found before it is checked");
                if piece == 2 { Err(fails(piece)) } else { Ok(()) }
            });
            queue.start(vec![bad]);
            let waiting = || wait(&queue, &frames, 2, 2).expect_err("a bad piece").to_string();
            thread::scope(|scope| {
                for waiter in [scope.spawn(waiting), scope.spawn(waiting)] {
                    assert_eq!(waiter.join().expect("no panic"), "piece 2 is bad");
                }
            });
            assert_eq!([0, 1, 2, 3].map(|i| frames.owner(i)), [Some(0), Some(1), None, Some(3)]);
            let error = queue.take_error().expect("the first error");
            assert_eq!(error.to_string(), "piece 2 is bad");
            // It may be read again.
            queue.start(vec![request(&frames, &file, 2, 2, 1)]);
            wait(&queue, &frames, 2, 2).expect("without a check");
            assert_piece(&frames, 2, 2, &bytes);
        }
    }
}

/// Who waits may wait for something that no read brings.
#[test]
fn who_waits_is_asked_again_when_woken() {
    for queue in queues() {
        let (is_asked, is_there) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut times = 0;
                let ask = || {
                    times += 1;
                    if times == 1 {
                        is_asked.wait();
                        // Most of the time it waits when it is woken.
                        thread::sleep(Duration::from_millis(1));
                    }
                    is_there.load(Ordering::Relaxed)
                };
                queue.wait_until(ask).map(|()| times)
            });
            is_asked.wait();
            thread::sleep(Duration::from_millis(2));
            is_there.store(true, Ordering::Relaxed);
            queue.wake();
            assert!(waiter.join().expect("no panic").expect("no error") <= 2);
        });
    }
}

/// Who sees a frame emptied by an error gets the error.
#[test]
fn an_error_is_kept_before_its_frames_are_emptied() {
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &random_bytes(1, 8 * PAGE_BYTES));
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 1).expect("frames");
        for piece in 0..200 {
            let mut bad = request(&frames, &file, 0, piece % 8, 1);
            bad.check = Arc::new(|_, _| Err(Error::Forked));
            queue.start(vec![bad]);
            while frames.claim(0).is_none() {
                std::hint::spin_loop();
            }
            assert!(queue.wait_until(|| true).is_err(), "piece {piece}");
            assert!(queue.take_error().is_some());
        }
    }
}

#[test]
fn a_check_that_panics_is_an_error() {
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &random_bytes(1, 8 * PAGE_BYTES));
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 8).expect("frames");
        let mut bad = request(&frames, &file, 3, 3, 1);
        bad.check = Arc::new(|_, _| panic!("a bug of the check"));
        queue.start(vec![bad]);
        let error = wait(&queue, &frames, 3, 3).expect_err("a panic");
        let Error::Corruption { offset, found, .. } = &error else { panic!("{error}") };
        assert_eq!((*offset, &**found), (3 * PAGE_BYTES as u64, "a panic"));
        assert!(queue.take_error().is_some());
        queue.start(vec![request(&frames, &file, 3, 3, 1)]);
        wait(&queue, &frames, 3, 3).expect("it goes on");
    }
}

#[test]
fn a_file_that_was_cut_is_damaged() {
    for place in [std::env::temp_dir(), "/dev/shm".into()].iter().filter(|place| place.is_dir()) {
        for queue in queues() {
            for cut in [0, 1, PAGE_BYTES - 1, 5 * PAGE_BYTES + 700, 6 * PAGE_BYTES] {
                let (volume, directory) = on_disk(place);
                let bytes = random_bytes(1, 10 * PAGE_BYTES);
                let file = publish(&volume, &bytes);
                let path = directory.path().join("graph").join("pieces");
                let cutter = OpenOptions::new().write(true).open(&path).expect("the file");
                cutter.set_len(cut as u64).expect("it is cut");
                let frames = Frames::new(2 * PAGE_BYTES, 4).expect("frames");
                queue.start(vec![request(&frames, &file, 0, 1, 3)]);
                let error = wait(&queue, &frames, 0, 1).expect_err("the file is cut");
                let Error::Corruption { path: named, offset, .. } = &error else {
                    panic!("{error}")
                };
                assert_eq!((named, *offset), (&path, (cut as u64).max(2 * PAGE_BYTES as u64)));
                assert!((0..3).all(|frame| frames.claim(frame).is_some()), "all are empty");
                assert!(queue.take_error().is_some());
            }
        }
    }
}

#[test]
fn a_file_that_has_grown_is_read_as_long_as_it_was() {
    let (volume, directory) = on_disk(&std::env::temp_dir());
    let bytes = random_bytes(1, PAGE_BYTES + 700);
    let file = publish(&volume, &bytes);
    let path = directory.path().join("graph").join("pieces");
    let mut grown = OpenOptions::new().append(true).open(path).expect("the file");
    std::io::Write::write_all(&mut grown, &[7; 2 * PAGE_BYTES]).expect("it grows");
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 2).expect("frames");
        queue.start(vec![request(&frames, &file, 0, 0, 2)]);
        wait(&queue, &frames, 1, 1).expect("a short piece");
        assert_piece(&frames, 1, 1, &bytes);
    }
}

#[test]
fn the_end_of_a_queue_waits_for_reads_under_way() {
    let bytes = random_bytes(1, FILE_BYTES);
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &bytes);
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 40).expect("frames");
        let slow = |i: u32| {
            let mut request = request(&frames, &file, 2 * i, 2 * i, 2);
            request.check = Arc::new(|_, _| {
                thread::sleep(Duration::from_millis(1));
                Ok(())
            });
            request
        };
        queue.start((0..20).map(slow).collect());
        drop(queue);
        (0..40).for_each(|frame| assert_piece(&frames, frame, frame, &bytes));
        assert_eq!(Arc::strong_count(&frames), 1, "nobody holds a frame");
    }
}

/// Who holds a queue may be held by a check of one of its reads.
#[test]
fn a_queue_may_end_in_its_own_thread() {
    let bytes = random_bytes(1, FILE_BYTES);
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &bytes);
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 2).expect("frames");
        let mut last = request(&frames, &file, 0, 0, 1);
        let may_end = Arc::new(Barrier::new(2));
        let (held, may_end_here) = (queue.clone(), may_end.clone());
        last.check = Arc::new(move |_, _| {
            may_end_here.wait();
            assert!(held.take_error().is_none());
            Ok(())
        });
        queue.start(vec![last]);
        drop(queue);
        may_end.wait();
        let patience = Instant::now() + Duration::from_secs(10);
        while Arc::strong_count(&frames) > 1 {
            assert!(Instant::now() < patience, "the thread has not let go of its read");
            thread::sleep(Duration::from_millis(1));
        }
        assert_piece(&frames, 0, 0, &bytes);
    }
}

/// The kernel takes back what a thread has asked it for that ends.
#[test]
fn a_thread_that_starts_reads_may_end_before_they_are_done() {
    let bytes = random_bytes(1, FILE_BYTES);
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &bytes);
    for queue in queues() {
        let frames = Frames::new(PAGE_BYTES, 1200).expect("frames");
        thread::scope(|scope| {
            for part in 0..30 {
                let (queue, frames, file) = (&queue, &frames, &file);
                scope.spawn(move || {
                    let mut requests: Vec<_> = (0..40)
                        .map(|i| request(frames, file, 40 * part + i, 40 * part + i, 1))
                        .collect();
                    // One through the kernel's cache, where others wait for its threads.
                    requests[7].offset += 1;
                    queue.start(requests);
                });
            }
        });
        for frame in 0..1200 {
            wait(&queue, &frames, frame, frame).expect("whole pieces");
            let shift = usize::from(frame % 40 == 7);
            assert_piece(&frames, frame, frame, &bytes[shift..]);
        }
    }
}

/// Threads that share a few frames read, wait and pin at random.
#[test]
fn threads_that_share_frames_find_what_they_wait_for() {
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let bytes = random_bytes(1, FILE_BYTES);
    let file = publish(&volume, &bytes);
    let pieces = FILE_BYTES.div_ceil(PAGE_BYTES) as u64;
    for uring in [true, false] {
        let (queue, frames) = (queue(4, uring), Frames::new(PAGE_BYTES, 16).expect("frames"));
        let end = Instant::now() + Duration::from_millis(700);
        let work = |seed| {
            let mut random = SplitMix64::new(seed);
            let mut found = 0;
            while Instant::now() < end {
                let (frame, piece) = (random.below(16) as u32, random.below(pieces) as u32);
                let Some(claimed) = frames.claim(frame) else { continue };
                let (file, offset) = (file.clone(), u64::from(piece) * PAGE_BYTES as u64);
                let frames_of_it = vec![(claimed, piece)];
                queue.start(vec![ReadRequest {
                    file,
                    offset,
                    frames: frames_of_it,
                    check: no_check(),
                }]);
                let mut pinned = None;
                // Another thread may have claimed the frame again.
                let is_over = || {
                    pinned = frames.pin(frame, piece);
                    pinned.is_some() || frames.owner(frame).is_some_and(|owner| owner != piece)
                };
                queue.wait_until(is_over).expect("no error");
                if let Some(pinned) = pinned {
                    let start = piece as usize * PAGE_BYTES;
                    let expected = &bytes[start..bytes.len().min(start + PAGE_BYTES)];
                    assert!(pinned[..expected.len()] == *expected, "piece {piece}");
                    found += 1;
                }
            }
            found
        };
        thread::scope(|scope| {
            let workers = [1, 2, 3, 4].map(|seed| scope.spawn(move || work(seed)));
            for worker in workers {
                assert!(worker.join().expect("no panic") > 10, "hardly a piece");
            }
        });
    }
}

/// A child has no thread that reads for it: it reads by itself, and waits for nothing of its parent's.
#[test]
fn a_forked_child_reads_by_itself() {
    let bytes = random_bytes(1, FILE_BYTES);
    let (volume, _directory) = on_disk(&std::env::temp_dir());
    let file = publish(&volume, &bytes);
    for uring in [true, false] {
        let (queue, frames) = (queue(8, uring), Frames::new(PAGE_BYTES, 8).expect("frames"));
        queue.start(vec![request(&frames, &file, 0, 0, 1)]);
        wait(&queue, &frames, 0, 0).expect("a piece");
        queue.wait_until(|| queue.counts().pieces == 1).expect("counted");
        let is_right = child_says(|| {
            assert_piece(&frames, 0, 0, &bytes);
            queue.start((1..4).map(|i| request(&frames, &file, i, i, 1)).collect());
            wait(&queue, &frames, 3, 3).expect("read in the child");
            (1..4).for_each(|frame| assert_piece(&frames, frame, frame, &bytes));
            drop(queue.clone());
            true
        });
        assert!(is_right, "a child reads, io_uring: {uring}");
        // A read that the parent has under way when it forks is lost for the child.
        let (is_held, may_end) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
        let mut held = request(&frames, &file, 5, 5, 1);
        let (is_held_here, may_end_here) = (is_held.clone(), may_end.clone());
        held.check = Arc::new(move |_, _| {
            is_held_here.wait();
            while !may_end_here.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        queue.start(vec![held]);
        is_held.wait();
        let mut queue = Some(queue);
        let is_right = child_says(|| {
            let queue = queue.take().expect("inherited");
            let lost = wait(&queue, &frames, 5, 5).expect_err("nobody reads it here");
            assert!(lost.to_string().contains("forked"), "{lost}");
            queue.start(vec![request(&frames, &file, 6, 6, 1)]);
            wait(&queue, &frames, 6, 6).expect("read in the child");
            drop(queue);
            true
        });
        may_end.store(true, Ordering::Relaxed);
        assert!(is_right, "a child waits for nothing of its parent's, io_uring: {uring}");
        let queue = queue.expect("the child took its own copy");
        wait(&queue, &frames, 5, 5).expect("the parent goes on");
        assert!(frames.owner(6).is_none(), "what a child reads is its own");
    }
}

/// Returns what `check` returns in a forked child.
fn child_says(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child takes no lock that another thread of the parent holds but those of memory,
    // which the library of C sees to.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child");
    if child == 0 {
        // SAFETY: it changes this process only. The signal ends it if it hangs.
        unsafe { libc::alarm(20) };
        let holds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or(false);
        // SAFETY: ends the child without running anything that is the parent's.
        unsafe { libc::_exit(i32::from(!holds)) };
    }
    let mut status = 0;
    // SAFETY: waits for a child of this process, and stores into a variable of this function.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child, "the child is waited for");
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}
