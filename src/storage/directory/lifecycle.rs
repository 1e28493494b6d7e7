//! Creation, truncation and removal of logs, and the identification of logs whose topic is unknown.
//!
//! | step of creation | left by a crash after it |
//! |---|---|
//! | outdated offsets of the name are removed, durably | nothing |
//! | `<uuid>.tmp/` with `partition.metadata`, both synced | removed at the next start |
//! | renamed to `<topic>-<partition>/`, parent synced | an empty log |
//!
//! Removal renames to `<uuid>.deleted/` and syncs the parent; the files are deleted later, so that
//! an operator has time to restore them.

use std::sync::{Arc, PoisonError, RwLockReadGuard};
use std::time::Duration;

use crate::io::is_failed_sync;
use crate::storage::directory::data_dir::DataDir;
use crate::storage::directory::names;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::directory::slot::Slot;
use crate::storage::directory::survey::remove_tree;
use crate::storage::{CheckpointOffsets, Log, StartPoint, StorageError, small_file};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, TopicId, TopicName, TopicPartition};

/// A truncation of a follower's log.
#[derive(Clone, Debug)]
pub struct Truncation {
    /// The log.
    pub log: Arc<Log>,
    /// The leader epoch in which the truncation was decided.
    pub epoch: LeaderEpoch,
    /// The offset at which the log is to end.
    pub to: Offset,
}

/// The pause before another attempt at a failed removal.
const REMOVAL_PAUSE: Duration = Duration::from_mins(1);

impl DataDir {
    /// The log of a partition, created if there is none; its directory is durable on return.
    ///
    /// # Errors
    /// `Foreign` if the partition's log is another topic's, or has another offset unit.
    pub fn create_log(
        &self,
        partition: &TopicPartition,
        metadata: PartitionMetadata,
    ) -> Result<Arc<Log>, StorageError> {
        let _creation = loop {
            let creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
            let existing = self.lock_logs().get(partition).cloned();
            if let Some(slot) = existing {
                self.require_same(&slot, metadata)?;
                return slot.open(&self.env, &self.path, &self.options.configs);
            }
            let is_name_recorded = self.checkpoints.offsets().forget(partition);
            if !is_name_recorded {
                break creation;
            }
            // A slow disk must not delay the creation of other logs.
            drop(creation);
            self.checkpoints.change().write(&*self.disk)?;
        };
        self.create_directory(partition, metadata)?;
        let slot = Arc::new(Slot::new(partition.clone(), Ok(metadata), StartPoint::New));
        let log = slot.open(&self.env, &self.path, &self.options.configs)?;
        self.lock_logs().insert(partition.clone(), slot);
        Ok(log)
    }

    /// Ends the log of a deleted topic and removes it from the directory; `remove_deleted` deletes
    /// its files later. Nothing is written for that, so it works on a full disk and for a failed
    /// log. An absent log is no error.
    ///
    /// # Errors
    /// `Foreign` if the log is another topic's. `Io` and `OutOfSpace` if the disk fails: the log
    /// then accepts no more records, and can be removed by another call. `Failed` if it is unknown
    /// whether the log still exists.
    pub fn remove_log(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let existing = self.lock_logs().get(partition).cloned();
        let Some(slot) = existing else { return Ok(()) };
        let offset_unit = slot.metadata(&self.path)?.offset_unit;
        self.require_same(&slot, PartitionMetadata { topic_id, offset_unit })?;
        let _removal = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        let log = slot.opened_soon();
        if let Some(log) = &log {
            log.abandon();
            // A new log may take the name: this log must not read the files of the new one.
            log.retire();
        }
        self.forget(&slot);
        let (from, to) = (names::log_path(&self.path, partition), names::deleted_path(&self.path));
        let disk = &self.disk;
        if let Err(source) = disk.rename(&from, &to) {
            if let Some(log) = &log {
                log.reinstate();
            }
            self.lock_logs().insert(partition.clone(), slot);
            return Err(StorageError::io("delete", &from, source));
        }
        let due = self.env.clock.monotonic().saturating_add(self.options.keep_deleted);
        self.lock_deleted().push((due, to));
        disk.sync_dir(&self.path).map_err(|source| StorageError::Failed {
            partition: partition.clone(),
            cause: format!("its removal is not durable: {source}").into(),
            is_disk_unknown: is_failed_sync(&source),
        })
    }

