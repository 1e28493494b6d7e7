//! Decoding of primitives from untrusted bytes.
//!
//! Every read is checked against the remaining bytes: nothing panics, and no memory is allocated
//! for a length that exceeds the remaining bytes. In addition, the memory for the arrays of a
//! message is limited to [`Reader::MEMORY_FACTOR`] times its size plus [`Reader::MEMORY_LEAST`], so
//! that millions of one-byte elements cannot become gigabytes of structures.

use bytes::Bytes;

use super::{Layout, WireError};

/// A cursor over the bytes of one message, with their layout.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    layout: Layout,
    /// The buffer that byte fields are sliced from, if they need not be copied.
    shared: Option<&'a Bytes>,
    /// The number of bytes that arrays may still allocate.
    memory: usize,
}

impl<'a> Reader<'a> {
    /// The memory that the arrays of a message may take for each of its bytes.
    pub const MEMORY_FACTOR: usize = 16;

    /// The memory that the arrays of a message may take in addition, in bytes.
    pub const MEMORY_LEAST: usize = 4096;

    /// Creates a reader of `bytes` that copies byte fields.
    pub fn new(bytes: &'a [u8], layout: Layout) -> Self {
        let memory =
            bytes.len().saturating_mul(Self::MEMORY_FACTOR).saturating_add(Self::MEMORY_LEAST);
        Self { whole: bytes, rest: bytes, layout, shared: None, memory }
    }

    /// Creates a reader of `bytes` whose byte fields are slices, which keep the whole buffer alive.
    pub fn sharing(bytes: &'a Bytes, layout: Layout) -> Self {
        Self { shared: Some(bytes), ..Self::new(bytes, layout) }
    }

    /// The current layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Changes the layout for the following reads.
    pub(super) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The number of bytes read from the start of the buffer.
    pub fn position(&self) -> usize {
        // Computed on request, since it is rarely needed.
        self.rest.as_ptr().addr().saturating_sub(self.whole.as_ptr().addr())
    }

    /// The number of bytes left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Takes the next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.truncated(length));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes as an array.
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// Takes the next `length` bytes as an owned value: a slice of a shared buffer, or a copy.
    pub fn take_bytes(&mut self, length: usize) -> Result<Bytes, WireError> {
        let start = self.position();
        let taken = self.take(length)?;
        Ok(match self.shared {
            Some(buffer) => buffer.slice(start..self.position()),
            None => Bytes::copy_from_slice(taken),
        })
    }

    /// Decodes an unsigned varint: seven bits per byte, lowest first, at most five bytes.
    #[inline]
    pub fn read_uvarint(&mut self) -> Result<u32, WireError> {
        // Fast path: lengths of short strings and arrays, and the number of tags, fit one byte.
        if let Some((byte @ 0..=0x7f, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(u32::from(*byte));
        }
        self.read_long_uvarint()
    }

    fn read_long_uvarint(&mut self) -> Result<u32, WireError> {
        let mut value = 0_u32;
        for shift in [0_u32, 7, 14, 21, 28] {
            let [byte] = self.take_array()?;
            let bits = u32::from(byte & 0x7f);
            let shifted = bits.wrapping_shl(shift);
            if shifted.wrapping_shr(shift) != bits {
                return Err(WireError::VarintTooLong);
            }
            value |= shifted;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::VarintTooLong)
    }

    /// Decodes the length of a string; `None` is null. The length is not checked against the
    /// remaining bytes.
    #[inline]
    pub fn read_text_length(&mut self) -> Result<Option<usize>, WireError> {
        if self.layout.flexible {
            return self.read_compact_length();
        }
        classic_length(i32::from(i16::from_be_bytes(self.take_array()?)))
    }

    /// Decodes the length of a byte field or array; `None` is null. The length is not checked
    /// against the remaining bytes.
    #[inline]
    pub fn read_length(&mut self) -> Result<Option<usize>, WireError> {
        if self.layout.flexible {
            return self.read_compact_length();
        }
        classic_length(i32::from_be_bytes(self.take_array()?))
    }

    /// Decodes the number of elements of an array, each of at least `min_size` bytes; `None` is
    /// null.
    ///
    /// A count that exceeds the remaining bytes is an error, so it is safe to allocate.
    pub fn read_count(&mut self, min_size: usize) -> Result<Option<usize>, WireError> {
        let count = self.read_length()?;
        if let Some(count) = count
            && count.saturating_mul(min_size.max(1)) > self.remaining()
        {
            return Err(WireError::CountTooLarge { count, remaining: self.remaining() });
        }
        Ok(count)
    }

    /// Charges `bytes` of memory to the message's budget.
    pub fn charge(&mut self, bytes: usize) -> Result<(), WireError> {
        let length = self.position().saturating_add(self.remaining());
        self.memory = self.memory.checked_sub(bytes).ok_or(WireError::TooDense(length))?;
        Ok(())
    }

    /// Takes a string of this length.
    pub fn take_text(&mut self, length: usize) -> Result<&'a str, WireError> {
        Ok(std::str::from_utf8(self.take(length)?)?)
    }

