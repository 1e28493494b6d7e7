//! Loading the log, serving requests, and losing the partition.

use std::time::Duration;

use super::scenario_tests::{
    SESSION, Scenario, blob, claim, commit, group, join, nobody, rejoin, static_join, sync,
};
use crate::group::{
    Answer, CommitRequest, Coordinator, DamagedRecord, FetchOffsetsRequest, GroupConfig,
    GroupError, GroupFilter, GroupId, GroupState, HeartbeatRequest, Joined, LeaveRequest, Request,
    Ticket, Unavailable,
};

#[test]
fn members_survive_a_reload_with_their_assignments() {
    let mut s = Scenario::new();
    let members = s.found(vec![static_join("one"), join("b")]);
    s.settle(&members);
    s.reload();
    for member in &members {
        assert_eq!(s.heartbeat(member), Ok(()));
        let ticket = s.send(sync(member, vec![]));
        assert_eq!(s.synced(ticket).unwrap().assignment, blob(&member.member_id));
    }
    // The sessions of the members start when the log has been loaded.
    s.advance(SESSION);
    assert_eq!(s.heartbeat(&members[0]), Err(GroupError::UnknownMemberId));
}

#[test]
fn a_group_loaded_with_more_members_than_allowed_leaves_some_out() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b", "c"]);
    s.config.max_size = 2;
    s.reload();
    assert_eq!(s.heartbeat(&members[0]), Err(GroupError::RebalanceInProgress));
    let tickets: Vec<Ticket> =
        members.iter().map(|member| s.send(Request::Join(rejoin(member)))).collect();
    let results: Vec<Result<Joined, GroupError>> =
        tickets.into_iter().map(|ticket| s.joined(ticket)).collect();
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 2);
    assert!(matches!(results[2], Err(GroupError::Join(_))));
}

#[test]
fn a_loading_coordinator_reports_it_instead_of_empty_results() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    s.coordinator = Coordinator::new(GroupConfig::default());
    let loading = GroupError::from(Unavailable::Loading);
    let join = s.send(Request::Join(join("a")));
    assert_eq!(s.joined(join), Err(loading.clone()));
    assert_eq!(s.commit(nobody(), 6), Err(loading.clone()));
    let fetch = FetchOffsetsRequest { group_id: group(), partitions: None };
    let ticket = s.send(Request::FetchOffsets(fetch));
    assert_eq!(s.answer(ticket), Answer::FetchOffsets(Err(loading.clone())));
    let ticket = s.send(Request::ListGroups(GroupFilter::default()));
    assert_eq!(s.answer(ticket), Answer::ListGroups(Err(loading.clone())));
    let ticket = s.send(Request::DescribeGroups(vec![group()]));
    let described = Answer::DescribeGroups(vec![(group(), Err(loading.clone()))]);
    assert_eq!(s.answer(ticket), described);
    assert_eq!(s.delete_group(), Err(loading.clone()));
    assert_eq!(s.delete_offsets("t"), Err(loading.clone()));
    let request = LeaveRequest { group_id: group(), members: vec![] };
    let ticket = s.send(Request::Leave(request));
    assert_eq!(s.answer(ticket), Answer::Leave(Err(loading)));
    // Kafka's clients treat an error here as fatal.
    let heartbeat = HeartbeatRequest { group_id: group(), claim: nobody() };
    let ticket = s.send(Request::Heartbeat(heartbeat));
    assert_eq!(s.answer(ticket), Answer::Heartbeat(Ok(())));
    assert_eq!(s.coordinator.next_deadline(), None);
}

#[test]
fn a_coordinator_that_loses_its_partition_answers_all_requests_and_drops_its_state() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b"]);
    let joining = s.send(Request::Join(rejoin(&members[0])));
    s.replicates = false;
    let committing = s.send_commit(claim(&members[1]), 5);
    let decision = s.coordinator.unload(s.now);
    s.take(decision);
    let moved = GroupError::from(Unavailable::NotCoordinator);
    assert_eq!(s.joined(joining), Err(moved.clone()));
    assert_eq!(s.committed(committing), Err(moved.clone()));
    assert_eq!(s.heartbeat(&members[1]), Err(moved));
    assert_eq!(s.coordinator.next_deadline(), None);
}

#[test]
fn only_the_damaged_record_is_lost() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    let other = CommitRequest { group_id: GroupId::from("other"), ..commit(nobody(), 9) };
    s.send(Request::Commit(other));
    let mut coordinator = Coordinator::new(GroupConfig::default());
    let mut damaged = s.log[0].clone();
    damaged.value.as_mut().unwrap().pop();
    for record in [&damaged, &s.log[1]] {
        let result = coordinator.replay(&record.key, record.value.as_deref());
        let expected = Err(DamagedRecord::Truncated { wanted: 16, left: 15 });
        assert_eq!(result, if record == &damaged { expected } else { Ok(()) });
    }
    s.coordinator = coordinator;
    let decision = s.coordinator.finish_loading(s.now);
    s.take(decision);
    assert_eq!(s.listed(&[], &[]), vec![("other".to_owned(), GroupState::Empty)]);
}

#[test]
fn a_stable_group_wakes_its_coordinator_at_most_once_per_session() {
    let mut s = Scenario::new();
    let members = s.stable(&["a", "b", "c"]);
    let mut wakes = 0;
    for _ in 0..100 {
        let end = s.now.monotonic + Duration::from_secs(1);
        while let Some(at) = s.coordinator.next_deadline().filter(|at| *at <= end) {
            s.set_time(at);
            let decision = s.coordinator.on_deadline(s.now);
            s.take(decision);
            wakes += 1;
        }
        s.set_time(end);
        for member in &members {
            assert_eq!(s.heartbeat(member), Ok(()));
        }
    }
    assert!(wakes <= 100 / SESSION.as_secs() + 1, "{wakes} times in 100 s");
}
