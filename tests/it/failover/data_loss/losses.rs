//! Replicas that have lost records, and partitions whose in-sync replicas are all gone for good:
//! no replica that lacks records leads, unless an operator accepts the loss.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use streamlog::client::{
    Client, Consumer, ConsumerConfig, LossyElection, ProducerConfig, ProducerRecord, ReplicaEnd,
    Resource,
};
use streamlog::io::SystemClock;
use streamlog::metadata::{Store, ZooKeeperAddress, ZooKeeperStore};
use streamlog::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicPartition};

use crate::failover::administration::{problem_of, problems};
use crate::failover::data_loss::{elect, words};
use crate::failover::load::{read_all, value};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "lost";

/// The number of records that every replica has.
const KEPT: u64 = 10;

/// Writes numbers, each acknowledged by all in-sync replicas.
fn write(client: &Client, numbers: std::ops::Range<u64>) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in numbers {
        let value = number.to_string();
        let value = Some(value.as_bytes());
        let record = ProducerRecord { topic: TOPIC, value, ..ProducerRecord::default() };
        producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

fn numbers(client: &Client) -> Vec<u64> {
    read_all(client, TOPIC).into_values().collect()
}

/// The next records of a consumer.
fn take(consumer: &Consumer, count: usize) -> Vec<u64> {
    let next = |_| value(&consumer.next(Some(PATIENCE)).unwrap().unwrap());
    (0..count).map(next).collect()
}

/// The records of such elections in ZooKeeper.
#[tokio::main(flavor = "current_thread")]
async fn recorded(tree: ZooKeeperAddress) -> Vec<Value> {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let nodes = store.snapshot("/streamlog/unclean_elections").await.unwrap();
    let records = nodes.iter().filter(|(_, node)| !node.value.is_empty());
    records.map(|(_, node)| serde_json::from_slice(&node.value).unwrap()).collect()
}

/// Asserts that nothing is done unless the whole loss is accepted.
fn refuses_smaller_losses(cluster: &ThreeBrokers, left: i32) {
    let expected = format!("broker {left} would lead {TOPIC}-0, and its records from {KEPT} on");
    // Without an acceptance, and with that of a smaller loss.
    for options in [&[][..], &["--accept-data-loss", "11"]] {
        let told = elect(cluster.broker(left), TOPIC, options);
        assert_eq!(told.status.code(), Some(2), "{}", words(&told));
        assert!(words(&told).contains(&expected), "{}", words(&told));
        assert_eq!(cluster.leader(TOPIC), -1, "nothing was done");
    }
    // It is the broker that compares the end of its log with what is accepted.
    let partition = TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) };
    let (broker, last_epoch, end) = (BrokerId(left), LeaderEpoch(0), Offset::new(11));
    let leader = ReplicaEnd { broker, last_epoch, end };
    let election = LossyElection { partition, leader, accepts_two_leaders: false };
    let refused = cluster.client().admin().elect_with_loss(&election).unwrap_err().to_string();
    assert!(refused.contains("ends at 10"), "{refused}");
    assert_eq!(cluster.leader(TOPIC), -1, "nothing was done");
}

/// Asserts that an election was recorded.
fn is_recorded(cluster: &mut ThreeBrokers, leader: i32) {
    let records = recorded(cluster.zookeeper().tree("/streamlog"));
    assert_eq!(records.len(), 1, "{records:?}");
    let record = &records[0];
    assert_eq!(record["topic"], TOPIC);
    assert_eq!(record["leader"], leader);
    assert_eq!(record["given_up_from"], KEPT);
    assert_eq!(record["accepts_two_leaders"], false);
    assert!(record["asked_by"].as_str().unwrap().contains("127.0.0.1"), "{record}");
}

/// Kills a follower, and writes records that the leader and the other follower have. Returns all
/// three, in the order leader, other follower, killed.
fn leave_one_behind(cluster: &mut ThreeBrokers) -> [i32; 3] {
    let leader = cluster.leader(TOPIC);
    let [follower, left] = others(leader)[..] else { panic!("not three brokers") };
    write(&cluster.client(), 0..KEPT);
    cluster.kill(left);
    cluster.await_in_sync(TOPIC, &in_order([leader, follower]));
    write(&cluster.client(), KEPT..KEPT + 5);
    [leader, follower, left]
}

