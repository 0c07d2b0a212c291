//! Plots of *pulling the plug*: batches up to the kill, recovery, and all rounds side by side.

use super::bars::Column;
use super::scale::{Scale, round_step};
use super::svg::{Anchor, Path, Svg};
use super::text::{FONT, counted, duration, text_width, with_commas};
use super::{Ack, CrashRound};

/// Height of the field of the timeline, in pixels.
const FIELD_HEIGHT: f64 = 230.0;
/// Height of a row of the rounds: a bar and a line of text.
const ROUND_HEIGHT: f64 = 52.0;
/// Space kept free for the title of the upright axis, beside the label of the kill.
const AXIS_TITLE: f64 = 80.0;
/// Columns of the histogram, the last one for all that took longer.
const BINS: usize = 16;

/// Edges acknowledged over time, the kill, and the graph that opens again.
pub(super) fn timeline(width: f64, round: &CrashRound) -> Svg {
    let Some(last) = round.acks.last() else {
        return Svg::empty(width);
    };
    let (left, right) = (60.0, width - 14.0);
    let (top, bottom) = (36.0, 36.0 + FIELD_HEIGHT);
    let end = round.kill_ms + round.recovery_ms;
    let x = Scale::linear((0.0, end.max(round.kill_ms * 1.15)), (left, right));
    let y = Scale::linear((0.0, last.edges as f64 * 1.08), (bottom, top));
    let kill = x.at(round.kill_ms);
    let level = y.at(last.edges as f64);
    let opened = x.at(end);
    let mut svg = Svg::new(width, bottom + 44.0);
    svg.rect("recovery", (kill, top), (opened - kill, bottom - top), &recovery_text(round));
    svg.axis_left(&y, left, right, "edges acknowledged");
    svg.axis_bottom(&x, bottom, "ms since the writer began");
    let steps = steps(&round.acks, &x, &y);
    let area = steps.1.step((kill, level)).step((kill, bottom)).line((left, bottom));
    svg.path("area", &area, "");
    svg.path("line first", &steps.0.step((kill, level)), "edges acknowledged");
    svg.path("gap", &Path::from((kill, level)).line((opened, level)), "");
    svg.line("kill", (kill, top - 22.0), (kill, bottom));
    svg.circle("dot rose", (opened, level), 5.0, &recovery_text(round));
    label_kill(&mut svg, round, (kill, left), (top, bottom));
    svg
}

