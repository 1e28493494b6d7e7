//! `streamlog produce`: lines of standard input, or files, become records.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::cli::completion::Names;
use crate::cli::output::{Output, Row, Rows};
use crate::cli::progress::{Progress, Unit};
use crate::cli::records::lines::Lines;
use crate::cli::records::row::RecordRow;
use crate::cli::{CommandError, CtrlC, Exit, Reach, answer, complain};
use crate::client::{
    Client, ClientError, Header, Producer, ProducerRecord, RecordMetadata, Ticket,
};
use crate::types::{Offset, PartitionIndex, Timestamp, WithCauses};

/// Records whose places are not yet known and still to be told.
const UNTOLD_MAX: usize = 10_000;

/// JSON takes so many bytes for one at most: `\u0000`.
const JSON_BYTES_MAX: u64 = 6;

/// Bytes of the names and numbers around a record in JSON, with room to spare.
const JSON_FRAME_MAX: u64 = 4096;

/// Publishes records: each line of standard input is one, or each file.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Files, each of which is one record
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Key of all records
    #[arg(short, long)]
    key: Option<String>,
    /// Text between key and value in a line
    #[arg(short = 'K', long, value_name = "TEXT", conflicts_with = "key")]
    key_delimiter: Option<String>,
    /// A header of all records; may be repeated
    #[arg(short = 'H', long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Partition of all records [default: by key, else by turns]
    #[arg(short, long, value_name = "N")]
    partition: Option<i32>,
    /// none, gzip, snappy, lz4 or zstd
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    /// When a record counts as delivered: all, 1 or 0
    #[arg(long, value_name = "ACKS")]
    acks: Option<String>,
    /// An empty value is a tombstone
    #[arg(short = 'Z', long)]
    tombstones: bool,
    /// Lines are JSON as `consume -o json` writes it
    #[arg(long, conflicts_with_all = ["key", "key_delimiter", "files"])]
    json: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Where a record went.
#[derive(Serialize)]
struct PlaceRow {
    topic: String,
    partition: i32,
    offset: Option<i64>,
    timestamp: i64,
}

impl Row for PlaceRow {
    const COLUMNS: &'static [&'static str] = &["topic", "partition", "offset", "timestamp"];
}

/// What is under way, in the order in which it was sent.
struct Sending<'a> {
    options: &'a Options,
    producer: &'a Producer,
    rows: Rows<PlaceRow>,
    tickets: VecDeque<Ticket>,
    count: u64,
}

impl Options {
    /// With a form other than text, the place of every record is answered; else their number is
    /// told on standard error.
    pub(crate) fn run(self) -> Exit {
        answer(|out| {
            let mut settings = self.reach.settings()?;
            let own = [("compression.type", &self.compression), ("acks", &self.acks)];
            let own = own.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
            settings.set_all(own)?;
            let ctrl_c = CtrlC::watched()?;
            settings.client.signals = Some(ctrl_c);
            let client = Client::connect(settings.client)?;
            let line_max = self.line_max(settings.producer.request_max.0);
            let producer = client.producer(settings.producer)?;
            producer.on_refusal(tell_refusal);
            let mut sending = Sending {
                options: &self,
                producer: &producer,
                rows: Rows::new(self.reach.output),
                tickets: VecDeque::new(),
                count: 0,
            };
            let sent = if self.files.is_empty() {
                sending.send_lines(Lines::of_stdin(ctrl_c, line_max), out)
            } else {
                sending.send_files(out)
            };
            // What came before something that cannot be sent is delivered all the same.
            let flushed = producer.flush(None).map_err(CommandError::from);
            let told = flushed.and_then(|()| sending.tell(0, out));
            let exit = match (sent, told) {
                (Err(error), Err(undelivered)) => {
                    // Whoever mends it has to know what else is to be sent again.
                    if !undelivered.is_closed_pipe() {
                        complain(&undelivered);
                    }
                    return Err(error);
                }
                (sent, told) => told.and(sent)?,
            };
            let Sending { rows, count, .. } = sending;
            rows.finish(out)?;
            producer.close(None)?;
            if self.reach.output == Output::Text && io::stderr().is_terminal() {
                let _ = writeln!(io::stderr(), "{count} records to {}", self.topic);
            }
            Ok(exit)
        })
    }

