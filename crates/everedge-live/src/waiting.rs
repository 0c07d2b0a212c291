//! What nobody reads any more in this process, and other processes may: it waits until none of them does.
//!
//! A reader beside the writer pins the state that it reads (`everedge_medium::Pins`). What is freed is named by no state from
//! the newest on, so it waits for the readers of older ones.

use std::collections::VecDeque;

use everedge_medium::Pins;

/// Things that wait, in the order in which they were freed.
pub struct Waiting<T> {
    /// Each with the first state that does not name it.
    things: VecDeque<(u64, T)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { things: VecDeque::new() }
    }
}

impl<T> Waiting<T> {
    /// Returns whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Takes what was freed just now. Returns it if nobody may read it.
    pub fn hold(&mut self, pins: Option<&Pins>, freed: T) -> Option<T> {
        let Some(pins) = pins.filter(|pins| pins.are_older_read()) else { return Some(freed) };
        self.things.push_back((pins.newest(), freed));
        None
    }

    /// Returns what nobody may read any more.
    pub fn release(&mut self, pins: Option<&Pins>) -> Vec<T> {
        let oldest = pins.map_or(u64::MAX, Pins::oldest);
        let mut released = Vec::new();
        while let Some((_, thing)) = self.things.pop_front_if(|(state, _)| *state <= oldest) {
            released.push(thing);
        }
        released
    }

    /// Returns what waits.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().map(|(_, thing)| thing)
    }
}
