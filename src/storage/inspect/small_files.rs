//! The check of the small files of a data directory and of a log by their own checksums.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::storage::directory::{AUDIT_LOG, CHECKED_TEXTS, identity_flaw};
use crate::storage::inspect::findings::{Finding, Flaw};
use crate::storage::producers::snapshot_flaw;
use crate::storage::segments::{FileKind, SegmentFile};
use crate::storage::skipping::audit_flaw;
use crate::storage::{StorageError, checked_text};
use crate::types::Offset;

/// The checked texts of a log, apart from the seals.
const LOG_TEXTS: [&str; 3] = ["damaged", "compacted", "skipped"];
const SNAPSHOT: &str = ".snapshot";

/// Checks the small files of a data directory that belong to no log.
///
/// # Errors
/// Those of the disk.
pub fn verify_small_files(disk: &dyn Disk, dir: &Path) -> Result<Vec<Finding>, StorageError> {
    let mut findings = Vec::new();
    for name in CHECKED_TEXTS {
        let path = dir.join(name);
        let flaw = checked_text::flaw(disk, &path)
            .map_err(|source| StorageError::io("read", &path, source))?;
        findings.extend(flaw.map(|reason| finding(path, reason)));
    }
    findings.extend(identity_flaw(disk, dir)?.map(|(path, reason)| finding(path, reason)));
    let path = dir.join(AUDIT_LOG);
    let flaw = audit_flaw(disk, &path).map_err(|source| StorageError::io("read", &path, source))?;
    findings.extend(flaw.map(|(position, reason)| Finding {
        path,
        position,
        flaw: Flaw::File(reason),
    }));
    Ok(findings)
}

/// Checks the small files of a log, and that each segment with other files has its batches. Outside
/// the `durable` offsets of the log, a crash may have left only some of a segment's files.
pub(super) fn check_log_files(
    disk: &dyn Disk,
    dir: &Path,
    durable: Range<Offset>,
    findings: &mut Vec<Finding>,
) -> Result<(), StorageError> {
    let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
    let files: Vec<_> = entries.iter().filter_map(|e| SegmentFile::parse(&e.name)).collect();
    let with_batches: BTreeSet<Offset> = files
        .iter()
        .filter(|file| matches!(file.kind, FileKind::Log | FileKind::Swap))
        .map(|file| file.base)
        .collect();
    for entry in &entries {
        let path = dir.join(&entry.name);
        let refused = |source| StorageError::io("read", &path, source);
        let file = SegmentFile::parse(&entry.name);
        let is_seal = file.is_some_and(|file| file.kind == FileKind::Seal);
        let flaw = if is_seal || LOG_TEXTS.contains(&entry.name.as_str()) {
            checked_text::flaw(disk, &path).map_err(refused)?
        } else if entry.name.ends_with(SNAPSHOT) {
            snapshot_flaw(disk, &path).map_err(refused)?
        } else {
            None
        };
        findings.extend(flaw.map(|reason| finding(path.clone(), reason)));
        let Some(file) = file.filter(|file| FileKind::OF_SEGMENT.contains(&file.kind)) else {
            continue;
        };
        if durable.contains(&file.base) && !with_batches.contains(&file.base) {
            let reason = "the segment's file of batches is missing".to_owned();
            findings.push(finding(path, reason));
        }
    }
    Ok(())
}

fn finding(path: PathBuf, reason: String) -> Finding {
    Finding { path, position: 0, flaw: Flaw::File(reason) }
}
