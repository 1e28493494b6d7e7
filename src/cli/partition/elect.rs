//! `streamlog partition elect`: elects a leader that lacks acknowledged records.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::partition::place::{partition, require};
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{LossyElection, PartitionDescription, ReplicaEnd, ReplicaEnds};
use crate::config::ConfigError;
use crate::types::{BrokerId, TopicPartition};

/// Elects the best live replica, if no live broker has all acknowledged records
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The partition, for example orders-0
    #[arg(value_name = "TOPIC-N")]
    partition: String,
    /// Accept that records from this offset on are lost; leave it out to learn the offset
    #[arg(long, value_name = "OFFSET")]
    accept_data_loss: Option<i64>,
    /// Replace a leader that may be alive: both may answer clients for a while
    #[arg(long)]
    accept_two_leaders: bool,
}

#[derive(Serialize)]
struct ElectedRow {
    topic: String,
    partition: i32,
    leader: i32,
    given_up_from: i64,
    given_up: Option<i64>,
}

impl Row for ElectedRow {
    const COLUMNS: &'static [&'static str] =
        &["topic", "partition", "leader", "given_up_from", "given_up"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let place = partition(&self.partition)?;
        let admin = cluster.connect()?.0.admin();
        let PartitionDescription { leader, replicas, .. } = require(&admin, &place)?;
        let ReplicaEnds { known: ends, unknown } = admin.replica_ends(&place, &replicas)?;
        // The present leader may hang, and is to be replaced then. Any other replica with an
        // unknown end might lose fewer records than the replicas with known ends.
        if let Some((_, error)) = unknown.into_iter().find(|(broker, _)| Some(*broker) != leader) {
            return Err(error.into());
        }
        let nobody = || ConfigError::single(&place.to_string(), "no replica of it runs");
        // A leader that waits for other replicas may lead on without them.
        let replaced = leader.filter(|_| self.accept_two_leaders);
        let best = best(&ends, replaced).ok_or_else(nobody)?;
        let given_up = given_up(&ends, &best);
        // Another replica may be the best one by now, and lack more than was accepted.
        if self.accept_data_loss.is_none_or(|from| best.end.get() < from) {
            let reason = format!(
                "{}; nothing was done, accept it by --accept-data-loss {}",
                loss(&place, &best, given_up),
                best.end
            );
            return Err(ConfigError::single("--accept-data-loss", reason).into());
        }
        let accepts_two_leaders = self.accept_two_leaders;
        let partition = place.clone();
        admin.elect_with_loss(&LossyElection { partition, leader: best, accepts_two_leaders })?;
        let row = ElectedRow {
            topic: place.topic.to_string(),
            partition: place.partition.0,
            leader: best.broker.0,
            given_up_from: best.end.get(),
            given_up,
        };
        cluster.rows().write_one(out, row)
    }
}

/// The replica whose election loses the fewest records, without the leader that is replaced.
fn best(ends: &[ReplicaEnd], replaced: Option<BrokerId>) -> Option<ReplicaEnd> {
    let others = ends.iter().filter(|replica| Some(replica.broker) != replaced);
    others.max_by_key(|replica| (replica.last_epoch, replica.end)).copied()
}

/// The number of given-up offsets that a live replica has; `None` if no live replica has any. A
/// replica whose last epoch is earlier than the elected replica's does not count: its records
/// beyond the elected replica's log were given up before.
fn given_up(ends: &[ReplicaEnd], elected: &ReplicaEnd) -> Option<i64> {
    let later = ends.iter().filter(|replica| replica.last_epoch >= elected.last_epoch);
    let longest = later.map(|replica| replica.end).max()?;
    (longest > elected.end).then(|| longest.since(elected.end))
}

/// Describes the records that would be lost.
fn loss(partition: &TopicPartition, elected: &ReplicaEnd, given_up: Option<i64>) -> String {
    let ReplicaEnd { broker, end, .. } = elected;
    let number = match given_up {
        Some(number) => format!("{number} offsets that a live replica has, or more"),
        None => "an unknown number, since no replica that has them answers".to_owned(),
    };
    format!(
        "broker {broker} would lead {partition}, and its records from {end} on are lost: {number}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{LeaderEpoch, Offset};

    fn replica(broker: i32, epoch: i32, end: i64) -> ReplicaEnd {
        let (broker, last_epoch) = (BrokerId(broker), LeaderEpoch(epoch));
        ReplicaEnd { broker, last_epoch, end: Offset::new(end) }
    }

    #[test]
    fn the_replica_of_the_latest_epoch_loses_least() {
        let ends = [replica(1, 3, 50), replica(2, 4, 20), replica(3, 4, 10)];
        assert_eq!(best(&ends, None), Some(ends[1]));
        assert_eq!(best(&ends, Some(BrokerId(2))), Some(ends[2]), "the present leader stays out");
        assert_eq!(best(&[], None), None);
    }

    #[test]
    fn the_loss_is_told_as_far_as_it_is_known() {
        let ends = [replica(1, 4, 50), replica(2, 4, 20), replica(3, 3, 70)];
        assert_eq!(given_up(&ends, &ends[1]), Some(30), "nothing of an earlier epoch");
        assert_eq!(given_up(&ends[1..], &ends[1]), None);
        let place = partition("orders-0").unwrap();
        let words = loss(&place, &ends[1], None);
        assert!(words.contains("broker 2") && words.contains("from 20 on"), "{words}");
        assert!(words.contains("unknown number"), "{words}");
        assert!(loss(&place, &ends[1], Some(30)).contains("30 offsets"));
    }
}
