//! Scales: from values to positions, with round numbers for the ticks of an axis.
//!
//! A scale accepts any domain: an empty or reversed one is widened, so that a position is always
//! finite, whatever was measured.

/// How values are spread over an axis.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    Log10,
}

/// Maps the values of `domain` to the positions of `range`, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    kind: Kind,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// Equal steps are equally far apart.
    pub(super) fn linear(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = finite(domain.0);
        let high = finite(domain.1);
        let domain = if high > low { (low, high) } else { (low, low + 1.0) };
        Scale { kind: Kind::Linear, domain, range }
    }

    /// Equal factors are equally far apart; values below the domain stand at its low end.
    pub(super) fn log(domain: (f64, f64), range: (f64, f64)) -> Self {
        let low = finite(domain.0).max(f64::MIN_POSITIVE.sqrt());
        let high = finite(domain.1);
        let domain = if high > low { (low, high) } else { (low, low * 10.0) };
        Scale { kind: Kind::Log10, domain, range }
    }

    /// Position of a value, in pixels.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.domain;
        let share = match self.kind {
            Kind::Linear => (finite(value) - low) / (high - low),
            Kind::Log10 => (finite(value).max(low) / low).log10() / (high / low).log10(),
        };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// The two ends of the range, in pixels.
    pub(super) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Round values inside the domain, ascending, at most about `wanted` of them.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        match self.kind {
            Kind::Linear => self.linear_ticks(wanted),
            Kind::Log10 => self.log_ticks(wanted),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        let step = round_step((high - low) / wanted.max(1) as f64);
        let first = (low / step).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let first = (self.domain.0.log10() - 1e-9).ceil() as i32;
        let last = (self.domain.1.log10() + 1e-9).floor() as i32;
        let stride = (((last - first).max(0) as usize) / wanted.max(1) + 1).min(100);
        (first..=last).step_by(stride).map(|power| 10f64.powi(power)).collect()
    }
}

/// The smallest of 1, 2, 5, 10, 20, ... (or their tenths) that is not below `raw`.
pub(super) fn round_step(raw: f64) -> f64 {
    let raw = finite(raw).max(1e-12);
    let power = 10f64.powf(raw.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= raw * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

/// The value itself, or 0 where it is no number.
pub(super) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        let scale = Scale::linear((0.0, 97.0), (0.0, 1.0));
        assert_eq!(scale.ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let scale = Scale::linear((0.0, 1.0), (0.0, 1.0));
        assert_eq!(scale.ticks(2), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        let scale = Scale::log((1.0, 30_000.0), (0.0, 1.0));
        assert_eq!(scale.ticks(9), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(scale.ticks(3), [1.0, 100.0, 10_000.0]);
    }

    #[test]
    fn ends_of_the_domain_meet_ends_of_the_range() {
        let scale = Scale::log((1.0, 1_000.0), (300.0, 0.0));
        assert_eq!((scale.at(1.0), scale.at(1_000.0)), (300.0, 0.0));
        assert!((scale.at(10.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn every_domain_gives_finite_positions() {
        for domain in [(0.0, 0.0), (5.0, 1.0), (f64::NAN, f64::INFINITY), (-1.0, 0.0)] {
            for scale in [Scale::linear(domain, (0.0, 9.0)), Scale::log(domain, (0.0, 9.0))] {
                assert!(scale.at(0.0).is_finite() && scale.at(f64::NAN).is_finite());
                assert!(scale.ticks(5).iter().all(|tick| tick.is_finite()));
            }
        }
    }
}
