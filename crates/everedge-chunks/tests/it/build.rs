//! Edges that come in any order become the graph that they make, whatever the memory is.

use everedge_chunks::{BuildOptions, Builder, Order, SealOptions, Store, least_memory};
use everedge_core::{Csr, CsrOptions, Edge};

use crate::equal::{SALT, check, edges, volume};

#[test]
fn a_build_equals_the_csr_of_its_edges() {
    let (all_edges, weights) = edges(4000, 60_000, 3);
    for (directed, weighted, simple) in [
        (true, false, false),
        (true, true, false),
        (false, false, false),
        (false, true, false),
        (true, false, true),
        (true, true, true),
        (false, true, true),
        (false, false, true),
    ] {
        let mut edges = all_edges.clone();
        if simple && !weighted {
            edges.iter_mut().filter(|(u, v)| u == v).for_each(|(u, v)| *v = (*u + 1) % 4000);
        }
        let mut kept = edges.clone();
        let mut kept_weights = weights.clone();
        if simple {
            // The last edge of a pair stays.
            let key = |&(u, v): &(u32, u32)| if directed { (u, v) } else { (u.min(v), u.max(v)) };
            let last: std::collections::HashMap<_, _> =
                edges.iter().enumerate().map(|(i, edge)| (key(edge), i)).collect();
            let is_last: Vec<bool> =
                edges.iter().enumerate().map(|(i, edge)| last[&key(edge)] == i).collect();
            let mut at = is_last.iter();
            kept.retain(|_| *at.next().unwrap());
            let mut at = is_last.iter();
            kept_weights.retain(|_| *at.next().unwrap());
        }
        let options = CsrOptions { directed, ..CsrOptions::default() };
        let csr = Csr::from_edges(&kept, weighted.then_some(&kept_weights[..]), options);
        // In a bucket and in many, in memory and through files.
        let (all, few) = (u64::MAX, 2000);
        for (bucket_edges, kept_bytes, order) in [
            (all, all, Order::Degree),
            (few, all, Order::Degree),
            (few, 5000, Order::Degree),
            (few, 5000, Order::Ids),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let volume = volume(&directory);
            let seal = SealOptions { order, ..SealOptions::default() };
            let (in_neighbors, memory) = (true, 1 << 30);
            let options = BuildOptions { directed, weighted, simple, in_neighbors, seal, memory };
            let builder = Builder::new(&volume, SALT, options).unwrap();
            let mut builder = builder.with_buckets(bucket_edges, kept_bytes);
            for (edges, weights) in edges.chunks(777).zip(weights.chunks(777)) {
                builder.add(edges, if weighted { weights } else { &[] }).unwrap();
            }
            let is_spooled = || volume.names().unwrap().contains(&"edges.tmp".to_string());
            assert_eq!(is_spooled(), kept_bytes < all);
            let form = builder.finish(|v| v, |v| v.to_string()).unwrap();
            assert!(!is_spooled());
            assert_eq!(form.distinct, simple && !weighted);
            let least = least_memory(&form);
            check(&csr, &Store::open(&volume, SALT, form, least).unwrap());
        }
    }
}

/// The list of the first vertex that is too long is not the longest.
#[test]
fn a_budget_that_would_do_does() {
    let edges: Vec<Edge> = (0..40_000)
        .map(|i| (1, 10 + i))
        .chain((0..900_000).map(|i| (2, 10 + i % 60_000)))
        .collect();
    let sealed = |memory: u64| {
        let directory = tempfile::tempdir().unwrap();
        let seal = SealOptions { order: Order::Ids, ..SealOptions::default() };
        let options = BuildOptions {
            directed: true,
            weighted: false,
            simple: false,
            in_neighbors: true,
            seal,
            memory,
        };
        let mut builder = Builder::new(&volume(&directory), SALT, options)?;
        builder.add(&edges, &[])?;
        builder.finish(|v| v, |v| v.to_string()).map(|form| form.edges)
    };
    let refused = sealed(114 << 20).unwrap_err().to_string();
    assert!(refused.contains("vertex `2` has 900000 neighbors"), "{refused}");
    let would_do = refused.split(" would do").next().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(sealed(would_do.parse().unwrap()).unwrap(), 940_000);
}
