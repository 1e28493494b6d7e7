//! Start positions of reading, and positions to seek to.

use pyo3::types::{PyAnyMethods, PyMapping, PyMappingMethods, PyString};
use pyo3::{Bound, PyAny, PyResult};

use super::times::timestamp;
use super::values::misfit;
use crate::client::Start;
use crate::types::{Offset, PartitionIndex};

const PLACES: &str =
    "\"earliest\", \"latest\", an offset, an aware datetime or a timedelta from now";

/// A position for all partitions, or positions for some of them.
#[derive(Debug)]
pub(crate) enum Seek {
    /// One position for all partitions.
    All(Start),
    /// Positions for some partitions: topic (`None` for a partition given by its index alone),
    /// partition, position.
    Some(Vec<(Option<String>, PartitionIndex, Start)>),
}

impl Seek {
    /// Converts a position, or a mapping of partitions to positions.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(places) = value.cast::<PyMapping>() else {
            return start("to", value).map(Self::All);
        };
        let mut rows = Vec::new();
        for place in places.items()? {
            let (partition, to): (Bound<'_, PyAny>, Bound<'_, PyAny>) = place.extract()?;
            let (topic, index) = self::partition(&partition)?;
            rows.push((topic, index, start("to", &to)?));
        }
        Ok(Self::Some(rows))
    }
}

/// Converts a partition: its index, or a pair of topic and index.
pub(crate) fn partition(named: &Bound<'_, PyAny>) -> PyResult<(Option<String>, PartitionIndex)> {
    if let Ok(index) = named.extract::<i32>() {
        return Ok((None, PartitionIndex(index)));
    }
    match named.extract::<(String, i32)>() {
        Ok((topic, index)) => Ok((Some(topic), PartitionIndex(index))),
        Err(_) => Err(misfit("partition", named, "its number, or a pair of topic and number")),
    }
}

/// Converts the argument `name` to a position.
pub(crate) fn start(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Start> {
    let misfit = || misfit(name, value, PLACES);
    if let Ok(text) = value.cast::<PyString>() {
        return match text.extract::<String>()?.as_str() {
            "earliest" => Ok(Start::Earliest),
            "latest" => Ok(Start::Latest),
            _ => Err(misfit()),
        };
    }
    if let Some(timestamp) = timestamp(name, value)? {
        return Ok(Start::Time(timestamp));
    }
    let number: i64 = value.extract().map_err(|_| misfit())?;
    Offset::checked(number).map(Start::Offset).ok_or_else(misfit)
}
