use std::fs::File;
use std::io::{Seek, Write};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    UInt64Array,
};
use everedge_io::{
    Column, Columns, Error, Format, IdKind, InputChoices, Place, ReadOptions, probe_parquet,
    read_parquet,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::support::{Graph, weighted};

/// Returns an open file that holds `bytes`.
pub(crate) fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

/// Reads all of a Parquet file.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Graph, Error> {
    let mut graph = Graph::default();
    graph.summary = read_parquet(file_of(bytes), options, |chunk| {
        graph.extend(chunk);
        Ok::<(), Error>(())
    })?;
    Ok(graph)
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn integers(ids: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(ids.to_vec()))
}

fn numbers(numbers: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(numbers.to_vec()))
}

fn named(src: &str, dst: &str, weight: &str) -> Columns {
    let column = |name: &str| Column::Name(name.to_owned());
    Columns { src: column(src), dst: column(dst), weight: column(weight) }
}

#[test]
fn columns_go_by_name_or_number_and_in_any_order() {
    let weights: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -1.0]));
    let bytes = table(vec![("w", weights), ("to", integers(&[7, 8])), ("from", integers(&[1, 2]))]);
    let guess = probe_parquet(file_of(&bytes), &InputChoices::default()).unwrap();
    assert_eq!((guess.src, guess.dst, guess.weight, guess.ids), (2, 1, Some(0), IdKind::Dense));
    let by_name = ReadOptions { columns: named("from", "to", "w"), ..weighted(Format::Parquet) };
    for options in [by_name, ReadOptions { weighted: true, ..guess.options() }] {
        let graph = read(&bytes, &options).unwrap();
        assert_eq!((graph.numbers(), graph.weights), (vec![(1, 7), (2, 8)], vec![0.5, -1.0]));
    }
}

#[test]
fn every_usual_compression_is_read() {
    use parquet::basic::Compression;
    let ids: Vec<i64> = (0..5000).collect();
    let batch = RecordBatch::try_from_iter([("src", integers(&ids)), ("dst", integers(&ids))]);
    let batch = batch.unwrap();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
        Compression::ZSTD(Default::default()),
    ] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let bytes = writer.into_inner().unwrap();
        let graph = read(&bytes, &ReadOptions::new(Format::Parquet)).unwrap();
        assert_eq!(graph.edges.len(), ids.len(), "{compression}");
    }
}

#[test]
fn a_string_is_text_though_it_looks_like_a_number() {
    let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["1", "2"]));
    let times = integers(&[5, 6]);
    let bytes = table(vec![("ts", times), ("who", texts.clone()), ("whom", texts)]);
    let guess = probe_parquet(file_of(&bytes), &InputChoices::default()).unwrap();
    assert_eq!((guess.ids, guess.src, guess.dst, guess.weight), (IdKind::Text, 1, 2, None));
    let choices = InputChoices { weight: Some(Column::Name("ts".into())), ..Default::default() };
    let guess = probe_parquet(file_of(&bytes), &choices).unwrap();
    assert_eq!((guess.src, guess.dst, guess.weight), (1, 2, Some(0)));
}

#[test]
fn ids_may_be_text_or_large() {
    let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["é", "7"]));
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 40]));
    let bytes = table(vec![("src", texts), ("dst", large)]);
    let guess = probe_parquet(file_of(&bytes), &InputChoices::default()).unwrap();
    assert_eq!(guess.ids, IdKind::Text);
    let graph = read(&bytes, &guess.options()).unwrap();
    assert_eq!(graph.edges[0], ("é".to_owned(), "18446744073709551615".to_owned()));
}

/// Data frames keep a column of integers so in which one is missing.
#[test]
fn whole_numbers_are_ids_in_a_column_of_floats() {
    let bytes = table(vec![("src", numbers(&[1.0, f64::NAN, 7.0])), ("dst", integers(&[2, 3, 8]))]);
    let guess = probe_parquet(file_of(&bytes), &InputChoices::default()).unwrap();
    assert_eq!(guess.ids, IdKind::Dense);
    let graph = read(&bytes, &ReadOptions { skip_nulls: true, ..guess.options() }).unwrap();
    assert_eq!(graph.edges, [("1".to_owned(), "2".to_owned()), ("7".to_owned(), "8".to_owned())]);
    let large = table(vec![("src", numbers(&[4e10])), ("dst", integers(&[2]))]);
    let guess = probe_parquet(file_of(&large), &InputChoices::default()).unwrap();
    assert_eq!(guess.ids, IdKind::Sparse);
}

