//! The steps between the client's consumer and the application: reporting changes, decoding.

use std::time::Duration;

use pyo3::{Py, PyAny, PyResult, Python};

use super::decoding::{Decoding, Offered};
use super::held::Held;
use super::message::Message;
use super::source::Source;
use crate::client::{self, ClientError, Start};
use crate::python::arguments::monotonic;
use crate::python::errors::raised;
use crate::types::{Offset, TopicPartition};

/// The user code involved in reading.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) decoding: Option<Decoding>,
    pub(crate) on_assign: Option<Py<PyAny>>,
    pub(crate) on_revoke: Option<Py<PyAny>>,
    /// An event that ends reading.
    pub(crate) stop: Option<Py<PyAny>>,
}

impl Hooks {
    /// Fails if the dead-letter topic is one of the topics read.
    pub(crate) fn check(&self, topics: &[String]) -> PyResult<()> {
        self.decoding.as_ref().map_or(Ok(()), |decoding| decoding.check(topics))
    }

    /// Returns true if the application wants to be told of changes.
    pub(super) fn tells(&self) -> bool {
        self.on_assign.is_some() || self.on_revoke.is_some()
    }

    /// Returns the next message of `source` within `timeout` seconds; `None` after the timeout or
    /// at the end.
    pub(crate) fn next(
        &self,
        py: Python<'_>,
        source: &impl Source,
        timeout: Option<f64>,
    ) -> PyResult<Option<Message>> {
        let deadline = timeout.map(|left| monotonic(py).map(|now| now + left)).transpose()?;
        let mut left = timeout;
        loop {
            self.attend(py, source.consumer())?;
            let held = self.held().and_then(|held| held.take(source));
            let mut found = held.map_or_else(|| source.try_next(), |message| Ok(Some(message)));
            if matches!(found, Ok(None)) {
                // Release the interpreter only for a real wait.
                let wait = left.and_then(|left| Duration::try_from_secs_f64(left).ok());
                found = py.detach(|| source.next(wait));
            }
            match found {
                Ok(Some(message)) => match &self.decoding {
                    None => return Ok(Some(message.into())),
                    Some(decoding) => {
                        if let Some(message) = decoding.decode(py, source.stream(), message)? {
                            return Ok(Some(message));
                        }
                    }
                },
                Ok(None) if source.consumer().has_changes() => {}
                Ok(None) | Err(ClientError::Closed) => return Ok(None),
                Err(error) => return Err(raised(py, error)),
            }
            if let Some(deadline) = deadline {
                left = Some((deadline - monotonic(py)?).max(0.0));
            }
        }
    }

    /// Decodes a message if there are decoders.
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

    /// Held messages, if there can be any.
    pub(crate) fn held(&self) -> Option<&Held> {
        self.decoding.as_ref().map(Decoding::held)
    }

    /// Corrects positions for held messages, which are not returned yet.
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

    /// Makes `source`, which does not decode, read the held messages again.
    pub(super) fn read_again(&self, source: &dyn Source) -> Result<(), ClientError> {
        let Some(held) = self.held() else { return Ok(()) };
        let messages: Vec<_> = std::iter::from_fn(|| held.take(source)).collect();
        // Seek the first message of each partition last, so that its position wins.
        for message in messages.iter().rev() {
            let (consumer, partition) = (source.consumer(), message.topic_partition());
            consumer.seek(partition, Start::Offset(message.offset()))?;
            // The partition may be paused because reading reached its end.
            consumer.set_paused(partition, false)?;
        }
        Ok(())
    }

    /// Runs before each message: ends reading if the stop event is set, and reports changes.
    pub(crate) fn attend(&self, py: Python<'_>, consumer: &client::Consumer) -> PyResult<()> {
        if let Some(stop) = &self.stop
            && stop.call_method0(py, "is_set")?.is_truthy(py)?
        {
            consumer.end();
        }
        if self.tells() { self.tell(py, consumer) } else { Ok(()) }
    }

    /// Calls the callbacks with the revoked and assigned partitions.
    fn tell(&self, py: Python<'_>, consumer: &client::Consumer) -> PyResult<()> {
        let Some(change) = consumer.take_changes() else { return Ok(()) };
        call(py, self.on_revoke.as_ref(), &change.revoked)?;
        call(py, self.on_assign.as_ref(), &change.assigned)
    }
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
