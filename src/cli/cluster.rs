//! `streamlog cluster`: the health of a cluster, its problems, and the removal of brokers from it.

use std::io::Write;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::output::Row;
use crate::cli::terminal::Tone;
use crate::cli::{ClusterOptions, CommandError, Exit, Watch};
use crate::client::{
    Admin, ClientError, ClusterDescription, DamagedStretch, PartitionDescription, Problem,
    TopicDescription,
};
use crate::types::BrokerId;

/// Shows the health of a cluster, lists its problems, and forgets brokers.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    cluster: ClusterOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Counts brokers, topics and partitions, and those with problems
    Status {
        /// Exit with 0 if healthy, 1 for a warning, 2 if partitions are unavailable
        #[arg(long, conflicts_with = "interval")]
        check: bool,
        #[command(flatten)]
        watch: Watch,
    },
    /// Lists what is not in sync or not sound, with remedies; exits with 0 if there is nothing
    Check,
    /// Forgets a broker that will not return; refused while it runs or has replicas
    Unregister {
        /// The id of the broker
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
        broker: i32,
    },
}

#[derive(Serialize)]
struct StatusRow {
    cluster: String,
    status: &'static str,
    controller: Option<i32>,
    /// The state of elections and of changes of topics and settings: made at once, or waiting.
    decisions: &'static str,
    nodes: usize,
    topics: usize,
    partitions: usize,
    under_replicated: usize,
    offline: usize,
}

impl Row for StatusRow {
    const COLUMNS: &'static [&'static str] = &[
        "cluster",
        "status",
        "controller",
        "decisions",
        "nodes",
        "topics",
        "partitions",
        "under_replicated",
        "offline",
    ];
    const TONES: &'static [(&'static str, &'static str, Tone)] = &[
        ("status", "ok", Tone::Good),
        ("status", "warning", Tone::Warning),
        ("status", "critical", Tone::Bad),
    ];
}

impl Options {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> Exit {
        let (check, watch) = match &self.verb {
            Verb::Status { check, watch } => (check, watch),
            Verb::Check => return self.cluster.answer(|out| self.check(out)),
            Verb::Unregister { broker } => {
                let forget = |_: &mut dyn Write| {
                    let admin = self.cluster.connect()?.0.admin();
                    Ok(admin.unregister_broker(BrokerId(*broker))?)
                };
                return self.cluster.answer(|out| forget(out).map(|()| Exit::Done));
            }
        };
        let show = |admin: &Admin, out: &mut dyn Write| {
            let row = StatusRow::new(admin.cluster()?, &admin.topics()?);
            let exit = if *check { row.exit() } else { Exit::Done };
            self.cluster.rows().write_one(out, row)?;
            Ok(exit)
        };
        self.cluster.answer(|out| watch.answer(&self.cluster, out, show))
    }

    /// Lists the problems.
    fn check(&self, out: &mut dyn Write) -> Result<Exit, CommandError> {
        let admin = self.cluster.connect()?.0.admin();
        let mut rows: Vec<ProblemRow> =
            admin.problems()?.into_iter().map(ProblemRow::new).collect();
        match admin.damage() {
            Ok(damage) => {
                let damage = damage.into_iter().filter(|stretch| !stretch.is_skipped);
                rows.extend(damage.map(ProblemRow::of_damage));
            }
            Err(error) => rows.push(ProblemRow::of_unknown_damage(&error)),
        }
        let exit = if rows.is_empty() { Exit::Done } else { Exit::Failed };
        self.cluster.rows().write(out, rows)?;
        Ok(exit)
    }
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct ProblemRow {
    /// The topic of the partition, if it concerns one.
    topic: Option<String>,
    partition: Option<i32>,
    /// The broker whose data directory has it.
    broker: Option<i32>,
    problem: String,
    remedy: String,
}

impl Row for ProblemRow {
    const COLUMNS: &'static [&'static str] = &["topic", "partition", "broker", "problem", "remedy"];
}

