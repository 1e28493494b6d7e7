//! The entry of a log in the directory, for an open or closed log.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::directory::names;
use crate::storage::directory::partition_metadata::{self, PartitionMetadata};
use crate::storage::{CheckpointOffsets, Log, LogConfig, LogEnv, StartPoint, StorageError};
use crate::types::{Offset, TopicPartition};

/// Provides the settings of a log that is being opened.
pub type LogConfigs =
    Arc<dyn Fn(&TopicPartition, &PartitionMetadata) -> Arc<LogConfig> + Send + Sync>;

/// The entry of a log in the directory.
pub(super) struct Slot {
    partition: TopicPartition,
    /// An error holds the reason for which the topic is not known: the log is then never opened.
    metadata: Result<PartitionMetadata, String>,
    start: StartPoint,
    /// Held while the log is opened, which may recover it.
    opening: Mutex<()>,
    log: Mutex<Option<Arc<Log>>>,
    /// The reason for which the log was not recovered at the start, and stays closed.
    closed: Mutex<Option<Arc<str>>>,
    /// True from the failure of a truncation on. Written during a change of the recorded offsets,
    /// so that the next change sees it.
    is_half_truncated: AtomicBool,
}

impl Slot {
    pub(super) fn new(
        partition: TopicPartition,
        metadata: Result<PartitionMetadata, String>,
        start: StartPoint,
    ) -> Self {
        let is_half_truncated = AtomicBool::new(false);
        let (opening, log, closed) = (Mutex::new(()), Mutex::default(), Mutex::default());
        Self { partition, metadata, start, opening, log, closed, is_half_truncated }
    }

    pub(super) fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The metadata of the log.
    pub(super) fn metadata(&self, dir: &Path) -> Result<PartitionMetadata, StorageError> {
        self.metadata.clone().map_err(|reason| {
            let path = partition_metadata::path_in(&names::log_path(dir, &self.partition));
            StorageError::Damaged { path, reason }
        })
    }

    /// Returns true if the log's topic is known.
    pub(super) fn is_known(&self) -> bool {
        self.metadata.is_ok()
    }

    /// Returns true if the log must be recovered before its next use: its offsets are not known.
    pub(super) fn needs_recovery(&self) -> bool {
        let is_unclean = self.is_known() && matches!(self.start, StartPoint::Unclean { .. });
        self.is_half_truncated() || is_unclean && self.opened().is_none()
    }

    /// Records that a truncation of the open log failed half-way.
    pub(super) fn note_half_truncated(&self) {
        self.is_half_truncated.store(true, Ordering::Release);
    }

    /// Returns true if a truncation of the open log failed half-way.
    pub(super) fn is_half_truncated(&self) -> bool {
        self.is_half_truncated.load(Ordering::Acquire)
    }

    /// Keeps the log closed until the next start, which tries to recover it again.
    pub(super) fn close_unrecovered(&self, error: &str) {
        let reason = format!(
            "its log is closed, because the start could not recover it ({error}); start the broker \
             again once the file can be read"
        );
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.into());
    }

    /// The reason for which the log was not recovered at the start; `None` for other logs.
    pub(super) fn closed_because(&self) -> Option<Arc<str>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true if the log was not recovered, and the machine may have lost unsynced bytes of
    /// it.
    pub(super) fn may_be_torn(&self) -> bool {
        let is_torn = matches!(self.start, StartPoint::Unclean { same_boot: false, .. });
        is_torn && self.closed_because().is_some()
    }

    /// The same log, closed, to be recovered by the next use.
    pub(super) fn unclean(&self, start: StartPoint) -> Self {
        Self::new(self.partition.clone(), self.metadata.clone(), start)
    }

    /// The same log, closed, to be tried once more by the next use.
    pub(super) fn reopened(&self) -> Self {
        self.unclean(self.start)
    }

    /// The same log with its topic known.
    pub(super) fn identified(&self, metadata: PartitionMetadata) -> Self {
        Self::new(self.partition.clone(), Ok(metadata), self.start)
    }

    /// The end of the log when the last run stopped in order.
    pub(super) fn stopped_at(&self) -> Option<Offset> {
        match self.start {
            StartPoint::Clean { log_end, .. } => Some(log_end),
            StartPoint::New | StartPoint::Unclean { .. } => None,
        }
    }

    /// The log, opened now if it was not yet; concurrent callers wait.
    pub(super) fn open(
        &self,
        env: &LogEnv,
        dir: &Path,
        configs: &LogConfigs,
    ) -> Result<Arc<Log>, StorageError> {
        let metadata = self.metadata(dir)?;
        if let Some(cause) = self.closed_because() {
            let partition = self.partition.clone();
            return Err(StorageError::Failed { partition, cause, is_disk_unknown: false });
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = self.opened() {
            return Ok(log);
        }
        let config = configs(&self.partition, &metadata);
        let path = names::log_path(dir, &self.partition);
        let opened = Log::open(env, path, self.partition.clone(), config, self.start)?;
        let opened = Arc::new(opened);
        *self.lock() = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The log, if it is open. Does not wait for a log that is being opened.
    pub(super) fn opened(&self) -> Option<Arc<Log>> {
        self.lock().clone()
    }

    /// The log, if it is open. Waits for a log that is being opened now.
    pub(super) fn opened_soon(&self) -> Option<Arc<Log>> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        self.opened()
    }

    /// The current offsets of the log if it is open, otherwise those of its start point.
    pub(super) fn checkpoint_offsets(&self) -> CheckpointOffsets {
        match (self.opened(), self.start) {
            (Some(log), _) => log.checkpoints().offsets(),
            (None, StartPoint::New) => {
                let zero = Offset::ZERO;
                CheckpointOffsets { log_start: zero, durable: zero, rebuild: zero }
            }
            (None, StartPoint::Clean { log_start, log_end }) => {
                CheckpointOffsets { log_start, durable: log_end, rebuild: log_end }
            }
            (None, StartPoint::Unclean { log_start, durable, rebuild, .. }) => {
                CheckpointOffsets { log_start, durable, rebuild }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Log>>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
