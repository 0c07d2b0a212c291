use everedge_io::{Column, Columns, Format, IdKind, InputChoices, Place, ReadOptions, probe};

use crate::support::{assert_refused, read, weighted};

fn text() -> ReadOptions {
    ReadOptions { ids: IdKind::Text, ..ReadOptions::new(Format::JsonLines) }
}

#[test]
fn keys_are_columns_in_any_order() {
    let file = br#"{"w": 0.5, "to": 7, "from": 1, "tags": [1, {"x": null}]}
 {"from": 2, "to": 8, "w": 3, "note": "to"}

"#;
    let choices = InputChoices { weight: Some(Column::Name("w".into())), ..Default::default() };
    let guess = probe("x", file, &choices).unwrap();
    assert_eq!((guess.format, guess.ids), (Format::JsonLines, IdKind::Dense));
    let options = ReadOptions { weighted: true, ..guess.options() };
    let graph = read(file, &options).unwrap();
    assert_eq!((graph.numbers(), graph.weights), (vec![(1, 7), (2, 8)], vec![0.5, 3.0]));
}

#[test]
fn strings_are_text_whatever_they_say() {
    let file = "{\"src\":\"007\",\"dst\":\"null\"}\n{\"src\":\"\\u00e9\",\"dst\":\"a b\"}\n";
    let guess = probe("x.jsonl", file.as_bytes(), &InputChoices::default()).unwrap();
    assert_eq!(guess.ids, IdKind::Text);
    let edges = read(file.as_bytes(), &guess.options()).unwrap().edges;
    let expected = [("007", "null"), ("é", "a b")];
    assert_eq!(edges, expected.map(|(src, dst)| (src.to_owned(), dst.to_owned())));
}

#[test]
fn nulls_and_missing_keys_are_refused_or_left_out() {
    let file =
        b"{\"src\":1,\"dst\":2}\n{\"src\":null,\"dst\":2}\n{\"src\":1}\n{\"src\":3,\"dst\":4}\n";
    let by_name = Columns {
        src: Column::Name("src".into()),
        dst: Column::Name("dst".into()),
        ..Columns::default()
    };
    let options = ReadOptions { columns: by_name, ..ReadOptions::new(Format::JsonLines) };
    assert_refused(file, &options, Place::Line(2), "\"src\" is null");
    let skipping = ReadOptions { skip_nulls: true, ..options };
    let graph = read(file, &skipping).unwrap();
    assert_eq!((graph.numbers(), graph.summary.skipped), (vec![(1, 2), (3, 4)], 2));
}

#[test]
fn what_is_no_edge_is_refused_where_it_is() {
    for (line, what) in [
        ("{\"src\":1,\"dst\":2", "expected an object of JSON"),
        ("[1,2]", "expected an object of JSON"),
        ("{\"src\":1,\"dst\":[2]}", "found an array"),
        ("{\"src\":1.5,\"dst\":2}", "found 1.5"),
        ("{\"src\":-1,\"dst\":2}", "negative"),
        ("{\"src\":true,\"dst\":2}", "a truth value"),
        ("{\"src\":\"x\",\"dst\":2}", "use --ids text"),
        ("{\"src\":\"01\",\"dst\":2}", "leading zeros"),
        ("{\"src\":1,\"dst\":2} {}", "trailing"),
    ] {
        let file = format!("{{\"src\":1,\"dst\":2}}\n{line}\n");
        let options = ReadOptions::new(Format::JsonLines);
        assert_refused(file.as_bytes(), &options, Place::Line(2), what);
    }
    let file = b"{\"src\":1,\"dst\":2,\"w\":16777217}\n";
    assert_refused(file, &weighted(Format::JsonLines), Place::Line(1), "--round-weights");
    assert_eq!(read(b"{\"a\":-1,\"b\":2}\n", &text()).unwrap().edges[0].0, "-1");
    let array = probe("x.json", b"[{\"src\":1,\"dst\":2}]", &InputChoices::default()).unwrap_err();
    assert!(array.to_string().contains("array of JSON"), "{array}");
}
