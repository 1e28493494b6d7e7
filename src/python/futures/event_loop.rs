//! An asyncio event loop whose thread polls the client's futures.

use std::collections::HashMap;
use std::fmt;
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use pyo3::types::PyAnyMethods;
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use super::wakeup::Wakeup;
use crate::client::ClientError;
use crate::python::errors::{StreamlogError, raised};

/// The event loop of one client.
#[pyclass(frozen, module = "streamlog._core.aio")]
#[derive(Debug)]
pub(crate) struct EventLoop {
    asyncio: Py<PyAny>,
    running: Py<PyAny>,
    wakeup: Arc<Wakeup>,
    works: Mutex<Works>,
    is_closed: AtomicBool,
}

/// The pending futures.
#[derive(Debug, Default)]
struct Works {
    next: u64,
    waiting: HashMap<u64, Work>,
}

/// A Rust future, and the asyncio future that represents it.
struct Work {
    future: Box<dyn Awaited>,
    awaited: Py<PyAny>,
    waker: Waker,
}

/// A done callback that drops the Rust future; it matters after a cancellation.
#[pyclass(frozen, module = "streamlog._core.aio")]
#[derive(Debug)]
struct Forget {
    event_loop: Py<EventLoop>,
    number: u64,
}

/// A future with a Python object as its result.
trait Awaited: Send {
    fn poll(&mut self, py: Python<'_>, context: &mut Context<'_>) -> Poll<PyResult<Py<PyAny>>>;
}

/// A future, and the conversion of its result to Python.
struct Awaiting<F, M> {
    future: Pin<Box<F>>,
    make: Option<M>,
}

impl<F, M> Awaited for Awaiting<F, M>
where
    F: Future + Send,
    M: FnOnce(Python<'_>, F::Output) -> PyResult<Py<PyAny>> + Send,
{
    fn poll(&mut self, py: Python<'_>, context: &mut Context<'_>) -> Poll<PyResult<Py<PyAny>>> {
        let Poll::Ready(outcome) = self.future.as_mut().poll(context) else { return Poll::Pending };
        match self.make.take() {
            Some(make) => Poll::Ready(make(py, outcome)),
            None => unreachable!("a future was polled after its end"),
        }
    }
}

impl EventLoop {
    /// Polls `future` until it is ready. Returns an asyncio future of its result converted by
    /// `make`; cancelling the asyncio future drops `future`.
    pub(crate) fn start<'py, F, M>(
        this: &Bound<'py, Self>,
        future: F,
        make: M,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future + Send + 'static,
        M: FnOnce(Python<'_>, F::Output) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        let (py, own) = (this.py(), this.get());
        own.check_running(py)?;
        if own.is_closed.load(Ordering::Acquire) {
            // Nobody would poll the future.
            return Err(raised(py, ClientError::Closed));
        }
        let awaited = own.asyncio.bind(py).call_method0("create_future")?;
        let number = own.next_number();
        let waker = own.wakeup.waker(number);
        let mut future: Box<dyn Awaited> =
            Box::new(Awaiting { future: Box::pin(future), make: Some(make) });
        match future.poll(py, &mut Context::from_waker(&waker)) {
            Poll::Ready(outcome) => settle(&awaited, outcome)?,
            Poll::Pending => {
                let work = Work { future, awaited: awaited.clone().unbind(), waker };
                own.works().waiting.insert(number, work);
                let forget = Forget { event_loop: this.clone().unbind(), number };
                awaited.call_method1("add_done_callback", (forget,))?;
            }
        }
        Ok(awaited)
    }

    /// As [`start`](Self::start), for a future that may fail.
    pub(crate) fn ask<'py, T, F, M>(
        this: &Bound<'py, Self>,
        future: F,
        make: M,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        F: Future<Output = Result<T, ClientError>> + Send + 'static,
        M: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        Self::start(this, future, |py, outcome| match outcome {
            Ok(value) => make(py, value),
            Err(error) => Err(raised(py, error)),
        })
    }

    /// Fails if another event loop is running, since that loop would never be woken.
    fn check_running(&self, py: Python<'_>) -> PyResult<()> {
        if self.running.bind(py).call0()?.is(self.asyncio.bind(py)) {
            return Ok(());
        }
        let text = "this belongs to another event loop: connect once for each loop";
        Err(StreamlogError::new_err(text))
    }

    fn next_number(&self) -> u64 {
        let mut works = self.works();
        works.next = works.next.wrapping_add(1);
        works.next
    }

    fn works(&self) -> MutexGuard<'_, Works> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl EventLoop {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let running = py.import("asyncio")?.getattr("get_running_loop")?;
        Ok(Self {
            asyncio: running.call0()?.unbind(),
            running: running.unbind(),
            wakeup: Arc::new(Wakeup::new()?),
            works: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The descriptor that is readable while woken futures wait to be polled.
    fn fileno(&self) -> RawFd {
        self.wakeup.descriptor()
    }

    /// Polls the futures that were woken.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        for number in self.wakeup.take() {
            let work = self.works().waiting.remove(&number);
            let Some(mut work) = work else { continue };
            match work.future.poll(py, &mut Context::from_waker(&work.waker)) {
                Poll::Ready(outcome) => settle(work.awaited.bind(py), outcome)?,
                Poll::Pending => {
                    self.works().waiting.insert(number, work);
                }
            }
        }
        Ok(())
    }

    /// Fails all pending and all further futures with `Closed`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.is_closed.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut self.works().waiting);
        for work in waiting.into_values() {
            settle(work.awaited.bind(py), Err(raised(py, ClientError::Closed)))?;
        }
        Ok(())
    }
}

#[pymethods]
impl Forget {
    fn __call__(&self, _awaited: &Bound<'_, PyAny>) {
        let work = self.event_loop.get().works().waiting.remove(&self.number);
        // Drop it after releasing the lock: dropping may run arbitrary Python code.
        drop(work);
    }
}

/// Sets the result of an asyncio future, unless it was cancelled.
fn settle(awaited: &Bound<'_, PyAny>, outcome: PyResult<Py<PyAny>>) -> PyResult<()> {
    if awaited.call_method0("done")?.is_truthy()? {
        return Ok(());
    }
    match outcome {
        Ok(value) => awaited.call_method1("set_result", (value,)),
        Err(error) => awaited.call_method1("set_exception", (error,)),
    }?;
    Ok(())
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").finish_non_exhaustive()
    }
}
