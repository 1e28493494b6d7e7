//! The rules of offsets, of the log, and of administration.

use std::time::Duration;

use super::scenario_tests::{
    SESSION, Scenario, blob, claim, commit, group, join, nobody, partition, protocols, rejoin,
    static_join, sync,
};
use crate::group::{
    AdminRefusal, Answer, Claim, CommitRequest, Coordinator, DamagedRecord, DeleteOffsetsRequest,
    FetchOffsetsRequest, Generation, GroupConfig, GroupError, GroupFilter, GroupId, GroupState,
    HeartbeatRequest, JoinRequest, Joined, LeaveRequest, OffsetRefusal, OffsetResult, Protocol,
    Request, Ticket, Unavailable,
};
use crate::types::TopicPartition;

const DAY: Duration = Duration::from_hours(24);

impl Scenario {
    fn delete_offsets(&mut self, topic: &str) -> Result<Vec<OffsetResult>, GroupError> {
        let partitions = vec![partition(topic)];
        let request = DeleteOffsetsRequest { group_id: group(), partitions };
        let ticket = self.send(Request::DeleteOffsets(request));
        match self.answer(ticket) {
            Answer::DeleteOffsets(result) => result,
            other => panic!("{other:?}"),
        }
    }

    fn delete_group(&mut self) -> Result<(), GroupError> {
        let ticket = self.send(Request::DeleteGroups(vec![group()]));
        match self.answer(ticket) {
            Answer::DeleteGroups(mut groups) => groups.remove(0).1,
            other => panic!("{other:?}"),
        }
    }

