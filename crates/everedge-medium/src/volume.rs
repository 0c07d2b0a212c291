//! The directory of one graph on one medium.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::directory::{self, Directory, check_size};
use super::file::BackingFile;
use super::image::{Image, Patch};
use super::manifest::MANIFEST;
use super::map::WriteBack;
use super::memory::Memory;
use super::meter::{Meter, MeterReading};
use super::observer::Observer;
use super::pins::{Pin, Pins, READERS};
use super::plant::{Call, CallKind};
use super::probe;
use super::record::{Event, Trace};
use super::region::{Backing, Region};
use super::sync::Health;
use super::{Access, MediumKind, lock};
use crate::{Error, Result};

/// The device's granularity is not taken to be smaller than a unit of persistent memory, nor larger
/// than a page.
const GRANULARITY_MIN: u32 = 256;
const GRANULARITY_MAX: u32 = 4096;
static ZEROS: [u8; 4096] = [0; 4096];

/// How a volume is made or opened.
#[derive(Clone, Copy, Debug)]
pub struct VolumeOptions {
    /// Where the bytes live.
    pub kind: MediumKind,
    /// Whether the processor's caches belong to the persistent domain (eADR), so that persistent
    /// memory needs no flush.
    pub eadr: bool,
    /// Whether to count what the device would read and write.
    pub meter: bool,
}

impl VolumeOptions {
    /// Options of a medium without eADR and without a meter.
    #[must_use]
    pub fn new(kind: MediumKind) -> VolumeOptions {
        VolumeOptions { kind, eadr: false, meter: false }
    }
}

/// The directory of one graph on one medium; a clone is another handle to it.
///
/// A dram volume has no directory: its path is only a name, and its files are gone with the last
/// handle.
#[derive(Clone)]
pub struct Volume {
    pub(super) shared: Arc<Shared>,
}

/// What a volume and its regions share. The lock is held as long as one of them is.
pub(super) struct Shared {
    pub(super) options: VolumeOptions,
    access: Access,
    /// Why it is for reading, once it is, though it was opened for writing.
    damage: OnceLock<Error>,
    pub(super) write_back: WriteBack,
    /// None if nothing is counted or recorded.
    pub(super) observer: Option<Observer>,
    pub(super) home: Home,
    /// How many regions were opened; numbers them.
    region_count: AtomicU32,
    pub(super) health: Health,
    /// What other processes read beside this writer, once they are let in.
    pub(super) pins: OnceLock<Pins>,
    /// The place of this reader beside a writer,
    pin: Option<Pin>,
    /// and what it has copied of files that the writer changes.
    copies: Mutex<BTreeMap<String, Arc<Backing>>>,
}

/// Where the files are.
pub(super) enum Home {
    Directory(Directory),
    Memory(Arc<Memory>),
}

impl Drop for Shared {
    fn drop(&mut self) {
        // After a failed sync the lock is held as long as something is mapped that a next writer would
        // take for read from the device: in a forked child, too.
        if let (Home::Directory(directory), Ok(())) = (&self.home, self.health.check()) {
            directory.end();
        }
    }
}

impl Shared {
    fn new(options: VolumeOptions, access: Access, home: Home) -> Shared {
        let meter = options.meter.then(|| match options.kind {
            MediumKind::File => Meter::file(),
            _ => Meter::memory(),
        });
        Shared {
            options,
            access,
            damage: OnceLock::new(),
            write_back: WriteBack::detect(),
            observer: meter.map(|meter| Observer::Meter(Mutex::new(meter))),
            home,
            region_count: AtomicU32::new(0),
            health: Health::new(),
            pins: OnceLock::new(),
            pin: None,
            copies: Mutex::default(),
        }
    }

    /// What a region shares with itself that belongs to no volume.
    pub(super) fn memory(path: &Path) -> Shared {
        let options = VolumeOptions::new(MediumKind::Dram);
        Shared::new(options, Access::Write, Home::Memory(Arc::new(Memory::new(path))))
    }

    #[inline]
    pub(super) fn access(&self) -> Access {
        if self.damage.get().is_some() { Access::Read } else { self.access }
    }

    /// Numbers a region that is made or opened.
    fn next_number(&self) -> u32 {
        self.region_count.fetch_add(1, Ordering::Relaxed)
    }

