//! Changes of topics that are asked of any broker.

use std::sync::Arc;
use std::time::{Duration, Instant};

use streamlog::io::SystemClock;
use streamlog::metadata::{Store, ZooKeeperAddress, ZooKeeperStore};
use streamlog::wire::create_partitions::{self, CreatePartitionsRequest};
use streamlog::wire::create_topics::{self, CreateTopicsRequest};
use streamlog::wire::delete_topics::DeleteTopicsRequest;
use streamlog::wire::describe_configs::{self, DescribeConfigsRequest, RESOURCE_TOPIC};
use streamlog::wire::find_coordinator::FindCoordinatorRequest;
use streamlog::wire::incremental_alter_configs::{
    IncrementalAlterConfigsRequest, RequestConfig, RequestResource, SET,
};
use streamlog::wire::produce::{ProduceRequest, RequestPartition, RequestTopic};
use streamlog::wire::{ErrorCode, Records};

use super::three_brokers::{IDS, PATIENCE, ThreeBrokers, partitions_by};
use crate::support::{BrokerProcess, batch};

/// The time-out of administrative requests.
const TIMEOUT_MS: i32 = 10_000;

/// The rounds of changes, since a broker that lags does so by chance.
const ROUNDS: usize = 3;

fn create(broker: &BrokerProcess, name: &str, partitions: i32) {
    let topic = create_topics::RequestTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: -1,
        ..Default::default()
    };
    let request =
        CreateTopicsRequest { topics: vec![topic], timeout_ms: TIMEOUT_MS, validate_only: false };
    let created = broker.connect().call(5, &request).unwrap();
    assert_eq!(created.topics[0].error_code, ErrorCode::None, "{created:?}");
}

fn extend(broker: &BrokerProcess, name: &str, count: i32) {
    let topic = create_partitions::RequestTopic { name: name.to_owned(), count, assignments: None };
    let request = CreatePartitionsRequest {
        topics: vec![topic],
        timeout_ms: TIMEOUT_MS,
        validate_only: false,
    };
    let extended = broker.connect().call(3, &request).unwrap();
    assert_eq!(extended.results[0].error_code, ErrorCode::None, "{extended:?}");
}

fn set(broker: &BrokerProcess, name: &str, (setting, value): (&str, &str)) {
    let config = RequestConfig {
        name: setting.to_owned(),
        config_operation: SET,
        value: Some(value.to_owned()),
    };
    let resource = RequestResource {
        resource_type: RESOURCE_TOPIC,
        resource_name: name.to_owned(),
        configs: vec![config],
    };
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    let altered = broker.connect().call(1, &request).unwrap();
    assert_eq!(altered.responses[0].error_code, ErrorCode::None, "{altered:?}");
}

