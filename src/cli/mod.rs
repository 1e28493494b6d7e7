//! The command line, `streamlog NOUN VERB`: a file or folder per noun, named after it.
//!
//! The module of a noun defines its options and runs its verbs. Results go to standard output,
//! everything else to standard error, and a command ends with an [`Exit`]. The Rust binary and the
//! script of the Python package share this code.

mod answer;
mod bench;
mod broker;
mod cluster;
mod cluster_options;
mod completion;
mod config;
mod context;
mod ctrl_c;
mod error;
mod exit;
mod group;
mod log;
mod main;
mod missing;
mod names;
mod node;
mod output;
mod partition;
mod payload;
mod pipeline;
mod position;
mod pretty;
mod program;
mod progress;
mod records;
mod setting;
mod standard_output;
mod table;
mod terminal;
mod topic;
mod watch;

pub(crate) use answer::{answer, answer_watching};
pub(crate) use cluster_options::ClusterOptions;
pub(crate) use ctrl_c::CtrlC;
pub(crate) use error::{CommandError, notify, report};
pub use exit::Exit;
pub use main::{main, main_of};
pub(crate) use output::Output;
pub use program::Program;
pub(crate) use watch::Watch;
