//! One question over consecutive versions.

use std::io::{self, Write};
use std::time::Instant;

use everedge_core::{GraphView, Numbering, VertexId, par};
use everedge_kernels::Wcc;
use everedge_timeline::{
    Answer, Depth, Distance, LargestWeight, MonotoneQuery, Probability, Schedule, Version, Width,
    Window,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::id_map::json_of;
use crate::run::peak_rss_bytes;
use crate::{Error, Kernel, Parameters, Result, RunOptions, Timeline, Values, VersionChoice, View};

/// How many leading vertices the answer for a version names.
const TOP: usize = 1;

/// How a window is asked.
#[derive(Clone, Debug)]
pub struct WindowOptions {
    /// What the kernel is told.
    pub parameters: Parameters,
    /// Whether the answer for each vertex is kept.
    pub keeps_values: bool,
    /// In which order versions are reached by a kernel that works once on what they have in common, but for `wcc`; each
    /// by itself, if this is None.
    pub schedule: Option<Schedule>,
}

impl From<Parameters> for WindowOptions {
    fn from(parameters: Parameters) -> Self {
        Self { parameters, keeps_values: false, schedule: Some(Schedule::default()) }
    }
}

/// What a window of versions answers. Serializes to the keys of `everedge window --json`.
#[derive(Clone, Debug, Serialize)]
pub struct WindowReport {
    /// The kernel.
    pub kernel: &'static str,
    /// How versions were answered.
    pub method: Method,
    /// The name of the source; null for a kernel that has none.
    pub source: Value,
    /// Threads that it ran on.
    pub threads: usize,
    /// The answer for each version, ascending.
    pub versions: Vec<VersionAnswer>,
    /// How long opening the timeline took.
    pub open_seconds: f64,
    /// How long it took to make the versions ready.
    pub build_seconds: f64,
    /// From there until all answers were there.
    pub seconds: f64,
    /// Versions that were asked by themselves after all: their changes reach so far that going on from what they share with
    /// others takes longer.
    pub alone: usize,
    /// Edges that some of the versions have and others have not.
    pub changed_edges: u64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// The vertices of all versions, ascending, if values are kept.
    #[serde(skip)]
    pub vertices: Vec<VertexId>,
}

/// How the versions of a window are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// What versions have in common is worked on once.
    Shared,
    /// Each version begins with the answer of the one before.
    FromBefore,
    /// Each version by itself.
    Each,
}

/// The answer for one version.
#[derive(Clone, Debug, Serialize)]
pub struct VersionAnswer {
    /// Its number.
    pub version: u64,
    /// What it is called.
    pub name: Option<String>,
    /// Microseconds since 1970.
    #[serde(serialize_with = "as_date")]
    pub time: i64,
    /// How long its own steps took, with its part of those that it shares with other versions.
    pub seconds: f64,
    /// The answer in short.
    pub result: Value,
    /// The answer for each vertex, by id.
    #[serde(skip)]
    pub values: Values,
}

impl VersionAnswer {
    /// Writes `version id value` a line for each vertex that the version has, of which `view` is the graph, as
    /// [`Values::write`] does; nothing if values were not kept.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn write(&self, view: &View, out: &mut impl Write) -> io::Result<()> {
        self.values.write_lines(view, &format!("{} ", self.version), |v| v as usize, out)
    }
}

fn as_date<S: serde::Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&everedge_io::date_text(*time))
}

