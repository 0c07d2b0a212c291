//! How files of updates are guessed to be read.

use everedge_io::{
    Column, Error, IdKind, InputChoices, OperationChoice, Place, TimeUnit, UpdateChoices, probe,
    probe_updates, read_updates,
};

use crate::updates::{SECOND, assert_syntax, guess, index, named, places, read, read_guessed};

/// Checks that guessing how to read `head` is an error whose text contains `what`.
fn assert_unguessed(head: &str, choices: &UpdateChoices, what: &str) {
    let error = probe_updates("x", head.as_bytes(), choices).unwrap_err();
    assert!(error.to_string().contains(what), "{head:?}: {error}");
}

#[test]
fn columns_without_names_are_known_by_their_look() {
    for (text, expected) in [
        ("1 2 1082040961\n", (0, 1, None, 2, None, None)),
        ("1,2,1082040961\n", (0, 1, None, 2, None, None)),
        ("6,2,4,1289241911.72836\n6,5,2,1289241941.53378\n", (0, 1, Some(2), 3, None, None)),
        ("2024-05-31 1 2\n", (1, 2, None, 0, None, None)),
        ("1,2024-05-31T12:00:00Z,2,5\n", (0, 2, Some(3), 1, None, None)),
        ("0 1112911993 + a b\n1 1112911994 - a b\n", (3, 4, None, 1, Some(2), Some(0))),
        ("0,2024-05-31,add,a,b\n", (3, 4, None, 1, Some(2), Some(0))),
    ] {
        assert_eq!(places(&guess("x", text)), expected, "{text:?}");
    }
}

#[test]
fn columns_go_by_the_names_of_a_header() {
    for (header, expected) in [
        ("u,i,ts,label", (0, 1, Some(3), 2, None, None)),
        ("src,dst,time", (0, 1, None, 2, None, None)),
        ("time,src,dst,weight", (1, 2, Some(3), 0, None, None)),
        ("commit_seq,unix_time,op,src,dst", (3, 4, None, 1, Some(2), Some(0))),
        ("Operation,from,to,Timestamp,Step", (1, 2, None, 3, Some(0), Some(4))),
        ("who,whom,action,datetime,w", (0, 1, Some(4), 3, Some(2), None)),
        ("date,target,source,note,seq", (2, 1, Some(3), 0, None, Some(4))),
    ] {
        let field = |name: &str| match name {
            "op" | "Operation" | "action" => "+",
            _ => "7",
        };
        let row: Vec<&str> = header.split(',').map(field).collect();
        let text = format!("{header}\n{0}\n{0}\n", row.join(","));
        let guess = guess("x.csv", &text);
        assert!(guess.edges.has_header, "{header}");
        assert_eq!(places(&guess), expected, "{header}");
        let stream = read(text.as_bytes(), &guess.options()).unwrap();
        assert_eq!((stream.numbers(), &stream.times[..]), (vec![(7, 7); 2], &[7 * SECOND; 2][..]));
    }
}

#[test]
fn a_name_above_times_is_a_header_though_ids_are_text() {
    let text = "op\twho\twhom\tdate\n+\tann\tbob\t2024-05-31\n-\tann\tbob\t2024-06-01\n";
    let guess = guess("x.tsv", text);
    assert_eq!((guess.edges.has_header, guess.edges.ids), (true, IdKind::Text));
    assert_eq!(places(&guess), (1, 2, None, 3, Some(0), None));
    assert_eq!(guess.unit, None, "dates need no unit");
    let stream = read(text.as_bytes(), &guess.options()).unwrap();
    assert_eq!(stream.edges, [("ann".to_owned(), "bob".to_owned()), ("ann".into(), "bob".into())]);
    assert_eq!(stream.times[1] - stream.times[0], 24 * 3600 * SECOND);
    // The reader finds the header itself, if the options leave it open.
    let mut options = guess.options();
    options.edges.header = None;
    assert_eq!(read(text.as_bytes(), &options).unwrap(), stream);
    let words = "time date 1082040961\ndate time 1082040962\n";
    assert_eq!(read_guessed("x", words).edges.len(), 2, "ids may be such words");
}

