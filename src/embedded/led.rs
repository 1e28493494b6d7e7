//! A partition of the engine, shared by the handles to it.

use std::sync::Arc;

use crate::embedded::EmbeddedError;
use crate::engine::EngineHandle;
use crate::replication::{Partition, PartitionError};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A partition that the engine in this process leads.
#[derive(Clone)]
pub(super) struct Led {
    pub(super) handle: EngineHandle,
    pub(super) partition: Arc<Partition>,
}

impl Led {
    /// Its topic and index.
    pub(super) fn id(&self) -> &TopicPartition {
        self.partition.id()
    }

    /// The offset that `start` denotes.
    pub(super) fn position(&self, start: Start) -> Result<Offset, EmbeddedError> {
        let latest = || self.partition.high_watermark();
        Ok(match start {
            Start::Earliest => self.partition.log_start_offset(),
            Start::Latest => latest(),
            Start::At(offset) => offset,
            Start::Since(time) => self.first_at(time)?.unwrap_or_else(latest),
        })
    }

    /// Returns the offset of the first flushed record whose timestamp is `time` or later.
    pub(super) fn first_at(&self, time: Timestamp) -> Result<Option<Offset>, EmbeddedError> {
        let found = self.partition.first_at(time).map_err(|error| self.refused(error))?;
        Ok(found.map(|record| record.offset))
    }

    /// The error of a call that the partition refused.
    pub(super) fn refused(&self, source: PartitionError) -> EmbeddedError {
        match self.handle.failure() {
            Some(reason) => EmbeddedError::Failed { reason },
            None => EmbeddedError::Partition { partition: self.id().clone(), source },
        }
    }
}

/// The start position of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first record of the log.
    Earliest,
    /// Records flushed from now on.
    Latest,
    /// The record with this offset.
    At(Offset),
    /// The first record with this timestamp or a later one; if there is none, the same as `Latest`.
    Since(Timestamp),
}
