//! A history of versions: a directory of its own, with the names of its vertices.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use everedge_core::VertexId;
use everedge_io::{date_of, date_text};
use everedge_live::{ExternalId, GraphHead, IdKind, NAMES, Names};
use everedge_medium::{Access, Kind, MANIFEST, Manifest, MediumKind, Pin, Volume, VolumeOptions};
use everedge_timeline::{Changes as VersionChanges, Version, VersionView};
use serde::{Deserialize, Serialize};

use crate::any_view::AnyView;
use crate::changes::refuse_as_graph;
use crate::error::without_advice;
use crate::graph::resolved;
use crate::id_map::{find, name_of};
use crate::{Chosen, Error, GraphOptions, Result, Stats, Verification, View};

/// What is fixed when a timeline is created; of a live graph, what its versions have in common with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineOptions {
    /// Where bytes live.
    #[serde(with = "everedge_live::medium_text")]
    pub medium: MediumKind,
    /// Whether the power-fail domain takes in the processor's caches, so that nothing is flushed.
    pub eadr: bool,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether edges carry an `f32` weight.
    pub weighted: bool,
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// Whether a directed graph keeps in-neighbors beside out-neighbors.
    pub in_neighbors: bool,
    /// What external ids are.
    pub ids: IdKind,
}

impl Default for TimelineOptions {
    fn default() -> Self {
        Self {
            medium: MediumKind::File,
            eadr: false,
            directed: true,
            weighted: false,
            simple: false,
            in_neighbors: true,
            ids: IdKind::Dense,
        }
    }
}

impl TimelineOptions {
    /// Returns those of the versions of a live graph.
    fn of_graph(options: &GraphOptions) -> Self {
        let GraphOptions { medium, eadr, directed, weighted, simple, in_neighbors, ids, .. } =
            *options;
        Self { medium, eadr, directed, weighted, simple, in_neighbors, ids }
    }

    /// Returns these options with what was chosen.
    ///
    /// # Errors
    /// `InvalidInput` if that is an option of live graphs only.
    pub(crate) fn choose(&self, chosen: &Chosen) -> Result<Self> {
        const KNOWN: [&str; 6] =
            ["medium", "eadr", "directed", "weighted", "simple", "in-neighbors"];
        if let Some(other) = chosen.names().find(|name| !KNOWN.contains(name)) {
            return Err(Error::invalid(format!(
                "{other} is an option of live graphs, not of versions"
            )));
        }
        let Self { medium, eadr, directed, weighted, simple, in_neighbors, ids } = *self;
        let own = GraphOptions {
            medium,
            eadr,
            directed,
            weighted,
            simple,
            in_neighbors,
            ..GraphOptions::default()
        };
        Ok(Self { ids, ..Self::of_graph(&chosen.apply(own)) })
    }

    fn of_versions(&self) -> everedge_timeline::TimelineOptions {
        let Self { directed, weighted, simple, in_neighbors, .. } = *self;
        everedge_timeline::TimelineOptions { directed, weighted, in_neighbors, simple }
    }
}

/// Which version is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChoice {
    /// The newest.
    Newest,
    /// The one of this number.
    Number(u64),
    /// The last one that is not later, in microseconds since 1970.
    Time(i64),
    /// The newest that is called so.
    Name(String),
}

impl FromStr for VersionChoice {
    type Err = Error;

    /// Reads a number, a date such as `2024-05-31` or `2024-05-31T10:30:00Z`, or a name.
    fn from_str(word: &str) -> Result<Self> {
        Ok(match (word.parse(), date_of(word)) {
            (Ok(number), _) => Self::Number(number),
            (_, Some(time)) => Self::Time(time),
            _ => Self::Name(word.to_owned()),
        })
    }
}

