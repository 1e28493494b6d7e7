//! `streamlog log dump FILE`: the batches of a segment, one line each, and their records.
//!
//! With `-o json` a line is one batch, or one stretch of bytes that are none. A key, a value or a
//! header is a string where it is UTF-8, else `{"base64": "…"}`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::output::{Output, Row, Rows};
use crate::cli::payload::Payload;
use crate::cli::{CommandError, CtrlC, Exit};
use crate::storage::{DumpedBatch, DumpedRecord, Finding, SegmentDump};

/// Shows the batches of a segment.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The segment: a file that ends in .log
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the records too
    #[arg(long)]
    records: bool,
    /// Form of the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

impl Options {
    /// Shows the file from beginning to end; `Failed` when something in it cannot be read.
    pub(super) fn answer(&self, out: &mut dyn Write, ctrl_c: &CtrlC) -> Result<Exit, CommandError> {
        let mut dump = SegmentDump::open_system(&self.file)?;
        let mut exit = Exit::Done;
        let mut rows = Rows::new(self.output);
        while let Some(found) = dump.next_batch()? {
            ctrl_c.check()?;
            let row = match &found {
                Ok(batch) => DumpRow::new(batch, self.records),
                Err(finding) => DumpRow::Damage(DamageRow::new(finding)),
            };
            if matches!(row, DumpRow::Damage(_)) {
                exit = Exit::Failed;
            }
            match self.output {
                Output::Text => {
                    let mut lines = Vec::new();
                    row.write_text(&mut lines)?;
                    lines
                        .split_inclusive(|byte| *byte == b'\n')
                        .try_for_each(|l| out.write_all(l))?;
                }
                _ => rows.push(out, &row)?,
            }
        }
        rows.finish(out)?;
        Ok(exit)
    }
}

/// What a stretch of the file holds.
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

/// A stretch of the file that cannot be read.
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
    records: Option<Vec<RecordRow>>,
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
    /// The row of a batch; damage when its records are wanted and cannot be read.
    fn new(batch: &DumpedBatch, with_records: bool) -> Self {
        match BatchRow::new(batch, with_records) {
            Ok(row) => Self::Batch(row),
            Err(row) => Self::Damage(row),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Batch(row) => row.write_text(out),
            Self::Damage(row) => row.write_text(out),
        }
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
    /// The row of a batch; damage when its records are wanted and cannot be read.
    fn new(batch: &DumpedBatch, with_records: bool) -> Result<Self, DamageRow> {
        let records = if with_records {
            let records = batch.records().map_err(|error| {
                let damage = format!("the records from {}: {error}", batch.base_offset);
                DamageRow { position: batch.position, damage }
            })?;
            Some(records.into_iter().map(RecordRow::from).collect())
        } else {
            None
        };
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
        writeln!(out, "crc {crc:08x}")?;
        self.records.iter().flatten().try_for_each(|record| record.write_text(out))
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
