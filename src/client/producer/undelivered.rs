//! Batches whose outcome is open, for flushing; and failures, for those who never asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tickets::Delivery;
use crate::client::{ClientError, DeliveryFailure};

/// Failures that are told one by one; of the rest, only how many records.
const REMEMBERED_MAX: usize = 100;

/// A producer's batches that are not delivered: not yet, or never.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_ordinal: u64,
    open: BTreeMap<u64, Arc<Delivery>>,
    is_closed: bool,
    failed: Vec<(Arc<Delivery>, u32)>,
    failed_beyond: u64,
}

impl Undelivered {
    /// Enters a batch that `make` opens under the number it is given.
    pub(crate) fn open(
        &self,
        make: impl FnOnce(u64) -> Delivery,
    ) -> Result<Arc<Delivery>, ClientError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(ClientError::Closed);
        }
        let ordinal = state.next_ordinal;
        state.next_ordinal = ordinal.saturating_add(1);
        let delivery = Arc::new(make(ordinal));
        state.open.insert(ordinal, Arc::clone(&delivery));
        Ok(delivery)
    }

    /// Fails everything that is still open, now and later: nobody sends any more.
    pub(crate) fn close_all(&self) {
        let mut state = self.state();
        state.is_closed = true;
        for delivery in std::mem::take(&mut state.open).into_values() {
            if !delivery.is_settled() {
                delivery.settle(Err(ClientError::Closed));
            }
        }
    }

    /// A batch of `records` records has its outcome.
    pub(crate) fn close(&self, delivery: &Arc<Delivery>, records: u32) {
        let mut state = self.state();
        state.open.remove(&delivery.ordinal());
        let failed: u64 = delivery.failures(records).map(|(_, count, _)| u64::from(count)).sum();
        if failed == 0 {
            return;
        }
        if state.failed.len() < REMEMBERED_MAX {
            state.failed.push((Arc::clone(delivery), records));
        } else {
            state.failed_beyond = state.failed_beyond.saturating_add(failed);
        }
    }

    /// The number that the next batch will have.
    pub(crate) fn next_ordinal(&self) -> u64 {
        self.state().next_ordinal
    }

    /// Whether every batch numbered below `ordinal` has its outcome.
    pub(crate) fn none_open_below(&self, ordinal: u64) -> bool {
        self.state().open.first_key_value().is_none_or(|(first, _)| *first >= ordinal)
    }

    /// Reports, once, the failures that no ticket was asked about.
    pub(crate) fn report(&self) -> Result<(), ClientError> {
        let mut state = self.state();
        let failed = std::mem::take(&mut state.failed);
        let mut unlisted = std::mem::take(&mut state.failed_beyond);
        drop(state);
        let mut failures: Vec<DeliveryFailure> = Vec::new();
        for (delivery, records) in &failed {
            for (part, records, error) in delivery.failures(*records) {
                let records = records.saturating_sub(part.seen());
                if records == 0 {
                    continue;
                }
                if failures.len() == REMEMBERED_MAX {
                    unlisted = unlisted.saturating_add(u64::from(records));
                    continue;
                }
                let (partition, error) = (delivery.partition().clone(), error.clone());
                failures.push(DeliveryFailure { partition, records, error });
            }
        }
        if failures.is_empty() && unlisted == 0 {
            Ok(())
        } else {
            Err(ClientError::Delivery { failures, unlisted })
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
