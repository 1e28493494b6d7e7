//! Where reading begins, or goes on.

use pyo3::types::{PyAnyMethods, PyMapping, PyMappingMethods, PyString};
use pyo3::{Bound, PyAny, PyResult};

use super::times::timestamp;
use crate::client::Start;
use crate::config::ConfigError;
use crate::python::errors::refused;
use crate::types::{Offset, PartitionIndex};

const EXPECTED: &str =
    "expected \"earliest\", \"latest\", an offset, an aware datetime or a timedelta from now";

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
            let (topic, index) = match partition.extract::<i32>() {
                Ok(index) => (None, index),
                Err(_) => partition.extract::<(String, i32)>().map(|(t, p)| (Some(t), p))?,
            };
            rows.push((topic, PartitionIndex(index), start("to", &to)?));
        }
        Ok(Self::Some(rows))
    }
}

/// The place that the argument `name` means.
pub(crate) fn start(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Start> {
    let misfit = || refused(&ConfigError::single(name, EXPECTED));
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
