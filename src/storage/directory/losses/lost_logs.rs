//! Logs that have lost records which were durable: finding them, noting them, giving them up.

use std::fmt::Display;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::storage::directory::data_dir::DataDir;
use crate::storage::directory::names;
use crate::storage::directory::run::{NamedLog, RunFile};
use crate::storage::directory::slot::Slot;
use crate::storage::directory::survey::quarantine;
use crate::storage::{CheckpointOffsets, StartPoint, StorageError};
use crate::types::{Offset, TopicId, TopicPartition, WithCauses};

/// The fate of a log that cannot be opened when it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is moved to quarantine: another replica has its records.
    SetAside,
    /// It stays, since nobody else has its records.
    Kept,
}

impl DataDir {
    /// The logs that lack records at their end that were durable, or that cannot be opened, with
    /// their topics: their files were cut off, removed, or replaced by older ones, or the disk does
    /// not return them; and those that [`DataDir::note_loss`] was called for. Opens all logs,
    /// several at a time. A log that may be opened later, once there is memory or space, is left
    /// out.
    ///
    /// # Errors
    /// Those that leave the state of the disk unknown.
    pub fn losses(&self) -> Result<Vec<(TopicPartition, TopicId)>, StorageError> {
        let slots: Vec<_> = self.lock_logs().values().cloned().collect();
        let losses = Mutex::new(Vec::new());
        self.for_each(&slots, |slot| {
            let Ok(metadata) = slot.metadata(&self.path) else { return Ok(()) };
            let is_lost = match self.lost_end(slot) {
                Err(error) if error.leaves_disk_unknown() => return Err(error),
                Err(error) => error.keeps_log_closed(),
                Ok(lost) => lost.is_some(),
            };
            if is_lost || self.is_noted(slot.partition(), metadata.topic_id) {
                let loss = (slot.partition().clone(), metadata.topic_id);
                losses.lock().unwrap_or_else(PoisonError::into_inner).push(loss);
            }
            Ok(())
        })?;
        Ok(losses.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes, durably, that a log has lost records in a way that its files do not show. Until it is
    /// given up, each start finds the loss again.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn note_loss(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<(), StorageError> {
        self.change_lost(|lost| {
            if !lost.iter().any(|log| log.is(partition, topic_id)) {
                lost.push(NamedLog { partition: partition.clone(), topic_id });
            }
        })
    }

    fn is_noted(&self, partition: &TopicPartition, topic_id: TopicId) -> bool {
        self.lock_run_file().lost.iter().any(|log| log.is(partition, topic_id))
    }

    fn forget_loss(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<(), StorageError> {
        self.change_lost(|lost| lost.retain(|log| !log.is(partition, topic_id)))
    }

    /// Changes the list of losses, durably. Without a write that succeeds, nothing changes.
    fn change_lost(&self, change: impl FnOnce(&mut Vec<NamedLog>)) -> Result<(), StorageError> {
        let mut run = self.lock_run_file();
        let mut changed = run.clone();
        change(&mut changed.lost);
        if changed != *run {
            changed.write(&*self.disk, &self.path.join(names::RUN))?;
            *run = changed;
        }
        Ok(())
    }

    /// The file of the current run.
    pub(in crate::storage::directory) fn lock_run_file(&self) -> MutexGuard<'_, RunFile> {
        self.run_file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The offsets that a log has lost at its end. After a stop in order the log ended where the
    /// manifest says.
    ///
    /// # Errors
    /// If the log cannot be opened.
    fn lost_end(&self, slot: &Slot) -> Result<Option<Range<Offset>>, StorageError> {
        let stopped = slot.stopped_at();
        let opened = slot.open(&self.env, &self.path, &self.options.configs);
        let lost = opened.and_then(|log| {
            let end = log.log_end_offset();
            let lacks = stopped.filter(|stopped| end < *stopped).map(|stopped| end..stopped);
            Ok(log.tail().lost_end()?.or(lacks))
        });
        match lost {
            Err(StorageError::Corrupt { .. }) => {
                let CheckpointOffsets { log_start, durable, .. } = slot.checkpoint_offsets();
                Ok(Some(log_start..durable))
            }
            found => found,
        }
    }

    /// Gives up the records that a log has lost at its end: their remaining bytes go to quarantine,
    /// and the log accepts records again where the loss begins. A log that cannot be opened is
    /// tried once more, and then goes to quarantine as a whole, if it may. One that lost nothing
    /// is unchanged. Until this call, every start finds the loss again.
    ///
    /// The recorded high watermark is given up too, whether records are lost or not: the replica is
    /// neither in sync nor eligible, and its leader knows better what was committed.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn give_up_lost_end(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
        unreadable: Unreadable,
    ) -> Result<(), StorageError> {
        self.cut_or_set_aside(partition, topic_id, unreadable)?;
        self.forget_loss(partition, topic_id)
    }

    fn cut_or_set_aside(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
        unreadable: Unreadable,
    ) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = self.lock_logs().get(partition).cloned();
        let is_theirs = |slot: &Arc<Slot>| {
            slot.metadata(&self.path).is_ok_and(|metadata| metadata.topic_id == topic_id)
        };
        if slot.is_none() && self.start.missing.get(partition) == Some(&topic_id) {
            let change = self.checkpoints.change();
            change.offsets().forget(partition);
            return change.write(&*self.disk);
        }
        let Some(mut slot) = slot.filter(is_theirs) else { return Ok(()) };
        if slot.closed_because().is_some() {
            // What could not be read at the start may be readable by now.
            slot = Arc::new(slot.reopened());
            self.lock_logs().insert(partition.clone(), Arc::clone(&slot));
        }
        let lost = match self.lost_end(&slot) {
            Err(error) if error.is_of_files() && unreadable == Unreadable::SetAside => {
                return self.set_aside(&slot, &WithCauses(&error));
            }
            found => found?,
        };
        let Some(lost) = lost else {
            let change = self.checkpoints.change();
            change.offsets().forget_high_watermark(partition);
            return change.write(&*self.disk);
        };
        let change = self.checkpoints.change();
        let removal = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        // With a higher durable point, the recovery would find the loss again.
        change.offsets().lower(partition, lost.start);
        change.offsets().forget_high_watermark(partition);
        change.write(&*self.disk)?;
        let CheckpointOffsets { log_start, rebuild, .. } = change.offsets().of(partition);
        let durable = lost.start;
        let start = StartPoint::Unclean { log_start, durable, rebuild, same_boot: false };
        let cut = Arc::new(slot.unclean(start));
        if let Some(log) = slot.opened() {
            log.abandon();
            log.retire();
        }
        self.lock_logs().insert(partition.clone(), Arc::clone(&cut));
        drop((removal, change));
        tracing::warn!(%partition, first = %lost.start, next = %lost.end, "lost records given up");
        cut.open(&self.env, &self.path, &self.options.configs).map(drop)
    }

