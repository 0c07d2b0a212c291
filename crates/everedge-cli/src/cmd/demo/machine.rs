//! What a run ran on, and when: the lines that let somebody repeat it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::output::bytes;
use crate::report::RunInfo;

/// Describes this run.
pub(in crate::cmd) fn run_info() -> RunInfo {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let words: Vec<String> = std::env::args().skip(1).map(quoted).collect();
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine(),
        date: date(now.as_secs()),
        command: format!("everedge {}", words.join(" ")),
    }
}

/// A word as a shell takes it.
fn quoted(word: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Processor, cores, memory, operating system, as far as they are known.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = value_in("/proc/meminfo", "MemTotal:")
        .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
        .map(|kib| format!("{} of memory", bytes(kib * 1024)));
    let system = value_in("/etc/os-release", "PRETTY_NAME=").map(|name| name.replace('"', ""));
    let parts = [
        value_in("/proc/cpuinfo", "model name"),
        Some(format!("{cores} {}", if cores == 1 { "core" } else { "cores" })),
        memory,
        Some(system.unwrap_or_else(|| std::env::consts::OS.to_owned())),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

/// What follows `key` in the first line of a file that begins with it.
fn value_in(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// A time in seconds since 1970 as `2026-11-20 09:05 UTC`.
///
/// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin
/// in March, so that a leap day is the last day of a year, and 400 years are 146,097 days.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_704_067_199), "2023-12-31 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--output=x/y".to_owned()), "--output=x/y");
        assert_eq!(quoted("it's".to_owned()), r"'it'\''s'");
        assert_eq!(quoted(String::new()), "''");
    }
}
