//! The operations that the controller should execute for a given image.

use crate::metadata::controller::election::elect;
use crate::metadata::image::{Image, Topic};
use crate::metadata::layout::NodePath;
use crate::metadata::store::Op;
use crate::metadata::values::encode_state;
use crate::types::PartitionIndex;

/// Operations that must be executed in one transaction.
pub(in crate::metadata) type Group = Vec<Op>;

/// All operations that are due, in order; none if the image is as it should be. The plan is
/// computed lazily: the plan of a large cluster would not fit into memory beside its image.
pub(in crate::metadata) fn plan(
    image: &Image,
    controller_epoch: i32,
) -> impl Iterator<Item = Group> + Send {
    let elections = image.topics().flat_map(move |topic| elections(image, topic, controller_epoch));
    let removals = image.deleting().flat_map(|topic| removals(image, topic));
    elections.chain(removals).chain(tombstone_removals(image))
}

fn elections(
    image: &Image,
    topic: &Topic,
    controller_epoch: i32,
) -> impl Iterator<Item = Group> + Send {
    topic.numbered().filter_map(move |(index, partition)| {
        let state = elect(partition, image)?;
        let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
        if image.broken().contains_key(&path) {
            // The unreadable state may hold a higher leader epoch, so do not overwrite it.
            return None;
        }
        let value = encode_state(&state, controller_epoch);
        Some(if partition.state.is_some() {
            vec![Op::set(path, value, state.version)]
        } else {
            let directory = NodePath::Partition(topic.name.clone(), index).to_string();
            vec![Op::create(directory, ""), Op::create(path, value)]
        })
    })
}

/// Deletes the nodes of a deleted topic, children first, ending with the topic's own node.
fn removals(image: &Image, topic: &Topic) -> Vec<Group> {
    let mut groups: Vec<Group> = topic
        .numbered()
        .filter_map(|(index, _)| {
            let version = state_version(image, topic, index)?;
            let node_path = |of: fn(_, _) -> NodePath| of(topic.name.clone(), index).to_string();
            Some(vec![
                Op::delete(node_path(NodePath::PartitionState), version),
                Op::delete(node_path(NodePath::Partition), 0),
            ])
        })
        .collect();
    let mut last = vec![Op::delete(NodePath::Partitions(topic.name.clone()).to_string(), 0)];
    if let Some(version) = topic.config_version {
        last.push(Op::delete(NodePath::TopicConfig(topic.name.clone()).to_string(), version));
    }
    last.push(Op::delete(NodePath::Topic(topic.name.clone()).to_string(), topic.version));
    groups.push(last);
    groups
}

/// The version of a partition's state node, if the node exists, readable or not.
fn state_version(image: &Image, topic: &Topic, index: PartitionIndex) -> Option<i32> {
    let readable = topic.partition(index)?.state.as_ref().map(|state| state.version);
    readable.or_else(|| {
        let path = NodePath::PartitionState(topic.name.clone(), index).to_string();
        image.broken().get(&path).map(|node| node.version)
    })
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
