//! Records given as columns in Arrow's layout: the end offsets of all values, and their bytes in
//! one buffer.
//!
//! The input is not trusted: an inconsistent end offset is an error, and no record of the batch is
//! sent.

use crate::config::ConfigError;
use crate::record::Header;
use crate::types::{PartitionIndex, Timestamp};

/// A null bitmap: a bit per row, set if the row has a value.
#[derive(Clone, Debug, Default)]
pub struct Validity(Option<Vec<u8>>);

/// A column of byte strings or texts.
#[derive(Clone, Debug, Default)]
pub struct BytesGiven {
    validity: Validity,
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

/// A column of numbers.
#[derive(Clone, Debug, Default)]
pub struct NumbersGiven<T> {
    validity: Validity,
    numbers: Vec<T>,
}

/// A column of headers: for each row, a range of the keys and values.
#[derive(Clone, Debug, Default)]
pub struct HeadersGiven {
    /// The rows that have a list.
    pub validity: Validity,
    /// The end of each row's range, preceded by 0.
    pub ends: Vec<i32>,
    /// The names.
    pub keys: BytesGiven,
    /// The values.
    pub values: BytesGiven,
}

/// Records as columns; a missing column means nulls.
#[derive(Clone, Debug, Default)]
pub struct ColumnsGiven {
    /// The number of records.
    pub rows: usize,
    /// The topics of the records.
    pub topic: Option<BytesGiven>,
    /// The partitions of the records.
    pub partition: Option<NumbersGiven<i32>>,
    /// The timestamps of the records in microseconds.
    pub timestamp: Option<NumbersGiven<i64>>,
    /// The keys of the records.
    pub key: Option<BytesGiven>,
    /// The values of the records.
    pub value: Option<BytesGiven>,
    /// The headers of the records.
    pub headers: Option<HeadersGiven>,
}

impl Validity {
    /// Wraps a bitmap whose lowest bit is the first row of each byte; `None` means no nulls.
    pub fn new(bits: Option<Vec<u8>>) -> Self {
        Self(bits)
    }

    fn has(&self, row: usize) -> bool {
        let bit = |bits: &Vec<u8>| bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        self.0.as_ref().is_none_or(bit)
    }

    fn covers(&self, rows: usize) -> bool {
        self.0.as_ref().is_none_or(|bits| bits.len() >= rows.div_ceil(8))
    }
}

impl BytesGiven {
    /// A column in which the value of row `n` lies between ends `n` and `n + 1`.
    ///
    /// # Errors
    /// If the ends decrease or exceed the bytes.
    pub fn new(validity: Validity, ends: Vec<i32>, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        check_ends(&ends, bytes.len())?;
        Ok(Self { validity, ends, bytes })
    }

    fn get(&self, row: usize) -> Option<&[u8]> {
        if !self.validity.has(row) {
            return None;
        }
        self.bytes.get(stretch(&self.ends, row)?)
    }

    fn covers(&self, rows: usize) -> bool {
        self.ends.len() > rows && self.validity.covers(rows)
    }
}

impl<T: Copy> NumbersGiven<T> {
    /// A column with a number per row; the numbers of null rows are ignored.
    pub fn new(validity: Validity, numbers: Vec<T>) -> Self {
        Self { validity, numbers }
    }

    fn get(&self, row: usize) -> Option<T> {
        self.numbers.get(row).copied().filter(|_| self.validity.has(row))
    }

    fn covers(&self, rows: usize) -> bool {
        self.numbers.len() >= rows && self.validity.covers(rows)
    }
}

impl HeadersGiven {
    fn take<'a>(&'a self, row: usize, into: &mut Vec<Header<'a>>) {
        let stretch = stretch(&self.ends, row).filter(|_| self.validity.has(row));
        for place in stretch.unwrap_or_default() {
            let key = self.keys.get(place).unwrap_or_default();
            into.push(Header { key, value: self.values.get(place) });
        }
    }

    fn check(&self, rows: usize) -> Result<(), ConfigError> {
        let pairs = self.keys.ends.len().saturating_sub(1);
        check_ends(&self.ends, pairs)?;
        let is_whole = self.ends.len() > rows && self.validity.covers(rows);
        if is_whole && self.keys.covers(pairs) && self.values.covers(pairs) {
            Ok(())
        } else {
            Err(short("headers", rows))
        }
    }
}

