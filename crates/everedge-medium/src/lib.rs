//! The only door to durable bytes: DRAM, persistent memory and files behind one contract.
//!
//! Source: the media of XPGraph (ToS 2025, §3 and its variants D, B, S); the contract is that of
//! persistent memory, which the others honor too.
//!
//! # Contract
//! Between two fences any aligned 8-byte store may or may not have persisted, in any order. After
//! [`Region::flush`] of a range by some thread and then [`Region::fence`] of the same region by the
//! same thread, what the range held at the flush has persisted. [`Region::drain`] hands what a
//! thread flushed over to whichever thread fences the region next. A new, longer, shorter, published
//! or removed file has persisted when the call returns; until then a crash leaves the old state,
//! the new one or, for the length of a growing file, any in between.
//!
//! The bytes of a region are little endian words. They are only ever touched as atomics, so there
//! is no data race; a word is to be read in the size in which it was stored unless the store
//! happened before the read.
//!
//! # Media
//! | kind | bytes are | flush | fence |
//! | --- | --- | --- | --- |
//! | [`Dram`](MediumKind::Dram) | anonymous memory, gone with the volume | nothing | nothing |
//! | [`Pmem`](MediumKind::Pmem) | a DAX file; emulated: any file | `clwb`; nothing with eADR | `sfence` |
//! | [`File`](MediumKind::File) | a mapped file, allocated before use | marks it | one `fdatasync` |
//!
//! # Files larger than memory
//! A [`Reader`] copies pieces of a file to memory of the caller. A [`ReadQueue`] reads many pieces at
//! once, past the kernel's cache, into [`Frames`]: there any thread pins a piece and reads it in place.
//! Which piece is in which frame is the caller's to know and to decide.
//!
//! # Concurrency
//! [`Volume`] and [`Region`] are shared by cloning, and every call may be made by any thread. One
//! process writes a volume or several read it: the directory's lock says so. A region is opened
//! once at a time; its handles are clones of one another. The lock is free when the process that took it
//! has dropped the last of them, though a child that it forked lives; that child's regions are not to
//! be read any more then.
//!
//! # Failures
//! A lack of space refuses the call and changes nothing. A failed sync is never retried: it
//! poisons the volume, whose later changes and fences all fail with the first error's text. What the
//! sync lost is clean for the kernel, which goes on to return it to readers: so opening for writing
//! makes durable what it believes, and [`Region::rewrite`] is the call for that. A volume whose last
//! writer did not end well, which the text of its lock says, is read from the device. In a forked child
//! every change and fence fails; reading goes on.

mod atomics;
mod checksum;
mod choices;
mod direct;
mod directory;
mod error;
mod file;
mod frames;
mod image;
mod interrupted;
mod manifest;
mod map;
mod memory;
mod meter;
mod observer;
mod pinning;
#[cfg(test)]
mod pinning_model;
mod pins;
mod plant;
mod probe;
mod process;
mod reads;
mod record;
mod region;
mod replay;
mod ring;
mod site;
mod speed;
mod stream;
mod sync;
mod topology;
mod volume;

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use checksum::{crc_of_long, crc_of_shared, crc32c_of_few};
pub use direct::DirectFile;
pub use directory::read_file;
pub use error::{Error, Lack, Result, way_out};
pub use frames::{Claimed, Frames, Pinned};
pub use image::Image;
pub use manifest::{Kind, MANIFEST, Manifest};
pub use map::{HeldParts, HeldWords};
pub use meter::MeterReading;
pub use pins::{Changing, Pin, PinInMemory, Pins};
pub use plant::{Call, CallKind, Plant};
pub use reads::{PieceCheck, ReadCounts, ReadQueue, ReadQueueOptions, ReadRequest, ReadWay};
pub use record::{ImageRule, Mark, Recorder};
pub use region::Region;
pub use site::Site;
pub use speed::ReadSpeed;
pub use stream::{NewFile, ReadBudget, Reader};
pub use topology::{NumaNode, numa_nodes};
pub use volume::{Volume, VolumeOptions};

#[cfg(target_endian = "big")]
compile_error!("regions hold little endian words");

/// Where the bytes of a graph live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediumKind {
    /// Anonymous memory: fast, and gone with the volume.
    Dram,
    /// Persistent memory.
    Pmem {
        /// Whether the files may lie on a file system that is not DAX: for tests and benchmarks,
        /// which survive the process but not a power loss.
        emulated: bool,
    },
    /// Files on an SSD.
    File,
}

impl fmt::Display for MediumKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MediumKind::Dram => "dram",
            MediumKind::Pmem { .. } => "pmem",
            MediumKind::File => "file",
        })
    }
}

impl FromStr for MediumKind {
    type Err = Error;

    /// Reads `dram`, `pmem` (not emulated) or `file`.
    fn from_str(text: &str) -> Result<MediumKind> {
        match text {
            "dram" => Ok(MediumKind::Dram),
            "pmem" => Ok(MediumKind::Pmem { emulated: false }),
            "file" => Ok(MediumKind::File),
            _ => Err(Error::invalid(format!("medium `{text}` is none of dram, pmem, file"))),
        }
    }
}

/// What a volume is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// To read; nothing on the medium changes, and other readers may come. What a region is told
    /// to store, and its growth, stay in the memory of this handle.
    Read,
    /// To read and write, alone.
    Write,
}

/// Locks a mutex. A panic of another holder left nothing half done: what the medium's mutexes
/// guard changes in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
