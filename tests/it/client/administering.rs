//! The effects of the client's administration on a broker.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use streamlog::client::{
    Client, ClientConfig, ClientError, ConfigEntry, ConfigSource, Consumer, ConsumerConfig,
    GroupConfig, NewTopic, ProducerConfig, ProducerRecord, ResetTo, Resource,
};
use streamlog::types::{BrokerId, Offset, PartitionIndex, Timestamp, TopicPartition};
use streamlog::wire::ErrorCode;

use crate::cluster::TestBroker;
use crate::support::LocalBroker;

fn with_records(broker: &TestBroker, count: u32) -> Client {
    let client = broker.connect();
    client
        .admin()
        .create_topic("t", &NewTopic { partitions: Some(2), ..NewTopic::default() })
        .unwrap();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..count {
        let record = ProducerRecord {
            topic: "t",
            partition: Some(PartitionIndex(i32::try_from(number % 2).unwrap())),
            timestamp: Some(Timestamp::from_millis(1_700_000_000_000 + i64::from(number))),
            value: Some(b"v"),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(None).unwrap();
    client
}

fn place(partition: i32) -> TopicPartition {
    TopicPartition { topic: "t".parse().unwrap(), partition: PartitionIndex(partition) }
}

fn member(client: &Client) -> Consumer {
    let group = GroupConfig { id: Some("g".to_owned()), ..GroupConfig::default() };
    client.consumer(&["t"], ConsumerConfig { group, ..ConsumerConfig::default() }).unwrap()
}

fn find<'a>(entries: &'a [ConfigEntry], name: &str) -> &'a ConfigEntry {
    entries.iter().find(|entry| entry.name == name).unwrap()
}

#[test]
fn partitions_can_be_added_and_not_removed() {
    let broker = TestBroker::start();
    let admin = with_records(&broker, 0).admin();
    admin.create_partitions("t", 5).unwrap();
    assert_eq!(admin.topic("t").unwrap().partitions.len(), 5);
    let fewer = admin.create_partitions("t", 3).unwrap_err();
    assert_eq!(fewer.code(), Some(ErrorCode::InvalidPartitions));
    assert!(matches!(
        admin.create_partitions("missing", 3).unwrap_err(),
        ClientError::TopicNotFound { .. }
    ));
}

#[test]
fn deleting_records_moves_the_start_offset() {
    let broker = TestBroker::start();
    let admin = with_records(&broker, 10).admin();
    assert_eq!(admin.delete_records(&place(1), Offset::new(3)).unwrap(), Offset::new(3));
    let begins: Vec<i64> =
        admin.begin_offsets("t").unwrap().iter().map(|found| found.offset.unwrap().get()).collect();
    assert_eq!(begins, [0, 3]);
    let beyond = admin.delete_records(&place(1), Offset::new(99)).unwrap_err();
    assert_eq!(beyond.code(), Some(ErrorCode::OffsetOutOfRange));
}

#[test]
fn a_setting_is_validated_changed_and_reset() {
    let broker = TestBroker::start();
    let admin = with_records(&broker, 0).admin();
    let topic = Resource::Topic("t".to_owned());
    let set = |value: Option<&str>| [("retention.ms".to_owned(), value.map(str::to_owned))];
    let entry = || find(&admin.configs(&topic).unwrap(), "retention.ms").clone();

    admin.alter_configs(&topic, &set(Some("1234")), true).unwrap();
    assert_eq!(entry().source, ConfigSource::Default);
    admin.alter_configs(&topic, &set(Some("1234")), false).unwrap();
    assert_eq!((entry().value.as_deref(), entry().source), (Some("1234"), ConfigSource::Topic));
    let refused = admin.alter_configs(&topic, &set(Some("soon")), false).unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::InvalidConfig));
    admin.alter_configs(&topic, &set(None), false).unwrap();
    assert_eq!(entry().source, ConfigSource::Default);
}

#[test]
fn settings_and_the_cluster_are_described() {
    let broker = TestBroker::start();
    let admin = with_records(&broker, 10).admin();
    let cluster = admin.cluster().unwrap();
    assert_eq!(cluster.controller, Some(BrokerId(1)));
    assert_eq!(cluster.brokers.len(), 1);
    let settings = admin.configs(&Resource::Broker(BrokerId(1))).unwrap();
    assert!(find(&settings, "log.dirs").is_read_only);
    let sizes = admin.partition_sizes().unwrap();
    let bytes = |partition| sizes.iter().find(|size| size.partition == place(partition)).unwrap();
    assert!(bytes(0).bytes > 0 && bytes(1).bytes > 0);
}