#[test]
fn a_comment_names_the_columns() {
    let text = "# commit_seq unix_time op src dst\n0 5 + 1 2\n";
    assert_eq!(places(&guess("x", text)), (3, 4, None, 1, Some(2), Some(0)));
    let turned = "# time src dst\n5 1 2\n";
    assert_eq!(places(&guess("x", turned)), (1, 2, None, 0, None, None));
    let text = "# when who whom\n5 1 2\n";
    let mut choices = UpdateChoices { time: named("when"), ..UpdateChoices::default() };
    (choices.edges.src, choices.edges.dst) = (named("who"), named("whom"));
    let guess = probe_updates("x", text.as_bytes(), &choices).unwrap();
    assert_eq!((guess.edges.has_header, places(&guess)), (false, (1, 2, None, 0, None, None)));
    assert_eq!(read(text.as_bytes(), &guess.options()).unwrap().numbers(), [(1, 2)]);
}

#[test]
fn chosen_columns_are_not_guessed() {
    let choices =
        |time, operation, step| UpdateChoices { time, operation, step, ..UpdateChoices::default() };
    let guess =
        |head: &str, choices: &UpdateChoices| probe_updates("x", head.as_bytes(), choices).unwrap();
    let auto = OperationChoice::Auto;
    let only = OperationChoice::InsertionsOnly;
    let column = |idx| OperationChoice::Column(Column::Index(idx));
    let form = "0 5 + 1 2\n";
    for (head, choices, expected) in [
        ("5 1 2\n", choices(index(0), auto.clone(), None), (1, 2, None, 0, None, None)),
        (form, choices(index(0), auto.clone(), index(1)), (3, 4, None, 0, Some(2), Some(1))),
        (form, choices(None, only.clone(), None), (3, 4, None, 1, None, Some(0))),
        (form, choices(index(1), column(2), None), (3, 4, None, 1, Some(2), Some(0))),
        ("+ 1 2 5\n", choices(index(3), auto.clone(), None), (1, 2, None, 3, Some(0), None)),
        ("5 1 2 1 9\n", choices(index(0), column(3), index(4)), (1, 2, None, 0, Some(3), Some(4))),
        ("1 2 3 4 5 6\n", choices(index(5), only.clone(), None), (0, 1, Some(2), 5, None, None)),
    ] {
        assert_eq!(places(&guess(head, &choices)), expected, "{head:?} {choices:?}");
    }
    let csv = "a,b,op,when,time\n1,2,x,5,6\n";
    let by_name = choices(named("when"), only.clone(), None);
    assert_eq!(places(&guess(csv, &by_name)), (0, 1, None, 3, None, None));
    let csv = "op,action,who,whom,time\n+,click,1,2,5\n";
    let only = choices(None, OperationChoice::InsertionsOnly, None);
    assert_eq!(places(&guess(csv, &only)), (1, 2, Some(3), 4, None, None));
    // A chosen name makes a header of the first record.
    let text = "x,y,when\nann,bob,2024-05-31\n";
    let named_time = guess(text, &choices(named("when"), auto.clone(), None));
    assert_eq!((named_time.edges.has_header, named_time.time), (true, 2));
    assert_eq!(read(text.as_bytes(), &named_time.options()).unwrap().edges.len(), 1);
    // Who chose dates does not want the time of day beside them.
    let dates = choices(index(2), auto.clone(), None);
    assert_eq!(guess("1 2 2024-05-31 10:30\n", &dates).time, 2);
    let mut turned = UpdateChoices::default();
    (turned.edges.src, turned.edges.dst) = (index(4), index(3));
    assert_eq!(places(&guess(form, &turned)), (4, 3, None, 1, Some(2), Some(0)));
    // A number leaves the header and the other names where they are.
    let csv = "x,from,to,time\n9,1,2,5\n";
    assert_eq!(places(&guess(csv, &choices(index(0), auto, None))), (1, 2, None, 0, None, None));
}

