//! `streamlog log dump FILE`: the batches of a segment, one per line, and their records.
//!
//! With `-o json`, each line describes a batch, or a range of damaged bytes. Keys, values and
//! headers are strings if they are UTF-8, or else `{"base64": "…"}`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::cli::output::{Output, Row, Rows};
use crate::cli::payload::Payload;
use crate::cli::{CommandError, CtrlC, Exit};
use crate::storage::{DumpedBatch, DumpedRecord, Finding, SegmentDump};

/// Shows the batches of a segment.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The segment: a file with the extension .log
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also show the records
    #[arg(long)]
    records: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

impl Options {
    /// Dumps the whole file; `Failed` if a part of it is unreadable.
    pub(super) fn answer(
        &self,
        out: &mut dyn Write,
        ctrl_c: &'static CtrlC,
    ) -> Result<Exit, CommandError> {
        let mut dump = SegmentDump::open_system(&self.file)?;
        let mut exit = Exit::Done;
        let mut rows = Rows::new(self.output);
        while let Some(found) = dump.next_batch()? {
            ctrl_c.check()?;
            let row = match &found {
                Ok(batch) => DumpRow::new(batch, self.records.then_some(ctrl_c)),
                Err(finding) => DumpRow::Damage(DamageRow::new(finding)),
            };
            if matches!(row, DumpRow::Damage(_)) {
                exit = Exit::Failed;
            }
            // Do not write a row that Ctrl-C cut short.
            ctrl_c.check()?;
            let written = match self.output {
                Output::Text => row.write_text(out),
                _ => rows.push(out, &row),
            };
            ctrl_c.check()?;
            written?;
        }
        rows.finish(out)?;
        Ok(exit)
    }
}

/// A range of the file.
#[derive(Serialize)]
#[serde(untagged)]
enum DumpRow {
    Batch(BatchRow),
    Damage(DamageRow),
}

impl Row for DumpRow {
    const COLUMNS: &'static [&'static str] = &[
        "position",
        "size",
        "base_offset",
        "last_offset",
        "record_count",
        "leader_epoch",
        "compression",
        "timestamp_type",
        "base_timestamp",
        "max_timestamp",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "is_transactional",
        "is_control",
        "crc",
        "records",
        "damage",
    ];
}

/// An unreadable range of the file.
#[derive(Serialize)]
struct DamageRow {
    position: u64,
    damage: String,
}

#[derive(Serialize)]
struct BatchRow {
    position: u64,
    size: usize,
    base_offset: i64,
    last_offset: i64,
    record_count: u32,
    leader_epoch: i32,
    compression: String,
    timestamp_type: String,
    base_timestamp: i64,
    max_timestamp: i64,
    producer_id: Option<i64>,
    producer_epoch: Option<i16>,
    base_sequence: Option<i32>,
    is_transactional: bool,
    is_control: bool,
    crc: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Records>,
}

/// The records of a batch; there may be so many that Ctrl-C must interrupt their output.
struct Records {
    rows: Vec<RecordRow>,
    ctrl_c: &'static CtrlC,
}

#[derive(Serialize)]
struct RecordRow {
    offset: i64,
    timestamp: i64,
    key: Option<Payload>,
    value: Option<Payload>,
    headers: Vec<(Payload, Option<Payload>)>,
}

impl DumpRow {
    /// The row of a batch, or damage if its records are requested and unreadable.
    fn new(batch: &DumpedBatch, records_until: Option<&'static CtrlC>) -> Self {
        match BatchRow::new(batch, records_until) {
            Ok(row) => Self::Batch(row),
            Err(row) => Self::Damage(row),
        }
    }

    /// Writes each line by a single call, so that Ctrl-C does not split it.
    fn write_text(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        let mut line = Vec::new();
        let records = match self {
            Self::Batch(row) => {
                row.write_text(&mut line)?;
                row.records.as_ref()
            }
            Self::Damage(row) => {
                row.write_text(&mut line)?;
                None
            }
        };
        out.write_all(&line)?;
        let Some(Records { rows, ctrl_c }) = records else { return Ok(()) };
        rows.iter().try_for_each(|record| {
            ctrl_c.check()?;
            line.clear();
            record.write_text(&mut line)?;
            Ok(out.write_all(&line)?)
        })
    }
}

