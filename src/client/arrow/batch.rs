//! A batch of rows that is filled, and its way to other libraries.

use arrow_data::ffi::FFI_ArrowArray;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::ffi::FFI_ArrowSchema;

use super::column::exported;

/// Records as columns. Clones share the bytes.
#[derive(Clone, Debug)]
pub struct RecordBatch {
    data: ArrayData,
}

impl RecordBatch {
    pub(super) fn new(data: ArrayData) -> Self {
        Self { data }
    }

    /// Records in it.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The batch as an Arrow array: a struct with a child for each column.
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// The batch by Arrow's C data interface: its type, and the array, which shares its bytes.
    pub fn export(&self) -> (FFI_ArrowSchema, FFI_ArrowArray) {
        (exported(self.data.data_type()), FFI_ArrowArray::new(&self.data))
    }
}

/// The array of a column whose parts fit by the way they were made.
///
/// # Panics
/// If they do not.
pub(super) fn built(array: ArrayDataBuilder) -> ArrayData {
    array.build().unwrap_or_else(|error| unreachable!("the parts of a column fit: {error}"))
}
