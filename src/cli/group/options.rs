//! The subcommands of `streamlog group`.

use std::io::Write;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::group::{describe, lag, reset};
use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch, missing};
use crate::client::GroupListing;

/// Inspects consumer groups and their lag; resets their offsets.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists the groups
    List(Watch),
    Describe(describe::Options),
    Lag(lag::Options),
    Reset(reset::Options),
    /// Deletes groups without members, and their offsets
    Delete {
        /// Names of the groups
        #[arg(required = true, value_name = "GROUP", add = Names::Groups)]
        groups: Vec<String>,
        /// Confirm the deletion
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Serialize)]
struct GroupRow {
    group: String,
    state: String,
    protocol_type: String,
    coordinator: i32,
}

impl Row for GroupRow {
    const COLUMNS: &'static [&'static str] = &["group", "state", "coordinator"];
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let Self { verb, cluster } = self;
        cluster.answer(|out| {
            match verb {
                Verb::List(watch) => return list(&watch, &cluster, out),
                Verb::Describe(options) => return options.answer(&cluster, out),
                Verb::Lag(options) => return options.answer(&cluster, out),
                Verb::Reset(options) => options.answer(&cluster, out),
                Verb::Delete { groups, yes } => delete(&cluster, &groups, yes),
            }?;
            Ok(Exit::Done)
        })
    }
}

fn list(
    watch: &Watch,
    cluster: &ClusterOptions,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let row = |group: GroupListing| GroupRow {
        group: group.group,
        state: group.state,
        protocol_type: group.protocol_type,
        coordinator: group.coordinator.0,
    };
    watch.answer(cluster, out, |admin, out| {
        cluster.rows().write(out, admin.groups()?.into_iter().map(row))?;
        Ok(Exit::Done)
    })
}

fn delete(cluster: &ClusterOptions, groups: &[String], yes: bool) -> Result<(), CommandError> {
    let admin = cluster.connect()?.0.admin();
    for group in groups {
        missing::group(&admin, group)?;
    }
    if !yes {
        let what = format!("this deletes {} with all offsets", groups.join(", "));
        return Err(CommandError::Unconfirmed(what));
    }
    groups.iter().try_for_each(|group| admin.delete_group(group)).map_err(CommandError::from)
}
