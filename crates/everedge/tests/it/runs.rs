//! Runs by name: how answers are verified and named, and ids that lie far apart.

use everedge::{
    Graph, GraphOptions, IdKind, Kernel, Layout, MediumKind, Parameters, RunOptions, RunReport,
    Values, Verify, View,
};
use serde_json::{Value, json};

/// An id so large that arrays by id would be longer than the graph.
const FAR: u32 = 3_000_000;

fn options(directed: bool) -> GraphOptions {
    GraphOptions { medium: MediumKind::Dram, directed, ..GraphOptions::default() }
}

fn graph(name: &str, directed: bool, edges: &[(u32, u32)]) -> Graph {
    let graph = Graph::create(name.as_ref(), &options(directed), false).unwrap();
    graph.insert(edges, None).unwrap();
    graph
}

fn run(view: &View, kernel: Kernel, told: &[(&str, &str)]) -> RunReport {
    let mut parameters = Parameters::default();
    told.iter().for_each(|(name, text)| parameters.set(name, text).unwrap());
    view.run(kernel, &RunOptions { verify: Verify::Full, ..parameters.into() }).unwrap()
}

/// Returns what a kernel is told that may have no answer otherwise.
fn told(kernel: Kernel) -> &'static [(&'static str, &'static str)] {
    match kernel {
        Kernel::Hits | Kernel::Eigenvector => &[("tolerance", "0"), ("iterations", "9")],
        _ => &[],
    }
}

fn lines(view: &View, values: &Values) -> Vec<String> {
    let mut text = Vec::new();
    values.write(view, &mut text).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

/// Every kernel says the same of a graph with far ids as of the one with near ids.
#[test]
fn ids_that_lie_far_apart_change_no_answer() {
    let near = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (0, 0), (6, 0)];
    let far_id = |v: u32| if v < 3 { v } else { FAR + 1000 * v };
    let far: Vec<_> = near.iter().map(|&(u, v)| (far_id(u), far_id(v))).collect();
    for directed in [true, false] {
        let near = graph("near", directed, &near).snapshot().unwrap();
        let far = graph("far", directed, &far).snapshot().unwrap();
        assert_eq!((near.row_count(), far.row_count()), (7, 7));
        assert_eq!(far.row_of(FAR + 4000), Some(4));
        assert_eq!(near.out_degrees(), far.out_degrees());
        assert_eq!(near.in_degrees(), far.in_degrees());
        for &kernel in Kernel::ALL {
            let (a, b) = (run(&near, kernel, told(kernel)), run(&far, kernel, told(kernel)));
            assert_eq!(a.source, b.source, "{kernel}");
            let rename = |line: &String| {
                let id = |word: &str| match word.parse::<u32>() {
                    // The second word is a vertex only where one stands for a group.
                    Ok(v) => far_id(v).to_string(),
                    Err(_) => word.to_owned(),
                };
                let mut words = line.split(' ');
                let first = id(words.next().unwrap());
                let named =
                    matches!(a.values, Values::Component(_) | Values::Label(_) | Values::Edges(..));
                let rest = words.map(|word| if named { id(word) } else { word.to_owned() });
                [first].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
            };
            let expected: Vec<_> = lines(&near, &a.values).iter().map(rename).collect();
            assert_eq!(lines(&far, &b.values), expected, "{kernel}, directed: {directed}");
        }
        let source = FAR + 3000;
        let bfs = run(&far, Kernel::Bfs, &[("source", &source.to_string())]);
        assert_eq!(bfs.source, Some(json!(source)));
        let neighbors = &run(&far, Kernel::OneHop, &[("source", "2")]).result["neighbors"];
        assert!(neighbors.as_array().unwrap().contains(&json!(source)), "{neighbors}");
    }
}