    /// Decodes a borrowed string; `None` is null.
    pub fn read_text(&mut self) -> Result<Option<&'a str>, WireError> {
        match self.read_text_length()? {
            None => Ok(None),
            Some(length) => self.take_text(length).map(Some),
        }
    }

    /// Decodes the tagged fields at the end of a structure; there are none in classic versions.
    ///
    /// `field` decodes the value of a tag and returns true if it knows the tag; values of unknown
    /// tags are skipped.
    pub fn read_tags(
        &mut self,
        mut field: impl FnMut(u32, &mut Self) -> Result<bool, WireError>,
    ) -> Result<(), WireError> {
        if !self.layout.flexible {
            return Ok(());
        }
        let mut previous = None;
        for _ in 0..self.read_uvarint()? {
            let tag = self.read_uvarint()?;
            if let Some(previous) = previous
                && tag <= previous
            {
                return Err(WireError::TagOutOfOrder { previous, tag });
            }
            previous = Some(tag);
            let size = usize::try_from(self.read_uvarint()?).unwrap_or(usize::MAX);
            let mut value = self.clone();
            value.rest = self.take(size)?;
            let known = field(tag, &mut value)?;
            self.memory = value.memory;
            if known && value.remaining() > 0 {
                return Err(WireError::TagTooLong { tag, unread: value.remaining() });
            }
        }
        Ok(())
    }

    #[inline]
    fn read_compact_length(&mut self) -> Result<Option<usize>, WireError> {
        let length = self.read_uvarint()?.checked_sub(1);
        Ok(length.map(|length| usize::try_from(length).unwrap_or(usize::MAX)))
    }

    fn truncated(&self, needed: usize) -> WireError {
        WireError::Truncated { needed, remaining: self.remaining() }
    }
}

fn classic_length(length: i32) -> Result<Option<usize>, WireError> {
    if length == -1 {
        return Ok(None);
    }
    usize::try_from(length).map(Some).map_err(|_| WireError::NegativeLength(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLEXIBLE: Layout = Layout { version: 0, flexible: true };

    #[test]
    fn a_varint_takes_at_most_five_bytes_and_32_bits() {
        let read = |bytes: &[u8]| Reader::new(bytes, FLEXIBLE).read_uvarint();
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xac, 0x02]), Ok(300));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(u32::MAX));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(WireError::VarintTooLong));
        assert_eq!(read(&[0x80, 0x80, 0x80, 0x80, 0x80, 0]), Err(WireError::VarintTooLong));
        assert_eq!(read(&[0x80]), Err(WireError::Truncated { needed: 1, remaining: 0 }));
    }

    #[test]
    fn a_count_beyond_the_remaining_bytes_is_refused() {
        let mut reader = Reader::new(&[0, 0, 0, 3, 9, 9, 9, 9, 9], Layout::classic(0));
        let refused = WireError::CountTooLarge { count: 3, remaining: 5 };
        assert_eq!(reader.clone().read_count(2), Err(refused));
        assert_eq!(reader.read_count(1), Ok(Some(3)));
    }

    #[test]
    fn a_length_below_minus_one_is_refused() {
        let read = |length: i32| {
            let bytes = length.to_be_bytes();
            Reader::new(&bytes, Layout::classic(0)).read_length()
        };
        assert_eq!(read(-1), Ok(None));
        assert_eq!(read(-2), Err(WireError::NegativeLength(-2)));
        assert_eq!(read(i32::MIN), Err(WireError::NegativeLength(i32::MIN)));
    }

    #[test]
    fn tags_must_rise() {
        let read = |bytes: &[u8]| Reader::new(bytes, FLEXIBLE).read_tags(|_, _| Ok(false));
        assert_eq!(read(&[2, 1, 0, 3, 1, 7]), Ok(()));
        assert_eq!(read(&[2, 1, 0, 1, 0]), Err(WireError::TagOutOfOrder { previous: 1, tag: 1 }));
        assert_eq!(read(&[1, 1, 9]), Err(WireError::Truncated { needed: 9, remaining: 0 }));
    }

    #[test]
    fn a_known_tag_must_use_up_its_value() {
        let read = |bytes: &[u8]| {
            Reader::new(bytes, FLEXIBLE).read_tags(|_, value| value.take(1).map(|_| true))
        };
        assert_eq!(read(&[1, 0, 1, 7]), Ok(()));
        assert_eq!(read(&[1, 0, 2, 7, 7]), Err(WireError::TagTooLong { tag: 0, unread: 1 }));
    }

    #[test]
    fn a_shared_buffer_is_sliced_and_not_copied() {
        let buffer = Bytes::from_static(b"abcdef");
        let mut reader = Reader::sharing(&buffer, Layout::classic(0));
        reader.take(2).unwrap();
        let slice = reader.take_bytes(3).unwrap();
        assert_eq!(slice, "cde");
        assert_eq!(slice.as_ptr(), buffer.slice(2..).as_ptr());
    }
}
