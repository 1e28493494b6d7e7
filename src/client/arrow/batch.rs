//! A finished batch of rows, and its export through Arrow's C data interface.

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

    /// Number of records.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Returns true if it has no records.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The batch as an Arrow struct array with a child for each column.
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// Exports the batch through Arrow's C data interface: its type, and an array that shares its
    /// bytes.
    pub fn export(&self) -> (FFI_ArrowSchema, FFI_ArrowArray) {
        (exported(self.data.data_type()), FFI_ArrowArray::new(&self.data))
    }
}

/// Builds an array whose parts are consistent by construction.
///
/// # Panics
/// If the parts are inconsistent.
pub(super) fn built(array: ArrayDataBuilder) -> ArrayData {
    array.build().unwrap_or_else(|error| unreachable!("the parts of a column fit: {error}"))
}
