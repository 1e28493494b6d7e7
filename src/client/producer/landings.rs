//! Where a producer's records came to lie: for whoever has to find them again by their batches.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lane::Identity;
use super::tickets::{Delivery, Landed};
use crate::types::{Offset, ProducerId, TopicPartition};

/// What a producer has delivered to one partition.
///
/// Batches of others may lie between its own, which bear its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Where.
    pub partition: TopicPartition,
    /// The id that its batches bear.
    pub producer: ProducerId,
    /// Base offset of the first batch.
    pub first: Offset,
    /// Base offset of the last batch.
    pub last: Offset,
    /// Records in all of them.
    pub records: u64,
}

/// All landings of a producer.
#[derive(Debug, Default)]
pub(crate) struct Landings {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    identities: Vec<Identity>,
    spans: BTreeMap<TopicPartition, Span>,
    /// Whether a batch was delivered to where the broker could not tell.
    is_vague: bool,
}

#[derive(Debug)]
struct Span {
    first: Offset,
    last: Offset,
    records: u64,
}

impl Landings {
    /// Batches may bear this identity from now on.
    pub(crate) fn identified(&self, identity: Identity) {
        let mut state = self.state();
        if !state.identities.contains(&identity) {
            state.identities.push(identity);
        }
    }

    /// A batch of `records` records has its outcome.
    pub(crate) fn settled(&self, delivery: &Delivery, records: u32) {
        for (part, records) in delivery.parts(records) {
            if let Ok(landed) = &part.outcome {
                self.landed(delivery.partition(), landed, records);
            }
        }
    }

    fn landed(&self, partition: &TopicPartition, landed: &Landed, records: u32) {
        let mut state = self.state();
        let Some(offset) = landed.base_offset else {
            state.is_vague = true;
            return;
        };
        if let Some(span) = state.spans.get_mut(partition) {
            span.first = span.first.min(offset);
            span.last = span.last.max(offset);
            span.records = span.records.saturating_add(u64::from(records));
        } else {
            let span = Span { first: offset, last: offset, records: u64::from(records) };
            state.spans.insert(partition.clone(), span);
        }
    }

    /// What was delivered so far, by partition; `None` if it cannot be told for certain: without
    /// idempotence, after a change of the producer's id, and where a broker had forgotten.
    pub(crate) fn all(&self) -> Option<Vec<Landing>> {
        let state = self.state();
        if state.spans.is_empty() && !state.is_vague {
            return Some(Vec::new());
        }
        let [identity] = state.identities.as_slice() else { return None };
        if state.is_vague {
            return None;
        }
        let landing = |(partition, span): (&TopicPartition, &Span)| Landing {
            partition: partition.clone(),
            producer: identity.id,
            first: span.first,
            last: span.last,
            records: span.records,
        };
        Some(state.spans.iter().map(landing).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
