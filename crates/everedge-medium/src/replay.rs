//! Replays a trace and builds what each crash point could leave.
//!
//! # Model
//! Stores wait, by unit, until a fence makes them durable. The unit is a cache line of 64 bytes
//! on persistent memory, a sector of 512 on a file; of each a prefix of its waiting stores may
//! have persisted. A fence takes from persistent memory what its thread had flushed or any
//! thread had drained, in its region; from a file everything, if anything was flushed. Sectors
//! that were allocated and never synced may also hold garbage. With eADR nothing waits.
//!
//! A sync of a file that fails loses what waits: the stores are clean, so that no later sync writes
//! them, a killed process leaves them to be read, and a power loss may have kept any of them. Storing
//! to such a sector again makes all of it wait again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::thread::ThreadId;

use super::MediumKind;
use super::choices::Choices;
use super::image::{Files, Image, Patch, RegionImage, digest_published, scramble};
use super::record::{Event, ImageRule, Mark, Recording};

const LINE_BYTES: u64 = 64;
const SECTOR_BYTES: u64 = 512;

/// A line or sector of a region.
type Unit = (u32, u64);

/// A replay as far as it has come.
pub(super) struct Replay<V> {
    crash: Crash<V>,
    rule: ImageRule,
    /// Whether the process is killed, so that all that was stored stays, and not the power lost.
    is_killed: bool,
    /// Whether points are visited here: not before the process lived, or did wrong.
    is_visited: bool,
    kind: MediumKind,
    is_eadr: bool,
    unit_bytes: u64,
    /// The stores that wait, each with the number of its event.
    waiting: BTreeMap<Unit, Vec<(usize, Patch)>>,
    /// The stores that a failed sync lost; no unit is both here and above.
    lost: BTreeMap<Unit, Vec<(usize, Patch)>>,
    flushed: Vec<Flushed>,
    synced: Synced,
    /// What the last change of names or lengths leaves where it was not synced.
    last_change: Option<Unsynced>,
    /// The same while that may come back.
    unsynced: Option<Unsynced>,
}

/// What may be found in the place of a change of names or lengths that was not synced.
#[derive(Clone)]
enum Unsynced {
    Region { number: u32, before: Option<RegionImage> },
    Published { name: Arc<str>, before: Option<Arc<[u8]>> },
}

/// A range that waits for a fence.
struct Flushed {
    region: u32,
    range: Range<u64>,
    /// Whose fence takes it; none after a drain: anyone's.
    thread: Option<ThreadId>,
    event: usize,
}

/// Which sectors of a file were ever synced; the others may hold garbage.
#[derive(Default)]
struct Synced {
    old_len: BTreeMap<u32, u64>,
    sectors: BTreeSet<Unit>,
}

impl Synced {
    fn contains(&self, unit: Unit) -> bool {
        let old_len = self.old_len.get(&unit.0).copied().unwrap_or(0);
        unit.1 * SECTOR_BYTES < old_len || self.sectors.contains(&unit)
    }

    fn cut(&mut self, region: u32, len: u64) {
        if let Some(old_len) = self.old_len.get_mut(&region) {
            *old_len = len.min(*old_len);
        }
        self.sectors.retain(|unit| unit.0 != region || (unit.1 * SECTOR_BYTES) < len);
    }
}

/// The stores of a unit that wait at a crash point.
struct Line<'a> {
    unit: Unit,
    is_lost: bool,
    stores: &'a [(usize, Patch)],
    /// `digests[i]`: what the first i stores add to the digest.
    digests: Vec<u64>,
}

impl<V: FnMut(&Image) -> ControlFlow<()>> Replay<V> {
    pub(super) fn new(start: &Image, rule: ImageRule, visit: V) -> Replay<V> {
        let mut durable = start.clone();
        durable.files = start.to_files();
        Self::of(start, durable, rule, false, visit)
    }

    /// Replays for what a killed process leaves: one image at each point.
    pub(super) fn of_kills(start: &Image, visit: V) -> Replay<V> {
        let mut durable = start.clone();
        durable.files = start.to_files();
        Self::of(start, durable, ImageRule { point_images_max: 1, seed: 0 }, true, visit)
    }

