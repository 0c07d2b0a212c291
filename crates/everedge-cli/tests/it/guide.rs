//! The page about versions shows what its commands print.

use std::path::Path;
use std::process::Command;

/// The page.
const PAGE: &str = include_str!("../../../../docs/versions.md");

/// Returns the parts of the page that stand four places to the right.
fn blocks() -> Vec<String> {
    let (mut blocks, mut is_inside) = (Vec::new(), false);
    for line in PAGE.lines() {
        match line.strip_prefix("    ") {
            Some(line) if is_inside => {
                let block: &mut String = blocks.last_mut().unwrap();
                block.push_str(&format!("\n{line}"));
            }
            Some(line) => blocks.push(line.to_owned()),
            None => {}
        }
        is_inside = line.starts_with("    ");
    }
    blocks
}

/// Leaves out what differs from run to run: numbers before a unit of time or memory, and rates.
fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_measured = |at: usize| {
        let next =
            |places: usize| words.get(at + places).unwrap_or(&"").trim_end_matches([',', ')', ';']);
        let units = ["ns", "µs", "ms", "s", "MiB", "threads", "thread"];
        units.contains(&next(1)) || (next(1) == "a" && next(2).starts_with("second"))
    };
    let kept = words.iter().enumerate().filter(|(at, _)| !is_measured(*at)).map(|(_, word)| {
        // The unit of such a number.
        word.replace("µs", "s").replace("ms", "s").replace("ns", "s")
    });
    kept.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_about_versions_shows_what_its_commands_print() {
    let home = tempfile::tempdir().unwrap();
    let blocks = blocks();
    std::fs::write(home.path().join("depends.csv"), format!("{}\n", blocks[0])).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_everedge")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for shown in blocks.iter().flat_map(|block| {
        format!("\n{block}").split("\n$ ").skip(1).map(str::to_owned).collect::<Vec<_>>()
    }) {
        let (command, expected) = shown.split_once('\n').unwrap_or((&shown, ""));
        // The line about what was guessed comes on another stream, before the result.
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .env("PATH", &path)
            .current_dir(home.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {printed}");
        assert_eq!(without_times(&printed), without_times(expected), "{command}");
        count += 1;
    }
    assert!(count >= 5, "{count} commands");
}
