//! Encoding of primitive values: numbers are big-endian, strings and arrays follow their length.
//!
//! | value | classic version | flexible version |
//! |---|---|---|
//! | text | `i16` length | uvarint length + 1 |
//! | bytes, array | `i32` length | uvarint length + 1 |
//! | null | length −1 | 0 |
//! | topic id | 16 bytes, no id = zeros | the same |
//! | structure that may be null | a byte, 1 or −1, before it | the same |

use bytes::Bytes;

use super::{ApiKey, Layout, Reader, WireError, Writer};
use crate::types::TopicId;

/// A value that can be part of a message.
pub trait Wire: Sized {
    /// The minimum size of a value in this layout.
    fn min_size(layout: Layout) -> usize;

    /// Decodes a value; fields missing in the reader's version get their default.
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError>;

    /// Encodes the value; fields missing in the writer's version are left out.
    fn encode(&self, writer: &mut Writer);
}

/// A value that may be null.
pub trait Nullable: Wire {
    /// Decodes a value or null.
    fn decode_nullable(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError>;

    /// Encodes null.
    fn encode_null(writer: &mut Writer);
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn min_size(_: Layout) -> usize {
                size_of::<$number>()
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                reader.take_array().map(<$number>::from_be_bytes)
            }

            fn encode(&self, writer: &mut Writer) {
                writer.put(&self.to_be_bytes());
            }
        }
    )*};
}

number!(i8, i16, i32, i64, u16, f64);

impl Wire for ApiKey {
    fn min_size(_: Layout) -> usize {
        size_of::<i16>()
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Self::try_from(i16::decode(reader)?)
    }

    fn encode(&self, writer: &mut Writer) {
        self.number().encode(writer);
    }
}

impl Wire for bool {
    fn min_size(_: Layout) -> usize {
        1
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(i8::decode(reader)? != 0)
    }

    fn encode(&self, writer: &mut Writer) {
        i8::from(*self).encode(writer);
    }
}

impl Wire for TopicId {
    fn min_size(_: Layout) -> usize {
        16
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.take_array().map(Self)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.put(&self.0);
    }
}

impl Wire for String {
    fn min_size(layout: Layout) -> usize {
        if layout.flexible { 1 } else { 2 }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Self::decode_nullable(reader)?.ok_or(WireError::UnexpectedNull)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.write_text(Some(self));
    }
}

impl Nullable for String {
    fn decode_nullable(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        Ok(reader.read_text()?.map(str::to_owned))
    }

    fn encode_null(writer: &mut Writer) {
        writer.write_text(None);
    }
}

impl Wire for Bytes {
    fn min_size(layout: Layout) -> usize {
        if layout.flexible { 1 } else { 4 }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Self::decode_nullable(reader)?.ok_or(WireError::UnexpectedNull)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.write_length(Some(self.len()));
        writer.put(self);
    }
}

impl Nullable for Bytes {
    fn decode_nullable(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        match reader.read_length()? {
            None => Ok(None),
            Some(length) => reader.take_bytes(length).map(Some),
        }
    }

    fn encode_null(writer: &mut Writer) {
        writer.write_length(None);
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn min_size(layout: Layout) -> usize {
        if layout.flexible { 1 } else { 4 }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Self::decode_nullable(reader)?.ok_or(WireError::UnexpectedNull)
    }

    fn encode(&self, writer: &mut Writer) {
        writer.write_length(Some(self.len()));
        for element in self {
            element.encode(writer);
        }
    }
}

impl<T: Wire> Nullable for Vec<T> {
    fn decode_nullable(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let Some(count) = reader.read_count(T::min_size(reader.layout()))? else {
            return Ok(None);
        };
        reader.charge(count.saturating_mul(size_of::<T>()))?;
        let mut elements = Self::with_capacity(count);
        for _ in 0..count {
            elements.push(T::decode(reader)?);
        }
        Ok(Some(elements))
    }

    fn encode_null(writer: &mut Writer) {
        writer.write_length(None);
    }
}

impl<T: Nullable> Wire for Option<T> {
    fn min_size(layout: Layout) -> usize {
        T::min_size(layout)
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        T::decode_nullable(reader)
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Some(value) => value.encode(writer),
            None => T::encode_null(writer),
        }
    }
}

/// A structure that may be null, preceded by a byte: 1 if present, −1 if null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marked<T>(pub T);

impl<T: Wire> Wire for Marked<T> {
    fn min_size(_: Layout) -> usize {
        1
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Self::decode_nullable(reader)?.ok_or(WireError::UnexpectedNull)
    }

    fn encode(&self, writer: &mut Writer) {
        1_i8.encode(writer);
        self.0.encode(writer);
    }
}

impl<T: Wire> Nullable for Marked<T> {
    fn decode_nullable(reader: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        if i8::decode(reader)? < 0 { Ok(None) } else { T::decode(reader).map(|it| Some(Self(it))) }
    }

    fn encode_null(writer: &mut Writer) {
        (-1_i8).encode(writer);
    }
}
