//! A partitioner in Python.

use pyo3::types::{PyAnyMethods, PyBytes, PyString};
use pyo3::{Py, PyAny, PyResult, Python};

use super::record::OwnedRecord;
use crate::client;
use crate::config::ConfigError;
use crate::python::arguments::{self, Options};
use crate::python::errors::{raised, refused};

/// The application's partitioner: a callable of topic, key, value and the number of partitions.
#[derive(Debug)]
pub(super) struct Partitioner {
    choose: Py<PyAny>,
}

impl Partitioner {
    /// Takes the option `partitioner`, unless it names a strategy of the client.
    pub(super) fn of(options: &mut Options<'_>) -> PyResult<Option<Self>> {
        let is_name = options.peek("partitioner").is_some_and(|own| own.cast::<PyString>().is_ok());
        let choose = if is_name { None } else { options.take_callable("partitioner")? };
        Ok(choose.map(|choose| Self { choose }))
    }

    /// Chooses the partition of a record of `topic`.
    pub(super) fn choose(
        &self,
        py: Python<'_>,
        producer: &client::Producer,
        topic: &str,
        record: &OwnedRecord,
    ) -> PyResult<i32> {
        let count = py.detach(|| producer.partition_count(topic));
        let count = count.map_err(|error| raised(py, error))?;
        let key = record.key.as_deref().map(|key| PyBytes::new(py, key));
        let value = record.value.as_deref().map(|value| PyBytes::new(py, value));
        let chosen = self.choose.bind(py).call1((topic, key, value, count))?;
        let chosen: i32 = arguments::value("partitioner", &chosen)?;
        if usize::try_from(chosen).is_ok_and(|chosen| chosen < count) {
            return Ok(chosen);
        }
        let reason = format!("it chose partition {chosen} of '{topic}', which has {count}");
        Err(refused(&ConfigError::single("partitioner", reason)))
    }
}
