//! Reading all pieces of a sealed graph one by one, without caches: one that is damaged keeps nobody from the others.

use everedge_medium::{DirectFile, Result, Volume};

use crate::entry::{LEVELS, PAGE_BYTES};
use crate::form::{CHUNK_BYTES, Form, IDS, checked, index_name, level_name, pieces_name};
use crate::store::IDS_PER_PAGE;

/// Bytes that are read at once.
const READ_BYTES: usize = 2 << 20;

/// A file of pieces.
struct File {
    file: DirectFile,
    name: String,
    pieces: u32,
    piece_bytes: usize,
}

/// Reads each piece of each file of a sealed graph, as far as the file goes, and calls `f` with the outcome: `Corruption` if a
/// piece is damaged, `Io` if it cannot be read. So all that are damaged can be named.
///
/// # Errors
/// `Io` if there is no such file; the error of `f`.
pub fn read_pieces(
    volume: &Volume,
    salt: u32,
    form: &Form,
    mut f: impl FnMut(Result<()>) -> Result<()>,
) -> Result<()> {
    files_of(volume, form)?.iter().try_for_each(|file| file.read_all(salt, &mut f))
}

fn files_of(volume: &Volume, form: &Form) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut add = |name: String, pieces, piece_bytes| -> Result<()> {
        files.push(File { file: volume.open_direct(&name)?, name, pieces, piece_bytes });
        Ok(())
    };
    add(IDS.into(), form.vertices.div_ceil(IDS_PER_PAGE), PAGE_BYTES)?;
    for (side, of_side) in form.sides.iter().enumerate() {
        add(index_name(side), form.page_count(), PAGE_BYTES)?;
        for (level, (&chunks, bytes)) in of_side.chunks.iter().zip(CHUNK_BYTES).enumerate() {
            add(level_name(side, level), chunks, bytes)?;
        }
        add(pieces_name(side), of_side.pieces, CHUNK_BYTES[LEVELS - 1])?;
    }
    Ok(files)
}

impl File {
    fn read_all(&self, salt: u32, f: &mut impl FnMut(Result<()>) -> Result<()>) -> Result<()> {
        let at_once = READ_BYTES / self.piece_bytes;
        let mut bytes = vec![0; at_once * self.piece_bytes];
        let pieces = (self.file.len() / self.piece_bytes as u64).min(self.pieces.into()) as u32;
        for first in (0..pieces).step_by(at_once) {
            let count = at_once.min((pieces - first) as usize);
            let bytes = &mut bytes[..count * self.piece_bytes];
            let offset = |piece: u32| u64::from(piece) * self.piece_bytes as u64;
            let read = self.file.read_at(offset(first), bytes);
            for (piece, bytes) in (first..).zip(bytes.chunks_mut(self.piece_bytes)) {
                // Where some cannot be read, others can.
                let read = match &read {
                    Ok(()) => Ok(()),
                    Err(_) => self.file.read_at(offset(piece), bytes),
                };
                let place = (&*self.name, self.file.path());
                f(read.and_then(|()| checked(salt, place, piece, bytes).map(drop)))?;
            }
        }
        Ok(())
    }
}
