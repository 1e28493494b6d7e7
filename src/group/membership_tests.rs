//! Membership: joining, syncing, heartbeats, leaving.

use std::time::Duration;

use bytes::Bytes;

use super::scenario_tests::{
    DELAY, REBALANCE, REBALANCING, SESSION, Scenario, UNKNOWN, join, protocols, rejoin,
    static_join, sync, sync_of,
};
use crate::config::ByteSize;
use crate::group::{
    Generation, GroupConfig, GroupError, GroupId, GroupState, JoinRefusal, JoinRequest, Joined,
    Request, SyncRequest, Ticket, Unavailable,
};

#[test]
fn a_first_rebalance_waits_for_more_members_and_then_all_share_a_generation() {
    let mut s = Scenario::new();
    let first = s.join(join("a"));
    s.advance(DELAY / 2);
    let second = s.join(join("b"));
    assert!(!s.is_answered(first));
    // The second member joined within the delay, so there is another delay.
    s.advance(DELAY);
    assert!(!s.is_answered(first));
    s.advance(DELAY);
    let (first, second) = (s.joined(first).unwrap(), s.joined(second).unwrap());
    assert_eq!((first.generation, second.generation), (Generation(1), Generation(1)));
    assert_eq!((&first.leader, &second.leader), (&first.member_id, &first.member_id));
    assert_eq!(first.members.len(), 2);
    assert_eq!(second.members, vec![]);
    assert_eq!(&*first.protocol, "range");
}

#[test]
fn a_first_rebalance_ends_with_the_rebalance_timeout_however_many_come() {
    let mut s = Scenario::new();
    let timeout = DELAY * 3;
    let first = s.join(JoinRequest { rebalance_timeout: timeout, ..join("a") });
    for _ in 0..5 {
        s.advance(DELAY * 3 / 4);
        s.join(JoinRequest { rebalance_timeout: timeout, ..join("b") });
    }
    assert!(s.is_answered(first));
}

#[test]
fn a_newcomer_of_a_new_version_joins_twice() {
    let mut s = Scenario::new();
    let id = s.pending("client");
    assert!(id.as_str().starts_with("client-"), "{id}");
    assert_eq!(s.state(), GroupState::Empty);
    let ticket = s.join(JoinRequest { member_id: Some(id.clone()), ..join("client") });
    s.advance(DELAY);
    assert_eq!(s.joined(ticket).unwrap().member_id, id);
}

#[test]
fn a_newcomer_that_does_not_come_back_is_forgotten_with_its_group() {
    let mut s = Scenario::new();
    let id = s.pending("client");
    s.advance(SESSION);
    assert_eq!(s.state(), GroupState::Dead);
    assert_eq!(s.refused_join(JoinRequest { member_id: Some(id), ..join("client") }), UNKNOWN);
}

#[test]
fn a_rebalance_waits_for_a_newcomer_that_was_given_an_id() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let id = s.pending("b");
    let old = s.join(rejoin(&members[0]));
    assert!(!s.is_answered(old), "completed without the newcomer");
    let new = s.join(JoinRequest { member_id: Some(id), ..join("b") });
    assert!(s.is_answered(old) && s.is_answered(new));
}

#[test]
fn a_newcomer_that_gives_up_or_times_out_is_not_waited_for() {
    for leaves in [true, false] {
        let mut s = Scenario::new();
        let members = s.stable(&["a"]);
        let id = s.pending("b");
        let old = s.join(rejoin(&members[0]));
        if leaves {
            assert_eq!(s.leave(Some(id), None), Ok(()));
        } else {
            s.advance(SESSION);
        }
        assert_eq!(s.joined(old).unwrap().generation, Generation(2));
    }
}

#[test]
fn assignments_reach_the_members_when_they_are_replicated() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a"), join("b")]);
    s.replicates = false;
    let (leader, follower) = (&members[0], &members[1]);
    let early = s.send(sync(follower, vec![]));
    assert!(!s.is_answered(early));
    let assignments = vec![
        (leader.member_id.clone(), Bytes::from_static(b"one")),
        (follower.member_id.clone(), Bytes::from_static(b"two")),
    ];
    let leading = s.send(sync(leader, assignments));
    assert!(!s.is_answered(leading) && !s.is_answered(early));
    assert_eq!(s.state(), GroupState::CompletingRebalance);
    s.replicate();
    assert_eq!(s.synced(leading).unwrap().assignment, "one");
    assert_eq!(s.synced(early).unwrap().assignment, "two");
    assert_eq!(s.state(), GroupState::Stable);
    let late = s.send(sync(follower, vec![]));
    assert_eq!(s.synced(late).unwrap().assignment, "two");
}

