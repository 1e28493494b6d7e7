//! The problems that a broker finds in its data directory, each with its remedy.

use crate::engine::{EngineState, strays};
use crate::metadata::Problem;
use crate::replication::{Partition, Role};
use crate::types::{TopicPartition, WithCauses};

/// The problems in the data directory of this broker. Blocks on the disk: it opens every log.
pub(super) fn data_problems(engine: &EngineState) -> Vec<Problem> {
    let broker = Some(engine.config.broker_id);
    let mut problems = Vec::new();
    for stray in strays(&engine.logs.data, || engine.image()) {
        let partition = None;
        problems.push(Problem { broker, partition, words: stray.words, remedy: stray.remedy });
    }
    let (image, lost) = (engine.image(), engine.losses.replicas());
    for (id, index) in lost.iter().copied() {
        let Some(topic) = image.topic_by_id(id) else { continue };
        let partition = TopicPartition { topic: topic.name.clone(), partition: index };
        problems.push(Problem {
            broker,
            words: "its disk has lost flushed records, or cannot read its log: this replica \
                    neither leads nor follows until another leads"
                .to_owned(),
            remedy: format!(
                "start the brokers of the other replicas; or, if these are gone, see what would \
                 be lost: streamlog partition elect {partition}"
            ),
            partition: Some(partition),
        });
    }
    for topic in engine.partitions.topics() {
        let is_lost = |partition: &Partition| {
            lost.contains(&(partition.topic_id(), partition.id().partition))
        };
        for partition in topic.partitions().filter(|partition| !is_lost(partition)) {
            let (words, remedy) = if partition.keeps_records() {
                (
                    "this replica keeps records that its leader lacks, and has stopped following"
                        .to_owned(),
                    format!(
                        "wait for another leader; if it lasts, see what would be lost: streamlog \
                         partition elect {}",
                        partition.id()
                    ),
                )
            } else if let Some(reason) = unopened(engine, partition) {
                (
                    format!("its log cannot be opened: {reason}"),
                    "see to what is named, and write to the partition, or start the broker again"
                        .to_owned(),
                )
            } else {
                continue;
            };
            let partition = Some(partition.id().clone());
            problems.push(Problem { broker, partition, words, remedy });
        }
    }
    problems
}

/// The reason why the log of a partition that has not stopped cannot be used, if it cannot.
fn unopened(engine: &EngineState, partition: &Partition) -> Option<String> {
    if matches!(partition.role(), Role::Stopped(_)) {
        return None;
    }
    let failure = partition.open_failure().map(|reason| reason.to_string());
    // A log is opened on first use, and may not have been used yet.
    failure.or_else(|| {
        let opened = engine.logs.data.log_of(partition.id(), partition.topic_id());
        opened.err().map(|error| WithCauses(&error).to_string())
    })
}
