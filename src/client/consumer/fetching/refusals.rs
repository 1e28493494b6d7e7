//! Partitions in which their brokers or this client found damaged records. They are fetched again
//! periodically, since the damage may be skipped or repaired.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use crate::client::ClientError;
use crate::client::consumer::assignment::{Slot, Target};
use crate::client::consumer::fetch_buffer::{Chunk, Source};
use crate::client::consumer::shared::Shared;
use crate::record::Decompressor;

/// The pause of a partition after damage was found.
const PAUSE: Duration = Duration::from_secs(2);

/// Recently refused slots: their generation, and the time of the next attempt.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<usize, (u32, Duration)>);

impl Refusals {
    /// Records an error if it reports damage, and returns true if so. The error is queued for the
    /// caller unless the slot was already given up at this position.
    pub(super) fn refuse(
        &mut self,
        shared: &Shared,
        source: &Source,
        error: &ClientError,
        now: Duration,
    ) -> bool {
        if !matches!(error, ClientError::Damaged { .. }) {
            return false;
        }
        self.0.insert(source.slot, (source.generation, now.saturating_add(PAUSE)));
        shared.arrivals.fail_if(error.clone(), || {
            let mut is_new = false;
            shared.assignment.update(source.slot, source.generation, |slot| {
                is_new = slot.target != Target::Refused(source.position);
                slot.target = Target::Refused(source.position);
            });
            is_new
        });
        true
    }

    /// If the slot was given up at the position of these records, tries to read the first of them
    /// again, and returns the damage if that fails.
    pub(super) fn still_damaged(
        shared: &Shared,
        source: &Source,
        records: Bytes,
    ) -> Option<ClientError> {
        let Source { slot, generation, position, .. } = *source;
        if !shared.assignment.is_refused(slot, generation, position) {
            return None;
        }
        let mut chunk = Chunk::new(source.clone(), records, shared.config.check_crcs);
        chunk.next_below(None, &mut Decompressor::default())?.err()
    }

    /// Returns true if a slot is pausing. A seek ends the pause.
    pub(super) fn is_paused(&self, number: usize, slot: &Slot) -> bool {
        self.0.get(&number).is_some_and(|(generation, _)| *generation == slot.generation)
    }

    /// Removes the pauses that are over at `now`, and returns the time at which the next one ends.
    pub(super) fn expire(&mut self, now: Duration) -> Option<Duration> {
        self.0.retain(|_, (_, until)| *until > now);
        self.0.values().map(|(_, until)| *until).min()
    }
}
