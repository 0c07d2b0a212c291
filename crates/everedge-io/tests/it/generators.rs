use everedge_io::Generator;

#[test]
fn any_range_is_the_same_alone() {
    for graph in [Generator::kron(12, 3, 5).unwrap(), Generator::uniform(12, 3, 5).unwrap()] {
        let all = graph.edges(0..graph.edge_count());
        let weights = graph.weights(0..graph.edge_count());
        assert_eq!(all.len(), 3 << 12);
        for start in [0, 1, 4095, 12_000] {
            assert_eq!(graph.edges(start..start + 200), all[start as usize..][..200]);
            assert_eq!(graph.weights(start..start + 200), weights[start as usize..][..200]);
        }
        assert!(all.iter().all(|&(src, dst)| src.max(dst) < graph.vertex_bound()));
        assert!(weights.iter().all(|weight| (1.0..=255.0).contains(weight)));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let graph = Generator::kron(14, 16, 1).unwrap();
    let run = |threads| {
        everedge_core::par::with_threads(threads, || graph.edges(0..graph.edge_count())).unwrap()
    };
    assert!(run(1) == run(3));
}

#[test]
fn seeds_and_kinds_differ() {
    let edges = |graph: Generator| graph.edges(0..1000);
    let first = edges(Generator::kron(20, 16, 1).unwrap());
    assert_ne!(first, edges(Generator::kron(20, 16, 2).unwrap()));
    assert_ne!(first, edges(Generator::uniform(20, 16, 1).unwrap()));
}

#[test]
fn degrees_are_skewed_in_kron_and_even_in_uniform() {
    let max_degree = |graph: Generator| {
        let mut degrees = vec![0_u32; graph.vertex_bound() as usize];
        for (src, _) in graph.edges(0..graph.edge_count()) {
            degrees[src as usize] += 1;
        }
        degrees.into_iter().max().unwrap()
    };
    let kron = max_degree(Generator::kron(14, 16, 1).unwrap());
    let uniform = max_degree(Generator::uniform(14, 16, 1).unwrap());
    assert!(kron > 1000, "{kron}");
    assert!((30..60).contains(&uniform), "{uniform}");
}

#[test]
fn parameters_have_bounds() {
    assert!(Generator::kron(32, 16, 1).is_err());
    assert!(Generator::uniform(10, 0, 1).is_err());
    let largest = Generator::uniform(31, 16, 1).unwrap();
    assert_eq!(largest.vertex_bound(), 1 << 31);
    assert_eq!(largest.edges(largest.edge_count() - 1..largest.edge_count()).len(), 1);
}
