//! Timed updates in Parquet and Arrow.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    Float64Array, Int8Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt32Array,
};
use arrow_ipc::writer::StreamWriter;
use everedge_io::{
    Column, Columns, Error, Format, IdKind, InputChoices, OperationChoice, Place, TimeUnit,
    UpdateChoices, UpdateGuess, UpdateOptions, UpdateSummary, probe_arrow, probe_arrow_updates,
    probe_parquet, probe_parquet_updates, read_parquet_updates, read_updates,
};
use parquet::arrow::ArrowWriter;

use crate::parquet::file_of;
use crate::updates::{NOON, SECOND, Stream, assert_syntax, evolution, index, named, places, read};

fn read_parquet(bytes: &[u8], options: &UpdateOptions) -> Result<Stream, Error> {
    let mut stream = Stream::default();
    stream.summary = read_parquet_updates(file_of(bytes), options, |chunk| {
        stream.extend(chunk);
        Ok::<(), Error>(())
    })?;
    assert_eq!(stream.summary.bytes, bytes.len() as u64);
    Ok(stream.counted())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn parquet_of(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_of(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn integers(numbers: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(numbers.to_vec()))
}

fn strings(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// Guesses and reads a table as Parquet and as Arrow, which must agree.
fn read_table(
    batch: &RecordBatch,
    choices: &UpdateChoices,
) -> Result<(UpdateGuess, Stream), Error> {
    let (parquet, arrow) = (parquet_of(batch), arrow_of(batch));
    let as_parquet = probe_parquet_updates(file_of(&parquet), choices)?;
    let as_arrow = probe_arrow_updates(&arrow[..], choices)?;
    assert_eq!(places(&as_parquet), places(&as_arrow));
    assert_eq!((as_parquet.unit, as_parquet.edges.ids), (as_arrow.unit, as_arrow.edges.ids));
    let from_arrow = read(&arrow, &as_arrow.options());
    let from_parquet = read_parquet(&parquet, &as_parquet.options());
    match (from_parquet, from_arrow) {
        (Ok(stream), Ok(other)) => {
            let summary = UpdateSummary { bytes: stream.summary.bytes, ..other.summary };
            assert_eq!(stream, Stream { summary, ..other });
            Ok((as_parquet, stream))
        }
        (Err(error), Err(other)) => {
            assert_eq!(error.to_string(), other.to_string());
            Err(error)
        }
        (one, other) => panic!("{one:?}, but {other:?}"),
    }
}

#[test]
fn times_have_any_type_that_holds_them() {
    let coded: DictionaryArray<Int32Type> =
        ["2024-05-31T12:00Z", "1717156801"].into_iter().collect();
    let tokyo = || "Asia/Tokyo".to_owned();
    let columns: [(ArrayRef, Option<TimeUnit>); 13] = [
        (Arc::new(TimestampMillisecondArray::from(vec![NOON / 1000, NOON / 1000 + 1000])), None),
        (Arc::new(TimestampMicrosecondArray::from(vec![NOON, NOON + SECOND])), None),
        (
            Arc::new(TimestampNanosecondArray::from(vec![
                NOON * 1000 + 499,
                NOON * 1000 + 999_999_500,
            ])),
            None,
        ),
        (
            Arc::new(
                TimestampMicrosecondArray::from(vec![NOON, NOON + SECOND]).with_timezone(tokyo()),
            ),
            None,
        ),
        (integers(&[1_717_156_800, 1_717_156_801]), Some(TimeUnit::Seconds)),
        (integers(&[NOON / 1000, NOON / 1000 + 1000]), Some(TimeUnit::Milliseconds)),
        (integers(&[NOON, NOON + SECOND]), Some(TimeUnit::Microseconds)),
        (Arc::new(UInt32Array::from(vec![1_717_156_800, 1_717_156_801])), Some(TimeUnit::Seconds)),
        (
            Arc::new(Float64Array::from(vec![1_717_156_800.0, 1_717_156_801.0])),
            Some(TimeUnit::Seconds),
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![17_171_568_000, 17_171_568_010])
                    .with_precision_and_scale(20, 1)
                    .unwrap(),
            ),
            Some(TimeUnit::Seconds),
        ),
        (strings(&["2024-05-31 12:00:00", "2024-05-31 12:00:01"]), None),
        (
            Arc::new(StringViewArray::from(vec!["1717156800", "1717156801"])),
            Some(TimeUnit::Seconds),
        ),
        (Arc::new(coded), Some(TimeUnit::Seconds)),
    ];
    for (times, unit) in columns {
        let kind = times.data_type().clone();
        let ends = [("src", integers(&[1, 3])), ("dst", integers(&[2, 4]))];
        let table = batch([vec![("time", times)], ends.to_vec()].concat());
        let (guess, stream) = read_table(&table, &UpdateChoices::default()).unwrap();
        assert_eq!((places(&guess), guess.unit), ((1, 2, None, 0, None, None), unit), "{kind}");
        assert_eq!(guess.edges.ids, IdKind::Dense, "{kind}");
        assert_eq!(
            (stream.numbers(), stream.times),
            (vec![(1, 2), (3, 4)], vec![NOON, NOON + SECOND]),
            "{kind}"
        );
    }
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1, 19_874]));
    let table = batch(vec![("src", integers(&[1, 3])), ("dst", integers(&[2, 4])), ("date", days)]);
    let (guess, stream) = read_table(&table, &UpdateChoices::default()).unwrap();
    assert_eq!(guess.unit, None);
    assert_eq!(stream.times, [-86_400 * SECOND, NOON - 43_200 * SECOND]);
}

