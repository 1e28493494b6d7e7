//! The assignment of replicas to brokers.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::MetadataError;
use crate::metadata::image::Image;
use crate::types::BrokerId;

/// A broker that may get replicas.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: BrokerId,
    pub(super) rack: Option<String>,
    pub(super) is_alive: bool,
    /// The number of replicas that it has already.
    pub(super) replicas: usize,
}

/// All brokers of the cluster.
pub(super) fn candidates(image: &Image) -> Vec<Candidate> {
    let mut carried = BTreeMap::<BrokerId, usize>::new();
    let partitions = image.topics().flat_map(|topic| &topic.partitions);
    for broker in partitions.flat_map(|partition| partition.replicas.iter()) {
        *carried.entry(*broker).or_default() += 1;
    }
    let candidate = |id: BrokerId| {
        let alive = image.broker(id).map(|broker| broker.registration.rack.clone());
        let known = || image.known_brokers.get(&id).and_then(|known| known.rack.clone());
        Candidate {
            id,
            is_alive: alive.is_some(),
            rack: alive.unwrap_or_else(known),
            replicas: carried.get(&id).copied().unwrap_or_default(),
        }
    };
    image.broker_ids().into_iter().map(candidate).collect()
}

/// The replicas of this many partitions, spread evenly over the candidates and their racks.
///
/// Leaders rotate through the brokers, those with the fewest replicas first, and among equals from
/// broker `start`. The followers of a partition are the brokers after its leader; brokers of racks
/// without a replica come first. In each round of leaders, the followers are shifted by one more
/// broker, so that the partitions of a failed broker move to all the others. A broker that is down
/// gets replicas only if too few are alive.
pub(super) fn spread(
    candidates: Vec<Candidate>,
    partitions: usize,
    factor: i16,
    start: usize,
) -> Result<Vec<Vec<BrokerId>>, MetadataError> {
    let known = candidates.len();
    let factor = match usize::try_from(factor) {
        Ok(replicas) if (1..=known).contains(&replicas) => replicas,
        _ => return Err(MetadataError::InvalidReplicationFactor { asked: factor, known }),
    };
    let (brokers, alive) = rotation(candidates, factor, start);
    let others = brokers.len() - 1;
    let replicas_of = |partition: usize| {
        let (leader, round) = (partition % alive, partition / alive);
        let after = |n: usize| (leader + 1 + (round + n) % others.max(1)) % brokers.len();
        let order = std::iter::once(leader).chain((0..others).map(after));
        choose(order.map(|index| &brokers[index]), factor)
    };
    Ok((0..partitions).map(replicas_of).collect())
}

/// The brokers in the order in which they lead, and the number of them that may lead: those that
/// are alive, or all if none is. Racks alternate.
fn rotation(mut brokers: Vec<Candidate>, factor: usize, start: usize) -> (Vec<Candidate>, usize) {
    let first = start % brokers.len();
    brokers.rotate_left(first);
    brokers.sort_by_key(|broker| (!broker.is_alive, broker.replicas));
    let alive = brokers.iter().filter(|broker| broker.is_alive).count();
    if alive > 0 {
        brokers.truncate(alive.max(factor));
    }
    let mut in_rack = BTreeMap::<Option<String>, usize>::new();
    let mut ordinal = |broker: &Candidate| {
        let before = in_rack.entry(broker.rack.clone()).or_default();
        *before += 1;
        // Brokers without a rack do not share a rack.
        if broker.rack.is_some() { *before } else { 0 }
    };
    let mut numbered: Vec<_> =
        brokers.into_iter().map(|broker| (ordinal(&broker), broker)).collect();
    numbered.sort_by_key(|(ordinal, broker)| (!broker.is_alive, *ordinal));
    let brokers = numbered.into_iter().map(|(_, broker)| broker).collect::<Vec<_>>();
    let leaders = if alive == 0 { brokers.len() } else { alive };
    (brokers, leaders)
}

/// The first `factor` brokers, but with one broker of each rack before a second of any rack.
fn choose<'a>(brokers: impl Iterator<Item = &'a Candidate>, factor: usize) -> Vec<BrokerId> {
    let mut racks = BTreeSet::new();
    let (apart, together): (Vec<&Candidate>, Vec<&Candidate>) = brokers
        .partition(|broker| broker.rack.as_ref().is_none_or(|rack| racks.insert(rack.as_str())));
    apart.into_iter().chain(together).take(factor).map(|broker| broker.id).collect()
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
    let known = image.broker_ids();
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
        if replicas.iter().any(|broker| !known.contains(broker)) {
            return refuse(partition, "a broker has never been in the cluster");
        }
    }
    Ok(())
}
