//! Sessions with a leader that remembers the positions it was told, as KIP-227 specifies.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::ByteSize;
use crate::io::SeededRandom;
use crate::replica_manager::fetch_session::{FetchSession, Scope, WHOLE_EVERY, WantedPositions};
use crate::replication::{FetchPosition, Floor, FollowerPosition};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, PartitionKey, TopicId, seeds};
use crate::wire::fetch::FetchResponse;
use crate::wire::{ErrorCode, FetchRequest};

const STEPS: usize = 200;
const SEEDS: u64 = 50;
const MAX: ByteSize = ByteSize(1 << 20);

fn key(topic: u8, index: i32) -> PartitionKey {
    PartitionKey { topic: TopicId([topic; 16]), index: PartitionIndex(index) }
}

fn at(offset: i64) -> FollowerPosition {
    let (epoch, offset) = (LeaderEpoch(3), Offset::new(offset));
    FollowerPosition {
        leader: BrokerId(2),
        position: FetchPosition {
            epoch,
            offset,
            last_epoch: LeaderEpoch(2),
            flushed: offset,
            floor: Floor::default(),
        },
        log_start: Offset::ZERO,
    }
}

fn wanted<const N: usize>(positions: [(PartitionKey, FollowerPosition); N]) -> WantedPositions {
    let mut wanted = WantedPositions::default();
    for (key, position) in positions {
        wanted.insert(key, position);
    }
    wanted
}

/// The next request of a session, as soon as it may be partial.
fn request_of(session: &mut FetchSession, wanted: &mut WantedPositions) -> FetchRequest {
    let scope = session.scope(Duration::ZERO);
    session.request(wanted, (scope, Duration::ZERO), MAX)
}

fn answer(session_id: i32) -> FetchResponse {
    FetchResponse { session_id, ..FetchResponse::default() }
}

fn refusal(error_code: ErrorCode) -> FetchResponse {
    FetchResponse { error_code, ..FetchResponse::default() }
}

/// The offsets that a request names, by partition.
fn named(request: &FetchRequest) -> Vec<(PartitionKey, i64)> {
    let topics = request.topics.iter();
    let named = topics.flat_map(|topic| {
        topic.partitions.iter().map(|partition| {
            let index = PartitionIndex(partition.partition);
            (PartitionKey { topic: topic.topic_id, index }, partition.fetch_offset)
        })
    });
    named.collect()
}

fn forgotten(request: &FetchRequest) -> Vec<PartitionKey> {
    let topics = request.forgotten_topics.iter();
    let forgotten = topics.flat_map(|topic| {
        let keys = topic.partitions.iter().map(|index| PartitionIndex(*index));
        keys.map(|index| PartitionKey { topic: topic.topic_id, index })
    });
    forgotten.collect()
}

#[test]
fn the_first_request_names_everything_and_later_ones_only_changes() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5)), (key(1, 1), at(6)), (key(2, 0), at(7))]);
    let first = request_of(&mut session, &mut wanted);
    assert_eq!((first.session_id, first.session_epoch), (0, 0));
    assert_eq!(named(&first), [(key(1, 0), 5), (key(1, 1), 6), (key(2, 0), 7)]);
    assert_eq!(first.topics.len(), 2, "a topic is named once");
    session.answered(&answer(9)).unwrap();

    wanted.insert(key(1, 1), at(8));
    wanted.remove(&key(2, 0));
    let second = request_of(&mut session, &mut wanted);
    assert_eq!((second.session_id, second.session_epoch), (9, 1));
    assert_eq!(named(&second), [(key(1, 1), 8)]);
    assert_eq!(forgotten(&second), [key(2, 0)]);
    session.answered(&answer(9)).unwrap();

    let third = request_of(&mut session, &mut wanted);
    assert_eq!(third.session_epoch, 2);
    assert!(third.topics.is_empty() && third.forgotten_topics.is_empty());
    assert_eq!(session.position(&key(1, 1)), Some(&at(8)));
    assert_eq!(session.position(&key(2, 0)), None);
}

#[test]
fn a_request_asks_for_all_partitions_at_intervals_and_at_the_beginning_and_else_for_changes() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5)), (key(1, 1), at(6))]);
    let began = Duration::from_secs(7);
    let mut request = |session: &mut FetchSession, now| {
        let scope = session.scope(now);
        let is_partial = session.request(&mut wanted, (scope, now), MAX).is_partial;
        assert_eq!(is_partial, scope == Scope::Changes);
        session.answered(&answer(9)).unwrap();
        is_partial
    };
    let soon = Duration::from_millis(1);
    let nearly = began + WHOLE_EVERY.saturating_sub(soon);
    assert!(!request(&mut session, began));
    assert!(request(&mut session, began + soon));
    assert!(request(&mut session, nearly));
    assert_eq!(session.until_whole(nearly), soon);
    assert!(!request(&mut session, began + WHOLE_EVERY));
    assert!(request(&mut session, began + WHOLE_EVERY + soon));
    session.restart();
    assert!(!request(&mut session, began + WHOLE_EVERY + soon));
}

#[test]
fn a_position_that_was_removed_meanwhile_is_named_again_even_if_it_is_as_before() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5)), (key(1, 1), at(6))]);
    request_of(&mut session, &mut wanted);
    session.answered(&answer(9)).unwrap();
    wanted.remove(&key(1, 0));
    wanted.insert(key(1, 0), at(5));
    wanted.insert(key(1, 1), at(6));
    assert_eq!(named(&request_of(&mut session, &mut wanted)), [(key(1, 0), 5)]);
    session.answered(&answer(9)).unwrap();
    assert_eq!(named(&request_of(&mut session, &mut wanted)), []);
}

