//! The subcommands of `streamlog config`.

use clap::{Args, Subcommand};

use crate::cli::config::resource::Named;
use crate::cli::config::{check, show};
use crate::cli::{ClusterOptions, Exit};
use crate::config::{ConfigError, in_unit_of};

/// Shows and changes settings, and checks a broker's configuration file.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Show(show::Options),
    /// Changes settings; either all of them or none
    Set {
        /// topic/NAME, node/NUMBER or nodes
        resource: Named,
        /// Settings to set as KEY=VALUE, or to reset to the default as KEY
        #[arg(required = true, value_name = "KEY[=VALUE]")]
        changes: Vec<String>,
        /// Only validate
        #[arg(long)]
        dry_run: bool,
    },
    Check(check::Options),
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, cluster } = self;
        cluster.answer(|out| match verb {
            Verb::Show(options) => options.answer(&cluster, out),
            Verb::Set { resource, changes, dry_run } => {
                let changes: Vec<_> = changes.iter().map(|text| change(text)).collect();
                if changes.iter().any(|(key, _)| key.is_empty()) {
                    return Err(ConfigError::single("KEY", "a setting has no name").into());
                }
                let admin = cluster.connect()?.0.admin();
                admin.alter_configs(&resource.find(&admin)?, &changes, dry_run)?;
                Ok(Exit::Done)
            }
            Verb::Check(options) => options.answer(cluster.output, out),
        })
    }
}

fn change(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((key, value)) => (key.trim().to_owned(), Some(in_unit_of(key.trim(), value))),
        None => (text.trim().to_owned(), None),
    }
}
