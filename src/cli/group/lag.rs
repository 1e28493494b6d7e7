//! `streamlog group lag`: the lag of groups by topic, in one table.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch, missing};
use crate::client::Admin;

/// Shows the lag of groups by topic
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the groups [default: all]
    #[arg(value_name = "GROUP", add = Names::Groups)]
    groups: Vec<String>,
    #[command(flatten)]
    watch: Watch,
}

#[derive(Serialize)]
struct TopicLagRow {
    group: String,
    state: String,
    topic: Option<String>,
    partitions: usize,
    lag: u64,
}

impl Row for TopicLagRow {
    const COLUMNS: &'static [&'static str] = &["group", "state", "topic", "partitions", "lag"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        self.watch.answer(cluster, out, |admin, out| {
            let mut rows = cluster.rows();
            for group in self.find(admin)? {
                for row in topics_of(admin, group)? {
                    rows.push(out, &row)?;
                }
            }
            rows.finish(out)?;
            Ok(Exit::Done)
        })
    }

    /// Finds the groups and their states.
    fn find(&self, admin: &Admin) -> Result<Vec<(String, String)>, CommandError> {
        let groups: Vec<(String, String)> = if self.groups.is_empty() {
            admin.groups()?.into_iter().map(|group| (group.group, group.state)).collect()
        } else {
            let found = |name: &String| missing::group(admin, name);
            let named = |name| found(name).map(|group| (group.group, group.state));
            self.groups.iter().map(named).collect::<Result<_, _>>()?
        };
        Ok(groups)
    }
}

/// A row per topic with committed offsets, or a single row without a topic.
fn topics_of(
    admin: &Admin,
    (group, state): (String, String),
) -> Result<Vec<TopicLagRow>, CommandError> {
    let mut topics = BTreeMap::<String, (usize, u64)>::new();
    for lag in admin.lag(&group)? {
        let (partitions, sum) = topics.entry(lag.partition.topic.to_string()).or_default();
        *partitions += 1;
        *sum = sum.saturating_add(lag.lag());
    }
    let row = |topic, (partitions, lag)| {
        let (group, state) = (group.clone(), state.clone());
        TopicLagRow { group, state, topic, partitions, lag }
    };
    if topics.is_empty() {
        return Ok(vec![row(None, (0, 0))]);
    }
    Ok(topics.into_iter().map(|(topic, sums)| row(Some(topic), sums)).collect())
}
