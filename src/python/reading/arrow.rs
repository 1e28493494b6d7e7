//! The native class `ArrowBatches`: Arrow record batches of consumed records.
//!
//! Columns are filled in Rust with the interpreter released, and exported through Arrow's C data
//! interface. pyarrow is an optional dependency, imported when first needed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyImportError;
use pyo3::types::{PyAnyMethods, PyCapsule, PyDict, PyModule};
use pyo3::{Bound, Py, PyAny, PyErr, PyResult, Python, pyclass, pymethods};

use super::session::{ByPartition, Readable};
use super::source::Source;
use crate::client::{ClientError, Column, Patience, RecordBatch, Rows, RowsMax};
use crate::config::{ConfigError, Fault};
use crate::python::arguments::{self, Options};
use crate::python::docstrings::stub;
use crate::python::errors::{MissingExtra, raised, refused};

/// The default time that a batch waits for more rows after the first.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// The capsules of a schema and an array, with the names that Arrow's PyCapsule interface requires.
type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

#[doc = stub!("ArrowBatches")]
#[pyclass(frozen, module = "streamlog._core.arrow")]
#[derive(Debug)]
pub(crate) struct ArrowBatches {
    /// The object read from; the reference keeps it from being closed.
    readable: Box<dyn Readable>,
    cut: Cut,
    /// The number of rows that may still follow; `None` without a limit.
    left: Option<Mutex<usize>>,
    pyarrow: Py<PyModule>,
}

/// The columns and limits of batches.
#[derive(Debug)]
struct Cut {
    columns: Vec<Column>,
    max: RowsMax,
    patience: Patience,
}

/// A batch being exported to another library.
#[pyclass(frozen, module = "streamlog._core.arrow")]
#[derive(Debug)]
struct ArrowBatch {
    batch: RecordBatch,
}

impl ArrowBatches {
    /// Creates batches of the records of `readable`, with the given options.
    pub(crate) fn of(
        py: Python<'_>,
        readable: impl Readable + 'static,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Self::read_options(py, Box::new(readable), Options::of(given)?, (None, None))
    }

    /// Creates batches with two more options: `limit`, the number of rows of all batches, and
    /// `timeout`, which limits the wait for each batch.
    pub(crate) fn limited(
        py: Python<'_>,
        readable: impl Readable + 'static,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut options = Options::of(given)?;
        let timeout = arguments::timeout("timeout", options.take("timeout").as_ref())?;
        let limit = options.take_as("limit")?;
        Self::read_options(py, Box::new(readable), options, (limit, timeout))
    }

    fn read_options(
        py: Python<'_>,
        readable: Box<dyn Readable>,
        options: Options<'_>,
        (limit, timeout): (Option<usize>, Option<Duration>),
    ) -> PyResult<Self> {
        let cut = Cut::read(options, timeout)?;
        let pyarrow = py.import("pyarrow").map_err(|error| missing(py, error))?.unbind();
        Ok(Self { readable, cut, left: limit.map(Mutex::new), pyarrow })
    }

    /// Reads the next batch; it is empty if there are no records, `None` at the limit of rows.
    fn read(&self, source: &dyn Source) -> Result<Option<RecordBatch>, ClientError> {
        let mut max = self.cut.max;
        // Held while reading: threads that share the iterator must not exceed the limit together.
        let mut left = self.left.as_ref().map(|l| l.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(left) = &left {
            max.rows = max.rows.min(**left);
        }
        if max.rows == 0 {
            return Ok(None);
        }
        let mut rows = Rows::new(&self.cut.columns, max);
        source.read_into(&mut rows, self.cut.patience)?;
        let batch = rows.finish();
        if let Some(left) = &mut left {
            **left = left.saturating_sub(batch.len());
        }
        Ok(Some(batch))
    }
}

#[pymethods]
impl ArrowBatches {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(source) = self.readable.source()? else { return Ok(None) };
        let hooks = self.readable.hooks();
        loop {
            hooks.attend(py, source.consumer())?;
            hooks.read_again(source).map_err(|error| raised(py, error))?;
            match py.detach(|| self.read(source)) {
                Ok(None) | Err(ClientError::Closed) => return Ok(None),
                Ok(Some(batch)) if !batch.is_empty() => {
                    let batch = Bound::new(py, ArrowBatch { batch })?;
                    return self.pyarrow.bind(py).call_method1("record_batch", (batch,)).map(Some);
                }
                Ok(Some(_)) if source.is_over() => return Ok(None),
                Ok(Some(_)) => {
                    if let Some(elapsed) = self.cut.patience.first {
                        return Err(raised(py, late(elapsed)));
                    }
                }
                Err(error) => return Err(raised(py, error)),
            }
        }
    }

    #[doc = stub!("ArrowBatches.schema")]
    #[getter]
    fn schema<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.get().pyarrow.bind(this.py()).call_method1("schema", (this,))
    }

    #[doc = stub!("ArrowBatches.positions")]
    fn positions(&self) -> PyResult<ByPartition<Option<i64>>> {
        self.readable.positions()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, Column::export(&self.cut.columns))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        this: &Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let readers = this.get().pyarrow.bind(this.py()).getattr("RecordBatchReader")?;
        let reader = readers.call_method1("from_batches", (Self::schema(this)?, this))?;
        reader.call_method1("__arrow_c_stream__", (requested_schema,))
    }
}

#[pymethods]
impl ArrowBatch {
    /// Exports the batch. Arrow permits ignoring `requested_schema`: the caller then casts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        drop(requested_schema);
        let (schema, array) = self.batch.export();
        Ok((schema_capsule(py, schema)?, array_capsule(py, array)?))
    }
}

impl Cut {
    fn read(mut options: Options<'_>, first: Option<Duration>) -> PyResult<Self> {
        let columns = options.take_as::<Vec<String>>("columns")?;
        let rows = options.take_as::<usize>("max_rows")?;
        let bytes = options.take("max_bytes");
        let max_wait = options.take("max_wait");
        options.none_left()?;
        let columns = match columns {
            Some(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Column::named(&names).map_err(|faults| refused(&faults))?
            }
            None => Column::ALL.to_vec(),
        };
        let mut max = RowsMax::default();
        max.rows = rows.unwrap_or(max.rows);
        if let Some(bytes) = bytes {
            let text: String = bytes.str()?.extract()?;
            max.bytes = text.parse().map_err(|reason| {
                let key = "max_bytes".to_owned();
                refused(&ConfigError { faults: vec![Fault { key, reason }] })
            })?;
        }
        max.check().map_err(|faults| refused(&faults))?;
        let more = match max_wait {
            Some(seconds) => arguments::max_wait("max_wait", &seconds)?,
            None => MAX_WAIT,
        };
        Ok(Self { columns, max, patience: Patience { first, more } })
    }
}

/// The error of a batch that did not arrive in time.
fn late(elapsed: Duration) -> ClientError {
    ClientError::Timeout { operation: "reading", elapsed, last_error: None }
}

fn schema_capsule(py: Python<'_>, schema: FFI_ArrowSchema) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn array_capsule(py: Python<'_>, array: FFI_ArrowArray) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, array, c"arrow_array")
}

/// The error of a failed import of pyarrow.
fn missing(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyImportError>(py) {
        return error;
    }
    let raised = MissingExtra::new_err(format!(
        "Arrow batches need pyarrow, which cannot be imported ({}): pip install 'pyarrow>=15'",
        error.value(py)
    ));
    raised.set_cause(py, Some(error));
    raised
}
