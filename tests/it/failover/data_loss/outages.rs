//! Full outages: all brokers end, and the disk of the one that returns first has lost records.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use streamlog::client::{
    Acks, Client, Commit, Consumer, ConsumerConfig, GroupConfig, ProducerConfig, ProducerRecord,
    Resource,
};
use streamlog::types::WithCauses;

use crate::failover::data_loss::{describe, elect, words};
use crate::failover::load::{read_all, value};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "kept";

/// The number of records in each half.
const HALF: u64 = 300;

/// The loss of a disk.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// The folder of the partition is gone.
    Folder,
    /// The last segment is half as long.
    End,
    /// The whole data directory is a copy from earlier in the same run.
    OlderCopy,
}

/// Writes numbers, each acknowledged by all in-sync replicas.
fn write(client: &Client, numbers: Range<u64>) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let value = number.to_string();
        let value = Some(value.as_bytes());
        producer
            .send(&ProducerRecord { topic: TOPIC, value, ..ProducerRecord::default() })
            .unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

/// Kills all brokers, the leader as the last: it is in sync to the last.
fn kill_all(cluster: &mut ThreeBrokers, leader: i32) {
    for id in others(leader) {
        cluster.kill(id);
    }
    cluster.kill(leader);
}

/// The words with which a record is refused that the leader alone would acknowledge.
fn refusal(client: &Client) -> String {
    let timeout = Duration::from_secs(2);
    let acks = Acks::Leader;
    let config = ProducerConfig { acks, delivery_timeout: timeout, ..ProducerConfig::default() };
    let producer = client.producer(config).unwrap();
    let record = ProducerRecord { topic: TOPIC, value: Some(b"none"), ..ProducerRecord::default() };
    let error = producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap_err();
    WithCauses(&error).to_string()
}

/// Copies the directory of a broker that may run: a file that it replaces meanwhile fails the copy.
fn copy(from: &Path, to: &Path) {
    let is_copied = || Command::new("cp").arg("-a").args([from, to]).status().unwrap().success();
    let deadline = Instant::now() + PATIENCE;
    while !is_copied() {
        assert!(Instant::now() < deadline, "{} is not copied", from.display());
        fs::remove_dir_all(to).unwrap();
    }
}

/// The last segment of the partition in a data directory.
fn last_segment(data: &Path) -> PathBuf {
    let files = fs::read_dir(data.join(format!("{TOPIC}-0"))).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "log")).max().unwrap()
}

/// Loses records on a disk of which a copy was made earlier.
fn lose(loss: Loss, data: &Path, older: &Path) {
    match loss {
        Loss::Folder => fs::remove_dir_all(data.join(format!("{TOPIC}-0"))).unwrap(),
        Loss::End => {
            let file = File::options().write(true).open(last_segment(data)).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }
        Loss::OlderCopy => {
            fs::remove_dir_all(data).unwrap();
            copy(older, data);
        }
    }
}

#[test]
fn a_replica_that_has_lost_records_does_not_lead_although_it_returns_first() {
    for loss in [Loss::Folder, Loss::End, Loss::OlderCopy] {
        let mut cluster = ThreeBrokers::start(&[]);
        cluster.make_topic(TOPIC, 1);
        write(&cluster.client(), 0..HALF);
        let last = cluster.leader(TOPIC);
        let data = cluster.data(last);
        let older = data.with_extension("older");
        copy(&data, &older);
        write(&cluster.client(), HALF..2 * HALF);
        kill_all(&mut cluster, last);
        lose(loss, &data, &older);
        cluster.start_broker(last);
        for id in others(last) {
            cluster.start_broker(id);
        }
        cluster.await_in_sync(TOPIC, &IDS);
        let numbers: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
        assert_eq!(numbers, (0..2 * HALF).collect::<Vec<_>>(), "{loss:?}\n{}", cluster.logs());
        // It knows that it may lack records: nobody leads before others have reported their logs.
        let told = cluster.log(last);
        assert!(told.contains("kept-0 has no leader: start one of the brokers"), "{told}");
        write(&cluster.client(), 0..1);
    }
}

