use std::io::{Read, Write};

use everedge_io::{Compression, Error, compress, decompress};
use flate2::write::GzEncoder;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = compress(Vec::new(), Compression::Bzip2).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = compress(Vec::new(), Compression::Xz).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn text() -> Vec<u8> {
    (0..50_000_u32).flat_map(|i| format!("{i} {}\n", i.wrapping_mul(7919)).into_bytes()).collect()
}

fn read(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    decompress(bytes)?.read_to_end(&mut text)?;
    Ok(text)
}

#[test]
fn members_and_frames_are_read_one_after_the_other() {
    for compress in [gzip, zstd, bzip2, xz] {
        let (first, second) = (compress(b"0 1\n"), compress(b"1 2\n"));
        assert_eq!(read(&[first, second].concat()).unwrap(), b"0 1\n1 2\n");
    }
    for plain in [&b""[..], b"0", b"0 1\n"] {
        assert_eq!(read(plain).unwrap(), plain);
    }
}

#[test]
fn a_zstd_window_may_be_large() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(&text()).unwrap();
    assert_eq!(read(&encoder.finish().unwrap()).unwrap(), text());
}

#[test]
fn memory_that_short_data_asks_for_has_a_bound() {
    // A frame with a window of 2^log bytes and one empty block.
    let frame = |log: u8| [&b"\x28\xb5\x2f\xfd\0"[..], &[(log - 10) << 3, 1, 0, 0]].concat();
    assert_eq!(read(&frame(29)).unwrap(), b"");
    let mut large = xz(b"0 1\n");
    // The number of the filter, the length of its properties, and those: 4 GiB.
    let at = large.windows(2).position(|bytes| bytes == [0x21, 1]).unwrap();
    large[at + 2] = 40;
    let second = [xz(b"0 1\n"), large.clone()].concat();
    for (data, compression) in [(frame(30), "Zstandard"), (large, "xz"), (second, "xz")] {
        let error = read(&data).unwrap_err().to_string();
        assert!(error.contains("512 MiB") && error.contains(compression), "{error}");
    }
}

#[test]
fn data_that_is_cut_off_says_at_which_byte() {
    for (compression, whole) in [
        (Compression::Gzip, gzip(&text())),
        (Compression::Zstd, zstd(&text())),
        (Compression::Bzip2, bzip2(&text())),
        (Compression::Xz, xz(&text())),
    ] {
        assert_eq!(Compression::of(&whole), compression);
        for len in [6, 20, 1000, whole.len() / 2, whole.len() - 1] {
            match read(&whole[..len]) {
                Err(Error::Truncated { compression: found, offset }) => {
                    assert_eq!((found, offset), (compression, len as u64));
                }
                other => panic!("{compression} cut at {len} gave {:?}", other.map(|t| t.len())),
            }
        }
    }
}

#[test]
fn damaged_data_is_an_error() {
    let mut data = gzip(&text());
    let middle = data.len() / 2;
    data[middle..middle + 8].fill(0xff);
    let error = read(&data).unwrap_err();
    assert!(matches!(error, Error::Damaged { compression: Compression::Gzip, .. }), "{error}");
    let mut data = zstd(&text());
    // Past the byte that says how large the window is.
    data[6..14].fill(0xff);
    let error = read(&data).unwrap_err();
    assert!(matches!(error, Error::Damaged { compression: Compression::Zstd, .. }), "{error}");
}

/// An input whose disk fails after its first bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk failed")),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn an_error_of_the_input_is_passed_on() {
    for data in [gzip(&text()), zstd(&text()), bzip2(&text()), xz(&text())] {
        let mut input = decompress(Failing(&data[..1000])).unwrap();
        let error = Error::from(input.read_to_end(&mut Vec::new()).unwrap_err());
        assert!(matches!(&error, Error::Io(io) if io.to_string() == "the disk failed"), "{error}");
    }
}

/// Gives its pieces one by one, and fails when it is asked for more.
struct Pieces<'a>(Vec<&'a [u8]>);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let piece = self.0.remove(0);
        buffer[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

/// An input of few bytes at a time, each read of which a signal interrupts first.
struct Interrupted<'a> {
    left: &'a [u8],
    is_next: bool,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.is_next = !self.is_next;
        if self.is_next {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(7);
        self.left.read(&mut buffer[..len])
    }
}

#[test]
fn a_signal_ends_no_input() {
    let text = &text()[..20_000];
    for data in [text.to_vec(), gzip(text), zstd(text), bzip2(text), xz(text)] {
        let mut input = decompress(Interrupted { left: &data, is_next: false }).unwrap();
        let compression = input.compression();
        let mut read = Vec::new();
        let mut buffer = [0; 100];
        // One call at a time: whoever reads a text may not expect a signal.
        loop {
            match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => read.extend_from_slice(&buffer[..len]),
                Err(error) => panic!("{compression}: {error}"),
            }
        }
        assert!(read == text, "{compression}");
    }
}

#[test]
fn no_more_is_read_than_tells_that_nothing_is_compressed() {
    for plain in
        [&[&b"0 1\n"[..]][..], &[b"B", b"1\n"], &[b"\x1f", b"\x8b", b"\0\0"], &[b"\xfd7", b" 1"]]
    {
        let mut input = decompress(Pieces(plain.to_vec())).unwrap();
        assert_eq!(input.compression(), Compression::None, "{plain:?}");
        let mut first = [0; 8];
        assert!(input.read(&mut first).unwrap() > 0);
    }
    let whole = gzip(b"0 1\n");
    let (head, rest) = whole.split_at(2);
    let input = decompress(Pieces(vec![head, &rest[..4]])).unwrap();
    assert_eq!(input.compression(), Compression::Gzip);
}

#[test]
fn a_pair_of_integers_is_not_taken_for_gzip() {
    let pair: Vec<u8> = [35615_u32, 7].iter().flat_map(|id| id.to_le_bytes()).collect();
    assert_eq!(read(&pair).unwrap(), pair);
}
