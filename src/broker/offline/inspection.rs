//! Checks of the files of a data directory that belong to no log.

use std::path::{Path, PathBuf};

use crate::broker::BrokerError;
use crate::engine::METADATA_DIR;
use crate::io::{Disk, SystemDisk};
use crate::metadata::{MetadataError, inspect_journal};
use crate::storage::{StorageError, is_on_zookeeper, verify_small_files};

/// A fault in a file of a data directory that belongs to no log.
#[derive(Debug)]
pub struct DirectoryFinding {
    /// The file.
    pub file: PathBuf,
    /// The position of the fault in the file.
    pub position: u64,
    /// The fault.
    pub reason: String,
    /// True for damage; false for an unfinished write, which the next start completes or cuts off.
    pub is_damage: bool,
}

/// Checks the metadata journal and the small files of a data directory. Reports nothing for any
/// other directory.
///
/// # Errors
/// The error of the disk, or if a later release wrote a file.
pub fn verify_directory(dir: &Path) -> Result<Vec<DirectoryFinding>, BrokerError> {
    verify_directory_on(&SystemDisk::default(), dir)
}

/// Like `verify_directory`, on another disk.
///
/// # Errors
/// The errors of `verify_directory`.
pub fn verify_directory_on(
    disk: &dyn Disk,
    dir: &Path,
) -> Result<Vec<DirectoryFinding>, BrokerError> {
    let exists = |path: &Path| {
        disk.exists(path).map_err(|source| StorageError::io("look for", path, source))
    };
    let small_files = verify_small_files(disk, dir)?.into_iter();
    let small_files = small_files.map(|finding| DirectoryFinding {
        is_damage: finding.is_damage(),
        reason: finding.flaw.to_string(),
        file: finding.path,
        position: finding.position,
    });
    let mut findings: Vec<_> = small_files.collect();
    let journal = dir.join(METADATA_DIR);
    if exists(&journal)? {
        let flaws = inspect_journal(disk, &journal).map_err(MetadataError::from)?;
        findings.extend(flaws.into_iter().map(|flaw| DirectoryFinding {
            file: flaw.file,
            position: flaw.position,
            reason: flaw.reason,
            is_damage: flaw.is_damage,
        }));
    } else if exists(&dir.join("clean-stop"))? && !is_on_zookeeper(disk, dir)? {
        findings.push(DirectoryFinding {
            file: journal,
            position: 0,
            reason: "there is no metadata journal".to_owned(),
            is_damage: true,
        });
    }
    Ok(findings)
}
