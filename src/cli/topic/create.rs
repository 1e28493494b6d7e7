//! `streamlog topic create`.

use clap::Args;

use crate::cli::topic::options::pairs;
use crate::cli::{CommandError, Reach};
use crate::client::{ClientError, ErrorCode, NewTopic};

/// Makes topics
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// How many partitions [default: the broker's]
    #[arg(short, long, value_name = "N")]
    partitions: Option<i32>,
    /// How many replicas of each [default: the broker's]
    #[arg(short, long, value_name = "N")]
    replicas: Option<i16>,
    /// A setting of the topic
    #[arg(short, long, value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// A topic that exists already is no failure
    #[arg(long)]
    if_not_exists: bool,
}

impl Options {
    pub(super) fn run(self, reach: &Reach) -> Result<(), CommandError> {
        let configs = pairs(&self.config)?;
        let new = NewTopic { partitions: self.partitions, replicas: self.replicas, configs };
        let admin = reach.connect()?.0.admin();
        for topic in &self.topics {
            match admin.create_topic(topic, &new) {
                Err(error) if self.if_not_exists && exists(&error) => {}
                created => created?,
            }
        }
        Ok(())
    }
}

fn exists(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::TopicAlreadyExists)
}
