//! The guarantees of consumer groups.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use streamlog::client::{
    Client, Commit, Consumer, ConsumerConfig, GroupConfig, Message, NewTopic, ProducerConfig,
    ProducerRecord,
};
use streamlog::types::{Offset, PartitionIndex};
use streamlog::wire::ErrorCode;

use crate::cluster::TestBroker;

const PATIENCE: Option<Duration> = Some(Duration::from_mins(1));

/// Publishes the numbers `from..to` over the partitions of the topic `t`.
fn publish(client: &Client, from: u32, to: u32) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in from..to {
        let record = ProducerRecord {
            topic: "t",
            partition: Some(PartitionIndex(i32::try_from(number % 4).unwrap())),
            value: Some(&number.to_be_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(PATIENCE).unwrap();
}

fn with_topic(broker: &TestBroker) -> Client {
    let client = broker.connect();
    client
        .admin()
        .create_topic("t", &NewTopic { partitions: Some(4), ..NewTopic::default() })
        .unwrap();
    client
}

fn member(client: &Client, commit: Commit) -> Consumer {
    let group = GroupConfig {
        id: Some("g".to_owned()),
        commit,
        heartbeat_interval: Duration::from_millis(100),
        commit_interval: Duration::from_millis(100),
        ..GroupConfig::default()
    };
    client.consumer(&["t"], ConsumerConfig { group, ..ConsumerConfig::default() }).unwrap()
}

fn number(message: &Message) -> u32 {
    u32::from_be_bytes(message.value().unwrap().try_into().unwrap())
}

fn read_to_end(consumer: &Consumer) -> Vec<u32> {
    consumer.until_end().unwrap().map(|message| number(&message.unwrap())).collect()
}

#[test]
fn a_group_continues_at_its_committed_offsets() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 1_000);
    let first = member(&client, Commit::Processed);
    assert_eq!(read_to_end(&first).len(), 1_000);
    first.close();
    publish(&client, 1_000, 1_500);
    let second = member(&client, Commit::Processed);
    let read: BTreeSet<u32> = read_to_end(&second).into_iter().collect();
    assert!(read.into_iter().eq(1_000..1_500));
}

#[test]
fn an_unprocessed_message_is_read_again_after_its_reader_stops() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 4);
    let first = member(&client, Commit::Processed);
    let in_hand = number(&first.next(PATIENCE).unwrap().unwrap());
    first.close();
    let read = read_to_end(&member(&client, Commit::Processed));
    assert_eq!(read.len(), 4);
    assert!(read.contains(&in_hand));

    let received = member(&client, Commit::Received);
    publish(&client, 4, 8);
    let in_hand = number(&received.next(PATIENCE).unwrap().unwrap());
    received.close();
    assert!(!read_to_end(&member(&client, Commit::Received)).contains(&in_hand));
}

#[test]
fn with_manual_commits_only_committed_messages_count() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 100);
    let first = member(&client, Commit::Manual);
    assert_eq!(read_to_end(&first).len(), 100);
    first.close();
    let second = member(&client, Commit::Manual);
    assert_eq!(read_to_end(&second).len(), 100);
    second.commit().unwrap();
    second.close();
    assert!(read_to_end(&member(&client, Commit::Manual)).is_empty());
}

#[test]
fn a_message_committed_while_being_processed_is_not_read_again() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 100);
    let first = member(&client, Commit::Processed);
    let read: BTreeSet<u32> =
        (0..10).map(|_| number(&first.next(PATIENCE).unwrap().unwrap())).collect();
    first.commit().unwrap();
    first.close();
    let second = member(&client, Commit::Processed);
    let batch = second.next_batch(20, PATIENCE).unwrap();
    let (last_done, in_hand) = (&batch[4], &batch[5..]);
    let next = Offset::new(last_done.offset().get() + 1);
    second.commit_offsets(vec![(last_done.topic_partition().clone(), next)]).unwrap();
    second.close();
    let rest = read_to_end(&member(&client, Commit::Processed));
    assert!(rest.iter().all(|number| !read.contains(number)));
    assert!(!rest.contains(&number(last_done)));
    assert!(in_hand.iter().all(|message| rest.contains(&number(message))));
}

