//! Turning bytes into what the program works with, and what becomes of those that cannot be.

use std::sync::OnceLock;

use pyo3::exceptions::PyException;
use pyo3::types::{PyBytes, PyTypeMethods};
use pyo3::{Py, PyAny, PyErr, PyResult, Python};

use super::message::Message;
use crate::client::{self, Client, Header, Producer, ProducerConfig, ProducerRecord};
use crate::config::{ConfigError, Fault};
use crate::python::errors::{DecodeError, raised, refused};

const DEAD_LETTERS: &str = "dead-letter:";

/// How keys and values are decoded.
#[derive(Debug)]
pub(crate) struct Decoding {
    key: Option<Py<PyAny>>,
    value: Option<Py<PyAny>>,
    on_error: OnError,
}

/// What becomes of a message that cannot be decoded.
enum OnError {
    /// The program meets a `DecodeError` in its place.
    Raise,
    /// It is passed over.
    Skip,
    /// It is published to another topic, and passed over once it is there.
    DeadLetter(Box<DeadLetters>),
}

/// Where messages go that cannot be decoded.
struct DeadLetters {
    topic: String,
    client: Client,
    producer: OnceLock<Producer>,
}

impl Decoding {
    /// The options of a consumer; `None` without any decoder.
    pub(crate) fn of(
        key: Option<Py<PyAny>>,
        value: Option<Py<PyAny>>,
        on_error: Option<&str>,
        client: &Client,
    ) -> PyResult<Option<Self>> {
        if key.is_none() && value.is_none() {
            return match on_error {
                None => Ok(None),
                Some(_) => Err(refused(&ConfigError::single(
                    "on_error",
                    "given without value= or key=: there is nothing that could fail",
                ))),
            };
        }
        let on_error = match on_error {
            None | Some("raise") => OnError::Raise,
            Some("skip") => OnError::Skip,
            Some(word) => match word.strip_prefix(DEAD_LETTERS) {
                Some(topic) if !topic.is_empty() => OnError::DeadLetter(Box::new(DeadLetters {
                    topic: topic.to_owned(),
                    client: client.clone(),
                    producer: OnceLock::new(),
                })),
                _ => {
                    let expected = "\"raise\", \"skip\" or \"dead-letter:TOPIC\"";
                    let fault = Fault::invalid("on_error", word, expected);
                    return Err(refused(&ConfigError { faults: vec![fault] }));
                }
            },
        };
        Ok(Some(Self { key, value, on_error }))
    }

    /// The message with its decoded parts; `None` if it was passed over.
    pub(crate) fn decode(
        &self,
        py: Python<'_>,
        message: client::Message,
    ) -> PyResult<Option<Message>> {
        let value = decoded(py, "value", self.value.as_ref(), message.value());
        let parts = value.and_then(|value| {
            decoded(py, "key", self.key.as_ref(), message.key()).map(|key| (key, value))
        });
        let (part, error) = match parts {
            Ok((key, value)) => return Ok(Some(Message::decoded(message, key, value))),
            Err(failed) => failed,
        };
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        match &self.on_error {
            OnError::Raise => Err(undecodable(py, message, part, error)),
            OnError::Skip => Ok(None),
            OnError::DeadLetter(letters) => {
                letters.publish(py, &message, &error.to_string()).map(|()| None)
            }
        }
    }
}

impl DeadLetters {
    /// The producer, made with the first dead letter.
    fn producer(&self, py: Python<'_>) -> PyResult<&Producer> {
        if let Some(producer) = self.producer.get() {
            return Ok(producer);
        }
        let made = self.client.producer(ProducerConfig::default());
        let made = made.map_err(|error| raised(py, error))?;
        Ok(self.producer.get_or_init(|| made))
    }

    /// Publishes the message with the reason and its origin as headers, and waits for that.
    fn publish(&self, py: Python<'_>, message: &client::Message, reason: &str) -> PyResult<()> {
        let producer = self.producer(py)?;
        let (partition, offset) = (message.partition().to_string(), message.offset().to_string());
        let mut headers: Vec<Header<'_>> = message.headers().collect();
        let origin = [
            ("streamlog-error", reason),
            ("streamlog-topic", message.topic().as_str()),
            ("streamlog-partition", &partition),
            ("streamlog-offset", &offset),
        ];
        for (key, value) in origin {
            headers.push(Header { key: key.as_bytes(), value: Some(value.as_bytes()) });
        }
        let record = ProducerRecord {
            topic: &self.topic,
            key: message.key(),
            value: message.value(),
            headers: &headers,
            timestamp: Some(message.timestamp()),
            partition: None,
        };
        let sent = py.detach(|| producer.send(&record).and_then(|ticket| ticket.wait(None)));
        sent.map(drop).map_err(|error| raised(py, error))
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

/// What the decoder makes of the bytes; what is null stays so.
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
         on_error=\"skip\" passes over such messages, on_error=\"dead-letter:TOPIC\" keeps them",
        message.offset(),
        message.topic_partition(),
        error.value(py)
    );
    let raised = DecodeError::new_err((text, Message::from(message)));
    raised.set_cause(py, Some(error));
    raised
}
