//! Edges that come in any order become the graph that they make, whatever the memory is.

use everedge_chunks::{BuildOptions, Builder, Order, SealOptions, Store, least_memory};
use everedge_core::{Csr, CsrOptions};

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
        for (memory, order) in
            [(1 << 30, Order::Degree), (125_000_000, Order::Degree), (1 << 30, Order::Ids)]
        {
            let directory = tempfile::tempdir().unwrap();
            let volume = volume(&directory);
            let seal = SealOptions { order, ..SealOptions::default() };
            let in_neighbors = true;
            let options = BuildOptions { directed, weighted, simple, in_neighbors, seal, memory };
            let mut builder = Builder::new(&volume, SALT, options).unwrap();
            for (edges, weights) in edges.chunks(777).zip(weights.chunks(777)) {
                builder.add(edges, if weighted { weights } else { &[] }).unwrap();
            }
            let form = builder.finish(|v| v).unwrap();
            assert_eq!(form.distinct, simple && !weighted);
            let least = least_memory(&form);
            check(&csr, &Store::open(&volume, SALT, form, least).unwrap());
        }
    }
}