/// Writes what happened beside the line of the kill: the signal on top, what came back below.
fn label_kill(
    svg: &mut Svg,
    round: &CrashRound,
    (kill, left): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let batches = counted(round.batches_recovered, "batch", "batches");
    let labels = [
        ("name fell-text", top - 14.0, format!("SIGKILL at {}", duration(round.kill_ms / 1e3))),
        ("label", bottom - 30.0, format!("open again in {}", duration(round.recovery_ms / 1e3))),
        ("label", bottom - 13.0, format!("{batches}, {} lost", with_commas(round.batches_lost))),
    ];
    for (class, y, text) in labels {
        let room = kill - left >= text_width(&text) + AXIS_TITLE;
        let (anchor, dx) = if room { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
        svg.text(class, anchor, (kill + dx, y), &text);
    }
}

fn recovery_text(round: &CrashRound) -> String {
    let recovery = duration(round.recovery_ms / 1e3);
    let batches = counted(round.batches_recovered, "batch", "batches");
    format!("open again in {recovery}, with {batches}")
}

/// The steps of the acknowledged edges, twice: one path to stroke, one to fill.
///
/// Steps that begin in the same half pixel are drawn as one, so that a long run stays a small page.
fn steps(acks: &[Ack], x: &Scale, y: &Scale) -> (Path, Path) {
    let start = (x.at(0.0), y.at(0.0));
    let (mut stroke, mut fill) = (Path::from(start), Path::from(start));
    let mut drawn = f64::NEG_INFINITY;
    for (position, ack) in acks.iter().enumerate() {
        let to = (x.at(ack.ms), y.at(ack.edges as f64));
        if to.0 - drawn >= 0.5 || position + 1 == acks.len() {
            stroke = stroke.step(to);
            fill = fill.step(to);
            drawn = to.0;
        }
    }
    (stroke, fill)
}

/// One row a round: how long the writer lived, then how long opening took, on one axis.
pub(super) fn rounds(width: f64, rounds: &[CrashRound]) -> Svg {
    if rounds.is_empty() {
        return Svg::empty(width);
    }
    let longest = rounds.iter().map(|round| round.kill_ms + round.recovery_ms).fold(0.0, f64::max);
    let left = 52.0;
    let texts = rounds.iter().map(|round| text_width(&balance(round))).fold(0.0, f64::max);
    let text_left = (width - texts).clamp(0.0, left);
    let bottom = rounds.len() as f64 * ROUND_HEIGHT + 6.0;
    let x = Scale::linear((0.0, longest), (left, width - 14.0));
    let mut svg = Svg::new(width, bottom + 44.0);
    for (index, round) in rounds.iter().enumerate() {
        draw_round(&mut svg, index, round, &x, text_left);
    }
    svg.axis_bottom(&x, bottom, "ms since the writer began");
    svg
}

fn draw_round(svg: &mut Svg, index: usize, round: &CrashRound, x: &Scale, text_left: f64) {
    let y = index as f64 * ROUND_HEIGHT + 6.0;
    let left = x.range().0;
    let kill = x.at(round.kill_ms);
    let opened = x.at(round.kill_ms + round.recovery_ms);
    let written = format!("written for {}", duration(round.kill_ms / 1e3));
    let number = format!("kill {}", index + 1);
    svg.text("label", Anchor::End, (left - 8.0, y + 8.0 + FONT * 0.35), &number);
    svg.rect("bar", (left, y), (kill - left, 16.0), &written);
    svg.rect("recovered", (kill, y), ((opened - kill).max(2.0), 16.0), &recovery_text(round));
    svg.line("cut", (kill, y - 4.0), (kill, y + 20.0));
    let class = if round.batches_lost == 0 { "note" } else { "note fell-text" };
    svg.text(class, Anchor::Start, (text_left, y + 33.0), &balance(round));
}

/// The account of a round in one line.
fn balance(round: &CrashRound) -> String {
    format!(
        "{} acknowledged · {} recovered · {} lost · {}",
        with_commas(round.batches_acknowledged()),
        with_commas(round.batches_recovered),
        with_commas(round.batches_lost),
        duration(round.recovery_ms / 1e3)
    )
}

/// Columns for the time between one acknowledgement and the next, over all rounds, in ms.
///
/// The bins are equal, up to about the 98th percentile; what took longer shares the last one.
pub(super) fn ack_gaps(rounds: &[CrashRound]) -> Vec<Column> {
    let pairs = rounds.iter().flat_map(|round| round.acks.windows(2));
    let mut gaps: Vec<f64> = pairs.map(|pair| (pair[1].ms - pair[0].ms).max(0.0)).collect();
    gaps.sort_by(f64::total_cmp);
    let Some(&high) = gaps.get(gaps.len() * 98 / 100) else {
        return Vec::new();
    };
    let step = round_step(high / (BINS - 1) as f64);
    let mut counts = vec![0u64; BINS];
    for gap in gaps {
        counts[((gap / step) as usize).min(BINS - 1)] += 1;
    }
    let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let column = |(index, count): (usize, u64)| {
        let longer = if index == BINS - 1 { "+" } else { "" };
        let label = format!("{:.decimals$}{longer}", index as f64 * step);
        let hover = format!("from {label} ms: {}", counted(count, "batch", "batches"));
        Column { label, count, hover }
    };
    counts.into_iter().take(used).enumerate().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_with_acks(times: &[f64]) -> CrashRound {
        let acks = times.iter().map(|&ms| Ack { ms, edges: 1 }).collect();
        CrashRound { acks, ..CrashRound::default() }
    }

    #[test]
    fn gaps_fall_into_equal_bins() {
        let columns = ack_gaps(&[round_with_acks(&[0.0, 1.0, 2.0, 5.0]), round_with_acks(&[9.0])]);
        assert_eq!(columns.iter().map(|column| column.count).sum::<u64>(), 3);
        assert_eq!(columns[5].label, "1.0");
        assert_eq!(columns[5].count, 2);
        assert!(ack_gaps(&[]).is_empty());
        assert!(ack_gaps(&[round_with_acks(&[3.0])]).is_empty());
    }

    #[test]
    fn balance_says_what_was_lost() {
        let round =
            CrashRound { batches_recovered: 3, batches_lost: 1, ..round_with_acks(&[1.0; 4]) };
        assert_eq!(balance(&round), "4 acknowledged · 3 recovered · 1 lost · 0\u{a0}µs");
    }
}
