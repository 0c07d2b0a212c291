//! Row groups that are encoded one by one make files that are read as any other.

use std::fs::File;
use std::io::Write;

use everedge_io::{
    Column, ColumnKind, ColumnValues, Columns, Error, Format, GroupEncoder, IdKind, Ids,
    NumberEncoding, ReadOptions, TextIds, read_parquet, read_parquet_ids, read_parquet_weights,
};

fn file_of(encoder: &GroupEncoder, groups: Vec<Vec<ColumnValues>>) -> File {
    let mut file = tempfile::tempfile().unwrap();
    let mut out = encoder.start(&mut file).unwrap();
    for group in groups {
        out.append(encoder.encode(group).unwrap()).unwrap();
    }
    out.finish().unwrap().flush().unwrap();
    file
}

fn texts(texts: &[&str]) -> TextIds {
    let mut ids = TextIds::default();
    texts.iter().for_each(|text| ids.push(text));
    ids
}

#[test]
fn groups_are_read_in_their_order() {
    let columns =
        [("src", ColumnKind::Int32), ("dst", ColumnKind::Int32), ("w", ColumnKind::Float32)];
    for numbers in [NumberEncoding::Differences, NumberEncoding::Plain] {
        let encoder = GroupEncoder::new(&columns, numbers, &[("key", "value")]).unwrap();
        let group = |from: i32| {
            let src: Vec<i32> = (from..from + 1000).collect();
            let dst = src.iter().map(|v| v * 7 % 1009).collect();
            let weights = src.iter().map(|&v| v as f32 / 4.0).collect();
            let ends = [src, dst].map(ColumnValues::Int32);
            ends.into_iter().chain([ColumnValues::Float32(weights)]).collect()
        };
        let file = file_of(&encoder, vec![group(0), group(1000)]);
        let [src, dst, weight] = ["src", "dst", "w"].map(|name| Column::Name(name.to_owned()));
        let options = ReadOptions {
            weighted: true,
            columns: Columns { src, dst, weight },
            ..ReadOptions::new(Format::Parquet)
        };
        let mut read = Vec::new();
        let summary = read_parquet(file.try_clone().unwrap(), &options, |chunk| {
            let (Ids::Dense(src), Ids::Dense(dst)) = (chunk.src, chunk.dst) else { panic!() };
            read.extend(src.into_iter().zip(dst).zip(chunk.weights.unwrap()));
            Ok::<(), Error>(())
        });
        assert_eq!(summary.unwrap().edges, 2000);
        let expected = (0..2000).map(|v| ((v, v * 7 % 1009), v as f32 / 4.0));
        assert!(read.into_iter().eq(expected), "{numbers:?}");
        let weights = read_parquet_weights(file, "w", &options).unwrap();
        assert!(weights.into_iter().eq((0..2000).map(|v| v as f32 / 4.0)));
    }
}

#[test]
fn ids_of_every_kind_are_read_back() {
    let ids = |kind, values: ColumnValues, read_as| {
        let encoder = GroupEncoder::new(&[("id", kind)], NumberEncoding::Differences, &[]).unwrap();
        let file = file_of(&encoder, vec![vec![values.clone()], vec![values]]);
        let mut all = Vec::new();
        let read = read_parquet_ids(file, "id", read_as, |ids| {
            all.push(ids);
            Ok::<(), Error>(())
        });
        assert_eq!(read.unwrap().edges, 6);
        all
    };
    let large = ids(ColumnKind::UInt64, ColumnValues::UInt64(vec![1, 2, u64::MAX]), IdKind::Sparse);
    assert_eq!(large, [Ids::Sparse(vec![1, 2, u64::MAX, 1, 2, u64::MAX])]);
    let signed = ids(ColumnKind::Int64, ColumnValues::Int64(vec![1, 2, 3]), IdKind::Dense);
    assert_eq!(signed, [Ids::Dense(vec![1, 2, 3, 1, 2, 3])]);
    // Words that are nulls elsewhere are names here.
    let names = texts(&["NULL", "007", "é"]);
    let text = ids(ColumnKind::Text, ColumnValues::Text(names), IdKind::Text);
    assert_eq!(text, [Ids::Text(texts(&["NULL", "007", "é", "NULL", "007", "é"]))]);
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let encoder = GroupEncoder::new(&[("id", ColumnKind::Int32)], NumberEncoding::Plain, &[]);
    let file = file_of(&encoder.unwrap(), vec![vec![ColumnValues::Int32(vec![1])]]);
    let options = ReadOptions::new(Format::Parquet);
    let error = read_parquet_weights(file, "weight", &options).unwrap_err().to_string();
    assert!(error.contains("no column \"weight\""), "{error}");
}

#[test]
fn other_values_than_were_declared_are_refused() {
    let encoder = GroupEncoder::new(&[("id", ColumnKind::Int32)], NumberEncoding::Plain, &[]);
    let encoder = encoder.unwrap();
    assert!(encoder.encode(vec![ColumnValues::Text(texts(&["a"]))]).is_err());
}
