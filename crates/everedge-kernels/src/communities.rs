//! What the kernels that find communities by modularity return, and how it is checked.

use everedge_core::{GraphView, VertexId, WeightedView, watch};

use crate::Result;
use crate::both_ways::BothWays;
use crate::error::{ids, require};
use crate::modularity::{Ends, ModularityConfig, ROUNDING, with_ends};
use crate::network::{Groups, Network};
use crate::spots::check_all;
use crate::wcc::{check_names, component_count, largest};

/// The community of an id that is no vertex.
pub const NO_COMMUNITY: VertexId = VertexId::MAX;

/// What [`louvain`](crate::louvain()) or [`leiden`](crate::leiden()) found.
#[derive(Clone, Debug, PartialEq)]
pub struct Communities {
    /// `[vertex_bound]`: the smallest vertex of the community of each vertex, or [`NO_COMMUNITY`].
    pub community: Vec<VertexId>,
    /// Their modularity. Edges of a directed graph count as undirected ones.
    pub modularity: f64,
    /// How many levels, or iterations, there were.
    pub rounds: u32,
    /// Whether the last of them changed nothing; it may be that no more of them were asked for.
    pub is_stable: bool,
}

impl Communities {
    /// Returns how many communities there are.
    pub fn community_count(&self) -> u32 {
        component_count(&self.community)
    }

    /// Returns how many vertices the largest community has. Needs 4 bytes for each id.
    pub fn largest(&self) -> u32 {
        largest(&self.community)
    }
}

/// Names the community of each vertex after its smallest, where ids with equal `groups` are in one.
pub(crate) fn named(view: &impl GraphView, groups: &[u32]) -> Vec<VertexId> {
    let mut names = vec![NO_COMMUNITY; groups.len()];
    let name = |(v, &group): (VertexId, &u32)| {
        if !view.is_vertex(v) {
            return NO_COMMUNITY;
        }
        let name = &mut names[group as usize];
        *name = v.min(*name);
        *name
    };
    (0..).zip(groups).map(name).collect()
}

/// Checks that a vertex without edges to others is alone in its community.
pub(crate) fn check_lone(
    kernel: &'static str,
    view: &impl GraphView,
    community: &[VertexId],
) -> Result<()> {
    let view = &BothWays(view);
    check_all(view.vertex_bound(), |v| {
        let name = community[v as usize];
        let mut others = view.out_neighbors(v).filter(|&u| u != v);
        let holds = name == v || !view.is_vertex(v) || others.next().is_some();
        require(kernel, holds, || format!("{v}, which has no neighbor, is in {name}"))
    })
}

/// What a verifier knows of how communities were found.
pub(crate) struct Found<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) resolution: f64,
    pub(crate) weighted: bool,
    pub(crate) result: &'a Communities,
}

impl Found<'_> {
    /// Checks that vertices, and only they, are in communities named after their smallest, and that
    /// the modularity is theirs.
    pub(crate) fn check(&self, view: &impl WeightedView) -> Result<()> {
        let Communities { community, modularity, .. } = self.result;
        check_names(self.kernel, view, community)?;
        let config = ModularityConfig { resolution: self.resolution, weighted: self.weighted };
        let found = with_ends(view, community, &config, Ends::Alike)?.value;
        let is_close = (found - modularity).abs() <= ROUNDING * (1.0 + self.resolution);
        require(self.kernel, is_close, || format!("the modularity is {found}, not {modularity}"))
    }

    /// Checks that a vertex without edges to others is alone.
    pub(crate) fn check_lone(&self, view: &impl GraphView) -> Result<()> {
        check_lone(self.kernel, view, &self.result.community)
    }

    /// Checks that no two communities, joined, have more modularity. Ids that are no vertices may be
    /// by themselves.
    pub(crate) fn check_apart(&self, view: &impl WeightedView) -> Result<()> {
        let Communities { community, .. } = self.result;
        let own = |(v, &name): (VertexId, &VertexId)| if name == NO_COMMUNITY { v } else { name };
        let groups = Groups::new((0..).zip(community).map(own).collect());
        let network = Network::of(view, self.weighted)?.of_groups(&groups, Network::default());
        check_all(network.len(), |a| {
            for (b, linked) in network.links(a) {
                let (of_a, of_b) = (network.strength(a), network.strength(b));
                let expected = self.resolution * network.expected(of_a, of_b);
                require(self.kernel, linked <= expected + ROUNDING * of_a.max(of_b), || {
                    let [a, b] = [a, b].map(|c| groups.members(c)[0]);
                    format!("the communities of {a} and {b} are better as one")
                })?;
            }
            Ok(())
        })
    }

    /// Checks that every vertex is reached from the smallest of its community over edges inside it.
    pub(crate) fn check_connected(&self, view: &impl GraphView) -> Result<()> {
        let Communities { community, .. } = self.result;
        let mut seen = vec![false; community.len()];
        let mut stack = Vec::new();
        for v in ids(view.vertex_bound()).filter(|&v| community[v as usize] == v) {
            seen[v as usize] = true;
            stack.push(v);
            while let Some(u) = stack.pop() {
                watch::check();
                for w in BothWays(view).out_neighbors(u) {
                    if community[w as usize] == v && !seen[w as usize] {
                        seen[w as usize] = true;
                        stack.push(w);
                    }
                }
            }
        }
        check_all(view.vertex_bound(), |v| {
            require(self.kernel, seen[v as usize] || !view.is_vertex(v), || {
                format!("{v} is not connected with {} in its community", community[v as usize])
            })
        })
    }
}
