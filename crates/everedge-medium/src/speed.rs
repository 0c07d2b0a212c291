//! How fast a file is read past the system's cache: what sealed graphs can be held to.
//!
//! Source: ChunkGraph §4.1 says what its device can do by its data sheet. Here it is measured, through the queue that
//! sealed graphs are read with.
//!
//! # Cost
//! The file is written once, and read for a second at random places and for a second from front to back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use everedge_core::SplitMix64;

use super::{DirectFile, Frames, PieceCheck, ReadQueue, ReadQueueOptions, ReadRequest, ReadWay};
use crate::{Result, Volume};

/// The file that is read.
const NAME: &str = "speed";
/// Reads that are under way at once.
const DEPTH: u32 = 32;
/// Reads that are started at once.
const STARTED: usize = 8;
/// Bytes of a read at a random place.
const RANDOM_BYTES: usize = 4 << 10;
/// Bytes of a read from front to back.
const SEQUENTIAL_BYTES: usize = 1 << 20;
const TURN: Duration = Duration::from_secs(1);

/// How fast a file is read past the system's cache, with 32 reads under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadSpeed {
    /// Reads of 4 KiB a second, at random places.
    pub random_reads_per_second: f64,
    /// Bytes a second, in reads of 1 MiB from front to back.
    pub sequential_bytes_per_second: f64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Whether reads went past the cache: not every file system lets them.
    pub is_direct: bool,
    /// What has read.
    pub way: ReadWay,
}

impl Volume {
    /// Measures how fast a file of about so many bytes is read, which is removed again.
    ///
    /// # Errors
    /// [`Error::NoSpace`](crate::Error::NoSpace) or [`Error::Io`](crate::Error::Io) if the medium fails.
    pub fn measure_reads(&self, file_bytes: u64) -> Result<ReadSpeed> {
        let piece_count = file_bytes.div_ceil(SEQUENTIAL_BYTES as u64).max(1);
        let mut random = SplitMix64::new(1);
        let mut new = self.create_file(NAME)?;
        for _ in 0..piece_count {
            let words = (0..SEQUENTIAL_BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes());
            new.append(&words.collect::<Vec<u8>>())?;
        }
        new.publish()?;
        let measured = (|| {
            let file = self.open_direct(NAME)?;
            let places = piece_count * (SEQUENTIAL_BYTES / RANDOM_BYTES) as u64;
            let at_random = reads_per_second(&file, RANDOM_BYTES, |_| random.below(places))?;
            let in_order = reads_per_second(&file, SEQUENTIAL_BYTES, |read| read % piece_count)?;
            Ok(ReadSpeed {
                random_reads_per_second: at_random.0,
                sequential_bytes_per_second: in_order.0 * SEQUENTIAL_BYTES as f64,
                file_bytes: file.len(),
                is_direct: file.is_direct(),
                way: at_random.1,
            })
        })();
        self.remove(NAME)?;
        measured
    }
}

/// Reads pieces of a file for a while; `piece_of` says which is the one of each read.
fn reads_per_second(
    file: &DirectFile,
    piece_bytes: usize,
    mut piece_of: impl FnMut(u64) -> u64,
) -> Result<(f64, ReadWay)> {
    let queue = ReadQueue::new(&ReadQueueOptions { depth: DEPTH, ..ReadQueueOptions::default() })?;
    let frames = Frames::new(piece_bytes, 2 * DEPTH as usize)?;
    let check: Arc<PieceCheck> = Arc::new(|_, _| Ok(()));
    let mut next = 0_u64;
    let start = Instant::now();
    while start.elapsed() < TURN {
        let mut requests = Vec::with_capacity(STARTED);
        while requests.len() < STARTED {
            let frame = (next % frames.count() as u64) as u32;
            queue.wait_until(|| !frames.is_loading(frame))?;
            let claimed = frames.claim(frame).expect("nobody else reads");
            requests.push(ReadRequest {
                file: file.clone(),
                offset: piece_of(next) * piece_bytes as u64,
                frames: vec![(claimed, frame)],
                check: check.clone(),
            });
            next += 1;
        }
        queue.start(requests);
    }
    queue.wait_until(|| (0..frames.count() as u32).all(|frame| !frames.is_loading(frame)))?;
    Ok((next as f64 / start.elapsed().as_secs_f64(), queue.way()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MediumKind, VolumeOptions};

    #[test]
    fn a_file_is_read_and_goes_again() {
        let home = tempfile::tempdir().unwrap();
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&home.path().join("g"), options).unwrap();
        let names = volume.names().unwrap();
        let speed = volume.measure_reads((3 << 20) + 1).unwrap();
        assert_eq!(speed.file_bytes, 4 << 20);
        assert!(speed.random_reads_per_second > 0.0 && speed.sequential_bytes_per_second > 0.0);
        assert_eq!(volume.names().unwrap(), names);
    }
}
