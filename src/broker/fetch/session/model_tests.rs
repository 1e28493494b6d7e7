//! Sessions compared with full fetches: a reader that applies every incremental response knows
//! exactly what a full response would have said.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::broker::fetch::session::FetchSessions;
use crate::io::SeededRandom;
use crate::types::seeds;
use crate::wire::fetch::{
    FetchRequest, ForgottenTopic, Partition, RequestPartition, RequestTopic, Topic,
};
use crate::wire::{ErrorCode, Records};

const SEEDS: u64 = 300;
const STEPS: usize = 60;
const VERSION: i16 = 12;

type Name = (String, i32);

/// The offsets of a partition, as known to the broker or to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offsets {
    high_watermark: i64,
    log_start_offset: i64,
    failed: bool,
}

/// The full response of a broker to a request for these partitions.
fn full(partitions: &BTreeMap<Name, Offsets>, request: &FetchRequest) -> Vec<Topic> {
    let answer = |topic: &RequestTopic, wanted: &RequestPartition| {
        let name = (topic.topic.clone(), wanted.partition);
        let Some(offsets) = partitions.get(&name).filter(|offsets| !offsets.failed) else {
            return Partition {
                partition_index: wanted.partition,
                error_code: ErrorCode::UnknownTopicOrPartition,
                high_watermark: -1,
                ..Partition::default()
            };
        };
        let has_records = wanted.fetch_offset < offsets.high_watermark;
        Partition {
            partition_index: wanted.partition,
            high_watermark: offsets.high_watermark,
            log_start_offset: offsets.log_start_offset,
            records: Records::Bytes(Bytes::from_static(if has_records { b"r" } else { b"" })),
            ..Partition::default()
        }
    };
    let topic = |topic: &RequestTopic| Topic {
        topic: topic.topic.clone(),
        topic_id: topic.topic_id,
        partitions: topic.partitions.iter().map(|wanted| answer(topic, wanted)).collect(),
    };
    request.topics.iter().map(topic).collect()
}

/// A consumer: its partitions, the state of its session, and the responses that it has applied.
struct Reader {
    session_id: i32,
    session_epoch: i32,
    /// The wanted partitions with their fetch offsets.
    positions: BTreeMap<Name, i64>,
    /// The partitions as last sent to the session.
    sent: BTreeMap<Name, i64>,
    known: BTreeMap<Name, Offsets>,
}

fn grouped<T>(names: impl Iterator<Item = (Name, T)>, mut add: impl FnMut(&str, i32, T)) {
    for ((topic, partition), value) in names {
        add(&topic, partition, value);
    }
}

impl Reader {
    fn request(&mut self) -> FetchRequest {
        let begins = self.session_epoch == 0;
        let mut topics: Vec<RequestTopic> = Vec::new();
        let changed = self
            .positions
            .iter()
            .filter(|(name, position)| begins || self.sent.get(*name) != Some(*position));
        let changed: Vec<_> = changed.map(|(name, position)| (name.clone(), *position)).collect();
        grouped(changed.into_iter(), |topic, partition, fetch_offset| {
            let wanted =
                RequestPartition { partition, fetch_offset, ..RequestPartition::default() };
            let partitions = vec![wanted];
            topics.push(RequestTopic { topic: topic.to_owned(), partitions, ..Default::default() });
        });
        let mut forgotten_topics = Vec::new();
        let gone = self.sent.keys().filter(|name| !begins && !self.positions.contains_key(*name));
        grouped(gone.map(|name| (name.clone(), ())), |topic, partition, ()| {
            let partitions = vec![partition];
            let topic = topic.to_owned();
            forgotten_topics.push(ForgottenTopic { topic, partitions, ..Default::default() });
        });
        self.sent = self.positions.clone();
        FetchRequest {
            session_id: self.session_id,
            session_epoch: self.session_epoch,
            topics,
            forgotten_topics,
            ..FetchRequest::default()
        }
    }

    fn learn(&mut self, topics: &[Topic]) {
        for topic in topics {
            for answer in &topic.partitions {
                let name = (topic.topic.clone(), answer.partition_index);
                let offsets = Offsets {
                    high_watermark: answer.high_watermark,
                    log_start_offset: answer.log_start_offset,
                    failed: answer.error_code != ErrorCode::None,
                };
                if let Some(position) = self.positions.get_mut(&name)
                    && !answer.records.is_empty()
                {
                    *position = answer.high_watermark;
                }
                self.known.insert(name, offsets);
            }
        }
        self.known.retain(|name, _| self.positions.contains_key(name));
    }
}

