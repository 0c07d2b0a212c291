//! A query over a window answers for each version what it answers for that version alone.

use everedge_core::{Edge, GraphView, SplitMix64, VertexId, WeightedView};
use everedge_kernels::NO_COMPONENT;
use everedge_timeline::{
    Changes, Depth, Distance, LargestWeight, MonotoneQuery, Probability, Schedule, Timeline,
    TimelineOptions, VersionView, Width,
};
use parking_lot::Mutex;

use crate::model::{Model, changes, draw};
use crate::versions::Home;

const SCHEDULES: [Schedule; 9] = [
    Schedule::Chosen,
    Schedule::Alone,
    Schedule::Halves,
    Schedule::Lasting,
    Schedule::TwoStages { versions: 1 },
    Schedule::TwoStages { versions: 2 },
    Schedule::TwoStages { versions: 4 },
    Schedule::Each,
    Schedule::Bounds,
];

/// A query that no kernel knows: every third edge of a path is free.
struct Thirds;

impl MonotoneQuery for Thirds {
    type Value = u32;
    const UNREACHED: u32 = u32::MAX;
    const SOURCE: u32 = 0;

    fn along(value: u32, weight: f32) -> u32 {
        value + if weight > 1.0 { 3 } else { 1 }
    }

    fn is_better(value: u32, other: u32) -> bool {
        value < other
    }
}

/// Solves a query the plain way.
fn expected<Q: MonotoneQuery>(view: &VersionView, source: VertexId, bound: u32) -> Vec<Q::Value> {
    let mut values = vec![Q::UNREACHED; bound as usize];
    if !(source < view.vertex_bound() && view.is_vertex(source)) {
        return values;
    }
    values[source as usize] = Q::SOURCE;
    loop {
        let before = values.clone();
        for v in 0..view.vertex_bound() {
            let value = values[v as usize];
            for (to, weight) in view.out_edges(v).filter(|_| value != Q::UNREACHED) {
                let new = Q::along(value, weight);
                if Q::is_better(new, values[to as usize]) {
                    values[to as usize] = new;
                }
            }
        }
        if values == before {
            return values;
        }
    }
}

pub(crate) fn check<Q: MonotoneQuery>(timeline: &Timeline, source: VertexId, what: &str) {
    let count = timeline.versions().len() as u64;
    let windows = [(1, count), (1, 1), (count, count), (2, 5), (4, count), (1, 4), (5, 6)];
    for (first, last) in windows.into_iter().filter(|&(_, last)| last <= count) {
        let window = timeline.window(first..=last).expect("they are there");
        if first == last {
            assert_eq!(window.changed_edges(), 0, "{what}: version {first}");
        }
        let views: Vec<VersionView> =
            (first..=last).map(|number| timeline.at(number).expect("it is there")).collect();
        let is_vertex = |view: &VersionView| source < view.vertex_bound() && view.is_vertex(source);
        let bound = views.iter().map(|view| view.vertex_bound()).max().expect("a version");
        let expected: Vec<_> = (first..)
            .zip(&views)
            .map(|(number, view)| (number, expected::<Q>(view, source, bound)))
            .collect();
        for schedule in SCHEDULES {
            let found = Mutex::new(Vec::new());
            let run = window.run_by::<Q>(schedule, source, |answer| {
                assert!(answer.seconds >= 0.0);
                found.lock().push((answer.version.number, answer.values.to_vec()));
            });
            if run.is_err() {
                assert!(!views.iter().any(is_vertex), "{what}: {run:?}");
                continue;
            }
            let mut found = found.into_inner();
            found.sort_by_key(|(number, _)| *number);
            assert_eq!(found, expected, "{what}: {first}..={last}, {schedule:?}");
        }
    }
}

fn check_components(timeline: &Timeline, what: &str) {
    let count = timeline.versions().len() as u64;
    for (first, last) in [(1, count), (1, 1), (2, 5), (4, count)] {
        let window = timeline.window(first..=last).expect("they are there");
        let found = Mutex::new(Vec::new());
        window.components(|answer| {
            found.lock().push((answer.version.number, answer.values.to_vec()));
        });
        let mut found = found.into_inner();
        found.sort_by_key(|(number, _)| *number);
        assert!((first..=last).eq(found.iter().map(|(number, _)| *number)));
        for (number, component) in found {
            let view = timeline.at(number).expect("it is there");
            let edges: Vec<Edge> = (0..view.vertex_bound())
                .flat_map(|u| view.out_neighbors(u).map(move |v| (u, v)).collect::<Vec<_>>())
                .collect();
            let mut expected: Vec<VertexId> = (0..component.len() as u32)
                .map(|v| match v < view.vertex_bound() && view.is_vertex(v) {
                    true => v,
                    false => NO_COMPONENT,
                })
                .collect();
            while edges.iter().fold(false, |is_changed, &(u, v)| {
                let (of_u, of_v) = (expected[u as usize], expected[v as usize]);
                (expected[u as usize], expected[v as usize]) = (of_u.min(of_v), of_u.min(of_v));
                is_changed | (of_u != of_v)
            }) {}
            assert_eq!(component, expected, "{what}: version {number} of {first}..={last}");
        }
    }
}

fn check_triangles(timeline: &Timeline, what: &str) {
    let count = timeline.versions().len() as u64;
    for (first, last) in [(1, count), (1, 1), (2, 5), (4, count)] {
        let window = timeline.window(first..=last).expect("they are there");
        assert_eq!(
            window.triangles().is_some(),
            !timeline.options().directed || timeline.options().in_neighbors
        );
        for (number, found) in (first..).zip(window.triangles().into_iter().flatten()) {
            let view = timeline.at(number).expect("it is there");
            let expected = everedge_kernels::triangles(&view).count;
            assert_eq!(found, expected, "{what}: version {number} of {first}..={last}");
        }
    }
}