impl ProblemRow {
    fn new(found: Problem) -> Self {
        let partition = found.partition.as_ref();
        Self {
            topic: partition.map(|partition| partition.topic.to_string()),
            partition: partition.map(|partition| partition.partition.0),
            broker: found.broker.map(|broker| broker.0),
            problem: found.words,
            remedy: found.remedy,
        }
    }

    fn of_unknown_damage(error: &ClientError) -> Self {
        Self {
            topic: None,
            partition: None,
            broker: None,
            problem: format!("the damage in the logs is not known: {error}"),
            remedy: "see to the broker that is named, and check again".to_owned(),
        }
    }

    fn of_damage(stretch: DamagedStretch) -> Self {
        let DamagedStretch { broker, partition, first, next, file, .. } = stretch;
        Self {
            broker: Some(broker.0),
            problem: format!("offsets {first} to {next} are damaged, in {file}"),
            remedy: format!(
                "while another broker leads, broker {broker} fetches them again: if it does not, \
                 its log says why; a compacted log needs more replicas in sync than \
                 min.insync.replicas. If no replica is sound, streamlog partition skip-damage \
                 {partition} --from {first} --to {next}"
            ),
            topic: Some(partition.topic.to_string()),
            partition: Some(partition.partition.0),
        }
    }
}

impl StatusRow {
    fn new(cluster: ClusterDescription, topics: &[TopicDescription]) -> Self {
        let partitions = || topics.iter().flat_map(|topic| &topic.partitions);
        let count = |is_so: fn(&PartitionDescription) -> bool| {
            partitions().filter(|partition| is_so(partition)).count()
        };
        let under_replicated = count(|row| row.isr.len() < row.replicas.len());
        let offline = count(|row| row.leader.is_none());
        // Internal topics count in `under_replicated`, `offline` and so in the status, but not in
        // the numbers of topics and partitions.
        let own = || topics.iter().filter(|topic| !topic.is_internal);
        let status = match (offline, under_replicated, cluster.controller) {
            (1.., _, _) => "critical",
            (_, 1.., _) | (_, _, None) => "warning",
            _ => "ok",
        };
        Self {
            cluster: cluster.id,
            status,
            controller: cluster.controller.map(|id| id.0),
            decisions: match cluster.controller {
                Some(_) => "made",
                None => "wait for the metadata store",
            },
            nodes: cluster.brokers.len(),
            topics: own().count(),
            partitions: own().map(|topic| topic.partitions.len()).sum(),
            under_replicated,
            offline,
        }
    }

    /// The exit code by the convention of monitoring plugins.
    fn exit(&self) -> Exit {
        match self.status {
            "ok" => Exit::Done,
            "warning" => Exit::Failed,
            _ => Exit::Usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};

    fn row(leader: Option<i32>, isr: &[i32], controller: Option<i32>) -> StatusRow {
        let partition = PartitionDescription {
            partition: PartitionIndex(0),
            leader: leader.map(BrokerId),
            leader_epoch: LeaderEpoch(0),
            replicas: vec![BrokerId(1), BrokerId(2)],
            isr: isr.iter().copied().map(BrokerId).collect(),
        };
        let topic = TopicDescription {
            name: "t".parse().unwrap(),
            id: TopicId::NONE,
            is_internal: false,
            partitions: vec![partition],
        };
        let cluster = ClusterDescription {
            id: "c".to_owned(),
            controller: controller.map(BrokerId),
            brokers: Vec::new(),
        };
        StatusRow::new(cluster, &[topic])
    }

    fn status(leader: Option<i32>, isr: &[i32]) -> (&'static str, u8) {
        let row = row(leader, isr, Some(1));
        (row.status, row.exit().code())
    }

    #[test]
    fn a_check_follows_the_convention_of_monitoring_plugins() {
        assert_eq!(status(Some(1), &[1, 2]), ("ok", 0));
        assert_eq!(status(Some(1), &[1]), ("warning", 1));
        assert_eq!(status(None, &[]), ("critical", 2));
    }

    #[test]
    fn a_cluster_without_its_store_is_a_warning_and_says_what_waits() {
        let row = row(Some(1), &[1, 2], None);
        let expected = ("warning", "wait for the metadata store");
        assert_eq!((row.status, row.decisions), expected);
    }
}
