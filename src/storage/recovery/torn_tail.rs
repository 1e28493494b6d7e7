//! Truncation of a torn tail. Its bytes are kept in the data directory's `quarantine/`, in files
//! named after their log, segment and position. None of these bytes was acknowledged as durable,
//! but an operator may want them.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::{File, OpenMode, write_all_at};
use crate::storage::StorageError;
use crate::storage::recovery::scanner::Torn;
use crate::storage::segments::{Damage, FileKind, LogContext, Segment};

const QUARANTINE: &str = "quarantine";

/// Bytes copied at a time.
const STRETCH: usize = 1 << 20;

/// Truncates the log where it is torn, given the damage before that. The caller syncs.
pub(super) fn truncate_torn_tail(
    context: &LogContext,
    segments: &[Arc<Segment>],
    torn: &Torn,
    damages: &[Damage],
) -> Result<(), StorageError> {
    let Torn { segment: number, position, offset, reason } = torn;
    let mut bytes = segments[*number].size()? - position;
    for later in &segments[number + 1..] {
        bytes += later.size()?;
    }
    let dir = context.dir.display();
    tracing::warn!(%dir, %offset, bytes, reason, "torn tail moved to quarantine");
    let quarantine = context.dir.parent().unwrap_or(&context.dir).join(QUARANTINE);
    let made = context.disk.create_dir(&quarantine);
    made.map_err(|error| StorageError::io("create", &quarantine, error))?;
    for later in segments[number + 1..].iter().rev() {
        quarantine_segment(context, later, &quarantine)?;
    }
    let segment = &segments[*number];
    // Behind damage an empty segment is left, which shows where the log goes on.
    let is_behind_damage = damages.iter().any(|damage| damage.next == segment.base());
    if *position == 0 && *number > 0 && !is_behind_damage {
        // Nothing in the segment is good: the log ends with the preceding segment.
        quarantine_segment(context, segment, &quarantine)?;
    } else {
        quarantine_bytes(context, segment, *position, &quarantine);
        segment.truncate(*position, *offset)?;
    }
    context.disk.sync_dir(&quarantine).map_err(|error| StorageError::io("sync", &quarantine, error))
}

/// Moves a segment's batches to the quarantine, and removes its other files.
fn quarantine_segment(
    context: &LogContext,
    segment: &Segment,
    quarantine: &Path,
) -> Result<(), StorageError> {
    segment.retire();
    for kind in FileKind::OF_SEGMENT {
        let path = segment.path(kind);
        let done = if kind == FileKind::Log {
            context.disk.rename(&path, &name(context, segment, 0, quarantine))
        } else {
            context.disk.remove_file(&path)
        };
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::io("move aside", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Copies the bytes from `position` on to the quarantine. A full disk must not prevent the log from
/// opening, so an error is only logged.
fn quarantine_bytes(context: &LogContext, segment: &Segment, position: u64, quarantine: &Path) {
    let path = name(context, segment, position, quarantine);
    let copy = || -> io::Result<()> {
        let from = segment.file();
        let to = context.disk.open(&path, OpenMode::Create)?;
        to.set_len(0)?;
        copy_from(&**from, position, &*to)?;
        to.sync_data()
    };
    copy().unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "cannot copy bytes to quarantine");
    });
}

fn copy_from(from: &dyn File, position: u64, to: &dyn File) -> io::Result<()> {
    let mut buffer = vec![0; STRETCH];
    let mut done = 0;
    loop {
        let read = from.read_medium_at(&mut buffer, position + done)?;
        if read == 0 {
            return Ok(());
        }
        write_all_at(to, &mut [IoSlice::new(&buffer[..read])], done)?;
        done += read as u64;
    }
}

fn name(context: &LogContext, segment: &Segment, position: u64, quarantine: &Path) -> PathBuf {
    let (partition, base) = (&context.partition, segment.base());
    quarantine.join(format!("{partition}.{base}.{position}.cut"))
}