/// A random change of a partition or of the reader's partitions.
fn disturb(random: &mut SeededRandom, cluster: &mut BTreeMap<Name, Offsets>, reader: &mut Reader) {
    let name = (format!("topic-{}", random.below(3)), i32::try_from(random.below(4)).unwrap());
    match random.below(6) {
        0 => drop(reader.positions.remove(&name)),
        1 => drop(reader.positions.insert(name, 0)),
        _ => {
            let offsets = cluster.entry(name).or_default();
            match random.below(4) {
                0 => offsets.failed = !offsets.failed,
                1 => offsets.log_start_offset = offsets.high_watermark,
                _ => offsets.high_watermark += 1,
            }
        }
    }
}

fn run(seed: u64) {
    let mut random = SeededRandom::new(seed);
    let sessions = FetchSessions::new(2);
    let mut cluster = BTreeMap::new();
    let (positions, sent, known) = Default::default();
    let mut reader = Reader { session_id: 0, session_epoch: 0, positions, sent, known };
    for step in 0..STEPS {
        for _ in 0..random.below(4) {
            disturb(&mut random, &mut cluster, &mut reader);
        }
        let now = Duration::from_secs(step as u64);
        let mut request = reader.request();
        let exchange = match sessions.begin(&mut request, VERSION, now) {
            Ok(exchange) => exchange,
            Err(code) => panic!("seed {seed}, step {step}: {code:?}"),
        };
        let asked: Vec<Name> = request
            .topics
            .iter()
            .flat_map(|t| t.partitions.iter().map(|p| (t.topic.clone(), p.partition)))
            .collect();
        let mut sorted = asked.clone();
        sorted.sort();
        let wanted: Vec<Name> = reader.positions.keys().cloned().collect();
        assert_eq!(sorted, wanted, "seed {seed}, step {step}: all are asked for, each once");
        let mut topics = full(&cluster, &request);
        let everything = topics.clone();
        let id = exchange.finish(&mut topics, now).unwrap();
        reader.learn(&topics);
        for topic in everything {
            for answer in topic.partitions {
                let known = reader.known[&(topic.topic.clone(), answer.partition_index)];
                assert_eq!(known.high_watermark, answer.high_watermark, "seed {seed}, {step}");
                assert_eq!(known.log_start_offset, answer.log_start_offset, "seed {seed}, {step}");
                assert_eq!(known.failed, answer.error_code.is_error(), "seed {seed}, {step}");
            }
        }
        reader.session_epoch = if id == 0 { 0 } else { reader.session_epoch + 1 };
        reader.session_id = id;
    }
}

#[test]
fn a_reader_of_incremental_answers_knows_what_full_ones_say() {
    for seed in seeds(SEEDS) {
        run(seed);
    }
}

fn asking(session_id: i32, session_epoch: i32, partitions: i32) -> FetchRequest {
    let wanted = |partition| RequestPartition { partition, ..RequestPartition::default() };
    let partitions: Vec<_> = (0..partitions).map(wanted).collect();
    let topic = RequestTopic { topic: "t".to_owned(), partitions, ..RequestTopic::default() };
    FetchRequest { session_id, session_epoch, topics: vec![topic], ..FetchRequest::default() }
}

/// The id of a session created at `now`.
fn begun(sessions: &FetchSessions, now: Duration) -> i32 {
    let mut request = asking(0, 0, 2);
    let exchange = sessions.begin(&mut request, VERSION, now).unwrap();
    exchange.finish(&mut full(&BTreeMap::new(), &request), now).unwrap()
}

fn refused(sessions: &FetchSessions, mut request: FetchRequest, version: i16) -> Option<ErrorCode> {
    sessions.begin(&mut request, version, Duration::ZERO).err()
}

#[test]
fn a_request_with_a_wrong_epoch_gets_the_matching_error() {
    let sessions = FetchSessions::new(2);
    let id = begun(&sessions, Duration::ZERO);
    assert_ne!(id, 0);
    let unknown = asking(id.wrapping_add(1), 1, 0);
    assert_eq!(refused(&sessions, unknown, VERSION), Some(ErrorCode::FetchSessionIdNotFound));
    let skipping = asking(id, 2, 0);
    assert_eq!(refused(&sessions, skipping, VERSION), Some(ErrorCode::InvalidFetchSessionEpoch));
    let by_id = asking(id, 1, 0);
    assert_eq!(refused(&sessions, by_id, 13), Some(ErrorCode::FetchSessionTopicIdError));
    assert_eq!(refused(&sessions, asking(id, 1, 0), VERSION), None);
    let repeated = asking(id, 1, 0);
    assert_eq!(refused(&sessions, repeated, VERSION), Some(ErrorCode::InvalidFetchSessionEpoch));
    assert_eq!(refused(&sessions, asking(id, -1, 2), VERSION), None, "ends it");
    let ended = asking(id, 2, 0);
    assert_eq!(refused(&sessions, ended, VERSION), Some(ErrorCode::FetchSessionIdNotFound));
}

