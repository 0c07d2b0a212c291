//! Merging the changes of a round into the entries of a list; both are sorted by neighbor.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_live::{Effect, Rules};

use super::lpmb::Context;

/// An update of a list: neighbor, place in the round and whether it deletes, in this order of weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change(u64);

impl Change {
    pub(crate) fn new(neighbor: u32, index: u32, is_deletion: bool) -> Self {
        Self(u64::from(neighbor) << 33 | u64::from(index) << 1 | u64::from(is_deletion))
    }

    pub(crate) fn neighbor(self) -> u32 {
        (self.0 >> 33) as u32
    }

    fn index(self) -> usize {
        (self.0 >> 1) as u32 as usize
    }

    pub(crate) fn is_deletion(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Puts what insertions add to entries into `new`; what is there already, in a simple graph, may get another
/// weight where it is.
pub(crate) fn missing(
    context: &Context,
    entries: &mut [AtomicU32],
    changes: &[Change],
    new: &mut Vec<u32>,
    mut note: impl FnMut(Effect),
) {
    let (entry_words, Rules { simple, weighted }) = (context.entry_words, context.rules);
    new.clear();
    for &change in changes {
        let neighbor = change.neighbor();
        let weight = || context.weights[change.index()].load(Relaxed);
        if simple {
            let at = first_from(entries, entry_words, |word| word.load(Relaxed) < neighbor);
            let is_there = at < entries.len() && *entries[at].get_mut() == neighbor;
            let is_new_there = new.len() >= entry_words && new[new.len() - entry_words] == neighbor;
            if is_there || is_new_there {
                if weighted {
                    match is_there {
                        true => *entries[at + 1].get_mut() = weight(),
                        false => *new.last_mut().expect("an entry") = weight(),
                    }
                    note(Effect::Replaced);
                }
                continue;
            }
        }
        new.push(neighbor);
        if weighted {
            new.push(weight());
        }
        note(Effect::Inserted(neighbor));
    }
}

/// Merges changes into entries: both are sorted by neighbor.
pub(crate) fn merge(
    context: &Context,
    old: &[u32],
    changes: &[Change],
    new: &mut Vec<u32>,
    mut note: impl FnMut(Effect),
) {
    let (entry_words, Rules { simple, weighted }) = (context.entry_words, context.rules);
    new.clear();
    let mut rest = old;
    for group in changes.chunk_by(|before, next| before.neighbor() == next.neighbor()) {
        let neighbor = group[0].neighbor();
        let before = first_from(rest, entry_words, |&word| word < neighbor);
        new.extend_from_slice(&rest[..before]);
        let begin = new.len();
        let equal = rest[before..].chunks_exact(entry_words);
        let equal = equal.take_while(|entry| entry[0] == neighbor).count() * entry_words;
        new.extend_from_slice(&rest[before..before + equal]);
        rest = &rest[before + equal..];
        for &change in group {
            let is_there = new.len() > begin;
            let weight = || context.weights[change.index()].load(Relaxed);
            match (change.is_deletion(), is_there) {
                (true, false) => note(Effect::Ignored(neighbor)),
                (true, true) => {
                    new.truncate(new.len() - entry_words);
                    note(Effect::Deleted(neighbor));
                }
                (false, true) if simple => {
                    if weighted {
                        let last = new.len() - 1;
                        new[last] = weight();
                        note(Effect::Replaced);
                    }
                }
                (false, _) => {
                    new.push(neighbor);
                    if weighted {
                        new.push(weight());
                    }
                    note(Effect::Inserted(neighbor));
                }
            }
        }
    }
    new.extend_from_slice(rest);
}

/// Returns the place of the first entry, in words, whose neighbor is not before one; `is_before` says of a neighbor
/// whether it is.
#[inline]
pub(crate) fn first_from<W>(
    entries: &[W],
    entry_words: usize,
    is_before: impl Fn(&W) -> bool,
) -> usize {
    match entry_words {
        1 => entries.partition_point(is_before),
        _ => 2 * entries.as_chunks::<2>().0.partition_point(|entry| is_before(&entry[0])),
    }
}
