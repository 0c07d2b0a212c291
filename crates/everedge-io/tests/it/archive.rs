use std::io::{self, Read};

use everedge_io::{Archive, OnlyGraph, graphs_of, is_tar};

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn graphs<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let chosen = graphs_of(&owned);
    names.iter().zip(chosen).filter(|(_, is)| *is).map(|(name, _)| *name).collect()
}

#[test]
fn an_archive_stands_for_the_graphs_in_it() {
    assert_eq!(graphs(&["p0.csv", "p1.csv.gz", "readme.txt", "x.png"]), ["p0.csv", "p1.csv.gz"]);
    assert_eq!(graphs(&["./d/q.v", "./d/q.e", "d/._q.e"]), ["./d/q.v", "./d/q.e"]);
    let suite_sparse = ["cage3/cage3_b.mtx", "cage3/cage3.mtx", "cage3/readme", "other/a.mtx"];
    assert_eq!(graphs(&suite_sparse), ["cage3/cage3.mtx", "other/a.mtx"]);
}

#[test]
fn files_are_read_one_after_the_other() {
    let long = format!("{}/b.csv", "d".repeat(150));
    let bytes = archive(&[("a.csv", "1,2\n"), (&long, &"3,4\n".repeat(1000)), ("c.csv", "")]);
    assert!(is_tar(&bytes));
    let (mut files, mut found) = (Archive::new(&bytes[..]), Vec::new());
    while let Some(name) = files.next().unwrap() {
        let mut text = String::new();
        if name != "a.csv" {
            files.read_to_string(&mut text).unwrap();
        }
        found.push((name, text.len()));
    }
    assert_eq!(found, [("a.csv".to_owned(), 0), (long, 4000), ("c.csv".to_owned(), 0)]);
}

#[test]
fn a_pipe_gives_the_only_graph_of_an_archive() {
    let names = [("cage3/cage3_b.mtx", "no"), ("cage3/readme", "no"), ("cage3/cage3.mtx", "yes")];
    for files in [&names[..], &names[2..], &[("readme.txt", "no"), ("edges.csv", "yes")]] {
        let bytes = archive(files);
        let mut graph = OnlyGraph::new(&bytes[..]);
        let name = graph.find().unwrap().to_owned();
        let mut text = String::new();
        graph.read_to_string(&mut text).unwrap();
        assert_eq!(text, "yes", "{name}");
    }
}

#[test]
fn a_pipe_with_several_graphs_is_refused_with_their_names() {
    let bytes = archive(&[("p0.csv", "1,2\n"), ("p1.csv", "3,4\n")]);
    let mut graph = OnlyGraph::new(&bytes[..]);
    graph.find().unwrap();
    let error = graph.read_to_end(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("p0.csv, p1.csv") && error.contains("to a file"), "{error}");
    for (files, word) in [
        (&[("a/b.mtx", ""), ("c/d.mtx", "")][..], "a/b.mtx, c/d.mtx"),
        (&[("readme.txt", "")], "no file"),
    ] {
        let error = OnlyGraph::new(&archive(files)[..]).find().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn damaged_archives_are_errors() {
    let bytes = archive(&[("other", &"x".repeat(3000)), ("a/a.mtx", &"y".repeat(3000))]);
    for len in (1..bytes.len() - 1024).step_by(100) {
        let mut graph = OnlyGraph::new(&bytes[..len]);
        let found = graph.find().map(|_| ());
        let read = found.and_then(|()| {
            let mut text = Vec::new();
            graph.read_to_end(&mut text)?;
            Ok(text.len())
        });
        assert!(read.is_err() || read.is_ok_and(|read| read == 3000), "cut at {len}");
    }
    let mut damaged = bytes;
    damaged[3] ^= 1;
    let error = OnlyGraph::new(&damaged[..]).find().unwrap_err().to_string();
    assert!(error.contains("checksum"), "{error}");
}

/// An input that pauses before every few bytes.
struct Halting<'a>(&'a [u8], bool);

impl Read for Halting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = buffer.len().min(100);
        self.0.read(&mut buffer[..len])
    }
}

#[test]
fn an_archive_goes_on_after_pauses() {
    let long = "d".repeat(150) + ".csv";
    let bytes = archive(&[("other", &"x".repeat(3000)), (&long, &"y".repeat(3000)), ("z", "z")]);
    let (mut files, mut found) = (Archive::new(Halting(&bytes, false)), Vec::new());
    let mut text = Vec::new();
    loop {
        match files.next() {
            Ok(None) => break,
            Ok(Some(name)) => found.push(name),
            Err(everedge_io::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        while found.len() == 2 && text.len() < 3000 {
            let _ = files.read_to_end(&mut text);
        }
    }
    assert_eq!(found, ["other".to_owned(), long, "z".to_owned()]);
    assert_eq!(text, "y".repeat(3000).as_bytes());
}

/// Returns an archive of a file after attributes of its own; its header says that it is `len` long.
fn with_attributes(attributes: &[(&str, &[u8])], len: u64, text: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions(attributes.iter().copied()).unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_path("a.csv").unwrap();
    header.set_mode(0o644);
    header.set_size(len);
    header.set_cksum();
    builder.append(&header, text).unwrap();
    let mut other = tar::Header::new_ustar();
    other.set_size(4);
    other.set_mode(0o644);
    builder.append_data(&mut other, "b.csv", &b"3,4\n"[..]).unwrap();
    builder.into_inner().unwrap()
}

#[test]
fn an_attribute_says_how_long_a_file_is() {
    let bytes = with_attributes(&[("size", b"8")], 0, b"1,2\n2,3\n");
    let (mut files, mut found) = (Archive::new(&bytes[..]), Vec::new());
    while let Some(name) = files.next().unwrap() {
        let mut text = String::new();
        files.read_to_string(&mut text).unwrap();
        found.push((name, text));
    }
    let expected = [("a.csv", "1,2\n2,3\n"), ("b.csv", "3,4\n")];
    assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    for (size, words) in
        [(&b"8x"[..], "a length is no number"), (b"18446744073709551615", "a length is too large")]
    {
        let bytes = with_attributes(&[("size", size)], 0, b"1,2\n2,3\n");
        let error = Archive::new(&bytes[..]).next().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// What is left out of a sparse file would be read wrongly.
#[test]
fn sparse_files_are_refused_by_name() {
    let attributes: [(&str, &[u8]); 2] =
        [("GNU.sparse.major", b"1"), ("GNU.sparse.name", b"d/a.csv")];
    let of_pax = with_attributes(&attributes, 4, b"1,2\n");
    let mut of_gnu = archive(&[("d/a.csv", "1,2\n")]);
    of_gnu[156] = b'S';
    let sum: u32 = of_gnu[..512].iter().map(|&byte| u32::from(byte)).sum();
    let of_sum: u32 = of_gnu[148..156].iter().map(|&byte| u32::from(byte)).sum();
    of_gnu[148..156].copy_from_slice(format!("{:06o}\0 ", sum - of_sum + 8 * 32).as_bytes());
    for bytes in [of_pax, of_gnu] {
        let error = Archive::new(&bytes[..]).next().unwrap_err().to_string();
        assert!(error.contains("d/a.csv") && error.contains("sparse"), "{error}");
    }
}
