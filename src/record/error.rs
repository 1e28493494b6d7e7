//! The faults of a record batch.

use std::{fmt, io};

use super::codec::Compression;
use super::framing::FramingFault;
use crate::types::Timestamp;

/// The reason why bytes are not a record batch, or not one that may be stored.
///
/// A retry with the same bytes fails again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The batch is of a format other than 2.
    #[error("the batch has format {magic}, and only format 2 is read")]
    Magic {
        /// The format number.
        magic: i8,
    },
    /// The stated length is shorter than the header.
    #[error("the batch says that {stated} bytes follow its length, and at least 49 must")]
    Length {
        /// The number of bytes after the length field, according to that field.
        stated: i32,
    },
    /// The bytes end within the batch, or others follow where exactly one batch is allowed.
    #[error("the batch has {stated} bytes, and {held} are here")]
    Size {
        /// The size of the whole batch.
        stated: usize,
        /// The number of bytes available.
        held: usize,
    },
    /// The batch is larger than its topic allows or than the length field can express.
    #[error("the batch has {size} bytes, and at most {max} are allowed")]
    TooLarge {
        /// The size of the whole batch.
        size: usize,
        /// The maximum size.
        max: usize,
    },
    /// The checksum does not match the bytes.
    #[error("the batch's checksum is {stated:#010x}, and its bytes give {computed:#010x}")]
    Checksum {
        /// The checksum in the header.
        stated: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// A header field has an illegal value. If the checksum covers the field, `Batch` reports this
    /// only after the checksum has matched.
    #[error("the batch's {field} cannot be {value}")]
    Header {
        /// The name of the field.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// A record is malformed or not allowed.
    #[error("record {index} of the batch {fault}")]
    Record {
        /// The index of the record within the batch, from 0.
        index: u32,
        /// The fault of the record.
        fault: RecordFault,
    },
    /// The topic rejects some records, all of which are listed.
    #[error("{}", in_words(.0))]
    Rejected(Vec<RejectedRecord>),
    /// The attributes name a codec that does not exist.
    #[error("the batch names the unknown compression codec {id}")]
    Codec {
        /// The number in the attributes.
        id: u8,
    },
    /// The codec found the compressed stream damaged.
    #[error("the records' {compression} stream is damaged")]
    Compression {
        /// The codec.
        compression: Compression,
        /// The error of the codec.
        source: io::Error,
    },
    /// The compressed stream has a framing that some clients cannot read.
    #[error("the records' {compression} stream {fault}")]
    Framing {
        /// The codec.
        compression: Compression,
        /// The fault of the framing.
        fault: FramingFault,
    },
    /// The compressed records exceed the limit when decompressed.
    #[error("{size} bytes of {compression} unpack to more than {max}")]
    Inflated {
        /// The codec.
        compression: Compression,
        /// The size of the compressed stream.
        size: usize,
        /// The maximum decompressed size.
        max: usize,
    },
}

/// The fault of a single record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The bytes end within the record.
    #[error("is cut off")]
    Truncated,
    /// A variable-length number has too many bytes for its type.
    #[error("has a number that is too long")]
    Varint,
    /// A length is negative where null is not allowed.
    #[error("has the negative length {0}")]
    Length(i32),
    /// The record is longer than its contents, or bytes follow the last record.
    #[error("leaves {0} bytes over")]
    BytesLeft(usize),
    /// The offset is not above that of the record before, or exceeds the batch's last offset.
    #[error("has an offset delta of {0}, out of order")]
    OffsetDelta(i32),
    /// It has more headers than a record may have.
    #[error("has {0} headers")]
    Headers(i32),
}

/// A well-formed record that its topic rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// The index of the record within the batch, from 0; `None` for the header, if the records were
    /// not examined.
    pub index: Option<u32>,
    /// The reason.
    pub reason: Rejection,
}

/// The reason why a topic rejects a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It has no key, but its topic is compacted.
    #[error("has no key, and its topic is compacted")]
    NoKey,
    /// Its timestamp lies outside the topic's bounds.
    #[error("has the time {0} ms, which lies outside the topic's bounds")]
    Timestamp(Timestamp),
}

impl RecordError {
    /// The index of the first faulty record within the batch, if the fault is in a record.
    pub fn record_index(&self) -> Option<u32> {
        match self {
            Self::Record { index, .. } => Some(*index),
            Self::Rejected(records) => records.first()?.index,
            _ => None,
        }
    }
}

impl fmt::Display for RejectedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "record {index} of the batch {}", self.reason),
            None => write!(f, "the batch {}", self.reason),
        }
    }
}

fn in_words(records: &[RejectedRecord]) -> String {
    match records {
        [] => "the topic does not take the batch".to_owned(),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first}; {} more records are refused", others.len()),
    }
}
