//! What a topic's logs hold, partition by partition.

use std::collections::BTreeMap;

use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use crate::client::{self, ClientError, FoundOffset};
use crate::config::ConfigError;
use crate::python::arguments;
use crate::python::errors::{raised, refused};
use crate::python::owned::Owned;
use crate::types::Offset;

type Offsets = BTreeMap<i32, Option<i64>>;

/// A topic.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Topic {
    #[pyo3(get)]
    name: String,
    admin: Owned<client::Admin>,
}

impl Topic {
    /// The topic `name`, seen over the connections of `client`.
    pub(crate) fn of(client: &Owned<client::Client>, name: String) -> PyResult<Self> {
        Ok(Self { name, admin: Owned::new(client.get()?.admin(), client.birth()) })
    }

    fn asked<F>(&self, py: Python<'_>, ask: F) -> PyResult<Offsets>
    where
        F: Send + FnOnce(&client::Admin, &str) -> Result<Vec<FoundOffset>, ClientError>,
    {
        let admin = self.admin.get()?;
        let found = py.detach(|| ask(admin, &self.name)).map_err(|error| raised(py, error))?;
        let row = |found: FoundOffset| (found.partition.partition.0, found.offset.map(Offset::get));
        Ok(found.into_iter().map(row).collect())
    }
}

#[pymethods]
impl Topic {
    fn partitions(&self, py: Python<'_>) -> PyResult<usize> {
        let admin = self.admin.get()?;
        let topic = py.detach(|| admin.topic(&self.name)).map_err(|error| raised(py, error))?;
        Ok(topic.partitions.len())
    }

    fn begin_offsets(&self, py: Python<'_>) -> PyResult<Offsets> {
        self.asked(py, client::Admin::begin_offsets)
    }

    fn end_offsets(&self, py: Python<'_>) -> PyResult<Offsets> {
        self.asked(py, client::Admin::end_offsets)
    }

    fn offsets_at(&self, py: Python<'_>, time: &Bound<'_, PyAny>) -> PyResult<Offsets> {
        let time = arguments::timestamp("time", time)?.ok_or_else(|| {
            refused(&ConfigError::single("time", "expected an aware datetime or a timedelta"))
        })?;
        self.asked(py, |admin, name| admin.offsets_at(name, time))
    }

    fn __repr__(&self) -> String {
        format!("Topic({:?})", self.name)
    }
}
