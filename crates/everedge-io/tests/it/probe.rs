use everedge_io::{Error, Format, Guess, IdKind, probe};

fn guess(name: &str, head: &str) -> Guess {
    probe(name, head.as_bytes()).unwrap()
}

#[test]
fn formats_follow_content_then_name_then_look() {
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 0\n";
    for (name, head, format) in [
        ("x.txt", "# SNAP\n0\t1\n", Format::EdgeList),
        ("x.el.gz", "0 1\n", Format::EdgeList),
        ("x", "0,1\n", Format::Csv),
        ("x.csv", "0\t1\n", Format::Tsv),
        ("x.tsv.zst", "0\t1\n", Format::Tsv),
        ("x.txt", banner, Format::MatrixMarket),
        ("x.MTX", banner, Format::MatrixMarket),
        ("x.gr", "p tw 2 1\n1 2\n", Format::Dimacs),
        ("x.txt", "p sp 2 1\na 1 2 3\n", Format::Dimacs),
        ("x.txt", "a 1 2 3\n", Format::Dimacs),
        ("x.graph", "2 1\n2\n1\n", Format::Metis),
        ("x.e", "1 2\n", Format::Graphalytics),
        ("x.v", "1\n2\n", Format::GraphalyticsVertices),
        ("x.bin", "\0\0\0\0\u{1}\0\0\0", Format::Binary),
        ("x", "PAR1", Format::Parquet),
    ] {
        assert_eq!(guess(name, head).format, format, "{name} {head:?}");
    }
}

#[test]
fn headers_say_direction_and_weights() {
    let of = |name: &str, head: &str| {
        let guess = guess(name, head);
        (guess.directed, guess.weighted)
    };
    let mtx = |rest| format!("%%MatrixMarket matrix coordinate {rest}\n1 1 0\n");
    assert_eq!(of("x", &mtx("real general")), (Some(true), Some(true)));
    assert_eq!(of("x", &mtx("pattern symmetric")), (Some(false), Some(false)));
    assert_eq!(of("x.gr", "p sp 1 0\n"), (Some(true), Some(true)));
    assert_eq!(of("x.gr", "p tw 1 0\n"), (Some(false), Some(false)));
    assert_eq!(of("x.graph", "2 1 1\n"), (Some(false), Some(true)));
    assert_eq!(of("x.txt", "1 2 3\n"), (None, None));
    assert_eq!(of("x.bin", ""), (None, Some(false)));
}

#[test]
fn a_commented_table_is_an_edge_list() {
    let guess = guess("x.tsv", "# who\twhom\nbash\tlibc6\n");
    assert_eq!((guess.format, guess.ids), (Format::EdgeList, IdKind::Text));
}

#[test]
fn ids_are_dense_sparse_or_text() {
    for (head, ids) in [
        ("0 1\n", IdKind::Dense),
        ("16777216 0\n", IdKind::Dense),
        ("2147483647 0\n", IdKind::Sparse),
        ("2147483648 0\n", IdKind::Sparse),
        ("libc6 1\n", IdKind::Text),
        ("-1 5\n", IdKind::Dense),
    ] {
        assert_eq!(guess("x.txt", head).ids, ids, "{head:?}");
    }
}

#[test]
fn tables_show_their_columns() {
    let table = guess("x.csv", "name,Target,SOURCE,w\nx,1,2,0.5\ny,3,4,7\n");
    assert!(table.has_header);
    assert_eq!((table.src, table.dst, table.ids, table.weight()), (2, 1, IdKind::Dense, Some(3)));
    assert_eq!(table.columns[0].name.as_deref(), Some("name"));
    assert!(!table.columns[0].is_numeric && table.columns[3].is_numeric);
    let times = guess("x.csv", "1,2,99\n3,4,100\n");
    assert!(!times.has_header);
    assert_eq!(times.weight(), Some(2));
    assert!(guess("x.csv", "a,b,c\np,q,1\n").has_header);
    assert!(!guess("x.csv", "a,b\np,q\n").has_header);
    assert_eq!(guess("x.txt", "1 2 x\n").weight(), None);
}

#[test]
fn what_cannot_be_a_graph_is_refused() {
    for (name, head, what) in [
        ("x.zip", &b"PK\x03\x04"[..], "zip archive"),
        ("x.gz.gz", b"\x1f\x8b\x08", "compressed twice"),
        ("x.txt", b"0 1\n\x00\x01", "line 2: this is binary data"),
        ("x.graph", b"\x00\x01\n", "binary data"),
        ("x.csv", b"1;2\n3;4\n", "one column only"),
        ("x.mtx", b"1 2\n", "banner"),
    ] {
        match probe(name, head) {
            Err(error @ Error::Syntax { .. }) => {
                assert!(error.to_string().contains(what), "{error}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn any_head_is_guessed_or_refused() {
    proptest::proptest!(|(head: Vec<u8>)| {
        for name in ["x", "x.csv", "x.mtx", "x.gr", "x.graph", "x.e", "x.v", "x.bin"] {
            let _ = probe(name, &head);
        }
    });
}
