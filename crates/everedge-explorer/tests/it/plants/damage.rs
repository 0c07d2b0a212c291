//! Checks that are planted on damaged files: without the check that sees it, damage is a wrong answer.

use everedge_live::Error;
use everedge_medium::{Call, CallKind, Image, Plant, Volume};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::adjacency_crash::PMEM;
use crate::adjacency_crash::subject::{Live, State, Store, shapes};
use crate::explorer::{Failure, History, Subject, Violation, text};
use everedge::Layout;

/// All files of which parts are damaged.
const FILES: [&str; 7] = ["log", "blocks", "shards", "arrays", "table", "undo", "names"];
/// So many damages of a graph are tried.
const DAMAGES: usize = 500;
/// What is wiped as a whole.
const UNIT_BYTES: u64 = 32;

/// A change of a file.
#[derive(Clone, Copy, Debug)]
struct Damage {
    file: &'static str,
    offset: u64,
    /// The bit that is flipped; none if the unit is wiped.
    bit: Option<u32>,
}

/// A graph as it lies on the medium.
struct Victim {
    live: Live,
    image: Image,
    state: State,
    /// Damages that are seen.
    seen: Vec<Damage>,
}

/// Graphs of one layout, with damages that each of them notices.
pub(super) struct Damages {
    victims: Vec<Victim>,
    checks: BTreeSet<Call>,
}

enum Outcome {
    Right,
    Wrong(Box<State>),
    Refused,
    Unsound(String),
}

impl Damages {
    pub(super) fn new(layout: Layout) -> Self {
        let mut checks = BTreeSet::new();
        let all = shapes(PMEM, false).into_iter().map(|live| match layout {
            Layout::Adjacency => live,
            Layout::Pma => live.pma(),
            Layout::Blocks => live.blocks(),
        });
        let direct = shapes(PMEM, false).into_iter().map(Live::direct);
        let direct = direct.filter(|_| layout == Layout::Pma);
        let of_seed = |live: Live| (0..3).map(move |seed| (live.clone(), seed));
        let victims = all.step_by(3).chain(direct.step_by(3)).flat_map(of_seed);
        let victims = victims.map(|(live, seed)| Victim::new(live, seed, &mut checks)).collect();
        Self { victims, checks }
    }

    /// Returns the checks that opening and reading make.
    pub(super) fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.checks.iter().copied()
    }

    /// Returns a wrong answer to which the plant leads.
    pub(super) fn find(&self, plant: Plant) -> Option<Failure> {
        self.victims.iter().find_map(|victim| victim.find(plant))
    }
}

impl Victim {
    fn new(live: Live, seed: u64, checks: &mut BTreeSet<Call>) -> Self {
        let options = live.options();
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        let mut history = History::new(recorder.clone());
        live.run(seed, &volume, &mut history).expect("a history");
        let image = recorder.image_of_kill();
        let state = history.last().expect("a state").clone();
        let mut victim = Self { live, image, state, seen: Vec::new() };
        checks.extend(victim.checks());
        let damages = victim.damages().into_iter();
        victim.seen = damages.filter(|damage| victim.is_seen(*damage)).collect();
        victim
    }

    fn is_seen(&self, damage: Damage) -> bool {
        matches!(self.outcome(damage, None), Outcome::Refused | Outcome::Unsound(_))
    }

    fn open(&self) -> (Volume, everedge_medium::Recorder) {
        Volume::from_image(&self.image).expect("memory")
    }

    fn checks(&self) -> Vec<Call> {
        let (volume, recorder) = self.open();
        recorder.count_calls();
        Store::open(&volume, self.live.options().layout).expect("a graph").state();
        recorder.calls().into_keys().filter(|call| call.kind() == CallKind::Check).collect()
    }

    /// Returns damages of all that is not zero, spread over all files.
    fn damages(&self) -> Vec<Damage> {
        let (volume, _recorder) = self.open();
        let mut damages = Vec::new();
        for file in FILES {
            let Ok(region) = volume.open_region(file) else { continue };
            for offset in (0..region.len()).step_by(8) {
                let word = region.load_u64(offset);
                if word == 0 {
                    continue;
                }
                let bit = (word % 61) as u32;
                damages.push(Damage { file, offset, bit: Some(bit) });
                if offset % UNIT_BYTES == 0 {
                    damages.push(Damage { file, offset, bit: None });
                }
            }
        }
        let step = damages.len().div_ceil(DAMAGES).max(1);
        damages.into_iter().step_by(step).collect()
    }

    fn outcome(&self, damage: Damage, plant: Option<Plant>) -> Outcome {
        let (volume, recorder) = self.open();
        let region = volume.open_region(damage.file).expect("a file");
        match damage.bit {
            Some(bit) => {
                let word = region.load_u64(damage.offset) ^ 1 << bit;
                region.store(damage.offset, &word.to_le_bytes());
            }
            None => region.store(damage.offset, &[0; UNIT_BYTES as usize]),
        }
        drop(region);
        plant.into_iter().for_each(|plant| recorder.plant(plant));
        let layout = self.live.options().layout;
        let found = catch_unwind(AssertUnwindSafe(|| {
            let store = Store::open(&volume, layout)?;
            match store.graph.verify()?.problems {
                problems if problems.is_empty() => Ok(Ok(store.state())),
                problems => Ok(Err(format!("{problems:?}"))),
            }
        }));
        match found {
            Ok(Ok(Ok(state))) if state == self.state => Outcome::Right,
            Ok(Ok(Ok(state))) => Outcome::Wrong(Box::new(state)),
            Ok(Ok(Err(problems))) => Outcome::Unsound(problems),
            Ok(Err::<_, Error>(_)) => Outcome::Refused,
            Err(panic) => Outcome::Unsound(text(&*panic)),
        }
    }

    fn find(&self, plant: Plant) -> Option<Failure> {
        self.seen.iter().find_map(|&damage| {
            let (violation, what) = match self.outcome(damage, Some(plant)) {
                Outcome::Wrong(state) => (Violation::Wrong, format!("{state:?}")),
                // Only if it is not what was said without the plant.
                Outcome::Unsound(what)
                    if matches!(self.outcome(damage, None), Outcome::Refused) =>
                {
                    (Violation::Unsound, what)
                }
                _ => return None,
            };
            let name = self.live.name();
            Some(Failure::new(violation, format!("{name} with {damage:?}: {what}")))
        })
    }
}