    /// Moves a log with damage to quarantine, whether it can be opened or not, so that another can
    /// take its place: its replica is neither in sync nor eligible, and its leader's log is sound.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn give_up_damaged(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = self.lock_logs().get(partition).cloned();
        let is_theirs = |slot: &Arc<Slot>| {
            slot.metadata(&self.path).is_ok_and(|metadata| metadata.topic_id == topic_id)
        };
        match slot.filter(is_theirs) {
            Some(slot) => self.set_aside(&slot, &"it is damaged, and fetched again as a whole"),
            None => Ok(()),
        }
    }

    /// A log of this partition that was moved to quarantine, if it is still there.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn quarantined(&self, partition: &TopicPartition) -> Result<Option<PathBuf>, StorageError> {
        let quarantine = self.path.join(names::QUARANTINE);
        let refused = |source| StorageError::io("look into", &quarantine, source);
        let cells = match self.disk.list(&quarantine) {
            Ok(cells) => cells,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        for cell in cells {
            let path = quarantine.join(cell.name).join(partition.to_string());
            if self.disk.exists(&path).map_err(refused)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Moves a log to quarantine, so that another can take its place.
    fn set_aside(&self, slot: &Slot, reason: &dyn Display) -> Result<(), StorageError> {
        let change = self.checkpoints.change();
        let removal = self.removal.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = slot.opened() {
            log.abandon();
            log.retire();
        }
        let partition = slot.partition();
        let path = names::log_path(&self.path, partition);
        let is_there = self.disk.exists(&path);
        if is_there.map_err(|source| StorageError::io("look for", &path, source))? {
            let to = quarantine(&*self.disk, &self.path, &partition.to_string())?;
            tracing::warn!("the log of {partition} is moved to '{}': {reason}", to.display());
        } else {
            tracing::warn!("the log of {partition} is gone: {reason}");
        }
        self.forget(slot);
        drop(removal);
        change.write(&*self.disk)
    }
}
