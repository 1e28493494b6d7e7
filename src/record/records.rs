//! Iteration over the records of a batch without copying.
//!
//! | field | form |
//! |---|---|
//! | length of what follows | varint |
//! | attributes | 1 byte, unused |
//! | timestamp delta | varlong |
//! | offset delta | varint |
//! | key, value | varint length, bytes; −1 is null |
//! | headers | varint count, then of each: varint length, name; varint length, value; −1 is null |

use super::compression::Limits;
use super::cursor::Cursor;
use super::error::{RecordError, RecordFault};

/// One record, borrowed from the bytes of its batch.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// The distance from the batch's base offset to the record's offset; never negative.
    pub offset_delta: i32,
    /// Milliseconds from the batch's base timestamp; see `Batch::timestamp_of`.
    pub timestamp_delta: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
    /// The headers.
    pub headers: Headers<'a>,
}

/// One header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The name, by convention UTF-8.
    pub key: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, in order, including repeated names.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    cursor: Cursor<'a>,
    left: u32,
}

/// A suspended iteration over a batch's records: it borrows nothing, and continues by
/// [`resume`](Self::resume).
#[derive(Clone, Copy, Debug)]
pub struct RecordsAt {
    position: usize,
    size: usize,
    index: u32,
    count: u32,
    offset_delta_min: i64,
    offset_delta_max: i64,
    headers_max: u32,
    over: bool,
}

/// The records of one batch, in order.
///
/// Offsets rise and stay within the batch. There must be exactly as many records as the header
/// says, and they must fill the payload exactly: anything else is an error and ends the iteration.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    size: usize,
    index: u32,
    count: u32,
    offset_delta_min: i64,
    offset_delta_max: i64,
    headers_max: u32,
    over: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(
        payload: &'a [u8],
        count: u32,
        last_offset_delta: u32,
        limits: &Limits,
    ) -> Self {
        Self {
            cursor: Cursor::new(payload),
            size: payload.len(),
            index: 0,
            count,
            offset_delta_min: 0,
            offset_delta_max: i64::from(last_offset_delta),
            headers_max: limits.headers_per_record_max,
            over: false,
        }
    }

    /// The number of bytes consumed so far. The encoded form of a record lies between the positions
    /// before and after the call of `next` that returned it.
    pub fn position(&self) -> usize {
        self.size.saturating_sub(self.cursor.left())
    }

    /// The number of remaining records, according to the header, and of remaining bytes.
    pub fn left(&self) -> (usize, usize) {
        (self.count.saturating_sub(self.index) as usize, self.cursor.left())
    }

    /// Suspends the iteration, so that it can continue later over the same bytes.
    #[inline]
    pub fn suspend(&self) -> RecordsAt {
        RecordsAt {
            position: self.position(),
            size: self.size,
            index: self.index,
            count: self.count,
            offset_delta_min: self.offset_delta_min,
            offset_delta_max: self.offset_delta_max,
            headers_max: self.headers_max,
            over: self.over,
        }
    }

    fn record(&mut self) -> Result<Record<'a>, RecordFault> {
        let mut body = Cursor::new(self.cursor.bytes()?);
        let _attributes = body.byte()?;
        let timestamp_delta = body.varlong()?;
        let offset_delta = self.offset_delta(body.varint()?)?;
        let key = body.nullable_bytes()?;
        let value = body.nullable_bytes()?;
        let headers = Headers::parse(&mut body, self.headers_max)?;
        match body.left() {
            0 => Ok(Record { offset_delta, timestamp_delta, key, value, headers }),
            left => Err(RecordFault::BytesLeft(left)),
        }
    }

    fn offset_delta(&mut self, delta: i32) -> Result<i32, RecordFault> {
        let wide = i64::from(delta);
        if wide < self.offset_delta_min || wide > self.offset_delta_max {
            return Err(RecordFault::OffsetDelta(delta));
        }
        self.offset_delta_min = wide.saturating_add(1);
        Ok(delta)
    }

    fn end(&mut self) -> Option<Result<Record<'a>, RecordFault>> {
        self.over = true;
        match self.cursor.left() {
            0 => None,
            left => Some(Err(RecordFault::BytesLeft(left))),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let index = self.index;
        let record = if index == self.count { self.end()? } else { self.record() };
        self.index = index.saturating_add(1);
        Some(record.map_err(|fault| {
            self.over = true;
            RecordError::Record { index, fault }
        }))
    }
}

impl RecordsAt {
    /// Continues the iteration over `decompressed`, which must be the same bytes as before.
    ///
    /// # Panics
    /// If the number of bytes differs.
    pub fn resume<'a>(&self, decompressed: &'a [u8]) -> Records<'a> {
        assert_eq!(decompressed.len(), self.size, "a walk goes on over the bytes it began with");
        Records {
            cursor: Cursor::new(decompressed.split_at(self.position).1),
            size: self.size,
            index: self.index,
            count: self.count,
            offset_delta_min: self.offset_delta_min,
            offset_delta_max: self.offset_delta_max,
            headers_max: self.headers_max,
            over: self.over,
        }
    }
}

impl<'a> Headers<'a> {
    /// Creates headers from their [`encoded`](Self::encoded) form.
    pub fn of_encoded(encoded: &'a [u8], count: u32) -> Self {
        Self { cursor: Cursor::new(encoded), left: count }
    }

    /// The encoded bytes of the remaining headers, without their count.
    pub fn encoded(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// No headers.
    pub const NONE: Headers<'static> = Headers { cursor: Cursor::EMPTY, left: 0 };

    /// The number of headers left.
    pub fn len(&self) -> usize {
        self.left as usize
    }

    /// True if no headers are left.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Takes the headers at `body` after checking that each of them can be read.
    fn parse(body: &mut Cursor<'a>, headers_max: u32) -> Result<Self, RecordFault> {
        let stated = body.varint()?;
        let left = match u32::try_from(stated) {
            Ok(count) if count <= headers_max => count,
            _ => return Err(RecordFault::Headers(stated)),
        };
        let headers = Self { cursor: *body, left };
        for _ in 0..left {
            Header::parse(body)?;
        }
        Ok(headers)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        self.left = self.left.checked_sub(1)?;
        Header::parse(&mut self.cursor).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Headers<'_> {}

impl<'a> Header<'a> {
    fn parse(cursor: &mut Cursor<'a>) -> Result<Self, RecordFault> {
        Ok(Self { key: cursor.bytes()?, value: cursor.nullable_bytes()? })
    }
}
