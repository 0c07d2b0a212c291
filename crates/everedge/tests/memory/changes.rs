//! Reading the changes of a sealed graph keeps to its budget, and what has no room is refused before it is read.

use std::path::Path;

use everedge::{
    Chunks, Edge, Error, Graph, GraphOptions, IdKind, MediumKind, SealOptions, VertexId, Watch,
};

use crate::{ALONE, BESIDE_BYTES, PROGRAM_BYTES, peak_of};

/// Vertices that are added.
const ADDED: u32 = 200_000;

/// What a refusal may take: the headers of names are read.
const REFUSAL_BYTES: u64 = 1 << 20;

/// Seals a small graph, and changes it: adds vertices, and `edges` among them.
fn change(path: &Path, options: &GraphOptions, edges: u32) {
    let names = |from: u32, to: u32| (from..to).map(|i| format!("the vertex {i}"));
    {
        let options = GraphOptions { medium: MediumKind::Dram, ..options.clone() };
        let graph = Graph::create("small".as_ref(), &options, false).unwrap();
        let texts: Vec<String> = names(0, 1000).collect();
        let ids: Vec<VertexId> = match options.ids {
            IdKind::Text => graph.intern_texts(texts.iter().map(String::as_str)).unwrap(),
            _ => (0..1000).collect(),
        };
        let some: Vec<Edge> = ids.windows(2).map(|pair| (pair[0], pair[1])).collect();
        graph.insert(&some, options.weighted.then(|| vec![0.5; some.len()]).as_deref()).unwrap();
        let view = graph.snapshot().unwrap();
        Chunks::seal(&view, path, &SealOptions::default(), &Watch::new()).unwrap();
    }
    let changer = Chunks::change(path, false).unwrap();
    let new = match options.ids {
        IdKind::Text => {
            let texts: Vec<String> = names(1000, 1000 + ADDED).collect();
            changer.intern_texts(texts.iter().map(String::as_str)).unwrap()
        }
        _ => changer.intern_integers(&(1000..1000 + u64::from(ADDED)).collect::<Vec<_>>()).unwrap(),
    };
    changer.add_vertices(&new).unwrap();
    let end = |i: u32| new[(i.wrapping_mul(0x9e37_79b1) % ADDED) as usize];
    let edges: Vec<Edge> = (0..edges).map(|i| (end(2 * i), end(2 * i + 1))).collect();
    if !edges.is_empty() {
        let weights = options.weighted.then(|| vec![0.5; edges.len()]);
        changer.insert(&edges, weights.as_deref()).unwrap();
    }
    changer.close().unwrap();
}

/// Returns the budget that a refusal says would do.
fn least(error: &Error) -> u64 {
    let what = error.to_string();
    assert!(what.contains("is too small"), "{what}");
    what.split(' ').filter_map(|word| word.parse::<u64>().ok()).max().unwrap()
}

#[test]
fn changes_are_read_within_the_budget_or_refused_before() {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    for ids in [IdKind::Dense, IdKind::Text] {
        for edges in [0, 1, 200_000] {
            for weighted in [false, true] {
                let home = tempfile::tempdir().unwrap();
                let path = home.path().join("sealed");
                let options = GraphOptions { ids, weighted, ..GraphOptions::default() };
                change(&path, &options, edges);
                let mut memory = 1;
                let (mut opened, mut taken) = (None, 0);
                while opened.is_none() {
                    let mut outcome = None;
                    taken = peak_of(|| outcome = Some(Chunks::open(&path, Some(memory))));
                    match outcome.unwrap() {
                        Ok(chunks) => opened = Some(chunks),
                        Err(error) => {
                            if memory == 1 {
                                assert!(taken < REFUSAL_BYTES, "{taken} taken to refuse {ids}");
                            }
                            memory = least(&error);
                        }
                    }
                }
                let chunks = opened.unwrap();
                assert_eq!(chunks.vertex_count(), 1000 + ADDED);
                let of_lists = everedge_chunks::least_memory(&chunks.options().form);
                let counted = memory - PROGRAM_BYTES - of_lists;
                let words =
                    format!("{edges} edges, {ids}, {weighted}: {taken} taken, {counted} counted");
                println!("{words}");
                if taken > counted + BESIDE_BYTES {
                    wrong.push(words);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
