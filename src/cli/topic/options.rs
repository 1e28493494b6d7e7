//! The verbs of `streamlog topic`.

use clap::{Args, Subcommand};

use crate::cli::topic::{alter, create, delete, describe, list};
use crate::cli::{CommandError, Exit, Reach, answer};
use crate::config::ConfigError;

/// Lists, makes, changes and deletes topics.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(list::Options),
    Create(create::Options),
    Describe(describe::Options),
    Alter(alter::Options),
    Delete(delete::Options),
}

impl Options {
    /// Answers on standard output.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, reach } = self;
        answer(|out| {
            match verb {
                Verb::List(options) => options.answer(&reach, out),
                Verb::Create(options) => options.run(&reach),
                Verb::Describe(options) => options.answer(&reach, out),
                Verb::Alter(options) => options.run(&reach),
                Verb::Delete(options) => options.run(&reach),
            }?;
            Ok(Exit::Done)
        })
    }
}

/// Settings given as `KEY=VALUE`.
pub(super) fn pairs(rows: &[String]) -> Result<Vec<(String, String)>, CommandError> {
    let pair = |row: &String| match row.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.to_owned())),
        None => Err(ConfigError::single(row, "expected KEY=VALUE").into()),
    };
    rows.iter().map(pair).collect()
}
