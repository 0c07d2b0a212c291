use everedge_io::{Column, Columns, Error, Format, IdKind, Place, ReadOptions};

use crate::support::{assert_refused, read, weighted};

fn text(format: Format) -> ReadOptions {
    ReadOptions { ids: IdKind::Text, ..ReadOptions::new(format) }
}

fn named(src: &str, dst: &str, weight: &str) -> Columns {
    let column = |name: &str| Column::Name(name.to_owned());
    Columns { src: column(src), dst: column(dst), weight: column(weight) }
}

#[test]
fn a_header_is_found_or_given() {
    let dense = ReadOptions::new(Format::Csv);
    for file in ["a,b\n1,2\n", "1,2\n", "\n\"a\",\"b\"\r\n\"1\", 2\r\n", "\u{feff}a,b\n1,2"] {
        assert_eq!(read(file.as_bytes(), &dense).unwrap().numbers(), [(1, 2)], "{file:?}");
    }
    let usual = read(b"source,target\na,b\n", &text(Format::Csv)).unwrap();
    assert_eq!(usual.edges, [("a".to_owned(), "b".to_owned())]);
    let words = read(b"user_id,Item\na,b\n", &text(Format::Csv)).unwrap();
    assert_eq!(words.edges.len(), 1);
    let unusual = read(b"x,y\na,b\n", &text(Format::Csv)).unwrap();
    assert_eq!(unusual.edges.len(), 2);
    let given = ReadOptions { header: Some(true), ..text(Format::Csv) };
    assert_eq!(read(b"x,y\na,b\n", &given).unwrap().edges.len(), 1);
    let by_weight = ReadOptions { weighted: true, ..text(Format::Csv) };
    assert_eq!(read(b"x,y,length\na,b,2\n", &by_weight).unwrap().weights, [2.0]);
}

#[test]
fn quoted_fields_may_hold_anything() {
    let file = b"\"a,1\",\"say \"\"hi\"\"\"\n\"two\nlines\",plain\n";
    let graph = read(file, &text(Format::Csv)).unwrap();
    let expected = [("a,1", "say \"hi\""), ("two\nlines", "plain")];
    assert_eq!(graph.edges, expected.map(|(src, dst)| (src.to_owned(), dst.to_owned())));
    let graph = read(b"a b\tc,d\tignored\n", &text(Format::Tsv)).unwrap();
    assert_eq!(graph.edges, [("a b".to_owned(), "c,d".to_owned())]);
}

#[test]
fn columns_go_by_name_or_number() {
    let file = b"id,cost,to,from\n0,1.5,7,8\n1,2.5,9,10\n";
    let options = ReadOptions { columns: named("from", "to", "cost"), ..weighted(Format::Csv) };
    let graph = read(file, &options).unwrap();
    assert_eq!((graph.numbers(), graph.weights), (vec![(8, 7), (10, 9)], vec![1.5, 2.5]));
    let columns =
        Columns { src: Column::Index(3), dst: Column::Index(2), weight: Column::Index(1) };
    let options = ReadOptions { columns, ..weighted(Format::Csv) };
    assert_eq!(read(file, &options).unwrap().numbers(), [(8, 7), (10, 9)]);
    let wide: String = (0..3000).map(|idx| format!("name {idx},")).collect();
    let columns = Columns { src: Column::Index(2998), ..Columns::default() };
    let graph = read(wide.as_bytes(), &ReadOptions { columns, ..text(Format::Csv) }).unwrap();
    assert_eq!(graph.edges, [("name 2998".to_owned(), "name 1".to_owned())]);
}

