//! Turning bytes into what the program works with, and what becomes of those that cannot be.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyException;
use pyo3::types::{PyBytes, PyTypeMethods};
use pyo3::{Py, PyAny, PyErr, PyResult, Python};

use super::message::Message;
use crate::client::{self, Client, ClientError, Header, Producer, ProducerConfig, ProducerRecord};
use crate::config::{ConfigError, Fault};
use crate::python::errors::{DecodeError, raised, refused};
use crate::types::TopicName;

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
    DeadLetter(Arc<DeadLetters>),
}

/// Where messages go that cannot be decoded.
struct DeadLetters {
    topic: String,
    client: Client,
    producer: OnceLock<Producer>,
}

/// What becomes of a message.
#[derive(Debug)]
pub(crate) enum Offered {
    /// The program gets it.
    Message(Message),
    /// It is passed over.
    Nothing,
    /// It is passed over once it is published.
    Letter(Letter),
}

/// A message that cannot be decoded, and where it goes.
#[derive(Debug)]
pub(crate) struct Letter {
    letters: Arc<DeadLetters>,
    message: client::Message,
    reason: String,
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
                Some(topic) if topic.parse::<TopicName>().is_ok() => {
                    OnError::DeadLetter(Arc::new(DeadLetters {
                        topic: topic.to_owned(),
                        client: client.clone(),
                        producer: OnceLock::new(),
                    }))
                }
                _ => {
                    let expected = "\"raise\", \"skip\" or \"dead-letter:TOPIC\"";
                    let fault = Fault::invalid("on_error", word, expected);
                    return Err(refused(&ConfigError { faults: vec![fault] }));
                }
            },
        };
        Ok(Some(Self { key, value, on_error }))
    }

    /// Fails if dead letters of these topics would be read again.
    pub(crate) fn check(&self, topics: &[String]) -> PyResult<()> {
        match &self.on_error {
            OnError::DeadLetter(letters) if topics.contains(&letters.topic) => {
                let reason = format!(
                    "dead letters of '{0}' cannot go to '{0}': they would be read again, for ever",
                    letters.topic
                );
                Err(refused(&ConfigError::single("on_error", reason)))
            }
            _ => Ok(()),
        }
    }

    /// The message with its decoded parts; `None` if it was passed over.
    pub(crate) fn decode(
        &self,
        py: Python<'_>,
        message: client::Message,
    ) -> PyResult<Option<Message>> {
        match self.offered(py, message)? {
            Offered::Message(message) => Ok(Some(message)),
            Offered::Nothing => Ok(None),
            Offered::Letter(letter) => {
                let published = py.detach(|| letter.publish());
                published.map(|()| None).map_err(|error| raised(py, error))
            }
        }
    }

    /// The message with its decoded parts, or what is to become of it.
    pub(crate) fn offered(&self, py: Python<'_>, message: client::Message) -> PyResult<Offered> {
        let value = decoded(py, "value", self.value.as_ref(), message.value());
        let parts = value.and_then(|value| {
            decoded(py, "key", self.key.as_ref(), message.key()).map(|key| (key, value))
        });
        let (part, error) = match parts {
            Ok((key, value)) => {
                return Ok(Offered::Message(Message::decoded(message, key, value)));
            }
            Err(failed) => failed,
        };
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        match &self.on_error {
            OnError::Raise => Err(undecodable(py, message, part, error)),
            OnError::Skip => Ok(Offered::Nothing),
            OnError::DeadLetter(letters) => {
                let (letters, reason) = (Arc::clone(letters), error.to_string());
                Ok(Offered::Letter(Letter { letters, message, reason }))
            }
        }
    }
}

impl DeadLetters {
    /// The producer, made with the first dead letter.
    fn producer(&self) -> Result<&Producer, ClientError> {
        if let Some(producer) = self.producer.get() {
            return Ok(producer);
        }
        let made = self.client.producer(ProducerConfig::default())?;
        Ok(self.producer.get_or_init(|| made))
    }
}

impl Letter {
    /// Publishes it, and waits for that.
    fn publish(&self) -> Result<(), ClientError> {
        let producer = self.letters.producer()?;
        let origin = self.origin();
        let headers = self.headers(&origin);
        producer.send(&self.record(&headers))?.wait(None).map(drop)
    }

    /// The same as a future.
    pub(crate) async fn publishing(&self) -> Result<(), ClientError> {
        let producer = self.letters.producer()?;
        let origin = self.origin();
        let headers = self.headers(&origin);
        let ticket = producer.sending(&self.record(&headers)).await?;
        ticket.settling().await;
        ticket.wait(None).map(drop)
    }

    /// The reason, and where it was read.
    fn origin(&self) -> [(&'static str, String); 4] {
        [
            ("streamlog-error", self.reason.clone()),
            ("streamlog-topic", self.message.topic().to_string()),
            ("streamlog-partition", self.message.partition().to_string()),
            ("streamlog-offset", self.message.offset().to_string()),
        ]
    }

    fn headers<'a>(&'a self, origin: &'a [(&'static str, String)]) -> Vec<Header<'a>> {
        let row = |(key, value): &'a (&'static str, String)| Header {
            key: key.as_bytes(),
            value: Some(value.as_bytes()),
        };
        self.message.headers().chain(origin.iter().map(row)).collect()
    }

    fn record<'a>(&'a self, headers: &'a [Header<'a>]) -> ProducerRecord<'a> {
        ProducerRecord {
            topic: &self.letters.topic,
            key: self.message.key(),
            value: self.message.value(),
            headers,
            timestamp: Some(self.message.timestamp()),
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
