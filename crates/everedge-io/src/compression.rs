//! Compressed input, recognised by its first bytes, and output, as a file's name says.
//!
//! gzip (RFC 1952, any number of members), Zstandard (RFC 8878, any number of frames), bzip2 and xz
//! (any number of streams). A window of Zstandard or a dictionary of xz takes at most 512 MiB, as
//! `zstd --ultra --long=29` and eight times what `xz -9` asks for: a short file could ask for 4 GiB.

use std::fmt;
use std::io::{self, BufReader, Chain, Cursor, Read, Write};

use bzip2::bufread::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzReader, XzWriter};

use crate::xz_dictionaries::Dictionaries;
use crate::{Error, Place};

/// The largest window or dictionary that data may ask for, as a power of two.
const WINDOW_LOG_MAX: u32 = 29;
/// What Zstandard says of a larger window.
const ZSTD_TOO_LARGE: &str = "requires too much memory";

/// The third byte is the only method there is.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BZIP2_MAGIC: [u8; 3] = *b"BZh";
const XZ_MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
/// The length of the longest of them.
const MAGIC_BYTES: usize = XZ_MAGIC.len();
/// The level of xz at which it compresses by default.
const XZ_LEVEL: u32 = 6;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Compression {
    /// Returns whether a file that starts with these bytes may be a compressed one.
    fn is_possible(head: &[u8]) -> bool {
        let magics: [&[u8]; 4] = [&GZIP_MAGIC, &ZSTD_MAGIC, &BZIP2_MAGIC, &XZ_MAGIC];
        magics.iter().any(|magic| {
            let shorter = magic.len().min(head.len());
            magic[..shorter] == head[..shorter]
        })
    }

    /// Recognises a compression by the first six or more bytes of a file.
    pub fn of(head: &[u8]) -> Self {
        if head.starts_with(&GZIP_MAGIC) {
            Compression::Gzip
        } else if head.starts_with(&ZSTD_MAGIC) {
            Compression::Zstd
        } else if head.starts_with(&BZIP2_MAGIC) && head.get(3).is_some_and(u8::is_ascii_digit) {
            Compression::Bzip2
        } else if head.starts_with(&XZ_MAGIC) {
            Compression::Xz
        } else {
            Compression::None
        }
    }

    /// Splits a file's name into the compression that its ending says and the name without it.
    ///
    /// # Example
    /// ```
    /// use everedge_io::Compression;
    /// assert_eq!(Compression::of_name("deps.csv.zst"), (Compression::Zstd, "deps.csv"));
    /// ```
    pub fn of_name(name: &str) -> (Self, &str) {
        const ENDINGS: [(&str, Compression); 4] = [
            (".gz", Compression::Gzip),
            (".zst", Compression::Zstd),
            (".bz2", Compression::Bzip2),
            (".xz", Compression::Xz),
        ];
        let found =
            ENDINGS.iter().find_map(|(end, kind)| name.strip_suffix(end).map(|stem| (*kind, stem)));
        found.unwrap_or((Compression::None, name))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "Zstandard",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        })
    }
}

/// Reads the first bytes of `input` and returns a reader of the decompressed whole.
///
/// It reads no more of them than tell that nothing is compressed: of a pipe they may be all that
/// comes for now.
///
/// # Errors
/// If reading fails. Reading from the result fails with [`Error::Truncated`],
/// [`Error::Damaged`], or [`Error::Syntax`] where the data asks for a window of over 512 MiB, inside the `io::Error`, from where `Error::from` takes it out.
///
/// # Example
/// ```
/// use std::io::Read;
/// let mut text = String::new();
/// everedge_io::decompress(&b"0 1\n"[..])?.read_to_string(&mut text)?;
/// assert_eq!(text, "0 1\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn decompress<R: Read>(mut input: R) -> io::Result<Decompress<R>> {
    let head = read_magic(&mut input)?;
    let compression = Compression::of(&head);
    decompress_as(compression, head, input)
}

/// Like [`decompress`] for a file of this name: if it ends in `.bin`, nothing is compressed, since the
/// first pair of integers may look like anything.
///
/// # Errors
/// As [`decompress`].
pub fn decompress_file<R: Read>(name: &str, input: R) -> io::Result<Decompress<R>> {
    match name.len().checked_sub(4).and_then(|at| name.get(at..)) {
        Some(ending) if ending.eq_ignore_ascii_case(".bin") => {
            decompress_as(Compression::None, Vec::new(), input)
        }
        _ => decompress(input),
    }
}

/// Returns a reader of what `head` and the rest of the input hold, compressed like this.
fn decompress_as<R: Read>(
    compression: Compression,
    head: Vec<u8>,
    input: R,
) -> io::Result<Decompress<R>> {
    let input = Cursor::new(head).chain(input);
    let dictionaries = (compression == Compression::Xz).then(Dictionaries::new);
    let counted = Counted { input, bytes: 0, has_failed: false, dictionaries, asked: 0 };
    let whole = BufReader::with_capacity(1 << 16, counted);
    let decoder = match compression {
        Compression::None => Decoder::Plain(whole),
        Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(whole))),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(whole)?;
            decoder.window_log_max(WINDOW_LOG_MAX)?;
            Decoder::Zstd(decoder)
        }
        Compression::Bzip2 => Decoder::Bzip2(Box::new(MultiBzDecoder::new(whole))),
        Compression::Xz => Decoder::Xz(Box::new(XzReader::new(whole, true))),
    };
    Ok(Decompress { compression, decoder })
}

