//! Brokers whose nodes are edited or deleted by hand.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::timeout;

use crate::io::{Clock, ManualClock};
use crate::metadata::metadata_cache::MetadataCache;
use crate::metadata::{
    ElectionRule, ElectionRules, Image, MemoryStore, Metadata, MetadataConfig, NewTopic, Node, Op,
    Registration, Store, UnregisterError,
};
use crate::types::{BrokerId, LeaderEpoch, PartitionIndex, ProducerId, Timestamp};

/// The longest wait in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)))
}

/// A cluster of one broker, with a topic, and another session with its store.
pub(super) async fn start() -> (Metadata, Arc<MemoryStore>, MemoryStore) {
    start_with(MetadataConfig::default()).await
}

async fn start_with(config: MetadataConfig) -> (Metadata, Arc<MemoryStore>, MemoryStore) {
    let store = Arc::new(MemoryStore::new(clock()));
    let person = store.another();
    let handle: Arc<dyn Store> = Arc::<MemoryStore>::clone(&store);
    let metadata = Metadata::open(handle, clock(), BrokerId(1), None, config).await.unwrap();
    metadata.register(&Registration::default()).await.unwrap();
    create(&metadata, "clicks").await;
    (metadata, store, person)
}

/// An edit of the registration of a broker, by hand.
#[derive(Clone, Copy, Debug)]
enum RegistrationEdit {
    Deleted,
    Overwritten,
    /// Deleted, and created again with the same value: the node belongs to no session.
    Replaced,
}

impl RegistrationEdit {
    const ALL: [Self; 3] = [Self::Deleted, Self::Overwritten, Self::Replaced];

    async fn make(self, store: &MemoryStore, broker: BrokerId) {
        let path = format!("/brokers/ids/{broker}");
        match self {
            Self::Deleted => drop(delete(store, &path).await),
            Self::Overwritten => edit(store, &path, "{").await,
            Self::Replaced => {
                let Node { value, version, .. } = store.get(&path).await.unwrap().unwrap();
                let ops = vec![Op::delete(path.clone(), version), Op::create(path, value)];
                store.multi(ops).await.unwrap();
            }
        }
    }
}

pub(super) async fn create(metadata: &Metadata, name: &str) {
    let topic = NewTopic { partitions: 3, ..NewTopic::named(name.parse().unwrap()) };
    metadata.create_topic(&topic, &|_, _| Ok(())).await.unwrap();
}

/// Replaces the value of a node.
pub(super) async fn edit(store: &MemoryStore, path: &str, value: &str) {
    let version = store.get(path).await.unwrap().unwrap().version;
    store.multi(vec![Op::set(path, value.to_owned(), version)]).await.unwrap();
}

/// Deletes a node and all below it, and returns them.
pub(super) async fn delete(store: &MemoryStore, path: &str) -> Vec<(String, Node)> {
    let nodes = store.snapshot(path).await.unwrap();
    let deletion = |(path, node): &(String, Node)| Op::delete(path.clone(), node.version);
    store.multi(nodes.iter().rev().map(deletion).collect()).await.unwrap();
    nodes
}

/// Follows the store until the image is as expected.
pub(super) async fn follow_until(metadata: &Metadata, is_expected: impl Fn(&Image) -> bool) {
    let mut images = metadata.image();
    follow_during(metadata, async {
        images.wait_for(|image| is_expected(image)).await.unwrap();
    })
    .await;
}

/// Follows the store until something has been seen.
async fn follow_during(metadata: &Metadata, seen: impl Future<Output = ()>) {
    let seen = async {
        tokio::select! {
            () = seen => {}
            error = metadata.run() => panic!("{error}"),
        }
    };
    timeout(PATIENCE, seen).await.unwrap();
}

/// Follows the store until a node exists.
pub(super) async fn follow_until_there(metadata: &Metadata, store: &MemoryStore, path: &str) {
    follow_during(metadata, async {
        while store.get(path).await.unwrap().is_none() {
            yield_now().await;
        }
    })
    .await;
}

