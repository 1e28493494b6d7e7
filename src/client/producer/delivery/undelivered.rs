//! Batches without an outcome, for flushing, and failures that no caller has received.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tickets::Delivery;
use crate::client::{ClientError, DeliveryFailure};

/// The number of failures reported individually; of further failures, only the records are counted.
pub(super) const LISTED_MAX: usize = 100;

/// The batches of a producer that are not delivered yet, or have failed.
#[derive(Debug, Default)]
pub(crate) struct Undelivered {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_ordinal: u64,
    open: BTreeMap<u64, Arc<Delivery>>,
    is_closed: bool,
    given_up: Option<GivenUp>,
    failed: Failed,
}

/// The batches without an outcome when a caller gave these up.
#[derive(Clone, Copy, Debug)]
struct GivenUp {
    records: u64,
    /// The number of the first of them, if there is one.
    first: Option<u64>,
}

/// Failed batches with their numbers of records, until they are reported.
#[derive(Debug, Default)]
struct Failed {
    batches: Vec<(Arc<Delivery>, u32)>,
    /// Records of further batches whose tickets are all dropped.
    beyond: u64,
    /// The number of batches left after the last cleanup.
    kept: usize,
}

impl Undelivered {
    /// Registers a batch that `make` creates with the number assigned to it.
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

    /// Fails all batches without an outcome when the sending task ends, and refuses new batches.
    pub(crate) fn close_all(&self) {
        let mut state = self.state();
        state.is_closed = true;
        for delivery in std::mem::take(&mut state.open).into_values() {
            if delivery.is_settled() {
                continue;
            }
            delivery.settle(Err(ClientError::Closed));
            if state.given_up.is_none() {
                let records = delivery.records();
                state.failed.add(delivery, records);
            }
        }
    }

    /// Excludes the batches that are still without an outcome from all reports, since a caller has
    /// stopped waiting for them. Returns their number of records.
    pub(crate) fn give_up(&self) -> u64 {
        let mut state = self.state();
        let records = state.undelivered();
        let first = state.open.first_key_value().map(|(first, _)| *first);
        state.given_up.get_or_insert(GivenUp { records, first });
        records
    }

    /// The number of records in batches without an outcome, or given up.
    pub(crate) fn records(&self) -> u64 {
        self.state().undelivered()
    }

    /// Records that a batch of `records` records has an outcome.
    pub(crate) fn close(&self, delivery: &Arc<Delivery>, records: u32) {
        let mut state = self.state();
        state.open.remove(&delivery.ordinal());
        if state.given_up.is_none() && delivery.failures(records).next().is_some() {
            state.failed.add(Arc::clone(delivery), records);
        }
    }

    /// The number of the next batch.
    pub(crate) fn next_ordinal(&self) -> u64 {
        self.state().next_ordinal
    }

    /// Returns true if every batch numbered below `ordinal` has an outcome.
    pub(crate) fn none_open_below(&self, ordinal: u64) -> bool {
        self.state().open.first_key_value().is_none_or(|(first, _)| *first >= ordinal)
    }

    /// Returns true if a batch numbered below `ordinal` was given up.
    pub(crate) fn was_given_up_below(&self, ordinal: u64) -> bool {
        let first = self.state().given_up.and_then(|given_up| given_up.first);
        first.is_some_and(|first| first < ordinal)
    }

    /// Reports, once, the failures that no caller has received from a ticket.
    pub(crate) fn report(&self) -> Result<(), ClientError> {
        let Failed { batches, beyond, .. } = std::mem::take(&mut self.state().failed);
        let mut unlisted = beyond;
        let mut failures: Vec<DeliveryFailure> = Vec::new();
        for (delivery, records) in &batches {
            for (records, error) in unseen(delivery, *records) {
                if failures.len() == LISTED_MAX {
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

    /// The number of failed batches that are kept.
    #[cfg(test)]
    pub(super) fn kept_failures(&self) -> usize {
        self.state().failed.batches.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn undelivered(&self) -> u64 {
        let open = self.open.values().filter(|delivery| !delivery.is_settled());
        let records = || open.map(|delivery| u64::from(delivery.records())).sum();
        self.given_up.map_or_else(records, |given_up| given_up.records)
    }
}

impl Failed {
    fn add(&mut self, delivery: Arc<Delivery>, records: u32) {
        self.batches.push((delivery, records));
        if self.batches.len() > 2 * self.kept.max(LISTED_MAX) {
            self.look_through();
        }
    }

    /// Removes batches whose failures were all received. Beyond the number that can be listed,
    /// keeps only batches of which a ticket still exists.
    fn look_through(&mut self) {
        let (mut listed, mut beyond) = (0, 0_u64);
        self.batches.retain(|(delivery, records)| {
            let open: u64 = unseen(delivery, *records).map(|(count, _)| u64::from(count)).sum();
            if open == 0 {
                return false;
            }
            listed += 1;
            let is_kept = listed <= LISTED_MAX || Arc::strong_count(delivery) > 1;
            if !is_kept {
                beyond = beyond.saturating_add(open);
            }
            is_kept
        });
        self.beyond = self.beyond.saturating_add(beyond);
        self.kept = self.batches.len();
    }
}

/// The failures of a batch that no caller has received: numbers of records, with the reasons.
fn unseen(delivery: &Delivery, records: u32) -> impl Iterator<Item = (u32, &ClientError)> {
    let failures = delivery.failures(records);
    let unseen = failures.map(|(part, count, error)| (count.saturating_sub(part.seen()), error));
    unseen.filter(|(count, _)| *count > 0)
}
