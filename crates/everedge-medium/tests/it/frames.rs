//! Frames that many threads pin, claim and publish at once.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use everedge_core::SplitMix64;
use everedge_medium::{Claimed, Error, Frames, Pinned};

const PAGE_BYTES: usize = 4096;
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// Writes the number of a piece into all words of a frame.
fn fill(claimed: &mut Claimed, owner: u32) {
    let (words, _) = claimed.bytes_mut().as_chunks_mut();
    words.fill(owner.to_le_bytes());
}

/// Returns whether a frame has the number of a piece in all of its words.
fn is_of(bytes: &[u8], owner: u32) -> bool {
    bytes.as_chunks().0.iter().all(|&word| word == owner.to_le_bytes())
}

#[test]
fn a_frame_is_found_from_its_publication_to_its_next_claim() {
    let frames = Frames::new(PAGE_BYTES, 3).expect("frames");
    assert_eq!((frames.frame_bytes(), frames.count()), (PAGE_BYTES, 3));
    assert!(frames.pin(1, 0).is_none() && frames.owner(1).is_none(), "nothing is there yet");
    let mut claimed = frames.claim(1).expect("an empty frame");
    assert_eq!(claimed.frame(), 1);
    fill(&mut claimed, 7);
    assert!(frames.pin(1, 7).is_none() && frames.claim(1).is_none(), "it is being filled");
    claimed.publish(7);
    assert_eq!(frames.owner(1), Some(7));
    assert!(frames.pin(1, 8).is_none(), "another piece");
    let pinned = frames.pin(1, 7).expect("whole");
    let again = pinned.clone();
    drop(pinned);
    assert!(is_of(&again, 7) && frames.is_pinned(1));
    assert!(frames.claim(1).is_none(), "it is pinned");
    drop(again);
    assert!(!frames.is_pinned(1));
    drop(frames.claim(1).expect("nobody pins it"));
    assert!(frames.pin(1, 7).is_none() && frames.owner(1).is_none(), "nothing is there any more");
}

#[test]
fn frames_are_of_whole_pages_and_as_many_as_have_numbers() {
    for (frame_bytes, count) in [(0, 1), (100, 1), (PAGE_BYTES, 1 << 33), (1 << 40, 1 << 30)] {
        let refused = Frames::new(frame_bytes, count).err();
        assert!(matches!(refused, Some(Error::InvalidInput { .. })), "{refused:?}");
    }
    let refused = Frames::new(1 << 31, u32::MAX as usize).err();
    assert!(matches!(refused, Some(Error::NoSpace { .. })), "{refused:?}");
    assert_eq!(Frames::new(PAGE_BYTES, 0).expect("no frames").count(), 0);
}

#[test]
fn large_frames_begin_at_huge_pages() {
    let frames = Frames::new(2 << 20, 3).expect("frames");
    for number in 0..3 {
        let mut claimed = frames.claim(number).expect("an empty frame");
        assert_eq!(claimed.bytes_mut().as_ptr().addr() % (2 << 20), 0);
        fill(&mut claimed, number);
        claimed.publish(number);
    }
    for number in 0..3 {
        assert!(is_of(&frames.pin(number, number).expect("whole"), number));
    }
}

/// Each frame's words are all the number of its piece: who pins a piece sees no other.
#[test]
fn nobody_sees_another_piece_than_was_asked_for() {
    const FRAMES: u64 = 3;
    const OWNERS: u64 = 5;
    let frames = Frames::new(PAGE_BYTES, FRAMES as usize).expect("frames");
    let end = Instant::now() + Duration::from_secs(1);
    let work = |seed| {
        let mut random = SplitMix64::new(seed);
        let mut held: Vec<(Pinned<'_>, u32)> = Vec::new();
        let mut hits = 0;
        while Instant::now() < end {
            let (frame, owner) = (random.below(FRAMES) as u32, random.below(OWNERS) as u32);
            match random.below(8) {
                0..5 => {
                    if let Some(pinned) = frames.pin(frame, owner) {
                        assert!(is_of(&pinned, owner), "frame {frame} is not of {owner}");
                        held.push((pinned, owner));
                        hits += 1;
                    }
                }
                5 if held.len() < 4 => {
                    held.extend(held.last().cloned());
                }
                5 => held.clear(),
                _ => {
                    // Only so are all pins of this thread gone before it claims.
                    let old = std::mem::take(&mut held);
                    assert!(old.iter().all(|(pinned, owner)| is_of(pinned, *owner)), "it stays");
                    drop(old);
                    let Some(mut claimed) = frames.claim(frame) else { continue };
                    fill(&mut claimed, owner);
                    if random.below(4) > 0 {
                        claimed.publish(owner);
                    }
                }
            }
        }
        hits
    };
    thread::scope(|scope| {
        let workers: Vec<_> = SEEDS.map(|seed| scope.spawn(move || work(seed))).into();
        for worker in workers {
            assert!(worker.join().expect("no panic") > 100, "hardly a hit");
        }
    });
    // No pin and no claim is left.
    for frame in 0..FRAMES as u32 {
        assert!(!frames.is_pinned(frame) && frames.claim(frame).is_some(), "frame {frame}");
    }
    assert_eq!(Arc::strong_count(&frames), 1);
}