/// A result says what leads the values: vertices by value, 0 too, the smaller id first, groups by size, edges.
#[test]
fn a_result_says_what_leads() {
    let near = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (6, 6)];
    for far in [0, FAR] {
        let id = |v: u32| v + far * u32::from(v > 2);
        let edges = near.map(|(u, v)| (id(u), id(v)));
        let view = graph("led", false, &edges).snapshot().unwrap();
        let led = |kernel, key, expected: Value| {
            let told = if kernel == Kernel::Bfs { &[("source", "1")][..] } else { &[] };
            assert_eq!(run(&view, kernel, told).result[key], expected, "{kernel}, far: {far}");
        };
        led(Kernel::Bfs, "top", json!([[id(3), 2], [0, 1], [2, 1], [1, 0]]));
        led(Kernel::Wcc, "top", json!([[0, 4], [id(4), 2], [id(6), 1]]));
        led(Kernel::Cdlp, "top", json!([[0, 4], [id(4), 1], [id(5), 1], [id(6), 1]]));
        led(
            Kernel::KCore,
            "top",
            json!([[0, 2], [1, 2], [2, 2], [id(3), 1], [id(4), 1], [id(5), 1], [id(6), 0]]),
        );
        led(Kernel::Bridges, "edges", json!([[2, id(3)], [id(4), id(5)]]));
        led(Kernel::SpanningForest, "edges", json!([[0, 1], [0, 2], [2, id(3)], [id(4), id(5)]]));
        led(Kernel::Bipartition, "sides", json!([1, 1]));
        let two = RunOptions { top: Some(2), ..RunOptions::default() };
        let two = view.run(Kernel::Wcc, &two).unwrap();
        assert_eq!(two.result["top"].as_array().unwrap().len(), 2);
    }
}

/// Every kernel says the same of a graph that keeps no in-neighbors, in each layout and on a copy.
#[test]
fn graphs_without_in_neighbors_answer_alike() {
    let near = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (0, 0), (6, 0), (2, 3)];
    for far in [0, FAR] {
        let edges = near.map(|(u, v)| (u, v + far * u32::from(v > 4)));
        let both = graph("both", true, &edges).snapshot().unwrap();
        for layout in Layout::ALL {
            let options = GraphOptions { layout, in_neighbors: false, ..options(true) };
            let graph = Graph::create("out".as_ref(), &options, false).unwrap();
            graph.insert(&edges, None).unwrap();
            let out = graph.snapshot().unwrap();
            assert_eq!(out.in_degrees(), both.in_degrees());
            assert_eq!(out.to_csr().is_ok(), far == 0);
            for &kernel in Kernel::ALL {
                let expected = run(&both, kernel, told(kernel));
                let mut parameters = Parameters::default();
                told(kernel).iter().for_each(|(name, text)| parameters.set(name, text).unwrap());
                for (csr, verify) in [(false, Verify::Full), (true, Verify::Cheap)] {
                    let options = RunOptions { csr, verify, ..parameters.clone().into() };
                    let found = out.run(kernel, &options).unwrap();
                    assert_eq!(found.source, expected.source, "{kernel}");
                    let [found, expected] = [&found, &expected].map(|r| lines(&both, &r.values));
                    assert_eq!(found, expected, "{kernel} in {layout}, far: {far}, csr: {csr}");
                }
            }
        }
    }
}

#[test]
fn vertices_are_found_by_what_the_user_calls_them() {
    let dense = graph("dense", true, &[(0, 1), (1, 7)]);
    assert_eq!(dense.find_integers(&[7, 1 << 40]), [Some(7), None]);
    assert_eq!(dense.find_texts(["7", "x"].into_iter()), [Some(7), None]);
    let named = |ids| GraphOptions { ids, ..options(true) };
    let texts = Graph::create("texts".as_ref(), &named(IdKind::Text), false).unwrap();
    assert_eq!(texts.intern_texts(["a", "7", "07"].into_iter()).unwrap(), [0, 1, 2]);
    assert_eq!(texts.find_texts(["07", "b", "7"].into_iter()), [Some(2), None, Some(1)]);
    assert_eq!(texts.find_integers(&[7, 8]), [Some(1), None]);
    let integers = Graph::create("integers".as_ref(), &named(IdKind::Integer), false).unwrap();
    assert_eq!(integers.intern_integers(&[1 << 40, 7]).unwrap(), [0, 1]);
    assert_eq!(integers.find_integers(&[7, 8, 1 << 40]), [Some(1), None, Some(0)]);
    assert_eq!(integers.find_texts(["7", "x"].into_iter()), [Some(1), None]);
}

