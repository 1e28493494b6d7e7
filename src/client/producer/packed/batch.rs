//! An encoded batch, and its place among the records of its partition.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::numbers::Numbers;
use crate::client::producer::audit::Windows;
use crate::client::producer::buffer_pool::Reservation;
use crate::client::producer::delivery::Delivery;
use crate::record::{BatchBuilder, BatchSettings, Compressor, ProducerStamp};
use crate::types::{ProducerEpoch, ProducerId};

/// An encoded batch, or a part of one, as sent once or several times.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The encoded batch.
    pub(crate) bytes: Bytes,
    /// Its size before compression.
    pub(crate) size: usize,
    /// Its records, by their numbers in the original batch.
    pub(crate) numbers: Numbers,
    /// The outcome of the original batch.
    pub(crate) delivery: Arc<Delivery>,
    /// Its records by audit window, if they are counted.
    pub(crate) windows: Windows,
    /// The time at which the original batch was opened.
    pub(crate) opened_at: Duration,
    /// True if the broker may have stored it.
    pub(crate) may_be_stored: bool,
    /// The buffer space it occupies.
    pub(crate) reserved: Reservation,
}

/// The producer id and epoch of an idempotent producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
}

/// A position among the records of the partition: the number of the original batch, and the first
/// record in it.
pub(crate) type Place = (u64, u32);

impl Packed {
    /// Its position among the records of the partition.
    pub(crate) fn place(&self) -> Place {
        (self.delivery.ordinal(), self.numbers.first())
    }
}

/// The sequence number that follows `records` records starting at `base`; 0 follows 2³¹−1.
pub(crate) fn sequence_after(base: i32, records: u32) -> i32 {
    let next = base.cast_unsigned().wrapping_add(records);
    (next & i32::MAX.cast_unsigned()).cast_signed()
}

/// Encodes a builder's records as a batch.
pub(crate) fn finished(
    builder: &mut BatchBuilder,
    producer: Option<ProducerStamp>,
    compressor: &mut Compressor,
) -> Bytes {
    let settings = BatchSettings { producer, ..BatchSettings::default() };
    let records = builder.record_count();
    // If compression fails, the batch is sent uncompressed, which cannot fail.
    let built = builder.build(&settings, compressor);
    let built = built.or_else(|_| builder.build(&settings, &mut Compressor::none()));
    built.unwrap_or_else(|error| unreachable!("{records} records: {error}")).into()
}
