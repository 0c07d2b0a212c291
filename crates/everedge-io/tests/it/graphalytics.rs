use everedge_io::{Error, Format, Id, IdKind, Place, ReadOptions, read_vertices, write_vertices};

use crate::support::{assert_refused, read, texts, weighted};

fn vertices(file: &[u8], ids: IdKind) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    let count = read_vertices(file, ids, |ids| {
        all.extend(texts(&ids));
        Ok::<(), Error>(())
    })?;
    assert_eq!(count, all.len() as u64);
    Ok(all)
}

#[test]
fn edges_have_two_or_three_columns() {
    let options = ReadOptions::new(Format::Graphalytics);
    assert_eq!(read(b"1 3 0.5\n1 5 0.3", &options).unwrap().numbers(), [(1, 3), (1, 5)]);
    assert_eq!(read(b"1 3\n", &options).unwrap().numbers(), [(1, 3)]);
    assert_eq!(read(b"1 3 .5\n", &weighted(Format::Graphalytics)).unwrap().weights, [0.5]);
    assert_refused(b"1 3\n1 2 3 4\n", &options, Place::Line(2), "expected 3 columns, found 4");
    assert_refused(b"# c\n", &options, Place::Line(1), "found \"#\"");
    assert_refused(b"1 3\n", &weighted(Format::Graphalytics), Place::Line(1), "no weight");
}

#[test]
fn vertices_are_an_id_a_line() {
    assert_eq!(vertices(b"2\r\n\n 7 \n9", IdKind::Dense).unwrap(), ["2", "7", "9"]);
    assert_eq!(vertices(b"a\nb", IdKind::Text).unwrap(), ["a", "b"]);
    assert_eq!(vertices(b"", IdKind::Dense).unwrap(), [""; 0]);
    for (file, line) in [(&b"1\nx\n"[..], 2), (b"1 2\n", 1), (b"1\n\n-3", 3), (b"1\0\n", 1)] {
        match vertices(file, IdKind::Dense) {
            Err(Error::Syntax { place, .. }) => assert_eq!(place, Place::Line(line)),
            other => panic!("{file:?} gave {other:?}"),
        }
    }
}

#[test]
fn written_vertices_are_read_back() {
    let mut file = Vec::new();
    write_vertices(&mut file, [3, 5, u64::MAX].map(Id::Number)).unwrap();
    assert_eq!(vertices(&file, IdKind::Sparse).unwrap(), ["3", "5", "18446744073709551615"]);
    assert!(write_vertices(Vec::new(), [Id::Text("two words")]).is_err());
}

#[test]
fn a_vertex_file_has_no_edges() {
    let error = read(b"1\n", &ReadOptions::new(Format::GraphalyticsVertices)).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}
