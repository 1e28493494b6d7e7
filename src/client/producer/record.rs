//! A record to send.

use crate::record::Header;
use crate::types::{PartitionIndex, Timestamp};

/// A record to send. The default has no topic and no data.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProducerRecord<'a> {
    /// Its topic.
    pub topic: &'a str,
    /// Its partition; `None` leaves it to the partitioner.
    pub partition: Option<PartitionIndex>,
    /// Its key.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: &'a [Header<'a>],
    /// Its timestamp; `None` is now.
    pub timestamp: Option<Timestamp>,
}
