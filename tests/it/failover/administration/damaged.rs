//! Replicas whose disks have damage: leaders hand over, and followers repair it.

use streamlog::client::{
    Client, ClientError, ConsumerConfig, ProducerConfig, ProducerRecord, Resource,
};
use streamlog::types::{Offset, PartitionIndex, TopicPartition};
use streamlog::wire::ErrorCode;
use streamlog::wire::elect_leaders::{ElectLeadersRequest, PREFERRED, RequestTopic};

use crate::failover::administration::{problem_of, problems};
use crate::failover::load::{read_all, value};
use crate::failover::three_brokers::{IDS, PATIENCE, ThreeBrokers, others};

pub(super) const TOPIC: &str = "rotten";
/// A topic without damage, whose partitions are preferred by all brokers.
const SOUND: &str = "sound";

/// The number of records, each in a batch of its own.
const RECORDS: u64 = 30;

fn write(client: &Client, topic: &str) {
    let producer = client.producer(ProducerConfig::default()).unwrap();
    for number in 0..RECORDS {
        let text = number.to_string();
        let (key, value) = (Some(text.as_bytes()), Some(text.as_bytes()));
        let partition = Some(PartitionIndex(0));
        let record = ProducerRecord { topic, partition, key, value, ..ProducerRecord::default() };
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

/// Changes settings of the damaged topic.
pub(super) fn set(client: &Client, settings: &[(&str, &str)]) {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
    let settings: Vec<_> = settings.iter().map(owned).collect();
    client.admin().alter_configs(&Resource::Topic(TOPIC.to_owned()), &settings, false).unwrap();
}

/// Has the preferred leader of the damaged topic lead, as an operator may.
pub(super) fn elect_preferred(cluster: &ThreeBrokers, preferred: i32) {
    let request = ElectLeadersRequest {
        election_type: PREFERRED,
        topic_partitions: Some(vec![RequestTopic { topic: TOPIC.to_owned(), partitions: vec![0] }]),
        ..ElectLeadersRequest::default()
    };
    let answer = cluster.broker(preferred).connect().call(2, &request).unwrap();
    let result = &answer.replica_election_results[0].partition_result[0];
    assert_eq!(result.error_code, ErrorCode::None, "{result:?}");
    cluster.await_partitions(TOPIC, |partition| partition.leader_id == preferred);
}

/// Waits until the preferred leader of a partition leads it.
fn await_preferred(cluster: &ThreeBrokers, topic: &str) {
    for id in IDS {
        cluster.await_seen_by(id, topic, |partition| {
            let is_preferred = partition.leader_id == partition.replica_nodes[0];
            is_preferred && partition.isr_nodes.len() == IDS.len()
        });
    }
}

#[test]
fn a_leader_with_damage_in_the_way_of_a_consumer_hands_over_and_does_not_return_by_itself() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    // No replica can be given up, so that the damage stays.
    set(&cluster.client(), &[("cleanup.policy", "compact"), ("min.insync.replicas", "3")]);
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

    cluster.await_logged(first, "2 in-sync replicas would be left meanwhile");

    // An operator may have it lead again, for as long as nobody reads there.
    elect_preferred(&cluster, first);
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
fn damage_in_the_segment_that_a_follower_appends_to_is_repaired() {
    let mut cluster = ThreeBrokers::start(&["log.scrub.interval.ms=20"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    let follower = others(cluster.leader(TOPIC))[0];
    cluster.flip_a_bit(follower, TOPIC, 0);
    cluster.await_logged(follower, "rotten-0 is repaired");
    write(&cluster.client(), TOPIC);
    let expected: Vec<u64> = (0..RECORDS).chain(0..RECORDS).collect();
    let read: Vec<u64> = read_all(&cluster.client(), TOPIC).into_values().collect();
    assert_eq!(read, expected, "{}", cluster.logs());
    assert_eq!(cluster.client().admin().damage().unwrap(), []);
    let closed = cluster.log(follower).matches("rotten-0 goes on in a new segment").count();
    assert_eq!(closed, 1, "{}", cluster.log(follower));
    cluster.await_in_sync(TOPIC, &IDS);
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
fn a_preferred_leader_that_returns_without_its_segments_hides_no_record() {
    let mut cluster = ThreeBrokers::start(&["log.segment.bytes=2048"]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    let preferred = cluster.leader(TOPIC);
    cluster.stop(preferred);
    cluster.remove_segments(preferred, TOPIC, 0);
    cluster.start_broker(preferred);
    let read = || read_all(&cluster.client(), TOPIC).into_values().collect::<Vec<_>>();
    let expected: Vec<u64> = (0..RECORDS).collect();
    loop {
        assert_eq!(read(), expected, "{}", cluster.logs());
        let partition = cluster.partitions(TOPIC).remove(0);
        if partition.leader_id == preferred && partition.isr_nodes.len() == IDS.len() {
            break;
        }
    }
    assert_eq!(read(), expected, "{}", cluster.logs());
    cluster.await_logged(preferred, "the disk has lost flushed records of rotten-0");
    cluster.assert_identical_logs(TOPIC, 1);
}

#[test]
fn a_follower_cut_below_its_durable_point_is_in_sync_only_when_it_has_fetched_again() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    let follower = others(cluster.leader(TOPIC))[0];
    cluster.await_durable(follower, TOPIC, 0, RECORDS);
    cluster.kill(follower);
    cluster.cut_in_half(follower, TOPIC, 0);
    cluster.start_broker(follower);
    cluster.await_logged(follower, "the disk has lost flushed records of rotten-0");
    cluster.await_in_sync(TOPIC, &IDS);
    // Nobody else can serve it.
    for id in others(follower) {
        cluster.kill(id);
    }
    // The controller was killed as well, and the next leader waits for the leases of both.
    let client = cluster.client_with(|config| config.timeout = PATIENCE);
    let numbers: Vec<u64> = read_all(&client, TOPIC).into_values().collect();
    assert_eq!(numbers, (0..RECORDS).collect::<Vec<_>>(), "{}", cluster.logs());
}

#[test]
fn damage_on_all_replicas_is_told_to_consumers_and_can_be_skipped() {
    let mut cluster = ThreeBrokers::start(&[]);
    cluster.make_topic(TOPIC, 1);
    write(&cluster.client(), TOPIC);
    // At once: one by one, each would be repaired from the others.
    for id in IDS {
        cluster.stop(id);
        cluster.flip_a_bit(id, TOPIC, 0);
    }
    for id in IDS {
        cluster.start_broker(id);
    }
    cluster.await_in_sync(TOPIC, &IDS);
    let client = cluster.client();
    let consumer = client.consumer(&[TOPIC], ConsumerConfig::default()).unwrap();
    let mut read = Vec::new();
    let error = loop {
        match consumer.next(Some(PATIENCE)) {
            Ok(Some(message)) => read.push(value(&message)),
            Ok(None) => panic!("no error of the damage\n{}", cluster.logs()),
            Err(error) => break error,
        }
    };
    let ClientError::Damaged { offset, .. } = error else { panic!("{error}") };
    assert_eq!(read, (0..u64::try_from(offset.get()).unwrap()).collect::<Vec<_>>());
    let handed_over = |id| cluster.log(id).matches("damage is in the way of its readers").count();
    let hand_overs: usize = IDS.map(handed_over).iter().sum();
    assert_eq!(hand_overs, 2, "each other broker leads once: {}", cluster.logs());
    let found = problems(cluster.any_broker());
    for id in IDS {
        let words = problem_of(&found, id, TOPIC);
        assert!(words.contains("are damaged, in ") && words.contains("skip-damage"), "{words}");
    }

    let skipped = client.admin().skip_damage(&partition(), offset..Offset::new(100)).unwrap();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    let next = value(&consumer.next(Some(PATIENCE)).unwrap().unwrap());
    assert_eq!(next, u64::try_from(offset.get()).unwrap() + 1);

    let follower = others(cluster.leader(TOPIC))[0];
    cluster.kill(follower);
    cluster.empty_disk(follower);
    cluster.start_broker(follower);
    cluster.await_in_sync(TOPIC, &IDS);
}
