//! Kernels over a graph that is cut into shards.

use everedge_core::{Csr, GraphView, VertexId, WeightedView};
use everedge_kernels::supersteps::{Part, PartValues, Question, Run, Said, Saved, Whole};
use everedge_kernels::{
    Error, PageRankConfig, SsspConfig, UNREACHED, bfs, coreness, pagerank, sssp, wcc,
};

use crate::graphs::{for_each_case_on, graph};

/// A graph that is cut into shards which know of each other.
struct Sharded {
    shards: Vec<(Csr, Part)>,
    whole: Whole,
}

impl Sharded {
    fn cut(whole: &Csr, count: u32) -> Self {
        let vertices: Vec<_> = (0..whole.vertex_bound()).filter(|&v| whole.is_vertex(v)).collect();
        let mut shards: Vec<_> = (0..count)
            .map(|shard| {
                let owns = |v: VertexId| v % count == shard;
                let mut edges = Vec::new();
                for u in 0..whole.vertex_bound() {
                    let leaving = whole.out_edges(u).filter(|&(v, _)| owns(u) || owns(v));
                    // Of undirected edges that come from both ends one is enough.
                    let once = leaving.filter(|&(v, _)| whole.is_directed() || u <= v);
                    edges.extend(once.map(|(v, weight)| (u, v, weight)));
                }
                let owned: Vec<_> = vertices.iter().copied().filter(|&v| owns(v)).collect();
                let part = graph(whole.is_directed(), &owned, &edges);
                let known = Part::of(&part, shard, count).unwrap();
                assert_eq!(known.owned(), owned);
                (part, known)
            })
            .collect();
        let ghosts: Vec<Vec<_>> = shards
            .iter()
            .map(|(_, part)| (0..count).map(|of| part.ghosts(of).to_vec()).collect())
            .collect();
        for (shard, (_, part)) in shards.iter_mut().enumerate() {
            for (other, ghosts) in ghosts.iter().enumerate() {
                part.set_mirrored(other as u32, ghosts[shard].clone()).unwrap();
            }
        }
        let vertex_count = whole.vertex_count();
        Self { shards, whole: Whole { vertex_count, vertex_bound: whole.vertex_bound() } }
    }

