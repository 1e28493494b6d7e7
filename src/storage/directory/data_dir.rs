//! The data directory itself: its logs, their marks, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::io::{DirLock, Disk, OpenFiles, Share, require_dir_in_place};
use crate::storage::directory::checkpoints::{Checkpoints, Kind};
use crate::storage::directory::identity::{Identity, Opener};
use crate::storage::directory::names;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::directory::run::{Manifest, Run, StoppedLog};
use crate::storage::directory::slot::{LogConfigs, Slot};
use crate::storage::skipping::AuditLog;
use crate::storage::{Log, LogConfig, LogEnv, Offsets, ProducerLimits, Reserve, StorageError};
use crate::types::{Offset, Timestamp, TopicId, TopicPartition};

/// What a data directory has to be told.
#[derive(Clone)]
pub struct DataDirOptions {
    /// Who opens it.
    pub opener: Opener,
    /// The boot of the machine, another one after every restart of it.
    pub boot_id: String,
    /// The settings of each log.
    pub configs: LogConfigs,
    /// What is remembered of idempotent producers.
    pub producers: ProducerLimits,
    /// So many logs are recovered at a time.
    pub recovery_threads: usize,
    /// How long a deleted log is kept.
    pub keep_deleted: Duration,
    /// How many files of logs may be open at once.
    pub open_files: Share,
}

/// How a data directory was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartReport {
    /// Whether the last run has stopped in order: nothing had to be recovered.
    pub was_clean: bool,
    /// Logs that were recovered.
    pub recovered: usize,
    /// Checkpoints that were damaged and are made again.
    pub rebuilt: Vec<&'static str>,
    /// Where things went that nobody knew.
    pub quarantined: Vec<PathBuf>,
    /// Logs that are left alone because nobody can tell whose they are.
    pub unusable: Vec<TopicPartition>,
    /// Logs that the last run had and that are gone.
    pub missing: Vec<TopicPartition>,
}

/// An open data directory. All calls may come from several threads at once.
///
/// Locks are taken in the order creation, removal, closing, checkpoints, logs, a slot.
pub struct DataDir {
    pub(super) env: LogEnv,
    /// The disk with the whole reserve behind it.
    pub(super) disk: Arc<dyn Disk>,
    pub(super) reserve: Arc<Reserve>,
    pub(super) path: PathBuf,
    pub(super) options: DataDirOptions,
    pub(super) identity: Identity,
    pub(super) run: Run,
    /// As it was when the directory was opened.
    pub(super) last_known_time: Option<Timestamp>,
    pub(super) start: StartReport,
    pub(super) logs: Mutex<BTreeMap<TopicPartition, Arc<Slot>>>,
    pub(super) checkpoints: Mutex<Checkpoints>,
    /// Deleted logs, and when they may go, by the monotonic clock.
    pub(super) deleted: Mutex<Vec<(Duration, PathBuf)>>,
    /// Held while a log is made or removed.
    pub(super) creation: Mutex<()>,
    /// Held for writing while a log's directory goes away, for reading by those who write to a log
    /// by the names of its files: the next log under its name has the same.
    pub(super) removal: RwLock<()>,
    /// The decisions of people that gave up records.
    pub(super) audit: AuditLog,
    /// Whether the manifest is written, after which nothing else is.
    pub(super) is_closed: Mutex<bool>,
    /// Held until `unlock`, or the end.
    pub(super) lock: Mutex<Option<DirLock>>,
}

impl DataDir {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its files that are open.
    pub fn open_files(&self) -> &OpenFiles {
        &self.env.files
    }

    /// Whose it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// This opening of it.
    #[cfg(any(test, feature = "internals"))]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// How it was found.
    pub fn start_report(&self) -> &StartReport {
        &self.start
    }

