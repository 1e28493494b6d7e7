//! Elections that give up records, on a store with several brokers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::in_sync_sets_tests::Overtaken;
use crate::io::{Clock, ManualClock};
use crate::metadata::{
    DecisionRefusal, Image, InSyncOutcome, InSyncStateChange, IsrMember, Loss, MemoryStore,
    Metadata, MetadataConfig, MetadataError, NewTopic, Op, Registration, Store, UncleanElection,
};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicName};

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

/// Follows the store until the image is as expected.
async fn follow_until(metadata: &Metadata, is_so: impl Fn(&Image) -> bool) {
    let mut images = metadata.image();
    tokio::select! {
        seen = images.wait_for(|image| is_so(image)) => drop(seen.unwrap()),
        error = metadata.run() => panic!("{error}"),
    }
}

fn has_leader(image: &Image) -> bool {
    let partition = image.partition(&name(), PartitionIndex(0));
    partition.is_some_and(|partition| partition.leader().is_some())
}

fn wanted(leader: i32) -> UncleanElection {
    UncleanElection {
        topic: name(),
        partition: PartitionIndex(0),
        leader: BrokerId(leader),
        given_up_from: Offset::new(7),
        accepts_two_leaders: false,
        asked_by: "an operator".to_owned(),
    }
}

/// Broker 2, with a replica of a topic that broker 1 led, alone in sync, until its session ended.
struct Left {
    store: Arc<Overtaken>,
    metadata: Metadata,
    /// The registration that broker 1 had.
    registered: bytes::Bytes,
}

impl Left {
    async fn new() -> Self {
        let first = Arc::new(MemoryStore::new(clock()));
        let rival = first.another();
        let store = Arc::new(first.another());
        let overtaken = Arc::new(Overtaken { store, rival, first: Mutex::default() });
        let leader = start(Arc::<MemoryStore>::clone(&first), 1).await;
        let metadata = start(Arc::<Overtaken>::clone(&overtaken), 2).await;
        leader.reload(&["/brokers/ids/2".to_owned()]).await.unwrap();
        let assignment = vec![vec![BrokerId(1), BrokerId(2)]];
        let topic = NewTopic { assignment, ..NewTopic::named(name()) };
        leader.create_topic(&topic, &|_, _| Ok(())).await.unwrap();
        let outcome = leader.change_in_sync(&[alone(&leader)]).await;
        assert!(matches!(outcome[..], [InSyncOutcome::Applied { .. }]), "{outcome:?}");
        let node = first.get("/brokers/ids/1").await.unwrap().unwrap();
        first.prove_end();
        follow_until(&metadata, |image| image.topic(&name()).is_some() && !has_leader(image)).await;
        Self { store: overtaken, metadata, registered: node.value }
    }

    /// Lets broker 1 register again just before the next transaction of broker 2.
    async fn return_before_the_next_transaction(&self) {
        let known = "/streamlog/brokers/1";
        let before = self.store.get(known).await.unwrap().unwrap();
        *self.store.first.lock().unwrap() = vec![
            Op::create_ephemeral("/brokers/ids/1", self.registered.clone()),
            Op::set(known, before.value, before.version),
        ];
    }
}

/// The change to an in-sync set of which only the leader is left.
fn alone(leader: &Metadata) -> InSyncStateChange {
    let image = Arc::clone(&leader.image().borrow());
    let topic = image.topic(&name()).unwrap();
    let state = topic.partitions[0].state.as_ref().unwrap();
    let incarnation = leader.membership().unwrap().incarnation;
    InSyncStateChange {
        topic: name(),
        topic_id: topic.id,
        partition: PartitionIndex(0),
        leader_epoch: state.leader_epoch,
        created: state.created,
        version: state.version,
        members: vec![IsrMember { broker: BrokerId(1), incarnation }],
        successor: None,
        ends_caching: false,
        is_damaged: false,
        is_repeated: false,
    }
}

#[tokio::test]
async fn an_election_that_gives_up_records_is_written_with_a_record_of_it() {
    let left = Left::new().await;
    let image = Arc::clone(&left.metadata.image().borrow());
    let before = image.partition(&name(), PartitionIndex(0)).unwrap().leader_epoch();
    let epoch = left.metadata.elect_unclean(&wanted(2)).await.unwrap();
    assert_eq!(epoch, LeaderEpoch(before.0 + 1));
    let image = Arc::clone(&left.metadata.image().borrow());
    let topic = image.topic(&name()).unwrap();
    let partition = &topic.partitions[0];
    assert_eq!((partition.leader(), partition.leader_epoch()), (Some(BrokerId(2)), epoch));
    let loss = partition.state.as_ref().unwrap().loss;
    assert_eq!(loss, Some(Loss { generation: 1, leader_epoch: epoch, from: Offset::new(7) }));

    let path = format!("/streamlog/unclean_elections/{}-0-{epoch}", topic.id);
    let node = left.store.get(&path).await.unwrap().unwrap();
    let record: Value = serde_json::from_slice(&node.value).unwrap();
    let expected = json!({
        "version": 1,
        "topic": "clicks",
        "topic_id": topic.id.to_string(),
        "partition": 0,
        "leader": 2,
        "leader_epoch": epoch.0,
        "given_up_from": 7,
        "in_sync_before": [1],
        "accepts_two_leaders": false,
        "asked_by": "an operator",
        "timestamp": "1700000000000",
    });
    assert_eq!(record, expected);
}

#[tokio::test]
async fn no_records_are_given_up_if_a_broker_that_has_them_returns_between_check_and_write() {
    let left = Left::new().await;
    left.return_before_the_next_transaction().await;
    let refused = left.metadata.elect_unclean(&wanted(2)).await.unwrap_err();
    let unneeded = DecisionRefusal::Unneeded(BrokerId(1));
    assert!(matches!(refused, MetadataError::Decision(why) if why == unneeded), "{refused}");
    let written = left.store.children("/streamlog").await.unwrap();
    assert!(!written.contains(&"unclean_elections".to_owned()), "{written:?}");
}

#[tokio::test]
async fn unknown_partitions_are_refused() {
    let left = Left::new().await;
    let absent = UncleanElection { partition: PartitionIndex(1), ..wanted(2) };
    let refused = left.metadata.elect_unclean(&absent).await.unwrap_err();
    assert!(matches!(refused, MetadataError::UnknownTopic(_)), "{refused}");
}
