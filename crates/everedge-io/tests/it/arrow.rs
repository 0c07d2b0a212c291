use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType, Float16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Float16Array, Float32Array, Float64Array,
    Int8Array, Int32Array, Int64Array, NullArray, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray, UInt8Array, UInt16Array, UInt32Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::DataType;
use everedge_io::{Column, Error, Format, IdKind, InputChoices, Place, ReadOptions, probe_arrow};

use crate::support::{assert_refused, read, weighted};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn numbers(ids: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(ids.to_vec()))
}

fn weighted_batch() -> RecordBatch {
    let weights: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -1.0]));
    batch(vec![("weight", weights), ("to", numbers(&[7, 8])), ("from", numbers(&[1, 2]))])
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn streams_and_files_of_any_compression_read_alike() {
    let batches = [weighted_batch(), weighted_batch()];
    for bytes in [
        stream(&batches),
        file(&batches, None),
        file(&batches, Some(CompressionType::LZ4_FRAME)),
        file(&batches, Some(CompressionType::ZSTD)),
    ] {
        let guess = probe_arrow(&bytes[..], &InputChoices::default()).unwrap();
        assert_eq!((guess.src, guess.dst, guess.weight), (2, 1, Some(0)));
        assert_eq!((guess.ids, guess.weighted), (IdKind::Dense, Some(true)));
        let graph = read(&bytes, &ReadOptions { weighted: true, ..guess.options() }).unwrap();
        assert_eq!(graph.numbers(), [(1, 7), (2, 8), (1, 7), (2, 8)]);
        assert_eq!(graph.weights, [0.5, -1.0, 0.5, -1.0]);
    }
}

#[test]
fn what_a_column_says_is_kept() {
    let codes: DictionaryArray<Int32Type> = ["001", "x", "001"].into_iter().collect();
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["1", "2", "null"]));
    let bytes = stream(&[batch(vec![("src", Arc::new(codes)), ("dst", texts)])]);
    let guess = probe_arrow(&bytes[..], &InputChoices::default()).unwrap();
    assert_eq!(guess.ids, IdKind::Text);
    let edges = read(&bytes, &guess.options()).unwrap().edges;
    let expected = [("001", "1"), ("x", "2"), ("001", "null")];
    assert_eq!(edges, expected.map(|(src, dst)| (src.to_owned(), dst.to_owned())));
    let integers = ReadOptions { ids: IdKind::Sparse, ..guess.options() };
    assert_refused(&bytes, &integers, Place::Row(1), "leading zeros");
}

/// Integers by dictionary.
fn coded<K: ArrowDictionaryKeyType>(keys: PrimitiveArray<K>, values: &[i64]) -> ArrayRef {
    Arc::new(DictionaryArray::new(keys, numbers(values)))
}

#[test]
fn integers_of_every_width_are_ids_and_weights() {
    let columns: [ArrayRef; 5] = [
        Arc::new(Int8Array::from(vec![3, 1])),
        Arc::new(UInt16Array::from(vec![3, 1])),
        Arc::new(UInt32Array::from(vec![3, 1])),
        coded(UInt8Array::from(vec![1, 0]), &[1, 3]),
        coded(Int32Array::from(vec![0, 2]), &[3, 9, 1]),
    ];
    for src in columns {
        let weight = if src.data_type().is_numeric() { Arc::clone(&src) } else { numbers(&[3, 1]) };
        let bytes = stream(&[batch(vec![("src", src), ("dst", numbers(&[5, 6])), ("w", weight)])]);
        let guess = probe_arrow(&bytes[..], &InputChoices::default()).unwrap();
        assert_eq!(guess.ids, IdKind::Dense);
        let graph = read(&bytes, &weighted(Format::Arrow)).unwrap();
        assert_eq!((graph.numbers(), graph.weights), (vec![(3, 5), (1, 6)], vec![3.0, 1.0]));
    }
}

