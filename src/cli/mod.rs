//! The command line, `streamlog NOUN VERB`: one file or folder per noun, named after it.
//!
//! A noun owns its options and runs them. Answers go to standard output, everything else to
//! standard error, and a command ends with an [`Exit`]. The same code serves the Rust binary and
//! the script of the Python package.

mod broker;
mod complaint;
mod error;
mod exit;
mod log;
mod main;
mod output;

pub(crate) use complaint::complain;
pub(crate) use error::CommandError;
pub use exit::Exit;
pub use main::main;
pub(crate) use output::{Output, write_json};
