//! What tables say by names, by the look of their columns and by comments, and what they leave open.

use everedge_io::{
    Column, Error, Format, Guess, IdChoice, IdKind, InputChoices, Place, ReadOptions, probe,
};

use crate::support::{assert_refused, read};

fn guess_with(name: &str, head: &str, choices: &InputChoices) -> Result<Guess, Error> {
    probe(name, head.as_bytes(), choices)
}

fn guess(name: &str, head: &str) -> Guess {
    guess_with(name, head, &InputChoices::default()).unwrap()
}

fn named(name: &str) -> Option<Column> {
    Some(Column::Name(name.to_owned()))
}

fn index(idx: usize) -> Option<Column> {
    Some(Column::Index(idx))
}

/// Checks that guessing is an error whose text contains all `words`.
fn assert_unguessed(name: &str, head: &str, choices: &InputChoices, words: &[&str]) {
    let error = match guess_with(name, head, choices) {
        Ok(guess) => panic!("{head:?} gave {guess:?}"),
        Err(error) => error.to_string(),
    };
    for word in words {
        assert!(error.contains(word), "{head:?}: {error}");
    }
}

/// Returns the edges that a text gives as it is guessed.
fn edges(name: &str, text: &str) -> Vec<(String, String)> {
    read(text.as_bytes(), &guess(name, text).options()).unwrap().edges
}

#[test]
fn declared_weights_are_no_ends() {
    let none = InputChoices::default();
    const MISSING: &[&str] = &["one column of ids beside the weights", "--src and --dst"];
    for head in [
        "dst,weight\n2,5\n",
        "src,weight\n2,5\n",
        "weight,dst\n5,2\n",
        "city,weight\nrome,5\n",
        "city,weight\nrome,heavy\n",
        "dst,weight\n",
        "dst,weight,time\n2,5,7\n",
    ] {
        for (name, separator) in [("x.csv", ","), ("x.tsv", "\t"), ("x.txt", " ")] {
            assert_unguessed(name, &head.replace(',', separator), &none, MISSING);
        }
    }
    assert_unguessed("x.jsonl", "{\"dst\":2,\"weight\":5}\n", &none, MISSING);
    let src = InputChoices { src: named("src"), ..none.clone() };
    assert_unguessed("x.csv", "src,weight\n2,5\n", &src, MISSING);
    let both = InputChoices { src: named("weight"), dst: named("dst"), ..none };
    let meant = guess_with("x.csv", "dst,weight\n2,5\n", &both).unwrap();
    assert_eq!((meant.src, meant.dst, meant.weighted), (1, 0, None));
    assert_eq!(edges("x.txt", "# src dst\ndst weight\n2 5\n").len(), 2, "a comment names the ends");
    assert_eq!(edges("x.csv", "time,weight\nmoney,power\n").len(), 2, "ids may be such words");
}

#[test]
fn weights_that_are_declared_twice_are_told_apart_by_number() {
    const TWINS: &[&str] = &["two columns are called \"weight\"", "--weight 2"];
    let head = "src,dst,weight,weight\n1,2,3,4\n";
    let choices = |weight| InputChoices { weight, ..InputChoices::default() };
    assert_unguessed("x.csv", head, &choices(None), TWINS);
    assert_unguessed("x.csv", head, &choices(named("weight")), TWINS);
    assert_unguessed("x.csv", "src,dst,x,x\n1,2,3,4\n", &choices(named("x")), &["called \"x\""]);
    assert_eq!(guess_with("x.csv", head, &choices(index(3))).unwrap().weight, Some(3));
    assert_eq!(guess("x.csv", "src,dst,x,x\n1,2,3,4\n").weight, Some(2));
}