#[test]
fn a_group_is_listed_described_and_deleted() {
    let broker = TestBroker::start();
    let client = with_records(&broker, 10);
    let admin = client.admin();
    assert!(admin.groups().unwrap().is_empty());
    let consumer = member(&client);
    assert_eq!(consumer.until_end().unwrap().count(), 10);

    let listed = admin.groups().unwrap();
    assert_eq!((listed.len(), listed[0].group.as_str()), (1, "g"));
    let group = admin.group("g").unwrap();
    assert_eq!((group.state.as_str(), group.assignor.as_str()), ("Stable", "range"));
    assert_eq!(group.members[0].assignment, [place(0), place(1)]);
    let busy = admin.delete_group("g").unwrap_err();
    assert_eq!(busy.code(), Some(ErrorCode::NonEmptyGroup));

    consumer.close();
    admin.delete_group("g").unwrap();
    assert_eq!(admin.group("g").unwrap_err().code(), Some(ErrorCode::GroupIdNotFound));
}

#[test]
fn lag_is_the_number_of_offsets_after_the_committed_one() {
    let broker = TestBroker::start();
    let admin = with_records(&broker, 10).admin();
    admin.set_offsets("g", &[(place(0), Offset::new(2))]).unwrap();
    let lag: Vec<_> =
        admin.lag("g").unwrap().iter().map(|row| (row.committed, row.lag())).collect();
    assert_eq!(lag, [(Some(Offset::new(2)), 3), (None, 5)]);
}

#[test]
fn a_reset_stays_within_the_log_and_changes_nothing_until_applied() {
    let broker = TestBroker::start();
    let client = with_records(&broker, 10);
    let admin = client.admin();
    let plan = |to| -> Vec<i64> {
        admin.plan_reset("g", &["t"], to).unwrap().iter().map(|row| row.to.get()).collect()
    };
    assert_eq!(plan(ResetTo::Earliest), [0, 0]);
    assert_eq!(plan(ResetTo::Latest), [5, 5]);
    assert_eq!(plan(ResetTo::Offset(Offset::new(99))), [5, 5]);
    assert_eq!(plan(ResetTo::Time(Timestamp::from_millis(1_700_000_000_005))), [3, 2]);
    assert!(admin.committed("g").unwrap().is_empty());

    let changes = admin.plan_reset("g", &["t"], ResetTo::Offset(Offset::new(4))).unwrap();
    let rows: Vec<_> = changes.into_iter().map(|row| (row.partition, row.to)).collect();
    admin.set_offsets("g", &rows).unwrap();
    assert_eq!(plan(ResetTo::Shift(-1)), [3, 3]);
    assert_eq!(plan(ResetTo::Shift(-9)), [0, 0]);
    admin.set_offsets("half", &[(place(1), Offset::new(2))]).unwrap();
    let shifted = admin.plan_reset("half", &["t"], ResetTo::Shift(1)).unwrap();
    let rows: Vec<_> = shifted.into_iter().map(|row| (row.partition, row.to)).collect();
    assert_eq!(rows, [(place(1), Offset::new(3))], "partition 0 was never committed");
    assert_eq!(member(&client).until_end().unwrap().count(), 2);
}

#[test]
fn offsets_of_a_group_with_members_cannot_be_set() {
    let broker = TestBroker::start();
    let client = with_records(&broker, 2);
    let consumer = member(&client);
    assert_eq!(consumer.until_end().unwrap().count(), 2);
    let refused = client.admin().set_offsets("g", &[(place(0), Offset::ZERO)]).unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::NonEmptyGroup));
    assert!(refused.to_string().contains("members ('streamlog' at 127.0.0.1)"), "{refused}");
    consumer.close();
}

#[test]
fn the_lag_of_a_group_that_does_not_exist_is_an_error() {
    let broker = TestBroker::start();
    let client = with_records(&broker, 2);
    let refused = client.admin().lag("typo").unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::GroupIdNotFound));
    let consumer = member(&client);
    assert_eq!(consumer.until_end().unwrap().count(), 2);
    consumer.close();
    assert_eq!(client.admin().lag("g").unwrap().len(), 2);
}

#[test]
fn a_broker_that_does_not_run_delays_only_the_first_call() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // The client prefers the advertised broker, at which nothing listens, to the bootstrap one.
    let advertised = format!("PLAINTEXT://{unused}");
    let broker = LocalBroker::new(1, &[("advertised.listeners", &advertised)]);
    let pause = Duration::from_secs(20);
    let client = Client::connect(ClientConfig {
        bootstrap: vec![broker.address().to_string().parse().unwrap()],
        timeout: Duration::from_mins(2),
        retry_backoff: pause,
        retry_backoff_max: pause,
        ..ClientConfig::default()
    })
    .unwrap();
    let begin = Instant::now();
    for _ in 0..5 {
        assert_eq!(client.admin().topics().unwrap().len(), 1);
    }
    assert!(begin.elapsed() < pause, "{:?}", begin.elapsed());
}
