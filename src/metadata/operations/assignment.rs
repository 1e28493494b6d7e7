//! The assignment of replicas to brokers.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::metadata::MetadataError;
use crate::metadata::image::Image;
use crate::types::BrokerId;

/// The replicas of the partitions with these numbers, spread evenly over the brokers.
///
/// Leaders rotate through the brokers, from broker `start`. The followers of a partition are the
/// brokers after its leader, shifted by one more in each round, so that the partitions of a failed
/// broker move to all the others.
pub(super) fn spread(
    brokers: &[BrokerId],
    partitions: Range<usize>,
    factor: i16,
    start: usize,
) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
    let live = brokers.len();
    let replicas = match usize::try_from(factor) {
        Ok(replicas) if (1..=live).contains(&replicas) => replicas,
        _ => return Err(MetadataError::InvalidReplicationFactor { asked: factor, live }),
    };
    let replicas_of = |partition: usize| {
        let leader = (start % live + partition) % live;
        let round = partition / live;
        let follower = |n: usize| (leader + 1 + (round + n) % (live - 1).max(1)) % live;
        let indexes = std::iter::once(leader).chain((0..replicas - 1).map(follower));
        indexes.map(|index| brokers[index]).collect()
    };
    Ok(partitions.map(replicas_of).collect())
}

/// Checks a manual assignment of the partitions from number `first` on.
pub(super) fn check(
    image: &Image,
    assignment: &[Vec<BrokerId>],
    first: usize,
    factor: Option<usize>,
) -> Result<(), MetadataError> {
    let refuse = |partition, reason| Err(MetadataError::InvalidAssignment { partition, reason });
    let expected = factor.or(assignment.first().map(Vec::len));
    for (partition, replicas) in (first..).zip(assignment) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn partitions_are_spread_evenly_and_no_broker_has_one_twice(
            live in 1_i32..8,
            rounds in 1_usize..5,
            factor in 1_i16..8,
            start in 0_usize..100,
        ) {
            let brokers: Vec<BrokerId> = (0..live).map(|id| BrokerId(id * 10)).collect();
            let assignment = spread(&brokers, 0..rounds * brokers.len(), factor, start);
            if i32::from(factor) > live {
                let refused = matches!(
                    assignment,
                    Err(MetadataError::InvalidReplicationFactor { .. })
                );
                prop_assert!(refused);
                return Ok(());
            }
            let assignment = assignment.unwrap();
            for broker in &brokers {
                let leads = assignment.iter().filter(|replicas| replicas[0] == *broker).count();
                let keeps = assignment.iter().filter(|replicas| replicas.contains(broker)).count();
                prop_assert_eq!(leads, rounds);
                prop_assert_eq!(keeps, rounds * usize::try_from(factor).unwrap());
            }
            // Partitions added later have the replicas that they would have had from the start.
            let later = spread(&brokers, 1..assignment.len(), factor, start).unwrap();
            prop_assert_eq!(&later, &assignment[1..]);
        }
    }
}
