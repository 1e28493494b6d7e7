//! Encoding of primitives into a growing buffer.
//!
//! A message is written in one pass. A value that does not fit its length field is recorded and
//! reported at the end, so that the rows of a message need no error handling. Records that are
//! elsewhere are not copied: the writer notes their position, at which the frame is split.

use bytes::Bytes;

use super::{Layout, WireError};

/// A buffer being filled with messages in one layout at a time.
#[derive(Debug)]
pub struct Writer {
    buffer: Vec<u8>,
    layout: Layout,
    gaps: Vec<Gap>,
    failure: Option<WireError>,
}

/// Bytes of the message that are elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// The position of the bytes in the buffer.
    pub(super) position: usize,
    /// The number of bytes.
    pub(super) length: usize,
}

/// An encoded tagged field.
#[derive(Debug)]
pub(super) struct Tag {
    number: u32,
    value: Writer,
}

impl Tag {
    /// Creates a field with this tag, whose value `write` encodes.
    pub(super) fn new(number: u32, layout: Layout, write: impl FnOnce(&mut Writer)) -> Self {
        let mut value = Writer::new(layout);
        write(&mut value);
        Self { number, value }
    }
}

impl Writer {
    /// Creates an empty buffer for a message in this layout.
    pub fn new(layout: Layout) -> Self {
        Self { buffer: Vec::new(), layout, gaps: Vec::new(), failure: None }
    }

    /// Reserves space for this many more bytes.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
    }

    /// Begins a frame: reserves space for its length, and returns its position.
    pub(super) fn begin_frame(&mut self) -> usize {
        let start = self.buffer.len();
        self.put(&[0; size_of::<i32>()]);
        start
    }

    /// Ends the frame that began at `start`: writes its length.
    pub(super) fn end_frame(&mut self, start: usize) {
        let gaps = self.gaps.iter().filter(|gap| gap.position >= start);
        let elsewhere = gaps.fold(0_usize, |sum, gap| sum.saturating_add(gap.length));
        let frame = self.buffer.get_mut(start..).unwrap_or_default();
        let Some((prefix, body)) = frame.split_first_chunk_mut() else { return };
        let length = body.len().saturating_add(elsewhere);
        match i32::try_from(length) {
            Ok(length) => *prefix = length.to_be_bytes(),
            Err(_) => self.failure = self.failure.or(Some(WireError::TooLong(length))),
        }
    }

    /// The current layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Changes the layout for the following writes.
    pub(super) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The message, or the error of the first value that did not fit.
    pub fn finish(self) -> Result<Bytes, WireError> {
        let (buffer, gaps) = self.finish_with_gaps()?;
        assert!(gaps.is_empty(), "{} gaps in a message written without files", gaps.len());
        Ok(buffer)
    }

    /// The message, with the positions of bytes that are elsewhere.
    pub(super) fn finish_with_gaps(self) -> Result<(Bytes, Vec<Gap>), WireError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok((self.buffer.into(), self.gaps)),
        }
    }

    /// Writes bytes without a length.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Leaves a gap for `length` bytes, which the sender inserts.
    pub(super) fn skip(&mut self, length: usize) {
        self.gaps.push(Gap { position: self.buffer.len(), length });
    }

    /// Encodes an unsigned varint: seven bits per byte, lowest first.
    pub fn write_uvarint(&mut self, mut value: u32) {
        while let low @ 0x80.. = value {
            let [.., byte] = low.to_be_bytes();
            self.buffer.push(byte | 0x80);
            value = low.wrapping_shr(7);
        }
        let [.., byte] = value.to_be_bytes();
        self.buffer.push(byte);
    }

    /// Encodes the length of a string; `None` is null.
    pub fn write_text_length(&mut self, length: Option<usize>) {
        if self.layout.flexible {
            return self.write_compact_length(length);
        }
        let classic = length.map_or(Ok(-1_i16), i16::try_from);
        let classic = classic.unwrap_or_else(|_| self.fail(length));
        self.put(&classic.to_be_bytes());
    }

    /// Encodes the length of a byte field or array; `None` is null.
    pub fn write_length(&mut self, length: Option<usize>) {
        if self.layout.flexible {
            return self.write_compact_length(length);
        }
        let classic = length.map_or(Ok(-1_i32), i32::try_from);
        let classic = classic.unwrap_or_else(|_| self.fail(length));
        self.put(&classic.to_be_bytes());
    }

    /// Encodes a string with its length; `None` is null.
    pub fn write_text(&mut self, text: Option<&str>) {
        self.write_text_length(text.map(str::len));
        self.put(text.unwrap_or_default().as_bytes());
    }

    /// Encodes the tagged fields at the end of a structure; there are none in classic versions.
    #[inline]
    pub(super) fn write_tags(&mut self, tags: &[Option<Tag>]) {
        if !self.layout.flexible {
            return;
        }
        if tags.iter().all(Option::is_none) {
            return self.buffer.push(0);
        }
        let present = tags.iter().flatten();
        self.write_uvarint(u32::try_from(present.clone().count()).unwrap_or(u32::MAX));
        for Tag { number, value } in present {
            self.failure = self.failure.or(value.failure);
            self.write_uvarint(*number);
            let size = u32::try_from(value.buffer.len()).unwrap_or_else(|_| {
                self.failure = Some(WireError::TooLong(value.buffer.len()));
                0
            });
            self.write_uvarint(size);
            self.put(&value.buffer);
        }
    }

    fn write_compact_length(&mut self, length: Option<usize>) {
        let compact = length.map_or(Ok(0), |length| u32::try_from(length.saturating_add(1)));
        let compact = compact.unwrap_or_else(|_| self.fail(length));
        self.write_uvarint(compact);
    }

    /// Records that a length did not fit, and returns a placeholder.
    fn fail<N: Default>(&mut self, length: Option<usize>) -> N {
        self.failure = self.failure.or(length.map(WireError::TooLong));
        N::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Reader;

    #[test]
    fn varints_are_written_as_they_are_read() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, 1 << 28, u32::MAX] {
            let layout = Layout { version: 0, flexible: true };
            let mut writer = Writer::new(layout);
            writer.write_uvarint(value);
            let bytes = writer.finish().unwrap();
            assert_eq!(Reader::new(&bytes, layout).read_uvarint(), Ok(value));
        }
    }

    #[test]
    fn a_text_too_long_for_its_length_is_an_error_and_not_cut() {
        let text = "x".repeat(40_000);
        let mut classic = Writer::new(Layout::classic(0));
        classic.write_text(Some(&text));
        assert_eq!(classic.finish(), Err(WireError::TooLong(40_000)));
        let mut compact = Writer::new(Layout { version: 0, flexible: true });
        compact.write_text(Some(&text));
        assert_eq!(compact.finish().unwrap().len(), 40_003);
    }
}
