//! The native class `Group`: a consumer group as administered from outside.

use std::collections::{BTreeMap, HashMap};

use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::asking::{AdminResult, Asking, made};
use super::described;
use crate::client::{PartitionLag, ResetTo, Start};
use crate::config::ConfigError;
use crate::python::arguments;
use crate::python::docstrings::stub;
use crate::python::errors::{raised, refused};
use crate::python::reading::read_topics;
use crate::types::{InvalidTopicName, Offset, PartitionIndex, TopicPartition};

/// Kafka's error name for a group that does not exist.
const MISSING: &str = "GROUP_ID_NOT_FOUND";

#[doc = stub!("Group")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Group {
    #[doc = stub!("Group.name")]
    #[pyo3(get)]
    name: String,
    asking: Asking,
}

impl Group {
    /// The group `name`, accessed through an administration.
    pub(super) fn of(asking: Asking, name: String) -> Self {
        Self { name, asking }
    }
}

#[pymethods]
impl Group {
    #[doc = stub!("Group.describe")]
    fn describe<'py>(&self, py: Python<'py>) -> AdminResult<'py> {
        let describe = |py: Python<'_>, group| described::group(py, &group).map(Bound::unbind);
        self.asking.ask(py, |calls| calls.group(&self.name), describe)
    }

    #[doc = stub!("Group.committed")]
    fn committed<'py>(&self, py: Python<'py>) -> AdminResult<'py> {
        self.asking.ask(
            py,
            |calls| calls.committed(&self.name),
            |py, rows| {
                let row =
                    |(at, offset): (&TopicPartition, &Offset)| (described::place(at), offset.get());
                made(py, rows.iter().map(row).collect::<BTreeMap<_, _>>())
            },
        )
    }

    #[doc = stub!("Group.lag")]
    fn lag<'py>(&self, py: Python<'py>) -> AdminResult<'py> {
        self.asking.ask(
            py,
            |calls| calls.lag(&self.name),
            |py, rows| {
                let row = |row: &PartitionLag| (described::place(&row.partition), row.lag());
                made(py, rows.iter().map(row).collect::<BTreeMap<_, _>>())
            },
        )
    }

    #[doc = stub!("Group.commit")]
    fn commit<'py>(&self, offsets: &Bound<'py, PyAny>) -> AdminResult<'py> {
        let py = offsets.py();
        let offsets: HashMap<_, _> = arguments::value("offsets", offsets)?;
        let rows: PyResult<Vec<_>> = offsets.into_iter().map(stored).collect();
        let rows = rows?;
        self.asking.ask(py, |calls| calls.set_offsets(&self.name, &rows), |py, ()| Ok(py.None()))
    }

    #[doc = stub!("Group.reset")]
    #[pyo3(signature = (topics, *, to, dry_run=false))]
    fn reset<'py>(
        &self,
        topics: &Bound<'py, PyAny>,
        to: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> AdminResult<'py> {
        let py = topics.py();
        let to = match arguments::start("to", to)? {
            Start::Earliest => ResetTo::Earliest,
            Start::Latest => ResetTo::Latest,
            Start::Offset(offset) => ResetTo::Offset(offset),
            Start::Time(time) => ResetTo::Time(time),
        };
        let names = read_topics(topics)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.asking.ask(
            py,
            |calls| calls.reset(&self.name, &names, to, dry_run),
            |py, rows| {
                let rows: PyResult<Vec<_>> =
                    rows.iter().map(|row| described::change(py, row)).collect();
                made(py, rows?)
            },
        )
    }

    #[doc = stub!("Group.delete")]
    #[pyo3(signature = (*, missing_ok=false))]
    fn delete<'py>(&self, py: Python<'py>, missing_ok: bool) -> AdminResult<'py> {
        self.asking.ask_outcome(
            py,
            |calls| calls.delete_group(&self.name),
            move |py, deleted| match deleted.map_err(|error| raised(py, error)) {
                Err(error) if missing_ok && is_missing(py, &error) => Ok(py.None()),
                deleted => deleted.map(|()| py.None()),
            },
        )
    }

    fn __repr__(&self) -> String {
        format!("Group({:?})", self.name)
    }
}

/// Parses a partition and the offset to commit for it.
fn stored(row: ((String, i32), i64)) -> PyResult<(TopicPartition, Offset)> {
    let ((topic, partition), number) = row;
    let topic = topic.parse().map_err(|error: InvalidTopicName| {
        refused(&ConfigError::single("offsets", error.to_string()))
    })?;
    let offset = Offset::checked(number)
        .ok_or_else(|| refused(&ConfigError::single("offsets", "an offset is not negative")))?;
    Ok((TopicPartition { topic, partition: PartitionIndex(partition) }, offset))
}

fn is_missing(py: Python<'_>, error: &PyErr) -> bool {
    let name = error.value(py).getattr("name");
    name.is_ok_and(|name| name.extract::<String>().is_ok_and(|name| name == MISSING))
}
