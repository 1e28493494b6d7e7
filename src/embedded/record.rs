//! A record read from a partition.

use bytes::Bytes;

use crate::record::{Batch, Headers, Record as RecordView};
use crate::types::{Offset, Timestamp};

/// A record of a partition. Its parts share the memory of its batch and keep it alive.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its offset in the partition.
    pub offset: Offset,
    /// Its timestamp, by the topic's `message.timestamp.type`.
    pub timestamp: Timestamp,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value; `None` is a tombstone.
    pub value: Option<Bytes>,
    headers: Bytes,
    header_count: u32,
}

impl Record {
    /// A record of `batch`, borrowed from `payload`.
    pub(super) fn new(batch: &Batch<'_>, record: &RecordView<'_>, payload: &Bytes) -> Self {
        let part = |bytes: &[u8]| payload.slice_ref(bytes);
        Self {
            offset: batch.offset_of(record),
            timestamp: batch.timestamp_of(record),
            key: record.key.map(part),
            value: record.value.map(part),
            headers: part(record.headers.encoded()),
            header_count: u32::try_from(record.headers.len()).unwrap_or(u32::MAX),
        }
    }

    /// Its headers, in order.
    pub fn headers(&self) -> Headers<'_> {
        Headers::of_encoded(&self.headers, self.header_count)
    }
}