/// Data that do not keep to their type: Arrow's own checks take them.
#[test]
fn decimals_of_more_digits_than_their_type_are_read_in_full() {
    for (digits, precision, scale, expected) in
        [(123_456, 3, 0, 123_456.0), (1_234_567, 1, 5, 12.345_67), (-5, 9, -2, -500.0)]
    {
        let kind = DataType::Decimal128(precision, scale);
        let weight: ArrayRef = Arc::new(Decimal128Array::from(vec![digits]).with_data_type(kind));
        let bytes =
            stream(&[batch(vec![("src", numbers(&[1])), ("dst", numbers(&[2])), ("w", weight)])]);
        let options = ReadOptions { round_weights: true, ..weighted(Format::Arrow) };
        assert_eq!(read(&bytes, &options).unwrap().weights, [expected as f32]);
    }
}

/// The decoder takes as much memory as a buffer says that it needs.
#[test]
fn a_compressed_buffer_cannot_ask_for_any_memory() {
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let ends = numbers(&[7; 1000]);
        let batches = [batch(vec![("src", ends.clone()), ("dst", ends)])];
        let mut bytes = file(&batches, Some(compression));
        let length = 8000_i64.to_le_bytes();
        let at = bytes.windows(8).position(|bytes| bytes == length).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1_i64 << 60).to_le_bytes());
        let words = "longer than it can be";
        assert_refused(&bytes, &ReadOptions::new(Format::Arrow), Place::Whole, words);
        let probed = probe_arrow(&bytes[..], &InputChoices::default());
        assert!(probed.unwrap_err().to_string().contains(words));
    }
}

/// Nulls take no bytes, so a short file can hold any number of them.
#[test]
fn columns_of_nulls_alone_are_no_ids() {
    let nulls = || -> ArrayRef { Arc::new(NullArray::new(1 << 60)) };
    let bytes = stream(&[batch(vec![("src", nulls()), ("dst", nulls())])]);
    for skip_nulls in [false, true] {
        let options = ReadOptions { skip_nulls, ..ReadOptions::new(Format::Arrow) };
        assert_refused(&bytes, &options, Place::Row(1), "neither integers nor text");
    }
}

#[test]
fn a_null_by_dictionary_is_a_null() {
    let src = coded(Int32Array::from(vec![Some(0), None]), &[3]);
    let bytes = stream(&[batch(vec![("src", src), ("dst", numbers(&[5, 6]))])]);
    let skipping = ReadOptions { skip_nulls: true, ..ReadOptions::new(Format::Arrow) };
    assert_eq!(read(&bytes, &skipping).unwrap().numbers(), [(3, 5)]);
    assert_refused(&bytes, &ReadOptions::new(Format::Arrow), Place::Row(2), "null");
}

#[test]
fn fractions_of_every_type_are_weights() {
    let halves = [0.5, -1.25].map(<Float16Type as ArrowPrimitiveType>::Native::from_f32);
    let cents = Decimal128Array::from(vec![50, -125]).with_precision_and_scale(9, 2).unwrap();
    let columns: [ArrayRef; 3] = [
        Arc::new(Float16Array::from(halves.to_vec())),
        Arc::new(Float32Array::from(vec![0.5, -1.25])),
        Arc::new(cents),
    ];
    for weight in columns {
        let ends = numbers(&[1, 2]);
        let bytes = stream(&[batch(vec![("src", ends.clone()), ("dst", ends), ("w", weight)])]);
        let graph = read(&bytes, &weighted(Format::Arrow)).unwrap();
        assert_eq!(graph.weights, [0.5, -1.25]);
    }
    let tenths = Decimal128Array::from(vec![1, 7]).with_precision_and_scale(9, 1).unwrap();
    let ends = numbers(&[1, 2]);
    let columns = vec![("src", ends.clone()), ("dst", ends), ("w", Arc::new(tenths) as ArrayRef)];
    assert_eq!(
        read(&stream(&[batch(columns)]), &weighted(Format::Arrow)).unwrap().weights,
        [0.1, 0.7]
    );
}

#[test]
fn nulls_are_refused_or_left_out() {
    let null: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(-4)]));
    let bytes = stream(&[batch(vec![("src", null), ("dst", numbers(&[5, 6, 7, 8]))])]);
    let options = ReadOptions::new(Format::Arrow);
    assert_refused(&bytes, &options, Place::Row(2), "--skip-nulls");
    let skipping = ReadOptions { skip_nulls: true, ..options };
    assert_refused(&bytes, &skipping, Place::Row(4), "negative");
    let texts = ReadOptions { ids: IdKind::Text, ..skipping };
    let graph = read(&bytes, &texts).unwrap();
    assert_eq!((graph.edges.len(), graph.summary.skipped), (3, 1));
    assert_eq!(graph.edges[2], ("-4".to_owned(), "8".to_owned()));
}

