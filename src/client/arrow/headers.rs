//! The column of headers: for each record a list of names and values.

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::batch::built;
use super::bytes::{BytesColumn, end};
use super::column::{Column, header};
use crate::record::Headers;

/// A column under construction.
#[derive(Debug)]
pub(super) struct HeadersColumn {
    /// The end of each record's headers, preceded by 0.
    ends: Vec<i32>,
    keys: BytesColumn,
    values: BytesColumn,
}

impl HeadersColumn {
    /// An empty column.
    pub(super) fn new() -> Self {
        Self { ends: vec![0], keys: BytesColumn::new(), values: BytesColumn::new() }
    }

    /// Reserves memory for the headers of `records` records.
    pub(super) fn reserve(&mut self, records: usize) {
        self.ends.reserve(records);
    }

    /// Appends a record's headers. Invalid UTF-8 in names is replaced, as in messages.
    pub(super) fn push(&mut self, headers: &Headers<'_>) {
        for header in headers.clone() {
            self.keys.push(Some(String::from_utf8_lossy(header.key).as_bytes()));
            self.values.push(header.value);
        }
        self.ends.push(end(self.keys.count()));
    }

    /// The finished column.
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
