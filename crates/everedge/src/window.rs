//! One question over consecutive versions.

use std::sync::Mutex;
use std::time::Instant;

use everedge_core::{VertexId, par};
use everedge_timeline::{
    Answer, Depth, Distance, LargestWeight, MonotoneQuery, Probability, Width, Window,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::id_map::json_of;
use crate::run::peak_rss_bytes;
use crate::{Error, Kernel, Result, Timeline, Values, VersionChoice};

/// What a window of versions answers. Serializes to the keys of `everedge window --json`.
#[derive(Clone, Debug, Serialize)]
pub struct WindowReport {
    /// The kernel.
    pub kernel: &'static str,
    /// The name of the source.
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
    /// Edges that some of the versions have and others have not.
    pub changed_edges: u64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// The vertices of all versions, ascending, if values are kept.
    #[serde(skip)]
    pub vertices: Vec<VertexId>,
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

fn as_date<S: serde::Serializer>(time: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&everedge_io::date_text(*time))
}

impl Timeline {
    /// Answers a kernel from one source for each of the versions from `first` to `last`: `bfs`, `sssp`, `sswp`,
    /// `ssnp` or `viterbi`. What versions have in common is worked on once. The source is a vertex of one of
    /// them at least; where it is none, it reaches nothing. `keeps_values` keeps the answer for each vertex.
    ///
    /// # Errors
    /// `InvalidInput` for another kernel, if there are no such versions or no such vertex, or if the kernel does
    /// not allow the weight of an edge.
    pub fn window(
        &self,
        kernel: Kernel,
        (first, last): (&VersionChoice, &VersionChoice),
        source: &str,
        keeps_values: bool,
    ) -> Result<WindowReport> {
        let start = Instant::now();
        let window = self.versions.window(self.find(first)?..=self.find(last)?)?;
        let build_seconds = start.elapsed().as_secs_f64();
        let v = self.find_vertex(source)?;
        let ask = Asked { timeline: self, window: &window, source: v, keeps_values };
        let start = Instant::now();
        let versions = match kernel {
            Kernel::Bfs => ask.answer::<Depth>(|depths| {
                let reached = depths.iter().filter(|&&depth| depth != Depth::UNREACHED);
                let depth = reached.clone().max().copied().unwrap_or(0);
                (json!({ "reached": reached.count(), "depth": depth }), |d| {
                    Values::Depth(d.to_vec())
                })
            }),
            Kernel::Sssp => ask.answer::<Distance>(|distances| {
                let reached = distances.iter().filter(|distance| distance.is_finite());
                let max = reached.clone().copied().fold(0.0, f64::max);
                let result = json!({ "reached": reached.count(), "max": max });
                (result, |d| Values::Distance(d.to_vec()))
            }),
            Kernel::Sswp => {
                ask.answer::<Width>(|w| (reached::<Width>(w), |w| Values::Distance(w.to_vec())))
            }
            Kernel::Ssnp => ask.answer::<LargestWeight>(|w| {
                (reached::<LargestWeight>(w), |w| Values::Distance(w.to_vec()))
            }),
            Kernel::Viterbi => ask.answer::<Probability>(|p| {
                (reached::<Probability>(p), |p| Values::Score(p.to_vec()))
            }),
            other => Err(Error::invalid(format!(
                "{other} is no question of a window: there are bfs, sssp, sswp, ssnp and viterbi; \
                 `everedge run {other} --at VERSION` asks one version"
            ))),
        }?;
        Ok(WindowReport {
            kernel: kernel.name(),
            source: json_of(self.name_of(v)),
            threads: par::thread_count(),
            versions,
            open_seconds: self.open_time().as_secs_f64(),
            build_seconds,
            seconds: start.elapsed().as_secs_f64(),
            changed_edges: window.changed_edges() as u64,
            peak_rss_bytes: peak_rss_bytes(),
            vertices: if keeps_values { window.vertices() } else { Vec::new() },
        })
    }
}

fn reached<Q: MonotoneQuery>(values: &[Q::Value]) -> Value {
    json!({ "reached": values.iter().filter(|&&value| value != Q::UNREACHED).count() })
}

/// A question to a window.
struct Asked<'a> {
    timeline: &'a Timeline,
    window: &'a Window,
    source: VertexId,
    keeps_values: bool,
}

impl Asked<'_> {
    /// Returns the answer for each version, ascending; `in_short` says it of the values, and how they are kept.
    fn answer<Q: MonotoneQuery>(
        &self,
        in_short: impl Fn(&[Q::Value]) -> (Value, fn(&[Q::Value]) -> Values) + Sync + Send,
    ) -> Result<Vec<VersionAnswer>> {
        let answers = Mutex::new(Vec::new());
        let take = |Answer { version, values, seconds }: Answer<'_, Q::Value>| {
            let (result, keep) = in_short(values);
            let answer = VersionAnswer {
                version: version.number,
                name: version.name.clone(),
                time: version.time,
                seconds,
                result,
                values: if self.keeps_values { keep(values) } else { Values::None },
            };
            answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(answer);
        };
        let outcome = self.window.run::<Q>(self.source, take);
        outcome.map_err(|error| Error::kernel(error, |v| self.timeline.name_of(v).to_string()))?;
        let mut answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        answers.sort_by_key(|answer| answer.version);
        Ok(answers)
    }
}
