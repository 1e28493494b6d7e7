//! States that are made again, on a store with two brokers.

use std::sync::Arc;

use crate::io::{Clock, ManualClock};
use crate::metadata::{
    DecisionRefusal, Image, LogReport, LogReports, Loss, MemoryStore, Metadata, MetadataConfig,
    MetadataError, NewTopic, Op, Registration, Store,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicName};

const PARTITION: PartitionIndex = PartitionIndex(0);
const EPOCH: LeaderEpoch = LeaderEpoch(1004);

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

fn name() -> TopicName {
    "clicks".parse().unwrap()
}

async fn start(store: Arc<dyn Store>, id: i32) -> Metadata {
    let config = MetadataConfig::default();
    let metadata = Metadata::open(store, clock(), BrokerId(id), None, config).await.unwrap();
    let directory_id = Some(format!("d{id}"));
    let registration = Registration { directory_id, ..Registration::default() };
    metadata.register(&registration).await.unwrap();
    metadata
}

/// Two brokers with a topic on both, and a session of a person with their store.
async fn two_brokers() -> ([Metadata; 2], MemoryStore) {
    let first = Arc::new(MemoryStore::new(clock()));
    let (second, person) = (Arc::new(first.another()), first.another());
    let brokers = [start(first, 1).await, start(second, 2).await];
    follow_until(&brokers[0], |image| image.brokers().len() == 2).await;
    let topic = NewTopic { partitions: 1, replication_factor: 2, ..NewTopic::named(name()) };
    brokers[0].create_topic(&topic, &|_, _| Ok(())).await.unwrap();
    follow_until(&brokers[0], |image| leader(image).is_some()).await;
    (brokers, person)
}

async fn follow_until(metadata: &Metadata, is_so: impl Fn(&Image) -> bool) {
    let mut images = metadata.image();
    tokio::select! {
        seen = images.wait_for(|image| is_so(image)) => drop(seen.unwrap()),
        error = metadata.run() => panic!("{error}"),
    }
}

fn leader(image: &Image) -> Option<BrokerId> {
    image.partition(&name(), PARTITION)?.leader()
}

/// Deletes the nodes of all partitions of the topic.
async fn delete_states(person: &MemoryStore) {
    let nodes = person.snapshot("/brokers/topics/clicks/partitions").await.unwrap();
    let deletion =
        |(path, node): &(String, crate::metadata::Node)| Op::delete(path.clone(), node.version);
    person.multi(nodes.iter().rev().map(deletion).collect()).await.unwrap();
}

#[tokio::test]
async fn a_deleted_state_is_made_again_and_the_greatest_log_that_is_reported_leads() {
    let ([first, second], person) = two_brokers().await;
    delete_states(&person).await;
    first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap();
    follow_until(&first, |image| image.partition(&name(), PARTITION).unwrap().state.is_some())
        .await;
    let image = Arc::clone(&first.image().borrow());
    let topic = image.topic(&name()).unwrap().id;
    let state = image.partition(&name(), PARTITION).unwrap().state.clone().unwrap();
    assert_eq!((state.leader, state.leader_epoch), (None, EPOCH));
    assert_eq!((state.isr.len(), state.minimum), (2, Some(2)), "all replicas have to report");
    for (broker, end) in [(&first, 5), (&second, 9)] {
        let (last_epoch, offset) = (LeaderEpoch(0), Offset::new(end));
        let report = LogReport { epoch: EPOCH, last_epoch, end: offset, floor: Offset::new(4) };
        broker.report_logs(&LogReports::from([((topic, PARTITION), report)])).await.unwrap();
    }
    follow_until(&first, |image| leader(image) == Some(BrokerId(2))).await;
}

