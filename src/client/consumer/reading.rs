//! Reading: the calls that return messages, and waiting for them.

use std::time::Duration;

use super::handle::Consumer;
use super::message::Message;
use super::shared::Wanted;
use super::sink::{Patience, Sink};
use super::until_end::UntilEnd;
use crate::client::ClientError;
use crate::config::ConfigError;

impl Consumer {
    /// Returns the next message, waiting up to `timeout` (`None`: without limit). Returns
    /// `Ok(None)` after the timeout.
    ///
    /// # Errors
    /// [`ClientError::Closed`] once it is closed, and [`ClientError::Config`] if it was split into
    /// streams. [`ClientError::OffsetOutOfRange`] and [`ClientError::Damaged`] concern one
    /// partition; the others continue. That partition stops until a seek or, after damage, until
    /// the broker returns intact records because the damage was repaired or skipped.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.next_of(Wanted::ANY, timeout, || false)
    }

    /// Returns the next message if one is available; messages returned before stay unprocessed.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_more(&self) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.shared.try_next(Wanted::MORE)
    }

    /// Returns the next message if one is available or arrives within `timeout`; messages returned
    /// before stay unprocessed. Returns `Ok(None)` otherwise, also before an error or the end,
    /// which the next call returns.
    ///
    /// # Errors
    /// [`ClientError::Interrupted`], and [`ClientError::Config`] if it was split into streams.
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

    /// Returns the next message if one is available.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn try_next(&self) -> Result<Option<Message>, ClientError> {
        self.check_whole()?;
        self.shared.try_next(Wanted::ANY)
    }

    /// Returns up to `count` messages: waits up to `timeout` for the first, and adds messages that
    /// are already available.
    ///
    /// # Errors
    /// As [`next`](Self::next), if no message precedes the error.
    pub fn next_batch(
        &self,
        count: usize,
        timeout: Option<Duration>,
    ) -> Result<Vec<Message>, ClientError> {
        self.gather(count, timeout, Duration::ZERO)
    }

    /// Returns up to `count` messages: waits up to `timeout` for the first, then up to `linger` for
    /// the others. All of them count as unprocessed until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if no message precedes the error. After an interruption by a signal
    /// the messages gathered so far are read again.
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

    /// Passes records to a sink until it is full or the patience is over. All of them count as
    /// unprocessed until the next call.
    ///
    /// # Errors
    /// As [`next`](Self::next), if no record precedes the error. After an interruption by a signal,
    /// discard the sink: its records are read again.
    pub fn read_into(&self, sink: &mut impl Sink, patience: Patience) -> Result<(), ClientError> {
        self.check_whole()?;
        self.read_into_of(Wanted::ANY, sink, patience, || false)
    }

    /// Iterates over all messages; ends only when the consumer is closed.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message, ClientError>> {
        std::iter::from_fn(move || match self.next(None) {
            Ok(message) => message.map(Ok),
            Err(ClientError::Closed) => None,
            Err(error) => Some(Err(error)),
        })
    }

    /// Iterates up to the current end of each partition. In a group these are the partitions
    /// assigned now.
    ///
    /// # Errors
    /// Errors of looking up the end offsets.
    pub fn until_end(&self) -> Result<UntilEnd<&Self>, ClientError> {
        UntilEnd::of(self)
    }

    /// Waits for the next wanted message, unless `is_done`.
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
                // A partition given up in the meantime counts as done, and its error is queued by
                // now.
                Ok(None) => is_done().then(|| self.shared.try_next(wanted)),
                next => Some(next),
            }
        };
        let gate = self.shared.arrivals.changed().gate();
        let found = self.core.waiter.wait(gate, timeout, attempt)?;
        found.unwrap_or(Ok(None))
    }

    /// Passes wanted records to a sink, unless `is_done`.
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
                // As in `next_of`.
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
                // The next call returns the error.
                self.shared.arrivals.fail(error);
                Ok(())
            }
            Err(error) => {
                self.shared.take_back(wanted);
                Err(error)
            }
        }
    }

    /// Returns the next wanted message if one is available.
    pub(super) fn try_next_of(&self, wanted: Wanted<'_>) -> Result<Option<Message>, ClientError> {
        self.shared.try_next(wanted)
    }

    /// Fails if the consumer was split into streams.
    fn check_whole(&self) -> Result<(), ClientError> {
        if self.shared.assignment.streams() == 1 {
            return Ok(());
        }
        let reason = "the messages of this consumer are given out by its streams";
        Err(ConfigError::single("streams", reason).into())
    }
}
