//! The columns of records in Arrow form.
//!
//! | name | type |
//! |---|---|
//! | topic | string |
//! | partition | int32 |
//! | offset | int64 |
//! | timestamp | timestamp in microseconds, UTC; null if the record has none, or one too large |
//! | `timestamp_type` | int32: 0 the producer's time, 1 the log's |
//! | key, value | binary |
//! | headers | list of struct of key (string) and value (binary) |
//!
//! All columns are nullable, as Spark requires.

use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::config::{ConfigError, Fault, nearest};

/// A column of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The topic's name.
    Topic,
    /// The partition's index.
    Partition,
    /// The offset in the partition.
    Offset,
    /// The timestamp.
    Timestamp,
    /// The origin of the timestamp.
    TimestampType,
    /// The key.
    Key,
    /// The value; null is a tombstone.
    Value,
    /// The headers, in order.
    Headers,
}

impl Column {
    /// All columns, in the default order.
    pub const ALL: [Self; 8] = [
        Self::Topic,
        Self::Partition,
        Self::Offset,
        Self::Timestamp,
        Self::TimestampType,
        Self::Key,
        Self::Value,
        Self::Headers,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Partition => "partition",
            Self::Offset => "offset",
            Self::Timestamp => "timestamp",
            Self::TimestampType => "timestamp_type",
            Self::Key => "key",
            Self::Value => "value",
            Self::Headers => "headers",
        }
    }

    /// Returns the columns with these names, in this order.
    ///
    /// # Errors
    /// A fault for each name that is unknown or repeated, and one if there are no names.
    pub fn named(names: &[&str]) -> Result<Vec<Self>, ConfigError> {
        let mut columns = Vec::with_capacity(names.len());
        let mut faults = Vec::new();
        let fault = |reason| Fault { key: "columns".to_owned(), reason };
        for name in names {
            match Self::ALL.into_iter().find(|column| column.name() == *name) {
                Some(column) if columns.contains(&column) => {
                    faults.push(fault(format!("'{name}' is named twice")));
                }
                Some(column) => columns.push(column),
                None => faults.push(fault(unknown(name))),
            }
        }
        if names.is_empty() {
            faults.push(fault("a batch has at least one column".to_owned()));
        }
        ConfigError::from_faults(faults).map(|()| columns)
    }

    /// Exports the type of records with these columns through Arrow's C data interface.
    pub fn export(columns: &[Self]) -> FFI_ArrowSchema {
        exported(&Self::row(columns))
    }

    /// The type of records with these columns.
    pub(super) fn row(columns: &[Self]) -> DataType {
        DataType::Struct(columns.iter().map(|column| column.field()).collect())
    }

    fn field(self) -> Field {
        Field::new(self.name(), self.data_type(), true)
    }

    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Topic => DataType::Utf8,
            Self::Partition | Self::TimestampType => DataType::Int32,
            Self::Offset => DataType::Int64,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Key | Self::Value => DataType::Binary,
            Self::Headers => DataType::new_list(header(), true),
        }
    }
}

/// The reason why `name` is refused: it names no column.
fn unknown(name: &str) -> String {
    let names = || Column::ALL.into_iter().map(Column::name);
    if let Some(meant) = nearest(name, names()) {
        return format!("there is no column '{name}'; did you mean '{meant}'?");
    }
    let all = names().collect::<Vec<_>>().join(", ");
    format!("there is no column '{name}': the columns are {all}")
}

/// Exports a type through Arrow's C data interface.
pub(super) fn exported(data_type: &DataType) -> FFI_ArrowSchema {
    FFI_ArrowSchema::try_from(data_type)
        .unwrap_or_else(|error| unreachable!("the types of columns have C forms: {error}"))
}

/// The type of one header.
pub(super) fn header() -> DataType {
    let key = Field::new("key", DataType::Utf8, true);
    let value = Field::new("value", DataType::Binary, true);
    DataType::Struct(Fields::from(vec![key, value]))
}
