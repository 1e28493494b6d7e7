//! `streamlog topic delete`.

use clap::Args;

use crate::cli::completion::Names;
use crate::cli::{CommandError, Reach};

/// Deletes topics and all their records
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC", add = Names::Topics)]
    topics: Vec<String>,
    /// Really do it
    #[arg(long)]
    yes: bool,
}

impl Options {
    pub(super) fn run(self, reach: &Reach) -> Result<(), CommandError> {
        let admin = reach.connect()?.0.admin();
        // All names are looked at before the first topic goes.
        let mut partitions = 0;
        for topic in &self.topics {
            partitions += admin.topic(topic)?.partitions.len();
        }
        if !self.yes {
            let names = self.topics.join(", ");
            let what = format!("this deletes {names} with {partitions} partitions");
            return Err(CommandError::Unconfirmed(what));
        }
        for topic in &self.topics {
            admin.delete_topic(topic)?;
        }
        Ok(())
    }
}
