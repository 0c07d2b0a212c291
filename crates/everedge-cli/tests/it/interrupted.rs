//! Signals end what is going on: an ingest after the batch that is being written.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::inputs::{Home, everedge, stats};

/// So many that the acknowledgements of batches of ten for a quarter of them fill a pipe: an ingest
/// waits there until they are read, and does not come to the half before the signal.
const EDGES: u64 = 400_000;

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

fn lines() -> String {
    (0..EDGES).map(|i| format!("{} {}\n", i % 1000, i % 999)).collect()
}

/// Interrupts an ingest after its first acknowledgement.
fn interrupt(home: &Home, input: &Path, signal: &str) {
    let mut command = everedge();
    command.arg("ingest").arg(home.graph()).arg(input).args(["--batch", "10", "--acknowledge"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let is_pipe = input == Path::new("-");
    // Its reader goes before all is written.
    let feed = std::thread::spawn(move || is_pipe && stdin.write_all(lines().as_bytes()).is_ok());
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    send(signal, &child);
    let mut acknowledged = String::new();
    stdout.read_to_string(&mut acknowledged).unwrap();
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let last: u64 = acknowledged.lines().last().unwrap().parse().unwrap();
    assert!(last < EDGES / 2, "it went on: {said}");
    assert_eq!(output.status.code(), Some(130), "{said}");
    let expected = format!(
        "everedge: interrupted in `{}`; the {last} edges before it are in the graph\n",
        input.display()
    );
    assert_eq!(said, expected);
    assert_eq!(stats(&home.graph())["edges"], last);
}

#[test]
fn a_signal_ends_an_ingest_of_a_file_after_a_batch() {
    for signal in ["-INT", "-TERM"] {
        let home = Home::new();
        let file = home.file("edges.txt", lines());
        interrupt(&home, &file, signal);
    }
}

#[test]
fn a_signal_ends_an_ingest_of_a_pipe_after_a_batch() {
    interrupt(&Home::new(), Path::new("-"), "-INT");
}
