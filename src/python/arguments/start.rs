//! Where reading begins, or goes on.

use pyo3::types::{PyAnyMethods, PyMapping, PyMappingMethods, PyString};
use pyo3::{Bound, PyAny, PyResult};

use super::times::timestamp;
use super::values::misfit;
use crate::client::Start;
use crate::types::{Offset, PartitionIndex};

const PLACES: &str =
    "\"earliest\", \"latest\", an offset, an aware datetime or a timedelta from now";

/// A place for all partitions, or for each by its own.
#[derive(Debug)]
pub(crate) enum Seek {
    /// The same for all.
    All(Start),
    /// For some: topic (`None` when there is one only), partition, place.
    Some(Vec<(Option<String>, PartitionIndex, Start)>),
}

impl Seek {
    /// The place, or the mapping of partitions to places, that `value` is.
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

/// The partition that is named: by its number, or by a pair of topic and number.
pub(crate) fn partition(named: &Bound<'_, PyAny>) -> PyResult<(Option<String>, PartitionIndex)> {
    if let Ok(index) = named.extract::<i32>() {
        return Ok((None, PartitionIndex(index)));
    }
    match named.extract::<(String, i32)>() {
        Ok((topic, index)) => Ok((Some(topic), PartitionIndex(index))),
        Err(_) => Err(misfit("partition", named, "its number, or a pair of topic and number")),
    }
}

/// The place that the argument `name` means.
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
