//! What a reader beside a writer relies on: nothing that a pinned state names is overwritten.
//!
//! At some moment a reader copies the log and the file `shards`, and finds all other bytes as they are whenever it
//! asks for them. So an image of that moment's copies and of all other files of a later moment, after whatever the writer
//! does meanwhile, must open as the graph was at that moment.

use everedge::{AdjacencyOptions, BlocksOptions, GraphOptions, Layout};
use everedge_live::{LOG, SHARDS};
use everedge_medium::{Image, MediumKind, PinInMemory, Recorder, Volume};

use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, batch_of};

/// Histories of each kind of graph, each with so many steps.
const HISTORIES: u64 = 5;
const STEPS: u64 = 60;
/// How many steps a reader stays, and of how many it looks at each.
const STAY: u64 = 14;
const LOOK_EVERY: u64 = 3;
const VERTICES: u64 = 9000;
const UPDATES_MAX: u64 = 120;

/// A reader, from the moment of its copies on.
struct Reader<'a> {
    copies: Image,
    expected: Picture,
    until: u64,
    _pin: Option<PinInMemory<'a>>,
}

fn kinds() -> impl Iterator<Item = GraphOptions> {
    let of = |layout, directed, weighted| GraphOptions {
        layout,
        directed,
        weighted,
        medium: MediumKind::Pmem { emulated: true },
        log_bytes: 16 << 10,
        adjacency: AdjacencyOptions { archive_threshold: 64, ..Default::default() },
        blocks: BlocksOptions { archive_threshold: 64, block_bytes: 64, ..Default::default() },
        ..Default::default()
    };
    let layouts = [Layout::Adjacency, Layout::Blocks].into_iter();
    layouts.flat_map(move |layout| {
        [(true, false), (true, true), (false, false)]
            .map(|(directed, weighted)| of(layout, directed, weighted))
    })
}

/// Does something to the graph that frees what states before it have named, sooner or later.
fn step(graph: &LiveGraph, model: &mut Model, random: &mut Random, options: &GraphOptions) {
    let count = random.below(UPDATES_MAX) + 1;
    let updates = model.apply_determined(random.updates(count, VERTICES, 3));
    graph.apply(&batch_of(&updates, options.weighted)).expect("room");
    match random.below(8) {
        0 => graph.compact().expect("room"),
        1 => graph.put_in_order(),
        2 => graph.flush_all().expect("room"),
        3 => graph.save_all().expect("room"),
        4 => drop(graph.snapshot().expect("a view")),
        _ => {}
    }
}

/// Returns what is wrong with what a reader finds now.
fn problem(reader: &Reader<'_>, recorder: &Recorder, options: &GraphOptions) -> Option<String> {
    let found = recorder.image_of_kill().with_files_of(&reader.copies, &[LOG, SHARDS]);
    let opened = Volume::from_killed(&found)
        .and_then(|(volume, _)| LiveGraph::open(volume, options.layout))
        .and_then(|graph| graph.snapshot());
    match opened {
        Ok(view) => view.picture(options).difference(&reader.expected),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns what readers find wrong in a history, if they pin what they read or do not.
fn problems(options: &GraphOptions, seed: u64, do_pin: bool) -> Vec<String> {
    let (volume, recorder) = Volume::recorded(options.medium, false);
    let graph = LiveGraph::create(volume, options).expect("a graph");
    let pins = graph.volume().pins().expect("a table of readers");
    let (mut model, mut random) = (Model::new(options), Random(seed));
    let (mut reader, mut problems): (Option<Reader<'_>>, _) = (None, Vec::new());
    for number in 0..STEPS {
        step(&graph, &mut model, &mut random, options);
        let Some(reading) = reader.take_if(|reader| reader.until <= number) else {
            match &reader {
                Some(reader) if number % LOOK_EVERY == 0 => {
                    problems.extend(problem(reader, &recorder, options));
                }
                Some(_) => {}
                None => {
                    let pin = do_pin.then(|| pins.pin_in_memory());
                    pin.iter().for_each(|pin| pin.pin(pins.newest()));
                    let (copies, expected) = (recorder.image_of_kill(), model.picture());
                    reader = Some(Reader { copies, expected, until: number + STAY, _pin: pin });
                }
            }
            continue;
        };
        problems.extend(problem(&reading, &recorder, options));
    }
    problems
}

#[test]
fn nothing_that_a_reader_has_pinned_is_overwritten() {
    for options in kinds() {
        for seed in 0..HISTORIES {
            let found = problems(&options, seed, true);
            assert!(found.is_empty(), "{options:?}, seed {seed}: {}", found[0]);
        }
    }
}

/// Without pins the same histories show what is lost: the test above can fail.
#[test]
fn what_nobody_pins_is_overwritten() {
    for options in kinds() {
        let found: usize = (0..HISTORIES).map(|seed| problems(&options, seed, false).len()).sum();
        assert!(found > 0, "{options:?}");
    }
}
