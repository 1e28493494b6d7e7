//! `streamlog produce`: publishes lines of standard input or of a file, or whole files.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::{Output, Row, Rows};
use crate::cli::progress::{Progress, Unit};
use crate::cli::records::encoding::{Encodings, Misfit};
use crate::cli::records::format::Escaped;
use crate::cli::records::input::Input;
use crate::cli::records::lines::{Limits, Line, Lines};
use crate::cli::records::row::{Record, RecordRow};
use crate::cli::{ClusterOptions, CommandError, CtrlC, Exit, notify, report};
use crate::client::{
    Client, ClientError, Header, Producer, ProducerRecord, RecordMetadata, Ticket,
};
use crate::config::ConfigError;
use crate::types::{Offset, PartitionIndex, Timestamp, WithCauses};

/// The maximum number of records whose positions are pending.
const PENDING_MAX: usize = 10_000;

/// The maximum size of a byte in JSON: `\u0000`.
const JSON_BYTES_MAX: u64 = 6;

/// The maximum size of the names and numbers around a record in JSON.
const JSON_FRAME_MAX: u64 = 4096;

/// The wait for brokers' responses after Ctrl-C.
const LAST_ANSWERS: Duration = Duration::from_millis(30);

/// The error of records that were not delivered when Ctrl-C was pressed.
#[derive(Debug, thiserror::Error)]
#[error(
    "Ctrl-C: {delivered} of {taken} records were delivered; the other {} may not be stored",
    taken - delivered
)]
struct Undelivered {
    taken: u64,
    delivered: u64,
}

/// The maximum number of complaints about lines that are too long.
const REPORTS_MAX: u64 = 10;

/// The complaint about a line that is too long.
#[derive(Debug, thiserror::Error)]
#[error("{place} is not sent: {}; a larger max.request.size allows it", self.excess())]
struct TooLong {
    place: String,
    /// The size of the record in a batch; `None` for a line that was not read as a whole.
    size: Option<usize>,
    record_max: u64,
}

impl TooLong {
    fn excess(&self) -> String {
        let Self { size, record_max, .. } = self;
        match size {
            Some(size) => format!("its record takes {size} bytes, more than {record_max}"),
            None => format!("it is longer than {record_max} bytes"),
        }
    }
}

/// The reason why a line is not a valid record.
#[derive(Debug, thiserror::Error)]
enum NoRecord {
    /// The line is not the JSON form of a record.
    #[error("{reason}")]
    Json {
        /// The error without its position.
        reason: String,
        /// The column in the line.
        column: usize,
    },
    /// The key or value is invalid in its encoding.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// The complaint about the number of all lines that are too long, if not each has its own.
#[derive(Debug, thiserror::Error)]
#[error("{lines} lines were not sent, because they are too long")]
struct PassedOver {
    lines: u64,
}

/// Publishes records: each line of standard input, or of a file with -l.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// Accepted only for a helpful error: a file here might be meant as lines or as one record.
    #[arg(hide = true)]
    beyond: Vec<PathBuf>,
    /// Publish the lines of a file instead of standard input
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    lines: Option<PathBuf>,
    /// Publish a whole file as one record; may be repeated
    #[arg(long = "file", value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with = "lines")]
    files: Vec<PathBuf>,
    /// Text after each record instead of a newline; supports the escapes \n, \t, \0 and \x1f
    #[arg(short = 'D', long, value_name = "TEXT", conflicts_with = "files")]
    delimiter: Option<Escaped>,
    /// Key of every record
    #[arg(short, long)]
    key: Option<String>,
    /// Text between key and value in a line
    #[arg(short = 'K', long, value_name = "TEXT", conflicts_with = "key")]
    key_delimiter: Option<String>,
    /// Header of every record; may be repeated
    #[arg(short = 'H', long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Partition of every record [default: by key, or in turn without keys]
    #[arg(short, long, value_name = "N")]
    partition: Option<i32>,
    /// Compression: none, gzip, snappy, lz4 or zstd
    #[arg(short = 'z', long, value_name = "CODEC")]
    compression: Option<String>,
    /// Acknowledgement for a delivered record: all, 1 or 0
    #[arg(long, value_name = "ACKS")]
    acks: Option<String>,
    /// Publish an empty value as a tombstone
    #[arg(short = 'Z', long)]
    tombstones: bool,
    /// Read lines of JSON as written by `consume -o json`
    #[arg(long, conflicts_with_all = ["key", "key_delimiter", "files"])]
    json: bool,
    #[command(flatten)]
    encodings: Encodings,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// The position of a published record.
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

/// Records being sent, in order.
struct Sending<'a> {
    options: &'a Options,
    producer: &'a Producer,
    ctrl_c: &'static CtrlC,
    rows: Rows<PlaceRow>,
    tickets: VecDeque<Ticket>,
    /// The number of records that are to be delivered, whether they were sent yet or not.
    taken: u64,
    /// True once a record was not sent because of Ctrl-C: no later record is sent before it.
    is_over: bool,
    /// The maximum size of a record.
    record_max: u64,
}

