//! The producers of one partition.

use std::collections::HashMap;
use std::time::Duration;

use crate::config::settings;
use crate::storage::producers::entry::{ActiveProducer, Entry, Verdict};
use crate::storage::producers::{ProducerBatch, SequenceError};
use crate::types::{Offset, ProducerId};

settings! {
    /// The limits on the producer state of a partition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ProducerLimits {
        /// Milliseconds after which the state of an inactive idempotent producer is removed.
        // The time is measured by the monotonic clock, from the start of this process at the
        // earliest, so that a jump of the wall clock cannot let a duplicate pass.
        #[setting("producer.id.expiration.ms", Long in 1..)]
        expiration: Duration = Duration::from_hours(24),
    }
    others {
        /// The number of producers above which those inactive for longest are removed. About 250
        /// bytes each.
        producers_max: usize = 10_000,
    }
}

/// The state of a partition's idempotent producers.
#[derive(Clone, Debug)]
pub struct ProducerStates {
    limits: ProducerLimits,
    entries: HashMap<ProducerId, Entry>,
}

/// The state that results from batches which passed the check and are not appended yet. The caller
/// drops it if the write fails.
#[derive(Debug, Default)]
pub struct Staged {
    entries: HashMap<ProducerId, Entry>,
}

impl ProducerStates {
    /// The state of a partition without producers.
    pub fn new(limits: ProducerLimits) -> Self {
        Self { limits, entries: HashMap::new() }
    }

    /// Decides on the next batch of an append call, after those staged before it, and stages it if
    /// it must be appended. A batch of an unknown producer may begin at any sequence.
    ///
    /// # Errors
    /// If the producer is fenced, or the batch is out of sequence.
    pub fn check(
        &self,
        staged: &mut Staged,
        batch: &ProducerBatch,
    ) -> Result<Verdict, SequenceError> {
        if !batch.is_idempotent() {
            return Ok(Verdict::Append);
        }
        debug_assert!(batch.base_sequence >= 0, "sequence {}", batch.base_sequence);
        let known =
            staged.entries.get(&batch.producer_id).or_else(|| self.entries.get(&batch.producer_id));
        let verdict = known.map_or(Ok(Verdict::Append), |entry| entry.check(batch))?;
        if verdict == Verdict::Append {
            staged
                .entries
                .entry(batch.producer_id)
                .or_insert_with(|| known_or_new(&self.entries, batch))
                .record(batch);
        }
        Ok(verdict)
    }

    /// Records the staged batches once they are in the log; `now` is by the monotonic clock.
    pub fn record(&mut self, staged: Staged, now: Duration) {
        for (producer_id, mut entry) in staged.entries {
            entry.last_seen = now;
            self.entries.insert(producer_id, entry);
        }
        self.evict_inactive();
    }

    /// Records a batch of the log without checks: for recovery, and on followers.
    pub fn replay(&mut self, batch: &ProducerBatch, now: Duration) {
        if !batch.is_idempotent() {
            return;
        }
        let entry = self
            .entries
            .entry(batch.producer_id)
            .or_insert_with(|| Entry::new(batch.producer_epoch));
        entry.record(batch);
        entry.last_seen = now;
        self.evict_inactive();
    }

    /// Removes the producers that have been inactive for too long.
    pub fn expire(&mut self, now: Duration) {
        let expiration = self.limits.expiration;
        self.entries.retain(|_, entry| now.saturating_sub(entry.last_seen) < expiration);
    }

    /// The offset of each producer's last record.
    pub(in crate::storage) fn last_offsets(&self) -> HashMap<ProducerId, Offset> {
        let last = |entry: &Entry| Some(entry.window.last()?.appended.last_offset);
        self.entries.iter().filter_map(|(id, entry)| Some((*id, last(entry)?))).collect()
    }

    /// The producers that have not been inactive for too long, by id.
    pub fn active(&self, now: Duration) -> Vec<ActiveProducer> {
        let expiration = self.limits.expiration;
        let is_active = |entry: &Entry| now.saturating_sub(entry.last_seen) < expiration;
        let entries = self.entries.iter().filter(|(_, entry)| is_active(entry));
        let mut active: Vec<_> = entries.map(|(id, entry)| entry.describe(*id)).collect();
        active.sort_unstable_by_key(|producer| producer.producer_id.0);
        active
    }

    /// The number of producers.
    #[cfg(any(test, feature = "internals"))]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no producers.
    #[cfg(any(test, feature = "internals"))]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entries(&self) -> &HashMap<ProducerId, Entry> {
        &self.entries
    }

    pub(super) fn insert(&mut self, producer_id: ProducerId, entry: Entry) {
        self.entries.insert(producer_id, entry);
    }

    /// Removes the producers inactive for longest, an eighth at a time, because finding them takes
    /// a pass over all producers.
    fn evict_inactive(&mut self) {
        let most = self.limits.producers_max;
        if self.entries.len() <= most {
            return;
        }
        let mut by_age: Vec<_> =
            self.entries.iter().map(|(id, entry)| (entry.last_seen, *id)).collect();
        let surplus = (by_age.len() - most + most / 8).min(by_age.len() - 1);
        by_age.select_nth_unstable(surplus);
        for (_, producer_id) in &by_age[..surplus] {
            self.entries.remove(producer_id);
        }
    }
}

fn known_or_new(entries: &HashMap<ProducerId, Entry>, batch: &ProducerBatch) -> Entry {
    entries.get(&batch.producer_id).cloned().unwrap_or_else(|| Entry::new(batch.producer_epoch))
}
