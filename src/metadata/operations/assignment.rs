//! Which brokers keep which partition.

use std::collections::BTreeSet;

use crate::metadata::MetadataError;
use crate::metadata::image::Image;
use crate::types::BrokerId;

/// Replicas for `count` partitions from number `first` on, spread evenly over the live brokers.
///
/// Leaders go round from broker `start`. The followers of a partition follow its leader, by one
/// more broker each round, so that the partitions of a lost broker fall to all the others.
pub(super) fn spread(
    image: &Image,
    first: usize,
    count: usize,
    factor: i16,
    start: usize,
) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
    let brokers: Vec<BrokerId> = image.brokers().map(|broker| broker.id).collect();
    let live = brokers.len();
    let replicas = match usize::try_from(factor) {
        Ok(replicas) if (1..=live).contains(&replicas) => replicas,
        _ => return Err(MetadataError::InvalidReplicationFactor { asked: factor, live }),
    };
    let replicas_of = |partition: usize| {
        let leader = (start % live + partition) % live;
        let round = partition / live;
        let follower = |n: usize| (leader + 1 + (round + n) % (live - 1).max(1)) % live;
        let places = std::iter::once(leader).chain((0..replicas - 1).map(follower));
        places.map(|place| brokers[place]).collect()
    };
    Ok((first..first + count).map(replicas_of).collect())
}

/// Passes an assignment made by a person.
pub(super) fn check(
    image: &Image,
    assignment: &[Vec<BrokerId>],
    factor: Option<usize>,
) -> Result<(), MetadataError> {
    let refuse = |partition, reason| Err(MetadataError::InvalidAssignment { partition, reason });
    let expected = factor.or(assignment.first().map(Vec::len));
    for (partition, replicas) in assignment.iter().enumerate() {
        if replicas.is_empty() {
            return refuse(partition, "there are none");
        }
        if Some(replicas.len()) != expected {
            return refuse(partition, "all partitions have equally many");
        }
        if replicas.iter().collect::<BTreeSet<_>>().len() != replicas.len() {
            return refuse(partition, "a broker is named twice");
        }
        if replicas.iter().any(|broker| image.broker(*broker).is_none()) {
            return refuse(partition, "a broker is not alive");
        }
    }
    Ok(())
}
