//! A message as a row of an answer, and such a row as a record again.

use std::io::{self, IsTerminal, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::cli::output::{Output, Row, Rows};
use crate::cli::payload::Payload;
use crate::cli::records::format::{Bytes, Format};
use crate::cli::{CommandError, Reach};
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

/// A record to publish. Its partition and offset were its own topic's. No other word may stand in
/// it: a mistyped `value` would make it a tombstone.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RecordRow {
    /// Milliseconds since 1970; now, if there are none.
    pub(super) timestamp: Option<i64>,
    pub(super) key: Option<Payload>,
    pub(super) value: Option<Payload>,
    pub(super) headers: Vec<(Payload, Option<Payload>)>,
    #[serde(rename = "topic")]
    _topic: IgnoredAny,
    #[serde(rename = "partition")]
    _partition: IgnoredAny,
    #[serde(rename = "offset")]
    _offset: IgnoredAny,
}

impl RecordRow {
    /// A record without headers.
    pub(super) fn new(key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        let payload = |bytes: &[u8]| Payload(bytes.to_vec());
        Self { key: key.map(payload), value: value.map(payload), ..Self::default() }
    }
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
    bytes: Bytes,
    /// Of the last message.
    text: Vec<u8>,
}

impl Messages {
    /// With a form other than text, `format` does not matter.
    pub(super) fn new(reach: &Reach, format: Format) -> Self {
        let bytes = if io::stdout().is_terminal() { Bytes::Hex } else { Bytes::Raw };
        Self { rows: reach.rows(), output: reach.output, format, bytes, text: Vec::new() }
    }

    /// Writes one, by one call, so that Ctrl-C does not part it.
    pub(super) fn write(
        &mut self,
        out: &mut dyn Write,
        message: &Message,
    ) -> Result<(), CommandError> {
        match self.output {
            Output::Text => {
                self.text.clear();
                self.format.write(&mut self.text, message, self.bytes)?;
                Ok(out.write_all(&self.text)?)
            }
            _ => self.rows.push(out, &MessageRow::of(message)),
        }
    }

    /// Ends the answer.
    pub(super) fn finish(self, out: &mut dyn Write) -> Result<(), CommandError> {
        self.rows.finish(out)
    }
}
