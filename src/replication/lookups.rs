//! Queries for offsets of a partition: the first, the latest, by time, and the ends of leader
//! epochs.

use crate::replication::{Partition, PartitionError};
use crate::storage::{Log, RecordAt, StorageError};
use crate::types::{LeaderEpoch, Offset, Timestamp};

impl Partition {
    /// The largest leader epoch not above `epoch` and its end offset, raised to the log start
    /// offset. A follower or consumer compares it with its own log to detect divergence (KIP-101,
    /// KIP-320).
    ///
    /// `None` if `epoch` is after the current epoch, whose end this broker cannot know, or if it is
    /// an earlier epoch and there is no log.
    ///
    /// # Errors
    /// `OffsetNotAvailable` if the epoch ends with the log, and other replicas may have more
    /// records. If this broker does not lead, the partition has stopped, or its log cannot be read.
    pub fn epoch_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, PartitionError> {
        self.check_running()?;
        self.check_open()?;
        let found = self.known_end(epoch)?;
        let log_end = self.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        if found.is_none_or(|(_, end)| end >= log_end) {
            self.current().check_end()?;
        }
        Ok(found)
    }

    fn known_end(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<Option<(LeaderEpoch, Offset)>, PartitionError> {
        let end = self.log().map_or(Offset::ZERO, |log| log.log_end_offset());
        if epoch == self.epoch() {
            // The current epoch may have no entry yet: it is recorded just before its first batch.
            return Ok(Some((epoch, end)));
        }
        match self.log() {
            // An epoch may have ended below the log start offset, where no record can be read any
            // more.
            Some(log) => {
                let found = log.epochs().end_offset_for(epoch)?;
                // An epoch after all entries and before the current one has no records. It ends
                // where the current one will begin.
                let last = || log.epochs().latest().map(|last| (last.unwrap_or(epoch), end));
                let found = match found {
                    None if (LeaderEpoch(0)..self.epoch()).contains(&epoch) => Some(last()?),
                    found => found,
                };
                Ok(found.map(|(epoch, end)| (epoch, end.max(log.log_start_offset()))))
            }
            None => Ok(None),
        }
    }

    /// The high watermark, as the answer to a query for the latest offset.
    ///
    /// # Errors
    /// `OffsetNotAvailable` until it has reached the start of the leader epoch, and while other
    /// replicas may have more records. If the log is not open for this broker's role.
    pub fn latest(&self) -> Result<RecordAt, PartitionError> {
        let high_watermark = self.high_watermark();
        self.check_latest(high_watermark)?;
        Ok(self.untimed(high_watermark))
    }

    /// Fails if clients may have been shown records from `high_watermark` on, or other replicas may
    /// have more.
    fn check_latest(&self, high_watermark: Offset) -> Result<(), PartitionError> {
        let current = self.current();
        // Until the log is open for a new role, the start of the epoch is that of an earlier one.
        if !current.is_open {
            return Err(self.not_open());
        }
        current.check_readable(high_watermark)?;
        current.check_end()
    }

    /// The log start offset, as the answer to a query for the earliest offset.
    pub fn earliest(&self) -> RecordAt {
        self.untimed(self.log_start_offset())
    }

    /// The first visible record with this timestamp or a later one.
    ///
    /// # Errors
    /// As those of [`Partition::latest`] if there is none. If this broker does not lead, the
    /// partition has stopped, or its log cannot be read.
    pub fn first_at(&self, time: Timestamp) -> Result<Option<RecordAt>, PartitionError> {
        let high_watermark = self.high_watermark();
        let search = |log: &Log| log.lookups().offset_for_timestamp(time);
        let found = self.visible(high_watermark, search)?;
        if found.is_none() {
            self.check_latest(high_watermark)?;
        }
        Ok(found)
    }

    /// The visible record with the largest timestamp.
    ///
    /// # Errors
    /// As those of [`Partition::latest`]. If this broker does not lead, the partition has stopped,
    /// or its log cannot be read.
    pub fn latest_by_time(&self) -> Result<Option<RecordAt>, PartitionError> {
        let high_watermark = self.high_watermark();
        self.check_latest(high_watermark)?;
        self.visible(high_watermark, |log| log.lookups().max_timestamp())
    }

    fn untimed(&self, offset: Offset) -> RecordAt {
        RecordAt { timestamp: Timestamp::NONE, offset, epoch: self.epoch() }
    }

    /// What is found in the log, if consumers may see it.
    fn visible(
        &self,
        high_watermark: Offset,
        look: impl Fn(&Log) -> Result<Option<RecordAt>, StorageError>,
    ) -> Result<Option<RecordAt>, PartitionError> {
        self.check_running()?;
        let Some(log) = self.log() else { return Ok(None) };
        Ok(look(&log)?.filter(|found| found.offset < high_watermark))
    }
}
