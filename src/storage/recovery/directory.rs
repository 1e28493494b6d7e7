//! The segments in a log's directory, and completion of operations that a crash interrupted.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::io::OpenMode;
use crate::storage::StorageError;
use crate::storage::segments::{BatchWalk, FileKind, Home, Segment, SegmentFile};
use crate::types::Offset;

/// The segments of a log, according to the names of its files.
pub(crate) fn existing_segments(home: &Arc<Home>) -> Result<Vec<Arc<Segment>>, StorageError> {
    let bases = bases(&names(home)?);
    if bases.is_empty() {
        return Ok(Vec::new());
    }
    home.damages
        .load(&*home.disk, &home.dir)
        .map_err(|error| home.refused("read the damages of", error))?;
    let segments = bases.into_iter().map(|base| Arc::new(Segment::existing(home, base)));
    Ok(segments.collect())
}

/// Completes or undoes operations that a crash interrupted: files marked as deleted are removed,
/// complete replacements take the place of the replaced segments, incomplete ones are removed, and
/// so are files without a segment.
pub(super) fn tidy(home: &Arc<Home>) -> Result<(), StorageError> {
    let names = home.list()?;
    let found: Vec<_> = names.iter().map(|(_, file)| *file).collect();
    let mut changed = false;
    for (name, file) in &names {
        let is_cleaned = FileKind::OF_CLEANED.contains(&file.kind);
        if file.kind == FileKind::Deleted || is_cleaned && !is_whole_swap(&found, file.base) {
            remove(home, &home.dir.join(name))?;
            changed = true;
        }
    }
    for (_, file) in names.iter().filter(|(_, file)| file.kind == FileKind::Swap) {
        complete_swap(home, file.base)?;
        changed = true;
    }
    let files = self::names(home)?;
    let bases = bases(&files);
    for file in files.iter().filter(|file| !bases.contains(&file.base)) {
        remove(home, &SegmentFile::path(&home.dir, file.base, file.kind))?;
        changed = true;
    }
    if changed { home.sync_names() } else { Ok(()) }
}

/// Returns true if there is a replacement from `base` on that has its indexes and seal; earlier
/// versions wrote these later.
fn is_whole_swap(files: &[SegmentFile], base: Offset) -> bool {
    has(files, base, FileKind::Swap) && has(files, base, FileKind::CleanedSeal)
}

fn has(files: &[SegmentFile], base: Offset, kind: FileKind) -> bool {
    files.contains(&SegmentFile { base, kind })
}

/// Puts a replacement in the place of the segments that its offsets cover: its last batch, if only
/// an emptied one, ends at the last offset of these segments.
fn complete_swap(home: &Arc<Home>, base: Offset) -> Result<(), StorageError> {
    let path = SegmentFile::path(&home.dir, base, FileKind::Swap);
    let last = last_offset(home, &path).map_err(|error| StorageError::io("read", &path, error))?;
    let last = last.unwrap_or(base);
    let files = names(home)?;
    let is_whole = is_whole_swap(&files, base);
    let covered = |file: &&SegmentFile| (base..=last).contains(&file.base);
    // The indexes of a complete replacement that lost their temporary names are in place already.
    let is_in_place = |file: &&SegmentFile| {
        let mut earlier = FileKind::BECOMING.iter().filter(|(_, kind)| *kind == file.kind);
        is_whole && file.base == base && earlier.all(|(kind, _)| !has(&files, base, *kind))
    };
    let replaced = files.iter().filter(|file| FileKind::OF_SEGMENT.contains(&file.kind));
    for file in replaced.filter(covered).filter(|file| !is_in_place(file)) {
        remove(home, &SegmentFile::path(&home.dir, file.base, file.kind))?;
    }
    // The removal of the old names must be durable before the new ones appear.
    home.sync_names()?;
    for (from, to) in FileKind::BECOMING.into_iter().filter(|(from, _)| has(&files, base, *from)) {
        let [from, to] = [from, to].map(|kind| SegmentFile::path(&home.dir, base, kind));
        let renamed = home.disk.rename(&from, &to);
        renamed.map_err(|error| StorageError::io("rename", &from, error))?;
    }
    if !is_whole {
        index(home, base)?;
    }
    home.sync_names()
}

/// Builds the indexes of a segment that has just replaced others.
fn index(home: &Arc<Home>, base: Offset) -> Result<(), StorageError> {
    let segment = Segment::existing(home, base);
    let mut indexer = segment.index_from(None)?;
    segment.each_from(base, |batch| segment.push_entries(indexer.pass(batch)))?;
    segment.write_indexes(true)
}

/// The last offset in a file of batches.
fn last_offset(home: &Home, path: &Path) -> std::io::Result<Option<Offset>> {
    let file = home.disk.open(path, OpenMode::Read)?;
    let mut walk = BatchWalk::new(&*file, 0, file.len()?);
    let mut last = None;
    while let Some(batch) = walk.next()? {
        last = Some(batch.summary.last_offset);
    }
    Ok(last)
}

fn bases(files: &[SegmentFile]) -> BTreeSet<Offset> {
    files.iter().filter(|file| file.kind == FileKind::Log).map(|file| file.base).collect()
}

fn names(home: &Home) -> Result<Vec<SegmentFile>, StorageError> {
    Ok(home.list()?.into_iter().map(|(_, file)| file).collect())
}

fn remove(home: &Home, path: &Path) -> Result<(), StorageError> {
    match home.disk.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}
