//! Calls of the operating system that signals interrupt.

use rustix::io::{Errno, Result};

/// So often a call is made that signals interrupt each time.
const TRIES: u32 = 1000;

/// Makes a call again when a signal has interrupted it, but not for ever.
pub(super) fn retried<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..TRIES {
        match call() {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
    call()
}

/// Makes a call for all of `len`, from `(start, length)` on. The file system of memory undoes a call
/// that is interrupted: the next one is for half.
pub(super) fn in_pieces(len: u64, mut call: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    const PIECE_MIN: u64 = 1 << 16;
    let (mut done, mut piece) = (0, len);
    while done < len {
        piece = piece.min(len - done);
        match call(done, piece) {
            Ok(()) => done += piece,
            Err(Errno::INTR) if piece > PIECE_MIN => {
                piece = (piece / 2).next_multiple_of(PIECE_MIN);
            }
            Err(Errno::INTR) => {
                retried(|| call(done, piece))?;
                done += piece;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_not_made_for_ever() {
        let mut calls = 0;
        let always = || {
            calls += 1;
            Err::<(), _>(Errno::INTR)
        };
        assert_eq!(retried(always), Err(Errno::INTR));
        assert_eq!(calls, TRIES);
        assert_eq!(in_pieces(1 << 30, |_, _| Err(Errno::INTR)), Err(Errno::INTR));
    }

    #[test]
    fn what_is_too_long_for_one_call_is_done_in_pieces() {
        let mut done = 0;
        let outcome = in_pieces((10 << 20) + 8, |start, len| {
            assert_eq!(start, done);
            if len > 1 << 20 {
                return Err(Errno::INTR);
            }
            done += len;
            Ok(())
        });
        assert_eq!((outcome, done), (Ok(()), (10 << 20) + 8));
    }
}
