//! Partial requests of followers: they stand for the partitions that they name, and for those in
//! which something has happened.

use std::time::Duration;

use crate::broker::fetch::session::{Exchange, FetchSessions};
use crate::replication::Pair;
use crate::types::{Offset, PartitionKey, TopicId};
use crate::wire::ErrorCode;
use crate::wire::fetch::{
    FetchRequest, ForgottenTopic, ReplicaState, RequestPartition, RequestTopic,
};

const VERSION: i16 = 15;
const TOPIC: TopicId = TopicId([7; 16]);
const FOLLOWER: i32 = 2;

fn key(index: i32) -> PartitionKey {
    PartitionKey::new(TOPIC, index)
}

/// A request for these partitions in a session, by a follower or, with a negative id, a consumer.
fn request(replica_id: i32, (id, epoch): (i32, i32), named: &[i32]) -> FetchRequest {
    let partition = |index: &i32| RequestPartition { partition: *index, ..Default::default() };
    let partitions = named.iter().map(partition).collect();
    FetchRequest {
        session_id: id,
        session_epoch: epoch,
        topics: vec![RequestTopic { topic_id: TOPIC, partitions, ..RequestTopic::default() }],
        replica_state: ReplicaState { replica_id, replica_epoch: 1 },
        is_partial: epoch > 0,
        ..FetchRequest::default()
    }
}

fn begin<'a>(sessions: &'a FetchSessions, request: &mut FetchRequest) -> Exchange<'a> {
    sessions.begin(request, VERSION, Duration::ZERO).unwrap()
}

/// The partitions of topics, in their order.
fn served(topics: &[RequestTopic]) -> Vec<i32> {
    topics.iter().flat_map(|topic| topic.partitions.iter().map(|it| it.partition)).collect()
}

/// Begins a session for partitions 0 to 3; returns its id.
fn begun(sessions: &FetchSessions, replica_id: i32) -> i32 {
    let exchange = begin(sessions, &mut request(replica_id, (0, 0), &[0, 1, 2, 3]));
    exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap()
}

#[test]
fn a_partial_request_stands_for_what_it_names_and_for_what_has_happened() {
    let sessions = FetchSessions::new(1);
    let id = begun(&sessions, FOLLOWER);
    let mut partial = request(FOLLOWER, (id, 1), &[2]);
    let exchange = begin(&sessions, &mut partial);
    assert_eq!(served(&partial.topics), [2]);
    assert!(exchange.states_position(&key(2)) && !exchange.states_position(&key(0)));

    let ready = exchange.ready().unwrap();
    ready.add(key(3));
    assert_eq!(served(&exchange.take_ready()), [3], "what happens during a request is part of it");
    assert_eq!(served(&exchange.take_ready()), [0; 0], "once");
    exchange.note_answer(key(1), Offset::ZERO, true);
    exchange.note_answer(key(2), Offset::ZERO, false);
    ready.add(key(9));
    exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();

    let mut next = request(FOLLOWER, (id, 2), &[0]);
    let exchange = begin(&sessions, &mut next);
    assert_eq!(served(&next.topics), [0, 1], "what was left; 9 is not part of the session");
    exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();

    let mut whole = FetchRequest { is_partial: false, ..request(FOLLOWER, (id, 3), &[2]) };
    let exchange = begin(&sessions, &mut whole);
    assert_eq!(served(&whole.topics), [0, 1, 2, 3]);
    assert!(exchange.states_position(&key(0)));
}

#[test]
fn a_consumer_cannot_ask_in_part() {
    let sessions = FetchSessions::new(1);
    let id = begun(&sessions, -1);
    let mut partial = request(-1, (id, 1), &[2]);
    let exchange = begin(&sessions, &mut partial);
    assert_eq!(served(&partial.topics), [0, 1, 2, 3]);
    assert!(exchange.ready().is_none());
}

#[test]
fn a_session_knows_only_partitions_whose_positions_were_counted() {
    let (sessions, pair) = (FetchSessions::new(1), Pair::new());
    let leader = pair.leader();
    let known = leader.key();
    let (replica_state, topic_id) =
        (ReplicaState { replica_id: FOLLOWER, ..Default::default() }, known.topic);
    let partition = RequestPartition { partition: known.index.0, ..RequestPartition::default() };
    let topics = vec![RequestTopic { topic_id, partitions: vec![partition], ..Default::default() }];
    let mut first = FetchRequest { session_epoch: 0, topics, replica_state, ..Default::default() };
    let exchange = begin(&sessions, &mut first);
    exchange.set_interest(known, Some(&leader));
    pair.append();
    assert_eq!(served(&exchange.take_ready()), [known.index.0]);
    assert!(exchange.counted_before(&known).is_some());
    let id = exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();

    let session = |epoch| FetchRequest {
        session_id: id,
        session_epoch: epoch,
        replica_state: ReplicaState { replica_id: FOLLOWER, ..ReplicaState::default() },
        is_partial: true,
        ..FetchRequest::default()
    };
    pair.append();
    let mut next = session(1);
    let exchange = begin(&sessions, &mut next);
    assert_eq!(served(&next.topics), [known.index.0], "appended between two requests");
    exchange.note_answer(known, Offset::new(3), false);
    assert_eq!(exchange.counted_before(&known).unwrap().1, Offset::new(3));
    exchange.set_interest(known, None);
    assert!(exchange.counted_before(&known).is_none());
    exchange.set_interest(known, Some(&leader));
    exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();

    let forgotten =
        ForgottenTopic { topic_id, partitions: vec![known.index.0], ..Default::default() };
    let mut last = FetchRequest { forgotten_topics: vec![forgotten], ..session(2) };
    let exchange = begin(&sessions, &mut last);
    assert!(last.topics.is_empty() && exchange.counted_before(&known).is_none());
}

#[test]
fn a_follower_has_one_session_that_of_its_last_first_request() {
    let sessions = FetchSessions::new(10);
    let at = Duration::from_secs;
    let begin_at = |replica_id, now| {
        sessions.begin(&mut request(replica_id, (0, 0), &[0, 1]), VERSION, now).unwrap()
    };
    let (consumer, other) = (begun(&sessions, -1), begun(&sessions, FOLLOWER + 1));
    let given_up = begin_at(FOLLOWER, at(1));
    let first = begin_at(FOLLOWER, at(2)).finish(&mut Vec::new(), at(2)).unwrap();
    assert_eq!(given_up.finish(&mut Vec::new(), at(3)), Ok(0), "a later request has a session");
    let second = begin_at(FOLLOWER, at(4)).finish(&mut Vec::new(), at(4)).unwrap();
    let is_known = |replica_id, id| {
        let mut next = request(replica_id, (id, 1), &[]);
        sessions.begin(&mut next, VERSION, at(5)).is_ok()
    };
    assert!(!is_known(FOLLOWER, first) && is_known(FOLLOWER, second));
    assert!(is_known(-1, consumer) && is_known(FOLLOWER + 1, other));
}

#[test]
fn a_session_is_unknown_to_all_but_its_follower() {
    let sessions = FetchSessions::new(1);
    let id = begun(&sessions, FOLLOWER);
    for stranger in [-1, FOLLOWER + 1] {
        let refused = sessions.begin(&mut request(stranger, (id, 1), &[]), VERSION, Duration::ZERO);
        assert_eq!(refused.err(), Some(ErrorCode::FetchSessionIdNotFound));
    }
    begin(&sessions, &mut request(FOLLOWER, (id, 1), &[]));
}
