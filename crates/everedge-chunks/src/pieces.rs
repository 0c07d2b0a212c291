//! The files of a sealed graph, and reading all of their pieces one by one, without caches: one that is damaged keeps nobody
//! from the others.

use everedge_core::watch;
use everedge_medium::{DirectFile, Error, Result, Volume};

use crate::entry::LEVELS;
use crate::form::{CHUNK_BYTES, Form, IDS, checked, index_name, level_name, pieces_name};
use crate::store::IDS_PER_PAGE;

/// Bytes that are read at once.
const READ_BYTES: usize = 2 << 20;

/// A file of pieces of one size, as a form says.
pub(crate) struct FormFile {
    pub(crate) name: String,
    pub(crate) pieces: u32,
    /// Pieces are as long as the chunks of this level.
    pub(crate) level: usize,
}

/// Returns the files of a side: its index, the chunks of each level, and the pieces of longer lists.
pub(crate) fn files_of_side(form: &Form, side: usize) -> [FormFile; LEVELS + 2] {
    let of_side = &form.sides[side];
    std::array::from_fn(|place| match place.checked_sub(1) {
        None => FormFile { name: index_name(side), pieces: form.page_count(), level: 0 },
        Some(level) if level < LEVELS => {
            FormFile { name: level_name(side, level), pieces: of_side.chunks[level], level }
        }
        _ => FormFile { name: pieces_name(side), pieces: of_side.pieces, level: LEVELS - 1 },
    })
}

/// Reads each piece of each file of a sealed graph, as far as the file goes, and calls `f` with the outcome: `Corruption` if a
/// piece is damaged or a file has another length, `Io` if it cannot be read. So all that are damaged can be named.
///
/// # Errors
/// The error of `f`.
pub fn read_pieces(
    volume: &Volume,
    salt: u32,
    form: &Form,
    mut f: impl FnMut(Result<()>) -> Result<()>,
) -> Result<()> {
    let pieces = form.vertices.div_ceil(IDS_PER_PAGE);
    let ids = FormFile { name: IDS.into(), pieces, level: 0 };
    let sides = (0..form.sides.len()).flat_map(|side| files_of_side(form, side));
    for file in std::iter::once(ids).chain(sides) {
        match file.open(volume) {
            Ok(open) => file.read_all(&open, salt, &mut f)?,
            Err(error) => f(Err(error))?,
        }
    }
    Ok(())
}

impl FormFile {
    fn piece_bytes(&self) -> usize {
        CHUNK_BYTES[self.level]
    }

    pub(crate) fn open(&self, volume: &Volume) -> Result<DirectFile> {
        volume.open_direct(&self.name)
    }

    /// Checks that the open file has all pieces, and nothing else.
    pub(crate) fn check_length(&self, file: &DirectFile) -> Result<()> {
        let expected = u64::from(self.pieces) * self.piece_bytes() as u64;
        if file.len() == expected {
            return Ok(());
        }
        Err(Error::Corruption {
            path: file.path().to_owned(),
            offset: file.len().min(expected),
            what: "the file's length".into(),
            expected: format!("{expected} bytes"),
            found: format!("{} bytes", file.len()),
        })
    }

    fn read_all(
        &self,
        file: &DirectFile,
        salt: u32,
        f: &mut impl FnMut(Result<()>) -> Result<()>,
    ) -> Result<()> {
        f(self.check_length(file))?;
        let piece_bytes = self.piece_bytes();
        let at_once = READ_BYTES / piece_bytes;
        let mut bytes = vec![0; at_once * piece_bytes];
        let pieces = (file.len() / piece_bytes as u64).min(self.pieces.into()) as u32;
        for first in (0..pieces).step_by(at_once) {
            watch::check();
            let count = at_once.min((pieces - first) as usize);
            let bytes = &mut bytes[..count * piece_bytes];
            let offset = |piece: u32| u64::from(piece) * piece_bytes as u64;
            let read = file.read_at(offset(first), bytes);
            for (piece, bytes) in (first..).zip(bytes.chunks_mut(piece_bytes)) {
                // Where some cannot be read, others can.
                let read = match &read {
                    Ok(()) => Ok(()),
                    Err(_) => file.read_at(offset(piece), bytes),
                };
                let place = (&*self.name, file.path());
                f(read.and_then(|()| checked(salt, place, piece, bytes).map(drop)))?;
            }
        }
        Ok(())
    }
}