#[test]
fn a_request_follows_the_last_answer_of_its_session_and_the_first_follows_none() {
    let sessions = FetchSessions::new(1);
    let at = Duration::from_secs;
    let mut first = asking(0, 0, 1);
    let exchange = sessions.begin(&mut first, VERSION, at(1)).unwrap();
    assert_eq!(exchange.follows(), None);
    let id = exchange.finish(&mut Vec::new(), at(2)).unwrap();
    for (epoch, answered) in [(1, at(2)), (2, at(5))] {
        let exchange = sessions.begin(&mut asking(id, epoch, 0), VERSION, at(3)).unwrap();
        assert_eq!(exchange.follows(), Some(answered));
        exchange.finish(&mut Vec::new(), at(5)).unwrap();
    }
    let mut again = asking(id, 0, 1);
    let exchange = sessions.begin(&mut again, VERSION, at(6)).unwrap();
    assert_eq!(exchange.follows(), None, "the answer before may be lost");
}

#[test]
fn an_outdated_request_gets_an_error() {
    let sessions = FetchSessions::new(2);
    let id = begun(&sessions, Duration::ZERO);
    let mut slow = asking(id, 1, 0);
    let exchange = sessions.begin(&mut slow, VERSION, Duration::ZERO).unwrap();
    assert_eq!(refused(&sessions, asking(id, 2, 0), VERSION), None);
    assert_eq!(
        exchange.finish(&mut Vec::new(), Duration::ZERO),
        Err(ErrorCode::InvalidFetchSessionEpoch)
    );
}

#[test]
fn only_a_session_idle_for_long_is_evicted() {
    let sessions = FetchSessions::new(1);
    let first = begun(&sessions, Duration::ZERO);
    assert_ne!(first, 0);
    assert_eq!(begun(&sessions, Duration::from_secs(100)), 0, "no room");
    assert_ne!(begun(&sessions, Duration::from_secs(121)), 0);
    let gone = asking(first, 1, 0);
    assert_eq!(refused(&sessions, gone, VERSION), Some(ErrorCode::FetchSessionIdNotFound));
    assert_eq!(begun(&FetchSessions::new(0), Duration::ZERO), 0);
}

#[test]
fn a_follower_evicts_a_consumer() {
    let sessions = FetchSessions::new(1);
    let consumer = begun(&sessions, Duration::ZERO);
    let mut request = FetchRequest { replica_id: 2, ..asking(0, 0, 1) };
    let exchange = sessions.begin(&mut request, VERSION, Duration::ZERO).unwrap();
    let follower = exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();
    assert!(follower != 0 && follower != consumer);
    assert_eq!(begun(&sessions, Duration::ZERO), 0, "but not the other way round");
}

#[test]
fn sessions_hold_a_bounded_number_of_partitions() {
    let sessions = FetchSessions::new(10);
    let mut request = asking(0, 0, 60_000);
    let exchange = sessions.begin(&mut request, VERSION, Duration::ZERO).unwrap();
    let id = exchange.finish(&mut Vec::new(), Duration::ZERO).unwrap();
    assert_ne!(id, 0);
    let mut large = asking(0, 0, 60_000);
    let exchange = sessions.begin(&mut large, VERSION, Duration::ZERO).unwrap();
    assert_eq!(
        exchange.finish(&mut Vec::new(), Duration::ZERO),
        Ok(0),
        "served, but without a session"
    );
    let growing = asking(id, 1, 110_000);
    let code = refused(&sessions, growing, VERSION);
    assert_eq!(code, Some(ErrorCode::FetchSessionIdNotFound), "the client starts a new session");
    let mut small = asking(0, 0, 100);
    let exchange = sessions.begin(&mut small, VERSION, Duration::ZERO).unwrap();
    assert_ne!(exchange.finish(&mut Vec::new(), Duration::ZERO), Ok(0), "its room is free again");
}

#[test]
fn a_partition_that_had_records_is_served_last_the_next_time() {
    let sessions = FetchSessions::new(1);
    let mut cluster = BTreeMap::new();
    let id = begun(&sessions, Duration::ZERO);
    let ready = Offsets { high_watermark: 5, ..Offsets::default() };
    cluster.insert(("t".to_owned(), 0), ready);
    cluster.insert(("t".to_owned(), 1), Offsets::default());
    let order = |request: &FetchRequest| -> Vec<i32> {
        request.topics.iter().flat_map(|t| t.partitions.iter().map(|p| p.partition)).collect()
    };
    let mut request = asking(id, 1, 0);
    let exchange = sessions.begin(&mut request, VERSION, Duration::ZERO).unwrap();
    assert_eq!(order(&request), [0, 1]);
    exchange.finish(&mut full(&cluster, &request), Duration::ZERO).unwrap();
    let mut request = asking(id, 2, 0);
    sessions.begin(&mut request, VERSION, Duration::ZERO).unwrap();
    assert_eq!(order(&request), [1, 0]);
}
