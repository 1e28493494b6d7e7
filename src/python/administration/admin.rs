//! Topics, settings, groups and the cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use super::described;
use super::group::Group;
use crate::client::{self, ClientError, FoundOffset, NewTopic, Resource};
use crate::config::ConfigError;
use crate::python::arguments::{self, Options};
use crate::python::errors::{TopicExists, TopicNotFound, raised, refused};
use crate::python::owned::Owned;
use crate::types::{BrokerId, Offset, PartitionIndex, TopicPartition};

/// By partition; `None` where there is none.
type Offsets = BTreeMap<i32, Option<i64>>;

/// Administration of a cluster.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Admin {
    inner: Owned<client::Admin>,
}

impl Admin {
    /// Over the connections of `client`.
    pub(crate) fn of(client: &Owned<client::Client>) -> PyResult<Self> {
        Ok(Self { inner: Owned::new(client.get()?.admin(), client.birth()) })
    }

    fn ask<T, F>(&self, py: Python<'_>, ask: F) -> PyResult<T>
    where
        T: Send,
        F: Send + FnOnce(&client::Admin) -> Result<T, ClientError>,
    {
        let admin = self.inner.get()?;
        py.detach(|| ask(admin)).map_err(|error| raised(py, error))
    }

    fn found<F>(&self, py: Python<'_>, topic: &str, ask: F) -> PyResult<Offsets>
    where
        F: Send + FnOnce(&client::Admin, &str) -> Result<Vec<FoundOffset>, ClientError>,
    {
        let found = self.ask(py, |admin| ask(admin, topic))?;
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
        let topics = self.ask(py, client::Admin::topics)?;
        let shown = topics.iter().filter(|topic| internal || !topic.is_internal);
        Ok(shown.map(|topic| topic.name.to_string()).collect())
    }

    fn topic<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        described::topic(py, &self.ask(py, |admin| admin.topic(name))?)
    }

    fn set_partitions(&self, py: Python<'_>, name: &str, partitions: i32) -> PyResult<()> {
        self.ask(py, |admin| admin.create_partitions(name, partitions))
    }

    fn delete_records(
        &self,
        py: Python<'_>,
        topic: &str,
        partition: i32,
        before: i64,
    ) -> PyResult<i64> {
        let topic = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
            refused(&ConfigError::single("topic", error.to_string()))
        })?;
        let before = Offset::checked(before)
            .ok_or_else(|| refused(&ConfigError::single("before", "an offset is not negative")))?;
        let partition = TopicPartition { topic, partition: PartitionIndex(partition) };
        self.ask(py, |admin| admin.delete_records(&partition, before)).map(Offset::get)
    }

    #[pyo3(signature = (*, topic=None, broker=None))]
    fn settings<'py>(
        &self,
        py: Python<'py>,
        topic: Option<String>,
        broker: Option<i32>,
    ) -> PyResult<BTreeMap<String, Bound<'py, PyAny>>> {
        let resource = resource(topic, broker)?;
        let rows = self.ask(py, |admin| admin.configs(&resource))?;
        rows.iter().map(|row| Ok((row.name.clone(), described::setting(py, row)?))).collect()
    }

    #[pyo3(signature = (changes, *, topic=None, broker=None, dry_run=false))]
    fn set_settings(
        &self,
        changes: &Bound<'_, PyDict>,
        topic: Option<String>,
        broker: Option<i32>,
        dry_run: bool,
    ) -> PyResult<()> {
        let resource = resource(topic, broker)?;
        let mut rows = Vec::with_capacity(changes.len());
        for (name, value) in changes {
            let text = if value.is_none() { None } else { Some(arguments::text(&name, &value)?) };
            rows.push((name.extract()?, text));
        }
        self.ask(changes.py(), |admin| admin.alter_configs(&resource, &rows, dry_run))
    }

    fn groups(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let groups = self.ask(py, client::Admin::groups)?;
        Ok(groups.into_iter().map(|row| row.group).collect())
    }

    fn group(&self, name: String) -> PyResult<Group> {
        Group::of(&self.inner, name)
    }

    fn cluster<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        described::cluster(py, &self.ask(py, client::Admin::cluster)?)
    }
}

/// What settings are of: a topic, a broker, or all brokers.
fn resource(topic: Option<String>, broker: Option<i32>) -> PyResult<Resource> {
    match (topic, broker) {
        (Some(topic), None) => Ok(Resource::Topic(topic)),
        (None, Some(broker)) => Ok(Resource::Broker(BrokerId(broker))),
        (None, None) => Ok(Resource::Brokers),
        (Some(_), Some(_)) => {
            let reason = "given with broker=: settings are of the one or of the other";
            Err(refused(&ConfigError::single("topic", reason)))
        }
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
            topic.configs.push((name.extract()?, arguments::text(&name, &value)?));
        }
    }
    options.none_left()?;
    Ok(topic)
}