/// Parquet has no such types.
#[test]
fn arrow_has_timestamps_of_seconds_and_dates_of_milliseconds() {
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![NOON / SECOND]));
    let milliseconds: ArrayRef = Arc::new(Date64Array::from(vec![NOON / 1000]));
    for times in [seconds, milliseconds] {
        let kind = times.data_type().clone();
        let ends = [("src", integers(&[1])), ("dst", integers(&[2]))];
        let bytes = arrow_of(&batch([ends.to_vec(), vec![("time", times)]].concat()));
        let guess = probe_arrow_updates(&bytes[..], &UpdateChoices::default()).unwrap();
        assert_eq!(guess.unit, None, "{kind}");
        assert_eq!(read(&bytes, &guess.options()).unwrap().times, [NOON], "{kind}");
    }
}

#[test]
fn operations_and_steps_are_columns_of_tables() {
    let signs: ArrayRef = Arc::new(Int8Array::from(vec![1, -1]));
    let coded: DictionaryArray<Int32Type> = ["Insert", "remove"].into_iter().collect();
    for operations in [signs, strings(&["+", "-"]), Arc::new(coded)] {
        for steps in [integers(&[0, 7]), Arc::new(UInt32Array::from(vec![0, 7]))] {
            let table = batch(vec![
                ("seq", steps),
                ("op", Arc::clone(&operations)),
                ("weight", Arc::new(Float64Array::from(vec![0.5, 2.0]))),
                ("ts", integers(&[5, 6])),
                ("dst", strings(&["b", "d"])),
                ("src", strings(&["a", "c"])),
            ]);
            let (guess, stream) = read_table(&table, &UpdateChoices::default()).unwrap();
            assert_eq!(places(&guess), (5, 4, Some(2), 3, Some(1), Some(0)));
            assert_eq!((guess.edges.ids, &stream.weights[..]), (IdKind::Text, &[][..]));
            assert_eq!((stream.is_deletion, stream.steps), (vec![false, true], vec![0, 7]));
            assert_eq!(stream.edges[0], ("a".to_owned(), "b".to_owned()));
            let mut options = guess.options();
            options.edges.weighted = true;
            // The weight of a deletion is not read.
            assert_eq!(read_parquet(&parquet_of(&table), &options).unwrap().weights, [0.5, 1.0]);
            let only = OperationChoice::InsertionsOnly;
            let choices = UpdateChoices { operation: only, ..UpdateChoices::default() };
            assert_eq!(read_table(&table, &choices).unwrap().1.is_deletion, [false, false]);
        }
    }
}

#[test]
fn words_of_operations_are_found_in_a_column_of_any_name() {
    let change = || strings(&["add", "Delete"]);
    for (columns, expected) in [
        ([("who", "a"), ("change", "+"), ("whom", "b")], (0, 2, None, 3, Some(1), None)),
        ([("change", "+"), ("src", "a"), ("dst", "b")], (1, 2, None, 3, Some(0), None)),
        ([("src", "a"), ("note", "b"), ("dst", "b")], (0, 2, None, 3, None, None)),
    ] {
        let values = |mark| if mark == "+" { change() } else { strings(&[mark, mark]) };
        let mut table: Vec<(&str, ArrayRef)> =
            columns.iter().map(|(name, mark)| (*name, values(*mark))).collect();
        table.push(("ts", integers(&[5, 6])));
        let (guess, stream) = read_table(&batch(table), &UpdateChoices::default()).unwrap();
        assert_eq!(places(&guess), expected);
        assert_eq!(stream.edges[0], ("a".to_owned(), "b".to_owned()));
        assert_eq!(stream.is_deletion, [false, guess.operation.is_some()]);
    }
    let ends = integers(&[1, 2, 3]);
    let table = batch(vec![
        ("src", Arc::clone(&ends)),
        ("dst", Arc::clone(&ends)),
        ("ts", ends),
        ("change", strings(&["", "null", "delete"])),
    ]);
    let bytes = arrow_of(&table);
    let guess = probe_arrow_updates(&bytes[..], &UpdateChoices::default()).unwrap();
    assert_eq!(guess.operation, Some(3), "nulls say nothing");
}

