//! The exports of the native module, in one place.

/// The native module of the Python package.
#[pyo3::pymodule(name = "_core")]
mod core {
    use std::ffi::OsString;

    use pyo3::types::{PyAnyMethods, PyModule};
    use pyo3::{Bound, PyResult, Python, pyfunction};

    #[cfg(feature = "cli")]
    use crate::cli;
    #[pymodule_export]
    use crate::python::client::Client;
    #[cfg(not(feature = "cli"))]
    use crate::python::client_alone;
    use crate::python::docstrings::stub;
    use crate::python::owned::Forks;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The modules inside.
    const MODULES: [&str; 9] = [
        "brokers",
        "reading",
        "bounded",
        "arrow",
        "producing",
        "republishing",
        "texts",
        "admin",
        "aio",
    ];

    /// Brokers in this process.
    #[pyo3::pymodule]
    mod brokers {
        #[cfg(feature = "cli")]
        #[pymodule_export]
        use crate::python::brokers::Broker;
        #[cfg(feature = "cli")]
        #[pymodule_export]
        use crate::python::brokers::Node;
        #[cfg(not(feature = "cli"))]
        #[pymodule_export]
        use crate::python::client_alone::Broker;
        #[cfg(not(feature = "cli"))]
        #[pymodule_export]
        use crate::python::client_alone::Node;
    }

    /// Consumers and messages.
    #[pyo3::pymodule]
    mod reading {
        #[pymodule_export]
        use crate::python::reading::Batch;
        #[pymodule_export]
        use crate::python::reading::Batches;
        #[pymodule_export]
        use crate::python::reading::Consumer;
        #[pymodule_export]
        use crate::python::reading::Message;
        #[pymodule_export]
        use crate::python::reading::Stream;
    }

    /// Reading up to an end.
    #[pyo3::pymodule]
    mod bounded {
        #[pymodule_export]
        use crate::python::client::open_range;
        #[pymodule_export]
        use crate::python::reading::Bounded;
        #[pymodule_export]
        use crate::python::reading::Range;
        #[pymodule_export]
        use crate::python::reading::UntilEnd;
    }

    /// Reading as Arrow columns.
    #[pyo3::pymodule]
    mod arrow {
        #[pymodule_export]
        use crate::python::reading::ArrowBatches;
    }

    /// Producers and tickets.
    #[pyo3::pymodule]
    mod producing {
        #[pymodule_export]
        use crate::python::producing::Producer;
        #[pymodule_export]
        use crate::python::producing::RecordMetadata;
        #[pymodule_export]
        use crate::python::producing::Ticket;
    }

    /// Copying of staged records for Spark's exactly-once sink.
    #[pyo3::pymodule]
    mod republishing {
        #[pymodule_export]
        use crate::python::republishing::delivered_batches;
        #[pymodule_export]
        use crate::python::republishing::new_identity;
        #[pymodule_export]
        use crate::python::republishing::republish;
        #[pymodule_export]
        use crate::python::republishing::republished;
    }

    /// Parsers of values in options and job files.
    #[pyo3::pymodule]
    mod texts {
        #[pymodule_export]
        use crate::python::texts::interval;
        #[pymodule_export]
        use crate::python::texts::key_lines;
        #[pymodule_export]
        use crate::python::texts::size;
    }

    /// Administration.
    #[pyo3::pymodule]
    mod admin {
        #[pymodule_export]
        use crate::python::administration::Admin;
        #[pymodule_export]
        use crate::python::administration::Group;
    }

    /// The foundation of `streamlog.aio`.
    #[pyo3::pymodule]
    mod aio {
        #[pymodule_export]
        use crate::python::aio::Outbox;
        #[pymodule_export]
        use crate::python::aio::Prepared;
        #[pymodule_export]
        use crate::python::aio::Reader;
        #[pymodule_export]
        use crate::python::aio::admin;
        #[pymodule_export]
        use crate::python::aio::close;
        #[pymodule_export]
        use crate::python::aio::connect;
        #[pymodule_export]
        use crate::python::aio::consumer;
        #[pymodule_export]
        use crate::python::aio::range;
        #[pymodule_export]
        use crate::python::aio::until_end;
        #[pymodule_export]
        use crate::python::futures::EventLoop;
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Registered so that `from streamlog._core.reading import ...` works as its stubs suggest.
        let modules = module.py().import("sys")?.getattr("modules")?;
        for name in MODULES {
            modules.set_item(format!("streamlog._core.{name}"), module.getattr(name)?)?;
        }
        Forks::install(module)
    }

    #[cfg(feature = "cli")]
    #[doc = stub!("main")]
    #[pyfunction]
    fn main(py: Python<'_>, argv: Vec<OsString>) -> PyResult<u8> {
        // Processes that the command starts run under the same interpreter.
        let executable = py.import("sys")?.getattr("executable")?.extract()?;
        let arguments = ["-P", "-m", "streamlog"].map(OsString::from).to_vec();
        let program = cli::Program::hosted(executable, arguments);
        Ok(py.detach(|| cli::main_of(&program, argv)).code())
    }

    #[cfg(not(feature = "cli"))]
    #[doc = stub!("main")]
    #[pyfunction]
    #[pyo3(signature = (_argv, /), text_signature = "(argv)")]
    fn main(_argv: Vec<OsString>) -> PyResult<u8> {
        Err(client_alone::no_command())
    }
}