#[test]
fn one_replica_of_three_that_returns_leads_once_the_wait_is_over() {
    let mut cluster = ThreeBrokers::start(&["election.wait.ms=3000"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..HALF);
    let last = cluster.leader(TOPIC);
    kill_all(&mut cluster, last);
    cluster.start_broker(last);
    cluster.await_seen_by(last, TOPIC, |partition| partition.leader_id == last);
    let told = cluster.log(last);
    assert!(told.contains("their logs are reported"), "{told}");
    for id in others(last) {
        cluster.start_broker(id);
    }
    cluster.await_in_sync(TOPIC, &IDS);
    let numbers: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
    assert_eq!(numbers, (0..HALF).collect::<Vec<_>>());
}

#[test]
fn a_leader_elected_after_the_wait_takes_no_records_and_gives_way_to_a_replica_with_more() {
    let mut cluster = ThreeBrokers::start(&["election.wait.ms=2000"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..HALF);
    let last = cluster.leader(TOPIC);
    let data = cluster.data(last);
    let older = data.with_extension("older");
    copy(&data, &older);
    write(&cluster.client(), HALF..2 * HALF);
    kill_all(&mut cluster, last);
    lose(Loss::OlderCopy, &data, &older);
    cluster.start_broker(last);
    cluster.await_seen_by(last, TOPIC, |partition| partition.leader_id == last);
    let refused = refusal(&cluster.client());
    assert!(refused.contains("it takes none until one of them returns"), "{refused}");
    // One of the others is enough: its log is greater.
    let second = others(last)[0];
    cluster.start_broker(second);
    let mut both = [last, second];
    both.sort_unstable();
    cluster.await_in_sync(TOPIC, &both);
    let numbers: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
    assert_eq!(numbers, (0..2 * HALF).collect::<Vec<_>>(), "{}", cluster.logs());
    write(&cluster.client(), 0..1);
}

fn in_group() -> ConsumerConfig {
    let id = Some("readers".to_owned());
    let group = GroupConfig { id, commit: Commit::Manual, ..GroupConfig::default() };
    ConsumerConfig { group, ..ConsumerConfig::default() }
}

/// The next value that a consumer gets.
fn next(consumer: &Consumer) -> Option<u64> {
    consumer.next(Some(PATIENCE)).unwrap().map(|message| value(&message))
}

/// Asserts that a consumer gets nothing, and no error.
fn gets_nothing(consumer: &Consumer) {
    let got = consumer.next(Some(Duration::from_secs(1))).unwrap();
    assert_eq!(got.map(|message| value(&message)), None);
}

#[test]
fn readers_of_a_leader_that_lacks_records_wait_where_its_log_ends() {
    let settings = ["election.wait.ms=2000", "offsets.topic.num.partitions=1"];
    let mut cluster = ThreeBrokers::start(&settings);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..HALF);
    let last = cluster.leader(TOPIC);
    let (data, client) = (cluster.data(last), cluster.client());
    cluster.await_recorded("high-watermark-checkpoint", last, (TOPIC, 0, HALF));
    let older = data.with_extension("older");
    copy(&data, &older);
    write(&client, HALF..2 * HALF);
    let ahead = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let mut member = client.consumer(&[TOPIC], in_group()).unwrap();
    for number in 0..2 * HALF {
        assert_eq!((next(&ahead), next(&member)), (Some(number), Some(number)));
    }
    member.commit().unwrap();
    member.close();
    kill_all(&mut cluster, last);
    lose(Loss::OlderCopy, &data, &older);
    cluster.start_broker(last);
    cluster.await_seen_by(last, TOPIC, |partition| partition.leader_id == last);

    let behind = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    for number in 0..HALF {
        assert_eq!(next(&behind), Some(number));
    }
    gets_nothing(&behind);
    gets_nothing(&ahead);
    let unknown = client.admin().end_offsets(TOPIC).unwrap_err().to_string();
    assert!(unknown.contains("OFFSET_NOT_AVAILABLE"), "{unknown}");
    let shown = describe(cluster.broker(last), TOPIC);
    let columns = ["leader", "begin_offset", "end_offset"].map(|column| &shown[column]);
    assert_eq!(columns, [&json!(last), &json!(0), &Value::Null]);
    member = client.consumer(&[TOPIC], in_group()).unwrap();
    // Nobody knows what the group has committed last.
    gets_nothing(&member);

    cluster.start_broker(others(last)[0]);
    write(&client, 2 * HALF..2 * HALF + 1);
    assert_eq!(next(&ahead), Some(2 * HALF), "no record is skipped or repeated");
    for number in HALF..=2 * HALF {
        assert_eq!(next(&behind), Some(number));
    }
    assert_eq!(next(&member), Some(2 * HALF), "what the group has committed is not forgotten");
}

#[test]
fn an_operator_ends_the_wait_for_replicas_that_are_gone() {
    let mut cluster = ThreeBrokers::start(&["election.wait.ms=2000"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..HALF);
    let last = cluster.leader(TOPIC);
    kill_all(&mut cluster, last);
    cluster.start_broker(last);
    cluster.await_seen_by(last, TOPIC, |partition| partition.leader_id == last);
    let alone = [("min.insync.replicas".to_owned(), Some("1".to_owned()))];
    let topic = Resource::Topic(TOPIC.to_owned());
    cluster.client().admin().alter_configs(&topic, &alone, false).unwrap();
    assert!(refusal(&cluster.client()).contains("takes none"), "the minimum stays meanwhile");
    let elected = elect(cluster.broker(last), TOPIC, &["--accept-data-loss", "0"]);
    assert!(elected.status.success(), "{}", words(&elected));
    write(&cluster.client(), 0..1);
    for id in others(last) {
        cluster.start_broker(id);
    }
    cluster.await_in_sync(TOPIC, &IDS);
}

#[test]
fn a_leader_that_was_believed_alone_stops_once_others_know_of_more_records() {
    let mut cluster = ThreeBrokers::start(&["min.insync.replicas=1"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..HALF);
    let last = cluster.leader(TOPIC);
    let data = cluster.data(last);
    let older = data.with_extension("older");
    copy(&data, &older);
    write(&cluster.client(), HALF..2 * HALF);
    // With this record the others learn that those before it are committed. They note that when
    // they stop in order.
    write(&cluster.client(), 2 * HALF..2 * HALF + 1);
    for id in others(last) {
        cluster.stop(id);
    }
    cluster.kill(last);
    lose(Loss::OlderCopy, &data, &older);
    cluster.start_broker(last);
    cluster.await_seen_by(last, TOPIC, |partition| partition.leader_id == last);
    for id in others(last) {
        cluster.start_broker(id);
    }
    let other = others(last)[0];
    cluster.await_seen_by(other, TOPIC, |partition| partition.leader_id == -1);
    assert!(cluster.log(last).contains("has lost records"), "{}", cluster.log(last));
    // Its set had shrunk to itself, so the others may lack records as well: an operator decides.
    let elected = elect(cluster.broker(other), TOPIC, &["--accept-data-loss", "0"]);
    assert!(elected.status.success(), "{}\n{}", words(&elected), cluster.logs());
    cluster.await_in_sync(TOPIC, &IDS);
    let numbers: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
    assert_eq!(numbers, (0..=2 * HALF).collect::<Vec<_>>(), "{}", cluster.logs());
}
