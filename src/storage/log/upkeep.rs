//! What a log has to tell those who look after a whole data directory.

use std::sync::PoisonError;
use std::time::Duration;

use crate::storage::StorageError;
use crate::storage::log::Log;
use crate::types::Offset;

impl Log {
    /// Where the first segment ends; `None` while it is the only one.
    pub fn first_segment_end(&self) -> Option<Offset> {
        self.segments.load().get(1).map(|second| second.base())
    }

    /// When the next deleted file is to be removed, by the monotonic clock; `None` when there is
    /// none.
    pub fn removal_due(&self) -> Option<Duration> {
        let deleted = self.deleted.lock().unwrap_or_else(PoisonError::into_inner);
        deleted.iter().map(|(due, _)| *due).min()
    }

    /// Where a cut at `to` would really come to lie: at the beginning of the batch that holds it.
    ///
    /// # Errors
    /// As `read`.
    pub fn cut_at(&self, to: Offset) -> Result<Offset, StorageError> {
        let segments = self.segments.load_full();
        let number = segments.partition_point(|segment| segment.base() <= to).saturating_sub(1);
        let Some(segment) = segments.get(number).filter(|_| to < self.log_end_offset()) else {
            return Ok(to);
        };
        let batch = segment.locate(to)?;
        Ok(batch.map_or(to, |batch| batch.summary.base_offset.min(to)))
    }

    /// Forgets the idempotent producers that have been silent for too long.
    pub fn expire_producers(&self) {
        let now = self.home.clock.monotonic();
        self.lock_tail().producers.expire(now);
    }
}
