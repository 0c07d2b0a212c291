//! The kernels by name and what they are told: defined here once for the library, the command
//! line and Python.

use std::fmt;
use std::str::FromStr;

use everedge_core::par;
use everedge_kernels::PageRankConfig;
use serde_json::Value;

use crate::{Error, Result};

/// Defines the kernels: name, what it finds, the parameters that it has.
macro_rules! kernels {
    ($($(#[doc = $about:literal])+ $kernel:ident = $name:literal [$($parameter:ident),*];)+) => {
        /// A kernel by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kernel {
            $($(#[doc = $about])+ $kernel,)+
        }

        impl Kernel {
            /// Every kernel.
            pub const ALL: &'static [Self] = &[$(Self::$kernel),+];

            /// Returns the word for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kernel => $name,)+
                }
            }

            /// Returns what it finds, in a sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$kernel => concat!($($about),+).trim_ascii(),)+
                }
            }

            /// Returns the names of the [`Parameters`] that it has.
            pub fn parameters(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kernel => &[$(stringify!($parameter)),*],)+
                }
            }
        }
    };
}

kernels! {
    /// The out-neighbors of a source, parallel edges one by one.
    OneHop = "one-hop" [source];
    /// The vertices one or two edges away from a source, each once and without the source.
    TwoHop = "two-hop" [source];
    /// The number of edges on a shortest path from a source (breadth-first search).
    Bfs = "bfs" [source];
    /// PageRank: how often a random walk is at each vertex; the ranks sum to 1. Weights are not used.
    PageRank = "pagerank" [iterations, tolerance, damping];
    /// PageRank by passing on only what has changed, until it is within a tolerance of the limit.
    DeltaPageRank = "delta-pagerank" [tolerance, damping];
    /// Weakly connected components: edges count in both directions.
    Wcc = "wcc" [];
    /// Strongly connected components: each vertex reaches all others of its own.
    Scc = "scc" [];
    /// Betweenness centrality: how many shortest paths go through a vertex.
    Betweenness = "bc" [source, samples, seed, convention];
    /// The length of a shortest path from a source; without weights every edge has length 1.
    Sssp = "sssp" [source, delta];
    /// The widest path from a source: its smallest weight is as large as can be.
    Sswp = "sswp" [source];
    /// The narrowest path from a source: its largest weight is as small as can be.
    Ssnp = "ssnp" [source];
    /// The most likely path from a source: the product of its weights, each from 0 to 1.
    Viterbi = "viterbi" [source];
    /// Coreness: the largest k so that a vertex is in the k-core; or the k-core of a given k.
    KCore = "kcore" [k];
    /// Radii: for each vertex the largest distance to it from any of some sampled vertices.
    Radii = "radii" [samples, seed];
    /// The number of triangles, direction, self-loops and parallel edges left aside.
    Triangles = "triangles" [];
    /// Local clustering coefficient: which part of a vertex's neighbors are neighbors themselves.
    Lcc = "lcc" [];
    /// Communities by label propagation, as LDBC Graphalytics defines it.
    Cdlp = "cdlp" [iterations];
    /// PageRank of a walk that starts anew at some vertices, and goes by weights if there are some.
    PersonalizedPageRank = "personalized-pagerank" [sources, weighted, iterations, tolerance, damping];
    /// HITS: hubs lead to authorities, to which hubs lead.
    Hits = "hits" [weighted, iterations, tolerance];
    /// Eigenvector centrality: a score in proportion to the sum of those of the in-neighbors.
    Eigenvector = "eigenvector" [weighted, iterations, tolerance];
    /// Katz centrality: how many walks end at a vertex, each edge of one making it count less.
    Katz = "katz" [alpha, beta, weighted, iterations, tolerance];
    /// Closeness centrality: how near a vertex is to those that reach it.
    Closeness = "closeness" [samples, seed];
    /// Harmonic centrality: the sum of 1 by the distance of each vertex that reaches it.
    Harmonic = "harmonic" [samples, seed];
    /// Communities by modularity, by the method of Louvain.
    Louvain = "louvain" [resolution, weighted, seed];
    /// Communities by modularity that are connected, by the method of Leiden.
    Leiden = "leiden" [resolution, weighted, seed];
    /// Communities by label propagation until each vertex has a label that most of its neighbors have.
    LabelPropagation = "label-propagation" [weighted, seed];
    /// Bridges: the edges without which two vertices are no longer connected.
    Bridges = "bridges" [];
    /// Articulation points: the vertices without which two others are no longer connected.
    ArticulationPoints = "articulation-points" [];
    /// A spanning forest of the smallest sum of weights.
    SpanningForest = "spanning-forest" [];
    /// An order of all vertices in which every edge leads forward, or a cycle if there is none.
    TopologicalOrder = "topological-order" [];
    /// Two colors so that every edge joins both, or a cycle of odd length if there are none.
    Bipartition = "bipartition" [];
}