/// Reads until the bytes are those of a compressed file or cannot be.
fn read_magic(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(MAGIC_BYTES);
    let mut buffer = [0; MAGIC_BYTES];
    while head.len() < MAGIC_BYTES && Compression::is_possible(&head) {
        match input.read(&mut buffer[head.len()..]) {
            Ok(0) => break,
            Ok(count) => head.extend_from_slice(&buffer[head.len()..][..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(head)
}

/// A reader of decompressed bytes; [`decompress`] makes it.
pub struct Decompress<R: Read> {
    compression: Compression,
    decoder: Decoder<R>,
}

/// The whole input again, after its first bytes were looked at.
type Whole<R> = BufReader<Counted<Chain<Cursor<Vec<u8>>, R>>>;

enum Decoder<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(zstd::Decoder<'static, Whole<R>>),
    Bzip2(Box<MultiBzDecoder<Whole<R>>>),
    Xz(Box<XzReader<Whole<R>>>),
}

impl<R: Read> Decompress<R> {
    /// Returns how the input is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Says what an error of the decompressor means; one of the input itself stays as it is.
    fn explain(&self, error: io::Error) -> io::Error {
        let (compression, whole) = (self.compression, self.whole());
        let offset = whole.get_ref().bytes - whole.buffer().len() as u64;
        match error.kind() {
            _ if whole.get_ref().has_failed => error,
            kind if error.to_string().contains(ZSTD_TOO_LARGE) => {
                io::Error::new(kind, too_large(compression))
            }
            kind @ io::ErrorKind::UnexpectedEof => {
                io::Error::new(kind, Error::Truncated { compression, offset })
            }
            kind @ (io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::Other) => {
                let reason = error.to_string();
                io::Error::new(kind, Error::Damaged { compression, offset, reason })
            }
            _ => error,
        }
    }

    fn whole(&self) -> &Whole<R> {
        match &self.decoder {
            Decoder::Plain(whole) => whole,
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
            Decoder::Bzip2(decoder) => decoder.get_ref(),
            Decoder::Xz(decoder) => decoder.inner(),
        }
    }
}

impl<R: Read> fmt::Debug for Decompress<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompress").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl<R: Read> Read for Decompress<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.decoder {
            Decoder::Plain(whole) => whole.read(buffer),
            Decoder::Gzip(decoder) => decoder.read(buffer).map_err(|error| self.explain(error)),
            Decoder::Zstd(decoder) => decoder.read(buffer).map_err(|error| self.explain(error)),
            Decoder::Bzip2(decoder) => decoder.read(buffer).map_err(|error| self.explain(error)),
            Decoder::Xz(decoder) => decoder.read(buffer).map_err(|error| self.explain(error)),
        }
    }
}

/// Returns a writer that compresses into `output`, at the format's usual level.
///
/// # Errors
/// If the compressor has no memory.
///
/// # Example
/// ```
/// use std::io::{Read, Write};
/// let mut writer = everedge_io::compress(Vec::new(), everedge_io::Compression::Gzip)?;
/// writer.write_all(b"0 1\n")?;
/// let mut text = String::new();
/// everedge_io::decompress(&writer.finish()?[..])?.read_to_string(&mut text)?;
/// assert_eq!(text, "0 1\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn compress<W: Write>(output: W, compression: Compression) -> io::Result<Compress<W>> {
    Ok(Compress(match compression {
        Compression::None => Encoder::Plain(output),
        Compression::Gzip => Encoder::Gzip(GzEncoder::new(output, flate2::Compression::default())),
        Compression::Zstd => {
            Encoder::Zstd(zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?)
        }
        Compression::Bzip2 => Encoder::Bzip2(BzEncoder::new(output, bzip2::Compression::default())),
        Compression::Xz => {
            let writer = XzWriter::new(output, XzOptions::with_preset(XZ_LEVEL))?;
            Encoder::Xz(Box::new(writer))
        }
    }))
}

/// A writer of compressed bytes; [`compress`] makes it.
pub struct Compress<W: Write>(Encoder<W>);

enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
    Bzip2(BzEncoder<W>),
    Xz(Box<XzWriter<W>>),
}

impl<W: Write> Compress<W> {
    /// Writes what is left, and the end; returns what was written to.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Encoder::Plain(output) => Ok(output),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Bzip2(encoder) => encoder.finish(),
            Encoder::Xz(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Encoder::Plain(output) => output.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
            Encoder::Bzip2(encoder) => encoder.write(bytes),
            Encoder::Xz(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Encoder::Plain(output) => output.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
            Encoder::Bzip2(encoder) => encoder.flush(),
            Encoder::Xz(encoder) => encoder.flush(),
        }
    }
}

/// Returns the error of data that ask for more memory than is given.
fn too_large(compression: Compression) -> Error {
    let mib_max = (1_u64 << WINDOW_LOG_MAX) >> 20;
    let what = format!(
        "the {compression} data asks for more memory than the {mib_max} MiB that are given to it"
    );
    let hint = Some("compress it again with a smaller window or dictionary");
    Error::Syntax { place: Place::Whole, what, hint }
}

/// Counts the bytes that were read, and tells errors of the input from those of its contents.
struct Counted<R> {
    input: R,
    bytes: u64,
    has_failed: bool,
    /// What finds the dictionaries of xz.
    dictionaries: Option<Dictionaries>,
    /// The largest of them.
    asked: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A signal that came while it waited is no error, and no decompressor is asked to go on after one.
        let result = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.has_failed = result.is_err();
        let count = result?;
        self.bytes += count as u64;
        if let Some(dictionaries) = &mut self.dictionaries {
            self.asked = self.asked.max(dictionaries.look(&buffer[..count]));
            if self.asked > 1 << WINDOW_LOG_MAX {
                self.has_failed = true;
                let error = too_large(Compression::Xz);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        Ok(count)
    }
}
