//! What all parts of one log share.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::io::{Clock, Disk};
use crate::storage::segments::{Damage, SegmentFile};
use crate::storage::skipping::Skips;
use crate::storage::{LogConfig, StorageError};
use crate::types::{Offset, TopicPartition};

/// Where a log lives, whose it is, and what rules it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dir: PathBuf,
    pub(crate) partition: TopicPartition,
    pub(crate) config: ArcSwap<LogConfig>,
    pub(crate) skips: Skips,
}

impl Home {
    /// The refusal to read offsets that are damaged.
    pub(crate) fn corrupt(
        &self,
        (first, next): (Offset, Offset),
        (path, position): (&Path, u64),
    ) -> StorageError {
        let partition = self.partition.clone();
        StorageError::Corrupt { partition, first, next, path: path.to_owned(), position }
    }

    /// Whether a person has given up what a damaged stretch held, so that readers pass over it.
    pub(crate) fn is_skipped(&self, damage: &Damage) -> bool {
        self.skips.cover((&*self.disk, &self.dir), damage)
    }

    /// The segments' files in the directory, with their names; none when there is no directory.
    pub(crate) fn list(&self) -> Result<Vec<(String, SegmentFile)>, StorageError> {
        let entries = match self.disk.list(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.refused("list", error)),
        };
        let names = entries.into_iter().map(|entry| entry.name);
        Ok(names.filter_map(|name| SegmentFile::parse(&name).map(|file| (name, file))).collect())
    }

    /// Makes the names in the log's directory durable.
    pub(crate) fn sync_names(&self) -> Result<(), StorageError> {
        self.disk.sync_dir(&self.dir).map_err(|error| self.refused("sync", error))
    }

    /// An error about the directory itself.
    pub(crate) fn refused(&self, action: &'static str, error: io::Error) -> StorageError {
        StorageError::io(action, &self.dir, error)
    }
}