impl Kernel {
    /// Whether its answer depends on the weights of edges.
    pub fn reads_weights(self) -> bool {
        matches!(self, Self::Sssp | Self::Sswp | Self::Ssnp | Self::Viterbi | Self::SpanningForest)
            || self.parameters().contains(&"weighted")
    }

    /// Whether it reads each edge a few times at most, whatever the graph.
    pub(crate) fn is_linear(self) -> bool {
        matches!(
            self,
            Self::OneHop
                | Self::Bfs
                | Self::Wcc
                | Self::Scc
                | Self::KCore
                | Self::Bridges
                | Self::ArticulationPoints
                | Self::SpanningForest
                | Self::TopologicalOrder
                | Self::Bipartition
        )
    }

    /// Whether its answer may be another one, as right, where vertices have other numbers: those of a sealed graph are new.
    pub fn depends_on_numbers(self) -> bool {
        matches!(
            self,
            Self::Louvain
                | Self::Leiden
                | Self::LabelPropagation
                | Self::Bridges
                | Self::SpanningForest
                | Self::TopologicalOrder
                | Self::Bipartition
        )
    }

    /// Whether it keeps arrays by vertex. Queries of single vertices need none.
    pub(crate) fn keeps_arrays(self) -> bool {
        !matches!(self, Self::OneHop | Self::TwoHop)
    }

    /// Returns about how many bytes its arrays take on a graph whose vertices are numbered without gaps, on the
    /// threads that there are, with the spot check of its answer and the numbers that vertices had before. What checks the
    /// whole answer may take more.
    ///
    /// `tests/memory` holds the kernels to it.
    pub(crate) fn array_bytes(self, vertices: u64, edges: u64) -> u64 {
        let threads = par::thread_count() as u64;
        let (of_vertex, of_edge) = match self {
            Self::OneHop | Self::TwoHop => (12, 0),
            Self::Wcc => (14, 0),
            Self::Bfs => (17, 0),
            Self::PageRank => (18, 0),
            Self::Scc => (24, 0),
            Self::Radii => (28, 0),
            // Up to three bits for each thread.
            Self::KCore => (18 + 3 * threads / 8, 0),
            Self::DeltaPageRank => (44, 0),
            Self::Betweenness => (48, 0),
            // Buckets hold about twice the vertices at most, in lists that may have as much room again.
            Self::Sssp | Self::Sswp | Self::Ssnp | Self::Viterbi => (34, 0),
            // Up to three bytes for each thread.
            Self::Cdlp => (42 + 3 * threads, 0),
            // Edges have rows of bits where they are many, of which a thread has one.
            Self::Triangles => (36 + threads / 8, 13),
            // A thread adds up what it finds of each vertex.
            Self::Lcc => (62 + 5 * threads, 16),
            Self::Bipartition => (21, 0),
            Self::TopologicalOrder => (34, 0),
            Self::PersonalizedPageRank | Self::Eigenvector | Self::Katz => (42, 0),
            Self::Hits => (50, 0),
            Self::SpanningForest => (56, 0),
            Self::Bridges | Self::ArticulationPoints => (72, 0),
            // A search of 512 sources at once keeps their bits, and on a path the vertices of each.
            Self::Closeness | Self::Harmonic => (360, 0),
            // Links of both ends have weights of eight bytes: those of the view, and of the two levels that are the
            // largest, whose links are those of the one before at most.
            Self::LabelPropagation => (52 + 12 * threads, 67),
            Self::Louvain => (124 + 12 * threads, 75),
            Self::Leiden => (160 + 12 * threads, 75),
        };
        // What a damaged manifest says may be any number.
        vertices.saturating_mul(of_vertex).saturating_add(edges.saturating_mul(of_edge))
    }

