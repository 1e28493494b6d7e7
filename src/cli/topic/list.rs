//! `streamlog topic list`.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::output::{Row, Rows};
use crate::cli::{CommandError, Reach};

/// Lists the topics
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Show the topics that streamlog keeps for itself, too
    #[arg(long)]
    internal: bool,
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
    pub(super) fn answer(self, reach: &Reach, out: &mut dyn Write) -> Result<(), CommandError> {
        let topics = reach.connect()?.0.admin().topics()?;
        let shown = topics.iter().filter(|topic| self.internal || !topic.is_internal);
        let row = |topic: &crate::client::TopicDescription| TopicRow {
            topic: topic.name.to_string(),
            partitions: topic.partitions.len(),
            replicas: topic.partitions.first().map_or(0, |partition| partition.replicas.len()),
            is_internal: topic.is_internal,
        };
        Rows::new(reach.output).write(out, shown.map(row))
    }
}
