//! The cheap verifiers: they accept every right answer, and notice what spoils many values.

use everedge_core::{Bitmap, Csr, CsrOptions, GraphView, SplitMix64};
use everedge_kernels::*;

use crate::graphs::{for_each_case, reweighted};

/// Ids of the graphs whose answers are spoilt: more than a spot check looks at.
const BOUND: u32 = 60_000;

/// Which verifier looks at an answer.
#[derive(Clone, Copy, Debug)]
enum Verifier {
    Cheap,
    Full,
}

use Verifier::{Cheap, Full};

/// Verifies a copy of an answer of which the values of the chosen ids are spoilt.
type Spoil<'a> = &'a dyn Fn(Verifier, &dyn Fn(u32) -> bool) -> Result<()>;

/// Shows every kernel's answer on `g` to `see`: the kernel's name, and a way to spoil and verify it.
fn for_each_answer(g: &Csr, see: impl Fn(&str, Spoil)) {
    let Some(source) = (0..g.vertex_bound()).max_by_key(|&v| (g.is_vertex(v), g.out_degree(v)))
    else {
        return;
    };
    if !g.is_vertex(source) {
        return;
    }
    /// Shows an answer of which a field is spoilt, and both verifiers of it, which are told what is
    /// in the brackets.
    macro_rules! answer {
        ($name:literal, $right:expr, $field:ident, $spoil:expr,
            $check:ident, $verify:ident [$($told:expr),*]) => {
            let right = $right;
            see($name, &|verifier, chosen| {
                let mut wrong = right.clone();
                let ids = (0..).zip(wrong.$field.iter_mut()).filter(|(v, _)| chosen(*v));
                ids.for_each(|(_, value)| $spoil(value));
                match verifier {
                    Cheap => $check($($told,)* &wrong),
                    Full => $verify($($told,)* &wrong),
                }
            });
        };
    }
    // Each makes another value of every value.
    let later = |depth: &mut u32| *depth = depth.wrapping_add(2);
    let other = |v: &mut u32| *v = u32::from(*v == 0);
    let lost = |v: &mut u32| *v = if *v == NO_PARENT { 0 } else { NO_PARENT };
    let larger = |value: &mut f64| match value.is_infinite() {
        true => *value = 1.0,
        false => *value = *value * 1.5 + 0.25,
    };
    let far_off = |part: &mut f64| *part = if *part > 0.5 { 0.25 } else { 0.75 };
    let one_more = |count: &mut u32| *count += 1;
    let one_corner_more = |count: &mut u64| *count += 1;

    let of_bfs = bfs(g, source).unwrap();
    answer!("bfs", of_bfs.clone(), depth, later, spot_check_bfs, verify_bfs[g, source]);
    answer!("bfs parents", of_bfs, parent, lost, spot_check_bfs, verify_bfs[g, source]);
    answer!("wcc", wcc(g), component, other, spot_check_wcc, verify_wcc[g]);
    let of_scc = scc(g, &SccConfig::default());
    answer!("scc", of_scc, component, other, spot_check_scc, verify_scc[g]);
    for iterations_max in [3, 20] {
        let config = PageRankConfig { iterations_max, ..PageRankConfig::default() };
        let right = pagerank(g, &config).unwrap();
        answer!("pagerank", right, rank, larger, spot_check_pagerank, verify_pagerank[g, &config]);
    }
    let config = DeltaPageRankConfig::default();
    answer!("delta-pagerank", delta_pagerank(g, &config).unwrap(), rank, larger,
        spot_check_delta_pagerank, verify_delta_pagerank[g, &config]);
    let even = &reweighted(g, |weight| weight.min(1e3));
    for (weighted, starts) in [(true, vec![]), (false, vec![(source, 1.0)])] {
        let config = PersonalizedPageRankConfig { weighted, starts, ..Default::default() };
        answer!("personalized-pagerank", personalized_pagerank(even, &config).unwrap(), rank, larger,
            spot_check_personalized_pagerank, verify_personalized_pagerank[even, &config]);
    }
    // Few iterations and many have checks of their own.
    for (iterations_max, weighted) in [(5, false), (30, true)] {
        let config = HitsConfig { iterations_max, tolerance: 0.0, weighted };
        answer!("hubs", hits(even, &config).unwrap(), hub, larger,
            spot_check_hits, verify_hits[even, &config]);
        answer!("authorities", hits(even, &config).unwrap(), authority, larger,
            spot_check_hits, verify_hits[even, &config]);
        let config = EigenvectorConfig { iterations_max, tolerance: 0.0, weighted };
        answer!("eigenvector", eigenvector(even, &config).unwrap(), score, larger,
            spot_check_eigenvector, verify_eigenvector[even, &config]);
        let alpha = if weighted { 1e-7 } else { 1e-4 };
        let config = KatzConfig {
            iterations_max,
            alpha,
            tolerance: 0.0,
            weighted,
            normalized: weighted,
            beta: 1.0,
        };
        answer!("katz", katz(even, &config).unwrap(), score, larger,
            spot_check_katz, verify_katz[even, &config]);
    }
    for sources in [vec![source], vec![source, source]] {
        let config = BetweennessConfig { sources: Sources::Given(sources) };
        answer!("bc", betweenness(g, &config).unwrap(), score, larger,
            spot_check_betweenness, verify_betweenness[g, &config]);
    }
    let right = sssp(g, source, &SsspConfig::default()).unwrap();
    answer!("sssp", right, distance, larger, spot_check_sssp, verify_sssp[g, source]);
    let right = sswp(g, source).unwrap();
    answer!("sswp", right, width, larger, spot_check_sswp, verify_sswp[g, source]);
    let right = ssnp(g, source).unwrap();
    answer!("ssnp", right, largest_weight, larger, spot_check_ssnp, verify_ssnp[g, source]);
    let likely = &reweighted(g, |weight| weight.min(1e3) / 1e3);
    answer!("viterbi", viterbi(likely, source).unwrap(), probability, far_off,
        spot_check_viterbi, verify_viterbi[likely, source]);
    let forward = &some_edges(g, true, |u, v| u < v);
    answer!(
        "topological order",
        topological_order(forward),
        level,
        later,
        spot_check_topological_order,
        verify_topological_order[forward]
    );
    answer!(
        "topological order and cycle",
        topological_order(g),
        level,
        other,
        spot_check_topological_order,
        verify_topological_order[g]
    );
    let recolored = |color: &mut u8| *color = u8::from(*color == 0);
    let between = &some_edges(g, g.is_directed(), |u, v| (u + v) % 2 == 1);
    answer!(
        "bipartition",
        bipartition(between),
        color,
        recolored,
        spot_check_bipartition,
        verify_bipartition[between]
    );
    answer!(
        "bipartition and odd cycle",
        bipartition(g),
        color,
        recolored,
        spot_check_bipartition,
        verify_bipartition[g]
    );
    answer!("coreness", coreness(g), coreness, one_more, spot_check_coreness, verify_coreness[g]);
    for source_count in [Some(1), Some(70)] {
        let config = ClosenessConfig { source_count, seed: 2 };
        answer!("closeness", closeness(g, &config).unwrap(), score, larger,
            spot_check_closeness, verify_closeness[g, &config]);
        answer!("harmonic", harmonic(g, &config).unwrap(), score, larger,
            spot_check_harmonic, verify_harmonic[g, &config]);
    }
    let config = RadiiConfig::default();
    answer!("radii", radii(g, &config).unwrap(), radius, later,
        spot_check_radii, verify_radii[g, &config]);
    answer!(
        "triangles",
        triangles(g),
        smallest_corner,
        one_corner_more,
        spot_check_triangles,
        verify_triangles[g]
    );
    let config = LouvainConfig { weighted: false, ..LouvainConfig::default() };
    answer!("louvain", louvain(g, &config).unwrap(), community, other,
        spot_check_louvain, verify_louvain[g, &config]);
    let config = LeidenConfig { weighted: false, ..LeidenConfig::default() };
    answer!("leiden", leiden(g, &config).unwrap(), community, other,
        spot_check_leiden, verify_leiden[g, &config]);
    let config = LabelPropagationConfig { weighted: false, seed: 1 };
    answer!("label-propagation", label_propagation(g, &config).unwrap(), community, other,
        spot_check_label_propagation, verify_label_propagation[g, &config]);
    answer!(
        "biconnected",
        biconnected(g),
        component,
        other,
        spot_check_biconnected,
        verify_biconnected[g]
    );
    answer!("lcc", lcc(g), coefficient, far_off, spot_check_lcc, verify_lcc[g]);
    for labels in [None, Some((0..g.vertex_bound().into()).rev().collect::<Vec<u64>>())] {
        let (config, labels) = (CdlpConfig::default(), labels.as_deref());
        answer!("cdlp", cdlp(g, labels, &config).unwrap(), label, other,
            spot_check_cdlp, verify_cdlp[g, labels, &config]);
    }
}

