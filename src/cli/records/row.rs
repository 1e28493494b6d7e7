//! A message as a row of an answer, and such a row as a record again.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::cli::CommandError;
use crate::cli::output::{Output, Row, Rows};
use crate::cli::payload::Payload;
use crate::cli::records::format::Format;
use crate::client::Message;

/// A message. What `consume -o json` writes, `produce --json` reads.
#[derive(Serialize)]
pub(super) struct MessageRow {
    topic: String,
    partition: i32,
    offset: i64,
    timestamp: i64,
    key: Option<Payload>,
    value: Option<Payload>,
    headers: Vec<(Payload, Option<Payload>)>,
}

impl Row for MessageRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "offset", "timestamp", "key", "value", "headers"];
}

/// A record to publish. Its partition and offset were its own topic's.
#[derive(Default, Deserialize)]
pub(super) struct RecordRow {
    /// Milliseconds since 1970; now, if there are none.
    #[serde(default)]
    pub(super) timestamp: Option<i64>,
    #[serde(default)]
    pub(super) key: Option<Payload>,
    #[serde(default)]
    pub(super) value: Option<Payload>,
    #[serde(default)]
    pub(super) headers: Vec<(Payload, Option<Payload>)>,
}

impl MessageRow {
    fn of(message: &Message) -> Self {
        let payload = |bytes: &[u8]| Payload(bytes.to_vec());
        let headers = message.headers();
        Self {
            topic: message.topic().to_string(),
            partition: message.partition().0,
            offset: message.offset().get(),
            timestamp: message.timestamp().millis(),
            key: message.key().map(payload),
            value: message.value().map(payload),
            headers: headers.map(|row| (payload(row.key), row.value.map(payload))).collect(),
        }
    }
}

/// Writes messages in the form that was asked for.
pub(super) struct Messages {
    rows: Rows<MessageRow>,
    output: Output,
    format: Format,
}

impl Messages {
    /// With a form other than text, `format` does not matter.
    pub(super) fn new(output: Output, format: Format) -> Self {
        Self { rows: Rows::new(output), output, format }
    }

    /// Writes one.
    pub(super) fn write(
        &mut self,
        out: &mut dyn Write,
        message: &Message,
    ) -> Result<(), CommandError> {
        match self.output {
            Output::Text => Ok(self.format.write(out, message)?),
            _ => self.rows.push(out, &MessageRow::of(message)),
        }
    }

    /// Ends the answer.
    pub(super) fn finish(self, out: &mut dyn Write) -> Result<(), CommandError> {
        self.rows.finish(out)
    }
}
