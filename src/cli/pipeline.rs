//! `streamlog pipeline`: data pipelines on Spark; this is only their command line.
//!
//! The options are defined here for help, completion and usage errors. Running a pipeline needs
//! Python and Spark: the script of the Python package handles complete command lines itself,
//! without calling [`Options::run`].

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::cli::{CommandError, Exit, answer};

/// Runs a data pipeline on Spark from a job file (needs the wheel's extra `spark`).
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs the pipeline: to the end of its tables, or with streams until Ctrl-C
    Run(Job),
    /// Only checks the file: keys, values, names
    Validate(Job),
    /// Shows the steps that would run, in order
    Plan(Job),
}

#[derive(Debug, Args)]
struct Job {
    /// The job file, in TOML
    #[arg(value_hint = ValueHint::FilePath)]
    job: PathBuf,
}

impl Options {
    /// Refuses every command with a note about the Python package.
    pub(crate) fn run(self) -> Exit {
        let (Verb::Run(job) | Verb::Validate(job) | Verb::Plan(job)) = self.verb;
        answer(|_, _| Err(CommandError::NeedsPython(job.job.display().to_string())))
    }
}
