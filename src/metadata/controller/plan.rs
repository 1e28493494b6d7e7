//! The operations that the controller should execute for a given image.

use std::sync::Arc;

use crate::metadata::MetadataConfig;
use crate::metadata::controller::AwaitedReports;
use crate::metadata::controller::election::elect;
use crate::metadata::controller::evidence::Terms;
use crate::metadata::image::{Image, Partition, PartitionState, Topic};
use crate::metadata::layout::NodePath;
use crate::metadata::store::Op;
use crate::metadata::values::encode_state;
use crate::types::{BrokerId, PartitionIndex};

/// Operations that must be executed in one transaction.
pub(in crate::metadata) type Group = Vec<Op>;

/// The names of two settings: of a topic, or of all brokers for topics without the setting.
const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";
const WRITE_CACHING: &str = "write.caching";

/// The basis of a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::metadata) struct Basis<'a> {
    /// The image to correct.
    pub(in crate::metadata) image: &'a Image,
    /// An earlier image for which nothing was due, if there is one: only differences from it can
    /// make elections necessary.
    pub(in crate::metadata) settled: Option<&'a Image>,
    /// The controller epoch.
    pub(in crate::metadata) epoch: i32,
    /// The defaults of topics.
    pub(in crate::metadata) config: &'a MetadataConfig,
    /// The partitions for which this controller waits until their replicas have reported; `None`
    /// where no wait ends.
    pub(in crate::metadata) awaited: Option<&'a AwaitedReports>,
}

/// All operations that are due, in order; none if the image is as it should be. The plan is
/// computed lazily: the plan of a large cluster would not fit into memory beside its image.
pub(in crate::metadata) fn plan(basis: Basis<'_>) -> impl Iterator<Item = Group> + Send {
    let image = basis.image;
    let elections = basis.concerned().flat_map(move |topic| elections(basis, topic));
    let removals = image.deleting().flat_map(|topic| removals(image, topic));
    elections.chain(removals).chain(tombstone_removals(image))
}

impl<'a> Basis<'a> {
    /// The basis of a decision that an operator asks for: it depends on no earlier plan and no
    /// wait, and keeps or has no controller epoch.
    pub(in crate::metadata) fn on_request(image: &'a Image, config: &'a MetadataConfig) -> Self {
        Self { image, settled: None, epoch: 0, config, awaited: None }
    }

    /// The topics in which an election may be due.
    pub(in crate::metadata) fn concerned(self) -> impl Iterator<Item = &'a Arc<Topic>> + Send {
        let Self { image, settled, .. } = self;
        let settled = settled.filter(|settled| {
            settled.brokers == image.brokers
                && settled.sessions == image.sessions
                && settled.broker_configs == image.broker_configs
                && settled.expected_broker_configs == image.expected_broker_configs
                && settled.has_lost_broker_configs == image.has_lost_broker_configs
        });
        image.topics().filter(move |topic| {
            let before = settled.and_then(|settled| settled.topic(&topic.name));
            before.is_none_or(|before| !Arc::ptr_eq(before, topic))
        })
    }

    /// The facts about a partition, and the settings of its topic, that decide its elections.
    pub(super) fn terms(
        self,
        (topic, index): (&Topic, PartitionIndex),
        partition: &Partition,
    ) -> Terms {
        let (id, replicas) = ((topic.id, index), partition.replicas.len());
        let is_overdue = self.awaited.is_some_and(|awaited| awaited.are_overdue(id));
        let rules = self.config.rules;
        if !self.can_read_settings(topic) {
            // The minimum may be greater than the default.
            let minimum = partition.state.as_ref().and_then(|state| state.minimum);
            let minimum = minimum.unwrap_or(replicas);
            return Terms { id, minimum, caches: None, is_overdue, rules };
        }
        let minimum = self.setting(topic, MIN_INSYNC_REPLICAS).and_then(|text| text.parse().ok());
        Terms {
            id,
            minimum: self.config.required_in_sync(minimum, replicas),
            caches: self.caches(topic),
            is_overdue,
            rules,
        }
    }

    /// Returns true if a topic has `write.caching`; `None` if its settings cannot be read.
    pub(in crate::metadata) fn caches(self, topic: &Topic) -> Option<bool> {
        let set = self.setting(topic, WRITE_CACHING).and_then(|text| text.parse().ok());
        self.can_read_settings(topic).then(|| set.unwrap_or(self.config.write_caching))
    }

    fn can_read_settings(self, topic: &Topic) -> bool {
        !self.image.are_topic_configs_broken(&topic.name)
            && !self.image.are_broker_configs_broken(None)
    }

    /// The value of a setting of a topic, or of all brokers, if it is set.
    fn setting<'b>(self, topic: &'b Topic, name: &str) -> Option<&'b str>
    where
        'a: 'b,
    {
        let of_brokers = self.image.broker_configs(None);
        let set = topic.configs.get(name).or_else(|| of_brokers?.get(name));
        set.map(|text| text.trim())
    }
}