#[test]
fn answers_are_verified_as_told_and_the_time_is_reported() {
    let view = graph("verified", true, &[(0, 1), (1, 2), (2, 0)]).snapshot().unwrap();
    for &kernel in Kernel::ALL {
        let run = |verify| {
            let options = RunOptions { verify, ..RunOptions::default() };
            view.run(kernel, &options).unwrap()
        };
        let [none, cheap, full] = [Verify::None, Verify::Cheap, Verify::Full].map(run);
        assert_eq!(none.values, full.values, "{kernel}");
        assert!(cheap.verify_seconds > 0.0 && full.verify_seconds > 0.0, "{kernel}");
    }
    assert_eq!("cheap".parse::<Verify>().unwrap(), Verify::default());
    assert!("some".parse::<Verify>().unwrap_err().to_string().contains("none, cheap or full"));
}

#[test]
fn errors_name_vertices_as_the_user_does() {
    let options = GraphOptions { ids: IdKind::Text, weighted: true, ..options(true) };
    let graph = Graph::create("named".as_ref(), &options, false).unwrap();
    let ids = graph.intern_texts(["app", "lib", "libc"].into_iter()).unwrap();
    graph.insert(&[(ids[0], ids[1]), (ids[1], ids[2])], Some(&[1.0, -2.0])).unwrap();
    let told = Parameters { source: Some("app".to_owned()), ..Parameters::default() };
    let error = graph.snapshot().unwrap().run(Kernel::Sssp, &told.into()).unwrap_err();
    assert_eq!(error.to_string(), "the edge lib -> libc has weight -2: weights must be 0 or more");
}

/// Kernels that run on a copy by places still speak of ids.
#[test]
fn errors_name_far_ids() {
    for layout in Layout::ALL {
        let options = GraphOptions { layout, weighted: true, ..options(true) };
        let graph = Graph::create("far".as_ref(), &options, false).unwrap();
        graph.insert(&[(0, FAR), (FAR, FAR + 5)], Some(&[1.0, -2.0])).unwrap();
        let view = graph.snapshot().unwrap();
        for kernel in [Kernel::Sssp, Kernel::Viterbi] {
            let told = Parameters { source: Some("0".to_owned()), ..Parameters::default() };
            let error = view.run(kernel, &told.into()).unwrap_err().to_string();
            let edge = format!("the edge {FAR} -> {} has weight -2", FAR + 5);
            assert!(error.starts_with(&edge), "{error}");
        }
        for missing in ["1", "4294967296", "x"] {
            let told = Parameters { source: Some(missing.to_owned()), ..Parameters::default() };
            let error = view.run(Kernel::Bfs, &told.into()).unwrap_err().to_string();
            assert_eq!(error, format!("vertex `{missing}` is not in the graph"));
        }
    }
}

#[test]
fn communities_have_the_names_of_vertices() {
    let options = GraphOptions { ids: IdKind::Text, ..options(false) };
    let graph = Graph::create("communities".as_ref(), &options, false).unwrap();
    let ids = graph.intern_texts(["a", "b", "c", "x", "y"].into_iter()).unwrap();
    graph.insert(&[(ids[0], ids[1]), (ids[1], ids[2]), (ids[2], ids[0])], None).unwrap();
    graph.insert(&[(ids[3], ids[4]), (ids[4], ids[4])], None).unwrap();
    let view = graph.snapshot().unwrap();
    let labels = lines(&view, &run(&view, Kernel::Cdlp, &[]).values);
    assert_eq!(labels[..3], ["a a", "b a", "c a"]);
    assert!(labels[3].starts_with("x ") && "xy".contains(&labels[3][2..]), "{labels:?}");
}