#[tokio::test]
async fn a_state_that_is_in_force_is_not_made_again() {
    let ([first, _second], person) = two_brokers().await;
    let refused = first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap_err();
    assert!(matches!(refused, MetadataError::Decision(DecisionRefusal::StateInForce)), "{refused}");
    let missing = first.rebuild_state(&name(), PartitionIndex(7), EPOCH).await.unwrap_err();
    assert!(matches!(missing, MetadataError::UnknownTopic(_)), "{missing}");
    // One that cannot be read is replaced.
    let path = "/brokers/topics/clicks/partitions/0/state";
    let version = person.get(path).await.unwrap().unwrap().version;
    person.multi(vec![Op::set(path, "{", version)]).await.unwrap();
    first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap();
    follow_until(&first, |image| {
        image.partition(&name(), PARTITION).unwrap().leader_epoch() == EPOCH
    })
    .await;
}

#[tokio::test]
async fn a_replica_that_does_not_run_counts_and_an_accepted_loss_is_kept() {
    let ([first, _second], person) = two_brokers().await;
    delete_states(&person).await;
    let registration = person.get("/brokers/ids/2").await.unwrap().unwrap();
    person.multi(vec![Op::delete("/brokers/ids/2", registration.version)]).await.unwrap();
    follow_until(&first, |image| image.brokers().len() == 1).await;
    let id = first.image().borrow().topic(&name()).unwrap().id;
    let record = |epoch: i32, from: i64| {
        let value = serde_json::json!({
            "version": 1, "topic": "clicks", "topic_id": id.to_string(), "partition": 0,
            "leader": 1, "leader_epoch": epoch, "given_up_from": from, "in_sync_before": [2],
            "accepts_two_leaders": false, "asked_by": "a person", "timestamp": "0",
        });
        Op::create(format!("/streamlog/unclean_elections/{id}-0-{epoch}"), value.to_string())
    };
    let parent = Op::create("/streamlog/unclean_elections", "");
    person.multi(vec![parent, record(3, 40), record(12, 60)]).await.unwrap();
    first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap();
    follow_until(&first, |image| image.partition(&name(), PARTITION).unwrap().state.is_some())
        .await;
    let state =
        first.image().borrow().partition(&name(), PARTITION).unwrap().state.clone().unwrap();
    for (member, directory) in state.isr.iter().zip(&state.directories) {
        assert_eq!(directory.as_deref(), Some(&*format!("d{}", member.broker)));
    }
    let (leader_epoch, from) = (LeaderEpoch(12), Offset::new(60));
    assert_eq!(state.loss, Some(Loss { generation: 2, leader_epoch, from }));
}

#[tokio::test]
async fn a_replica_whose_data_directory_is_unknown_is_to_be_started_first() {
    let ([first, _second], person) = two_brokers().await;
    delete_states(&person).await;
    for path in ["/brokers/ids/2", "/streamlog/brokers/2"] {
        let version = person.get(path).await.unwrap().unwrap().version;
        person.multi(vec![Op::delete(path, version)]).await.unwrap();
    }
    follow_until(&first, |image| image.brokers().len() == 1).await;
    let refused = first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap_err();
    let unknown = DecisionRefusal::UnknownDirectory(BrokerId(2));
    assert!(matches!(refused, MetadataError::Decision(reason) if reason == unknown));
}

#[tokio::test]
async fn a_rebuilt_state_of_a_topic_that_caches_says_so() {
    let ([first, _second], person) = two_brokers().await;
    let config = serde_json::json!({ "version": 1, "config": { "write.caching": "true" } });
    let path = format!("/config/topics/{}", name());
    person.multi(vec![Op::set(path, config.to_string(), 0)]).await.unwrap();
    delete_states(&person).await;
    first.rebuild_state(&name(), PARTITION, EPOCH).await.unwrap();
    let node = person.get("/brokers/topics/clicks/partitions/0/state").await.unwrap().unwrap();
    let state: serde_json::Value = serde_json::from_slice(&node.value).unwrap();
    assert_eq!(state["caching"], "on", "disks may have lost what others have flushed");
}