    /// Whether it begins at one vertex, also if none is named.
    pub(crate) fn starts_at_one_vertex(self) -> bool {
        self != Self::Betweenness && self.parameters().contains(&"source")
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What kernels are also called.
const ALIASES: [(&str, Kernel); 12] = [
    ("betweenness", Kernel::Betweenness),
    ("breadth-first-search", Kernel::Bfs),
    ("clustering", Kernel::Lcc),
    ("components", Kernel::Wcc),
    ("connected-components", Kernel::Wcc),
    ("core-number", Kernel::KCore),
    ("coreness", Kernel::KCore),
    ("dijkstra", Kernel::Sssp),
    ("minimum-spanning-forest", Kernel::SpanningForest),
    ("shortest-paths", Kernel::Sssp),
    ("strongly-connected-components", Kernel::Scc),
    ("topological-sort", Kernel::TopologicalOrder),
];

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::ALL.iter().copied().find(|kernel| kernel.name() == text);
        let also = || ALIASES.iter().find(|(alias, _)| *alias == text).map(|&(_, kernel)| kernel);
        named.or_else(also).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kernel| kernel.name()).collect();
            Error::invalid(format!("no kernel is called `{text}`; there are {}", names.join(", ")))
        })
    }
}

/// A parameter of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name: a field of [`Parameters`], an argument in Python, and with two dashes before it
    /// an option of the command line.
    pub name: &'static str,
    /// What stands for its value in a usage line.
    pub value_name: &'static str,
    /// What it says, and what holds without it.
    pub about: &'static str,
}

impl Parameter {
    /// Returns the kernels that have it.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> {
        let name = self.name;
        Kernel::ALL.iter().copied().filter(move |kernel| kernel.parameters().contains(&name))
    }
}

/// What a parameter can be.
trait Kind: FromStr {
    /// In words.
    const WORDS: &'static str;
}

impl Kind for String {
    const WORDS: &'static str = "a text";
}

impl Kind for u32 {
    const WORDS: &'static str = "a whole number below 2^32";
}

impl Kind for u64 {
    const WORDS: &'static str = "a whole number below 2^64";
}

impl Kind for f64 {
    const WORDS: &'static str = "a number";
}

impl Kind for bool {
    const WORDS: &'static str = "true or false";
}

impl Kind for Starts {
    const WORDS: &'static str = "ids with commas between them, or in JSON a list of ids, or an object that gives ids weights";
}

/// Where a walk starts anew, by the names of vertices, each with its weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Starts(pub Vec<(String, f64)>);

impl FromStr for Starts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("sources={text}"));
        let name = |value: &Value| match value {
            Value::String(name) => Some(name.clone()),
            Value::Number(number) if number.is_u64() => Some(number.to_string()),
            _ => None,
        };
        let json = || serde_json::from_str(text).map_err(|_| wrong());
        let starts: Option<Vec<_>> = match text.trim_start().chars().next() {
            Some('{') => {
                let weights: serde_json::Map<String, Value> = json()?;
                let start = |(name, weight): (String, Value)| Some((name, weight.as_f64()?));
                weights.into_iter().map(start).collect()
            }
            Some('[') => {
                let names: Vec<Value> = serde_json::from_str(text).map_err(|_| wrong())?;
                names.iter().map(|value| Some((name(value)?, 1.0))).collect()
            }
            _ => text.split(',').map(|name| Some((name.trim().to_owned(), 1.0))).collect(),
        };
        starts.map(Self).ok_or_else(wrong)
    }
}

impl Kind for Convention {
    const WORDS: &'static str = "pairs, networkx or gap";
}

/// What a score of betweenness is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convention {
    /// How many pairs of other vertices have their shortest paths through it: each pair counts once,
    /// in a directed graph once in each direction. As igraph, and NetworkX with `normalized=False`.
    #[default]
    Pairs,
    /// The part of all such pairs, from 0 to 1, as NetworkX returns unless told.
    NetworkX,
    /// In proportion to the largest score, which is 1, as the GAP Benchmark Suite.
    Gap,
}

impl FromStr for Convention {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "pairs" => Ok(Self::Pairs),
            "networkx" => Ok(Self::NetworkX),
            "gap" => Ok(Self::Gap),
            _ => Err(Error::invalid(format!("no convention is called `{text}`"))),
        }
    }
}

fn parsed<T: Kind>(name: &str, text: &str) -> Result<T> {
    let wrong = |_| Error::invalid(format!("{name}={text}: it must be {}", T::WORDS));
    text.parse().map_err(wrong)
}