    /// Answers by supersteps until `is_done` by the sums; all are saved and begun anew before superstep `again`.
    fn answer(
        &self,
        question: Question,
        is_done: impl Fn(u32, &[f64]) -> bool,
        again: u32,
    ) -> Result<Vec<PartValues>, Error> {
        let begin = |saved: Option<(u32, &[PartValues])>| -> Result<(Vec<Run>, Vec<Said>), Error> {
            let begun = self.shards.iter().enumerate().map(|(shard, (view, part))| {
                let saved = saved.map(|(steps, all)| Saved { steps, values: &all[shard] });
                Run::begin(question, view, part, self.whole, saved)
            });
            Ok(begun.collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
        };
        let (mut runs, mut said) = begin(None)?;
        let mut steps = 0;
        loop {
            let totals: Vec<f64> = (0..said[0].sums.len())
                .map(|i| said.iter().map(|said| said.sums[i]).sum())
                .collect();
            let values = || runs.iter().zip(&self.shards).map(|(run, (_, part))| run.values(part));
            if is_done(steps, &totals) {
                return Ok(values().collect());
            }
            if steps == again && !matches!(question, Question::Wcc) {
                let saved: Vec<_> = values().collect();
                (runs, said) = begin(Some((steps, &saved)))?;
            }
            let next = runs.iter_mut().zip(&self.shards).enumerate().map(|(to, (run, shard))| {
                let messages: Vec<_> = said.iter().map(|said| &said.messages[to][..]).collect();
                for (from, message) in messages.iter().enumerate() {
                    let shared = shard.1.ghosts(from as u32).len();
                    let pairs = matches!(question, Question::Wcc);
                    assert!(pairs || message.len() <= 1 + 8 * shared, "{} bytes", message.len());
                }
                run.step(&shard.0, &shard.1, &totals, &messages)
            });
            said = next.collect::<Result<_, _>>()?;
            steps += 1;
            assert!(steps < 10_000, "it does not end");
        }
    }

    /// Returns the values by vertex.
    fn by_vertex<T: Copy>(
        &self,
        values: &[PartValues],
        nothing: T,
        of: impl Fn(&PartValues) -> Vec<T>,
    ) -> Vec<T> {
        let mut all = vec![nothing; self.whole.vertex_bound as usize];
        for ((_, part), values) in self.shards.iter().zip(values) {
            part.owned().iter().zip(of(values)).for_each(|(&v, value)| all[v as usize] = value);
        }
        all
    }
}

fn whole(values: &PartValues) -> Vec<u32> {
    match values {
        PartValues::Whole(values) => values.clone(),
        PartValues::Real(_) => panic!("these are not whole"),
    }
}

fn real(values: &PartValues) -> Vec<f64> {
    match values {
        PartValues::Real(values) => values.clone(),
        PartValues::Whole(_) => panic!("these are whole"),
    }
}

fn is_silent(_: u32, totals: &[f64]) -> bool {
    totals[0] == 0.0
}

#[test]
fn answers_are_those_of_one_machine_for_any_number_of_shards() {
    for_each_case_on(&[1, 2], |case| {
        for count in [1, 2, 3, 8] {
            let cut = Sharded::cut(&case.graph, count);
            for again in [0, 1, 3, u32::MAX] {
                let answer = |question| cut.answer(question, is_silent, again).unwrap();
                for source in case.sources() {
                    let depths = cut.by_vertex(&answer(Question::Bfs(source)), UNREACHED, whole);
                    assert_eq!(depths, bfs(&case.graph, source).unwrap().depth);
                    let lengths = answer(Question::Sssp(source));
                    let lengths = cut.by_vertex(&lengths, f64::INFINITY, real);
                    let expected = sssp(&case.graph, source, &SsspConfig::default()).unwrap();
                    assert_eq!(lengths, expected.distance);
                }
                let roots = cut.by_vertex(&answer(Question::Wcc), u32::MAX, whole);
                assert_eq!(roots, wcc(&case.graph).component);
                let cores = cut.by_vertex(&answer(Question::Coreness), 0, whole);
                assert_eq!(cores, coreness(&case.graph).coreness);
                for tolerance in [0.0, 1e-9] {
                    let config = PageRankConfig { tolerance, ..PageRankConfig::default() };
                    let is_done = |steps, _: &[f64]| steps == 20;
                    let ranks = cut.answer(Question::PageRank(config), is_done, again).unwrap();
                    let ranks = cut.by_vertex(&ranks, 0.0, real);
                    let config = PageRankConfig { tolerance: 0.0, iterations_max: 20, ..config };
                    let expected = pagerank(&case.graph, &config).unwrap().rank;
                    for (v, (rank, expected)) in ranks.iter().zip(&expected).enumerate() {
                        let off = (rank - expected).abs();
                        assert!(off <= 1e-6 * expected, "{v}: {rank} by {expected}");
                    }
                }
            }
        }
    });
}

#[test]
fn what_no_shard_says_is_an_error() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]);
    let mut cut = Sharded::cut(&g, 2);
    let (view, part) = &cut.shards[0];
    let (mut run, _) = Run::begin(Question::Coreness, view, part, cut.whole, None).unwrap();
    for message in [&[7_u8, 1][..], &[0, 1, 2], &[2, 9, 0, 0, 0, 1, 0, 0, 0]] {
        let error = run.step(view, part, &[0.0], &[&[], message]).unwrap_err();
        assert!(matches!(error, Error::BadMessage { shard: 1, .. }), "{error}");
    }
    let values = PartValues::Whole(vec![1]);
    let saved = Some(Saved { steps: 1, values: &values });
    assert!(Run::begin(Question::Coreness, view, part, cut.whole, saved).is_err());
    let part = &mut cut.shards[0].1;
    for vertices in [vec![1], vec![2, 0], vec![2, 2], vec![1000]] {
        assert!(part.set_mirrored(1, vertices).is_err());
    }
    assert!(Part::of(&g, 2, 2).is_err());
}