/// Returns the edges of `g` for which `holds`.
fn some_edges(g: &Csr, directed: bool, holds: impl Fn(u32, u32) -> bool) -> Csr {
    let mut edges = Vec::new();
    g.for_each_edge(|u, v| {
        if holds(u, v) {
            edges.push((u, v));
        }
    });
    let vertices: Vec<_> = (0..g.vertex_bound()).filter(|&v| g.is_vertex(v)).collect();
    Csr::from_edges(&edges, None, CsrOptions { directed, declared: &vertices })
}

#[test]
fn right_answers_are_accepted() {
    for_each_case(|case| {
        let g = &case.graph;
        for_each_answer(g, |name, check| check(Cheap, &|_| false).expect(name));
        for source in case.sources() {
            spot_check_one_hop(g, source, &one_hop(g, source).unwrap()).unwrap();
            spot_check_two_hop(g, source, &two_hop(g, source).unwrap()).unwrap();
        }
        for k in 0..5 {
            spot_check_kcore(g, k, &kcore(g, k)).unwrap();
        }
    });
}

fn large(directed: bool) -> Csr {
    graph_of(BOUND, directed)
}

/// A graph with hubs, triangles and vertices of degree 1, directed or not.
fn graph_of(bound: u32, directed: bool) -> Csr {
    let mut random = SplitMix64::new(11);
    let (mut edges, mut weights) = (Vec::new(), Vec::new());
    for u in 1..bound {
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
            check(Cheap, &|_| false).expect(name);
            let spoilt = check(Cheap, &|v| v % 30 == 7);
            assert!(matches!(spoilt, Err(Error::WrongResult { .. })), "{name}, {directed}");
        });
    }
}