#[test]
fn what_may_be_several_things_is_not_guessed() {
    let none = UpdateChoices::default();
    for (head, what) in [
        ("1 2\n", "which of the 2 columns hold the ends and the times"),
        ("1 2 3 4 5\n", "--src 0 --dst 1 --time 2"),
        ("0 1 2 3 4 5\n", "which of the 6 columns"),
        ("5 + 1 2\n1 - 1 2\n", "which of the 4 columns"),
        ("1 2 + 5\n", "which of the 4 columns"),
        ("+ 1 2\n", "which of the 3 columns"),
        (
            "src,dst,weight\n1,2,3\n",
            "no column is called as times are: src, dst, weight; choose it",
        ),
        ("src,dst,time,date\n1,2,3,4\n", "two columns may hold the times: time, date; choose it"),
        ("src,dst,time,op,action\n1,2,3,+,+\n", "two columns may hold the operations: op, action"),
        ("a,b,c,d,time\n1,2,3,4,5\n", "name them with --src and --dst"),
        ("1 2 20240531\n2 3 20240601\n", "the time \"20240531\" may be a date or a number"),
        ("1\n", "which of the 1 columns"),
        ("1 -> 2 5\n1 -> 3 6\n", "--src 0 --dst 2"),
        ("% bip\n1 1 5\n", "bipartite"),
        ("1 2 2024-05-31 10:30:00\n", "dates and times of day stand in two columns"),
        ("src,dst,date,clock\n1,2,2024-05-31,10:30\n", "2024-05-31T10:30:00, or choose one"),
    ] {
        assert_unguessed(head, &none, what);
    }
    // Times may stand first, and signs be weights: both can be said.
    let first = "1700000000,1,2\n1700000009,2,3\n";
    assert_unguessed(first, &none, "the times may stand in column 0");
    let places_of = |head: &str, choices: &UpdateChoices| {
        places(&probe_updates("x", head.as_bytes(), choices).unwrap())
    };
    let said = UpdateChoices { time: index(0), ..none.clone() };
    assert_eq!(places_of(first, &said), (1, 2, None, 0, None, None));
    let dates = "1700000000,1,2024-05-31\n";
    assert_eq!(places_of(dates, &none), (0, 1, None, 2, None, None));
    let signs = "1 2 1 1700000000\n1 2 -1 1700000009\n";
    assert_unguessed(signs, &none, "weights, or insertions and deletions");
    let operation = OperationChoice::InsertionsOnly;
    let said = UpdateChoices { operation, ..none.clone() };
    assert_eq!(places_of(signs, &said), (0, 1, Some(2), 3, None, None));
    assert_unguessed("PK\u{3}\u{4}", &none, "zip");
    assert_unguessed("// c\n1 2 3\n", &none, "starts with //");
    let seconds = UpdateChoices { unit: Some(TimeUnit::Seconds), ..none.clone() };
    let guess = probe_updates("x", b"1 2 20240531\n", &seconds).unwrap();
    assert_eq!((guess.time, guess.unit), (2, Some(TimeUnit::Seconds)));
    let seventh = UpdateChoices { time: index(7), ..none.clone() };
    assert_unguessed("1 2 3\n", &seventh, "there is no column 7");
    let before_any = probe_updates("x", b"# by hand\n", &seventh).unwrap();
    assert_eq!(places(&before_any), (0, 1, None, 7, None, None));
    for (choices, what) in [
        (UpdateChoices { time: named("when"), ..none.clone() }, "there is no column \"when\""),
        (UpdateChoices { time: index(0), step: index(0), ..none.clone() }, "chosen twice"),
        (UpdateChoices { step: index(usize::MAX), ..none.clone() }, "there is no column"),
    ] {
        assert_unguessed("1 2 3\n", &choices, what);
        assert_unguessed("# by hand\n", &choices, what);
    }
    assert_eq!(places(&self::guess("x", "# by hand\n")), (0, 1, None, 2, None, None));
}

