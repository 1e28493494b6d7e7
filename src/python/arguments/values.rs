//! Conversion of arguments to one type. An invalid value is an error that names the argument, the
//! value and the expected form, instead of Python's own message.

use std::collections::HashMap;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::types::PyAnyMethods;
use pyo3::{Bound, PyAny, PyErr, PyResult};

use crate::config::{ConfigError, Fault};
use crate::python::errors::refused;

/// A type that arguments are converted to.
pub(crate) trait Expected {
    /// A description of valid values.
    const EXPECTED: &'static str;
}

impl Expected for bool {
    const EXPECTED: &'static str = "True or False";
}

impl Expected for i16 {
    const EXPECTED: &'static str = "a whole number of 16 bits";
}

impl Expected for i32 {
    const EXPECTED: &'static str = "a whole number of 32 bits";
}

impl Expected for i64 {
    const EXPECTED: &'static str = "a whole number of 64 bits";
}

impl Expected for u64 {
    const EXPECTED: &'static str = "a whole number of 64 bits, not negative";
}

impl Expected for usize {
    const EXPECTED: &'static str = u64::EXPECTED;
}

impl Expected for f64 {
    const EXPECTED: &'static str = "a number";
}

impl Expected for String {
    const EXPECTED: &'static str = "a text";
}

impl Expected for Vec<String> {
    const EXPECTED: &'static str = "a list of texts";
}

impl Expected for HashMap<(String, i32), i64> {
    const EXPECTED: &'static str = "a dict from (topic, partition) to an offset";
}

/// Converts the argument `name`.
pub(crate) fn value<'py, T>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: FromPyObjectOwned<'py> + Expected,
{
    value.extract().map_err(|_| misfit(name, value, T::EXPECTED))
}

/// The error for an invalid value of the argument `name`.
pub(crate) fn misfit(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    refused(&ConfigError { faults: vec![Fault::invalid(name, &value.to_string(), expected)] })
}