/// What `spots` states: 300 wrong values among 60,000 are found with a probability of 99 %. A hundred
/// draws may miss three, which by chance is one test of fifty.
#[test]
fn one_wrong_value_in_two_hundred_is_found_with_the_stated_probability() {
    let g = large(true);
    let mut random = SplitMix64::new(5);
    let draws: Vec<Bitmap> = (0..100).map(|_| drawn(&mut random, 300)).collect();
    for_each_answer(&g, |name, check| {
        let found =
            draws.iter().filter(|draw| check(Cheap, &|v| draw.contains(v)).is_err()).count();
        println!("{name}: {found} of 100");
        assert!(found >= 97, "{name}: {found} of 100");
    });
}

/// Draws `count` ids, some perhaps more than once.
fn drawn(random: &mut SplitMix64, count: u32) -> Bitmap {
    let mut ids = Bitmap::new(BOUND);
    (0..count).for_each(|_| ids.insert(random.below(BOUND.into()) as u32));
    ids
}

/// The full verifiers find every single wrong value.
#[test]
fn one_wrong_value_is_found_surely_by_the_full_verifiers() {
    for directed in [true, false] {
        let g = graph_of(300, directed);
        for_each_answer(&g, |name, check| {
            check(Full, &|_| false).expect(name);
            for wrong in 0..g.vertex_bound() {
                let spoilt = check(Full, &|v| v == wrong);
                assert!(matches!(spoilt, Err(Error::WrongResult { .. })), "{name}, {wrong}");
            }
        });
    }
}

/// What pieces of work that were left out or done twice would leave behind.
#[test]
fn values_of_a_range_that_were_never_computed_are_noticed() {
    let g = large(false);
    for_each_answer(&g, |name, check| {
        let spoilt = check(Cheap, &|v| (40_960..45_056).contains(&v));
        assert!(matches!(spoilt, Err(Error::WrongResult { .. })), "{name}");
    });
}

/// Asserts that both verifiers refuse a list.
fn assert_refused(name: &str, [cheap, full]: [Result<()>; 2]) {
    assert!(cheap.is_err() && full.is_err(), "{name}: {cheap:?}, {full:?}");
}

#[test]
fn lists_of_vertices_with_wrong_members_are_noticed() {
    let g = &large(true);
    let source = (0..BOUND).max_by_key(|&v| g.out_degree(v)).unwrap();
    let right = one_hop(g, source).unwrap();
    let one_hop =
        |list: &[u32]| [spot_check_one_hop(g, source, list), verify_one_hop(g, source, list)];
    let shifted: Vec<_> = right.iter().map(|v| (v + 7) % BOUND).collect();
    assert_refused("other neighbors", one_hop(&shifted));
    assert_refused("one neighbor less", one_hop(&right[1..]));
    let right = two_hop(g, source).unwrap();
    let two_hop =
        |list: &[u32]| [spot_check_two_hop(g, source, list), verify_two_hop(g, source, list)];
    let fewer: Vec<_> = right.iter().copied().filter(|v| v % 3 > 0).collect();
    assert_refused("fewer within two steps", two_hop(&fewer));
    let more: Vec<_> = (0..BOUND).filter(|&v| v != source).collect();
    assert_refused("more within two steps", two_hop(&more));
    assert!(verify_two_hop(g, source, &right[1..]).is_err());
    let right = kcore(g, 3);
    let kcore = |k, list: &[u32]| [spot_check_kcore(g, k, list), verify_kcore(g, k, list)];
    let fewer: Vec<_> = right.iter().copied().filter(|v| v % 200 > 0).collect();
    assert_refused("fewer in the core", kcore(3, &fewer));
    assert_refused("another core", kcore(4, &right));
    assert!(verify_kcore(g, 3, &right[1..]).is_err());
}

#[test]
fn forests_of_other_edges_are_noticed() {
    let g = &large(true);
    let right = spanning_forest(g).unwrap();
    let refused = |name, forest: &SpanningForest| {
        let verified = [spot_check_spanning_forest(g, forest), verify_spanning_forest(g, forest)];
        assert_refused(name, verified);
    };
    spot_check_spanning_forest(g, &right).unwrap();
    let mut wrong = right.clone();
    wrong.weights[7] += 1.0;
    refused("another weight", &wrong);
    // Without the last edges, which are some vertices' lightest.
    let mut wrong = right.clone();
    wrong.edges.truncate(55_000);
    wrong.weights.truncate(55_000);
    wrong.total = wrong.weights.iter().map(|&weight| f64::from(weight)).sum();
    refused("fewer edges", &wrong);
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
