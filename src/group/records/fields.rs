//! Reading and writing the primitive fields of records, and the faults of records.

use std::sync::Arc;

use bytes::Bytes;

use crate::types::InvalidTopicName;

/// The unread bytes of a key or value.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, wanted: usize) -> Result<&'a [u8], DamagedRecord> {
        let truncated = DamagedRecord::Truncated { wanted, left: self.0.len() };
        let (taken, rest) = self.0.split_at_checked(wanted).ok_or(truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DamagedRecord> {
        let truncated = DamagedRecord::Truncated { wanted: N, left: self.0.len() };
        let (taken, rest) = self.0.split_first_chunk().ok_or(truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn i16(&mut self) -> Result<i16, DamagedRecord> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, DamagedRecord> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, DamagedRecord> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, DamagedRecord> {
        let length = self.i16()?;
        let length = usize::try_from(length).map_err(|_| DamagedRecord::Length(length.into()))?;
        str::from_utf8(self.take(length)?).map_err(|_| DamagedRecord::Text)
    }

    pub(super) fn name(&mut self) -> Result<Arc<str>, DamagedRecord> {
        self.text().map(Arc::from)
    }

    /// An unsigned varint: seven bits per byte, lowest first.
    pub(super) fn uvarint(&mut self) -> Result<usize, DamagedRecord> {
        let mut value = 0;
        for shift in [0, 7, 14, 21] {
            let [byte] = self.array()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        // No length in a record needs more than four bytes.
        Err(DamagedRecord::Length(i32::MAX))
    }

    /// A compact string: its length plus one as a varint; 0 would be null.
    pub(super) fn compact_name(&mut self) -> Result<Arc<str>, DamagedRecord> {
        let length = self.uvarint()?.checked_sub(1).ok_or(DamagedRecord::Length(-1))?;
        str::from_utf8(self.take(length)?).map(Arc::from).map_err(|_| DamagedRecord::Text)
    }

    /// The tagged fields at the end of a flexible version, each with its number.
    pub(super) fn tagged(&mut self) -> Result<Vec<(usize, &'a [u8])>, DamagedRecord> {
        let count = self.uvarint()?;
        (0..count)
            .map(|_| {
                let (tag, size) = (self.uvarint()?, self.uvarint()?);
                Ok((tag, self.take(size)?))
            })
            .collect()
    }

    pub(super) fn optional_text(&mut self) -> Result<Option<&'a str>, DamagedRecord> {
        match self.0 {
            [0xff, 0xff, rest @ ..] => {
                self.0 = rest;
                Ok(None)
            }
            _ => self.text().map(Some),
        }
    }

    pub(super) fn blob(&mut self) -> Result<Bytes, DamagedRecord> {
        let length = self.count()?;
        self.take(length).map(Bytes::copy_from_slice)
    }

    pub(super) fn count(&mut self) -> Result<usize, DamagedRecord> {
        let count = self.i32()?;
        usize::try_from(count).map_err(|_| DamagedRecord::Length(count))
    }

    pub(super) fn end(self) -> Result<(), DamagedRecord> {
        if self.0.is_empty() { Ok(()) } else { Err(DamagedRecord::Trailing(self.0.len())) }
    }
}

/// A key or value under construction.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn version(version: i16) -> Self {
        Self(version.to_be_bytes().to_vec())
    }

    pub(super) fn i32(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(super) fn i64(&mut self, number: i64) -> &mut Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    /// Writes a string.
    ///
    /// # Panics
    /// If `text` has 32 KiB or more: the coordinator admits no such text.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        let length = i16::try_from(text.len());
        assert!(length.is_ok(), "{} bytes of text where at most 32767 are admitted", text.len());
        self.0.extend(length.unwrap_or(i16::MAX).to_be_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    pub(super) fn uvarint(&mut self, mut value: usize) -> &mut Self {
        while let low @ 0x80.. = value {
            self.0.push(low.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
        self
    }

    pub(super) fn compact_text(&mut self, text: &str) -> &mut Self {
        self.uvarint(text.len() + 1);
        self.0.extend(text.as_bytes());
        self
    }

    /// Writes the tagged fields: exactly one.
    pub(super) fn tagged(&mut self, tag: usize, field: &[u8]) -> &mut Self {
        self.uvarint(1).uvarint(tag).uvarint(field.len());
        self.0.extend(field);
        self
    }

    pub(super) fn optional_text(&mut self, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            return self.text(text);
        }
        self.0.extend((-1_i16).to_be_bytes());
        self
    }

    /// Writes a byte field.
    ///
    /// # Panics
    /// If `blob` has 2 GiB or more: no frame is that large.
    pub(super) fn blob(&mut self, blob: &[u8]) -> &mut Self {
        self.count(blob.len());
        self.0.extend(blob);
        self
    }

    /// Writes a number of bytes or elements.
    ///
    /// # Panics
    /// If `count` has more than 31 bits: no group is that large.
    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        let number = i32::try_from(count);
        assert!(number.is_ok(), "a count of {count} where at most {} is possible", i32::MAX);
        self.i32(number.unwrap_or(i32::MAX))
    }

    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// The reason why a record cannot be decoded; other records are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamagedRecord {
    /// The record ends within a field.
    #[error("a field of {wanted} bytes has only {left}")]
    Truncated {
        /// The size of the field.
        wanted: usize,
        /// The bytes left.
        left: usize,
    },
    /// Bytes follow the last field.
    #[error("{0} bytes follow the last field")]
    Trailing(usize),
    /// The key version is unknown, such as a version of Kafka's newer group types.
    #[error("key version {0} is not known")]
    KeyVersion(i16),
    /// The value version is unknown.
    #[error("value version {0} is not known")]
    ValueVersion(i16),
    /// A length or count is negative or too large.
    #[error("a length of {0}")]
    Length(i32),
    /// A string is not UTF-8.
    #[error("text is not UTF-8")]
    Text,
    /// The topic name is not valid.
    #[error(transparent)]
    Topic(#[from] InvalidTopicName),
}
