//! Leaders that hand their partitions over: brokers that stop in order, and preferred leaders that
//! return.

use streamlog::client::Resource;
use streamlog::wire::ErrorCode;
use streamlog::wire::elect_leaders::{ElectLeadersRequest, PREFERRED, RequestTopic};
use streamlog::wire::metadata::Partition;

use super::load::{Load, assert_kept, read_all};
use super::three_brokers::{IDS, ThreeBrokers, others};

const TOPIC: &str = "moved";

/// A session so long that no test waits for its end.
const LONG_SESSION: &str = "zookeeper.session.timeout.ms=30000";

/// Waits until each partition is led by its first replica, with all in sync.
fn await_preferred_leaders(cluster: &ThreeBrokers) {
    cluster.await_partitions(TOPIC, |partition| {
        partition.leader_id == partition.replica_nodes[0] && partition.isr_nodes.len() == 3
    });
}

#[test]
fn brokers_are_stopped_and_started_one_by_one_under_load_and_nothing_is_lost() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    cluster.make_topic(TOPIC, 3);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    for id in IDS {
        await_preferred_leaders(&cluster);
        cluster.stop(id);
        let handed_over = format!("takes over {TOPIC}-");
        assert!(cluster.log(id).contains(&handed_over), "{}", cluster.logs());
        cluster.await_in_sync(TOPIC, &others(id));
        load.await_more(100);
        cluster.start_broker(id);
        cluster.await_in_sync(TOPIC, &IDS);
        load.await_more(100);
    }
    let acknowledged = load.stop();

    assert_kept(&acknowledged, &read_all(&cluster.client(), TOPIC));
}

#[test]
fn partitions_return_to_their_preferred_leaders() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION]);
    cluster.make_topic(TOPIC, 3);
    let load = Load::start(cluster.client(), TOPIC);
    load.await_more(100);
    cluster.stop(1);
    cluster.await_in_sync(TOPIC, &[2, 3]);
    cluster.start_broker(1);
    cluster.await_in_sync(TOPIC, &IDS);
    // Answered once they have returned, or they have already.
    let request = ElectLeadersRequest { election_type: PREFERRED, ..Default::default() };
    let answer = cluster.broker(1).connect().call(2, &request).unwrap();
    let results = answer.replica_election_results.iter().flat_map(|topic| &topic.partition_result);
    for result in results {
        assert_eq!(result.error_code, ErrorCode::None, "{result:?}");
    }
    let is_preferred = |partition: &Partition| partition.leader_id == partition.replica_nodes[0];
    assert!(cluster.partitions(TOPIC).iter().all(is_preferred));
    load.await_more(100);
    assert_kept(&load.stop(), &read_all(&cluster.client(), TOPIC));
}

#[test]
fn a_leader_that_is_asked_before_the_preferred_leader_is_in_sync_hands_over_once_it_is() {
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION, "auto.leader.rebalance.enable=false"]);
    cluster.make_topic(TOPIC, 1);
    let preferred = cluster.leader(TOPIC);
    cluster.stop(preferred);
    cluster.await_in_sync(TOPIC, &others(preferred));
    // As another broker asks whose metadata is ahead of the leader's.
    let topic_partitions =
        Some(vec![RequestTopic { topic: TOPIC.to_owned(), partitions: vec![0] }]);
    let request = ElectLeadersRequest {
        election_type: PREFERRED,
        topic_partitions,
        begins_only: true,
        ..ElectLeadersRequest::default()
    };
    let leader = cluster.leader(TOPIC);
    let answer = cluster.broker(leader).connect().call(2, &request).unwrap();
    assert_eq!(answer.error_code, ErrorCode::None);
    cluster.start_broker(preferred);
    await_preferred_leaders(&cluster);
}

#[test]
fn preferred_leaders_that_stay_away_by_a_setting_return_by_an_election() {
    let rebalance = "auto.leader.rebalance.enable";
    let is_off = format!("{rebalance}=false");
    let mut cluster = ThreeBrokers::start(&[LONG_SESSION, &is_off]);
    cluster.make_topic(TOPIC, 9);
    cluster.stop(1);
    cluster.await_in_sync(TOPIC, &[2, 3]);
    cluster.start_broker(1);
    cluster.await_in_sync(TOPIC, &IDS);
    let moved = |cluster: &ThreeBrokers| -> Vec<Partition> {
        let partitions = cluster.partitions_seen_by(1, TOPIC).into_iter();
        partitions.filter(|partition| partition.leader_id != partition.replica_nodes[0]).collect()
    };
    let before = moved(&cluster);
    assert_eq!(before.len(), 3, "{before:?}");
    // Two of the three have the same leader. If it returned partitions by itself, it would hand the
    // other over together with the one that it is asked for.
    let leads_two = |id: &i32| before.iter().filter(|row| row.leader_id == *id).count() >= 2;
    let leader = [2, 3].into_iter().find(leads_two).unwrap();
    let asked = before.iter().find(|partition| partition.leader_id == leader).unwrap();
    let partitions = vec![asked.partition_index];
    let topic_partitions = Some(vec![RequestTopic { topic: TOPIC.to_owned(), partitions }]);
    let request = ElectLeadersRequest {
        election_type: PREFERRED,
        topic_partitions,
        ..ElectLeadersRequest::default()
    };
    // Broker 1 leads none of them: it asks the leader.
    let answer = cluster.broker(1).connect().call(2, &request).unwrap();
    let result = &answer.replica_election_results[0].partition_result[0];
    assert_eq!(result.error_code, ErrorCode::None, "{result:?}");
    let left = moved(&cluster);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|partition| partition.partition_index != asked.partition_index));

    let changes = [(rebalance.to_owned(), Some("true".to_owned()))];
    cluster.client().admin().alter_configs(&Resource::Brokers, &changes, false).unwrap();
    await_preferred_leaders(&cluster);
}
