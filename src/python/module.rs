//! Everything the native module exports, in one place.

/// The native module of the Python package.
#[pyo3::pymodule(name = "_core")]
mod core {
    use std::ffi::OsString;

    use pyo3::{Python, pyfunction};

    use crate::cli;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command line with the arguments after the program's name.
    #[pyfunction]
    fn main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
        py.detach(|| cli::main(argv)).code()
    }
}