    fn listed(&mut self, states: &[&str], types: &[&str]) -> Vec<(String, GroupState)> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let filter = GroupFilter { states: owned(states), types: owned(types) };
        let ticket = self.send(Request::ListGroups(filter));
        match self.answer(ticket) {
            Answer::ListGroups(Ok(groups)) => {
                groups.into_iter().map(|g| (g.group_id.to_string(), g.state)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass with a member that is heard.
    fn live(&mut self, member: &Joined, time: Duration) {
        let end = self.now.monotonic + time;
        while self.now.monotonic < end {
            self.advance(SESSION / 2);
            assert_eq!(self.heartbeat(member), Ok(()));
        }
    }

    fn exists(&mut self) -> bool {
        !self.listed(&[], &[]).is_empty()
    }
}

#[test]
fn a_commit_is_answered_and_seen_when_it_is_replicated() {
    let mut s = Scenario::new();
    s.replicates = false;
    let ticket = s.send_commit(nobody(), 7);
    assert!(!s.is_answered(ticket));
    assert_eq!(s.fetched(), None);
    s.replicate();
    assert_eq!(s.committed(ticket), Ok(vec![(partition("t"), Ok(()))]));
    assert_eq!(s.fetched(), Some(7));
    s.reload();
    assert_eq!(s.fetched(), Some(7));
}

#[test]
fn a_refused_commit_leaves_no_trace() {
    let mut s = Scenario::new();
    s.commit(nobody(), 7).unwrap();
    s.replicates = false;
    let first = s.send_commit(nobody(), 8);
    let second = s.send_commit(nobody(), 9);
    s.refuse();
    assert_eq!(s.committed(first), Err(Unavailable::NotAvailable.into()));
    s.replicate();
    assert!(s.committed(second).is_ok());
    assert_eq!(s.fetched(), Some(9));
}

#[test]
fn a_commit_that_takes_too_long_is_answered_and_still_counts_when_it_is_replicated() {
    let mut s = Scenario::new();
    s.replicates = false;
    let ticket = s.send_commit(nobody(), 7);
    s.advance(Duration::from_secs(5));
    assert_eq!(s.committed(ticket), Err(Unavailable::NotAvailable.into()));
    s.replicate();
    assert_eq!(s.fetched(), Some(7));
}

#[test]
fn a_commit_keeps_its_epoch_and_metadata_up_to_the_limit() {
    let mut s = Scenario::new();
    let mut request = commit(nobody(), 7);
    request.offsets[0].metadata = "x".repeat(4096).into();
    request.offsets.push(request.offsets[0].clone());
    request.offsets[1].partition = partition("u");
    request.offsets[1].metadata = "x".repeat(4097).into();
    let ticket = s.send(Request::Commit(request));
    let too_large = OffsetRefusal::MetadataTooLarge { bytes: 4097, limit: 4096 };
    let fates = vec![(partition("t"), Ok(())), (partition("u"), Err(too_large))];
    assert_eq!(s.committed(ticket), Ok(fates));
    s.reload();
    assert_eq!(s.fetch().unwrap().metadata.len(), 4096);
}

#[test]
fn only_a_member_of_the_generation_may_commit_for_a_group_with_members() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let own = claim(&members[0]);
    assert_eq!(s.commit(own.clone(), 1), Ok(()));
    assert_eq!(s.commit(nobody(), 2), Err(GroupError::UnknownMemberId));
    let stranger = Claim { member_id: Some("b-1".into()), ..own.clone() };
    assert_eq!(s.commit(stranger, 2), Err(GroupError::UnknownMemberId));
    let stale = Claim { generation: Generation(0), ..own.clone() };
    let illegal = GroupError::IllegalGeneration { given: Generation(0), current: Generation(1) };
    assert_eq!(s.commit(stale, 2), Err(illegal));
    assert_eq!(s.fetched(), Some(1));
}

#[test]
fn a_generation_may_commit_until_the_next_one_is_complete() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    s.send(Request::Join(join("b")));
    assert_eq!(s.commit(claim(&members[0]), 1), Ok(()));
    let ticket = s.send(Request::Join(rejoin(&members[0])));
    let next = s.joined(ticket).unwrap();
    let current = Generation(2);
    let illegal = GroupError::IllegalGeneration { given: Generation(1), current };
    assert_eq!(s.commit(claim(&members[0]), 2), Err(illegal));
    // The new generation owns nothing yet.
    assert_eq!(s.commit(claim(&next), 2), Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_commit_is_a_sign_of_life() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    for offset in 0..4 {
        s.advance(SESSION * 3 / 4);
        assert_eq!(s.commit(claim(&members[0]), offset), Ok(()));
    }
}

#[test]
fn a_generation_of_an_unknown_group_is_illegal() {
    let mut s = Scenario::new();
    let claim = Claim { generation: Generation(3), ..nobody() };
    let illegal = GroupError::IllegalGeneration { given: Generation(3), current: Generation::NONE };
    assert_eq!(s.commit(claim, 1), Err(illegal));
    assert!(!s.exists());
}

#[test]
fn consumers_without_a_group_commit_while_it_has_no_members() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    s.leave(Some(members[0].member_id.clone()), None).unwrap();
    assert_eq!(s.commit(nobody(), 5), Ok(()));
    assert_eq!(s.fetched(), Some(5));
}

#[test]
fn all_offsets_are_fetched_when_no_partition_is_named() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    let request = FetchOffsetsRequest { group_id: group(), partitions: None };
    let ticket = s.send(Request::FetchOffsets(request));
    match s.answer(ticket) {
        Answer::FetchOffsets(Ok(offsets)) => {
            let all: Vec<TopicPartition> = offsets.into_iter().map(|(p, _)| p).collect();
            assert_eq!(all, vec![partition("t")]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_offset_of_a_consumed_topic_is_not_deleted() {
    let mut s = Scenario::new();
    s.stable(&["a"]);
    let subscribed = Err(OffsetRefusal::SubscribedToTopic);
    assert_eq!(s.delete_offsets("t"), Ok(vec![(partition("t"), subscribed)]));
    assert_eq!(s.delete_offsets("u"), Ok(vec![(partition("u"), Ok(()))]));
}

#[test]
fn offsets_of_members_that_are_not_consumers_are_not_deleted() {
    let mut s = Scenario::new();
    let connect = JoinRequest { protocol_type: "connect".into(), ..join("a") };
    s.found(vec![connect]);
    assert_eq!(s.delete_offsets("u"), Err(AdminRefusal::NonEmptyGroup.into()));
}

#[test]
fn subscriptions_that_cannot_be_read_protect_every_topic() {
    let mut s = Scenario::new();
    let protocol = Protocol { name: "range".into(), metadata: "?".into() };
    s.found(vec![JoinRequest { protocols: vec![protocol], ..join("a") }]);
    let subscribed = Err(OffsetRefusal::SubscribedToTopic);
    assert_eq!(s.delete_offsets("u"), Ok(vec![(partition("u"), subscribed)]));
}

#[test]
fn a_deleted_offset_stays_deleted() {
    let mut s = Scenario::new();
    assert_eq!(s.delete_offsets("t"), Err(AdminRefusal::GroupIdNotFound.into()));
    s.commit(nobody(), 5).unwrap();
    assert_eq!(s.delete_offsets("t"), Ok(vec![(partition("t"), Ok(()))]));
    assert_eq!(s.fetched(), None);
    s.reload();
    assert_eq!(s.fetched(), None);
}

#[test]
fn a_group_is_deleted_with_its_offsets_if_it_has_no_members() {
    let mut s = Scenario::new();
    assert_eq!(s.delete_group(), Err(AdminRefusal::GroupIdNotFound.into()));
    let members = s.stable(&["a"]);
    s.commit(claim(&members[0]), 5).unwrap();
    assert_eq!(s.delete_group(), Err(AdminRefusal::NonEmptyGroup.into()));
    s.leave(Some(members[0].member_id.clone()), None).unwrap();
    assert_eq!(s.delete_group(), Ok(()));
    for _ in 0..2 {
        assert!(!s.exists());
        assert_eq!(s.fetched(), None);
        s.reload();
    }
}

#[test]
fn what_comes_while_a_deletion_is_under_way_survives_it() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    s.replicates = false;
    let deletion = s.send(Request::DeleteGroups(vec![group()]));
    let commit = s.send_commit(nobody(), 6);
    let joining = s.send(Request::Join(join("a")));
    s.replicate();
    assert!(s.is_answered(deletion) && s.is_answered(commit));
    assert_eq!(s.fetched(), Some(6));
    s.advance(SESSION);
    assert!(s.joined(joining).is_ok());
    s.reload();
    assert_eq!(s.fetched(), Some(6));
}

#[test]
fn a_refused_deletion_deletes_nothing() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    s.replicates = false;
    let ids = vec![GroupId::from("none"), group()];
    let ticket = s.send(Request::DeleteGroups(ids.clone()));
    s.refuse();
    let fates = [Err(AdminRefusal::GroupIdNotFound.into()), Err(Unavailable::NotAvailable.into())];
    assert_eq!(s.answer(ticket), Answer::DeleteGroups(ids.into_iter().zip(fates).collect()));
    assert_eq!(s.fetched(), Some(5));
}

#[test]
fn a_deletion_too_large_for_one_append_is_answered_with_the_last() {
    let mut s = Scenario::new();
    let long = |n: i32| partition(&format!("{n:0>249}"));
    let mut request = commit(nobody(), 1);
    let offset = request.offsets[0].clone();
    request.offsets = (0..4000)
        .map(|n| crate::group::NewOffset { partition: long(n), ..offset.clone() })
        .collect();
    s.send(Request::Commit(request));
    s.replicates = false;
    let ticket = s.send(Request::DeleteGroups(vec![group()]));
    assert!(s.appended.len() > 1);
    let bytes = |append: &crate::group::Append| -> usize {
        append.records.iter().map(crate::group::GroupRecord::bytes).sum()
    };
    assert!(s.appended.iter().all(|append| bytes(append) <= 512 << 10));
    let last = s.appended.back().unwrap().id;
    while s.appended.front().unwrap().id < last {
        let append = s.appended.pop_front().unwrap();
        let decision = s.coordinator.replicated(append.id, s.now);
        s.take(decision);
        assert!(!s.is_answered(ticket));
    }
    s.replicate();
    assert!(s.is_answered(ticket));
    assert!(!s.exists());
}

#[test]
fn offsets_of_a_group_without_members_expire_a_retention_after_it_emptied() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    s.commit(claim(&members[0]), 5).unwrap();
    s.live(&members[0], 8 * DAY);
    // A commit older than the retention is kept while its topic is consumed.
    assert_eq!(s.fetched(), Some(5));
    s.leave(Some(members[0].member_id.clone()), None).unwrap();
    s.advance(DAY * 699 / 100);
    assert_eq!(s.fetched(), Some(5));
    s.advance(DAY * 2 / 100);
    for _ in 0..2 {
        assert_eq!(s.fetched(), None);
        assert!(!s.exists());
        s.reload();
    }
}

#[test]
fn offsets_of_consumers_without_a_group_expire_a_retention_after_their_last_commit() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    s.advance(6 * DAY);
    s.commit(nobody(), 6).unwrap();
    s.advance(6 * DAY);
    assert_eq!(s.fetched(), Some(6));
    s.reload();
    s.advance(2 * DAY);
    assert_eq!(s.fetched(), None);
    assert!(!s.exists());
}

