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
    assert_eq!(graph.weights, [0.0; 0]);
}

#[test]
fn weights_are_the_third_column() {
    let text = b"1 2 3\n1 2 -.5\n1 2 1e3\n1 2 16777217\n1 2 +0.1";
    assert_refused(text, &weighted(Format::EdgeList), Place::Line(4), "--round-weights");
    let rounding = ReadOptions { round_weights: true, ..weighted(Format::EdgeList) };
    let graph = read(text, &rounding).unwrap();
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
        ("2147483648 2", "use --ids integer for large ids"),
        ("99999999999999999999 2", "does not fit in 64 bits"),
        ("a 2", "use --ids text for ids that are text"),
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
        ("1 2 nan", "the weight is null"),
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

#[test]
fn columns_go_by_number_or_by_the_name_that_a_line_gives() {
    use everedge_io::{Column, Columns};
    let columns = Columns {
        src: Column::Name("to".into()),
        dst: Column::Name("from".into()),
        weight: Column::Index(0),
    };
    let options = ReadOptions { columns, ..weighted(Format::EdgeList) };
    for start in ["w from to who\n", "# by hand\n# w from to who\n", "% w\tfrom to  who\n"] {
        let text = format!("{start}0.5 1 2 ann\n3 4 5 bob\n");
        let graph = read(text.as_bytes(), &options).unwrap();
        assert_eq!((graph.numbers(), graph.weights), (vec![(2, 1), (5, 4)], vec![0.5, 3.0]));
    }
    assert_refused(b"1 2 3\n", &options, Place::Line(1), "\"to\"");
}

#[test]
fn a_bare_header_is_no_edge() {
    let graph = read(b"FromNodeId ToNodeId\n1 2\n", &ReadOptions::new(Format::EdgeList)).unwrap();
    assert_eq!(graph.numbers(), [(1, 2)]);
    let text = ReadOptions { ids: IdKind::Text, ..ReadOptions::new(Format::EdgeList) };
    for (file, edges) in
        [("user item\nann tea\n", 1), ("user1 user2\nuser3 user4\n", 2), ("u v\nv w\n", 2)]
    {
        assert_eq!(read(file.as_bytes(), &text).unwrap().edges.len(), edges, "{file:?}");
    }
}

#[test]
fn doubtful_ids_are_refused_unless_they_are_meant() {
    let text = ReadOptions { ids: IdKind::Text, ..ReadOptions::new(Format::EdgeList) };
    let dense = ReadOptions::new(Format::EdgeList);
    for (line, options, what) in [
        ("007 8", &dense, "leading zeros"),
        ("7 NaN", &dense, "null"),
        ("NULL 8", &text, "--ids text"),
        ("// a", &text, "--ids text"),
    ] {
        let file = format!("1 2\n{line}\n3 4\n");
        assert_refused(file.as_bytes(), options, Place::Line(2), what);
        let literal = ReadOptions { literal_ids: true, ..options.clone() };
        let is_text = options.ids == IdKind::Text;
        assert_eq!(read(file.as_bytes(), &literal).is_ok(), is_text || line == "007 8", "{line}");
    }
    let skipping = ReadOptions { skip_nulls: true, ..dense };
    let graph = read(b"1 2\n3 NaN\nnull 4\n5 6\n", &skipping).unwrap();
    assert_eq!((graph.numbers(), graph.summary.skipped), (vec![(1, 2), (5, 6)], 2));
}

/// Gives its pieces one by one and pauses between them.
struct Pausing(Vec<&'static [u8]>);

impl std::io::Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.pop() {
            Some(b"") => Err(std::io::ErrorKind::WouldBlock.into()),
            Some(piece) => {
                buffer[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            }
            None => Ok(0),
        }
    }
}

#[test]
fn whole_lines_before_a_pause_are_handed_on() {
    let mut pieces: Vec<&[u8]> = vec![b"0 1\n2 3\n4", b"", b"", b" 5\n6 7\n", b"", b"8 9"];
    pieces.reverse();
    let mut seen = Vec::new();
    let options = ReadOptions::new(Format::EdgeList);
    everedge_io::read_edges(Pausing(pieces), &options, |chunk| {
        seen.push((chunk.src.len(), chunk.is_pause));
        Ok::<(), everedge_io::Error>(())
    })
    .unwrap();
    assert_eq!(seen, [(2, true), (0, true), (2, true), (1, false)]);
}

/// Carriage returns alone end no lines, wherever they stand.
#[test]
fn a_late_carriage_return_joins_no_lines() {
    let head = "1 2\n".repeat(1 << 20);
    for late in ["1 2\r3 4\n", "# by hand\r1 2\n"] {
        let text = format!("{head}{late}");
        let place = Place::Line((1 << 20) + 1);
        assert_refused(text.as_bytes(), &options(IdKind::Dense), place, "carriage return");
    }
    let text = format!("{head}1 2\r\n# by hand\r\n\r\n");
    assert_eq!(
        read(text.as_bytes(), &options(IdKind::Dense)).unwrap().numbers().len(),
        (1 << 20) + 1
    );
}
