//! Replicas on brokers that are alive, down, loaded, and in racks.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::assignment::{Candidate, spread};
use crate::metadata::MetadataError;
use crate::types::BrokerId;

fn broker(id: i32) -> Candidate {
    Candidate { id: BrokerId(id), rack: None, is_alive: true, replicas: 0 }
}

fn placed(candidates: &[Candidate], partitions: usize, factor: i16) -> Vec<Vec<i32>> {
    let placed = spread(candidates.to_vec(), partitions, factor, 0).unwrap();
    placed.into_iter().map(|replicas| replicas.iter().map(|id| id.0).collect()).collect()
}

proptest! {
    #[test]
    fn partitions_are_spread_evenly_and_no_broker_has_one_twice(
        live in 1_i32..8,
        rounds in 1_usize..5,
        factor in 1_i16..8,
        start in 0_usize..100,
    ) {
        let brokers: Vec<Candidate> = (0..live).map(|id| broker(id * 10)).collect();
        let assignment = spread(brokers.clone(), rounds * brokers.len(), factor, start);
        if i32::from(factor) > live {
            let refused = matches!(assignment, Err(MetadataError::InvalidReplicationFactor { .. }));
            prop_assert!(refused);
            return Ok(());
        }
        let assignment = assignment.unwrap();
        for broker in &brokers {
            let leads = assignment.iter().filter(|replicas| replicas[0] == broker.id).count();
            let keeps = assignment.iter().filter(|replicas| replicas.contains(&broker.id)).count();
            prop_assert_eq!(leads, rounds);
            prop_assert_eq!(keeps, rounds * usize::try_from(factor).unwrap());
        }
        for replicas in &assignment {
            prop_assert_eq!(replicas.iter().collect::<BTreeSet<_>>().len(), replicas.len());
        }
    }
}

#[test]
fn brokers_with_few_replicas_come_first() {
    let brokers = [(1, 9), (2, 4), (3, 7)];
    let brokers = brokers.map(|(id, replicas)| Candidate { replicas, ..broker(id) });
    assert_eq!(placed(&brokers, 4, 1), [[2], [3], [1], [2]]);
}

#[test]
fn a_broker_that_is_down_gets_replicas_only_if_too_few_are_alive_and_leads_none() {
    let mut brokers = [1, 2, 3].map(broker);
    brokers[0].is_alive = false;
    assert_eq!(placed(&brokers, 3, 2), [[2, 3], [3, 2], [2, 3]]);
    for replicas in placed(&brokers, 6, 3) {
        assert_ne!(replicas[0], 1);
        assert_eq!(replicas.iter().collect::<BTreeSet<_>>().len(), 3);
    }
    let down = brokers.map(|broker| Candidate { is_alive: false, ..broker });
    assert_eq!(placed(&down, 3, 1), [[1], [2], [3]]);
}

#[test]
fn replicas_are_in_as_many_racks_as_possible() {
    let racks = ["a", "a", "b", "b", "c"];
    let brokers: Vec<Candidate> = (1..)
        .zip(racks)
        .map(|(id, rack)| Candidate { rack: Some(rack.to_owned()), ..broker(id) })
        .collect();
    let rack_of = |id: &i32| racks[usize::try_from(id - 1).unwrap()];
    for (factor, expected) in [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3)] {
        for replicas in placed(&brokers, 20, factor) {
            let racks: BTreeSet<&str> = replicas.iter().map(rack_of).collect();
            assert_eq!(racks.len(), expected, "{replicas:?}");
        }
    }
}