    /// Bytes of the longest line that may be a record of at most `record_max` bytes.
    fn line_max(&self, record_max: u64) -> u64 {
        if self.json {
            record_max.saturating_mul(JSON_BYTES_MAX).saturating_add(JSON_FRAME_MAX)
        } else if let Some(delimiter) = &self.key_delimiter {
            record_max.saturating_add(delimiter.len() as u64)
        } else {
            record_max
        }
    }

    /// The record that the line of this number is.
    fn record(&self, line: &[u8], number: u64) -> Result<RecordRow, CommandError> {
        if self.json {
            return serde_json::from_slice(line).map_err(|error| no_record(&error, number));
        }
        let (key, value) = match &self.key_delimiter {
            Some(delimiter) => match find(line, delimiter.as_bytes()) {
                Some(at) => (Some(&line[..at]), &line[at + delimiter.len()..]),
                None => (None, line),
            },
            None => (self.key.as_deref().map(str::as_bytes), line),
        };
        let value = if self.tombstones && value.is_empty() { None } else { Some(value) };
        Ok(RecordRow::new(key, value))
    }
}

impl Sending<'_> {
    /// Sends lines until there are no more, or Ctrl-C.
    fn send_lines(
        &mut self,
        mut lines: Lines<'_>,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        while let Some(line) = lines.next()? {
            let record = self.options.record(line, self.count + 1)?;
            self.send(&record, out)?;
        }
        Ok(if lines.is_cut_off() { Exit::Interrupted } else { Exit::Done })
    }

    fn send_files(&mut self, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let progress = Progress::of(self.options.files.len() as u64, Unit::Files);
        for path in &self.options.files {
            let fault = |source| CommandError::Input { name: path.display().to_string(), source };
            let key = self.options.key.as_deref().map(str::as_bytes);
            let value = read_file(path).map_err(fault)?;
            self.send(&RecordRow::new(key, Some(&value)), out)?;
            progress.add(1);
        }
        Ok(Exit::Done)
    }

    fn send(&mut self, record: &RecordRow, out: &mut dyn Write) -> Result<(), CommandError> {
        let mut headers = Vec::with_capacity(record.headers.len() + self.options.header.len());
        for text in &self.options.header {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            headers.push(Header { key: name.as_bytes(), value: Some(value.as_bytes()) });
        }
        for (name, value) in &record.headers {
            let value = value.as_ref().map(|value| value.0.as_slice());
            headers.push(Header { key: &name.0, value });
        }
        let ticket = self.producer.send(&ProducerRecord {
            topic: &self.options.topic,
            partition: self.options.partition.map(PartitionIndex),
            key: record.key.as_ref().map(|key| key.0.as_slice()),
            value: record.value.as_ref().map(|value| value.0.as_slice()),
            headers: &headers,
            timestamp: record.timestamp.map(Timestamp::from_millis),
        })?;
        self.count += 1;
        if self.options.reach.output != Output::Text {
            self.tickets.push_back(ticket);
            self.tell(UNTOLD_MAX, out)?;
        }
        Ok(())
    }

    /// Tells the places of records until at most `left` are untold.
    fn tell(&mut self, left: usize, out: &mut dyn Write) -> Result<(), CommandError> {
        while self.tickets.len() > left {
            let Some(ticket) = self.tickets.pop_front() else { break };
            let row = PlaceRow::of(&ticket.wait(None)?);
            self.rows.push(out, &row)?;
        }
        Ok(())
    }
}

impl PlaceRow {
    fn of(place: &RecordMetadata) -> Self {
        Self {
            topic: place.topic.to_string(),
            partition: place.partition.0,
            offset: place.offset.map(Offset::get),
            timestamp: place.timestamp.millis(),
        }
    }
}

/// Says why records wait. Whether they are delivered in time is told at the end.
fn tell_refusal(error: &ClientError) {
    let words = WithCauses(error);
    let _ = writeln!(io::stderr().lock(), "streamlog: trying again: {words}");
}

/// Why a line of JSON is no record, and where in it.
fn no_record(error: &serde_json::Error, line: u64) -> CommandError {
    let words = error.to_string();
    let reason = words.split(" at line 1 column").next().unwrap_or(&words);
    let name = format!("line {line}, column {} of standard input", error.column());
    CommandError::Input { name, source: io::Error::other(reason) }
}

#[expect(clippy::disallowed_methods, reason = "a person's file, not one of a log")]
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// Where `part` first is in `whole`.
fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    whole.windows(part.len()).position(|window| window == part)
}
