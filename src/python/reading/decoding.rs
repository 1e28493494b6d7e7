//! Decoding of keys and values, and handling of messages that cannot be decoded.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::types::{PyAnyMethods, PyBytes, PyTypeMethods};
use pyo3::{Py, PyAny, PyErr, PyResult, Python};

use super::held::Held;
use super::message::Message;
use super::source::Source;
use crate::client::{
    self, Client, ClientError, Header, Producer, ProducerConfig, ProducerRecord, Ticket,
};
use crate::config::{ConfigError, Fault};
use crate::python::arguments::monotonic;
use crate::python::errors::{DecodeError, raised, refused};
use crate::types::TopicName;

pub(super) const DEAD_LETTERS: &str = "dead-letter:";

/// The decoders of keys and values, and the reaction to failures.
#[derive(Debug)]
pub(crate) struct Decoding {
    key: Option<Py<PyAny>>,
    value: Option<Py<PyAny>>,
    skips_tombstones: bool,
    on_error: OnError,
    held: Arc<Held>,
}

/// The reaction to a message that cannot be decoded.
enum OnError {
    /// Raise a `DecodeError` in place of the message.
    Raise,
    /// Skip the message.
    Skip,
    /// Publish it to a dead-letter topic, then skip it.
    DeadLetter(Arc<DeadLetters>),
}

/// The dead-letter topic.
struct DeadLetters {
    topic: String,
    client: Client,
    producer: OnceLock<Producer>,
}

/// The result of decoding a message.
#[derive(Debug)]
pub(crate) enum Offered {
    /// Return it to the application.
    Message(Message),
    /// Skip it.
    Nothing,
    /// Skip it after publishing it as a dead letter.
    Letter(Letter),
    /// Raise an error in its place.
    Error(Undecodable),
}

/// A message that cannot be decoded, to be published as a dead letter.
#[derive(Debug)]
pub(crate) struct Letter {
    letters: Arc<DeadLetters>,
    taken: Taken,
    reason: String,
    /// The pending delivery, shared by all waiting tasks, so that the letter is sent once.
    ticket: tokio::sync::OnceCell<Ticket>,
}

/// A message that cannot be decoded, with the error.
#[derive(Debug)]
pub(crate) struct Undecodable {
    taken: Taken,
    part: &'static str,
    error: PyErr,
}

/// A message taken for a stream, which can be put back if it cannot be returned yet.
#[derive(Debug)]
struct Taken {
    held: Arc<Held>,
    stream: usize,
    message: client::Message,
}

impl Decoding {
    /// Reads a consumer's options; `None` if there are no decoders and no tombstones to skip.
    pub(crate) fn of(
        key: Option<Py<PyAny>>,
        value: Option<Py<PyAny>>,
        on_error: Option<&str>,
        skips_tombstones: bool,
        client: &Client,
    ) -> PyResult<Option<Self>> {
        if key.is_none() && value.is_none() {
            if on_error.is_some() {
                let reason = "given without value= or key=: there is nothing that could fail";
                return Err(refused(&ConfigError::single("on_error", reason)));
            }
            if !skips_tombstones {
                return Ok(None);
            }
        }
        let on_error = match on_error {
            None | Some("raise") => OnError::Raise,
            Some("skip") => OnError::Skip,
            Some(word) => match word.strip_prefix(DEAD_LETTERS) {
                Some(topic) if topic.parse::<TopicName>().is_ok() => {
                    OnError::DeadLetter(Arc::new(DeadLetters {
                        topic: topic.to_owned(),
                        client: client.clone(),
                        producer: OnceLock::new(),
                    }))
                }
                _ => {
                    let expected = "\"raise\", \"skip\" or DeadLetters(TOPIC)";
                    let fault = Fault::invalid("on_error", word, expected);
                    return Err(refused(&ConfigError { faults: vec![fault] }));
                }
            },
        };
        Ok(Some(Self { key, value, skips_tombstones, on_error, held: Arc::default() }))
    }

    /// Fails if the dead-letter topic is one of the topics read.
    pub(crate) fn check(&self, topics: &[String]) -> PyResult<()> {
        match &self.on_error {
            OnError::DeadLetter(letters) if topics.contains(&letters.topic) => {
                let reason = format!(
                    "dead letters of '{0}' cannot go to '{0}': they would be read endlessly",
                    letters.topic
                );
                Err(refused(&ConfigError::single("on_error", reason)))
            }
            _ => Ok(()),
        }
    }

