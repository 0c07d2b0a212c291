//! What the report asks a graph, and its answers.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail, ensure};
use everedge::{
    Along, Chunks, Error, Graph, IdKind, Kernel, RunOptions, RunReport, Stats, Timeline, Values,
    Version, VersionChoice, VertexId, View,
};
use everedge_bench::RunInfo;

use crate::charts::{Count, Neighborhood, Ranked, counts, degree_counts};
use crate::cmd;
use crate::output::{Output, shown};

/// Vertices of the ranking that are drawn.
const RANKED: usize = 15;
/// Vertices of the ranking that can be searched.
const SEARCHED: usize = 1000;
/// Best ranked vertices whose neighborhoods are drawn.
const DRAWN: usize = 8;
/// Communities that are drawn, the largest ones.
const COMMUNITIES: usize = 12;
/// Members of a community that are named.
const MEMBERS: usize = 4;
/// Neighbors that a drawing chooses from, on each side.
const NEIGHBORS: usize = 64;
/// Neighbors whose own neighbors are looked at.
const NEAR: usize = 13;

/// All that the page shows.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) run: RunInfo,
    /// The directory, as it was named.
    pub(super) path: String,
    pub(super) stats: Facts,
    /// The number of the version that was asked, and what it is in words, unless it is the graph as it is now.
    pub(super) version: Option<(u64, String)>,
    /// How many vertices have how many edges that enter them; none without directions.
    pub(super) in_degrees: Option<Vec<Count>>,
    /// How many vertices have how many edges, or edges that leave them.
    pub(super) out_degrees: Vec<Count>,
    /// How many weakly connected components have which size.
    pub(super) components: Vec<Count>,
    /// How many strongly connected ones; none without directions.
    pub(super) strong: Option<Vec<Count>>,
    /// The best ranked vertices, best first.
    pub(super) ranking: Vec<Ranked>,
    pub(super) communities: Communities,
    pub(super) neighborhoods: Vec<Neighborhood>,
    /// The best ranked vertices, best first.
    pub(super) rows: Vec<Row>,
    /// The number and the edges of each version, the oldest first.
    pub(super) versions: Vec<(u64, u64)>,
}

/// What the graph is.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) directed: bool,
    pub(super) weighted: bool,
    pub(super) is_sealed: bool,
    /// Whether vertices are called by texts, not by numbers.
    pub(super) has_names: bool,
    pub(super) vertices: u64,
    pub(super) edges: u64,
    /// What holds it, in words.
    pub(super) kept: String,
    pub(super) disk_bytes: u64,
}

/// The communities that Louvain finds.
#[derive(Default)]
pub(super) struct Communities {
    /// Why it found none.
    pub(super) refused: Option<String>,
    pub(super) count: u64,
    pub(super) modularity: f64,
    /// The largest ones, the largest first.
    pub(super) largest: Vec<Community>,
}

pub(super) struct Community {
    pub(super) size: u64,
    /// Its best ranked members, best first.
    pub(super) members: Vec<String>,
}

/// A vertex that can be searched.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) score: f64,
    pub(super) out_degree: u64,
    /// None without directions.
    pub(super) in_degree: Option<u64>,
    /// The best ranked vertex of its community; none without communities.
    pub(super) community: Option<String>,
}

