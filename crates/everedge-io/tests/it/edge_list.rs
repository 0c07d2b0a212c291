use everedge_io::{Error, Format, IdKind, Place, ReadOptions, read_edges};

use crate::support::{assert_refused, read, weighted};

fn options(ids: IdKind) -> ReadOptions {
    ReadOptions { ids, ..ReadOptions::new(Format::EdgeList) }
}

#[test]
fn comments_blanks_and_line_ends_do_not_matter() {
    let text =
        b"\xef\xbb\xbf# c\n% c\n\n  0\t 13 9 \r\n \t\n7 7 .5\n 3 4 1082040961\n2147483647 0 -1";
    let graph = read(text, &options(IdKind::Dense)).unwrap();
    assert_eq!(graph.numbers(), [(0, 13), (7, 7), (3, 4), (2_147_483_647, 0)]);
    assert_eq!(graph.weights, []);
}

#[test]
fn weights_are_the_third_column() {
    let text = b"1 2 3\n1 2 -.5\n1 2 1e3\n1 2 16777217\n1 2 +0.1";
    let graph = read(text, &weighted(Format::EdgeList)).unwrap();
    assert_eq!(graph.weights, [3.0, -0.5, 1000.0, 16_777_216.0, 0.1]);
}

#[test]
fn other_ids_are_sparse_or_text() {
    let graph = read(b"18446744073709551615 4294967296\n", &options(IdKind::Sparse)).unwrap();
    assert_eq!(graph.numbers(), [(u64::MAX, 1 << 32)]);
    let graph = read("libc6 gcc-12\né -7\n".as_bytes(), &options(IdKind::Text)).unwrap();
    let texts = [("libc6", "gcc-12"), ("é", "-7")];
    assert_eq!(graph.edges, texts.map(|(src, dst)| (src.to_owned(), dst.to_owned())));
}

#[test]
fn hostile_lines_are_refused_where_they_are() {
    let dense = options(IdKind::Dense);
    for (line, what) in [
        ("-1 2", "the id \"-1\" is negative"),
        ("2147483648 2", "use --ids map for large ids"),
        ("99999999999999999999 2", "does not fit in 64 bits"),
        ("a 2", "use --ids map for ids that are text"),
        ("2 b", "expected an integer id, found \"b\""),
        ("2", "expected an id, found nothing"),
        ("1,2", "found \"1,2\""),
        ("1 2 x", "expected a number, found \"x\""),
        ("1 2 3 # c", "expected a number"),
        ("1 2\u{0}", "binary data"),
        ("\u{1}\u{2} 3", "found \"\\u{1}\\u{2}\""),
        ("1 2 3", "expected 2 columns, found 3"),
    ] {
        let text = format!("# c\n0 1\n\n{line}\n0 1\n");
        assert_refused(text.as_bytes(), &dense, Place::Line(4), what);
    }
    for (line, what) in [
        ("1 2", "there is no weight"),
        ("1 2 nan", "not a finite"),
        ("1 2 -inf", "not a finite"),
        ("1 2 1e39", "not a finite"),
        ("1 2 heavy", "expected a number"),
    ] {
        let text = format!("0 1 5\n{line}\n");
        assert_refused(text.as_bytes(), &weighted(Format::EdgeList), Place::Line(2), what);
    }
    assert_refused(b"a b\na \xff\n", &options(IdKind::Text), Place::Line(2), "not UTF-8");
    assert_refused(b"a b\na\n", &options(IdKind::Text), Place::Line(2), "an id is empty");
}

#[test]
fn a_line_number_is_exact_in_a_later_block() {
    let mut text = b"10 20\n".repeat(1 << 20);
    text.extend_from_slice(b"10 x\n");
    assert_refused(&text, &options(IdKind::Dense), Place::Line((1 << 20) + 1), "\"x\"");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let good: String = (0..400_000).map(|i| format!("{i} {}\n", i / 3)).collect();
    for text in [good.clone(), good + "0 1\n2 x\n"] {
        let run = |threads| {
            let mut chunks = Vec::new();
            let result = everedge_core::par::with_threads(threads, || {
                read_edges(text.as_bytes(), &options(IdKind::Dense), |chunk| {
                    chunks.push(chunk);
                    Ok::<(), Error>(())
                })
            });
            (chunks, result.unwrap().map_err(|error| error.to_string()))
        };
        let (alone, together) = (run(1), run(3));
        assert!(alone.0.len() > 3, "{} chunks", alone.0.len());
        assert!(alone == together);
    }
}

#[test]
fn an_error_of_the_sink_ends_reading() {
    let mut calls = 0;
    let text = b"0 1\n".repeat(1 << 20);
    let result = read_edges(&text[..], &options(IdKind::Dense), |_| {
        calls += 1;
        Err(Error::NoEdges)
    });
    assert!(matches!(result, Err(Error::NoEdges)), "{result:?}");
    assert_eq!(calls, 1);
}

#[test]
fn no_edges_is_an_error() {
    for text in [&b""[..], b"\n", b"# only a comment", b"\xef\xbb\xbf"] {
        let error = read(text, &options(IdKind::Dense)).unwrap_err();
        assert!(matches!(error, Error::NoEdges), "{error}");
    }
}

#[test]
fn an_endless_line_is_refused() {
    let text = vec![b'1'; 5 << 20];
    assert_refused(&text, &options(IdKind::Text), Place::Line(1), "longer than");
}
