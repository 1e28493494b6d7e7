//! The native class `Admin`: topics, settings, groups and the cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::types::{PyAnyMethods, PyDict};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::asking::{AdminResult, Asking, made};
use super::described;
use super::group::Group;
use crate::client::{self, AdminCalls, ClientError, FoundOffset, NewTopic, Resource};
use crate::config::ConfigError;
use crate::python::arguments::{self, Options};
use crate::python::docstrings::stub;
use crate::python::errors::{TopicExists, raised, refused};
use crate::python::futures::EventLoop;
use crate::python::owned::Owned;
use crate::types::{BrokerId, Offset, PartitionIndex, TopicPartition};

const RETENTION: &str = "retention.ms";
const KEPT: &str = "a timedelta, not negative";

#[doc = stub!("Admin")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Admin {
    asking: Asking,
}

impl Admin {
    /// Creates an administration on the connections of `client`; with an event loop, its methods
    /// return asyncio futures.
    pub(crate) fn of(
        client: &Owned<client::Client>,
        event_loop: Option<Py<EventLoop>>,
    ) -> PyResult<Self> {
        Ok(Self { asking: Asking::of(client, event_loop)? })
    }
}

#[pymethods]
impl Admin {
    #[doc = stub!("Admin.begin_offsets")]
    fn begin_offsets<'py>(&self, py: Python<'py>, topic: &str) -> AdminResult<'py> {
        self.asking.ask(py, |calls| calls.begin_offsets(topic), found)
    }

    #[doc = stub!("Admin.end_offsets")]
    fn end_offsets<'py>(&self, py: Python<'py>, topic: &str) -> AdminResult<'py> {
        self.asking.ask(py, |calls| calls.end_offsets(topic), found)
    }

    #[doc = stub!("Admin.offsets_at")]
    fn offsets_at<'py>(
        &self,
        py: Python<'py>,
        topic: &str,
        time: &Bound<'_, PyAny>,
    ) -> AdminResult<'py> {
        let time = arguments::timestamp("time", time)?.ok_or_else(|| {
            refused(&ConfigError::single("time", "expected an aware datetime or a timedelta"))
        })?;
        self.asking.ask(py, |calls| calls.offsets_at(topic, time), found)
    }

    #[doc = stub!("Admin.create_topic")]
    #[pyo3(
        signature = (name, **options),
        text_signature = "($self, name, *, partitions=None, replicas=None, retention=None, \
                          config=None, exist_ok=False)"
    )]
    fn create_topic<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> AdminResult<'py> {
        let mut options = Options::of(options)?;
        let exist_ok = options.take_as("exist_ok")?.unwrap_or(false);
        let topic = new_topic(options)?;
        self.asking.ask_outcome(
            py,
            |calls| calls.create_topic(name, &topic),
            move |py, created| match created.map_err(|error| raised(py, error)) {
                Err(error) if exist_ok && error.is_instance_of::<TopicExists>(py) => Ok(py.None()),
                created => created.map(|()| py.None()),
            },
        )
    }

    #[doc = stub!("Admin.delete_topic")]
    #[pyo3(signature = (name, *, missing_ok=false))]
    fn delete_topic<'py>(&self, py: Python<'py>, name: &str, missing_ok: bool) -> AdminResult<'py> {
        self.asking.ask_outcome(
            py,
            |calls| calls.delete_topic(name),
            move |py, deleted| match deleted {
                Err(ClientError::TopicNotFound { .. }) if missing_ok => Ok(py.None()),
                deleted => deleted.map(|()| py.None()).map_err(|error| raised(py, error)),
            },
        )
    }

    #[doc = stub!("Admin.topics")]
    #[pyo3(signature = (*, internal=false))]
    fn topics<'py>(&self, py: Python<'py>, internal: bool) -> AdminResult<'py> {
        self.asking.ask(py, AdminCalls::topics, move |py, topics| {
            let shown = topics.iter().filter(|topic| internal || !topic.is_internal);
            made(py, shown.map(|topic| topic.name.to_string()).collect::<Vec<_>>())
        })
    }

    #[doc = stub!("Admin.topic")]
    fn topic<'py>(&self, py: Python<'py>, name: &str) -> AdminResult<'py> {
        let describe = |py: Python<'_>, topic| described::topic(py, &topic).map(Bound::unbind);
        self.asking.ask(py, |calls| calls.topic(name), describe)
    }

    #[doc = stub!("Admin.set_partitions")]
    fn set_partitions<'py>(&self, name: &str, partitions: &Bound<'py, PyAny>) -> AdminResult<'py> {
        let count = arguments::value("partitions", partitions)?;
        let none = |py: Python<'_>, ()| Ok(py.None());
        self.asking.ask(partitions.py(), |calls| calls.create_partitions(name, count), none)
    }

    #[doc = stub!("Admin.delete_records")]
    fn delete_records<'py>(
        &self,
        topic: &str,
        partition: &Bound<'py, PyAny>,
        before: &Bound<'py, PyAny>,
    ) -> AdminResult<'py> {
        let py = before.py();
        let topic = topic.parse().map_err(|error: crate::types::InvalidTopicName| {
            refused(&ConfigError::single("topic", error.to_string()))
        })?;
        let partition = PartitionIndex(arguments::value("partition", partition)?);
        let partition = TopicPartition { topic, partition };
        let offset = Offset::checked(arguments::value("before", before)?);
        let before =
            offset.ok_or_else(|| arguments::misfit("before", before, "an offset, not negative"))?;
        let begin = |py: Python<'_>, begin: Offset| made(py, begin.get());
        self.asking.ask(py, |calls| calls.delete_records(&partition, before), begin)
    }

    #[doc = stub!("Admin.settings")]
    #[pyo3(signature = (*, topic=None, broker=None))]
    fn settings<'py>(
        &self,
        py: Python<'py>,
        topic: Option<String>,
        broker: Option<&Bound<'py, PyAny>>,
    ) -> AdminResult<'py> {
        let resource = resource(topic, broker)?;
        self.asking.ask(
            py,
            |calls| calls.configs(&resource),
            |py, rows| {
                let named = |row: &client::ConfigEntry| {
                    Ok((row.name.clone(), described::setting(py, row)?))
                };
                made(py, rows.iter().map(named).collect::<PyResult<BTreeMap<_, _>>>()?)
            },
        )
    }

    #[doc = stub!("Admin.set_settings")]
    #[pyo3(signature = (changes, *, topic=None, broker=None, dry_run=false))]
    fn set_settings<'py>(
        &self,
        changes: &Bound<'py, PyAny>,
        topic: Option<String>,
        broker: Option<&Bound<'py, PyAny>>,
        dry_run: bool,
    ) -> AdminResult<'py> {
        let resource = resource(topic, broker)?;
        let mut rows = Vec::new();
        for (name, value) in arguments::mapping("changes", changes)? {
            let text = if value.is_none() { None } else { Some(arguments::text(&name, &value)?) };
            rows.push((name, text));
        }
        let (py, none) = (changes.py(), |py: Python<'_>, ()| Ok(py.None()));
        self.asking.ask(py, |calls| calls.alter_configs(&resource, &rows, dry_run), none)
    }

    #[doc = stub!("Admin.groups")]
    fn groups<'py>(&self, py: Python<'py>) -> AdminResult<'py> {
        self.asking.ask(py, AdminCalls::groups, |py, groups| {
            made(py, groups.into_iter().map(|row| row.group).collect::<Vec<_>>())
        })
    }

    #[doc = stub!("Admin.group")]
    fn group(&self, py: Python<'_>, name: String) -> PyResult<Group> {
        Ok(Group::of(self.asking.again(py)?, name))
    }

    #[doc = stub!("Admin.cluster")]
    fn cluster<'py>(&self, py: Python<'py>) -> AdminResult<'py> {
        self.asking.ask(py, AdminCalls::cluster, |py, cluster| {
            described::cluster(py, &cluster).map(Bound::unbind)
        })
    }
}