    /// The log of a partition, opened if it was not; `None` when it has none.
    ///
    /// # Errors
    /// When the log cannot be opened, or nobody can tell whose it is.
    pub fn log(&self, partition: &TopicPartition) -> Result<Option<Arc<Log>>, StorageError> {
        let slot = self.lock_logs().get(partition).cloned();
        let open = |slot: Arc<Slot>| slot.open(&self.env, &self.path, &self.options.configs);
        slot.map(open).transpose()
    }

    /// The log of a partition if it is this topic's; one of an earlier topic of that name, whose
    /// data is not removed yet, is not.
    ///
    /// # Errors
    /// As [`DataDir::log`].
    pub fn log_of(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<Option<Arc<Log>>, StorageError> {
        let slot = self.lock_logs().get(partition).cloned();
        match slot.map(|slot| slot.metadata(&self.path)).transpose()? {
            Some(metadata) if metadata.topic_id == topic_id => self.log(partition),
            _ => Ok(None),
        }
    }

    /// The partitions with a log here, and whose they are.
    pub fn partitions(&self) -> Vec<(TopicPartition, PartitionMetadata)> {
        let known = |slot: &Arc<Slot>| {
            let metadata = slot.metadata(&self.path).ok()?;
            Some((slot.partition().clone(), metadata))
        };
        self.lock_logs().values().filter_map(known).collect()
    }

    /// Lets a topic's settings rule the log of a partition, if it is open and that topic's.
    pub fn set_config(&self, partition: &TopicPartition, id: TopicId, config: Arc<LogConfig>) {
        let slot = self.lock_logs().get(partition).cloned();
        let is_theirs = |slot: &Arc<Slot>| {
            slot.metadata(&self.path).is_ok_and(|metadata| metadata.topic_id == id)
        };
        if let Some(log) = slot.filter(is_theirs).and_then(|slot| slot.opened()) {
            log.set_config(config);
        }
    }

    /// The logs that are open.
    pub fn open_logs(&self) -> Vec<Arc<Log>> {
        self.lock_logs().values().filter_map(|slot| slot.opened()).collect()
    }

    /// Keeps a log from being removed while the guard lives; `None` when it is removed already.
    pub fn hold(&self, log: &Arc<Log>) -> Option<RwLockReadGuard<'_, ()>> {
        let guard = self.removal.read().unwrap_or_else(PoisonError::into_inner);
        let slot = self.lock_logs().get(log.partition()).cloned();
        let is_there =
            slot.and_then(|slot| slot.opened()).is_some_and(|held| Arc::ptr_eq(&held, log));
        is_there.then_some(guard)
    }

