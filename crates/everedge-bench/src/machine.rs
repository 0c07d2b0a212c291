//! What a run ran on, and when: the lines that let somebody repeat it.

use std::ffi::OsStr;

use chrono::Utc;

use crate::output::bytes;

/// How a run can be repeated; each field is shown as it stands.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    /// Version of everedge.
    pub version: String,
    /// Processor, cores, memory, operating system.
    pub machine: String,
    /// When the run began.
    pub date: String,
    /// The command line.
    pub command: String,
}

/// Describes this run.
pub fn run_info() -> RunInfo {
    let words: Vec<String> = std::env::args_os().skip(1).map(quoted).collect();
    RunInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine(),
        date: Utc::now().format("%Y-%m-%d %H:%M UTC").to_string(),
        command: format!("everedge {}", words.join(" ")),
    }
}

/// Returns a word as a shell takes it; what is not UTF-8 in it is shown as U+FFFD.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy().into_owned();
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--output=x/y"), "--output=x/y");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(OsString::new()), "''");
        assert_eq!(quoted(OsString::from_vec(b"caf\xe9".to_vec())), "'caf\u{fffd}'");
    }
}