#[test]
fn weights_that_32_bits_change_are_refused() {
    let times: ArrayRef = numbers(&[1_082_040_961, 2]);
    let columns = vec![("src", numbers(&[1, 2])), ("dst", numbers(&[2, 3])), ("w", times)];
    let bytes = stream(&[batch(columns)]);
    assert_refused(&bytes, &weighted(Format::Arrow), Place::Row(1), "--round-weights");
    let missing = InputChoices { src: Some(Column::Name("who".into())), ..Default::default() };
    let error = probe_arrow(&bytes[..], &missing).unwrap_err();
    assert!(error.to_string().contains("no column \"who\""), "{error}");
}

#[test]
fn damaged_data_are_errors() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let columns = vec![("src", numbers(&[1, 2])), ("dst", numbers(&[2, 3])), ("note", texts)];
    let batches = [batch(columns)];
    for whole in [stream(&batches), file(&batches, Some(CompressionType::ZSTD))] {
        let options = ReadOptions::new(Format::Arrow);
        let is_file = whole.starts_with(b"ARROW1");
        assert_eq!(read(&whole, &options).unwrap().edges.len(), 2);
        for len in 0..whole.len() {
            let cut = read(&whole[..len], &options);
            // A stream may end without its end mark.
            assert!(cut.is_err() || (!is_file && len >= whole.len() - 8), "cut at {len}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            // Arrow has no checksums: a changed byte may give other ids, but never a panic.
            let _ = (read(&damaged, &options), probe_arrow(&damaged[..], &InputChoices::default()));
        }
    }
    let error = read(b"", &ReadOptions::new(Format::Arrow)).unwrap_err();
    assert!(matches!(error, Error::Syntax { place: Place::Whole, .. }), "{error}");
}

#[test]
fn a_file_whose_schema_has_no_message_is_refused_with_the_way_out() {
    let columns = vec![("src", numbers(&[1, 2])), ("dst", numbers(&[2, 3]))];
    let mut bytes = file(&[batch(columns)], None);
    let start = bytes.windows(4).position(|word| word == [0xff; 4]).unwrap();
    bytes.drain(start..start + 8);
    let error = read(&bytes, &ReadOptions::new(Format::Arrow)).unwrap_err();
    assert!(error.to_string().contains("at its end only"), "{error}");
    let Error::Syntax { hint: Some(hint), .. } = error else { panic!("{error}") };
    assert!(hint.contains("write_ipc_stream"), "{hint}");
}

/// Gives its pieces one by one and pauses after each.
struct Pausing(Vec<Vec<u8>>, bool);

impl std::io::Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 && !self.0.is_empty() {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let Some(piece) = self.0.first_mut() else { return Ok(0) };
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        piece.drain(..count);
        if piece.is_empty() {
            self.0.remove(0);
        } else {
            self.1 = false;
        }
        Ok(count)
    }
}

#[test]
fn whole_batches_before_a_pause_are_handed_on() {
    let whole = stream(&[weighted_batch(), weighted_batch(), weighted_batch()]);
    let one = stream(&[weighted_batch()]).len() - 8;
    let pieces =
        vec![whole[..one].to_vec(), whole[one..one + 9].to_vec(), whole[one + 9..].to_vec()];
    let options = probe_arrow(&whole[..], &InputChoices::default()).unwrap().options();
    let mut seen = Vec::new();
    everedge_io::read_edges(Pausing(pieces, false), &options, |chunk| {
        seen.push((chunk.src.len(), chunk.is_pause));
        Ok::<(), Error>(())
    })
    .unwrap();
    let edges: usize = seen.iter().map(|(edges, _)| edges).sum();
    assert_eq!(edges, 6);
    assert_eq!(seen[..2], [(2, false), (0, true)], "{seen:?}");
}
