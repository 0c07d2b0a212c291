//! What is written is read back: every format, id kind and compression.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

use everedge_io::{
    Compression, EdgeWriter, Error, Format, Id, IdKind, InputChoices, ReadOptions, WriteOptions,
    decompress, probe,
};
use proptest::prelude::*;

use crate::{parquet, support};

/// An edge as a test makes it: numbers, from which ids of each kind are made.
type Row = (u32, u32, u8);

const VERTEX_BOUND: u32 = 40;

fn is_declaring(format: Format) -> bool {
    matches!(format, Format::MatrixMarket | Format::Metis)
}

/// Returns the id that stands for a number: text with marks that only some formats can hold.
fn id_text(number: u32, options: &WriteOptions) -> String {
    use Format::{Csv, JsonLines, Parquet, Tsv};
    let is_table = matches!(options.format, Csv | Tsv | JsonLines | Parquet);
    match options.ids {
        IdKind::Dense => number.to_string(),
        IdKind::Sparse if options.format == Format::Binary => number.to_string(),
        IdKind::Sparse if is_declaring(options.format) => number.to_string(),
        IdKind::Sparse => (u64::from(number) << 40).to_string(),
        IdKind::Text if is_table => format!("v, \"{number}\"\n\té"),
        IdKind::Text => format!("v\"{number},é"),
    }
}

fn write(rows: &[Row], options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let mut writer = EdgeWriter::new(Vec::new(), options.clone())?;
    for &(src, dst, weight) in rows {
        let (src, dst) = (id_text(src, options), id_text(dst, options));
        let id = |text| match options.ids {
            IdKind::Text => Id::Text(text),
            _ => Id::Number(text.parse().unwrap()),
        };
        writer.write(id(&src), id(&dst), weight_of(weight, options.format))?;
    }
    writer.finish()
}

/// Returns a weight that the format can hold.
fn weight_of(weight: u8, format: Format) -> f32 {
    let weight = f32::from(weight);
    if format == Format::Metis { weight + 1.0 } else { (weight - 100.0) / 7.0 }
}

