//! `streamlog pipeline`: data pipelines on Spark, as far as Rust knows them.
//!
//! Their words are defined here, for help, completion and usage errors. Running them takes Python
//! and Spark: the script of the Python package does that itself and never comes here with a
//! complete command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::cli::{CommandError, Exit, answer};

/// Runs a data pipeline on Spark, as a file describes it (needs the wheel's extra `spark`).
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs it: to the end of its tables, or on and on with its streams until Ctrl-C
    Run(Job),
    /// Checks the file and nothing else: keys, values, names
    Validate(Job),
    /// Shows what would run, in order
    Plan(Job),
}

#[derive(Debug, Args)]
struct Job {
    /// The file, in TOML
    #[arg(value_hint = ValueHint::FilePath)]
    job: PathBuf,
}

impl Options {
    /// Says what runs it.
    pub(crate) fn run(self) -> Exit {
        let (Verb::Run(job) | Verb::Validate(job) | Verb::Plan(job)) = self.verb;
        answer(|_, _| Err(CommandError::NeedsPython(job.job.display().to_string())))
    }
}
