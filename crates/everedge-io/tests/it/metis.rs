use everedge_io::{Format, IdKind, Place, ReadOptions};

use crate::support::{assert_refused, read, weighted};

fn options() -> ReadOptions {
    ReadOptions::new(Format::Metis)
}

#[test]
fn each_edge_is_read_once() {
    let file = b"% c\n4 3\n2 3\n1 3\n% in between\n1 2\n\n";
    for ids in [IdKind::Dense, IdKind::Sparse, IdKind::Text] {
        let graph = read(file, &ReadOptions { ids, ..options() }).unwrap();
        assert_eq!(graph.numbers(), [(1, 2), (1, 3), (2, 3)]);
        assert_eq!(graph.summary.vertices, Some(4));
    }
}

#[test]
fn format_codes_say_what_to_skip() {
    for (file, weights) in [
        ("3 2 1\n2 10 3 20\n1 10\n1 20\n", vec![10.0, 20.0]),
        ("3 2 011\n7 2 10 3 20\n7 1 10\n7 1 20\n", vec![10.0, 20.0]),
        ("3 2 11 2\n7 8 2 10 3 20\n7 8 1 10\n7 8 1 20", vec![10.0, 20.0]),
        ("3 2 111\n5 7 2 1 3 2\n5 7 1 1\n5 7 1 2\n", vec![1.0, 2.0]),
    ] {
        let graph = read(file.as_bytes(), &weighted(Format::Metis)).unwrap();
        assert_eq!((graph.numbers(), graph.weights), (vec![(1, 2), (1, 3)], weights), "{file:?}");
    }
    for file in ["3 2 10\n7 2 3\n7 1\n7 1\n", "3 2 100\n7 2 3\n7 1\n7 1\n", "3 2 000\n2 3\n1\n1"] {
        assert_eq!(read(file.as_bytes(), &options()).unwrap().numbers(), [(1, 2), (1, 3)]);
    }
}

#[test]
fn a_line_may_be_longer_than_a_block() {
    let leaves = 2..400_000_u32;
    let mut file = format!("{0} {1}\n", leaves.end - 1, leaves.len());
    leaves.clone().for_each(|leaf| file += &format!("{leaf} "));
    leaves.clone().for_each(|_| file += "\n1");
    let graph = read(file.as_bytes(), &options()).unwrap();
    assert!(graph.numbers().into_iter().eq(leaves.map(|leaf| (1, u64::from(leaf)))));
}

#[test]
fn hostile_files_are_refused_where_they_are() {
    for (header, what) in [
        ("3", "expected N M"),
        ("3 x", "expected an integer"),
        ("3 2 2", "no METIS format code"),
        ("3 2 1111", "no METIS format code"),
        ("4294967296 2", "below 2^31"),
    ] {
        assert_refused(format!("%\n{header}\n2\n").as_bytes(), &options(), Place::Line(2), what);
    }
    for (line, what) in [
        ("1 4", "outside of the declared 1 to 3"),
        ("0", "outside of the declared 1 to 3"),
        ("2", "vertex 2 is its own neighbor"),
        ("1 x", "expected an integer id"),
        ("1\u{0}", "binary data"),
    ] {
        let file = format!("3 2\n2 3\n{line}\n1\n");
        assert_refused(file.as_bytes(), &options(), Place::Line(3), what);
    }
    assert_refused(b"2 1 1\n2 5\n1\n", &options(), Place::Line(3), "a weight follows");
    assert_refused(b"2 1 1\n2 5\n1", &options(), Place::Whole, "a weight follows");
    assert_refused(b"2 1 10\n\n1", &options(), Place::Line(2), "a weight follows");
    assert_refused(b"2 1\n2\n1\n1\n", &options(), Place::Line(4), "more than the 2 lines");
    assert_refused(b"2 2\n2\n1\n", &options(), Place::Whole, "declares 2 edges, but 1");
    assert_refused(b"3 2\n2 3\n1\n\n", &options(), Place::Whole, "missing at one of its ends");
    assert_refused(b"3 2\n2\n3\n1 2\n", &options(), Place::Whole, "missing at one of its ends");
    assert_refused(b"2 1 1\n2 5\n1 6\n", &options(), Place::Whole, "another weight");
    assert_refused(b"2 1\n2\n1\n", &weighted(Format::Metis), Place::Line(1), "no weights");
    assert_refused(b"% only\n", &options(), Place::Line(2), "no line with the size");
}
