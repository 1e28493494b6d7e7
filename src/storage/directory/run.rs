//! The runs of a data directory, and the manifest of a clean shutdown.
//!
//! A run lasts from one opening of the directory to the next, with a rising number and the boot it
//! happened in. `run` is a checked text of version 0 with the row `run <number> <boot id>`.
//!
//! `clean-stop` is a checked text of version 0: the row of its run, and for each log `log <topic>
//! <partition> <topic id> <log start> <log end> <high watermark>`, −1 being none. It is the last
//! file that a run writes. A manifest is valid only for the run that `run` names; the next run
//! takes a new number, durably, and removes the manifest, before anything else is written. So an
//! outdated manifest, or one restored from a copy, is recognized.

use std::fmt;
use std::path::Path;

use crate::io::Disk;
use crate::storage::{StorageError, Stored, checked_text};
use crate::types::{Offset, PartitionIndex, Timestamp, TopicId, TopicPartition};

/// A run of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Incremented by every opening.
    pub incarnation: u64,
    /// The boot of the machine during the run.
    pub boot_id: String,
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

const VERSION: i64 = 0;

impl Run {
    /// The first run of a new directory.
    pub(super) fn first(boot_id: &str) -> Self {
        Self { incarnation: 1, boot_id: boot_id.to_owned() }
    }

    /// The run of a directory that does not know its last one. Its number exceeds the last one's,
    /// which a cluster may remember: no directory has been opened every second since 1970.
    pub(super) fn after_lost(boot_id: &str, now: Timestamp) -> Self {
        let seconds = u64::try_from(now.millis() / 1000).unwrap_or_default();
        Self { incarnation: seconds.max(1), boot_id: boot_id.to_owned() }
    }

    /// The run that follows this one.
    pub(super) fn next(&self, boot_id: &str) -> Self {
        Self { incarnation: self.incarnation + 1, boot_id: boot_id.to_owned() }
    }

    /// Reads the last run.
    pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Stored<Self>, StorageError> {
        let rows = checked_text::read(disk, path, VERSION, Self::parse)
            .map_err(|source| StorageError::read(path, source))?;
        Ok(match rows {
            Stored::Absent => Stored::Absent,
            Stored::Damaged(reason) => Stored::Damaged(reason),
            Stored::Sound(mut rows) => match (rows.pop(), rows.is_empty()) {
                (Some(run), true) => Stored::Sound(run),
                _ => Stored::Damaged("one row is expected".to_owned()),
            },
        })
    }

    /// Records this as the last run; durable on return.
    pub(super) fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), StorageError> {
        checked_text::write(disk, path, VERSION, std::iter::once(self))
            .map_err(|source| StorageError::io("write", path, source))
    }

    fn parse(row: &str) -> Option<Self> {
        let (number, boot_id) = row.strip_prefix("run ")?.split_once(' ')?;
        Some(Self { incarnation: number.parse().ok()?, boot_id: boot_id.to_owned() })
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
        first.write(&disk, path).unwrap();
        first.next("boot-2").write(&disk, path).unwrap();
        let expected = Run { incarnation: 2, boot_id: "boot-2".to_owned() };
        assert_eq!(Run::read(&disk, path).unwrap(), Stored::Sound(expected));
    }
}