#[test]
fn members_share_the_partitions_and_take_over_those_of_a_leaving_member() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    let one = member(&client, Commit::Processed);
    let other = member(&client, Commit::Processed);
    while one.assignment().len() != 2 || other.assignment().len() != 2 {
        thread::yield_now();
    }
    publish(&client, 0, 1_000);
    let of_one = read_to_end(&one);
    assert_eq!(of_one.len(), 500);
    one.close();
    while other.assignment().len() != 4 {
        thread::yield_now();
    }
    publish(&client, 1_000, 1_100);
    let mut read: Vec<u32> = of_one;
    while read.len() < 1_100 {
        read.push(number(&other.next(PATIENCE).unwrap().unwrap()));
    }
    read.sort_unstable();
    assert!(read.into_iter().eq(0..1_100));
}

#[test]
fn received_messages_are_not_read_again_when_a_member_joins() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 400_000);
    let group = GroupConfig {
        id: Some("g".to_owned()),
        commit: Commit::Received,
        heartbeat_interval: Duration::from_millis(20),
        // Only rebalances and closing are to commit here.
        commit_interval: Duration::from_mins(10),
        ..GroupConfig::default()
    };
    let config = ConsumerConfig { group, ..ConsumerConfig::default() };
    let one = client.consumer(&["t"], config.clone()).unwrap();
    let mut read: Vec<u32> =
        (0..20_000).map(|_| number(&one.next(PATIENCE).unwrap().unwrap())).collect();
    let other = client.consumer(&["t"], config).unwrap();
    // Reads without a pause, through the rebalance.
    while one.assignment().len() != 2 {
        read.extend(one.next(Some(Duration::ZERO)).unwrap().as_ref().map(number));
    }
    one.close();
    while other.assignment().len() != 4 {
        read.extend(other.next(Some(Duration::ZERO)).unwrap().as_ref().map(number));
    }
    read.extend(other.until_end().unwrap().map(|message| number(&message.unwrap())));
    read.sort_unstable();
    let again = read.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!((again, read.len() - again), (0, 400_000), "read again, and read");
}

#[test]
fn a_late_commit_does_not_move_the_group_backwards() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 40);
    let one = member(&client, Commit::Manual);
    let mut read: Vec<Message> = one.until_end().unwrap().map(Result::unwrap).collect();
    read.retain(|message| message.offset() == Offset::ZERO);
    assert_eq!(read.len(), 4);
    let other = member(&client, Commit::Manual);
    while one.assignment().len() != 2 || other.assignment().len() != 2 {
        thread::yield_now();
    }
    let ends = other.assignment().into_iter().map(|partition| (partition, Offset::new(10)));
    other.commit_offsets(ends.collect()).unwrap();
    let before = client.admin().committed("g").unwrap();
    assert_eq!(before.len(), 2);
    for message in read {
        let partition = message.topic_partition().clone();
        let next = Offset::new(message.offset().get() + 1);
        let is_kept = one.assignment().contains(&partition);
        let told = one.commit_offsets(vec![(partition.clone(), next)]);
        let stored = client.admin().committed("g").unwrap().get(&partition).copied();
        if is_kept {
            told.unwrap();
            assert_eq!(stored, Some(next));
        } else {
            assert_eq!(told.unwrap_err().code(), Some(ErrorCode::IllegalGeneration));
            assert_eq!(stored, Some(Offset::new(10)));
        }
    }
}

#[test]
fn a_member_that_closes_while_joining_leaves_the_group() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    // The member learns late that another one wants to join, which must wait meanwhile.
    let group = GroupConfig {
        id: Some("g".to_owned()),
        session_timeout: Duration::from_mins(4),
        heartbeat_interval: Duration::from_mins(1),
        ..GroupConfig::default()
    };
    let config = ConsumerConfig { group, ..ConsumerConfig::default() };
    let seated = client.consumer(&["t"], config).unwrap();
    let members = || client.admin().group("g").unwrap().members.len();
    while seated.assignment().len() != 4 {
        thread::yield_now();
    }
    let waiting = member(&client, Commit::Processed);
    while members() != 2 {
        thread::yield_now();
    }
    waiting.close();
    let deadline = Instant::now() + Duration::from_secs(15);
    while members() != 1 {
        assert!(Instant::now() < deadline, "the closed member stays until its session expires");
        thread::yield_now();
    }
}

