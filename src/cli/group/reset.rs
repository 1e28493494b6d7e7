//! `streamlog group reset`: shows the effect of resetting a group's offsets, and applies it with
//! `--yes`.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::position::Position;
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{OffsetChange, ResetTo};
use crate::config::ConfigError;
use crate::types::{Offset, TopicName};

/// Shows the effect of resetting a group's offsets; applies it with --yes
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of the group, which must have no members
    #[arg(value_name = "GROUP", add = Names::Groups)]
    group: String,
    /// Topic to reset; may be repeated [default: all topics with committed offsets]
    #[arg(short, long, value_name = "TOPIC", add = Names::Topics)]
    topic: Vec<String>,
    /// earliest, latest, an offset, +N or -N from each committed offset, a time, or -1h for an hour
    /// ago
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    to: Position,
    /// Confirm the reset
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct ChangeRow {
    group: String,
    topic: String,
    partition: i32,
    from_offset: Option<i64>,
    to_offset: i64,
    is_done: bool,
}

impl Row for ChangeRow {
    const COLUMNS: &'static [&'static str] =
        &["group", "topic", "partition", "from_offset", "to_offset", "is_done"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let admin = cluster.connect()?.0.admin();
        let topics: BTreeSet<String> = if self.topic.is_empty() {
            let committed = admin.committed(&self.group)?;
            committed.keys().map(|place| place.topic.to_string()).collect()
        } else {
            self.topic.iter().cloned().collect()
        };
        if topics.is_empty() {
            let reason = format!("group '{}' has no offsets; name its topics", self.group);
            return Err(ConfigError::single("--topic", reason).into());
        }
        let names: Vec<&str> = topics.iter().map(String::as_str).collect();
        let plan = admin.plan_reset(&self.group, &names, reset_to(self.to))?;
        if let (Position::Relative(_), true) = (self.to, plan.is_empty()) {
            let reason = format!(
                "group '{}' has no offsets in {} to count from: use earliest, latest, an offset or \
                 a time",
                self.group,
                names.join(", ")
            );
            return Err(ConfigError::single("--to", reason).into());
        }
        if self.yes {
            let rows: Vec<_> = plan.iter().map(|row| (row.partition.clone(), row.to)).collect();
            admin.set_offsets(&self.group, &rows)?;
        }
        let row = |change: OffsetChange| ChangeRow {
            group: self.group.clone(),
            topic: TopicName::to_string(&change.partition.topic),
            partition: change.partition.partition.0,
            from_offset: change.from.map(Offset::get),
            to_offset: change.to.get(),
            is_done: self.yes,
        };
        cluster.rows().write(out, plan.into_iter().map(row))
    }
}

fn reset_to(position: Position) -> ResetTo {
    match position {
        Position::Earliest => ResetTo::Earliest,
        Position::Latest => ResetTo::Latest,
        Position::Offset(offset) => ResetTo::Offset(offset),
        Position::Relative(by) => ResetTo::Shift(by),
        Position::Time(time) => ResetTo::Time(time),
    }
}
