use everedge_io::{Column, Error, Format, Guess, IdChoice, IdKind, InputChoices, ReadOptions};
use everedge_io::{decisive_len, probe, read_edges};

fn guess(name: &str, head: &str) -> Guess {
    probe(name, head.as_bytes(), &InputChoices::default()).unwrap()
}

#[test]
fn formats_follow_content_then_name_then_look() {
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 0\n";
    for (name, head, format) in [
        ("x.txt", "# SNAP\n0\t1\n", Format::EdgeList),
        ("x.el.gz", "0 1\n", Format::EdgeList),
        ("x", "0,1\n", Format::Csv),
        ("x.csv", "0\t1\n", Format::Tsv),
        ("x.csv", "0;1\n", Format::Csv),
        ("x", "a|b|1\nc|d|2\n", Format::Csv),
        ("x.txt", "New York\tSan Jose\n", Format::Tsv),
        ("x", "{\"src\": 0, \"dst\": 1}\n", Format::JsonLines),
        ("x", "ARROW1\0\0", Format::Arrow),
        ("x", "\u{feff}# SNAP\n0\t1\n", Format::EdgeList),
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
        ("x.bin", "PAR1\0\0\0\0", Format::Binary),
        ("x.bin", "PK\u{3}\u{4}\0\0\0\0", Format::Binary),
        ("x.bin.gz", "BZh1\0\0\0\0", Format::Binary),
        ("x.txt", "1 2 0,5\n2 3 1,5\n", Format::EdgeList),
        ("x.txt", "1 2\t3 4\n", Format::Tsv),
        ("x.txt", "# src dst\na,b c,d\n", Format::EdgeList),
        ("x.txt", "# src dst\np sp\n", Format::EdgeList),
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
    let tags = self::guess("x.tsv", "#python\t#rust\n#go\t#rust\nc\td\n");
    assert_eq!((tags.format, tags.has_header), (Format::Tsv, false));
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
    assert_eq!((table.src, table.dst, table.ids, table.weight), (2, 1, IdKind::Dense, Some(3)));
    assert_eq!(table.columns[0].name.as_deref(), Some("name"));
    assert!(!table.columns[0].is_numeric && table.columns[3].is_numeric);
    let times = guess("x.csv", "1,2,99\n3,4,100\n");
    assert!(!times.has_header);
    assert_eq!(times.weight, Some(2));
    assert!(guess("x.csv", "a,b,c\np,q,1\n").has_header);
    assert!(!guess("x.csv", "a,b\np,q\n").has_header);
    assert_eq!(guess("x.txt", "1 2 x\n").weight, None);
}

#[test]
fn what_was_chosen_is_not_guessed() {
    let named = |name: &str| Some(Column::Name(name.to_owned()));
    let table = b"weight,from,to\n1.5,a,b\n";
    for choices in [
        InputChoices { src: named("from"), ..InputChoices::default() },
        InputChoices { dst: named("to"), ..InputChoices::default() },
        InputChoices { weight: named("weight"), ..InputChoices::default() },
        InputChoices::default(),
    ] {
        let guess = probe("x.csv", table, &choices).unwrap();
        assert_eq!((guess.src, guess.dst, guess.weight), (1, 2, Some(0)), "{choices:?}");
        assert_eq!((guess.ids, guess.weighted), (IdKind::Text, Some(true)));
    }
    let headers = [None, Some(true), Some(false)].map(|header| {
        let choices = InputChoices { header, ..InputChoices::default() };
        probe("x.csv", b"x,y\na,b\n", &choices).unwrap().has_header
    });
    assert_eq!(headers, [false, true, false]);
    let semicolons = InputChoices { delimiter: Some(b';'), ..InputChoices::default() };
    let guess = probe("x.csv", b"a,b;c,d\n", &semicolons).unwrap();
    assert_eq!((guess.columns.len(), guess.options().delimiter), (2, Some(b';')));
    let absent = InputChoices { src: named("who"), ..InputChoices::default() };
    let error = probe("x.csv", table, &absent).unwrap_err();
    assert!(error.to_string().contains("no column \"who\""), "{error}");
    let fixed = probe("x.mtx", b"%%MatrixMarket matrix coordinate real general\n", &absent);
    assert!(matches!(fixed, Err(Error::Unsupported { .. })));
}

#[test]
fn usual_headers_are_found() {
    for (head, has_header) in [
        ("user,item\nann,tea\n", true),
        ("\"User ID\",\"Item ID\"\nann,tea\n", true),
        ("user\titem\tstars\nann\ttea\t5\n", true),
        ("FromNodeId ToNodeId\n1 2\n", true),
        ("FromNodeId ToNodeId\nann bob\n", true),
        ("# by hand, twice\nsource,target\nann,bob\n", true),
        ("#rust,#graph\n#c,#speed\n", false),
        ("user1,user2\nuser3,user4\n", false),
        ("u v\nv w\n", false),
        ("# src dst\nuser item\nann tea\n", false),
        ("src,dst\n\"src\",dst\n", false),
        ("src,dst\n\"src\",b\n\"dst\",c\n", true),
        ("\"u\",\"v\"\n\"v\",\"w\"\n", false),
        ("ann,tea\nbob,milk\n", false),
    ] {
        let guess = guess("x", head);
        assert_eq!(guess.has_header, has_header, "{head:?}");
        assert_eq!((guess.src, guess.dst), (0, 1), "{head:?}");
    }
    let commented = guess("x.csv", "#source,target,weight\nann,bob,2\n");
    assert_eq!((commented.has_header, commented.weighted), (false, Some(true)));
}

/// A first row of numbers, nulls or dates is an edge, or what is wrong with the file.
#[test]
fn numbers_and_nulls_are_no_names() {
    let choices = |ids, weight| InputChoices { ids, weight, ..InputChoices::default() };
    for name in ["x.csv", "x.tsv", "x.txt"] {
        for third in ["NULL", "NA", "N/A", "nan", "-", "unknown", "2020-01-01", "3rd"] {
            let head = format!("1,2,{third}\n3,4,1.5\n");
            let head = if name == "x.csv" { head } else { head.replace(',', "\t") };
            for ids in [IdChoice::Auto, IdChoice::Dense, IdChoice::Integer] {
                for weight in [None, Some(Column::Index(2))] {
                    let guess = probe(name, head.as_bytes(), &choices(ids, weight)).unwrap();
                    assert!(!guess.has_header && guess.ids != IdKind::Text, "{head:?}");
                }
            }
        }
        for head in ["1.0,2.0\n3.0,4.0\n", "NULL,NULL\n3,4\n", "5.0,6.0\n7,8\n", "NA,NA\n3,4\n"] {
            let head = if name == "x.csv" { head.to_owned() } else { head.replace(',', " ") };
            for ids in [IdChoice::Auto, IdChoice::Dense, IdChoice::Integer] {
                let guess = probe(name, head.as_bytes(), &choices(ids, None)).unwrap();
                assert!(!guess.has_header && guess.ids != IdKind::Text, "{head:?}");
            }
        }
    }
    for (head, has_header) in [
        ("ann,bob,2020-01-01\neve,dan,1.5\n", false),
        ("user1,user2,unknown\nuser3,user4,1.5\n", false),
        ("who,whom,stars\nann,bob,1.5\n", true),
        ("12a,14b\n15,16\n", false),
        ("a,b\n1,2\n", true),
        (",a,b\n0,1,2\n", true),
    ] {
        assert_eq!(guess("x.csv", head).has_header, has_header, "{head:?}");
    }
}

#[test]
fn leading_zeros_make_text() {
    let of = |head: &str, ids| {
        let choices = InputChoices { ids, ..InputChoices::default() };
        probe("x", head.as_bytes(), &choices).unwrap().ids
    };
    assert_eq!(of("001 2\n", IdChoice::Auto), IdKind::Text);
    assert_eq!(of("1 2\n", IdChoice::Auto), IdKind::Dense);
    assert_eq!(of("1 2\n", IdChoice::Mapped), IdKind::Sparse);
    assert_eq!(of("-1 2\n", IdChoice::Mapped), IdKind::Text);
    assert_eq!(of("001 2\n", IdChoice::Dense), IdKind::Dense);
    assert_eq!(of("1 2\n", IdChoice::Text), IdKind::Text);
    assert_eq!(of("1 NULL\n", IdChoice::Auto), IdKind::Dense);
}

#[test]
fn what_cannot_be_a_graph_is_refused() {
    for (name, head, what) in [
        ("x.zip", &b"PK\x03\x04"[..], "zip archive"),
        ("x.gz.gz", b"\x1f\x8b\x08", "compressed twice"),
        ("x.txt", b"0 1\n\x00\x01", "line 2: this is binary data"),
        ("x.graph", b"\x00\x01\n", "binary data"),
        ("x.bin", &[1, 2, 3, 4].map(u64::to_le_bytes).concat(), "64-bit integers"),
        ("x.csv", b"1\n3\n", "one column only"),
        ("x.json", b"[\n {\"src\": 1}\n]", "array of JSON"),
        ("x.json", b"{\n \"nodes\": []\n}", "expected an object"),
        ("x.graphml", b"<?xml version=\"1.0\"?>\n<graphml>\n", "XML"),
        ("x.txt", b"// FromNodeId ToNodeId\n1 2\n", "line 1: the line starts with //"),
        ("x.csv", b"// by hand\n1,2\n", "line 1: the line starts with //"),
        ("x.mtx", b"1 2\n", "banner"),
    ] {
        match probe(name, head, &InputChoices::default()) {
            Err(error @ Error::Syntax { .. }) => {
                assert!(error.to_string().contains(what), "{error}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let star: Vec<u8> = (0..9_u64).flat_map(u64::to_le_bytes).collect();
    let choices = InputChoices { format: Some(Format::Binary), ..InputChoices::default() };
    probe("x.bin", &star, &choices).expect("all edges may lead to vertex 0");
}

/// A head of comments alone shows no columns; what was chosen must fit all the same.
#[test]
fn chosen_columns_are_distinct_before_the_first_record_too() {
    let comments = "# by hand\n".repeat(10);
    for name in ["x.txt", "x.csv"] {
        let guess = |src: Option<usize>, dst: Option<usize>, weight: Option<usize>| {
            let [src, dst, weight] = [src, dst, weight].map(|idx| idx.map(Column::Index));
            let choices = InputChoices { src, dst, weight, ..InputChoices::default() };
            probe(name, comments.as_bytes(), &choices)
        };
        let columns = |src, dst, weight| {
            let guess = guess(src, dst, weight).unwrap();
            (guess.src, guess.dst, guess.weight)
        };
        assert_eq!(columns(None, None, None), (0, 1, Some(2)));
        assert_eq!(columns(Some(1), None, None), (1, 0, Some(2)));
        assert_eq!(columns(None, Some(2), None), (0, 2, Some(1)));
        assert_eq!(columns(None, None, Some(0)), (1, 2, Some(0)));
        for (src, dst, weight) in [(0, 0, None), (0, 1, Some(1)), (0, 1, Some(0))] {
            let error = guess(Some(src), Some(dst), weight).unwrap_err();
            assert!(error.to_string().contains("chosen twice"), "{error}");
        }
    }
}

#[test]
fn a_column_past_all_others_is_refused() {
    for (format, text) in [(Format::EdgeList, "1 2\n"), (Format::Csv, "1,2\n")] {
        let mut options = ReadOptions::new(format);
        options.columns.dst = Column::Index(usize::MAX);
        let read = read_edges(text.as_bytes(), &options, |_| Ok::<(), Error>(()));
        assert!(read.unwrap_err().to_string().contains("there is no column"));
    }
}

#[test]
fn any_head_is_guessed_or_refused() {
    proptest::proptest!(|(head: Vec<u8>)| {
        for name in ["x", "x.csv", "x.mtx", "x.gr", "x.graph", "x.e", "x.v", "x.bin"] {
            let _ = probe(name, &head, &InputChoices::default());
        }
    });
}

/// However a stream is cut, the same start of it decides.
#[test]
fn the_start_that_decides_does_not_depend_on_what_follows() {
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n% by hand\n3 3 1\n1 2\n";
    for (name, whole, expected) in [
        ("-", "xxx,yyy\n1,2\n3,4\n", Some(12)),
        ("-", "1 2\n\n# c\n3 4\n5", Some(13)),
        ("-", "1 2\n3 4", None),
        ("-", "a,\"b\nc\nd\",e\nf,g,h\n", Some(18)),
        ("-", "a\"b c\nd e\n", Some(10)),
        ("-", "5\" disk,b\nc,d\n", Some(14)),
        ("-", "a,\"b \"\"c\nd\",e\nf,g\n", Some(18)),
        ("-", "{\"a\":\"\\\"\",\"b\":1}\n{\"a\":1,\"b\":1}\n", Some(31)),
        ("x.mtx", matrix, Some(matrix.len())),
        ("x.gr", "c\nc by hand\np sp 2 1\na 1 2 3\na 2 1 3\n", Some(29)),
        ("-", "c\nc by hand\np sp 2 1\na 1 2 3\na 2 1 3\n", Some(29)),
        ("x.bin", "\0\0\0\0\u{1}\0\0\0", Some(8)),
        ("-", "\0\0\0\0\u{1}\0\0\0", None),
    ] {
        let choices = InputChoices::default();
        let mut decided = (0..=whole.len())
            .filter_map(|len| decisive_len(name, &whole.as_bytes()[..len], &choices));
        assert_eq!(decided.next(), expected, "{whole:?}");
        assert!(name == "x.bin" || decided.all(|len| Some(len) == expected), "{whole:?}");
    }
}
