//! Reading up to the current end.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::time::Duration;

use super::assignment::Slot;
use super::handle::Consumer;
use super::message::Message;
use super::shared::Wanted;
use super::sink::{Patience, Sink};
use crate::client::{ClientError, FoundOffset};
use crate::types::{Offset, TopicPartition};

/// Messages up to the end offsets at the time of its creation, or up to given ends. A partition
/// that has reached its end is paused until this object is dropped, and continues afterwards.
/// Without given ends, partitions that were paused before are left out.
///
/// `C` is a reference to the consumer, or an `Arc` if this must keep it alive.
#[derive(Debug)]
pub struct UntilEnd<C: Borrow<Consumer>> {
    consumer: C,
    /// End offsets by slot; `None` leaves the slot out.
    ends: Vec<Option<Offset>>,
}

impl<C: Borrow<Consumer>> UntilEnd<C> {
    /// Reads up to the current ends.
    ///
    /// # Errors
    /// Errors of looking up the end offsets.
    pub fn of(consumer: C) -> Result<Self, ClientError> {
        let found = consumer.borrow().ends().wait()?;
        Ok(Self::up_to(consumer, &found))
    }

    /// [`of`](Self::of) as a future.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub async fn making(consumer: C) -> Result<Self, ClientError> {
        let asked = consumer.borrow().ends();
        let found = asked.await?;
        Ok(Self::up_to(consumer, &found))
    }

    fn up_to(consumer: C, found: &[FoundOffset]) -> Self {
        let end = |slot: &Slot| {
            let row = found.iter().find(|row| row.partition == slot.partition);
            row.and_then(|row| row.offset).filter(|_| slot.is_assigned && !slot.is_paused)
        };
        let ends = consumer.borrow().slots().iter().map(end).collect();
        Self { consumer, ends }
    }

    /// Lowers the ends to these offsets where they are lower.
    #[must_use]
    pub fn and_below(mut self, limits: &HashMap<TopicPartition, Offset>) -> Self {
        for (slot, end) in self.consumer.borrow().slots().iter().zip(&mut self.ends) {
            if let Some(limit) = limits.get(&slot.partition) {
                *end = end.map(|end| end.min(*limit));
            }
        }
        self
    }

    /// Reads up to the given ends; other partitions are left out. The consumer fetches nothing
    /// beyond the ends any more.
    pub fn below(consumer: C, ends: &[(TopicPartition, Offset)]) -> Self {
        for (partition, end) in ends {
            consumer.borrow().shared.assignment.limit(partition, *end);
        }
        let end = |slot: &Slot| {
            let row = ends.iter().find(|(partition, _)| *partition == slot.partition);
            row.map(|(_, end)| *end)
        };
        let ends = consumer.borrow().slots().iter().map(end).collect();
        Self { consumer, ends }
    }

    /// The consumer.
    pub fn consumer(&self) -> &Consumer {
        self.consumer.borrow()
    }

    /// Returns the next message if one is available.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.consumer.borrow().try_next_of(Wanted { ends: &self.ends, ..Wanted::ANY })
    }

    /// Returns the next message if one is available; messages returned before stay unprocessed.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn try_more(&self) -> Result<Option<Message>, ClientError> {
        let wanted = Wanted { ends: &self.ends, goes_on: true, ..Wanted::ANY };
        self.consumer.borrow().try_next_of(wanted)
    }

    /// Returns the next message, waiting up to `timeout` (`None`: without limit). Returns
    /// `Ok(None)` after the timeout or at the ends; [`is_done`](Self::is_done) distinguishes the
    /// two cases.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn next_within(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        let consumer: &Consumer = self.consumer.borrow();
        let wanted = Wanted { ends: &self.ends, ..Wanted::ANY };
        consumer.next_of(wanted, timeout, || self.is_done())
    }

    /// The number of offsets left before the ends, for partitions whose position is known.
    pub fn remaining(&self) -> u64 {
        let slots = self.consumer.borrow().slots();
        let left = slots
            .iter()
            .zip(&self.ends)
            .filter_map(|(slot, end)| u64::try_from((*end)?.get() - slot.position?.get()).ok());
        left.sum()
    }

    /// Passes records to a sink, as [`Consumer::read_into`] does. The sink is unchanged after the
    /// timeout or at the ends.
    ///
    /// # Errors
    /// As [`Consumer::read_into`].
    pub fn read_into(&self, sink: &mut impl Sink, patience: Patience) -> Result<(), ClientError> {
        let consumer: &Consumer = self.consumer.borrow();
        let wanted = Wanted { ends: &self.ends, ..Wanted::ANY };
        consumer.read_into_of(wanted, sink, patience, || self.is_done())
    }

    /// Returns true if every partition has reached its end, or was given up with an error.
    pub fn is_done(&self) -> bool {
        let is_done = |(slot, end): (&Slot, &Option<Offset>)| {
            let is_reached = slot.position.zip(*end).is_some_and(|(at, end)| at >= end);
            end.is_none() || is_reached || slot.target.is_given_up()
        };
        self.consumer.borrow().slots().iter().zip(&self.ends).all(is_done)
    }
}

impl<C: Borrow<Consumer>> Iterator for UntilEnd<C> {
    type Item = Result<Message, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_within(None) {
            Err(ClientError::Closed) => None,
            next => next.transpose(),
        }
    }
}

impl<C: Borrow<Consumer>> Drop for UntilEnd<C> {
    fn drop(&mut self) {
        let read = self.ends.iter().enumerate().filter(|(_, end)| end.is_some());
        for (slot, _) in read {
            self.consumer.borrow().resume(slot);
        }
    }
}
