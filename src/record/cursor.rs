//! A position in untrusted bytes, from which the parts of a record are read in turn.
//!
//! Reads never go beyond the end, and nothing is copied.

use super::error::RecordFault;
use super::varint::{unzigzag_32, unzigzag_64};

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor without bytes.
    pub(super) const EMPTY: Cursor<'static> = Cursor { rest: &[] };

    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not yet taken.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of bytes not yet taken.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, RecordFault> {
        let (&byte, rest) = self.rest.split_first().ok_or(RecordFault::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    /// The next `count` bytes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], RecordFault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(RecordFault::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A variable-length `i32`, of at most five bytes.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<i32, RecordFault> {
        let folded = self.unsigned(5)?;
        u32::try_from(folded).map(unzigzag_32).map_err(|_| RecordFault::Varint)
    }

    /// A variable-length `i64`, of at most ten bytes.
    #[inline]
    pub(super) fn varlong(&mut self) -> Result<i64, RecordFault> {
        self.unsigned(10).map(unzigzag_64)
    }

    /// Bytes preceded by their length.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], RecordFault> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| RecordFault::Length(length))?)
    }

    /// Bytes preceded by their length, or `None` for the length −1.
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, RecordFault> {
        match self.varint()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| RecordFault::Length(length))?;
                self.take(length).map(Some)
            }
        }
    }

    #[inline]
    fn unsigned(&mut self, size_max: usize) -> Result<u64, RecordFault> {
        // Fast paths: almost every number in a record fits one byte, and most lengths fit two.
        match self.rest {
            [low, rest @ ..] if *low < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*low))
            }
            [low, high, rest @ ..] if *high < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*low & 0x7f) | (u64::from(*high) << 7))
            }
            _ => self.unsigned_long(size_max),
        }
    }

    fn unsigned_long(&mut self, size_max: usize) -> Result<u64, RecordFault> {
        let mut value = 0_u64;
        let mut shift = 0_u32;
        for _ in 0..size_max {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let placed = bits.wrapping_shl(shift);
            if placed.wrapping_shr(shift) != bits {
                return Err(RecordFault::Varint);
            }
            value |= placed;
            if byte < 0x80 {
                return Ok(value);
            }
            shift = shift.saturating_add(7);
        }
        Err(RecordFault::Varint)
    }
}
