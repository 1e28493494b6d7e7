//! Offsets, the log, and administration.

use std::time::Duration;

use super::scenario_tests::{
    DAY, SESSION, Scenario, TOPIC_ID, blob, claim, commit, group, join, nobody, partition,
    protocols, rejoin,
};
use crate::group::{
    AdminRefusal, Answer, Claim, CommitRequest, FetchOffsetsRequest, Generation, GroupError,
    GroupId, GroupState, JoinRequest, OffsetRefusal, Protocol, Request, Unavailable,
};
use crate::types::{TopicId, TopicPartition};

#[test]
fn a_commit_is_answered_and_visible_when_it_is_replicated() {
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
fn a_commit_that_times_out_still_takes_effect_when_it_is_replicated() {
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
    // The new generation owns no partitions yet.
    assert_eq!(s.commit(claim(&next), 2), Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_commit_extends_the_session() {
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
fn ids_that_never_joined_do_not_keep_a_group_from_being_deleted() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    let id = s.pending("b");
    assert_eq!(s.delete_group(), Ok(()));
    assert!(!s.exists());
    // A client that is between its two requests to join starts again.
    let unknown = s.refused_join(JoinRequest { member_id: Some(id), ..join("b") });
    assert_eq!(unknown, GroupError::UnknownMemberId);
    s.advance(SESSION);
    s.reload();
    assert_eq!(s.fetched(), None);
}

#[test]
fn the_last_member_empties_its_group_in_spite_of_ids_that_never_joined() {
    let mut s = Scenario::new();
    let members = s.stable(&["a"]);
    s.commit(claim(&members[0]), 5).unwrap();
    s.pending("b");
    s.leave(Some(members[0].member_id.clone()), None).unwrap();
    assert_eq!(s.state(), GroupState::Empty);
    assert_eq!(s.delete_group(), Ok(()));
    assert!(!s.exists());
}

#[test]
fn commits_made_during_a_deletion_survive_it() {
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
fn a_commit_in_flight_survives_the_expiry_of_the_previous_offset() {
    let mut s = Scenario::new();
    let second = Duration::from_secs(1);
    // The interval is ten minutes: one check comes just before the end of the retention.
    s.advance(second);
    s.commit(nobody(), 5).unwrap();
    s.advance(7 * DAY + Duration::from_secs(598));
    assert_eq!(s.fetched(), Some(5));
    s.replicates = false;
    let ticket = s.send_commit(nobody(), 6);
    s.advance(second);
    s.replicate();
    assert!(s.committed(ticket).is_ok());
    assert_eq!(s.fetched(), Some(6));
    s.reload();
    assert_eq!(s.fetched(), Some(6));
    s.replicates = true;
    s.advance(8 * DAY);
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
fn offsets_are_deleted_with_their_topic() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    forget(&mut s, TopicId([8; 16]));
    assert_eq!(s.fetched(), Some(5));
    s.reload();
    forget(&mut s, TOPIC_ID);
    assert_eq!(s.fetched(), None);
    s.reload();
    assert_eq!(s.fetched(), None);
}

#[test]
fn offsets_of_a_deleted_topic_are_removed_once_the_log_accepts_it() {
    let mut s = Scenario::new();
    s.commit(nobody(), 5).unwrap();
    s.replicates = false;
    forget(&mut s, TOPIC_ID);
    forget(&mut s, TOPIC_ID);
    assert_eq!(s.appended.len(), 1);
    s.refuse();
    assert_eq!(s.fetched(), Some(5));
    // A commit in flight may belong to the next topic with this name.
    s.send_commit(nobody(), 6);
    forget(&mut s, TOPIC_ID);
    s.replicate();
    assert_eq!(s.fetched(), Some(6));
    s.replicates = true;
    forget(&mut s, TOPIC_ID);
    assert!(!s.exists());
}

/// Deletes the offsets of the topic with this id.
fn forget(s: &mut Scenario, gone: TopicId) {
    let decision = s.coordinator.forget_topics(|_, id| id == gone, s.now);
    s.take(decision);
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
