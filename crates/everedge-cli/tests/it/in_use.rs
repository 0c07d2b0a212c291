//! What other processes are told of a graph that one is making or writes.

use std::fs::{self, File};

use crate::inputs::{Home, Stream, assert_refused, edges_of, everedge};

/// Who makes a new file `lock` does not become a second writer.
#[test]
fn another_lock_lets_nobody_in() {
    let home = Home::new();
    let file = home.file("more.txt", "7 8\n");
    let mut writer = Stream::start(&home.graph(), &["--flush-every", "0.1"]);
    writer.write("1 2\n2 3\n");
    assert_eq!(writer.acknowledged(), 2);
    let lock = home.graph().join("lock");
    fs::remove_file(&lock).unwrap();
    File::create(&lock).unwrap();
    let advice = format!("`fuser -v {}`", home.graph().display());
    assert_refused(&home.ingest(&file, &[]), &["in use by another process", &advice]);
    assert_eq!(edges_of(&home.graph()), ["1 2", "2 3"]);
    writer.write("3 4\n");
    assert_eq!(writer.acknowledged(), 3);
    writer.end();
    assert!(home.ingest(&file, &[]).status.success());
    assert_eq!(edges_of(&home.graph()), ["1 2", "2 3", "3 4", "7 8"]);
}

/// Every command that reads goes on beside a writer, and shows what was acknowledged before it began.
#[test]
fn who_reads_beside_a_writer_sees_what_was_acknowledged() {
    let home = Home::new();
    let mut writer = Stream::start(&home.graph(), &["--flush-every", "0.1"]);
    for count in [2, 4, 6] {
        // A guess of the format takes two lines.
        writer.write(&format!("{} {count}\n{count} {}\n", count - 1, count + 1));
        assert_eq!(writer.acknowledged(), count);
        let edges: Vec<String> = (1..=count).map(|v| format!("{v} {}", v + 1)).collect();
        assert_eq!(edges_of(&home.graph()), edges);
        for (command, arguments) in [
            ("stats", &[][..]),
            ("verify", &[]),
            ("neighbors", &["1"]),
            ("degree", &["1"]),
            ("path", &["1", "2"]),
        ] {
            let asked = everedge().arg(command).arg(home.graph()).args(arguments).output().unwrap();
            assert!(asked.status.success(), "{command}: {asked:?}");
        }
    }
    writer.end();
}

#[test]
fn a_creation_that_has_not_ended_is_no_strange_directory() {
    let home = Home::new();
    let file = home.file("edges.txt", "1 2\n");
    fs::create_dir(home.graph()).unwrap();
    let lock = File::create(home.graph().join("lock")).unwrap();
    fs::write(home.graph().join("lock"), format!("{}\n", std::process::id())).unwrap();
    fs::write(home.graph().join("unfinished.tmp"), "").unwrap();
    let read = || everedge().arg("stats").arg(home.graph()).output().unwrap();
    lock.lock().unwrap();
    let holder = format!("in use by process {}, which is still creating it", std::process::id());
    assert_refused(&read(), &[&holder]);
    drop(lock);
    assert_refused(
        &read(),
        &["its creation did not end, and the directory holds nothing; create it again"],
    );
    assert!(home.ingest(&file, &[]).status.success());
    assert_eq!(edges_of(&home.graph()), ["1 2"]);
}

#[test]
fn stats_says_what_it_does_not_read() {
    let help = everedge().args(["stats", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("does not read the neighbor lists; `everedge verify` does"), "{help}");
}