#[test]
fn an_assignment_that_is_not_stored_is_not_given_and_all_join_again() {
    for refused in [true, false] {
        let mut s = Scenario::new();
        let members = s.found(vec![join("a")]);
        s.replicates = false;
        let ticket = s.send(sync(&members[0], vec![]));
        if refused {
            s.refuse();
        } else {
            s.advance(Duration::from_secs(5));
        }
        assert_eq!(s.synced(ticket), Err(Unavailable::NotAvailable.into()));
        assert_eq!(s.state(), GroupState::PreparingRebalance);
        // A record replicated late belongs to no current assignment.
        s.replicate();
        assert_eq!(s.state(), GroupState::PreparingRebalance);
        assert_eq!(s.heartbeat(&members[0]), Err(REBALANCING));
    }
}

#[test]
fn a_leader_that_repeats_its_sync_writes_once() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a")]);
    s.replicates = false;
    let first = s.send(sync(&members[0], vec![]));
    let second = s.send(sync(&members[0], vec![]));
    assert_eq!(s.synced(first), Err(REBALANCING));
    assert_eq!(s.appended.len(), 1);
    s.replicate();
    assert!(s.synced(second).is_ok());
}

#[test]
fn a_sync_that_knows_another_protocol_is_inconsistent() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a")]);
    let right = sync_of(&members[0]);
    for wrong in [
        SyncRequest { protocol: Some("sticky".into()), ..right.clone() },
        SyncRequest { protocol_type: Some("connect".into()), ..right.clone() },
    ] {
        let ticket = s.send(Request::Sync(wrong));
        assert_eq!(s.synced(ticket), Err(GroupError::InconsistentProtocol));
    }
    let unsaid = SyncRequest { protocol: None, protocol_type: None, ..right };
    let ticket = s.send(Request::Sync(unsaid));
    assert!(s.synced(ticket).is_ok());
}

#[test]
fn a_new_member_makes_the_others_join_again() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let newcomer = s.join(join("b"));
    assert_eq!(s.heartbeat(&members[0]), Err(REBALANCING));
    let ticket = s.send(sync(&members[0], vec![]));
    assert_eq!(s.synced(ticket), Err(REBALANCING));
    let again = s.join(rejoin(&members[0]));
    let joined = s.joined(again).unwrap();
    assert_eq!(joined.generation, Generation(2));
    assert_eq!(joined.members.len(), 2);
    assert_eq!(s.joined(newcomer).unwrap().generation, Generation(2));
}

#[test]
fn a_member_waiting_for_an_assignment_is_told_when_it_is_void() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a"), join("b")]);
    let waiting = s.send(sync(&members[1], vec![]));
    s.join(join("c"));
    assert_eq!(s.synced(waiting), Err(REBALANCING));
}

#[test]
fn members_that_do_not_join_again_in_time_are_left_behind() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    let again = s.join(rejoin(&members[0]));
    // The other member is alive, but never rejoins.
    for _ in 0..12 {
        assert!(!s.is_answered(again));
        s.advance(Duration::from_secs(5));
        let _ = s.heartbeat(&members[1]);
    }
    assert_eq!(s.joined(again).unwrap().members.len(), 1);
    assert_eq!(s.heartbeat(&members[1]), Err(UNKNOWN));
}

#[test]
fn a_member_without_a_heartbeat_within_its_session_is_removed() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    for _ in 0..4 {
        s.advance(SESSION / 2);
        let _ = s.heartbeat(&members[0]);
    }
    assert_eq!(s.heartbeat(&members[1]), Err(UNKNOWN));
    assert_eq!(s.heartbeat(&members[0]), Err(REBALANCING));
}

#[test]
fn a_waiting_member_does_not_time_out() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    let waiting = s.join(rejoin(&members[0]));
    for _ in 0..5 {
        s.advance(SESSION * 9 / 10);
        let _ = s.heartbeat(&members[1]);
    }
    let again = s.join(rejoin(&members[1]));
    assert!(s.joined(waiting).is_ok() && s.joined(again).is_ok());
}

