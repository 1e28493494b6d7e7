//! The partitions whose records are damaged, as their brokers say or this client has found. They
//! are asked for again from time to time, since the damage may be skipped or repaired.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;

use super::chunk::{Chunk, Source};
use crate::client::ClientError;
use crate::client::consumer::assignment::{Slot, Target};
use crate::client::consumer::shared::Shared;
use crate::record::Decompressor;

/// How long a partition is left alone after a refusal.
const PAUSE: Duration = Duration::from_secs(2);

/// The slots refused lately: their generation, and when to ask again.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<usize, (u32, Duration)>);

impl Refusals {
    /// Takes in an error if it is a refusal, and tells whether it is. It is given out unless it was
    /// the last one of the slot as well.
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

    /// What is still wrong with the first of some records, if their slot was given up there.
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

    /// Whether a slot is to be left alone. One that was sought elsewhere is not.
    pub(super) fn rests(&self, number: usize, slot: &Slot) -> bool {
        self.0.get(&number).is_some_and(|(generation, _)| *generation == slot.generation)
    }

    /// Forgets those that are to be asked again `now`; tells when the next is.
    pub(super) fn expire(&mut self, now: Duration) -> Option<Duration> {
        self.0.retain(|_, (_, until)| *until > now);
        self.0.values().map(|(_, until)| *until).min()
    }
}
