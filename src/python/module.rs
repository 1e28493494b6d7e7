//! Everything the native module exports, in one place.

/// The native module of the Python package.
#[pyo3::pymodule(name = "_core")]
mod core {
    use std::ffi::OsString;

    use pyo3::types::PyModule;
    use pyo3::{Bound, PyResult, Python, pyfunction};

    use crate::cli;
    #[pymodule_export]
    use crate::python::admin::Admin;
    #[pymodule_export]
    use crate::python::bounded::Bounded;
    #[pymodule_export]
    use crate::python::client::Client;
    #[pymodule_export]
    use crate::python::consumer::Consumer;
    #[pymodule_export]
    use crate::python::message::Message;
    use crate::python::owned::Forks;
    #[pymodule_export]
    use crate::python::producer::Producer;
    #[pymodule_export]
    use crate::python::record_metadata::RecordMetadata;
    #[pymodule_export]
    use crate::python::ticket::Ticket;
    #[pymodule_export]
    use crate::python::topic::Topic;
    #[pymodule_export]
    use crate::python::until_end::UntilEnd;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        Forks::install(module)
    }

    /// Runs the command line with the arguments after the program's name.
    #[pyfunction]
    fn main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
        py.detach(|| cli::main(argv)).code()
    }
}
