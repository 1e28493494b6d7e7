//! A group of consumers, seen from outside.

use std::collections::HashMap;

use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::described;
use crate::client::{self, ClientError, ResetTo, Start};
use crate::python::arguments;
use crate::python::errors::raised;
use crate::python::owned::Owned;
use crate::python::reading::read_topics;

/// Kafka's name for a group that is not there.
const MISSING: &str = "GROUP_ID_NOT_FOUND";

/// By topic and partition.
type ByPartition<T> = HashMap<(String, i32), T>;

/// A group of consumers.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(crate) struct Group {
    #[pyo3(get)]
    name: String,
    admin: Owned<client::Admin>,
}

impl Group {
    /// The group `name`, by way of an administration.
    pub(super) fn of(admin: &Owned<client::Admin>, name: String) -> PyResult<Self> {
        Ok(Self { name, admin: Owned::new(admin.get()?.clone(), admin.birth()) })
    }

    fn ask<T, F>(&self, py: Python<'_>, ask: F) -> PyResult<T>
    where
        T: Send,
        F: Send + FnOnce(&client::Admin, &str) -> Result<T, ClientError>,
    {
        let admin = self.admin.get()?;
        py.detach(|| ask(admin, &self.name)).map_err(|error| raised(py, error))
    }
}

#[pymethods]
impl Group {
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        described::group(py, &self.ask(py, client::Admin::group)?)
    }

    fn committed(&self, py: Python<'_>) -> PyResult<ByPartition<i64>> {
        let rows = self.ask(py, client::Admin::committed)?;
        Ok(rows.iter().map(|(at, offset)| (described::place(at), offset.get())).collect())
    }

    fn lag(&self, py: Python<'_>) -> PyResult<ByPartition<u64>> {
        let rows = self.ask(py, client::Admin::lag)?;
        Ok(rows.iter().map(|row| (described::place(&row.partition), row.lag())).collect())
    }

    #[pyo3(signature = (topics, *, to, dry_run=false))]
    fn reset<'py>(
        &self,
        topics: &Bound<'py, PyAny>,
        to: &Bound<'py, PyAny>,
        dry_run: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = topics.py();
        let to = match arguments::start("to", to)? {
            Start::Earliest => ResetTo::Earliest,
            Start::Latest => ResetTo::Latest,
            Start::Offset(offset) => ResetTo::Offset(offset),
            Start::Time(time) => ResetTo::Time(time),
        };
        let names = read_topics(topics)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let changes = self.ask(py, |admin, name| admin.plan_reset(name, &names, to))?;
        if !dry_run {
            let rows: Vec<_> = changes.iter().map(|row| (row.partition.clone(), row.to)).collect();
            self.ask(py, |admin, name| admin.set_offsets(name, &rows))?;
        }
        changes.iter().map(|row| described::change(py, row)).collect()
    }

    #[pyo3(signature = (*, missing_ok=false))]
    fn delete(&self, py: Python<'_>, missing_ok: bool) -> PyResult<()> {
        match self.ask(py, client::Admin::delete_group) {
            Err(error) if missing_ok && is_missing(py, &error) => Ok(()),
            deleted => deleted,
        }
    }

    fn __repr__(&self) -> String {
        format!("Group({:?})", self.name)
    }
}

fn is_missing(py: Python<'_>, error: &PyErr) -> bool {
    let name = error.value(py).getattr("name");
    name.is_ok_and(|name| name.extract::<String>().is_ok_and(|name| name == MISSING))
}
