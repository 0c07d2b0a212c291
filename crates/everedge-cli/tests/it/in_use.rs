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
    let reader = everedge().arg("stats").arg(home.graph()).output().unwrap();
    assert_refused(&reader, &["in use by another process"]);
    writer.write("3 4\n");
    assert_eq!(writer.acknowledged(), 3);
    writer.end();
    assert!(home.ingest(&file, &[]).status.success());
    assert_eq!(edges_of(&home.graph()), ["1 2", "2 3", "3 4", "7 8"]);
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
