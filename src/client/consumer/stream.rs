//! An independent reader of a part of a consumer's partitions.

use std::borrow::Borrow;
use std::time::Duration;

use super::handle::Consumer;
use super::message::Message;
use super::shared::Wanted;
use super::sink::{Patience, Sink};
use crate::client::ClientError;

/// Messages of some of a consumer's partitions. Each partition belongs to one stream, in order,
/// until a rebalance. A slow reader of one stream does not delay the others.
///
/// `C` is a reference to the consumer, or an `Arc` if the stream must keep it alive.
#[derive(Debug)]
pub struct Stream<C: Borrow<Consumer>> {
    consumer: C,
    number: usize,
}

impl<C: Borrow<Consumer> + Clone> Stream<C> {
    /// Splits a consumer that has not read anything yet into streams.
    ///
    /// # Errors
    /// [`ClientError::Config`] if it has started to read, or was split before;
    /// [`ClientError::Closed`] once it is closed.
    pub fn part(consumer: &C, count: usize) -> Result<Vec<Self>, ClientError> {
        consumer.borrow().part(count)?;
        Ok((0..count).map(|number| Self { consumer: consumer.clone(), number }).collect())
    }
}

impl<C: Borrow<Consumer>> Stream<C> {
    /// The consumer.
    pub fn consumer(&self) -> &Consumer {
        self.consumer.borrow()
    }

    /// Returns the next message if one is available.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.consumer.borrow().try_next_of(self.wanted())
    }

    /// Returns the next message, as [`Consumer::next`] does.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn next_within(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.consumer.borrow().next_of(self.wanted(), timeout, || false)
    }

    /// Passes records to a sink, as [`Consumer::read_into`] does.
    ///
    /// # Errors
    /// As [`Consumer::read_into`].
    pub fn read_into(&self, sink: &mut impl Sink, patience: Patience) -> Result<(), ClientError> {
        self.consumer.borrow().read_into_of(self.wanted(), sink, patience, || false)
    }

    fn wanted(&self) -> Wanted<'static> {
        Wanted { stream: self.number, ..Wanted::ANY }
    }
}