impl Options {
    /// Runs the command. With an output format other than text, prints the position of every
    /// record; otherwise prints their number on standard error, if that is a terminal.
    pub(crate) fn run(self) -> Exit {
        self.cluster.answer(|out| {
            self.check()?;
            let mut settings = self.cluster.settings()?;
            let own = [("compression.type", &self.compression), ("acks", &self.acks)];
            let own = own.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
            settings.set_all(own)?;
            let ctrl_c = self.cluster.ctrl_c()?;
            settings.client.signals = Some(ctrl_c);
            let client = Client::connect(settings.client)?;
            let record_max = settings.producer.request_max.0;
            let line_max = self.line_max(record_max);
            let producer = client.producer(settings.producer)?;
            producer.on_delay(tell_delay);
            let mut sending = Sending {
                options: &self,
                producer: &producer,
                ctrl_c,
                rows: self.cluster.rows(),
                tickets: VecDeque::new(),
                taken: 0,
                is_over: false,
                record_max,
            };
            let sent = if self.files.is_empty() {
                self.open_lines(ctrl_c, line_max).and_then(|lines| sending.send_lines(lines, out))
            } else {
                sending.send_files(out)
            };
            // Deliver the records that precede an invalid one.
            let told = sending.flush().and_then(|()| sending.tell(0, out));
            let undelivered = sending.undelivered();
            if let Some(undelivered) = &undelivered {
                report(undelivered);
            }
            let exit = match (sent, told) {
                (Err(error), Err(undelivered)) => {
                    // Report this failure too, so that the user knows everything that must be sent
                    // again.
                    if !undelivered.was_ended_by_person() {
                        report(&undelivered);
                    }
                    return Err(error);
                }
                (sent, told) => told.and(sent)?,
            };
            let Sending { rows, taken, .. } = sending;
            rows.finish(out)?;
            if undelivered.is_some() {
                return Ok(Exit::Interrupted);
            }
            if !ctrl_c.is_pressed() {
                producer.close(None)?;
            }
            if self.cluster.output == Output::Text && io::stderr().is_terminal() {
                let _ = writeln!(io::stderr(), "{taken} records to {}", self.topic);
            }
            Ok(exit)
        })
    }

    /// Refuses a key that is invalid in its encoding, an empty delimiter of keys, and a file
    /// without an option that says how to read it.
    fn check(&self) -> Result<(), ConfigError> {
        if let Some(key) = &self.key {
            let encoded = self.encodings.of_key().encode(key.clone().into_bytes());
            encoded.map_err(|misfit| ConfigError::single("--key", misfit.to_string()))?;
        }
        if self.key_delimiter.as_deref() == Some("") {
            let reason =
                "it is empty, so it divides no line: leave it out, or name a text as in -K :";
            return Err(ConfigError::single("--key-delimiter", reason));
        }
        let Some(path) = self.beyond.first() else { return Ok(()) };
        let path = path.display();
        let reason = format!(
            "its lines are sent by `-l {path}` or `< {path}`, the whole of it as \
                              one record by `--file {path}`"
        );
        Err(ConfigError::single(&path.to_string(), reason))
    }

