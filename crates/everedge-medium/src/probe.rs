//! How the random reads of a device compare with its sequential ones: measured at creation.
//!
//! Source: XPGraph §4.3 (XPGraph-S) and its Figure 24, where the device's random reads are assessed
//! at different levels of concurrency in order to find a threshold. The rule is ours.
//!
//! # Rule
//! The threshold is the smallest of 1, 2, 4, 8 and 16 threads at which reads of the device's
//! granularity at random places bring at least half as many bytes a second as reads of 128 KiB one
//! after the other do with as many threads; 17 if that is not so with 16. Below it, what lies
//! together is worth it.
//!
//! # Cost
//! 4 MiB are written and read again for 2 ms in each of two to ten turns, past the page cache: random
//! reads gain by concurrency, so 16 threads are tried first. The file has no name, so nothing of it
//! stays, whatever happens.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};

use super::interrupted::retried;

/// The numbers of threads that are tried if random reads are fast enough with the most.
const CONCURRENCIES: [u32; 4] = [1, 2, 4, 8];
const CONCURRENCY_MAX: u32 = 16;
/// The threshold of a device whose random reads are far slower with all of them.
const IO_THRESHOLD_MAX: u32 = CONCURRENCY_MAX + 1;
const FILE_BYTES: usize = 4 << 20;
/// What the page cache reads ahead.
const SEQUENTIAL_BYTES: usize = 128 << 10;
/// Sequential readers begin at so many places of the file in turn.
const PARTS: usize = 16;
/// What reads past the page cache ask of the memory that they go to, at most.
const ALIGNMENT: usize = 4096;
const TURN: Duration = Duration::from_millis(2);

/// Where the reads of one turn go.
#[derive(Clone, Copy)]
enum Pattern {
    Random { bytes: usize },
    Sequential,
}

impl Pattern {
    fn bytes(self) -> usize {
        match self {
            Pattern::Random { bytes } => bytes,
            Pattern::Sequential => SEQUENTIAL_BYTES,
        }
    }
}

/// Measures the device under `directory`, which is read in pieces of `granularity` bytes.
///
/// # Errors
/// If the file system takes no file without a name or no reads past the page cache, or is full.
pub(super) fn io_threshold(directory: BorrowedFd<'_>, granularity: u32) -> Result<u32> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = Scratch(rustix::fs::openat(directory, ".", flags, Mode::RUSR | Mode::WUSR)?);
    let Scratch(file) = &file;
    fill(file)?;
    let random = Pattern::Random { bytes: granularity as usize };
    threshold(|concurrency| {
        Ok([
            bytes_per_second(file, concurrency, random)?,
            bytes_per_second(file, concurrency, Pattern::Sequential)?,
        ])
    })
}

/// The file without a name.
struct Scratch(OwnedFd);

impl Drop for Scratch {
    /// Gives its room back now: a process that was forked meanwhile may hold the file for long.
    fn drop(&mut self) {
        let _ = rustix::fs::ftruncate(&self.0, 0);
    }
}

/// Applies the rule to what random and sequential reads bring with a number of threads.
fn threshold(measure: impl Fn(u32) -> Result<[f64; 2]>) -> Result<u32> {
    let is_enough =
        |concurrency| measure(concurrency).map(|[random, sequential]| 2.0 * random >= sequential);
    if !is_enough(CONCURRENCY_MAX)? {
        return Ok(IO_THRESHOLD_MAX);
    }
    for concurrency in CONCURRENCIES {
        if is_enough(concurrency)? {
            return Ok(concurrency);
        }
    }
    Ok(CONCURRENCY_MAX)
}

/// Writes what no file system stores in less than its size.
fn fill(file: &OwnedFd) -> Result<()> {
    let mut random = Random(1);
    let mut bytes = vec![0; SEQUENTIAL_BYTES + ALIGNMENT];
    let piece = aligned(&mut bytes);
    for start in (0..FILE_BYTES).step_by(SEQUENTIAL_BYTES) {
        piece.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&random.next()));
        let mut written = 0;
        while written < piece.len() {
            let offset = (start + written) as u64;
            written += retried(|| rustix::io::pwrite(file, &piece[written..], offset))?;
        }
    }
    Ok(())
}

