//! Waiting for administration calls: on the caller's thread, or on an event loop.

use pyo3::{Bound, IntoPyObject, IntoPyObjectExt, Py, PyAny, PyResult, Python};

use crate::client::{self, AdminCalls, Call, ClientError};
use crate::python::errors::raised;
use crate::python::futures::EventLoop;
use crate::python::owned::Owned;

/// The result of a method: the value described in its stub, or an asyncio future of it.
pub(super) type AdminResult<'py> = PyResult<Bound<'py, PyAny>>;

/// Administration, whose calls block the thread or wait on an event loop.
#[derive(Debug)]
pub(super) struct Asking {
    admin: Owned<client::Admin>,
    event_loop: Option<Py<EventLoop>>,
}

impl Asking {
    /// Uses the connections of `client`; without an event loop, calls block the thread.
    pub(super) fn of(
        client: &Owned<client::Client>,
        event_loop: Option<Py<EventLoop>>,
    ) -> PyResult<Self> {
        Ok(Self { admin: Owned::new(client.get()?.admin(), client.birth()), event_loop })
    }

    /// Another handle on the same administration.
    pub(super) fn again(&self, py: Python<'_>) -> PyResult<Self> {
        let admin = Owned::new(self.admin.get()?.clone(), self.admin.birth());
        Ok(Self { admin, event_loop: self.event_loop.as_ref().map(|own| own.clone_ref(py)) })
    }

    /// Runs a call and converts its result to Python.
    pub(super) fn ask<'py, T, M>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&AdminCalls) -> Call<T>,
        make: M,
    ) -> AdminResult<'py>
    where
        T: Send + 'static,
        M: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        self.ask_outcome(py, call, |py, outcome| match outcome {
            Ok(value) => make(py, value),
            Err(error) => Err(raised(py, error)),
        })
    }

    /// As [`ask`](Self::ask), for calls of which an error can be a valid result.
    pub(super) fn ask_outcome<'py, T, M>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&AdminCalls) -> Call<T>,
        make: M,
    ) -> AdminResult<'py>
    where
        T: Send + 'static,
        M: FnOnce(Python<'_>, Result<T, ClientError>) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        let call = call(self.admin.get()?.calls());
        match &self.event_loop {
            Some(event_loop) => EventLoop::start(event_loop.bind(py), call.into_future(), make),
            None => make(py, py.detach(|| call.wait())).map(|made| made.into_bound(py)),
        }
    }
}

/// Converts a value to Python.
pub(super) fn made<'py, T>(py: Python<'py>, value: T) -> PyResult<Py<PyAny>>
where
    T: IntoPyObject<'py>,
{
    value.into_py_any(py)
}