#[test]
fn a_fenced_member_gets_the_error_from_every_call() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    let group = GroupConfig {
        id: Some("g".to_owned()),
        instance_id: Some("only".to_owned()),
        heartbeat_interval: Duration::from_millis(100),
        ..GroupConfig::default()
    };
    let config = ConsumerConfig { group, ..ConsumerConfig::default() };
    let one = client.consumer(&["t"], config.clone()).unwrap();
    while one.assignment().len() != 4 {
        thread::yield_now();
    }
    let other = client.consumer(&["t"], config).unwrap();
    for _ in 0..3 {
        assert!(one.next(PATIENCE).unwrap_err().is_fenced());
    }
    assert!(one.until_end().unwrap_err().is_fenced());
    publish(&client, 0, 4);
    assert_eq!(read_to_end(&other).len(), 4);
}

#[test]
fn a_member_stays_in_its_group_when_a_topic_is_deleted() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    client.admin().create_topic("kept", &NewTopic::default()).unwrap();
    publish(&client, 0, 4);
    let group = GroupConfig {
        id: Some("g".to_owned()),
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: Duration::from_millis(500),
        commit_interval: Duration::from_millis(100),
        ..GroupConfig::default()
    };
    let config = ConsumerConfig { group, reports_changes: true, ..ConsumerConfig::default() };
    let consumer = client.consumer(&["t", "kept"], config).unwrap();
    while consumer.take_changes().is_none() {
        thread::yield_now();
    }
    consumer.next(PATIENCE).unwrap().unwrap();
    client.admin().delete_topic("t").unwrap();
    // From now on the returned messages are due to be committed, which is impossible.
    let deadline = Instant::now() + Duration::from_secs(8);
    while Instant::now() < deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        consumer.next(Some(left)).unwrap();
        assert!(!consumer.has_changes(), "the assignment was revoked");
    }
}

#[test]
fn a_slow_reader_stays_in_its_group() {
    let broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 4);
    let group = GroupConfig {
        id: Some("slow".to_owned()),
        session_timeout: Duration::from_secs(6),
        heartbeat_interval: Duration::from_millis(500),
        ..GroupConfig::default()
    };
    let config = ConsumerConfig { group, ..ConsumerConfig::default() };
    let consumer = client.consumer(&["t"], config).unwrap();
    consumer.next(PATIENCE).unwrap().unwrap();
    let before = consumer.assignment();
    let (_hold, nothing) = std::sync::mpsc::sync_channel::<()>(0);
    assert!(nothing.recv_timeout(Duration::from_secs(8)).is_err());
    assert_eq!(consumer.assignment(), before);
    for _ in 0..3 {
        consumer.next(PATIENCE).unwrap().unwrap();
    }
    assert!(consumer.next(Some(Duration::from_millis(300))).unwrap().is_none());
}

#[test]
fn a_group_outlives_a_restart_of_its_broker() {
    let mut broker = TestBroker::start();
    let client = with_topic(&broker);
    publish(&client, 0, 100);
    let consumer = member(&client, Commit::Processed);
    assert_eq!(read_to_end(&consumer).len(), 100);
    broker.restart();
    publish(&client, 100, 200);
    let mut read = BTreeSet::new();
    while !read.is_superset(&(100..200).collect()) {
        read.insert(number(&consumer.next(PATIENCE).unwrap().unwrap()));
    }
    // Requesting the next message marks the last as processed.
    while consumer.next(Some(Duration::from_millis(300))).unwrap().is_some() {}
    consumer.close();
    assert!(read_to_end(&member(&client, Commit::Processed)).is_empty());
}