impl ColumnsGiven {
    /// Fails if a column has fewer rows than the batch.
    ///
    /// # Errors
    /// [`ConfigError`] naming the column.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rows = self.rows;
        let bytes = |name, column: &Option<BytesGiven>| match column {
            Some(column) if !column.covers(rows) => Err(short(name, rows)),
            _ => Ok(()),
        };
        bytes("topic", &self.topic)?;
        bytes("key", &self.key)?;
        bytes("value", &self.value)?;
        if self.partition.as_ref().is_some_and(|column| !column.covers(rows)) {
            return Err(short("partition", rows));
        }
        if self.timestamp.as_ref().is_some_and(|column| !column.covers(rows)) {
            return Err(short("timestamp", rows));
        }
        self.headers.as_ref().map_or(Ok(()), |headers| headers.check(rows))
    }

    /// The topic of a row, if it is present and valid UTF-8.
    pub(crate) fn topic(&self, row: usize) -> Option<&str> {
        std::str::from_utf8(self.topic.as_ref()?.get(row)?).ok()
    }

    pub(crate) fn partition(&self, row: usize) -> Option<PartitionIndex> {
        self.partition.as_ref()?.get(row).map(PartitionIndex)
    }

    /// The timestamp of a row, rounded down to milliseconds.
    pub(crate) fn timestamp(&self, row: usize) -> Option<Timestamp> {
        let micros = self.timestamp.as_ref()?.get(row)?;
        Some(Timestamp::from_millis(micros.div_euclid(1000)))
    }

    pub(crate) fn key(&self, row: usize) -> Option<&[u8]> {
        self.key.as_ref()?.get(row)
    }

    pub(crate) fn value(&self, row: usize) -> Option<&[u8]> {
        self.value.as_ref()?.get(row)
    }

    pub(crate) fn headers<'a>(&'a self, row: usize, into: &mut Vec<Header<'a>>) {
        if let Some(headers) = &self.headers {
            headers.take(row, into);
        }
    }
}

fn stretch(ends: &[i32], row: usize) -> Option<std::ops::Range<usize>> {
    let from = usize::try_from(*ends.get(row)?).ok()?;
    let to = usize::try_from(*ends.get(row.checked_add(1)?)?).ok()?;
    Some(from..to)
}

fn check_ends(ends: &[i32], length: usize) -> Result<(), ConfigError> {
    let begins = ends.first().is_none_or(|first| *first >= 0);
    let last = ends.last().copied().unwrap_or(0);
    let fits = usize::try_from(last).is_ok_and(|last| last <= length);
    if begins && fits && ends.is_sorted() {
        return Ok(());
    }
    let reason = format!("the ends of its values do not fit into {length} bytes");
    Err(ConfigError::single("column", reason))
}

fn short(column: &str, rows: usize) -> ConfigError {
    ConfigError::single(column, format!("the column has fewer than the {rows} rows of its batch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[Option<&str>]) -> BytesGiven {
        let mut bits = vec![0; values.len().div_ceil(8)];
        let (mut ends, mut bytes) = (vec![0], Vec::new());
        for (row, value) in values.iter().enumerate() {
            bits[row / 8] |= u8::from(value.is_some()) << (row % 8);
            bytes.extend_from_slice(value.unwrap_or_default().as_bytes());
            ends.push(i32::try_from(bytes.len()).unwrap());
        }
        BytesGiven::new(Validity::new(Some(bits)), ends, bytes).unwrap()
    }

    #[test]
    fn rows_have_the_values_of_their_columns() {
        let keys = texts(&[Some("a"), Some("b"), Some("c")]);
        let columns = ColumnsGiven {
            rows: 2,
            key: Some(texts(&[Some("k"), None])),
            value: Some(texts(&[None, Some("")])),
            timestamp: Some(NumbersGiven::new(Validity::default(), vec![-1, 1_999])),
            partition: Some(NumbersGiven::new(Validity::new(Some(vec![0b10])), vec![7, 3])),
            headers: Some(HeadersGiven {
                validity: Validity::default(),
                ends: vec![1, 1, 3],
                keys,
                values: texts(&[None, None, Some("x")]),
            }),
            topic: None,
        };
        columns.check().unwrap();
        assert_eq!((columns.key(0), columns.key(1)), (Some(&b"k"[..]), None));
        assert_eq!((columns.value(0), columns.value(1)), (None, Some(&b""[..])));
        assert_eq!(columns.timestamp(0), Some(Timestamp::from_millis(-1)));
        assert_eq!(columns.timestamp(1), Some(Timestamp::from_millis(1)));
        assert_eq!((columns.partition(0), columns.partition(1)), (None, Some(PartitionIndex(3))));
        let mut headers = Vec::new();
        columns.headers(0, &mut headers);
        assert!(headers.is_empty());
        columns.headers(1, &mut headers);
        let expected = [(&b"b"[..], None), (&b"c"[..], Some(&b"x"[..]))];
        assert_eq!(headers.iter().map(|h| (h.key, h.value)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn inconsistent_columns_are_refused() {
        for ends in [vec![0, 2, 1], vec![0, 9], vec![-1, 0]] {
            assert!(BytesGiven::new(Validity::default(), ends, vec![0; 3]).is_err());
        }
        let of = |value| ColumnsGiven { rows: 9, value: Some(value), ..ColumnsGiven::default() };
        assert!(of(texts(&[None; 8])).check().is_err());
        let bits = Validity::new(Some(vec![0]));
        assert!(of(BytesGiven::new(bits, vec![0; 10], Vec::new()).unwrap()).check().is_err());
        assert!(of(texts(&[None; 9])).check().is_ok());
    }
}
