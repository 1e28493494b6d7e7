//! The callbacks of maintenance.

use crate::storage::{HighWatermarks, StorageError};

/// The callbacks of maintenance. Called on its threads, without a lock held.
pub struct UpkeepListener {
    /// Returns the current high watermarks.
    pub high_watermarks: Box<dyn Fn() -> HighWatermarks + Send + Sync>,
    /// Called when the disk has failed, or a thread has panicked.
    pub on_fatal: Box<dyn Fn(&StorageError) + Send + Sync>,
}
