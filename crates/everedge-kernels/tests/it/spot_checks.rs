//! The cheap verifiers: they accept every right answer, and notice what spoils many values.

use everedge_core::{Csr, CsrOptions, GraphView, SplitMix64};
use everedge_kernels::*;

use crate::graphs::{for_each_case, reweighted};

/// Ids of the graphs whose answers are spoilt: more than a spot check looks at.
const BOUND: u32 = 60_000;

/// Shows every kernel's answer on `g` to `see`: the kernel's name, a way to spoil the value of some
/// vertices in it, and the spot check.
fn for_each_answer(g: &Csr, see: impl Fn(&str, &dyn Fn(&dyn Fn(u32) -> bool) -> Result<()>)) {
    let Some(source) = (0..g.vertex_bound()).max_by_key(|&v| (g.is_vertex(v), g.out_degree(v)))
    else {
        return;
    };
    if !g.is_vertex(source) {
        return;
    }
    /// Changes the values of the chosen ids of a copy.
    macro_rules! answer {
        ($name:literal, $right:expr, $field:ident, $spoil:expr, $check:expr) => {
            let right = $right;
            see($name, &|chosen| {
                let mut wrong = right.clone();
                let ids = (0..).zip(wrong.$field.iter_mut()).filter(|(v, _)| chosen(*v));
                ids.for_each(|(_, value)| $spoil(value));
                $check(&wrong)
            });
        };
    }
    let later = |depth: &mut u32| *depth = depth.wrapping_add(2);
    let larger = |value: &mut f64| *value = *value * 1.5 + 0.25;
    answer!("bfs", bfs(g, source).unwrap(), depth, later, |r: &Bfs| spot_check_bfs(g, source, r));
    answer!("bfs parents", bfs(g, source).unwrap(), parent, later, |r: &Bfs| {
        spot_check_bfs(g, source, r)
    });
    let other = |component: &mut u32| *component = 0;
    answer!("wcc", wcc(g), component, other, |r: &Wcc| spot_check_wcc(g, r));
    let config = SccConfig::default();
    answer!("scc", scc(g, &config), component, other, |r: &Scc| spot_check_scc(g, r));
    let config = PageRankConfig::default();
    answer!("pagerank", pagerank(g, &config).unwrap(), rank, larger, |r: &PageRank| {
        spot_check_pagerank(g, &config, r)
    });
    let few = PageRankConfig { iterations_max: 3, ..config };
    answer!(
        "3 iterations of pagerank",
        pagerank(g, &few).unwrap(),
        rank,
        larger,
        |r: &PageRank| { spot_check_pagerank(g, &few, r) }
    );
    let config = DeltaPageRankConfig::default();
    answer!("delta-pagerank", delta_pagerank(g, &config).unwrap(), rank, larger, |r: &_| {
        spot_check_delta_pagerank(g, &config, r)
    });
    for sources in [vec![source], vec![source, source]] {
        let config = BetweennessConfig { sources: Sources::Given(sources) };
        answer!("bc", betweenness(g, &config).unwrap(), score, larger, |r: &Betweenness| {
            spot_check_betweenness(g, &config, r)
        });
    }
    let config = SsspConfig::default();
    answer!("sssp", sssp(g, source, &config).unwrap(), distance, larger, |r: &Sssp| {
        spot_check_sssp(g, source, r)
    });
    answer!("sswp", sswp(g, source).unwrap(), width, larger, |r: &Sswp| {
        spot_check_sswp(g, source, r)
    });
    answer!("ssnp", ssnp(g, source).unwrap(), largest_weight, larger, |r: &Ssnp| {
        spot_check_ssnp(g, source, r)
    });
    let likely = reweighted(g, |weight| weight.min(1e3) / 1e3);
    let less = |probability: &mut f64| *probability = *probability * 0.5 + 0.25;
    answer!("viterbi", viterbi(&likely, source).unwrap(), probability, less, |r: &Viterbi| {
        spot_check_viterbi(&likely, source, r)
    });
    let more = |count: &mut u32| *count += 1;
    answer!("coreness", coreness(g), coreness, more, |r: &Coreness| spot_check_coreness(g, r));
    let config = RadiiConfig::default();
    answer!("radii", radii(g, &config).unwrap(), radius, later, |r: &Radii| {
        spot_check_radii(g, &config, r)
    });
    let more = |count: &mut u64| *count += 1;
    answer!("triangles", triangles(g), smallest_corner, more, |r: &_| spot_check_triangles(g, r));
    answer!("lcc", lcc(g), coefficient, less, |r: &Lcc| spot_check_lcc(g, r));
    for labels in [None, Some((0..g.vertex_bound().into()).rev().collect::<Vec<u64>>())] {
        let (config, labels) = (CdlpConfig::default(), labels.as_deref());
        answer!("cdlp", cdlp(g, labels, &config).unwrap(), label, other, |r: &Cdlp| {
            spot_check_cdlp(g, labels, &config, r)
        });
    }
}

