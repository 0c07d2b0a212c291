use std::io::Read;

use everedge_io::{is_tar, open_tar};

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn the_graph_in_an_archive_is_read() {
    let names = [("cage3/cage3_b.mtx", "no"), ("cage3/readme", "no"), ("cage3/cage3.mtx", "yes")];
    for files in [&names[..], &names[2..], &[("edges.csv", "yes")]] {
        let bytes = archive(files);
        assert!(is_tar(&bytes));
        let mut entry = open_tar(&bytes[..]).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!(text, "yes", "{}", entry.name());
    }
}

#[test]
fn an_archive_without_a_graph_lists_its_files() {
    let error = open_tar(&archive(&[("a/b.mtx", ""), ("c/d.mtx", "")])[..]).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("2 files") && error.contains("a/b.mtx, c/d.mtx"), "{error}");
}

#[test]
fn damaged_archives_are_errors() {
    let bytes = archive(&[("other", &"x".repeat(3000)), ("a/a.mtx", &"y".repeat(3000))]);
    for len in (1..bytes.len() - 1024).step_by(100) {
        let read = open_tar(&bytes[..len]).and_then(|mut entry| {
            let mut text = Vec::new();
            entry.read_to_end(&mut text)?;
            Ok(text.len())
        });
        assert!(read.is_err() || read.is_ok_and(|read| read == 3000), "cut at {len}");
    }
    let mut damaged = bytes;
    damaged[3] ^= 1;
    assert!(open_tar(&damaged[..]).unwrap_err().to_string().contains("checksum"));
}