#[test]
fn a_newcomer_may_wait_for_five_minutes_only() {
    let mut s = Scenario::new();
    let patient = JoinRequest { rebalance_timeout: REBALANCE * 30, ..join("a") };
    let members = s.found(vec![patient]);
    s.settle(&members);
    let newcomer = s.join(join("b"));
    for _ in 0..60 {
        assert!(!s.is_answered(newcomer));
        s.advance(Duration::from_secs(5));
        let _ = s.heartbeat(&members[0]);
    }
    assert_eq!(s.joined(newcomer), Err(UNKNOWN));
}

#[test]
fn members_that_never_ask_for_their_assignment_are_removed() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a"), join("b")]);
    let leading = s.send(sync(&members[0], vec![]));
    assert!(s.synced(leading).is_ok());
    for _ in 0..12 {
        s.advance(Duration::from_secs(5));
        let _ = s.heartbeat(&members[0]);
        let _ = s.heartbeat(&members[1]);
    }
    assert_eq!(s.heartbeat(&members[1]), Err(UNKNOWN));
    assert_eq!(s.heartbeat(&members[0]), Err(REBALANCING));
}

#[test]
fn the_last_member_leaves_an_empty_group_of_the_next_generation() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    assert_eq!(s.leave(Some(members[0].member_id.clone()), None), Ok(()));
    assert_eq!(s.state(), GroupState::Empty);
    assert_eq!(s.heartbeat(&members[0]), Err(UNKNOWN));
    assert_eq!(s.leave(Some(members[0].member_id.clone()), None), Err(UNKNOWN));
    let next = s.found(vec![join("b")]);
    assert_eq!(next[0].generation, Generation(3));
}

#[test]
fn a_member_that_leaves_while_its_join_waits_is_answered() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    let waiting = s.join(rejoin(&members[0]));
    assert_eq!(s.leave(Some(members[0].member_id.clone()), None), Ok(()));
    assert_eq!(s.joined(waiting), Err(UNKNOWN));
}

#[test]
fn a_member_that_joins_twice_has_its_first_request_answered_too() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    let first = s.join(rejoin(&members[0]));
    let second = s.join(rejoin(&members[0]));
    assert_eq!(s.joined(first), Err(REBALANCING));
    let other = s.join(rejoin(&members[1]));
    assert!(s.joined(second).is_ok() && s.joined(other).is_ok());
}

#[test]
fn a_follower_with_nothing_new_gets_the_present_generation_again() {
    let mut s = Scenario::new();
    let members = s.found(vec![join("a"), join("b")]);
    let repeated = s.join(rejoin(&members[0]));
    assert_eq!(s.joined(repeated), Ok(members[0].clone()));
    s.settle(&members);
    let repeated = s.join(rejoin(&members[1]));
    assert_eq!(s.joined(repeated), Ok(members[1].clone()));
    assert_eq!(s.state(), GroupState::Stable);
}

#[test]
fn a_leader_that_joins_again_and_a_member_with_something_new_start_a_rebalance() {
    for (who, names) in [(0, &["range"][..]), (1, &["range", "sticky"][..])] {
        let mut s = Scenario::new();
        let members = s.stable(&["a", "b"]);
        s.join(JoinRequest { protocols: protocols(names), ..rejoin(&members[who]) });
        assert_eq!(s.state(), GroupState::PreparingRebalance);
    }
}

#[test]
fn the_protocol_that_most_members_prefer_of_those_all_support_is_chosen() {
    let mut s = Scenario::new();
    let prefers =
        |client, names: &[&str]| JoinRequest { protocols: protocols(names), ..join(client) };
    let members = s.found(vec![
        prefers("a", &["own", "range", "sticky"]),
        prefers("b", &["sticky", "range"]),
        prefers("c", &["sticky", "range"]),
    ]);
    assert_eq!(&*members[0].protocol, "sticky");
    assert_eq!(s.refused_join(prefers("d", &["own"])), GroupError::InconsistentProtocol);
    let connect = JoinRequest { protocol_type: "connect".into(), ..join("d") };
    assert_eq!(s.refused_join(connect), GroupError::InconsistentProtocol);
}

