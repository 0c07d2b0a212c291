//! The model of versions: the orders of events of a writer, a view and an image in which a thread is interrupted up
//! to three times, tried by loom.
//!
//! A shard of one block is changed by the writer, where it lies or in another block, as lists are. The others
//! look at the block as it was when they came, twice, and go. A block that is used again too early shows
//! another value; one that is never free again is counted. That such defects are found is shown by planting two.

mod pool;
mod sync;

#[path = "versions.rs"]
#[expect(clippy::duplicate_mod, reason = "the same source, with the lock of the model")]
mod versions;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::Relaxed};
use loom::thread;

use pool::Pool;
use sync::Mutex;
use versions::Version;

const BLOCKS: u32 = 6;

/// A shard of one block.
struct Shard {
    version: Version,
    place: u32,
    /// What the block holds.
    value: u32,
    /// Whether nobody else reads it.
    is_own: bool,
}

struct Graph {
    archive: Mutex<Arc<Shard>>,
    pool: std::sync::Arc<Pool>,
    blocks: Vec<AtomicU32>,
}

/// What is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    /// A view does not keep the shard that it reads.
    ViewHoldsNothing,
    /// What is given up is free at once.
    FreesAtOnce,
}

impl Graph {
    fn new() -> Self {
        let pool = std::sync::Arc::new(Pool::new(BLOCKS));
        let version = Version::new(&pool, 0);
        let place = take(&version, 1)[0];
        let shard = Shard { version, place, value: 0, is_own: true };
        let blocks = (0..BLOCKS).map(|_| AtomicU32::new(0)).collect();
        Self { archive: Mutex::new(Arc::new(shard)), pool, blocks }
    }

    /// Changes the block, where it lies if nobody else reads it.
    fn write(&self, value: u32, defect: Option<Defect>) {
        let mut archive = self.archive.lock();
        let shard = own(&mut archive);
        if !shard.is_own {
            let mut places = Vec::new();
            shard.version.take(1, &mut places).expect("few are in use");
            let place = places[0];
            match defect {
                Some(Defect::FreesAtOnce) => shard.version.give_back([shard.place]),
                _ => shard.version.give_up(&[shard.place]),
            }
            (shard.place, shard.is_own) = (place, true);
        }
        self.blocks[shard.place as usize].store(value, Relaxed);
        shard.value = value;
    }

    /// Reads a frozen shard.
    fn view(&self, defect: Option<Defect>) {
        let shard = self.archive.lock().clone();
        let (place, value) = (shard.place, shard.value);
        let held = (defect != Some(Defect::ViewHoldsNothing)).then_some(shard);
        self.look(place, value);
        drop(held);
    }

    /// Names the block in an image, which counts until the next one does.
    fn save(&self) {
        let mut archive = self.archive.lock();
        let shard = own(&mut archive);
        shard.is_own = false;
        shard.version = shard.version.next();
        let (held, place, value) = (shard.version.clone(), shard.place, shard.value);
        drop(archive);
        self.look(place, value);
        drop(held);
    }

    fn look(&self, place: u32, value: u32) {
        for _ in 0..2 {
            assert_eq!(self.blocks[place as usize].load(Relaxed), value, "a block that is read");
        }
    }
}

fn take(version: &Version, count: usize) -> Vec<u32> {
    let mut places = Vec::new();
    version.take_in_order(count, &mut places).expect("few are in use");
    places
}

/// Returns the shard for changing; one that is shared is copied first.
fn own(shared: &mut Arc<Shard>) -> &mut Shard {
    if Arc::get_mut(shared).is_none() {
        let Shard { place, value, .. } = **shared;
        *shared = Arc::new(Shard { version: shared.version.next(), place, value, is_own: false });
    }
    Arc::get_mut(shared).expect("a new copy is not shared")
}

fn run(defect: Option<Defect>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let graph = Arc::new(Graph::new());
        let view = thread::spawn({
            let graph = graph.clone();
            move || graph.view(defect)
        });
        let image = thread::spawn({
            let graph = graph.clone();
            move || graph.save()
        });
        (1..=3).for_each(|value| graph.write(value, defect));
        view.join().expect("a view ends");
        image.join().expect("an image ends");
        assert_eq!(graph.pool.retired(), 0, "nobody reads");
    });
}

#[test]
fn what_somebody_reads_stays_and_is_free_when_nobody_does() {
    run(None);
}

#[test]
#[should_panic(expected = "a block that is read")]
fn a_view_that_holds_nothing_is_found() {
    run(Some(Defect::ViewHoldsNothing));
}

#[test]
#[should_panic(expected = "a block that is read")]
fn blocks_that_are_free_at_once_are_found() {
    run(Some(Defect::FreesAtOnce));
}

#[test]
fn what_is_given_up_stays_while_somebody_reads_a_state_that_has_it() {
    loom::model(|| {
        let pool = std::sync::Arc::new(Pool::new(20));
        let mut newest = Version::new(&pool, 0);
        newest.give_up(&take(&newest, 3));
        assert_eq!(pool.retired(), 0, "nobody reads");
        // Each reader holds the version that was newest when its state was frozen.
        let old = take(&newest, 8);
        newest = newest.next();
        let first = newest.clone();
        newest.give_up(&old[..3]);
        newest = newest.next();
        let second = newest.clone();
        newest.give_up(&old[3..]);
        let young = take(&newest, 7);
        newest = newest.next();
        let third = newest.clone();
        newest.give_up(&young);
        assert_eq!(pool.retired(), 15);
        drop(second);
        assert_eq!(pool.retired(), 15, "the first one still reads what was there before");
        drop(third);
        assert_eq!(pool.retired(), 8, "the first one came before what is young");
        drop(first);
        assert_eq!(pool.retired(), 0);
        newest.give_up(&take(&newest, 1));
        assert_eq!(pool.retired(), 0);
    });
}

#[test]
fn a_long_view_keeps_only_what_it_reads() {
    loom::model(|| {
        let pool = std::sync::Arc::new(Pool::new(8));
        let mut newest = Version::new(&pool, 0);
        let mut block = take(&newest, 1);
        let long = newest.clone();
        for _ in 0..20 {
            // Of a view that others have come and gone since.
            newest = newest.next();
            let short = newest.clone();
            newest = newest.next();
            newest.give_up(&block);
            block = take(&newest, 1);
            drop(short);
            assert_eq!(pool.retired(), 1, "the long view's own");
        }
        drop(long);
        assert_eq!(pool.retired(), 0);
    });
}
