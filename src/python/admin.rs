//! Creating, deleting and listing topics.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyDict, PyStringMethods};
use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use super::arguments::{self, Options};
use super::errors::{TopicExists, TopicNotFound, raised, refused};
use super::owned::Owned;
use crate::client::{self, ClientError, FoundOffset, NewTopic};
use crate::config::ConfigError;
use crate::types::Offset;

/// By partition; `None` where there is none.
type Offsets = BTreeMap<i32, Option<i64>>;

/// Administration of a cluster.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(super) struct Admin {
    inner: Owned<client::Admin>,
}

impl Admin {
    /// Over the connections of `client`.
    pub(super) fn of(client: &Owned<client::Client>) -> PyResult<Self> {
        Ok(Self { inner: Owned::new(client.get()?.admin(), client.birth()) })
    }
}

impl Admin {
    fn found<F>(&self, py: Python<'_>, topic: &str, ask: F) -> PyResult<Offsets>
    where
        F: Send + FnOnce(&client::Admin, &str) -> Result<Vec<FoundOffset>, ClientError>,
    {
        let admin = self.inner.get()?;
        let found = py.detach(|| ask(admin, topic)).map_err(|error| raised(py, error))?;
        let row = |found: FoundOffset| (found.partition.partition.0, found.offset.map(Offset::get));
        Ok(found.into_iter().map(row).collect())
    }
}

#[pymethods]
impl Admin {
    fn begin_offsets(&self, py: Python<'_>, topic: &str) -> PyResult<Offsets> {
        self.found(py, topic, client::Admin::begin_offsets)
    }

    fn end_offsets(&self, py: Python<'_>, topic: &str) -> PyResult<Offsets> {
        self.found(py, topic, client::Admin::end_offsets)
    }

    fn offsets_at(
        &self,
        py: Python<'_>,
        topic: &str,
        time: &Bound<'_, PyAny>,
    ) -> PyResult<Offsets> {
        let time = arguments::timestamp("time", time)?.ok_or_else(|| {
            refused(&ConfigError::single("time", "expected an aware datetime or a timedelta"))
        })?;
        self.found(py, topic, |admin, name| admin.offsets_at(name, time))
    }

    #[pyo3(
        signature = (name, **options),
        text_signature = "($self, name, *, partitions=None, replicas=None, retention=None, \
                          config=None, exist_ok=False)"
    )]
    fn create_topic(
        &self,
        py: Python<'_>,
        name: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let admin = self.inner.get()?;
        let mut options = Options::of(options)?;
        let exist_ok = options.take_as("exist_ok")?.unwrap_or(false);
        let topic = new_topic(options)?;
        let created = py.detach(|| admin.create_topic(name, &topic));
        match created.map_err(|error| raised(py, error)) {
            Err(error) if exist_ok && error.is_instance_of::<TopicExists>(py) => Ok(()),
            created => created,
        }
    }

    #[pyo3(signature = (name, *, missing_ok=false))]
    fn delete_topic(&self, py: Python<'_>, name: &str, missing_ok: bool) -> PyResult<()> {
        let admin = self.inner.get()?;
        let deleted = py.detach(|| admin.delete_topic(name));
        match deleted.map_err(|error| raised(py, error)) {
            Err(error) if missing_ok && error.is_instance_of::<TopicNotFound>(py) => Ok(()),
            deleted => deleted,
        }
    }

    #[pyo3(signature = (*, internal=false))]
    fn topics(&self, py: Python<'_>, internal: bool) -> PyResult<Vec<String>> {
        let admin = self.inner.get()?;
        let topics = py.detach(|| admin.topics()).map_err(|error| raised(py, error))?;
        let shown = topics.iter().filter(|topic| internal || !topic.is_internal);
        Ok(shown.map(|topic| topic.name.to_string()).collect())
    }
}

fn new_topic(mut options: Options<'_>) -> PyResult<NewTopic> {
    let mut topic = NewTopic {
        partitions: options.take_as("partitions")?,
        replicas: options.take_as("replicas")?,
        configs: Vec::new(),
    };
    if let Some(retention) = options.take_as::<Duration>("retention")? {
        topic.configs.push(("retention.ms".to_owned(), retention.as_millis().to_string()));
    }
    if let Some(configs) = options.take_as::<Bound<'_, PyDict>>("config")? {
        for (name, value) in configs {
            let value = value.str()?;
            topic.configs.push((name.extract()?, value.to_cow()?.into_owned()));
        }
    }
    options.none_left()?;
    Ok(topic)
}
