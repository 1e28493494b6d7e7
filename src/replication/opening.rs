//! Opening or creating a partition's log, and recording its leader epoch.

use std::sync::{Arc, PoisonError, Weak};

use crate::replication::{Partition, PartitionError};
use crate::storage::{Log, PartitionMetadata};
use crate::types::WithCauses;

impl Partition {
    /// True if [`Partition::append`] may be called without opening anything first.
    pub fn is_appendable(&self) -> bool {
        self.leading.get().is_some()
    }

    /// True if [`Partition::open`] has nothing left to do.
    pub fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Opens the log if it exists. Blocks on the disk.
    pub fn open(self: &Arc<Self>) -> Result<(), PartitionError> {
        let _once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_running()?;
        if self.log.get().is_none()
            && let Some(log) = self.logs.data.log_of(&self.id, self.topic_id)?
        {
            self.attach(log);
        }
        self.opened.get_or_init(|| ());
        Ok(())
    }

    /// Makes the partition appendable: opens or creates the log, and records the leader epoch
    /// before the first batch of that epoch. Blocks on the disk.
    pub fn lead(self: &Arc<Self>) -> Result<(), PartitionError> {
        self.try_lead().inspect_err(|error| {
            let reason = WithCauses(error).to_string().into();
            *self.open_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        })
    }

    fn try_lead(self: &Arc<Self>) -> Result<(), PartitionError> {
        self.open()?;
        let _once = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.leading.get().is_some() {
            return Ok(());
        }
        let log = if let Some(log) = self.log.get() {
            log
        } else {
            self.require_room()?;
            let metadata = PartitionMetadata {
                topic_id: self.topic_id,
                offset_unit: self.config().offset_unit,
            };
            self.attach(self.logs.data.create_log(&self.id, metadata)?)
        };
        // The calls below write to files by name, and a later log of the same partition reuses
        // those names: the hold keeps this log from being removed meanwhile.
        let Some(_hold) = self.logs.data.hold(log) else {
            return Err(PartitionError::Stopped { reason: "its log was removed" });
        };
        log.start_epoch(self.epoch)?;
        // Prepare here, where blocking on the disk is allowed, rather than in the first append.
        log.prepare()?;
        self.leading.get_or_init(|| ());
        Ok(())
    }

    /// Installs an opened log. Everything flushed counts as replicated: recovery keeps only records
    /// that were.
    fn attach(self: &Arc<Self>, log: Arc<Log>) -> &Arc<Log> {
        log.set_config(self.config());
        let weak = Arc::downgrade(self);
        log.on_flush(move |flushed| {
            if let Some(partition) = Weak::upgrade(&weak) {
                partition.advance(flushed);
            }
        });
        let flushed = log.flushed_offset();
        let log = self.log.get_or_init(|| log);
        self.advance(flushed);
        log
    }

    /// The error of an append to a log that is not open.
    pub(super) fn not_open(&self) -> PartitionError {
        let failure = self.open_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = failure.clone().unwrap_or_else(|| "nobody has opened it yet".into());
        PartitionError::NotOpen { reason }
    }
}