#[test]
fn words_of_operations_are_found_in_a_column_of_any_name() {
    let text = "src,dst,time,change\n1,2,5,Insert\n1,2,6,DELETE\n1,2,7,add\n1,2,8,remove\n";
    assert_eq!(guess("x", text).operation, Some(3));
    assert_eq!(read_guessed("x", text).is_deletion, [false, true, false, true]);
    let text = "src,dst,time,sign,op\n1,2,5,1,1\n1,2,5,-1,-1\n";
    let guess = guess("x", text);
    assert_eq!((guess.operation, guess.edges.weight), (Some(4), Some(3)));
    assert_eq!(read(text.as_bytes(), &guess.options()).unwrap().is_deletion, [false, true]);
}

/// A dash stands for nothing as well as for a deletion.
#[test]
fn dashes_alone_are_operations_only_where_a_name_or_a_place_says_so() {
    for (text, operation) in [
        ("src,dst,time,comment\n1,2,5,-\n1,2,6,-\n", None),
        ("src,dst,time,comment\n1,2,5,-\n1,2,6,-\n1,2,7,late\n", None),
        ("src,dst,time,change\n1,2,5,-\n1,2,6,+\n", Some(3)),
        ("src,dst,time,change\n1,2,5,delete\n1,2,6,-\n", Some(3)),
        ("src,dst,time,op\n1,2,5,-\n1,2,6,-\n", Some(3)),
        ("0 5 - 1 2\n0 6 - 1 2\n", Some(2)),
    ] {
        assert_eq!(guess("x", text).operation, operation, "{text:?}");
    }
    let text = "src,dst,time,comment\n1,2,5,-\n1,2,6,-\n";
    assert_eq!(read_guessed("x", text).is_deletion, [false, false]);
    let change = OperationChoice::Column(Column::Index(3));
    let choices = UpdateChoices { operation: change, ..UpdateChoices::default() };
    let chosen = probe_updates("x", text.as_bytes(), &choices).unwrap();
    assert_eq!(read(text.as_bytes(), &chosen.options()).unwrap().is_deletion, [true, true]);
}

#[test]
fn a_column_of_steps_holds_whole_numbers_if_it_is_guessed() {
    for (value, step) in [("7", Some(3)), ("1.5", None), ("abc", None), ("-1", None)] {
        let text = format!("src,dst,time,step\n1,2,5,{value}\n");
        assert_eq!(guess("x", &text).step, step, "{value}");
    }
    let stream = read_guessed("x", "src,dst,time,step\n1,2,5,18446744073709551615\n");
    assert_eq!(stream.steps, [u64::MAX]);
}

/// What is wrong in one record is refused there and makes no other columns of them all.
#[test]
fn a_wrong_field_does_not_change_what_columns_hold() {
    for (rows, line, what) in [
        (["0 5 + 1 2", "0 5 - 1 2", "0 5 x 1 2"], 3, "expected an operation, found \"x\""),
        (["src,dst,time,change", "1,2,5,+", "1,2,5,-"], 0, ""),
        (["2024-05-31 1 2", "2024-06-31 1 2", "2024-05-31 1 2"], 2, "found \"2024-06-31\""),
        (["1 2 5", "1 2 6", "1 2 1082040961000"], 3, "--time-unit"),
        (["1 2 5", "1 2 +", "1 2 -"], 0, "which of the 3 columns"),
    ] {
        let text = rows.join("\n") + "\n";
        match probe_updates("x", text.as_bytes(), &UpdateChoices::default()) {
            Ok(guess) => {
                let read = read(text.as_bytes(), &guess.options());
                match line {
                    0 => assert_eq!(read.unwrap().summary.deletions, 1),
                    line => assert_syntax(read, Place::Line(line), what),
                }
            }
            Err(error) => assert!(line == 0 && error.to_string().contains(what), "{error}"),
        }
    }
    let text = "0 5 NULL 1 2\n0 5 NULL 1 2\n0 5 NULL 1 2\n0 5 - 1 2\n";
    assert_eq!(places(&guess("x", text)), (3, 4, None, 1, Some(2), Some(0)), "nulls say nothing");
    let text = "who,whom,date,change\nann,bob,2024-05-31,add\nann,bob,2024-05-31,remove\n\
                ann,bob,2024-05-31,add\nann,bob,31.05.2024,?\n";
    let guess = guess("x", text);
    assert_eq!((places(&guess), guess.edges.has_header), ((0, 1, None, 2, Some(3), None), true));
    assert_syntax(read(text.as_bytes(), &guess.options()), Place::Line(5), "31.05.2024");
}

