//! The pages of the guide show what their commands print.

use std::path::Path;
use std::process::Command;

const VERSIONS: &str = include_str!("../../../../docs/versions.md");
const SEALED: &str = include_str!("../../../../docs/sealed.md");

/// Returns the parts of a page that stand four places to the right.
fn blocks(page: &str) -> Vec<String> {
    let (mut blocks, mut is_inside) = (Vec::new(), false);
    for line in page.lines() {
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
        let next = |places: usize| {
            words.get(at + places).unwrap_or(&"").trim_end_matches([',', ')', ';', ':'])
        };
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
    let blocks = blocks(VERSIONS);
    std::fs::write(home.path().join("depends.csv"), format!("{}\n", blocks[0])).unwrap();
    assert!(check(home.path(), &blocks) >= 5);
}

#[test]
fn the_page_about_sealed_graphs_shows_what_its_commands_print() {
    let home = tempfile::tempdir().unwrap();
    assert!(check(home.path(), &blocks(SEALED)) >= 4);
}

/// Runs the commands in some parts of a page, holds what they print to what the page says, and returns how many they are.
fn check(home: &Path, blocks: &[String]) -> usize {
    let programs = Path::new(env!("CARGO_BIN_EXE_everedge")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut count = 0;
    for shown in blocks.iter().flat_map(|block| {
        format!("\n{block}").split("\n$ ").skip(1).map(str::to_owned).collect::<Vec<_>>()
    }) {
        let (command, expected) = shown.split_once('\n').unwrap_or((&shown, ""));
        // The line about what was guessed comes on another stream, before the result.
        let output = Command::new("sh")
            .args(["-c", &format!("({command}) 2>&1")])
            .env("PATH", &path)
            .current_dir(home)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {printed}");
        assert_eq!(without_times(&printed), without_times(expected), "{command}");
        count += 1;
    }
    count
}
