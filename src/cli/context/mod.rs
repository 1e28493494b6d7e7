//! `streamlog context`: named clusters in a file.

mod file;
mod options;
mod settings;

pub(crate) use file::ContextsFile;
pub(crate) use options::Options;
pub(crate) use settings::{BOOTSTRAP_VARIABLE, Context, variable};