#[test]
fn a_replica_that_lacks_records_leads_once_an_operator_accepts_the_loss() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    // It knows the addresses of all brokers.
    let reading = cluster.client();
    let [leader, follower, left] = leave_one_behind(&mut cluster);
    let consumers =
        [(); 2].map(|()| reading.consumer(&[TOPIC], ConsumerConfig::default()).unwrap());
    assert_eq!(take(&consumers[0], 15), (0..KEPT + 5).collect::<Vec<_>>());
    assert_eq!(take(&consumers[1], 4), [0, 1, 2, 3]);
    let refused = elect(cluster.broker(leader), TOPIC, &["--accept-data-loss", "0"]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains("none have to be given up"), "{}", words(&refused));

    // They never return.
    cluster.kill(follower);
    cluster.kill(leader);
    cluster.start_broker(left);
    cluster.await_registered(left, &[left]);
    cluster.await_seen_by(left, TOPIC, |partition| partition.leader_id == -1);
    refuses_smaller_losses(&cluster, left);
    let elected = elect(cluster.broker(left), TOPIC, &["--accept-data-loss", "10"]);
    assert_eq!(elected.status.code(), Some(0), "{}", words(&elected));
    let row: Value = serde_json::from_slice(&elected.stdout).unwrap();
    assert_eq!((&row["leader"], &row["given_up_from"]), (&left.into(), &KEPT.into()));
    assert!(row["given_up"].is_null(), "{row}");
    cluster.await_seen_by(left, TOPIC, |partition| {
        partition.leader_id == left && partition.isr_nodes == [left]
    });
    is_recorded(&mut cluster, left);

    // It is the only replica left.
    let alone = [("min.insync.replicas".to_owned(), Some("1".to_owned()))];
    let topic = Resource::Topic(TOPIC.to_owned());
    cluster.client().admin().alter_configs(&topic, &alone, false).unwrap();
    write(&cluster.client(), 100..101);
    let expected: Vec<u64> = (0..KEPT).chain([100]).collect();
    assert_eq!(numbers(&cluster.client()), expected);

    // Consumers that were there before are told once, behind what they had fetched, and later ones
    // are not.
    assert_eq!(take(&consumers[1], 11), (4..KEPT + 5).collect::<Vec<_>>());
    for consumer in &consumers {
        let told = consumer.next(Some(PATIENCE)).unwrap_err();
        let words = told.to_string();
        assert!(words.contains("lost-0 from offset 10 on"), "{words}");
        assert!(words.contains("was at offset 15 and reads on at 10"), "{words}");
        assert_eq!(take(consumer, 1), [100]);
    }
    assert_eq!(numbers(&reading), expected);

    // A broker that had the records returns after all, and gives them up too.
    cluster.start_broker(leader);
    cluster.await_in_sync(TOPIC, &in_order([leader, left]));
    assert_eq!(cluster.log_bytes(leader, TOPIC, 0), cluster.log_bytes(left, TOPIC, 0));
    assert_eq!(numbers(&cluster.client()), expected);
}

#[test]
fn a_leader_that_hangs_is_replaced_once_two_leaders_are_accepted() {
    let settings = ["replica.lag.time.max.ms=1000", "zookeeper.session.timeout.ms=60000"];
    let mut cluster = ThreeBrokers::start(&settings);
    cluster.make_topic(TOPIC, 1);
    let [leader, follower, left] = leave_one_behind(&mut cluster);
    cluster.kill(follower);
    cluster.await_in_sync(TOPIC, &[leader]);
    let _hangs = cluster.broker(leader).pause();
    cluster.start_broker(left);
    cluster.await_registered(left, &in_order([leader, left]));

    let refused = elect(cluster.broker(left), TOPIC, &["--accept-data-loss", "10"]);
    assert!(words(&refused).contains("none have to be given up"), "{}", words(&refused));
    let accepted = ["--accept-data-loss", "10", "--accept-two-leaders"];
    let elected = elect(cluster.broker(left), TOPIC, &accepted);
    assert_eq!(elected.status.code(), Some(0), "{}", words(&elected));
    cluster.await_seen_by(left, TOPIC, |partition| partition.leader_id == left);
}

/// Kills all brokers once these records are durable on one of them, and cuts its log.
fn lose_records(cluster: &mut ThreeBrokers, lossy: i32, records: u64) {
    cluster.await_durable(lossy, TOPIC, 0, records);
    for id in IDS {
        if cluster.runs(id) {
            cluster.kill(id);
        }
    }
    cluster.cut_in_half(lossy, TOPIC, 0);
    cluster.start_broker(lossy);
    cluster.await_registered(lossy, &[lossy]);
}

