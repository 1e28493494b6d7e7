//! Leaders whose disks have damage in the way of consumers.

use streamlog::client::{Client, ClientError, ConsumerConfig, ProducerConfig, ProducerRecord};
use streamlog::types::{Offset, PartitionIndex, TopicPartition};
use streamlog::wire::ErrorCode;
use streamlog::wire::elect_leaders::{ElectLeadersRequest, PREFERRED, RequestTopic};

use crate::failover::load::{read_all, value};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

const TOPIC: &str = "rotten";
/// A topic without damage, whose partitions are preferred by all brokers.
const SOUND: &str = "sound";

/// The number of records, each in a batch of its own.
const RECORDS: u64 = 30;

fn write(client: &Client, topic: &str) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..RECORDS {
        let text = number.to_string();
        let (value, partition) = (Some(text.as_bytes()), Some(PartitionIndex(0)));
        let record = ProducerRecord { topic, partition, value, ..ProducerRecord::default() };
        producer.send(&record).unwrap().wait(Some(PATIENCE)).unwrap();
    }
    producer.close(Some(PATIENCE)).unwrap();
}

fn partition() -> TopicPartition {
    TopicPartition { topic: TOPIC.parse().unwrap(), partition: PartitionIndex(0) }
}

/// Flips a bit in the middle of a broker's log while the broker is stopped.
fn damage(cluster: &mut ThreeBrokers, id: i32) {
    cluster.stop(id);
    // A broker that takes its former registration for the present one would not hand over to it.
    for other in others(id) {
        cluster.await_registered(other, &others(id));
    }
    cluster.flip_a_bit(id, TOPIC, 0);
    cluster.start_broker(id);
    for other in IDS {
        cluster.await_registered(other, &IDS);
    }
    cluster.await_in_sync(TOPIC, &IDS);
}

/// Waits until the preferred leader of a partition leads it.
fn await_preferred(cluster: &ThreeBrokers, topic: &str) {
    cluster.await_partitions(topic, |partition| {
        partition.leader_id == partition.replica_nodes[0] && partition.isr_nodes.len() == IDS.len()
    });
}

#[test]
fn a_leader_with_damage_in_the_way_of_a_consumer_hands_over_and_does_not_return_by_itself() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    cluster.make_topic(SOUND, 3);
    await_preferred(&cluster, SOUND);
    let first = cluster.leader(TOPIC);
    write(&cluster.client(), TOPIC);
    damage(&mut cluster, first);
    await_preferred(&cluster, TOPIC);
    // Another replica could serve them.
    let skip = || {
        let all = Offset::ZERO..Offset::new(100);
        cluster.client().admin().skip_damage(&partition(), all)
    };
    let refused = skip().unwrap_err().to_string();
    assert!(refused.contains("2 other replicas are in sync"), "{refused}");

    let expected: Vec<u64> = (0..RECORDS).collect();
    let read = || read_all(&cluster.client(), TOPIC).into_values().collect::<Vec<_>>();
    assert_eq!(read(), expected);
    cluster.await_partitions(TOPIC, |partition| partition.leader_id != first);
    assert!(
        cluster.log(first).contains("damage is in the way of its readers"),
        "{}",
        cluster.logs()
    );

    // An operator may have it lead again, for as long as nobody reads there.
    let request = ElectLeadersRequest {
        election_type: PREFERRED,
        topic_partitions: Some(vec![RequestTopic { topic: TOPIC.to_owned(), partitions: vec![0] }]),
        ..ElectLeadersRequest::default()
    };
    let answer = cluster.broker(first).connect().call(2, &request).unwrap();
    let result = &answer.replica_election_results[0].partition_result[0];
    assert_eq!(result.error_code, ErrorCode::None, "{result:?}");
    cluster.await_partitions(TOPIC, |partition| partition.leader_id == first);
    assert_eq!(read(), expected);
    cluster.await_partitions(TOPIC, |partition| partition.leader_id != first);

    // It knows after a restart too that it should not.
    cluster.stop(first);
    cluster.start_broker(first);
    cluster.await_in_sync(TOPIC, &IDS);
    await_preferred(&cluster, SOUND);
    assert_ne!(cluster.leader(TOPIC), first);
}

#[test]
fn a_leader_whose_files_somebody_changes_while_it_runs_hands_over_and_is_repaired() {
    let mut cluster = ThreeBrokers::start(&["log.segment.bytes=2048"]);
    cluster.make_topic(TOPIC, 1);
    cluster.make_topic(SOUND, 3);
    write(&cluster.client(), TOPIC);
    let read = || read_all(&cluster.client(), TOPIC).into_values().collect::<Vec<_>>();
    let expected: Vec<u64> = (0..RECORDS).collect();
    let preferred = cluster.leader(TOPIC);
    for is_read_before in [false, true] {
        let leader = cluster.leader(TOPIC);
        if is_read_before {
            assert_eq!(read(), expected);
        }
        cluster.flip_a_bit(leader, TOPIC, 0);
        assert_eq!(read(), expected, "{}", cluster.logs());
        cluster.await_partitions(TOPIC, |partition| partition.leader_id != leader);
        cluster.await_logged(leader, "rotten-0 is repaired");
        // It may lead again.
        cluster.await_partitions(TOPIC, |partition| partition.leader_id == preferred);
        assert_eq!(read(), expected, "{}", cluster.logs());
    }
    assert_eq!(cluster.client().admin().damage().unwrap(), []);
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn followers_fetch_lost_segments_again() {
    let mut cluster = ThreeBrokers::start(&["log.segment.bytes=2048"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    let follower = others(cluster.leader(TOPIC))[0];
    cluster.stop(follower);
    cluster.remove_segment(follower, TOPIC, 0);
    cluster.start_broker(follower);
    cluster.await_logged(follower, "rotten-0 is repaired");
    cluster.await_in_sync(TOPIC, &IDS);
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn damage_on_all_replicas_is_told_to_consumers_and_can_be_skipped() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    for id in IDS {
        damage(&mut cluster, id);
    }
    let client = cluster.client();
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let mut read = Vec::new();
    let error = loop {
        match consumer.next(Some(PATIENCE)) {
            Ok(message) => read.push(value(&message.unwrap())),
            Err(error) => break error,
        }
    };
    let ClientError::Damaged { offset, .. } = error else { panic!("{error}") };
    assert_eq!(read, (0..u64::try_from(offset.get()).unwrap()).collect::<Vec<_>>());
    let handed_over = |id| cluster.log(id).matches("damage is in the way of its readers").count();
    let hand_overs: usize = IDS.map(handed_over).iter().sum();
    assert_eq!(hand_overs, 2, "each other broker leads once: {}", cluster.logs());

    let skipped = client.admin().skip_damage(&partition(), offset..Offset::new(100)).unwrap();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    let next = value(&consumer.next(Some(PATIENCE)).unwrap().unwrap());
    assert_eq!(next, u64::try_from(offset.get()).unwrap() + 1);
}
