//! The model of the archiving thread's protocol: every order of its events, tried by loom.
//!
//! Two writers log and call, one after it gave notice, and wait until what they logged is taken. The
//! thread takes that, announces it, archives it, and puts lists in order; when the writers are through,
//! it is ended. Loom fails where all threads wait, which is what a lost call (T1) or wake-up (T2) comes
//! to. That it would is shown by two planted defects.

mod sync;

#[path = "calls.rs"]
#[expect(clippy::duplicate_mod, reason = "the same source, with the locks of the model")]
mod calls;

// Not loom's, which panics again while a model that failed unwinds.
use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;

use calls::Calls;

/// What is logged, what of it is taken, and what is archived.
#[derive(Default)]
struct Log {
    logged: AtomicUsize,
    taken: AtomicUsize,
    archived: AtomicUsize,
}

impl Log {
    fn is_far_behind(&self) -> bool {
        self.taken.load(SeqCst) < self.logged.load(SeqCst)
    }

    fn archive(&self, announce: impl Fn()) {
        let logged = self.logged.load(SeqCst);
        self.taken.store(logged, SeqCst);
        announce();
        self.archived.store(logged, SeqCst);
    }
}

/// What is wrong with an archiving thread.
#[derive(Clone, Copy)]
enum Defect {
    /// It forgets calls after it has archived, not before.
    ForgetsLate,
    /// It announces without the lock.
    AnnouncesUnlocked,
}

/// Does what [`Calls::answer`] does, wrongly.
fn answer_wrongly(calls: &Calls, log: &Log, defect: Defect) {
    loop {
        let mut state = calls.state.lock();
        while !state.is_called && !state.is_ending {
            calls.called.wait(&mut state);
        }
        if state.is_ending {
            return;
        }
        match defect {
            Defect::ForgetsLate => {
                drop(state);
                log.archive(|| calls.announce());
                calls.state.lock().is_called = false;
                calls.announce();
            }
            Defect::AnnouncesUnlocked => {
                state.is_called = false;
                drop(state);
                log.archive(|| calls.archived.notify_all());
            }
        }
    }
}

fn run(defect: Option<Defect>) {
    let mut model = loom::model::Builder::new();
    // Every defect that was tried shows with so few threads interrupted; it bounds the time.
    model.preemption_bound = Some(3);
    model.check(move || {
        let shared = Arc::new((Calls::default(), Log::default()));
        let write = |shared: &(Calls, Log), count| {
            let (calls, log) = shared;
            for _ in 0..count {
                log.logged.fetch_add(1, SeqCst);
                calls.call(|| log.is_far_behind());
            }
        };
        let archiver = thread::spawn({
            let shared = shared.clone();
            move || match defect {
                None => {
                    let (calls, log) = &*shared;
                    calls.answer(|| log.archive(|| calls.announce()), Calls::is_wanted);
                }
                Some(defect) => answer_wrongly(&shared.0, &shared.1, defect),
            }
        });
        let writer = thread::spawn({
            let shared = shared.clone();
            move || {
                shared.0.notice();
                write(&shared, 1);
            }
        });
        write(&shared, 1);
        writer.join().expect("a writer ends");
        shared.0.end();
        archiver.join().expect("the thread ends");
        let archived = shared.1.archived.load(SeqCst);
        assert_eq!(archived, shared.1.logged.load(SeqCst));
    });
}

#[test]
fn no_call_and_no_wake_up_is_lost() {
    run(None);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_call_that_is_forgotten_late_is_found() {
    run(Some(Defect::ForgetsLate));
}

#[test]
#[should_panic(expected = "deadlock")]
fn an_announcement_without_the_lock_is_found() {
    run(Some(Defect::AnnouncesUnlocked));
}