fn check_cores(timeline: &Timeline, what: &str) {
    let count = timeline.versions().len() as u64;
    for (first, last) in [(1, count), (1, 1), (2, 5), (4, count)] {
        let window = timeline.window(first..=last).expect("they are there");
        let found = Mutex::new(Vec::new());
        let is_answered = window.coreness(|answer| {
            found.lock().push((answer.version.number, answer.values.to_vec()));
        });
        assert_eq!(is_answered, !timeline.options().directed || timeline.options().in_neighbors);
        let mut found = found.into_inner();
        found.sort_by_key(|(number, _)| *number);
        assert!(!is_answered || (first..=last).eq(found.iter().map(|(number, _)| *number)));
        for (number, coreness) in found {
            let view = timeline.at(number).expect("it is there");
            let mut expected = everedge_kernels::coreness(&view).coreness;
            expected.resize(coreness.len(), 0);
            assert_eq!(coreness, expected, "{what}: version {number} of {first}..={last}");
        }
    }
}

#[test]
fn windows_answer_as_each_version_does() {
    for number in 0..16_u32 {
        let options = TimelineOptions {
            directed: number & 1 == 0,
            weighted: number & 2 != 0,
            in_neighbors: number & 4 == 0,
            simple: number & 8 != 0,
        };
        let home = Home::new();
        let mut random = SplitMix64::new(u64::from(number) + 40);
        let mut model = Model::default();
        let timeline = home.create(&options);
        let ids: Vec<VertexId> = (0..40).collect();
        for version in 0..9 {
            let drawn = draw(&mut random, &ids, if version == 0 { 150 } else { 40 });
            let changes = changes(&drawn, &mut model, &options);
            timeline.commit(changes, version, None).expect("room");
        }
        check_components(&timeline, &format!("components, {options:?}"));
        check_triangles(&timeline, &format!("triangles, {options:?}"));
        check_cores(&timeline, &format!("coreness, {options:?}"));
        for source in [0, 7, 13] {
            let what = |query: &str| format!("{query} from {source}, {options:?}");
            check::<Depth>(&timeline, source, &what("depth"));
            check::<Distance>(&timeline, source, &what("distance"));
            check::<Width>(&timeline, source, &what("width"));
            check::<LargestWeight>(&timeline, source, &what("largest weight"));
            check::<Thirds>(&timeline, source, &what("thirds"));
            if !options.weighted {
                check::<Probability>(&timeline, source, &what("probability"));
            }
        }
    }
}

/// Streets of a town, of which each version closes other ones: more vertices wait than go on in the order in which they
/// came.
#[test]
fn long_paths_are_gone_on_from_in_order() {
    const SIDE: u32 = 60;
    let options =
        TimelineOptions { directed: false, weighted: true, in_neighbors: true, simple: true };
    let home = Home::new();
    let timeline = home.create(&options);
    let mut random = SplitMix64::new(60);
    let of_corner = |v: u32| {
        let east = (v % SIDE + 1 < SIDE).then_some((v, v + 1));
        let south = (v + SIDE < SIDE * SIDE).then_some((v, v + SIDE));
        east.into_iter().chain(south)
    };
    let mut open: Vec<Edge> = (0..SIDE * SIDE).flat_map(of_corner).collect();
    let mut below = |bound: usize| random.below(bound as u64) as usize;
    let mut changes = Changes::new();
    for &(src, dst) in &open {
        changes.insert(src, dst, Some(1.0 + below(9) as f32)).expect("an id");
    }
    timeline.commit(changes, 0, None).expect("room");
    let mut closed: Vec<Edge> = Vec::new();
    for version in 1..6 {
        let mut changes = Changes::new();
        for (src, dst) in std::mem::take(&mut closed) {
            changes.insert(src, dst, Some(1.0 + below(9) as f32)).expect("an id");
            open.push((src, dst));
        }
        for _ in 0..900 {
            let (src, dst) = open.swap_remove(below(open.len()));
            changes.delete(src, dst).expect("an id");
            closed.push((src, dst));
        }
        timeline.commit(changes, version, None).expect("room");
    }
    check::<Distance>(&timeline, 0, "distance in a town");
    check::<Depth>(&timeline, 0, "depth in a town");
    check::<Width>(&timeline, 0, "width in a town");
}

#[test]
fn a_window_that_cannot_be_asked_says_why() {
    let options =
        TimelineOptions { directed: true, weighted: true, in_neighbors: true, simple: false };
    let home = Home::new();
    let timeline = home.create(&options);
    let mut model = Model::default();
    let change = crate::model::Change::Insert(1, 2, -3.0);
    timeline.commit(changes(&[], &mut model, &options), 0, None).expect("room");
    timeline.commit(changes(&[change], &mut model, &options), 0, None).expect("room");
    let window = timeline.window(1..=2).expect("they are there");
    let refused = window.run::<Distance>(1, |_| ()).expect_err("a negative weight");
    assert!(refused.to_string().contains("0 or more"), "{refused}");
    let refused = window.run::<Depth>(0, |_| ()).expect_err("no vertex");
    assert!(refused.to_string().contains("0"), "{refused}");
    let (two, one) = (2, 1);
    assert!(timeline.window(two..=one).is_err());
    assert!(timeline.window(0..=1).is_err());
}
