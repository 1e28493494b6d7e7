//! A copy of the bytes of a damaged stretch, as far as the medium returns them.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::io::{File, OpenMode, create_dir_durably, write_all_at};
use crate::storage::StorageError;
use crate::storage::segments::{Damage, Segment};

/// The directory of the copies within the data directory; it has a directory for each log.
const DIRECTORY: [&str; 2] = ["quarantine", "skipped"];

/// Bytes read at a time: `STRETCH`, or `SECTOR` where the medium returns an error.
const STRETCH: usize = 1 << 20;
const SECTOR: usize = 4096;

/// The copy of a stretch's bytes.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) path: PathBuf,
    /// The number of its bytes that are zeros because the medium did not return them.
    pub(super) unreadable: u64,
}

/// Copies the bytes of a damaged stretch; durable on return.
///
/// # Errors
/// If the disk is full, or the file cannot be created. Bytes that cannot be read are no error.
pub(super) fn copy(segment: &Segment, damage: &Damage) -> Result<Copied, StorageError> {
    let context = segment.context();
    let root = context.dir.parent().unwrap_or(&context.dir);
    let mut dir = DIRECTORY.iter().fold(root.to_owned(), |dir, name| dir.join(name));
    // Use a directory for each log: with the partition in it, the file's name could be too long.
    dir.push(context.partition.to_string());
    let disk = &*context.disk;
    create_dir_durably(disk, &dir).map_err(|error| StorageError::io("create", &dir, error))?;
    let Damage { segment: base, start, end, .. } = damage;
    let path = dir.join(format!("{base}.{start}-{end}.{}", context.clock.now().millis()));
    let from = segment.file();
    let copied = disk.open(&path, OpenMode::CreateNew).and_then(|to| {
        let unreadable = copy_range(&**from, damage.bytes(), &*to)?;
        to.sync_data()?;
        disk.sync_dir(&dir)?;
        Ok(unreadable)
    });
    let unreadable = copied.map_err(|error| refused(disk, &path, error))?;
    Ok(Copied { path, unreadable })
}

/// Removes an incomplete copy, which must not look like a complete one.
fn refused(disk: &dyn crate::io::Disk, path: &Path, error: io::Error) -> StorageError {
    if error.kind() != io::ErrorKind::AlreadyExists {
        let _ = disk.remove_file(path);
    }
    StorageError::io("write", path, error)
}

fn copy_range(from: &dyn File, bytes: Range<u64>, to: &dyn File) -> io::Result<u64> {
    let Range { start, end } = bytes;
    let mut buffer = vec![0; STRETCH];
    let (mut position, mut unreadable) = (start, 0);
    while position < end {
        let left = usize::try_from(end - position).unwrap_or(usize::MAX);
        let mut read = from.read_medium_at(&mut buffer[..left.min(STRETCH)], position);
        if read.is_err() {
            let sector = left.min(SECTOR);
            read = from.read_medium_at(&mut buffer[..sector], position).or_else(|_lost| {
                buffer[..sector].fill(0);
                unreadable += sector as u64;
                Ok(sector)
            });
        }
        let Ok(count @ 1..) = read else { break };
        write_all_at(to, &mut [IoSlice::new(&buffer[..count])], position - start)?;
        position += count as u64;
    }
    Ok(unreadable)
}