/// As in CSV, operations are none of the columns that may hold the ends.
#[test]
fn operations_of_any_name_are_no_ends_in_tables() {
    let change = || strings(&["add", "delete"]);
    let (ids, times) = (|| integers(&[1, 2]), || integers(&[5, 6]));
    let table = |change: ArrayRef| {
        batch(vec![("a", ids()), ("b", ids()), ("c", ids()), ("change", change), ("time", times())])
    };
    let (guess, stream) = read_table(&table(change()), &UpdateChoices::default()).unwrap();
    assert_eq!(places(&guess), (0, 1, Some(2), 4, Some(3), None));
    assert_eq!((guess.edges.ids, stream.is_deletion), (IdKind::Dense, vec![false, true]));
    let csv = "a,b,c,change,time\n1,1,1,add,5\n2,2,2,delete,6\n";
    assert_eq!(places(&crate::updates::guess("x.csv", csv)), places(&guess));
    let refers = vec![("id", ids()), ("parent_id", ids()), ("change", change()), ("time", times())];
    let (guess, _) = read_table(&batch(refers), &UpdateChoices::default()).unwrap();
    assert_eq!(places(&guess).4, Some(2));
    let words = table(strings(&["x", "y"]));
    assert_syntax(read_table(&words, &UpdateChoices::default()), Place::Whole, "name them with");
}

#[test]
fn a_table_without_rows_is_guessed_and_holds_no_updates() {
    let table =
        batch(vec![("src", integers(&[])), ("dst", integers(&[])), ("time", integers(&[]))]);
    let bytes = parquet_of(&table);
    let guess = probe_parquet_updates(file_of(&bytes), &UpdateChoices::default()).unwrap();
    assert_eq!((guess.edges.ids, guess.unit), (IdKind::Dense, Some(TimeUnit::Seconds)));
    let error = read_parquet(&bytes, &guess.options()).unwrap_err();
    assert!(matches!(error, Error::NoEdges), "{error}");
}

#[test]
fn damaged_tables_are_errors() {
    let ids: Vec<i64> = (0..99).collect();
    let table =
        batch(vec![("src", integers(&ids)), ("dst", integers(&ids)), ("time", integers(&ids))]);
    let (parquet, arrow) = (parquet_of(&table), arrow_of(&table));
    let options = UpdateOptions::new(Format::Parquet);
    let in_arrow = UpdateOptions::new(Format::Arrow);
    let none = UpdateChoices::default();
    for len in 0..parquet.len() {
        assert!(read_parquet(&parquet[..len], &options).is_err(), "cut at {len}");
        assert!(probe_parquet_updates(file_of(&parquet[..len]), &none).is_err(), "cut at {len}");
    }
    // A changed byte may give other updates, but never a panic.
    for at in 0..parquet.len() {
        let mut damaged = parquet.clone();
        damaged[at] ^= 0x55;
        let _ = (read_parquet(&damaged, &options), probe_parquet_updates(file_of(&damaged), &none));
    }
    for at in 0..arrow.len() {
        let mut damaged = arrow.clone();
        damaged[at] ^= 0x55;
        let _ = (read_updates(&damaged[..], &in_arrow, |_| Ok::<(), Error>(())),);
        let _ = probe_arrow_updates(&damaged[..], &none);
    }
}