#[test]
fn an_offset_with_its_own_retention_expires_by_it_also_after_a_reload() {
    let mut s = Scenario::new();
    let request = CommitRequest { retention: Some(DAY), ..commit(nobody(), 5) };
    s.send(Request::Commit(request));
    s.reload();
    s.advance(DAY / 2);
    assert_eq!(s.fetched(), Some(5));
    s.advance(DAY);
    assert_eq!(s.fetched(), None);
}

#[test]
fn topics_that_members_no_longer_consume_expire_in_a_stable_group() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let mut request = commit(claim(&members[0]), 5);
    request.offsets[0].partition = partition("u");
    s.send(Request::Commit(request));
    s.commit(claim(&members[0]), 5).unwrap();
    let kept = |s: &mut Scenario| {
        let request = FetchOffsetsRequest { group_id: group(), partitions: None };
        let ticket = s.send(Request::FetchOffsets(request));
        match s.answer(ticket) {
            Answer::FetchOffsets(Ok(offsets)) => offsets.len(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(kept(&mut s), 2);
    s.live(&members[0], 8 * DAY);
    assert_eq!(kept(&mut s), 1);
}

#[test]
fn a_group_with_members_outlives_its_offsets() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    s.live(&members[0], DAY);
    s.reload();
    assert_eq!(s.heartbeat(&members[0]), Ok(()));
}

#[test]
fn offsets_go_with_their_topic() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    let decision = s.coordinator.topics_deleted(&["t".parse().unwrap()], s.now);
    s.take(decision);
    assert_eq!(s.fetched(), None);
    s.reload();
    assert_eq!(s.fetched(), None);
}

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
    // Their sessions count from the load.
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
fn a_coordinator_that_loads_says_so_and_never_tells_an_empty_truth() {
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
    // Kafka's clients would give up over an error here.
    let heartbeat = HeartbeatRequest { group_id: group(), claim: nobody() };
    let ticket = s.send(Request::Heartbeat(heartbeat));
    assert_eq!(s.answer(ticket), Answer::Heartbeat(Ok(())));
    assert_eq!(s.coordinator.next_deadline(), None);
}

