//! The runs of a data directory, and the manifest of a clean shutdown.
//!
//! A run lasts from one opening of the directory to the next. It has a number, which rises by one,
//! and the boot id of the machine at the time. `run` is a checked text of version 0 with the row
//! `run <number> <boot id>`, and a row `torn <topic> <partition> <topic id>` for each log that the
//! run could not recover after a power failure: its next recovery follows the rules for another
//! boot. A row `lost <topic> <partition> <topic id>` names a log that has lost records, as other
//! brokers know, and not its files. Other rows, of earlier builds, are ignored; earlier releases
//! ignore all but the first.
//!
//! `clean-stop` is a checked text of version 0: the row of its run, and for each log `log <topic>
//! <partition> <topic id> <log start> <log end> <high watermark>`, with −1 for no high watermark.
//! It is the last file that a run writes. A manifest is valid only for the run that `run` names;
//! the next run takes a new number, durably, and removes the manifest, before anything is written
//! to a log. So an outdated manifest, or one restored from a copy, is recognized.
//!
//! `sync-failed` is an empty file, created when a sync has failed. The kernel may have dropped the
//! pages that this sync was to write. So the next start ignores the manifest and follows the rules
//! for another boot, even within the same one; then it removes the file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::io::{Disk, OpenMode};
use crate::storage::directory::names;
use crate::storage::{StorageError, Stored, checked_text, small_file};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicId, TopicPartition};

/// A run of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Incremented by every opening.
    pub incarnation: u64,
    /// The boot id of the machine during the run.
    pub boot_id: String,
}

/// The contents of the file of the current run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunFile {
    pub(super) run: Run,
    /// Logs that the run could not recover, and that may have lost what was not synced.
    pub(super) torn: Vec<NamedLog>,
    /// Logs that have lost records in a way that their files do not show.
    pub(super) lost: Vec<NamedLog>,
}

/// A log by its name and its topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedLog {
    pub(super) partition: TopicPartition,
    /// Its topic: a later one may have the same name.
    pub(super) topic_id: TopicId,
}

/// The manifest of a clean shutdown: everything is flushed, and the logs end as listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) run: Run,
    pub(super) logs: Vec<StoppedLog>,
}

/// A log at a clean shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoppedLog {
    pub(super) partition: TopicPartition,
    pub(super) topic_id: TopicId,
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
    pub(super) high_watermark: Option<Offset>,
}

/// The note in a data directory that a sync has failed.
pub(super) struct FailedSyncs {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// True once a sync has failed in this process.
    is_noted: AtomicBool,
}

const VERSION: i64 = 0;

/// The first words of the rows of logs.
const TORN: &str = "torn ";
const LOST: &str = "lost ";

impl Run {
    fn parse(row: &str) -> Option<Self> {
        let (number, boot_id) = row.strip_prefix("run ")?.split_once(' ')?;
        Some(Self { incarnation: number.parse().ok()?, boot_id: boot_id.to_owned() })
    }

    /// The first run of a new directory.
    pub(super) fn first(boot_id: &str) -> Self {
        Self { incarnation: 1, boot_id: boot_id.to_owned() }
    }

    /// The run of a directory whose runs are not known. Its number is the time in seconds since
    /// 1970, which exceeds any earlier number of the directory, as numbers rise by one at each
    /// opening. So no manifest of an earlier run is valid for it.
    pub(super) fn after_lost(boot_id: &str, now: Timestamp) -> Self {
        let seconds = u64::try_from(now.millis() / 1000).unwrap_or_default();
        Self { incarnation: seconds.max(1), boot_id: boot_id.to_owned() }
    }

    /// The run after this one.
    pub(super) fn next(&self, boot_id: &str) -> Self {
        Self { incarnation: self.incarnation + 1, boot_id: boot_id.to_owned() }
    }
}

impl RunFile {
    /// Reads the file.
    pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Stored<Self>, StorageError> {
        let rows = checked_text::read(disk, path, VERSION, |row| Some(row.to_owned()))
            .map_err(|source| StorageError::read(path, source))?;
        Ok(match rows {
            Stored::Absent => Stored::Absent,
            Stored::Damaged(reason) => Stored::Damaged(reason),
            Stored::Sound(rows) => match rows.first().and_then(|row| Run::parse(row)) {
                Some(run) => {
                    let named = |kind| {
                        let words = rows.iter().filter_map(move |row| row.strip_prefix(kind));
                        words.filter_map(NamedLog::parse).collect()
                    };
                    let (torn, lost) = (named(TORN), named(LOST));
                    Stored::Sound(Self { run, torn, lost })
                }
                None => Stored::Damaged("its first row is not that of a run".to_owned()),
            },
        })
    }