#[test]
fn names_above_numbers_and_dates_are_a_header() {
    for (head, ends) in [
        ("year,exporter,importer\n2020,FR,DE\n", (1, 2)),
        ("season,home_team,away_team\n2020,ARS,CHE\n", (1, 2)),
        ("week,home,away\n7,ARS,CHE\n", (1, 2)),
        ("date,a,b\n2024-01-01,x,y\n", (1, 2)),
        ("when,a,b\n2024-01-01,x,y\n2024-01-02,x,z\n", (1, 2)),
        ("name,age,city\nann,7,rome\n", (0, 1)),
        ("name,age\nann,7\n", (0, 1)),
        ("who,whom,since\nann,bob,2024-01-01\n", (0, 1)),
        (":START_ID(P),role,:END_ID(M),:TYPE\nann,boss,mars,ACTED_IN\n", (0, 2)),
        (":START_ID,:END_ID,:TYPE\nann,mars,ACTED_IN\n", (0, 1)),
    ] {
        for (name, separator) in [("x.csv", ","), ("x.tsv", "\t")] {
            let guess = guess(name, &head.replace(',', separator));
            assert!(guess.has_header, "{head:?}");
            assert_eq!((guess.src, guess.dst), ends, "{head:?}");
        }
    }
    for head in [
        "kind,who,whom\nlike,ann,bob\n",
        "paper,cites\np1,p2\n",
        "ann,bob,x\neve,dan,y\n",
        "ann,bob,2024-01-01\neve,dan,2024-01-02\n",
        "ann,7,x\neve,dan,8\n",
        "user1,user2,unknown\nuser3,user4,1.5\n",
        "ann,inf\nbob,inf\n",
        ":alice,:bob\n:carol,:dan\n",
    ] {
        assert!(!guess("x.csv", head).has_header, "{head:?}");
    }
    let words = guess("x.txt", "ann bob\neve 7\n");
    assert!(!words.has_header, "an edge list may mix ids");
}

#[test]
fn a_first_column_of_times_is_no_end_beside_two_others() {
    for (head, ends) in [
        ("2024-01-01,x,y\n2024-01-02,x,z\n", (1, 2)),
        ("2024-01-01,1,2\n2024-01-02,1,3\n", (1, 2)),
        ("2024-01-01,x,7\n2024-01-02,y,8\n", (0, 1)),
        ("2024-01-01,x\n2024-01-02,y\n", (0, 1)),
        ("x,2024-01-01,y\nx,2024-01-02,z\n", (0, 1)),
        ("year,country,gdp\n2020,FR,5\n", (0, 1)),
        ("src,dst,year\n1,2,3\n", (0, 1)),
    ] {
        let guess = guess("x.csv", head);
        assert_eq!((guess.src, guess.dst), ends, "{head:?}");
    }
    assert_eq!(guess("x.csv", "year,exporter,importer\n2020,FR,DE\n").weight, None);
    let both = InputChoices { src: named("year"), dst: named("a"), ..InputChoices::default() };
    let chosen = guess_with("x.csv", "year,a,b\n2020,x,y\n", &both).unwrap();
    assert_eq!((chosen.src, chosen.dst), (0, 1));
}

#[test]
fn a_record_shorter_than_the_first_is_refused() {
    let short = "src,dst,time\n7,8900,200\n9,12\n";
    let what = "expected 3 columns, found 2";
    for (name, separator) in [("x.csv", ","), ("x.tsv", "\t")] {
        let text = short.replace(',', separator);
        let options = guess(name, &text).options();
        assert_refused(text.as_bytes(), &options, Place::Line(3), what);
        let whole = "src,dst,time\n7,8,9\n\n1,2,\n\n".replace(',', separator);
        assert_eq!(edges(name, &whole).len(), 2);
    }
    let options = ReadOptions::new(Format::Csv);
    assert_refused(b"1,2,3\n4,5\n", &options, Place::Line(2), what);
}

