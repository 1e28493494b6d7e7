//! Appends to the offsets partition that are not replicated yet, and the actions that wait for
//! them.
//!
//! The log replicates in order, so the appends complete oldest first. The exception is an append
//! that the log has refused: it may end before older ones.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use crate::group::records::LogRecord;
use crate::group::step::{Continuation, Step, Write};
use crate::group::{Append, AppendId, GroupId};
use crate::types::TopicPartition;

/// The maximum size of an append of several records: a batch has to stay below `max.message.bytes`.
const APPEND_BYTES_MAX: usize = 512 << 10;

/// The space for a record's framing in a batch.
const RECORD_OVERHEAD: usize = 32;

/// The appends in flight, oldest first.
#[derive(Default)]
pub(super) struct InFlight {
    appends: VecDeque<Waiting>,
    next_id: u64,
}

/// The offsets contained in the appends in flight.
pub(super) struct OffsetsInFlight<'a>(HashSet<(&'a GroupId, &'a TopicPartition)>);

impl OffsetsInFlight<'_> {
    /// Returns true if an append in flight contains a committed offset, or its deletion, for this
    /// group and partition. Expiry must then not append a tombstone: it was decided by the older
    /// offset, but would delete the newer one.
    pub(super) fn has(&self, group: &GroupId, partition: &TopicPartition) -> bool {
        self.0.contains(&(group, partition))
    }
}

/// An append in flight.
pub(super) struct Waiting {
    id: AppendId,
    /// The time from which the request that waits for the append is answered with an error that
    /// clients retry. The append itself continues.
    deadline: Duration,
    /// The changes to apply when the append is replicated.
    pub(super) records: Vec<LogRecord>,
    pub(super) continuation: Continuation,
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.appends.len()
    }

    /// Creates appends for a step's writes. A write with very many records becomes several appends,
    /// and its action waits for the last.
    pub(super) fn start(&mut self, writes: Vec<Write>, deadline: Duration) -> Vec<Append> {
        let mut appends = Vec::new();
        for write in writes {
            let mut parts = split(write.records);
            let last = parts.pop();
            for records in parts {
                appends.push(self.push(records, Continuation::Nothing, deadline));
            }
            if let Some(records) = last {
                appends.push(self.push(records, write.continuation, deadline));
            }
        }
        appends
    }

    fn push(
        &mut self,
        records: Vec<LogRecord>,
        continuation: Continuation,
        deadline: Duration,
    ) -> Append {
        let id = AppendId(self.next_id);
        self.next_id += 1;
        let encoded = records.iter().map(LogRecord::encode).collect();
        // Group snapshots are not applied: memory has their contents already and may be ahead.
        let records = records
            .into_iter()
            .filter(|record| !matches!(record, LogRecord::Group { value: Some(_), .. }))
            .collect();
        self.appends.push_back(Waiting { id, deadline, records, continuation });
        Append { id, records: encoded }
    }

    /// The offsets that are being stored or deleted.
    pub(super) fn offsets(&self) -> OffsetsInFlight<'_> {
        let records = self.appends.iter().flat_map(|waiting| &waiting.records);
        let offsets = records.filter_map(|record| match record {
            LogRecord::Offset { group, partition, .. } => Some((group, partition)),
            LogRecord::Group { .. } => None,
        });
        OffsetsInFlight(offsets.collect())
    }

    /// Removes and returns the oldest append, if its id is at most `last`.
    pub(super) fn take_replicated(&mut self, last: AppendId) -> Option<Waiting> {
        self.appends.pop_front_if(|waiting| waiting.id <= last)
    }

    /// Removes and returns the append with this id, which did not reach the log.
    pub(super) fn take_refused(&mut self, id: AppendId) -> Option<Waiting> {
        let index = self.appends.iter().position(|waiting| waiting.id == id)?;
        self.appends.remove(index)
    }

    /// Removes and returns the actions that wait for overdue appends; the appends stay in flight.
    pub(super) fn take_overdue(&mut self, step: &Step) -> Vec<Continuation> {
        let is_overdue = |waiting: &&mut Waiting| waiting.deadline <= step.now.monotonic;
        let overdue = self.appends.iter_mut().take_while(is_overdue);
        overdue
            .map(|waiting| std::mem::replace(&mut waiting.continuation, Continuation::Nothing))
            .collect()
    }

    /// Removes and returns all appends, when the coordinator loses its partition.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Waiting> {
        std::mem::take(&mut self.appends).into_iter()
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.appends.iter().find(|waiting| waiting.is_awaited()).map(|waiting| waiting.deadline)
    }
}

impl Waiting {
    fn is_awaited(&self) -> bool {
        !matches!(self.continuation, Continuation::Nothing)
    }
}

/// Splits records into runs that fit one append each, in order.
fn split(records: Vec<LogRecord>) -> Vec<Vec<LogRecord>> {
    let mut parts: Vec<Vec<LogRecord>> = Vec::new();
    let mut room = 0;
    for record in records {
        let bytes = record.encode().bytes() + RECORD_OVERHEAD;
        match parts.last_mut() {
            Some(part) if bytes <= room => part.push(record),
            _ => {
                parts.push(vec![record]);
                room = APPEND_BYTES_MAX;
            }
        }
        room = room.saturating_sub(bytes);
    }
    parts
}