    /// Writes the file; durable on return.
    pub(super) fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
        let mut rows = vec![self.run.to_string()];
        rows.extend(self.torn.iter().map(|log| format!("{TORN}{log}")));
        rows.extend(self.lost.iter().map(|log| format!("{LOST}{log}")));
        checked_text::write(disk, path, VERSION, rows.iter())
            .map_err(|source| StorageError::io("write", path, source))
    }
}

impl NamedLog {
    /// Returns true if this is the log of a partition of this topic.
    pub(super) fn is(&self, partition: &TopicPartition, topic_id: TopicId) -> bool {
        self.partition == *partition && self.topic_id == topic_id
    }

    fn parse(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let topic = words.next()?.parse().ok()?;
        let partition = PartitionIndex(words.next()?.parse().ok()?);
        let topic_id = words.next()?.parse().ok()?;
        Some(Self { partition: TopicPartition { topic, partition }, topic_id })
    }
}

impl fmt::Display for NamedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TopicPartition { topic, partition } = &self.partition;
        write!(f, "{topic} {partition} {}", self.topic_id)
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} {}", self.incarnation, self.boot_id)
    }
}

impl Manifest {
    /// Reads the file.
    pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Stored<Self>, StorageError> {
        let rows = checked_text::read(disk, path, VERSION, Row::parse)
            .map_err(|source| StorageError::read(path, source))?;
        Ok(match rows {
            Stored::Absent => Stored::Absent,
            Stored::Damaged(reason) => Stored::Damaged(reason),
            Stored::Sound(rows) => match Self::from_rows(rows) {
                Some(manifest) => Stored::Sound(manifest),
                None => Stored::Damaged("it does not begin with its only run".to_owned()),
            },
        })
    }

    /// Writes the file; durable on return.
    pub(super) fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
        let mut rows = vec![self.run.to_string()];
        rows.extend(self.logs.iter().map(StoppedLog::to_string));
        checked_text::write(disk, path, VERSION, rows.iter())
            .map_err(|source| StorageError::io("write", path, source))
    }

    fn from_rows(rows: Vec<Row>) -> Option<Self> {
        let mut rows = rows.into_iter();
        let Some(Row::Run(run)) = rows.next() else { return None };
        let logs = rows.map(|row| match row {
            Row::Log(log) => Some(log),
            Row::Run(_) => None,
        });
        Some(Self { run, logs: logs.collect::<Option<_>>()? })
    }
}

impl FailedSyncs {
    /// The note in the directory `dir`. Failures of `disk` itself must not be noted, or a failure
    /// to create the note would be noted in turn.
    pub(super) fn of(disk: Arc<dyn Disk>, dir: &Path) -> Self {
        Self { disk, dir: dir.to_owned(), is_noted: AtomicBool::new(false) }
    }

    /// Returns true if a sync has failed in the last process that used the directory.
    pub(super) fn were_noted(disk: &dyn Disk, dir: &Path) -> Result<bool, StorageError> {
        let path = dir.join(names::SYNC_FAILED);
        disk.exists(&path).map_err(|source| StorageError::io("look for", &path, source))
    }

    /// Notes that a sync has failed.
    ///
    /// The note need not survive a reboot, after which a start follows the same rules anyway. So it
    /// is an empty file, which takes no space, and it does not matter if the sync of its directory
    /// fails.
    pub(super) fn note(&self) {
        if self.is_noted.swap(true, Ordering::AcqRel) {
            return;
        }
        let path = self.dir.join(names::SYNC_FAILED);
        if let Err(error) = self.disk.open(&path, OpenMode::Create) {
            self.is_noted.store(false, Ordering::Release);
            tracing::error!(
                "cannot create '{}': {error}; restart the machine before this broker, which would \
                 otherwise take records that the failed sync has lost for damaged ones",
                path.display()
            );
        }
        // Best effort: the directory may be unmounted and mounted again within this boot.
        let _ = self.disk.sync_dir(&self.dir);
    }