fn elections<'a>(basis: Basis<'a>, topic: &'a Topic) -> impl Iterator<Item = Group> + Send + 'a {
    let grown = grown(basis.image, topic);
    let elections = topic.numbered().filter_map(move |(index, partition)| {
        if partition.state.is_none() && !basis.config.rules.may_make_state(topic.is_new(index)) {
            // Rule R27: somebody has deleted the state, which may have had a higher leader epoch
            // and fewer in-sync replicas than a new one.
            return None;
        }
        let terms = basis.terms((topic, index), partition);
        let state = elect(partition, basis.image, terms)?;
        let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
        if basis.image.broken().contains_key(&path) {
            // The unreadable state may hold a higher leader epoch, so do not overwrite it.
            return None;
        }
        if state.leader.is_none() {
            warn_of_no_leader(basis.image, (topic, index), &state);
        } else if state.unvouched.is_some() {
            tracing::warn!(
                "{}-{index} has a leader after the wait for other replicas: it takes no records \
                 until enough of the brokers {} return with the data directories that they had",
                topic.name,
                names(state.eligible.iter().map(|replica| replica.broker))
            );
        }
        let state = PartitionState { controller_epoch: basis.epoch, ..state };
        let value = encode_state(&state);
        Some(if partition.state.is_some() {
            vec![Op::set(path, value, state.version)]
        } else {
            let directory = NodePath::Partition(topic.name.clone(), index).to_string();
            vec![Op::create(directory, ""), Op::create(path, value)]
        })
    });
    elections.chain(grown)
}

/// Notes that the states of all partitions of a topic are made, once they are or the same plan
/// makes the last of them.
fn grown(image: &Image, topic: &Topic) -> Option<Group> {
    let parent = topic.parent.filter(|parent| parent.new_from.is_some())?;
    let lives = |broker: &BrokerId| image.broker(*broker).is_some();
    let mut new = topic.numbered().filter(|(index, _)| topic.is_new(*index));
    let are_made =
        new.all(|(_, partition)| partition.state.is_some() || partition.replicas.iter().any(lives));
    let path = NodePath::Partitions(topic.name.clone()).to_string();
    are_made.then(|| vec![Op::set(path, "", parent.version)])
}

/// The names of brokers in a sentence.
fn names(brokers: impl IntoIterator<Item = BrokerId>) -> String {
    brokers.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}

/// Logs that a partition has no leader, and the remedy.
fn warn_of_no_leader(
    image: &Image,
    (topic, index): (&Topic, PartitionIndex),
    state: &PartitionState,
) {
    let (lost, left): (Vec<BrokerId>, Vec<BrokerId>) =
        state.isr.iter().map(|member| member.broker).partition(|broker| {
            let registered = image.broker(*broker);
            registered.is_some_and(|b| b.registration.lost.contains(&(topic.id, index)))
        });
    if left.is_empty() {
        tracing::error!(
            "{}-{index} has no leader: the disks of all in-sync replicas, of the brokers {}, have \
             lost records of it; 'streamlog partition elect' lets one of them lead without these",
            topic.name,
            names(lost)
        );
    } else {
        tracing::warn!(
            "{}-{index} has no leader: start one of the brokers {} with the data directory that \
             it had",
            topic.name,
            names(left)
        );
    }
}

/// Deletes the nodes of a deleted topic, children first, ending with the topic's own node.
fn removals(image: &Image, topic: &Topic) -> Vec<Group> {
    let mut groups: Vec<Group> = topic
        .numbered()
        .filter_map(|(index, partition)| {
            let node_path = |of: fn(_, _) -> NodePath| of(topic.name.clone(), index).to_string();
            let version = partition.state.as_ref().map(|state| state.version);
            let state = deletion(image, node_path(NodePath::PartitionState), version)?;
            Some(vec![state, Op::delete(node_path(NodePath::Partition), 0)])
        })
        .collect();
    let node_path = |of: fn(_) -> NodePath| of(topic.name.clone()).to_string();
    let parent = topic.parent.map(|known| known.version);
    let parent = deletion(image, node_path(NodePath::Partitions), parent);
    let config = deletion(image, node_path(NodePath::TopicConfig), topic.config_version);
    let topic = Op::delete(node_path(NodePath::Topic), topic.version);
    groups.push(parent.into_iter().chain(config).chain([topic]).collect());
    groups
}

/// The deletion of a node, if it exists: with this version if it can be read.
fn deletion(image: &Image, path: String, version: Option<i32>) -> Option<Op> {
    let version = version.or_else(|| Some(image.broken().get(&path)?.version))?;
    Some(Op::delete(path, version))
}

/// Deletes tombstones that are no longer needed: no nodes of the topic are left, and no data.
fn tombstone_removals(image: &Image) -> impl Iterator<Item = Group> {
    let nodes_left = |id| image.deleting().any(|topic| topic.id == id);
    image
        .tombstones()
        .filter(move |(id, tombstone)| tombstone.pending.is_empty() && !nodes_left(*id))
        .map(|(id, tombstone)| {
            vec![Op::delete(NodePath::DeletedTopic(id).to_string(), tombstone.version)]
        })
}
