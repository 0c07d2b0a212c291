//! A timeline: how a version is added, how all are found again, and how old ones are let go.
//!
//! Source: PIE §3.2 (contiguous writes; a version counts from one 8-byte number on that is stored after a
//! fence; recovery rebuilds what is in memory).
//!
//! After a crash the end of the file of versions is the old one or the new one. What lies behind it is
//! overwritten by the next version.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::WeightedView;
use everedge_core::par::Alone;
use everedge_medium::{Error, Result, Volume};
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

use super::changes::Changes;
use super::compare;
use super::file::{FIRST_WORD, File, VERSIONS};
use super::lifetimes::VERSIONS_MAX;
use super::rebase::{self, EqualEdges};
use super::segment::{LINE_WORDS, NAME_BYTES_MAX, NewSegment, Segment, Totals};
use super::sums::{Sums, sums};
use super::tip::Tip;
use super::view::VersionView;
use super::window::Window;
use super::{TimelineOptions, Version};

/// A durable history of versions of a graph.
///
/// Any number of threads may read it while others add versions, which they do one after the other. A thread that holds a
/// lock around a loop is [`Alone`]: in a caller's own pool it takes no other work that might wait for the lock.
pub struct Timeline {
    volume: Volume,
    options: TimelineOptions,
    /// Whoever lets old versions go holds it, and takes it before the next.
    rebasing: Mutex<()>,
    /// Whoever changes what versions there are holds it.
    writer: Mutex<()>,
    state: RwLock<State>,
    missed_deletions: AtomicU64,
}

struct State {
    file: File,
    tip: Tip,
    /// Whether the lists of the first version were looked at.
    is_base_checked: bool,
}

impl Timeline {
    /// Makes the files of a timeline without versions in a volume. `salt` is drawn from the identity of the
    /// directory.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails.
    pub fn create(volume: &Volume, salt: u32, options: TimelineOptions) -> Result<Self> {
        let file = File::create(volume, salt, 0)?;
        file.publish(volume)?;
        Ok(Self::new(volume, options, file, Tip::default()))
    }

    /// Opens the timeline of a volume.
    ///
    /// Cost: what all versions but the first one changed is read once.
    ///
    /// # Errors
    /// `Corruption` if it is damaged, `Version` if it is of another format; `Io` if there is none.
    pub fn open(volume: &Volume, salt: u32, options: TimelineOptions) -> Result<Self> {
        let file = File::open(volume, salt)?;
        let mut tip = Tip::default();
        let end = file.end()?;
        match read_into(&mut tip, &file, end).into_iter().next() {
            None => Ok(Self::new(volume, options, file, tip)),
            Some(damage) => Err(damage),
        }
    }

    /// Opens what is whole of a damaged timeline: the versions before the first whose bytes are damaged. Returns
    /// what is damaged, too, as far as it can be told: after a damaged header nothing says where the next version begins. The
    /// volume is open for reading.
    ///
    /// # Errors
    /// As [`Self::open`], if no version can be told from others.
    pub fn salvage(
        volume: &Volume,
        salt: u32,
        options: TimelineOptions,
    ) -> Result<(Self, Vec<Error>)> {
        let (file, end, damage) = File::salvage(volume, salt)?;
        let mut tip = Tip::default();
        let of_versions = read_into(&mut tip, &file, end);
        // Where the end is not known, the first thing that is no version is likely it.
        let damage = match damage {
            Some(damage) => vec![damage],
            None => of_versions,
        };
        Ok((Self::new(volume, options, file, tip), damage))
    }

    fn new(volume: &Volume, options: TimelineOptions, file: File, tip: Tip) -> Self {
        let state = RwLock::new(State { file, tip, is_base_checked: false });
        let (rebasing, writer) = (Mutex::new(()), Mutex::new(()));
        let missed_deletions = AtomicU64::new(0);
        Self { volume: volume.clone(), options, rebasing, writer, state, missed_deletions }
    }

    /// Returns what is fixed for all versions.
    pub fn options(&self) -> &TimelineOptions {
        &self.options
    }

    /// Returns the versions, ascending.
    pub fn versions(&self) -> Vec<Version> {
        let state = self.state.read();
        state.tip.segments().iter().map(|segment| segment.version.clone()).collect()
    }

    /// Returns the newest version, if there is one.
    pub fn newest(&self) -> Option<Version> {
        self.state.read().tip.segments().last().map(|segment| segment.version.clone())
    }

