//! Reading: what a consumer gives its callers, and how they wait for it.

use std::time::Duration;

use super::handle::Consumer;
use super::message::Message;
use super::shared::Wanted;
use super::sink::{Patience, Sink};
use super::until_end::UntilEnd;
use crate::client::ClientError;
use crate::config::ConfigError;

impl Consumer {
    /// The next message, waiting for it up to `timeout` (`None` is for ever). `Ok(None)` when the
    /// time is over.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed; [`ClientError::OffsetOutOfRange`] and
    /// [`ClientError::Damaged`] of a partition, while the others go on. It rests until it is sought
    /// elsewhere or, where records are damaged, until the broker serves sound ones: once the damage
    /// was repaired or skipped.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.next_of(Wanted::ANY, timeout, || false)
    }

    /// The next message if there is one already; what was given out before stays in hand.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_more(&self) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.shared.try_next(Wanted::MORE)
    }

    /// The next message behind what was given out, which stays in hand: one that is there already,
    /// or comes within `timeout`. `Ok(None)` when there is none, and when what comes next is an
    /// error or the end: the next call meets it.
    ///
    /// # Errors
    /// [`ClientError::Interrupted`].
    pub fn next_more(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        let found = match timeout {
            Some(timeout) => self.next_of(Wanted::MORE, Some(timeout), || false),
            None if self.shared.has_changes() => Ok(None),
            None => self.shared.try_next(Wanted::MORE),
        };
        match found {
            Err(ClientError::Closed) => Ok(None),
            Err(ClientError::Interrupted) => Err(ClientError::Interrupted),
            Err(error) => {
                self.shared.arrivals.fail(error);
                Ok(None)
            }
            found => found,
        }
    }

    /// The next message if there is one already.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.shared.try_next(Wanted::ANY)
    }

    /// Up to `count` messages: waits up to `timeout` for the first, and takes with it those that
    /// are there already.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no message before the error.
    pub fn next_batch(
        &self,
        count: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Message>, ClientError> {
        self.gather(count, timeout, Duration::ZERO)
    }

    /// Up to `count` messages: waits up to `timeout` for the first, and then up to `linger` for the
    /// others. All of them are in hand until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no message before the error. What a signal keeps from
    /// being given out is read again.
    pub fn gather(
        &self,
        count: usize,
        timeout: Option<Duration>,
        linger: Duration,
    ) -> Result<Vec<Message>, ClientError> {
        let mut messages = Vec::new();
        if count == 0 {
            return Ok(messages);
        }
        messages.extend(self.next(timeout)?);
        let until = self.shared.now().saturating_add(linger);
        while !messages.is_empty() && messages.len() < count {
            let left = until.saturating_sub(self.shared.now());
            match self.next_more(Some(left)) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => {
                    self.shared.take_back(Wanted::MORE);
                    return Err(error);
                }
            }
        }
        Ok(messages)
    }

    /// Gives records to a sink until it is full, or the patience is over. All of them are in hand
    /// until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if there was no record before the error. When a signal ends the
    /// wait, the sink is to be thrown away: what it was given is read again.
    pub fn read_into(&self, sink: &mut impl Sink, patience: Patience) -> Result<(), ClientError> {
        self.check_whole()?;
        self.read_into_of(Wanted::ANY, sink, patience, || false)
    }

    /// All messages, for ever: ends only when the consumer is closed.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message, ClientError>> {
        std::iter::from_fn(move || match self.next(None) {
            Ok(message) => message.map(Ok),
            Err(ClientError::Closed) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Everything up to the end of each partition as it is now. In a group: of the partitions that
    /// are the consumer's share now.
    ///
    /// # Errors
    /// Those of asking for the ends.
    pub fn until_end(&self) -> Result<UntilEnd<&Self>, ClientError> {
        UntilEnd::of(self)
    }

    /// The next message that is wanted, unless `is_done`.
    pub(super) fn next_of(
        &self,
        wanted: Wanted<'_>,
        timeout: Option<Duration>,
        is_done: impl Fn() -> bool,
    ) -> Result<Option<Message>, ClientError> {
        let attempt = || {
            if self.shared.has_changes() {
                return Some(Ok(None));
            }
            match self.shared.try_next(wanted) {
                // A partition given up since then is done too, and its error is there by now.
                Ok(None) => is_done().then(|| self.shared.try_next(wanted)),
                next => Some(next),
            }
        };
        let gate = self.shared.arrivals.changed().gate();
        let found = self.core.waiter.wait(gate, timeout, attempt)?;
        found.unwrap_or(Ok(None))
    }

    /// Gives what is wanted to a sink, unless `is_done`.
    pub(super) fn read_into_of(
        &self,
        wanted: Wanted<'_>,
        sink: &mut impl Sink,
        patience: Patience,
        is_done: impl Fn() -> bool,
    ) -> Result<(), ClientError> {
        let gate = self.shared.arrivals.changed().gate();
        let before = sink.count();
        let first = || {
            if self.shared.has_changes() {
                return Some(Ok(()));
            }
            match self.shared.try_read_into(wanted, sink) {
                Ok(()) if sink.count() > before => Some(Ok(())),
                // As for a single message.
                Ok(()) => is_done().then(|| self.shared.try_read_into(wanted, sink)),
                failed => Some(failed),
            }
        };
        self.core.waiter.wait(gate, patience.first, first)?.unwrap_or(Ok(()))?;
        if sink.count() == before || sink.is_full() {
            return Ok(());
        }
        let more = Wanted { goes_on: true, ..wanted };
        let rest = || match self.shared.try_read_into(more, sink) {
            Ok(()) => {
                let is_over = sink.is_full() || is_done() || self.shared.has_changes();
                is_over.then_some(Ok(()))
            }
            failed => Some(failed),
        };
        match self.core.waiter.wait(gate, Some(patience.more), rest) {
            Ok(Some(Err(ClientError::Closed) | Ok(())) | None) => Ok(()),
            Ok(Some(Err(error))) => {
                // The next call meets it.
                self.shared.arrivals.fail(error);
                Ok(())
            }
            Err(error) => {
                self.shared.take_back(wanted);
                Err(error)
            }
        }
    }

    /// The next message that is wanted, if there is one already.
    pub(super) fn try_next_of(&self, wanted: Wanted<'_>) -> Result<Option<Message>, ClientError> {
        self.shared.try_next(wanted)
    }

    /// Fails when the messages are given out by streams.
    fn check_whole(&self) -> Result<(), ClientError> {
        if self.shared.assignment.streams() == 1 {
            return Ok(());
        }
        let reason = "the messages of this consumer are given out by its streams";
        Err(ConfigError::single("streams", reason).into())
    }
}
