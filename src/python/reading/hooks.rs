//! What happens between the client's consumer and the program: changes are told, values decoded.

use std::time::Duration;

use pyo3::types::PyAnyMethods;
use pyo3::{Py, PyAny, PyResult, Python};

use super::decoding::{Decoding, Offered};
use super::message::Message;
use crate::client::{self, ClientError, Patience, Rows};
use crate::python::errors::raised;
use crate::types::TopicPartition;

/// The program's own parts in reading.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) decoding: Option<Decoding>,
    pub(crate) on_assign: Option<Py<PyAny>>,
    pub(crate) on_revoke: Option<Py<PyAny>>,
    /// An event that ends the loop.
    pub(crate) stop: Option<Py<PyAny>>,
}

/// A place that messages are read from: all of a consumer, a stream of it, or up to its end.
pub(crate) trait Place: Sync {
    /// The consumer behind it.
    fn consumer(&self) -> &client::Consumer;
    /// The next message if there is one already.
    fn try_next(&self) -> Result<Option<client::Message>, ClientError>;
    /// The same; what was given out before it stays in hand.
    fn try_more(&self) -> Result<Option<client::Message>, ClientError> {
        self.try_next()
    }
    /// The next message, waiting for it up to `timeout`.
    fn next(&self, timeout: Option<Duration>) -> Result<Option<client::Message>, ClientError>;
    /// Fills rows with records.
    fn read_into(&self, rows: &mut Rows, patience: Patience) -> Result<(), ClientError>;
    /// Whether nothing will come any more.
    fn is_over(&self) -> bool {
        false
    }
}

impl Hooks {
    /// Fails if dead letters of these topics would be read again.
    pub(crate) fn check(&self, topics: &[String]) -> PyResult<()> {
        self.decoding.as_ref().map_or(Ok(()), |decoding| decoding.check(topics))
    }

    /// Whether the program is to be told of changes.
    pub(super) fn tells(&self) -> bool {
        self.on_assign.is_some() || self.on_revoke.is_some()
    }

    /// The next message of `place` within `timeout` seconds; `None` when there is none, or never
    /// will be.
    pub(crate) fn next(
        &self,
        py: Python<'_>,
        place: &impl Place,
        timeout: Option<f64>,
    ) -> PyResult<Option<Message>> {
        let deadline = timeout.map(|left| monotonic(py).map(|now| now + left)).transpose()?;
        let mut left = timeout;
        loop {
            self.attend(py, place.consumer())?;
            let mut found = place.try_next();
            if matches!(found, Ok(None)) {
                // Only waiting is worth giving up the interpreter for.
                let wait = left.and_then(|left| Duration::try_from_secs_f64(left).ok());
                found = py.detach(|| place.next(wait));
            }
            match found {
                Ok(Some(message)) => match &self.decoding {
                    None => return Ok(Some(message.into())),
                    Some(decoding) => {
                        if let Some(message) = decoding.decode(py, message)? {
                            return Ok(Some(message));
                        }
                    }
                },
                Ok(None) if place.consumer().has_changes() => {}
                Ok(None) | Err(ClientError::Closed) => return Ok(None),
                Err(error) => return Err(raised(py, error)),
            }
            if let Some(deadline) = deadline {
                left = Some((deadline - monotonic(py)?).max(0.0));
            }
        }
    }

    /// What the program is to get of a message.
    pub(crate) fn offered(&self, py: Python<'_>, message: client::Message) -> PyResult<Offered> {
        match &self.decoding {
            None => Ok(Offered::Message(message.into())),
            Some(decoding) => decoding.offered(py, message),
        }
    }

    /// Messages as the program wants them.
    pub(crate) fn made(
        &self,
        py: Python<'_>,
        messages: Vec<client::Message>,
    ) -> PyResult<Vec<Message>> {
        let Some(decoding) = &self.decoding else {
            return Ok(messages.into_iter().map(Into::into).collect());
        };
        let decoded = messages.into_iter().map(|message| decoding.decode(py, message));
        decoded.filter_map(Result::transpose).collect()
    }

    /// What is due before a message is given out: the end if its event is set, and telling of
    /// changes.
    pub(crate) fn attend(&self, py: Python<'_>, consumer: &client::Consumer) -> PyResult<()> {
        if let Some(stop) = &self.stop
            && stop.call_method0(py, "is_set")?.is_truthy(py)?
        {
            consumer.end();
        }
        if self.tells() { self.tell(py, consumer) } else { Ok(()) }
    }

    /// Tells which partitions came and went.
    fn tell(&self, py: Python<'_>, consumer: &client::Consumer) -> PyResult<()> {
        let Some(change) = consumer.take_changes() else { return Ok(()) };
        call(py, self.on_revoke.as_ref(), &change.revoked)?;
        call(py, self.on_assign.as_ref(), &change.assigned)
    }
}

/// The seconds of a clock that is never set.
pub(crate) fn monotonic(py: Python<'_>) -> PyResult<f64> {
    py.import("time")?.call_method0("monotonic")?.extract()
}

fn call(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    partitions: &[TopicPartition],
) -> PyResult<()> {
    let Some(callback) = callback.filter(|_| !partitions.is_empty()) else { return Ok(()) };
    let names: Vec<(&str, i32)> =
        partitions.iter().map(|at| (at.topic.as_str(), at.partition.0)).collect();
    callback.call1(py, (names,)).map(drop)
}
