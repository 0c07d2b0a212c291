use everedge_io::{Format, IdKind, Place, ReadOptions};

use crate::support::{assert_refused, read, weighted};

const OPTIONS: fn() -> ReadOptions = || ReadOptions::new(Format::Dimacs);

#[test]
fn the_three_forms_are_read() {
    let file = b"c made\n\np sp 4 2\nc arcs\na 1 2 803\na 3 1 -7.5\n";
    let graph = read(file, &weighted(Format::Dimacs)).unwrap();
    assert_eq!((graph.numbers(), graph.weights), (vec![(1, 2), (3, 1)], vec![803.0, -7.5]));
    assert_eq!(graph.summary.vertices, Some(4));
    assert_eq!(read(file, &OPTIONS()).unwrap().weights, [0.0; 0]);
    let pace = read(b"p tw 5 1\n1 2\n", &OPTIONS()).unwrap();
    assert_eq!((pace.numbers(), pace.summary.vertices), (vec![(1, 2)], Some(5)));
    let stripped = read(b"a 7 9 3\n", &weighted(Format::Dimacs)).unwrap();
    assert_eq!((stripped.numbers(), stripped.summary.vertices), (vec![(7, 9)], None));
    let sparse = ReadOptions { ids: IdKind::Sparse, ..OPTIONS() };
    assert_eq!(read(file, &sparse).unwrap().numbers(), [(1, 2), (3, 1)]);
}

#[test]
fn isolated_vertices_need_no_edge() {
    let graph = read(b"p sp 3 0\n", &OPTIONS()).unwrap();
    assert_eq!((graph.edges.len(), graph.summary.vertices), (0, Some(3)));
}

#[test]
fn hostile_lines_are_refused_where_they_are() {
    for (line, what) in [
        ("a 0 2 1", "outside of the declared 1 to 3"),
        ("a 1 4 1", "outside of the declared 1 to 3"),
        ("a 1 2", "expected 3 columns, found 2"),
        ("a 1 2 3 4", "expected 3 columns, found 4"),
        ("a 1 2 x", "expected a number"),
        ("a 1 -2 3", "negative"),
        ("e 1 2", "expected a line of \"a\""),
        ("a1 2 3", "expected a line of \"a\""),
        ("a\u{0}", "binary data"),
    ] {
        let file = format!("c x\np sp 3 2\na 1 2 3\n{line}\n");
        assert_refused(file.as_bytes(), &OPTIONS(), Place::Line(4), what);
    }
    for (line, what) in [
        ("p sp 3", "expected p sp N M"),
        ("p cut 3 4", "expected p sp N M"),
        ("p sp 3000000000 1", "below 2^31"),
        ("p sp -1 1", "negative"),
        ("1 2", "expected a DIMACS line"),
    ] {
        assert_refused(format!("c\n{line}\n").as_bytes(), &OPTIONS(), Place::Line(2), what);
    }
    assert_refused(b"p sp 3 2\na 1 2 3\n", &OPTIONS(), Place::Whole, "declares 2 edges, but 1");
    assert_refused(b"p tw 3 1\n1 2\n", &weighted(Format::Dimacs), Place::Line(1), "no weights");
}