#[test]
fn right_answers_are_accepted() {
    for_each_case(|case| {
        let g = &case.graph;
        for_each_answer(g, |name, check| check(&|_| false).expect(name));
        for source in case.sources() {
            spot_check_one_hop(g, source, &one_hop(g, source).unwrap()).unwrap();
            spot_check_two_hop(g, source, &two_hop(g, source).unwrap()).unwrap();
        }
        for k in 0..5 {
            spot_check_kcore(g, k, &kcore(g, k)).unwrap();
        }
    });
}

/// A graph with hubs, triangles and vertices of degree 1, directed or not.
fn large(directed: bool) -> Csr {
    let mut random = SplitMix64::new(11);
    let (mut edges, mut weights) = (Vec::new(), Vec::new());
    for u in 1..BOUND {
        for _ in 0..random.below(8) {
            let v = random.below(u64::from(u) + 1) * random.below(u64::from(u) + 1) / u64::from(u);
            edges.push(if random.below(2) == 0 { (u, v as u32) } else { (v as u32, u) });
            weights.push(1.0 + random.below(100) as f32);
        }
    }
    Csr::from_edges(&edges, Some(&weights), CsrOptions { directed, declared: &[] })
}

#[test]
fn values_that_are_wrong_at_one_vertex_in_thirty_are_noticed() {
    for directed in [true, false] {
        let g = large(directed);
        for_each_answer(&g, |name, check| {
            check(&|_| false).expect(name);
            let spoilt = check(&|v| v % 30 == 7);
            assert!(matches!(spoilt, Err(Error::WrongResult { .. })), "{name}, {directed}");
        });
    }
}

/// What pieces of work that were left out or done twice would leave behind.
#[test]
fn values_of_a_range_that_were_never_computed_are_noticed() {
    let g = large(false);
    for_each_answer(&g, |name, check| {
        let spoilt = check(&|v| (40_960..45_056).contains(&v));
        assert!(matches!(spoilt, Err(Error::WrongResult { .. })), "{name}");
    });
}

#[test]
fn lists_of_vertices_with_wrong_members_are_noticed() {
    let g = large(true);
    let source = (0..BOUND).max_by_key(|&v| g.out_degree(v)).unwrap();
    let right = one_hop(&g, source).unwrap();
    let shifted: Vec<_> = right.iter().map(|v| (v + 7) % BOUND).collect();
    assert!(spot_check_one_hop(&g, source, &shifted).is_err());
    assert!(spot_check_one_hop(&g, source, &right[1..]).is_err());
    let right = two_hop(&g, source).unwrap();
    let fewer: Vec<_> = right.iter().copied().filter(|v| v % 3 > 0).collect();
    assert!(spot_check_two_hop(&g, source, &fewer).is_err());
    let more: Vec<_> = (0..BOUND).filter(|&v| v != source).collect();
    assert!(spot_check_two_hop(&g, source, &more).is_err());
    let right = kcore(&g, 3);
    let fewer: Vec<_> = right.iter().copied().filter(|v| v % 30 > 0).collect();
    assert!(spot_check_kcore(&g, 3, &fewer).is_err());
    assert!(spot_check_kcore(&g, 4, &right).is_err());
}

/// Components under one name that have nothing to do with each other.
#[test]
fn small_components_under_the_name_of_others_are_noticed() {
    let edges: Vec<_> =
        (0..BOUND / 3).flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 2, 3 * i)]).collect();
    let g = Csr::from_edges(&edges, None, CsrOptions::default());
    let mut wrong = wcc(&g);
    wrong.component.iter_mut().skip(30_000).for_each(|root| *root -= *root % 6);
    assert!(spot_check_wcc(&g, &wrong).is_err());
}
