//! Signals end what is going on: an ingest after the batch that is being written, and a measurement
//! with all that it has made.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::inputs::{Home, Stream, everedge, stats};

/// So many that the acknowledgements of batches of ten for a quarter of them fill a pipe: an ingest
/// waits there until they are read, and does not come to the half before the signal.
const EDGES: u64 = 400_000;

fn send(signal: &str, pid: u32) {
    let pid = pid.to_string();
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
    let mut first = [0];
    stdout.read_exact(&mut first).unwrap();
    send(signal, child.id());
    let mut acknowledged = String::from(char::from(first[0]));
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
fn a_signal_says_how_many_deletions_are_done() {
    let home = Home::new();
    let file = home.file("edges.txt", "1 2\n2 3\n3 4\n");
    assert!(home.ingest(&file, &[]).status.success());
    let mut stream = Stream::start(&home.graph(), &["--delete", "--flush-every", "0.2"]);
    stream.write("1 2\n2 3\n");
    assert_eq!(stream.acknowledged(), 2);
    send("-INT", stream.child.id());
    let said = String::from_utf8(stream.child.wait_with_output().unwrap().stderr).unwrap();
    assert_eq!(said, "everedge: interrupted in `-`; the 2 deletions before it are done\n");
}

#[test]
fn a_signal_ends_an_ingest_of_a_pipe_after_a_batch() {
    interrupt(&Home::new(), Path::new("-"), "-INT");
}

/// Sends a signal to a measurement that has made a graph in `home`, or to the process that it has
/// started.
fn interrupt_bench(home: &Path, signal: &str, to: To) -> (ExitStatus, String) {
    let mut command = everedge();
    command.args(["bench", "ingest", "--scale", "20", "--medium", "file", "--directory"]);
    let mut child = command.arg(home).stderr(Stdio::piped()).spawn().unwrap();
    let has_graph = || home.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    assert!(becomes(has_graph), "no graph was made");
    let started = || told_of(home).into_iter().find(|&pid| pid != child.id());
    match to {
        To::Bench => send(signal, child.id()),
        To::Started => send(signal, started().unwrap()),
    }
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap(), said)
}

/// Returns whether something becomes true in a minute.
fn becomes(is_true: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_true() {
        if start.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

enum To {
    Bench,
    Started,
}

/// Returns the processes that were told of a path.
fn told_of(path: &Path) -> Vec<u32> {
    let path = path.as_os_str().as_encoded_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let told = processes.filter(|process| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        words.windows(path.len()).any(|window| window == path)
    });
    told.filter_map(|process| process.file_name().to_str()?.parse().ok()).collect()
}

#[test]
fn an_interrupted_measurement_leaves_nothing() {
    for signal in ["-INT", "-TERM"] {
        let place = Home::new();
        let home = place.at("bench");
        // A terminal sends Ctrl-C to both: the one that was started may end first.
        for to in [To::Bench, To::Started] {
            let (status, said) = interrupt_bench(&home, signal, to);
            assert_eq!((status.code(), &*said), (Some(130), "everedge: interrupted\n"), "{signal}");
            assert!(!home.exists() && told_of(&home).is_empty(), "{signal}");
        }
    }
}

#[test]
fn a_killed_measurement_leaves_no_process_and_the_next_one_clears_its_graph() {
    let place = Home::new();
    let home = place.at("bench");
    interrupt_bench(&home, "-KILL", To::Bench);
    let start = Instant::now();
    assert!(becomes(|| told_of(&home).is_empty()));
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let mut next = everedge();
    next.args(["bench", "ingest", "--scale", "6", "--medium", "file", "--directory"]).arg(&home);
    assert!(next.output().unwrap().status.success());
    assert_eq!(home.read_dir().unwrap().count(), 0);
}

/// What is written aside has no name until it is whole.
#[test]
fn a_file_that_was_not_finished_leaves_nothing() {
    let home = Home::new();
    for signal in ["-TERM", "-KILL"] {
        let mut command = everedge();
        command.args(["generate", "kron", "--scale", "26"]).arg(home.at("edges.txt"));
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let files = format!("/proc/{}/fd", child.id());
        let is_in_home = |file: std::fs::DirEntry| {
            std::fs::read_link(file.path()).is_ok_and(|to| to.starts_with(home.at("")))
        };
        let is_writing =
            || std::fs::read_dir(&files).is_ok_and(|files| files.flatten().any(is_in_home));
        assert!(becomes(is_writing), "nothing was opened");
        send(signal, child.id());
        assert!(!child.wait().unwrap().success());
        assert_eq!(home.at("").read_dir().unwrap().count(), 0, "{signal}");
    }
}

/// A graph that is being sealed stays as it is, and what was written of the new one goes.
#[test]
fn a_sealing_of_a_graph_that_was_interrupted_leaves_nothing() {
    let home = Home::new();
    let mut generate = everedge();
    generate.args(["generate", "kron", "--scale", "18", "--quiet"]).arg(home.at("edges.bin"));
    assert!(generate.status().unwrap().success());
    let seal = |from: &str, to: &str| {
        let mut command = everedge();
        command.arg("seal").args([home.at(from), home.at(to)]).arg("--quiet");
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    assert!(seal("edges.bin", "sealed").status().unwrap().success());
    for signal in ["-INT", "-TERM"] {
        let child = seal("sealed", "again").spawn().unwrap();
        let is_list =
            |file: std::fs::DirEntry| file.file_name().to_string_lossy().starts_with("out");
        let is_writing =
            || home.at("again").read_dir().is_ok_and(|files| files.flatten().any(is_list));
        assert!(becomes(is_writing), "nothing was written");
        send(signal, child.id());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert_eq!(said, "everedge: interrupted\n");
        assert!(!home.at("again").exists(), "{signal}");
    }
}

/// A disk that fails under a mapped file does as a file that becomes shorter.
#[test]
fn a_mapped_file_that_fails_is_told_of() {
    let home = Home::new();
    let mut command = everedge();
    command.arg("ingest").arg(home.graph()).args(["-", "--acknowledge", "--batch", "10"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&lines().as_bytes()[..100_000]).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let log = std::fs::OpenOptions::new().write(true).open(home.graph().join("log")).unwrap();
    log.set_len(0).unwrap();
    // It may have gone already.
    let _is_taken = stdin.write_all(lines().as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("everedge: a file that is in use") && said.ends_with("again\n"),
        "{said}"
    );
}
