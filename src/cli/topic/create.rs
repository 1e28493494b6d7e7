//! `streamlog topic create`.

use clap::Args;

use crate::cli::setting::topic_pairs;
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{ClientError, ErrorCode, NewTopic};
use crate::config::ConfigError;
use crate::types::{InvalidTopicName, TopicName};

/// Creates topics
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Names of the topics
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Number of partitions [default: the broker's]
    #[arg(short, long, value_name = "N")]
    partitions: Option<i32>,
    /// Replication factor [default: the broker's]
    #[arg(short, long, value_name = "N")]
    replicas: Option<i16>,
    /// Setting of the topic
    #[arg(short, long, value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Do not fail for topics that exist already
    #[arg(long)]
    if_not_exists: bool,
}

impl Options {
    pub(super) fn run(self, cluster: &ClusterOptions) -> Result<(), CommandError> {
        let configs = topic_pairs(&self.config)?;
        // Check all names before creating the first topic.
        self.topics.iter().try_for_each(|topic| check_name(topic))?;
        let new = NewTopic { partitions: self.partitions, replicas: self.replicas, configs };
        let admin = cluster.connect()?.0.admin();
        for topic in &self.topics {
            match admin.create_topic(topic, &new) {
                Err(error) if self.if_not_exists && exists(&error) => {}
                created => created?,
            }
        }
        Ok(())
    }
}

fn check_name(topic: &str) -> Result<(), ConfigError> {
    let name: Result<TopicName, _> = topic.parse();
    let fault = |error: InvalidTopicName| {
        ConfigError::single(&format!("topic {topic:?}"), error.to_string())
    };
    name.map(drop).map_err(fault)
}

fn exists(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::TopicAlreadyExists)
}
