use everedge_io::{Format, IdKind, Place, ReadOptions};

use crate::support::{assert_refused, read, weighted};

fn options() -> ReadOptions {
    ReadOptions::new(Format::MatrixMarket)
}

#[test]
fn matrices_are_read_with_their_vertices() {
    let file = b"%%MatrixMarket matrix coordinate real general\n% c\n\n 4 4 3 \n1 2 10\n3 1 -.5\n4 4 1e2\n";
    let graph = read(file, &weighted(Format::MatrixMarket)).unwrap();
    assert_eq!(graph.numbers(), [(1, 2), (3, 1), (4, 4)]);
    assert_eq!((graph.weights, graph.summary.vertices), (vec![10.0, -0.5, 100.0], Some(4)));
    assert_eq!(read(file, &options()).unwrap().weights, [0.0; 0]);
    let file = b"%%matrixmarket MATRIX Coordinate pattern Symmetric\n2 2 1\n2 1 \n";
    for ids in [IdKind::Dense, IdKind::Sparse, IdKind::Text] {
        let graph = read(file, &ReadOptions { ids, ..options() }).unwrap();
        assert_eq!(graph.numbers(), [(2, 1)]);
    }
}

#[test]
fn hostile_files_are_refused_where_they_are() {
    for (banner, what) in [
        ("", "expected a Matrix Market banner"),
        ("%%MatrixMarket matrix array real general", "expected a coordinate matrix"),
        ("%%MatrixMarket matrix coordinate complex general", "\"complex\" entries are not weights"),
        ("%%MatrixMarket matrix coordinate real hermitian", "is not a graph"),
        ("1 2", "expected a Matrix Market banner"),
    ] {
        assert_refused(format!("{banner}\n1 1 0\n").as_bytes(), &options(), Place::Line(1), what);
    }
    for (size, what) in [
        ("2 3 1", "2 rows and 3 columns is not a graph"),
        ("2 2", "expected counts"),
        ("2 2 x", "expected an integer"),
        ("4294967296 4294967296 1", "below 2^31"),
    ] {
        let file = format!("%%MatrixMarket matrix coordinate pattern general\n%\n{size}\n1 2\n");
        assert_refused(file.as_bytes(), &options(), Place::Line(3), what);
    }
    for (entry, what) in [
        ("0 1", "outside of the declared 1 to 2"),
        ("1 3", "outside of the declared 1 to 2"),
        ("1", "expected an id, found nothing"),
        ("1 1 1", "expected 2 columns, found 3"),
        ("1 x", "expected an integer id"),
    ] {
        let file =
            format!("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n{entry}\n");
        assert_refused(file.as_bytes(), &options(), Place::Line(4), what);
    }
    let short = b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n";
    assert_refused(short, &options(), Place::Whole, "declares 2 edges, but 1");
    let long = b"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n2 1\n";
    assert_refused(long, &options(), Place::Whole, "declares 1 edges, but 2");
    assert_refused(long, &weighted(Format::MatrixMarket), Place::Line(1), "no weights");
    let headless = b"%%MatrixMarket matrix coordinate pattern general\n% only\n";
    assert_refused(headless, &options(), Place::Line(3), "no line with the size");
}