    fn path(&self) -> &Path {
        match &self.home {
            Home::Directory(directory) => directory.path(),
            Home::Memory(memory) => memory.path(),
        }
    }

    /// Notes a change of names or lengths if it is recorded.
    pub(super) fn record(&self, call: &Call, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.observer {
            observer.change(call, event);
        }
    }

    /// Fails where a recorder was told to, before the call has done anything.
    #[inline]
    pub(super) fn next_call(&self, path: &Path, operation: &'static str) -> Result<()> {
        self.observer.as_ref().map_or(Ok(()), |observer| observer.next_call(path, operation))
    }

    /// Fails where a recorder was told to, as a sync, which poisons.
    #[inline]
    pub(super) fn next_sync(&self, path: &Path) -> Result<()> {
        self.next_call(path, "sync").map_err(|e| self.poison(e))
    }

    /// Keeps the text of the first failed sync; from now on every change is refused.
    pub(super) fn poison(&self, error: Error) -> Error {
        self.health.poison(error)
    }

    /// Refuses a change after a failed sync, and in a forked child.
    #[inline]
    pub(super) fn check_health(&self) -> Result<()> {
        self.health.check()
    }

    /// Refuses a change after a failed sync or through a handle for reading.
    pub(super) fn check_writable(&self) -> Result<()> {
        if let Some(damage) = self.damage.get() {
            return Err(damage.again());
        }
        if self.access == Access::Read {
            return Err(Error::ReadOnly { path: self.path().to_path_buf() });
        }
        self.check_health()
    }

    /// Returns whether a crash of the power may happen to the files.
    pub(super) fn is_durable(&self) -> bool {
        matches!(self.options.kind, MediumKind::File | MediumKind::Pmem { emulated: false })
    }
}

impl Volume {
    /// Makes the directory of a new graph, or takes an existing empty one, and locks it. One in which
    /// a creation has ended before it published its manifest is cleared.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the directory is not empty, [`Error::Io`] if it cannot be made,
    /// for example because its parent is absent.
    pub fn create(path: &Path, options: VolumeOptions) -> Result<Volume> {
        if options.kind == MediumKind::Dram {
            return Ok(Volume::in_memory(path, options, None));
        }
        let home = Home::Directory(Directory::create(path)?);
        Ok(Volume { shared: Arc::new(Shared::new(options, Access::Write, home)) })
    }

    /// Opens and locks the directory of an existing graph. If its last writer did not end well, a sync of
    /// it may have failed: files are then read from the device.
    ///
    /// # Errors
    /// [`Error::NotAGraph`] if there is no directory that `create` made; [`Error::InUse`] if
    /// another handle writes, or reads and this one is to write; [`Error::InvalidInput`] for dram,
    /// of which nothing outlives its volume.
    pub fn open(path: &Path, options: VolumeOptions, access: Access) -> Result<Volume> {
        if options.kind == MediumKind::Dram {
            let path = path.display();
            return Err(Error::invalid(format!("`{path}`: a dram graph cannot be opened again")));
        }
        let mut directory = Directory::open(path, access)?;
        if access == Access::Write {
            if options.kind == MediumKind::File {
                directory.drop_cached()?;
            }
            // Names that a process has left without syncing them are believed from now on.
            directory.sync(&Health::new())?;
        }
        let home = Home::Directory(directory);
        Ok(Volume { shared: Arc::new(Shared::new(options, access, home)) })
    }

    /// Opens the directory of an existing graph to read it, be it beside a writer: what is read is
    /// [pinned](Self::pin). Where the graph has no table of readers that this process may write to, as on a file
    /// system that is mounted for reading only, this is as [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open); [`Error::InUse`] if the table has no place left.
    pub fn open_beside_writer(path: &Path, options: VolumeOptions) -> Result<Volume> {
        let mut directory = Directory::open_unlocked(path, Access::Read)?;
        let table = directory.open_readers()?;
        let pin = table.map(|file| Pin::take(file, &path.join(READERS))).transpose()?.flatten();
        if pin.is_none() {
            directory.lock()?;
        }
        let mut shared = Shared::new(options, Access::Read, Home::Directory(directory));
        shared.pin = pin;
        Ok(Volume { shared: Arc::new(shared) })
    }

    /// Returns the place of this reader in the table, if it reads beside a writer.
    pub fn pin(&self) -> Option<&Pin> {
        self.shared.pin.as_ref()
    }