impl Findings {
    /// Asks the graph in a directory.
    ///
    /// Cost: PageRank, components and Louvain, and what their arrays take of memory.
    pub(super) fn of(
        path: &Path,
        at: Option<&VersionChoice>,
        around: &[String],
        output: Output,
    ) -> Result<Self> {
        let (stats, versions) = held(path)?;
        let view = cmd::open(path, at, None)?;
        ensure!(
            !view.lacks_in_neighbors(),
            "`{}` was sealed without in-neighbors (--no-in), which a report needs: seal it again without --no-in",
            path.display()
        );
        let chosen = view.find_all(around.iter().map(String::as_str))?;
        let ask = |kernel| answer(&view, kernel, output);
        let row = |v: VertexId| view.row_of(v).expect("a vertex has a row");
        let Values::Score(scores) = ask(Kernel::PageRank)?.values else { bail!("no ranks") };
        let mut order = view.vertices();
        order.sort_by(|&u, &v| scores[row(v)].total_cmp(&scores[row(u)]).then(u.cmp(&v)));
        let sizes = |kernel| -> Result<Vec<Count>> {
            let Values::Component(of) = ask(kernel)?.values else { bail!("no components") };
            let sizes = counts(order.iter().map(|&v| of[row(v)].into()));
            Ok(counts(sizes.into_iter().map(|component| component.count)))
        };
        let components = sizes(Kernel::Wcc)?;
        let strong = view.is_directed().then(|| sizes(Kernel::Scc)).transpose()?;
        let louvain = match ask(Kernel::Louvain) {
            // It takes no negative weights; any other failure is one of the report.
            Err(error) if !error.downcast_ref().is_some_and(Error::is_of_weights) => {
                return Err(error);
            }
            louvain => louvain,
        };
        let community = match louvain.as_ref().map(|louvain| &louvain.values) {
            Ok(Values::Component(community)) => Some(&community[..]),
            _ => None,
        };
        let teller = Teller { view: &view, scores: &scores, order: &order, community };
        let out_degrees = view.out_degrees();
        let in_degrees = view.is_directed().then(|| view.in_degrees());
        let mut centers = chosen;
        centers.extend(order.iter().take(DRAWN));
        let mut seen = HashSet::new();
        centers.retain(|&v| seen.insert(v));
        Ok(Self {
            run: everedge_bench::run_info(),
            path: path.display().to_string(),
            version: view.version().map(|version| (version.number, in_words(version))),
            in_degrees: in_degrees.as_ref().map(|degrees| degree_counts(&view, degrees)),
            components,
            strong,
            ranking: order.iter().take(RANKED).map(|&v| teller.ranked(v)).collect(),
            communities: teller.communities(&louvain),
            neighborhoods: centers.iter().map(|&v| teller.around(v)).collect::<Result<_>>()?,
            rows: teller.rows(&out_degrees, in_degrees.as_deref()),
            out_degrees: degree_counts(&view, &out_degrees),
            versions: versions.iter().map(|version| (version.number, version.edges)).collect(),
            stats: Facts {
                directed: view.is_directed(),
                weighted: view.is_weighted(),
                is_sealed: stats.kind == "chunks",
                has_names: view.id_kind() == IdKind::Text,
                vertices: view.vertex_count().into(),
                edges: view.edge_count(),
                kept: format!("layout {}, medium {}", stats.layout, stats.medium),
                disk_bytes: stats.disk_bytes,
            },
        })
    }
}

/// Returns what a directory holds, and its versions.
fn held(path: &Path) -> Result<(Stats, Vec<Version>)> {
    if Timeline::is_at(path)? {
        let timeline = Timeline::open_read_only(path)?;
        return Ok((timeline.stats()?, timeline.versions()));
    }
    if Chunks::is_at(path)? {
        return Ok((Chunks::open(path, None)?.stats()?, Vec::new()));
    }
    let graph = Graph::open_read_only(path)?;
    let versions = graph.timeline()?.map(|timeline| timeline.versions());
    Ok((graph.stats()?, versions.unwrap_or_default()))
}

fn answer(view: &View, kernel: Kernel, output: Output) -> Result<RunReport> {
    let options = RunOptions::default();
    Ok(output.follow(kernel.name(), &options.watch, || view.run(kernel, &options))?)
}

fn in_words(version: &Version) -> String {
    match &version.name {
        Some(name) => format!("version {}, {}", version.number, shown(name)),
        None => format!("version {}", version.number),
    }
}

/// Tells of vertices by what the kernels found.
struct Teller<'a> {
    view: &'a View,
    scores: &'a [f64],
    /// The vertices, the best ranked first.
    order: &'a [VertexId],
    /// By row; none without communities.
    community: Option<&'a [VertexId]>,
}