#[test]
fn words_of_data_frames_for_nulls_are_nulls() {
    for null in ["None", "Null", "\\N", "<NA>", "n/a", "-nan", "-NaN", "#N/A", "#NA", "1.#QNAN"] {
        let file = format!("a,b\nc,{null}\nd,e\n");
        let options = guess("x.csv", &file).options();
        assert_refused(file.as_bytes(), &options, Place::Line(2), "--skip-nulls");
        let skipping = ReadOptions { skip_nulls: true, ..options };
        assert_eq!(read(file.as_bytes(), &skipping).unwrap().summary.skipped, 1, "{null}");
        let text = InputChoices { ids: IdChoice::Text, ..InputChoices::default() };
        let literal = guess_with("x.csv", &file, &text).unwrap().options();
        let literal = ReadOptions { literal_ids: true, ..literal };
        assert_eq!(read(file.as_bytes(), &literal).unwrap().edges.len(), 3, "{null}");
    }
    assert_eq!(edges("x.csv", "a,b\nc,none\nnone,NONE\n").len(), 3);
    assert!(!guess("x.csv", "None,Null\n3,4\n").has_header);
}

#[test]
fn wide_integers_are_refused_at_any_length() {
    let none = InputChoices::default();
    let wide = |ids: &[u64]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    let many: Vec<u64> = (0..16).map(|id| (2 << 32) + id).collect();
    let few: Vec<u64> = (0..6).map(|id| (2 << 32) + id).collect();
    for ids in [&[1, 2][..], &[5, 0], &[1, 2, 3, 4], &many] {
        let error = probe("x.bin", &wide(ids), &none).unwrap_err().to_string();
        assert!(error.contains("64-bit integers") && error.contains("--format binary"), "{error}");
        let format = Some(Format::Binary);
        probe("x.bin", &wide(ids), &InputChoices { format, ..none.clone() }).unwrap();
    }
    for ids in [&[][..], &[0, 0], &[7], &[1, 2 << 32 | 1], &few] {
        probe("x.bin", &wide(ids), &none).expect("these may be pairs");
    }
}

#[test]
fn the_separator_of_excel_is_no_row() {
    for head in ["sep=;\nfrom;to\na,1;b\n", "\u{feff}sep=;\r\nfrom;to\r\na,1;b\r\n"] {
        for name in ["x.csv", "x", "x.txt"] {
            let guess = guess(name, head);
            assert_eq!((guess.format, guess.delimiter), (Format::Csv, Some(b';')), "{name}");
            assert!(guess.has_header);
            assert_eq!(edges(name, head), [("a,1".to_owned(), "b".to_owned())]);
        }
    }
    assert_eq!(edges("x.csv", "sep=\t\n1\t2\n").len(), 1);
    assert_eq!(guess("x.csv", "sep=|\nann|bob\n").delimiter, Some(b'|'));
    assert_eq!(edges("x.csv", "sep=;x,b\nc,d\n").len(), 2);
    let dense = ReadOptions { delimiter: Some(b';'), ..ReadOptions::new(Format::Csv) };
    assert_refused(b"sep=;\n1;2\nx;3\n", &dense, Place::Line(3), "integer id");
    let choices = InputChoices::default();
    let head = b"sep=;\nfrom;to\n1;2\n3;4\n";
    assert_eq!(everedge_io::decisive_len("-", head, &choices), Some(18));
}