#[test]
fn a_first_member_without_protocols_is_inconsistent() {
    let mut s = Scenario::new();
    for request in [
        JoinRequest { protocols: vec![], ..join("a") },
        JoinRequest { protocol_type: "".into(), ..join("a") },
        JoinRequest { protocols: protocols(&["x"; 65]), ..join("a") },
        JoinRequest { protocols: protocols(&[&"x".repeat(256)]), ..join("a") },
    ] {
        assert_eq!(s.refused_join(request), GroupError::InconsistentProtocol);
    }
    assert_eq!(s.state(), GroupState::Dead);
}

#[test]
fn limits_are_enforced_and_named() {
    let config = GroupConfig {
        max_size: 2,
        max_bytes: ByteSize(120),
        max_groups: 1,
        ..GroupConfig::default()
    };
    let mut s = Scenario::with(config);
    let short = JoinRequest { session_timeout: Duration::from_secs(1), ..join("a") };
    assert!(matches!(
        s.refused_join(short),
        GroupError::Join(JoinRefusal::InvalidSessionTimeout { given_ms: 1000, min_ms: 6000, .. })
    ));
    assert_eq!(s.refused_join(static_join("")), JoinRefusal::InvalidInstanceId(0).into());
    for (id, length) in [(String::new(), 0), ("g".repeat(256), 256)] {
        let request = JoinRequest { group_id: GroupId::from(id.as_str()), ..join("a") };
        assert_eq!(s.refused_join(request), GroupError::InvalidGroupId(length));
    }
    let members = s.stable(&["a", "b"]);
    assert_eq!(s.refused_join(join("c")), JoinRefusal::GroupFull(2).into());
    let other = JoinRequest { group_id: GroupId::from("other"), ..join("a") };
    assert_eq!(s.refused_join(other), GroupError::TooManyGroups(1));
    let large = JoinRequest { protocols: protocols(&["range"; 9]), ..rejoin(&members[0]) };
    assert!(matches!(
        s.refused_join(large),
        GroupError::Join(JoinRefusal::MetadataTooLarge { limit: 120, .. })
    ));
    assert_eq!(s.heartbeat(&members[0]), Ok(()));
}

#[test]
fn pending_member_ids_are_limited_too() {
    let mut s = Scenario::with(GroupConfig { max_size: 2, ..GroupConfig::default() });
    s.pending("a");
    s.pending("b");
    let third = JoinRequest { member_id_required: true, ..join("c") };
    assert_eq!(s.refused_join(third), JoinRefusal::GroupFull(2).into());
}

#[test]
fn an_assignment_that_is_too_large_is_refused_to_the_leader() {
    let mut s = Scenario::with(GroupConfig { max_bytes: ByteSize(100), ..GroupConfig::default() });
    let members = s.found(vec![join("a")]);
    let id = members[0].member_id.clone();
    let ticket = s.send(sync(&members[0], vec![(id, Bytes::from(vec![0; 100]))]));
    assert!(matches!(
        s.synced(ticket),
        Err(GroupError::Join(JoinRefusal::MetadataTooLarge { .. }))
    ));
}

#[test]
fn a_wrong_generation_is_refused() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let stale = Joined { generation: Generation(0), ..members[0].clone() };
    let illegal = GroupError::IllegalGeneration { given: Generation(0), current: Generation(1) };
    assert_eq!(s.heartbeat(&stale), Err(illegal.clone()));
    let ticket = s.send(sync(&stale, vec![]));
    assert_eq!(s.synced(ticket), Err(illegal));
}

#[test]
fn five_hundred_members_rebalance_at_once() {
    let mut s = Scenario::new();
    let members = s.found((0..500).map(|n| join(&format!("c{n}"))).collect());
    s.settle(&members);
    let tickets: Vec<Ticket> = members.iter().map(|member| s.join(rejoin(member))).collect();
    let leads = |joined: &Joined| joined.leader == joined.member_id;
    let answers: Vec<Joined> = tickets.into_iter().map(|t| s.joined(t).unwrap()).collect();
    assert_eq!(answers.iter().filter(|joined| leads(joined)).count(), 1);
    assert!(answers.iter().all(|joined| joined.generation == Generation(2)));
}