#[test]
fn a_leader_whose_disk_has_lost_flushed_records_does_not_lead_and_fetches_them_again() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), 0..20);
    let lossy = cluster.leader(TOPIC);
    lose_records(&mut cluster, lossy, 20);
    cluster.await_seen_by(lossy, TOPIC, |partition| partition.leader_id == -1);
    let told = cluster.log(lossy);
    assert!(told.contains("the disk has lost flushed records of lost-0"), "{told}");
    cluster.await_seen_by(lossy, TOPIC, |partition| partition.offline_replicas.len() == 3);
    let lost = problem_of(&problems(cluster.broker(lossy)), lossy, TOPIC);
    assert!(lost.starts_with("its disk has lost flushed records"), "{lost}");
    assert!(lost.ends_with(&format!("streamlog partition elect {TOPIC}-0")), "{lost}");
    for other in others(lossy) {
        cluster.start_broker(other);
    }
    cluster.await_partitions(TOPIC, |partition| {
        partition.isr_nodes.len() == 3 && partition.offline_replicas.is_empty()
    });
    assert_eq!(numbers(&cluster.client()), (0..20).collect::<Vec<_>>());
    // What was lost is forgotten: it leads again.
    cluster.await_partitions(TOPIC, |partition| partition.leader_id == lossy);
    write(&cluster.client(), 20..25);
    assert_eq!(numbers(&cluster.client()), (0..25).collect::<Vec<_>>());
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn a_leader_whose_log_cannot_be_opened_is_replaced_and_fetches_it_again() {
    for is_killed in [true, false] {
        let mut cluster = ThreeBrokers::start(&[]);
        cluster.make_topic(TOPIC, 1);
        write(&cluster.client(), 0..20);
        let broken = cluster.leader(TOPIC);
        // All end, so that nobody has replaced it when it returns.
        for id in others(broken).into_iter().chain([broken]) {
            if is_killed { cluster.kill(id) } else { cluster.stop(id) }
        }
        let folder = cluster.data(broken).join(format!("{TOPIC}-0"));
        std::fs::write(folder.join("damaged"), "0\n0\ncrc 00000000\n").unwrap();
        cluster.start_broker(broken);
        for other in others(broken) {
            cluster.start_broker(other);
        }
        cluster.await_in_sync(TOPIC, &IDS);
        assert_eq!(numbers(&cluster.client()), (0..20).collect::<Vec<_>>());
        let told = cluster.log(broken);
        assert!(told.contains("the log of lost-0 is moved to '"), "{told}");
        write(&cluster.client(), 20..25);
        cluster.assert_identical_logs(TOPIC, 1);
    }
}

#[test]
fn the_last_in_sync_replica_leads_without_what_its_disk_has_lost_only_on_request() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=1000"]);
    cluster.make_topic(TOPIC, 1);
    let alone = [("min.insync.replicas".to_owned(), Some("1".to_owned()))];
    let topic = Resource::Topic(TOPIC.to_owned());
    cluster.client().admin().alter_configs(&topic, &alone, false).unwrap();
    let lossy = cluster.leader(TOPIC);
    for other in others(lossy) {
        cluster.kill(other);
    }
    cluster.await_in_sync(TOPIC, &[lossy]);
    write(&cluster.client(), 0..20);
    lose_records(&mut cluster, lossy, 20);
    cluster.broker(lossy).await_log("have lost records of it");
    cluster.broker(lossy).await_log("lost records given up");
    cluster.await_seen_by(lossy, TOPIC, |partition| partition.leader_id == -1);
    let elected = elect(cluster.broker(lossy), TOPIC, &["--accept-data-loss", "0"]);
    assert_eq!(elected.status.code(), Some(0), "{}", words(&elected));
    let row: Value = serde_json::from_slice(&elected.stdout).unwrap();
    let left = row["given_up_from"].as_u64().unwrap();
    assert!((1..20).contains(&left), "{row}");
    cluster.await_seen_by(lossy, TOPIC, |partition| partition.leader_id == lossy);
    write(&cluster.client(), 100..101);
    assert_eq!(numbers(&cluster.client()), (0..left).chain([100]).collect::<Vec<_>>());
    for other in others(lossy) {
        cluster.start_broker(other);
    }
    cluster.await_partitions(TOPIC, |partition| partition.isr_nodes.len() == 3);
    cluster.assert_identical_logs(TOPIC, 1);
}

fn in_order(mut ids: [i32; 2]) -> [i32; 2] {
    ids.sort_unstable();
    ids
}