/// A durable history of versions of a graph: a directory, open for writing or for reading.
///
/// A version is frozen, and is there for good once [`Timeline::commit`] has returned. Any number of
/// threads may read versions while others are added.
pub struct Timeline {
    pub(crate) versions: Arc<everedge_timeline::Timeline>,
    options: TimelineOptions,
    names: Option<Arc<Names>>,
    volume: Volume,
    /// Whether it is that of a live graph that is open for writing, and adds to it.
    is_of_graph: bool,
    open_time: Duration,
}

impl Timeline {
    /// Creates a timeline without versions in a new directory; `meter` counts what its medium does.
    ///
    /// # Errors
    /// If the directory exists and is not empty, or the medium fails. Then nothing is left of a directory
    /// that was not there before.
    pub fn create(path: &Path, options: &TimelineOptions, meter: bool) -> Result<Self> {
        let start = Instant::now();
        refuse_as_graph(path)?;
        let (path, is_new) = (&*resolved(path), !path.exists());
        let of_medium = VolumeOptions { kind: options.medium, eadr: options.eadr, meter };
        let volume = Volume::create(path, of_medium)?;
        volume.admit_readers()?;
        match Self::create_in(&volume, options) {
            Ok((versions, names)) => Self::new(volume, versions, (options.clone(), names), start),
            Err(error) => {
                drop(volume);
                if is_new {
                    Volume::remove_unfinished(path);
                }
                Err(error)
            }
        }
    }

    fn create_in(
        volume: &Volume,
        options: &TimelineOptions,
    ) -> Result<(everedge_timeline::Timeline, Option<Names>)> {
        let manifest = Manifest::new(Kind::Timeline, options.clone());
        let names = Names::create(volume, options.ids, manifest.salt())?;
        let of_versions = options.of_versions();
        let versions = everedge_timeline::Timeline::create(volume, manifest.salt(), of_versions)?;
        manifest.publish(volume)?;
        Ok((versions, names))
    }

    /// Opens a timeline for writing, alone; `meter` counts what its medium does.
    ///
    /// # Errors
    /// If there is no timeline, another process has it open, or it is damaged.
    pub fn open(path: &Path, meter: bool) -> Result<Self> {
        Self::open_for(path, Access::Write, meter)
    }