impl Timeline {
    /// Answers a kernel for each of the versions from `first` to `last`.
    ///
    /// Of `bfs`, `sssp`, `sswp`, `ssnp`, `viterbi`, `wcc` and, where in-neighbors are kept, `triangles` and `kcore` without a
    /// `k`, unless versions differ in much, what versions have in common is worked on once, unless ids lie far apart. A source is a vertex of one of them at least; where it is none, it reaches nothing. Unless given, it is the vertex of
    /// largest out-degree in the last version. `pagerank` begins with the ranks of the version before: they are as
    /// close to the limit as its tolerance says, as those of each version by itself are. After a given number of
    /// iterations they would not be the same: then, as other kernels, each version is asked by itself.
    ///
    /// # Errors
    /// `InvalidInput` for a kernel that lists vertices or a parameter that it does not have here, if there are no such
    /// versions or no such vertex, or if the kernel does not allow the weight of an edge.
    pub fn window(
        &self,
        kernel: Kernel,
        (first, last): (&VersionChoice, &VersionChoice),
        options: &WindowOptions,
    ) -> Result<WindowReport> {
        let WindowOptions { parameters, keeps_values, schedule } = options;
        parameters.check(kernel)?;
        if matches!(kernel, Kernel::OneHop | Kernel::TwoHop) {
            return Err(Error::invalid(format!(
                "{kernel} is no question of a window; `everedge run {kernel} --at VERSION` asks one version"
            )));
        }
        let start = Instant::now();
        let (first, last) = (self.find(first)?, self.find(last)?);
        let window = self.versions.window(first..=last)?;
        let bound = window.vertex_bound();
        let vertices = window.versions().last().map_or(0, |version| version.vertices);
        let are_far = Numbering::pays_for(bound, vertices);
        if are_far && *keeps_values {
            return Err(Error::invalid(format!(
                "the answers would be as long as the largest id, {}, for {vertices} vertices: ingest \
                 with `--ids integer`, which numbers them without gaps",
                bound - 1
            )));
        }
        // What is worked on once is as long as the largest id.
        let schedule = schedule.filter(|_| !are_far);
        let build_seconds = start.elapsed().as_secs_f64();
        let source = match kernel.starts_at_one_vertex() {
            true => Some(self.source_of(&window, kernel, parameters)?),
            false => None,
        };
        let ask = Asked { timeline: self, window: &window, source, keeps_values: *keeps_values };
        let start = Instant::now();
        let mut alone = 0;
        let (method, versions) = match (kernel, source, schedule) {
            (_, Some(v), Some(schedule)) => {
                let (versions, by_themselves) = ask.paths(kernel, v, schedule)?;
                alone = by_themselves;
                (Method::Shared, versions)
            }
            (Kernel::Wcc, _, Some(_)) => (Method::Shared, ask.components()),
            (Kernel::Triangles, _, Some(_)) => match ask.triangles() {
                Some(versions) => (Method::Shared, versions),
                None => (Method::Each, ask.each(kernel, parameters, false)?),
            },
            (Kernel::KCore, _, Some(_)) if parameters.k.is_none() => match ask.coreness() {
                Some(versions) => (Method::Shared, versions),
                None => (Method::Each, ask.each(kernel, parameters, false)?),
            },
            (Kernel::PageRank, _, Some(_)) if parameters.iterations.is_none() => {
                (Method::FromBefore, ask.each(kernel, parameters, true)?)
            }
            _ => (Method::Each, ask.each(kernel, parameters, false)?),
        };
        Ok(WindowReport {
            kernel: kernel.name(),
            method,
            source: source.map_or(Value::Null, |v| json_of(self.name_of(v))),
            threads: par::thread_count(),
            versions,
            open_seconds: self.open_time().as_secs_f64(),
            build_seconds,
            seconds: start.elapsed().as_secs_f64(),
            alone,
            changed_edges: window.changed_edges() as u64,
            peak_rss_bytes: peak_rss_bytes(),
            vertices: if *keeps_values { window.vertices() } else { Vec::new() },
        })
    }

    /// Returns the source of paths through a window.
    fn source_of(
        &self,
        window: &Window,
        kernel: Kernel,
        parameters: &Parameters,
    ) -> Result<VertexId> {
        if *parameters
            != (Parameters { source: parameters.source.clone(), ..Parameters::default() })
        {
            return Err(Error::invalid(format!(
                "{kernel} has no parameter but `source` in a window"
            )));
        }
        match &parameters.source {
            Some(name) => self.find_vertex(name),
            None => self.view_of(window.at(window.versions().len() - 1)).source(None),
        }
    }
}

/// Returns how many values are reached, and the largest of them, or `least`. Without a branch: nobody foresees which
/// vertices are reached.
fn summary<T: Copy + PartialOrd>(values: &[T], unreached: T, least: T) -> (usize, T) {
    values.iter().fold((0, least), |(count, most), &value| {
        let is_reached = value != unreached;
        let of_reached = if is_reached { value } else { least };
        (count + usize::from(is_reached), if of_reached > most { of_reached } else { most })
    })
}

/// What values come to in short, and how they are kept.
type InShort<T> = (Value, fn(&[T]) -> Values);

fn depths_in_short(depths: &[u32]) -> InShort<u32> {
    let (reached, depth) = summary(depths, Depth::UNREACHED, 0);
    (json!({ "reached": reached, "depth": depth }), |d| Values::Depth(d.to_vec()))
}