    /// Returns a number above every vertex id of any version.
    pub fn vertex_bound(&self) -> u32 {
        self.state.read().tip.totals().vertex_bound
    }

    /// Returns how many deletions that were committed since it was opened found no edge.
    pub fn missed_deletions(&self) -> u64 {
        self.missed_deletions.load(Relaxed)
    }

    /// Removes its files. What it has there is lost.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn remove(&self) -> Result<()> {
        self.volume.remove(VERSIONS)?;
        self.state.read().file.remove(&self.volume)
    }

    /// Returns the bytes that the timeline's directory takes on its medium.
    ///
    /// # Errors
    /// `Io` if the operating system does not say.
    pub fn disk_bytes(&self) -> Result<u64> {
        self.volume.disk_bytes()
    }

    /// Adds what `changes` come to as a version, which is durable on return. `time` is in microseconds since
    /// 1970, and not before that of the last version.
    ///
    /// Cost: the changes, sorted; a look at each list of an edge that is deleted; two fences. The first one after an opening
    /// reads the first version, to check it.
    ///
    /// # Errors
    /// `InvalidInput` if the name is longer than 1,024 bytes, the time before the last version's, a vertex ends that
    /// has edges, or the file might come to hold more than 2^32 - 1 edges of one direction; `NoSpace` if the medium is full, and nothing
    /// has changed then; `Corruption` if what it reads is damaged; `Poisoned` after a failed fence; `ReadOnly` if
    /// it is open for reading.
    pub fn commit(&self, changes: Changes, time: i64, name: Option<&str>) -> Result<Version> {
        let (writer, _alone) = (self.writer.lock(), Alone::new());
        self.add(&writer, changes, (time, name))
    }

    /// Returns how many entries so many edges are in the lists of one direction.
    fn stored_for(&self, edges: u64) -> u64 {
        // An edge without directions is in two lists.
        if self.options.directed { edges } else { 2 * edges }
    }

    /// Adds a version, beside no other that does.
    fn add(
        &self,
        _writer: &MutexGuard<'_, ()>,
        changes: Changes,
        (time, name): (i64, Option<&str>),
    ) -> Result<Version> {
        self.volume.check_writable()?;
        let (file, version, change) = {
            let state = self.checked()?;
            let tip = &state.tip;
            check(tip, self.stored_for(changes.insertions() as u64), (time, name))?;
            let damaged = |wrong| state.file.damaged(FIRST_WORD, wrong);
            let change = changes.net(tip, &self.options).map_err(damaged)?;
            if let Some(v) = change.with_edges {
                let what = format!("vertex {v} ends and still has edges: delete them before");
                return Err(Error::InvalidInput { what });
            }
            let version = Version {
                number: tip.segments().last().map_or(1, |last| last.version.number + 1),
                time,
                name: name.map(str::to_owned),
                vertices: change.totals.vertex_count,
                edges: change.totals.edges,
                additions: change.additions,
                deletions: change.deletions,
            };
            (state.file.clone(), version, change)
        };
        let segment = NewSegment::of(&version, &change.totals, &change.delta);
        let (words, segment) = file.append(&segment)?;
        let pushed = self.state.write().tip.push(words, Arc::new(segment));
        pushed.map_err(|wrong| file.damaged(FIRST_WORD, wrong))?;
        self.missed_deletions.fetch_add(change.missed, Relaxed);
        Ok(version)
    }

    /// Makes what a graph is now a version, which is durable on return: the first one is written as it is, later
    /// ones as what has changed. The graph has edges as the timeline's options say. `time` is as for
    /// [`Self::commit`].
    ///
    /// Cost: all lists of the graph and of the version before are read.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub fn commit_graph(
        &self,
        graph: &impl WeightedView,
        time: i64,
        name: Option<&str>,
    ) -> Result<Version> {
        let (writer, _alone) = (self.writer.lock(), Alone::new());
        match self.newest() {
            Some(newest) => {
                let changes = compare::changes_to(&self.at(newest.number)?, graph)?;
                self.add(&writer, changes, (time, name))
            }
            None => self.add_first(&writer, graph, (time, name)),
        }
    }

    /// Writes a graph as the first version.
    fn add_first(
        &self,
        _writer: &MutexGuard<'_, ()>,
        graph: &impl WeightedView,
        (time, name): (i64, Option<&str>),
    ) -> Result<Version> {
        self.volume.check_writable()?;
        let file = {
            let state = self.state.read();
            check(&state.tip, self.stored_for(graph.edge_count()), (time, name))?;
            state.file.clone()
        };
        let ids = || graph.vertex_ranges().into_iter().flatten();
        let loops_of = |v| graph.out_neighbors(v).filter(|&to| to == v).count() as u64;
        let totals = Totals {
            vertex_bound: graph.vertex_bound(),
            vertex_count: graph.vertex_count(),
            edges: graph.edge_count(),
            loops: ids().map(loops_of).sum(),
        };
        let version = Version {
            number: 1,
            time,
            name: name.map(str::to_owned),
            vertices: totals.vertex_count,
            edges: totals.edges,
            additions: totals.edges,
            deletions: 0,
        };
        let list_count = if self.options.directed && self.options.in_neighbors { 2 } else { 1 };
        let form = (list_count, self.options.weighted);
        let tip =
            rebase::write_base(&file, graph, (&version, &totals), form, EqualEdges::ByWeight)?;
        let mut state = self.state.write();
        (state.tip, state.is_base_checked) = (tip, true);
        Ok(version)
    }

    /// Returns the graph of a version.
    ///
    /// Cost: a bit for each stored edge, and the edges that later versions than the first have added.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such version; `Corruption` if what it reads is damaged.
    pub fn at(&self, number: u64) -> Result<VersionView> {
        let (_alone, state) = (Alone::new(), self.checked()?);
        let index = index_of(&state.tip, number)?;
        Ok(VersionView::new(&state.tip, index, &self.options))
    }

    /// Returns the graph as it was at a time, in microseconds since 1970: of the last version that is not
    /// later.
    ///
    /// # Errors
    /// As [`Self::at`]; `InvalidInput` if all versions are later.
    pub fn at_time(&self, time: i64) -> Result<VersionView> {
        let (_alone, state) = (Alone::new(), self.checked()?);
        let later = state.tip.segments().partition_point(|segment| segment.version.time <= time);
        let index = later.checked_sub(1).ok_or_else(|| Error::InvalidInput {
            what: format!("the time {time}, in microseconds since 1970: no version is so early"),
        })?;
        Ok(VersionView::new(&state.tip, index, &self.options))
    }

    /// Returns what the lists of each version come to, ascending.
    ///
    /// Cost: what all versions stored is read once.
    ///
    /// # Errors
    /// `Corruption` if what it reads is damaged.
    pub fn sums(&self) -> Result<Vec<Sums>> {
        let (_alone, state) = (Alone::new(), self.checked()?);
        Ok(sums(&state.tip, &self.options))
    }

    /// Returns consecutive versions, ready for queries over all of them.
    ///
    /// Cost: a bit for each stored edge; 24 bytes for each edge that some of them have and others have not, or that was
    /// added after the timeline's first version and is there in the window, and 16 more while they are found; 2 bytes for each
    /// edge that was added after that.
    ///
    /// # Errors
    /// As [`Self::at`]; `InvalidInput` if the window is empty or has more than 65,535 versions.
    pub fn window(&self, numbers: RangeInclusive<u64>) -> Result<Window> {
        let (_alone, state) = (Alone::new(), self.checked()?);
        let [first, last] = [*numbers.start(), *numbers.end()];
        let (start, end) = (index_of(&state.tip, first)?, index_of(&state.tip, last)?);
        if start > end {
            let what = format!("a window from version {first} to {last}: that is earlier");
            return Err(Error::InvalidInput { what });
        }
        if end - start >= VERSIONS_MAX {
            let what = format!(
                "a window from version {first} to {last}: it has at most {VERSIONS_MAX} versions"
            );
            return Err(Error::InvalidInput { what });
        }
        Ok(Window::new(state.tip.of_first(end + 1), start, &self.options))
    }

    /// Makes a version the first one, if it or a later one is not yet: those before it are gone, and so are the edges that only they had.
    /// Numbers, times and names stay. Views and windows of any version go on; a crash leaves all versions or
    /// those from this one on.
    ///
    /// Cost: the lists of the version are written once, and what later versions have changed once more; commits
    /// wait for the latter. Memory: 4 bytes for each vertex and direction, two bits for each stored edge, and what
    /// one later version has changed. The old file takes room on the medium as long as somebody reads it.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such version; `NoSpace` if the medium has no room for both files: nothing
    /// has changed then; `Poisoned` after a failed fence; `ReadOnly` if it is open for reading.
    pub fn rebase(&self, number: u64) -> Result<()> {
        self.volume.check_writable()?;
        let (_rebasing, _alone) = (self.rebasing.lock(), Alone::new());
        if self.versions().first().is_some_and(|first| number <= first.number) {
            // Somebody else let them go.
            return Ok(());
        }
        let view = self.at(number)?;
        let old = self.state.read().file.clone();
        let next = old.next(&self.volume)?;
        let head = (view.version(), view.totals());
        let form = (view.list_count(), self.options.weighted);
        let base = rebase::write_base(&next, &view, head, form, EqualEdges::AsTheyCame);
        let written = base.and_then(|base| {
            let writer = self.writer.lock();
            let state = self.state.read();
            let index = index_of(&state.tip, number)?;
            Ok((rebase::move_later((&old, &next), base, &state.tip, index)?, writer))
        });
        let published = written.and_then(|written| {
            next.publish(&self.volume)?;
            Ok(written)
        });
        let (tip, _writer) = published.inspect_err(|_| {
            // What cannot be removed now, the next one or the next opening for writing removes.
            if next.counts(&self.volume).is_ok_and(|counts| !counts) {
                let _ = next.remove(&self.volume);
            }
        })?;
        *self.state.write() = State { file: next, tip, is_base_checked: true };
        // The same of what does not count any more.
        let _ = old.remove(&self.volume);
        Ok(())
    }

    /// Returns the versions, of which the lists of the first one were looked at.
    fn checked(&self) -> Result<RwLockReadGuard<'_, State>> {
        let state = self.state.read();
        let Some(base) = state.tip.segments().first().filter(|_| !state.is_base_checked) else {
            return Ok(state);
        };
        let checked = base.check_lists(state.tip.words(), state.file.salt());
        checked.map_err(|wrong| state.file.damaged(FIRST_WORD, wrong))?;
        drop(state);
        self.state.write().is_base_checked = true;
        Ok(self.state.read())
    }
}