/// Returns what so many threads together read in a second.
fn bytes_per_second(file: &OwnedFd, concurrency: u32, pattern: Pattern) -> Result<f64> {
    thread::scope(|scope| {
        let reader = |number| {
            let read = move || read_for_a_turn(file, number, pattern);
            thread::Builder::new().spawn_scoped(scope, read).map_err(|_| Errno::AGAIN)
        };
        let readers: Vec<_> = (0..concurrency).map(reader).collect::<Result<_>>()?;
        readers.into_iter().map(|reader| reader.join().unwrap_or(Err(Errno::IO))).sum()
    })
}

/// Reads on one of the threads. Returns bytes a second.
fn read_for_a_turn(file: &OwnedFd, number: u32, pattern: Pattern) -> Result<f64> {
    let mut random = Random(number.into());
    let mut bytes = vec![0; pattern.bytes() + ALIGNMENT];
    let piece = &mut aligned(&mut bytes)[..pattern.bytes()];
    let piece_count = FILE_BYTES / piece.len();
    let (start, mut read) = (Instant::now(), 0);
    for turn in number as usize * (piece_count / PARTS).. {
        let index = match pattern {
            Pattern::Random { .. } => u32::from_le_bytes(random.next()) as usize,
            Pattern::Sequential => turn,
        };
        let offset = (index % piece_count * piece.len()) as u64;
        match retried(|| rustix::io::pread(file, &mut *piece, offset))? {
            whole if whole == piece.len() => read += whole,
            _ => return Err(Errno::IO),
        }
        if start.elapsed() >= TURN {
            break;
        }
    }
    Ok(read as f64 / start.elapsed().as_secs_f64())
}

/// Returns the part of `bytes` that begins at an address that reads past the page cache take.
fn aligned(bytes: &mut [u8]) -> &mut [u8] {
    let start = bytes.as_ptr().align_offset(ALIGNMENT);
    let len = bytes.len() - ALIGNMENT;
    &mut bytes[start..start + len]
}

/// A linear congruential generator; its high half is random enough for places.
struct Random(u64);

impl Random {
    fn next(&mut self) -> [u8; 4] {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        ((self.0 >> 32) as u32).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MediumKind, Volume, VolumeOptions};
    use super::*;

    #[test]
    fn the_threshold_is_the_first_concurrency_at_which_random_reads_are_half_as_fast() {
        // Random reads gain by concurrency, sequential ones are as fast with one thread.
        let device = |random: f64| threshold(move |n| Ok([random * f64::from(n), 100.0])).unwrap();
        assert_eq!(device(50.0), 1);
        assert_eq!(device(49.0), 2);
        assert_eq!(device(7.0), 8);
        assert_eq!(device(3.125), 16);
        assert_eq!(device(3.0), IO_THRESHOLD_MAX);
        assert_eq!(threshold(|_| Err(Errno::INVAL)), Err(Errno::INVAL));
    }

    #[test]
    fn a_directory_is_measured_in_time_and_nothing_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g");
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&path, options).unwrap();
        let granularity = volume.granularity();
        assert!(granularity.is_power_of_two() && (256..=4096).contains(&granularity));
        let start = Instant::now();
        let found = volume.measure_io_threshold();
        println!("{found:?} at {granularity} bytes in {:?}", start.elapsed());
        assert!(found.is_none_or(|found| (1..=IO_THRESHOLD_MAX).contains(&found)));
        let names: Vec<_> = path.read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "lock" || name == "unfinished.tmp"), "{names:?}");
        drop(volume);
        assert_eq!(Volume::create("m".as_ref(), dram()).unwrap().measure_io_threshold(), None);
    }

    fn dram() -> VolumeOptions {
        VolumeOptions::new(MediumKind::Dram)
    }
}
