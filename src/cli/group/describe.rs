//! `streamlog group describe`: a group's offsets and lag by partition, and its members.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch, missing};
use crate::client::{Admin, GroupDescription, MemberDescription};
use crate::types::{Offset, TopicPartition};

/// Shows the offsets, lag and members of groups
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the groups
    #[arg(required = true, value_name = "GROUP", add = Names::Groups)]
    groups: Vec<String>,
    #[command(flatten)]
    watch: Watch,
}

#[derive(Serialize)]
struct LagRow {
    group: String,
    state: String,
    topic: Option<String>,
    partition: Option<i32>,
    committed_offset: Option<i64>,
    end_offset: Option<i64>,
    lag: Option<u64>,
    member: Option<String>,
    client: Option<String>,
    host: Option<String>,
}

impl Row for LagRow {
    const COLUMNS: &'static [&'static str] = &[
        "group",
        "state",
        "topic",
        "partition",
        "committed_offset",
        "end_offset",
        "lag",
        "client",
        "host",
    ];
    const WIDE: &'static [&'static str] = &["host"];
    const SHORT: &'static [(&'static str, &'static str)] =
        &[("partition", "PART"), ("committed_offset", "COMMITTED"), ("end_offset", "END")];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        self.watch.answer(cluster, out, |admin, out| {
            let mut rows = cluster.rows();
            for group in &self.groups {
                for row in describe(admin, group)? {
                    rows.push(out, &row)?;
                }
            }
            rows.finish(out)?;
            Ok(Exit::Done)
        })
    }
}

impl LagRow {
    fn of(
        group: &GroupDescription,
        place: Option<&TopicPartition>,
        member: Option<&MemberDescription>,
    ) -> Self {
        Self {
            group: group.group.clone(),
            state: group.state.clone(),
            topic: place.map(|place| place.topic.to_string()),
            partition: place.map(|place| place.partition.0),
            committed_offset: None,
            end_offset: None,
            lag: None,
            member: member.map(|member| member.member_id.clone()),
            client: member.map(|member| member.client_id.clone()),
            host: member.map(|member| member.host.clone()),
        }
    }
}

fn describe(admin: &Admin, group: &str) -> Result<Vec<LagRow>, CommandError> {
    let found = missing::group(admin, group)?;
    let mut readers: HashMap<TopicPartition, &MemberDescription> = HashMap::new();
    for member in &found.members {
        readers.extend(member.assignment.iter().map(|place| (place.clone(), member)));
    }
    let mut rows = Vec::new();
    for lag in admin.lag(group)? {
        rows.push(LagRow {
            committed_offset: lag.committed.map(Offset::get),
            end_offset: Some(lag.end.get()),
            lag: Some(lag.lag()),
            ..LagRow::of(&found, Some(&lag.partition), readers.remove(&lag.partition))
        });
    }
    // Assigned partitions of topics for which the group has committed nothing, or that are deleted.
    let mut unstored: Vec<_> = readers.into_iter().collect();
    unstored.sort_by(|one, other| one.0.cmp(&other.0));
    let unstored = unstored.iter().map(|(place, member)| (Some(place), Some(*member)));
    // Members without partitions are listed too, and so is a group without offsets or members.
    let idle = found.members.iter().filter(|member| member.assignment.is_empty());
    let idle = idle.map(|member| (None, Some(member)));
    rows.extend(unstored.chain(idle).map(|(place, member)| LagRow::of(&found, place, member)));
    if rows.is_empty() {
        rows.push(LagRow::of(&found, None, None));
    }
    Ok(rows)
}
