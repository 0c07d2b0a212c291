//! A stream of bytes that a thread of its own reads and decompresses: whoever takes them waits for more
//! only so long.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use everedge_io::decompress_file;

/// Bytes that the thread hands over at once.
const PIECE_BYTES: usize = 1 << 16;
/// Pieces that it reads ahead.
const PIECES_AHEAD: usize = 64;
/// How often a stream that waits looks whether it is to stop.
const STOP_EVERY: Duration = Duration::from_millis(50);

/// A stream, read by a thread of its own.
pub(crate) struct Stream {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    /// Whether the thread has reached the end, which it says with an empty piece.
    at_end: bool,
    pauses: Pauses,
    /// Since when the next pause is waited for.
    since: Option<Instant>,
}

/// When a stream pauses that waits for more.
pub(crate) struct Pauses {
    /// So long after the last one, or the first wait;
    pub(crate) every: Duration,
    /// at once as soon as this is true.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Stream {
    /// Starts the thread, which opens the source; it ends with the stream, or with the process.
    pub(crate) fn start<R: Read + Send + 'static>(
        name: String,
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        pauses: Pauses,
    ) -> io::Result<Self> {
        let (sender, pieces) = mpsc::sync_channel(PIECES_AHEAD);
        let read_all = move || {
            let mut bytes = match open().and_then(|source| decompress_file(&name, source)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Nobody waits for it when the ingest has ended.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            let mut buffer = vec![0; PIECE_BYTES];
            loop {
                let piece = match bytes.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    piece => piece.map(|count| buffer[..count].to_vec()),
                };
                let is_last = piece.as_ref().map_or(true, Vec::is_empty);
                if sender.send(piece).is_err() || is_last {
                    return;
                }
            }
        };
        thread::Builder::new().name("everedge-input".to_owned()).spawn(read_all)?;
        Ok(Self { pieces, piece: Cursor::default(), at_end: false, pauses, since: None })
    }

    /// Waits for the next piece until a pause is due; once the ingest is to end, it is due at once.
    fn next_piece(&mut self) -> Result<io::Result<Vec<u8>>, RecvTimeoutError> {
        loop {
            let waited = self.since.get_or_insert_with(Instant::now).elapsed();
            let wait = match self.pauses.stop.load(Relaxed) {
                true => Duration::ZERO,
                false => self.pauses.every.saturating_sub(waited),
            };
            let received = self.pieces.recv_timeout(wait.min(STOP_EVERY));
            if !matches!(received, Err(RecvTimeoutError::Timeout)) || wait <= STOP_EVERY {
                return received;
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        match self.next_piece() {
            Ok(piece) => {
                self.piece = Cursor::new(piece?);
                self.at_end = self.piece.get_ref().is_empty();
                self.piece.read(buffer)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.since = None;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(RecvTimeoutError::Disconnected) if self.at_end => Ok(0),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("the thread that reads it has ended before its end"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Step = fn(&mut [u8]) -> io::Result<usize>;

    /// Runs these steps, one a call, and then ends.
    struct Steps(Vec<Step>);

    impl Read for Steps {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() { Ok(0) } else { self.0.remove(0)(buffer) }
        }
    }

    fn start(steps: Vec<Step>, pause: Duration) -> Stream {
        let pauses = Pauses { every: pause, stop: Arc::default() };
        Stream::start("steps".to_owned(), || Ok(Steps(steps)), pauses).unwrap()
    }

    fn text(buffer: &mut [u8]) -> io::Result<usize> {
        buffer[..4].copy_from_slice(b"1 2\n");
        Ok(4)
    }

    #[test]
    fn an_interrupted_read_is_no_end() {
        let interrupted = |_: &mut [u8]| Err(io::ErrorKind::Interrupted.into());
        let mut whole = String::new();
        let mut stream = start(vec![text, interrupted, text], Duration::from_secs(60));
        stream.read_to_string(&mut whole).unwrap();
        assert_eq!(whole, "1 2\n1 2\n");
        // The end stays the end.
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn a_reader_that_dies_is_an_error() {
        let dies = |_: &mut [u8]| panic!("a decoder met damage");
        let mut stream = start(vec![text, text, dies], Duration::from_secs(60));
        let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("ended before its end"), "{error}");
    }

    #[test]
    fn the_longest_wait_of_all_is_counted() {
        let mut stream = start(vec![text], Duration::MAX);
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 4);
    }
}