    fn of(start: &Image, mut durable: Image, rule: ImageRule, is_killed: bool, visit: V) -> Self {
        durable.patches.clear();
        durable.lost_count = 0;
        (durable.point, durable.choice) = (0, 0);
        let lengths = durable.files.regions.iter().map(|(&number, region)| (number, region.len()));
        let synced = Synced { old_len: lengths.collect(), sectors: BTreeSet::new() };
        let kind = start.options().kind;
        Replay {
            crash: Crash { durable, visit },
            rule,
            is_killed,
            is_visited: true,
            kind,
            is_eadr: start.options().eadr,
            unit_bytes: if kind == MediumKind::File { SECTOR_BYTES } else { LINE_BYTES },
            waiting: BTreeMap::new(),
            lost: BTreeMap::new(),
            flushed: Vec::new(),
            synced,
            last_change: None,
            unsynced: None,
        }
    }

    /// Replays all events and visits the images of all points.
    pub(super) fn run(mut self, recording: &Recording) -> ControlFlow<()> {
        if self.kind == MediumKind::Dram {
            return ControlFlow::Continue(());
        }
        for (number, event) in recording.events.iter().enumerate() {
            self.is_visited = number >= recording.inherited;
            self.step(number, event, &recording.data)?;
        }
        self.is_visited = true;
        self.crash_here()
    }

