//! Opening a partition's log, or making it, and putting the leader epoch on record.

use std::sync::{Arc, PoisonError, Weak};

use crate::replication::{Partition, PartitionError};
use crate::storage::{Log, PartitionMetadata};
use crate::types::WithCauses;

impl Partition {
    /// Whether [`Partition::append`] may be called without opening anything first.
    pub fn is_appendable(&self) -> bool {
        self.leading.get().is_some()
    }

    /// Whether [`Partition::open`] has nothing left to do.
    pub fn is_open(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Opens the log if there is one. Waits for the disk.
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

    /// Makes the partition appendable: opens the log or makes one, and puts the reign on record
    /// before its first batch. Waits for the disk.
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
        // What follows writes by the names of files, which the next log of this name has too.
        let Some(_hold) = self.logs.data.hold(log) else {
            return Err(PartitionError::Stopped { reason: "its log was removed" });
        };
        log.start_epoch(self.epoch)?;
        // Here, where waiting for the disk is allowed, and not in the first append.
        log.prepare()?;
        self.leading.get_or_init(|| ());
        Ok(())
    }

    /// Takes up an opened log. All of it that is flushed is replicated: at start every record that
    /// recovery kept has been.
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

    /// The refusal of an append to a log that is not open.
    pub(super) fn not_open(&self) -> PartitionError {
        let failure = self.open_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = failure.clone().unwrap_or_else(|| "nobody has opened it yet".into());
        PartitionError::NotOpen { reason }
    }
}
