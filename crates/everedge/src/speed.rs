//! What the medium that sealed graphs lie on can do.

use std::path::Path;

use everedge_medium::{ReadSpeed, Volume};

use crate::Result;
use crate::chunks::volume_options;

/// Measures how fast a file of so many bytes is read past the system's cache, as sealed graphs are read. The file
/// lies in a new directory, which is removed again.
///
/// Cost: the file is written once; then it is read for two seconds.
///
/// # Errors
/// If the directory exists and is not empty; `NoSpace` or `Io` if the medium fails.
pub fn read_speed(directory: &Path, file_bytes: u64) -> Result<ReadSpeed> {
    let volume = Volume::create(directory, volume_options())?;
    let speed = volume.measure_reads(file_bytes);
    drop(volume);
    Volume::remove_unfinished(directory);
    Ok(speed?)
}
