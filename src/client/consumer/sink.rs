//! Reading records without creating a message for each.
//!
//! A message shares its batch's bytes and can be kept, which costs a reference count per message. A
//! caller that only copies data out of records can use a sink instead, which borrows each record in
//! place.

use std::time::Duration;

use crate::record::{Headers, TimestampType};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A borrowed record.
#[derive(Clone, Debug)]
pub struct ReadRecord<'a> {
    /// Its offset in the partition.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: Headers<'a>,
}

/// The waiting times of a read into a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The wait for the first record; `None` is without limit.
    pub first: Option<Duration>,
    /// The wait for more records after the first.
    pub more: Duration,
}

/// A receiver of records.
pub trait Sink {
    /// Announces records of this partition with this timestamp type.
    fn begin(&mut self, partition: &TopicPartition, timestamp_type: TimestampType);

    /// Announces about this many records and bytes, unless the sink fills up first: an opportunity
    /// to reserve memory for all of them.
    fn expect(&mut self, records: usize, bytes: usize) {
        let _ = (records, bytes);
    }

    /// Takes a record; called only after `begin`, and while the sink is not full.
    fn take(&mut self, record: &ReadRecord<'_>);

    /// The number of records taken.
    fn count(&self) -> usize;

    /// Returns true if it takes no more records.
    fn is_full(&self) -> bool;
}