    /// Opens a timeline for reading, beside other readers; nothing is written.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_read_only(path: &Path) -> Result<Self> {
        Self::open_for(path, Access::Read, false)
    }

    /// Opens what is whole of a damaged timeline, or of the versions of a live graph, for reading: the versions before
    /// the first whose bytes are damaged. Returns what is damaged; nothing is if nothing is listed.
    ///
    /// # Errors
    /// As [`Self::open`], if no version can be read.
    pub fn salvage(path: &Path) -> Result<(Self, Vec<String>)> {
        let start = Instant::now();
        let (volume, manifest) = Self::open_volume(path, Access::Read, false)?;
        let (salt, options) = (manifest.salt(), manifest.options);
        let of_versions = options.of_versions();
        let (versions, damage) = everedge_timeline::Timeline::salvage(&volume, salt, of_versions)?;
        let names = Names::open(&volume, options.ids, salt)?;
        let after = versions.versions().last().map_or(0, |version| version.number);
        let problem = |(number, damage): (usize, everedge_medium::Error)| {
            let what = without_advice(damage.to_string());
            if number == 0 { format!("all versions after {after}: {what}") } else { what }
        };
        let problems = damage.into_iter().enumerate().map(problem).collect();
        Ok((Self::new(volume, versions, (options, names), start)?, problems))
    }

    fn open_for(path: &Path, access: Access, meter: bool) -> Result<Self> {
        let start = Instant::now();
        let (volume, manifest) = Self::open_volume(path, access, meter)?;
        let (salt, options) = (manifest.salt(), manifest.options);
        let versions = everedge_timeline::Timeline::open(&volume, salt, options.of_versions())?;
        // After the versions: beside a writer, those may name what came last.
        let names = Names::open(&volume, options.ids, salt)?;
        Self::new(volume, versions, (options, names), start)
    }

    fn open_volume(
        path: &Path,
        access: Access,
        meter: bool,
    ) -> Result<(Volume, Manifest<TimelineOptions>)> {
        refuse_as_graph(path)?;
        let path = &*resolved(path);
        if Manifest::<GraphHead>::peek(path)?.kind == Kind::Chunks {
            let path = path.display();
            return Err(Error::invalid(format!(
                "`{path}` is a sealed graph, which has no versions"
            )));
        }
        let manifest: Manifest<TimelineOptions> = Manifest::peek(path)?;
        let TimelineOptions { medium, eadr, .. } = manifest.options;
        if access == Access::Write && manifest.kind != Kind::Timeline {
            return Err(only_commits(path));
        }
        let options = VolumeOptions { kind: medium, eadr, meter };
        let volume = match access {
            Access::Read => Volume::open_beside_writer(path, options)?,
            Access::Write => Volume::open(path, options, access)?,
        };
        // What versions and names are is never overwritten: nothing of a live graph beside them need be kept.
        volume.pin().into_iter().for_each(Pin::release);
        volume.admit_readers()?;
        let manifest = Manifest::<TimelineOptions>::read(&volume)?;
        if manifest.kind == Kind::Graph && !everedge_timeline::is_there(&volume, manifest.salt())? {
            let path = path.display();
            return Err(Error::invalid(format!(
                "`{path}` has no versions: `everedge commit` makes what the graph is now one"
            )));
        }
        Ok((volume, manifest))
    }

    fn new(
        volume: Volume,
        versions: everedge_timeline::Timeline,
        (options, names): (TimelineOptions, Option<Names>),
        start: Instant,
    ) -> Result<Self> {
        if let Some(names) = &names {
            names.check_covers(versions.vertex_bound())?;
        }
        let (versions, names) = (Arc::new(versions), names.map(Arc::new));
        let open_time = start.elapsed();
        Ok(Self { versions, options, names, volume, is_of_graph: false, open_time })
    }

    /// Returns the versions of an open live graph, if it has some; with `creates`, it has some then.
    pub(crate) fn of_graph(
        volume: &Volume,
        (options, names): (&GraphOptions, Option<Arc<Names>>),
        creates: bool,
    ) -> Result<Option<Self>> {
        let start = Instant::now();
        let options = TimelineOptions::of_graph(options);
        let salt = Manifest::<TimelineOptions>::read(volume)?.salt();
        let versions = match (everedge_timeline::is_there(volume, salt)?, creates) {
            (true, _) => everedge_timeline::Timeline::open(volume, salt, options.of_versions()),
            (false, true) => {
                everedge_timeline::Timeline::create(volume, salt, options.of_versions())
            }
            (false, false) => return Ok(None),
        };
        let (versions, volume) = (Arc::new(versions?), volume.clone());
        let names = match volume.pin() {
            // Beside a writer there may be versions that are newer than the graph that is read.
            Some(_) => Names::open(&volume, options.ids, salt)?.map(Arc::new),
            None => names,
        };
        let open_time = start.elapsed();
        Ok(Some(Self { versions, options, names, volume, is_of_graph: true, open_time }))
    }

    /// Removes the directory of a timeline that nobody has open.
    ///
    /// # Errors
    /// If it is none, is in use, or holds files that are not the timeline's.
    pub fn remove(path: &Path) -> Result<()> {
        let timeline = Self::open(path, false)?;
        let volume = timeline.volume;
        timeline.versions.remove()?;
        drop(timeline.versions);
        Ok(volume.remove_all(&[NAMES, MANIFEST])?)
    }

    /// Returns whether a directory holds a timeline, and not a live graph.
    ///
    /// # Errors
    /// If it holds neither, or is damaged.
    pub fn is_at(path: &Path) -> Result<bool> {
        let head = Manifest::<GraphHead>::peek(&resolved(path))?;
        Ok(head.kind == Kind::Timeline)
    }

    /// Returns what was fixed when it was created.
    pub fn options(&self) -> &TimelineOptions {
        &self.options
    }

    /// Returns how long opening or creating took.
    pub fn open_time(&self) -> Duration {
        self.open_time
    }

    pub(crate) fn names(&self) -> Option<&Names> {
        self.names.as_deref()
    }

    /// Returns what the source of a vertex called it.
    pub fn name_of(&self, v: VertexId) -> ExternalId {
        name_of(self.names(), v)
    }

    /// Returns the vertex of a name that some version may have.
    ///
    /// # Errors
    /// `InvalidInput` if there is none.
    pub(crate) fn find_vertex(&self, name: &str) -> Result<VertexId> {
        let missing = || Error::invalid(format!("vertex `{name}` is in no version"));
        find(self.names(), name).filter(|&v| v < self.versions.vertex_bound()).ok_or_else(missing)
    }

    /// Returns the versions, ascending.
    pub fn versions(&self) -> Vec<Version> {
        self.versions.versions()
    }

    /// Adds what `changes` of dense ids come to as a version, which is durable on return. `time` is in
    /// microseconds since 1970, and not before that of the last version.
    ///
    /// # Errors
    /// `InvalidInput` for a time that goes back, a name of more than 1,024 bytes or one that is a number or a date, or
    /// versions of a live graph;
    /// `NoSpace` on a full medium: nothing has changed then. `Poisoned` after a failed fence.
    pub fn commit(
        &self,
        changes: VersionChanges,
        time: i64,
        name: Option<&str>,
    ) -> Result<Version> {
        check_name(name)?;
        match self.is_of_graph {
            true => Err(only_commits(self.volume.path())),
            false => Ok(self.versions.commit(changes, time, name)?),
        }
    }

    /// Returns the number of a version.
    ///
    /// # Errors
    /// `InvalidInput` if there is none.
    pub fn find(&self, choice: &VersionChoice) -> Result<u64> {
        let versions = self.versions();
        let newest = |is_it: &dyn Fn(&Version) -> bool| versions.iter().rev().find(|v| is_it(v));
        let found = match choice {
            VersionChoice::Newest => versions.last(),
            VersionChoice::Number(number) => newest(&|version| version.number == *number),
            VersionChoice::Time(time) => newest(&|version| version.time <= *time),
            VersionChoice::Name(name) => newest(&|version| version.name.as_ref() == Some(name)),
        };
        let no_version = || "there is no version yet".to_owned();
        let missing = || {
            let there_are = match (versions.first(), versions.last()) {
                (Some(first), Some(last)) => format!("from {} to {}", first.number, last.number),
                _ => "none".to_owned(),
            };
            let what = match choice {
                VersionChoice::Newest => no_version(),
                VersionChoice::Number(number) => {
                    format!("no version {number}; there are {there_are}")
                }
                VersionChoice::Time(_) => versions.first().map_or(no_version(), |first| {
                    format!("no version is so early; the first is of {}", date_text(first.time))
                }),
                VersionChoice::Name(name) => format!("no version is called `{name}`"),
            };
            Error::invalid(what)
        };
        found.map(|version| version.number).ok_or_else(missing)
    }

    /// Returns the graph of a version.
    ///
    /// # Errors
    /// `InvalidInput` if there is none; if its lists are damaged.
    pub fn at(&self, choice: &VersionChoice) -> Result<View> {
        let start = Instant::now();
        let view = self.versions.at(self.find(choice)?)?;
        let open_time = self.open_time + start.elapsed();
        let view = View::new(AnyView::Version(view), self.names.clone(), open_time);
        Ok(view.simple(self.options.simple))
    }

    /// Returns the view of a version's graph.
    pub(crate) fn view_of(&self, view: VersionView) -> View {
        View::new(AnyView::Version(view), self.names.clone(), self.open_time)
    }

    /// Returns the edges that a version has and an earlier one has not, and those that only the earlier one has,
    /// each as `(src, dst, weight)`, ascending. An undirected one comes once; the weight is 1 if there are none.
    ///
    /// Cost: what the versions in between have changed, in memory.
    ///
    /// # Errors
    /// As [`Self::at`]; `InvalidInput` if the second version is not later.
    pub fn difference(
        &self,
        earlier: &VersionChoice,
        later: &VersionChoice,
    ) -> Result<[Vec<(VertexId, VertexId, f32)>; 2]> {
        Ok(self.versions.window(self.find(earlier)?..=self.find(later)?)?.difference())
    }

    /// Checks the lists of each version, what they count, and that every vertex has its name.
    ///
    /// # Errors
    /// Only if it cannot be read; what is wrong is in the outcome.
    pub fn verify(path: &Path) -> Result<Verification> {
        let mut found =
            Verification { ok: true, checks: 0, problems: Vec::new(), problem_count: 0 };
        let checked = Self::open_read_only(path).and_then(|timeline| timeline.check(&mut found));
        let is_damaged = checked.is_err();
        found.take_damage(checked)?;
        if is_damaged {
            Self::find_more_damage(path, &mut found);
        }
        Ok(found)
    }

    /// Adds what is damaged beside what an opening has found first.
    pub(crate) fn find_more_damage(path: &Path, found: &mut Verification) {
        if let Ok((_, problems)) = Self::salvage(path) {
            problems.into_iter().skip(1).for_each(|problem| found.add(problem));
        }
    }

    /// Adds what is wrong with its versions: in what they count, and in the two lists that an edge is in.
    ///
    /// # Errors
    /// If lists are damaged, or cannot be read.
    pub(crate) fn check(&self, outcome: &mut Verification) -> Result<()> {
        // Counts of vertices were checked at the opening.
        for (version, sums) in self.versions().iter().zip(self.versions.sums()?) {
            let expected = [2 * version.edges, sums.by_end[0]];
            let counts = expected.into_iter().zip([sums.ends, sums.by_end[1]]);
            let names = ["ends of edges", "as the sum of edges by their sources"];
            for (what, (expected, found)) in names.into_iter().zip(counts) {
                outcome.checks += 1;
                if expected != found {
                    let number = version.number;
                    let problem =
                        format!("version {number}: expected {expected} {what}, found {found}");
                    outcome.add(problem);
                }
            }
        }
        Ok(())
    }

    /// Returns what the timeline is and how large; vertices and edges are those of the newest version.
    ///
    /// # Errors
    /// If the operating system does not say how large its files are.
    pub fn stats(&self) -> Result<Stats> {
        let (options, versions) = (&self.options, self.versions());
        let newest = versions.last();
        Ok(Stats {
            kind: "timeline",
            layout: "deltas".to_owned(),
            medium: options.medium.to_string(),
            directed: options.directed,
            weighted: options.weighted,
            simple: options.simple,
            vertices: newest.map_or(0, |version| version.vertices.into()),
            edges: newest.map_or(0, |version| version.edges),
            disk_bytes: self.versions.disk_bytes()?,
            versions: versions.len() as u64,
            version_bytes: None,
            changes: None,
        })
    }
}

/// Refuses a name by which its version would not be found.
///
/// # Errors
/// `InvalidInput` if it is empty, a number or a date.
pub(crate) fn check_name(name: Option<&str>) -> Result<()> {
    match name.map(|name| (name, name.parse())) {
        Some(("", _)) => Err(Error::invalid("a version's name is empty; leave it out")),
        Some((name, Ok(VersionChoice::Number(_)))) => Err(Error::invalid(format!(
            "the name `{name}` would mean the version of this number: call it otherwise, such as `v{name}`"
        ))),
        Some((name, Ok(VersionChoice::Time(_)))) => Err(Error::invalid(format!(
            "the name `{name}` would mean the last version that is not later: call it otherwise, such as \
             `at {name}`"
        ))),
        _ => Ok(()),
    }
}

fn only_commits(path: &Path) -> Error {
    let path = path.display();
    Error::invalid(format!("`{path}` holds a live graph, whose versions are made by committing it"))
}
