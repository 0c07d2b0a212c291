use everedge_io::{Error, Format, IdKind, Place, ReadOptions};

use crate::support::{assert_refused, read, weighted};

fn pairs(ids: &[u32]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

#[test]
fn pairs_are_little_endian() {
    for ids in [IdKind::Dense, IdKind::Sparse, IdKind::Text] {
        let options = ReadOptions { ids, ..ReadOptions::new(Format::Binary) };
        let graph = read(&pairs(&[1, 2, 2, 0x7fff_ffff]), &options).unwrap();
        assert_eq!(graph.numbers(), [(1, 2), (2, 0x7fff_ffff)]);
    }
}

#[test]
fn hostile_bytes_are_refused_where_they_are() {
    let options = ReadOptions::new(Format::Binary);
    let mut cut_off = pairs(&[1, 2, 3, 4]);
    cut_off.truncate(13);
    assert_refused(&cut_off, &options, Place::Offset(8), "5 bytes are left over");
    assert_refused(&pairs(&[1, 2, 3, 1 << 31]), &options, Place::Offset(8), "not below 2^31");
    let mut late = pairs(&[1, 2]).repeat(1 << 18);
    late.extend(pairs(&[u32::MAX, 0]));
    assert_refused(&late, &options, Place::Offset(8 << 18), "not below 2^31");
    let error = read(b"", &options).unwrap_err();
    assert!(matches!(error, Error::NoEdges), "{error}");
    assert_refused(&pairs(&[1, 2]), &weighted(Format::Binary), Place::Offset(0), "no weights");
}