    fn open_lines(&self, ctrl_c: &'static CtrlC, line_max: u64) -> Result<Lines, CommandError> {
        let delimiter = self.delimiter.as_ref().map_or(b"\n".to_vec(), |text| text.0.clone());
        let limits = Limits { delimiter, line_max };
        match &self.lines {
            Some(path) => Lines::of_file(path, ctrl_c, limits),
            None => Ok(Lines::of_stdin(ctrl_c, limits)),
        }
    }

    /// The maximum length of a line whose record has at most `record_max` bytes.
    fn line_max(&self, record_max: u64) -> u64 {
        if self.json {
            record_max.saturating_mul(JSON_BYTES_MAX).saturating_add(JSON_FRAME_MAX)
        } else if let Some(delimiter) = &self.key_delimiter {
            record_max.saturating_add(delimiter.len() as u64)
        } else {
            record_max
        }
    }

    /// Parses a line into a record.
    fn record(&self, line: &[u8]) -> Result<Record, NoRecord> {
        if self.json {
            let row: RecordRow = serde_json::from_slice(line)?;
            return Ok(row.encoded(&self.encodings)?);
        }
        let (key, value) = match &self.key_delimiter {
            Some(delimiter) => match find(line, delimiter.as_bytes()) {
                Some(at) => (Some(&line[..at]), &line[at + delimiter.len()..]),
                None => (None, line),
            },
            None => (self.key.as_deref().map(str::as_bytes), line),
        };
        let value = if self.tombstones && value.is_empty() { None } else { Some(value) };
        Ok(RecordRow::new(key, value).encoded(&self.encodings)?)
    }
}