#[test]
fn a_coordinator_that_loses_its_partition_answers_everybody_and_forgets() {
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
fn a_damaged_record_costs_itself_only() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    let other = CommitRequest { group_id: GroupId::from("other"), ..commit(nobody(), 9) };
    s.send(Request::Commit(other));
    let mut coordinator = Coordinator::new(GroupConfig::default());
    let mut damaged = s.log[0].clone();
    damaged.value.as_mut().unwrap().pop();
    for record in [&damaged, &s.log[1]] {
        let result = coordinator.replay(&record.key, record.value.as_deref());
        let expected = Err(DamagedRecord::Truncated { wanted: 8, left: 7 });
        assert_eq!(result, if record == &damaged { expected } else { Ok(()) });
    }
    s.coordinator = coordinator;
    let decision = s.coordinator.finish_loading(s.now);
    s.take(decision);
    assert_eq!(s.listed(&[], &[]), vec![("other".to_owned(), GroupState::Empty)]);
}

#[test]
fn groups_are_listed_by_state_and_type_whatever_the_case() {
    let mut s = Scenario::new();
    s.stable(&["a"]);
    let other = CommitRequest { group_id: GroupId::from("other"), ..commit(nobody(), 9) };
    s.send(Request::Commit(other));
    let orders = ("orders".to_owned(), GroupState::Stable);
    let other = ("other".to_owned(), GroupState::Empty);
    assert_eq!(s.listed(&[], &[]), vec![orders.clone(), other.clone()]);
    assert_eq!(s.listed(&["stable"], &[]), vec![orders.clone()]);
    assert_eq!(s.listed(&["EMPTY", "Dead"], &["Classic"]), vec![other]);
    assert_eq!(s.listed(&["Stable"], &["consumer"]), vec![]);
}

#[test]
fn a_description_shows_metadata_and_assignment_of_a_stable_group() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    let ids = vec![group(), GroupId::from("none")];
    let ticket = s.send(Request::DescribeGroups(ids));
    let Answer::DescribeGroups(groups) = s.answer(ticket) else { panic!("another answer") };
    let described = groups[0].1.clone().unwrap();
    assert_eq!(described.state, GroupState::Stable);
    assert_eq!((&*described.protocol_type, &*described.protocol), ("consumer", "range"));
    let member = &described.members[0];
    assert_eq!((&*member.client_id, &*member.client_host), ("a", "/127.0.0.1"));
    assert_eq!(member.metadata, protocols(&["range"])[0].metadata);
    assert_eq!(member.assignment, blob(&members[0].member_id));
    assert_eq!(groups[1].1.clone().unwrap().state, GroupState::Dead);
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
