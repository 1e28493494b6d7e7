//! A column of byte strings or texts: the ends of all, and the bytes of all in one piece.

use arrow_buffer::{Buffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::batch::built;

/// A column that is being filled.
#[derive(Debug)]
pub(super) struct BytesColumn {
    /// Where each value ends, and before all of them 0.
    ends: Vec<i32>,
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl BytesColumn {
    /// Without values.
    pub(super) fn new() -> Self {
        Self { ends: vec![0], bytes: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    /// Makes room for so many values, of so many bytes together.
    pub(super) fn reserve(&mut self, values: usize, bytes: usize) {
        self.ends.reserve(values);
        self.bytes.reserve(bytes);
    }

    /// Appends the same value so often.
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

    /// Values it has.
    pub(super) fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The column, of type binary, or of texts if each value was one.
    pub(super) fn finish(mut self, data_type: DataType) -> ArrayData {
        let array = ArrayData::builder(data_type)
            .len(self.count())
            .nulls(self.nulls.finish())
            .add_buffer(Buffer::from_vec(self.ends))
            .add_buffer(Buffer::from_vec(self.bytes));
        built(array)
    }
}

/// A length, as Arrow has it.
///
/// # Panics
/// If it is beyond what the limits of rows and of a client's frames leave room for.
pub(super) fn end(length: usize) -> i32 {
    i32::try_from(length)
        .unwrap_or_else(|_| unreachable!("{length} bytes in a column, of at most {}", i32::MAX))
}
