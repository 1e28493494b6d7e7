//! The kinds of names in arguments, for shell completion.

use clap::builder::ArgExt;

/// The kind of name that an argument takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names {
    /// Topics of the cluster.
    Topics,
    /// Groups of the cluster.
    Groups,
    /// Contexts of the contexts file.
    Contexts,
}

impl ArgExt for Names {}