    /// The logs without a sound `partition.metadata`: their topic cannot be determined, and they
    /// are not opened.
    pub fn unidentified(&self) -> Vec<TopicPartition> {
        let logs = self.lock_logs();
        let slots = logs.values().filter(|slot| !slot.is_known());
        slots.map(|slot| slot.partition().clone()).collect()
    }

    /// The topic ids of the logs of partitions of this topic name; `None` for an unidentified log.
    pub fn topic_ids_of(&self, topic: &TopicName) -> Vec<Option<TopicId>> {
        let first = TopicPartition { topic: topic.clone(), partition: PartitionIndex(0) };
        let logs = self.lock_logs();
        let slots = logs.range(first..).take_while(|(partition, _)| partition.topic == *topic);
        slots.map(|(_, slot)| slot.metadata(&self.path).ok().map(|m| m.topic_id)).collect()
    }

    /// Writes the `partition.metadata` of an unidentified log again, durably, and recovers the log.
    /// The caller must be certain of the log's topic. `None` if the partition has no unidentified
    /// log.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn identify(
        &self,
        partition: &TopicPartition,
        metadata: PartitionMetadata,
    ) -> Result<Option<Arc<Log>>, StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = self.lock_logs().get(partition).cloned();
        let Some(slot) = slot.filter(|slot| !slot.is_known()) else { return Ok(None) };
        metadata.replace(&*self.disk, &names::log_path(&self.path, partition))?;
        let slot = Arc::new(slot.identified(metadata));
        let log = slot.open(&self.env, &self.path, &self.options.configs)?;
        self.lock_logs().insert(partition.clone(), slot);
        Ok(Some(log))
    }

    /// Truncates logs to these offsets or, within a batch, to the start of the batch, and returns
    /// the new ends. The recorded offsets are lowered first, by one write for all, so that the
    /// offsets on disk never exceed the logs.
    ///
    /// # Errors
    /// Those of this write; all logs are then unchanged. Otherwise each log has its own result;
    /// those behind one that leaves the disk unknown are left alone.
    pub fn truncate_logs(
        &self,
        wanted: &[Truncation],
    ) -> Result<Vec<Result<Offset, StorageError>>, StorageError> {
        let change = self.checkpoints.change();
        let lower = |Truncation { log, to, .. }: &Truncation| -> Result<(), StorageError> {
            let _hold = self.require(log)?;
            let point = log.truncator().point(*to)?;
            change.offsets().lower(log.partition(), point);
            Ok(())
        };
        let lowered: Vec<_> = wanted.iter().map(lower).collect();
        change.write(&*self.disk)?;
        let mut unknown: Option<String> = None;
        let truncate = |(wanted, lowered): (&Truncation, Result<(), StorageError>)| {
            if let Some(cause) = &unknown {
                return Err(StorageError::left_alone(wanted.log.partition(), cause));
            }
            let truncated = lowered.and_then(|()| self.cut(wanted));
            truncated.inspect_err(|error| {
                unknown = error.leaves_disk_unknown().then(|| error.to_string());
            })
        };
        Ok(wanted.iter().zip(lowered).map(truncate).collect())
    }

    /// Truncates a log whose recorded offsets are lowered already.
    fn cut(&self, Truncation { log, epoch, to }: &Truncation) -> Result<Offset, StorageError> {
        let _hold = self.require(log)?;
        let cut = log.truncator().cut_in(*epoch, *to);
        cut.inspect_err(|_| self.note_if_half_truncated(log))
    }

    /// As `truncate_logs`, for one log in any epoch.
    #[cfg(any(test, feature = "internals"))]
    pub fn truncate_log(&self, log: &Arc<Log>, to: Offset) -> Result<Offset, StorageError> {
        let epoch = log.epochs().latest()?.map_or(LeaderEpoch(0), |epoch| LeaderEpoch(epoch.0 + 1));
        log.epochs().change().follow(epoch);
        let ends = self.truncate_logs(&[Truncation { log: Arc::clone(log), epoch, to }]);
        log.epochs().end(epoch);
        ends?.into_iter().collect::<Result<Vec<_>, _>>().map(|ends| ends[0])
    }

    /// Removes all records of a log, which then continues at the offset `to` of the truncation,
    /// because the leader has no older records. Log start, log end and high watermark are at that
    /// offset, durably on return (rule R16 in docs/replication.md).
    ///
    /// A crash in between leaves a log that can be recovered, with some of the old records or none.
    ///
    /// # Errors
    /// Those of the disk and of the log.
    pub fn start_log_over(&self, truncation: &Truncation) -> Result<(), StorageError> {
        let Truncation { log, epoch, to: at } = truncation;
        let (epoch, at) = (*epoch, *at);
        let change = self.checkpoints.change();
        let hold = self.require(log)?;
        // Lower the checkpoints first: if records that are about to be removed still counted as
        // durable, a crash would make their absence look like damage.
        let recorded = change.offsets().of(log.partition()).log_start;
        let lowest = at.min(log.log_start_offset()).min(recorded);
        change.offsets().lower_all(log.partition(), lowest);
        drop(hold);
        change.write(&*self.disk)?;
        let hold = self.require(log)?;
        let started_over = log.truncator().start_over(epoch, at);
        started_over.inspect_err(|_| self.note_if_half_truncated(log))?;
        // Leave the durable point for a later checkpoint. Each offset has a file of its own: if a
        // crash came after writing the durable point and before the log start, the records removed
        // in between would look lost.
        change.offsets().start_at(log.partition(), at);
        drop(hold);
        change.write(&*self.disk)
    }

    /// Closes a log of which a truncation failed half-way. The next use recovers it from the
    /// offsets that were recorded before the truncation, as if the process had crashed during the
    /// truncation. Returns false for any other log.
    ///
    /// This is safe after any error but that of a sync. The bytes of a failed sync may be in the
    /// page cache only, and the recovery would take them for durable.
    pub fn close_half_truncated(&self, log: &Arc<Log>) -> bool {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        // Take this lock first: when the recovery begins, no thread may still write to the files by
        // their names.
        let _removal = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        let recorded = self.checkpoints.offsets().of(log.partition());
        let logs = self.lock_logs();
        let slot = logs.get(log.partition()).filter(|slot| slot.is_half_truncated());
        let slot = slot.filter(|_| log.truncator().is_recoverable());
        let Some(slot) = slot.filter(|slot| slot.opened().is_some_and(|l| Arc::ptr_eq(&l, log)))
        else {
            return false;
        };
        let CheckpointOffsets { log_start, durable, rebuild } = recorded;
        let start = StartPoint::Unclean { log_start, durable, rebuild, same_boot: true };
        let closed = Arc::new(slot.unclean(start));
        drop(logs);
        log.abandon();
        log.retire();
        // Publish the closed log last: a thread that finds it may begin the recovery at once.
        self.lock_logs().insert(log.partition().clone(), closed);
        true
    }

    /// Marks a log whose truncation failed half-way, so that its recorded offsets stay as they are.
    /// The caller has a change of the checkpoints under way, and keeps the log from being removed.
    fn note_if_half_truncated(&self, log: &Arc<Log>) {
        if !log.truncator().is_half_truncated() {
            return;
        }
        if let Some(slot) = self.lock_logs().get(log.partition()) {
            slot.note_half_truncated();
        }
    }

    /// Advances the starts of logs that are below these offsets, and returns the new starts;
    /// durable on return, by one write for all logs. Retention later removes the segments below.
    ///
    /// # Errors
    /// Those of this write; all starts are then unchanged. Otherwise each log has its own result:
    /// an error if it is removed, or ends before its offset.
    pub fn advance_log_starts(
        &self,
        wanted: &[(Arc<Log>, Offset)],
    ) -> Result<Vec<Result<Offset, StorageError>>, StorageError> {
        let change = self.checkpoints.change();
        let raise = |(log, to): &(Arc<Log>, Offset)| {
            let _hold = self.require(log)?;
            let start = log.retention().start_at(*to)?;
            // A log may be named twice; its checkpoint must not fall behind the larger offset.
            let log_start = start.max(change.offsets().of(log.partition()).log_start);
            let offsets = CheckpointOffsets { log_start, ..log.checkpoints().offsets() };
            change.offsets().set(log.partition(), offsets);
            Ok(start)
        };
        let starts: Vec<_> = wanted.iter().map(raise).collect();
        if let Err(error) = change.write(&*self.disk) {
            for ((log, _), start) in wanted.iter().zip(starts) {
                if start.is_ok()
                    && let Some(_hold) = self.hold(log)
                {
                    change.offsets().set(log.partition(), log.checkpoints().offsets());
                }
            }
            return Err(error);
        }
        // Advance the logs only after the write: a failed call must leave all records readable.
        let advance = |((log, _), start): (&(Arc<Log>, Offset), Result<Offset, StorageError>)| {
            let start = start?;
            let _hold = self.require(log)?;
            log.retention().advance_log_start(start)
        };
        Ok(wanted.iter().zip(starts).map(advance).collect())
    }

    /// As `advance_log_starts`, for one log.
    #[cfg(any(test, feature = "internals"))]
    pub fn advance_log_start(&self, log: &Arc<Log>, to: Offset) -> Result<Offset, StorageError> {
        let starts = self.advance_log_starts(&[(Arc::clone(log), to)])?;
        starts.into_iter().collect::<Result<Vec<_>, _>>().map(|starts| starts[0])
    }

    /// Deletes the files of removed logs that are due, and returns the next due time. A failed
    /// deletion is tried again later.
    #[cfg(any(test, feature = "internals"))]
    pub fn remove_deleted(&self) -> Result<Option<Duration>, StorageError> {
        self.remove_due(self.env.clock.monotonic())
    }

    /// Deletes the files of removed logs that are due at `now`, by the monotonic clock, and returns
    /// the next due time. A failed deletion is tried again later.
    pub(in crate::storage) fn remove_due(
        &self,
        now: Duration,
    ) -> Result<Option<Duration>, StorageError> {
        let mut deleted = self.lock_deleted();
        let (due, later): (Vec<_>, _) = deleted.drain(..).partition(|(due, _)| *due <= now);
        *deleted = later;
        drop(deleted);
        if !due.is_empty() {
            // Without these files nothing shows that the recorded offsets are of deleted logs.
            match self.record_removals() {
                Err(StorageError::OutOfSpace { .. }) | Ok(()) => {}
                Err(error) => tracing::warn!("removals are not recorded yet: {error}"),
            }
        }
        let mut removed = Ok(());
        for (_, path) in due {
            if let Err(error) = remove_tree(&*self.disk, &path, true) {
                let again = self.env.clock.monotonic().saturating_add(REMOVAL_PAUSE);
                self.lock_deleted().push((again, path));
                removed = Err(error);
            }
        }
        removed.map(|()| self.lock_deleted().iter().map(|(due, _)| *due).min())
    }

    pub(super) fn create_directory(
        &self,
        partition: &TopicPartition,
        metadata: PartitionMetadata,
    ) -> Result<(), StorageError> {
        let disk = &*self.disk;
        let unfinished = names::unfinished_path(&self.path);
        let refused = |source| StorageError::io("create", &unfinished, source);
        disk.create_dir(&unfinished).map_err(refused)?;
        metadata.write(disk, &unfinished)?;
        let path = names::log_path(&self.path, partition);
        disk.sync_dir(&unfinished)
            .and_then(|()| disk.rename(&unfinished, &path))
            .and_then(|()| small_file::sync_parent(disk, &path))
            .map_err(|source| StorageError::io("create", &path, source))
    }

    /// Keeps a log from being removed while the guard lives. Fails if it is removed already.
    pub(super) fn require(&self, log: &Arc<Log>) -> Result<RwLockReadGuard<'_, ()>, StorageError> {
        let hold = self.hold_all();
        self.require_listed(log).map(|()| hold)
    }

    fn require_listed(&self, log: &Arc<Log>) -> Result<(), StorageError> {
        let closed = || StorageError::Closed { partition: log.partition().clone() };
        if self.lists(log) { Ok(()) } else { Err(closed()) }
    }

    pub(super) fn forget(&self, slot: &Slot) {
        self.lock_logs().remove(slot.partition());
        self.checkpoints.offsets().forget(slot.partition());
    }

    fn require_same(&self, slot: &Slot, wanted: PartitionMetadata) -> Result<(), StorageError> {
        let found = slot.metadata(&self.path)?;
        if found == wanted {
            return Ok(());
        }
        let describe = |metadata: PartitionMetadata| {
            format!("topic {} with offsets by {}", metadata.topic_id, metadata.offset_unit)
        };
        Err(StorageError::Foreign {
            path: names::log_path(&self.path, slot.partition()),
            expected: describe(wanted),
            found: describe(found),
        })
    }
}