/// The leader epoch of a partition; `None` if the partition has no leader.
pub(super) fn epoch(image: &Image, topic: &str, partition: i32) -> Option<LeaderEpoch> {
    let partition = image.partition(&topic.parse().unwrap(), PartitionIndex(partition))?;
    partition.leader().map(|_| partition.leader_epoch())
}

/// Creates nodes that were deleted.
pub(super) async fn restore(store: &MemoryStore, nodes: Vec<(String, Node)>) {
    let creation = |(path, node): (String, Node)| Op::create(path, node.value);
    store.multi(nodes.into_iter().map(creation).collect()).await.unwrap();
}

#[tokio::test]
async fn states_of_which_the_event_comes_later_are_not_taken_for_deleted_ones() {
    let (_metadata, store, _) = start().await;
    let (topic, parent) = ("/brokers/topics/clicks", "/brokers/topics/clicks/partitions");
    for events in [&[topic, parent][..], &[topic], &[parent, topic]] {
        let store = Arc::<MemoryStore>::clone(&store);
        let mut cache = MetadataCache::new(store, clock(), BrokerId(2), MetadataConfig::default());
        for event in events {
            cache.refresh(&[(*event).to_owned()]).await.unwrap();
            let image = cache.image();
            let Some(_) = image.topic(&"clicks".parse().unwrap()) else { continue };
            for partition in 0..3 {
                let led = epoch(&image, "clicks", partition);
                assert_eq!(led, Some(LeaderEpoch(0)), "partition {partition} by {events:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_deleted_state_stops_its_partition_and_no_other() {
    let (metadata, _, person) = start().await;
    let partition = "/brokers/topics/clicks/partitions/1";
    let state = format!("{partition}/state");
    // With the node above it, nothing would prevent a new state.
    for (path, other) in [(&*state, "views"), (partition, "visits")] {
        let deleted = delete(&person, path).await;
        follow_until(&metadata, |image| epoch(image, "clicks", 1).is_none()).await;
        create(&metadata, other).await;
        let image = Arc::clone(&metadata.image().borrow());
        assert_eq!(epoch(&image, "clicks", 1), None, "{path} is made again");
        for (topic, partition) in [("clicks", 0), ("clicks", 2), (other, 0), (other, 2)] {
            let epoch = epoch(&image, topic, partition);
            assert_eq!(epoch, Some(LeaderEpoch(0)), "{topic} {partition}");
        }
        restore(&person, deleted).await;
        follow_until(&metadata, |image| epoch(image, "clicks", 1) == Some(LeaderEpoch(0))).await;
    }
}

#[tokio::test]
async fn a_deleted_state_begins_anew_without_the_rule_that_it_is_missing() {
    let rules = ElectionRules::ALL.without(ElectionRule::MissingIsDamage);
    let config = MetadataConfig { rules, ..MetadataConfig::default() };
    let (metadata, _, person) = start_with(config).await;
    delete(&person, "/brokers/topics/clicks/partitions/1").await;
    follow_until_there(&metadata, &person, "/brokers/topics/clicks/partitions/1/state").await;
}

#[tokio::test]
async fn the_states_of_added_partitions_are_made_and_no_deleted_one_with_them() {
    let (metadata, _, person) = start().await;
    delete(&person, "/brokers/topics/clicks/partitions/1").await;
    follow_until(&metadata, |image| epoch(image, "clicks", 1).is_none()).await;
    let name = "clicks".parse().unwrap();
    metadata.create_partitions(&name, 5, &[]).await.unwrap();
    follow_until(&metadata, |image| epoch(image, "clicks", 4).is_some()).await;
    let image = Arc::clone(&metadata.image().borrow());
    assert_eq!(epoch(&image, "clicks", 1), None);
}

#[tokio::test]
async fn a_topic_without_its_partition_nodes_keeps_no_other_topic_from_being_led() {
    let (metadata, _, person) = start().await;
    let nodes = delete(&person, "/brokers/topics/clicks/partitions").await;
    follow_until(&metadata, |image| epoch(image, "clicks", 2).is_none()).await;
    create(&metadata, "views").await;
    assert!(epoch(&metadata.image().borrow(), "views", 2).is_some());
    restore(&person, nodes).await;
    follow_until(&metadata, |image| (0..3).all(|p| epoch(image, "clicks", p).is_some())).await;
}

#[tokio::test]
async fn a_deleted_overwritten_or_replaced_registration_is_made_again() {
    let (metadata, _, person) = start().await;
    for (last, edit) in (0..).zip(RegistrationEdit::ALL) {
        let incarnation = |image: &Image| Some(image.broker(BrokerId(1))?.incarnation);
        let before = incarnation(&metadata.image().borrow());
        edit.make(&person, BrokerId(1)).await;
        let is_led_again = |image: &Image| epoch(image, "clicks", 0) > Some(LeaderEpoch(last));
        follow_until(&metadata, |image| incarnation(image) > before && is_led_again(image)).await;
    }
}

#[tokio::test]
async fn a_registration_whose_answer_was_lost_is_replaced_if_it_was_damaged_since() {
    let (metadata, store, person) = start().await;
    metadata.leave().await.unwrap();
    let (store, path) = (Arc::new(store.another()), "/brokers/ids/1");
    let nodes = [path, "/streamlog/sessions/1"].map(|path| Op::create_ephemeral(path, "{"));
    store.multi(nodes.to_vec()).await.unwrap();
    let created = person.get(path).await.unwrap().unwrap().created;
    let config = MetadataConfig::default();
    let metadata = Metadata::open(store, clock(), BrokerId(1), None, config).await.unwrap();
    let incarnation = metadata.register(&Registration::default()).await.unwrap();
    assert!(incarnation.0 > created);
}

#[tokio::test]
async fn a_leader_whose_registration_was_deleted_is_not_replaced_before_its_session_ends() {
    for edit in RegistrationEdit::ALL {
        let (leader, store, person) = start().await;
        let handle: Arc<dyn Store> = Arc::new(store.another());
        let config = MetadataConfig::default();
        let other = Metadata::open(handle, clock(), BrokerId(2), None, config).await.unwrap();
        other.register(&Registration::default()).await.unwrap();
        follow_until(&leader, |image| image.brokers().len() == 2).await;
        let assignment = vec![vec![BrokerId(1), BrokerId(2)]];
        let topic = NewTopic { assignment, ..NewTopic::named("views".parse().unwrap()) };
        leader.create_topic(&topic, &|_, _| Ok(())).await.unwrap();
        let led_by = |image: &Image| {
            let partition = image.partition(&"views".parse().unwrap(), PartitionIndex(0))?;
            Some((partition.leader()?, partition.leader_epoch()))
        };
        let first = Some((BrokerId(1), LeaderEpoch(0)));
        follow_until(&other, |image| led_by(image) == first).await;

        // It cannot notice what happens to its registration, and has a lease.
        store.disconnect();
        edit.make(&person, BrokerId(1)).await;
        delete(&person, "/controller").await;
        follow_until(&other, |image| {
            image.controller().is_some_and(|controller| controller.broker == BrokerId(2))
        })
        .await;
        create(&other, "visits").await;
        let image = other.current_image();
        assert!(image.broker(BrokerId(1)).is_none() && led_by(&image) == first, "{edit:?}");
        let unregistered = other.unregister(BrokerId(1)).await.unwrap_err();
        assert!(matches!(unregistered, UnregisterError::Registered(_)), "{unregistered}");

        store.expire();
        let next = Some((BrokerId(2), LeaderEpoch(1)));
        follow_until(&other, |image| led_by(image) == next).await;
    }
}

#[tokio::test]
async fn a_controller_that_was_written_by_hand_is_replaced() {
    let (metadata, store, person) = start().await;
    let path = "/controller";
    let version = person.get(path).await.unwrap().unwrap().version;
    let value = br#"{"version":1,"brokerid":9,"timestamp":"0"}"#.as_slice();
    person.multi(vec![Op::delete(path, version), Op::create(path, value)]).await.unwrap();
    // The node belongs to no session, so it would last for ever.
    let own = Some(store.session());
    follow_during(&metadata, async {
        while person.get(path).await.unwrap().is_none_or(|node| node.owner != own) {
            yield_now().await;
        }
    })
    .await;
    let is_own = |image: &Image| image.controller().is_some_and(|now| now.broker == BrokerId(1));
    follow_until(&metadata, |image| is_own(image) && image.broken().is_empty()).await;
}

#[tokio::test]
async fn the_node_of_a_session_is_written_again_and_goes_with_its_registration() {
    let (metadata, store, person) = start().await;
    let path = "/streamlog/sessions/1";
    for deleted in ["/streamlog/sessions", path, "/brokers/ids/1"] {
        delete(&person, deleted).await;
        follow_until_there(&metadata, &person, path).await;
        follow_until(&metadata, |image| image.broker(BrokerId(1)).is_some()).await;
        let node = person.get(path).await.unwrap().unwrap();
        assert_eq!(node.owner, Some(store.session()), "after {deleted}");
    }
    // One that belongs to no session would last for ever.
    let by_hand = vec![Op::delete(path, 0), Op::create(path, "")];
    person.multi(by_hand).await.unwrap();
    follow_during(&metadata, async {
        while person.get(path).await.unwrap().is_some_and(|node| node.owner.is_none()) {
            yield_now().await;
        }
    })
    .await;
    for id in [2, 3] {
        let path = format!("/streamlog/sessions/{id}");
        person.multi(vec![Op::create(path, "")]).await.unwrap();
        let handle: Arc<dyn Store> = Arc::new(store.another());
        let config = MetadataConfig::default();
        let next = Metadata::open(handle, clock(), BrokerId(id), None, config).await.unwrap();
        next.register(&Registration::default()).await.unwrap();
    }
    metadata.leave().await.unwrap();
    for path in [path, "/brokers/ids/1"] {
        assert_eq!(person.get(path).await.unwrap(), None, "{path}");
    }
}

#[tokio::test]
async fn a_deleted_or_damaged_node_of_a_known_broker_is_written_again_and_can_tell_its_end() {
    let (metadata, store, person) = start().await;
    // Registered for the second time, the broker expects another version than a new node has.
    let first = metadata.membership().unwrap().incarnation;
    delete(&person, "/brokers/ids/1").await;
    follow_until(&metadata, |image| {
        image.broker(BrokerId(1)).is_some_and(|broker| broker.incarnation > first)
    })
    .await;
    let path = "/streamlog/brokers/1";
    let before = person.get(path).await.unwrap().unwrap();
    assert_eq!(before.version, 1);
    for deleted in [None, Some("/streamlog/brokers"), Some(path)] {
        match deleted {
            Some(path) => drop(delete(&person, path).await),
            None => edit(&person, path, "by hand").await,
        }
        let is_restored = async {
            let is_as_before = |node: Node| node.value == before.value;
            while !person.get(path).await.unwrap().is_some_and(is_as_before) {
                yield_now().await;
            }
        };
        tokio::select! {
            restored = timeout(PATIENCE, is_restored) => restored.unwrap(),
            error = metadata.run() => panic!("{error}"),
        }
    }
    store.prove_end();
    let known: serde_json::Value =
        serde_json::from_slice(&person.get(path).await.unwrap().unwrap().value).unwrap();
    assert_eq!(known["ended"], metadata.membership().unwrap().incarnation.0);
}

#[tokio::test]
async fn the_controller_continues_after_an_edit_of_its_nodes() {
    let (metadata, _, person) = start().await;
    let edits = [
        ("/controller", Some("nobody")),
        ("/controller", None),
        ("/controller_epoch", Some("7")),
        ("/controller_epoch", Some("{")),
        ("/controller_epoch", None),
    ];
    for (number, (path, value)) in edits.into_iter().enumerate() {
        match value {
            Some(value) => edit(&person, path, value).await,
            None => drop(delete(&person, path).await),
        }
        let topic = format!("views{number}");
        create(&metadata, &topic).await;
        follow_until(&metadata, |image| epoch(image, &topic, 2).is_some()).await;
    }
    // Claims at the start, and after each edit. Of an epoch that is gone the states tell the last.
    let claims = person.get("/controller_epoch").await.unwrap().unwrap();
    assert_eq!(claims.value, "10");
}

#[tokio::test]
async fn no_producer_id_is_assigned_twice_whatever_happens_to_their_node() {
    let (_metadata, store, person) = start().await;
    let path = "/latest_producer_id_block";
    let mut last = None;
    for edited in [None, Some(None), Some(Some("{")), Some(Some(""))] {
        match edited {
            Some(None) => drop(delete(&person, path).await),
            Some(Some(value)) => edit(&person, path, value).await,
            None => {}
        }
        for broker in [1, 2] {
            let store = Arc::<MemoryStore>::clone(&store);
            let config = MetadataConfig::default();
            let started = Metadata::open(store, clock(), BrokerId(broker), None, config);
            let started = started.await.unwrap();
            for _ in 0..1001 {
                let id = Some(started.new_producer_id().await.unwrap());
                assert!(last < id, "{id:?} after {last:?} and {edited:?}");
                last = id;
            }
        }
    }
}

#[tokio::test]
async fn only_a_topic_that_a_request_has_deleted_counts_as_deleted() {
    let (metadata, store, person) = start().await;
    let id_of = |name: &str| metadata.current_image().topic(&name.parse().unwrap()).unwrap().id;
    let by_hand = id_of("clicks");
    delete(&person, "/brokers/topics/clicks").await;
    create(&metadata, "views").await;
    let by_request = id_of("views");
    metadata.delete_topic(by_request).await.unwrap();
    metadata.topic_data_removed(by_request).await.unwrap();
    // A broker that reads everything again has not forgotten it.
    store.disconnect();
    store.reconnect();
    follow_until(&metadata, |image| {
        let is_gone = |id| image.topic_by_id(id).is_none() && image.tombstone(id).is_none();
        is_gone(by_hand) && is_gone(by_request)
    })
    .await;
    let image = metadata.current_image();
    assert!(image.was_deleted(by_request) && !image.was_deleted(by_hand));
}

#[tokio::test]
async fn no_producer_id_is_assigned_twice_if_their_node_is_replaced_during_a_reservation() {
    let path = "/latest_producer_id_block";
    // The second broker reads the node by the first call, and writes it by the second.
    for replaced_before in 1..=2 {
        let (first, store, person) = start().await;
        first.new_producer_id().await.unwrap();
        let config = MetadataConfig::default();
        let slow = Arc::new(store.another());
        let handle: Arc<dyn Store> = Arc::<MemoryStore>::clone(&slow);
        let second = Metadata::open(handle, clock(), BrokerId(2), None, config).await.unwrap();
        let Node { created, version, value, .. } = person.get(path).await.unwrap().unwrap();
        // A third broker reserves the next block, and the node that somebody creates after that
        // gets the version which the second broker expects.
        let reserved = (created + i64::from(version)) * 1000;
        let mut ops = vec![Op::set(path, value.clone(), version)];
        ops.extend([Op::delete(path, version + 1), Op::create(path, "")]);
        ops.extend((0..version).map(|version| Op::set(path, value.clone(), version)));
        slow.write_before_call(replaced_before, ops);
        let ProducerId(id) = second.new_producer_id().await.unwrap();
        assert!(!(reserved..reserved + 1000).contains(&id), "{id} before call {replaced_before}");
    }
}