#[test]
fn hostile_records_are_refused_where_they_are() {
    let dense = ReadOptions::new(Format::Csv);
    for (record, what) in [
        ("5", "expected 2 columns, found 1"),
        ("5;6", "expected 2 columns, found 1"),
        ("5,", "expected an id, found nothing"),
        ("x,6", "expected an integer id, found \"x\""),
        ("-5,6", "negative"),
        ("4294967296,6", "use --ids integer for large ids"),
        ("5,6\u{0}", "binary data"),
        ("5,\"6", "not closed"),
    ] {
        let file = format!("a,b\r\n1,2\r\n\"3\",4\r\n{record}\r\n1,2\r\n");
        assert_refused(file.as_bytes(), &dense, Place::Line(4), what);
    }
    assert_refused(b"a,b,c\n1,2,x\n", &weighted(Format::Csv), Place::Line(2), "number");
    assert_refused(b"1,2\n", &weighted(Format::Csv), Place::Line(1), "there is no column 3");
    assert_refused(b"a,\xff\n", &text(Format::Csv), Place::Line(1), "not UTF-8");
    assert_refused(b"a,\n", &text(Format::Csv), Place::Line(1), "an id is empty");
    let missing = ReadOptions { columns: named("from", "to", "w"), ..dense.clone() };
    assert_refused(b"a,b\n1,2\n", &missing, Place::Line(1), "there is no column \"from\"");
    let headless =
        ReadOptions { columns: named("1", "2", "w"), header: Some(false), ..dense.clone() };
    assert_refused(b"1,2\n", &headless, Place::Line(1), "only where there is a header");
    // A lone row may be a header or an edge: who asked for integers learns of the way out.
    assert_refused(b"a,b\n", &dense, Place::Line(1), "use --ids text");
    let headed = ReadOptions { header: Some(true), ..dense };
    let error = read(b"a,b\n", &headed).unwrap_err();
    assert!(matches!(error, Error::NoEdges), "{error}");
}

#[test]
fn a_quote_that_is_never_closed_does_not_fill_memory() {
    let mut file = b"a,\"b\n".to_vec();
    file.extend(b"1,2\n".repeat(1 << 20));
    assert_refused(&file, &text(Format::Csv), Place::Line(1), "longer than");
}

#[test]
fn blanks_around_a_field_are_none_of_it() {
    for row in ["a, b", " a ,b ", "a,\t\"b\" ", "\"a\" ,\"b\""] {
        let graph = read(format!("{row}\r\n").as_bytes(), &text(Format::Csv)).unwrap();
        assert_eq!(graph.edges, [("a".to_owned(), "b".to_owned())], "{row:?}");
    }
    let graph = read(b"\" a\",\"b \"\n", &text(Format::Csv)).unwrap();
    assert_eq!(graph.edges, [(" a".to_owned(), "b ".to_owned())]);
    let bar = ReadOptions { delimiter: Some(b'|'), ..text(Format::Csv) };
    let graph = read(b"a | b, c\n\n  \nd|e\n", &bar).unwrap();
    assert_eq!(graph.edges[0], ("a".to_owned(), "b, c".to_owned()));
    assert_eq!(graph.edges.len(), 2);
}

#[test]
fn nulls_are_refused_or_left_out() {
    for null in ["", "NULL", "nan", " "] {
        let file = format!("1,2\n3,{null}\n{null},4\n5,6\n");
        for options in [ReadOptions::new(Format::Csv), text(Format::Csv)] {
            assert_refused(file.as_bytes(), &options, Place::Line(2), "--skip-nulls");
            let skipping = ReadOptions { skip_nulls: true, ..options };
            let graph = read(file.as_bytes(), &skipping).unwrap();
            assert_eq!((graph.numbers(), graph.summary.skipped), (vec![(1, 2), (5, 6)], 2));
        }
    }
    let quoted = read(b"\"null\",b\n", &text(Format::Csv)).unwrap();
    assert_eq!(quoted.edges[0].0, "null");
    let weights = ReadOptions { skip_nulls: true, ..weighted(Format::Csv) };
    assert_eq!(read(b"1,2,\n3,4,5\n6,7,NaN\n", &weights).unwrap().weights, [5.0]);
}
