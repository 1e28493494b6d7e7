//! The names in a data directory.
//!
//! | name | content |
//! |---|---|
//! | `.lock` | the lock, held while the directory is open |
//! | `meta.properties` | the cluster and the broker to which the directory belongs |
//! | `run` | the number of the current or last run, and its boot |
//! | `clean-stop` | the bounds of all logs at the end of that run, if it was shut down cleanly |
//! | `durable-point-checkpoint` | for each partition, the offset up to which its log is synced |
//! | `rebuild-point-checkpoint` | the same for its indexes and producer snapshots |
//! | `log-start-offset-checkpoint`, `high-watermark-checkpoint` | for each partition, that offset |
//! | `scrub-checkpoint` | the progress of the scrubber, which searches all records for damage |
//! | `audit.log` | the damaged ranges that operators have skipped |
//! | `last-known-time` | the last wall-clock time that was plausible |
//! | `sync-failed` | an empty file, from a failed sync until the next start has recovered the logs |
//! | `metadata/`, `metadata.tmp/` | the metadata journal, kept by the metadata store |
//! | `<topic>-<partition>/` | the log of a partition |
//! | `<uuid>.tmp/`, `….tmp` | an incomplete file or directory; removed at the next start |
//! | `<uuid>.deleted/` | a deleted log, kept for a while |
//! | `reserve/` | space reserved for a full disk |
//! | `quarantine/` | files with unknown names, torn tails, skipped damage; never removed |
//! | `lost+found/`, `.snapshot/`, `.snapshots/`, `.zfs/` | the file system's own |

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::types::{PartitionIndex, TopicPartition};

pub(super) const LOCK: &str = ".lock";
pub(super) const IDENTITY: &str = "meta.properties";
pub(super) const RUN: &str = "run";
pub(super) const MANIFEST: &str = "clean-stop";
pub(super) const DURABLE_POINTS: &str = "durable-point-checkpoint";
pub(super) const REBUILD_POINTS: &str = "rebuild-point-checkpoint";
pub(super) const LOG_STARTS: &str = "log-start-offset-checkpoint";
pub(super) const HIGH_WATERMARKS: &str = "high-watermark-checkpoint";
pub(crate) const AUDIT_LOG: &str = "audit.log";
pub(super) const RESERVE: &str = "reserve";
pub(in crate::storage) const SCRUB_CHECKPOINT: &str = "scrub-checkpoint";
pub(super) const LAST_TIME: &str = "last-known-time";
/// A file without content: only its existence counts.
pub(super) const SYNC_FAILED: &str = "sync-failed";
pub(super) const QUARANTINE: &str = "quarantine";
/// A directory that belongs to the metadata store.
pub(super) const METADATA: &str = "metadata";

const OWN_FILES: [&str; 12] = [
    LOCK,
    IDENTITY,
    RUN,
    MANIFEST,
    DURABLE_POINTS,
    REBUILD_POINTS,
    LOG_STARTS,
    HIGH_WATERMARKS,
    AUDIT_LOG,
    SCRUB_CHECKPOINT,
    LAST_TIME,
    SYNC_FAILED,
];
/// The files of a data directory in the format of `storage/checked_text.rs`.
pub(crate) const CHECKED_TEXTS: [&str; 8] = [
    RUN,
    MANIFEST,
    DURABLE_POINTS,
    REBUILD_POINTS,
    LOG_STARTS,
    HIGH_WATERMARKS,
    SCRUB_CHECKPOINT,
    LAST_TIME,
];
/// Directories that file systems show in the root of a volume.
const OF_FILE_SYSTEMS: [&str; 4] = ["lost+found", ".snapshot", ".snapshots", ".zfs"];
const UNFINISHED: &str = ".tmp";
const DELETED: &str = ".deleted";

/// The meaning of a name in a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A known file or directory, which is accessed by its name.
    Own,
    /// The log of a partition.
    Log(TopicPartition),
    /// A file or directory whose creation was interrupted.
    Unfinished,
    /// A deleted log whose files still exist.
    Deleted,
    /// An unknown name.
    Unknown,
}

/// Returns true if this is the name of a log's directory.
pub(crate) fn is_log_dir(name: &str, is_dir: bool) -> bool {
    matches!(meaning(name, is_dir), Meaning::Log(_))
}

