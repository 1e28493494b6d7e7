//! Negative offsets, by which clients start a group over: stored and answered as they were
//! committed, and no offset at all to our own consumer and tools.

use streamlog::client::{Client, ClientConfig, ConsumerConfig, GroupConfig, PartitionLag, Start};
use streamlog::wire::ErrorCode;
use streamlog::wire::find_coordinator::FindCoordinatorRequest;

use crate::support::{Connection, LocalBroker, TOPIC, batch, commit, stored};

const GROUP: &str = "g";
const RECORDS: usize = 3;

fn read_by_group(client: &Client, start: Start) -> usize {
    let group = GroupConfig { id: Some(GROUP.to_owned()), ..GroupConfig::default() };
    let config = ConsumerConfig { start, group, ..ConsumerConfig::default() };
    let consumer = client.consumer(&[TOPIC], config).unwrap();
    let read = consumer.until_end().unwrap().map(Result::unwrap).count();
    consumer.close();
    read
}

fn client_of(broker: &LocalBroker) -> Client {
    let bootstrap = vec![broker.address().to_string().parse().unwrap()];
    Client::connect(ClientConfig { bootstrap, ..ClientConfig::default() }).unwrap()
}

/// A broker whose internal topic of groups is made.
fn with_coordinator(seed: u64) -> LocalBroker {
    let broker = LocalBroker::new(seed, &[("group.initial.rebalance.delay.ms", "0")]);
    let request = FindCoordinatorRequest { key: GROUP.to_owned(), ..Default::default() };
    assert_eq!(broker.connect().call(3, &request).unwrap().error_code, ErrorCode::None);
    broker
}

/// The same with a few records in the test's topic.
fn with_records(seed: u64) -> (LocalBroker, Connection) {
    let broker = with_coordinator(seed);
    let mut connection = broker.connect();
    connection.produce(batch(0..RECORDS as u64), -1).unwrap().unwrap();
    (broker, connection)
}

#[test]
fn negative_offsets_come_back_as_they_were_committed() {
    let mut broker = with_coordinator(1);
    for offset in [-1, -2, -99, i64::MIN, 5, -2] {
        let mut connection = broker.connect();
        commit(&mut connection, GROUP, offset);
        assert_eq!(stored(&mut connection, GROUP), Ok(offset));
        broker = LocalBroker::on(broker.stop().unwrap(), &[]).unwrap();
        assert_eq!(stored(&mut broker.connect(), GROUP), Ok(offset), "after a restart");
    }
    broker.stop().unwrap();
}

#[test]
fn our_consumer_starts_by_its_own_policy_where_the_committed_offset_is_negative() {
    for (start, expected) in [(Start::Earliest, RECORDS), (Start::Latest, 0)] {
        let (broker, mut connection) = with_records(2);
        commit(&mut connection, GROUP, -2);
        assert_eq!(read_by_group(&client_of(&broker), start), expected, "{start:?}");
        broker.stop().unwrap();
    }
}

#[test]
fn tools_take_a_negative_committed_offset_for_none() {
    let (broker, mut connection) = with_records(3);
    commit(&mut connection, GROUP, 1);
    let admin = client_of(&broker).admin();
    let lag = || admin.lag(GROUP).unwrap().first().map(PartitionLag::lag);
    assert_eq!(lag(), Some(2));
    commit(&mut connection, GROUP, -1);
    assert_eq!(lag(), None, "nothing is committed");
    broker.stop().unwrap();
}