impl Sending<'_> {
    /// Sends lines until the end or Ctrl-C. Lines that are too long are reported and skipped.
    fn send_lines(&mut self, mut lines: Lines, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let mut passed_over = 0_u64;
        while let Some(line) = lines.next()? {
            let sent = match line {
                Line::TooLong => Err(ClientError::MessageTooLarge { size: 0, limit: None }.into()),
                Line::Whole(line) => match self.options.record(line) {
                    Ok(record) => self.send(&record, out),
                    Err(error) => return Err(error.at(&lines)),
                },
            };
            match sent {
                Err(CommandError::Client(ClientError::MessageTooLarge { size, limit })) => {
                    passed_over += 1;
                    if passed_over <= REPORTS_MAX {
                        let (place, size) = (lines.place(), limit.map(|_| size));
                        report(&TooLong { place, size, record_max: self.record_max });
                    }
                }
                sent => sent?,
            }
        }
        if passed_over > REPORTS_MAX {
            report(&PassedOver { lines: passed_over });
        }
        Ok(match (lines.is_cut_off(), passed_over) {
            (true, _) => Exit::Interrupted,
            (false, 0) => Exit::Done,
            (false, _) => Exit::Failed,
        })
    }

    /// Sends files until Ctrl-C.
    fn send_files(&mut self, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let files = &self.options.files;
        let progress = Progress::of(files.len() as u64, Unit::Files);
        for path in files {
            let fault = |source| CommandError::Input { name: path.display().to_string(), source };
            let key = self.options.key.as_deref().map(str::as_bytes);
            let Some(value) = read_file(path, self.ctrl_c).map_err(fault)? else {
                self.taken = files.len() as u64;
                return Ok(Exit::Interrupted);
            };
            let record = RecordRow::new(key, Some(&value)).encoded(&self.options.encodings);
            self.send(&record.map_err(|misfit| fault(io::Error::other(misfit)))?, out)?;
            progress.add(1);
        }
        Ok(Exit::Done)
    }

    /// Sends a record, if there is room for it in spite of Ctrl-C.
    fn send(&mut self, record: &Record, out: &mut dyn Write) -> Result<(), CommandError> {
        let mut headers = Vec::with_capacity(record.headers.len() + self.options.header.len());
        for text in &self.options.header {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            headers.push(Header { key: name.as_bytes(), value: Some(value.as_bytes()) });
        }
        for (name, value) in &record.headers {
            let value = value.as_ref().map(|value| value.0.as_slice());
            headers.push(Header { key: &name.0, value });
        }
        let ticket = self.ticket(&ProducerRecord {
            topic: &self.options.topic,
            partition: self.options.partition.map(PartitionIndex),
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &headers,
            timestamp: record.timestamp.map(Timestamp::from_millis),
        })?;
        self.taken += 1;
        match ticket {
            Some(ticket) if self.options.cluster.output != Output::Text => {
                self.tickets.push_back(ticket);
                match self.tell(PENDING_MAX, out) {
                    // Ctrl-C ends the output, but lines that were read are still sent.
                    Err(error) if error.exit() == Exit::Interrupted => Ok(()),
                    told => told,
                }
            }
            _ => Ok(()),
        }
    }

    /// Hands a record over to the producer. After Ctrl-C this waits for nothing.
    fn ticket(&mut self, record: &ProducerRecord<'_>) -> Result<Option<Ticket>, ClientError> {
        let sent = if self.is_over {
            Ok(None)
        } else if self.ctrl_c.is_pressed() {
            self.producer.try_send(record)
        } else {
            self.producer.send(record).map(Some)
        };
        let ticket = match sent {
            Err(ClientError::Interrupted) => None,
            sent => sent?,
        };
        self.is_over |= ticket.is_none();
        Ok(ticket)
    }

    /// Waits until everything is delivered. After Ctrl-C the wait is short.
    fn flush(&self) -> Result<(), CommandError> {
        loop {
            let limit = self.ctrl_c.is_pressed().then_some(LAST_ANSWERS);
            match self.producer.flush(limit) {
                // The first wait after a press reports it and ends.
                Err(ClientError::Interrupted) => {}
                Err(ClientError::Timeout { .. }) if limit.is_some() => return Ok(()),
                flushed => return Ok(flushed?),
            }
        }
    }

    /// The complaint about records that Ctrl-C left undelivered.
    fn undelivered(&self) -> Option<Undelivered> {
        let taken = self.taken;
        let delivered = self.producer.delivered_records(&self.options.topic);
        let is_incomplete = self.ctrl_c.is_pressed() && delivered < taken;
        is_incomplete.then_some(Undelivered { taken, delivered })
    }

    /// Prints the positions of records until at most `left` are pending. After Ctrl-C it does not
    /// wait for positions.
    fn tell(&mut self, left: usize, out: &mut dyn Write) -> Result<(), CommandError> {
        while self.tickets.len() > left {
            let Some(ticket) = self.tickets.front() else { break };
            let place = match ticket.outcome() {
                Some(place) => place?,
                None if self.ctrl_c.is_pressed() => break,
                None => match ticket.wait(None) {
                    Err(ClientError::Interrupted) => continue,
                    place => place?,
                },
            };
            self.tickets.pop_front();
            self.rows.push(out, &PlaceRow::of(&place))?;
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

/// Reports why records are delayed. A failed delivery is reported at the end.
fn tell_delay(error: &ClientError) {
    notify(&format!("retrying: {}", WithCauses(error)));
}

impl NoRecord {
    /// The command's error for the last line read.
    fn at(self, lines: &Lines) -> CommandError {
        let name = match &self {
            Self::Json { column, .. } => lines.place_of(*column),
            Self::Misfit(_) => lines.place(),
        };
        CommandError::Input { name, source: io::Error::other(self) }
    }
}

impl From<serde_json::Error> for NoRecord {
    fn from(error: serde_json::Error) -> Self {
        let words = error.to_string();
        // serde_json sees each line as a document of its own, so its line number is not that of the
        // input.
        let reason = words.split(" at line ").next().unwrap_or(&words).to_owned();
        Self::Json { reason, column: error.column() }
    }
}

/// Reads a whole file; `None` if Ctrl-C is pressed first.
fn read_file(path: &Path, ctrl_c: &'static CtrlC) -> io::Result<Option<Vec<u8>>> {
    let mut input = Input::open(path, ctrl_c)?;
    let mut value = Vec::new();
    input.read_to_end(&mut value)?;
    Ok((!input.is_cut_off()).then_some(value))
}

/// Finds the first occurrence of `part` in `whole`.
fn find(whole: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    whole.windows(part.len()).position(|window| window == part)
}
