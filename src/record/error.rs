//! What can be wrong with a record batch.

use std::{fmt, io};

use super::codec::Compression;
use crate::types::Timestamp;

/// Why bytes are no record batch, or one that may not be stored.
///
/// None of these goes away by trying again with the same bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The batch is of a format other than 2.
    #[error("the batch has format {magic}, and only format 2 is read")]
    Magic {
        /// The format's number.
        magic: i8,
    },
    /// The batch says it is shorter than its own header.
    #[error("the batch says that {stated} bytes follow its length, and at least 49 must")]
    Length {
        /// Bytes after the length field, by that field.
        stated: i32,
    },
    /// The bytes end within the batch.
    #[error("the batch has {stated} bytes, and only {held} are here")]
    Truncated {
        /// Bytes of the whole batch.
        stated: usize,
        /// Bytes at hand.
        held: usize,
    },
    /// Something follows where one batch alone is allowed.
    #[error("the batch ends after {stated} bytes, and {held} are here")]
    NotAlone {
        /// Bytes of the first batch.
        stated: usize,
        /// Bytes at hand.
        held: usize,
    },
    /// The batch is larger than its topic allows, or than the format can say.
    #[error("the batch has {size} bytes, and at most {max} are allowed")]
    TooLarge {
        /// Bytes of the whole batch.
        size: usize,
        /// The most allowed.
        max: usize,
    },
    /// The bytes are not those the checksum was made of.
    #[error("the batch's checksum is {stated:#010x}, and its bytes give {computed:#010x}")]
    Checksum {
        /// The checksum in the header.
        stated: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// A field of the header, intact by the checksum, has a value that is not allowed.
    #[error("the batch's {field} cannot be {value}")]
    Header {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// A record is malformed or not allowed.
    #[error("record {index} of the batch {fault}")]
    Record {
        /// Number of the record within the batch, from 0.
        index: u32,
        /// What is wrong with it.
        fault: RecordFault,
    },
    /// The topic does not take some records, all of which are listed.
    #[error("{}", in_words(.0))]
    Rejected(Vec<RejectedRecord>),
    /// The attributes name a codec that does not exist.
    #[error("the batch names the unknown compression codec {id}")]
    Codec {
        /// The codec's number.
        id: u8,
    },
    /// The codec gave up: the stream it was to unpack is damaged.
    #[error("the records' {compression} stream is damaged")]
    Compression {
        /// The codec.
        compression: Compression,
        /// What the codec said.
        source: io::Error,
    },
    /// The compressed records unpack to more than is allowed.
    #[error("{size} bytes of {compression} unpack to more than {max}")]
    Inflated {
        /// The codec.
        compression: Compression,
        /// Bytes of the compressed stream.
        size: usize,
        /// The most bytes it may unpack to.
        max: usize,
    },
}

/// What is wrong with one record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The bytes end within the record.
    #[error("is cut off")]
    Truncated,
    /// A variable-length number is longer than its type bears.
    #[error("has a number that is too long")]
    Varint,
    /// A length is negative where nothing can be null.
    #[error("has the negative length {0}")]
    Length(i32),
    /// The record is shorter than it says, or bytes follow the last record.
    #[error("leaves {0} bytes over")]
    BytesLeft(usize),
    /// The offset does not follow that of the record before, or lies beyond the batch's last.
    #[error("has an offset delta of {0}, out of order")]
    OffsetDelta(i32),
    /// It has more headers than a record may have.
    #[error("has {0} headers")]
    Headers(i32),
}

/// A well-formed record that its topic does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedRecord {
    /// Number of the record within the batch, from 0; `None` for the header, which speaks for all
    /// records when they are not looked at.
    pub index: Option<u32>,
    /// The reason.
    pub reason: Rejection,
}

/// Why a topic does not take a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// It has no key, and its topic is compacted.
    #[error("has no key, and its topic is compacted")]
    NoKey,
    /// Its time lies outside the topic's bounds.
    #[error("has the time {0} ms, which lies outside the topic's bounds")]
    Timestamp(Timestamp),
}

impl RecordError {
    /// Number of the first record at fault within the batch, where records are.
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