    /// The highest watermark of a partition that a checkpoint has recorded: a lower bound of what
    /// consumers may have seen, and nothing to truncate to.
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.lock_checkpoints().get(Kind::HighWatermark, partition)
    }

    /// The durable point of a partition as its checkpoint has it: after any crash, a bad batch
    /// below it is damage and not a torn write.
    pub(in crate::storage) fn recorded_durable_point(
        &self,
        partition: &TopicPartition,
    ) -> Option<Offset> {
        self.lock_checkpoints().recorded(Kind::DurablePoint, partition)
    }

    /// Records where all logs are, and the high watermarks given; durable on return. Does nothing
    /// when nothing has changed, or after `close`.
    ///
    /// # Errors
    /// As the disk fails. Unless that leaves it unknown, the marks of the other logs are recorded
    /// if only single logs refuse, and the call may be made again.
    pub fn checkpoint(&self, high_watermarks: &Offsets) -> Result<(), StorageError> {
        self.require_in_place()?;
        let mut refused = Ok(());
        for log in self.open_logs() {
            let Some(_hold) = self.hold(&log) else { continue };
            match log.checkpoint() {
                Err(error) if error.leaves_disk_unknown() => return Err(error),
                Err(error) => refused = Err(error),
                Ok(_) => {}
            }
        }
        let is_closed = self.lock_closed();
        if *is_closed {
            return Ok(());
        }
        let mut checkpoints = self.lock_checkpoints();
        self.gather(&mut checkpoints, high_watermarks);
        checkpoints.write(&*self.disk)?;
        refused
    }

    /// Flushes and closes all logs and leaves the manifest by which the next opening knows that
    /// nothing has to be recovered. Logs can still be read; nothing is written any more.
    ///
    /// A disk without room for what spares the next opening work does not keep a directory from
    /// closing: all records are flushed, and the next opening reads the logs concerned.
    ///
    /// # Errors
    /// When a log cannot be flushed: there is no manifest then.
    pub fn close(&self, high_watermarks: &Offsets) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_closed = self.lock_closed();
        if *is_closed {
            return Ok(());
        }
        self.require_in_place()?;
        let mut to_recover = BTreeSet::new();
        for log in self.open_logs() {
            if !spare(log.close().map(drop))? {
                to_recover.insert(log.partition().clone());
            }
        }
        let mut checkpoints = self.lock_checkpoints();
        self.gather(&mut checkpoints, high_watermarks);
        let are_recorded = spare(checkpoints.write(&*self.disk))?;
        let mut logs = self.stopped_logs(&checkpoints);
        logs.retain(|log| !to_recover.contains(&log.partition));
        let manifest = Manifest { run: self.run.clone(), logs };
        let path = self.path.join(names::MANIFEST);
        let is_complete = spare(manifest.write(&*self.disk, &path))? && to_recover.is_empty();
        if !(are_recorded && is_complete) {
            tracing::warn!("the disk is full: the next start reads logs that it need not have");
        }
        *is_closed = true;
        Ok(())
    }

    /// Lets others open the directory, whoever still holds this value. To be called when nothing
    /// is asked of it any more but what reads.
    pub fn unlock(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Fails unless its path still leads to the directory that was opened.
    ///
    /// # Errors
    /// One that leaves the disk unknown, when it was removed or replaced.
    pub fn require_in_place(&self) -> Result<(), StorageError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(inode) = lock.as_ref().map(DirLock::inode) else { return Ok(()) };
        require_dir_in_place(&*self.disk, &self.path, inode)
            .map_err(|source| StorageError::io("keep", &self.path, source))
    }

    /// Brings the marks up to date.
    fn gather(&self, checkpoints: &mut Checkpoints, high_watermarks: &Offsets) {
        for (partition, slot) in &*self.lock_logs() {
            if !slot.is_known() {
                continue;
            }
            checkpoints.set(partition, slot.marks());
            if let Some(offset) = high_watermarks.get(partition) {
                checkpoints.raise_high_watermark(partition, *offset);
            }
        }
    }

    fn stopped_logs(&self, checkpoints: &Checkpoints) -> Vec<StoppedLog> {
        let stopped = |slot: &Arc<Slot>| {
            let metadata = slot.metadata(&self.path).ok()?;
            let partition = slot.partition().clone();
            let bounds = slot.marks();
            Some(StoppedLog {
                high_watermark: checkpoints.get(Kind::HighWatermark, &partition),
                partition,
                topic_id: metadata.topic_id,
                log_start: bounds.log_start,
                log_end: bounds.durable,
            })
        };
        self.lock_logs().values().filter_map(stopped).collect()
    }

    pub(super) fn lock_logs(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Arc<Slot>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_checkpoints(&self) -> MutexGuard<'_, Checkpoints> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_deleted(&self) -> MutexGuard<'_, Vec<(Duration, PathBuf)>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_closed(&self) -> MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something was written that can be spared when the disk is full.
fn spare(written: Result<(), StorageError>) -> Result<bool, StorageError> {
    match written {
        Err(error @ StorageError::OutOfSpace { .. }) if !error.leaves_disk_unknown() => Ok(false),
        written => written.map(|()| true),
    }
}

impl std::fmt::Debug for DataDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DataDir({}, run {})", self.path.display(), self.run.incarnation)
    }
}
