//! Which segments a log's directory holds.

use std::io::ErrorKind;
use std::sync::Arc;

use crate::storage::StorageError;
use crate::storage::segments::{Damage, FileKind, Home, Segment, SegmentFile};

/// The segments of a log that was closed in order, by their names.
pub(crate) fn existing_segments(home: &Arc<Home>) -> Result<Vec<Arc<Segment>>, StorageError> {
    let names = names(home)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let damages = Damage::load(&*home.disk, &home.dir)
        .map_err(|error| home.refused("read the damages of", error))?;
    let bases = names.into_iter().filter(|file| file.kind == FileKind::Log).map(|file| file.base);
    let mut segments: Vec<_> = bases
        .map(|base| {
            let own = damages.iter().filter(|damage| damage.segment == base).copied().collect();
            Arc::new(Segment::existing(home, base, own))
        })
        .collect();
    segments.sort_by_key(|segment| segment.base());
    Ok(segments)
}

/// The segments' files in the directory; none when there is no directory.
pub(super) fn names(home: &Home) -> Result<Vec<SegmentFile>, StorageError> {
    match home.disk.list(&home.dir) {
        Ok(entries) => {
            Ok(entries.iter().filter_map(|entry| SegmentFile::parse(&entry.name)).collect())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(home.refused("list", error)),
    }
}
