//! `streamlog cluster check`, which lists what is not in sync or not sound, with its remedy.

use std::fs;

use streamlog::client::{Client, ProducerConfig, ProducerRecord};

use crate::failover::administration::{Problem, await_problems, problems};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "checked";

/// Writes a record.
fn write(client: &Client, topic: &str) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    let record = ProducerRecord { topic, value: Some(b"1"), ..ProducerRecord::default() };
    producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
}

#[test]
fn a_check_names_what_is_missing_with_its_remedy_until_all_is_in_sync_again() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    cluster.await_in_sync(TOPIC, &IDS);
    assert_eq!(problems(cluster.any_broker()), []);

    let follower = others(cluster.leader(TOPIC))[0];
    cluster.stop(follower);
    cluster.await_in_sync(TOPIC, &others(follower));
    let found = problems(cluster.any_broker());
    let away = format!(
        "broker {follower} does not run => start it, or forget it: streamlog cluster unregister \
         {follower}"
    );
    let behind =
        format!("the replicas on brokers {follower} are not in sync => start brokers {follower}");
    let place = Some(format!("{TOPIC}-0"));
    assert_eq!(found, [(None, None, away), (None, place, behind)]);

    // A log without a topic, which a broker finds when it starts.
    let stray = cluster.data(follower).join("nobodys-0");
    fs::create_dir(&stray).unwrap();
    fs::copy(
        cluster.data(follower).join(format!("{TOPIC}-0/partition.metadata")),
        stray.join("partition.metadata"),
    )
    .unwrap();
    cluster.start_broker(follower);
    cluster.await_in_sync(TOPIC, &IDS);
    let found = problems(cluster.any_broker());
    assert_eq!(found.len(), 1, "{found:?}");
    let (broker, partition, words) = &found[0];
    assert_eq!((*broker, partition), (Some(follower.into()), &None));
    assert!(words.contains("topic 'nobodys'") && words.contains("move the directories"), "{words}");
}

#[test]
fn a_check_names_a_log_that_cannot_be_opened_until_it_can_be() {
    let mut cluster = ThreeBrokers::start(&[]);
    let id = IDS[0];
    let topic = cluster.make_single("alone", id);
    write(&cluster.client(), &topic);
    let partition = format!("{topic}-0");
    cluster.stop(id);
    let damaged = cluster.data(id).join(&partition).join("damaged");
    fs::write(&damaged, "0\n0\ncrc 00000000\n").unwrap();
    cluster.start_broker(id);
    // Until it is elected again, the partition has no leader, which is a problem of no broker.
    let is_of_broker = |found: &[Problem]| matches!(found, [(Some(_), ..)]);
    let found = await_problems(cluster.broker(id), &partition, is_of_broker);
    let (broker, _, words) = &found[0];
    assert_eq!(*broker, Some(id.into()));
    assert!(words.starts_with("its log cannot be opened: "), "{words}");
    assert!(
        words.contains("CRC 00000000 is written") && words.contains("start the broker again"),
        "{words}"
    );
    cluster.stop(id);
    fs::remove_file(&damaged).unwrap();
    cluster.start_broker(id);
    cluster.await_seen_by(id, &topic, |partition| partition.leader_id == id);
    await_problems(cluster.broker(id), &partition, <[_]>::is_empty);
}
