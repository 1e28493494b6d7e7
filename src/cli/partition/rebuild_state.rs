//! `streamlog partition rebuild-state`: makes the state of a partition again that was deleted by
//! hand.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::partition::place::{partition, require};
use crate::cli::{ClusterOptions, CommandError};
use crate::client::{PartitionDescription, ReplicaEnd, ReplicaEnds};
use crate::config::ConfigError;
use crate::types::{BrokerId, LeaderEpoch, TopicPartition};

/// The distance from the last epoch of all records to the epoch of the new state. Later leaders may
/// have had no records, and clients ignore a leader of an earlier epoch than the one they know.
const AHEAD: i32 = 1_000;

/// The end of the valid leader epochs.
const EPOCHS_END: i64 = i32::MAX as i64;

/// Makes the state of a partition again that was deleted from the metadata; only with --yes
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The partition, for example orders-0
    #[arg(value_name = "TOPIC-N")]
    partition: String,
    /// The leader epoch of the new state [default: that of the last record and 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..EPOCHS_END))]
    leader_epoch: Option<i32>,
    /// Confirm that the replica with the greatest log may lead
    #[arg(long)]
    yes: bool,
}

#[derive(Serialize)]
struct RebuiltRow {
    topic: String,
    partition: i32,
    leader_epoch: i32,
    replicas: Vec<i32>,
}

impl Row for RebuiltRow {
    const COLUMNS: &'static [&'static str] = &["topic", "partition", "leader_epoch", "replicas"];
}

impl Options {
    pub(super) fn answer(
        self,
        cluster: &ClusterOptions,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let place = partition(&self.partition)?;
        let admin = cluster.connect()?.0.admin();
        let PartitionDescription { replicas, leader, .. } = require(&admin, &place)?;
        if let Some(leader) = leader {
            let reason = format!("broker {leader} leads it: there is nothing to rebuild");
            return Err(ConfigError::single(&place.to_string(), reason).into());
        }
        let ReplicaEnds { known: ends, unknown } = admin.replica_ends(&place, &replicas)?;
        if let Some((_, error)) = unknown.into_iter().next() {
            return Err(error.into());
        }
        let last = last_epoch(&ends);
        let epoch = self.leader_epoch.unwrap_or(last.0.saturating_add(AHEAD));
        if epoch <= last.0 {
            let reason = format!("there are records of epoch {last}: the new one must be above");
            return Err(ConfigError::single("--leader-epoch", reason).into());
        }
        if !self.yes {
            let plan = plan(&place, &replicas, &ends, epoch);
            return Err(ConfigError::single("--yes", plan).into());
        }
        admin.rebuild_state(&place, LeaderEpoch(epoch))?;
        let row = RebuiltRow {
            topic: place.topic.to_string(),
            partition: place.partition.0,
            leader_epoch: epoch,
            replicas: replicas.iter().map(|broker| broker.0).collect(),
        };
        cluster.rows().write_one(out, row)
    }
}

fn last_epoch(ends: &[ReplicaEnd]) -> LeaderEpoch {
    ends.iter().map(|end| end.last_epoch).max().unwrap_or(LeaderEpoch::NONE)
}

/// Describes what would be done.
fn plan(place: &TopicPartition, replicas: &[BrokerId], ends: &[ReplicaEnd], epoch: i32) -> String {
    let end = |ReplicaEnd { broker, last_epoch, end }: &ReplicaEnd| {
        format!("broker {broker} ends at {end} in epoch {last_epoch}")
    };
    let runs = |broker: &BrokerId| ends.iter().any(|end| end.broker == *broker);
    let absent = replicas.iter().filter(|broker| !runs(broker));
    let absent = absent.map(|broker| format!("broker {broker} does not run"));
    let ends: Vec<String> = ends.iter().map(end).chain(absent).collect();
    let ends = ends.join(", ");
    format!(
        "the state of {place} would begin in leader epoch {epoch}, and the greatest log lead once \
         all replicas have reported, or those that run after election.wait.ms: {ends}; one that \
         was not in sync may be among them; nothing was done, confirm it by --yes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Offset;

    #[test]
    fn the_plan_names_each_log_and_the_epoch() {
        let end = |broker, epoch, end| ReplicaEnd {
            broker: BrokerId(broker),
            last_epoch: LeaderEpoch(epoch),
            end: Offset::new(end),
        };
        let ends = [end(1, 3, 40), end(2, 4, 50)];
        assert_eq!(last_epoch(&ends), LeaderEpoch(4));
        assert_eq!(last_epoch(&[]), LeaderEpoch::NONE);
        let place = partition("orders-0").unwrap();
        let words = plan(&place, &[1, 2, 3].map(BrokerId), &ends, 1004);
        let told = ["orders-0", "epoch 1004", "broker 2 ends at 50 in epoch 4", "--yes"];
        for part in told.into_iter().chain(["broker 3 does not run"]) {
            assert!(words.contains(part), "{words}");
        }
    }
}