/// Offsets by partition; `None` for a partition without one.
fn found(py: Python<'_>, found: Vec<FoundOffset>) -> PyResult<Py<PyAny>> {
    let row = |found: FoundOffset| (found.partition.partition.0, found.offset.map(Offset::get));
    made(py, found.into_iter().map(row).collect::<BTreeMap<_, _>>())
}

/// The resource whose settings are meant: a topic, a broker, or all brokers.
fn resource(topic: Option<String>, broker: Option<&Bound<'_, PyAny>>) -> PyResult<Resource> {
    match (topic, broker) {
        (Some(topic), None) => Ok(Resource::Topic(topic)),
        (None, Some(broker)) => Ok(Resource::Broker(BrokerId(arguments::value("broker", broker)?))),
        (None, None) => Ok(Resource::Brokers),
        (Some(_), Some(_)) => {
            let reason = "given with broker=: name a topic or a broker, not both";
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
    let retention = options.take("retention");
    if let Some(retention) = &retention {
        let kept: Duration =
            retention.extract().map_err(|_| arguments::misfit("retention", retention, KEPT))?;
        topic.configs.push((RETENTION.to_owned(), kept.as_millis().to_string()));
    }
    if let Some(configs) = options.take("config") {
        for (name, value) in arguments::mapping("config", &configs)? {
            if name == RETENTION && retention.is_some() {
                let reason = "given twice: here and as retention=";
                return Err(refused(&ConfigError::single(RETENTION, reason)));
            }
            let text = arguments::text(&name, &value)?;
            topic.configs.push((name, text));
        }
    }
    options.none_left()?;
    Ok(topic)
}
