//! `streamlog group describe`: how far a group is in each partition, and who reads it.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::completion::Names;
use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, Reach};
use crate::client::{Admin, MemberDescription, PartitionLag};
use crate::types::TopicPartition;

/// Shows how far groups are, and who is in them
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the groups
    #[arg(required = true, value_name = "GROUP", add = Names::Groups)]
    groups: Vec<String>,
}

#[derive(Serialize)]
struct LagRow {
    group: String,
    state: String,
    topic: String,
    partition: i32,
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
}

impl Options {
    pub(super) fn answer(self, reach: &Reach, out: &mut dyn Write) -> Result<(), CommandError> {
        let admin = reach.connect()?.0.admin();
        let mut rows = Rows::new(reach.output);
        for group in &self.groups {
            for row in describe(&admin, group)? {
                rows.push(out, &row)?;
            }
        }
        rows.finish(out)
    }
}

fn describe(admin: &Admin, group: &str) -> Result<Vec<LagRow>, CommandError> {
    let found = admin.group(group)?;
    let mut readers: HashMap<TopicPartition, &MemberDescription> = HashMap::new();
    for member in &found.members {
        readers.extend(member.assignment.iter().map(|place| (place.clone(), member)));
    }
    let row = |lag: &PartitionLag, member: Option<&MemberDescription>| LagRow {
        group: found.group.clone(),
        state: found.state.clone(),
        topic: lag.partition.topic.to_string(),
        partition: lag.partition.partition.0,
        committed_offset: lag.committed.map(crate::types::Offset::get),
        end_offset: Some(lag.end.get()),
        lag: Some(lag.lag()),
        member: member.map(|member| member.member_id.clone()),
        client: member.map(|member| member.client_id.clone()),
        host: member.map(|member| member.host.clone()),
    };
    let lags = admin.lag(group)?;
    let mut rows = Vec::new();
    for lag in &lags {
        rows.push(row(lag, readers.remove(&lag.partition)));
    }
    // Partitions that are read and of which nothing has been stored yet.
    let mut unstored: Vec<_> = readers.into_iter().collect();
    unstored.sort_by(|one, other| one.0.cmp(&other.0));
    for (partition, member) in unstored {
        rows.push(LagRow {
            group: found.group.clone(),
            state: found.state.clone(),
            topic: partition.topic.to_string(),
            partition: partition.partition.0,
            committed_offset: None,
            end_offset: None,
            lag: None,
            member: Some(member.member_id.clone()),
            client: Some(member.client_id.clone()),
            host: Some(member.host.clone()),
        });
    }
    Ok(rows)
}
