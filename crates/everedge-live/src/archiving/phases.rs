//! The archiving thread: buffering and flushing beside logging.
//!
//! Source: XPGraph §3.4 (a logging thread that pauses when the log is full, and notifies when a
//! threshold is reached). Difference: there any writer logs, and one thread drives archiving.
//! `calls.rs` says how they meet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use everedge_core::par::{self, Threads};
use parking_lot::Mutex;

use serde::{Deserialize, Serialize};

use super::calls::Calls;
use super::core::Core;
use super::layout::Layout;
use crate::text_form;

/// Whether logging goes on while updates are archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// Archiving has a thread of its own; writers wait for it as far as [`Wait`](super::Wait) says. With one
    /// thread for loops it is as `InTurn`.
    #[default]
    Overlapped,
    /// The writer that reaches the threshold archives before it returns.
    InTurn,
}

text_form!(
    Phases,
    "way of the phases",
    Phases::Overlapped = "overlapped",
    Phases::InTurn = "in-turn"
);

/// Archives for the writers of one graph, on a thread of its own once there is enough.
pub(super) struct Archiver<L: Layout> {
    core: Arc<Core<L>>,
    /// Whether notice was given since the thread last looked.
    is_noticed: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether the system refused it.
    is_refused: AtomicBool,
}

impl<L: Layout> Archiver<L> {
    pub(super) fn new(core: Arc<Core<L>>) -> Self {
        let (thread, is_refused) = (Mutex::default(), AtomicBool::new(false));
        Self { core, is_noticed: Arc::default(), thread, is_refused }
    }

    /// After something was logged: has it archived if there is enough, and put in order when writers
    /// pause. Waits if archiving is as far behind as the layout says.
    #[inline]
    pub(super) fn call(&self, is_due: bool) {
        if is_due || !self.is_noticed.load(Relaxed) {
            self.call_or_notice(is_due);
        }
    }

    #[cold]
    fn call_or_notice(&self, is_due: bool) {
        let phases = self.core.layout.pace().phases;
        let is_alone =
            phases == Phases::InTurn || par::thread_count() == 1 || !self.has_thread(is_due);
        match (is_alone, is_due) {
            (true, true) => self.core.archive_if_due(),
            (true, false) => {}
            (false, true) => self.core.call_archiving(),
            (false, false) if self.is_noticed.swap(true, Relaxed) => {}
            (false, false) => self.core.calls.notice(),
        }
    }

    /// Returns whether the thread runs, starting it if it does not; one that was refused is asked for
    /// again only when there is enough to archive.
    fn has_thread(&self, is_due: bool) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() && (is_due || !self.is_refused.load(Relaxed)) {
            let (core, is_noticed) = (self.core.clone(), self.is_noticed.clone());
            let threads = Threads::current();
            let work = move || {
                let _on_panic = OnPanic(&core);
                let mut written = 0;
                let order = |calls: &Calls| {
                    is_noticed.store(false, Relaxed);
                    core.put_in_order(&mut written, || calls.is_wanted())
                };
                threads.enter(|| core.calls.answer(|| core.archive_if_due(), order));
            };
            // Where the system refuses a thread, writers archive themselves.
            *thread = thread::Builder::new().name("everedge archive".into()).spawn(work).ok();
            self.is_refused.store(thread.is_none(), Relaxed);
        }
        thread.is_some()
    }

    /// Ends the thread, after what it is at. A panic of it goes on here.
    ///
    /// A forked child has no such thread: waiting for it would never end, and what it held at the fork
    /// is locked for ever.
    pub(super) fn end(&mut self) {
        if self.core.refuse_if_forked().is_err() {
            std::mem::forget(self.thread.get_mut().take());
            return;
        }
        self.core.calls.end();
        if let Some(thread) = self.thread.get_mut().take()
            && let Err(panic) = thread.join()
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl<L: Layout> Drop for Archiver<L> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Lets no writer wait for a thread that has panicked.
struct OnPanic<'a, L: Layout>(&'a Core<L>);

impl<L: Layout> Drop for OnPanic<'_, L> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.refuse_from_now_on("the archiving thread panicked");
        }
    }
}
