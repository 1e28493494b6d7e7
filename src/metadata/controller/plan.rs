//! What the controller has to write, given how the cluster looks.

use crate::metadata::controller::election::elect;
use crate::metadata::image::{Image, Topic};
use crate::metadata::layout::Place;
use crate::metadata::store::Op;
use crate::metadata::values::encode_state;
use crate::types::PartitionIndex;

/// Operations that belong into one transaction.
pub(in crate::metadata) type Group = Vec<Op>;

/// Everything that is to be written, in order; nothing when all is as it should be. It is decided
/// as it is asked for: that of a large cluster would not fit beside it.
pub(in crate::metadata) fn plan(
    image: &Image,
    controller_epoch: i32,
) -> impl Iterator<Item = Group> + Send {
    let elections = image.topics().flat_map(move |topic| elections(image, topic, controller_epoch));
    let removals = image.deleting().flat_map(|topic| removals(image, topic));
    elections.chain(removals).chain(burials(image))
}

fn elections(
    image: &Image,
    topic: &Topic,
    controller_epoch: i32,
) -> impl Iterator<Item = Group> + Send {
    topic.numbered().filter_map(move |(index, partition)| {
        let state = elect(partition, image)?;
        let path = Place::PartitionState(topic.name.clone(), index).to_string();
        if image.broken().contains_key(&path) {
            // What it said is not known, so nothing can be put in its place.
            return None;
        }
        let value = encode_state(&state, controller_epoch);
        Some(if partition.state.is_some() {
            vec![Op::set(path, value, state.version)]
        } else {
            let directory = Place::Partition(topic.name.clone(), index).to_string();
            vec![Op::create(directory, ""), Op::create(path, value)]
        })
    })
}

/// The nodes of a deleted topic, the topic's own and its name last.
fn removals(image: &Image, topic: &Topic) -> Vec<Group> {
    let mut groups: Vec<Group> = topic
        .numbered()
        .filter_map(|(index, _)| {
            let version = state_version(image, topic, index)?;
            let place = |of: fn(_, _) -> Place| of(topic.name.clone(), index).to_string();
            Some(vec![
                Op::delete(place(Place::PartitionState), version),
                Op::delete(place(Place::Partition), 0),
            ])
        })
        .collect();
    let mut last = vec![Op::delete(Place::Partitions(topic.name.clone()).to_string(), 0)];
    if let Some(version) = topic.config_version {
        last.push(Op::delete(Place::TopicConfig(topic.name.clone()).to_string(), version));
    }
    last.push(Op::delete(Place::Topic(topic.name.clone()).to_string(), topic.version));
    groups.push(last);
    groups
}

/// The version of a partition's state node, if there is one, readable or not.
fn state_version(image: &Image, topic: &Topic, index: PartitionIndex) -> Option<i32> {
    let readable = topic.partition(index)?.state.as_ref().map(|state| state.version);
    readable.or_else(|| {
        let path = Place::PartitionState(topic.name.clone(), index).to_string();
        image.broken().get(&path).map(|node| node.version)
    })
}

/// Tombstones that have done their work: no nodes are left, and no data anywhere.
fn burials(image: &Image) -> impl Iterator<Item = Group> {
    let nodes_left = |id| image.deleting().any(|topic| topic.id == id);
    image
        .tombstones()
        .filter(move |(id, tombstone)| tombstone.pending.is_empty() && !nodes_left(*id))
        .map(|(id, tombstone)| {
            vec![Op::delete(Place::DeletedTopic(id).to_string(), tombstone.version)]
        })
}
