//! What belongs to the process that made it.
//!
//! After `fork` a child has its parent's connections, but not the thread that serves them: every
//! wait would be for ever, and so would be the end of that thread, for which a client waits when it
//! is dropped. So what a child inherited is never dropped there, and at its first use it is made
//! anew, as clients and producers are, or refused, as a consumer is whose place is the parent's.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::{ArcSwap, Guard};
use pyo3::types::{IntoPyDict, PyAnyMethods, PyModule};
use pyo3::{Bound, PyResult, Python, pyclass, pymethods};

use super::errors::ForkError;

/// How often this process was forked off since the module was loaded; kept by the module.
#[pyclass(frozen, module = "streamlog._core")]
#[derive(Debug)]
pub(crate) struct Forks {
    /// Read for as long as the process lives, by whatever was made in it.
    count: &'static AtomicU32,
}

/// The process that something was made in, as far as forks tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    forks: &'static AtomicU32,
    at: u32,
}

/// A value that only the process that made it uses and drops.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    value: Option<T>,
    birth: Birth,
}

/// A value that a forked child makes anew when it uses it.
#[derive(Debug)]
pub(crate) struct Renewed<T> {
    current: ArcSwap<Owned<T>>,
}

#[pymethods]
impl Forks {
    fn forked(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }
}

impl Forks {
    const NAME: &str = "_forks";

    /// Lets the module count forks.
    pub(crate) fn install(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let forks = Bound::new(py, Self { count: Box::leak(Box::default()) })?;
        let options = [("after_in_child", forks.getattr("forked")?)].into_py_dict(py)?;
        py.import("os")?.call_method("register_at_fork", (), Some(&options))?;
        module.setattr(Self::NAME, forks)
    }
}

impl Birth {
    /// Now, in this process.
    pub(crate) fn now(py: Python<'_>) -> PyResult<Self> {
        let forks = py.import("streamlog._core")?.getattr(Forks::NAME)?;
        let forks = forks.cast::<Forks>()?.get().count;
        let at = forks.load(Ordering::Acquire);
        Ok(Self { forks, at })
    }

    /// Fails in a process that was forked off since.
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.is_here() {
            return Ok(());
        }
        Err(ForkError::new_err(
            "this belongs to the process that this one was forked from: make it anew in the \
             child, as client.consumer(...) does, or start processes with \"spawn\"",
        ))
    }

    fn is_here(&self) -> bool {
        self.forks.load(Ordering::Acquire) == self.at
    }
}

impl<T> Owned<T> {
    /// Takes care of `value`, made in the process of `birth`.
    pub(crate) fn new(value: T, birth: &Birth) -> Self {
        Self { value: Some(value), birth: *birth }
    }

    /// The value, unless this is a child of its process.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.birth.check()?;
        Ok(self.value.as_ref().unwrap_or_else(|| unreachable!("it is taken by drop only")))
    }

    /// When it was made.
    pub(crate) fn birth(&self) -> &Birth {
        &self.birth
    }
}

impl<T> Renewed<T> {
    /// Takes care of `value`, made in the process of `birth`.
    pub(crate) fn new(value: T, birth: &Birth) -> Self {
        Self { current: ArcSwap::from_pointee(Owned::new(value, birth)) }
    }

    /// The value, which in a child of its process is what `make` makes.
    pub(crate) fn get(
        &self,
        py: Python<'_>,
        make: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<Guard<Arc<Owned<T>>>> {
        let current = self.current.load();
        if current.birth.is_here() {
            return Ok(current);
        }
        let birth = Birth::now(py)?;
        self.current.store(Arc::new(Owned::new(make()?, &birth)));
        Ok(self.current.load())
    }

    /// The value as it is, unless this is a child of its process and has not used it.
    pub(crate) fn if_here(&self) -> Option<Guard<Arc<Owned<T>>>> {
        Some(self.current.load()).filter(|current| current.birth.is_here())
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let value = self.value.take();
        if !self.birth.is_here() {
            mem::forget(value);
        }
    }
}
