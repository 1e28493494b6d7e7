//! Taking records as they are read, without a message made of each.
//!
//! A message shares its batch's bytes and can be kept, which costs a count for each. Whoever only
//! copies out of records is given them where they lie, as many in one go as have arrived.

use std::time::Duration;

use crate::record::{Headers, TimestampType};
use crate::types::{Offset, Timestamp, TopicPartition};

/// A record where it lies.
#[derive(Clone, Debug)]
pub struct ReadRecord<'a> {
    /// Its place in the partition.
    pub offset: Offset,
    /// Its time.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: Headers<'a>,
}

/// How long a read into a sink waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the first record; `None` is for ever.
    pub first: Option<Duration>,
    /// For more after it.
    pub more: Duration,
}

/// What takes records.
pub trait Sink {
    /// The records that follow are this partition's, with times of this type.
    fn begin(&mut self, partition: &TopicPartition, timestamp_type: TimestampType);

    /// About so many records of so many bytes together follow, unless it is full before: a chance
    /// to make room once for all of them.
    fn expect(&mut self, records: usize, bytes: usize) {
        let _ = (records, bytes);
    }

    /// Takes a record; only called after `begin`, and while it is not full.
    fn take(&mut self, record: &ReadRecord<'_>);

    /// Records it has taken.
    fn count(&self) -> usize;

    /// Whether it takes no more.
    fn is_full(&self) -> bool;
}
