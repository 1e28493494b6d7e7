//! Tests of the eligible replicas while the in-sync set changes.

use super::with_members;
use crate::metadata::image::{Caching, DirectoryId, PartitionState};
use crate::metadata::{ElectionRules, Incarnation, IsrMember};
use crate::types::{BrokerId, LeaderEpoch};

fn member(broker: i32, incarnation: i64) -> IsrMember {
    IsrMember { broker: BrokerId(broker), incarnation: Incarnation(incarnation) }
}

fn state(minimum: usize) -> PartitionState {
    PartitionState {
        leader: Some(BrokerId(1)),
        leader_incarnation: Incarnation(10),
        leader_epoch: LeaderEpoch(4),
        isr: vec![member(1, 10), member(2, 20), member(3, 30)],
        directories: ["d1", "d2", "d3"].map(|id| Some(DirectoryId::from(id))).into(),
        eligible: Vec::new(),
        minimum: Some(minimum),
        damaged: Vec::new(),
        is_handed_over: false,
        loss: None,
        unvouched: None,
        caching: Caching::Off,
        caching_ended: None,
        created: 0,
        version: 9,
        controller_epoch: 2,
        extra: serde_json::Map::new(),
    }
}

fn changed(state: &PartitionState, members: &[IsrMember]) -> PartitionState {
    with_members(state, (members.to_vec(), ElectionRules::ALL), |broker| {
        Some(format!("now{broker}").into())
    })
}

fn eligible(state: &PartitionState) -> Vec<(i32, &str)> {
    state.eligible.iter().map(|replica| (replica.broker.0, &*replica.directory)).collect()
}

#[test]
fn members_that_leave_a_set_below_its_minimum_are_kept_with_the_directory_they_had() {
    let two = changed(&state(2), &[member(1, 10), member(2, 20)]);
    assert_eq!(eligible(&two), []);
    let one = changed(&two, &[member(1, 10)]);
    assert_eq!(eligible(&one), [(2, "d2")]);
    assert_eq!((one.leader_epoch, one.version), (LeaderEpoch(4), 9));
    let again = changed(&one, &[member(1, 10), member(3, 31)]);
    assert_eq!(eligible(&again), [], "the watermark may move again");
    assert_eq!(again.directory_of(&member(3, 31)).map(|id| &**id), Some("now3"));
    assert_eq!(again.directory_of(&member(1, 10)).map(|id| &**id), Some("d1"));
}

#[test]
fn an_eligible_replica_that_joins_is_a_member_only() {
    let one = changed(&state(3), &[member(1, 10)]);
    assert_eq!(eligible(&one), [(2, "d2"), (3, "d3")]);
    let two = changed(&one, &[member(1, 10), member(2, 21)]);
    assert_eq!(eligible(&two), [(3, "d3")]);
    // The member leaves with the directory with which it has joined.
    let one = changed(&two, &[member(1, 10)]);
    assert_eq!(eligible(&one), [(2, "now2"), (3, "d3")]);
}

#[test]
fn a_member_without_a_directory_of_record_is_not_eligible() {
    let mut state = state(3);
    state.directories = vec![None; 3];
    assert_eq!(eligible(&changed(&state, &[member(1, 10)])), []);
}