    /// Messages to return before any other message.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// Decodes a message; `None` if it was skipped. A message whose dead letter could not be
    /// published is put back.
    pub(super) fn decode(
        &self,
        py: Python<'_>,
        stream: usize,
        message: client::Message,
    ) -> PyResult<Option<Message>> {
        match self.offered(py, stream, message) {
            Offered::Message(message) => Ok(Some(message)),
            Offered::Nothing => Ok(None),
            Offered::Letter(letter) => match py.detach(|| letter.publish()) {
                Ok(()) => Ok(None),
                Err(error) => {
                    letter.hold();
                    Err(letter.failed(py, error))
                }
            },
            Offered::Error(undecodable) => Err(undecodable.raised(py)),
        }
    }

    /// Returns the next message before `deadline`, leaving the messages returned before
    /// unprocessed. Returns `None` without a message, or if the next call raises an error.
    pub(super) fn more(
        &self,
        py: Python<'_>,
        consumer: &Arc<client::Consumer>,
        deadline: f64,
    ) -> PyResult<Option<Message>> {
        loop {
            let held = self.held.take(consumer);
            let mut found =
                held.map_or_else(|| consumer.next_more(None), |message| Ok(Some(message)));
            if matches!(found, Ok(None)) {
                let left = Duration::try_from_secs_f64(deadline - monotonic(py)?);
                found = py.detach(|| consumer.next_more(Some(left.unwrap_or_default())));
            }
            let found = found.map_err(|error| raised(py, error))?;
            let Some(message) = found else { return Ok(None) };
            let message = self.decode_more(py, consumer.stream(), message)?;
            if message.is_some() || self.held.is_any(consumer.stream()) {
                return Ok(message);
            }
        }
    }

    /// As [`decode`](Self::decode), but puts a message that fails back for the next call.
    fn decode_more(
        &self,
        py: Python<'_>,
        stream: usize,
        message: client::Message,
    ) -> PyResult<Option<Message>> {
        match self.offered(py, stream, message) {
            Offered::Message(message) => Ok(Some(message)),
            Offered::Nothing => Ok(None),
            Offered::Letter(letter) => match py.detach(|| letter.publish()) {
                Ok(()) => Ok(None),
                Err(error) => {
                    letter.hold();
                    match error {
                        ClientError::Interrupted => Err(raised(py, error)),
                        _ => Ok(None),
                    }
                }
            },
            Offered::Error(undecodable) => undecodable.hold(py).map(|()| None),
        }
    }

    /// Decodes a message, or decides how to handle it.
    pub(crate) fn offered(
        &self,
        py: Python<'_>,
        stream: usize,
        message: client::Message,
    ) -> Offered {
        if self.skips_tombstones && message.value().is_none() {
            return Offered::Nothing;
        }
        let value = decoded(py, "value", self.value.as_ref(), message.value());
        let parts = value.and_then(|value| {
            decoded(py, "key", self.key.as_ref(), message.key()).map(|key| (key, value))
        });
        let (part, error) = match parts {
            Ok((key, value)) => return Offered::Message(Message::decoded(message, key, value)),
            Err(failed) => failed,
        };
        let taken = Taken { held: Arc::clone(&self.held), stream, message };
        match &self.on_error {
            OnError::Skip if !is_interrupt(py, &error) => Offered::Nothing,
            OnError::DeadLetter(letters) if !is_interrupt(py, &error) => {
                let (letters, reason) = (Arc::clone(letters), error.to_string());
                let ticket = tokio::sync::OnceCell::new();
                Offered::Letter(Letter { letters, taken, reason, ticket })
            }
            _ => Offered::Error(Undecodable { taken, part, error }),
        }
    }
}

impl DeadLetters {
    /// The producer, created for the first dead letter.
    fn producer(&self) -> Result<&Producer, ClientError> {
        if let Some(producer) = self.producer.get() {
            return Ok(producer);
        }
        let made = self.client.producer(ProducerConfig::default())?;
        Ok(self.producer.get_or_init(|| made))
    }
}

impl Taken {
    /// Puts the message back in front of all other messages.
    fn hold(&self) {
        self.held.put_back(self.stream, [self.message.clone()]);
    }
}

