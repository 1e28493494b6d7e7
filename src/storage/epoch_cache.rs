//! The leader-epoch history of a log: the start offset of every epoch. Followers truncate by it.
//!
//! Epochs and start offsets both strictly rise. An epoch is assigned, durably, before its first
//! record is appended; if the history lost an epoch that has records, a follower could keep records
//! that its leader never had. The history can be derived from the log, and is rebuilt from its
//! batches if the file is absent or damaged.
//!
//! The file, `leader-epoch-checkpoint`, is in Kafka's own format: a line `0`, a line with the
//! number of entries, then a line `epoch start` for each.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::Disk;
use crate::storage::{Stored, small_file};
use crate::types::{LeaderEpoch, Offset};

/// The start of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The offset of its first record, or the log end offset at the time it was assigned.
    pub start: Offset,
}

/// The epoch history of one log, and its file.
#[derive(Clone, Debug)]
pub struct EpochCache {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    entries: Vec<EpochStart>,
}

const FILE_NAME: &str = "leader-epoch-checkpoint";
const VERSION: i64 = 0;

impl EpochCache {
    /// An empty history for the log in `dir`; the file is not touched until `store`.
    pub fn new(disk: Arc<dyn Disk>, dir: &Path) -> Self {
        Self { disk, path: Self::path_in(dir), entries: Vec::new() }
    }

    /// Reads the history from the file in `dir`.
    ///
    /// # Errors
    /// `Unsupported` if a later release has written it; otherwise the disk's error.
    pub fn load(disk: Arc<dyn Disk>, dir: &Path) -> io::Result<Stored<Self>> {
        let mut cache = Self::new(disk, dir);
        let Some(bytes) = small_file::read(&*cache.disk, &cache.path)? else {
            return Ok(Stored::Absent);
        };
        match decode(&bytes) {
            Ok(Content::Entries(entries)) => {
                cache.entries = entries;
                Ok(Stored::Sound(cache))
            }
            Ok(Content::Newer(version)) => Err(small_file::too_new(&cache.path, version, VERSION)),
            Err(reason) => Ok(Stored::Damaged(reason)),
        }
    }

    /// The path of the history of the log in `dir`.
    pub(crate) fn path_in(dir: &Path) -> PathBuf {
        dir.join(FILE_NAME)
    }

    /// The entries, rising.
    pub fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    /// The latest epoch, or `None` for a log that never had one.
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// The epoch of the last record of a log that ends at `log_end`, or `None` for an empty one.
    pub(in crate::storage) fn last_before(&self, log_end: Offset) -> Option<LeaderEpoch> {
        let with_records = self.entries.partition_point(|entry| entry.start < log_end);
        with_records.checked_sub(1).map(|last| self.entries[last].epoch)
    }

