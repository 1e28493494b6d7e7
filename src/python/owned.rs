//! Values bound to the process that created them.
//!
//! After `fork`, a child has its parent's connections but not the thread that serves them. Every
//! wait would last forever, including the wait for that thread when a client is dropped. An
//! inherited value is therefore never dropped in the child. Clients and producers are recreated at
//! the child's first use; consumers are refused, since the partitions are still assigned to the
//! parent.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::{ArcSwap, Guard};
use pyo3::types::{IntoPyDict, PyAnyMethods, PyModule};
use pyo3::{Bound, PyResult, Python, pyclass, pymethods};

use super::errors::ForkError;

/// The number of forks between the process that loaded the module and this one; kept by the module.
#[pyclass(frozen, module = "streamlog._core")]
#[derive(Debug)]
pub(crate) struct Forks {
    /// Leaked, because values created in this process read it for as long as the process lives.
    count: &'static AtomicU32,
}

/// The process in which a value was created, identified by the number of forks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    forks: &'static AtomicU32,
    at: u32,
}

/// A value that only the process which created it uses and drops.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    value: Option<T>,
    birth: Birth,
}

/// A value that a forked child recreates at its first use.
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

    /// Registers the counter of forks with the module.
    pub(crate) fn install(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        let forks = Bound::new(py, Self { count: Box::leak(Box::default()) })?;
        let options = [("after_in_child", forks.getattr("forked")?)].into_py_dict(py)?;
        py.import("os")?.call_method("register_at_fork", (), Some(&options))?;
        module.setattr(Self::NAME, forks)
    }
}

impl Birth {
    /// The current process.
    pub(crate) fn now(py: Python<'_>) -> PyResult<Self> {
        let forks = py.import("streamlog._core")?.getattr(Forks::NAME)?;
        let forks = forks.cast::<Forks>()?.get().count;
        let at = forks.load(Ordering::Acquire);
        Ok(Self { forks, at })
    }

    /// Fails in a process that was forked after the value was created.
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.is_here() {
            return Ok(());
        }
        Err(ForkError::new_err(
            "this belongs to the process that this one was forked from: create a new one in the \
             child, as client.consumer(...) does, or start processes with \"spawn\"",
        ))
    }

    fn is_here(&self) -> bool {
        self.forks.load(Ordering::Acquire) == self.at
    }
}

impl<T> Owned<T> {
    /// Wraps `value`, created in the process of `birth`.
    pub(crate) fn new(value: T, birth: &Birth) -> Self {
        Self { value: Some(value), birth: *birth }
    }

    /// Returns the value, or an error in a forked child.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.birth.check()?;
        Ok(self.value.as_ref().unwrap_or_else(|| unreachable!("it is taken by drop only")))
    }

    /// The process that created the value.
    pub(crate) fn birth(&self) -> &Birth {
        &self.birth
    }
}

impl<T> Renewed<T> {
    /// Wraps `value`, created in the process of `birth`.
    pub(crate) fn new(value: T, birth: &Birth) -> Self {
        Self { current: ArcSwap::from_pointee(Owned::new(value, birth)) }
    }

    /// Returns the value; in a forked child, one created by `make`.
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

    /// Returns the current value, unless this is a forked child that has not used it.
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
