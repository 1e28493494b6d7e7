//! The survey of a data directory's content when it is opened.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::io::Disk;
use crate::storage::directory::names::{self, Meaning};
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::{StorageError, Stored};
use crate::types::TopicPartition;

/// The content of a data directory.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The logs, with their metadata or the reason for which it is not known.
    pub(super) logs: Vec<(TopicPartition, Result<PartitionMetadata, String>)>,
    /// Deleted logs whose files still exist.
    pub(super) deleted: Vec<PathBuf>,
    /// The quarantine paths of files and directories with unknown names.
    pub(super) quarantined: Vec<PathBuf>,
    /// Files and directories with unknown names that stay where they are, with the reasons.
    pub(super) left_alone: Vec<(PathBuf, String)>,
}

/// The whereabouts of a file or directory with an unknown name.
enum Foreign {
    Quarantined(PathBuf),
    LeftAlone(String),
}

impl Survey {
    /// Reads `dir`, removes incomplete files, and moves unknown ones into quarantine. Those that
    /// the system does not let move, and those that have mounts, are left alone. They are moved on
    /// `quiet`, the same disk without reports of errors.
    pub(super) fn take(
        disk: &dyn Disk,
        quiet: &dyn Disk,
        dir: &Path,
    ) -> Result<Self, StorageError> {
        let mut survey = Self::default();
        let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
        for entry in entries {
            let path = dir.join(&entry.name);
            match names::meaning(&entry.name, entry.is_dir) {
                Meaning::Own => {}
                Meaning::Log(partition) => {
                    let metadata = match PartitionMetadata::read(disk, &path)? {
                        Stored::Sound(metadata) => Ok(metadata),
                        Stored::Absent => Err("it is missing".to_owned()),
                        Stored::Damaged(reason) => Err(reason),
                    };
                    survey.logs.push((partition, metadata));
                }
                Meaning::Unfinished => remove_tree(disk, &path, entry.is_dir)?,
                Meaning::Deleted => survey.deleted.push(path),
                Meaning::Unknown => match put_away(disk, quiet, dir, &entry.name)? {
                    Foreign::Quarantined(to) => survey.quarantined.push(to),
                    Foreign::LeftAlone(reason) => survey.left_alone.push((path, reason)),
                },
            }
        }
        Ok(survey)
    }
}

/// Fails if a directory holds anything but the remains of an interrupted first opening.
pub(super) fn require_empty(disk: &dyn Disk, dir: &Path) -> Result<(), StorageError> {
    let entries = disk.list(dir).map_err(|source| StorageError::io("list", dir, source))?;
    let stranger = entries.into_iter().find(|entry| {
        matches!(
            names::meaning(&entry.name, entry.is_dir),
            Meaning::Log(_) | Meaning::Deleted | Meaning::Unknown
        )
    });
    match stranger {
        None => Ok(()),
        Some(entry) => Err(StorageError::Foreign {
            path: dir.to_owned(),
            expected: "streamlog".to_owned(),
            found: format!("others: it has '{}' and no '{}'", entry.name, names::IDENTITY),
        }),
    }
}

/// Moves a file or directory with an unknown name into quarantine if that is possible.
fn put_away(
    disk: &dyn Disk,
    quiet: &dyn Disk,
    dir: &Path,
    name: &str,
) -> Result<Foreign, StorageError> {
    let path = dir.join(name);
    let refused = |source| StorageError::io("quarantine", &path, source);
    if name.contains(char::REPLACEMENT_CHARACTER) {
        return Ok(Foreign::LeftAlone("its name is not UTF-8".to_owned()));
    }
    // The system would move a directory together with what is mounted within it.
    if disk.has_mounts(&path).map_err(refused)? {
        return Ok(Foreign::LeftAlone("a file system is mounted there".to_owned()));
    }
    let to = names::quarantine_path(dir, name);
    let cell = to.parent().unwrap_or(dir);
    disk.create_dir(cell).map_err(refused)?;
    match quiet.rename(&path, &to) {
        Err(error) if is_of_others(error.kind()) => {
            // If this fails, an empty directory is left in the quarantine.
            let _ = disk.remove_dir(cell);
            Ok(Foreign::LeftAlone(error.to_string()))
        }
        renamed => {
            renamed.and_then(|()| sync_quarantined(disk, dir, cell)).map_err(refused)?;
            Ok(Foreign::Quarantined(to))
        }
    }
}

/// Returns true for the errors of moving what belongs to another user, is immutable, or is a mount.
fn is_of_others(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied | ErrorKind::ResourceBusy | ErrorKind::CrossesDevices
    )
}

/// Moves a file or directory of `dir` into its quarantine, durably, and returns the new path.
pub(crate) fn quarantine(disk: &dyn Disk, dir: &Path, name: &str) -> Result<PathBuf, StorageError> {
    let from = dir.join(name);
    let last = from.file_name().unwrap_or_default().to_string_lossy();
    let to = names::quarantine_path(dir, &last);
    let cell = to.parent().unwrap_or(dir);
    let refused = |source| StorageError::io("quarantine", &from, source);
    disk.create_dir(cell).map_err(refused)?;
    if let Err(error) = disk.rename(&from, &to) {
        // If this fails, an empty directory is left in the quarantine.
        let _ = disk.remove_dir(cell);
        return Err(refused(error));
    }
    sync_quarantined(disk, dir, cell).map_err(refused)?;
    Ok(to)
}

/// Makes a move into `cell`, a directory in the quarantine of `dir`, durable.
fn sync_quarantined(disk: &dyn Disk, dir: &Path, cell: &Path) -> io::Result<()> {
    disk.sync_dir(cell)
        .and_then(|()| disk.sync_dir(&dir.join(names::QUARANTINE)))
        .and_then(|()| disk.sync_dir(dir))
}

/// Removes a file, or a directory with everything in it.
pub(super) fn remove_tree(disk: &dyn Disk, path: &Path, is_dir: bool) -> Result<(), StorageError> {
    let refused = |source| StorageError::io("remove", path, source);
    if !is_dir {
        return disk.remove_file(path).map_err(refused);
    }
    for entry in disk.list(path).map_err(refused)? {
        remove_tree(disk, &path.join(&entry.name), entry.is_dir)?;
    }
    disk.remove_dir(path).map_err(refused)
}
