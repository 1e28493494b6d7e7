//! `streamlog topic list`.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::names::Names;
use crate::cli::output::Row;
use crate::cli::topic::names::Patterns;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch};
use crate::client::TopicDescription;

/// Lists the topics
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Regular expressions; a topic's whole name must match one [default: all topics]
    #[arg(value_name = "REGEX", add = Names::Topics)]
    matching: Vec<String>,
    /// Also show internal topics
    #[arg(long)]
    internal: bool,
    #[command(flatten)]
    watch: Watch,
}

#[derive(Serialize)]
struct TopicRow {
    topic: String,
    partitions: usize,
    replicas: usize,
    is_internal: bool,
}

impl Row for TopicRow {
    const COLUMNS: &'static [&'static str] = &["topic", "partitions", "replicas"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let patterns = Patterns::new(&self.matching)?;
        self.watch
            .answer(cluster, out, |admin, out| self.list(&admin.topics()?, &patterns, cluster, out))
    }

    fn list(
        &self,
        topics: &[TopicDescription],
        patterns: &Patterns,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let shown = topics.iter().filter(|topic| self.internal || !topic.is_internal);
        let is_asked = |name: &str| self.matching.is_empty() || patterns.match_any(name);
        let shown = shown.filter(|topic| is_asked(topic.name.as_str()));
        let row = |topic: &TopicDescription| TopicRow {
            topic: topic.name.to_string(),
            partitions: topic.partitions.len(),
            replicas: topic.partitions.first().map_or(0, |partition| partition.replicas.len()),
            is_internal: topic.is_internal,
        };
        cluster.rows().write(out, shown.map(row))?;
        Ok(Exit::Done)
    }
}