/// The meaning of a name in a data directory.
pub(super) fn meaning(name: &str, is_dir: bool) -> Meaning {
    if is_dir {
        directory(name)
    } else if OWN_FILES.contains(&name) {
        Meaning::Own
    } else if name.strip_suffix(UNFINISHED).is_some_and(|stem| OWN_FILES.contains(&stem)) {
        Meaning::Unfinished
    } else {
        Meaning::Unknown
    }
}

fn directory(name: &str) -> Meaning {
    let is_uuid = |stem: &str| Uuid::parse_str(stem).is_ok();
    if [RESERVE, QUARANTINE, METADATA].contains(&name) || OF_FILE_SYSTEMS.contains(&name) {
        Meaning::Own
    } else if name.strip_suffix(UNFINISHED).is_some_and(|stem| stem == METADATA || is_uuid(stem)) {
        Meaning::Unfinished
    } else if name.strip_suffix(DELETED).is_some_and(is_uuid) {
        Meaning::Deleted
    } else {
        partition_of(name).map_or(Meaning::Unknown, Meaning::Log)
    }
}

/// The partition whose directory has this name.
pub(crate) fn partition_of(name: &str) -> Option<TopicPartition> {
    let (topic, number) = name.rsplit_once('-')?;
    let partition = PartitionIndex(number.parse().ok().filter(|number| *number >= 0)?);
    let partition = TopicPartition { topic: topic.parse().ok()?, partition };
    // A number has a single spelling, so that no two directories stand for the same partition.
    (partition.to_string() == name).then_some(partition)
}

/// The path of a partition's log.
pub(super) fn log_path(dir: &Path, partition: &TopicPartition) -> PathBuf {
    dir.join(partition.to_string())
}

/// A new name for an incomplete directory.
pub(super) fn unfinished_path(dir: &Path) -> PathBuf {
    dir.join(format!("{}{UNFINISHED}", Uuid::new_v4()))
}

/// A new name for a deleted log.
pub(super) fn deleted_path(dir: &Path) -> PathBuf {
    dir.join(format!("{}{DELETED}", Uuid::new_v4()))
}

/// A new path in the quarantine for a file or directory called `name`.
pub(super) fn quarantine_path(dir: &Path, name: &str) -> PathBuf {
    // The name itself may have the maximum of 255 bytes, so it cannot be extended.
    dir.join(QUARANTINE).join(Uuid::new_v4().to_string()).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(topic: &str, partition: i32) -> Meaning {
        let topic = topic.parse().unwrap();
        Meaning::Log(TopicPartition { topic, partition: PartitionIndex(partition) })
    }

    #[test]
    fn a_log_has_the_name_of_its_partition() {
        assert_eq!(meaning("web-0", true), log("web", 0));
        assert_eq!(meaning("a-b-17", true), log("a-b", 17));
        assert_eq!(meaning("--0", true), log("-", 0));
        for name in ["web", "web-", "-0", "web-00", "web-+1", "web--1x", "web-x", "w b-0", "..-0x"]
        {
            assert_eq!(meaning(name, true), Meaning::Unknown, "{name}");
        }
        assert_eq!(meaning("web-0", false), Meaning::Unknown, "a file");
    }

    #[test]
    fn directories_of_file_systems_are_known() {
        for name in ["lost+found", ".snapshot", ".snapshots", ".zfs"] {
            assert_eq!(meaning(name, true), Meaning::Own, "{name}");
            assert_eq!(meaning(name, false), Meaning::Unknown, "a file {name}");
        }
    }

    #[test]
    fn only_names_of_the_engine_count_as_unfinished_or_deleted() {
        let dir = Path::new("");
        let name = |path: PathBuf| path.to_string_lossy().into_owned();
        assert_eq!(meaning(&name(unfinished_path(dir)), true), Meaning::Unfinished);
        assert_eq!(meaning(&name(deleted_path(dir)), true), Meaning::Deleted);
        assert_eq!(meaning("run.tmp", false), Meaning::Unfinished);
        assert_eq!(meaning("photos.tmp", true), Meaning::Unknown);
        assert_eq!(meaning("photos.tmp", false), Meaning::Unknown);
        assert_eq!(meaning("photos.deleted", true), Meaning::Unknown);
    }
}
