//! The beginning of a log that retention has removed before its start was recorded.
//!
//! Retention renames the files of a segment to `.deleted` and records the new log start up to a
//! second later. The names are kept at least until the epoch history begins at the first segment
//! that is left. So after a crash, either of them shows that the records before this segment are
//! not lost.

use std::io;
use std::path::{Path, PathBuf};

use crate::io::{Disk, OpenMode};
use crate::storage::epoch_cache::EpochStart;
use crate::storage::segments::{BatchWalk, removed_segment};
use crate::types::Offset;

/// The offset up to which retention has removed a log, at least `recorded`, the recorded log start.
/// `first` is the base offset of the first segment that is left, and `epochs` the epoch history, or
/// nothing if it is not known.
pub(in crate::storage) fn removed_below(
    disk: &dyn Disk,
    dir: &Path,
    recorded: Offset,
    epochs: &[EpochStart],
    first: Offset,
) -> io::Result<Offset> {
    let mut start = epochs.first().map_or(recorded, |first| recorded.max(first.start));
    let removed = removed_segments(disk, dir)?;
    for (number, (base, path)) in removed.iter().enumerate() {
        match end_of(disk, path) {
            // Other records may have been lost between the log start and this segment.
            Some(end) if *base <= start => start = start.max(end),
            // The segment had lost its batches before it was removed.
            None if *base == start => {
                start = removed.get(number + 1).map_or(first, |(next, _)| *next);
            }
            _ => {}
        }
    }
    Ok(start)
}

/// The removed segments whose batches are not deleted yet, by rising base offset.
fn removed_segments(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<(Offset, PathBuf)>> {
    let names = match disk.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let removed = names
        .into_iter()
        .filter_map(|entry| Some((removed_segment(&entry.name)?, dir.join(&entry.name))));
    let mut removed: Vec<_> = removed.collect();
    removed.sort();
    Ok(removed)
}

/// The offset after the last batch in a file; `None` if there is none.
fn end_of(disk: &dyn Disk, path: &Path) -> Option<Offset> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let mut walk = BatchWalk::new(&*file, 0, file.len().ok()?);
    let mut end = None;
    while let Ok(Some(batch)) = walk.next() {
        end = Some(batch.summary.next_offset());
    }
    end
}