/// Takes in all versions of a file up to a word, or up to the first that is damaged. Returns what is damaged.
fn read_into(tip: &mut Tip, file: &File, end: u64) -> Vec<Error> {
    let (mut damage, mut first) = (Vec::new(), FIRST_WORD);
    if end == FIRST_WORD {
        return damage;
    }
    let words = file.words(end);
    while first < end {
        let segment = match Segment::read(&words, file.salt(), (first, end)) {
            Ok(segment) => segment,
            Err(wrong) => {
                damage.push(file.damaged(first, wrong));
                break;
            }
        };
        let next = first + segment.words.next_multiple_of(LINE_WORDS as u64);
        let mut checked = segment.check_vertices(&words, file.salt());
        if first > FIRST_WORD {
            checked = checked.and_then(|()| segment.check_lists(&words, file.salt()));
        }
        if damage.is_empty() {
            checked = checked.and_then(|()| tip.push(words.clone(), Arc::new(segment)));
        }
        damage.extend(checked.err().map(|wrong| file.damaged(first, wrong)));
        first = next;
    }
    damage
}

fn check(tip: &Tip, added: u64, (time, name): (i64, Option<&str>)) -> Result<()> {
    let most = tip.stored_count(0) + added;
    if most > u64::from(u32::MAX) {
        let way_out =
            if tip.segments().len() > 1 { ": make a later version the first one" } else { "" };
        let what = format!(
            "a version with which {most} edges of one direction may be stored; there is room for {}{way_out}",
            u32::MAX
        );
        return Err(Error::InvalidInput { what });
    }
    let bytes = name.map_or(0, str::len);
    if bytes > NAME_BYTES_MAX {
        let what = format!("a version's name of {bytes} bytes; it may have {NAME_BYTES_MAX}");
        return Err(Error::InvalidInput { what });
    }
    match tip.segments().last().filter(|last| last.version.time > time) {
        None => Ok(()),
        Some(last) => {
            let (number, last) = (last.version.number, last.version.time);
            let what = format!(
                "a version of the time {time}, in microseconds since 1970: version {number} is of {last}"
            );
            Err(Error::InvalidInput { what })
        }
    }
}

/// Returns the place of a version among those that there are.
fn index_of(tip: &Tip, number: u64) -> Result<usize> {
    let first = tip.segments().first().map_or(0, |first| first.version.number);
    let index = number.checked_sub(first).map(|index| index as usize);
    index.filter(|&index| index < tip.segments().len()).ok_or_else(|| {
        let last = tip.segments().last().map_or(0, |last| last.version.number);
        let what = match tip.is_empty() {
            true => format!("version {number}: there is no version yet"),
            false => format!("version {number}: there are those from {first} to {last}"),
        };
        Error::InvalidInput { what }
    })
}