#[test]
fn arrows_between_ids_are_no_ends() {
    let none = InputChoices::default();
    for mark in ["->", "-->", "-", ","] {
        let head = format!("x\t{mark}\ty\tz\ny\t{mark}\tz\tx\n");
        assert_unguessed("x.el", &head, &none, &["holds no ids", "--src 0 --dst 2"]);
    }
    assert_unguessed("x.el", "1 -> 2\n2 -> 3\n", &none, &["\"->\"", "--src 0 --dst 2"]);
    let table = "who,by,whom\nann,->,bob\nbob,->,eve\n";
    let headed = InputChoices { header: Some(true), ..none.clone() };
    assert_unguessed("x.csv", table, &headed, &["holds no ids", "--src 0 --dst 2"]);
    let both = InputChoices { src: index(0), dst: index(2), ..none.clone() };
    let guess = guess_with("x.el", "1 -> 2\n2 -> 3\n", &both).unwrap();
    assert_eq!((guess.src, guess.dst, guess.ids), (0, 2, IdKind::Dense));
    let meant = InputChoices { src: index(0), dst: index(1), ..none };
    assert_eq!(guess_with("x.el", "1 -> 2\n", &meant).unwrap().dst, 1);
    assert_eq!(self::guess("x.el", "a -> b\nc d e\n").dst, 1);
    for (name, text) in [
        ("x.el", "# src dst weight\na -> 1\nb -> 2\n"),
        ("x.csv", "src,dst,weight\na,->,1\nb,->,2\n"),
        ("x.e", "a -> 1\nb -> 2\n"),
    ] {
        assert_eq!(edges(name, text)[0], ("a".to_owned(), "->".to_owned()), "{name}");
    }
}

#[test]
fn one_chosen_end_does_not_turn_edges() {
    let choices = |src, dst| InputChoices { src, dst, ..InputChoices::default() };
    const BOTH: &[&str] = &["name both ends", "--src and --dst"];
    for (head, choices) in [
        ("1,2,0.5\n", choices(index(1), None)),
        ("1,2,3\n", choices(index(2), None)),
        ("1,2,3\n", choices(None, index(2))),
        ("a,b,c\n1,2,3\n", choices(named("b"), None)),
    ] {
        assert_unguessed("x.csv", head, &choices, BOTH);
        assert_unguessed("x.txt", &head.replace(',', " "), &choices, BOTH);
    }
    for (head, choices, ends) in [
        ("1,2,0.5\n", choices(index(0), None), (0, 1)),
        ("1,2,0.5\n", choices(None, index(0)), (1, 0)),
        ("1,2,0.5\n", choices(None, index(1)), (0, 1)),
        ("1,2\n", choices(index(1), None), (1, 0)),
        ("x,from,to\n1,2,3\n", choices(index(1), None), (1, 2)),
        ("x,time,y\n1,2,3\n", choices(named("y"), None), (2, 0)),
    ] {
        let guess = guess_with("x.csv", head, &choices).unwrap();
        assert_eq!((guess.src, guess.dst), ends, "{head:?} {choices:?}");
    }
}

#[test]
fn comments_declare_directions() {
    for (head, directed) in [
        ("# Undirected graph: ../youtube.ungraph.txt\n# Nodes: 2\n1 2\n", Some(false)),
        ("# Undirected graph (each unordered pair of nodes is saved once): x\n1 2\n", Some(false)),
        ("# Undirected graph (each pair of nodes is saved twice):x\n1 2\n2 1\n", None),
        ("# Directed graph (each unordered pair of nodes is saved once)\n1 2\n", None),
        ("% sym unweighted\n% 1 2 2\n1 2\n", Some(false)),
        ("% sym\n1 2\n", Some(false)),
        ("% asym positive\n1 2 3\n", None),
        ("% sym links of one kind\n1 2\n", None),
        ("# by hand\n1 2\n# Undirected graph\n", None),
        ("1 2\n", None),
    ] {
        assert_eq!(guess("out.x", head).directed, directed, "{head:?}");
    }
    let none = InputChoices::default();
    let sides = "% bip unweighted\n1 1\n1 2\n";
    assert_unguessed("out.x", sides, &none, &["bipartite", "prefix", "--ids text"]);
    assert_eq!(guess("out.x", "% bip\nu1 i1\n").ids, IdKind::Text);
    let dense = InputChoices { ids: IdChoice::Dense, ..none };
    assert_eq!(guess_with("out.x", sides, &dense).unwrap().ids, IdKind::Dense);
}
