//! A node on whose disk the syncs of one file take longer than a session.

use std::thread;
use std::time::{Duration, Instant};

use streamlog::types::{Offset, PartitionIndex, TopicPartition};
use streamlog::wire::metadata::{MetadataRequest, RequestTopic};

use super::three_nodes::{PATIENCE, ThreeNodes};
use crate::support::{TOPIC, batch};

/// A topic of the slow node alone.
const NEIGHBOUR: &str = "neighbour";

/// A topic that is deleted meanwhile.
const DELETED: &str = "deleted";

const SESSION: Duration = Duration::from_secs(1);

/// The length of the syncs.
const SLOW: Duration = Duration::from_secs(3);

/// The files of a data directory that are synced while a broker runs, by the ends of their paths.
const FILES: [&str; 6] = [
    "test-0/00000000000000000000.log",
    "test-0/leader-epoch-checkpoint.tmp",
    "durable-point-checkpoint.tmp",
    "rebuild-point-checkpoint.tmp",
    "log-start-offset-checkpoint.tmp",
    "high-watermark-checkpoint.tmp",
];

/// The leader epoch of a topic's partition, as a node knows it.
fn leader_epoch(cluster: &ThreeNodes, node: usize, topic: &str) -> i32 {
    let topic = RequestTopic { name: Some(topic.to_owned()), ..Default::default() };
    let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
    let answer = cluster.connect(node).call(12, &request).unwrap();
    answer.topics[0].partitions[0].leader_epoch
}

/// Has every kind of file of the slow node written: another leader epoch, records, a log that
/// begins later, a deleted topic.
fn write_files(cluster: &ThreeNodes, slow: usize) {
    let leader = cluster.leading();
    let killed = if leader == slow { (slow + 1) % 3 } else { leader };
    cluster.kill(killed).unwrap();
    if killed == leader {
        cluster.leading_after(leader);
    }
    cluster.start_node(killed).unwrap();
    cluster.until(|| cluster.connect(cluster.leading()).produce(batch([0]), 1).ok()?.ok());
    // Both may wait for the slow node, and then fail.
    let admin = cluster.client().admin();
    let first = TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) };
    let _ = admin.delete_records(&first, Offset::new(1));
    let _ = admin.delete_topic(DELETED);
}

#[test]
fn a_slow_sync_of_any_one_file_costs_no_session_and_delays_no_other_partition() {
    for file in FILES {
        let session = SESSION.as_millis().to_string();
        let cluster = ThreeNodes::start(&[("zookeeper.session.timeout.ms", &session)]);
        cluster.make_topic(DELETED, 3, &[]);
        cluster.make_topic(NEIGHBOUR, 1, &[]);
        for number in 0..10 {
            cluster.store(number);
        }
        let slow = cluster.until(|| cluster.leader(NEIGHBOUR, 0).unwrap());
        let epoch = leader_epoch(&cluster, slow, NEIGHBOUR);
        let mut neighbour = cluster.connect(slow);
        neighbour.set_patience(SLOW);
        let mut append = || {
            neighbour.send_batch_to(NEIGHBOUR, batch([1]), -1).unwrap();
            let stored = neighbour.receive_offset();
            assert!(matches!(stored, Ok(Ok(_))), "{file}: {stored:?}");
        };
        let hold = cluster.disk(slow).unwrap().hold_sync_of(file);
        thread::scope(|scope| {
            scope.spawn(|| write_files(&cluster, slow));
            assert!(hold.wait_for(1, PATIENCE), "{file} is not synced");
            let began = Instant::now();
            while began.elapsed() < SLOW {
                append();
                thread::sleep(Duration::from_millis(5));
            }
            let now = leader_epoch(&cluster, (slow + 1) % 3, NEIGHBOUR);
            assert_eq!(now, epoch, "{file}: its session has ended");
            drop(hold);
        });
        cluster.wait_in_sync(PATIENCE).unwrap();
        cluster.store(10);
        assert_eq!(cluster.stored(TOPIC).last(), Some(&10), "{file}");
    }
}