    fn step(&mut self, number: usize, event: &Event, data: &[u8]) -> ControlFlow<()> {
        match event {
            Event::Store { region, offset, data: range } => {
                if self.crash.durable.files.regions.contains_key(region) {
                    for patch in Patch::split(*region, *offset, &data[range.clone()]) {
                        self.store(number, patch)?;
                    }
                }
            }
            Event::Flush { region, range, thread } => self.flushed.push(Flushed {
                region: *region,
                range: range.clone(),
                thread: Some(*thread),
                event: number,
            }),
            Event::Drain { region, thread } => {
                for flushed in self.flushed.iter_mut() {
                    if flushed.region == *region && flushed.thread == Some(*thread) {
                        flushed.thread = None;
                    }
                }
            }
            Event::Fence { region, thread } => {
                self.crash_here()?;
                match self.kind {
                    MediumKind::File => self.sync_file(*region),
                    _ => self.fence_lines(*region, *thread),
                }
            }
            Event::Lose { region } => {
                self.crash_here()?;
                self.lose(*region);
            }
            Event::Mark(mark) => self.mark(*mark)?,
            Event::Unsynced { is_torn } => {
                self.unsynced = self.last_change.take();
                if let (true, Some(Unsynced::Published { before, .. })) =
                    (*is_torn, &mut self.unsynced)
                {
                    *before = Some(Arc::from([]));
                }
            }
            change => {
                self.crash_here()?;
                self.sync_names(change);
                self.last_change = self.before(change);
                self.change_file(change)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn store(&mut self, event: usize, patch: Patch) -> ControlFlow<()> {
        if self.is_eadr {
            self.crash.persist(&patch);
            return self.crash_here();
        }
        let unit = (patch.region, patch.offset / self.unit_bytes);
        let lost = self.lost.remove(&unit);
        let waiting = self.waiting.entry(unit).or_insert_with(|| lost.unwrap_or_default());
        waiting.push((event, patch));
        if self.is_killed { self.crash_here() } else { ControlFlow::Continue(()) }
    }

    fn mark(&mut self, mark: Mark) -> ControlFlow<()> {
        let marks = &mut self.crash.durable.marks;
        match mark {
            Mark::Begin(operation) => marks.begun = operation,
            Mark::Acknowledged(operation) => {
                marks.acknowledged = operation;
                if self.is_eadr || self.is_killed {
                    return self.crash_here();
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Makes durable what the thread flushed, or anyone drained, in the region.
    fn fence_lines(&mut self, region: u32, thread: ThreadId) {
        let is_taken = |flushed: &Flushed| {
            flushed.region == region && flushed.thread.is_none_or(|owner| owner == thread)
        };
        for flushed in self.flushed.extract_if(.., |flushed| is_taken(flushed)) {
            let first = flushed.range.start / LINE_BYTES;
            let end = flushed.range.end.div_ceil(LINE_BYTES).max(first);
            for (_, stores) in self.waiting.range_mut((region, first)..(region, end)) {
                let count = stores.partition_point(|(event, _)| *event < flushed.event);
                stores.drain(..count).for_each(|(_, patch)| self.crash.persist(&patch));
            }
        }
        self.waiting.retain(|_, stores| !stores.is_empty());
    }

    /// Makes durable what was stored in the region, if any of it was flushed.
    fn sync_file(&mut self, region: u32) {
        let flushed_count = self.flushed.len();
        self.flushed.retain(|flushed| flushed.region != region);
        if self.flushed.len() == flushed_count {
            return;
        }
        for (unit, stores) in self.waiting.extract_if(unit_range(region, 0), |_, _| true) {
            self.synced.sectors.insert(unit);
            stores.iter().for_each(|(_, patch)| self.crash.persist(patch));
        }
    }

    /// A sync of the region has failed.
    fn lose(&mut self, region: u32) {
        self.flushed.retain(|flushed| flushed.region != region);
        self.lost.extend(self.waiting.extract_if(unit_range(region, 0), |_, _| true));
    }

    /// Drops all stores to the units of a region from `first` on.
    fn forget(&mut self, region: u32, first: u64) {
        for stores in [&mut self.waiting, &mut self.lost] {
            stores.extract_if(unit_range(region, first), |_, _| true).for_each(drop);
        }
    }

    /// Makes a durable change of names or lengths, which may be cut short halfway.
    fn change_file(&mut self, event: &Event) -> ControlFlow<()> {
        match event {
            Event::Create { region, name, len } => {
                let new = RegionImage::new(name.clone());
                if *len > 8 {
                    self.crash.put(*region, new.resized(len / 2 / 8 * 8));
                    self.crash_at_extremes()?;
                }
                self.crash.put(*region, new.resized(*len));
            }
            Event::Resize { region, len } => {
                let Some(old) = self.crash.durable.files.regions.get(region).cloned() else {
                    return ControlFlow::Continue(());
                };
                if *len > old.len() + 8 {
                    let halfway = old.len() + (len - old.len()) / 2 / 8 * 8;
                    self.crash.put(*region, old.resized(halfway));
                    self.crash_at_extremes()?;
                }
                self.crash.put(*region, old.resized(*len));
                self.synced.cut(*region, *len);
                self.forget(*region, len.div_ceil(self.unit_bytes));
            }
            Event::Publish { name, bytes } => self.crash.publish(name, bytes),
            Event::Remove { name } => {
                if let Some(region) = self.crash.remove(name) {
                    self.forget(region, 0);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// A change of names is synced, and names that were not before, or a length.
    fn sync_names(&mut self, change: &Event) {
        let is_synced = match (&self.unsynced, change) {
            (Some(Unsynced::Region { number, .. }), Event::Resize { region, .. }) => {
                number == region
            }
            (_, Event::Resize { .. }) => false,
            _ => true,
        };
        if is_synced {
            self.unsynced = None;
        }
    }

    /// Returns what is there before a change of names or lengths.
    fn before(&self, change: &Event) -> Option<Unsynced> {
        let files = &self.crash.durable.files;
        let region =
            |number: u32| Unsynced::Region { number, before: files.regions.get(&number).cloned() };
        match change {
            Event::Create { region: number, .. } | Event::Resize { region: number, .. } => {
                Some(region(*number))
            }
            Event::Publish { name, .. } => {
                let before = files.published.get(name).cloned();
                Some(Unsynced::Published { name: name.clone(), before })
            }
            Event::Remove { name } => {
                let number = files.regions.iter().find(|(_, region)| region.name == *name);
                number.map(|(&number, _)| region(number))
            }
            _ => None,
        }
    }

    /// Visits the images that a crash at this point could leave.
    fn crash_here(&mut self) -> ControlFlow<()> {
        self.crash_with_names()?;
        let Some(unsynced) = self.unsynced.clone().filter(|_| !self.is_killed && self.is_visited)
        else {
            return ControlFlow::Continue(());
        };
        let durable = self.crash.durable.clone();
        match unsynced {
            Unsynced::Region { number, before } => self.crash.put_back(number, before),
            Unsynced::Published { name, before } => {
                self.crash.remove(&name);
                if let Some(bytes) = before {
                    self.crash.publish(&name, &bytes);
                }
            }
        }
        let visited = self.crash_at_extremes();
        self.crash.durable = durable;
        visited
    }

    /// The same with the names and lengths that there should be.
    fn crash_with_names(&mut self) -> ControlFlow<()> {
        let durable = &mut self.crash.durable;
        (durable.point, durable.choice) = (durable.point + 1, 0);
        if !self.is_visited {
            return ControlFlow::Continue(());
        }
        let stores = [&self.lost, &self.waiting];
        let lines = lines(stores, &self.crash.durable.files, self.unit_bytes);
        let counts: Vec<usize> = lines.iter().map(|line| line.stores.len()).collect();
        if self.is_killed {
            return self.crash.visit(&lines, &counts, None);
        }
        let seed = scramble(self.rule.seed ^ scramble(self.crash.durable.point));
        let mut choices = Choices::new(&counts, self.rule.point_images_max.max(2), seed);
        while let Some(choice) = choices.next() {
            self.crash.visit(&lines, choice, None)?;
        }
        if self.kind != MediumKind::File {
            return ControlFlow::Continue(());
        }
        let none = vec![0; lines.len()];
        let fresh = (0..lines.len()).filter(|&idx| !self.synced.contains(lines[idx].unit));
        for idx in fresh.take((self.rule.point_images_max / 4).max(1) as usize) {
            self.crash.visit(&lines, &counts, Some(idx))?;
            self.crash.visit(&lines, &none, Some(idx))?;
        }
        ControlFlow::Continue(())
    }

    /// Visits two images of this point: nothing that waits persisted, or all of it.
    fn crash_at_extremes(&mut self) -> ControlFlow<()> {
        if !self.is_visited {
            return ControlFlow::Continue(());
        }
        let stores = [&self.lost, &self.waiting];
        let lines = lines(stores, &self.crash.durable.files, self.unit_bytes);
        let all: Vec<usize> = lines.iter().map(|line| line.stores.len()).collect();
        if !self.is_killed {
            self.crash.visit(&lines, &vec![0; lines.len()], None)?;
        }
        self.crash.visit(&lines, &all, None)
    }
}

/// What is durable, and who looks at the images.
struct Crash<V> {
    durable: Image,
    visit: V,
}

impl<V: FnMut(&Image) -> ControlFlow<()>> Crash<V> {
    /// Visits the image in which of each line the chosen number of stores persisted, and one line
    /// may hold garbage instead.
    fn visit(
        &mut self,
        lines: &[Line<'_>],
        choice: &[usize],
        garbage: Option<usize>,
    ) -> ControlFlow<()> {
        let digest = self.durable.content_digest;
        for (idx, (line, &count)) in lines.iter().zip(choice).enumerate() {
            if garbage == Some(idx) {
                self.add_garbage(line.unit);
                continue;
            }
            self.durable.patches.extend(line.stores[..count].iter().map(|(_, patch)| *patch));
            self.durable.lost_count += if line.is_lost { count } else { 0 };
            let sum = self.durable.content_digest.wrapping_add(line.digests[count]);
            self.durable.content_digest = sum;
        }
        let result = (self.visit)(&self.durable);
        self.durable.choice += 1;
        self.durable.patches.clear();
        self.durable.lost_count = 0;
        self.durable.content_digest = digest;
        result
    }

    fn add_garbage(&mut self, unit: Unit) {
        let words = (0..SECTOR_BYTES / 8).map(|i| scramble(unit.1 << 8 | i).to_le_bytes());
        let bytes: Vec<u8> = words.flatten().collect();
        let start = unit.1 * SECTOR_BYTES;
        let Some(region) = self.durable.files.regions.get(&unit.0) else { return };
        let end = region.len().min(start + SECTOR_BYTES);
        let mut sector = region.bytes[start as usize..end as usize].to_vec();
        for patch in Patch::split(unit.0, start, &bytes[..sector.len()]) {
            let added = patch.apply(&mut sector, start, region.key());
            self.durable.content_digest = self.durable.content_digest.wrapping_add(added);
            self.durable.patches.push(patch);
        }
    }

    fn persist(&mut self, patch: &Patch) {
        let added = Arc::make_mut(&mut self.durable.files).apply(patch);
        self.durable.content_digest = self.durable.content_digest.wrapping_add(added);
    }

    fn put(&mut self, number: u32, region: RegionImage) {
        let digest = region.digest();
        let old = Arc::make_mut(&mut self.durable.files).regions.insert(number, region);
        self.replace_digest(old.map_or(0, |old| old.digest()), digest);
    }

    /// Puts a region in place again with the length that it had before, or takes it away.
    fn put_back(&mut self, number: u32, before: Option<RegionImage>) {
        let now = self.durable.files.regions.get(&number);
        if let Some(before) = before {
            // What it holds by now stays, as far as it was as long before.
            let bytes = now.map(|now| now.with_tail_of(&before));
            return self.put(number, bytes.unwrap_or(before));
        }
        let old = Arc::make_mut(&mut self.durable.files).regions.remove(&number);
        self.replace_digest(old.map_or(0, |old| old.digest()), 0);
    }

    fn publish(&mut self, name: &Arc<str>, bytes: &Arc<[u8]>) {
        let files = Arc::make_mut(&mut self.durable.files);
        let old = files.published.insert(name.clone(), bytes.clone());
        let old_digest = old.map_or(0, |old| digest_published(name, &old));
        self.replace_digest(old_digest, digest_published(name, bytes));
    }

    /// Removes a file and returns its number if it was a region.
    fn remove(&mut self, name: &Arc<str>) -> Option<u32> {
        let files = Arc::make_mut(&mut self.durable.files);
        if let Some(old) = files.published.remove(name) {
            self.replace_digest(digest_published(name, &old), 0);
            return None;
        }
        let number = *files.regions.iter().find(|(_, region)| region.name == *name)?.0;
        let old = files.regions.remove(&number)?;
        self.replace_digest(old.digest(), 0);
        Some(number)
    }

    fn replace_digest(&mut self, old: u64, new: u64) {
        let sum = self.durable.content_digest.wrapping_sub(old).wrapping_add(new);
        self.durable.content_digest = sum;
    }
}

/// Returns the units of a region from `first` on.
fn unit_range(region: u32, first: u64) -> Range<Unit> {
    (region, first)..(region + 1, 0)
}

/// Returns the units whose stores were lost or wait, with what these add to the digest.
fn lines<'a>(
    [lost, waiting]: [&'a BTreeMap<Unit, Vec<(usize, Patch)>>; 2],
    files: &Files,
    unit_bytes: u64,
) -> Vec<Line<'a>> {
    let line = |is_lost: bool, (&unit, stores): (&Unit, &'a Vec<(usize, Patch)>)| {
        let region = files.regions.get(&unit.0)?;
        let start = (unit.1 * unit_bytes).min(region.len());
        let end = (start + unit_bytes).min(region.len());
        let mut bytes = region.bytes[start as usize..end as usize].to_vec();
        let mut digests = vec![0_u64];
        for (_, patch) in stores {
            let added = patch.apply(&mut bytes, unit.1 * unit_bytes, region.key());
            digests.push(digests[digests.len() - 1].wrapping_add(added));
        }
        Some(Line { unit, is_lost, stores, digests })
    };
    let lost = lost.iter().filter_map(|stores| line(true, stores));
    lost.chain(waiting.iter().filter_map(|stores| line(false, stores))).collect()
}
