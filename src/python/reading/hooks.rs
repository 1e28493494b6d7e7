//! What happens between the client's consumer and the program: changes are told, values decoded.

use std::time::Duration;

use pyo3::types::PyAnyMethods;
use pyo3::{Py, PyAny, PyResult, Python};

use super::decoding::{Decoding, Offered};
use super::held::Held;
use super::message::Message;
use crate::client::{self, ClientError, Patience, Rows, Start};
use crate::python::errors::raised;
use crate::types::{Offset, TopicPartition};

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
    /// The number of the stream, 0 if there are none.
    fn stream(&self) -> usize {
        0
    }
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
            let held = self.held().and_then(|held| held.take(place));
            let mut found = held.map_or_else(|| place.try_next(), |message| Ok(Some(message)));
            if matches!(found, Ok(None)) {
                // Only waiting is worth giving up the interpreter for.
                let wait = left.and_then(|left| Duration::try_from_secs_f64(left).ok());
                found = py.detach(|| place.next(wait));
            }
            match found {
                Ok(Some(message)) => match &self.decoding {
                    None => return Ok(Some(message.into())),
                    Some(decoding) => {
                        if let Some(message) = decoding.decode(py, place.stream(), message)? {
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
    pub(crate) fn offered(
        &self,
        py: Python<'_>,
        stream: usize,
        message: client::Message,
    ) -> Offered {
        match &self.decoding {
            None => Offered::Message(message.into()),
            Some(decoding) => decoding.offered(py, stream, message),
        }
    }

    /// Messages that come before all others, if any can.
    pub(crate) fn held(&self) -> Option<&Held> {
        self.decoding.as_ref().map(Decoding::held)
    }

    /// How far partitions were given out, if that was up to these offsets with what is held.
    pub(crate) fn reached(
        &self,
        offsets: Vec<(TopicPartition, Offset)>,
    ) -> Vec<(TopicPartition, Offset)> {
        let Some(held) = self.held() else { return offsets };
        let reached = |(partition, offset)| {
            let reached = held.reached(&partition, offset);
            (partition, reached)
        };
        offsets.into_iter().map(reached).collect()
    }

    /// What is held is read again by `place`, which does not decode.
    pub(super) fn read_again(&self, place: &dyn Place) -> Result<(), ClientError> {
        let Some(held) = self.held() else { return Ok(()) };
        let messages: Vec<_> = std::iter::from_fn(|| held.take(place)).collect();
        // The first of each partition is sought last.
        for message in messages.iter().rev() {
            let (consumer, partition) = (place.consumer(), message.topic_partition());
            consumer.seek(partition, Start::Offset(message.offset()))?;
            // It may rest at its end.
            consumer.set_paused(partition, false)?;
        }
        Ok(())
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