    /// Removes the note of an earlier process, once its logs are recovered. A note of this process
    /// stays.
    pub(super) fn clear(&self, disk: &dyn Disk) -> Result<(), StorageError> {
        let path = self.dir.join(names::SYNC_FAILED);
        if self.is_noted.load(Ordering::Acquire) {
            return Ok(());
        }
        small_file::remove(disk, &path).map_err(|source| StorageError::io("remove", &path, source))
    }
}

enum Row {
    Run(Run),
    Log(StoppedLog),
}

impl Row {
    fn parse(row: &str) -> Option<Self> {
        match row.strip_prefix("log ") {
            Some(log) => StoppedLog::parse(log).map(Self::Log),
            None => Run::parse(row).map(Self::Run),
        }
    }
}

impl StoppedLog {
    fn parse(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let topic = words.next()?.parse().ok()?;
        let partition = PartitionIndex(words.next()?.parse().ok()?);
        let topic_id = words.next()?.parse().ok()?;
        let mut number = || words.next()?.parse().ok();
        let log = Self {
            partition: TopicPartition { topic, partition },
            topic_id,
            log_start: Offset::checked(number()?)?,
            log_end: Offset::checked(number()?)?,
            high_watermark: Offset::checked(number()?),
        };
        (words.next().is_none() && log.log_start <= log.log_end).then_some(log)
    }
}

impl fmt::Display for StoppedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TopicPartition { topic, partition } = &self.partition;
        let Self { topic_id, log_start, log_end, .. } = self;
        let high_watermark = self.high_watermark.map_or(-1, Offset::get);
        write!(f, "log {topic} {partition} {topic_id} {log_start} {log_end} {high_watermark}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let (disk, path) = (MemoryDisk::default(), Path::new("/clean-stop"));
        let log = |partition, high_watermark| StoppedLog {
            partition: TopicPartition {
                topic: "log".parse().unwrap(),
                partition: PartitionIndex(partition),
            },
            topic_id: TopicId([3; 16]),
            log_start: Offset::new(5),
            log_end: Offset::new(70),
            high_watermark,
        };
        let run = Run { incarnation: 12, boot_id: "4711-b".to_owned() };
        let manifest = Manifest { run, logs: vec![log(0, None), log(1, Some(Offset::new(60)))] };
        assert_eq!(Manifest::read(&disk, path).unwrap(), Stored::Absent);
        manifest.write(&disk, path).unwrap();
        assert_eq!(Manifest::read(&disk, path).unwrap(), Stored::Sound(manifest));
    }

    #[test]
    fn runs_are_numbered() {
        let (disk, path) = (MemoryDisk::default(), Path::new("/run"));
        let first = Run::first("boot-1");
        let second = RunFile { run: first.next("boot-2"), torn: Vec::new(), lost: Vec::new() };
        RunFile { run: first, torn: Vec::new(), lost: Vec::new() }.write(&disk, path).unwrap();
        second.write(&disk, path).unwrap();
        assert_eq!(second.run, Run { incarnation: 2, boot_id: "boot-2".to_owned() });
        assert_eq!(RunFile::read(&disk, path).unwrap(), Stored::Sound(second));
    }

    #[test]
    fn a_run_names_the_logs_that_it_could_not_recover_and_those_that_have_lost_records() {
        let (disk, path) = (MemoryDisk::default(), Path::new("/run"));
        let partition =
            TopicPartition { topic: "log".parse().unwrap(), partition: PartitionIndex(2) };
        let torn = vec![NamedLog { partition: partition.clone(), topic_id: TopicId([3; 16]) }];
        let lost = vec![NamedLog { partition, topic_id: TopicId([4; 16]) }];
        let file = RunFile { run: Run::first("boot-1"), torn, lost };
        file.write(&disk, path).unwrap();
        assert_eq!(RunFile::read(&disk, path).unwrap(), Stored::Sound(file));
    }

    #[test]
    fn a_second_row_of_an_earlier_build_is_ignored() {
        let (disk, path) = (MemoryDisk::default(), Path::new("/run"));
        let rows = ["run 7 boot-1", "registered 6"];
        checked_text::write(&disk, path, VERSION, rows.into_iter()).unwrap();
        let run = Run { incarnation: 7, boot_id: "boot-1".to_owned() };
        let expected = RunFile { run, torn: Vec::new(), lost: Vec::new() };
        assert_eq!(RunFile::read(&disk, path).unwrap(), Stored::Sound(expected));
    }
}
