//! One of several independent readers of a consumer.

use std::borrow::Borrow;
use std::time::Duration;

use super::handle::Consumer;
use super::message::Message;
use super::shared::Wanted;
use super::sink::{Patience, Sink};
use crate::client::ClientError;

/// The messages of some of a consumer's partitions: each partition is in one of its streams, in
/// order, until the group is shared out anew. A slow reader of one stream holds up no other.
///
/// `C` is how it holds the consumer: by reference, or in an `Arc` where it has to live on its own.
#[derive(Debug)]
pub struct Stream<C: Borrow<Consumer>> {
    consumer: C,
    number: usize,
}

impl<C: Borrow<Consumer> + Clone> Stream<C> {
    /// Parts the consumer, which has not read anything yet, into so many streams.
    ///
    /// # Errors
    /// [`ClientError::Config`] when it has begun to read, or was parted before;
    /// [`ClientError::Closed`] once it is closed.
    pub fn part(consumer: &C, count: usize) -> Result<Vec<Self>, ClientError> {
        consumer.borrow().part(count)?;
        Ok((0..count).map(|number| Self { consumer: consumer.clone(), number }).collect())
    }
}

impl<C: Borrow<Consumer>> Stream<C> {
    /// The consumer that it is a part of.
    pub fn consumer(&self) -> &Consumer {
        self.consumer.borrow()
    }

    /// The next message if there is one already.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.consumer.borrow().try_next_of(self.wanted())
    }

    /// The next message, as [`Consumer::next`] has it.
    ///
    /// # Errors
    /// As [`Consumer::next`].
    pub fn next_within(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.consumer.borrow().next_of(self.wanted(), timeout, || false)
    }

    /// Gives records to a sink, as [`Consumer::read_into`] does.
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
