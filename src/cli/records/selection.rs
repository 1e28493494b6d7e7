//! The records that a command reads: topics, partitions, start and end positions.

use std::collections::HashMap;

use clap::Args;

use crate::cli::CommandError;
use crate::cli::position::Position;
use crate::cli::topic::Topics;
use crate::client::{Client, ClientError, Consumer, ConsumerConfig, FoundOffset, Start};
use crate::config::ConfigError;
use crate::types::{Offset, PartitionIndex, TopicPartition};

/// Topics and partitions as given on the command line.
#[derive(Debug, Args)]
pub(super) struct Selection {
    #[command(flatten)]
    topics: Topics,
    /// Read only this partition; may be repeated
    #[arg(short, long, value_name = "N")]
    partition: Vec<i32>,
}

/// The topics to read, and their partitions. Topics given by name may not exist.
pub(super) struct Selected<'a> {
    topics: Vec<String>,
    /// The partitions; empty for all.
    partition: &'a [i32],
}

impl Selection {
    /// Finds the topics that match an expression; those given by name are not looked up.
    pub(super) fn find(&self, client: &Client) -> Result<Selected<'_>, CommandError> {
        Ok(Selected { topics: self.topics.find(&client.admin())?, partition: &self.partition })
    }
}

impl Selected<'_> {
    /// Creates a consumer that starts at `from`; a relative position counts from the end.
    pub(super) fn open(
        &self,
        client: &Client,
        from: Position,
        mut config: ConsumerConfig,
    ) -> Result<Consumer, CommandError> {
        config.auto_create_topics = false;
        let start = match from {
            Position::Earliest => Start::Earliest,
            Position::Latest => Start::Latest,
            Position::Offset(offset) => Start::Offset(offset),
            Position::Time(time) => Start::Time(time),
            Position::Relative(_) => return self.open_relative(client, from, config),
        };
        if self.partition.is_empty() {
            // Look the topics up first: the consumer would wait some time for them to be created.
            self.topics.iter().try_for_each(|topic| client.admin().topic(topic).map(drop))?;
            // A subscription to topics includes partitions added later.
            let topics: Vec<&str> = self.topics.iter().map(String::as_str).collect();
            return Ok(client.consumer(&topics, ConsumerConfig { start, ..config })?);
        }
        let places: Vec<_> = self.places(client)?.into_iter().map(|place| (place, start)).collect();
        Ok(client.partition_consumer(&places, config)?)
    }

    fn open_relative(
        &self,
        client: &Client,
        from: Position,
        config: ConsumerConfig,
    ) -> Result<Consumer, CommandError> {
        let starts = self.resolve(client, from)?;
        let places: Vec<_> =
            starts.into_iter().map(|(place, offset)| (place, Start::Offset(offset))).collect();
        Ok(client.partition_consumer(&places, config)?)
    }

    /// The selected partitions.
    fn places(&self, client: &Client) -> Result<Vec<TopicPartition>, CommandError> {
        let mut places = Vec::new();
        for topic in &self.topics {
            let found = client.admin().topic(topic)?;
            let all = found.partitions.iter().map(|partition| partition.partition);
            let wanted: Vec<PartitionIndex> = if self.partition.is_empty() {
                all.collect()
            } else {
                self.partition.iter().copied().map(PartitionIndex).collect()
            };
            for partition in wanted {
                let place = TopicPartition { topic: found.name.clone(), partition };
                if !found.partitions.iter().any(|row| row.partition == partition) {
                    return Err(ClientError::no_topic(place).into());
                }
                places.push(place);
            }
        }
        Ok(places)
    }

    /// Converts a position to an offset in each partition, clamped to the log.
    fn resolve(
        &self,
        client: &Client,
        position: Position,
    ) -> Result<HashMap<TopicPartition, Offset>, CommandError> {
        let mut resolved = HashMap::new();
        let admin = client.admin();
        for topic in &self.topics {
            let begins = offsets(admin.begin_offsets(topic)?);
            let times = match position {
                Position::Time(time) => offsets(admin.offsets_at(topic, time)?),
                _ => HashMap::new(),
            };
            for (place, end) in offsets(admin.end_offsets(topic)?) {
                let begin = begins.get(&place).copied().unwrap_or_default();
                let offset = match position {
                    Position::Offset(offset) => offset,
                    Position::Relative(by) => {
                        Offset::checked(end.get().saturating_add(by)).unwrap_or(begin)
                    }
                    Position::Earliest => begin,
                    Position::Time(_) => times.get(&place).copied().unwrap_or(end),
                    Position::Latest => end,
                };
                resolved.insert(place, offset.clamp(begin, end.max(begin)));
            }
        }
        let wanted = self.places(client)?;
        resolved.retain(|place, _| wanted.contains(place));
        Ok(resolved)
    }

    /// Returns true if no partition has records before its position.
    pub(super) fn hold_nothing_before(
        &self,
        client: &Client,
        positions: &[(TopicPartition, Option<Offset>)],
    ) -> Result<bool, CommandError> {
        let begins = self.resolve(client, Position::Earliest)?;
        let is_first = |place, position| begins.get(place).is_none_or(|begin| position <= *begin);
        let mut known = positions.iter().filter_map(|(place, at)| Some((place, (*at)?)));
        Ok(known.all(|(place, position)| is_first(place, position)))
    }

    /// The offset in each partition at which reading ends.
    pub(super) fn limits(
        &self,
        client: &Client,
        until: Position,
    ) -> Result<HashMap<TopicPartition, Offset>, CommandError> {
        if until == Position::Earliest {
            return Err(ConfigError::single("--until", "nothing lies before the beginning").into());
        }
        self.resolve(client, until)
    }
}

fn offsets(found: Vec<FoundOffset>) -> HashMap<TopicPartition, Offset> {
    found.into_iter().filter_map(|row| Some((row.partition, row.offset?))).collect()
}