    /// The epoch of the record at `offset`, or `None` before the first entry.
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|index| self.entries[index].epoch)
    }

    /// Returns true if a batch of `epoch` may follow in a log that ends at `log_end`: epochs never
    /// fall along a log. An epoch assigned at `log_end` has no record yet and is ignored.
    pub fn may_follow(&self, epoch: LeaderEpoch, log_end: Offset) -> bool {
        epoch > LeaderEpoch::NONE && self.last_before(log_end).is_none_or(|last| last <= epoch)
    }

    /// Assigns the records from `start`, the log end offset, to `epoch`; durable on return. Does
    /// nothing if they belong to it already.
    ///
    /// # Errors
    /// Those of the disk; nothing may then be appended in this epoch.
    ///
    /// # Panics
    /// If the epoch may not follow: the caller must check `may_follow`.
    #[cfg(any(test, feature = "internals"))]
    pub fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> io::Result<()> {
        if self.note(epoch, start) { self.store() } else { Ok(()) }
    }

    /// As `assign`, but only in memory, to be followed by `store`. Returns true if the history
    /// changed.
    ///
    /// # Panics
    /// If the epoch may not follow: the caller must check `may_follow`.
    pub fn note(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        assert!(
            self.may_follow(epoch, start),
            "epoch {epoch} cannot begin at {start} after {:?}",
            self.entries.last()
        );
        if self.entries.last().is_some_and(|last| last.epoch == epoch && last.start <= start) {
            return false;
        }
        // Entries at `start` or beyond belong to leaders that appended nothing.
        self.entries.retain(|entry| entry.start < start);
        if self.latest() != Some(epoch) {
            self.entries.push(EpochStart { epoch, start });
        }
        true
    }

    /// The answer to `OffsetForLeaderEpoch` (KIP-101, KIP-279): the last epoch of this log that is
    /// not above `epoch`, and its end offset. `None` if `epoch` is undefined (−1), or newer than
    /// all epochs of the log. If `epoch` is older than all of them, it is returned with the start
    /// offset of the oldest.
    pub fn end_offset_for(
        &self,
        epoch: LeaderEpoch,
        log_end: Offset,
    ) -> Option<(LeaderEpoch, Offset)> {
        if epoch == LeaderEpoch::NONE {
            return None;
        }
        if self.latest() == Some(epoch) {
            return Some((epoch, log_end));
        }
        let next = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let end = self.entries.get(next)?.start;
        let floor = next.checked_sub(1).map_or(epoch, |index| self.entries[index].epoch);
        Some((floor, end))
    }

    /// Removes the epochs that begin at `log_end` or beyond, durably; call it after truncating the
    /// log.
    #[cfg(any(test, feature = "internals"))]
    pub fn truncate_to(&mut self, log_end: Offset) -> io::Result<()> {
        if self.forget_from(log_end) { self.store() } else { Ok(()) }
    }

    /// Removes the epochs that begin at `log_end` or beyond, in memory only. Returns true if the
    /// history changed.
    pub(in crate::storage) fn forget_from(&mut self, log_end: Offset) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.start < log_end);
        self.entries.len() != before
    }

    /// Removes the epochs that end at or below `log_start`, durably; the epoch that is in force at
    /// `log_start` begins at this offset from then on.
    pub fn advance_start(&mut self, log_start: Offset) -> io::Result<()> {
        let before = self.entries.clone();
        if !self.forget_before(log_start) {
            return Ok(());
        }
        let stored = self.store();
        if stored.is_err() {
            // The next call tries again.
            self.entries = before;
        }
        stored
    }

    /// As `advance_start`, but only in memory. Returns true if the history changed.
    pub(in crate::storage) fn forget_before(&mut self, log_start: Offset) -> bool {
        let after = self.entries.partition_point(|entry| entry.start <= log_start);
        let Some(in_force) = after.checked_sub(1) else { return false };
        if in_force == 0 && self.entries[0].start == log_start {
            return false;
        }
        self.entries.drain(..in_force);
        self.entries[0].start = log_start;
        true
    }

    /// Writes the history to its file, durably.
    ///
    /// # Panics
    /// If epochs or offsets do not rise: such a history would mislead every follower.
    pub fn store(&self) -> io::Result<()> {
        assert!(rises(&self.entries), "the epoch history does not rise: {:?}", self.entries);
        small_file::replace(&*self.disk, &self.path, encode(&self.entries).as_bytes())
    }
}

/// A whole file's content.
enum Content {
    Entries(Vec<EpochStart>),
    Newer(i64),
}

fn rises(entries: &[EpochStart]) -> bool {
    entries.is_sorted_by(|a, b| a.epoch < b.epoch && a.start < b.start)
}

fn encode(entries: &[EpochStart]) -> String {
    let mut text = format!("{VERSION}\n{}\n", entries.len());
    for EpochStart { epoch, start } in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{epoch} {start}");
    }
    text
}

fn decode(bytes: &[u8]) -> Result<Content, String> {
    let text = str::from_utf8(bytes).map_err(|error| format!("no text: {error}"))?;
    let mut lines = text.lines();
    let mut number = |what: &str| {
        let parsed = lines.next().and_then(|line| line.trim().parse::<i64>().ok());
        parsed.ok_or_else(|| format!("the {what} is no number"))
    };
    let version = number("version")?;
    if version != VERSION {
        return Ok(Content::Newer(version));
    }
    let count = number("count")?;
    let entries: Vec<_> = lines.map(entry).collect::<Result<_, _>>()?;
    if i64::try_from(entries.len()) != Ok(count) {
        return Err(format!("{count} entries announced, {} found", entries.len()));
    }
    if !rises(&entries) {
        return Err("epochs and starts do not rise".to_owned());
    }
    Ok(Content::Entries(entries))
}

fn entry(line: &str) -> Result<EpochStart, String> {
    parse_entry(line).ok_or_else(|| format!("'{line}' is no entry"))
}

fn parse_entry(line: &str) -> Option<EpochStart> {
    let (epoch, start) = line.split_once(' ')?;
    let epoch = epoch.parse().ok().filter(|epoch| *epoch >= 0)?;
    Some(EpochStart { epoch: LeaderEpoch(epoch), start: Offset::checked(start.parse().ok()?)? })
}