impl Teller<'_> {
    fn name(&self, v: VertexId) -> String {
        self.view.name_of(v).to_string()
    }

    fn row(&self, v: VertexId) -> usize {
        self.view.row_of(v).expect("a vertex has a row")
    }

    fn score(&self, v: VertexId) -> f64 {
        self.scores[self.row(v)]
    }

    fn ranked(&self, v: VertexId) -> Ranked {
        Ranked { name: self.name(v), score: self.score(v) }
    }

    fn communities(&self, louvain: &Result<RunReport>) -> Communities {
        let (report, community) = match (louvain, self.community) {
            (Ok(report), Some(community)) => (report, community),
            (Err(error), _) => {
                return Communities { refused: Some(error.to_string()), ..Communities::default() };
            }
            _ => return Communities::default(),
        };
        let modularity = report.result["modularity"].as_f64().unwrap_or_default();
        let mut found: HashMap<VertexId, (u64, Vec<VertexId>)> = HashMap::new();
        for &v in self.order {
            let (size, members) = found.entry(community[self.row(v)]).or_default();
            *size += 1;
            if members.len() < MEMBERS {
                members.push(v);
            }
        }
        let count = found.len() as u64;
        let mut largest: Vec<_> = found.into_values().collect();
        largest.sort_unstable_by_key(|(size, members)| (Reverse(*size), members[0]));
        largest.truncate(COMMUNITIES);
        let named = |(size, members): (u64, Vec<VertexId>)| Community {
            size,
            members: members.into_iter().map(|v| self.name(v)).collect(),
        };
        let largest = largest.into_iter().map(named).collect();
        Communities { refused: None, count, modularity, largest }
    }

    fn rows(&self, out_degrees: &[u32], in_degrees: Option<&[u32]>) -> Vec<Row> {
        // The order is that of ranks: the first one of a community is its best.
        let mut best: HashMap<VertexId, VertexId> = HashMap::new();
        let row = |&v: &VertexId| {
            let row = self.row(v);
            let first = self.community.map(|of| *best.entry(of[row]).or_insert(v));
            Row {
                name: self.name(v),
                score: self.scores[row],
                out_degree: out_degrees[row].into(),
                in_degree: in_degrees.map(|degrees| degrees[row].into()),
                community: first.map(|first| self.name(first)),
            }
        };
        self.order.iter().take(SEARCHED).map(row).collect()
    }

    /// Returns what stands around a vertex: its best ranked neighbors, and those of the best of these.
    fn around(&self, center: VertexId) -> Result<Neighborhood> {
        let leaving = self.ranked_neighbors(center, Along::Out, center)?;
        let entering = match self.view.is_directed() {
            true => self.ranked_neighbors(center, Along::In, center)?,
            false => Vec::new(),
        };
        // Who has edges both ways stands with those that edges lead to.
        let (both, before): (Vec<VertexId>, Vec<VertexId>) = {
            let after: HashSet<_> = leaving.iter().collect();
            entering.into_iter().partition(|v| after.contains(v))
        };
        let shown: HashSet<_> = leaving.iter().take(NEIGHBORS).copied().collect();
        let mut edges: Vec<_> = leaving.iter().take(NEIGHBORS).map(|&v| (center, v)).collect();
        edges.extend(both.into_iter().filter(|v| shown.contains(v)).map(|v| (v, center)));
        edges.extend(before.iter().take(NEIGHBORS).map(|&v| (v, center)));
        for &v in leaving.iter().take(NEAR) {
            let next = self.ranked_neighbors(v, Along::Out, center)?;
            edges.extend(next.into_iter().take(NEIGHBORS).map(|w| (v, w)));
        }
        let hidden = [before, leaving].map(|found| found.len().saturating_sub(NEIGHBORS));
        let named = |(u, v): (VertexId, VertexId)| (self.name(u), self.name(v));
        let edges = edges.into_iter().map(named).collect();
        Ok(Neighborhood { center: self.name(center), edges, hidden })
    }

    /// Returns the neighbors of a vertex without itself and `other`, the best ranked first.
    fn ranked_neighbors(
        &self,
        v: VertexId,
        along: Along,
        other: VertexId,
    ) -> Result<Vec<VertexId>> {
        let (src, dst, _) = self.view.edges_of(&[v], along)?;
        let ends = src.into_iter().zip(dst).map(|(src, dst)| if src == v { dst } else { src });
        let mut found: Vec<VertexId> = ends.filter(|&w| w != v && w != other).collect();
        found.sort_unstable_by(|&u, &w| self.score(w).total_cmp(&self.score(u)).then(u.cmp(&w)));
        found.dedup();
        Ok(found)
    }
}