impl DamageRow {
    fn new(Finding { position, flaw, .. }: &Finding) -> Self {
        Self { position: *position, damage: flaw.to_string() }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "position {} damaged: {}", self.position, self.damage)
    }
}

impl BatchRow {
    /// The row of a batch, or damage if its records are requested and unreadable.
    fn new(batch: &DumpedBatch, records_until: Option<&'static CtrlC>) -> Result<Self, DamageRow> {
        let records = records_until.map(|ctrl_c| Records::of(batch, ctrl_c)).transpose()?;
        let producer = batch.producer.as_ref();
        Ok(Self {
            position: batch.position,
            size: batch.size,
            base_offset: batch.base_offset.get(),
            last_offset: batch.last_offset.get(),
            record_count: batch.record_count,
            leader_epoch: batch.leader_epoch.0,
            compression: batch.compression.to_string(),
            timestamp_type: format!("{:?}", batch.timestamp_type),
            base_timestamp: batch.base_timestamp.millis(),
            max_timestamp: batch.max_timestamp.millis(),
            producer_id: producer.map(|producer| producer.id.0),
            producer_epoch: producer.map(|producer| producer.epoch.0),
            base_sequence: producer.map(|producer| producer.base_sequence),
            is_transactional: batch.is_transactional,
            is_control: batch.is_control,
            crc: batch.crc,
            records,
        })
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { position, size, base_offset, last_offset, record_count, .. } = self;
        write!(out, "position {position} size {size} base_offset {base_offset} ")?;
        write!(out, "last_offset {last_offset} record_count {record_count} ")?;
        let Self { leader_epoch, compression, timestamp_type, base_timestamp, .. } = self;
        write!(out, "leader_epoch {leader_epoch} compression {compression} {timestamp_type} ")?;
        let Self { max_timestamp, crc, .. } = self;
        write!(out, "base_timestamp {base_timestamp} max_timestamp {max_timestamp} ")?;
        if let (Some(id), Some(epoch), Some(sequence)) =
            (self.producer_id, self.producer_epoch, self.base_sequence)
        {
            write!(out, "producer_id {id} producer_epoch {epoch} base_sequence {sequence} ")?;
        }
        for (is_so, word) in
            [(self.is_transactional, "transactional"), (self.is_control, "control")]
        {
            if is_so {
                write!(out, "{word} ")?;
            }
        }
        writeln!(out, "crc {crc:08x}")
    }
}

impl Records {
    /// Reads the records of a batch, fewer after Ctrl-C; damage if they are unreadable.
    fn of(batch: &DumpedBatch, ctrl_c: &'static CtrlC) -> Result<Self, DamageRow> {
        let mut rows = Vec::new();
        let read = batch.for_each_record(&mut |record| {
            rows.push(RecordRow::from(record));
            if ctrl_c.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match read {
            Ok(()) => Ok(Self { rows, ctrl_c }),
            Err(error) => {
                let damage = format!("the records from {}: {error}", batch.base_offset);
                Err(DamageRow { position: batch.position, damage })
            }
        }
    }
}

impl Serialize for Records {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            if self.ctrl_c.is_pressed() {
                return Err(S::Error::custom("Ctrl-C was pressed"));
            }
            list.serialize_element(row)?;
        }
        list.end()
    }
}

impl From<DumpedRecord> for RecordRow {
    fn from(record: DumpedRecord) -> Self {
        let headers = record.headers.into_iter();
        Self {
            offset: record.offset.get(),
            timestamp: record.timestamp.millis(),
            key: record.key.map(Payload),
            value: record.value.map(Payload),
            headers: headers.map(|(key, value)| (Payload(key), value.map(Payload))).collect(),
        }
    }
}

impl RecordRow {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let shown =
            |bytes: &Option<Payload>| bytes.as_ref().map_or("null".to_owned(), Payload::quoted);
        let Self { offset, timestamp, key, value, headers } = self;
        write!(out, "  offset {offset} timestamp {timestamp} ")?;
        write!(out, "key {} value {}", shown(key), shown(value))?;
        for (key, value) in headers {
            write!(out, " header {}={}", key.quoted(), shown(value))?;
        }
        writeln!(out)
    }
}