/// Defines the parameters: name, type, what stands for the value.
macro_rules! parameters {
    ($($(#[doc = $about:literal])+ $name:ident: $kind:ty = $value_name:literal;)+) => {
        /// What a kernel is told. It refuses what is not among its
        /// [`parameters`](Kernel::parameters).
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Parameters {
            $($(#[doc = $about])+ pub $name: Option<$kind>,)+
        }

        impl Parameters {
            /// Every parameter.
            pub const ALL: &'static [Parameter] = &[$(Parameter {
                name: stringify!($name),
                value_name: $value_name,
                about: concat!($($about),+).trim_ascii(),
            }),+];

            /// Sets the parameter `name` to what `text` says.
            ///
            /// # Errors
            /// `InvalidInput` if there is none, or the text is no value of it.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                match name {
                    $(stringify!($name) => self.$name = Some(parsed(name, text)?),)+
                    _ => return Err(Error::invalid(format!("no parameter is called `{name}`"))),
                }
                Ok(())
            }

            /// Returns the names of those that are given.
            fn given(&self) -> impl Iterator<Item = &'static str> {
                [$(self.$name.is_some().then_some(stringify!($name))),+].into_iter().flatten()
            }
        }
    };
}

parameters! {
    /// Where to start; unless given, the vertex of largest out-degree (the smallest of them), for
    /// bc every vertex.
    source: String = "ID";
    /// Where the walk starts anew: ids with commas between them, or in JSON a list of ids or an object that gives
    /// ids weights. Everywhere alike unless given.
    sources: Starts = "IDS";
    /// Whether weights count; true unless given. Without weights every edge counts 1.
    weighted: bool = "BOOL";
    /// The most iterations; for pagerank and personalized-pagerank 20 unless a tolerance is given, for cdlp 10, for
    /// hits, eigenvector and katz 1000.
    iterations: u32 = "N";
    /// Stop when an iteration changes all ranks by less than this in sum; for delta-pagerank how
    /// far they may be from the limit in sum. 0.0001 if nothing else ends it. For hits, eigenvector and katz 0.000001
    /// unless given: who still changes by more after the last iteration has no answer.
    tolerance: f64 = "X";
    /// The part of its rank that a vertex passes on along its edges, from 0 to 1; 0.85 unless
    /// given.
    damping: f64 = "X";
    /// What an edge of a walk makes it count less, 0 or more; 0.9 by the largest in-degree unless given. Above 1 by the
    /// largest eigenvalue there is no answer.
    alpha: f64 = "X";
    /// What each vertex has to begin with; 1 unless given.
    beta: f64 = "X";
    /// How small communities are: above 1 they are smaller, below larger; 1 unless given.
    resolution: f64 = "X";
    /// The width of a bucket of distances; chosen from a sample of the weights unless given. No
    /// answer depends on it.
    delta: f64 = "X";
    /// Which core to return instead of coreness.
    k: u32 = "K";
    /// How many vertices to draw as sources; for bc, closeness and harmonic all unless given, and for bc some may be
    /// drawn more than once; for radii 64.
    samples: u32 = "N";
    /// Which vertices are drawn, or for louvain, leiden and label-propagation in which order vertices are asked: the same
    /// seed, the same answer. But for bc, a sealed graph has another one than the graph that was sealed: its vertices have
    /// new numbers.
    seed: u64 = "S";
    /// What scores are: `pairs` of ends of shortest paths, each counted once; the part of all pairs
    /// as `networkx` has it; or a part of the largest as `gap`. pairs unless given; samples are
    /// scaled up to all vertices. Parallel edges are different paths here, in NetworkX's multigraphs
    /// one.
    convention: Convention = "NAME";
}

impl Parameters {
    /// Refuses what `kernel` does not have, and a sample of nothing.
    pub(crate) fn check(&self, kernel: Kernel) -> Result<()> {
        if self.samples == Some(0) {
            return Err(Error::invalid("samples=0: it must be 1 or more"));
        }
        if kernel == Kernel::PageRank && self.tolerance == Some(0.0) && self.iterations.is_none() {
            return Err(Error::invalid("tolerance=0: it must be above 0, or iterations be given"));
        }
        match self.given().find(|name| !kernel.parameters().contains(name)) {
            None => Ok(()),
            Some(name) => Err(Error::invalid(match kernel.parameters() {
                [] => format!("{kernel} has no parameters, `{name}` is given"),
                names => format!("{kernel} has no `{name}`, only {}", names.join(", ")),
            })),
        }
    }

    /// Returns what they say about PageRank.
    pub(crate) fn pagerank_config(&self) -> PageRankConfig {
        let default = PageRankConfig::default();
        let damping = self.damping.unwrap_or(default.damping);
        // Of the two only the one that is given ends it.
        let (iterations_max, tolerance) = match (self.iterations, self.tolerance) {
            (None, None) => (default.iterations_max, default.tolerance),
            (iterations, tolerance) => (iterations.unwrap_or(u32::MAX), tolerance.unwrap_or(0.0)),
        };
        PageRankConfig { damping, iterations_max, tolerance }
    }
}
