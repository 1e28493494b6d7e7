//! The command line, `streamlog NOUN VERB`: one file per noun, named after it.
//!
//! A noun's file owns its options and runs them. Answers go to standard output, everything else to
//! standard error, and a command ends with an [`Exit`]. The same code serves the Rust binary and
//! the script of the Python package.

mod broker;
mod exit;
mod main;

pub use exit::Exit;
pub use main::main;
