//! Space for starting on a full disk without a reserve.
//!
//! A directory of an earlier release has no reserve, and an operator may have removed it to free
//! space. Without a free byte a start could not write its checkpoints: the broker could serve no
//! reads, delete no records and stop no other way than by a kill. Indexes are expendable, since an
//! absent index is rebuilt in memory, from the batches, when it is first needed. So the largest of
//! them are removed to make space for the reserve, those of active segments last.

use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::io::{Disk, Entry, OpenMode};
use crate::storage::segments::{FileKind, SegmentFile};
use crate::storage::{Reserve, StorageError};

/// The indexes of a segment.
struct Indexes {
    is_active: bool,
    bytes: u64,
    /// The files in the order of their removal. If only the offset index were left, it would hide
    /// that the time index is absent.
    files: [PathBuf; 2],
}

/// Removes indexes to make space for the reserve of the data directory `path`, if the reserve has
/// no chunk and there is too little space for the smallest reserve. Returns the number of segments
/// affected.
///
/// # Errors
/// Those of the disk, except for want of space.
pub(in crate::storage) fn free_space_from_indexes(
    disk: &dyn Disk,
    path: &Path,
    reserve: &Reserve,
    is_log_dir: impl Fn(&Entry) -> bool,
) -> Result<usize, StorageError> {
    let refused = |source| StorageError::io("free space in", path, source);
    if !reserve.is_empty() || disk.free_bytes(path).map_err(refused)? >= Reserve::BYTES_MIN {
        return Ok(0);
    }
    let total = disk.total_bytes(path).map_err(refused)?;
    let mut indexes = indexes(disk, path, is_log_dir).map_err(refused)?;
    indexes.sort_by_key(|indexes| (indexes.is_active, Reverse(indexes.bytes)));
    let mut given_up = 0;
    for Indexes { files, .. } in indexes {
        if reserve.restore(0, total).map_err(refused)? {
            break;
        }
        files.iter().try_for_each(|file| remove(disk, file)).map_err(refused)?;
        given_up += 1;
    }
    if given_up > 0 {
        reserve.restore(0, total).map_err(refused)?;
        tracing::warn!(
            dir = %path.display(), segments = given_up,
            "the disk is full and there was no reserve: indexes were removed, and are rebuilt \
             from the batches"
        );
    }
    Ok(given_up)
}

/// The indexes of all segments in the data directory.
fn indexes(
    disk: &dyn Disk,
    path: &Path,
    is_log_dir: impl Fn(&Entry) -> bool,
) -> io::Result<Vec<Indexes>> {
    let mut found = Vec::new();
    for entry in disk.list(path)? {
        if !is_log_dir(&entry) {
            continue;
        }
        let dir = path.join(&entry.name);
        let files = disk.list(&dir)?;
        let files = files.iter().filter_map(|file| SegmentFile::parse(&file.name));
        let logs = files.filter(|file| file.kind == FileKind::Log);
        let mut bases: Vec<_> = logs.map(|file| file.base).collect();
        let active = bases.iter().max().copied();
        bases.sort();
        for base in bases {
            let kinds = [FileKind::OffsetIndex, FileKind::TimeIndex];
            let files = kinds.map(|kind| SegmentFile::path(&dir, base, kind));
            let bytes = files.iter().try_fold(0, |sum, file| size(disk, file).map(|n| sum + n))?;
            if bytes > 0 {
                found.push(Indexes { is_active: active == Some(base), bytes, files });
            }
        }
    }
    Ok(found)
}

fn size(disk: &dyn Disk, file: &Path) -> io::Result<u64> {
    match disk.open(file, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        opened => opened?.len(),
    }
}

fn remove(disk: &dyn Disk, file: &Path) -> io::Result<()> {
    match disk.remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
