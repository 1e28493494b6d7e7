//! User code of a producer: serializers, and a partitioner.

use pyo3::types::{PyAnyMethods, PyBytes, PyString};
use pyo3::{Py, PyAny, PyResult, Python};

use super::given::Given;
use crate::client;
use crate::config::{ConfigError, Fault};
use crate::python::arguments::{self, Options};
use crate::python::errors::{raised, refused};

/// The conversion of application values to records.
#[derive(Debug, Default)]
pub(crate) struct Making {
    pub(crate) key: Option<Py<PyAny>>,
    pub(crate) value: Option<Py<PyAny>>,
    pub(crate) partitioner: Option<Chooser>,
    pub(crate) texts: Texts,
}

/// The treatment of a `str` where bytes are expected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Texts {
    /// Refused, since it can be encoded in several ways.
    #[default]
    Refused,
    /// Encoded as UTF-8.
    Utf8,
}

/// The application's partitioner.
#[derive(Debug)]
pub(crate) struct Chooser {
    choose: Py<PyAny>,
}

impl Making {
    /// Takes a producer's options that are user code.
    pub(crate) fn of(options: &mut Options<'_>) -> PyResult<Self> {
        let is_name = options.peek("partitioner").is_some_and(|own| own.cast::<PyString>().is_ok());
        let choose = if is_name { None } else { options.take_callable("partitioner")? };
        Ok(Self {
            key: options.take_callable("key")?,
            value: options.take_callable("value")?,
            partitioner: choose.map(|choose| Chooser { choose }),
            texts: read_texts(options.take_as::<String>("encoding")?)?,
        })
    }
}

fn read_texts(encoding: Option<String>) -> PyResult<Texts> {
    match encoding.map(|name| name.to_ascii_lowercase()).as_deref() {
        None => Ok(Texts::Refused),
        Some("utf-8" | "utf8") => Ok(Texts::Utf8),
        Some(other) => {
            let fault = Fault::invalid("encoding", other, "\"utf-8\"");
            Err(refused(&ConfigError { faults: vec![fault] }))
        }
    }
}

impl Chooser {
    /// Chooses the partition of a record.
    pub(super) fn choose(
        &self,
        py: Python<'_>,
        producer: &client::Producer,
        topic: &str,
        record: &Given,
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