#[test]
fn hostile_tables_are_refused_where_they_are() {
    let ok = || integers(&[1, 1, 1]);
    let null: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(1)]));
    let floats = |numbers: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(numbers.to_vec())) };
    let truths: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let clock: ArrayRef = Arc::new(Time32MillisecondArray::from(vec![1, 2, 3]));
    let late: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 253_402_300_800 * SECOND]));
    for (time, operation, step, row, what) in [
        (null.clone(), ok(), ok(), 2, "the time is null"),
        (ok(), null.clone(), ok(), 2, "the operation is null"),
        (ok(), ok(), null.clone(), 2, "the step is null"),
        (floats(&[1.0, 2.0, f64::NAN]), ok(), ok(), 3, "the time is null; --skip-nulls"),
        (strings(&["1", "", "1"]), ok(), ok(), 2, "the time is null"),
        (strings(&["1", "x", "1"]), ok(), ok(), 2, "expected a time, found \"x\""),
        (floats(&[1.0, 1e30, 1.0]), ok(), ok(), 2, "lies outside of the years"),
        (late, ok(), ok(), 3, "lies outside of the years"),
        (clock, ok(), ok(), 1, "expected a time, found a column of Time32"),
        (truths.clone(), ok(), ok(), 1, "expected a time, found true in a column of Boolean"),
        (ok(), truths, ok(), 1, "expected an operation, found true in a column of Boolean"),
        (ok(), integers(&[1, -1, 0]), ok(), 3, "expected an operation, found 0"),
        (ok(), strings(&["+", "+", "?"]), ok(), 3, "expected an operation, found \"?\""),
        (ok(), ok(), integers(&[1, -1, 1]), 2, "expected a step, found -1"),
        (ok(), ok(), floats(&[1.0, 2.0, 3.0]), 1, "expected a step, found a column of Float64"),
    ] {
        let table = batch(vec![
            ("src", ok()),
            ("dst", integers(&[2, 3, 4])),
            ("time", time),
            ("op", operation),
            ("step", step),
        ]);
        let unit = Some(TimeUnit::Seconds);
        let choices = UpdateChoices { step: named("step"), unit, ..UpdateChoices::default() };
        assert_syntax(read_table(&table, &choices), Place::Row(row), what);
    }
    let twice = UpdateOptions { operation: index(2), ..UpdateOptions::new(Format::Parquet) };
    let table = batch(vec![("src", ok()), ("dst", ok()), ("time", ok())]);
    assert_syntax(read_parquet(&parquet_of(&table), &twice), Place::Whole, "chosen twice");
    let none = batch(vec![("src", ok()), ("dst", ok()), ("w", ok())]);
    assert_syntax(read_table(&none, &UpdateChoices::default()), Place::Whole, "as times are");
    for date in [20_240_531, 202_405, 2024] {
        let compact = batch(vec![("src", ok()), ("dst", ok()), ("date", integers(&[date; 3]))]);
        assert_syntax(read_table(&compact, &UpdateChoices::default()), Place::Whole, "--time-unit");
    }
}

#[test]
fn rows_with_nulls_are_left_out_of_tables() {
    let times: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0), Some(f64::NAN), None, Some(4.0)]));
    let operations: ArrayRef =
        Arc::new(StringArray::from(vec![Some("+"), Some("+"), Some("+"), Some("-")]));
    let ends = integers(&[1, 2, 3, 4]);
    let table =
        batch(vec![("src", Arc::clone(&ends)), ("dst", ends), ("time", times), ("op", operations)]);
    let bytes = parquet_of(&table);
    let guess = probe_parquet_updates(file_of(&bytes), &UpdateChoices::default()).unwrap();
    let mut options = guess.options();
    options.edges.skip_nulls = true;
    let stream = read_parquet(&bytes, &options).unwrap();
    assert_eq!((stream.numbers(), stream.summary.skipped), (vec![(1, 1), (4, 4)], 2));
    assert_eq!((stream.times, stream.is_deletion), (vec![SECOND, 4 * SECOND], vec![false, true]));
    // What is null says nothing of the unit.
    let times = Float64Array::from(vec![None, None, Some(f64::NAN), Some(1_082_040_961_000.0)]);
    let ends = integers(&[1, 2, 3, 4]);
    let table = [("src", Arc::clone(&ends)), ("dst", ends), ("time", Arc::new(times))];
    let bytes = arrow_of(&batch(table.to_vec()));
    let guess = probe_arrow_updates(&bytes[..], &UpdateChoices::default()).unwrap();
    assert_eq!(guess.unit, Some(TimeUnit::Milliseconds));
}

