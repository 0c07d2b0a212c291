//! The plot of *pulling the plug*: how long each writer lived, and how long opening took after it.

use everedge_bench::count;
use everedge_bench::page::{
    Anchor, Axis, Drawing, FONT, Field, Positions, Scale, counted, duration, text_width,
};

use super::report::CrashRound;

/// Height of a row of the rounds: a bar and a line of text.
const ROUND_HEIGHT: f64 = 52.0;
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

/// Draws a row for each round: how long the writer lived, then how long opening took, on one axis.
pub(super) fn draw(width: f64, rounds: &[CrashRound]) -> Drawing {
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
        count(round.batches_acknowledged),
        count(round.batches_recovered),
        count(round.batches_lost),
        duration(round.recovery_ms / 1e3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balance_says_what_was_lost() {
        let round = CrashRound {
            batches_acknowledged: 4,
            batches_recovered: 3,
            batches_lost: 1,
            ..CrashRound::default()
        };
        assert_eq!(balance(&round), "4 acknowledged · 3 recovered · 1 lost · 0 µs");
    }
}
