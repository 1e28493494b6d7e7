//! Logs that are gone: creating them again, so that their loss is known, or forgetting them.

use std::sync::{Arc, PoisonError};

use crate::storage::directory::data_dir::DataDir;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::directory::slot::Slot;
use crate::storage::{CheckpointOffsets, StartPoint, StorageError};
use crate::types::{TopicPartition, WithCauses};

impl DataDir {
    /// Creates a log again that is gone, with all of its records damaged, so that the loss is known
    /// to readers and to every later start. The files of the log may still be restored.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn restore_lost_log(
        &self,
        partition: &TopicPartition,
        metadata: PartitionMetadata,
    ) -> Result<(), StorageError> {
        let _creation = self.creation.lock().unwrap_or_else(PoisonError::into_inner);
        if self.lock_logs().contains_key(partition) {
            return Ok(());
        }
        let offsets = self.checkpoints.offsets().of(partition);
        let created = self.create_directory(partition, metadata);
        let CheckpointOffsets { log_start, durable, rebuild } = offsets;
        let start = StartPoint::Unclean { log_start, durable, rebuild, same_boot: true };
        let slot = Arc::new(Slot::new(partition.clone(), Ok(metadata), start));
        self.lock_logs().insert(partition.clone(), Arc::clone(&slot));
        let opened = created
            .and_then(|()| slot.open(&self.env, &self.path, &self.options.configs).map(drop));
        if let Err(error) = &opened
            && !error.leaves_disk_unknown()
        {
            // The partition must not begin anew, and its recorded offsets stay.
            slot.close_unrecovered(&WithCauses(error).to_string());
        }
        opened
    }

    /// Removes the recorded offsets of a log that is gone because its topic was deleted. Durable
    /// once they are recorded.
    pub fn forget_gone_log(&self, partition: &TopicPartition) {
        if !self.lock_logs().contains_key(partition) {
            self.checkpoints.offsets().forget(partition);
        }
    }
}
