//! The column of headers: a list for each record, of names and values.

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::batch::built;
use super::bytes::{BytesColumn, end};
use super::column::{Column, header};
use crate::record::Headers;

/// A column that is being filled.
#[derive(Debug)]
pub(super) struct HeadersColumn {
    /// Where each record's headers end, and before all of them 0.
    ends: Vec<i32>,
    keys: BytesColumn,
    values: BytesColumn,
}

impl HeadersColumn {
    /// Without records.
    pub(super) fn new() -> Self {
        Self { ends: vec![0], keys: BytesColumn::new(), values: BytesColumn::new() }
    }

    /// Makes room for the headers of so many records.
    pub(super) fn reserve(&mut self, records: usize) {
        self.ends.reserve(records);
    }

    /// Appends a record's headers. What is no UTF-8 in a name is replaced, as in a message.
    pub(super) fn push(&mut self, headers: &Headers<'_>) {
        for header in headers.clone() {
            self.keys.push(Some(String::from_utf8_lossy(header.key).as_bytes()));
            self.values.push(header.value);
        }
        self.ends.push(end(self.keys.count()));
    }

    /// The column.
    pub(super) fn finish(self) -> ArrayData {
        let (records, headers) = (self.ends.len() - 1, self.keys.count());
        let pairs = ArrayData::builder(header())
            .len(headers)
            .add_child_data(self.keys.finish(DataType::Utf8))
            .add_child_data(self.values.finish(DataType::Binary));
        let lists = ArrayData::builder(Column::Headers.data_type())
            .len(records)
            .add_buffer(Buffer::from_vec(self.ends))
            .add_child_data(built(pairs));
        built(lists)
    }
}
