//! How administration waits for its answers: on the caller's thread, or by an event loop.

use pyo3::{Bound, IntoPyObject, IntoPyObjectExt, Py, PyAny, PyResult, Python};

use crate::client::{self, AdminCalls, Call, ClientError};
use crate::python::aio::EventLoop;
use crate::python::errors::raised;
use crate::python::owned::Owned;

/// What a method returns: what its stub says, or an asyncio future of that.
pub(super) type Asked<'py> = PyResult<Bound<'py, PyAny>>;

/// Administration, and by what it is waited for.
#[derive(Debug)]
pub(super) struct Asking {
    admin: Owned<client::Admin>,
    event_loop: Option<Py<EventLoop>>,
}

impl Asking {
    /// By way of `client`; without a loop, by threads that wait.
    pub(super) fn of(
        client: &Owned<client::Client>,
        event_loop: Option<Py<EventLoop>>,
    ) -> PyResult<Self> {
        Ok(Self { admin: Owned::new(client.get()?.admin(), client.birth()), event_loop })
    }

    /// The same once more.
    pub(super) fn again(&self, py: Python<'_>) -> PyResult<Self> {
        let admin = Owned::new(self.admin.get()?.clone(), self.admin.birth());
        Ok(Self { admin, event_loop: self.event_loop.as_ref().map(|own| own.clone_ref(py)) })
    }

    /// Asks, and makes what Python gets of the answer.
    pub(super) fn ask<'py, T, M>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&AdminCalls) -> Call<T>,
        make: M,
    ) -> Asked<'py>
    where
        T: Send + 'static,
        M: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        self.ask_whether(py, call, |py, outcome| match outcome {
            Ok(value) => make(py, value),
            Err(error) => Err(raised(py, error)),
        })
    }

    /// As [`ask`](Self::ask), where an error can be an answer.
    pub(super) fn ask_whether<'py, T, M>(
        &self,
        py: Python<'py>,
        call: impl FnOnce(&AdminCalls) -> Call<T>,
        make: M,
    ) -> Asked<'py>
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

/// As Python has it.
pub(super) fn made<'py, T>(py: Python<'py>, value: T) -> PyResult<Py<PyAny>>
where
    T: IntoPyObject<'py>,
{
    value.into_py_any(py)
}
