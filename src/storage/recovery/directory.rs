//! The segments in a log's directory, and completion of operations that a crash interrupted.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::io::OpenMode;
use crate::storage::StorageError;
use crate::storage::segments::{BatchWalk, FileKind, LogContext, Segment, SegmentFile};
use crate::types::Offset;

/// The segments of a log, according to the names of its files.
pub(crate) fn existing_segments(
    context: &Arc<LogContext>,
) -> Result<Vec<Arc<Segment>>, StorageError> {
    let bases = bases(&names(context)?);
    if bases.is_empty() {
        return Ok(Vec::new());
    }
    context
        .damages
        .load(&*context.disk, &context.dir)
        .map_err(|error| context.refused("read the damages of", error))?;
    let segments = bases.into_iter().map(|base| Arc::new(Segment::existing(context, base)));
    Ok(segments.collect())
}

/// Completes or undoes operations that a crash interrupted. Complete replacements take the place of
/// the replaced segments. Incomplete replacements and files without a segment are removed. The
/// files of removed segments stay until `remove_deleted`.
pub(super) fn complete_interrupted(context: &Arc<LogContext>) -> Result<(), StorageError> {
    let names = context.list()?;
    let found: Vec<_> = names.iter().map(|(_, file)| *file).collect();
    let mut changed = false;
    for (name, file) in &names {
        let is_cleaned = FileKind::OF_CLEANED.contains(&file.kind);
        if is_cleaned && !is_whole_swap(&found, file.base) {
            remove(context, &context.dir.join(name))?;
            changed = true;
        }
    }
    for (_, file) in names.iter().filter(|(_, file)| file.kind == FileKind::Swap) {
        complete_swap(context, file.base)?;
        changed = true;
    }
    let files = self::names(context)?;
    let bases = bases(&files);
    let is_orphan =
        |file: &&SegmentFile| file.kind != FileKind::Deleted && !bases.contains(&file.base);
    for file in files.iter().filter(is_orphan) {
        remove(context, &SegmentFile::path(&context.dir, file.base, file.kind))?;
        changed = true;
    }
    if changed { context.sync_names() } else { Ok(()) }
}

/// Removes the files of removed segments, once the epoch history shows where the log begins.
pub(super) fn remove_deleted(context: &LogContext) -> Result<(), StorageError> {
    let names = context.list()?;
    let deleted = names.iter().filter(|(_, file)| file.kind == FileKind::Deleted);
    let mut is_any = false;
    for (name, _) in deleted {
        remove(context, &context.dir.join(name))?;
        is_any = true;
    }
    if is_any { context.sync_names() } else { Ok(()) }
}

/// Returns true if there is a replacement from `base` on that has its indexes and seal. Earlier
/// releases wrote these files only after the replacement had taken its place.
fn is_whole_swap(files: &[SegmentFile], base: Offset) -> bool {
    has(files, base, FileKind::Swap) && has(files, base, FileKind::CleanedSeal)
}

fn has(files: &[SegmentFile], base: Offset, kind: FileKind) -> bool {
    files.contains(&SegmentFile { base, kind })
}

/// Puts a replacement in the place of the segments that its offsets cover: its last batch, which
/// may be emptied, ends at the last offset of these segments.
fn complete_swap(context: &Arc<LogContext>, base: Offset) -> Result<(), StorageError> {
    let path = SegmentFile::path(&context.dir, base, FileKind::Swap);
    let last =
        last_offset(context, &path).map_err(|error| StorageError::io("read", &path, error))?;
    let last = last.unwrap_or(base);
    let files = names(context)?;
    let is_whole = is_whole_swap(&files, base);
    let covered = |file: &&SegmentFile| (base..=last).contains(&file.base);
    // An index of a complete replacement that has lost its temporary name is in place already.
    let is_in_place = |file: &&SegmentFile| {
        let mut earlier = FileKind::FINAL_NAMES.iter().filter(|(_, kind)| *kind == file.kind);
        is_whole && file.base == base && earlier.all(|(kind, _)| !has(&files, base, *kind))
    };
    let replaced = files.iter().filter(|file| FileKind::OF_SEGMENT.contains(&file.kind));
    for file in replaced.filter(covered).filter(|file| !is_in_place(file)) {
        remove(context, &SegmentFile::path(&context.dir, file.base, file.kind))?;
    }
    // The removal of the old names must be durable before the new ones appear.
    context.sync_names()?;
    forget_damage(context, &(base..last.plus(1)))?;
    for (from, to) in FileKind::FINAL_NAMES.into_iter().filter(|(from, _)| has(&files, base, *from))
    {
        let [from, to] = [from, to].map(|kind| SegmentFile::path(&context.dir, base, kind));
        let renamed = context.disk.rename(&from, &to);
        renamed.map_err(|error| StorageError::io("rename", &from, error))?;
    }
    if !is_whole {
        index(context, base)?;
    }
    context.sync_names()
}

/// Removes the damage of replaced segments, before their names refer to the replacement.
fn forget_damage(context: &LogContext, bases: &Range<Offset>) -> Result<(), StorageError> {
    let (disk, dir) = (&*context.disk, &*context.dir);
    let forgotten = context.damages.load(disk, dir).and_then(|()| {
        context.damages.store_without(disk, dir, bases)?;
        context.damages.forget(bases);
        Ok(())
    });
    forgotten.map_err(|error| context.refused("note the damages of", error))
}

/// Builds the indexes of a segment that has just replaced other segments.
fn index(context: &Arc<LogContext>, base: Offset) -> Result<(), StorageError> {
    let segment = Segment::existing(context, base);
    let mut indexer = segment.index_from(None)?;
    segment.each_from(base, |batch| segment.push_entries(indexer.pass(batch)))?;
    segment.write_indexes(true)
}

/// The last offset in a file of batches.
fn last_offset(context: &LogContext, path: &Path) -> std::io::Result<Option<Offset>> {
    let file = context.disk.open(path, OpenMode::Read)?;
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

fn names(context: &LogContext) -> Result<Vec<SegmentFile>, StorageError> {
    Ok(context.list()?.into_iter().map(|(_, file)| file).collect())
}

fn remove(context: &LogContext, path: &Path) -> Result<(), StorageError> {
    match context.disk.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}
