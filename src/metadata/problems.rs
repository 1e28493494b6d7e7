//! Nodes, brokers and replicas that the metadata shows to be missing, unreadable or not in sync,
//! each with its remedy.

use crate::metadata::image::{Image, Partition, PartitionState, Topic};
use crate::metadata::layout::{BROKER_CONFIGS, NodePath};
use crate::types::{BrokerId, PartitionIndex, TopicPartition};

/// The remedy for a missing parent of the settings of brokers.
pub(in crate::metadata) const BROKER_CONFIGS_REMEDY: &str =
    "create it without a value, and set the settings of brokers again";

/// A problem of the cluster, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The broker whose data directory has the problem; `None` if the metadata shows it.
    pub(crate) broker: Option<BrokerId>,
    /// The partition, if it concerns one.
    pub(crate) partition: Option<TopicPartition>,
    /// The problem.
    pub(crate) words: String,
    /// The remedy, in words or as a command.
    pub(crate) remedy: String,
}

/// The problems that the metadata shows, to every broker alike.
pub(crate) fn problems(image: &Image) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, node) in image.broken() {
        problems.push(Problem {
            broker: None,
            partition: None,
            words: format!("node {path} cannot be read: {}", node.reason),
            remedy: remedy_of_unreadable(path),
        });
    }
    for path in image.missing_nodes() {
        let remedy = if path == BROKER_CONFIGS {
            BROKER_CONFIGS_REMEDY.to_owned()
        } else {
            "restore it; or, if nobody has a copy, create it with {\"version\":1,\"config\":{}}, \
             and set these settings again"
                .to_owned()
        };
        let words = format!("node {path} was deleted by hand");
        problems.push(Problem { broker: None, partition: None, words, remedy });
    }
    for (id, _) in image.known_brokers().filter(|(id, _)| image.broker(*id).is_none()) {
        let (words, remedy) = if image.has_lost_registration(id) {
            let path = NodePath::Broker(id);
            (
                format!(
                    "the session of broker {id} goes on, but its registration, node {path}, was \
                     deleted or damaged by hand"
                ),
                "wait: it registers again once it reaches ZooKeeper, or its session expires"
                    .to_owned(),
            )
        } else {
            (
                format!("broker {id} does not run"),
                format!("start it, or forget it: streamlog cluster unregister {id}"),
            )
        };
        problems.push(Problem { broker: None, partition: None, words, remedy });
    }
    for topic in image.topics().filter(|topic| !image.are_topic_configs_broken(&topic.name)) {
        for (index, partition) in topic.numbered() {
            let Some((words, remedy)) = of_partition(image, (topic, index), partition) else {
                continue;
            };
            let partition = TopicPartition { topic: topic.name.clone(), partition: index };
            let partition = Some(partition);
            problems.push(Problem { broker: None, partition, words, remedy });
        }
    }
    problems
}

/// The remedy for a node that cannot be read.
fn remedy_of_unreadable(path: &str) -> String {
    match NodePath::of(path) {
        Some(NodePath::Broker(id) | NodePath::KnownBroker(id) | NodePath::Session(id)) => {
            format!("wait: broker {id} writes it again; if that broker does not run, delete it")
        }
        Some(NodePath::Controller) => {
            "wait: a broker writes it again; if it stays as it is, delete it".to_owned()
        }
        _ => "correct its contents, or restore them".to_owned(),
    }
}

/// The problem of a partition, and its remedy.
fn of_partition(
    image: &Image,
    (topic, index): (&Topic, PartitionIndex),
    partition: &Partition,
) -> Option<(String, String)> {
    let Some(state) = &partition.state else {
        return without_state(image, (topic, index), partition);
    };
    if state.leader.is_none() {
        return Some(without_leader(image, (topic, index), state));
    }
    if state.unvouched.is_some() {
        let eligible: Vec<BrokerId> = state.eligible.iter().map(|known| known.broker).collect();
        let words = format!(
            "its leader was elected after the wait for brokers {}, which may have more records: \
             it takes none",
            names(&eligible)
        );
        return Some((words, give_up_or_start(topic, index, &eligible)));
    }
    let is_in_sync = |id: &BrokerId| state.isr.iter().any(|member| member.broker == *id);
    let behind: Vec<BrokerId> =
        partition.replicas.iter().copied().filter(|id| !is_in_sync(id)).collect();
    if behind.is_empty() {
        return None;
    }
    let (live, absent): (Vec<BrokerId>, Vec<BrokerId>) =
        behind.iter().partition(|id| image.broker(**id).is_some());
    let words = format!("the replicas on brokers {} are not in sync", names(&behind));
    let remedy = match (absent.is_empty(), live.is_empty()) {
        (true, _) => format!("wait; if it lasts, read the log of brokers {}", names(&live)),
        (_, true) => format!("start brokers {}", names(&absent)),
        _ => format!("start brokers {}, and wait for brokers {}", names(&absent), names(&live)),
    };
    Some((words, remedy))
}

fn without_state(
    image: &Image,
    (topic, index): (&Topic, PartitionIndex),
    partition: &Partition,
) -> Option<(String, String)> {
    let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
    if image.broken().contains_key(&path) {
        return None;
    }
    if topic.is_new(index) {
        let words = "it has had no leader yet".to_owned();
        let replicas: &[BrokerId] = &partition.replicas;
        return Some((words, format!("start one of the brokers {}", names(replicas))));
    }
    let words = format!("its state, node {path}, was deleted by hand");
    let remedy = format!(
        "restore the node, with the leader epoch that it had or a higher one; or, if nobody has a \
         copy: streamlog partition rebuild-state {}-{index}",
        topic.name
    );
    Some((words, remedy))
}

fn without_leader(
    image: &Image,
    (topic, index): (&Topic, PartitionIndex),
    state: &PartitionState,
) -> (String, String) {
    let members = state.isr.iter().map(|member| member.broker);
    let mut last: Vec<BrokerId> =
        members.chain(state.eligible.iter().map(|replica| replica.broker)).collect();
    last.sort_unstable();
    last.dedup();
    let id = (topic.id, index);
    let has_lost = |broker: &BrokerId| {
        image.broker(*broker).is_some_and(|broker| broker.registration.lost.contains(&id))
    };
    let absent: Vec<BrokerId> =
        last.iter().copied().filter(|broker| image.broker(*broker).is_none()).collect();
    if last.iter().all(has_lost) {
        let words = format!(
            "it has no leader: the disks of all replicas that were in sync, of brokers {}, have \
             lost records of it",
            names(&last)
        );
        return (words, accept_loss(topic, index));
    }
    if absent.is_empty() {
        let words = format!(
            "it has no leader, although brokers {} run: their logs are being compared, or lack \
             records that were committed",
            names(&last)
        );
        return (words, format!("wait; if it lasts, {}", accept_loss(topic, index)));
    }
    let words = format!("it has no leader until more of the brokers {} return", names(&last));
    (words, give_up_or_start(topic, index, &absent))
}

fn give_up_or_start(topic: &Topic, index: PartitionIndex, absent: &[BrokerId]) -> String {
    format!(
        "start brokers {} with the data directories that they had; or, if these are gone, {}",
        names(absent),
        accept_loss(topic, index)
    )
}

fn accept_loss(topic: &Topic, index: PartitionIndex) -> String {
    format!("see what would be lost: streamlog partition elect {}-{index}", topic.name)
}

fn names(brokers: &[BrokerId]) -> String {
    brokers.iter().map(BrokerId::to_string).collect::<Vec<_>>().join(", ")
}