#[test]
fn hostile_columns_are_refused_where_they_are() {
    let ok = || integers(&[1, 2, 3]);
    let null: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let infinite = numbers(&[1.0, 1e300, 0.0]);
    let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["1", "x", "3"]));
    for (src, weight, row, what) in [
        (null.clone(), ok(), 2, "null"),
        (integers(&[1, 2, -3]), ok(), 3, "negative"),
        (integers(&[1, 1 << 31, 3]), ok(), 2, "not below 2^31"),
        (texts.clone(), ok(), 2, "expected an integer id"),
        (infinite.clone(), ok(), 2, "no whole number"),
        (numbers(&[1.0, 2.0, 2.5]), ok(), 3, "the id 2.5 is no whole number"),
        (numbers(&[1.0, f64::NAN, 3.0]), ok(), 2, "an id is null"),
        (Arc::new(BooleanArray::from(vec![true; 3])), ok(), 1, "neither integers nor text"),
        (ok(), null, 2, "null"),
        (ok(), infinite, 2, "not a finite"),
        (ok(), texts, 2, "found \"x\""),
    ] {
        let bytes = table(vec![("src", src), ("dst", ok()), ("weight", weight)]);
        match read(&bytes, &weighted(Format::Parquet)) {
            Err(Error::Syntax { place, what: found, .. }) => {
                assert_eq!(place, Place::Row(row), "{found}");
                assert!(found.contains(what), "{found:?} does not contain {what:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    let two = table(vec![("src", ok()), ("dst", ok())]);
    assert!(read(&two, &weighted(Format::Parquet)).is_err());
    let none = table(vec![("src", integers(&[])), ("dst", integers(&[]))]);
    let error = read(&none, &ReadOptions::new(Format::Parquet)).unwrap_err();
    assert!(matches!(error, Error::NoEdges), "{error}");
}

#[test]
fn damaged_files_are_errors() {
    let ids: Vec<i64> = (0..200).collect();
    let whole = table(vec![("src", integers(&ids)), ("dst", integers(&ids))]);
    let options = ReadOptions::new(Format::Parquet);
    for len in 0..whole.len() {
        assert!(read(&whole[..len], &options).is_err(), "cut at {len}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        // Parquet checks few of its bytes: a changed one may give other ids, but never a panic.
        let _ =
            (read(&damaged, &options), probe_parquet(file_of(&damaged), &InputChoices::default()));
    }
}

/// Numbers that a column of text holds are weights; what holds none is refused with its first row.
#[test]
fn a_column_called_weight_is_read_or_refused() {
    let texts =
        |texts: &[Option<&str>]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    let truths: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let nulls: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::NAN]));
    for (weights, expected) in [
        (texts(&[Some("1.5"), Some("2")]), Ok(vec![1.5, 2.0])),
        (texts(&[Some("1.5"), Some("1,5")]), Err((Place::Row(2), "decimal comma"))),
        (texts(&[Some("1.5"), None]), Err((Place::Row(2), "--unweighted"))),
        (texts(&[Some("unknown"), None]), Err((Place::Row(2), "weight is null"))),
        (truths, Err((Place::Row(1), "true in a column of Boolean"))),
        (nulls, Err((Place::Row(1), "the weight is null"))),
    ] {
        let bytes = table(vec![
            ("source", integers(&[1, 2])),
            ("target", integers(&[7, 8])),
            ("weight", weights),
        ]);
        let guess = probe_parquet(file_of(&bytes), &InputChoices::default()).unwrap();
        assert_eq!((guess.weight, guess.weighted), (Some(2), Some(true)));
        match (read(&bytes, &ReadOptions { weighted: true, ..guess.options() }), expected) {
            (Ok(graph), Ok(weights)) => assert_eq!(graph.weights, weights),
            (Err(Error::Syntax { place, what, hint }), Err((row, word))) => {
                let text = format!("{what}; {}", hint.unwrap_or_default());
                assert!(place == row && text.contains(word), "{place}{text}");
            }
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    }
}
