//! `streamlog topic alter`: adds partitions, changes settings.

use clap::{ArgGroup, Args};

use crate::cli::names::Names;
use crate::cli::setting::topic_pairs;
use crate::cli::{ClusterOptions, CommandError};
use crate::client::Resource;

/// Changes a topic's settings, or adds partitions
#[derive(Debug, Args)]
#[command(override_usage = "streamlog topic alter [OPTIONS] <TOPIC>")]
#[command(group = ArgGroup::new("change")
    .args(["partitions", "config", "delete_config"]).required(true).multiple(true))]
pub(super) struct Options {
    /// Name of the topic
    #[arg(value_name = "TOPIC", add = Names::Topics)]
    topic: String,
    /// New total number of partitions
    #[arg(short, long, value_name = "N")]
    partitions: Option<i32>,
    /// Setting to change
    #[arg(short, long, value_name = "KEY=VALUE")]
    config: Vec<String>,
    /// Setting to reset to its default
    #[arg(short, long, value_name = "KEY")]
    delete_config: Vec<String>,
    /// Only validate the settings
    #[arg(long, conflicts_with = "partitions")]
    dry_run: bool,
}

impl Options {
    pub(super) fn run(self, cluster: &ClusterOptions) -> Result<(), CommandError> {
        let set = topic_pairs(&self.config)?.into_iter().map(|(key, value)| (key, Some(value)));
        let changes: Vec<_> =
            set.chain(self.delete_config.into_iter().map(|key| (key, None))).collect();
        let admin = cluster.connect()?.0.admin();
        if !changes.is_empty() {
            let topic = Resource::Topic(self.topic.clone());
            admin.alter_configs(&topic, &changes, self.dry_run)?;
        }
        if let Some(partitions) = self.partitions {
            admin.create_partitions(&self.topic, partitions)?;
        }
        Ok(())
    }
}
