//! Messages as rows of a result, and rows read as records.

use std::io::{self, IsTerminal, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Number;

use crate::cli::output::{Output, Row, Rows};
use crate::cli::payload::{JsonPayload, Payload};
use crate::cli::records::encoding::{Encoding, Encodings, Misfit};
use crate::cli::records::format::{Format, Look, Shape};
use crate::cli::{ClusterOptions, CommandError};
use crate::client::Message;

/// A message as written by `consume -o json` and read by `produce --json`.
#[derive(Serialize)]
pub(super) struct MessageRow {
    topic: String,
    partition: i32,
    offset: i64,
    timestamp: i64,
    key: Option<Encoded>,
    value: Option<Encoded>,
    headers: Vec<(Payload, Option<Payload>)>,
}

/// A key or a value in its encoding: a number for numeric encodings, or else a string. Bytes that
/// are invalid in the encoding are written as without an encoding.
struct Encoded {
    payload: Payload,
    encoding: Encoding,
}

impl Row for MessageRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "offset", "timestamp", "key", "value", "headers"];
}

/// A record to publish. Topic, partition and offset are accepted and ignored. Unknown fields are
/// refused: a misspelt `value` would otherwise publish a tombstone.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RecordRow {
    /// Milliseconds since 1970; the current time if missing.
    pub(super) timestamp: Option<i64>,
    pub(super) key: Option<JsonPayload>,
    /// The value; a record without one is a tombstone.
    pub(super) value: Option<JsonPayload>,
    pub(super) headers: Vec<(Payload, Option<Payload>)>,
    #[serde(rename = "topic")]
    _topic: IgnoredAny,
    #[serde(rename = "partition")]
    _partition: IgnoredAny,
    #[serde(rename = "offset")]
    _offset: IgnoredAny,
}

/// A record ready to send.
pub(super) struct Record {
    pub(super) timestamp: Option<i64>,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(Payload, Option<Payload>)>,
}

impl RecordRow {
    /// A text record without headers.
    pub(super) fn new(key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        let text = |bytes: &[u8]| JsonPayload::Text(bytes.to_vec());
        Self { key: key.map(text), value: value.map(text), ..Self::default() }
    }

    /// Converts key and value to bytes.
    pub(super) fn encoded(self, encodings: &Encodings) -> Result<Record, Misfit> {
        let encode = |part, encoding: Encoding| match part {
            Some(JsonPayload::Text(text)) => encoding.encode(text).map(Some),
            Some(JsonPayload::Bytes(bytes)) => Ok(Some(bytes)),
            None => Ok(None),
        };
        Ok(Record {
            timestamp: self.timestamp,
            key: encode(self.key, encodings.of_key())?,
            value: encode(self.value, encodings.of_value())?,
            headers: self.headers,
        })
    }
}

impl MessageRow {
    fn of(message: &Message, look: &Look) -> Self {
        let payload = |bytes: &[u8]| Payload(bytes.to_vec());
        let encoded = |bytes, encoding| Encoded { payload: payload(bytes), encoding };
        let headers = message.headers();
        Self {
            topic: message.topic().to_string(),
            partition: message.partition().0,
            offset: message.offset().get(),
            timestamp: message.timestamp().millis(),
            key: message.key().map(|key| encoded(key, look.key)),
            value: message.value().map(|value| encoded(value, look.value)),
            headers: headers.map(|row| (payload(row.key), row.value.map(payload))).collect(),
        }
    }
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.encoding {
            Encoding::Text => None,
            encoding => encoding.decode(&self.payload.0),
        };
        let Some(text) = text else { return self.payload.serialize(serializer) };
        // JSON has no numbers for NaN and infinity.
        let number = text.parse().ok().filter(|_: &Number| self.encoding.is_numeric());
        match number {
            Some(number) => number.serialize(serializer),
            None => serializer.serialize_str(&text),
        }
    }
}

/// A writer of messages in the selected format.
pub(super) struct Messages {
    rows: Rows<MessageRow>,
    output: Output,
    format: Format,
    look: Look,
    /// Buffer for the text of a message.
    text: Vec<u8>,
}

impl Messages {
    /// Creates a writer; `format` applies to text only.
    pub(super) fn new(cluster: &ClusterOptions, format: Option<&Format>, shape: &Shape) -> Self {
        let format = format.cloned().unwrap_or_else(|| shape.format());
        let look = shape.look(io::stdout().is_terminal());
        Self { rows: cluster.rows(), output: cluster.output, format, look, text: Vec::new() }
    }

    /// Writes a message by a single call, so that Ctrl-C does not split it.
    pub(super) fn write(
        &mut self,
        out: &mut dyn Write,
        message: &Message,
    ) -> Result<(), CommandError> {
        match self.output {
            Output::Text => {
                self.text.clear();
                self.format.write(&mut self.text, message, &self.look)?;
                Ok(out.write_all(&self.text)?)
            }
            _ => self.rows.push(out, &MessageRow::of(message, &self.look)),
        }
    }

    /// Ends the result.
    pub(super) fn finish(self, out: &mut dyn Write) -> Result<(), CommandError> {
        self.rows.finish(out)
    }
}
