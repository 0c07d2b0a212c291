//! Plots of *pulling the plug*: batches up to the kill, recovery, and all rounds side by side.

use everedge_bench::count;
use everedge_bench::page::{
    Anchor, Axis, Drawing, FONT, Field, Path, Positions, Scale, counted, duration, text_width,
    ticks,
};

use super::report::{Ack, CrashRound};
use crate::charts::Column;

/// Height of the field of the timeline, in pixels.
const FIELD_HEIGHT: f64 = 230.0;
/// Height of a row of the rounds: a bar and a line of text.
const ROUND_HEIGHT: f64 = 52.0;
/// Space kept free for the title of the upright axis, beside the label of the kill.
const AXIS_TITLE: f64 = 80.0;
/// Columns of the histogram, the last one for all that took longer.
const BINS: usize = 16;

/// Edges acknowledged over time, the kill, and the graph that opens again.
pub(super) fn timeline(width: f64, round: &CrashRound) -> Drawing {
    let Some(last) = round.acks.last() else {
        return Drawing::empty(width);
    };
    let (left, right) = (60.0, width - 14.0);
    let (top, bottom) = (36.0, 36.0 + FIELD_HEIGHT);
    let end = round.kill_ms + round.recovery_ms;
    let edges_max = last.edges as f64 * 1.08;
    let field = Field {
        across: (left, right),
        down: (top, bottom),
        x: time_axis(end.max(round.kill_ms * 1.15)),
        y: Axis {
            scale: Scale::Linear,
            domain: (0.0, edges_max),
            title: "edges acknowledged",
            ticks: 6,
        },
    };
    let mut drawing = Drawing::new(width, bottom + 44.0);
    let at = field.draw(&mut drawing);
    let (kill, opened, level) = (at.x(round.kill_ms), at.x(end), at.y(last.edges as f64));
    drawing.rect("recovery", (kill, top), (opened - kill, bottom - top), &recovery_text(round));
    let steps = steps(&round.acks, &at).step((kill, level));
    let area = steps.clone().step((kill, bottom)).line((left, bottom));
    drawing.path("area", &area, "");
    drawing.path("line first", &steps, "edges acknowledged");
    drawing.path("gap", &Path::from((kill, level)).line((opened, level)), "");
    drawing.line("kill", (kill, top - 22.0), (kill, bottom));
    drawing.circle("dot rose", (opened, level), 5.0, &recovery_text(round));
    label_kill(&mut drawing, round, (kill, left), (top, bottom));
    drawing
}

/// Writes what happened beside the line of the kill: the signal on top, what came back below.
fn label_kill(
    drawing: &mut Drawing,
    round: &CrashRound,
    (kill, left): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let batches = counted(round.batches_recovered, "batch", "batches");
    let labels = [
        ("name fell-text", top - 14.0, format!("SIGKILL at {}", duration(round.kill_ms / 1e3))),
        ("label", bottom - 30.0, format!("open again in {}", duration(round.recovery_ms / 1e3))),
        ("label", bottom - 13.0, format!("{batches}, {} lost", count(round.batches_lost))),
    ];
    for (class, y, text) in labels {
        let room = kill - left >= text_width(&text) + AXIS_TITLE;
        let (anchor, dx) = if room { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
        drawing.text(class, anchor, (kill + dx, y), &text);
    }
}

fn recovery_text(round: &CrashRound) -> String {
    let recovery = duration(round.recovery_ms / 1e3);
    let batches = counted(round.batches_recovered, "batch", "batches");
    format!("open again in {recovery}, with {batches}")
}

/// The axis of the time since a writer began.
fn time_axis(end_ms: f64) -> Axis<'static> {
    let domain = (0.0, end_ms);
    Axis { scale: Scale::Linear, domain, title: "ms since the writer began", ticks: 8 }
}

/// The steps of the acknowledged edges.
///
/// Steps that begin in the same half pixel are drawn as one, so that a long run stays a small page.
fn steps(acks: &[Ack], at: &Positions) -> Path {
    let mut steps = Path::from(at.at((0.0, 0.0)));
    let mut drawn = f64::NEG_INFINITY;
    for (position, ack) in acks.iter().enumerate() {
        let to = at.at((ack.ms, ack.edges as f64));
        if to.0 - drawn >= 0.5 || position + 1 == acks.len() {
            steps = steps.step(to);
            drawn = to.0;
        }
    }
    steps
}

/// One row a round: how long the writer lived, then how long opening took, on one axis.
pub(super) fn rounds(width: f64, rounds: &[CrashRound]) -> Drawing {
    if rounds.is_empty() {
        return Drawing::empty(width);
    }
    let longest = rounds.iter().map(|round| round.kill_ms + round.recovery_ms).fold(0.0, f64::max);
    let left = 52.0;
    let texts = rounds.iter().map(|round| text_width(&balance(round))).fold(0.0, f64::max);
    let text_left = (width - texts).clamp(0.0, left);
    let bottom = rounds.len() as f64 * ROUND_HEIGHT + 6.0;
    let field = Field {
        across: (left, width - 14.0),
        down: (0.0, bottom),
        x: time_axis(longest),
        y: Axis { scale: Scale::Linear, domain: (0.0, 1.0), title: "", ticks: 0 },
    };
    let mut drawing = Drawing::new(width, bottom + 44.0);
    let at = field.draw(&mut drawing);
    for (index, round) in rounds.iter().enumerate() {
        draw_round(&mut drawing, index, round, &at, text_left);
    }
    drawing
}

fn draw_round(
    drawing: &mut Drawing,
    index: usize,
    round: &CrashRound,
    at: &Positions,
    text_left: f64,
) {
    let y = index as f64 * ROUND_HEIGHT + 6.0;
    let left = at.x(0.0);
    let kill = at.x(round.kill_ms);
    let opened = at.x(round.kill_ms + round.recovery_ms);
    let written = format!("written for {}", duration(round.kill_ms / 1e3));
    let number = format!("kill {}", index + 1);
    drawing.text("label", Anchor::End, (left - 8.0, y + 8.0 + FONT * 0.35), &number);
    drawing.rect("bar", (left, y), (kill - left, 16.0), &written);
    drawing.rect("recovered", (kill, y), ((opened - kill).max(2.0), 16.0), &recovery_text(round));
    drawing.line("cut", (kill, y - 4.0), (kill, y + 20.0));
    let class = if round.batches_lost == 0 { "note" } else { "note fell-text" };
    drawing.text(class, Anchor::Start, (text_left, y + 33.0), &balance(round));
}

/// The account of a round in one line.
fn balance(round: &CrashRound) -> String {
    format!(
        "{} acknowledged · {} recovered · {} lost · {}",
        count(round.batches_acknowledged()),
        count(round.batches_recovered),
        count(round.batches_lost),
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
    let ticks = ticks((0.0, high.max(f64::MIN_POSITIVE)), BINS);
    let step = ticks.get(1).copied().unwrap_or(1.0);
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
        assert_eq!(balance(&round), "4 acknowledged · 3 recovered · 1 lost · 0 µs");
    }
}