fn compress(bytes: &[u8], magic: usize) -> Vec<u8> {
    match magic {
        0 => bytes.to_vec(),
        1 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        2 => zstd::encode_all(bytes, 1).unwrap(),
        more => {
            let compression = [Compression::Bzip2, Compression::Xz][more - 3];
            let mut encoder = everedge_io::compress(Vec::new(), compression).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

fn read_options(format: Format, ids: IdKind, weighted: bool) -> ReadOptions {
    ReadOptions { ids, weighted, ..ReadOptions::new(format) }
}

fn read(bytes: &[u8], options: &WriteOptions) -> support::Graph {
    let WriteOptions { format, ids, weighted, .. } = *options;
    let read_options = read_options(format, ids, weighted);
    if format == Format::Parquet {
        return parquet::read(bytes, &read_options).unwrap();
    }
    let mut text = Vec::new();
    decompress(bytes).unwrap().read_to_end(&mut text).unwrap();
    support::read(&text, &read_options).unwrap()
}

/// Returns the rows as [`GraphView::for_each_edge`] shows an undirected graph: from each end, in
/// ascending order of sources.
fn both_ends(rows: &[Row]) -> Vec<Row> {
    let once: BTreeMap<_, _> =
        rows.iter().map(|&(src, dst, weight)| ((src.min(dst), src.max(dst)), weight)).collect();
    let ends = once.iter().flat_map(|(&(low, high), &weight)| {
        [(low, high, weight), (high, low, weight)].into_iter().collect::<BTreeSet<_>>()
    });
    ends.collect::<BTreeSet<_>>().into_iter().collect()
}

fn check(rows: &[Row], options: &WriteOptions, compression: usize) {
    let bytes = match write(rows, options) {
        Ok(bytes) => compress(&bytes, compression),
        Err(Error::Unsupported { .. }) => return,
        Err(error) => panic!("{options:?}: {error}"),
    };
    let graph = read(&bytes, options);
    let kept = rows.iter().filter(|(src, dst, _)| {
        // The kept end is the first in the order of ids, which for text is not that of numbers.
        let is_ordered = match options.ids {
            IdKind::Text => id_text(*src, options) <= id_text(*dst, options),
            _ => src <= dst,
        };
        options.directed || is_ordered
    });
    let mut expected: Vec<_> = kept
        .map(|&(src, dst, weight)| {
            let ends = (id_text(src, options), id_text(dst, options));
            let is_lower = options.format == Format::MatrixMarket && !options.directed;
            let (src, dst) = if is_lower { (ends.1, ends.0) } else { ends };
            let weight = if options.weighted { weight_of(weight, options.format) } else { 0.0 };
            ((src, dst), weight.to_bits())
        })
        .collect();
    let weights = if options.weighted { graph.weights } else { vec![0.0; graph.edges.len()] };
    let weights = weights.into_iter().map(f32::to_bits);
    let mut found: Vec<_> = graph.edges.into_iter().zip(weights).collect();
    if options.format == Format::Metis {
        expected.sort();
        found.sort();
    }
    assert_eq!(found, expected, "{options:?}");
    if is_declaring(options.format) {
        assert_eq!(graph.summary.vertices, Some(VERTEX_BOUND - 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_is_written_is_read_back(
        rows in prop::collection::vec((1..VERTEX_BOUND, 1..VERTEX_BOUND, 0..200_u8), 1..200),
    ) {
        for (format, directed) in Format::ALL.into_iter().flat_map(|f| [(f, true), (f, false)]) {
            for (ids, weighted) in [IdKind::Dense, IdKind::Sparse, IdKind::Text]
                .into_iter()
                .flat_map(|ids| [(ids, false), (ids, true)])
            {
                let mut rows = if directed { rows.clone() } else { both_ends(&rows) };
                if format == Format::Metis {
                    rows.retain(|(src, dst, _)| src != dst);
                    rows.sort();
                }
                let edge_count = rows.iter().filter(|(src, dst, _)| directed || src <= dst).count();
                if edge_count == 0 {
                    continue;
                }
                let (vertex_bound, edge_count) = (VERTEX_BOUND, edge_count as u64);
                let options = WriteOptions {
                    format, ids, directed, weighted, vertex_bound, edge_count, id_shift: 0,
                };
                for compression in 0..if format == Format::Parquet { 1 } else { 5 } {
                    check(&rows, &options, compression);
                }
            }
        }
    }
}

fn options(format: Format) -> WriteOptions {
    WriteOptions {
        format,
        ids: IdKind::Dense,
        directed: format != Format::Metis,
        weighted: false,
        vertex_bound: 3,
        edge_count: 1,
        id_shift: 0,
    }
}

fn write_one(
    options: WriteOptions,
    src: Id<'_>,
    dst: Id<'_>,
    weight: f32,
) -> Result<String, Error> {
    let mut writer = EdgeWriter::new(Vec::new(), options.clone())?;
    writer.write(src, dst, weight)?;
    if options.format == Format::Metis {
        writer.write(dst, src, weight)?;
    }
    Ok(String::from_utf8(writer.finish()?).unwrap())
}

#[test]
fn a_shift_lets_vertex_0_into_formats_that_count_from_1() {
    let (zero, one) = (Id::Number(0), Id::Number(1));
    for (format, expected) in [
        (Format::MatrixMarket, "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n"),
        (Format::Metis, "3 1\n2\n1\n\n"),
    ] {
        assert!(write_one(options(format), zero, one, 1.0).is_err());
        let shifted = WriteOptions { id_shift: 1, ..options(format) };
        assert_eq!(write_one(shifted, zero, one, 1.0).unwrap(), expected);
    }
}

/// Text ids that look like names, separators or values of another format, read without options.
#[test]
fn what_is_written_is_guessed_to_be_the_same_graph() {
    let odd =
        ["src", "dst", "weight", "user", "item", "id", "a,b", "c;d", "e|f", "p", "sp", "{", "NA"];
    for (format, name) in [
        (Format::EdgeList, "x.txt"),
        (Format::Csv, "x.csv"),
        (Format::Tsv, "x.tsv"),
        (Format::JsonLines, "x"),
    ] {
        for weighted in [false, true] {
            for (src, dst) in odd.iter().flat_map(|src| odd.map(|dst| (*src, dst))) {
                let edges = [(src, dst), ("x", "y"), ("z", "src")];
                let options = WriteOptions { ids: IdKind::Text, weighted, ..options(format) };
                let mut writer = EdgeWriter::new(Vec::new(), options).unwrap();
                let written = edges
                    .iter()
                    .try_for_each(|(src, dst)| writer.write(Id::Text(src), Id::Text(dst), 0.5));
                if format == Format::EdgeList && [src, dst].contains(&"NA") {
                    assert!(matches!(written, Err(Error::Unwritable { .. })));
                    continue;
                }
                written.unwrap();
                let bytes = writer.finish().unwrap();
                let guess = probe(name, &bytes, &InputChoices::default()).unwrap();
                let graph = support::read(&bytes, &guess.options()).unwrap();
                let expected = edges.map(|(src, dst)| (src.to_owned(), dst.to_owned()));
                assert_eq!(graph.edges, expected, "{format} {src} {dst}");
                assert_eq!(guess.weighted, weighted.then_some(true), "{format} {src} {dst}");
            }
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let (one, two) = (Id::Number(1), Id::Number(2));
    let text = |format| WriteOptions { ids: IdKind::Text, ..options(format) };
    let weighted = |format| WriteOptions { weighted: true, ..options(format) };
    for (options, src, dst, weight) in [
        (options(Format::EdgeList), one, Id::Number(3), 1.0),
        (options(Format::EdgeList), one, Id::Text("a"), 1.0),
        (text(Format::EdgeList), Id::Text("a b"), Id::Text("c"), 1.0),
        (text(Format::EdgeList), Id::Text("#a"), Id::Text("c"), 1.0),
        (text(Format::EdgeList), Id::Text("//a"), Id::Text("c"), 1.0),
        (text(Format::EdgeList), Id::Text("a"), Id::Text("NULL"), 1.0),
        (text(Format::Graphalytics), Id::Text(""), Id::Text("c"), 1.0),
        (weighted(Format::Csv), one, two, f32::INFINITY),
        (weighted(Format::Binary), one, two, 1.0),
        (weighted(Format::Metis), one, two, 0.5),
        (options(Format::Metis), one, one, 1.0),
        (options(Format::Dimacs), one, two, 1.0),
        (WriteOptions { directed: true, ..options(Format::Metis) }, one, two, 1.0),
        (WriteOptions { edge_count: 2, ..options(Format::MatrixMarket) }, one, two, 1.0),
        (WriteOptions { edge_count: 2, ..options(Format::Metis) }, one, two, 1.0),
    ] {
        let result = write_one(options.clone(), src, dst, weight);
        let is_refused =
            matches!(result, Err(Error::Unsupported { .. } | Error::Unwritable { .. }));
        assert!(is_refused, "{options:?} gave {result:?}");
    }
}
