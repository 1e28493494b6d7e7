//! Validation of batches that clients send.
//!
//! The checks cover what the bytes alone show: format, checksum, header fields, and the records
//! themselves, which must be as many as the header says and numbered without gaps. The rules may
//! leave compressed records unchecked; then only a reader finds that they are inconsistent.
//! Sequence numbers and transactions are checked where the producers' state is kept.

use std::borrow::Cow;

use super::batch::{Batch, TimestampType};
use super::codec::{Compression, Packing};
use super::compression::{Decompressor, Limits};
use super::error::{RecordError, RejectedRecord, Rejection};
use super::framing::Framings;
use super::header;
use crate::types::Timestamp;

/// The rules that a topic imposes on stored batches.
#[derive(Clone, Copy, Debug)]
pub struct ProduceRules {
    /// The maximum size of a batch including its header: `max.message.bytes`.
    pub batch_bytes_max: usize,
    /// The required codec; batches with another codec are recompressed. `None` keeps the client's.
    pub packing: Option<Packing>,
    /// True if the records of compressed batches are checked too.
    pub walk_compressed: bool,
    /// True if every record needs a key, as in a compacted topic. The records are then always
    /// checked.
    pub keys_required: bool,
    /// The earliest allowed timestamp.
    pub earliest: Timestamp,
    /// The latest allowed timestamp.
    pub latest: Timestamp,
    /// Limits on decompression and iteration.
    pub limits: Limits,
}

/// A batch that may be stored.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The batch, whose checksum matches.
    pub batch: Batch<'a>,
    /// The largest timestamp of the records, if they were checked. The timestamp in the header may
    /// be wrong.
    pub max_timestamp: Option<Timestamp>,
    /// The codec to store the batch with, and its decompressed records, if the batch must be
    /// recompressed.
    pub repack: Option<(Packing, Cow<'a, [u8]>)>,
}

/// The attributes that a client may set.
const CLIENT_BITS: i16 = header::CODEC_BITS | header::TRANSACTIONAL_BIT;

/// Parses `bytes` as a single batch and checks that `rules` allow it to be stored.
///
/// Allocates only if a compressed batch has to be decompressed.
pub fn validate_produced<'a>(
    bytes: &'a [u8],
    rules: &ProduceRules,
) -> Result<Checked<'a>, RecordError> {
    validate_produced_with(bytes, rules, &mut Decompressor::default())
}

/// Like [`validate_produced`], with a decompressor shared by all batches of a request, so that its
/// limit on the request's total applies.
pub fn validate_produced_with<'a>(
    bytes: &'a [u8],
    rules: &ProduceRules,
    decompressor: &mut Decompressor,
) -> Result<Checked<'a>, RecordError> {
    let size = Batch::peek_len(bytes)?.unwrap_or(bytes.len());
    if size > rules.batch_bytes_max {
        return Err(RecordError::TooLarge { size, max: rules.batch_bytes_max });
    }
    let batch = Batch::parse(bytes)?;
    if batch.base_offset().get() != 0 {
        return Err(forbidden("base offset", batch.base_offset().get()));
    }
    batch.check_checksum()?;
    check_header(&batch)?;
    let packing = rules.packing.filter(|packing| packing.compression != batch.compression());
    if is_walked(&batch, rules) || packing.is_some() {
        decompressor.set_limits(rules.limits);
        // What is compressed anew gets a framing that all clients read.
        let framings = packing.map_or(Framings::Portable, |_| Framings::Any);
        let records = batch.decompressed_framed(decompressor, framings)?;
        let max_timestamp = Some(check_records(&batch, &records, rules)?);
        let repack = packing.map(|packing| (packing, records));
        return Ok(Checked { batch, max_timestamp, repack });
    }
    for timestamp in [batch.base_timestamp(), batch.max_timestamp()] {
        if !rules.allow_time(timestamp) {
            let reason = Rejection::Timestamp(timestamp);
            return Err(RecordError::Rejected(vec![RejectedRecord { index: None, reason }]));
        }
    }
    Ok(Checked { batch, max_timestamp: None, repack: None })
}

fn is_walked(batch: &Batch<'_>, rules: &ProduceRules) -> bool {
    batch.compression() == Compression::None || rules.walk_compressed || rules.keys_required
}

fn check_header(batch: &Batch<'_>) -> Result<(), RecordError> {
    if batch.timestamp_type() == TimestampType::LogAppendTime {
        return Err(forbidden("timestamp type", 1));
    }
    if batch.attributes() & !CLIENT_BITS != 0 {
        return Err(forbidden("attributes", i64::from(batch.attributes())));
    }
    let count = batch.record_count();
    if count == 0 {
        return Err(forbidden("record count", 0));
    }
    let delta = batch.last_offset_delta();
    if delta != count.saturating_sub(1) {
        return Err(forbidden("last offset delta", i64::from(delta)));
    }
    match batch.producer() {
        Some(producer) if producer.epoch.0 < 0 => {
            Err(forbidden("producer epoch", i64::from(producer.epoch.0)))
        }
        Some(producer) if producer.base_sequence < 0 => {
            Err(forbidden("base sequence", i64::from(producer.base_sequence)))
        }
        None if batch.is_transactional() => Err(forbidden("producer id", -1)),
        _ => Ok(()),
    }
}

/// Checks the records and returns their largest timestamp. A malformed record ends the check.
/// Records that the rules reject are collected (KIP-467), since producers fix or drop exactly
/// those.
fn check_records(
    batch: &Batch<'_>,
    records: &[u8],
    rules: &ProduceRules,
) -> Result<Timestamp, RecordError> {
    let mut max_timestamp = Timestamp::from_millis(i64::MIN);
    let mut rejected = Vec::new();
    for (index, record) in (0_u32..).zip(batch.records(records, &rules.limits)) {
        let record = record?;
        let timestamp = batch.timestamp_of(&record);
        if let Some(reason) = rules.rejection(record.key.is_some(), timestamp) {
            rejected.push(RejectedRecord { index: Some(index), reason });
        }
        max_timestamp = max_timestamp.max(timestamp);
    }
    if rejected.is_empty() { Ok(max_timestamp) } else { Err(RecordError::Rejected(rejected)) }
}

impl ProduceRules {
    /// Rules that only limit the size of a batch.
    #[cfg(any(test, feature = "internals"))]
    pub fn for_batches_up_to(batch_bytes_max: usize) -> Self {
        Self {
            batch_bytes_max,
            packing: None,
            walk_compressed: false,
            keys_required: false,
            earliest: Timestamp::from_millis(i64::MIN),
            latest: Timestamp::from_millis(i64::MAX),
            limits: Limits::for_batches_up_to(batch_bytes_max),
        }
    }

    /// The reason to reject a record, or `None`.
    fn rejection(&self, has_key: bool, timestamp: Timestamp) -> Option<Rejection> {
        if self.keys_required && !has_key {
            return Some(Rejection::NoKey);
        }
        (!self.allow_time(timestamp)).then_some(Rejection::Timestamp(timestamp))
    }

    fn allow_time(&self, timestamp: Timestamp) -> bool {
        // A record without a timestamp is allowed whatever the bounds.
        timestamp == Timestamp::NONE || (self.earliest..=self.latest).contains(&timestamp)
    }
}

fn forbidden(field: &'static str, value: i64) -> RecordError {
    RecordError::Header { field, value }
}