fn retention(broker: &BrokerProcess, name: &str) -> Option<String> {
    let resource = describe_configs::RequestResource {
        resource_type: RESOURCE_TOPIC,
        resource_name: name.to_owned(),
        configuration_keys: Some(vec!["retention.ms".to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let described = broker.connect().call(4, &request).unwrap();
    described.results[0].configs.first().and_then(|config| config.value.clone())
}

fn delete(broker: &BrokerProcess, name: &str) {
    let request = DeleteTopicsRequest {
        topic_names: vec![name.to_owned()],
        timeout_ms: TIMEOUT_MS,
        ..Default::default()
    };
    let deleted = broker.connect().call(5, &request).unwrap();
    assert_eq!(deleted.responses[0].error_code, ErrorCode::None, "{deleted:?}");
}

/// A request that stores a record in a partition.
pub(super) fn produced_to(topic: &str, index: i32) -> ProduceRequest {
    let records = Records::Bytes(batch([7]).into());
    let partitions = vec![RequestPartition { index, records }];
    let topic = RequestTopic { name: topic.to_owned(), partitions, ..Default::default() };
    ProduceRequest { acks: -1, timeout_ms: TIMEOUT_MS, topics: vec![topic], ..Default::default() }
}

/// Asserts that every broker knows these partitions, each with three replicas, and that their
/// leaders take records.
fn assert_usable(cluster: &ThreeBrokers, name: &str, count: usize) {
    for asked in IDS {
        let partitions = partitions_by(cluster.broker(asked), name);
        assert_eq!(partitions.len(), count, "broker {asked} of {name}");
        for partition in partitions {
            assert_eq!(partition.replica_nodes.len(), 3, "broker {asked}: {partition:?}");
            assert_ne!(partition.leader_id, -1, "broker {asked}: {partition:?}");
            let request = produced_to(name, partition.partition_index);
            let mut leader = cluster.broker(partition.leader_id).connect();
            let stored = leader.call(9, &request).unwrap();
            let stored = &stored.topics[0].partitions[0];
            assert_eq!(stored.error_code, ErrorCode::None, "{partition:?}: {stored:?}");
        }
    }
}

#[test]
fn a_change_of_a_topic_is_done_in_the_whole_cluster_when_any_broker_answers_it() {
    let cluster = ThreeBrokers::start(&[]);
    for round in 0..ROUNDS {
        for asked in IDS {
            let (broker, name) = (cluster.broker(asked), "changed");
            create(broker, name, 2);
            assert_usable(&cluster, name, 2);
            extend(broker, name, 4);
            assert_usable(&cluster, name, 4);
            let milliseconds = (1_000_000 + round).to_string();
            set(broker, name, ("retention.ms", &milliseconds));
            for id in IDS {
                let known = retention(cluster.broker(id), name);
                assert_eq!(known.as_ref(), Some(&milliseconds), "broker {id}");
            }
            delete(broker, name);
            for id in IDS {
                assert!(partitions_by(cluster.broker(id), name).is_empty(), "broker {id}");
            }
        }
    }
    let keys = vec!["group".to_owned()];
    let request = FindCoordinatorRequest { coordinator_keys: keys, ..Default::default() };
    let found = cluster.broker(2).connect().call(4, &request).unwrap();
    assert_eq!(found.coordinators[0].error_code, ErrorCode::None);
    for partition in cluster.partitions("__consumer_offsets") {
        assert_eq!(partition.replica_nodes.len(), 3, "{partition:?}");
    }
}

/// Waits until the state of the topic's first partition says whether it caches.
#[tokio::main(flavor = "current_thread")]
async fn await_caching(tree: ZooKeeperAddress, topic: &str, expected: bool) {
    let (clock, timeout) = (Arc::new(SystemClock), Duration::from_secs(6));
    let store = ZooKeeperStore::open(tree, None, timeout, clock, None).await.unwrap();
    let path = format!("/brokers/topics/{topic}/partitions/0/state");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let node = store.get(&path).await.unwrap().unwrap();
        let state: serde_json::Value = serde_json::from_slice(&node.value).unwrap();
        if state["caching"].is_null() != expected {
            return;
        }
        assert!(Instant::now() < deadline, "{state}");
    }
}

#[test]
fn a_partition_counts_as_caching_until_all_in_sync_replicas_have_flushed_its_records() {
    let mut cluster = ThreeBrokers::start(&["replica.lag.time.max.ms=2000"]);
    let name = "cached";
    cluster.make_topic(name, 1);
    let leader = cluster.leader(name);
    // Nothing is flushed for ten minutes, unless a flush is asked for.
    for setting in [("flush.ms", "600000"), ("flush.on.demand", "false"), ("write.caching", "true")]
    {
        set(cluster.broker(leader), name, setting);
    }
    await_caching(cluster.zookeeper().tree("/streamlog"), name, true);
    let store = |cluster: &ThreeBrokers| {
        let answer = cluster.broker(leader).connect().call(9, &produced_to(name, 0)).unwrap();
        assert_eq!(answer.topics[0].partitions[0].error_code, ErrorCode::None, "{answer:?}");
    };
    store(&cluster);

    assert!(!cluster.log(leader).contains("'write.caching' is over"), "{}", cluster.log(leader));
    set(cluster.broker(leader), name, ("write.caching", "false"));
    // What was acknowledged is flushed at once, whatever the settings of flushes.
    await_caching(cluster.zookeeper().tree("/streamlog"), name, false);
    cluster.await_logged(leader, &format!("'write.caching' is over in {name}-0"));
}
