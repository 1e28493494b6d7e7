//! The verbs of `streamlog topic`.

use clap::{Args, Subcommand};

use crate::cli::setting;
use crate::cli::topic::{alter, create, delete, describe, list, offsets, trim};
use crate::cli::{CommandError, Exit, Reach};

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
    Offsets(offsets::Options),
    Alter(alter::Options),
    Trim(trim::Options),
    Delete(delete::Options),
}

impl Options {
    /// Answers on standard output.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, reach } = self;
        reach.answer(|out| {
            match verb {
                Verb::List(options) => return options.answer(&reach, out),
                Verb::Describe(options) => return options.answer(&reach, out),
                Verb::Offsets(options) => return options.answer(&reach, out),
                Verb::Create(options) => options.run(&reach),
                Verb::Alter(options) => options.run(&reach),
                Verb::Trim(options) => options.answer(&reach, out),
                Verb::Delete(options) => options.run(&reach),
            }?;
            Ok(Exit::Done)
        })
    }
}

/// Settings of a topic, given as `KEY=VALUE`.
pub(super) fn pairs(rows: &[String]) -> Result<Vec<(String, String)>, CommandError> {
    let mut pairs = Vec::with_capacity(rows.len());
    for row in rows {
        let (key, value) = setting::pair(row, "-c KEY=VALUE")?;
        setting::check_of_topic(&key)?;
        pairs.push((key, value));
    }
    Ok(pairs)
}
