//! A column of byte strings or texts: the end offsets of all values, and their bytes in one buffer.

use arrow_buffer::{Buffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::batch::built;

/// A column under construction.
#[derive(Debug)]
pub(super) struct BytesColumn {
    /// The end of each value, preceded by 0.
    ends: Vec<i32>,
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl BytesColumn {
    /// An empty column.
    pub(super) fn new() -> Self {
        Self { ends: vec![0], bytes: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    /// Reserves memory for `values` values with `bytes` bytes in all.
    pub(super) fn reserve(&mut self, values: usize, bytes: usize) {
        self.ends.reserve(values);
        self.bytes.reserve(bytes);
    }

    /// Appends the same value `times` times.
    pub(super) fn push_often(&mut self, value: &[u8], times: usize) {
        self.reserve(times, value.len().saturating_mul(times));
        for _ in 0..times {
            self.bytes.extend_from_slice(value);
            self.ends.push(end(self.bytes.len()));
        }
        self.nulls.append_n_non_nulls(times);
    }

    /// Appends a value, or null.
    #[inline]
    pub(super) fn push(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => {
                self.bytes.extend_from_slice(value);
                self.nulls.append_non_null();
            }
            None => self.nulls.append_null(),
        }
        self.ends.push(end(self.bytes.len()));
    }

    /// The number of values.
    pub(super) fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The finished column, of type binary or text. For text, every value must be valid UTF-8.
    pub(super) fn finish(mut self, data_type: DataType) -> ArrayData {
        let array = ArrayData::builder(data_type)
            .len(self.count())
            .nulls(self.nulls.finish())
            .add_buffer(Buffer::from_vec(self.ends))
            .add_buffer(Buffer::from_vec(self.bytes));
        built(array)
    }
}

/// A length as the 32-bit offset that Arrow uses.
///
/// # Panics
/// If it exceeds `i32::MAX`. The limits on rows and on the client's frames prevent this.
pub(super) fn end(length: usize) -> i32 {
    i32::try_from(length)
        .unwrap_or_else(|_| unreachable!("{length} bytes in a column, of at most {}", i32::MAX))
}
