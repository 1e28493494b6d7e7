//! Records that were deleted stay deleted whoever leads.

use streamlog::client::ProducerConfig;
use streamlog::client::ProducerRecord;
use streamlog::types::{Offset, PartitionIndex, TopicPartition};

use super::three_brokers::{IDS, ThreeBrokers};

const TOPIC: &str = "deleted";

#[test]
fn records_that_were_deleted_do_not_return_when_the_leader_is_killed() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    let client = cluster.client();
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..100 {
        let value = number.to_string();
        let record = ProducerRecord {
            topic: TOPIC,
            value: Some(value.as_bytes()),
            ..ProducerRecord::default()
        };
        producer.send(&record).unwrap();
    }
    producer.close(None).unwrap();

    let partition = TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) };
    let leader = cluster.leader(TOPIC);
    let start = client.admin().delete_records(&partition, Offset::new(60)).unwrap();
    cluster.kill(leader);
    assert_eq!(start, Offset::new(60));
    let others: Vec<i32> = IDS.into_iter().filter(|id| *id != leader).collect();
    cluster.await_in_sync(TOPIC, &others);
    let begin = cluster.client().admin().begin_offsets(TOPIC).unwrap().remove(0);
    assert_eq!(begin.offset, Some(Offset::new(60)), "{}", cluster.logs());
}