    /// Returns whether nobody writes now, as far as locks say.
    pub fn is_without_writer(&self) -> bool {
        match &self.shared.home {
            Home::Directory(directory) => directory.is_without_writer(),
            Home::Memory(_) => false,
        }
    }

    /// Lets readers in beside this writer, which looks at their [`Pins`] from now on.
    ///
    /// # Errors
    /// [`Error::NotAGraph`] if the table is not a regular file. Without room for the table, readers wait until
    /// the writer has ended.
    pub fn admit_readers(&self) -> Result<()> {
        if self.access() == Access::Read || self.shared.pins.get().is_some() {
            return Ok(());
        }
        let pins = match &self.shared.home {
            Home::Memory(_) => Pins::in_memory().ok(),
            Home::Directory(directory) => {
                let path = self.path().join(READERS);
                directory.make_readers()?.map(|file| Pins::of_file(file, &path)).transpose()?
            }
        };
        if let Some(pins) = pins {
            let _admitted_before = self.shared.pins.set(pins);
        }
        Ok(())
    }

    /// Lets [`open_region`](Self::open_region) return files again, and no copies.
    pub fn forget_copies(&self) {
        lock(&self.shared.copies).clear();
    }

    /// Returns what readers have pinned, if they are let in beside this writer.
    pub fn pins(&self) -> Option<&Pins> {
        self.shared.pins.get()
    }