/// A path of four vertices: 1 lies between three pairs of others (0 2, 0 3; and none more), as 2.
#[test]
fn betweenness_follows_each_convention() {
    let score = |directed, told: &[(&str, &str)]| -> Vec<Value> {
        let view = graph("path", directed, &[(0, 1), (1, 2), (2, 3)]).snapshot().unwrap();
        match run(&view, Kernel::Betweenness, told).values {
            Values::Score(score) => score.into_iter().map(Value::from).collect(),
            _ => panic!("no scores"),
        }
    };
    for directed in [true, false] {
        assert_eq!(score(directed, &[]), [0.0, 2.0, 2.0, 0.0]);
        assert_eq!(score(directed, &[("convention", "gap")]), [0.0, 1.0, 1.0, 0.0]);
    }
    let networkx = [("convention", "networkx")];
    let [third, two_thirds] = [2.0 / 6.0, 4.0 / 6.0];
    assert_eq!(score(true, &networkx), [0.0, third, third, 0.0]);
    assert_eq!(score(false, &networkx), [0.0, two_thirds, two_thirds, 0.0]);
    assert_eq!(score(false, &[("source", "0")]), [0.0, 2.0, 1.0, 0.0]);
    let sampled: f64 = score(false, &[("samples", "4000")])[1].as_f64().unwrap();
    assert!((sampled - 2.0).abs() < 0.2, "{sampled}");
    let error = "loudest".parse::<everedge::Convention>().unwrap_err().to_string();
    assert!(error.contains("loudest"), "{error}");
}

#[test]
fn every_parameter_is_of_some_kernel_and_every_name_is_one() {
    for parameter in Parameters::ALL {
        assert!(parameter.kernels().next().is_some(), "{}", parameter.name);
    }
    for kernel in Kernel::ALL {
        assert_eq!(kernel.name().parse::<Kernel>().unwrap(), *kernel);
        assert!(kernel.about().ends_with('.'), "{kernel}");
        assert_eq!("connected-components".parse::<Kernel>().unwrap(), Kernel::Wcc);
        for name in kernel.parameters() {
            assert!(Parameters::ALL.iter().any(|parameter| parameter.name == *name), "{name}");
        }
    }
}

#[test]
fn parameters_are_read_and_those_of_other_kernels_refused() {
    let mut parameters = Parameters::default();
    parameters.set("iterations", "7").unwrap();
    assert_eq!(parameters, Parameters { iterations: Some(7), ..Parameters::default() });
    for (name, text) in [("iterations", "-1"), ("tolerance", "much"), ("patience", "1")] {
        let error = parameters.set(name, text).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    let view = graph("parameters", true, &[(0, 1)]).snapshot().unwrap();
    let run = |kernel| view.run(kernel, &parameters.clone().into());
    assert_eq!(run(Kernel::PageRank).unwrap().iterations, Some(7));
    let error = run(Kernel::Bfs).unwrap_err().to_string();
    assert!(error.contains("iterations") && error.contains("source"), "{error}");
    assert!(run(Kernel::Wcc).unwrap_err().to_string().contains("no parameters"));
}

#[test]
fn text_ids_stay_one_word_and_different() {
    let names = ["libc6", "5\"-disk", "New York", "\"New", "a\nb\u{2028}c", ""];
    let options = GraphOptions { ids: IdKind::Text, ..options(true) };
    let graph = Graph::create("words".as_ref(), &options, false).unwrap();
    let vertices = graph.intern_texts(names.into_iter()).unwrap();
    let edges: Vec<_> = vertices.iter().map(|&v| (vertices[0], v)).collect();
    graph.insert(&edges, None).unwrap();
    let view = graph.snapshot().unwrap();
    let answer = run(&view, Kernel::Bfs, &[("source", "libc6")]);
    let mut written = lines(&view, &answer.values);
    written.sort_unstable();
    let quoted = [r#""" 1"#, r#""New York" 1"#, r#""\"New" 1"#, "\"a\\nb\u{2028}c\" 1"];
    assert_eq!(written, [&quoted[..], &["5\"-disk 1", "libc6 0"]].concat());
}