#[test]
fn only_the_positions_of_a_scope_are_dropped() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5)), (key(1, 1), at(6)), (key(1, 2), at(7))]);
    request_of(&mut session, &mut wanted);
    session.answered(&answer(9)).unwrap();
    wanted.insert(key(1, 1), at(8));
    wanted.retain(Scope::Changes, |_, _| false);
    let request = request_of(&mut session, &mut wanted);
    assert_eq!((named(&request), forgotten(&request)), (vec![], vec![key(1, 1)]));
    wanted.retain(Scope::Whole, |key, _| key.index == PartitionIndex(2));
    let request = request_of(&mut session, &mut wanted);
    assert_eq!((named(&request), forgotten(&request)), (vec![], vec![key(1, 0)]));
}

#[test]
fn a_request_carries_the_whole_position() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut position = at(8);
    position.position.flushed = Offset::new(6);
    position.log_start = Offset::new(2);
    let request = request_of(&mut session, &mut wanted([(key(1, 4), position)]));
    let partition = &request.topics[0].partitions[0];
    let offsets = (partition.fetch_offset, partition.flushed_offset, partition.log_start_offset);
    assert_eq!(offsets, (8, 6, 2));
    assert_eq!((partition.current_leader_epoch, partition.last_fetched_epoch), (3, 2));
    assert_eq!((partition.partition, partition.partition_max_bytes), (4, 1 << 20));
}

#[test]
fn a_refused_session_begins_again_with_everything() {
    let cases = [
        (ErrorCode::FetchSessionIdNotFound, 0),
        (ErrorCode::InvalidFetchSessionEpoch, 9),
        (ErrorCode::FetchSessionTopicIdError, 9),
    ];
    for (code, named_id) in cases {
        let mut session = FetchSession::new(WHOLE_EVERY);
        let mut wanted = wanted([(key(1, 0), at(5))]);
        request_of(&mut session, &mut wanted);
        session.answered(&answer(9)).unwrap();
        request_of(&mut session, &mut wanted);
        assert_eq!(session.answered(&refusal(code)), Err(code));
        let next = request_of(&mut session, &mut wanted);
        assert_eq!((next.session_id, next.session_epoch), (named_id, 0), "{code}");
        assert_eq!(named(&next), [(key(1, 0), 5)], "{code}");
    }
}

#[test]
fn after_a_lost_answer_a_new_session_names_everything_and_ends_the_old_one() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5))]);
    request_of(&mut session, &mut wanted);
    session.answered(&answer(9)).unwrap();
    request_of(&mut session, &mut wanted);
    session.restart();
    let next = request_of(&mut session, &mut wanted);
    assert_eq!((next.session_id, next.session_epoch), (9, 0));
    assert_eq!(named(&next), [(key(1, 0), 5)]);
    session.answered(&answer(11)).unwrap();
    assert_eq!(request_of(&mut session, &mut wanted).session_id, 11);
}

#[test]
fn without_room_at_the_leader_every_request_names_everything() {
    let mut session = FetchSession::new(WHOLE_EVERY);
    let mut wanted = wanted([(key(1, 0), at(5))]);
    for _ in 0..3 {
        let request = request_of(&mut session, &mut wanted);
        assert_eq!((request.session_id, request.session_epoch), (0, 0));
        assert_eq!(named(&request), [(key(1, 0), 5)]);
        session.answered(&answer(0)).unwrap();
    }
}

/// The leader's side of a session: the last offset that it was told for each partition.
#[derive(Default)]
struct Leader {
    session: Option<(i32, i32)>,
    offsets: BTreeMap<PartitionKey, i64>,
    next_id: i32,
}

impl Leader {
    fn take(&mut self, request: &FetchRequest) -> FetchResponse {
        if request.session_epoch == 0 {
            self.next_id += 1;
            self.session = Some((self.next_id, 1));
            self.offsets.clear();
        } else if self.session != Some((request.session_id, request.session_epoch)) {
            return refusal(ErrorCode::FetchSessionIdNotFound);
        } else {
            self.session = Some((request.session_id, request.session_epoch + 1));
        }
        for key in forgotten(request) {
            assert!(self.offsets.remove(&key).is_some(), "{key:?} was never named");
        }
        self.offsets.extend(named(request));
        answer(self.next_id)
    }
}

#[test]
fn a_leader_knows_every_position_whatever_is_lost_on_the_way() {
    for seed in seeds(SEEDS) {
        let mut random = SeededRandom::new(seed);
        let (mut session, mut leader) = (FetchSession::new(WHOLE_EVERY), Leader::default());
        let (mut wanted, mut expected) = (WantedPositions::default(), BTreeMap::new());
        for step in 0..STEPS {
            let partition = key(1, i32::try_from(random.below(6)).unwrap());
            if random.below(4) == 0 {
                wanted.remove(&partition);
                expected.remove(&partition);
            } else {
                let offset = i64::try_from(random.below(50)).unwrap();
                wanted.insert(partition, at(offset));
                expected.insert(partition, offset);
            }
            let request = request_of(&mut session, &mut wanted);
            let fate = random.below(10);
            if fate == 0 {
                leader.session = None;
            }
            // The request or its answer may be lost, and the connection with it.
            let answer = (fate != 1).then(|| leader.take(&request));
            let Some(answer) = answer.filter(|_| fate != 2) else {
                session.restart();
                continue;
            };
            if session.answered(&answer).is_err() {
                continue;
            }
            assert_eq!(leader.offsets, expected, "seed {seed}, step {step}");
        }
    }
}