/// Whoever deletes an edge has no weight for it.
#[test]
fn the_weight_of_a_deletion_is_not_read() {
    let ends = integers(&[1, 2]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("2.5"), None]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![2.5, f64::NAN]));
    for weights in [texts, floats] {
        let table = |operations: &[&str]| {
            batch(vec![
                ("src", Arc::clone(&ends)),
                ("dst", Arc::clone(&ends)),
                ("weight", Arc::clone(&weights)),
                ("time", integers(&[5, 6])),
                ("op", strings(operations)),
            ])
        };
        let weighted = |operations: &[&str]| {
            let bytes = parquet_of(&table(operations));
            let guess = probe_parquet_updates(file_of(&bytes), &UpdateChoices::default()).unwrap();
            let mut options = guess.options();
            options.edges.weighted = true;
            read_parquet(&bytes, &options)
        };
        let stream = weighted(&["+", "-"]).unwrap();
        assert_eq!((stream.weights[0], stream.is_deletion), (2.5, vec![false, true]));
        assert_syntax(weighted(&["+", "+"]), Place::Row(2), "the weight is null");
    }
    for (format, deletion, insertion) in [
        (Format::Csv, "2,2,,6,-\n", "2,2,,6,+\n"),
        (
            Format::JsonLines,
            "{\"src\":2,\"dst\":2,\"weight\":null,\"time\":6,\"op\":\"-\"}\n",
            "{\"src\":2,\"dst\":2,\"time\":6,\"op\":\"+\"}\n",
        ),
        (Format::EdgeList, "2 2 nan 6 -\n", "2 2 nan 6 +\n"),
    ] {
        let mut options = UpdateOptions { operation: index(4), ..UpdateOptions::new(format) };
        options.edges.weighted = true;
        options.edges.columns.weight = Column::Index(2);
        options.time = Column::Index(3);
        if format == Format::JsonLines {
            let named = |name: &str| Column::Name(name.into());
            options.edges.columns =
                Columns { src: named("src"), dst: named("dst"), weight: named("weight") };
            (options.time, options.operation) = (named("time"), Some(named("op")));
        }
        assert_eq!(read(deletion.as_bytes(), &options).unwrap().is_deletion, [true], "{format:?}");
        assert_syntax(read(insertion.as_bytes(), &options), Place::Line(1), "the weight is null");
    }
}

/// Gives its pieces one by one and pauses between them.
struct Pausing(Vec<Vec<u8>>);

impl std::io::Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.pop() {
            Some(piece) if piece.is_empty() => Err(std::io::ErrorKind::WouldBlock.into()),
            Some(piece) => {
                buffer[..piece.len()].copy_from_slice(&piece);
                Ok(piece.len())
            }
            None => Ok(0),
        }
    }
}

#[test]
fn a_pause_hands_on_what_is_there_with_all_of_its_columns() {
    let table = batch(vec![
        ("src", integers(&[1])),
        ("dst", integers(&[2])),
        ("time", integers(&[5])),
        ("step", integers(&[3])),
    ]);
    let arrow = arrow_of(&table);
    let (first, rest) = arrow.split_at(arrow.len() - 8);
    let arrow_options =
        probe_arrow_updates(&arrow[..], &UpdateChoices::default()).unwrap().options();
    let lines = [&b"0 5 + 1 2\n0 5"[..], b" + 3 4\n"];
    for (pieces, options, expected) in [
        (lines, evolution(Format::EdgeList), vec![(1, true), (1, false)]),
        ([first, rest], arrow_options, vec![(1, false), (0, true)]),
    ] {
        let [first, second] = pieces.map(<[u8]>::to_vec);
        let mut seen = Vec::new();
        read_updates(Pausing(vec![second, Vec::new(), first]), &options, |chunk| {
            assert_eq!(chunk.steps.map(|steps| steps.len()), Some(chunk.src.len()));
            assert_eq!(chunk.times.len(), chunk.src.len());
            seen.push((chunk.src.len(), chunk.is_pause));
            Ok::<(), Error>(())
        })
        .unwrap();
        assert_eq!(seen, expected);
    }
}

#[test]
fn operations_in_a_table_of_edges_are_seen() {
    for (words, is_seen) in
        [(["+", "-"], true), (["add", "delete"], true), (["call", "sms"], false)]
    {
        let ends = |ids: [i64; 2]| integers(&ids);
        let table =
            batch(vec![("src", ends([1, 2])), ("dst", ends([2, 3])), ("op", strings(&words))]);
        let (parquet, arrow) = (parquet_of(&table), arrow_of(&table));
        let edges = InputChoices::default();
        let as_parquet = probe_parquet(file_of(&parquet), &edges).unwrap();
        let as_arrow = probe_arrow(&arrow[..], &edges).unwrap();
        for guess in [as_parquet, as_arrow] {
            assert_eq!(guess.columns[2].holds_operations, is_seen, "{words:?}");
        }
    }
}
