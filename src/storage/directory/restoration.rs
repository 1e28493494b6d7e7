//! Logs without a sound `partition.metadata`, and rebuilding that file.

use std::sync::{Arc, PoisonError};

use crate::storage::directory::data_dir::DataDir;
use crate::storage::directory::names;
use crate::storage::directory::partition_metadata::PartitionMetadata;
use crate::storage::{Log, StorageError};
use crate::types::TopicPartition;

impl DataDir {
    /// The logs whose topic cannot be determined: they are not opened.
    pub fn unidentified(&self) -> Vec<TopicPartition> {
        let logs = self.lock_logs();
        let slots = logs.values().filter(|slot| !slot.is_known());
        slots.map(|slot| slot.partition().clone()).collect()
    }

    /// Writes the `partition.metadata` of such a log again, durably, and recovers the log. The
    /// caller must be certain of its topic. `None` if there is no such log.
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
}
