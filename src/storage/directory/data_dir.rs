//! The data directory itself: its logs, their recorded offsets, and its close.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::io::{DirLock, Disk, Inode, OpenFiles, Share, require_dir_in_place};
use crate::storage::directory::checkpoints::{Change, HighWatermarks, Kind, SharedCheckpoints};
use crate::storage::directory::identity::{Identity, Opener};
use crate::storage::directory::names;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::directory::run::{FailedSyncs, Manifest, Run, RunFile, StoppedLog};
use crate::storage::directory::slot::{LogConfigs, Slot};
use crate::storage::skipping::AuditLog;
use crate::storage::{
    CheckpointOffsets, Log, LogConfig, LogEnv, ProducerLimits, Reserve, StorageError,
};
use crate::types::{Offset, Timestamp, TopicId, TopicPartition};

/// The options of a data directory.
#[derive(Clone)]
pub struct DataDirOptions {
    /// The broker that opens the directory.
    pub opener: Opener,
    /// The boot id of the machine, which is new after each reboot.
    pub boot_id: String,
    /// The settings of each log.
    pub configs: LogConfigs,
    /// The limits on the state of idempotent producers.
    pub producers: ProducerLimits,
    /// The number of logs recovered at a time.
    pub recovery_threads: usize,
    /// The time for which a deleted log is kept.
    pub keep_deleted: Duration,
    /// The number of log files that may be open at once.
    pub open_files: Share,
}

/// The condition in which a data directory was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartReport {
    /// True if the last run was shut down cleanly. Only logs that it could not close, because the
    /// disk was full, were then recovered.
    pub was_clean: bool,
    /// True if a sync has failed in the last run: the logs were recovered as after a power failure.
    pub had_failed_sync: bool,
    /// The number of logs that were recovered, or could not be.
    pub recovered: usize,
    /// Logs that could not be recovered, with the reasons: they stay closed until the next start.
    pub closed: Vec<(TopicPartition, Arc<str>)>,
    /// The names of small files, mostly checkpoints, that were damaged and are rebuilt.
    pub rebuilt: Vec<&'static str>,
    /// The quarantine paths of files and directories with unknown names.
    pub quarantined: Vec<PathBuf>,
    /// Files and directories with unknown names that stay where they are, with the reasons.
    pub left_alone: Vec<(PathBuf, String)>,
    /// Logs that are not opened because their topic cannot be determined.
    pub unusable: Vec<TopicPartition>,
    /// Logs with records that the last run had when it stopped in order, and that no longer exist,
    /// with their topics.
    pub missing: BTreeMap<TopicPartition, TopicId>,
    /// Logs that no longer exist, and that had records according to the checkpoints, after a run
    /// that did not stop in order. Their topics are not known: they may be deleted.
    pub gone: Vec<TopicPartition>,
}

/// An open data directory. All calls may come from several threads at once.
///
/// Locks are taken in this order: creation, closing, a change of checkpoints, removal, logs,
/// recorded offsets, a slot.
pub struct DataDir {
    pub(super) env: LogEnv,
    /// The disk for upkeep, which may use all of the space reserve.
    pub(super) disk: Arc<dyn Disk>,
    pub(super) reserve: Arc<Reserve>,
    pub(super) path: PathBuf,
    pub(super) options: DataDirOptions,
    pub(super) identity: RwLock<Identity>,
    /// The current run.
    pub(super) run: Run,
    /// The contents of its file.
    pub(super) run_file: Mutex<RunFile>,
    pub(super) failed_syncs: Arc<FailedSyncs>,
    /// The last wall time that an earlier run recorded, as read at opening.
    pub(super) last_known_time: Option<Timestamp>,
    pub(super) start: StartReport,
    pub(super) logs: Mutex<BTreeMap<TopicPartition, Arc<Slot>>>,
    pub(super) checkpoints: SharedCheckpoints,
    /// Deleted logs, and the time of their final removal, by the monotonic clock.
    pub(super) deleted: Mutex<Vec<(Duration, PathBuf)>>,
    /// Held while a log is created, identified, removed or closed to be recovered, and by `close`.
    pub(super) creation: Mutex<()>,
    /// Write-locked while a log's directory is removed, or a log is closed to be recovered.
    /// Read-locked by threads that access a log's files by name, because a new log of that
    /// partition reuses the names.
    pub(super) removal: RwLock<()>,
    /// The audit log of damage skipped by operators.
    pub(super) audit: AuditLog,
    /// True once `close` has succeeded; nothing is written after that.
    pub(super) is_closed: Mutex<bool>,
    /// Held until `unlock`, or until this value is dropped.
    pub(super) lock: Mutex<Option<DirLock>>,
}

