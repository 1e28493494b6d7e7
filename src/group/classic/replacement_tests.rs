//! Static members, which keep their assignment across restarts.

use crate::group::scenario_tests::{
    REBALANCE, Scenario, UNKNOWN, blob, claim, group, join, protocols, rejoin, static_join, sync,
};
use crate::group::{
    Answer, Claim, Generation, GroupConfig, GroupError, GroupState, HeartbeatRequest, InstanceId,
    JoinRequest, MemberId, Request, Unavailable,
};

#[test]
fn a_static_member_comes_back_without_a_rebalance_and_fences_its_old_incarnation() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one"), join("b")]);
    s.settle(&members);
    let ticket = s.join(static_join("one"));
    let back = s.joined(ticket).unwrap();
    assert!(back.member_id.as_str().starts_with("one-"), "{}", back.member_id);
    assert_ne!(back.member_id, members[0].member_id);
    assert_eq!(back.generation, members[0].generation);
    // The replaced member was the leader, so the new one leads, and is told not to assign again.
    assert!(back.skip_assignment && back.leader == back.member_id && back.members.len() == 2);
    let old = HeartbeatRequest {
        group_id: group(),
        claim: Claim { instance_id: Some(InstanceId::from("one")), ..claim(&members[0]) },
    };
    let ticket = s.send(Request::Heartbeat(old));
    assert_eq!(s.answer(ticket), Answer::Heartbeat(Err(GroupError::FencedInstanceId)));
    let ticket = s.send(sync(&back, vec![]));
    assert_eq!(s.synced(ticket).unwrap().assignment, blob(&members[0].member_id));
    assert_eq!(s.heartbeat(&members[1]), Ok(()));
}

#[test]
fn an_old_static_leader_that_comes_back_is_not_named_as_leader() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one")]);
    s.settle(&members);
    let ticket = s.join(JoinRequest { can_skip_assignment: false, ..static_join("one") });
    let back = s.joined(ticket).unwrap();
    assert_eq!(back.leader, members[0].member_id);
    assert!(!back.skip_assignment && back.members.is_empty());
}

#[test]
fn a_static_member_is_answered_when_its_new_incarnation_is_replicated() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one")]);
    s.settle(&members);
    s.replicates = false;
    let refused = s.join(static_join("one"));
    assert!(!s.is_answered(refused));
    s.refuse();
    assert_eq!(s.joined(refused), Err(Unavailable::NotAvailable.into()));
    let ticket = s.join(static_join("one"));
    s.replicate();
    let back = s.joined(ticket).unwrap();
    s.reload();
    assert_eq!(s.heartbeat(&back), Ok(()));
}

#[test]
fn a_static_member_whose_return_is_overtaken_by_a_rebalance_is_answered_by_it() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one"), join("b")]);
    s.settle(&members);
    s.replicates = false;
    let back = s.join(static_join("one"));
    let newcomer = s.join(join("c"));
    s.replicate();
    assert!(!s.is_answered(back));
    let other = s.join(rejoin(&members[1]));
    for ticket in [back, newcomer, other] {
        assert_eq!(s.joined(ticket).unwrap().generation, Generation(2));
    }
}

#[test]
fn a_returning_static_member_fences_the_pending_join_of_its_old_incarnation() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one"), join("b")]);
    let waiting = s.send(sync(&members[0], vec![]));
    s.synced(waiting).unwrap();
    let waiting = s.join(rejoin(&members[1]));
    s.joined(waiting).unwrap();
    let leading = s.join(rejoin(&members[0]));
    let back = s.join(static_join("one"));
    assert_eq!(s.joined(leading), Err(GroupError::FencedInstanceId));
    let other = s.join(rejoin(&members[1]));
    assert_eq!(s.joined(back).unwrap().generation, Generation(2));
    assert!(s.joined(other).is_ok());
}

#[test]
fn a_static_member_with_other_protocols_starts_a_rebalance_if_the_choice_changes() {
    let mut s = Scenario::new();
    let both = |names: &[&str]| JoinRequest { protocols: protocols(names), ..static_join("one") };
    let members = s.found(vec![both(&["range", "sticky"])]);
    s.settle(&members);
    let ticket = s.join(both(&["sticky", "range"]));
    let back = s.joined(ticket).unwrap();
    assert_eq!((&*back.protocol, back.generation), ("sticky", Generation(2)));
}

#[test]
fn a_static_member_stays_a_member_when_it_misses_a_rebalance() {
    let mut s = Scenario::new();
    let patient = JoinRequest { session_timeout: REBALANCE * 10, ..static_join("one") };
    let members = s.found(vec![patient, join("b")]);
    s.settle(&members);
    let newcomer = s.join(join("c"));
    let again = s.join(rejoin(&members[1]));
    s.advance(REBALANCE);
    assert!(s.joined(newcomer).is_ok());
    let leader = s.joined(again).unwrap();
    // The absent member was the leader; a member that is present takes over.
    assert_eq!(leader.generation, Generation(2));
    assert_ne!(leader.leader, members[0].member_id);
}

#[test]
fn static_members_alone_do_not_rebalance_without_one_of_them() {
    let mut s = Scenario::new();
    let patient = JoinRequest { session_timeout: REBALANCE * 3, ..static_join("one") };
    let members = s.found(vec![patient, join("b")]);
    s.settle(&members);
    s.leave(Some(members[1].member_id.clone()), None).unwrap();
    s.advance(REBALANCE * 2);
    assert_eq!(s.state(), GroupState::PreparingRebalance);
    s.advance(REBALANCE);
    assert_eq!(s.state(), GroupState::Empty);
}

#[test]
fn an_administrator_removes_a_static_member_by_its_name() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one")]);
    s.settle(&members);
    let wrong = Some(MemberId::from("someone"));
    assert_eq!(s.leave(wrong, Some("one")), Err(GroupError::FencedInstanceId));
    assert_eq!(s.leave(None, Some("two")), Err(UNKNOWN));
    assert_eq!(s.leave(None, Some("one")), Ok(()));
    assert_eq!(s.state(), GroupState::Empty);
}

#[test]
fn a_returning_static_member_is_admitted_to_a_full_group() {
    let mut s = Scenario::with(GroupConfig { max_size: 1, ..GroupConfig::default() });
    let members = s.found(vec![static_join("one")]);
    s.settle(&members);
    let ticket = s.join(static_join("one"));
    assert!(s.joined(ticket).is_ok());
}
