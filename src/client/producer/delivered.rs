//! The offsets at which a producer's records were stored, so that its batches can be found again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::delivery::{BatchAck, Delivery};
use super::packed::Identity;
use crate::types::{Offset, ProducerId, TopicPartition};

/// The batches that a producer delivered to one partition.
///
/// Batches of other producers may lie between them; the producer id in a batch tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredBatches {
    /// The partition.
    pub partition: TopicPartition,
    /// The producer id in the batches.
    pub producer: ProducerId,
    /// Base offset of the first batch.
    pub first: Offset,
    /// Base offset of the last batch.
    pub last: Offset,
    /// Records in all batches together.
    pub records: u64,
}

/// All delivered batches of a producer.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    identities: Vec<Identity>,
    spans: BTreeMap<TopicPartition, Span>,
    /// True if the broker did not report the offset of a batch.
    is_vague: bool,
}

#[derive(Debug, Default)]
struct Span {
    /// The base offsets of the first and the last batch whose offset is known.
    ends: Option<(Offset, Offset)>,
    records: u64,
}

impl Delivered {
    /// Registers a producer id that batches may carry from now on.
    pub(crate) fn identified(&self, identity: Identity) {
        let mut state = self.state();
        if !state.identities.contains(&identity) {
            state.identities.push(identity);
        }
    }

    /// Records the outcome of a batch of `records` records.
    pub(crate) fn settled(&self, delivery: &Delivery, records: u32) {
        for (part, records) in delivery.parts(records) {
            if let Ok(ack) = &part.outcome {
                self.delivered(delivery.partition(), ack, records);
            }
        }
    }

    fn delivered(&self, partition: &TopicPartition, ack: &BatchAck, records: u32) {
        let mut state = self.state();
        state.is_vague |= ack.base_offset.is_none();
        if !state.spans.contains_key(partition) {
            state.spans.insert(partition.clone(), Span::default());
        }
        let Some(span) = state.spans.get_mut(partition) else { return };
        span.records = span.records.saturating_add(u64::from(records));
        if let Some(offset) = ack.base_offset {
            let (first, last) = span.ends.unwrap_or((offset, offset));
            span.ends = Some((first.min(offset), last.max(offset)));
        }
    }

    /// The number of records delivered to a topic.
    pub(crate) fn records(&self, topic: &str) -> u64 {
        let state = self.state();
        let spans = state.spans.iter().filter(|(partition, _)| partition.topic.as_str() == topic);
        spans.map(|(_, span)| span.records).sum()
    }

    /// Returns the delivered batches by partition; `None` if the offsets are not certain: without
    /// idempotence, after a change of the producer id or epoch, or if a broker did not report an
    /// offset.
    pub(crate) fn all(&self) -> Option<Vec<DeliveredBatches>> {
        let state = self.state();
        if state.spans.is_empty() {
            return Some(Vec::new());
        }
        let [identity] = state.identities.as_slice() else { return None };
        if state.is_vague {
            return None;
        }
        let delivered = |(partition, span): (&TopicPartition, &Span)| {
            let ((first, last), records) = (span.ends?, span.records);
            let (partition, producer) = (partition.clone(), identity.id);
            Some(DeliveredBatches { partition, producer, first, last, records })
        };
        Some(state.spans.iter().filter_map(delivered).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