impl DataDir {
    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cache of open log files.
    pub fn open_files(&self) -> &OpenFiles {
        &self.env.files
    }

    /// Frees the buffers of cold reads that no reader has used recently.
    pub(in crate::storage) fn release_idle_memory(&self) {
        self.env.cold_reads.release_idle(self.env.clock.monotonic());
    }

    /// The contents of `meta.properties`.
    pub fn identity(&self) -> Identity {
        self.identity.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives the directory a new id, as if its disk had been replaced; durable on return.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn renew_identity(&self) -> Result<(), StorageError> {
        self.change_identity(|identity, path| identity.renew(&*self.disk, path))
    }

    /// Records in the directory that its metadata is in ZooKeeper; durable on return.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn move_to_zookeeper(&self) -> Result<(), StorageError> {
        self.change_identity(|identity, path| identity.move_to_zookeeper(&*self.disk, path))
    }

    /// Replaces the tokens of registrations; durable on return.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn replace_tokens(&self, tokens: Vec<String>) -> Result<(), StorageError> {
        self.change_identity(|identity, path| identity.replace_tokens(&*self.disk, path, tokens))
    }

    /// Changes the identity. No lock is held meanwhile: only the start changes it, and then the
    /// task that registers the broker.
    fn change_identity(
        &self,
        change: impl FnOnce(&Identity, &Path) -> Result<Identity, StorageError>,
    ) -> Result<(), StorageError> {
        let changed = change(&self.identity(), &self.path.join(names::IDENTITY))?;
        *self.identity.write().unwrap_or_else(PoisonError::into_inner) = changed;
        Ok(())
    }

    /// The current run.
    #[cfg(any(test, feature = "internals"))]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The condition in which the directory was found.
    pub fn start_report(&self) -> &StartReport {
        &self.start
    }

    /// The log of a partition, which is opened if need be; `None` if the partition has no log.
    ///
    /// # Errors
    /// If the log cannot be opened, or its topic cannot be determined.
    pub fn log(&self, partition: &TopicPartition) -> Result<Option<Arc<Log>>, StorageError> {
        let slot = self.lock_logs().get(partition).cloned();
        let open = |slot: Arc<Slot>| slot.open(&self.env, &self.path, &self.options.configs);
        slot.map(open).transpose()
    }

    /// The log of a partition if it belongs to this topic. `None` if the partition has no log, or
    /// that of an earlier topic of the same name, whose data is not removed yet.
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

    /// The topic of the log of a partition, if it has one whose topic is known.
    pub fn topic_id_of(&self, partition: &TopicPartition) -> Option<TopicId> {
        let slot = self.lock_logs().get(partition).cloned()?;
        slot.metadata(&self.path).ok().map(|metadata| metadata.topic_id)
    }

    /// The partitions that have a log whose topic is known, and their metadata.
    pub fn partitions(&self) -> Vec<(TopicPartition, PartitionMetadata)> {
        let known = |slot: &Arc<Slot>| {
            let metadata = slot.metadata(&self.path).ok()?;
            Some((slot.partition().clone(), metadata))
        };
        self.lock_logs().values().filter_map(known).collect()
    }

    /// Applies a topic's settings to the log of a partition, if it is open and belongs to that
    /// topic.
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

    /// Keeps a log from being removed while the guard lives; `None` if it is removed already.
    pub fn hold(&self, log: &Arc<Log>) -> Option<RwLockReadGuard<'_, ()>> {
        let guard = self.hold_all();
        self.lists(log).then_some(guard)
    }

    /// Keeps all logs from being removed while the guard lives. A thread must not take the guard
    /// twice: if another thread asks for the write lock in between, both wait for ever.
    pub(super) fn hold_all(&self) -> RwLockReadGuard<'_, ()> {
        self.removal.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if this is the open log that the directory lists for its partition.
    pub(super) fn lists(&self, log: &Arc<Log>) -> bool {
        let slot = self.lock_logs().get(log.partition()).cloned();
        slot.and_then(|slot| slot.opened()).is_some_and(|held| Arc::ptr_eq(&held, log))
    }

    /// The high watermark of a partition recorded by a checkpoint: consumers may have read up to
    /// it. It is a lower bound and must not be used for truncation.
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.checkpoints.offsets().get(Kind::HighWatermark, partition)
    }

    /// The recorded high watermark of a partition's log, or of one that is missing, if that is the
    /// log of this topic: another topic may have had the same name.
    pub fn floor(&self, partition: &TopicPartition, topic_id: TopicId) -> Option<Offset> {
        let slot = self.lock_logs().get(partition).cloned();
        let owner = match slot {
            Some(slot) => slot.metadata(&self.path).ok().map(|metadata| metadata.topic_id),
            None => self.start.missing.get(partition).copied(),
        };
        self.high_watermark(partition).filter(|_| owner == Some(topic_id))
    }

    /// The durable point of a partition as recorded in its checkpoint: after any crash, a bad batch
    /// below it is damage and not a torn write.
    pub(in crate::storage) fn recorded_durable_point(
        &self,
        partition: &TopicPartition,
    ) -> Option<Offset> {
        self.checkpoints.offsets().recorded(Kind::DurablePoint, partition)
    }

    /// Records the current offsets of all logs, and the given high watermarks; durable on return.
    /// Does nothing if nothing has changed, or after `close`.
    ///
    /// # Errors
    /// Those of the disk. If only single logs fail and the state of the disk is known, the offsets
    /// of the other logs are still recorded, and the call may be repeated.
    pub fn checkpoint(&self, high_watermarks: &HighWatermarks) -> Result<(), StorageError> {
        self.require_in_place()?;
        let mut refused = Ok(());
        for log in self.open_logs() {
            let Some(_hold) = self.hold(&log) else { continue };
            match log.checkpoints().advance() {
                Err(error) if error.leaves_disk_unknown() => return Err(error),
                Err(error) => refused = Err(error),
                Ok(_) => {}
            }
        }
        let is_closed = self.lock_closed();
        if *is_closed {
            return Ok(());
        }
        let change = self.checkpoints.change();
        self.gather(&change, high_watermarks);
        change.write(&*self.disk)?;
        refused
    }

    /// Flushes and closes all logs and writes the manifest that lets the next run skip recovery.
    /// Logs can still be read; nothing is written any more.
    ///
    /// A full disk does not prevent the directory from closing: all records are flushed, and the
    /// next run recovers the logs whose files could not be written.
    ///
    /// # Errors
    /// If a log cannot be flushed: the manifest is then not written.
    pub fn close(&self, high_watermarks: &HighWatermarks) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_closed = self.lock_closed();
        if *is_closed {
            return Ok(());
        }
        self.require_in_place()?;
        let mut to_recover = BTreeSet::new();
        let slots: Vec<Arc<Slot>> = self.lock_logs().values().cloned().collect();
        for log in slots.iter().filter_map(|slot| slot.opened_soon()) {
            if !unless_full(log.close().map(drop))? {
                to_recover.insert(log.partition().clone());
            }
        }
        let change = self.checkpoints.change();
        self.gather(&change, high_watermarks);
        let are_recorded = unless_full(change.write(&*self.disk))?;
        let mut logs = self.stopped_logs();
        logs.retain(|log| !to_recover.contains(&log.partition));
        let manifest = Manifest { run: self.run.clone(), logs };
        let path = self.path.join(names::MANIFEST);
        let is_complete = unless_full(manifest.write(&*self.disk, &path))? && to_recover.is_empty();
        if !(are_recorded && is_complete) {
            tracing::warn!("the disk is full: the next start has to recover some logs");
        }
        *is_closed = true;
        Ok(())
    }

    /// Lets other processes open the directory while this value still exists. Call it when only
    /// reads will follow.
    pub fn unlock(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The directory on which this process holds the lock; `None` after [`DataDir::unlock`].
    pub fn locked_inode(&self) -> Option<Inode> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(DirLock::inode)
    }

    /// Records which logs exist, durably, unless the directory is closed. Until then, a log that
    /// was removed looks lost to a start after a crash.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn record_removals(&self) -> Result<(), StorageError> {
        let is_closed = self.lock_closed();
        if *is_closed {
            return Ok(());
        }
        self.require_in_place()?;
        self.checkpoints.change().write(&*self.disk)
    }

    /// Fails unless its path still refers to the directory that was opened.
    ///
    /// # Errors
    /// An error that leaves the disk unknown, if it was removed or replaced.
    pub fn require_in_place(&self) -> Result<(), StorageError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(inode) = lock.as_ref().map(DirLock::inode) else { return Ok(()) };
        require_dir_in_place(&*self.disk, &self.path, inode)
            .map_err(|source| StorageError::io("keep", &self.path, source))
    }

    /// Collects the current offsets of all logs. The recorded offsets of a log that still has to be
    /// recovered stay as they are: its recovery begins at these offsets.
    fn gather(&self, change: &Change<'_>, high_watermarks: &HighWatermarks) {
        let logs = self.lock_logs();
        let mut checkpoints = change.offsets();
        for (partition, slot) in &*logs {
            let Ok(metadata) = slot.metadata(&self.path) else { continue };
            if slot.needs_recovery() {
                continue;
            }
            let offsets = slot.checkpoint_offsets();
            checkpoints.set(partition, offsets);
            if let Some(offset) = high_watermarks.get(&(partition.clone(), metadata.topic_id)) {
                // A power failure may remove what is not flushed. With `write.caching` it may be
                // committed all the same.
                checkpoints.raise_high_watermark(partition, offsets.durable.min(*offset));
            }
        }
    }

    fn stopped_logs(&self) -> Vec<StoppedLog> {
        let slots: Vec<_> = self.lock_logs().values().cloned().collect();
        let missing = self.missing_of(&slots);
        let checkpoints = self.checkpoints.offsets();
        let stopped = |slot: &Arc<Slot>| {
            let metadata = slot.metadata(&self.path).ok()?;
            let partition = slot.partition().clone();
            let bounds = slot.checkpoint_offsets();
            Some(StoppedLog {
                high_watermark: checkpoints.get(Kind::HighWatermark, &partition),
                partition,
                topic_id: metadata.topic_id,
                log_start: bounds.log_start,
                log_end: bounds.durable,
            })
        };
        let mut all: Vec<_> =
            slots.iter().filter(|slot| !slot.needs_recovery()).filter_map(stopped).collect();
        for (partition, topic_id) in missing {
            let CheckpointOffsets { log_start, durable, .. } = checkpoints.of(&partition);
            if durable > Offset::ZERO {
                let high_watermark = checkpoints.get(Kind::HighWatermark, &partition);
                let log_end = durable;
                all.push(StoppedLog { partition, topic_id, log_start, log_end, high_watermark });
            }
        }
        all
    }

    /// The logs that the next start will miss too, given the logs that there are: those that were
    /// missing and are neither given up nor replaced, and those that could not be made again.
    fn missing_of(&self, slots: &[Arc<Slot>]) -> Vec<(TopicPartition, TopicId)> {
        let names: BTreeSet<_> = slots.iter().map(|slot| slot.partition()).collect();
        let missing = self.start.missing.iter().map(|(partition, id)| (partition.clone(), *id));
        let missing = missing.filter(|(partition, _)| !names.contains(partition));
        let not_restored = slots.iter().filter(|slot| slot.closed_because().is_some());
        let not_restored = not_restored.filter_map(|slot| {
            let is_gone = !self.disk.exists(&names::log_path(&self.path, slot.partition())).ok()?;
            let id = slot.metadata(&self.path).ok()?.topic_id;
            is_gone.then(|| (slot.partition().clone(), id))
        });
        missing.chain(not_restored).collect()
    }

    pub(super) fn lock_logs(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, Arc<Slot>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_deleted(&self) -> MutexGuard<'_, Vec<(Duration, PathBuf)>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_closed(&self) -> MutexGuard<'_, bool> {
        self.is_closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns false if the disk is full, for writes that may be omitted.
fn unless_full(written: Result<(), StorageError>) -> Result<bool, StorageError> {
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
