//! Texts that people write: times, sizes, and the lines of keys in TOML.

use pyo3::types::{PyDict, PyDictMethods, PyTuple};
use pyo3::{Bound, IntoPyObject, PyAny, PyErr, PyResult, Python, pyfunction};

use super::errors::refused;
use crate::config::{self, ByteSize, Step};
use crate::python::docstrings::stub;

#[doc = stub!("interval")]
#[pyfunction]
pub(crate) fn interval(text: &str) -> Option<(i64, String)> {
    config::interval(text)
}

#[doc = stub!("size")]
#[pyfunction]
pub(crate) fn size(text: &str) -> Option<u64> {
    text.parse().ok().map(|ByteSize(bytes)| bytes)
}

#[doc = stub!("key_lines")]
#[pyfunction]
pub(crate) fn key_lines<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let lines = PyDict::new(py);
    for (path, line) in config::key_lines(text).map_err(|error| refused(&error))? {
        lines.set_item(PyTuple::new(py, path)?, line)?;
    }
    Ok(lines)
}

impl<'py> IntoPyObject<'py> for Step {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match self {
            Self::Key(key) => Ok(key.into_pyobject(py)?.into_any()),
            Self::Index(index) => Ok(index.into_pyobject(py)?.into_any()),
        }
    }
}
