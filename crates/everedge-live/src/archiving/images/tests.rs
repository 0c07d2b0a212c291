//! Images on a full medium, beside a log, and damaged.

use super::*;
use everedge_medium::{MediumKind, Recorder};

const SALT: u32 = 7;
const ENOSPC: i32 = 28;

/// Returns the words of an image of so many, and how many are its head.
fn image(count: u32) -> (Vec<u32>, usize) {
    (vec![0; IMAGE_HEAD_WORDS].into_iter().chain(1..=count).collect(), IMAGE_HEAD_WORDS + 40)
}

/// A graph on a full medium whose free units are these.
fn full(free: &[Range<u64>]) -> (Volume, Images, Recorder) {
    let kind = MediumKind::Pmem { emulated: true };
    let (volume, recorder) = Volume::recorded(kind, false);
    let region = volume.create_region("blocks", 100 * UNIT_BYTES).unwrap();
    let space = Arc::new(Space::new(region, 0, Vec::new()));
    let images = Images::create(&volume, SALT, &space).unwrap();
    let all = space.room().units;
    space.take_units(all, all).unwrap();
    space.give_back(free.iter().cloned());
    recorder.fail_nth(0, ENOSPC, true);
    (volume, images, recorder)
}

fn open(volume: &Volume, totals: [u64; 2]) -> Result<(Images, Vec<FoundImage>)> {
    open_beside((1, u64::MAX), volume, totals)
}

/// Opens images beside a log with this checkpoint and end.
fn open_beside(
    log: (u32, u64),
    volume: &Volume,
    totals: [u64; 2],
) -> Result<(Images, Vec<FoundImage>)> {
    let region = volume.open_region("blocks")?;
    Images::open((volume, &region), SALT, log, totals)
}

#[test]
fn images_tell_of_a_log_that_they_are_ahead_of() {
    let (mut words, head_words) = image(300);
    let (volume, images, recorder) = full(&[3..10, 12..20]);
    images.store(5, (17, 2), (&mut words, head_words), Vec::new()).unwrap();
    recorder.stop_failing();
    drop(images);
    let sequence = |log| open_beside(log, &volume, [0, 0]).map(|(images, _)| images.sequence());
    let error = sequence((0, 17)).unwrap_err().to_string();
    assert!(error.contains("the log is an older one"), "{error}");
    // It is left as it is beside a log that lacks what it holds.
    assert_eq!(sequence((1, 16)).unwrap(), 17);
    // A crash before the anchor leaves as much. What it leaves is wiped.
    assert_eq!(sequence((1, 17)).unwrap(), 17);
    assert_eq!(sequence((1, 17)).unwrap(), 0);
}

#[test]
fn an_image_lies_in_as_many_parts_as_the_medium_has_room_for() {
    let (mut words, head_words) = image(300);
    for (free, parts) in [(vec![3..6, 6..9], 1), (vec![3..5, 10..12, 20..22], 3)] {
        let (volume, images, recorder) = full(&free);
        images.store(5, (17, 1), (&mut words, head_words), Vec::new()).unwrap();
        let totals = images.totals();
        recorder.stop_failing();
        let (images, found) = open(&volume, totals).unwrap();
        let [image] = &found[..] else { panic!("{} images", found.len()) };
        assert_eq!((image.shard, image.sequence, image.units().count()), (5, 17, parts));
        let numbers =
            |words: &[AtomicU32]| words.iter().map(|w| w.load(Relaxed)).collect::<Vec<_>>();
        assert!(numbers(&images.read_head(image).unwrap()).into_iter().eq(1..=40));
        assert!(numbers(&images.read_body(image).unwrap()).into_iter().eq(41..=300));
    }
}

#[test]
fn parts_in_a_circle_take_no_more_units_than_the_file_has() {
    let (mut words, head_words) = image(300);
    let (volume, images, recorder) = full(&[3..5, 10..12, 20..22]);
    images.store(5, (17, 1), (&mut words, head_words), Vec::new()).unwrap();
    let totals = images.totals();
    recorder.stop_failing();
    volume.open_region("blocks").unwrap().store_words(3 * UNIT_BYTES, &[1, 3]);
    let error = open(&volume, totals).map(drop).unwrap_err().to_string();
    assert!(error.contains("more units in images than in the file"), "{error}");
}

#[test]
fn what_is_damaged_of_a_part_is_found() {
    let (mut words, head_words) = image(300);
    let free = [3..5, 10..12, 20..22];
    let (volume, images, recorder) = full(&free);
    images.store(5, (17, 1), (&mut words, head_words), Vec::new()).unwrap();
    let totals = images.totals();
    recorder.stop_failing();
    let region = volume.open_region("blocks").unwrap();
    let (_, found) = open(&volume, totals).unwrap();
    let parts: Vec<_> = found[0].units().collect();
    for (index, part) in parts.iter().enumerate() {
        let start = UNIT_BYTES * part.start;
        // Nobody reads what follows on the last part.
        let link = (index + 1 < parts.len()).then_some(start + 4);
        for offset in [Some(start), link, Some(start + 8)].into_iter().flatten() {
            let was = region.words(offset, 1)[0].load(Relaxed);
            for now in [0, 1, was ^ 1 << 20, u32::MAX].into_iter().filter(|now| *now != was) {
                region.store_words(offset, &[now]);
                let outcome = open(&volume, totals).and_then(|(images, found)| {
                    images.read_head(&found[0])?;
                    images.read_body(&found[0]).map(drop)
                });
                assert!(outcome.is_err(), "{now} at {offset}");
            }
            region.store_words(offset, &[was]);
        }
    }
}