/// The longest unit that puts few times past the year 9999 is guessed, and the guess says so.
#[test]
fn units_are_seconds_unless_they_cannot_be() {
    for (time, unit) in [
        ("1082040961", TimeUnit::Seconds),
        ("0", TimeUnit::Seconds),
        ("1082040961000", TimeUnit::Milliseconds),
        ("1082040961000000", TimeUnit::Microseconds),
        ("1082040961000000000", TimeUnit::Nanoseconds),
    ] {
        let text = format!("1 2 5\n1 2 {time}\n");
        let guess = guess("x", &text);
        assert_eq!(guess.unit, Some(unit), "{time}");
        let stream = read(text.as_bytes(), &guess.options()).unwrap();
        let expected = if time == "0" { 0 } else { 1_082_040_961 * SECOND };
        assert_eq!(stream.times[1], expected, "{time}");
        // A unit that was chosen is not guessed, and what it cannot be is refused.
        let choices = UpdateChoices { unit: Some(TimeUnit::Seconds), ..UpdateChoices::default() };
        let guess = probe_updates("x", text.as_bytes(), &choices).unwrap();
        assert_eq!(guess.unit, Some(TimeUnit::Seconds));
        let read = read(text.as_bytes(), &guess.options());
        match unit {
            TimeUnit::Seconds => assert_eq!(read.unwrap().times[1], expected),
            _ => assert_syntax(read, Place::Line(2), "--time-unit says what times count"),
        }
    }
}

#[test]
fn any_head_is_guessed_or_refused() {
    proptest::proptest!(|(head: Vec<u8>, text in "[-+a-z0-9 ,\n]{0,60}")| {
        for name in ["x", "x.csv", "x.jsonl", "x.tsv"] {
            for head in [&head[..], text.as_bytes()] {
                let guess = probe_updates(name, head, &UpdateChoices::default());
                if let Ok(guess) = guess {
                    let _ = read_updates(head, &guess.options(), |_| Ok::<(), Error>(()));
                }
            }
        }
    });
}

#[test]
fn operations_in_a_list_of_edges_are_seen() {
    let has = |name: &str, text: &str| {
        let guess = probe(name, text.as_bytes(), &InputChoices::default()).unwrap();
        guess.columns.iter().any(|column| column.holds_operations)
    };
    assert!(has("f.csv", "t,op,src,dst\n1,+,1,2\n2,-,1,2\n"));
    assert!(has("f.csv", "op,src,dst\nadd,1,2\ndelete,1,2\n"));
    assert!(has("f.txt", "+ 1 2\n- 1 2\n"));
    assert!(has("f.jsonl", "{\"src\":1,\"dst\":2,\"op\":\"add\"}\n"));
    assert!(!has("f.csv", "src,dst,sign\n1,2,1\n2,3,-1\n"));
    assert!(!has("f.csv", "src,dst,note\n1,2,-\n2,3,-\n"));
    assert!(!has("f.txt", "a b\nb c\n"));
    assert!(!has("f.jsonl", "{\"src\":1,\"dst\":2,\"op\":\"call\"}\n"));
}
