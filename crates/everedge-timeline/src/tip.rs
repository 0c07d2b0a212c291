//! The newest version as the next one finds it: which stored edges it has.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_medium::HeldWords;

use super::bits::Bits;
use super::lists::Form;
use super::segment::{Place, Segment, Totals, Wrong};

/// The versions that there are, and what the newest has of what they stored.
#[derive(Default)]
pub(crate) struct Tip {
    /// Ascending; the first one has whole lists.
    segments: Vec<Arc<Segment>>,
    /// By direction, by segment.
    alive: [Vec<Bits>; 2],
    vertices: Bits,
    /// The words of the file; none while there is no version.
    words: Option<HeldWords>,
}

impl Tip {
    /// Returns what the last of the first `count` versions has, unless those are all.
    pub(crate) fn before(&self, count: usize) -> Option<Self> {
        if count == self.segments.len() {
            return None;
        }
        let mut tip = Self { words: self.words.clone(), ..Self::default() };
        for segment in &self.segments[..count] {
            tip.push(segment.clone()).expect("it was taken in before");
        }
        Some(tip)
    }

    /// Whether there is no version.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    pub(crate) fn vertices(&self) -> &Bits {
        &self.vertices
    }

    /// Returns the stored edges that the newest version has, by direction and segment.
    pub(crate) fn alive(&self) -> &[Vec<Bits>; 2] {
        &self.alive
    }

    pub(crate) fn totals(&self) -> Totals {
        self.segments.last().map_or(Totals::default(), |segment| segment.totals)
    }

    /// Returns the words of the file.
    ///
    /// # Panics
    /// If there is no version.
    pub(crate) fn words(&self) -> &HeldWords {
        self.words.as_ref().expect("there is a version")
    }

    /// Takes the words of the file, which has grown.
    pub(crate) fn hold(&mut self, words: HeldWords) {
        self.words = Some(words);
    }

    /// Takes the next version in, whose words are held.
    ///
    /// # Errors
    /// What cannot be so; nothing is to be done with this then.
    pub(crate) fn push(&mut self, segment: Arc<Segment>) -> Result<(), Wrong> {
        let Some(words) = &self.words else { return Ok(()) };
        let number = segment.version.number;
        let expected = self.segments.last().map_or(number, |last| last.version.number + 1);
        if number != expected {
            let [expected, found] = [expected, number].map(|number| number.to_string());
            return Err(Wrong::new("a version's number", &expected, &found));
        }
        let has_whole = segment.lists.iter().all(|lists| lists.form == Form::Whole);
        if self.segments.is_empty() && !has_whole {
            return Err(Wrong::new("the first version", "whole lists", "others"));
        }
        let first = self.segments.first().map_or(segment.version.number, |s| s.version.number);
        for (direction, alive) in self.alive.iter_mut().enumerate() {
            segment.for_each_gone(words, direction, |version, offsets| {
                let of = version.checked_sub(first).and_then(|index| alive.get_mut(index as usize));
                let take = |bits: &mut Bits| {
                    offsets.iter().all(|offset| {
                        let offset = offset.load(Relaxed) as usize;
                        bits.contains(offset) && bits.remove(offset)
                    })
                };
                match of.is_some_and(take) {
                    true => Ok(()),
                    false => {
                        let what = format!("what version {} takes away", segment.version.number);
                        Err(Wrong::new(&what, "edges that were there", "others"))
                    }
                }
            })?;
            alive.push(Bits::all(segment.lists[direction].edge_count()));
        }
        self.vertices.grow(segment.totals.vertex_bound as usize);
        for v in segment.new_vertices(words) {
            self.vertices.insert(v.load(Relaxed) as usize);
        }
        for v in segment.ended_vertices(words) {
            self.vertices.remove(v.load(Relaxed) as usize);
        }
        self.segments.push(segment);
        Ok(())
    }

    /// Returns the bits of the weight of a stored edge.
    pub(crate) fn weight(&self, direction: usize, place: Place) -> u32 {
        let first = self.segments[0].version.number;
        let segment = &self.segments[(place.version - first) as usize];
        let weights = segment.lists[direction].weights(self.words());
        weights.get(place.offset as usize).map_or(0, |weight| weight.load(Relaxed))
    }
}
