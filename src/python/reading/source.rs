//! The client's sources of messages.

use std::sync::Arc;
use std::time::Duration;

use crate::client::{self, ClientError, Patience, Rows};

/// A source of messages: a consumer, one of its streams, or its records up to an end.
pub(crate) trait Source: Sync {
    /// The consumer that it reads.
    fn consumer(&self) -> &client::Consumer;
    /// The stream's number; 0 for other sources.
    fn stream(&self) -> usize {
        0
    }
    /// Returns the next message if one is available.
    fn try_next(&self) -> Result<Option<client::Message>, ClientError>;
    /// Returns the next message if one is available. Consumers leave the messages returned before
    /// unprocessed; other sources do not.
    fn try_more(&self) -> Result<Option<client::Message>, ClientError> {
        self.try_next()
    }
    /// Returns the next message, waiting up to `timeout`.
    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError>;
    /// Fills rows with records.
    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError>;
    /// Returns true if there will be no more messages.
    fn is_over(&self) -> bool {
        false
    }
}

impl Source for Arc<client::Consumer> {
    fn consumer(&self) -> &client::Consumer {
        self
    }

    fn try_next(&self) -> Result<Option<client::Message>, ClientError> {
        client::Consumer::try_next(self)
    }

    fn try_more(&self) -> Result<Option<client::Message>, ClientError> {
        client::Consumer::try_more(self)
    }

    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError> {
        client::Consumer::next(self, timeout)
    }

    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError> {
        client::Consumer::read_into(self, rows, patience)
    }
}
