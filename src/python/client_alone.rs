//! Placeholders for the broker and the command line in a build without the engine.

use pyo3::exceptions::PySystemExit;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{Bound, PyErr, PyResult, pyclass, pymethods};

use super::errors::StreamlogError;
use crate::python::docstrings::stub;

#[doc = stub!("Broker")]
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(super) struct Broker;

#[pymethods]
impl Broker {
    #[new]
    #[pyo3(
        signature = (*_words, **_settings),
        text_signature = "(data_dir=None, *, nodes=None, listen='127.0.0.1:0', advertise=None, \
                          config=None, **settings)"
    )]
    fn new(_words: &Bound<'_, PyTuple>, _settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Err(StreamlogError::new_err(
            "this build of streamlog has no broker, which needs Linux: start one there, and pass \
             its address to streamlog.connect()",
        ))
    }
}

#[doc = stub!("Node")]
// The type of the items of `Broker.nodes`, for annotations; this build never creates one.
#[pyclass(frozen, module = "streamlog")]
#[derive(Debug)]
pub(super) struct Node;

/// Ends a program that was started as the command line.
pub(super) fn no_command() -> PyErr {
    PySystemExit::new_err(
        "this build of streamlog has neither the broker nor the command line, which need Linux: \
         use streamlog.connect() with the address of a broker",
    )
}