fn distances_in_short(distances: &[f64]) -> InShort<f64> {
    let (reached, max) = summary(distances, Distance::UNREACHED, 0.0);
    (json!({ "reached": reached, "max": max }), |d| Values::Distance(d.to_vec()))
}

fn distances_reached<Q: MonotoneQuery<Value = f64>>(values: &[f64]) -> InShort<f64> {
    (reached::<Q>(values), |w| Values::Distance(w.to_vec()))
}

fn scores_reached(probabilities: &[f64]) -> InShort<f64> {
    (reached::<Probability>(probabilities), |p| Values::Score(p.to_vec()))
}

fn reached<Q: MonotoneQuery>(values: &[Q::Value]) -> Value {
    json!({ "reached": values.iter().filter(|&&value| value != Q::UNREACHED).count() })
}

/// Returns whether an answer names what leads it: one that no schedule gives without a run of the kernel.
fn names_leaders(kernel: Kernel, values: &Values) -> bool {
    match values {
        Values::Score(_) => kernel != Kernel::Viterbi,
        Values::Scores(_) | Values::Vertices(_) => true,
        _ => false,
    }
}

fn no_paths(kernel: Kernel) -> Error {
    Error::invalid(format!("{kernel} is no question about paths"))
}

/// A question to a window.
struct Asked<'a> {
    timeline: &'a Timeline,
    window: &'a Window,
    /// Where paths begin.
    source: Option<VertexId>,
    keeps_values: bool,
}