    /// Copies some bytes of a file into memory of this process, the last ones of each range first, and the ranges in
    /// their order: [`open_region`](Self::open_region) returns the copy from now on, `len` bytes long, and zero elsewhere.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if there is no memory for it.
    ///
    /// # Panics
    /// If a range is not of whole words of 8 bytes, or ends beyond the file or `len`.
    pub fn copy_in_memory(
        &self,
        name: &str,
        len: u64,
        ranges: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<Region> {
        let file = self.open_region(name)?;
        let path = file.path().to_path_buf();
        let copy = Arc::new(Backing::anonymous(path, self.shared.next_number(), len)?);
        ranges.into_iter().for_each(|range| copy.fill_backwards(file.map(), range));
        lock(&self.shared.copies).insert(name.to_owned(), copy.clone());
        Ok(Region::new(self.shared.clone(), copy))
    }

    /// Makes an empty volume in memory.
    pub(super) fn in_memory(
        path: &Path,
        options: VolumeOptions,
        trace: Option<Arc<Trace>>,
    ) -> Volume {
        let home = Home::Memory(Arc::new(Memory::new(path)));
        let mut shared = Shared::new(options, Access::Write, home);
        shared.observer = trace.map(Observer::Trace).or_else(|| shared.observer.take());
        Volume { shared: Arc::new(shared) }
    }

    /// Opens a recorded volume anew, in the place of a handle that may be poisoned.
    pub(super) fn again(&self, trace: Arc<Trace>) -> Result<Volume> {
        let Home::Memory(memory) = &self.shared.home else {
            return Err(Error::invalid("only a recorded volume is opened in place of another"));
        };
        let home = Home::Memory(memory.clone());
        let mut shared = Shared::new(self.options(), Access::Write, home);
        shared.observer = Some(Observer::Trace(trace));
        let count = self.shared.region_count.load(Ordering::Relaxed);
        shared.region_count = AtomicU32::new(count);
        Ok(Volume { shared: Arc::new(shared) })
    }

    /// Fills an empty volume in memory with what a power loss left; regions keep their numbers.
    pub(super) fn fill(&self, image: &Image) -> Result<()> {
        let Home::Memory(memory) = &self.shared.home else { return Ok(()) };
        for (name, bytes) in &image.files.published {
            memory.publish(name, bytes);
        }
        for (&number, region) in &image.files.regions {
            let path = self.path().join(&*region.name);
            let backing = Backing::anonymous(path, number, region.len())?;
            // Pages of zeros are there without being stored.
            let pages = (0..).step_by(ZEROS.len()).zip(region.bytes.chunks(ZEROS.len()));
            for (offset, page) in pages.filter(|(_, page)| *page != &ZEROS[..page.len()]) {
                backing.fill(offset, page);
            }
            // What was stored before a file was cut there is gone.
            let is_inside = |patch: &&Patch| patch.end() <= region.len();
            let patches = image.patches.iter().filter(|patch| patch.region == number);
            patches.filter(is_inside).for_each(|patch| backing.fill(patch.offset, patch.bytes()));
            memory.add(&region.name, Arc::new(backing))?;
            self.shared.region_count.fetch_max(number + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Refuses to go on if the directory was removed: what is written then is lost with the process.
    ///
    /// Cost: a call of the system.
    ///
    /// # Errors
    /// [`Error::NotAGraph`] if it was.
    pub fn check_is_there(&self) -> Result<()> {
        match &self.shared.home {
            Home::Memory(_) => Ok(()),
            Home::Directory(directory) => directory.check_is_there(),
        }
    }

    /// Makes the file `name` of `len` zero bytes, durably, and maps it.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the medium has no room; then there is no such file. [`Error::Io`] if
    /// the file exists; [`Error::InvalidInput`] for a name that
    /// is not plain (letters, digits, `.`, `-`, `_`) or is the medium's own (`lock`, `*.tmp`).
    ///
    /// # Panics
    /// If `len` is not a multiple of 8.
    #[track_caller]
    pub fn create_region(&self, name: &str, len: u64) -> Result<Region> {
        let call = Call::new(CallKind::Create, None, Location::caller());
        assert!(len.is_multiple_of(8), "region length {len} is not a multiple of 8");
        self.shared.check_writable()?;
        check_name(name)?;
        let path = self.path().join(name);
        self.shared.next_call(&path, "allocate")?;
        let backing = match &self.shared.home {
            Home::Memory(memory) => {
                let region = self.shared.next_number();
                let backing = Arc::new(Backing::anonymous(path, region, len)?);
                memory.add(name, backing.clone())?;
                let name = name.into();
                self.shared.record(&call, || Event::Create { region, name, len });
                backing
            }
            Home::Directory(directory) => {
                let file = directory.create_file(name, len)?;
                if self.shared.is_durable() {
                    file.sync_all().map_err(|e| self.poison(e))?;
                    directory.sync(&self.shared.health)?;
                }
                Arc::new(self.map(path, file)?)
            }
        };
        let region = Region::new(self.shared.clone(), backing);
        region.populate(0..len)?;
        Ok(region)
    }

    /// Maps the existing file `name`. A tail of less than 8 bytes is not part of the region.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file; [`Error::NotAGraph`] if it is not a regular file;
    /// [`Error::InvalidInput`] if the medium is persistent memory and the file is not.
    pub fn open_region(&self, name: &str) -> Result<Region> {
        check_name(name)?;
        if let Some(copy) = lock(&self.shared.copies).get(name) {
            return Ok(Region::new(self.shared.clone(), copy.clone()));
        }
        self.shared.next_call(&self.path().join(name), "open")?;
        let backing = match &self.shared.home {
            Home::Memory(memory) => memory.region(name)?,
            Home::Directory(directory) => {
                let file = directory.open_file(name, self.shared.access())?;
                Arc::new(self.map(self.path().join(name), file)?)
            }
        };
        Ok(Region::new(self.shared.clone(), backing))
    }

    /// Removes what a creation in `path` has left that has ended with an error, and the directory, if no
    /// volume of it is held any more. What cannot be removed stays: another creation may begin there.
    pub fn remove_unfinished(path: &Path) {
        directory::remove_unfinished(path);
    }

    /// Removes what the creation that has made this volume has put there, and the directory if it was not there before:
    /// files of others stay, and so does an empty directory that the creation was given. A creation that has ended is undone, too, as
    /// long as its volume is open; a crash meanwhile leaves all of it, or one that has not ended. Nobody may use the volume after.
    ///
    /// Returns whether nothing is left that opens. Where the manifest of a creation that has ended cannot be taken away, all stays.
    #[must_use]
    pub fn undo_creation(self) -> bool {
        match &self.shared.home {
            Home::Directory(directory) => directory.undo_creation(&self.shared.health),
            Home::Memory(_) => true,
        }
    }

    /// Whether a directory holds what a creation has left that did not come to its end:
    /// [`create`](Self::create) takes it away and begins anew.
    pub fn is_unfinished(path: &Path) -> bool {
        directory::is_unfinished(path)
    }

    fn map(&self, path: PathBuf, file: BackingFile) -> Result<Backing> {
        Backing::file(path, self.shared.next_number(), file, &self.shared)
    }

    /// Makes `bytes` the whole content of the file `name`: a crash leaves the old or the new.
    ///
    /// # Errors
    /// [`Error::NoSpace`], and the old content stays. A failed sync or rename poisons the volume.
    #[track_caller]
    pub fn publish(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let call = Call::new(CallKind::Publish, None, Location::caller());
        self.shared.check_writable()?;
        check_name(name)?;
        let path = self.path().join(name);
        self.shared.next_call(&path, "write")?;
        self.shared.next_sync(&path)?;
        match &self.shared.home {
            Home::Memory(memory) => {
                let event = || Event::Publish { name: name.into(), bytes: bytes.into() };
                self.shared.record(&call, event);
                memory.publish(name, bytes);
            }
            Home::Directory(directory) => {
                let temporary = directory.create_temporary(name)?;
                temporary.write_at(0, bytes)?;
                let synced = temporary.sync();
                synced
                    .and_then(|()| directory.rename_temporary(name, temporary))
                    .map_err(|e| self.poison(e))?;
                directory.sync(&self.shared.health)?;
                if name == MANIFEST {
                    directory.finish();
                }
            }
        }
        Ok(())
    }

    /// Returns the whole content of the file `name`.
    ///
    /// # Errors
    /// [`Error::Corruption`] if it has more than `bytes_max` bytes, before any is read;
    /// [`Error::Io`] if there is no such file.
    pub fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
        check_name(name)?;
        self.shared.next_call(&self.path().join(name), "read")?;
        match &self.shared.home {
            Home::Directory(directory) => directory.read(name, bytes_max),
            Home::Memory(memory) => {
                let bytes = memory.file(name)?.to_vec();
                check_size(&self.path().join(name), bytes.len() as u64, bytes_max)?;
                Ok(bytes)
            }
        }
    }

    /// Removes the file `name`, durably. A region of it stays usable until its last handle goes.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file. A failed sync poisons the volume.
    #[track_caller]
    pub fn remove(&self, name: &str) -> Result<()> {
        let call = Call::new(CallKind::Remove, None, Location::caller());
        self.shared.check_writable()?;
        check_name(name)?;
        let path = self.path().join(name);
        self.shared.next_call(&path, "remove")?;
        self.shared.next_sync(&path)?;
        match &self.shared.home {
            Home::Memory(memory) => {
                memory.remove(name)?;
                self.shared.record(&call, || Event::Remove { name: name.into() });
                Ok(())
            }
            Home::Directory(directory) => {
                directory.remove(name)?;
                directory.sync(&self.shared.health)
            }
        }
    }

    /// Removes the files `names`, as far as they are there, and then the directory itself.
    ///
    /// # Errors
    /// [`Error::Io`] if the directory holds other files, which stay.
    pub fn remove_all(self, names: &[&str]) -> Result<()> {
        for name in names {
            if self.contains(name)? {
                self.remove(name)?;
            }
        }
        match &self.shared.home {
            Home::Directory(directory) => directory.remove_itself(),
            _ => Ok(()),
        }
    }

    /// Returns whether there is a file `name`.
    pub fn contains(&self, name: &str) -> Result<bool> {
        check_name(name)?;
        match &self.shared.home {
            Home::Directory(directory) => directory.contains(name),
            Home::Memory(memory) => Ok(memory.contains(name)),
        }
    }

    /// Returns the names of all files.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system does not say.
    pub fn names(&self) -> Result<Vec<String>> {
        match &self.shared.home {
            Home::Directory(directory) => directory.names(),
            Home::Memory(memory) => Ok(memory.names()),
        }
    }

    /// Returns how many bytes the volume takes on its medium.
    pub fn disk_bytes(&self) -> Result<u64> {
        match &self.shared.home {
            Home::Directory(directory) => directory.disk_bytes(),
            Home::Memory(memory) => Ok(memory.bytes()),
        }
    }

    /// Returns the bytes in which the device is best read and written: the block of the file
    /// system, as a power of two from 256 to 4,096.
    pub fn granularity(&self) -> u32 {
        let block_bytes = match &self.shared.home {
            Home::Directory(directory) => directory.block_bytes(),
            Home::Memory(_) => None,
        };
        let bytes = block_bytes.unwrap_or(GRANULARITY_MAX).clamp(GRANULARITY_MIN, GRANULARITY_MAX);
        1 << bytes.ilog2()
    }

    /// Measures at which number of threads random reads of the device are no longer far slower than
    /// sequential ones (`probe.rs`). Returns nothing where that cannot be measured.
    pub fn measure_io_threshold(&self) -> Option<u32> {
        match &self.shared.home {
            Home::Directory(directory) => {
                probe::io_threshold(directory.fd(), self.granularity()).ok()
            }
            Home::Memory(_) => None,
        }
    }

    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        self.shared.path()
    }

    /// Returns how the volume was made or opened.
    pub fn options(&self) -> VolumeOptions {
        self.shared.options
    }

    /// Returns what the volume is open for.
    pub fn access(&self) -> Access {
        self.shared.access()
    }

    /// Makes it a handle for reading, which keeps its lock, because of `damage`: what is opened from now on is
    /// not written to. What is open already is not flushed any more, and the caller stores nothing there.
    pub fn restrict_to_reading(&self, damage: Error) {
        let _ = self.shared.damage.set(damage);
    }

    /// Refuses a change through a handle for reading, and what [`check_health`](Self::check_health) refuses.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], or the damage because of which it is [restricted](Self::restrict_to_reading).
    pub fn check_writable(&self) -> Result<()> {
        self.shared.check_writable()
    }

    /// Refuses what changes and fences would be refused for: a sync has failed, or this process was
    /// forked from the one that opened the volume.
    ///
    /// # Errors
    /// [`Error::Poisoned`] or [`Error::Forked`].
    #[inline]
    pub fn check_health(&self) -> Result<()> {
        self.shared.check_health()
    }

    /// Returns what was counted so far, if the options asked for it.
    pub fn meter(&self) -> Option<MeterReading> {
        self.shared.observer.as_ref().and_then(Observer::reading)
    }

    fn poison(&self, error: Error) -> Error {
        self.shared.poison(error)
    }
}

/// Refuses names that could leave the directory or meet the medium's own files.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let is_good = name.bytes().all(is_plain)
        && (1..=200).contains(&name.len())
        && !name.starts_with('.')
        && !name.ends_with(".tmp")
        && name != "lock"
        && name != READERS;
    match is_good {
        true => Ok(()),
        false => Err(Error::invalid(format!("`{name}` is not a name for a file of a graph"))),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::Site;

    /// The rename of the manifest came through, and the sync of its directory did not.
    #[test]
    fn a_creation_whose_last_sync_fails_is_undone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sealed");
        let volume = Volume::create(&path, VolumeOptions::new(MediumKind::File)).unwrap();
        volume.publish(MANIFEST, b"some").unwrap();
        // The mark goes after that sync only.
        std::fs::copy(path.join("lock"), path.join("unfinished.tmp")).unwrap();
        let failed = volume.poison(Error::io(&path, "sync directory", Errno::IO));
        assert!(matches!(volume.publish("more", b""), Err(Error::Poisoned { .. })), "{failed}");
        assert!(volume.undo_creation());
        assert!(!path.exists());
    }

    /// They are written by a call, and shown where the file is mapped.
    #[test]
    fn many_words_are_stored_where_few_are() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("graph");
        let volume = Volume::create(&path, VolumeOptions::new(MediumKind::File)).unwrap();
        let region = volume.create_region("words", 1 << 19).unwrap();
        let words: Vec<u32> = (1..=1 << 16).collect();
        region.store_words(4, &[7; 3]);
        region.store_words(12, &words);
        let found = |region: &Region| {
            let words = region.words(4, words.len() + 3).iter();
            words.map(|word| word.load(Ordering::Relaxed)).collect::<Vec<_>>()
        };
        let expected: Vec<u32> =
            [7, 7].into_iter().chain(words.iter().copied()).chain([0]).collect();
        assert_eq!(found(&region), expected);
        region.flush(Site::Names, 0..region.len());
        region.fence(Site::Names).unwrap();
        let beyond = region.len() - 4 * words.len() as u64 + 4;
        let refused = std::panic::AssertUnwindSafe(|| region.store_words(beyond, &words));
        assert!(std::panic::catch_unwind(refused).is_err());
        assert_eq!(path.join("words").metadata().unwrap().len(), region.len());
        drop((region, volume));
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::open(&path, options, Access::Read).unwrap();
        let region = volume.open_region("words").unwrap();
        // A reader's map is its own.
        region.store_words(4, &words);
        assert_eq!(std::fs::read(path.join("words")).unwrap()[4..8], [7, 0, 0, 0]);
    }
}
