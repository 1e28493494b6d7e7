//! Columns of pyarrow, converted to columns of the client.
//!
//! Columns arrive as memory views of Arrow's buffers, each with its element type. They are copied
//! as a whole, so that the interpreter can be released while records are created.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::types::{PyAnyMethods, PyDict, PyDictMethods};
use pyo3::{Bound, FromPyObject, PyAny, PyResult};

use crate::client::{BytesGiven, ColumnsGiven, HeadersGiven, NumbersGiven, Validity};
use crate::python::errors::refused;

/// The validity bitmap, the end offsets, and the bytes.
type BytesParts<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>, Bound<'py, PyAny>);
/// The validity bitmap, the end offsets, the keys and the values.
type HeadersParts<'py> =
    (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>, BytesParts<'py>, BytesParts<'py>);
/// The validity bitmap, and the numbers.
type NumbersParts<'py> = (Option<Bound<'py, PyAny>>, Bound<'py, PyAny>);

/// Converts columns of `rows` rows, given by name, to columns of the client.
pub(super) fn columns(rows: usize, parts: &Bound<'_, PyDict>) -> PyResult<ColumnsGiven> {
    Ok(ColumnsGiven {
        rows,
        topic: part(parts, "topic", bytes)?,
        partition: part(parts, "partition", numbers)?,
        timestamp: part(parts, "timestamp", numbers)?,
        key: part(parts, "key", bytes)?,
        value: part(parts, "value", bytes)?,
        headers: part(parts, "headers", headers)?,
    })
}

fn part<'py, P, T>(
    parts: &Bound<'py, PyDict>,
    name: &str,
    make: impl FnOnce(P) -> PyResult<T>,
) -> PyResult<Option<T>>
where
    P: for<'a> FromPyObject<'a, 'py>,
{
    let Some(part) = parts.get_item(name)? else { return Ok(None) };
    make(part.extract().map_err(Into::into)?).map(Some)
}

fn bytes((validity, ends, bytes): BytesParts<'_>) -> PyResult<BytesGiven> {
    let given = BytesGiven::new(bits(validity)?, elements(&ends)?, elements(&bytes)?);
    given.map_err(|fault| refused(&fault))
}

fn numbers<T: Element>((validity, numbers): NumbersParts<'_>) -> PyResult<NumbersGiven<T>> {
    Ok(NumbersGiven::new(bits(validity)?, elements(&numbers)?))
}

fn headers((validity, ends, keys, values): HeadersParts<'_>) -> PyResult<HeadersGiven> {
    let (validity, ends) = (bits(validity)?, elements(&ends)?);
    Ok(HeadersGiven { validity, ends, keys: bytes(keys)?, values: bytes(values)? })
}

fn bits(given: Option<Bound<'_, PyAny>>) -> PyResult<Validity> {
    given.map(|bits| elements(&bits)).transpose().map(Validity::new)
}

fn elements<T: Element>(view: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(view)?.to_vec(view.py())
}