impl Asked<'_> {
    /// Returns the answer of a kernel of paths for each version, ascending, and how many of them were asked by themselves.
    fn paths(
        &self,
        kernel: Kernel,
        source: VertexId,
        schedule: Schedule,
    ) -> Result<(Vec<VersionAnswer>, usize)> {
        let source = (source, schedule);
        match kernel {
            Kernel::Bfs => self.query::<Depth>(source, depths_in_short),
            Kernel::Sssp => self.query::<Distance>(source, distances_in_short),
            Kernel::Sswp => self.query::<Width>(source, distances_reached::<Width>),
            Kernel::Ssnp => self.query::<LargestWeight>(source, distances_reached::<LargestWeight>),
            Kernel::Viterbi => self.query::<Probability>(source, scores_reached),
            other => Err(no_paths(other)),
        }
    }

    /// Returns what a kernel of paths answers where the source is no vertex: it reaches nothing.
    fn nothing(&self, kernel: Kernel) -> Result<(Value, Values)> {
        fn of<T: Clone>(
            unreached: T,
            count: usize,
            in_short: fn(&[T]) -> InShort<T>,
        ) -> (Value, Values) {
            let values = vec![unreached; count];
            let (result, keep) = in_short(&values);
            (result, keep(&values))
        }
        let count = if self.keeps_values { self.window.vertex_bound() as usize } else { 0 };
        match kernel {
            Kernel::Bfs => Ok(of(Depth::UNREACHED, count, depths_in_short)),
            Kernel::Sssp => Ok(of(Distance::UNREACHED, count, distances_in_short)),
            Kernel::Sswp => Ok(of(Width::UNREACHED, count, distances_reached::<Width>)),
            Kernel::Ssnp => {
                Ok(of(LargestWeight::UNREACHED, count, distances_reached::<LargestWeight>))
            }
            Kernel::Viterbi => Ok(of(Probability::UNREACHED, count, scores_reached)),
            other => Err(no_paths(other)),
        }
    }

    /// Returns the answers of a query from a source by a schedule; `in_short` says one of the values, and how they are kept.
    fn query<Q: MonotoneQuery>(
        &self,
        (source, schedule): (VertexId, Schedule),
        in_short: fn(&[Q::Value]) -> InShort<Q::Value>,
    ) -> Result<(Vec<VersionAnswer>, usize)> {
        let answers = Mutex::new(Vec::new());
        let outcome = self.window.run_by::<Q>(schedule, source, |answer| {
            let (result, keep) = in_short(answer.values);
            answers.lock().push(self.answer(&answer, result, || keep(answer.values)));
        });
        let alone = outcome
            .map_err(|error| Error::kernel(error, |v| self.timeline.name_of(v).to_string()))?;
        Ok((ascending(answers), alone))
    }

    /// Returns the components of each version, ascending.
    fn components(&self) -> Vec<VersionAnswer> {
        let answers = Mutex::new(Vec::new());
        self.window.components(|answer| {
            let wcc = Wcc { component: answer.values.to_vec() };
            let result = json!({ "components": wcc.component_count(), "largest": wcc.largest() });
            let answer = self.answer(&answer, result, || Values::Component(wcc.component));
            answers.lock().push(answer);
        });
        ascending(answers)
    }

    /// Returns the coreness of vertices in each version, ascending; nothing without lists of in-neighbors, or where each
    /// version by itself takes less time.
    fn coreness(&self) -> Option<Vec<VersionAnswer>> {
        if !self.window.coreness_pays() {
            return None;
        }
        let answers = Mutex::new(Vec::new());
        let is_answered = self.window.coreness(|answer| {
            let result = json!({ "max": answer.values.iter().max().unwrap_or(&0) });
            let answer = self.answer(&answer, result, || Values::Count(answer.values.to_vec()));
            answers.lock().push(answer);
        });
        is_answered.then(|| ascending(answers))
    }

    /// Returns how many triangles each version has, ascending; nothing without lists of in-neighbors.
    fn triangles(&self) -> Option<Vec<VersionAnswer>> {
        let start = Instant::now();
        let (counts, versions) = (self.window.triangles()?, self.window.versions());
        let seconds = start.elapsed().as_secs_f64() / versions.len() as f64;
        let answer = |(version, count): (&Version, u64)| {
            let answer = Answer::<()> { version, values: &[], seconds };
            self.answer(&answer, json!({ "count": count }), || Values::None)
        };
        Some(versions.iter().zip(counts).map(answer).collect())
    }

    fn answer<V>(
        &self,
        &Answer { version, seconds, .. }: &Answer<'_, V>,
        result: Value,
        keep: impl FnOnce() -> Values,
    ) -> VersionAnswer {
        let values = if self.keeps_values { keep() } else { Values::None };
        VersionAnswer {
            version: version.number,
            name: version.name.clone(),
            time: version.time,
            seconds,
            result,
            values,
        }
    }

    /// Asks each version, the oldest first; PageRank begins with the ranks of the one before, if it `goes_on`.
    fn each(
        &self,
        kernel: Kernel,
        parameters: &Parameters,
        goes_on: bool,
    ) -> Result<Vec<VersionAnswer>> {
        let mut parameters = parameters.clone();
        // All begin at the same vertex, also if each version would choose another.
        let name = self.source.map(|v| self.timeline.name_of(v).to_string());
        parameters.source = name.or(parameters.source);
        let options = RunOptions { top: Some(TOP), ..parameters.into() };
        let bound = self.window.vertex_bound() as usize;
        let mut ranks = Vec::new();
        let mut answers = Vec::with_capacity(self.window.versions().len());
        for (index, version) in self.window.versions().iter().enumerate() {
            let start = Instant::now();
            let view = self.window.at(index);
            let lacks = |v: VertexId| v >= view.vertex_bound() || !view.is_vertex(v);
            // One more step would change the ranks of what has not changed.
            let before = answers.last().filter(|_| goes_on && self.window.is_as_before(index));
            let known = match before {
                _ if self.source.is_some_and(lacks) => Some(self.nothing(kernel)?),
                Some(VersionAnswer { result, values, .. }) => {
                    Some((result.clone(), values.clone()))
                }
                None => None,
            };
            if let Some((result, values)) = known {
                let seconds = start.elapsed().as_secs_f64();
                let answer = Answer::<()> { version, values: &[], seconds };
                answers.push(self.answer(&answer, result, || values));
                continue;
            }
            let view = self.timeline.view_of(view);
            let mut report = view.answer(kernel, &options, &ranks)?;
            if names_leaders(kernel, &report.values) {
                view.add_top(kernel, &report.values, TOP, &mut report.result);
            }
            let is_read = self.keeps_values || goes_on;
            let values =
                if is_read { report.values.by_id(kernel, &view, bound) } else { Values::None };
            let seconds = start.elapsed().as_secs_f64();
            let answer = Answer::<()> { version, values: &[], seconds };
            let answer = match values {
                Values::Score(scores) if goes_on => {
                    ranks = scores;
                    self.answer(&answer, report.result, || Values::Score(ranks.clone()))
                }
                values => self.answer(&answer, report.result, || values),
            };
            answers.push(answer);
        }
        Ok(answers)
    }
}

fn ascending(answers: Mutex<Vec<VersionAnswer>>) -> Vec<VersionAnswer> {
    let mut answers = answers.into_inner();
    answers.sort_by_key(|answer| answer.version);
    answers
}
