//! `streamlog topic delete`.

use clap::Args;

use crate::cli::topic::names::Topics;
use crate::cli::{ClusterOptions, CommandError};

/// Deletes topics and all their records
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    topics: Topics,
    /// Confirm the deletion
    #[arg(long)]
    yes: bool,
}

impl Options {
    pub(super) fn run(self, cluster: &ClusterOptions) -> Result<(), CommandError> {
        let admin = cluster.connect()?.0.admin();
        // Check all names before deleting the first topic.
        let topics = self.topics.find(&admin)?;
        let mut partitions = 0;
        for topic in &topics {
            partitions += admin.topic(topic)?.partitions.len();
        }
        if !self.yes {
            let names = topics.join(", ");
            let what = format!("this deletes {names} with {partitions} partitions");
            return Err(CommandError::Unconfirmed(what));
        }
        for topic in &topics {
            admin.delete_topic(topic)?;
        }
        Ok(())
    }
}