impl Undecodable {
    /// The exception raised in its place. The message then counts as processed, unless the error
    /// was an interrupt.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        if is_interrupt(py, &self.error) {
            self.taken.hold();
            return self.error;
        }
        undecodable(py, self.taken.message, self.part, self.error)
    }

    /// Puts the message back, so that the next call raises the error.
    ///
    /// # Errors
    ///
    /// An interrupt, which is unrelated to the message.
    pub(crate) fn hold(self, py: Python<'_>) -> PyResult<()> {
        self.taken.hold();
        if is_interrupt(py, &self.error) { Err(self.error) } else { Ok(()) }
    }
}

impl Letter {
    /// Puts the message back: it counts as returned only after it is published.
    pub(crate) fn hold(&self) {
        self.taken.hold();
    }

    /// Releases the message after it was published.
    pub(crate) fn release(&self) {
        self.taken.held.release(&self.taken.message);
    }

    /// The error of a failed publication, with a note about the message.
    pub(crate) fn failed(&self, py: Python<'_>, error: ClientError) -> PyErr {
        let raised = raised(py, error);
        let note = format!(
            "the message at offset {} of {} cannot be decoded, and could not be published to {}: \
             the next call tries again, seek() skips it",
            self.taken.message.offset(),
            self.taken.message.topic_partition(),
            self.letters.topic
        );
        // Without the note, the error is still raised.
        let _ = raised.value(py).call_method1("add_note", (note,));
        raised
    }

    /// Publishes the letter and waits for its delivery.
    fn publish(&self) -> Result<(), ClientError> {
        let producer = self.letters.producer()?;
        let origin = self.origin();
        let headers = self.headers(&origin);
        producer.send(&self.record(&headers))?.wait(None).map(drop)
    }

    /// [`publish`](Self::publish) as a future. Of several concurrent futures, the first sends the
    /// letter.
    pub(crate) async fn publishing(&self) -> Result<(), ClientError> {
        let ticket = self.ticket.get_or_try_init(|| self.sending()).await?;
        ticket.settling().await;
        ticket.wait(None).map(drop)
    }

    async fn sending(&self) -> Result<Ticket, ClientError> {
        let origin = self.origin();
        let headers = self.headers(&origin);
        self.letters.producer()?.sending(&self.record(&headers)).await
    }

    /// Headers with the reason, and the message's topic, partition and offset.
    fn origin(&self) -> [(&'static str, String); 4] {
        [
            ("streamlog-error", self.reason.clone()),
            ("streamlog-topic", self.taken.message.topic().to_string()),
            ("streamlog-partition", self.taken.message.partition().to_string()),
            ("streamlog-offset", self.taken.message.offset().to_string()),
        ]
    }

    fn headers<'a>(&'a self, origin: &'a [(&'static str, String)]) -> Vec<Header<'a>> {
        let row = |(key, value): &'a (&'static str, String)| Header {
            key: key.as_bytes(),
            value: Some(value.as_bytes()),
        };
        self.taken.message.headers().chain(origin.iter().map(row)).collect()
    }

    fn record<'a>(&'a self, headers: &'a [Header<'a>]) -> ProducerRecord<'a> {
        ProducerRecord {
            topic: &self.letters.topic,
            key: self.taken.message.key(),
            value: self.taken.message.value(),
            headers,
            timestamp: Some(self.taken.message.timestamp()),
            partition: None,
        }
    }
}

impl std::fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadLetters").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Raise => f.write_str("raise"),
            Self::Skip => f.write_str("skip"),
            Self::DeadLetter(letters) => write!(f, "{DEAD_LETTERS}{}", letters.topic),
        }
    }
}

/// Returns true for exceptions such as `KeyboardInterrupt`, which are unrelated to the message.
fn is_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// Decodes bytes; `None` if they are null, or if there is no decoder.
fn decoded(
    py: Python<'_>,
    part: &'static str,
    decoder: Option<&Py<PyAny>>,
    bytes: Option<&[u8]>,
) -> Result<Option<Py<PyAny>>, (&'static str, PyErr)> {
    let (Some(decoder), Some(bytes)) = (decoder, bytes) else { return Ok(None) };
    decoder.call1(py, (PyBytes::new(py, bytes),)).map(Some).map_err(|error| (part, error))
}

fn undecodable(py: Python<'_>, message: client::Message, part: &str, error: PyErr) -> PyErr {
    let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let text = format!(
        "the {part} of the message at offset {} of {} cannot be decoded: {kind}: {}; \
         on_error=\"skip\" skips such messages, on_error=DeadLetters(TOPIC) keeps them",
        message.offset(),
        message.topic_partition(),
        error.value(py)
    );
    let raised = DecodeError::new_err((text, Message::from(message)));
    raised.set_cause(py, Some(error));
    raised
}
